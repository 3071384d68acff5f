/* read.c - list and retrieve as plans: query checked, statements chosen, rows encoded. Leaves
 * writes to write.c. */
#include <stdio.h>

#include <stdlib.h>

#include "resource/access.h"
#include "resource/hooks.h"
#include "resource/place_sql.h"
#include "resource/plan.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    CHEAP_OFFSET = 2000, /* deeper pages may be slow: they leave the read lane to the others */
    SHORT_ROWS = 100000,
};

static void parameter_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    struct wharf_req *req = arg;

    req_problem(req, code, param, NULL, message);
}

static void read_options_of(
    struct wharf_req *req, const struct resource *res, struct query_options *o)
{
    const struct engine *e = req->engine;

    *o = (struct query_options){
        .strict = req->head.strict,
        .organization = organization_of(&req->access.who->access, res->def),
        .cursor_key = e->cursor_key,
        .parent = addressed_parent(req, res),
        .hits = res->def->list.similar,
    };
    if (e->n_embeds && res->def->n_links) {
        const char **names = ARENA_ARRAY(req->arena, const char *, e->n_embeds);

        for (size_t i = 0; i < e->n_embeds; i++) {
            if (definition_links(res->def, e->embeds[i].key + 1))
                names[o->n_embeds++] = e->embeds[i].param;
        }
        o->embeds = names;
    }
}

bool req_may_write(const struct req_access *access, const struct resource *res)
{
    return res->area >= 0 && access->who->levels[res->area] >= SCOPE_WRITE;
}

bool read_view(struct wharf_req *req, const struct resource *res, uint32_t in, struct view *view)
{
    const struct view_query *q;
    struct query_options o;

    read_options_of(req, res, &o);
    *view = (struct view){.in = in,
        .datetime = req->head.datetime_format,
        .who = &req->access.who->access,
        .writer = req_may_write(&req->access, res)};
    q = query_parse_view(
        req->arena, res->def, req->head.pairs, req->head.n_pairs, &o, parameter_problem, req);
    if (!q)
        return false;
    view->only = q->only;
    view->n_only = q->n_only;
    view->includes = q->includes;
    view->embeds = q->embeds;
    view->n_embeds = q->n_embeds;
    return true;
}

void answer_row(struct wharf_req *req, struct wharf_rec *rec, const struct view *view, int status,
    const char *what)
{
    struct req_reply *reply = &req->reply;

    req_respond(reply, status, arena_printf(req->arena, "%s %s", rec->res->def->title, what));
    reply->version = record_version(rec);
    reply->answered = rec->res;
    /* the record may end before the answer's log line */
    reply->answered_id = arena_dup_str(req->arena, record_id(rec));
    record_encode(&reply->w, NULL, req->arena, rec, view);
}

/* ---- retrieve ---- */

static bool finish_retrieve(struct wharf_req *req, struct plan *plan, PGresult *const *results,
    const struct db_error *errors)
{
    const struct resource *res = req->route->resource;
    struct wharf_rec *rec;

    if (errors[0].status != DB_OK) {
        req_database_problem(req, &errors[0]);
        return true;
    }
    if (PQntuples(results[0]) == 0) {
        req_problem(req, ERR_NOT_FOUND, addressed_id(req), NULL, str_z(""));
        return true;
    }
    rec = record_from_result(req->arena, res, results[0], 0);
    rec->shown = true;
    if (!check_location(req, res, rec) ||
        compute_fields(req, res, &rec, 1, &plan->view) != WHARF_OK)
        return true;
    answer_row(req, rec, &plan->view, 200, "retrieved");
    return true;
}

static bool has_audience(
    const struct req_access *access, const struct definition_audience *audience)
{
    return (audience->users && access->who->access.user_id.n) ||
           (audience->through &&
               (access->who->access.user_id.n || !access->who->access.all_locations));
}

/* Writes created_at of the row, as its id says it. */
static void id_moment(struct sql *s, wharf_str id)
{
    sql_add(s, " AND t.created_at = ");
    sql_bind(s, time_iso(s->arena, id_time_ms(id) * 1000));
    sql_add(s, "::timestamptz");
}

