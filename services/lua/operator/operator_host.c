/* operator_host.c - what operators' hooks may ask for: the log, the API, rows of the
 * organization (docs/spec/08-workflows-and-lua.md section 9).
 *
 * Ops that need what is not there are mistakes: the API inside of a transaction, anything while
 * files are loaded. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "db/plugin_sql.h"
#include "lua/lua_http.h"
#include "lua/operator/hook_limits.h"
#include "lua/operator/hosted.h"
#include "lua/operator/operator_inside.h"
#include "util/id.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"

enum {
    ROWS_MAX = 10000, /* rows of wharf.db */
    PARAMS = 64,
    ROWS_BYTES = 64 << 20,
    PROBLEM_BYTES = 320
};
enum {
    OID_BOOL = 16,
    OID_INT8 = 20,
    OID_INT2,
    OID_INT4 = 23,
    OID_JSON = 114,
    OID_FLOAT4 = 700,
    OID_FLOAT8,
    OID_JSONB = 3802
};

/* ---- ops ---- */

enum sandbox_answer host_mistake(wharf_str *ret_text, const char *text)
{
    *ret_text = str_z(text);
    return SANDBOX_MISTAKE;
}

/* Hides secrets in fields. What log.lua cut ends anywhere, maybe inside of a secret. */
static wharf_str hidden_fields(
    const struct hook_state *st, struct arena *a, const struct wharf_json *fields)
{
    const struct config *c = st->gen->engine->config;
    wharf_str cut = json_is(fields, JSON_OBJECT) && fields->child && !fields->child->next
                        ? json_text_or(fields, "truncated", "")
                        : str_z(""),
              text = str_z("");
    struct buf more;
    struct jw w;

    if (!json_is(fields, JSON_OBJECT) && !json_is(fields, JSON_ARRAY))
        return text;
    buf_init(&more, 16 << 10);
    jw_init(&w, &more);
    if (cut.n) {
        jw_open(&w, NULL, '{');
        jw_str(&w, "truncated", asked_hidden_cut(c, a, cut));
        jw_close(&w, '}');
    } else {
        jw_value(&w, NULL, fields);
    }
    text = asked_hidden(c, a, arena_dup_str(a, buf_str(&more)));
    buf_done(&more);
    return text;
}

static void log_op(const struct hook_state *st, struct arena *a, const struct wharf_json *args)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    static const uint32_t levels[] = {
        WHARF_LOG_ERROR, WHARF_LOG_WARN, WHARF_LOG_INFO, WHARF_LOG_DEBUG};
    wharf_str level = json_text_or(args, "level", "info"), file = json_text_or(args, "file", "");
    wharf_str message = json_text_or(args, "message", ""),
              more = hidden_fields(st, a, json_get(args, "fields"));
    const struct config *c = st->gen->engine->config;

    message = json_bool_or(args, "cut", false) ? asked_hidden_cut(c, a, message)
                                               : asked_hidden(c, a, message);
    for (size_t i = 0; i < 4; i++) {
        if (str_eqz(level, names[i]))
            log_write(levels[i], "lua-hooks", st->req ? st->req->request_id : NULL, "lua.log",
                "%s:%d: %s%s%s", file.p, (int)json_int_or(args, "line", 0), message.p,
                more.n ? " " : "", more.p);
    }
}

static enum sandbox_answer http_op(
    struct hook_state *st, bool all, const struct wharf_json *args, wharf_str *ret_text)
{
    struct lua_http limits = {
        .deadline_us = st->deadline_us, .left = HTTP_CALLS_MAX - st->http_calls};
    enum sandbox_answer answer = lua_http(st->req, &limits, all, args, ret_text);

    st->http_calls = HTTP_CALLS_MAX - limits.left;
    return answer;
}

/* Tells why this hook can't ask for anything outside now; NULL: it can. */
static const char *outside_problem(const struct hook_state *st)
{
    if (!st->req)
        return "this can't be done while the file is loaded";
    if (st->hook->phase == PHASE_REQUEST || st->hook->phase == PHASE_RESPONSE)
        return "request and response hooks have five milliseconds and can't wait for anything";
    return NULL;
}

