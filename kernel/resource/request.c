/* request.c - problems, transactions and queries of a request. See request.h. */
#include "resource/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "db/meter.h"
#include "db/notifier.h"
#include "resource/observe.h"
#include "plugin/manifest.h"
#include "resource/engine.h"
#include "resource/hooks.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/hash.h"

static int by_code(const void *key, const void *entry)
{
    return strcmp(key, ((const struct error_code *)entry)->code);
}

static const struct error_code *request_find_code(const struct engine *e, const char *code)
{
    return bsearch(code, e->codes, e->n_codes, sizeof(*e->codes), by_code);
}

int code_status(const struct engine *e, const char *code)
{
    const struct error_code *c = request_find_code(e, code);

    return c ? c->status : 500;
}

wharf_status status_kind(int http_status)
{
    switch (http_status) {
    case 401:
    case 403:
        return WHARF_DENIED;
    case 404:
        return WHARF_NOT_FOUND;
    case 409:
    case 412:
        return WHARF_CONFLICT;
    case 413:
    case 429:
        return WHARF_LIMIT;
    case 408:
    case 502:
        return WHARF_UPSTREAM;
    case 503:
    case 504:
        return WHARF_UNAVAILABLE;
    default:
        return http_status >= 500 ? WHARF_INTERNAL : WHARF_INVALID;
    }
}

static uint64_t problem_hash(const char *code, wharf_str path)
{
    uint64_t h = XXH3_64bits(path.p ? path.p : "", path.n);

    return XXH3_64bits_withSeed(code, strlen(code), h);
}

static void problem_room(struct wharf_req *req)
{
    struct req_problems *problems = &req->problems;
    size_t cap = problems->cap ? problems->cap * 2 : 8;
    struct problem *more;

    if (problems->n < problems->cap)
        return;
    more = ARENA_ARRAY(req->arena, struct problem, cap);
    if (problems->n)
        memcpy(more, problems->list, problems->n * sizeof(*more));
    problems->list = more;
    problems->cap = cap;
}

wharf_status req_problem(
    struct wharf_req *req, const char *code, wharf_str path, const char *rule, wharf_str text)
{
    struct req_problems *problems = &req->problems;
    const struct error_code *c = request_find_code(req->engine, code);

    if (!c) {
        log_write(WHARF_LOG_ERROR, req->plugin ? req->plugin->name : NULL, req->request_id,
            "error.undeclared", "error code %s is in no errors.json; answered as internal", code);
        c = request_find_code(req->engine, ERR_INTERNAL);
        text = str_z("");
    }
    if (problems->n >= PROBLEMS_MAX) {
        problems->more++;
        return status_kind(c->status);
    }
    if (problems->path_base.n && path.n && (c->plugin || !strcmp(c->code, ERR_VALIDATION_FAILED)))
        path = arena_printf(req->arena, "%.*s%.*s", STR_ARG(problems->path_base), STR_ARG(path));
    problem_room(req);
    problems->list[problems->n++] = (struct problem){.code = c->code,
        .path = path.p ? arena_dup_str(req->arena, path) : path,
        .hash = problem_hash(c->code, path),
        .rule = rule,
        .text = text.n ? text : str_z(c->text)};
    return status_kind(c->status);
}

wharf_status req_fail(
    struct wharf_req *req, const char *code, const char *path, const char *fmt, ...)
{
    wharf_str text = str_z("");
    va_list ap;

    if (fmt) {
        va_start(ap, fmt);
        text = arena_vprintf(req->arena, fmt, ap);
        va_end(ap);
    }
    return req_problem(req, code, path ? str_z(path) : (wharf_str){NULL, 0}, NULL, text);
}

bool req_lost_a_race(const struct req_problems *problems)
{
    return problems->n == 1 && !strcmp(problems->list[0].code, ERR_CONFLICT);
}

wharf_status req_failed(const struct wharf_req *req)
{
    return req->problems.n ? status_kind(code_status(req->engine, req->problems.list[0].code))
                           : WHARF_UNAVAILABLE;
}

