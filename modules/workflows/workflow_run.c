/* workflow_run.c - a run of code; the manual trigger: a run while its caller waits, and its
 * record (spec 08 sections 3 and 7). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"
#include "wharf/hash.h"

/* ---- what is asked for ---- */

wharf_status run_check_location(wharf_req *req, const struct run *r, bool callers)
{
    const wharf_json *allowed = r->code.locations;
    bool may = !allowed || !W->json->count(allowed);
    wharf_str id;

    if (!r->location_id.n)
        return WHARF_OK;
    for (const wharf_json *e = may ? NULL : W->json->at(allowed, 0); e && !may;
         e = W->json->next(e))
        may = W->json->text(e, &id) && same(id, r->location_id);
    if (!may)
        return W->err->fail(
            req, ERR_LOCATION_ACCESS, "location_id", "The workflow may not run for this location");
    return callers ? W->req->need_location(req, r->location_id) : WHARF_OK;
}

/* Narrows a draft's scopes, which nobody checked: it has of them what the request that runs it
 * has, which may be another run's. */
static wharf_status held_scopes(wharf_req *req, const wharf_json **scopes)
{
    wharf_out *out = W->json->builder(req);
    wharf_str scope;

    W->json->open(out, NULL, '[');
    for (const wharf_json *e = *scopes ? W->json->at(*scopes, 0) : NULL; e; e = W->json->next(e)) {
        if (!W->json->text(e, &scope))
            continue;
        const char *colon = strchr(scope.p, ':');
        wharf_str area = {scope.p, colon ? (size_t)(colon - scope.p) : scope.n};
        uint32_t level = flow_keys->level(req, area);

        if (level == WHARF_LEVEL_NONE)
            continue;
        W->json->put(out, NULL,
            level == WHARF_LEVEL_WRITE
                ? val_text(scope)
                : val_text(W->mem->format(req, "%.*s:read", (int)area.n, area.p)));
    }
    W->json->close(out);
    return W->json->result(req, out, scopes);
}

/* Finds the version that is wanted, with whose rights it runs. */
static wharf_status workflow_run_find_code(wharf_req *req, const wharf_json *body, struct run *r)
{
    bool draft = is(json_text(body, "version"), "draft"), found = true;
    const wharf_rec *rec;
    wharf_status s = draft ? W->req->need_scope(req, "workflow:write") : WHARF_OK;

    if (s == WHARF_OK)
        s = draft_read(req, &rec, &r->code);
    if (s != WHARF_OK)
        return s;
    r->code.publisher_key = flow_keys->caller(req)->key_id;
    s = draft ? held_scopes(req, &r->code.scopes) : version_read(req, rec, 0, &r->code, &found);
    if (s != WHARF_OK)
        return s;
    if (!found)
        return W->err->fail(req, ERR_WORKFLOW_NOT_PUBLISHED, NULL, NULL);
    if (!draft && !field_int(rec, WORKFLOW_ENABLED))
        return W->err->fail(req, ERR_WORKFLOW_DISABLED, NULL, NULL);
    if (!trigger_has(r->code.triggers, r->by_hand->type))
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, NULL,
            "The workflow has no %s trigger that is enabled", r->by_hand->type);
    return WHARF_OK;
}

/* Finds what is run by hand. Whoever runs more than the manual trigger may write workflows; a past
 * event is for drafts, which have no more rights than who runs them: a published handler trusts
 * that what it gets did happen. */
static wharf_status workflow_run_choose(wharf_req *req, const wharf_json *body, struct run *r)
{
    static const struct by_hand all[] = {{"manual", "on_run", "{\"type\":\"manual\"}"},
        {"schedule", "on_schedule", "{\"type\":\"schedule\",\"by_hand\":true}"},
        {"event", "on_event", "{\"type\":\"event\",\"by_hand\":true}"}};
    wharf_str type = json_text(body, "trigger");

    r->by_hand = &all[0];
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (is(type, all[i].type))
            r->by_hand = &all[i];
    }
    r->handler = r->by_hand->handler;
    r->trigger = z(r->by_hand->trigger);
    if (r->by_hand == &all[0])
        return WHARF_OK;
    if (r->by_hand == &all[2] && !is(json_text(body, "version"), "draft"))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "trigger",
            "Events of before are for drafts: send version draft, and the event as input");
    if (r->by_hand == &all[1] && W->json->get(body, "input"))
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "input", "The tick of a schedule is made by the server");
    return W->req->need_scope(req, "workflow:write");
}

