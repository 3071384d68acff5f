/* host_walk.c - the service wharf.walk: every row of a list from one snapshot
 * (plugin-api/wharf/service/walk.h).
 *
 * The walk's own connection has a read-only transaction with a cursor. While rows are read, it
 * stands in for the request's connection, so that rules which compute fields see the same
 * snapshot. */
#include <stdio.h>
#include <stdlib.h>

#include "host/host.h"
#include "resource/plan.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/service/walk.h"

struct wharf_walk {
    struct wharf_req *req;
    const struct resource *res;
    struct list_query *q;
    struct view view;
    struct narrowing narrow;
    struct db_conn *db; /* NULL: ended */
    int64_t left;
};

/* ---- its connection in the place of the request's ---- */

struct stepped {
    struct db_conn *db;
    unsigned depth;
    bool role;
};

static struct stepped step_in(struct wharf_req *req, const struct wharf_walk *w)
{
    struct req_transaction *tx = &req->tx;
    struct stepped was = {req->thread->db, tx->depth, tx->plugin_role};

    req->thread->db = w->db;
    tx->depth = 1;
    tx->plugin_role = false;
    return was;
}

static void step_out(struct wharf_req *req, struct stepped was)
{
    req_leave_organization(req);
    req->thread->db = was.db;
    req->tx.depth = was.depth;
    req->tx.plugin_role = was.role;
}

/* ---- what is asked for ---- */

struct asked {
    struct wharf_req *req;
    const char *base;
};

static void option_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    const struct asked *a = arg;

    req_problem(a->req, code, arena_printf(a->req->arena, "%s%.*s", a->base, STR_ARG(param)), NULL,
        message);
}

enum { ALL = 0 }; /* no limit was asked for */

static bool host_walk_read_limit(const struct query_pair *p, int64_t most, int64_t *ret)
{
    *ret = ALL;
    return !p->broken && (str_eqz(p->value, "all") || (query_whole(p->value, ret) && *ret <= most));
}

/* Takes `limit`, which is the walk's, out of the pairs. Returns false after problems. */
static bool take_limit(
    struct asked *a, struct query_pair *pairs, size_t *n, int64_t most, int64_t *ret_limit)
{
    size_t kept = 0, problems = a->req->problems.n;

    *ret_limit = ALL;
    for (size_t i = 0; i < *n; i++) {
        if (str_eqz(pairs[i].key, "page") || str_eqz(pairs[i].key, "cursor") ||
            str_eqz(pairs[i].key, "cache") || str_starts(pairs[i].key, "include_total"))
            option_problem(a, ERR_PARAM_INVALID, pairs[i].key,
                str_z("All rows are read; leave this parameter out"));
        else if (!str_eqz(pairs[i].key, "limit"))
            pairs[kept++] = pairs[i];
        else if (!host_walk_read_limit(&pairs[i], most, ret_limit))
            option_problem(a, ERR_PARAM_INVALID, pairs[i].key,
                arena_printf(a->req->arena,
                    "limit must be a whole number from 1 to %lld, or \"all\"", (long long)most));
    }
    *n = kept;
    return a->req->problems.n == problems;
}

