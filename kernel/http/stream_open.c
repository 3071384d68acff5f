/* stream_open.c - a request for the live stream: key or token, parameters, where it begins. See
 * stream.h. */
#include <sodium.h>
#include <stdlib.h>

#include "event/event_catalogue.h"
#include "http/http_routes.h"
#include "http/routes.gen.h"
#include "http/stream.h"
#include "plugin/manifest.h"
#include "process/board.h"
#include "util/digest.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    TYPES_MAX = 200, /* types that a stream may name */
    TOKEN_TEXT = 43
};

void stream_declare(struct wharf_decl *d, const char *path, const char *scope, const char *tokens)
{
    const wharf_route said = {ROUTE_EVENT_STREAM};
    const char *colon = strchr(scope, ':');
    struct route *r = vector_add(d->arena, &d->routes);

    *r = (struct route){.kind = ROUTE_KERNEL,
        .method = "GET",
        .pattern = path,
        .plugin = d->plugin,
        .definition = kernel_route_document(d->arena, &said),
        .stream_tokens = arena_printf(d->arena, "%s.%s", d->plugin->name, tokens).p,
        .area = area_number(
            &d->engine->areas, arena_dup(d->arena, scope, (size_t)(colon - scope)).p),
        .level = SCOPE_READ,
        .run = stream_open};
}

bool stream_by_token(const struct wharf_req *req)
{
    return req->route->stream_tokens &&
           (str_starts(req->head.raw_query, "token=") || strstr(req->head.raw_query.p, "&token="));
}

/* ---- who ---- */

static struct sql_arg hex_arg(struct arena *a, const unsigned char *bytes, size_t n)
{
    char *hex = arena_alloc(a, 2 * n + 3);

    hex[0] = '\\';
    hex[1] = 'x';
    sodium_bin2hex(hex + 2, 2 * n + 1, bytes, n);
    return (struct sql_arg){hex, 2 * n + 2};
}

/* Enters by a token, which is used up; whose key made it is asked. */
static bool enter_by_token(struct wharf_req *req, wharf_str token, unsigned char ret_hash[KEY_HASH])
{
    static const char sql[] = "WITH used AS (DELETE FROM wharf.token WHERE hash = $1::bytea AND "
                              "kind = $2 AND expires_at > $3::timestamptz "
                              "RETURNING id) SELECT encode(k.hash, 'hex') FROM used JOIN "
                              "wharf.token k ON k.kind = 'api_key' AND k.id = "
                              "used.id";
    unsigned char digest[DIGEST_BYTES];
    char now[ISO_MS_LEN + 1];
    struct sql_arg args[3] = {{NULL, 0},
        {req->route->stream_tokens, strlen(req->route->stream_tokens)}, {now, ISO_MS_LEN}};
    PGresult *r;

    digest_sha256(&token, 1, digest);
    args[0] = hex_arg(req->arena, digest, sizeof(digest));
    time_format_iso(req->now_us, now);
    r = token.n == TOKEN_TEXT ? req_query(req, sql, args, 3) : NULL;
    if (req->problems.n)
        return false;
    if (!r || !PQntuples(r)) {
        req_fail(req, ERR_API_KEY_INVALID, NULL,
            "The stream's token was used, is over, or never was; make a new one");
        return false;
    }
    return sodium_hex2bin(
               ret_hash, KEY_HASH, PQgetvalue(r, 0, 0), 2 * KEY_HASH, NULL, NULL, NULL) == 0;
}

static bool read_principal(struct wharf_req *req, const unsigned char hash[KEY_HASH])
{
    struct req_access *access = &req->access;
    struct sql_arg arg = hex_arg(req->arena, hash, KEY_HASH);
    PGresult *r = req_query(req, auth_lookup_sql, &arg, 1);

    if (!r)
        return false;
    access->who = auth_principal(&req->engine->areas, r, req->now_us);
    if (access->who->refusal)
        req_fail(req, access->who->refusal, NULL, NULL);
    else if (access->who->expires_at_us <= req->now_us)
        req_fail(req, ERR_API_KEY_EXPIRED, NULL, NULL);
    else if (access->who->levels[req->route->area] < req->route->level)
        req_fail(req, ERR_SCOPE_ACCESS, NULL, NULL);
    return !req->problems.n;
}

static bool find_key_hash(struct wharf_req *req, unsigned char ret_hash[KEY_HASH])
{
    static const char sql[] =
        "SELECT encode(hash, 'hex') FROM wharf.token WHERE kind = 'api_key' AND id = $1";
    struct sql_arg arg = {req->access.who->key_id.p, req->access.who->key_id.n};
    PGresult *r = req_query(req, sql, &arg, 1);

    return r && PQntuples(r) &&
           sodium_hex2bin(
               ret_hash, KEY_HASH, PQgetvalue(r, 0, 0), 2 * KEY_HASH, NULL, NULL, NULL) == 0;
}

static bool identify(struct wharf_req *req, unsigned char ret_hash[KEY_HASH])
{
    wharf_str token;

    if (req->access.who)
        return find_key_hash(req, ret_hash);
    return req_param(req, "token", &token) && enter_by_token(req, token, ret_hash) &&
           read_principal(req, ret_hash);
}

/* ---- what ---- */

/* Splits "a,b" into its parts, in the stream's memory. */
static const wharf_str *stream_open_split(struct arena *a, wharf_str list, size_t *ret_n)
{
    wharf_str *parts;
    size_t n = 1, start = 0;

    for (size_t i = 0; i < list.n; i++)
        n += list.p[i] == ',';
    parts = ARENA_ARRAY(a, wharf_str, n);
    *ret_n = 0;
    for (size_t i = 0; i <= list.n; i++) {
        if (i < list.n && list.p[i] != ',')
            continue;
        parts[(*ret_n)++] = arena_dup(a, list.p + start, i - start);
        start = i + 1;
    }
    return parts;
}

