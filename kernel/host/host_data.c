/* host_data.c - the tables that reach the database: SQL, resources, events. host.c has the
 * others. */
#include <stdlib.h>

#include "event/event_catalogue.h"
#include "resource/history.h"
#include "db/meter.h"
#include "db/plugin_sql.h"
#include "job/job.h"
#include "host/host.h"
#include "resource/access.h"
#include "resource/told.h"
#include "resource/write.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- SQL ---- */

struct wharf_rows {
    struct arena *arena;
    PGresult *result;
};

static wharf_str arg_text(struct arena *a, const wharf_val *v)
{
    struct field any = {.store = STORE_TEXT};
    struct value value;

    value_from_plugin(a, &any, v, &value);
    return value.null ? (wharf_str){NULL, 0} : value.text;
}

struct sql_arg *host_args(struct arena *a, const wharf_val *args, size_t n_args)
{
    struct sql_arg *bound = ARENA_ARRAY(a, struct sql_arg, n_args + 1);

    for (size_t i = 0; i < n_args; i++) {
        wharf_str text = arg_text(a, &args[i]);

        bound[i] = (struct sql_arg){text.p, text.n};
    }
    return bound;
}

/* Refuses a statement of a plugin that only the server may run: fails the request, and logs who
 * wrote it. */
static bool may_run(wharf_req *req, const char *sql)
{
    const char *does = plugin_sql_refused(sql);

    if (!does)
        return true;
    log_write(WHARF_LOG_ERROR, req->plugin ? req->plugin->name : NULL, req->request_id,
        "plugin.statement",
        "a statement of %s is refused, because it %s (\"%.60s\"); use begin, commit and rollback "
        "of the database table, and return an error to undo the request",
        req->plugin ? req->plugin->name : "the server", does, sql);
    req_fail(req, ERR_INTERNAL, NULL, NULL);
    return false;
}

static PGresult *host_data_run(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n_args)
{
    struct db_error e;
    PGresult *r;

    if (!may_run(req, sql))
        return NULL;
    req_plugin_role(req);
    r = db_run(req->thread->db, sql, host_args(req->arena, args, n_args), n_args, &e);
    if (!r)
        req_database_problem(req, &e);
    return r;
}

static void clear_rows(void *arg)
{
    db_meter_clear(arg);
}

const wharf_rows *host_rows(wharf_req *req, PGresult *r)
{
    struct wharf_rows *rows = ARENA_NEW(req->arena, struct wharf_rows);

    arena_on_free(req->arena, clear_rows, db_meter_keep(r));
    *rows = (struct wharf_rows){req->arena, r};
    return rows;
}

static wharf_status d_query(wharf_req *req, const char *sql, const wharf_val *args, size_t n_args,
    const wharf_rows **ret_rows)
{
    PGresult *r = host_data_run(req, sql, args, n_args);

    if (!r)
        return req_failed(req);
    *ret_rows = host_rows(req, r);
    return WHARF_OK;
}

