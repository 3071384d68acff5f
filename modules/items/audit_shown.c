/* audit_shown.c - the tasks that an audit shows, in their order or by item or layout
 * (docs/spec/01-platform.md section 14). Lists of tasks are those of their own resource. */
#include "audits.h"

#include "items.gen.h"

enum { TASKS_LISTED = 20 }; /* tasks of an audit in lists */

enum column { /* of audit_shown.sql */
    AT_AUDIT,
    AT_ID,
    AT_AUDIT_ID,
    AT_ITEM,
    AT_ITEM_NAME,
    AT_SKU,
    AT_UOM,
    AT_LAYOUT,
    AT_LAYOUT_NAME,
    AT_TOTAL,
    AT_COUNTED,
    AT_TOTAL_AT_COUNT,
    AT_REASON,
    AT_LOT,
    AT_COUNTED_BY,
    AT_COUNTED_AT,
    AT_POSITION
};

static const char made_kind;

void audit_show_all(wharf_req *req)
{
    *(bool *)W->mem->slot(req, &made_kind, sizeof(bool)) = true;
}

/* Tells whether the audits are shown as in a list: the request neither names one nor made one. */
static bool is_listed(wharf_req *req)
{
    wharf_str id;

    return !W->req->param(req, "audit", &id) &&
           !*(bool *)W->mem->slot(req, &made_kind, sizeof(bool));
}

static void audit_shown_put_text(
    wharf_out *out, const char *key, const wharf_rows *rows, size_t row, enum column at)
{
    wharf_str text;

    W->json->put(out, key, row_get_text(rows, row, at, &text) ? val_text(text) : val_null());
}

static void put_named(
    wharf_out *out, const char *key, const wharf_rows *rows, size_t row, enum column at, bool named)
{
    if (named)
        audit_shown_put_text(out, key, rows, row, at);
    else
        W->json->put(out, key, val_null());
}

/* Reads a quantity; false: it is null. */
static bool shown_quantity(
    const wharf_rows *rows, size_t row, enum column at, int64_t *ret_quantity)
{
    wharf_str text;
    exact v = 0;

    if (!row_get_text(rows, row, at, &text))
        return false;
    exact_read(text.p, text.n, QUANTITY_SCALE, &v);
    *ret_quantity = (int64_t)v;
    return true;
}

static void put_shown(wharf_out *out, const char *key, bool there, int64_t quantity)
{
    W->json->put(out, key, there ? val_decimal(quantity, QUANTITY_SCALE) : val_null());
}

/* Puts one task. named: who asks reads items, and so their names. */
static void put_task(wharf_out *out, const wharf_rows *rows, size_t row, bool named)
{
    int64_t total = 0, counted = 0, then = 0;
    bool has_count = shown_quantity(rows, row, AT_COUNTED, &counted);
    bool has_then = shown_quantity(rows, row, AT_TOTAL_AT_COUNT, &then);
    wharf_val at;

    shown_quantity(rows, row, AT_TOTAL, &total);
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("audit_task")));
    audit_shown_put_text(out, "id", rows, row, AT_ID);
    audit_shown_put_text(out, "audit_id", rows, row, AT_AUDIT_ID);
    audit_shown_put_text(out, "item_id", rows, row, AT_ITEM);
    put_named(out, "item_name", rows, row, AT_ITEM_NAME, named);
    put_named(out, "sku", rows, row, AT_SKU, named);
    put_named(out, "base_uom", rows, row, AT_UOM, named);
    audit_shown_put_text(out, "layout_id", rows, row, AT_LAYOUT);
    audit_shown_put_text(out, "layout_name", rows, row, AT_LAYOUT_NAME);
    put_shown(out, "total_qty", true, total);
    put_shown(out, "counted_qty", has_count, counted);
    put_shown(out, "discrepancy", has_count, counted < total ? total - counted : counted - total);
    put_shown(out, "total_at_count", has_then, then);
    audit_shown_put_text(out, "reason_code_id", rows, row, AT_REASON);
    audit_shown_put_text(out, "lot_number", rows, row, AT_LOT);
    audit_shown_put_text(out, "counted_by", rows, row, AT_COUNTED_BY);
    W->json->put(out, "counted_at",
        W->db->value(rows, row, AT_COUNTED_AT, WHARF_V_TIME_US, &at) ? at : val_null());
    W->json->put(out, "position", val_int(row_int(rows, row, AT_POSITION)));
    W->json->close(out);
}

struct shown_tasks {
    const wharf_rows *rows;
    size_t row; /* the next one */
    enum column key; /* by which they are grouped, or AT_AUDIT */
    bool named;
};

/* Puts the tasks of one audit. */
static void put_tasks(wharf_out *out, struct shown_tasks *t, size_t audit)
{
    const wharf_rows *rows = t->rows;
    wharf_str group = WHARF_S("");
    bool open = false;

    W->json->open(out, NULL, t->key == AT_AUDIT ? '[' : '{');
    for (; t->row < W->db->count(rows) && (size_t)row_int(rows, t->row, AT_AUDIT) == audit;
         t->row++) {
        if (t->key != AT_AUDIT && !same(group, row_text(rows, t->row, t->key))) {
            if (open)
                W->json->close(out);
            group = row_text(rows, t->row, t->key);
            W->json->open(out, group.p, '[');
            open = true;
        }
        put_task(out, rows, t->row, t->named);
    }
    if (open)
        W->json->close(out);
    W->json->close(out);
}

static wharf_status show_tasks(wharf_req *req, const wharf_rec *const *recs, size_t n,
    const char *group, enum column key, wharf_out *const *outs)
{
    static const char sql[] = QUERY_AUDIT_SHOWN;
    struct shown_tasks t = {
        .key = key, .named = items_keys->level(req, WHARF_S("items")) >= WHARF_LEVEL_READ};
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_rec_ids(req, recs, n), val_text(W->req->organization(req)),
            is_listed(req) ? val_int(TASKS_LISTED) : val_null(), val_text(z(group))},
        4, &t.rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        put_tasks(outs[i], &t, i);
    return s;
}

wharf_status audit_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_str asked = WHARF_S("");
    bool by_item, by_layout;

    W->req->param(req, "group_by", &asked);
    by_item = is(asked, "by_item");
    by_layout = is(asked, "by_layout");
    if (f == AUDIT_TASKS && !by_item && !by_layout)
        return show_tasks(req, recs, n, "", AT_AUDIT, outs);
    if (f == AUDIT_BY_ITEM && by_item)
        return show_tasks(req, recs, n, "by_item", AT_ITEM, outs);
    if (f == AUDIT_BY_LAYOUT && by_layout)
        return show_tasks(req, recs, n, "by_layout", AT_LAYOUT, outs);
    for (size_t i = 0; i < n; i++) {
        if (f == AUDIT_TASKS) {
            W->json->open(outs[i], NULL, '[');
            W->json->close(outs[i]);
        } else if (f == AUDIT_TASKS_TRUNCATED) {
            W->json->put(outs[i], NULL,
                val_bool(is_listed(req) && field_int(recs[i], AUDIT_TASK_COUNT) > TASKS_LISTED));
        } else {
            W->json->put(outs[i], NULL, val_null());
        }
    }
    return WHARF_OK;
}
