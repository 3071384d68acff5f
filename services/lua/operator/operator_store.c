/* operator_store.c - ops kv.* and lock.* of hooks: rows of the organization (tables
 * wharf.hook_kv and wharf.hook_lock). Values are written in the open transaction, if there is
 * one; locks are for who has none. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/operator/hosted.h"
#include "lua/operator/operator_inside.h"
#include "services_queries.gen.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"

enum {
    KEY_MAX = 200, /* bytes of a key */
    VALUE_MAX = 64 * 1024, /* bytes of a value */
    STORE_MAX = 10 << 20, /* of an organization: keys and values */
    LIST_MAX = 1000, /* keys of a list */
    TTL_MS = 30000, /* a lock is held, when it does not say */
    TTL_MAX_MS = 120000, /* a lock is held at most */
    LOCK_STEP_US = 20000
};

#define ALIVE QUERY_HOOK_KV_ALIVE
#define WHOLE QUERY_HOOK_KV_WHOLE
#define MINE  "k.organization_id = $1::text AND k.key = $2::text"

static const double ttl_max_s = 100.0 * 366 * 86400;

/* $1 organization, $2 key, $3 now, then: */
static const char get_sql[] = "SELECT k.value FROM wharf.hook_kv k WHERE " MINE " AND " ALIVE;
static const char set_sql[] = /* $4 value, $5 milliseconds or null, $6 only when absent */
    "INSERT INTO wharf.hook_kv AS k (organization_id, key, value, expires_at) VALUES ($1::text, "
    "$2::text, $4::jsonb, $3::timestamptz + $5::bigint * interval '1 millisecond') ON CONFLICT "
    "(organization_id, key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at "
    "WHERE NOT $6::boolean OR NOT " ALIVE " RETURNING true";
static const char incr_sql[] = QUERY_HOOK_KV_INCREASE;
static const char whole_sql[] = "SELECT FROM wharf.hook_kv k WHERE " MINE " AND " ALIVE
                                " AND " WHOLE;
static const char size_sql[] =
    "SELECT COALESCE(sum(k.bytes), 0)::bigint FROM wharf.hook_kv k WHERE k.organization_id "
    "= $1::text AND k.key <> $2::text AND " ALIVE;
static const char cas_sql[] = /* $4 new, $5 old */
    "UPDATE wharf.hook_kv k SET value = $4::jsonb WHERE " MINE " AND k.value = $5::jsonb AND " ALIVE
    " RETURNING true";
static const char delete_sql[] = "DELETE FROM wharf.hook_kv k WHERE " MINE " RETURNING " ALIVE;
static const char list_sql[] = /* $2 prefix, $4 how many */
    "SELECT json_build_object('items', COALESCE(json_agg(json_build_object('key', q.key, 'value', "
    "q.value) ORDER BY q.key), '[]')) FROM (SELECT k.key, k.value FROM wharf.hook_kv k WHERE "
    "k.organization_id = $1::text AND starts_with(k.key, $2::text) AND " ALIVE
    " ORDER BY k.key LIMIT $4::bigint) q";

/* ---- values ---- */

static struct sql_arg operator_store_arg_of(wharf_str s)
{
    return (struct sql_arg){s.p, s.n};
}

/* Returns the JSON of a member; p NULL: absent. */
static struct sql_arg json_arg(
    struct wharf_req *req, const struct wharf_json *args, const char *name)
{
    const struct wharf_json *v = json_get(args, name);
    struct buf out;
    struct jw w;
    struct sql_arg arg = {NULL, 0};

    if (!v)
        return arg;
    buf_init(&out, 1 << 22);
    jw_init(&w, &out);
    jw_value(&w, NULL, v);
    arg = operator_store_arg_of(arena_dup_str(req->arena, buf_str(&out)));
    buf_done(&out);
    return arg;
}

static struct sql_arg int_arg(
    struct wharf_req *req, const struct wharf_json *args, const char *name)
{
    int64_t i;

    if (!json_int(json_get(args, name), &i))
        return (struct sql_arg){NULL, 0};
    return operator_store_arg_of(arena_printf(req->arena, "%lld", (long long)i));
}

