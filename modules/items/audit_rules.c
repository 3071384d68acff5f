/* audit_rules.c - the rules of audits: which status follows which, what may be written when, when
 * one is overdue (docs/spec/01-platform.md section 14). Leaves tasks to audit_tasks.c, what a new
 * status does to audit_steps.c. */
#include "audits.h"

#include "items.gen.h"
#include "wharf/errors.h"

/* The clock that starts jobs may be ahead of the clock of requests. */
#define CLOCKS_DIFFER_US INT64_C(10000000) /* a job may run so much too early */

/* A write that this module makes by itself. */
struct audit_cause {
    bool one_task; /* by the route of a task */
};
static const char cause_kind;

/* ---- status ---- */

enum audit_status {
    AUDIT_IS_CREATED,
    AUDIT_IS_PROCESSING,
    AUDIT_IS_IN_REVIEW,
    AUDIT_IS_RECOUNT,
    AUDIT_IS_APPROVED,
    AUDIT_IS_CANCELED,
    AUDIT_STATUSES
};
static const char *const status_words[] = {
    "created", "processing", "in_review", "recount", "approved", "canceled"};
static const bool follows[AUDIT_STATUSES][AUDIT_STATUSES] = {
    [AUDIT_IS_CREATED] =
        {[AUDIT_IS_PROCESSING] = true, [AUDIT_IS_IN_REVIEW] = true, [AUDIT_IS_CANCELED] = true},
    [AUDIT_IS_PROCESSING] = {[AUDIT_IS_IN_REVIEW] = true, [AUDIT_IS_CANCELED] = true},
    [AUDIT_IS_IN_REVIEW] =
        {[AUDIT_IS_RECOUNT] = true, [AUDIT_IS_APPROVED] = true, [AUDIT_IS_CANCELED] = true},
    [AUDIT_IS_RECOUNT] = {[AUDIT_IS_IN_REVIEW] = true, [AUDIT_IS_CANCELED] = true}};

static enum audit_status audit_status_of(const wharf_rec *rec)
{
    return (enum audit_status)word_place(
        field_text(rec, AUDIT_STATUS), status_words, AUDIT_STATUSES);
}

static bool is_final(enum audit_status s)
{
    return s == AUDIT_IS_APPROVED || s == AUDIT_IS_CANCELED;
}

static wharf_status refuse_step(
    wharf_req *req, const char *path, enum audit_status from, const char *rest)
{
    return W->err->fail(req, ERR_AUDIT_INVALID_TRANSITION, path, "The audit is %s; %s",
        status_words[from < AUDIT_STATUSES ? from : 0], rest);
}

static wharf_status audit_take_step(
    struct audit_write *w, enum audit_status from, enum audit_status to)
{
    if (to == from)
        return WHARF_OK;
    if (to >= AUDIT_STATUSES || !follows[from][to])
        return refuse_step(w->req, "status", from, "another status follows it");
    if (is_final(to))
        W->res->set(w->rec, AUDIT_FINISHED_AT, val_time(W->req->now_us(w->req)));
    switch (to) {
    case AUDIT_IS_IN_REVIEW:
        return audit_review(w);
    case AUDIT_IS_RECOUNT:
        return audit_recount(w);
    case AUDIT_IS_APPROVED:
        return audit_approve(w);
    case AUDIT_IS_CANCELED:
        return audit_stop(w);
    case AUDIT_IS_CREATED:
    case AUDIT_IS_PROCESSING:
    case AUDIT_STATUSES:
        break;
    }
    return WHARF_OK;
}

/* ---- check ---- */

/* Reads which audit is written, and how. */
static struct audit_write audit_write_of(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_rec *rec = new_rec ? new_rec : old_rec;
    const struct audit_cause *cause = W->res->context(rec, &cause_kind);

    return (struct audit_write){.req = req,
        .old_rec = old_rec,
        .rec = new_rec,
        .id = W->res->id(rec),
        .location = field_text(rec, AUDIT_LOCATION_ID),
        .one_task = cause && cause->one_task};
}

static void audit_settle_overdue(struct audit_write *w)
{
    int64_t due = field_int(w->rec, AUDIT_COMPLETE_AT);

    W->res->set(w->rec, AUDIT_OVERDUE,
        val_bool(due && due <= W->req->now_us(w->req) && !is_final(audit_status_of(w->rec))));
}

