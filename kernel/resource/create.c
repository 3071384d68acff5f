/* create.c - creates of resources without rules: one statement writes row, log line and event
 * (docs/decisions 7 and 14); those that wait together share one.
 *
 * What the statement cannot tell apart (an unknown reference yields no row) is found out by the
 * pipeline of write.c. */
#include "resource/history.h"
#include "resource/access.h"
#include "resource/told.h"
#include "resource/write.h"
#include "db/notifier.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

static struct cell cell_of_value(const struct field *f, const struct value *v)
{
    wharf_str text = v->present ? (v->null ? (wharf_str){NULL, 0} : v->text) : absent_text(f);

    return (struct cell){text.p, text.n};
}

static struct wharf_rec *future_row(
    struct wharf_req *req, const struct resource *res, const struct value *values)
{
    const struct definition *d = res->def;
    struct wharf_rec *rec = ARENA_NEW(req->arena, struct wharf_rec);
    char *id = arena_alloc(req->arena, ID_MAX);
    wharf_str iso = time_iso(req->arena, req->now_us);
    struct cell now = {iso.p, iso.n},
                actor = {req->access.who->actor_id.p, req->access.who->actor_id.n};

    rec->res = res;
    rec->arena = req->arena;
    rec->cells = ARENA_ARRAY(req->arena, struct cell, res->n_cells);
    rec->cells[COL_ID] = (struct cell){id, id_new(d->ids.prefix, req->now_us, id)};
    rec->cells[COL_CREATED_AT] = rec->cells[COL_UPDATED_AT] = now;
    rec->cells[COL_CREATED_BY] = rec->cells[COL_UPDATED_BY] = actor;
    rec->cells[COL_VERSION] = (struct cell){"1", 1};
    for (size_t i = 0; i < d->n_fields; i++) {
        if (field_written(&d->fields[i]) && d->fields[i].select >= 0)
            rec->cells[d->fields[i].select] = cell_of_value(&d->fields[i], &values[i]);
    }
    return rec;
}

static bool finish_create(struct wharf_req *req, struct plan *plan, PGresult *const *results,
    const struct db_error *errors)
{
    const struct resource *res = req->route->resource;

    if (errors[0].status == DB_UNIQUE) {
        unique_problem(req, res->def, &errors[0]);
        return true;
    }
    if (errors[0].status == DB_CONFLICT)
        return false;
    if (errors[0].status != DB_OK) {
        req_database_problem(req, &errors[0]);
        return true;
    }
    if (PQntuples(results[0]) == 0)
        return false;
    if (res->def->events.created)
        req_tell(req, NEWS_EVENTS);
    answer_created(req, plan->rec, &plan->view);
    return true;
}

/* Fills the arguments. Returns their number; 0 when a problem was told. */
static size_t fill_args(struct wharf_req *req, const struct resource *res,
    const struct wharf_rec *rec, struct sql_arg *args)
{
    const struct definition *d = res->def;
    const struct view event_view = told_view(d);
    struct change c = {
        .organization = organization_of(&req->access.who->access, d),
        .resource = d->name,
        .resource_id = record_id(rec),
        .location_id = record_location(rec),
        .action = "created",
        .log = d->events.log,
        .event = d->events.created,
    };
    size_t n = 4;

    args[0] = (struct sql_arg){c.organization.p, c.organization.n};
    args[1] = (struct sql_arg){rec->cells[COL_ID].p, rec->cells[COL_ID].n};
    args[2] = (struct sql_arg){rec->cells[COL_CREATED_AT].p, rec->cells[COL_CREATED_AT].n};
    args[3] = (struct sql_arg){req->access.who->actor_id.p, req->access.who->actor_id.n};
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct cell *shown = record_cell(rec, &d->fields[i]);
        struct cell cell = shown ? *shown : (struct cell){NULL, 0};

        if (!field_written(&d->fields[i]))
            continue;
        if (!cell_seal(req->arena, d, &d->fields[i], record_id(rec), &cell)) {
            req_fail(req, ERR_SECRETS_UNAVAILABLE, d->fields[i].name, NULL);
            return 0;
        }
        args[n++] = (struct sql_arg){cell.p, cell.n};
    }
    if (!record_seen_by(req, rec, &c.seen))
        return 0;
    if (c.event)
        c.data = record_json(req->arena, rec, &event_view);
    history_args(req, &c, args + n);
    return n + HISTORY_PARAMS;
}

enum plan_result plan_create(struct wharf_req *req, struct plan *plan)
{
    const struct resource *res = req->route->resource;
    const struct definition *d = res->def;
    struct value *values = ARENA_ARRAY(req->arena, struct value, d->n_fields);
    struct sql_arg *args = ARENA_ARRAY(
        req->arena, struct sql_arg, 4 + d->n_fields + HISTORY_PARAMS);

    if (!read_view(req, res, d->creates.view | IN_CREATED | IN_WRITTEN, &plan->view))
        return PLAN_PROBLEMS;
    if (!body_check(req->arena, d, OP_CREATE, req->body, req->head.strict ? BODY_STRICT : 0, values,
            body_problem, req))
        return PLAN_PROBLEMS;
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct resource *to = res->refs[i];

        /* Unknown (400) or not accessible (403)? Only a look at the row tells. */
        if (to && to->def->place.is_location && values[i].present && !values[i].null &&
            !principal_may_see(req->access.who, values[i].text))
            return PLAN_THREADS;
        if (to && !to->def->place.is_location && values[i].present && !values[i].null &&
            has_walls(to) &&
            (!req->access.who->access.all_locations || req->access.who->access.user_id.n))
            return PLAN_THREADS;
    }
    plan->rec = future_row(req, res, values);
    plan->statements[0].sql = res->create_sql;
    plan->statements[0].many_sql = res->create_many_sql;
    plan->statements[0].args = args;
    plan->statements[0].n_args = fill_args(req, res, plan->rec, args);
    if (!plan->statements[0].n_args)
        return PLAN_PROBLEMS;
    plan->statements[0].lane = LANE_WRITE;
    plan->n_statements = 1;
    plan->finish = finish_create;
    return PLAN_READY;
}
