/* write.c - create, update and delete inside a transaction. See write.h. */
#include "resource/access.h"
#include "resource/write.h"

#include "config/config.h"
#include "resource/history.h"
#include "resource/observe.h"
#include "resource/speculation.h"
#include "resource/row.h"
#include "resource/told.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

void body_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    req_problem(arg, ERR_VALIDATION_FAILED, path, rule, message);
}

wharf_str absent_text(const struct field *f)
{
    if (f->store == STORE_METADATA)
        return str_z("{}");
    if (f->store == STORE_ARRAY && !f->nullable)
        return str_z("[]");
    if (f->store == STORE_JSON && !f->nullable)
        return str_z(str_eqz(json_text_or(f->json, "type", ""), "array") ? "[]" : "{}");
    return (wharf_str){NULL, 0};
}

/* Tells whether SQL computes the field, as a rule from other rows or the time: these are not locked
 * by the write, and what others commit meanwhile changes it. */
static bool shows_other_rows(const struct field *f)
{
    return f->computed || f->expression;
}

/* Holds the rules to what they said of the row (setting rules.verify): reads it again, and fails
 * the write when a field is another. */
static wharf_status verify_kept(struct wharf_req *req, struct write *w)
{
    const struct wharf_rec *stored = row_read_again(req, w);
    const struct definition *d = w->res->def;

    for (size_t i = 0; stored && i < d->n_fields; i++) {
        const struct cell *now = record_cell(stored, &d->fields[i]),
                          *told = record_cell(w->new_rec, &d->fields[i]);

        if (!now || !told || w->res->cell_of[i] >= (int16_t)w->res->n_selected ||
            shows_other_rows(&d->fields[i]) || cell_same(now, told))
            continue;
        log_write(WHARF_LOG_ERROR, w->res->plugin->name, req->request_id, "plugin.row_changed",
            "a written hook on %s called row_kept() and changed %s of the row", d->name,
            d->fields[i].name);
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    }
    return stored ? WHARF_OK : req_failed(req);
}

/* Runs the rules behind a create or an update, then reads the row with what they made of it, when
 * one of them may have changed it. */
static wharf_status run_written(struct wharf_req *req, struct write *w, uint32_t op)
{
    wharf_status s;

    w->new_rec = write_rec(w, w->stored ? w->stored : row_read_again(req, w));
    if (!w->new_rec)
        return req_failed(req);
    w->new_rec->values = w->values;
    s = run_hooks(
        req, w->res, HOOK_WRITTEN, op, op == WHARF_UPDATE ? w->old_rec : NULL, w->new_rec);
    if (s != WHARF_OK)
        return s;
    w->new_rec->values = NULL;
    if (w->new_rec->touched)
        w->new_rec = write_rec(w, row_read_again(req, w));
    else if (req->engine->config->rules_verify)
        return verify_kept(req, w);
    return w->new_rec ? WHARF_OK : req_failed(req);
}

/* Checks If-Match with the row locked: nobody changes it between the comparison and the write. */
static bool precondition(struct wharf_req *req, const struct write *w)
{
    if (!w->if_match.n || version_listed(w->if_match, record_version(w->old_rec)))
        return route_precondition(req, w->old_rec);
    req_fail(req, ERR_PRECONDITION_FAILED, NULL, NULL);
    return false;
}

/* ---- history ---- */

static wharf_str with_deleted_at(struct wharf_req *req, wharf_str data)
{
    wharf_str now = time_iso(req->arena, req->now_us);

    return arena_printf(req->arena, "%.*s,\"deleted_at\":\"%s\"}", (int)data.n - 1, data.p, now.p);
}