void req_clear_problems(struct req_problems *problems)
{
    problems->n = 0;
    problems->more = 0;
}

bool req_memory_ok(struct wharf_req *req)
{
    if (req->job || !arena_poisoned(req->arena))
        return true;
    req_fail(req, ERR_REQUEST_TOO_LARGE, NULL, NULL);
    return false;
}

/* Lists where the texts and rows are that outlive whoever set them. A new one of these fields
 * belongs here. */
static void list_kept(const struct wharf_req *req, const void *of[REQ_KEPT])
{
    const struct req_reply *reply = &req->reply;
    const void *const all[REQ_KEPT] = {reply->message.p, reply->pagination.p,
        reply->location_header.p, reply->raw_type, reply->added, reply->answered_id.p,
        reply->entity.p, reply->replay.p, req->batch_id.p, reply->success_code, reply->served,
        reply->put, reply->remarks};

    memcpy(of, all, sizeof(all));
}

struct req_scope req_scope_begin(const struct wharf_req *req)
{
    struct req_scope s = {.mark = arena_mark(req->arena),
        .problems = req->problems.list,
        .n_problems = req->problems.n,
        .cap_problems = req->problems.cap,
        .n_committed = req->tx.n_committed};

    list_kept(req, s.kept);
    return s;
}

void req_scope_end(struct wharf_req *req, const struct req_scope *s)
{
    const void *kept[REQ_KEPT];

    list_kept(req, kept);
    if (req->problems.n != s->n_problems || req->tx.n_committed != s->n_committed ||
        memcmp(kept, s->kept, sizeof(kept)) != 0)
        return;
    req->problems.list = s->problems;
    req->problems.cap = s->cap_problems;
    arena_rewind(req->arena, s->mark);
}

/* Logs a failed statement and names whose it was: the plugin whose code runs, else the one whose
 * route and resource the request is for. */
static void log_database_failed(const struct wharf_req *req, const struct db_error *e)
{
    const struct route *route = req->route;
    const struct plugin *plugin = req->plugin ? req->plugin : route ? route->plugin : NULL;
    const char *resource = route && route->resource ? route->resource->def->name : NULL;

    log_write(WHARF_LOG_ERROR, plugin ? plugin->name : NULL, req->request_id, "database.failed",
        "%s%s%s %s: %s %s", resource ? "resource " : "", resource ? resource : "",
        resource ? "," : "",
        route ? arena_printf(req->arena, "%s %s", req->head.method, route->pattern).p
              : "outside of a request",
        e->sqlstate, e->message);
}

wharf_status req_database_problem(struct wharf_req *req, const struct db_error *e)
{
    switch (e->status) {
    case DB_LOST:
    case DB_TIMEOUT:
        req->reply.retry_after = 1;
        log_write(WHARF_LOG_WARN, req->plugin ? req->plugin->name : NULL, req->request_id,
            "database.unavailable", "%s", e->message);
        if (e->status == DB_LOST)
            return req_fail(req, ERR_DATABASE_UNAVAILABLE, NULL, NULL);
        if (!strcmp(e->sqlstate, "53100"))
            return req_fail(req, ERR_DATABASE_UNAVAILABLE, NULL,
                "The disk of the database is full; its operator makes room");
        if (!strncmp(e->sqlstate, "53", 2))
            return req_fail(req, ERR_DATABASE_UNAVAILABLE, NULL,
                "The database has no connection or memory left; try again");
        return req_fail(req, ERR_OVERLOADED, NULL, NULL);
    case DB_CONFLICT:
        return req_fail(req, ERR_CONFLICT, NULL, NULL);
    case DB_OK:
    case DB_UNIQUE:
    case DB_FAILED:
        break;
    }
    if (req->tx.speculation ==
        SPECULATION_NONE) /* else the write is done again, and tells then what is wrong */
        log_database_failed(req, e);
    return req_fail(req, ERR_INTERNAL, NULL, NULL);
}