static void stream_open_read_types(struct wharf_req *req, struct stream *st)
{
    wharf_str types = WHARF_S("*");

    req_param(req, "types", &types);
    st->types = stream_open_split(st->arena, types, &st->n_types);
    for (size_t i = 0; i < st->n_types; i++) {
        if (st->n_types > TYPES_MAX || !event_pattern_known(req->engine, st->types[i])) {
            req_fail(req, ERR_PARAM_INVALID, "types",
                "types holds 1 to %d types of GET /v1/events/types, object.* or *; \"%.100s\" is "
                "none",
                TYPES_MAX, st->types[i].p);
            return;
        }
        if (!str_ends(st->types[i],
                "*")) /* of wildcards the stream leaves out what the key may not see */
            event_need_pattern(req, st->types[i]);
    }
}

static void read_locations(struct wharf_req *req, struct stream *st)
{
    wharf_str ids;

    if (!req_param(req, "location_id", &ids))
        return;
    st->locations = stream_open_split(st->arena, ids, &st->n_locations);
    for (size_t i = 0; i < st->n_locations; i++) {
        if (!principal_may_see(req->access.who, st->locations[i]))
            req_problem(req, ERR_LOCATION_ACCESS, st->locations[i], NULL, str_z(""));
    }
}

static void stream_open_read_filters(struct wharf_req *req, struct stream *st)
{
    wharf_str payload = WHARF_S("full"), text;

    stream_open_read_types(req, st);
    read_locations(req, st);
    req_param(req, "payload", &payload);
    st->thin = str_eqz(payload, "thin");
    if (!st->thin && !str_eqz(payload, "full"))
        req_fail(req, ERR_PARAM_INVALID, "payload", "payload is full or thin");
    if (req_param(req, "resource_type", &text))
        st->resource_type = arena_dup_str(st->arena, text);
    if (req_param(req, "resource_id", &text))
        st->resource_id = arena_dup_str(st->arena, text);
}

/* ---- from where ---- */

static bool whole_number(wharf_str s, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < s.n && i < 18; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        *ret = *ret * 10 + (s.p[i] - '0');
    }
    return s.n && s.n < 18;
}

/* -1: only what is new. */
static int64_t wanted_start(struct wharf_req *req)
{
    wharf_str text = req->head.last_event_id;
    bool header = text.n != 0;
    int64_t from = -1;

    if (!header && !req_param(req, "from", &text))
        return -1;
    if (!whole_number(text, &from))
        req_fail(req, ERR_PARAM_INVALID, header ? "Last-Event-ID" : "from",
            "%s is the sequence of an event", header ? "Last-Event-ID" : "from");
    return from;
}

static void stream_open_place(struct stream *st, int64_t from, int64_t newest, int64_t oldest)
{
    st->after = from;
    if (from < 0 || from >= newest) {
        st->after = newest;
        return;
    }
    if (from + 1 < oldest) {
        st->gap_from = from ? from + 1 : 0;
        st->gap_to = oldest - 1;
        st->after = oldest - 1;
    }
    if (newest - st->after > STREAM_REPLAY) {
        st->gap_from = st->gap_from ? st->gap_from : st->after + 1;
        st->gap_to = newest - STREAM_REPLAY;
        st->after = st->gap_to;
    }
}

static bool stream_open_find_place(struct wharf_req *req, struct stream *st)
{
    static const char sql[] =
        "SELECT COALESCE((SELECT sequence FROM wharf.event_counter WHERE organization_id = $1), 0),"
        " (SELECT h.sequence FROM wharf.event_done h JOIN wharf.event e ON e.organization_id = "
        "h.organization_id AND e.created_at = h.created_at AND e.id = h.event_id WHERE "
        "h.organization_id = $1 AND e.expires_at > $2::timestamptz"
        " ORDER BY h.sequence LIMIT 1)";
    int64_t from = wanted_start(req), newest, oldest;
    char now[ISO_MS_LEN + 1];
    struct sql_arg args[2] = {{st->organization.p, st->organization.n}, {now, ISO_MS_LEN}};
    PGresult *r;

    if (req->problems.n)
        return false;
    time_format_iso(req->now_us, now);
    r = req_query(req, sql, args, 2);
    if (!r)
        return false;
    newest = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    oldest = PQgetisnull(r, 0, 1) ? newest + 1 : strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    stream_open_place(st, from, newest, oldest);
    return true;
}

/* ---- all of it ---- */

void stream_free(struct stream *st)
{
    if (!st)
        return;
    principal_unref(st->who);
    buf_done(&st->out);
    arena_free(st->arena);
}

void stream_forget(struct wharf_req *req)
{
    stream_free(req->stream);
    req->stream = NULL;
}

void stream_open(struct wharf_req *req)
{
    struct arena *a = arena_new(0);
    struct stream *st = ARENA_NEW(a, struct stream);

    arena_belongs(a, MEMORY_CLIENTS);
    st->arena = a;
    st->area = req->route->area;
    buf_init(&st->out, 64 << 20);
    if (identify(req, st->key_hash)) {
        st->who = req->access.who;
        principal_ref(st->who);
        st->organization = arena_dup_str(a, req->access.who->organization);
        st->resource_type = st->resource_id = str_z("");
        stream_open_read_filters(req, st);
        if (!req->problems.n)
            stream_open_find_place(req, st);
    } else if (!req->problems.n) {
        req_fail(req, ERR_API_KEY_INVALID, NULL, NULL);
    }
    if (req->problems.n) {
        stream_free(st);
        return;
    }
    req->stream = st;
    req->reply.status = 200;
}
