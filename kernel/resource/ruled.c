/* ruled.c - what check hooks set is judged by the definition again: a rule of a plugin can't
 * store what no request could send.
 *
 * Such a value is a mistake of the plugin, not of the client: the answer is 500, and the log
 * names plugin, resource, field and reason. docs/reference/plugin-abi.md section 6. Leaves to
 * others: running hooks (hooks.c, set.c), judging bodies (body.c). */
#include "resource/hooks.h"
#include "resource/write.h"

#include "util/log.h"
#include "util/str.h"
#include "wharf/errors.h"

struct ruled {
    struct wharf_req *req;
    const struct resource *res;
    const char *plugin;
};

static void ruled_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    const struct ruled *r = arg;

    (void)rule;
    if (!path.p)
        return;
    log_write(WHARF_LOG_ERROR, r->plugin, r->req->request_id, "plugin.value",
        "a check hook of %s set a value of %s that its definition does not allow: %.*s", r->plugin,
        r->res->def->name, STR_ARG(message));
}

/* Returns the value as JSON, NULL when its text is none. */
static const struct wharf_json *ruled_json(
    struct arena *a, const struct field *f, const struct value *v)
{
    struct wharf_json *json = ARENA_NEW(a, struct wharf_json);
    struct json_error e;

    json->text = v->text;
    switch (f->store) {
    case STORE_INT:
    case STORE_DEC:
        json->type = JSON_NUMBER;
        return json;
    case STORE_BOOL:
        json->type = JSON_BOOL;
        json->truth = str_eqz(v->text, "true");
        return json;
    case STORE_JSON:
    case STORE_ARRAY:
    case STORE_METADATA:
        return v->json ? v->json : json_parse(a, v->text, &e);
    case STORE_NONE:
    case STORE_TEXT:
    case STORE_SECRET:
    case STORE_TIME:
        break;
    }
    json->type = JSON_STRING;
    return json;
}

static bool ruled_value_ok(struct ruled *r, const struct field *f, const struct value *v)
{
    struct arena *a = r->req->arena;
    const struct wharf_json *json;

    if (f->kind != FIELD_COLUMN || f->store == STORE_TIME || v->null)
        return true; /* the database judges these */
    json = ruled_json(a, f, v);
    if (!json) {
        ruled_problem(r, str_z(f->name), "format", arena_printf(a, "%s is no JSON", f->name));
        return false;
    }
    return !f->schema || schema_validate(f->schema, json, str_z(f->name), 0, a, ruled_problem, r);
}

wharf_status ruled_values_judge(
    struct wharf_req *req, const struct plugin *plugin, struct wharf_rec *rec)
{
    struct ruled r = {req, rec->res, plugin->name};
    bool ok = true;

    for (size_t i = 0; i < rec->res->def->n_fields; i++) {
        struct value *v = &rec->values[i];

        if (!v->ruled)
            continue;
        v->ruled = false;
        ok = ruled_value_ok(&r, &rec->res->def->fields[i], v) && ok;
    }
    return ok ? WHARF_OK : req_fail(req, ERR_INTERNAL, NULL, NULL);
}
