/* run.c - the manual trigger: a run while its caller waits, and its record (sections 3 and 7). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

struct run {
    struct code code;
    struct asked asked;
    wharf_str id, location_id, input;
    uint64_t seed;
    int64_t started_us;
    wharf_lua_outcome outcome;
};

/* ---- what is asked for ---- */

static bool has_manual(const wharf_json *triggers)
{
    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t; t = W->json->next(t)) {
        const wharf_json *enabled = W->json->get(t, "enabled");

        if (is(json_text(t, "type"), "manual") && (!enabled || json_truth(enabled)))
            return true;
    }
    return false;
}

static wharf_status check_location(wharf_req *req, const struct run *r)
{
    const wharf_json *allowed = r->code.locations;
    wharf_str id;

    if (!r->location_id.n)
        return WHARF_OK;
    for (const wharf_json *e = allowed ? W->json->at(allowed, 0) : NULL; e; e = W->json->next(e)) {
        if (W->json->text(e, &id) && same(id, r->location_id))
            return W->req->need_location(req, r->location_id);
    }
    if (allowed && W->json->count(allowed))
        return W->err->fail(req, "location_access", "location_id", "The workflow may not run for this location");
    return W->req->need_location(req, r->location_id);
}

/* The version that is wanted, with whose rights it runs. */
static wharf_status find_code(wharf_req *req, const wharf_json *body, struct run *r)
{
    bool draft = is(json_text(body, "version"), "draft"), found = true;
    const wharf_rec *rec;
    wharf_status s = draft ? W->req->need_scope(req, "workflow:write") : WHARF_OK;

    if (s == WHARF_OK)
        s = draft_read(req, &rec, &r->code);
    if (s != WHARF_OK)
        return s;
    r->code.publisher_key = flow_keys->caller(req)->key_id;
    if (!draft)
        s = version_read(req, rec, 0, &r->code, &found);
    if (s != WHARF_OK)
        return s;
    if (!found)
        return W->err->fail(req, "workflow.not_published", NULL, NULL);
    if (!draft && !field_int(rec, WORKFLOW_ENABLED))
        return W->err->fail(req, "workflow.disabled", NULL, NULL);
    if (!has_manual(r->code.triggers))
        return W->err->fail(
            req, "workflow.trigger_invalid", NULL, "The workflow has no manual trigger that is enabled");
    return WHARF_OK;
}

static wharf_status find_actor(wharf_req *req, struct run *r)
{
    const wharf_lua_rights rights = {.head = WHARF_HEAD(wharf_lua_rights),
        .key_id = r->code.publisher_key,
        .scopes = r->code.scopes,
        .locations = r->code.locations,
        .callers_locations = 1,
        .actor_id = r->code.workflow_id,
        .actor_name = r->code.name};
    wharf_status s = flow_lua->actor(req, &rights, &r->asked.actor);

    if (s == WHARF_OK && !r->asked.actor)
        s = W->err->fail(req, "workflow.publisher_inactive", NULL, NULL);
    return s;
}

static wharf_status prepare(wharf_req *req, const wharf_json *body, struct run *r)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    r->location_id = json_text(body, "location_id");
    s = find_code(req, body, r);
    if (s == WHARF_OK)
        s = check_location(req, r);
    if (s == WHARF_OK)
        s = find_actor(req, r);
    W->db->rollback(req); /* only read */
    return s;
}

/* ---- the run ---- */

static wharf_str context(wharf_req *req, const struct run *r)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->open(out, "run", '{');
    W->json->put(out, "id", val_text(r->id));
    W->json->put(out, "key", val_text(r->id));
    W->json->put(out, "attempt", val_int(1));
    W->json->put(out, "seed", val_int((int64_t)r->seed));
    W->json->open(out, "trigger", '{');
    W->json->put(out, "type", val_text(WHARF_S("manual")));
    W->json->close(out);
    W->json->close(out);
    W->json->open(out, "workflow", '{');
    W->json->put(out, "id", val_text(r->code.workflow_id));
    W->json->put(out, "name", val_text(r->code.name));
    W->json->put(out, "version", r->code.version ? val_int(r->code.version) : val_null());
    W->json->close(out);
    W->json->put(out, "organization_id", val_text(W->req->organization(req)));
    W->json->put(out, "location_id", val_text_or_null(r->location_id));
    W->json->put(out, "actor", val_text(W->req->actor(req)));
    if (r->code.settings)
        W->json->put(out, "settings", val_json(r->code.settings));
    W->json->close(out);
    return W->json->result_text(out);
}

