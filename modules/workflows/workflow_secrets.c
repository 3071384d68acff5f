/* workflow_secrets.c - secrets of a workflow: set and removed by authors, read by its runs,
 * and taken out of all that is kept of these (spec 08 sections 1, 5 and 6). */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "workflows.h"
#include "workflows.gen.h"

#include "wharf/secrets.h"

enum {
    SECRETS_MAX = 50, /* secrets of a workflow */
    SECRET_BYTES = 8192, /* bytes of one */
    HIDDEN_MIN = 6
};

struct secret {
    struct secret *next;
    wharf_str key, value;
    const wharf_hiding *hiding; /* of all of the list; in its first */
};

/* ---- set, shown, removed ---- */

bool secret_key_good(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool letter = s.p[i] >= 'A' && s.p[i] <= 'Z';

        if (!letter && (!i || (s.p[i] != '_' && !(s.p[i] >= '0' && s.p[i] <= '9'))))
            return false;
    }
    return s.n && s.n <= 64;
}

static const struct secrets_kind kind = {.resource = "workflow_secret",
    .parent = "workflow_id",
    .sql = "SELECT count(*), max(id) FILTER (WHERE key = $3::text) FROM workflows.secret WHERE "
           "organization_id = $1::text AND workflow_id = $2::text AND deleted_at IS NULL",
    .too_many = ERR_WORKFLOW_LIMIT,
    .most = SECRETS_MAX};

static wharf_status of_path(wharf_req *req, wharf_str *ret_id)
{
    const wharf_rec *rec;
    struct code c;
    wharf_status s = draft_read(req, &rec, &c);

    *ret_id = s == WHARF_OK ? c.workflow_id : WHARF_S("");
    return s;
}

wharf_status secret_set_route(wharf_req *req, void *arg)
{
    const wharf_json *body;
    wharf_str id, key, value;
    wharf_status s = of_path(req, &id);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    key = json_text(body, "key");
    value = json_text(body, "value");
    if (!secret_key_good(key))
        return W->err->fail(req, ERR_WORKFLOW_SECRET_KEY, "key", NULL);
    if (!value.n)
        return W->err->fail(req, ERR_WORKFLOW_SECRET_VALUE, "value", NULL);
    s = secrets_set(req, &kind, id, key, value);
    /* where there were none, they are not looked for */
    return s == WHARF_OK ? hooks_tell(req, id) : s;
}

wharf_status secret_delete_route(wharf_req *req, void *arg)
{
    wharf_str id;
    wharf_status s = of_path(req, &id);

    return s == WHARF_OK ? secrets_remove(req, &kind, id) : s;
}

/* ---- in the workflow ---- */

wharf_status secrets_of_body(
    wharf_req *req, wharf_str workflow_id, const wharf_json *input, bool check)
{
    const wharf_rec *rec;
    bool made;
    wharf_status s = WHARF_OK;

    if (input && W->json->type(input) != WHARF_J_OBJECT)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "secrets", "secrets is an object: {\"KEY\": \"value\"}");
    for (const wharf_json *m = input ? W->json->at(input, 0) : NULL; m && s == WHARF_OK;
         m = W->json->next(m)) {
        wharf_str key = W->json->key(m), value = {"", 0};
        const char *path = W->mem->format(req, "secrets.%.*s", (int)key.n, key.p).p;

        if (check && !secret_key_good(key))
            return W->err->fail(req, ERR_WORKFLOW_SECRET_KEY, path, NULL);
        if (check && ((!W->json->text(m, &value) && W->json->type(m) != WHARF_J_NULL) ||
                         value.n > SECRET_BYTES))
            return W->err->fail(req, ERR_VALIDATION_FAILED, path,
                "The value of a secret is a text of at most %d bytes", SECRET_BYTES);
        if (check && !value.n)
            return W->err->fail(req, ERR_WORKFLOW_SECRET_VALUE, path, NULL);
        W->json->text(m, &value);
        if (!check)
            s = secrets_put(req, &kind, workflow_id, key, value, path, &rec, &made);
    }
    return s;
}

wharf_status secrets_show(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    static const char sql[] =
        "SELECT workflow_id, key, updated_at, updated_by FROM "
        "workflows.secret WHERE organization_id = $2::text AND "
        "workflow_id = ANY ((SELECT $1::text[])::text[]) AND deleted_at IS NULL ORDER BY key";
    const wharf_rows *rows = NULL;
    wharf_status s = query_about(req, sql, val_rec_ids(req, recs, n).u.s, &rows);
    wharf_val at;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        W->json->open(outs[i], NULL, '[');
        for (size_t r = 0; r < W->db->count(rows); r++) {
            if (!same(row_text(rows, r, 0), W->res->id(recs[i])))
                continue;
            W->json->open(outs[i], NULL, '{');
            W->json->put(outs[i], "key", val_text(row_text(rows, r, 1)));
            if (W->db->value(rows, r, 2, WHARF_V_TIME_US, &at))
                W->json->put(outs[i], "updated_at", at);
            W->json->put(outs[i], "updated_by", val_text_or_null(row_text(rows, r, 3)));
            W->json->close(outs[i]);
        }
        W->json->close(outs[i]);
    }
    return s;
}

/* ---- given to runs ---- */