/* Checks that layouts lie in the location. */
static wharf_status audit_check_layouts(struct audit_write *w)
{
    static const char sql[] =
        "SELECT y.id FROM locations.layout y WHERE y.organization_id = $2::text"
        " AND y.id IN (SELECT jsonb_array_elements_text($1::jsonb)) AND y.location_id <> $3::text";
    const wharf_json *list = field_json(w->rec, AUDIT_LAYOUT_IDS);
    const wharf_rows *rows;
    wharf_status s;
    int64_t i = 0;

    if (!list || !W->json->count(list))
        return WHARF_OK;
    s = W->db->query(w->req, sql,
        (const wharf_val[]){
            val_json(list), val_text(W->req->organization(w->req)), val_text(w->location)},
        3, &rows);
    for (const wharf_json *e = W->json->at(list, 0); s == WHARF_OK && e;
         e = W->json->next(e), i++) {
        wharf_str id = WHARF_S("");

        W->json->text(e, &id);
        for (size_t k = 0; k < W->db->count(rows); k++) {
            if (same(row_text(rows, k, 0), id))
                W->err->add(w->req, ERR_VALIDATION_FAILED,
                    W->mem->format(w->req, "layout_ids.%lld", (long long)i).p,
                    "The layout %s lies in another location", id.p);
        }
    }
    return s == WHARF_OK ? W->err->current(w->req) : s;
}

static wharf_status set_number(struct audit_write *w)
{
    static const char sql[] = "SELECT items.audit_next_number($1::text)";
    const wharf_val location = val_text(w->location);
    const wharf_rows *rows;
    wharf_status s;

    if (field_text(w->rec, AUDIT_NUMBER).n)
        return WHARF_OK;
    s = W->db->query(w->req, sql, &location, 1, &rows);
    if (s == WHARF_OK)
        W->res->set(w->rec, AUDIT_NUMBER, val_text(row_text(rows, 0, 0)));
    return s;
}

static wharf_status audit_create_check(struct audit_write *w)
{
    wharf_status s = audit_check_layouts(w);

    W->res->set(w->rec, AUDIT_STATUS, val_text(z(status_words[AUDIT_IS_CREATED])));
    W->res->set(w->rec, AUDIT_TASK_CHANGES, val_int(0));
    audit_settle_overdue(w);
    audit_show_all(w->req);
    if (s == WHARF_OK)
        s = audit_tasks_make(w);
    return s == WHARF_OK ? set_number(w) : s;
}

/* Refuses what can't be changed any more. */
static wharf_status check_final(const struct audit_write *w, enum audit_status from)
{
    static const wharf_field fields[] = {
        AUDIT_NUMBER, AUDIT_PRIORITY, AUDIT_ASSIGNEE, AUDIT_COMPLETE_AT, AUDIT_UPDATE_INVENTORY};
    static const char *const names[] = {
        "number", "priority", "assignee", "complete_at", "update_inventory"};
    const wharf_json *tasks = W->res->input(w->rec, AUDIT_TASKS);

    if (W->res->sent(w->rec, AUDIT_STATUS))
        return refuse_step(w->req, "status", from, "no other status follows it");
    if (tasks && W->json->count(tasks))
        return refuse_step(
            w->req, w->one_task ? NULL : "tasks", from, "its tasks stay as they are");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (W->res->changed(w->old_rec, w->rec, fields[i]))
            return refuse_step(w->req, names[i], from, "only its metadata can be changed");
    }
    return WHARF_OK;
}

static wharf_status audit_update_check(struct audit_write *w)
{
    enum audit_status from = audit_status_of(w->old_rec), to = audit_status_of(w->rec);
    const wharf_json *tasks = W->res->input(w->rec, AUDIT_TASKS);
    bool counting = from != AUDIT_IS_IN_REVIEW, counted = false;
    wharf_status s;

    if (is_final(from))
        return check_final(w, from);
    s = tasks ? audit_tasks_take(w, tasks, counting, &counted) : WHARF_OK;
    if (s == WHARF_OK && counted && from == AUDIT_IS_CREATED) {
        from = AUDIT_IS_PROCESSING;
        if (to == AUDIT_IS_CREATED || to == AUDIT_IS_PROCESSING) {
            to = AUDIT_IS_PROCESSING;
            W->res->set(w->rec, AUDIT_STATUS, val_text(z(status_words[to])));
        }
    }
    if (s == WHARF_OK && tasks && counting)
        s = audit_progress(w, false);
    if (s == WHARF_OK)
        s = audit_take_step(w, from, to);
    if (s == WHARF_OK)
        audit_settle_overdue(w);
    return s;
}

static wharf_status audit_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct audit_write w = audit_write_of(req, old_rec, new_rec);
    enum audit_status was = old_rec ? audit_status_of(old_rec) : AUDIT_IS_CREATED;

    if (op == WHARF_CREATE)
        return audit_create_check(&w);
    if (op == WHARF_UPDATE)
        return audit_update_check(&w);
    return was == AUDIT_IS_CREATED || was == AUDIT_IS_CANCELED
               ? WHARF_OK
               : refuse_step(
                     req, NULL, was, "only audits that are created or canceled can be deleted");
}