/* Tells whether only fields differ whose change is told otherwise. */
static bool only_quiet(const struct wharf_rec *old_rec, const struct wharf_rec *new_rec)
{
    const struct definition *d = old_rec->res->def;
    bool any = false;

    for (size_t i = 0; i < d->n_fields && d->events.n_quiet; i++) {
        const struct field *f = &d->fields[i];
        const struct cell *a = record_cell(old_rec, f), *b = record_cell(new_rec, f);
        bool quiet = false;

        if (f->kind != FIELD_COLUMN || !a || !b || f->select == COL_UPDATED_AT ||
            f->select == COL_UPDATED_BY || f->select == COL_VERSION || cell_same(a, b))
            continue;
        for (size_t k = 0; k < d->events.n_quiet && !quiet; k++)
            quiet = d->events.quiet[k] == f;
        if (!quiet)
            return false;
        any = true;
    }
    return any;
}

bool write_change(struct wharf_req *req, const struct write *w, wharf_str changes,
    wharf_str previous, struct change *ret)
{
    const struct definition *d = w->res->def;
    const struct wharf_rec *rec = w->new_rec ? w->new_rec : w->old_rec;
    const struct view view = told_view(d);

    *ret = (struct change){
        .organization = organization_of(&req->access.who->access, d),
        .resource = d->name,
        .resource_id = w->id,
        .parent_id = d->place.parent ? record_text(rec, d->place.parent) : str_z(""),
        .location_id = record_location(rec),
        .action = w->op == OP_CREATE   ? "created"
                  : w->op == OP_UPDATE ? "updated"
                                       : "deleted",
        .log = d->events.log,
        .changes = changes,
        .event = w->op == OP_CREATE   ? d->events.created
                 : w->op == OP_UPDATE ? d->events.updated
                                      : d->events.deleted,
        .previous = previous,
        .disable_webhooks = w->disable_webhooks,
        .unless = w->op == OP_UPDATE ? d->events.created : NULL,
    };

    if (w->op == OP_UPDATE && only_quiet(w->old_rec, w->new_rec))
        ret->event = NULL;
    if (ret->event)
        ret->data = record_json(req->arena, rec, &view);
    if (ret->event && w->op == OP_DELETE)
        ret->data = with_deleted_at(req, ret->data);
    ret->parts = rec->parts;
    return record_seen_by(req, rec, &ret->seen);
}

static wharf_status leave_history(
    struct wharf_req *req, const struct write *w, wharf_str changes, wharf_str previous)
{
    const struct definition *d = w->res->def;
    bool event = w->op == OP_CREATE ? d->events.created : d->events.updated;
    struct change c;

    if (event && w->op != OP_DELETE && told_compute(req, w->res, &w->new_rec, 1) != WHARF_OK)
        return WHARF_INTERNAL;
    if (!write_change(req, w, changes, previous, &c) || history_write(req, &c) != WHARF_OK)
        return req_failed(req);
    return observers_after(req, w);
}

/* ---- observers ---- */

/* Runs the before functions of observers, unless they judge beside the write. What they made of
 * the body is held to the same rules as what was sent. */
wharf_status write_observe(struct wharf_req *req, struct write *w)
{
    bool changed;
    wharf_status s;

    w->speculative = w->alone && speculation_may(req, w);
    if (w->speculative)
        return WHARF_OK;
    s = observers_before(req, w, &changed);
    if (s != WHARF_OK || !changed)
        return s;
    if (w->op == OP_UPDATE)
        s = write_settle(req, w);
    return s == WHARF_OK ? references_check(req, w) : s;
}

/* ---- create ---- */