static wharf_status workflow_run_prepare(wharf_req *req, const wharf_json *body, struct run *r)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    r->location_id = json_text(body, "location_id");
    s = workflow_run_find_code(req, body, r);
    if (s == WHARF_OK)
        s = run_check_location(req, r, true);
    if (s == WHARF_OK)
        s = run_actor(req, &r->code, true, &r->asked.actor);
    if (s == WHARF_OK && !r->asked.actor)
        s = W->err->fail(req, ERR_WORKFLOW_PUBLISHER_INACTIVE, NULL, NULL);
    if (s == WHARF_OK)
        s = secrets_load(req, r->code.workflow_id, &r->asked.secrets);
    W->db->rollback(req); /* only read */
    return s;
}

/* ---- one run of code ---- */

wharf_status run_actor(
    wharf_req *req, const struct code *c, bool callers, wharf_lua_actor **ret_actor)
{
    const wharf_lua_rights rights = {.head = WHARF_HEAD(wharf_lua_rights),
        .key_id = c->publisher_key,
        .scopes = c->scopes,
        .locations = c->locations,
        .callers_locations = callers,
        .actor_id = c->workflow_id,
        .actor_name = c->name};

    return flow_lua->actor(req, &rights, ret_actor);
}

static wharf_str workflow_run_context(wharf_req *req, const struct run *r)
{
    wharf_out *out = W->json->writer(req);
    const wharf_json *trigger = NULL;

    if (W->json->parse(req, r->trigger, &trigger) != WHARF_OK)
        W->err->clear(req);
    W->json->open(out, NULL, '{');
    W->json->open(out, "run", '{');
    W->json->put(out, "id", val_text(r->id));
    W->json->put(out, "key", val_text(r->id));
    W->json->put(out, "attempt", val_int(r->attempt));
    W->json->put(out, "depth", val_int(r->depth));
    W->json->put(out, "seed", val_int((int64_t)r->seed));
    W->json->put(out, "trigger", val_json(trigger));
    W->json->close(out);
    W->json->open(out, "workflow", '{');
    W->json->put(out, "id", val_text(r->code.workflow_id));
    W->json->put(out, "name", val_text(r->code.name));
    W->json->put(out, "version", r->code.version ? val_int(r->code.version) : val_null());
    W->json->close(out);
    W->json->put(out, "organization_id", val_text(W->req->organization(req)));
    W->json->put(out, "location_id", val_text_or_null(r->location_id));
    W->json->put(out, "actor", val_text_or_null(r->actor));
    if (r->event_id.n)
        W->json->put(out, "event_id", val_text(r->event_id));
    if (r->code.settings)
        W->json->put(out, "settings", val_json(r->code.settings));
    W->json->close(out);
    return W->json->result_text(out);
}

/* Computes the seed: the same id gives the same seed; 53 bits, so that every reader of JSON sees
 * the same number. */
uint64_t run_seed(wharf_str id)
{
    return wharf_hash64(WHARF_HASH64_START, id.p, id.n) >> 11;
}

/* Hides secrets in whatever is kept or told of the run. */
static void workflow_run_hide(wharf_req *req, struct run *r)
{
    const struct secret *list = r->asked.secrets;
    wharf_lua_outcome *o = &r->outcome;
    const wharf_json *logs = NULL;

    o->message = secrets_hide_room(req, list, o->message, WHARF_LUA_MESSAGE_MAX);
    o->code = secrets_hide_room(req, list, o->code, WHARF_LUA_WORD_MAX);
    o->field = secrets_hide_room(req, list, o->field, WHARF_LUA_WORD_MAX);
    o->error = secrets_hide_json(req, list, o->error);
    o->result = secrets_hide_json(req, list, o->result);
    if (W->json->parse(req, W->json->result_text(r->asked.logs), &logs) != WHARF_OK)
        W->err->clear(req);
    r->asked.logs = W->json->writer(req);
    W->json->put(r->asked.logs, NULL, val_json(secrets_hide_json(req, list, logs)));
}

/* Returns the share of the code. What a number stands for never changes; drafts do. */
static wharf_str share_of(wharf_req *req, const struct code *c)
{
    return c->version ? W->mem->format(req, "%s %lld", c->workflow_id.p, (long long)c->version)
                      : WHARF_S("");
}

void run_ahead(wharf_req *req, const struct code *c, const struct budget *most, wharf_str id)
{
    const wharf_lua_spec spec = {.head = WHARF_HEAD(wharf_lua_spec),
        .memory = budget_of(most, c).memory,
        .seed = run_seed(id),
        .share = share_of(req, c)};

    flow_lua->ahead(req, &spec);
}