/* Answers what waits for nothing: any hook, and files while they are loaded, may ask it. */
static bool at_once(struct hook_state *st, struct arena *a, const char *op,
    const struct wharf_json *args, wharf_str *ret_text, enum sandbox_answer *ret_answer)
{
    if (!strcmp(op, "log"))
        log_op(st, a, args);
    else if (!strcmp(op, "config"))
        *ret_answer = asked_config(st, a, args, ret_text);
    else if (!strcmp(op, "secret"))
        *ret_answer = asked_secret(st, a, args, ret_text);
    else if (!strcmp(op, "metric"))
        *ret_answer = asked_metric(st, args, ret_text);
    else if (st->req && !strcmp(op, "budget"))
        *ret_text = arena_printf(a, "{\"deadline_ms\":%lld,\"api_calls\":%u,\"http_calls\":%u}",
            (long long)((st->deadline_us - clock_monotonic_us()) / 1000), asked_api_left(st),
            HTTP_CALLS_MAX - st->http_calls);
    else
        return false;
    return true;
}

static enum sandbox_answer outside(
    struct hook_state *st, const char *op, const struct wharf_json *args, wharf_str *ret_text)
{
    const char *problem = outside_problem(st);
    bool store = !strncmp(op, "kv.", 3) || !strncmp(op, "lock.", 5),
         tells = !strcmp(op, "emit") || !strcmp(op, "mail.send");

    if (!problem && (store || tells) && !st->req->access.who)
        problem = "a request without a key has no organization, and so no store, events or mail";
    if (problem)
        return host_mistake(ret_text, arena_printf(st->req ? st->req->arena : st->arena,
                                          "{\"code\":\"op.unknown\",\"message\":\"%s\"}", problem)
                                          .p);
    if (!strcmp(op, "http.request") || !strcmp(op, "http.all"))
        return http_op(st, !strcmp(op, "http.all"), args, ret_text);
    if (!strncmp(op, "api.", 4))
        return asked_api(st, str_z(op), args, ret_text);
    if (store)
        return *op == 'k' ? asked_kv(st, str_z(op), args, ret_text)
                          : asked_lock(st, str_z(op), args, ret_text);
    if (tells)
        return asked_tell(st, str_z(op), args, ret_text);
    if (!strcmp(op, "sleep"))
        return asked_sleep(st, args, ret_text);
    return host_mistake(ret_text, "{\"code\":\"op.unknown\",\"message\":\"this function is not "
                                  "there for hooks of the server\"}");
}

/* Sets the deadline: what a hook waits for in the database ends with the hook's time. Those
 * outside of a request have no database. */
static int64_t begin_in_time(const struct hook_state *st)
{
    return st->req && st->req->thread ? db_deadline(st->req->thread->db, st->deadline_us) : 0;
}

static void end_in_time(const struct hook_state *st, int64_t before_us)
{
    if (st->req && st->req->thread)
        db_deadline_end(st->req->thread->db, before_us);
}

static enum sandbox_answer answer_op(
    struct hook_state *st, struct arena *a, const char *name, wharf_str text, wharf_str *ret_text)
{
    struct json_error bad;
    const struct wharf_json *args = json_parse(a, arena_dup_str(a, text), &bad);
    enum sandbox_answer answer = SANDBOX_GIVEN;
    int64_t before_us;

    if (!args)
        return host_mistake(
            ret_text, "{\"code\":\"param.invalid\",\"message\":\"the arguments are no JSON\"}");
    if (at_once(st, a, name, args, ret_text, &answer))
        return answer;
    before_us = begin_in_time(st);
    answer = outside(st, name, args, ret_text);
    end_in_time(st, before_us);
    return answer;
}

/* Answers one op. The request's memory of it is free again when it was answered: a hook may ask as
 * often as it likes. */
static enum sandbox_answer operator_host_call(
    void *arg, const char *name, wharf_str text, wharf_str *ret_text)
{
    struct hook_state *st = arg;
    enum sandbox_answer answer;
    struct req_scope scope;

    *ret_text = str_z("");
    if (!st->req)
        return answer_op(st, st->arena, name, text, ret_text);
    scope = req_scope_begin(st->req);
    answer = answer_op(st, st->req->arena, name, text, ret_text);
    buf_done(&st->answer);
    buf_init(&st->answer, SIZE_MAX / 2); /* who answers bounds it */
    buf_adds(&st->answer, *ret_text);
    req_scope_end(st->req, &scope);
    *ret_text = buf_str(&st->answer);
    return answer;
}