void req_respond(struct req_reply *reply, int status, wharf_str message)
{
    reply->status = status;
    reply->message = message;
    buf_clear(&reply->out);
    jw_init(&reply->w, &reply->out);
}

bool req_param(const struct wharf_req *req, const char *name, wharf_str *ret)
{
    for (size_t i = 0; req->route && i < req->route->n_params; i++) {
        if (!strcmp(req->route->param_names[i], name)) {
            *ret = req->params[i];
            return true;
        }
    }
    for (size_t i = 0; i < req->head.n_pairs; i++) {
        if (str_eqz(req->head.pairs[i].key, name)) {
            *ret = req->head.pairs[i].value;
            return true;
        }
    }
    return false;
}

void req_tell(struct wharf_req *req, unsigned news)
{
    if (req->tx.depth)
        req->tx.news |= news;
    else if (req->engine->notifier)
        notifier_tell(req->engine->notifier, news);
}

void req_after_commit(
    struct req_transaction *tx, void (*fn)(struct wharf_req *req, void *arg), void *arg)
{
    if (tx->n_committed == tx->cap_committed) {
        size_t cap = tx->cap_committed ? tx->cap_committed * 2 : 8;
        struct committed_fn *more = ARENA_ARRAY(req_tx_memory(tx), struct committed_fn, cap);

        if (tx->n_committed)
            memcpy(more, tx->committed, tx->n_committed * sizeof(*more));
        tx->committed = more;
        tx->cap_committed = cap;
    }
    tx->committed[tx->n_committed++] = (struct committed_fn){fn, arg, tx->depth};
}

/* ---- what is done behind a transaction ---- */

struct ending {
    struct ending *next;
    const struct plugin *plugin;
    wharf_handler *fn;
    char text[];
};

void req_at_end(struct wharf_req *req, wharf_handler *fn, wharf_str text)
{
    struct ending *e = malloc(sizeof(*e) + text.n + 1), **last = &req->tx.endings;

    if (!e)
        return;
    *e = (struct ending){.plugin = req->plugin, .fn = fn};
    memcpy(e->text, text.p, text.n);
    e->text[text.n] = 0;
    while (*last)
        last = &(*last)->next;
    *last = e;
}

void req_forget_endings(struct req_transaction *tx)
{
    while (tx->endings) {
        struct ending *e = tx->endings;

        tx->endings = e->next;
        free(e);
    }
}

static void run_ending(struct wharf_req *req, struct ending *e)
{
    const struct plugin *before;
    wharf_status s;

    if (req_begin(req) != WHARF_OK)
        return;
    before = plugin_enter(req, e->plugin, "what is behind a transaction");
    s = e->fn(req, e->text);
    plugin_leave(req, before);
    if (s == WHARF_OK && !req->problems.n)
        req_commit(req);
    else
        req_rollback(req);
}

/* Runs the endings after the transaction. Problems of the request stay what they are. */
static void run_endings(struct wharf_req *req)
{
    struct req_transaction *tx = &req->tx;
    struct problem *problems = req->problems.list;
    size_t n = req->problems.n, cap = req->problems.cap;

    while (tx->endings && !tx->depth) {
        struct ending *e = tx->endings;

        tx->endings = e->next;
        req->problems.list = NULL;
        req->problems.n = req->problems.cap = 0;
        run_ending(req, e);
        free(e);
    }
    req->problems.list = problems;
    req->problems.n = n;
    req->problems.cap = cap;
}

static const char owner_role_sql[] = "RESET ROLE";

static void begin_level(struct wharf_req *req)
{
    req->tx.implied &= req->tx.depth != 0;
    if (req->tx.depth == 0)
        db_begin(req->thread->db);
    else
        db_savepoint(req->thread->db, req->tx.depth);
    req->tx.depth++;
}

void req_join(struct wharf_req *req)
{
    if (req->job && req->job->joined && !req->tx.depth)
        begin_level(req);
}