bool write_insert_sql(struct wharf_req *req, struct write *w, struct sql *s)
{
    const struct definition *d = w->res->def;
    wharf_str now = time_iso(req->arena, req->now_us);

    sql_init(s, req->arena);
    sql_addf(s,
        "INSERT INTO %s AS t (organization_id, id, created_at, updated_at, created_by, "
        "updated_by, version",
        d->storage.table);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (field_written(&d->fields[i]))
            sql_addf(s, ", %s", d->fields[i].column);
    }
    sql_add(s, ") VALUES (");
    sql_bind(s, organization_of(&req->access.who->access, d));
    sql_add(s, ", ");
    sql_bind(s, w->id);
    for (int i = 0; i < 2; i++) {
        sql_add(s, ", ");
        sql_bind(s, now);
        sql_add(s, "::timestamptz");
    }
    for (int i = 0; i < 2; i++) {
        sql_add(s, ", ");
        sql_bind(s, req->access.who->actor_id);
    }
    sql_add(s, ", 1");
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (!field_written(f))
            continue;
        sql_add(s, ", ");
        if (!row_bind(req, s, w, f)) {
            req_fail(req, ERR_SECRETS_UNAVAILABLE, f->name, NULL);
            return false;
        }
    }
    sql_add(s, ")");
    return true;
}

/* Makes the row: at once when children are written behind it, so that a unique rule is told as
 * the row's own, not as theirs. */
static wharf_status write_insert_row(struct wharf_req *req, struct write *w)
{
    struct sql s;

    if (!write_insert_sql(req, w, &s))
        return req_failed(req);
    return w->res->has_children ? row_write(req, w, &s, NULL) : row_store(req, w, &s);
}

static wharf_status write_children(struct wharf_req *req, const struct write *w, bool *ret_changed)
{
    const struct definition *d = w->res->def;

    *ret_changed = false;
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        bool changed = false;
        wharf_status s = WHARF_OK;

        if (f->kind != FIELD_CHILDREN)
            continue;
        if (w->op == OP_DELETE)
            s = children_delete(req, w, f);
        else if (w->values[i].present)
            s = children_write(req, w, f, &changed);
        if (s != WHARF_OK)
            return s;
        *ret_changed = *ret_changed || changed;
    }
    return WHARF_OK;
}

wharf_status write_new_id(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;
    char id[ID_MAX];

    if (w->id.n)
        return id_shape(w->id, d->ids.prefix)
                   ? WHARF_OK
                   : req_fail(req, ERR_INTERNAL, NULL,
                         "a plugin made a %s with an id of another kind", d->title);
    if (d->ids.pattern && json_is(json_get(w->body, "id"), JSON_STRING)) {
        w->id = json_get(w->body, "id")->text;
        return WHARF_OK;
    }
    w->id = arena_dup(req->arena, id, id_new(d->ids.prefix, req->now_us, id));
    return WHARF_OK;
}

/* Shows what a rule set for the answer of create alone ("in": ["created"]) and is in no table: it
 * goes over to the row as it was read. */
static void show_created(struct wharf_req *req, const struct write *w)
{
    const struct definition *d = w->res->def;

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct value *v = &w->values[i];
        struct buf out;

        if (d->fields[i].kind != FIELD_COMPUTED || !(d->fields[i].in & IN_CREATED) || !v->present ||
            v->null)
            continue;
        buf_init(&out, SIZE_MAX / 2);
        json_quote(&out, v->text);
        *record_cell(w->new_rec, &d->fields[i]) = (struct cell){
            arena_dup_str(req->arena, buf_str(&out)).p, out.n};
        buf_done(&out);
    }
}

static wharf_status write_run_create(struct wharf_req *req, struct write *w)
{
    bool changed;
    wharf_status s = references_check(req, w);

    if (s != WHARF_OK || write_new_id(req, w) != WHARF_OK)
        return s;
    s = write_observe(req, w);
    if (s != WHARF_OK)
        return s;
    w->new_rec = write_rec(w, ARENA_NEW(req->arena, struct wharf_rec));
    w->new_rec->res = w->res;
    w->new_rec->arena = req->arena;
    w->new_rec->values = w->values;
    w->new_rec->id = w->id;
    s = run_hooks(req, w->res, HOOK_CHECK, WHARF_CREATE, NULL, w->new_rec);
    if (s == WHARF_OK)
        s = write_insert_row(req, w);
    if (s == WHARF_OK)
        s = write_children(req, w, &changed);
    if (s != WHARF_OK)
        return s;
    s = run_written(req, w, WHARF_CREATE);
    if (s != WHARF_OK)
        return s;
    queue_committed(req, w->res, WHARF_CREATE, NULL, w->new_rec);
    s = leave_history(req, w, str_z(""), str_z(""));
    show_created(req, w);
    return s;
}