static int64_t operator_host_now_us(void *arg)
{
    (void)arg;
    return clock_now_us();
}

static void operator_host_random_of(void *arg, void *p, size_t n)
{
    random_bytes(p, n);
}

static bool operator_host_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    struct hook_state *st = arg;
    char *bytes;

    buf_done(&st->answer);
    buf_init(&st->answer, ZONE_BYTES_MAX + 1);
    bytes = buf_room(&st->answer, ZONE_BYTES_MAX);
    *ret_bytes = (wharf_str){bytes, bytes ? zone_read(name, bytes, ZONE_BYTES_MAX) : 0};
    return ret_bytes->n > 0;
}

const struct sandbox_host hook_host = {.call = operator_host_call,
    .now_us = operator_host_now_us,
    .random = operator_host_random_of,
    .zone = operator_host_zone};

/* ---- wharf.db ---- */

static void operator_host_add_value(struct jw *w, const PGresult *r, int row, int column)
{
    const char *name = PQfname(r, column);
    wharf_str text = {PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column)};

    if (PQgetisnull(r, row, column)) {
        jw_null(w, name);
        return;
    }
    switch (PQftype(r, column)) {
    case OID_BOOL:
        jw_bool(w, name, text.p[0] == 't');
        return;
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
    case OID_JSON:
    case OID_JSONB:
        jw_raw(w, name, text);
        return;
    case OID_FLOAT4:
    case OID_FLOAT8:
        if (strcspn(text.p, "IN") == text.n) { /* Infinity and NaN stay texts */
            jw_raw(w, name, text);
            return;
        }
        break;
    }
    jw_str(w, name, text);
}

static void operator_host_add_rows(struct buf *out, const PGresult *r)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '[');
    for (int i = 0; i < PQntuples(r); i++) {
        jw_open(&w, NULL, '{');
        for (int k = 0; k < PQnfields(r); k++)
            operator_host_add_value(&w, r, i, k);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
}

/* Writes the rows into st->answer; p NULL: they are too large. */
static wharf_str rows_json(struct hook_state *st, const PGresult *r, bool exec)
{
    struct buf *out = &st->answer;

    buf_done(out);
    buf_init(out, ROWS_BYTES);
    if (exec)
        buf_addf(out, "[%s,", *PQcmdTuples((PGresult *)r) ? PQcmdTuples((PGresult *)r) : "0");
    if (!exec || PQnfields(r))
        operator_host_add_rows(out, r);
    else
        BUF_LIT(out, "[]");
    if (exec)
        buf_addc(out, ']');
    return out->failed ? (wharf_str){NULL, 0} : buf_str(out);
}

/* Writes what PostgreSQL says after "ERROR:  ", without the lines about where. */
static void operator_host_first_line(const struct db_error *e, char ret[PROBLEM_BYTES])
{
    const char *text = strstr(e->message, ":  ");

    text = text ? text + 3 : e->message;
    snprintf(ret, PROBLEM_BYTES, "%.*s (%s)", (int)strcspn(text, "\n"), text, e->sqlstate);
}

/* Asks for rows in a savepoint, with its own time limit, as the role that sees the request's
 * organization only. Read-only and taken back, but for exec. */
static wharf_str ask_rows(struct hook_state *st, const char *sql, bool exec,
    const struct sql_arg *args, size_t n, char ret_problem[PROBLEM_BYTES])
{
    struct wharf_req *req = st->req;
    int64_t before_us,
        until_us = clock_monotonic_us() + st->gen->engine->config->lua_hooks_query_ms * 1000;
    wharf_str rows = {NULL, 0};
    size_t problems = req->problems.n;
    struct db_error e = {.status = DB_OK};
    PGresult *r = NULL;

    snprintf(ret_problem, PROBLEM_BYTES, "the database can't be asked at the moment");
    if (req_begin(req) != WHARF_OK)
        goto out;
    req_plugin_role(req);
    if (!exec)
        db_ahead(req->thread->db, "SET LOCAL transaction_read_only = on", NULL, 0);
    before_us = db_deadline(req->thread->db, until_us);
    r = db_run(req->thread->db, sql, args, n, &e);
    db_deadline_end(req->thread->db, before_us);
    if (r && PQntuples(r) > ROWS_MAX)
        snprintf(ret_problem, PROBLEM_BYTES, "the query has more than 10,000 rows; narrow it");
    else if (r)
        rows = rows_json(st, r, exec);
    else if (e.status != DB_OK)
        operator_host_first_line(&e, ret_problem);
    if (r && !rows.p && PQntuples(r) <= ROWS_MAX)
        snprintf(ret_problem, PROBLEM_BYTES,
            "the rows are larger than 64 MiB; ask for fewer of them, or for fewer columns");
    PQclear(r);
    if (!exec || !rows.p)
        req_rollback(req);
    else if (req_commit(req) != WHARF_OK)
        rows.p = NULL;
out:
    req->problems.n = problems; /* told to the script */
    return rows;
}

