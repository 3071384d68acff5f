/* push_devices.c - the browsers of users: subscriptions that they register, and how many addresses
 * a user has (spec 07 section 16.2 rule 2). */
#include "user_push.h"

#include "notifications.gen.h"

#define ADDRESSES_MOST 20 /* phones and browsers of a user */

/* ---- who may ---- */

/* Finds the user of the path: oneself, or with users:write anybody. */
static wharf_status push_devices_find_user(wharf_req *req, wharf_str *ret_id)
{
    const wharf_rec *rec;
    wharf_status s = WHARF_OK;

    *ret_id = WHARF_S("");
    W->req->param(req, "user", ret_id);
    if (!same(notifications_keys->caller(req)->user_id, *ret_id))
        s = W->req->need_scope(req, "users:write");
    if (s == WHARF_OK)
        s = W->res->fetch(req, "user", *ret_id, 0, &rec);
    return s == WHARF_OK ? W->db->lock(req, "notifications.addresses", *ret_id) : s;
}

/* ---- how many ---- */

/* Removes subscriptions, the oldest first, while a user has more addresses than they may. */
static wharf_status keep_to_most(wharf_req *req, wharf_str user_id)
{
    static const char sql[] = QUERY_PUSH_TOO_MANY;
    const wharf_val args[] = {
        val_text(user_id), val_text(W->req->organization(req)), val_int(ADDRESSES_MOST)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = W->res->remove(req, "push_subscription", row_text(rows, i, 0));
    return s;
}

/* Removes the oldest tokens, which stand first, where a new browser has no room beside them. */
static wharf_status push_devices_make_room(wharf_req *req, wharf_str user_id)
{
    static const char sql[] =
        "UPDATE wharf.user SET fcm_tokens = fcm_tokens - 0, version = version + 1 WHERE "
        "organization_id = $2::text AND id = $1::text AND jsonb_array_length(fcm_tokens)"
        " >= " SQL_NUMBER(ADDRESSES_MOST);

    return query_about(req, sql, user_id, NULL);
}

static wharf_status push_devices_user_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char *const tokens[] = {"fcm_tokens"};

    if (op == WHARF_UPDATE && !W->res->changed_any(old_rec, new_rec, tokens, 1))
        return WHARF_OK;
    if (op == WHARF_DELETE)
        return query_about(req,
            "DELETE FROM notifications.push_subscription WHERE organization_id = $2::text AND "
            "user_id = $1::text",
            W->res->id(old_rec), NULL);
    return keep_to_most(req, W->res->id(new_rec));
}

const wharf_hooks push_user_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .written = push_devices_user_written,
    .ops = WHARF_UPDATE | WHARF_DELETE};

/* ---- a subscription ---- */

static wharf_status check_endpoint(wharf_req *req, wharf_str endpoint)
{
    const wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .url = endpoint,
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_PORT_80 | WHARF_FETCH_NO_FRAGMENT};

    if (push_fetch->check(req, &r, "endpoint") == WHARF_OK)
        return WHARF_OK;
    W->err->clear(req);
    return W->err->fail(req, ERR_PUSH_ENDPOINT, "endpoint", NULL);
}

/* Returns a name of the endpoint that says nothing of it. */
static wharf_str push_devices_hash_of(wharf_req *req, wharf_str endpoint)
{
    unsigned char hash[32];

    notifications_crypto->keyed_hash(req, "notifications.endpoint", endpoint, hash);
    return notifications_crypto->base64(req, (wharf_str){(const char *)hash, sizeof(hash)});
}

/* Returns scheme and host, which may be shown. */
static wharf_str service_of(wharf_req *req, wharf_str endpoint)
{
    const char *host = strstr(endpoint.p, "://");
    size_t n = host ? (size_t)(host - endpoint.p) + 3 : 0;

    return W->mem->dup(req, endpoint.p, n + strcspn(endpoint.p + n, "/?#"));
}

/* Removes what is there of this endpoint: a browser that subscribes again has new keys, and one of
 * another user is theirs now. */
static wharf_status remove_same(wharf_req *req, wharf_str hash)
{
    static const char sql[] =
        "SELECT id FROM notifications.push_subscription WHERE organization_id = $2::text AND "
        "endpoint_hash = $1::text AND deleted_at IS NULL";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, hash, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = W->res->remove(req, "push_subscription", row_text(rows, i, 0));
    return s;
}

