/* hooks.c - see hooks.h. */
#include "resource/access.h"
#include "resource/hooks.h"
#include "resource/out.h"
#include "resource/place_sql.h"

#include <stdlib.h>

#include "plugin/manifest.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- calling plugin code ---- */

const struct plugin *plugin_enter(struct wharf_req *req, const struct plugin *p, const char *what)
{
    const struct plugin *before = req->plugin;

    req->plugin = p;
    thread_begins(req, p->name, what);
    return before;
}

void plugin_leave(struct wharf_req *req, const struct plugin *before)
{
    req->plugin = before;
    thread_ends(req);
}

wharf_status plugin_unexplained(
    struct wharf_req *req, const struct plugin *plugin, const char *what, wharf_status s)
{
    log_write(WHARF_LOG_ERROR, plugin ? plugin->name : NULL, req->request_id, "plugin.unexplained",
        "%s of %s ended with status %d and told no problem (%s %s); call err->fail() before it "
        "returns",
        what, plugin ? plugin->name : "the server", (int)s,
        req->head.method ? req->head.method : "",
        req->route ? req->route->pattern : "outside of a request");
    return req_fail(req, ERR_INTERNAL, NULL, NULL);
}

/* Returns a hook's status. One that fails without having told why is a bug of the plugin. */
static wharf_status explained(
    struct wharf_req *req, const struct plugin *plugin, const char *what, wharf_status s)
{
    if (s != WHARF_OK && !req->problems.n)
        return plugin_unexplained(req, plugin, what, s);
    if (s == WHARF_OK && req->problems.n)
        return WHARF_INVALID;
    return s;
}

bool hooks_about(const wharf_hooks *h, uint32_t op)
{
    return !WHARF_HAS(wharf_hooks, h, ops) || (h->ops & op);
}

/* Runs a written hook, and notes when the row may be another behind it: it asked the database for
 * something and did not say that the row was kept. */
static wharf_status run_written_hook(struct wharf_req *req, const wharf_hooks *h, uint32_t op,
    const struct wharf_rec *old_rec, struct wharf_rec *new_rec)
{
    uint64_t ran = db_ran(req->thread->db);
    wharf_status s;

    if (new_rec)
        new_rec->kept = false;
    s = h->written(req, op, old_rec, new_rec);
    if (new_rec && !new_rec->kept && db_ran(req->thread->db) != ran)
        new_rec->touched = true;
    return s;
}

wharf_status run_hooks(struct wharf_req *req, const struct resource *res, enum hook_stage stage,
    uint32_t op, const struct wharf_rec *old_rec, struct wharf_rec *new_rec)
{
    static const char *const names[] = {"normalize", "check", "written"};
    /* Everybody's reasons against a deletion are told together: "location.in_use" names all
     * kinds of rows. */
    bool all = stage == HOOK_CHECK && op == WHARF_DELETE;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < res->n_hooks && (s == WHARF_OK || all); i++) {
        const struct hook_entry *h = &res->hooks[i];
        const struct plugin *before;
        wharf_status own = WHARF_OK;

        if (stage != HOOK_NORMALIZE && !hooks_about(h->hooks, op))
            continue;
        before = plugin_enter(req, h->plugin, names[stage]);
        if (stage == HOOK_NORMALIZE && h->hooks->normalize)
            own = h->hooks->normalize(req, op, new_rec);
        else if (stage == HOOK_CHECK && h->hooks->check)
            own = h->hooks->check(req, op, old_rec, new_rec);
        else if (stage == HOOK_WRITTEN && h->hooks->written)
            own = run_written_hook(req, h->hooks, op, old_rec, new_rec);
        plugin_leave(req, before);
        s = explained(req, h->plugin, names[stage], s == WHARF_OK ? own : s);
        if (s == WHARF_OK && stage == HOOK_CHECK && new_rec && new_rec->values)
            s = ruled_values_judge(req, h->plugin, new_rec);
    }
    return s;
}

