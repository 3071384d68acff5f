/* audit_tasks.c - the tasks of an audit: made when it is created, counted by requests
 * (docs/spec/01-platform.md section 14). Leaves what follows from a new status to audit_steps.c,
 * what is shown to audit_shown.c. */
#include "audits.h"

#include <stdlib.h>

#include "items.gen.h"
#include "wharf/errors.h"

enum { TASK_ID_MAX = 64, TASK_LOT_MAX = 100 };

const char *audit_task_path(wharf_req *req, int64_t place, const char *member)
{
    return W->mem->format(req, "tasks.%lld.%s", (long long)place, member).p;
}

/* ---- making ---- */

/* Reads the texts of an array of ids. */
static wharf_val ids_of_field(wharf_req *req, const wharf_rec *rec, wharf_field f)
{
    const wharf_json *list = field_json(rec, f);
    size_t n = list ? W->json->count(list) : 0, i = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));

    for (const wharf_json *e = n ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        if (W->json->text(e, &ids[i]))
            i++;
    }
    return val_array(req, ids, i);
}

static wharf_status write_tasks(const struct audit_write *w, const wharf_rows *rows, size_t n)
{
    static const char sql[] = QUERY_AUDIT_MAKE;
    wharf_req *req = w->req;
    wharf_str *ids = W->mem->alloc(req, 3 * n * sizeof(*ids));
    wharf_val args[8];

    for (size_t i = 0; i < n; i++) {
        ids[i] = W->req->new_id(req, "audit_task");
        ids[n + i] = row_text(rows, i, 0);
        ids[2 * n + i] = row_text(rows, i, 1);
    }
    args[0] = val_text(w->id);
    args[1] = val_text(W->req->organization(req));
    args[2] = val_text(w->location);
    for (size_t k = 0; k < 3; k++)
        args[3 + k] = val_array(req, ids + k * n, n);
    args[6] = val_time(W->req->now_us(req));
    args[7] = val_text(W->req->actor(req));
    return W->db->exec(req, sql, args, 8, NULL);
}

wharf_status audit_tasks_make(struct audit_write *w)
{
    static const char sql[] = QUERY_AUDIT_FOUND;
    wharf_req *req = w->req;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_text(w->location), val_text(W->req->organization(req)),
            ids_of_field(req, w->rec, AUDIT_ITEM_IDS), ids_of_field(req, w->rec, AUDIT_LAYOUT_IDS),
            val_int(AUDIT_TASKS_MAX + 1)},
        5, &rows);
    size_t n = s == WHARF_OK ? W->db->count(rows) : 0;

    if (s != WHARF_OK)
        return s;
    if (!n)
        return W->err->fail(req, ERR_AUDIT_NOTHING_TO_COUNT, NULL, NULL);
    if (n > AUDIT_TASKS_MAX)
        return W->err->fail(req, ERR_AUDIT_TOO_LARGE, NULL, NULL);
    W->res->set(w->rec, AUDIT_TASK_COUNT, val_int((int64_t)n));
    W->res->set(w->rec, AUDIT_COUNTED_COUNT, val_int(0));
    return write_tasks(w, rows, n);
}

/* ---- what a request says of tasks ---- */

struct said_task { /* an element of `tasks` */
    wharf_str id;
    size_t at; /* in the request */
    bool has_count, has_reason, has_lot;
    bool counted; /* false with has_count: the count is taken away */
    int64_t quantity;
    wharf_str reason, lot; /* or empty */
};

struct said_tasks {
    struct audit_write *w;
    struct said_task *list; /* by id */
    size_t n;
    bool counting, any_count;
};

static const char *said_path(const struct said_tasks *t, size_t at, const char *member)
{
    return t->w->one_task ? W->mem->format(t->w->req, "%s", member).p
                          : audit_task_path(t->w->req, (int64_t)at, member);
}