static wharf_status d_exec(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n_args, uint64_t *ret_n)
{
    PGresult *r = host_data_run(req, sql, args, n_args);

    if (!r)
        return req_failed(req);
    if (ret_n)
        *ret_n = strtoull(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return WHARF_OK;
}

static void d_later(wharf_req *req, const char *sql, const wharf_val *args, size_t n_args)
{
    if (!may_run(req, sql))
        return;
    req_plugin_role(req);
    db_ahead(req->thread->db, sql, host_args(req->arena, args, n_args), n_args);
}

static size_t d_count(const wharf_rows *rows)
{
    return (size_t)PQntuples(rows->result);
}

static enum store store_for(uint32_t type)
{
    switch (type) {
    case WHARF_V_BOOL:
        return STORE_BOOL;
    case WHARF_V_INT:
        return STORE_INT;
    case WHARF_V_DEC:
        return STORE_DEC;
    case WHARF_V_TIME_US:
        return STORE_TIME;
    case WHARF_V_JSON:
        return STORE_JSON;
    default:
        return STORE_TEXT;
    }
}

static bool d_value(
    const wharf_rows *rows, size_t row, size_t column, uint32_t want_type, wharf_val *ret_v)
{
    struct field f = {.store = store_for(want_type), .scale = 4};
    int r = (int)row, c = (int)column;
    struct cell cell;

    if (r >= PQntuples(rows->result) || c >= PQnfields(rows->result) ||
        PQgetisnull(rows->result, r, c))
        return false;
    cell = (struct cell){PQgetvalue(rows->result, r, c), (size_t)PQgetlength(rows->result, r, c)};
    if (want_type == WHARF_V_DOUBLE) {
        *ret_v = (wharf_val){.type = WHARF_V_DOUBLE, .u.d = strtod(cell.p, NULL)};
        return true;
    }
    return cell_value(rows->arena, &f, &cell, ret_v);
}

/* Locks with the next statement, which waits for it and fails with it; as whichever role comes. */
static wharf_status d_lock(wharf_req *req, const char *space, wharf_str key)
{
    struct sql_arg args[2] = {{space, strlen(space)}, {key.p, key.n}};

    req_join(req);
    if (!req->tx.depth)
        req_begin(req);
    db_ahead(req->thread->db,
        "SELECT pg_advisory_xact_lock(hashtextextended($1::text || ':' || $2::text, 0))", args, 2);
    return WHARF_OK;
}

static wharf_status d_lock_many(wharf_req *req, const char *space, const wharf_str *keys, size_t n)
{
    struct sql s;

    req_join(req);
    if (!req->tx.depth)
        req_begin(req);
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT count(pg_advisory_xact_lock(x.key)) FROM (SELECT DISTINCT "
                "hashtextextended(");
    sql_bind(&s, str_z(space));
    sql_add(&s, "::text || ':' || k, 0) AS key FROM unnest(");
    sql_bind_set(&s, keys, n, "text");
    sql_add(&s, ") k ORDER BY 1 OFFSET 0) x");
    if (s.failed || s.text->failed)
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    if (n)
        db_ahead(req->thread->db, buf_str(s.text).p, s.args, s.n_args);
    return WHARF_OK;
}

const wharf_db_api host_db = {WHARF_HEAD(wharf_db_api), d_query, d_exec, d_count, d_value,
    req_begin, req_commit, req_rollback, d_lock, d_later, d_lock_many, req_limit, req_limit_end};

/* ---- resources ---- */

static const struct resource *host_data_find(wharf_req *req, const char *name)
{
    const struct resource *res = engine_resource(req->engine, name);

    if (!res)
        req_fail(req, ERR_MODULE_UNAVAILABLE, NULL, "the module of %s is not enabled", name);
    return res;
}

static wharf_status s_fetch(
    wharf_req *req, const char *resource, wharf_str id, uint32_t flags, const wharf_rec **ret_rec)
{
    const struct resource *res = host_data_find(req, resource);
    struct wharf_rec *rec;
    struct sql s;
    PGresult *r;

    if (!res)
        return WHARF_UNAVAILABLE;
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT ");
    if (flags & WHARF_SHOWN) {
        const struct shown_to to = shown_to(req, NULL);

        query_shown(&s, res->columns_shown, &to);
    } else {
        sql_add(&s, res->columns_full);
    }
    sql_addf(&s, " FROM %s t WHERE t.organization_id = ", res->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, res->def));
    sql_add(&s, " AND t.id = ");
    sql_bind(&s, id);
    if (res->def->storage.soft_delete && !(flags & WHARF_WITH_DELETED))
        sql_add(&s, " AND t.deleted_at IS NULL");
    if (flags & WHARF_FOR_UPDATE)
        sql_add(&s, " FOR UPDATE OF t");
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    if (!PQntuples(r))
        return req_problem(req, ERR_NOT_FOUND, id, NULL, str_z(""));
    rec = record_from_result(req->arena, res, r, 0);
    rec->shown = (flags & WHARF_SHOWN) != 0;
    if (!check_location(req, res, rec))
        return WHARF_DENIED;
    if (rec->locked)
        return req_fail(req, ERR_SECRETS_UNAVAILABLE, NULL, NULL);
    if (flags & WHARF_FOR_UPDATE && !route_precondition(req, rec))
        return WHARF_CONFLICT;
    *ret_rec = rec;
    return WHARF_OK;
}

