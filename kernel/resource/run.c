/* run.c - which way a request goes: plan on the event loop, plan on a thread, transaction,
 * plugin code. See plan.h. */
#include "resource/guard.h"
#include "resource/idempotency.h"
#include "resource/observe.h"
#include "resource/write.h"
#include "schema/names.h"
#include "util/str.h"
#include "wharf/errors.h"

/* Tells whether the read may run no rule and ask no second question. What fields= and include_*
 * leave or add is known when the plan is made (plan_build). */
static bool read_on_loop(const struct wharf_req *req, uint32_t in)
{
    const struct resource *res = req->route->resource;
    wharf_str value;

    return !res->def->place.parent && !req->route->below &&
           !(res->reads_by_rules && rows_restricted(req, res)) &&
           (!res->names_rows || req->access.who->access.all_locations) &&
           (!(res->computed_in & in) || req_param(req, "fields", &value));
}

bool plan_on_loop(const struct wharf_req *req)
{
    const struct resource *res = req->route->resource;

    switch (req->route->kind) {
    case ROUTE_LIST:
        return read_on_loop(req, IN_LIST);
    case ROUTE_RETRIEVE:
        return read_on_loop(req, IN_RETRIEVE);
    case ROUTE_CREATE:
        return res->plain_create && !req->head.idempotency_key.n &&
               !write_observed(req, res, OP_CREATE);
    case ROUTE_UPDATE:
    case ROUTE_DELETE:
    case ROUTE_PLUGIN:
    case ROUTE_KERNEL:
        break;
    }
    return false;
}

/* Tells whether a strict body names only known members inside of what rules of the resource judge
 * by themselves. As it was sent: rules may put other things in its place. */
static bool names_inside_ok(struct wharf_req *req)
{
    const struct names *names = req->head.strict ? req->route->resource->sent_names : NULL;

    return !names || names_known(names, req->body, req->arena, body_problem, req);
}

enum plan_result plan_build(struct wharf_req *req, struct plan *plan)
{
    *plan = (struct plan){0};
    if (req->route->kind == ROUTE_CREATE)
        return names_inside_ok(req) ? plan_create(req, plan) : PLAN_PROBLEMS;
    if (!(req->route->kind == ROUTE_LIST ? plan_list : plan_retrieve)(req, plan))
        return PLAN_PROBLEMS;
    if (!req->thread && (plan->searches || computes_fields(req->route->resource, &plan->view)))
        return PLAN_THREADS;
    return PLAN_READY;
}

/* Runs a read's plan on this thread's connection. */
static void run_plan(struct wharf_req *req)
{
    struct plan plan;
    PGresult *results[PLAN_STATEMENTS] = {NULL};
    struct db_error errors[PLAN_STATEMENTS] = {{DB_OK}};

    if (plan_build(req, &plan) != PLAN_READY)
        return;
    for (size_t i = 0; i < plan.n_statements; i++) {
        bool one_plan = plan.list && plan.statements[i].lane == LANE_READ &&
                        !plan.statements[i].by_value;

        results[i] = (one_plan ? db_run_one_plan : db_run)(req->thread->db, plan.statements[i].sql,
            plan.statements[i].args, plan.statements[i].n_args, &errors[i]);
    }
    plan.finish(req, &plan, results, errors);
    for (size_t i = 0; i < plan.n_statements; i++)
        PQclear(results[i]);
}

void answer_created(struct wharf_req *req, struct wharf_rec *rec, const struct view *view)
{
    wharf_str base = req->head.path;

    if (base.n > 1 && base.p[base.n - 1] == '/')
        base.n--;
    answer_row(req, rec, view, 201, "created");
    req->reply.location_header = arena_printf(
        req->arena, "%.*s/%.*s", STR_ARG(base), STR_ARG(record_id(rec)));
}

static void run_write(struct wharf_req *req, uint32_t op)
{
    struct req_reply *reply = &req->reply;
    const struct resource *res = req->route->resource;
    struct write w = {.res = res, .op = op, .body = req->body, .if_match = req->head.if_match};
    struct view view;

    w.parent_id = res->def->place.parent ? req->params[0] : str_z("");
    w.id = op == OP_CREATE ? str_z("") : addressed_id(req);
    if (!read_view(req, res,
            op == OP_CREATE ? res->def->creates.view | IN_CREATED | IN_WRITTEN
                            : IN_RETRIEVE | IN_WRITTEN,
            &view))
        return;
    if (write_transaction(req, &w) != WHARF_OK)
        return;
    if (op == OP_DELETE) {
        req_respond(reply, 200,
            arena_printf(req->arena, "%s %s", res->def->title,
                res->def->storage.archive ? "archived" : "deleted"));
        jw_open(&reply->w, NULL, '{');
        jw_str(&reply->w, "id", w.id);
        jw_z(&reply->w, "object", res->def->name);
        jw_bool(&reply->w, "deleted", true);
        jw_close(&reply->w, '}');
        return;
    }
    if (compute_fields(req, res, &w.new_rec, 1, &view) != WHARF_OK)
        return;
    if (op == OP_CREATE)
        answer_created(req, w.new_rec, &view);
    else
        answer_row(req, w.new_rec, &view, 200, "updated");
}