/* A subscription as its route has judged it: nobody else makes one. */
struct made {
    wharf_str service, endpoint, p256dh, auth, hash;
};
static const char made_kind;

static wharf_status subscription_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const struct made *m = W->res->context(new_rec, &made_kind);

    if (!m)
        return WHARF_OK;
    W->res->set(new_rec, PUSH_SUBSCRIPTION_SERVICE, val_text(m->service));
    W->res->set(new_rec, PUSH_SUBSCRIPTION_ENDPOINT, val_text(m->endpoint));
    W->res->set(new_rec, PUSH_SUBSCRIPTION_P256DH, val_text(m->p256dh));
    W->res->set(new_rec, PUSH_SUBSCRIPTION_AUTH, val_text(m->auth));
    W->res->set(new_rec, PUSH_SUBSCRIPTION_ENDPOINT_HASH, val_text(m->hash));
    return WHARF_OK;
}

const wharf_hooks push_subscription_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = subscription_check, .ops = WHARF_CREATE};

static wharf_status push_devices_make(wharf_req *req, wharf_str user_id, const wharf_json *body,
    wharf_str hash, const wharf_rec **ret_rec)
{
    const wharf_json *keys = W->json->get(body, "keys"), *row;
    wharf_str endpoint = json_text(body, "endpoint");
    struct made m = {service_of(req, endpoint), endpoint, json_text(keys, "p256dh"),
        json_text(keys, "auth"), hash};
    wharf_out *out = W->json->builder(req);
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "push_subscription",
        .op = WHARF_CREATE,
        .kind = &made_kind,
        .context = &m,
        .ret_rec = ret_rec};
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "user_id", val_text(user_id));
    W->json->put(out, "name", val_text_or_null(json_text(body, "name")));
    W->json->close(out);
    s = W->json->result(req, out, &row);
    w.body = row;
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

wharf_status push_subscribe(wharf_req *req, void *arg)
{
    const wharf_json *body, *keys;
    wharf_str user, endpoint, hash;
    const wharf_rec *rec = NULL;
    const char *problem;
    wharf_status s = push_devices_find_user(req, &user);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    keys = W->json->get(body, "keys");
    endpoint = json_text(body, "endpoint");
    s = check_endpoint(req, endpoint);
    problem = push_service->keys_problem(req, json_text(keys, "p256dh"), json_text(keys, "auth"));
    if (problem)
        s = W->err->add(req, ERR_VALIDATION_FAILED, "keys", "keys: %s", problem);
    hash = push_devices_hash_of(req, endpoint);
    if (s == WHARF_OK)
        s = W->db->lock(req, "notifications.endpoint", hash);
    if (s == WHARF_OK)
        s = remove_same(req, hash);
    if (s == WHARF_OK)
        s = push_devices_make_room(req, user);
    if (s == WHARF_OK)
        s = push_devices_make(req, user, body, hash, &rec);
    if (s == WHARF_OK)
        s = keep_to_most(req, user);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 201, "Push subscription created"), NULL, rec);
    return s;
}

wharf_status push_unsubscribe(wharf_req *req, void *arg)
{
    wharf_str user, id = WHARF_S("");
    const wharf_rec *rec;
    wharf_out *out;
    wharf_status s = push_devices_find_user(req, &user);

    W->req->param(req, "subscription", &id);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "push_subscription", id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK && !same(field_text(rec, PUSH_SUBSCRIPTION_USER_ID), user))
        s = W->err->fail(req, ERR_NOT_FOUND, id.p, NULL);
    if (s == WHARF_OK)
        s = W->res->remove(req, "push_subscription", id);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Push subscription deleted");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "object", val_text(WHARF_S("push_subscription")));
    W->json->put(out, "deleted", val_bool(true));
    W->json->close(out);
    return WHARF_OK;
}

wharf_status push_key(wharf_req *req, void *arg)
{
    wharf_out *out = W->req->respond(req, 200, "Key of Web Push retrieved");

    W->json->open(out, NULL, '{');
    W->json->put(out, "vapid_public_key", val_text(push_service->public_key(req)));
    W->json->close(out);
    return WHARF_OK;
}
