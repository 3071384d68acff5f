/* code.c - the code of drafts and versions: reading it, trying it, and telling where it is
 * wrong (spec 08 section 4). */
#include <stdlib.h>
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

/* Returns what else says how published code runs, as versions keep it. */
static const wharf_json *code_options_of(wharf_req *req, const wharf_rec *rec)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *v = NULL;

    W->json->open(out, NULL, '{');
    W->json->put(out, "retry", val_json(field_json(rec, WORKFLOW_RETRY)));
    W->json->put(out, "concurrency", val_json(field_json(rec, WORKFLOW_CONCURRENCY)));
    W->json->put(out, "record", val_json(field_json(rec, WORKFLOW_RECORD)));
    W->json->put(out, "http_hosts", val_json(field_json(rec, WORKFLOW_HTTP_HOSTS)));
    W->json->put(out, "priority", val_int(field_int(rec, WORKFLOW_PRIORITY)));
    W->json->put(out, "on_error", val_text(field_text(rec, WORKFLOW_ON_ERROR)));
    W->json->put(out, "budget", val_json(field_json(rec, WORKFLOW_BUDGET)));
    W->json->close(out);
    return W->json->result(req, out, &v) == WHARF_OK ? v : NULL;
}

wharf_status draft_read(wharf_req *req, const wharf_rec **ret_rec, struct code *ret_code)
{
    wharf_str id = {"", 0};
    wharf_status s;

    W->req->param(req, "workflow", &id);
    s = W->res->fetch(req, "workflow", id, 0, ret_rec);
    if (s != WHARF_OK)
        return s;
    *ret_code = (struct code){.workflow_id = W->res->id(*ret_rec),
        .name = field_text(*ret_rec, WORKFLOW_NAME),
        .source = field_text(*ret_rec, WORKFLOW_SOURCE),
        .files = field_json(*ret_rec, WORKFLOW_FILES),
        .triggers = field_json(*ret_rec, WORKFLOW_TRIGGERS),
        .scopes = field_json(*ret_rec, WORKFLOW_SCOPES),
        .settings = field_json(*ret_rec, WORKFLOW_SETTINGS),
        .locations = field_json(*ret_rec, WORKFLOW_ALLOWED_LOCATIONS),
        .options = code_options_of(req, *ret_rec)};
    return WHARF_OK;
}

wharf_status version_read(
    wharf_req *req, const wharf_rec *rec, int64_t number, struct code *ret_code, bool *ret_found)
{
    static const char sql[] =
        "SELECT number, source, files, triggers, scopes, settings, publisher_key, options FROM "
        "workflows.version"
        " WHERE organization_id = $1::text AND workflow_id = $2::text AND number = $3::bigint";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(W->res->id(rec)),
        val_int(number ? number : field_int(rec, WORKFLOW_VERSION))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    *ret_found = s == WHARF_OK && W->db->count(rows) > 0;
    if (!*ret_found)
        return s;
    *ret_code = (struct code){.workflow_id = W->res->id(rec),
        .name = field_text(rec, WORKFLOW_NAME),
        .version = row_int(rows, 0, 0),
        .source = row_text(rows, 0, 1),
        .files = row_json(rows, 0, 2),
        .triggers = row_json(rows, 0, 3),
        .scopes = row_json(rows, 0, 4),
        .settings = row_json(rows, 0, 5),
        .publisher_key = row_text(rows, 0, 6),
        .options = row_json(rows, 0, 7),
        .locations = field_json(rec, WORKFLOW_ALLOWED_LOCATIONS)};
    return WHARF_OK;
}

wharf_status code_load(wharf_req *req, wharf_str workflow_id, int64_t number, struct code *ret_code,
    bool *ret_enabled, bool *ret_found)
{
    static const char sql[] = QUERY_CODE_LOAD;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(workflow_id),
        number ? val_int(number) : val_null()};
    const wharf_rows *rows;
    wharf_status s = query_alone(req, sql, args, 3, &rows);

    *ret_found = s == WHARF_OK && W->db->count(rows) > 0;
    if (!*ret_found)
        return s;
    *ret_enabled = row_bool(rows, 0, 10);
    *ret_code = (struct code){.workflow_id = workflow_id,
        .version = row_int(rows, 0, 9),
        .name = row_text(rows, 0, 0),
        .locations = row_json(rows, 0, 1),
        .source = row_text(rows, 0, 2),
        .files = row_json(rows, 0, 3),
        .triggers = row_json(rows, 0, 4),
        .scopes = row_json(rows, 0, 5),
        .settings = row_json(rows, 0, 6),
        .publisher_key = row_text(rows, 0, 7),
        .options = row_json(rows, 0, 8)};
    return WHARF_OK;
}