struct committed_call {
    const struct resource *res;
    uint32_t op;
    const struct wharf_rec *old_rec, *new_rec;
};

static void hooks_run_committed(struct wharf_req *req, void *arg)
{
    const struct committed_call *c = arg;

    for (size_t i = 0; i < c->res->n_hooks; i++) {
        const struct hook_entry *h = &c->res->hooks[i];

        if (h->hooks->committed) {
            const struct plugin *before = plugin_enter(req, h->plugin, "committed");

            h->hooks->committed(req, c->op, c->old_rec, c->new_rec);
            plugin_leave(req, before);
        }
    }
}

void queue_committed(struct wharf_req *req, const struct resource *res, uint32_t op,
    const struct wharf_rec *old_rec, const struct wharf_rec *new_rec)
{
    struct committed_call *c;
    bool any = false;

    for (size_t i = 0; i < res->n_hooks; i++)
        any |= res->hooks[i].hooks->committed != NULL;
    if (!any)
        return;
    c = ARENA_NEW(req->arena, struct committed_call);
    *c = (struct committed_call){res, op, old_rec, new_rec};
    req_after_commit(&req->tx, hooks_run_committed, c);
}

/* Tells whether the view shows the computed field. */
static bool is_wanted(const struct field *f, const struct view *view)
{
    bool asked = f->include_flag && f->index < 64 && (view->includes >> f->index & 1);

    if (f->kind != FIELD_COMPUTED)
        return false;
    if (!asked && !((f->include_flag ? f->always : f->in) & view->in))
        return false;
    return (view->in & VIEW_ALL) || record_shows(f, view);
}

/* Tells whether the field is filled by the module of a link: "_documents" of "documents". */
static bool is_of_link(const struct definition *d, const struct field *f)
{
    return f->name[0] == '_' && definition_links(d, f->name + 1);
}

static bool is_hooked(const struct resource *res, const struct field *f, const struct view *view)
{
    return !f->computed && !is_of_link(res->def, f) && res->n_hooks &&
           res->hooks[0].hooks->compute && is_wanted(f, view);
}

bool computes_fields(const struct resource *res, const struct view *view)
{
    if (view->n_embeds)
        return true;
    for (size_t i = 0; i < res->def->n_fields; i++) {
        const struct field *f = &res->def->fields[i];

        if (is_hooked(res, f, view) ||
            (f->computed && !field_selected(f, view->in) && is_wanted(f, view)))
            return true;
    }
    return false;
}

/* Takes the fields of a result's row, behind the place of its record, which counts from 1. */
static void take_selected(struct wharf_rec *const *recs, const struct field *const *fields,
    size_t n_fields, const PGresult *r, int row)
{
    struct wharf_rec *rec = recs[strtoull(PQgetvalue(r, row, 0), NULL, 10) - 1];

    for (size_t i = 0; i < n_fields; i++) {
        int at = (int)i + 1;
        struct cell *c = record_cell(rec, fields[i]);

        *c = (struct cell){NULL, 0};
        if (!PQgetisnull(r, row, at))
            *c = (struct cell){PQgetvalue(r, row, at), (size_t)PQgetlength(r, row, at)};
    }
}

struct shown_to shown_to(const struct wharf_req *req, const struct resource *res)
{
    const struct route *r = req->route;
    bool reads = res && r && r->resource == res &&
                 (r->kind == ROUTE_LIST || r->kind == ROUTE_RETRIEVE);

    return (struct shown_to){.who = &req->access.who->access,
        .asked = reads ? req->head.pairs : NULL,
        .n_asked = reads ? req->head.n_pairs : 0,
        .lists = reads && r->kind == ROUTE_LIST};
}