/* Reads the n values behind the statement. They stay on the stack: the texts are Lua's, and live
 * as long as that. */
static void values_of(lua_State *lua, int n, struct sql_arg args[PARAMS])
{
    luaL_checkstack(lua, n + LUA_MINSTACK, "parameters");
    for (int i = 0; i < n; i++) {
        args[i] = (struct sql_arg){.p = NULL};
        if (lua_isnil(lua, i + 2) || lua_islightuserdata(lua, i + 2))
            continue;
        if (lua_istable(lua, i + 2)) {
            lua_pushvalue(lua, i + 2);
            sandbox_to_json(lua);
        } else if (lua_isboolean(lua, i + 2)) {
            lua_pushstring(lua, lua_toboolean(lua, i + 2) ? "true" : "false");
        } else {
            luaL_checkstring(lua, i + 2);
            lua_pushvalue(lua, i + 2);
        }
        args[i].p = lua_tolstring(lua, -1, &args[i].n);
    }
}

/* Leaves what the statement gave on the stack. */
static void statement(lua_State *lua, const char *name, bool exec)
{
    struct hook_state *st = sandbox_user(lua);
    const char *sql = luaL_checkstring(lua, 1), *problem = outside_problem(st);
    int n = lua_gettop(lua) - 1;
    char refused[PROBLEM_BYTES];
    struct sql_arg args[PARAMS];
    struct req_scope scope;
    int64_t before_us;
    wharf_str rows;

    if (!problem && !st->req->access.who)
        problem = "a request without a key has no organization whose rows could be read";
    if (!problem && exec &&
        !(st->gen->engine->config && st->gen->engine->config->lua_hooks_allow_write))
        problem = "the server's configuration has to say lua_hooks.allow_write = true";
    if (problem)
        sandbox_raise(lua, "wharf.%s: %s", name, problem);
    problem = plugin_sql_refused(sql);
    if (problem)
        sandbox_raise(lua, "wharf.%s: a hook may not run a statement that %s", name, problem);
    if (n > PARAMS)
        sandbox_raise(lua, "a query has at most %d parameters", PARAMS);
    if (!exec)
        sql = lua_pushfstring(lua, "SELECT * FROM (%s\n) q LIMIT %d", sql, ROWS_MAX + 1);
    values_of(lua, n, args); /* raises, and so comes first */
    before_us = begin_in_time(st);
    scope = req_scope_begin(st->req);
    rows = ask_rows(st, sql, exec, args, (size_t)n, refused);
    req_scope_end(st->req, &scope);
    end_in_time(st, before_us);
    if (!rows.p)
        sandbox_raise(lua, "wharf.%s: %s", name, refused);
    sandbox_push_json(lua, rows);
    buf_done(&st->answer);
}

/* Implements query(sql, ...): array of rows. */
static int db_query(lua_State *lua)
{
    statement(lua, "db.query", false);
    return 1;
}

/* Implements exec(sql, ...): how many rows it wrote, and those that it returned. */
static int db_exec(lua_State *lua)
{
    statement(lua, "db.exec", true);
    lua_rawgeti(lua, -1, 1);
    lua_rawgeti(lua, -2, 2);
    return 2;
}

bool host_define(struct hook_state *st)
{
    return sandbox_define(st->sb, "db.query", db_query) &&
           sandbox_define(st->sb, "db.exec", db_exec);
}
