/* kv.c - the key-value store of a workflow: the ops kv.* (spec 08 section 5). Each is one
 * statement, committed at once. */
#include <stdlib.h>
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"
#include "wharf/errors.h"

#define ALIVE QUERY_KV_ALIVE
#define WHOLE QUERY_KV_WHOLE

static const double ttl_max_s = 100.0 * 366 * 86400;

/* $1 organization, $2 workflow, $3 key, $4 now, then: */
static const char get_sql[] =
    "SELECT k.value FROM workflows.kv k WHERE k.organization_id = $1::text AND k.workflow_id "
    "= $2::text AND k.key = $3::text AND " ALIVE;
static const char set_sql[] = /* $5 value, $6 milliseconds or null, $7 only when absent */
    "INSERT INTO workflows.kv AS k (organization_id, workflow_id, key, value, expires_at) VALUES "
    "($1::text, $2::text, $3::text, $5::jsonb, $4::timestamptz + $6::bigint * interval '1 "
    "millisecond') ON CONFLICT (organization_id, workflow_id, key) DO UPDATE "
    "SET value = EXCLUDED.value, "
    "expires_at = EXCLUDED.expires_at WHERE NOT $7::boolean OR NOT " ALIVE " RETURNING true";
static const char incr_sql[] = QUERY_KV_INCREASE;
static const char whole_sql[] =
    "SELECT k.value FROM workflows.kv k WHERE k.organization_id = $1::text AND "
    "k.workflow_id = $2::text AND k.key = $3::text AND " ALIVE " AND " WHOLE;
static const char cas_sql[] = QUERY_KV_REPLACE;
static const char delete_sql[] = "DELETE FROM workflows.kv k WHERE k.organization_id = $1::text "
                                 "AND k.workflow_id = $2::text AND k.key = "
                                 "$3::text RETURNING " ALIVE;
static const char list_sql[] = /* $3 prefix, $5 how many */
    "SELECT k.key, k.value FROM workflows.kv k WHERE k.organization_id = $1::text AND "
    "k.workflow_id = $2::text AND starts_with(k.key, $3::text) AND " ALIVE
    " ORDER BY k.key LIMIT $5::bigint";

static const char size_sql[] =
    "SELECT COALESCE(sum(k.bytes), 0)::bigint FROM workflows.kv k WHERE k.organization_id = "
    "$1::text AND k.workflow_id = $2::text AND k.key <> $3::text AND " ALIVE;

struct ask {
    wharf_req *req;
    const struct asked *run;
    const wharf_json *args;
    wharf_str *ret_text;
    const wharf_rows *rows;
};

static wharf_val member_json(const struct ask *k, const char *name)
{
    const wharf_json *v = W->json->get(k->args, name);

    return v ? val_json(v) : val_null();
}

static wharf_val member_int(const struct ask *k, const char *name)
{
    const wharf_json *v = W->json->get(k->args, name);
    int64_t i;

    return v && W->json->integer(v, &i) ? val_int(i) : val_null();
}

/* Runs the statement with the first four and up to three more. Returns false when the database is
 * away. */
static bool kv_ask(struct ask *k, const char *sql, wharf_str key, size_t n_more, wharf_val a,
    wharf_val b, wharf_val c)
{
    const wharf_val args[] = {val_text(W->req->organization(k->req)),
        val_text(k->run->code->workflow_id), val_text(key), val_time(W->req->now_us(k->req)), a, b,
        c};
    wharf_status s = query_alone(k->req, sql, args, 4 + n_more, &k->rows);

    if (s != WHARF_OK)
        W->err->clear(k->req);
    return s == WHARF_OK;
}

static uint32_t kv_give(const struct ask *k, const char *member, wharf_val v)
{
    wharf_out *out = W->json->writer(k->req);

    W->json->open(out, NULL, '{');
    W->json->put(out, member, v);
    W->json->close(out);
    *k->ret_text = W->json->result_text(out);
    return WHARF_LUA_GIVEN;
}

static uint32_t kv_away(const struct ask *k)
{
    return refuse_op(k->req, WHARF_LUA_ENDED, ERR_OVERLOADED,
        "the store can't be reached at the moment", k->ret_text);
}

static uint32_t kv_mistake(const struct ask *k, const char *code, const char *message)
{
    return refuse_op(k->req, WHARF_LUA_MISTAKE, code, message, k->ret_text);
}

static bool kv_too_large(const struct ask *k, const char *name)
{
    wharf_out *out = W->json->writer(k->req);

    W->json->put(out, NULL, member_json(k, name));
    return W->json->result_text(out).n > VALUE_MAX;
}