/* Reads the options. Returns NULL after problems were told. */
static struct list_query *host_walk_read_options(struct wharf_req *req, const struct resource *res,
    const wharf_json *options, int64_t most, const char *base, int64_t *ret_limit)
{
    struct query_options o = {.strict = true,
        .organization = organization_of(&req->access.who->access, res->def),
        .cursor_key = req->engine->cursor_key};
    struct asked asked = {req, base};
    const struct query_pair *given;
    struct query_pair *pairs;
    struct list_query *q;
    size_t n = 0;
    bool good;

    if (options)
        query_from_json(req->arena, res->def, options, &given, &n);
    pairs = ARENA_ARRAY(req->arena, struct query_pair, n + 1);
    for (size_t i = 0; i < n; i++)
        pairs[i] = given[i];
    good = take_limit(&asked, pairs, &n, most, ret_limit);
    q = (struct list_query *)query_parse(
        req->arena, res->def, pairs, n, &o, option_problem, &asked);
    if (!q || !good)
        return NULL;
    for (size_t i = 0; i < q->n_locations_asked; i++) {
        if (!principal_may_see(req->access.who, q->locations_asked[i]))
            req_problem(req, ERR_LOCATION_ACCESS, q->locations_asked[i], NULL, str_z(""));
    }
    if (req->problems.n)
        return NULL;
    /* how well a row matches is looked at for some only: all come in the list's own order */
    if (q->relevance) {
        q->relevance = false;
        q->order = res->def->list.order;
        q->descending = res->def->list.descending;
    }
    q->hits = q->cursor = false;
    q->page = 1;
    q->limit = *ret_limit ? *ret_limit : most;
    q->columns = q->includes ? res->columns_shown : res->columns_list;
    req->head.pairs = pairs; /* search rules read their word there */
    req->head.n_pairs = n;
    return q;
}

static const struct resource *host_walk_find(struct wharf_req *req, const char *name)
{
    const struct resource *res = engine_resource(req->engine, name);

    if (!res || !(res->def->ops & OP_LIST))
        req_fail(req, ERR_MODULE_UNAVAILABLE, NULL, "the module of %s is not enabled", name);
    return req->problems.n ? NULL : res;
}

static struct view host_walk_view_of(const struct req_access *access, const struct list_query *q)
{
    return (struct view){.in = IN_LIST,
        .datetime = DATETIME_ISO,
        .who = &access->who->access,
        .only = q->only,
        .n_only = q->n_only,
        .includes = q->includes};
}

static void host_walk_members(struct wharf_req *req, const struct definition *d,
    const struct list_query *q, const wharf_str **ret_names, size_t *ret_n)
{
    wharf_str *names = ARENA_ARRAY(req->arena, wharf_str, d->n_fields + 1);
    struct view view = host_walk_view_of(&req->access, q);
    size_t n = 0;

    names[n++] = WHARF_S("object");
    for (size_t i = 0; i < d->n_fields; i++) {
        if (record_shows(&d->fields[i], &view))
            names[n++] = str_z(d->fields[i].name);
    }
    *ret_names = names;
    *ret_n = n;
}

static wharf_status k_check(wharf_req *req, const char *resource, const wharf_json *options,
    int64_t most, const char *base, const wharf_str **ret_names, size_t *ret_n)
{
    struct req_head *head = &req->head;
    const struct query_pair *pairs = head->pairs;
    size_t n = head->n_pairs;
    const struct resource *res = host_walk_find(req, resource);
    const struct list_query *q = NULL;
    int64_t limit;

    if (res)
        q = host_walk_read_options(req, res, options, most, base, &limit);
    if (q && ret_names)
        host_walk_members(req, res->def, q, ret_names, ret_n);
    head->pairs = pairs;
    head->n_pairs = n;
    return host_err.current(req);
}

/* ---- the walk ---- */

static void end_walk(void *arg)
{
    struct wharf_walk *w = arg;

    db_close(w->db);
    w->db = NULL;
}

static PGresult *count_rows(struct wharf_req *req, struct wharf_walk *w)
{
    struct sql s;

    sql_init(&s, req->arena);
    query_count_sql(&s, w->res->def, w->q, &req->access.who->access, narrow_extra, &w->narrow);
    return req_query_sql(req, &s);
}

/* Counts the rows. Similar words are a second question, as in lists: asked when nothing contains
 * the terms. */
static bool host_walk_count(struct wharf_req *req, struct wharf_walk *w, int64_t *ret)
{
    PGresult *r;

    w->q->total = TOTAL_EXACT;
    r = count_rows(req, w);
    *ret = r ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;
    if (r && !*ret && w->res->def->list.similar && w->q->n_terms && !w->q->ranked) {
        w->q->similar = true;
        r = count_rows(req, w);
        *ret = r ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;
    }
    return r != NULL;
}