wharf_status run_execute(wharf_req *req, struct run *r)
{
    const struct budget *may = &r->own;
    wharf_lua_spec spec = {.head = WHARF_HEAD(wharf_lua_spec),
        .handler = z(r->handler),
        .arg = r->input,
        .context = r->context = workflow_run_context(req, r),
        .keep = r->keep ? z(r->keep) : WHARF_S(""),
        .seed = r->seed,
        .answer = asked_answer,
        .answer_arg = &r->asked,
        .stop = r->stop};
    wharf_status s;

    r->own = budget_of(r->budget, &r->code);
    spec.instructions = may->instructions;
    spec.memory = may->memory;
    spec.wall_us = may->wall_us;
    spec.result_max = may->result_max;
    spec_files(req, &r->code, &spec);
    spec.share = share_of(req, &r->code);
    r->asked.code = &r->code;
    r->asked.budget = may;
    r->asked.run_key = r->id;
    r->asked.location_id = r->location_id;
    r->asked.until_us = run_clock_us() + may->wall_us;
    r->asked.stop = r->stop;
    r->asked.lock_id = W->req->new_id(req, "lock");
    r->asked.logs = W->json->writer(req);
    if (recording_wanted(&r->code)) {
        r->asked.io = W->json->writer(req);
        W->json->open(r->asked.io, NULL, '[');
        spec.record = 1;
    }
    r->outcome = (wharf_lua_outcome){.head = WHARF_HEAD(wharf_lua_outcome)};
    W->json->open(r->asked.logs, NULL, '[');
    s = flow_lua->run(req, &spec, &r->outcome);
    locks_end(req, &r->asked);
    if (r->asked.stopped)
        r->outcome.end = WHARF_LUA_STOPPED;
    W->json->close(r->asked.logs);
    if (r->asked.io)
        W->json->close(r->asked.io);
    if (s == WHARF_OK && r->asked.secrets)
        workflow_run_hide(req, r);
    if (s == WHARF_OK && r->asked.io)
        recording_end(req, r);
    return s;
}

/* ---- the manual trigger, while its caller waits ---- */

/* Reads what the handler gets, and what is kept of it to be given to it again. */
static wharf_status workflow_run_read_input(
    wharf_req *req, const wharf_json *body, struct run *r, const wharf_json **ret)
{
    wharf_out *out = W->json->writer(req);

    *ret = W->json->get(body, "input");
    if (!strcmp(r->by_hand->type, "schedule")) {
        r->input = tick_by_hand(req, r->code.triggers);
        return W->json->parse(req, r->input, ret);
    }
    if (!*ret) {
        r->input = WHARF_S("{}");
        return W->json->parse(req, r->input, ret);
    }
    W->json->put(out, NULL, val_json(*ret));
    r->input = W->json->result_text(out);
    return WHARF_OK;
}

/* Counts a run that a caller waited for. Its failures are told, and switch nothing off. */
static wharf_status tally(wharf_req *req, const struct run *r, bool kept)
{
    static const char sql[] =
        "SELECT workflow_id, streak, tell, run_id FROM workflows.tally($1::text, $2::json)";
    wharf_out *out = W->json->writer(req);
    const wharf_rows *rows;
    wharf_status s;

    W->json->open(out, NULL, '[');
    W->json->open(out, NULL, '{');
    W->json->put(out, "i", val_text(r->id));
    W->json->put(out, "w", val_text(r->code.workflow_id));
    W->json->put(out, "s", val_text(z(kept ? run_status(&r->outcome) : "forgotten")));
    W->json->put(out, "asked", val_bool(true));
    W->json->close(out);
    W->json->close(out);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(W->json->result_text(out))};
    s = W->db->query(req, sql, args, 2, &rows);
    return s == WHARF_OK ? run_failures(req, rows, r->depth) : s;
}

