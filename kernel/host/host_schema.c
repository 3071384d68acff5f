/* host_schema.c - the service wharf.schema (plugin-api/wharf/service/schema.h): schemas of
 * tenants, bounded in size and in work. */
#include "host/host.h"
#include "schema/schema.h"
#include "schema/tenant.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/schema.h"

enum { REPORTED_MAX = 50, FAULTS_TEXT = 1000 /* bytes, after which no sentence is added */ };

struct reported {
    wharf_req *req;
    const char *code, *path;
    int64_t left;
    size_t n;
};

static void host_schema_wrong_schema(
    void *arg, wharf_str pointer, const char *rule, wharf_str message)
{
    struct reported *t = arg;

    if (t->n++ < REPORTED_MAX)
        req_fail(t->req, t->code, t->path, "%s%s%.*s", pointer.p, pointer.n ? ": " : "",
            STR_ARG(message));
}

static void host_schema_wrong_value(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct reported *t = arg;

    req_problem(t->req, ERR_VALIDATION_FAILED, path, rule, message);
    if (++t->n == REPORTED_MAX)
        t->left = 0;
}

struct faults {
    struct arena *arena;
    wharf_str text;
    int64_t left;
    size_t n;
};

static void add_fault(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct faults *f = arg;

    if (message.p && f->text.n < FAULTS_TEXT)
        f->text = arena_printf(
            f->arena, "%.*s%s%.*s", STR_ARG(f->text), f->text.n ? "; " : "", STR_ARG(message));
    if (++f->n == REPORTED_MAX)
        f->left = 0;
}

static wharf_status s_check(
    wharf_req *req, const wharf_json *schema, const char *code, const char *path)
{
    struct reported t = {.req = req, .code = code, .path = path};

    return tenant_schema(req->arena, schema, host_schema_wrong_schema, &t) ? WHARF_OK
                                                                           : req_failed(req);
}

static wharf_status s_validate(
    wharf_req *req, const wharf_json *schema, const wharf_json *value, const char *path)
{
    struct reported t = {
        .req = req, .code = ERR_VALIDATION_FAILED, .path = path, .left = TENANT_SCHEMA_STEPS};
    const struct schema *s = tenant_schema(req->arena, schema, host_schema_wrong_schema, &t);

    if (!s)
        return req_failed(req);
    if (schema_validate_within(
            s, value, str_z(path), &t.left, req->arena, host_schema_wrong_value, &t))
        return WHARF_OK;
    if (!t.left && t.n < REPORTED_MAX)
        req_problem(req, ERR_VALIDATION_FAILED, str_z(path), "format", str_z(TENANT_SCHEMA_WORK));
    return req_failed(req);
}

static wharf_status s_faults(wharf_req *req, const wharf_json *schema, const wharf_json *value,
    const char *path, wharf_str *ret_text)
{
    struct faults f = {req->arena, str_z(""), TENANT_SCHEMA_STEPS, 0};
    const struct schema *s = tenant_schema(req->arena, schema, add_fault, &f);

    if (s && !schema_validate_within(s, value, str_z(path), &f.left, req->arena, add_fault, &f) &&
        !f.left && f.n < REPORTED_MAX)
        f.text = arena_printf(req->arena, "%s: %s", path, TENANT_SCHEMA_WORK);
    *ret_text = f.text;
    return WHARF_OK;
}

const wharf_schema_api host_schema = {WHARF_HEAD(wharf_schema_api), s_check, s_validate, s_faults};