static bool host_walk_open_cursor(struct wharf_req *req, struct wharf_walk *w)
{
    struct sql s;

    sql_init(&s, req->arena);
    sql_add(&s, "DECLARE walk NO SCROLL CURSOR FOR ");
    query_page_sql(&s, w->res->def, w->q, &req->access.who->access, narrow_extra, &w->narrow);
    return req_query_sql(req, &s) != NULL;
}

static wharf_status host_walk_start(struct wharf_req *req, struct wharf_walk *w, int64_t *ret_total)
{
    struct stepped was = step_in(req, w);
    bool good;

    db_begin_snapshot(w->db);
    db_ahead(w->db, "SET LOCAL statement_timeout = 0", NULL, 0);
    good = narrow_rows_of(req, w->res, str_z(""), &w->narrow) &&
           (!w->q->n_terms || search_found(req, w->res, w->q)) &&
           host_walk_count(req, w, ret_total) && host_walk_open_cursor(req, w);
    step_out(req, was);
    return good ? WHARF_OK : host_err.current(req);
}

static wharf_status k_begin(wharf_req *req, const char *resource, const wharf_json *options,
    int64_t most, const char *base, wharf_walk **ret_walk, int64_t *ret_total)
{
    const struct resource *res = host_walk_find(req, resource);
    struct wharf_walk *w = ARENA_NEW(req->arena, struct wharf_walk);
    int64_t limit;
    wharf_status s;

    if (!res)
        return WHARF_UNAVAILABLE;
    w->req = req;
    w->res = res;
    w->q = host_walk_read_options(req, res, options, most, base, &limit);
    if (!w->q)
        return host_err.current(req);
    w->view = host_walk_view_of(&req->access, w->q);
    w->db = db_another(req->thread->db, false);
    arena_on_release(req->arena, end_walk, w);
    s = host_walk_start(req, w, ret_total);
    if (s != WHARF_OK)
        return s;
    w->left = w->q->limit;
    if (limit && *ret_total > limit)
        *ret_total = limit;
    *ret_walk = w;
    return WHARF_OK;
}

static wharf_status encode_rows(struct wharf_req *req, struct wharf_walk *w, PGresult *r,
    const wharf_str **ret_rows, size_t *ret_n)
{
    size_t n = (size_t)PQntuples(r);
    struct wharf_rec **recs = ARENA_ARRAY(req->arena, struct wharf_rec *, n + 1);
    wharf_str *rows = ARENA_ARRAY(req->arena, wharf_str, n + 1);

    for (size_t i = 0; i < n; i++) {
        recs[i] = record_from_result(req->arena, w->res, r, (int)i);
        recs[i]->shown = true;
    }
    if (compute_fields(req, w->res, recs, n, &w->view) != WHARF_OK)
        return host_err.current(req);
    for (size_t i = 0; i < n; i++)
        rows[i] = record_json(req->arena, recs[i], &w->view);
    *ret_rows = rows;
    *ret_n = n;
    return WHARF_OK;
}

static wharf_status k_next(
    wharf_req *req, wharf_walk *w, size_t n, const wharf_str **ret_rows, size_t *ret_n)
{
    struct stepped was;
    char sql[64];
    PGresult *r;
    wharf_status s = WHARF_OK;

    *ret_n = 0;
    if (!w->db)
        return req_fail(req, ERR_INTERNAL, NULL, "the walk has ended");
    if ((int64_t)n > w->left)
        n = (size_t)w->left;
    if (!n)
        return WHARF_OK;
    was = step_in(req, w);
    snprintf(sql, sizeof(sql), "FETCH %zu FROM walk", n);
    r = req_query(req, sql, NULL, 0);
    if (r)
        s = encode_rows(req, w, r, ret_rows, ret_n);
    step_out(req, was);
    w->left -= (int64_t)*ret_n;
    return r ? s : host_err.current(req);
}

static void k_end(wharf_req *req, wharf_walk *w)
{
    (void)req;
    end_walk(w);
}

const wharf_walk_api host_walk = {WHARF_HEAD(wharf_walk_api), k_check, k_begin, k_next, k_end};