static uint32_t kv_list(struct ask *k)
{
    wharf_val limit = member_int(k, "limit");
    wharf_out *out;

    if (limit.type != WHARF_V_INT || limit.u.i < 1 || limit.u.i > 1000)
        return kv_mistake(k, ERR_PARAM_INVALID, "limit is 1 to 1000");
    if (!kv_ask(k, list_sql, json_text(k->args, "prefix"), 1, limit, val_null(), val_null()))
        return kv_away(k);
    out = W->json->writer(k->req);
    W->json->open(out, NULL, '{');
    W->json->open(out, "items", '[');
    for (size_t i = 0; i < W->db->count(k->rows); i++) {
        wharf_scope *scope = W->mem->scope_begin(k->req);

        W->json->open(out, NULL, '{');
        W->json->put(out, "key", val_text(row_text(k->rows, i, 0)));
        W->json->put(out, "value", val_json(row_json(k->rows, i, 1)));
        W->json->close(out);
        W->mem->scope_end(k->req, scope);
    }
    W->json->close(out);
    W->json->close(out);
    *k->ret_text = W->json->result_text(out);
    return WHARF_LUA_GIVEN;
}

/* Tells whether the store would hold more than it may with this value. Two runs at once may pass
 * by one value. */
static bool full(struct ask *k, wharf_str key, const char *name, bool *ret_away)
{
    wharf_out *out = W->json->writer(k->req);

    W->json->put(out, NULL, member_json(k, name));
    *ret_away = !kv_ask(k, size_sql, key, 0, val_null(), val_null(), val_null());
    return !*ret_away &&
           row_int(k->rows, 0, 0) + (int64_t)(key.n + W->json->result_text(out).n) > STORE_MAX;
}

/* Tells whether what is written fits; else a problem is told. */
static bool kv_fits(struct ask *k, wharf_str key, const char *name, uint32_t *ret_how)
{
    bool is_away;

    if (kv_too_large(k, name))
        *ret_how = kv_mistake(k, "kv.too_large", "a value has at most 64 KiB as JSON");
    else if (full(k, key, name, &is_away))
        *ret_how = kv_mistake(k, "kv.full", "the store of a workflow holds at most 10 MiB");
    else if (is_away)
        *ret_how = kv_away(k);
    else
        return true;
    return false;
}

/* Reads the time to live in milliseconds; null: the value stays. Returns false after a problem was
 * told. */
static bool kv_ttl_of(const struct ask *k, wharf_val *ret_ttl, uint32_t *ret_how)
{
    const wharf_json *v = W->json->get(k->args, "ttl");
    wharf_out *out = W->json->writer(k->req);
    double s;

    *ret_ttl = val_null();
    if (json_is_null(v))
        return true;
    W->json->put(out, NULL, val_json(v));
    s = W->json->type(v) == WHARF_J_NUMBER ? strtod(W->json->result_text(out).p, NULL)
                                           : ttl_max_s * 2;
    if (!(s >= -ttl_max_s && s <= ttl_max_s)) {
        *ret_how = kv_mistake(
            k, ERR_PARAM_INVALID, "ttl is a number of seconds, at most those of 100 years");
        return false;
    }
    *ret_ttl = val_int((int64_t)(s * 1000));
    return true;
}

static uint32_t kv_set(struct ask *k, wharf_str key)
{
    wharf_val absent = val_bool(json_truth(W->json->get(k->args, "if_absent"))), ttl;
    uint32_t how;

    if (!kv_ttl_of(k, &ttl, &how) || !kv_fits(k, key, "value", &how))
        return how;
    if (!kv_ask(k, set_sql, key, 3, member_json(k, "value"), ttl, absent))
        return kv_away(k);
    return kv_give(k, "done", val_bool(W->db->count(k->rows) > 0));
}

/* Tells why nothing was added. */
static uint32_t kv_not_added(struct ask *k, wharf_str key)
{
    if (!kv_ask(k, whole_sql, key, 0, val_null(), val_null(), val_null()))
        return kv_away(k);
    if (W->db->count(k->rows))
        return kv_mistake(k, ERR_PARAM_INVALID, "the sum would be no number of 64 bits");
    return kv_mistake(k, "kv.not_a_number", "the value is no whole number");
}

static uint32_t kv_incr(struct ask *k, wharf_str key)
{
    wharf_val by = member_int(k, "by"), ttl;
    uint32_t how;

    if (by.type != WHARF_V_INT)
        return kv_mistake(k, ERR_PARAM_INVALID, "what is added is a whole number of 64 bits");
    if (!kv_ttl_of(k, &ttl, &how) || !kv_fits(k, key, "by", &how))
        return how;
    if (!kv_ask(k, incr_sql, key, 2, by, ttl, val_null()))
        return kv_away(k);
    if (!W->db->count(k->rows))
        return kv_not_added(k, key);
    return kv_give(k, "value", val_json(row_json(k->rows, 0, 0)));
}

static uint32_t kv_cas(struct ask *k, wharf_str key)
{
    uint32_t how;

    if (!kv_fits(k, key, "new", &how))
        return how;
    if (!kv_ask(k, cas_sql, key, 2, member_json(k, "old"), member_json(k, "new"), val_null()))
        return kv_away(k);
    return kv_give(k, "done", val_bool(W->db->count(k->rows) > 0));
}