static void list_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    req_problem(arg, code, param, NULL, message);
}

static wharf_status s_list(wharf_req *req, const char *resource, const wharf_json *query,
    const wharf_rec *const **ret_recs, size_t *ret_n)
{
    const struct resource *res = host_data_find(req, resource);
    const struct query_pair *pairs = NULL;
    const wharf_rec **recs;
    struct query_options o = {.strict = true};
    struct list_query *q;
    size_t n_pairs = 0;
    struct sql s;
    PGresult *r;

    if (!res)
        return WHARF_UNAVAILABLE;
    o.organization = organization_of(&req->access.who->access, res->def);
    o.cursor_key = req->engine->cursor_key;
    if (query)
        query_from_json(req->arena, res->def, query, &pairs, &n_pairs);
    q = (struct list_query *)query_parse(
        req->arena, res->def, pairs, n_pairs, &o, list_problem, req);
    if (!q)
        return WHARF_INVALID;
    q->columns = res->columns_full;
    sql_init(&s, req->arena);
    query_page_sql(&s, res->def, q, &req->access.who->access, NULL, NULL);
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    *ret_n = (size_t)PQntuples(r) > (size_t)q->limit ? (size_t)q->limit : (size_t)PQntuples(r);
    recs = ARENA_ARRAY(req->arena, const wharf_rec *, *ret_n + 1);
    for (size_t i = 0; i < *ret_n; i++)
        recs[i] = record_from_result(req->arena, res, r, (int)i);
    *ret_recs = recs;
    return WHARF_OK;
}

static wharf_status s_write(wharf_req *req, const wharf_write *given)
{
    struct write w = {.res = host_data_find(req, given->resource),
        .op = given->op,
        .id = given->id.p ? given->id : str_z(""),
        .body = given->op == WHARF_DELETE ? NULL : given->body,
        .parent_id = str_z(""),
        .kind = given->kind,
        .context = given->context};
    wharf_status s;

    if (!w.res)
        return WHARF_UNAVAILABLE;
    if (w.res->def->place.parent && w.op == OP_CREATE)
        w.parent_id = json_text_or(w.body, w.res->def->place.parent->name, "");
    s = write_transaction(req, &w);
    if (s == WHARF_OK && given->ret_rec)
        *given->ret_rec = w.new_rec ? w.new_rec : w.old_rec;
    return s;
}

static wharf_status s_create(
    wharf_req *req, const char *resource, const wharf_json *body, const wharf_rec **ret_rec)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write), .resource = resource, .op = WHARF_CREATE};

    w.body = body;
    w.ret_rec = ret_rec;
    return s_write(req, &w);
}

static wharf_status s_update(wharf_req *req, const char *resource, wharf_str id,
    const wharf_json *body, const wharf_rec **ret_rec)
{
    wharf_write w = {
        .head = WHARF_HEAD(wharf_write), .resource = resource, .op = WHARF_UPDATE, .id = id};

    w.body = body;
    w.ret_rec = ret_rec;
    return s_write(req, &w);
}

static wharf_status s_remove(wharf_req *req, const char *resource, wharf_str id)
{
    const wharf_write w = {
        .head = WHARF_HEAD(wharf_write), .resource = resource, .op = WHARF_DELETE, .id = id};

    return s_write(req, &w);
}

static const struct field *field_of(const wharf_rec *rec, wharf_field f)
{
    return f < rec->res->def->n_fields ? &rec->res->def->fields[f] : NULL;
}

static bool s_sent(const wharf_rec *rec, wharf_field f)
{
    const struct field *field = field_of(rec, f);

    if (field && rec->raw)
        return json_get(rec->raw, field->name) != NULL;
    return field && rec->values && rec->values[f].present;
}