/* ---- update ---- */

/* Settles sent values: those that name create-only fields must equal what is stored; patches and
 * set inputs become whole values. */
wharf_status write_settle(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        struct value *v = &w->values[i];
        const struct cell *cell = v->present ? record_cell(w->old_rec, f) : NULL;

        if (!v->present || !cell || f->kind != FIELD_COLUMN)
            continue;
        if (!(f->write & OP_UPDATE) && cell_differs(req->arena, f, cell, v))
            req_problem(req, ERR_VALIDATION_FAILED, str_z(f->name), "immutable",
                arena_printf(
                    req->arena, "%s can not be changed after creation; leave it out", f->name));
        if (v->patch)
            value_merge(req->arena, f, (wharf_str){cell->p, cell->n}, v, str_z(f->name), v,
                body_problem, req);
        if (v->set_input)
            value_settle_set(req->arena, f, cell->p ? (wharf_str){cell->p, cell->n} : str_z("[]"),
                str_z(f->name), v, body_problem, req);
    }
    return req->problems.n ? WHARF_INVALID : WHARF_OK;
}

static bool will_change(struct wharf_req *req, const struct write *w, const struct field *f)
{
    const struct value *v = &w->values[f->index];

    return v->present && field_written(f) &&
           cell_differs(req->arena, f, record_cell(w->old_rec, f), v);
}

static wharf_status update_row(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;
    struct sql s;

    sql_init(&s, req->arena);
    sql_addf(&s, "UPDATE %s AS t SET version = version + 1, updated_at = ", d->storage.table);
    sql_bind(&s, time_iso(req->arena, req->now_us));
    sql_add(&s, "::timestamptz, updated_by = ");
    sql_bind(&s, req->access.who->actor_id);
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (!will_change(req, w, f))
            continue;
        sql_addf(&s, ", %s = ", f->column);
        if (!row_bind(req, &s, w, f))
            return req_fail(req, ERR_SECRETS_UNAVAILABLE, f->name, NULL);
    }
    sql_add(&s, " WHERE organization_id = ");
    sql_bind(&s, organization_of(&req->access.who->access, d));
    sql_add(&s, " AND id = ");
    sql_bind(&s, w->id);
    return row_store(req, w, &s);
}

static wharf_status finish_update(struct wharf_req *req, struct write *w)
{
    wharf_str changes, previous;
    wharf_status s = run_written(req, w, WHARF_UPDATE);

    if (s != WHARF_OK)
        return s;
    if (!rows_differ(req, w->old_rec, w->new_rec, &changes, &previous)) {
        w->unchanged = true;
        return WHARF_OK;
    }
    queue_committed(req, w->res, WHARF_UPDATE, w->old_rec, w->new_rec);
    return leave_history(req, w, changes, previous);
}

static wharf_status run_update(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;
    bool changed = false, columns = false;
    wharf_status s;

    w->old_rec = write_rec(w, row_lock(req, w));
    if (!w->old_rec || !check_location(req, w->res, w->old_rec))
        return WHARF_NOT_FOUND;
    if (w->old_rec->locked)
        return req_fail(req, ERR_SECRETS_UNAVAILABLE, NULL, NULL);
    s = write_settle(req, w);
    if (s == WHARF_OK)
        s = references_check(req, w);
    if (s != WHARF_OK)
        return s;
    if (!precondition(req, w))
        return WHARF_CONFLICT;
    s = write_observe(req, w);
    if (s != WHARF_OK)
        return s;
    w->new_rec = write_rec(w, ARENA_NEW(req->arena, struct wharf_rec));
    w->new_rec->res = w->res;
    w->new_rec->arena = req->arena;
    w->new_rec->cells = w->old_rec->cells;
    w->new_rec->values = w->values;
    w->new_rec->id = w->id;
    s = run_hooks(req, w->res, HOOK_CHECK, WHARF_UPDATE, w->old_rec, w->new_rec);
    if (s == WHARF_OK)
        s = write_children(req, w, &changed);
    if (s != WHARF_OK)
        return s;
    for (size_t i = 0; i < d->n_fields; i++)
        columns = columns || will_change(req, w, &d->fields[i]);
    if (!columns && !changed) {
        w->unchanged = true;
        w->new_rec = w->old_rec;
        return w->speculative ? speculation_judge(req, w) : WHARF_OK;
    }
    s = update_row(req, w);
    return s == WHARF_OK ? finish_update(req, w) : s;
}