struct asking {
    struct wharf_req *req;
    const struct wharf_json *args;
    wharf_str *ret_text;
    PGresult *rows;
};

/* Asks with the first three and up to three more. Returns false when the database can't be asked,
 * or refused the value. */
static bool operator_store_ask(
    struct asking *k, const char *sql, wharf_str key, const struct sql_arg *more, size_t n_more)
{
    struct wharf_req *req = k->req;
    struct sql_arg args[6] = {operator_store_arg_of(req->access.who->access.organization),
        operator_store_arg_of(key), operator_store_arg_of(time_iso(req->arena, req->now_us))};
    size_t problems = req->problems.n;

    for (size_t i = 0; i < n_more; i++)
        args[3 + i] = more[i];
    k->rows = req_query(req, sql, args, 3 + n_more);
    req->problems.n = problems; /* told to the hook */
    return k->rows != NULL;
}

static enum sandbox_answer operator_store_away(const struct asking *k)
{
    *k->ret_text = WHARF_S(
        "{\"code\":\"overloaded\",\"message\":\"the store can't be reached at the moment\"}");
    return SANDBOX_ENDED;
}

static enum sandbox_answer operator_store_give(
    const struct asking *k, const char *member, const char *value)
{
    *k->ret_text = arena_printf(k->req->arena, "{\"%s\":%s}", member, value);
    return SANDBOX_GIVEN;
}

static enum sandbox_answer done(const struct asking *k)
{
    return operator_store_give(
        k, "done", PQntuples(k->rows) && PQgetvalue(k->rows, 0, 0)[0] == 't' ? "true" : "false");
}

static enum sandbox_answer operator_store_list(struct asking *k)
{
    int64_t limit = json_int_or(k->args, "limit", 0);
    struct sql_arg more = int_arg(k->req, k->args, "limit");

    if (limit < 1 || limit > LIST_MAX)
        return host_mistake(
            k->ret_text, "{\"code\":\"param.invalid\",\"message\":\"limit is 1 to 1000\"}");
    if (!operator_store_ask(k, list_sql, json_text_or(k->args, "prefix", ""), &more, 1))
        return operator_store_away(k);
    *k->ret_text = arena_dupz(k->req->arena, PQgetvalue(k->rows, 0, 0));
    return SANDBOX_GIVEN;
}

/* Reads the time to live in milliseconds; p NULL: the value stays. Returns false after a problem
 * was told. */
static bool operator_store_ttl_of(
    const struct asking *k, struct sql_arg *ret_ms, enum sandbox_answer *ret_answer)
{
    const struct wharf_json *v = json_get(k->args, "ttl");
    double s = json_is(v, JSON_NUMBER) ? json_double(v) : ttl_max_s * 2;

    *ret_ms = (struct sql_arg){NULL, 0};
    if (!v || v->type == JSON_NULL)
        return true;
    if (!(s >= -ttl_max_s && s <= ttl_max_s)) {
        *ret_answer = host_mistake(k->ret_text,
            "{\"code\":\"param.invalid\",\"message\":\"ttl is a number of seconds, at "
            "most those of 100 years\"}");
        return false;
    }
    *ret_ms = operator_store_arg_of(arena_printf(k->req->arena, "%lld", (long long)(s * 1000)));
    return true;
}

/* Tells whether what is written fits; else a problem is told. Two calls at once may pass by one
 * value. */
static bool operator_store_fits(
    struct asking *k, wharf_str key, struct sql_arg value, enum sandbox_answer *ret_answer)
{
    if (!value.p || value.n > VALUE_MAX)
        *ret_answer = host_mistake(k->ret_text,
            "{\"code\":\"kv.too_large\",\"message\":\"a value has at most 64 KiB as JSON\"}");
    else if (!operator_store_ask(k, size_sql, key, NULL, 0))
        *ret_answer = operator_store_away(k);
    else if (strtoll(PQgetvalue(k->rows, 0, 0), NULL, 10) + (int64_t)(key.n + value.n) > STORE_MAX)
        *ret_answer = host_mistake(k->ret_text,
            "{\"code\":\"kv.full\",\"message\":\"the store of hooks holds at most 10 MiB for an "
            "organization; delete keys, or give them a ttl\"}");
    else
        return true;
    return false;
}