static wharf_str input_text(wharf_req *req, const wharf_json *body)
{
    const wharf_json *input = W->json->get(body, "input");
    wharf_out *out = W->json->writer(req);

    if (!input)
        return WHARF_S("{}");
    W->json->put(out, NULL, val_json(input));
    return W->json->result_text(out);
}

/* The same id gives the same seed; 53 bits, so that every reader of JSON sees the same number. */
static uint64_t seed_of(wharf_str id)
{
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < id.n; i++)
        h = (h ^ (unsigned char)id.p[i]) * 1099511628211u;
    return h >> 11;
}

static wharf_status execute(wharf_req *req, struct run *r)
{
    wharf_lua_spec spec = {.head = WHARF_HEAD(wharf_lua_spec),
        .handler = WHARF_S("on_run"),
        .arg = r->input,
        .context = context(req, r),
        .instructions = sync_budget.instructions,
        .memory = sync_budget.memory,
        .wall_us = sync_budget.wall_us,
        .result_max = sync_budget.result_max,
        .seed = r->seed,
        .answer = asked_answer,
        .answer_arg = &r->asked};

    spec_files(req, &r->code, &spec);
    r->asked.logs = W->json->writer(req);
    W->json->open(r->asked.logs, NULL, '[');
    return flow_lua->run(req, &spec, &r->outcome);
}

/* ---- the record ---- */

static const char *status_of(const wharf_lua_outcome *o)
{
    return o->end == WHARF_LUA_OK ? "succeeded" : o->end == WHARF_LUA_REJECTED ? "rejected" : "failed";
}

static const char *code_of(const wharf_lua_outcome *o)
{
    static const char *const known[] = {
        "workflow.budget_instructions", "workflow.budget_memory", "workflow.budget_time", "workflow.budget_calls"};

    if (o->end == WHARF_LUA_REJECTED)
        return "workflow.rejected";
    for (size_t i = 0; o->end == WHARF_LUA_OVER && i < sizeof(known) / sizeof(known[0]); i++) {
        if (is(o->code, known[i]))
            return known[i];
    }
    return o->end == WHARF_LUA_NO_CELL ? "overloaded" : "workflow.failed";
}

static wharf_val usage_of(wharf_req *req, const struct run *r)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "instructions", val_int((int64_t)r->outcome.instructions));
    W->json->put(out, "memory_peak", val_int((int64_t)r->outcome.memory_peak));
    W->json->put(out, "cpu_ms", val_int(r->outcome.cpu_us / 1000));
    W->json->put(out, "api_calls", val_int(r->asked.api_calls));
    W->json->put(out, "http_calls", val_int(0));
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

/* The error as it is kept: its code is the answer's. */
static wharf_val error_of(wharf_req *req, const struct run *r)
{
    static const char *const members[] = {"file", "line", "function", "traceback", "snippet"};
    const wharf_lua_outcome *o = &r->outcome;
    wharf_out *out = W->json->writer(req);

    if (o->end == WHARF_LUA_OK)
        return val_null();
    W->json->open(out, NULL, '{');
    W->json->put(out, "code", val_text(z(code_of(o))));
    W->json->put(out, "custom", val_text_or_null(o->end == WHARF_LUA_OVER ? WHARF_S("") : o->code));
    W->json->put(out, "message", val_text(o->message));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        W->json->put(out, members[i], o->error ? val_json(W->json->get(o->error, members[i])) : val_null());
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

static wharf_val recorded(wharf_req *req, const char *name, wharf_val v, bool *ret_truncated)
{
    wharf_out *out = W->json->writer(req);
    wharf_str text;

    W->json->open(out, NULL, '{');
    W->json->put(out, name, v);
    W->json->close(out);
    text = W->json->result_text(out);
    *ret_truncated = text.n > RECORD_MAX;
    return *ret_truncated ? val_null() : val_text(text);
}

static wharf_status record(wharf_req *req, struct run *r, const wharf_json *body)
{
    static const char sql[] = "INSERT INTO workflows.run (organization_id, id, workflow_id, workflow_version, trigger, "
                              "trigger_type, status, key, attempt, location_id, "
                              "on_behalf_of, depth, seed, started_at, finished_at, duration_ms, queued_ms, usage, "
                              "input, input_truncated, output, output_truncated, "
                              "logs, error, created_at, updated_at, created_by, updated_by) VALUES ($1::text, "
                              "$2::text, $3::text, $4::bigint, '{\"type\": \"manual\"}', "
                              "'manual', $5::text, $2::text, 1, $6::text, $7::text, $8::bigint, $9::text, "
                              "$10::timestamptz, $11::timestamptz, $12::bigint, 0, "
                              "$13::jsonb, $14::jsonb, $15::boolean, $16::jsonb, $17::boolean, $18::jsonb, $19::jsonb, "
                              "$10::timestamptz, $11::timestamptz, $7::text, "
                              "$7::text)";
    const wharf_lua_outcome *o = &r->outcome;
    const wharf_json *sent = W->json->get(body, "input");
    bool cut_input, cut_output = false;
    wharf_val input = recorded(req, "value", val_json(sent), &cut_input),
              output = o->result ? recorded(req, "value", val_json(o->result), &cut_output) : val_null();
    int64_t now = r->started_us + o->duration_us;
    const wharf_rows *rows;

    W->json->close(r->asked.logs);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(r->id), val_text(r->code.workflow_id),
        r->code.version ? val_int(r->code.version) : val_null(), val_text(z(status_of(o))),
        val_text_or_null(r->location_id), val_text(W->req->actor(req)), val_int(o->depth),
        val_text(W->mem->format(req, "%llu", (unsigned long long)r->seed)), val_time(r->started_us), val_time(now),
        val_int(o->duration_us / 1000), usage_of(req, r), input, val_bool(cut_input), output, val_bool(cut_output),
        val_text(W->json->result_text(r->asked.logs)), error_of(req, r)};

    return query_alone(req, sql, args, sizeof(args) / sizeof(args[0]), &rows);
}