static bool s_get(const wharf_rec *rec, wharf_field f, wharf_val *ret_v)
{
    const struct field *field = field_of(rec, f);
    const struct value *v = field && rec->values ? &rec->values[f] : NULL;
    struct cell cell;

    if (!field)
        return false;
    if (rec->raw) {
        const struct wharf_json *m = json_get(rec->raw, field->name);

        *ret_v = (wharf_val){.type = WHARF_V_JSON, .u.j = m};
        return m != NULL;
    }
    if (v && v->present && field->kind == FIELD_CHILDREN) {
        *ret_v = (wharf_val){.type = WHARF_V_JSON, .u.j = v->json};
        return v->json != NULL;
    }
    if (v && v->present && !v->patch) {
        cell = (struct cell){v->null ? NULL : v->text.p, v->text.n};
        return cell_value(rec->arena, field, &cell, ret_v);
    }
    return rec->cells && cell_value(rec->arena, field, record_cell(rec, field), ret_v);
}

/* Replaces the member of the body in normalize hooks, or adds it at its end. */
static void set_raw(wharf_rec *rec, const struct field *f, wharf_val v)
{
    struct wharf_json **at = &rec->raw->child, *m;
    struct value text;
    struct json_error e;

    while (*at && !str_eqz((*at)->key, f->name))
        at = &(*at)->next;
    m = ARENA_NEW(rec->arena, struct wharf_json);
    value_from_plugin(rec->arena, f, &v, &text);
    if (v.type == WHARF_V_TEXT)
        *m = (struct wharf_json){.type = JSON_STRING, .text = text.text};
    else if (!text.null)
        *m = *json_parse(rec->arena, text.text, &e);
    else
        m->type = JSON_NULL;
    m->key = str_z(f->name);
    m->next = *at ? (*at)->next : NULL;
    rec->raw->count += !*at;
    *at = m;
}

static void s_set(wharf_rec *rec, wharf_field f, wharf_val v)
{
    const struct field *field = field_of(rec, f);

    if (field && rec->raw)
        set_raw(rec, field, v);
    else if (field && rec->values)
        value_from_plugin(rec->arena, field, &v, &rec->values[f]);
}

static bool s_changed(const wharf_rec *old_rec, const wharf_rec *new_rec, wharf_field f)
{
    const struct field *field = field_of(new_rec, f);
    const struct value *v = field && new_rec->values ? &new_rec->values[f] : NULL;
    struct cell none = {NULL, 0};

    if (!field)
        return false;
    if (v && v->present)
        return cell_differs(
            new_rec->arena, field, old_rec ? record_cell(old_rec, field) : &none, v);
    return false;
}

/* Tells whether the field is another in the row as it is stored. In check hooks nothing is. */
static bool stored_differs(
    const wharf_rec *old_rec, const wharf_rec *new_rec, const struct field *f)
{
    const struct cell *a = old_rec->cells ? record_cell(old_rec, f) : NULL,
                      *b = new_rec->cells ? record_cell(new_rec, f) : NULL;

    return a && b && !cell_same(a, b);
}

static bool s_changed_any(
    const wharf_rec *old_rec, const wharf_rec *new_rec, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = definition_field(new_rec->res->def, names[i]);

        if (!f || !old_rec || s_changed(old_rec, new_rec, f->index) ||
            stored_differs(old_rec, new_rec, f))
            return true;
    }
    return false;
}

static void s_row_kept(const wharf_rec *new_rec)
{
    ((wharf_rec *)new_rec)->kept = true; /* the write's own: hooks see it as const */
}

static wharf_str s_id(const wharf_rec *rec)
{
    return record_id(rec);
}

static const wharf_json *s_input(const wharf_rec *rec, wharf_field f)
{
    const struct field *field = field_of(rec, f);

    if (field && rec->raw)
        return json_get(rec->raw, field->name);
    if (!field || !rec->values || !rec->values[f].present)
        return NULL;
    return rec->values[f].sent ? rec->values[f].sent : rec->values[f].json;
}

static const wharf_json *s_member(const wharf_rec *rec, const char *name)
{
    return rec->raw ? json_get(rec->raw, name) : NULL;
}

