/* http_dispatch.c - a complete request goes down the lanes, to a worker thread, or is answered
 * at once. See exchange.h. */
#include "http/body_reader.h"
#include "http/exchange.h"

#include <stdlib.h>

#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- the key ---- */

struct auth_job {
    struct lane_job job;
    struct sql_arg arg;
    struct exchange *x;
    unsigned generation; /* of the cache, when the key was asked for */
    char hex[2 + 2 * KEY_HASH + 1];
};

static void auth_done(struct lane_job *job, PGresult *result, const struct db_error *error)
{
    struct auth_job *j = job->arg;
    struct exchange *x = j->x;
    struct wharf_req *req = &x->req;

    if (error) {
        req_database_problem(req, error);
    } else {
        req->access.who = auth_principal(&req->engine->areas, result, req->now_us);
        auth_cache_put(
            req->engine->auth, x->key_hash, req->access.who, j->generation, x->server->turn_us);
    }
    x->state = X_KEYED;
    if (x->abandoned) {
        exchange_release(x);
        return;
    }
    exchange_resume(x);
}

void dispatch_auth(struct exchange *x)
{
    static const char digits[] = "0123456789abcdef";
    struct auth_job *j = ARENA_NEW(x->req.arena, struct auth_job);

    j->x = x;
    j->generation = auth_cache_generation(x->req.engine->auth);
    memcpy(j->hex, "\\x", 2);
    for (size_t i = 0; i < KEY_HASH; i++) {
        j->hex[2 + 2 * i] = digits[x->key_hash[i] >> 4];
        j->hex[3 + 2 * i] = digits[x->key_hash[i] & 15];
    }
    j->arg = (struct sql_arg){j->hex, sizeof(j->hex) - 1};
    j->job = (struct lane_job){.sql = auth_lookup_sql,
        .args = &j->arg,
        .n_args = 1,
        .done = auth_done,
        .arg = j,
        .deadline_us = x->server->turn_us + 2000000};
    lane_queue(x->server->lanes[0], &j->job);
}

/* ---- lanes ---- */

/* Returns the lane of that kind which has least to do, of those that are up if any is. */
static struct lane *lane_for(struct server *s, enum lane_kind kind)
{
    struct lane *best;

    if (kind == LANE_READ)
        return s->lanes[0];
    if (kind == LANE_WRITE)
        return s->lanes[1];
    best = s->lanes[2];
    for (size_t i = 3; i < s->n_lanes; i++) {
        struct lane *l = s->lanes[i];

        if (lane_up(l) == lane_up(best) ? lane_load(l) < lane_load(best) : lane_up(l))
            best = l;
    }
    return best;
}

/* Tells whether the lanes of a plan are up. When the database gives fewer connections than there
 * are lanes, worker threads do what has none, if one of them has a connection. */
static bool lanes_serve(const struct exchange *x)
{
    for (size_t i = 0; i < x->plan.n_statements; i++)
        if (!lane_up(lane_for(x->server, x->plan.statements[i].lane)))
            return false;
    return true;
}

bool route_is_long(const struct route *r)
{
    return r->declared && (r->declared->flags & WHARF_R_LONG);
}

/* Refuses the request when nobody took it; who did not take it may have said why. */
static void refuse_overloaded(struct exchange *x)
{
    if (x->req.problems.n)
        return;
    req_fail(&x->req, ERR_OVERLOADED, NULL, NULL);
}

/* Hands the request to a worker thread, a body that was not read to the body reader first. */
static void to_thread(struct exchange *x)
{
    const struct config *c = x->server->config;

    if (route_is_long(x->req.route))
        x->req.deadline_us = x->server->turn_us + c->long_timeout_ms * 1000;
    else if (x->upload) /* bringing the bytes took as long as it took */
        x->req.deadline_us = x->server->turn_us + c->handler_timeout_ms * 1000;
    x->state = X_ON_THREAD;
    if (x->body_read ? threads_push(x->server->threads, x) : body_reader_push(x->server->reader, x))
        return;
    x->state = X_ANSWER;
    refuse_overloaded(x);
}