wharf_str addressed_id(const struct wharf_req *req)
{
    const struct definition *d = req->route->resource->def;
    size_t n = req->route->n_params;

    if (d->own_word && (!n || str_eqz(req->params[n - 1], d->own_word)))
        return organization_of(&req->access.who->access, d);
    return n ? req->params[n - 1] : str_z("");
}

bool plan_retrieve(struct wharf_req *req, struct plan *plan)
{
    const struct resource *res = req->route->resource;
    wharf_str id = addressed_id(req);
    struct narrowing narrow;

    if (!read_view(req, res, IN_RETRIEVE, &plan->view))
        return false;
    if (!ids_fit(&res->def->ids, id)) {
        req_problem(req, ERR_NOT_FOUND, id, NULL, str_z(""));
        return false;
    }
    if (!narrow_rows(req, res, &narrow))
        return false;
    plan->n_statements = 1;
    plan->finish = finish_retrieve;
    plan->statements[0].lane = LANE_READ;
    if (!has_audience(&req->access, &res->def->audience) && !narrow.n &&
        !res->def->storage.partitioned && !res->def->storage.retain) {
        retrieve_statement(req, res, id, &plan->statements[0]);
    } else {
        const struct shown_to to = shown_to(req, res);
        struct sql *s = ARENA_NEW(req->arena, struct sql);

        sql_init(s, req->arena);
        sql_add(s, "SELECT ");
        query_shown(s, res->columns_shown, &to);
        sql_addf(s, " FROM %s t WHERE ", res->def->storage.table);
        query_visible(s, res->def, &req->access.who->access, false);
        sql_add(s, " AND t.id = ");
        sql_bind(s, id);
        if (res->def->storage.partitioned)
            id_moment(s, id);
        narrow_sql(s, &narrow);
        plan->statements[0].sql = buf_str(s->text).p;
        plan->statements[0].args = s->args;
        plan->statements[0].n_args = s->n_args;
    }
    return true;
}

/* ---- list ---- */

/* Estimates how many rows there are, when they are more than are counted: the planner's guess,
 * never below what is known. */
static int64_t estimated_total(struct wharf_req *req, const struct list_query *q)
{
    const struct resource *res = req->route->resource;
    int64_t rows = QUERY_COUNT_CAP + 1, guess;
    struct narrowing narrow;
    struct sql s;
    PGresult *r;

    if (!narrow_rows(req, res, &narrow))
        return rows;
    sql_init(&s, req->arena);
    query_estimate_sql(&s, res->def, q, &req->access.who->access, narrow_extra, &narrow);
    r = req_query_sql(req, &s);
    guess = r && PQntuples(r) ? query_estimate(req->arena, str_z(PQgetvalue(r, 0, 0))) : -1;
    return guess > rows ? guess : rows;
}

static bool beyond_count(const struct list_query *q, const PGresult *total)
{
    return total && q->total == TOTAL_ESTIMATED &&
           strtoll(PQgetvalue(total, 0, 0), NULL, 10) > QUERY_COUNT_CAP;
}

static void write_total(
    struct wharf_req *req, struct jw *w, const struct list_query *q, PGresult *total)
{
    if (!beyond_count(q, total)) {
        jw_raw(w, "total_count", str_z(PQgetvalue(total, 0, 0)));
        return;
    }
    jw_int(w, "total_count", estimated_total(req, q));
    jw_bool(w, "total_count_is_estimate", true);
}

static void write_pagination(
    struct wharf_req *req, const struct list_query *q, bool more, PGresult *total, wharf_str next)
{
    struct buf b;
    struct jw w;

    buf_init(&b, 8192);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    if (q->cursor)
        jw_null(&w, "page");
    else
        jw_int(&w, "page", q->page);
    jw_int(&w, "limit", q->limit);
    jw_bool(&w, "has_more", more);
    if (total)
        write_total(req, &w, q, total);
    if (q->cursor && next.n)
        jw_str(&w, "next_cursor", next);
    else if (q->cursor)
        jw_null(&w, "next_cursor");
    jw_close(&w, '}');
    req->reply.pagination = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
}

static wharf_str next_cursor(
    struct wharf_req *req, const struct list_query *q, const struct wharf_rec *last)
{
    const struct cell *c = record_cell(last, q->order);
    struct sql_arg value = {c ? c->p : NULL, c ? c->n : 0};

    return query_cursor(req->arena, q, value, record_id(last), req->engine->cursor_key);
}