/* Tells why nothing was added. */
static enum sandbox_answer operator_store_not_added(struct asking *k, wharf_str key)
{
    if (!operator_store_ask(k, whole_sql, key, NULL, 0))
        return operator_store_away(k);
    return host_mistake(k->ret_text,
        PQntuples(k->rows)
            ? "{\"code\":\"param.invalid\",\"message\":\"the sum would be no number of 64 bits\"}"
            : "{\"code\":\"kv.not_a_number\",\"message\":\"the value is no whole number\"}");
}

static enum sandbox_answer operator_store_incr(struct asking *k, wharf_str key)
{
    struct sql_arg more[] = {int_arg(k->req, k->args, "by"), {NULL, 0}};
    enum sandbox_answer answer;

    if (!more[0].p)
        return host_mistake(k->ret_text, "{\"code\":\"param.invalid\",\"message\":\"what is added "
                                         "is a whole number of 64 bits\"}");
    if (!operator_store_ttl_of(k, &more[1], &answer) ||
        !operator_store_fits(k, key, more[0], &answer))
        return answer;
    if (!operator_store_ask(k, incr_sql, key, more, 2))
        return operator_store_away(k);
    if (!PQntuples(k->rows))
        return operator_store_not_added(k, key);
    return operator_store_give(k, "value", PQgetvalue(k->rows, 0, 0));
}

/* Writes the value when it is what it was; when it was not there, as set does with if_absent. */
static enum sandbox_answer operator_store_cas(struct asking *k, wharf_str key, struct sql_arg value)
{
    bool absent = json_bool_or(k->args, "absent", false);
    struct sql_arg made[] = {value, {NULL, 0}, {"true", 4}};
    struct sql_arg changed[] = {value, json_arg(k->req, k->args, "old")};

    return operator_store_ask(
               k, absent ? set_sql : cas_sql, key, absent ? made : changed, absent ? 3 : 2)
               ? done(k)
               : operator_store_away(k);
}

static enum sandbox_answer operator_store_write_value(struct asking *k, wharf_str op, wharf_str key)
{
    bool is_set = str_eqz(op, "kv.set"), absent = json_bool_or(k->args, "if_absent", false);
    struct sql_arg value = json_arg(k->req, k->args, is_set ? "value" : "new");
    struct sql_arg more[] = {value, {NULL, 0}, {absent ? "true" : "false", absent ? 4 : 5}};
    enum sandbox_answer answer;

    if (!operator_store_ttl_of(k, &more[1], &answer) ||
        !operator_store_fits(k, key, value, &answer))
        return answer;
    if (!is_set)
        return operator_store_cas(k, key, value);
    return operator_store_ask(k, set_sql, key, more, 3) ? done(k) : operator_store_away(k);
}

enum sandbox_answer asked_kv(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text)
{
    struct asking k = {.req = st->req, .args = args, .ret_text = ret_text};
    wharf_str key = json_text_or(args, "key", "");

    if (str_eqz(op, "kv.list"))
        return operator_store_list(&k);
    if (!key.n || key.n > KEY_MAX)
        return host_mistake(ret_text,
            "{\"code\":\"param.invalid\",\"message\":\"a key is a text of 1 to 200 bytes\"}");
    if (str_eqz(op, "kv.set") || str_eqz(op, "kv.cas"))
        return operator_store_write_value(&k, op, key);
    if (str_eqz(op, "kv.incr"))
        return operator_store_incr(&k, key);
    if (!operator_store_ask(&k, str_eqz(op, "kv.delete") ? delete_sql : get_sql, key, NULL, 0))
        return operator_store_away(&k);
    if (str_eqz(op, "kv.delete"))
        return done(&k);
    return PQntuples(k.rows) ? operator_store_give(&k, "value", PQgetvalue(k.rows, 0, 0))
                             : SANDBOX_GIVEN;
}

/* ---- locks ---- */