uint32_t kv_answer(wharf_req *req, const struct asked *a, wharf_str op, const wharf_json *args,
    wharf_str *ret_text)
{
    struct ask k = {.req = req, .run = a, .args = args, .ret_text = ret_text};
    wharf_str key = json_text(args, "key");

    if (is(op, "kv.list"))
        return kv_list(&k);
    if (!key.n || key.n > KEY_MAX)
        return kv_mistake(&k, ERR_PARAM_INVALID, "a key is a text of 1 to 200 bytes");
    if (is(op, "kv.set"))
        return kv_set(&k, key);
    if (is(op, "kv.incr"))
        return kv_incr(&k, key);
    if (is(op, "kv.cas"))
        return kv_cas(&k, key);
    if (is(op, "kv.delete")) {
        if (!kv_ask(&k, delete_sql, key, 0, val_null(), val_null(), val_null()))
            return kv_away(&k);
        return kv_give(&k, "done", val_bool(W->db->count(k.rows) > 0 && row_bool(k.rows, 0, 0)));
    }
    if (!is(op, "kv.get"))
        return kv_mistake(&k, "op.unknown", "there is no such function of the store");
    if (!kv_ask(&k, get_sql, key, 0, val_null(), val_null(), val_null()))
        return kv_away(&k);
    if (!W->db->count(k.rows))
        return WHARF_LUA_GIVEN;
    return kv_give(&k, "value", val_json(row_json(k.rows, 0, 0)));
}

/* ---- looked at from outside ---- */

static wharf_status workflow_of(wharf_req *req, wharf_str *ret_id)
{
    const wharf_rec *rec;
    struct code c;
    wharf_status s = draft_read(req, &rec, &c);

    *ret_id = s == WHARF_OK ? c.workflow_id : WHARF_S("");
    return s;
}

wharf_status kv_list_route(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT k.key, k.value, k.expires_at FROM workflows.kv k WHERE k.organization_id = "
        "$1::text AND k.workflow_id = $2::text AND ($3::text = '' OR k.key = $3::text) AND " ALIVE
        " ORDER BY k.key LIMIT $5::bigint OFFSET $6::bigint";
    wharf_str id, key = {"", 0};
    int64_t page = 1, limit = 1, n;
    const wharf_rows *rows;
    wharf_out *out;
    wharf_val v;
    bool one = W->req->param(req, "key", &key);
    wharf_status s = workflow_of(req, &id);

    if (s == WHARF_OK && !one)
        s = W->req->page(req, 100, 1000, &page, &limit);
    if (s != WHARF_OK)
        return s;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(id), val_text(key),
        val_time(W->req->now_us(req)), val_int(limit + 1), val_int((page - 1) * limit)};
    s = W->db->query(req, sql, args, 6, &rows);
    if (s != WHARF_OK)
        return s;
    n = (int64_t)W->db->count(rows);
    if (one && !n)
        return W->err->fail(
            req, ERR_NOT_FOUND, NULL, "The store of the workflow has no key %s", key.p);
    out = W->req->respond(req, 200, "Stored values retrieved");
    if (!one)
        W->json->open(out, NULL, '[');
    for (int64_t i = 0; i < n && i < limit; i++) {
        /* a value of 64 KiB may take 2 MiB when it is read */
        wharf_scope *scope = W->mem->scope_begin(req);

        W->json->open(out, NULL, '{');
        W->json->put(out, "key", val_text(row_text(rows, (size_t)i, 0)));
        W->json->put(out, "value", val_json(row_json(rows, (size_t)i, 1)));
        W->json->put(out, "expires_at",
            W->db->value(rows, (size_t)i, 2, WHARF_V_TIME_US, &v) ? v : val_null());
        W->json->close(out);
        W->mem->scope_end(req, scope);
    }
    if (!one) {
        W->json->close(out);
        W->req->paged(req, page, limit, n > limit);
    }
    return WHARF_OK;
}

wharf_status kv_delete_route(wharf_req *req, void *arg)
{
    static const char sql[] =
        "DELETE FROM workflows.kv k WHERE k.organization_id = $1::text AND k.workflow_id = "
        "$2::text AND ($3::text = '' OR k.key = $3::text)";
    wharf_str id, key = {"", 0};
    uint64_t n = 0;
    wharf_out *out;
    bool one = W->req->param(req, "key", &key);
    wharf_status s = workflow_of(req, &id);

    if (s != WHARF_OK)
        return s;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(id), val_text(key)};
    s = W->db->exec(req, sql, args, 3, &n);
    if (s == WHARF_OK && one && !n)
        s = W->err->fail(
            req, ERR_NOT_FOUND, NULL, "The store of the workflow has no key %s", key.p);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Stored values deleted");
    W->json->open(out, NULL, '{');
    W->json->put(out, "deleted", val_int((int64_t)n));
    W->json->close(out);
    return WHARF_OK;
}