/* Asks for the fields that SQL computes of these rows. */
static bool select_fields(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct field *const *fields, size_t n_fields,
    const struct view *view)
{
    const struct shown_to to = shown_to(req, view->who ? res : NULL);
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n);
    struct sql s;
    PGresult *r;

    for (size_t k = 0; k < n; k++)
        ids[k] = record_id(recs[k]);
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT i.place");
    for (size_t i = 0; i < n_fields; i++) {
        sql_add(&s, ", ");
        query_shown(&s, fields[i]->computed, &to);
    }
    sql_add(&s, " FROM unnest(");
    sql_bind_set(&s, ids, n, "text");
    sql_addf(&s,
        ") WITH ORDINALITY AS i(id, place) CROSS JOIN LATERAL (SELECT * FROM %s x WHERE "
        "x.id = i.id AND x.organization_id = ",
        res->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, res->def));
    sql_add(&s, " LIMIT 1) t");
    r = req_query_sql(req, &s);
    for (int row = 0; r && row < PQntuples(r); row++)
        take_selected(recs, fields, n_fields, r, row);
    return r != NULL;
}

/* Fills what SQL computes of rows that were not read with it. Returns false after problems. */
static bool fill_selected(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct view *view)
{
    const struct definition *d = res->def;
    const struct field **fields = ARENA_ARRAY(req->arena, const struct field *, d->n_fields + 1);
    uint32_t selected = n && recs[0]->shown ? view->in & (IN_LIST | IN_RETRIEVE) : 0;
    size_t n_fields = 0;

    for (size_t i = 0; n && i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (f->computed && is_wanted(f, view) && !field_selected(f, selected))
            fields[n_fields++] = f;
    }
    return !n_fields || select_fields(req, res, recs, n, fields, n_fields, view);
}

/* Fills a field with what another module writes of the rows. Its name is the embed's key. */
static wharf_status fill_embed(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct embed_entry *e)
{
    const struct field *f = definition_field(res->def, e->key);
    struct wharf_out **outs = ARENA_ARRAY(req->arena, struct wharf_out *, n);
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n);
    const struct plugin *before;
    wharf_status s;

    if (!f || f->kind != FIELD_COMPUTED || !is_of_link(res->def, f))
        return WHARF_OK;
    for (size_t k = 0; k < n; k++) {
        ids[k] = record_id(recs[k]);
        outs[k] = out_new(req->arena);
    }
    before = plugin_enter(req, e->plugin, "embed");
    s = e->fn(req, res->def->name, ids, n, outs);
    plugin_leave(req, before);
    for (size_t k = 0; k < n && s == WHARF_OK; k++) {
        wharf_str text = out_text(outs[k]);

        *record_cell(recs[k], f) = (struct cell){text.n ? text.p : NULL, text.n};
    }
    return explained(req, e->plugin, "embed", s);
}

static wharf_status fill_embeds(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct view *view)
{
    const struct engine *e = req->engine;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; n && i < view->n_embeds; i++) {
        for (size_t k = 0; k < e->n_embeds && s == WHARF_OK; k++) {
            if (!strcmp(e->embeds[k].param, view->embeds[i]))
                s = fill_embed(req, res, recs, n, &e->embeds[k]);
        }
    }
    return s;
}

wharf_status compute_fields(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct view *view)
{
    const struct definition *d = res->def;

    if (res->names_rows && n && view->who && !hide_references(req, res, recs, n, view->who))
        return req_failed(req);
    if (!fill_selected(req, res, recs, n, view))
        return req_failed(req);
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        struct wharf_out **outs;
        const struct plugin *before;
        wharf_status s;

        if (!n || !is_hooked(res, f, view))
            continue;
        outs = ARENA_ARRAY(req->arena, struct wharf_out *, n);
        for (size_t k = 0; k < n; k++)
            outs[k] = out_new(req->arena);
        before = plugin_enter(req, res->hooks[0].plugin, "compute");
        s = res->hooks[0].hooks->compute(req, (const wharf_rec *const *)recs, n, f->index, outs);
        plugin_leave(req, before);
        s = explained(req, res->hooks[0].plugin, "compute", s);
        if (s != WHARF_OK)
            return s;
        for (size_t k = 0; k < n; k++) {
            wharf_str text = out_text(outs[k]);

            *record_cell(recs[k], f) = (struct cell){text.n ? text.p : NULL, text.n};
        }
    }
    return fill_embeds(req, res, recs, n, view);
}