void dispatch_read(struct exchange *x)
{
    if (threads_push(x->server->threads, x))
        return;
    x->state = X_ANSWER;
    refuse_overloaded(x);
    exchange_resume(x);
}

void dispatch_again(struct exchange *x)
{
    free(x->req.parked);
    x->req.parked = NULL;
    x->req.reply.status = 0;
    x->req.now_us = clock_now_us();
    x->req.deadline_us = x->server->turn_us + x->server->config->handler_timeout_ms * 1000;
    to_thread(x);
    if (x->state == X_ANSWER)
        exchange_resume(x);
}

static void plan_done(struct exchange *x)
{
    x->state = X_ANSWER;
    if (!x->plan.finish(&x->req, &x->plan, x->results, x->errors))
        to_thread(x);
    if (x->state == X_ANSWER)
        exchange_resume(x);
}

static void statement_done(struct lane_job *job, PGresult *result, const struct db_error *error)
{
    struct exchange *x = job->arg;
    size_t i = (size_t)(job - x->jobs);

    if (error)
        x->errors[i] = *error;
    x->results[i] = result ? PQcopyResult(result, PG_COPYRES_ATTRS | PG_COPYRES_TUPLES) : NULL;
    if (--x->pending)
        return;
    plan_done(x);
}

/* Answers a request with one statement: nothing has to be kept, the result is read where it
 * lies. */
static void only_statement_done(
    struct lane_job *job, PGresult *result, const struct db_error *error)
{
    struct exchange *x = job->arg;

    if (error)
        x->errors[0] = *error;
    x->results[0] = result;
    x->pending = 0;
    x->state = X_ANSWER;
    if (!x->plan.finish(&x->req, &x->plan, x->results, x->errors))
        to_thread(x);
    x->results[0] = NULL;
    if (x->state == X_ANSWER)
        exchange_resume(x);
}

static void to_lanes(struct exchange *x)
{
    x->state = X_ON_LANES;
    x->pending = x->plan.n_statements;
    for (size_t i = 0; i < x->plan.n_statements; i++) {
        x->errors[i] = (struct db_error){.status = DB_OK};
        x->jobs[i] = (struct lane_job){.sql = x->plan.statements[i].sql,
            .many_sql = x->plan.statements[i].many_sql,
            .args = x->plan.statements[i].args,
            .n_args = x->plan.statements[i].n_args,
            .by_value = x->plan.statements[i].by_value,
            .arg = x,
            .deadline_us = x->server->turn_us + 5000000,
            .done = x->plan.n_statements == 1 ? only_statement_done : statement_done};
        lane_queue(lane_for(x->server, x->plan.statements[i].lane), &x->jobs[i]);
    }
}

bool dispatch(struct exchange *x)
{
    struct wharf_req *req = &x->req;

    if (raw_body(req->route) || req->route->shows_request)
        keep_request(x);
    else if (req->route->kind == ROUTE_CREATE)
        keep_address(x);
    if (body_is_large(x)) {
        to_thread(x);
        return x->state == X_ANSWER;
    }
    if (!read_body(x))
        return true;
    if (req->route->kind == ROUTE_KERNEL && req->route->run && !req->route->stream_tokens) {
        req->route->run(req);
        return true;
    }
    if (!plan_on_loop(req)) {
        to_thread(x);
        return x->state == X_ANSWER;
    }
    switch (plan_build(req, &x->plan)) {
    case PLAN_READY:
        if (lanes_serve(x) || !threads_connected(x->server->threads)) {
            to_lanes(x);
            return false;
        }
        to_thread(x);
        return x->state == X_ANSWER;
    case PLAN_THREADS:
        to_thread(x);
        return x->state == X_ANSWER;
    case PLAN_PROBLEMS:
        break;
    }
    return true;
}