static wharf_status workflow_run_insert(
    wharf_req *req, const struct run *r, const char *type, const wharf_json *input)
{
    static const char sql[] = QUERY_RUN_ADD;
    const wharf_lua_outcome *o = &r->outcome;
    bool cut_input, cut_output = false;
    const wharf_json *trigger = NULL, *given = NULL;
    wharf_status s = r->asked.secrets ? W->json->parse(req, r->trigger, &trigger) : WHARF_OK;

    if (s != WHARF_OK)
        return s;
    if (trigger)
        given = run_given(req, r->asked.secrets, &input, &trigger);
    wharf_val kept = run_recorded(req, "value", val_json(input), &cut_input),
              output = o->result ? run_recorded(req, "value", val_json(o->result), &cut_output)
                                 : val_null();
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(r->id),
        val_text(r->code.workflow_id), r->code.version ? val_int(r->code.version) : val_null(),
        val_text(z(run_status(o))), val_text_or_null(r->location_id), val_text_or_null(r->actor),
        val_int(o->depth), val_text(W->mem->format(req, "%llu", (unsigned long long)r->seed)),
        val_time(r->started_us), val_time(r->started_us + o->duration_us),
        val_int(o->duration_us / 1000), run_usage(req, r), kept, val_bool(cut_input), output,
        val_bool(cut_output), val_text(W->json->result_text(r->asked.logs)), run_error(req, r),
        trigger ? val_json(trigger) : val_text(r->trigger), val_text(z(type)),
        given && !cut_input ? val_json(given) : val_null()};

    s = W->db->exec(req, sql, args, sizeof(args) / sizeof(args[0]), NULL);

    if (s != WHARF_OK || !r->recording.n)
        return s;
    wharf_out *out = W->json->writer(req);
    W->json->open(out, NULL, '[');
    recording_put(req, r, out);
    W->json->close(out);
    return recordings_keep(req, W->json->result_text(out));
}

static wharf_status workflow_run_add_lines(wharf_req *req, const struct run *r)
{
    wharf_out *out = W->json->writer(req);
    size_t n = 0;

    W->json->open(out, NULL, '[');
    run_lines_put(req, r, out, &n);
    W->json->close(out);
    return n ? run_lines_keep(req, W->json->result_text(out)) : WHARF_OK;
}

wharf_status run_record(wharf_req *req, struct run *r, const char *type, const wharf_json *input)
{
    const wharf_json *rule = r->code.options ? W->json->get(r->code.options, "record") : NULL;
    bool kept = r->outcome.end != WHARF_LUA_OK || r->by_hand ||
                !is(json_text(rule, "runs"), "errors");
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    if (kept)
        s = workflow_run_insert(req, r, type, input);
    if (s == WHARF_OK)
        s = workflow_run_add_lines(req, r);
    if (s == WHARF_OK && r->code.version) { /* drafts are tried */
        s = tally(req, r, kept);
        run_count(req, z(type), run_status(&r->outcome));
    }
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

/* ---- the answer ---- */

/* Tells the problem. Where it went wrong is for those who may read the source. */
wharf_status run_problem(wharf_req *req, const struct run *r)
{
    const wharf_lua_outcome *o = &r->outcome;
    bool author = flow_keys->level(req, WHARF_S("workflow")) == WHARF_LEVEL_WRITE,
         own = o->end != WHARF_LUA_OVER && o->code.n;
    const char *code = run_code(o), *message = W->mem
                                                   ->format(req, "%s (run %s of workflow %s)",
                                                       o->message.p, r->id.p, r->code.workflow_id.p)
                                                   .p;
    const char *place = author ? place_of(req, &r->code, o).p : NULL;

    if (o->end == WHARF_LUA_REJECTED)
        place = o->field.n ? o->field.p : NULL;
    if (place || !own)
        W->err->add(req, code, place, "%s", message);
    if (own)
        W->err->add(req, code, W->mem->format(req, "custom.%s", o->code.p).p, "%s", message);
    return W->err->current(req);
}

/* Shows a run to who asked for it: its input and output. What a run got and gave, said and was
 * when it failed is for who may write workflows. */
static wharf_status show_own(wharf_req *req, const wharf_rec *rec, wharf_out *out)
{
    static const struct {
        const char *name;
        wharf_field field;
    } own[] = {{"input", WORKFLOW_RUN_INPUT}, {"output", WORKFLOW_RUN_OUTPUT}};
    wharf_out *inner = W->json->builder(req);
    const wharf_json *row;
    wharf_status s;
    wharf_val v;

    W->res->encode(req, inner, NULL, rec);
    s = W->json->result(req, inner, &row);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(row, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        W->json->put(out, own[i].name, W->res->get(rec, own[i].field, &v) ? v : val_null());
    W->json->close(out);
    return WHARF_OK;
}

static wharf_status workflow_run_show(
    wharf_req *req, wharf_str id, uint32_t status, const char *message)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "workflow_run", id, 0, &rec);

    if (s != WHARF_OK)
        return s;
    if (flow_keys->level(req, WHARF_S("workflow")) >= WHARF_LEVEL_WRITE ||
        !same(field_text(rec, WORKFLOW_RUN_ON_BEHALF_OF), W->req->actor(req)))
        W->res->encode(req, W->req->respond(req, status, message), NULL, rec);
    else
        s = show_own(req, rec, W->req->respond(req, status, message));
    return s;
}