/* ---- delete ---- */

static wharf_status run_delete(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;
    struct sql sql;
    bool changed;
    wharf_status s;

    w->old_rec = write_rec(w, row_lock(req, w));
    if (!w->old_rec || !check_location(req, w->res, w->old_rec))
        return WHARF_NOT_FOUND;
    if (!precondition(req, w))
        return WHARF_CONFLICT;
    s = write_observe(req, w);
    if (s == WHARF_OK)
        s = run_hooks(req, w->res, HOOK_CHECK, WHARF_DELETE, w->old_rec, NULL);
    if (s == WHARF_OK && d->events.deleted)
        s = told_compute(req, w->res, &w->old_rec, 1);
    if (s == WHARF_OK)
        s = write_children(req, w, &changed);
    if (s != WHARF_OK)
        return s;
    sql_init(&sql, req->arena);
    row_remove_sql(req, &sql, d);
    sql_add(&sql, " WHERE organization_id = ");
    sql_bind(&sql, organization_of(&req->access.who->access, d));
    sql_add(&sql, " AND id = ");
    sql_bind(&sql, w->id);
    s = row_write(req, w, &sql, NULL);
    if (s == WHARF_OK)
        s = run_hooks(req, w->res, HOOK_WRITTEN, WHARF_DELETE, w->old_rec, NULL);
    if (s != WHARF_OK)
        return s;
    queue_committed(req, w->res, WHARF_DELETE, w->old_rec, NULL);
    return leave_history(req, w, str_z(""), str_z(""));
}

/* ---- the pipeline ---- */

/* Takes "disable_webhooks", which is said about the change and is no field of the row, out of the
 * body. */
static void take_disable_webhooks(struct wharf_req *req, struct write *w)
{
    const struct wharf_json *m = w->res->def->events.disable_webhooks
                                     ? json_get(w->body, "disable_webhooks")
                                     : NULL;
    struct wharf_json *copy, **at;

    if (!m)
        return;
    if (!json_is(m, JSON_BOOL)) {
        body_problem(req, str_z("disable_webhooks"), "type",
            str_z("disable_webhooks must be true or false"));
        return;
    }
    w->disable_webhooks = m->truth;
    copy = ARENA_NEW(req->arena, struct wharf_json);
    *copy = *w->body;
    copy->count--;
    at = &copy->child;
    for (const struct wharf_json *c = w->body->child; c; c = c->next) {
        if (c == m)
            continue;
        *at = ARENA_NEW(req->arena, struct wharf_json);
        **at = *c;
        at = &(*at)->next;
    }
    *at = NULL;
    w->body = copy;
}

static bool write_kept(const struct definition *d, const struct field *f)
{
    const struct wharf_json *keep = json_get(
        json_get(json_get(d->json, "x-wharf"), "batch"), "keep");

    for (const struct wharf_json *k = keep ? keep->child : NULL; k; k = k->next) {
        if (str_eqz(k->text, f->name))
            return true;
    }
    return f->ref != NULL;
}

/* Fills defaults. The body was read as that of a create: what a create would not have written is
 * what an empty field holds. */