void spec_files(wharf_req *req, const struct code *c, wharf_lua_spec *spec)
{
    size_t n = c->files ? W->json->count(c->files) : 0;
    wharf_lua_file *files = W->mem->alloc(req, (n + 1) * sizeof(*files));

    files[0] = (wharf_lua_file){WHARF_S("main"), c->source};
    spec->n_files = 1;
    for (const wharf_json *f = n ? W->json->at(c->files, 0) : NULL; f; f = W->json->next(f)) {
        wharf_lua_file *to = &files[spec->n_files++];

        to->name = W->json->key(f);
        to->text = WHARF_S("");
        W->json->text(f, &to->text);
    }
    spec->files = files;
}

/* Returns the name as a folder of files has it. */
static wharf_str code_slug(wharf_req *req, wharf_str name)
{
    char *out = W->mem->alloc(req, name.n + 2);
    size_t n = 0;
    bool gap = false;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] + 32) : name.p[i];

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') {
            if (gap && n)
                out[n++] = '-';
            out[n++] = c;
            gap = false;
        } else {
            gap = true;
        }
    }
    return n ? (wharf_str){out, n} : WHARF_S("workflow");
}

wharf_str place_of(wharf_req *req, const struct code *c, const wharf_lua_outcome *o)
{
    wharf_str file = json_text(o->error, "file"), folder = code_slug(req, c->name);
    const wharf_json *line = o->error ? W->json->get(o->error, "line") : NULL;
    int64_t at = 0;

    if (!file.n)
        return o->message;
    if (line && W->json->integer(line, &at) && at > 0)
        return W->mem->format(req, "%s/%s:%lld: %s", folder.p, file.p, (long long)at, o->message.p);
    return W->mem->format(req, "%s/%s: %s", folder.p, file.p, o->message.p);
}

wharf_status code_problem(
    wharf_req *req, const struct code *c, const wharf_lua_outcome *o, const char *code)
{
    wharf_str reported = place_of(req, c, o);
    wharf_status s = W->err->add(req, code, reported.p, "%s", reported.p);

    flow_lua->place(req, o->error);
    return s;
}

static uint32_t code_nothing_outside(
    wharf_req *req, void *arg, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    if (is(op, "log"))
        return WHARF_LUA_GIVEN;
    return refuse_op(req, WHARF_LUA_MISTAKE, "op.unknown",
        "this is not available while the main file is loaded", ret_text);
}

/* Returns the code of a failed try: whatever a budget is called, here the file can't be loaded. */
static const char *code_of_try(const wharf_lua_outcome *o)
{
    if (o->end == WHARF_LUA_COMPILE)
        return ERR_WORKFLOW_COMPILE_ERROR;
    if (o->end == WHARF_LUA_NO_CELL)
        return ERR_OVERLOADED;
    return is(o->code, ERR_WORKFLOW_TRIGGER_INVALID) ? ERR_WORKFLOW_TRIGGER_INVALID
                                                     : ERR_WORKFLOW_LOAD_ERROR;
}

static uint32_t handlers_of(const wharf_json *triggers, wharf_str ret[TRIGGERS_MAX])
{
    uint32_t n = 0;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t && n < TRIGGERS_MAX;
         t = W->json->next(t))
        ret[n++] = is(json_text(t, "phase"), "before") ? WHARF_S("before")
                                                       : z(trigger_handler(json_text(t, "type")));
    return n;
}

wharf_status code_try(wharf_req *req, const struct code *c)
{
    wharf_str handlers[TRIGGERS_MAX];
    wharf_lua_spec spec = {.head = WHARF_HEAD(wharf_lua_spec),
        .handlers = handlers,
        .n_handlers = handlers_of(c->triggers, handlers),
        .instructions = check_budget.instructions,
        .memory = check_budget.memory,
        .wall_us = check_budget.wall_us,
        .result_max = check_budget.result_max,
        .answer = code_nothing_outside};
    wharf_lua_outcome o = {.head = WHARF_HEAD(wharf_lua_outcome)};
    wharf_status s;

    spec_files(req, c, &spec);
    s = flow_lua->run(req, &spec, &o);
    if (s != WHARF_OK || o.end == WHARF_LUA_OK)
        return s;
    if (o.end == WHARF_LUA_NO_CELL)
        return W->err->fail(req, ERR_OVERLOADED, NULL, NULL);
    return code_problem(req, c, &o, code_of_try(&o));
}