wharf_status req_begin(struct wharf_req *req)
{
    req_join(req);
    begin_level(req);
    return WHARF_OK;
}

struct arena *req_tx_memory(struct req_transaction *tx)
{
    if (!tx->memory)
        tx->memory = arena_new(0);
    return tx->memory;
}

size_t event_bucket(wharf_str resource_id)
{
    uint32_t h = wharf_hash32(WHARF_HASH32_START, resource_id.p, resource_id.n);

    return h & (EVENT_BUCKETS - 1);
}

/* Settles the savepoints deeper than now, which are over: their events, and what waits for the
 * commit, belong to this one or were never. Those of the deepest are the newest. */
static void settle_notes(struct req_transaction *tx, bool keep)
{
    for (size_t i = tx->n_committed; i && tx->committed[i - 1].depth > tx->depth; i--) {
        if (keep)
            tx->committed[i - 1].depth = tx->depth;
        else
            tx->n_committed--;
    }
    for (struct event_note *n = tx->emitted; n && n->depth > tx->depth; n = n->next) {
        if (keep && tx->depth) {
            n->depth = tx->depth;
            continue;
        }
        tx->emitted = n->next;
        tx->emitted_of[event_bucket(n->resource_id)] = n->beside;
    }
}

/* Forgets everything of a transaction that is over. */
static void forget_transaction(struct wharf_req *req)
{
    struct req_transaction *tx = &req->tx;

    tx->n_committed = tx->cap_committed = 0;
    tx->committed = NULL;
    tx->keeps = false;
    tx->emitted = NULL;
    tx->emitted_of = NULL;
    arena_free(tx->memory);
    tx->memory = NULL;
    if (req->job) /* one that runs for long has the hooks of its moment in each transaction */
        request_release(req);
}

wharf_status req_commit(struct wharf_req *req)
{
    struct req_transaction *tx = &req->tx;
    struct db_conn *db = req->thread->db;
    struct db_error e;

    if (tx->depth == 1 && req->job && req->job->guard && req->job->guard(req) != WHARF_OK) {
        req_rollback(req);
        return WHARF_CONFLICT;
    }
    if (tx->depth == 1 && !req_memory_ok(req)) {
        req_rollback(req);
        return WHARF_LIMIT;
    }

    tx->depth--;
    settle_notes(tx, true);
    if (!tx->depth)
        tx->plugin_role = false;
    if ((tx->depth ? db_release(db, tx->depth, &e) : db_commit(db, &e)) != DB_OK) {
        tx->n_committed = 0;
        tx->news = 0;
        if (!tx->depth)
            forget_transaction(req);
        req_database_problem(req, &e);
        run_endings(req);
        return req_failed(req);
    }
    if (!tx->depth) {
        for (size_t i = 0; i < tx->n_committed; i++)
            tx->committed[i].fn(req, tx->committed[i].arg);
        forget_transaction(req);
        if (tx->news && req->engine->notifier)
            notifier_tell(req->engine->notifier, tx->news);
        tx->news = 0;
        run_endings(req);
    }
    return WHARF_OK;
}

void req_rollback(struct wharf_req *req)
{
    struct req_transaction *tx = &req->tx;
    struct db_conn *db = req->thread->db;
    struct db_error e;

    if (!tx->depth)
        return;
    tx->depth--;
    settle_notes(tx, false);
    tx->plugin_role = false;
    if (!tx->depth) {
        tx->news = 0;
        forget_transaction(req);
    }
    if (db_in_transaction(db) && !tx->depth)
        db_rollback(db, &e);
    else if (db_in_transaction(db) && db_rollback_to(db, tx->depth, &e) == DB_OK)
        db_ahead(db, owner_role_sql, NULL, 0); /* it may be another role's since before it */
    run_endings(req);
}

int64_t req_limit(struct wharf_req *req, int64_t ms)
{
    return db_deadline(req->thread->db, clock_monotonic_us() + ms * 1000);
}