/* Prepares how all of them are known again in texts; that is kept with the first. */
static void prepare_hiding(wharf_req *req, struct secret *list)
{
    wharf_str names[SECRETS_MAX], values[SECRETS_MAX];
    size_t n = 0;

    for (const struct secret *s = list; s && n < SECRETS_MAX; s = s->next, n++) {
        names[n] = s->key;
        values[n] = s->value;
    }
    if (list)
        list->hiding = flow_crypto->hiding(req, names, values, n);
}

wharf_status secrets_load(wharf_req *req, wharf_str workflow_id, struct secret **ret)
{
    static const char sql[] =
        "SELECT id, key, value FROM workflows.secret WHERE organization_id = $1::text AND "
        "workflow_id = $2::text AND deleted_at IS NULL ORDER BY length(value) DESC";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(workflow_id)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);
    struct secret **last = ret;

    *ret = NULL;
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct secret *one = W->mem->alloc(req, sizeof(*one));

        one->key = row_text(rows, i, 1);
        if (!flow_crypto->open(req, "workflows.secret", "value", row_text(rows, i, 0),
                row_text(rows, i, 2), &one->value))
            /* sealed with a key that this machine does not have: the run is told that it is
             * missing */
            continue;
        *last = one;
        last = &one->next;
    }
    prepare_hiding(req, *ret);
    return s;
}

wharf_str secret_of(const struct secret *list, wharf_str key)
{
    for (const struct secret *s = list; s; s = s->next) {
        if (same(s->key, key))
            return s->value;
    }
    return WHARF_S("");
}

uint32_t secret_answer(
    wharf_req *req, const struct asked *a, const wharf_json *args, wharf_str *ret_text)
{
    wharf_str key = json_text(args, "key"), value = secret_of(a->secrets, key);
    wharf_out *out;

    if (!value.n)
        return refuse_op(req, WHARF_LUA_MISTAKE, "secret.missing",
            W->mem->format(req, "the workflow has no secret %.64s", key.p).p, ret_text);
    out = W->json->writer(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "value", val_text(value));
    W->json->close(out);
    *ret_text = W->json->result_text(out);
    return WHARF_LUA_GIVEN;
}

/* ---- taken out ---- */

static wharf_str workflow_secrets_hide(
    wharf_req *req, const struct secret *list, wharf_str text, bool cut)
{
    return list ? flow_crypto->hide(req, list->hiding, text, cut) : text;
}

wharf_str secrets_hide(wharf_req *req, const struct secret *list, wharf_str text)
{
    return workflow_secrets_hide(req, list, text, false);
}

wharf_str secrets_hide_cut(wharf_req *req, const struct secret *list, wharf_str text)
{
    const wharf_str more = WHARF_S(" …");
    bool reported = text.n >= more.n && !memcmp(text.p + text.n - more.n, more.p, more.n);

    if (!reported || !list)
        return workflow_secrets_hide(req, list, text, true);
    text = workflow_secrets_hide(req, list, (wharf_str){text.p, text.n - more.n}, true);
    return W->mem->format(req, "%.*s%s", (int)text.n, text.p, more.p);
}

wharf_str secrets_hide_room(wharf_req *req, const struct secret *list, wharf_str text, size_t room)
{
    return workflow_secrets_hide(req, list, text, text.n + 4 >= room);
}

/* Hides a number: a secret of digits may have been made one; others with the same digits among
 * theirs are not meant. */
static bool workflow_secrets_put_number(
    wharf_req *req, const struct secret *list, wharf_out *out, const char *key, const wharf_json *v)
{
    char digits[24];
    wharf_str text = {digits, 0};
    int64_t n;

    if (!W->json->decimal(v, 0, &n)) /* 12345678.0 is one too */
        return false;
    text.n = (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)n);
    for (const struct secret *s = list; s; s = s->next) {
        if (s->value.n >= HIDDEN_MIN && same(text, s->value)) {
            W->json->put(
                out, key, val_text(W->mem->format(req, "[secret:%.*s]", (int)s->key.n, s->key.p)));
            return true;
        }
    }
    return false;
}

static void put_hidden(
    wharf_req *req, const struct secret *list, wharf_out *out, const char *key, const wharf_json *v)
{
    uint32_t type = W->json->type(v);
    bool object = type == WHARF_J_OBJECT;
    wharf_str text;

    if (type == WHARF_J_STRING && W->json->text(v, &text)) {
        W->json->put(out, key, val_text(secrets_hide(req, list, text)));
    } else if (object || type == WHARF_J_ARRAY) {
        W->json->open(out, key, object ? '{' : '[');
        for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m))
            put_hidden(
                req, list, out, object ? secrets_hide(req, list, W->json->key(m)).p : NULL, m);
        W->json->close(out);
    } else if (type != WHARF_J_NUMBER || !workflow_secrets_put_number(req, list, out, key, v)) {
        W->json->put(out, key, val_json(v));
    }
}

const wharf_json *secrets_hide_json(wharf_req *req, const struct secret *list, const wharf_json *v)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *hidden = NULL;

    if (!v || !list)
        return v;
    put_hidden(req, list, out, NULL, v);
    if (W->json->result(req, out, &hidden) != WHARF_OK)
        W->err->clear(req);
    return hidden;
}