static wharf_status said_wrong(
    const struct said_tasks *t, size_t at, const char *member, const char *message)
{
    const char *path = said_path(t, at, member);

    return W->err->add(t->w->req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

/* Reads a text of an element; false: it is not there. */
static bool said_text(const struct said_tasks *t, const wharf_json *e, size_t at,
    const char *member, size_t most, wharf_str *ret)
{
    const wharf_json *v = W->json->get(e, member);

    *ret = WHARF_S("");
    if (v && !json_is_null(v) && (!W->json->text(v, ret) || ret->n > most))
        said_wrong(t, at, member, "must be a text, and not so long");
    return v != NULL;
}

static void take_said(struct said_tasks *t, const wharf_json *e, size_t at)
{
    struct said_task *task = &t->list[at];
    const wharf_json *counted = W->json->get(e, "counted_qty");

    *task = (struct said_task){.at = at};
    said_text(t, e, at, "id", TASK_ID_MAX, &task->id);
    if (!task->id.n)
        said_wrong(t, at, "id", "is required");
    task->has_reason = said_text(t, e, at, "reason_code_id", TASK_ID_MAX, &task->reason);
    task->has_lot = said_text(t, e, at, "lot_number", TASK_LOT_MAX, &task->lot);
    task->has_count = counted != NULL;
    task->counted = counted && !json_is_null(counted);
    if (task->counted) {
        const char *path = said_path(t, at, "counted_qty");

        if (quantity_take(t->w->req, counted, path, &task->quantity) == WHARF_OK &&
            task->quantity < 0)
            said_wrong(t, at, "counted_qty", "must not be below 0");
    }
}

static int said_by_id(const void *a, const void *b)
{
    const struct said_task *x = a, *y = b;
    int c = strcmp(x->id.p, y->id.p);

    return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* ---- against the tasks ---- */

/* Judges a count against its task: row of audit_named. */
static void judge_said(
    struct said_tasks *t, struct said_task *task, const wharf_rows *rows, size_t row)
{
    wharf_req *req = t->w->req;
    wharf_str text;
    exact was = 0;
    bool had = row_get_text(rows, row, 3, &text);

    if (had)
        exact_read(text.p, text.n, QUANTITY_SCALE, &was);
    if (task->has_count && !t->counting) {
        if (task->counted != had || (had && was != task->quantity))
            W->err->add(req, ERR_AUDIT_INVALID_TRANSITION, said_path(t, task->at, "counted_qty"),
                "Counting has ended; set status recount to count again");
        task->has_count = false;
    }
    if (task->counted && row_bool(rows, row, 1) && !quantity_is_whole(task->quantity))
        W->err->add(req, ERR_ITEM_FRACTIONAL_QUANTITY, said_path(t, task->at, "counted_qty"), NULL);
    if (task->lot.n && is(row_text(rows, row, 2), "none"))
        W->err->add(req, ERR_ITEM_LOT_NOT_ALLOWED, said_path(t, task->at, "lot_number"), NULL);
    t->any_count = t->any_count || (task->has_count && task->counted);
}

/* Judges all of them; list and rows are in the order of the ids. */
static wharf_status audit_tasks_judge_all(struct said_tasks *t, const wharf_rows *rows)
{
    size_t row = 0, n = W->db->count(rows);

    for (size_t i = 0; i < t->n; i++) {
        struct said_task *task = &t->list[i];

        if (i && same(t->list[i - 1].id, task->id)) {
            said_wrong(t, task->at, "id", "stands in the list twice");
            continue;
        }
        while (row < n && strcmp(row_text(rows, row, 0).p, task->id.p) < 0)
            row++;
        if (row < n && same(row_text(rows, row, 0), task->id))
            judge_said(t, task, rows, row);
        else if (t->w->one_task)
            return W->err->fail(t->w->req, ERR_NOT_FOUND, NULL, NULL);
        else
            said_wrong(t, task->at, "id", "is none of the audit's tasks");
    }
    return W->err->current(t->w->req);
}

/* Checks reason codes, each once. */
static wharf_status check_reasons(const struct said_tasks *t)
{
    wharf_str last = WHARF_S("");

    for (size_t i = 0; i < t->n; i++) {
        const struct said_task *task = &t->list[i];
        wharf_str code;

        if (!task->reason.n || same(task->reason, last))
            continue;
        if (!items_reasons)
            said_wrong(t, task->at, "reason_code_id",
                "names no reason code: the module reasons is not enabled");
        else if (items_reasons->check(t->w->req, task->reason, "audit",
                     said_path(t, task->at, "reason_code_id"), &code) == WHARF_OK)
            last = task->reason;
    }
    return W->err->current(t->w->req);
}

static wharf_str said_as_text(const struct said_tasks *t)
{
    wharf_out *out = W->json->writer(t->w->req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < t->n; i++) {
        const struct said_task *task = &t->list[i];

        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(task->id));
        W->json->put(out, "has_count", val_bool(task->has_count));
        W->json->put(out, "counted",
            task->counted ? val_decimal(task->quantity, QUANTITY_SCALE) : val_null());
        W->json->put(out, "has_reason", val_bool(task->has_reason));
        W->json->put(out, "reason", val_text_or_null(task->reason));
        W->json->put(out, "has_lot", val_bool(task->has_lot));
        W->json->put(out, "lot", val_text_or_null(task->lot));
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result_text(out);
}

static wharf_status write_said(const struct said_tasks *t)
{
    static const char sql[] = QUERY_AUDIT_COUNT;
    struct audit_write *w = t->w;
    wharf_req *req = w->req;
    wharf_status s = W->db->exec(req, sql,
        (const wharf_val[]){val_text(w->id), val_text(W->req->organization(req)),
            val_text(said_as_text(t)), val_time(W->req->now_us(req)), val_text(W->req->actor(req))},
        5, NULL);

    /* so that the row changes: it is what versions and answers are about */
    if (s == WHARF_OK)
        W->res->set(w->rec, AUDIT_TASK_CHANGES, val_int(field_int(w->rec, AUDIT_TASK_CHANGES) + 1));
    return s;
}

wharf_status audit_tasks_take(
    struct audit_write *w, const wharf_json *list, bool counting, bool *ret_counted)
{
    static const char sql[] = QUERY_AUDIT_NAMED;
    wharf_req *req = w->req;
    struct said_tasks t = {.w = w, .n = W->json->count(list), .counting = counting};
    wharf_str *ids = W->mem->alloc(req, (t.n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    size_t i = 0;
    wharf_status s;

    *ret_counted = false;
    t.list = W->mem->alloc(req, (t.n + 1) * sizeof(*t.list));
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e), i++)
        take_said(&t, e, i);
    if (!t.n || W->err->current(req) != WHARF_OK)
        return W->err->current(req);
    qsort(t.list, t.n, sizeof(*t.list), said_by_id);
    for (i = 0; i < t.n; i++)
        ids[i] = t.list[i].id;
    s = W->db->query(req, sql,
        (const wharf_val[]){
            val_text(w->id), val_text(W->req->organization(req)), val_array(req, ids, t.n)},
        3, &rows);
    if (s == WHARF_OK)
        s = audit_tasks_judge_all(&t, rows);
    if (s == WHARF_OK)
        s = check_reasons(&t);
    *ret_counted = t.any_count;
    return s == WHARF_OK ? write_said(&t) : s;
}