/* ---- narrowing ---- */

struct where_term {
    struct where_term *next;
    const struct field *field;
    const char *sql; /* "= ", "<> ", ... or a null test */
    bool bound;
    wharf_str value;
};

static void add_term(
    struct narrowing *n, const struct field *f, const char *sql, bool bound, wharf_str value)
{
    struct where_term *t = ARENA_NEW(n->req->arena, struct where_term);

    *t = (struct where_term){NULL, f, sql, bound, value};
    if (!n->n)
        n->last = &n->first;
    *n->last = t;
    n->last = &t->next;
    n->n++;
}

void where_narrow(struct wharf_where *where, wharf_field f, const char *op, wharf_val v)
{
    static const struct {
        const char *op, *sql;
    } ops[] = {{"eq", "="}, {"!eq", "IS DISTINCT FROM"}, {"gt", ">"}, {"gte", ">="}, {"lt", "<"},
        {"lte", "<="}};
    struct narrowing *n = where->n;
    const struct field *field = f < n->res->def->n_fields ? &n->res->def->fields[f] : NULL;
    struct value text;

    if (!field || field->kind != FIELD_COLUMN) {
        req_fail(n->req, ERR_INTERNAL, NULL, NULL);
        return;
    }
    if (v.type == WHARF_V_NULL) {
        add_term(n, field, op[0] == '!' ? "IS NOT NULL" : "IS NULL", false, str_z(""));
        return;
    }
    value_from_plugin(n->req->arena, field, &v, &text);
    if (!strcmp(op, "in") && v.type == WHARF_V_JSON && v.u.j->type == JSON_ARRAY) {
        add_term(n, field, "IN (SELECT jsonb_array_elements_text", true, text.text);
        return;
    }
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (!strcmp(ops[i].op, op)) {
            add_term(n, field, ops[i].sql, true, text.text);
            return;
        }
    }
    req_fail(n->req, ERR_INTERNAL, NULL, NULL);
}

void narrow_sql(struct sql *s, const struct narrowing *n)
{
    for (const struct where_term *t = n->first; t; t = t->next) {
        if (t->field->expression) /* as where nothing is asked: rules ask for no form of rows */
            sql_addf(s, " AND %s %s ", n->res->def->storage.columns[t->field->select].sql, t->sql);
        else
            sql_addf(s, " AND t.%s %s ", t->field->column, t->sql);
        if (!t->bound)
            continue;
        if (strncmp(t->sql, "IN", 2) == 0) {
            sql_add(s, "(");
            sql_bind(s, t->value);
            sql_add(s, "::jsonb))");
        } else {
            sql_bind(s, t->value);
            sql_addf(s, "::%s", store_type(t->field));
        }
    }
}

void narrow_extra(struct sql *s, void *narrowing)
{
    narrow_sql(s, narrowing);
}

void retrieve_statement(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct plan_statement *ret)
{
    wharf_str organization = organization_of(&req->access.who->access, res->def);
    const struct shown_to to = shown_to(req, res);
    struct sql_arg *args = ARENA_ARRAY(req->arena, struct sql_arg, 3);
    struct sql s;

    args[0] = (struct sql_arg){organization.p, organization.n};
    args[1] = (struct sql_arg){id.p, id.n};
    if (res->def->storage.partitioned) {
        wharf_str moment = time_iso(req->arena, id_time_ms(id) * 1000);

        args[2] = (struct sql_arg){moment.p, moment.n};
    }
    *ret = (struct plan_statement){.sql = res->retrieve_sql,
        .args = args,
        .n_args = res->def->storage.partitioned ? 3 : 2,
        .lane = LANE_READ};
    if (!res->shows_by_caller)
        return;
    sql_init(&s, req->arena);
    for (size_t i = 0; i < ret->n_args; i++)
        sql_keep(&s, (wharf_str){args[i].p, args[i].n});
    query_shown(&s, res->retrieve_sql, &to);
    ret->sql = buf_str(s.text).p;
    ret->args = s.args;
    ret->n_args = s.n_args;
}