/* ---- the answer ---- */

/* Where it went wrong is for those who may read the source. */
static wharf_status answer_problem(wharf_req *req, const struct run *r)
{
    const wharf_lua_outcome *o = &r->outcome;
    bool author = flow_keys->level(req, WHARF_S("workflow")) == WHARF_LEVEL_WRITE,
         own = o->end != WHARF_LUA_OVER && o->code.n;
    const char *code = code_of(o),
               *message =
                   W->mem->format(req, "%s (run %s of workflow %s)", o->message.p, r->id.p, r->code.workflow_id.p).p;
    const char *place = author ? place_of(req, &r->code, o).p : NULL;

    if (o->end == WHARF_LUA_REJECTED)
        place = o->field.n ? o->field.p : NULL;
    if (place || !own)
        W->err->add(req, code, place, "%s", message);
    if (own)
        W->err->add(req, code, W->mem->format(req, "custom.%s", o->code.p).p, "%s", message);
    return W->err->current(req);
}

static wharf_status show(wharf_req *req, wharf_str id, const char *message)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "workflow_run", id, 0, &rec);

    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, message), NULL, rec);
    return s;
}

wharf_status run_route(wharf_req *req, void *arg)
{
    struct run r = {.outcome = {.head = WHARF_HEAD(wharf_lua_outcome)}};
    const wharf_json *body;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = prepare(req, body, &r);
    if (s != WHARF_OK)
        return s;
    r.id = W->req->new_id(req, "wkf_run");
    r.seed = seed_of(r.id);
    r.input = input_text(req, body);
    r.started_us = W->req->now_us(req);
    r.asked.code = &r.code;
    r.asked.budget = &sync_budget;
    r.asked.run_key = r.id;
    s = execute(req, &r);
    if (s != WHARF_OK)
        return s;
    if (r.outcome.end == WHARF_LUA_NO_CELL)
        return W->err->fail(req, "overloaded", NULL, "%s", r.outcome.message.p);
    s = record(req, &r, body);
    if (s != WHARF_OK)
        return s;
    return r.outcome.end == WHARF_LUA_OK ? show(req, r.id, "Workflow run") : answer_problem(req, &r);
}

wharf_status run_show_route(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT workflow_id FROM workflows.run WHERE id = $1::text AND organization_id = $2::text";
    const wharf_rec *workflow;
    const wharf_rows *rows;
    wharf_str id = {"", 0};
    wharf_status s;

    W->req->param(req, "run", &id);
    s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(req, "not_found", NULL, "There is no run %s", id.p);
    s = W->res->fetch(
        req, "workflow", row_text(rows, 0, 0), WHARF_WITH_DELETED, &workflow); /* may the caller see it? */
    return s == WHARF_OK ? show(req, id, "Workflow run retrieved") : s;
}