static void fill_defaults(struct write *w)
{
    const struct definition *d = w->res->def;

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        struct value *v = &w->values[i];
        wharf_str nothing = absent_text(f);

        if (!(f->write & OP_UPDATE) || f->kind != FIELD_COLUMN)
            v->present = v->present && !v->defaulted && f->write;
        else if (write_kept(d, f))
            v->present = v->present && !v->defaulted;
        else if (!v->present)
            *v = (struct value){.present = true, .null = !nothing.p, .text = nothing};
    }
}

wharf_status write_values(struct wharf_req *req, struct write *w)
{
    const struct definition *d = w->res->def;

    w->values = ARENA_ARRAY(req->arena, struct value, d->n_fields);
    if (!body_check(req->arena, d, w->replace ? OP_CREATE | OP_UPDATE : w->op, w->body,
            req->head.strict ? BODY_STRICT : 0, w->values, body_problem, req))
        return WHARF_INVALID;
    if (!req_memory_ok(req))
        return WHARF_LIMIT;
    if (w->replace)
        fill_defaults(w);
    if (d->place.parent && w->parent_id.n)
        w->values[d->place.parent->index] = (struct value){
            .present = w->op == OP_CREATE, .text = w->parent_id};
    return WHARF_OK;
}

wharf_status write_check_body(struct wharf_req *req, struct write *w)
{
    struct wharf_rec rec = {.res = w->res, .arena = req->arena, .id = w->id, .side = w->side};

    take_disable_webhooks(req, w);
    w->body = normalize_body(req, w->op, &rec, w->body);
    return req->problems.n ? WHARF_INVALID : write_values(req, w);
}

wharf_status write_live_refused(struct wharf_req *req, const struct resource *res)
{
    return req_fail(req, ERR_SCOPE_ACCESS, NULL,
        "%s belong to the live organization; a test key reads them, a live key changes them",
        res->def->title_plural);
}

wharf_status write_run(struct wharf_req *req, struct write *w)
{
    const struct write *quiet_before = req->quiet;
    wharf_status s = WHARF_OK;

    if (req->tx.res_depth >= RECURSION_MAX)
        return req_fail(req, ERR_INTERNAL, NULL, "writes nested deeper than %d", RECURSION_MAX);
    req->tx.res_depth++;
    write_side_begin(req, w);
    if (w->res->def->storage.live == LIVE_READ && req->access.who->test_mode)
        s = write_live_refused(req, w->res);
    if (s == WHARF_OK && w->op != OP_DELETE)
        s = write_check_body(req, w);
    if (w->disable_webhooks)
        req->quiet = w;
    if (s == WHARF_OK && w->op == OP_CREATE) {
        struct narrowing narrow;

        s = narrow_rows_of(req, w->res, w->parent_id, &narrow) ? write_run_create(req, w)
                                                               : WHARF_NOT_FOUND;
    } else if (s == WHARF_OK) {
        s = w->op == OP_UPDATE ? run_update(req, w) : run_delete(req, w);
    }
    req->tx.res_depth--;
    req->quiet = quiet_before;
    return s == WHARF_OK && req->problems.n ? WHARF_INVALID : s;
}

wharf_status write_transaction(struct wharf_req *req, struct write *w)
{
    int most = req->tx.depth ? 1 : RACE_TRIES; /* who began the transaction tries again */
    struct write start = *w;
    wharf_status s = WHARF_OK;
    bool again = false;

    start.alone = !req->tx.depth;
    for (int tries = 0; tries < most || again; tries++) {
        if (tries)
            req_clear_problems(&req->problems);
        *w = start;
        s = req_begin(req);
        if (s != WHARF_OK)
            return s;
        s = write_run(req, w);
        again = s != WHARF_OK && speculation_failed(req, w);
        if (s == WHARF_OK && (!w->unchanged || req->tx.keeps))
            s = req_commit(req);
        else
            req_rollback(req);
        start.alone = start.alone && !again;
        if (!again && (s == WHARF_OK || !req_lost_a_race(&req->problems)))
            break;
    }
    return s;
}