/* ---- written ---- */

/* Asks for a look at the audit at a moment, when it is due. */
static wharf_status ask_overdue(wharf_req *req, const wharf_rec *rec, int64_t at_us)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "audit", val_text(W->res->id(rec)));
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK ? W->event->enqueue(req, "audit_overdue", WHARF_S(""), args, at_us) : s;
}

static wharf_status audit_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str id = W->res->id(new_rec ? new_rec : old_rec);
    int64_t due = field_int(new_rec, AUDIT_COMPLETE_AT);
    wharf_status s = WHARF_OK;

    if (op == WHARF_DELETE)
        return WHARF_OK;
    if (due && !field_int(new_rec, AUDIT_OVERDUE) && !is_final(audit_status_of(new_rec)) &&
        (op == WHARF_CREATE || W->res->changed(old_rec, new_rec, AUDIT_COMPLETE_AT)))
        s = ask_overdue(req, new_rec, due);
    if (s != WHARF_OK || op == WHARF_CREATE || !W->res->changed(old_rec, new_rec, AUDIT_STATUS) ||
        !is_final(audit_status_of(new_rec)))
        return s;
    return W->event->emit(req,
        audit_status_of(new_rec) == AUDIT_IS_APPROVED ? "audit.completed" : "audit.canceled",
        "audit", id, NULL);
}

const wharf_hooks items_audit_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = audit_check,
    .written = audit_written,
    .compute = audit_compute};

/* ---- writes that this module makes ---- */

static wharf_status write_audit(
    wharf_req *req, wharf_str id, const wharf_json *body, struct audit_cause why)
{
    struct audit_cause *cause = W->mem->alloc(req, sizeof(*cause));
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "audit",
        .op = WHARF_UPDATE,
        .id = id,
        .body = body,
        .kind = &cause_kind,
        .context = cause};

    *cause = why;
    return W->res->write(req, &w);
}

wharf_status audit_overdue_run(wharf_req *req, void *arg)
{
    const wharf_json *args, *body;
    const wharf_rec *rec;
    wharf_out *out = W->json->builder(req);
    int64_t due, early_us;
    wharf_str id;
    wharf_status s = W->req->body(req, &args);

    if (s != WHARF_OK)
        return s;
    id = json_text(args, "audit");
    s = W->res->fetch(req, "audit", id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req); /* deleted meanwhile */
        return WHARF_OK;
    }
    if (s != WHARF_OK)
        return s;
    due = field_int(rec, AUDIT_COMPLETE_AT);
    early_us = due - W->req->now_us(req);
    if (is_final(audit_status_of(rec)) || field_int(rec, AUDIT_OVERDUE) || !due ||
        early_us > CLOCKS_DIFFER_US) /* another time was set, which has a job of its own */
        return WHARF_OK;
    if (early_us > 0)
        return ask_overdue(req, rec, due + early_us);
    W->json->open(out, NULL, '{');
    W->json->close(out);
    s = W->json->result(req, out, &body);
    return s == WHARF_OK ? write_audit(req, id, body, (struct audit_cause){false}) : s;
}

/* ---- POST /v1/audits/:audit/tasks/:task ---- */

/* Makes the body of the audit's update that does it. */
static wharf_status task_body(wharf_req *req, wharf_str task, const wharf_json **ret_body)
{
    static const char *const members[] = {"counted_qty", "reason_code_id", "lot_number"};
    const wharf_json *sent;
    wharf_out *out = W->json->builder(req);
    wharf_status s = W->req->body(req, &sent);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->open(out, "tasks", '[');
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(task));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const wharf_json *v = W->json->get(sent, members[i]);

        if (v)
            W->json->put(out, members[i], val_json(v));
    }
    W->json->close(out);
    W->json->close(out);
    W->json->close(out);
    return W->json->result(req, out, ret_body);
}

wharf_status audit_task_post(wharf_req *req, void *arg)
{
    wharf_str audit = WHARF_S(""), task = WHARF_S("");
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_status s;

    W->req->param(req, "audit", &audit);
    W->req->param(req, "task", &task);
    s = task_body(req, task, &body);
    if (s == WHARF_OK)
        s = write_audit(req, audit, body, (struct audit_cause){true});
    if (s == WHARF_OK)
        s = W->res->fetch(req, "audit_task", task, WHARF_SHOWN, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Audit task updated"), NULL, rec);
    return s;
}

/* ---- contacts that become one ---- */

wharf_status audits_contacts_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] =
        "UPDATE items.audit SET assignee = $3::text, version = version + 1"
        " WHERE organization_id = $1::text AND assignee = ANY ((SELECT $2::text[])::text[])";
    const wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}