static void s_drop(wharf_rec *rec, const char *name)
{
    struct wharf_json **at = rec->raw ? &rec->raw->child : NULL;

    while (at && *at && !str_eqz((*at)->key, name))
        at = &(*at)->next;
    if (at && *at) {
        *at = (*at)->next;
        rec->raw->count--;
    }
}

const wharf_res_api host_res = {WHARF_HEAD(wharf_res_api), s_fetch, s_list, s_create, s_update,
    s_remove, s_get, s_set, s_changed, where_narrow, row_encoded, s_sent, s_id, s_input, s_member,
    s_drop, hits_add, s_write, side_context, side_scratch, side_shared, s_changed_any, s_row_kept,
    hits_more, resource_links, rows_encoded};

/* ---- events ---- */

/* Writes the row as it stands, as members of the object that w has open: a deleted one too; its id
 * when it is gone. */
static bool event_row(wharf_req *req, struct jw *w, const struct resource *res, struct change *c)
{
    wharf_str id = c->resource_id;
    const struct definition *d = res->def;
    struct sql_arg args[2] = {{c->organization.p, c->organization.n}, {id.p, id.n}};
    const struct view view = told_view(d);
    int deleted_at = (int)res->n_selected;
    struct wharf_rec *rec;
    int64_t us;
    PGresult *r = req_query(req,
        arena_printf(req->arena,
            "SELECT %s, %s FROM %s t WHERE t.organization_id = $1 AND t.id = $2", res->columns_full,
            d->storage.soft_delete ? "t.deleted_at" : "NULL::timestamptz", d->storage.table)
            .p,
        args, 2);

    if (!r)
        return false;
    if (!PQntuples(r)) {
        jw_z(w, "object", d->name);
        jw_str(w, "id", id);
        return true;
    }
    rec = record_from_result(req->arena, res, r, 0);
    if (told_compute(req, res, &rec, 1) != WHARF_OK)
        return false;
    record_members(w, req->arena, rec, &view);
    c->parts = rec->parts;
    c->location_id = record_location(rec);
    if (!record_seen_by(req, rec, &c->seen))
        return false;
    if (!PQgetisnull(r, 0, deleted_at) && time_parse_pg(str_z(PQgetvalue(r, 0, deleted_at)), &us))
        write_time(w, "deleted_at", us, DATETIME_ISO);
    return true;
}

static wharf_status e_emit(
    wharf_req *req, const char *type, const char *resource, wharf_str id, const wharf_json *extra)
{
    const struct resource *res = host_data_find(req, resource);
    struct change c = {.resource = resource, .resource_id = id, .action = "event", .event = type};
    struct buf b;
    struct jw w;
    bool ok;

    if (!res)
        return WHARF_UNAVAILABLE;
    if (!event_type_find(req->engine, str_z(type)))
        return req_fail(req, ERR_INTERNAL, NULL,
            "the event type %s is not declared; add it to \"events\" in plugin.json", type);
    c.organization = organization_of(&req->access.who->access, res->def);
    c.disable_webhooks = req->quiet && req->quiet->res == res && str_eq(req->quiet->id, id);
    buf_init(&b, 64 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    ok = event_row(req, &w, res, &c);
    for (const struct wharf_json *m = extra ? extra->child : NULL; m; m = m->next) {
        jw_key(&w, m->key);
        jw_value(&w, NULL, m);
    }
    jw_close(&w, '}');
    c.data = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return ok ? history_write(req, &c) : req_failed(req);
}

static wharf_status e_enqueue(
    wharf_req *req, const char *job, wharf_str key, const wharf_json *args, int64_t run_at_us)
{
    struct job_order order = {.job = job, .key = key, .run_at_us = run_at_us};
    wharf_status s;
    struct buf b;
    struct jw w;

    buf_init(&b, JOB_ARGS_MAX + 1);
    jw_init(&w, &b);
    if (args)
        jw_value(&w, NULL, args);
    order.args = buf_str(&b);
    s = b.failed ? req_fail(req, ERR_INTERNAL, NULL, NULL) : job_enqueue(req, &order);
    buf_done(&b);
    return s;
}

/* Computes what no column has, of the rows that are there. */
static wharf_status compute_there(
    wharf_req *req, const struct resource *res, struct wharf_rec *const *recs, size_t n)
{
    struct wharf_rec **there = ARENA_ARRAY(req->arena, struct wharf_rec *, n + 1);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (recs[i])
            there[k++] = recs[i];
    }
    return told_compute(req, res, there, k);
}