PGresult *retrieve_row_or(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct db_error *ret_error)
{
    struct plan_statement statement;

    retrieve_statement(req, res, id, &statement);
    return req_try(req, statement.sql, statement.args, statement.n_args, ret_error);
}

PGresult *retrieve_row(struct wharf_req *req, const struct resource *res, wharf_str id)
{
    struct db_error e;
    PGresult *r = retrieve_row_or(req, res, id, &e);

    if (!r)
        req_database_problem(req, &e);
    return r;
}

/* Checks the parent of a nested collection: 404 when it is not there, 403 when its location is
 * outside the caller's. */
static bool hooks_check_parent(struct wharf_req *req, const struct resource *parent, wharf_str id)
{
    struct wharf_rec *rec;
    PGresult *r;

    r = retrieve_row(req, parent, id);
    if (!r)
        return false;
    if (!PQntuples(r)) {
        req_problem(req, ERR_NOT_FOUND, id, NULL, str_z(""));
        return false;
    }
    rec = record_from_result(req->arena, parent, r, 0);
    return check_location(req, parent, rec);
}

wharf_str addressed_parent(const struct wharf_req *req, const struct resource *res)
{
    const struct route *r = req->route;

    if (r && r->resource == res && r->all_parents)
        return str_z("");
    return res->def->place.parent || (r && r->resource == res && r->below) ? req->params[0]
                                                                           : str_z("");
}

bool narrow_rows(struct wharf_req *req, const struct resource *res, struct narrowing *ret)
{
    return narrow_rows_of(req, res, addressed_parent(req, res), ret);
}

const struct wharf_json *normalize_body(
    struct wharf_req *req, uint32_t op, struct wharf_rec *rec, const struct wharf_json *body)
{
    const struct resource *res = rec->res;
    struct wharf_json *copy;
    struct wharf_json **last;
    bool any = false;

    for (size_t i = 0; i < res->n_hooks; i++)
        any = any || res->hooks[i].hooks->normalize;
    if (!any)
        return body;
    copy = ARENA_NEW(req->arena, struct wharf_json);
    *copy = *body;
    last = &copy->child;
    for (const struct wharf_json *m = body->child; m; m = m->next) {
        *last = ARENA_NEW(req->arena, struct wharf_json);
        **last = *m;
        last = &(*last)->next;
    }
    rec->raw = copy;
    run_hooks(req, res, HOOK_NORMALIZE, op, NULL, rec);
    return copy;
}

bool rows_restricted(const struct wharf_req *req, const struct resource *res)
{
    const struct definition *d = res->def;
    wharf_str value;

    for (size_t i = 0; i < res->n_hooks; i++) {
        if (!res->hooks[i].hooks->restrict_rows)
            continue;
        if (res->hooks[i].plugin != res->plugin || !d->restricts_by_params)
            return true;
        for (size_t k = 0; k < d->n_params; k++) {
            if (d->params[k].restricts && req_param(req, d->params[k].name, &value))
                return true;
        }
    }
    return false;
}

bool narrow_rows_of(
    struct wharf_req *req, const struct resource *res, wharf_str parent_id, struct narrowing *ret)
{
    struct wharf_where where = {ret};
    const struct definition_place *place = &res->def->place;
    const struct field *parent = place->parent ? place->parent : place->below;
    size_t n_hooks;