/* Writes what the plugin's search said of the row. */
static void encode_found(struct req_reply *reply, const struct list_query *q, wharf_str id)
{
    for (size_t i = 0; i < q->n_found; i++) {
        if (!str_eq(q->found[i].id, id))
            continue;
        for (const struct wharf_json *m = q->found[i].members ? q->found[i].members->child : NULL;
             m; m = m->next)
            jw_value(&reply->w, m->key.p, m);
        return;
    }
    for (const struct wharf_json *m = q->more.members ? q->more.members->child : NULL; m;
         m = m->next)
        jw_value(&reply->w, m->key.p, m);
}

static void encode_hit(struct req_reply *reply, PGresult *rows, int row)
{
    int last = PQnfields(rows) - 1;

    jw_open(&reply->w, "_search", '{');
    jw_raw(&reply->w, "relevance_score", str_z(PQgetvalue(rows, row, last - 1)));
    jw_raw(&reply->w, "matches", str_z(PQgetvalue(rows, row, last)));
    jw_close(&reply->w, '}');
}

/* Tells whether similar words may be looked for. A list that takes them looks for them only when
 * nothing contains the terms: what is asked for most costs nothing more. */
static bool may_be_similar(
    const struct wharf_req *req, const struct list_query *q, const PGresult *rows)
{
    return req->route->resource->def->list.similar && q->n_terms && !q->ranked && !q->similar &&
           !q->cursor_id.n && rows && !PQntuples(rows);
}

static PGresult *query_list(
    struct wharf_req *req, const struct list_query *q, const struct narrowing *narrow, bool count)
{
    const struct definition *d = req->route->resource->def;
    struct sql s;

    sql_init(&s, req->arena);
    if (count)
        query_count_sql(&s, d, q, &req->access.who->access, narrow_extra, (void *)narrow);
    else
        query_page_sql(&s, d, q, &req->access.who->access, narrow_extra, (void *)narrow);
    return req_query_sql(req, &s);
}

/* Takes the page of similar rows instead of the empty one. Returns false after problems. */
static bool take_similar(
    struct wharf_req *req, const struct list_query *q, bool count, PGresult *ret_results[])
{
    struct list_query similar = *q, first = *q;
    struct narrowing narrow;
    PGresult *r;

    if (!narrow_rows(req, req->route->resource, &narrow))
        return false;
    first.page = first.limit = 1;
    r = q->page > 1 ? query_list(req, &first, &narrow, false) : NULL;
    if (q->page > 1 && (!r || PQntuples(r)))
        return r != NULL; /* there are rows that contain them, on earlier pages */
    similar.similar = true;
    ret_results[0] = query_list(req, &similar, &narrow, false);
    if (ret_results[0] && count)
        ret_results[1] = query_list(req, &similar, &narrow, true);
    return ret_results[0] && (!count || ret_results[1]);
}

/* ---- what a search rule found ---- */

static int by_score(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    return (x->score < y->score) - (x->score > y->score);
}

/* Keeps the best of what was found, which the page needs: each row is looked for by itself, and
 * these are a tenth of them. Ties stay whole; scores are compared with four digits. */
static void lead(struct list_query *q)
{
    enum { MORE = 10 }; /* some may be gone or not for the caller */
    struct hit *found = (struct hit *)q->found;
    size_t n = (size_t)(q->page * q->limit) + MORE;
    double least;

    if (!q->ranked || !q->relevance || q->cursor || q->n_conditions || q->total != TOTAL_NONE ||
        q->n_found <= 2 * n)
        return;
    qsort(found, q->n_found, sizeof(*found), by_score);
    least = found[n - 1].score - 0.0002;
    while (n < q->n_found && found[n].score >= least)
        n++;
    q->n_all_found = q->n_found;
    q->n_found = n;
}

/* Takes all that was found, when the best were not enough for the page; with wide the rows that
 * the search rule did not tell, too. Returns false after problems. */
static bool take_all_found(
    struct wharf_req *req, const struct list_query **q, bool wide, PGresult **ret_rows)
{
    struct list_query *all = ARENA_NEW(req->arena, struct list_query);
    struct narrowing narrow;