/* Reads the rows, as they are shown, in one statement; recs[i] NULL: there is none of ids[i]. */
static bool rows_of_events(wharf_req *req, const struct resource *res, const wharf_str *ids,
    size_t n, struct wharf_rec **recs)
{
    const struct shown_to to = shown_to(req, NULL);
    PGresult *r;
    struct sql s;

    sql_init(&s, req->arena);
    sql_add(&s, "SELECT ");
    query_shown(&s, res->columns_shown, &to);
    sql_add(&s, ", i.place FROM unnest(");
    sql_bind_set(&s, ids, n, "text");
    sql_addf(&s,
        ") WITH ORDINALITY AS i(id, place) CROSS JOIN LATERAL (SELECT * FROM %s x WHERE "
        "x.id = i.id AND x.organization_id = ",
        res->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, res->def));
    sql_add(&s, " LIMIT 1) t");
    r = req_query_sql(req, &s);
    for (int row = 0; r && row < PQntuples(r); row++) {
        unsigned long long place = strtoull(PQgetvalue(r, row, PQnfields(r) - 1), NULL, 10);

        recs[place - 1] = record_from_result(req->arena, res, r, row);
        recs[place - 1]->shown = true;
    }
    return r != NULL;
}

/* Makes one event of a row that was read. */
static bool event_of_row(wharf_req *req, const struct resource *res, struct wharf_rec *rec,
    const wharf_json *extra, struct change *c)
{
    const struct definition *d = res->def;
    const struct view view = told_view(d);
    struct buf b;
    struct jw w;

    c->organization = organization_of(&req->access.who->access, d);
    buf_init(&b, 64 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    if (rec) {
        record_members(&w, req->arena, rec, &view);
        c->parts = rec->parts;
        c->location_id = record_location(rec);
    } else {
        jw_z(&w, "object", d->name);
        jw_str(&w, "id", c->resource_id);
    }
    for (const struct wharf_json *m = extra ? extra->child : NULL; m; m = m->next) {
        jw_key(&w, m->key);
        jw_value(&w, NULL, m);
    }
    jw_close(&w, '}');
    c->data = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return !rec || record_seen_by(req, rec, &c->seen);
}

static wharf_status e_emit_many(wharf_req *req, const char *resource, const char *const *types,
    const wharf_str *ids, const wharf_json *const *extras, size_t n)
{
    const struct resource *res = host_data_find(req, resource);
    struct change *changes = ARENA_ARRAY(req->arena, struct change, n + 1);
    struct wharf_rec **recs = ARENA_ARRAY(req->arena, struct wharf_rec *, n + 1);

    if (!res)
        return WHARF_UNAVAILABLE;
    if (!n)
        return WHARF_OK;
    for (size_t i = 0; i < n; i++) {
        recs[i] = NULL;
        if (!event_type_find(req->engine, str_z(types[i])))
            return req_fail(req, ERR_INTERNAL, NULL,
                "the event type %s is not declared; add it to \"events\" in plugin.json", types[i]);
    }
    if (!rows_of_events(req, res, ids, n, recs) || compute_there(req, res, recs, n) != WHARF_OK)
        return req_failed(req);
    for (size_t i = 0; i < n; i++) {
        changes[i] = (struct change){
            .resource = resource, .resource_id = ids[i], .action = "event", .event = types[i]};
        if (!event_of_row(req, res, recs[i], extras ? extras[i] : NULL, &changes[i]))
            return req_failed(req);
    }
    return history_write_many(req, changes, n);
}

const wharf_event_api host_event = {
    WHARF_HEAD(wharf_event_api), e_emit, e_enqueue, job_progress, e_emit_many};