    *ret = (struct narrowing){.req = req, .res = res};
    if (parent && parent_id.n) {
        wharf_str id = parent_id;

        if (res->refs[parent->index] && !hooks_check_parent(req, res->refs[parent->index], id))
            return false;
        add_term(ret, parent, "=", true, id);
    }
    n_hooks = rows_restricted(req, res) ? res->n_hooks : 0;
    for (size_t i = 0; i < n_hooks; i++) {
        const struct hook_entry *h = &res->hooks[i];
        const struct plugin *before;
        wharf_status s;

        if (!h->hooks->restrict_rows)
            continue;
        before = plugin_enter(req, h->plugin, "restrict_rows");
        s = h->hooks->restrict_rows(req, &where);
        plugin_leave(req, before);
        if (explained(req, h->plugin, "restrict_rows", s) != WHARF_OK)
            return false;
    }
    /* a hook may have asked by plugin SQL; the list itself is the owner's */
    req_leave_organization(req);
    return req->problems.n == 0;
}

/* ---- search ---- */

struct wharf_hits {
    struct wharf_req *req;
    struct hit *items;
    size_t n, cap;
    struct list_more more;
};

void hits_add(struct wharf_hits *hits, wharf_str id, double score, const struct wharf_json *members)
{
    if (hits->n == hits->cap)
        return;
    hits->items[hits->n++] = (struct hit){arena_dup_str(hits->req->arena, id), score, members};
}

void hits_more(
    struct wharf_hits *hits, const wharf_str *words, size_t n, const struct wharf_json *members)
{
    wharf_str *own = ARENA_ARRAY(hits->req->arena, wharf_str, n + 1);

    for (size_t i = 0; i < n; i++)
        own[i] = arena_dup_str(hits->req->arena, words[i]);
    hits->more = (struct list_more){.words = own, .n_words = n, .members = members};
}

bool search_found(struct wharf_req *req, const struct resource *res, struct list_query *q)
{
    const wharf_hooks *h = res->n_hooks ? res->hooks[0].hooks : NULL;
    struct wharf_hits hits = {.req = req, .cap = SEARCH_HITS_MAX};
    const struct plugin *before;
    wharf_str text;
    wharf_status s;

    if (!h || !WHARF_HAS(wharf_hooks, h, search) || !req_param(req, "search", &text))
        return true;
    hits.items = ARENA_ARRAY(req->arena, struct hit, hits.cap);
    before = plugin_enter(req, res->hooks[0].plugin, "search");
    s = h->search(req, text, q->match_all, &hits);
    plugin_leave(req, before);
    q->ranked = true;
    q->found = hits.items;
    q->n_found = hits.n;
    q->more = hits.more;
    /* by another order a page is not of the hits first */
    q->wide = q->more.n_words && !q->relevance;
    return explained(req, res->hooks[0].plugin, "search", s) == WHARF_OK;
}

void thread_plugins_start(const struct engine *e, struct thread_ctx *ctx)
{
    ctx->plugin_states = calloc(e->n_plugins + 1, sizeof(*ctx->plugin_states));
    for (size_t i = 0; ctx->plugin_states && i < e->n_plugins; i++) {
        const wharf_plugin_desc *d = e->plugins[i].desc;

        if (WHARF_HAS(wharf_plugin_desc, d, thread_start) &&
            d->thread_start(e->plugins[i].handle, &ctx->plugin_states[i]) != WHARF_OK)
            log_write(WHARF_LOG_ERROR, e->plugins[i].name, NULL, "plugin.thread_start",
                "thread_start failed");
    }
}

void thread_plugins_stop(const struct engine *e, struct thread_ctx *ctx)
{
    for (size_t i = 0; ctx->plugin_states && i < e->n_plugins; i++) {
        const wharf_plugin_desc *d = e->plugins[i].desc;

        if (WHARF_HAS(wharf_plugin_desc, d, thread_stop))
            d->thread_stop(e->plugins[i].handle, ctx->plugin_states[i]);
    }
    free(ctx->plugin_states);
}