static const char take_sql[] = /* $4 token, $5 ms; wharf.now() moves while a hook waits */
    "INSERT INTO wharf.hook_lock AS l (organization_id, name, token, expires_at) SELECT $1::text, "
    "$2::text, $4::text, wharf.now() + make_interval(secs => $5::bigint / 1000.0) WHERE $3::text "
    "<> '' ON CONFLICT (organization_id, name) DO UPDATE SET token = EXCLUDED.token, expires_at = "
    "EXCLUDED.expires_at WHERE l.expires_at <= wharf.now() RETURNING true";
static const char give_sql[] =
    "DELETE FROM wharf.hook_lock WHERE organization_id = $1::text AND token = $2::text AND "
    "$3::text <> ''";
static const char end_sql[] =
    "DELETE FROM wharf.hook_lock WHERE organization_id = $1::text AND starts_with(token, "
    "$2::text || '.') AND $3::text <> ''";

static enum sandbox_answer operator_store_take(struct hook_state *st, struct asking *k)
{
    wharf_str name = json_text_or(k->args, "name", ""), token;
    int64_t ttl = json_int_or(k->args, "ttl_ms", TTL_MS), wait = json_int_or(k->args, "wait_ms", 0),
            until;
    struct sql_arg more[2];

    if (!name.n || name.n > KEY_MAX || ttl < 1 || ttl > TTL_MAX_MS || wait < 0)
        return host_mistake(k->ret_text,
            "{\"code\":\"param.invalid\",\"message\":\"a lock has a name of 1 to 200 bytes, "
            "and a ttl_ms of at most 120,000\"}");
    if (!st->locks)
        id_new("lock", k->req->now_us, st->lock_id);
    token = arena_printf(k->req->arena, "%s.%u", st->lock_id, st->locks);
    more[0] = operator_store_arg_of(token);
    more[1] = operator_store_arg_of(arena_printf(k->req->arena, "%lld", (long long)ttl));
    until = clock_monotonic_us() + wait * 1000;
    if (until > st->deadline_us)
        until = st->deadline_us;
    for (;;) {
        if (!operator_store_ask(k, take_sql, name, more, 2))
            return operator_store_away(k);
        if (PQntuples(k->rows)) {
            st->locks++;
            return operator_store_give(
                k, "token", arena_printf(k->req->arena, "\"%s\"", token.p).p);
        }
        if (clock_monotonic_us() + LOCK_STEP_US > until)
            break;
        usleep(LOCK_STEP_US);
    }
    *k->ret_text = WHARF_S("{\"code\":\"lock.busy\",\"message\":\"somebody else holds the lock\"}");
    return SANDBOX_REFUSED;
}

enum sandbox_answer asked_lock(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text)
{
    struct asking k = {.req = st->req, .args = args, .ret_text = ret_text};

    if (st->req->tx.depth)
        return host_mistake(ret_text,
            "{\"code\":\"op.unknown\",\"message\":\"inside of a request's transaction "
            "nothing can be locked for others\"}");
    if (str_eqz(op, "lock.take"))
        return operator_store_take(st, &k);
    if (!operator_store_ask(&k, give_sql, json_text_or(args, "token", ""), NULL, 0))
        return operator_store_away(&k);
    st->locks_given++;
    return SANDBOX_GIVEN;
}

void asked_locks_end(struct hook_state *st)
{
    struct asking k = {.req = st->req};

    if (st->locks > st->locks_given) /* what can't be given back now ends by itself */
        operator_store_ask(&k, end_sql, (wharf_str){st->lock_id, strlen(st->lock_id)}, NULL, 0);
}

bool store_expire(struct wharf_req *req)
{
    static const char *const sql[] = {
        "DELETE FROM wharf.hook_kv WHERE ctid = ANY (ARRAY(SELECT ctid FROM "
        "wharf.hook_kv WHERE expires_at < wharf.now() "
        "LIMIT 10000))",
        "DELETE FROM wharf.hook_lock WHERE ctid = ANY (ARRAY(SELECT ctid FROM wharf.hook_lock "
        "WHERE expires_at < wharf.now() - interval '1 hour' LIMIT 10000))"};

    return req_query(req, sql[0], NULL, 0) && req_query(req, sql[1], NULL, 0);
}