const wharf_json *run_reach(wharf_req *req)
{
    const wharf_caller *c = flow_keys->caller(req);
    wharf_out *out = W->json->builder(req);
    const wharf_json *v = NULL;

    if (c->all_locations)
        return NULL;
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < c->n_locations; i++)
        W->json->put(out, NULL, val_text(c->locations[i]));
    W->json->close(out);
    return W->json->result(req, out, &v) == WHARF_OK ? v : NULL;
}

wharf_status run_queue(wharf_req *req, const struct run *r, const char *type,
    const wharf_json *reach, wharf_str *ret_id)
{
    struct queued q = {.workflow_id = r->code.workflow_id,
        .type = type,
        .location_id = r->location_id,
        .actor = r->actor,
        .order_key = queue_order_key(req, r->code.options, WHARF_S(""), WHARF_S("")),
        .input = r->input,
        .reach = reach};
    wharf_out *rows = W->json->writer(req);
    wharf_status s = W->json->parse(req, r->trigger, &q.trigger);

    if (s == WHARF_OK)
        s = run_queue_hide(req, &q, r->asked.secrets);
    W->json->open(rows, NULL, '[');
    run_queue_put(req, rows, &q, ret_id);
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = queue_commit(req, rows, 1);
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

wharf_status run_begin(wharf_req *req, struct run *r)
{
    wharf_status s;

    r->id = r->id.n ? r->id : W->req->new_id(req, "wkf_run");
    r->seed = run_seed(r->id);
    r->attempt = 1;
    r->started_us = W->req->now_us(req);
    s = run_execute(req, r);
    if (s == WHARF_OK && r->outcome.end == WHARF_LUA_NO_CELL)
        s = W->err->fail(req,
            is(r->outcome.code, ERR_WORKFLOW_QUOTA) ? ERR_WORKFLOW_QUOTA : ERR_OVERLOADED, NULL,
            "%s", r->outcome.message.p);
    return s;
}

/* Checks an event of before against the triggers that would take it. */
static wharf_status workflow_run_check_event(wharf_req *req, struct run *r, const wharf_json *event)
{
    wharf_str text = {"", 0};
    wharf_status s = trigger_event_faults(
        req, r->code.triggers, json_text(event, "type"), NULL, r->input, &text);

    r->event_id = json_text(event, "id");
    return s == WHARF_OK && text.n ? W->err->fail(req, ERR_VALIDATION_FAILED, "input", "%s", text.p)
                                   : s;
}

wharf_status run_route(wharf_req *req, void *arg)
{
    struct run r = {.budget = &sync_budget};
    const wharf_json *body, *wait, *input;
    wharf_str id;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = workflow_run_choose(req, body, &r);
    if (s == WHARF_OK)
        s = workflow_run_prepare(req, body, &r);
    if (s == WHARF_OK)
        s = workflow_run_read_input(req, body, &r, &input);
    if (s == WHARF_OK && is(z(r.by_hand->type), "manual"))
        s = trigger_check_input(req, r.code.triggers, r.input);
    if (s == WHARF_OK && is(z(r.by_hand->type), "event"))
        s = workflow_run_check_event(req, &r, input);
    if (s != WHARF_OK)
        return s;
    r.actor = W->req->actor(req);
    wait = W->json->get(body, "wait");
    if (wait && !json_truth(wait)) {
        if (!r.code.version)
            return W->err->fail(
                req, ERR_VALIDATION_FAILED, "wait", "A draft is run while its caller waits");
        s = run_queue(req, &r, r.by_hand->type, run_reach(req), &id);
        return s == WHARF_OK ? workflow_run_show(req, id, 202, "Workflow run is queued") : s;
    }
    s = run_begin(req, &r);
    if (s == WHARF_OK)
        s = run_record(req, &r, r.by_hand->type, input);
    if (s != WHARF_OK)
        return s;
    return r.outcome.end == WHARF_LUA_OK ? workflow_run_show(req, r.id, 200, "Workflow run")
                                         : run_problem(req, &r);
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
        return W->err->fail(req, ERR_NOT_FOUND, NULL, "There is no run %s", id.p);
    /* may the caller see it? */
    s = W->res->fetch(req, "workflow", row_text(rows, 0, 0), WHARF_WITH_DELETED, &workflow);
    return s == WHARF_OK ? workflow_run_show(req, id, 200, "Workflow run retrieved") : s;
}