/* Refuses parameters that the route's document does not name, with "Prefer: handling=strict".
 * Routes whose answer is their own (links of files, protocols) read what they like. */
static bool route_query_ok(struct wharf_req *req)
{
    const struct wharf_json *known = json_get(req->route->definition, "query");

    if (!req->head.strict || req->route->any_answer)
        return true;
    for (size_t i = 0; i < req->head.n_pairs; i++) {
        wharf_str name = query_base(req->head.pairs[i].key);

        if (!json_get_n(known, name))
            req_problem(req, ERR_PARAM_INVALID, name, "unknown",
                arena_printf(req->arena, "%.*s is not a parameter of this route", STR_ARG(name)));
    }
    return !req->problems.n;
}

static bool route_body_ok(struct wharf_req *req)
{
    const struct schema *s = req->route->body_schema;
    const struct names *names = req->head.strict ? req->route->body_names : NULL;

    if (names && !names_known(names, req->body, req->arena, body_problem, req))
        return false;
    return !s || schema_validate(s, req->body, str_z(""), req->head.strict ? SCHEMA_STRICT : 0,
                     req->arena, body_problem, req);
}

static void handler_once(struct wharf_req *req, const wharf_route *r, bool tx)
{
    unsigned depth = req->tx.depth + 1; /* of its own transaction */
    const struct plugin *before;
    wharf_status s = WHARF_OK;

    if (tx && req_begin(req) != WHARF_OK)
        return;
    before = plugin_enter(req, req->route->plugin, r->path);
    s = r->handler(req, r->arg);
    plugin_leave(req, before);
    if (s != WHARF_OK && !req->problems.n)
        plugin_unexplained(req, req->route->plugin, "the handler", s);
    while (req->tx.depth > depth)
        req_rollback(req);
    if (req->tx.depth == depth && req->problems.n)
        req_rollback(req);
    else if (req->tx.depth == depth)
        req_commit(req);
}

/* Runs a plugin's own route: in a transaction unless it says otherwise. */
static void run_run_handler(struct wharf_req *req)
{
    struct req_reply *reply = &req->reply;
    const wharf_route *r = req->route->declared;
    bool tx = !(r->flags & (WHARF_R_READONLY | WHARF_R_NO_TX));
    int most = tx && !req->tx.depth ? RACE_TRIES : 1;
    struct req_scope scope;

    if (!route_query_ok(req) || !route_body_ok(req) || !req_memory_ok(req) || !guard_rows(req))
        return;
    scope = req_scope_begin(req);
    for (int tries = 0; tries < most; tries++) {
        if (tries)
            req_clear_problems(&req->problems);
        reply->status = 0;
        reply->n_remarks = 0;
        reply->matched = false;
        handler_once(req, r, tx);
        if (!req_lost_a_race(&req->problems))
            break;
    }
    if (req->parked && !req->problems.n) { /* it runs again from the beginning, maybe in a minute */
        req_scope_end(req, &scope);
        return;
    }
    if (!req->problems.n && !reply->status)
        reply->status = 204;
}

static void run_route(struct wharf_req *req)
{
    switch (req->route->kind) {
    case ROUTE_LIST:
    case ROUTE_RETRIEVE:
        run_plan(req);
        break;
    case ROUTE_CREATE:
        if (names_inside_ok(req))
            run_write(req, OP_CREATE);
        break;
    case ROUTE_UPDATE:
        if (names_inside_ok(req))
            run_write(req, OP_UPDATE);
        break;
    case ROUTE_DELETE:
        run_write(req, OP_DELETE);
        break;
    case ROUTE_PLUGIN:
        run_run_handler(req);
        break;
    case ROUTE_KERNEL:
        req->route->run(req);
        break;
    }
}

void request_run(struct wharf_req *req)
{
    if (req->head.idempotency_key.n)
        idempotent_run(req, run_route);
    else
        run_route(req);
    while (req->tx.depth > req->tx.floor)
        req_rollback(req);
}