void req_limit_end(struct wharf_req *req, int64_t before)
{
    db_deadline_end(req->thread->db, before);
}

static void clear_result(void *arg)
{
    db_meter_clear(arg);
}

static PGresult *request_keep(struct wharf_req *req, PGresult *r)
{
    if (r)
        arena_on_free(req->arena, clear_result, db_meter_keep(r));
    return r;
}

const char plugin_role_sql[] = "SELECT set_config('role', 'wharf_plugin', true), "
                               "set_config('wharf.organization', $1::text, true),"
                               " set_config('wharf.live_organization', $2::text, true)";

void req_plugin_role(struct wharf_req *req)
{
    const struct access *who = req->access.who ? &req->access.who->access : NULL;
    struct sql_arg organizations[2] = {
        {who ? who->organization.p : "", who ? who->organization.n : 0}, {"", 0}};

    if (who && who->live_organization.p)
        organizations[1] = (struct sql_arg){who->live_organization.p, who->live_organization.n};

    if (!req->tx.depth) {
        begin_level(req);
        req->tx.implied = !(req->job && req->job->joined);
    }
    if (req->tx.plugin_role)
        return;
    db_ahead(req->thread->db, plugin_role_sql, organizations, 2);
    req->tx.plugin_role = true;
}

static void owner_role(struct wharf_req *req)
{
    if (!req->tx.plugin_role)
        return;
    db_ahead(req->thread->db, owner_role_sql, NULL, 0);
    req->tx.plugin_role = false;
}

void req_leave_implied(struct wharf_req *req)
{
    if (req->tx.depth == 1 && req->tx.implied)
        req_rollback(req);
}

void req_leave_organization(struct wharf_req *req)
{
    owner_role(req);
}

PGresult *req_query(
    struct wharf_req *req, const char *sql, const struct sql_arg *args, size_t n_args)
{
    struct db_error e;
    PGresult *r = req_try(req, sql, args, n_args, &e);

    if (!r)
        req_database_problem(req, &e);
    return r;
}

PGresult *req_try(struct wharf_req *req, const char *sql, const struct sql_arg *args, size_t n_args,
    struct db_error *ret_error)
{
    owner_role(req);
    return request_keep(req, db_run(req->thread->db, sql, args, n_args, ret_error));
}

bool req_ahead(struct wharf_req *req, const char *sql, const struct sql_arg *args, size_t n_args)
{
    if (!req->tx.depth)
        return req_query(req, sql, args, n_args) != NULL;
    owner_role(req);
    db_ahead(req->thread->db, sql, args, n_args);
    return true;
}

bool req_copy(struct wharf_req *req, const char *sql, struct buf *rows)
{
    struct db_error e;

    if (req_try_copy(req, sql, rows, &e))
        return true;
    req_database_problem(req, &e);
    return false;
}

bool req_try_copy(
    struct wharf_req *req, const char *sql, struct buf *rows, struct db_error *ret_error)
{
    *ret_error = (struct db_error){
        .status = DB_FAILED, .message = "the rows are too large, or a cell is none of its type"};
    owner_role(req);
    return !rows->failed && db_copy(req->thread->db, sql, buf_str(rows), ret_error);
}

PGresult *req_query_sql(struct wharf_req *req, struct sql *s)
{
    struct db_error e;
    PGresult *r = req_try_sql(req, s, &e);

    if (!r)
        req_database_problem(req, &e);
    return r;
}

PGresult *req_try_sql(struct wharf_req *req, struct sql *s, struct db_error *ret_error)
{
    owner_role(req);
    return request_keep(req, db_run_sql(req->thread->db, s, ret_error));
}

bool req_start_sql(struct wharf_req *req, struct sql *s)
{
    owner_role(req);
    return db_start(req->thread->db, s);
}

PGresult *req_finish_sql(struct wharf_req *req, struct db_error *ret_error)
{
    return request_keep(req, db_finish(req->thread->db, ret_error));
}