    *all = **q;
    if (all->n_all_found > all->n_found)
        all->n_found = all->n_all_found;
    all->wide = wide;
    *q = all;
    if (!narrow_rows(req, req->route->resource, &narrow))
        return false;
    *ret_rows = query_list(req, all, &narrow, false);
    return *ret_rows != NULL;
}

/* Asks now what the first question left open. Returns false after problems. */
static bool take_more(
    struct wharf_req *req, const struct list_query **q, bool count, PGresult *ret_results[])
{
    const struct list_query *asked = *q;

    if (may_be_similar(req, asked, ret_results[0]))
        return take_similar(req, asked, count, ret_results);
    if (asked->n_all_found > asked->n_found && PQntuples(ret_results[0]) <= asked->limit &&
        !take_all_found(req, q, false, &ret_results[0]))
        return false;
    if (asked->more.n_words && !asked->wide && PQntuples(ret_results[0]) <= asked->limit)
        return take_all_found(req, q, true, &ret_results[0]);
    return true;
}

static bool finish_list(struct wharf_req *req, struct plan *plan, PGresult *const *results,
    const struct db_error *errors)
{
    struct req_reply *reply = &req->reply;
    const struct resource *res = req->route->resource;
    const struct list_query *q = plan->list;
    PGresult *got[PLAN_STATEMENTS] = {results[0], plan->n_statements > 1 ? results[1] : NULL};
    struct wharf_rec **recs;
    wharf_str next = {"", 0};
    int n, shown;

    for (size_t i = 0; i < plan->n_statements; i++) {
        if (errors[i].status != DB_OK) {
            req_database_problem(req, &errors[i]);
            return true;
        }
    }
    if (!req->thread && (beyond_count(q, got[1]) || may_be_similar(req, q, got[0])))
        return false;
    if (!take_more(req, &q, plan->n_statements > 1, got))
        return true;
    n = PQntuples(got[0]);
    shown = n > q->limit ? (int)q->limit : n;
    recs = ARENA_ARRAY(req->arena, struct wharf_rec *, (size_t)shown + 1);
    for (int i = 0; i < shown; i++) {
        recs[i] = record_from_result(req->arena, res, got[0], i);
        recs[i]->shown = true;
    }
    if (compute_fields(req, res, recs, (size_t)shown, &plan->view) != WHARF_OK)
        return true;
    req_respond(reply, 200,
        arena_printf(req->arena, "%d %s retrieved", shown,
            shown == 1 ? res->title_lower : res->def->title_plural));
    jw_open(&reply->w, NULL, '[');
    for (int i = 0; i < shown; i++) {
        jw_open(&reply->w, NULL, '{');
        record_members(&reply->w, req->arena, recs[i], &plan->view);
        if (q->ranked)
            encode_found(reply, q, record_id(recs[i]));
        else if (q->hits && q->n_terms)
            encode_hit(reply, got[0], i);
        jw_close(&reply->w, '}');
    }
    jw_close(&reply->w, ']');
    if (q->cursor && n > q->limit)
        next = next_cursor(req, q, recs[shown - 1]);
    write_pagination(req, q, n > q->limit, got[1], next);
    return true;
}

static bool check_asked_locations(struct wharf_req *req, const struct list_query *q)
{
    bool ok = true;

    for (size_t i = 0; i < q->n_locations_asked; i++) {
        if (!principal_may_see(req->access.who, q->locations_asked[i])) {
            req_problem(req, ERR_LOCATION_ACCESS, q->locations_asked[i], NULL, str_z(""));
            ok = false;
        }
    }
    return ok;
}

/* ---- the short list ---- */

static bool finish_short(struct wharf_req *req, struct plan *plan, PGresult *const *results,
    const struct db_error *errors)
{
    struct req_reply *reply = &req->reply;
    const struct resource *res = req->route->resource;
    const struct definition *d = res->def;
    int n = results[0] ? PQntuples(results[0]) : 0;

    (void)plan;
    if (errors[0].status != DB_OK) {
        req_database_problem(req, &errors[0]);
        return true;
    }
    req_respond(reply, 200,
        arena_printf(
            req->arena, "%d %s retrieved", n, n == 1 ? res->title_lower : d->title_plural));
    jw_open(&reply->w, NULL, '[');
    for (int row = 0; row < n; row++) {
        jw_open(&reply->w, NULL, '{');
        for (int i = 0; i < (int)d->list.n_cache; i++)
            jw_raw(&reply->w, d->list.cache[i]->name,
                PQgetisnull(results[0], row, i) ? WHARF_S("null")
                                                : str_z(PQgetvalue(results[0], row, i)));
        jw_close(&reply->w, '}');
    }
    jw_close(&reply->w, ']');
    return true;
}

