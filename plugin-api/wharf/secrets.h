/* wharf/secrets.h - the secrets that a row has, each under a key: the routes that set, replace
 * and remove them.
 *
 * For modules that call their host table W, as wharf/inline.h; everything is inline, nothing of
 * it is ABI. Leaves to the module: who reaches the row, what keys and values look like, and
 * reading values. */
#ifndef WHARF_SECRETS_H
#define WHARF_SECRETS_H

#include "wharf/errors.h"
#include "wharf/inline.h"

#ifdef W
struct secrets_kind {
    const char *resource; /* its fields are `parent`, `key`, and `value` of store secret */
    const char *parent; /* the field that says whose they are */
    /* count(*), and the id of the one with key $3 or null: of the parent $2 in the organization
     * $1 */
    const char *sql;
    const char *too_many; /* code */
    int64_t most;
};

/* *ret_id: of the one with this key, empty when there is none. *ret_n: how many there are in
 * all, which nobody changes until the end of the transaction. */
WHARF_INLINE wharf_status secrets_find(wharf_req *req, const struct secrets_kind *k,
    wharf_str parent, wharf_str key, wharf_str *ret_id, int64_t *ret_n)
{
    const wharf_rows *rows;
    wharf_val args[3];
    wharf_status s = W->db->lock(req, k->resource, parent);

    args[0] = val_text(W->req->organization(req));
    args[1] = val_text(parent);
    args[2] = val_text(key);
    if (s == WHARF_OK)
        s = W->db->query(req, k->sql, args, 3, &rows);
    if (s != WHARF_OK)
        return s;
    *ret_n = row_int(rows, 0, 0);
    *ret_id = row_text(rows, 0, 1);
    return WHARF_OK;
}

/* Makes it, or gives the one that is there another value. path: of the key in the body, for
 * problems. */
WHARF_INLINE wharf_status secrets_put(wharf_req *req, const struct secrets_kind *k,
    wharf_str parent, wharf_str key, wharf_str value, const char *path, const wharf_rec **ret_rec,
    bool *ret_made)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    wharf_str id;
    int64_t n;
    wharf_status s = secrets_find(req, k, parent, key, &id, &n);

    if (s != WHARF_OK)
        return s;
    if (!id.n && n >= k->most)
        return W->err->fail(req, k->too_many, path,
            "There are %d secrets, which is the most; remove one first", (int)n);
    W->json->open(out, NULL, '{');
    if (!id.n) {
        W->json->put(out, k->parent, val_text(parent));
        W->json->put(out, "key", val_text(key));
    }
    W->json->put(out, "value", val_text(value));
    W->json->close(out);
    s = W->json->result(req, out, &body);
    *ret_made = !id.n;
    if (s != WHARF_OK)
        return s;
    return id.n ? W->res->update(req, k->resource, id, body, ret_rec)
                : W->res->create(req, k->resource, body, ret_rec);
}

/* The answer of `POST …/secrets`: 201 with a new one, 200 with the one that has another value
 * now. */
WHARF_INLINE wharf_status secrets_set(
    wharf_req *req, const struct secrets_kind *k, wharf_str parent, wharf_str key, wharf_str value)
{
    const wharf_rec *rec = NULL;
    bool made = false;
    wharf_status s = secrets_put(req, k, parent, key, value, "key", &rec, &made);

    if (s == WHARF_OK)
        W->res->encode(req,
            W->req->respond(req, made ? 201 : 200, made ? "Secret created" : "Secret replaced"),
            NULL, rec);
    return s;
}

/* The answer of `DELETE …/secrets/:key`. */
WHARF_INLINE wharf_status secrets_remove(
    wharf_req *req, const struct secrets_kind *k, wharf_str parent)
{
    wharf_str id, key = WHARF_S("");
    wharf_out *out;
    int64_t n;
    wharf_status s;

    W->req->param(req, "key", &key);
    s = secrets_find(req, k, parent, key, &id, &n);
    if (s == WHARF_OK && !id.n)
        s = W->err->fail(req, ERR_NOT_FOUND, key.p, "There is no secret with this key");
    if (s == WHARF_OK)
        s = W->res->remove(req, k->resource, id);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Secret deleted");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "object", val_text(z(k->resource)));
    W->json->put(out, "deleted", val_bool(true));
    W->json->close(out);
    return WHARF_OK;
}
#endif

#endif