static bool wants_short(const struct wharf_req *req, const struct definition_list *list)
{
    wharf_str value;
    bool yes = false;

    return list->n_cache && req_param(req, "cache", &value) && query_truth(value, &yes) && yes;
}

/* Plans the short list: every accessible row with few columns and no paging, for clients that keep
 * a copy. PostgreSQL writes the JSON values. */
static void plan_short(
    struct wharf_req *req, struct plan *plan, struct list_query *q, struct narrowing *narrow)
{
    const struct definition *d = req->route->resource->def;
    struct sql *columns = ARENA_NEW(req->arena, struct sql), *s = ARENA_NEW(req->arena, struct sql);

    sql_init(columns, req->arena);
    for (size_t i = 0; i < d->list.n_cache; i++)
        sql_addf(columns, "%sto_json(t.%s)", i ? ", " : "", d->list.cache[i]->column);
    q->columns = buf_str(columns->text).p;
    q->page = 1;
    q->limit = SHORT_ROWS;
    q->cursor = q->hits = false;
    sql_init(s, req->arena);
    query_page_sql(s, d, q, &req->access.who->access, narrow_extra, narrow);
    plan->statements[0].sql = buf_str(s->text).p;
    plan->statements[0].args = s->args;
    plan->statements[0].n_args = s->n_args;
    plan->statements[0].lane = LANE_SLOW;
    plan->n_statements = 1;
    plan->finish = finish_short;
}

static enum lane_kind read_lane_of(const struct list_query *q)
{
    bool deep = !q->cursor && (q->page - 1) * q->limit > CHEAP_OFFSET;

    return deep || q->n_terms || q->relevance || q->n_conditions ? LANE_SLOW : LANE_READ;
}

bool plan_list(struct wharf_req *req, struct plan *plan)
{
    const struct resource *res = req->route->resource;
    const struct definition *d = res->def;
    struct narrowing narrow;
    struct query_options o;
    struct sql *s = ARENA_NEW(req->arena, struct sql);
    struct list_query *q;

    read_options_of(req, res, &o);
    q = (struct list_query *)query_parse(
        req->arena, d, req->head.pairs, req->head.n_pairs, &o, parameter_problem, req);
    if (!q || !check_asked_locations(req, q) || !narrow_rows(req, res, &narrow))
        return false;
    if (wants_short(req, &d->list)) {
        plan_short(req, plan, q, &narrow);
        return true;
    }
    plan->searches = q->n_terms && res->search_rule && !req->thread;
    if (plan->searches)
        return true;
    if (q->n_terms && !search_found(req, res, q))
        return false;
    lead(q);
    q->columns = q->includes ? res->columns_shown : res->columns_list;
    plan->list = q;
    plan->view = (struct view){.in = IN_LIST,
        .datetime = req->head.datetime_format,
        .who = &req->access.who->access,
        .writer = req_may_write(&req->access, res),
        .only = q->only,
        .n_only = q->n_only,
        .includes = q->includes};
    plan->finish = finish_list;
    sql_init(s, req->arena);
    plan->statements[0].by_value = !query_page_sql(
        s, d, q, &req->access.who->access, narrow_extra, &narrow);
    plan->statements[0].sql = buf_str(s->text).p;
    plan->statements[0].args = s->args;
    plan->statements[0].n_args = s->n_args;
    plan->statements[0].lane = read_lane_of(q);
    plan->n_statements = 1;
    if (q->total != TOTAL_NONE) {
        s = ARENA_NEW(req->arena, struct sql);
        sql_init(s, req->arena);
        query_count_sql(s, d, q, &req->access.who->access, narrow_extra, &narrow);
        plan->statements[1].sql = buf_str(s->text).p;
        plan->statements[1].args = s->args;
        plan->statements[1].n_args = s->n_args;
        plan->statements[1].lane = LANE_SLOW;
        plan->n_statements = 2;
    }
    return true;
}
