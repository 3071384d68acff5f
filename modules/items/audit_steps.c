/* audit_steps.c - what becomes of the tasks of an audit, and of the stock, when its status changes
 * (docs/spec/01-platform.md section 14, 09-items-and-assembly.md section 14). Leaves which change
 * is allowed to audit_rules.c, writing of stock to stock.c. */
#include "audits.h"

#include "items.gen.h"
#include "wharf/errors.h"

static wharf_status settle_layouts(const struct audit_write *w)
{
    static const char sql[] = "SELECT items.audit_settle($1::text)";
    const wharf_val id = val_text(w->id);
    const wharf_rows *rows;

    return W->db->query(w->req, sql, &id, 1, &rows);
}

wharf_status audit_progress(struct audit_write *w, bool frozen)
{
    static const char sql[] = QUERY_AUDIT_PROGRESS;
    const wharf_rows *rows;
    wharf_status s = query_about(w->req, sql, w->id, &rows);

    if (s != WHARF_OK)
        return s;
    W->res->set(w->rec, AUDIT_TASK_COUNT, val_int(row_int(rows, 0, 0)));
    W->res->set(w->rec, AUDIT_COUNTED_COUNT, val_int(row_int(rows, 0, 1)));
    W->res->set(w->rec, AUDIT_DISCREPANT_COUNT, frozen ? val_int(row_int(rows, 0, 2)) : val_null());
    return WHARF_OK;
}

/* Refuses with code the tasks that lack something. threshold: NULL for those without count. */
static wharf_status refuse_lacking(
    struct audit_write *w, wharf_val threshold, const char *code, const char *member)
{
    static const char sql[] = QUERY_AUDIT_LACKING;
    const wharf_rows *rows;
    wharf_status s = W->db->query(w->req, sql,
        (const wharf_val[]){val_text(w->id), val_text(W->req->organization(w->req)), threshold,
            val_int(AUDIT_TOLD_MAX)},
        4, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        W->err->add(w->req, code, audit_task_path(w->req, row_int(rows, i, 0), member), NULL);
    return s == WHARF_OK ? W->err->current(w->req) : s;
}

static wharf_status freeze_totals(struct audit_write *w)
{
    static const char sql[] = QUERY_AUDIT_FREEZE;
    wharf_status s = query_about(w->req, sql, w->id, NULL);

    return s == WHARF_OK ? audit_progress(w, true) : s;
}

wharf_status audit_review(struct audit_write *w)
{
    wharf_status s = settle_layouts(w);

    if (s == WHARF_OK)
        s = refuse_lacking(w, val_null(), ERR_AUDIT_UNCOUNTED, "counted_qty");
    return s == WHARF_OK ? freeze_totals(w) : s;
}

wharf_status audit_stop(struct audit_write *w)
{
    return freeze_totals(w);
}

wharf_status audit_recount(struct audit_write *w)
{
    static const char sql[] = QUERY_AUDIT_RECOUNT;
    wharf_status s = query_about(w->req, sql, w->id, NULL);

    return s == WHARF_OK ? audit_progress(w, false) : s;
}

/* ---- approval ---- */

static wharf_status check_reasons_given(struct audit_write *w)
{
    const wharf_json *set = NULL;
    wharf_status s;

    if (!items_reasons) /* there are no codes that could be given */
        return WHARF_OK;
    s = items_org->setting_json(w->req, "audits.approval_threshold", &set);
    return s == WHARF_OK
               ? refuse_lacking(w,
                     val_text(json_is_null(set) ? WHARF_S("0") : number_text(w->req, set)),
                     ERR_AUDIT_REASON_REQUIRED, "reason_code_id")
               : s;
}

/* Marks the location and the layouts as counted, which holds them: none of these is removed until
 * the transaction ends. */
static wharf_status mark_places(struct audit_write *w)
{
    static const char sql[] =
        "SELECT DISTINCT layout_id FROM items.audit_task WHERE organization_id = $2::text"
        " AND audit_id = $1::text";
    const wharf_rows *rows;
    wharf_str *layouts;
    wharf_status s = query_about(w->req, sql, w->id, &rows);

    if (s != WHARF_OK)
        return s;
    layouts = W->mem->alloc(w->req, (W->db->count(rows) + 1) * sizeof(*layouts));
    for (size_t i = 0; i < W->db->count(rows); i++)
        layouts[i] = row_text(rows, i, 0);
    return items_layouts->audited(w->req, w->location, layouts, W->db->count(rows));
}

static wharf_status at_moment(struct audit_write *w, const char *sql)
{
    const wharf_val args[2] = {val_text(w->id), val_time(W->req->now_us(w->req))};
    const wharf_rows *rows;

    return W->db->query(w->req, sql, args, 2, &rows);
}

/* Adds one move of audit_moves, or the problem that it tells of. */
static void audit_steps_add_move(
    struct audit_write *w, wharf_stock *stock, const wharf_rows *rows, size_t row)
{
    wharf_str text = row_text(rows, row, 7), missing = row_text(rows, row, 8);
    wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = row_text(rows, row, 1),
        .location_id = row_text(rows, row, 2),
        .layout_id = row_text(rows, row, 3),
        .lot_id = row_text(rows, row, 4),
        .lot_number = row_text(rows, row, 5),
        .bucket = WHARF_STOCK_AVAILABLE,
        .flags = WHARF_STOCK_ARCHIVED_TOO,
        .reason_code_id = row_text(rows, row, 6),
        .note = WHARF_S(""),
        .unit_id = WHARF_S(""),
        .path = audit_task_path(w->req, row_int(rows, row, 0), "counted_qty")};
    exact quantity = 0;

    exact_read(missing.p, missing.n, QUANTITY_SCALE, &quantity);
    if (quantity > 0) {
        W->err->add(w->req, ERR_AUDIT_NEGATIVE_STOCK, m.path,
            "%s more would have to be taken from the layout than is available there; set status "
            "recount and count again",
            missing.p);
        return;
    }
    exact_read(text.p, text.n, QUANTITY_SCALE, &quantity);
    m.quantity = (int64_t)quantity;
    items_stock.move(stock, &m);
}

/* Reads the moves and makes them. *ret_n: how many. */
static wharf_status make_moves(struct audit_write *w, wharf_stock *stock, size_t *ret_n)
{
    static const char sql[] =
        "SELECT place, item, location, layout, lot, lot_number, reason_code,"
        " trim_scale(quantity)::text, trim_scale(missing)::text FROM items.audit_moves($1::text)";
    const wharf_val id = val_text(w->id);
    const wharf_rows *rows;
    wharf_status s = W->db->query(w->req, sql, &id, 1, &rows);

    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; i < *ret_n; i++)
        audit_steps_add_move(w, stock, rows, i);
    if (s == WHARF_OK)
        s = W->err->current(w->req);
    return s == WHARF_OK ? items_stock.apply(stock) : s;
}

static wharf_status book(struct audit_write *w)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = "audit",
        .source_type = WHARF_S("audit"),
        .source_id = w->id};
    wharf_stock *stock;
    wharf_status s = items_stock.begin(w->req, &cause, &stock);
    wharf_scope *scope = W->mem->scope_begin(w->req); /* ten thousand moves and their events */
    size_t n = 0;

    if (s == WHARF_OK)
        s = make_moves(w, stock, &n);
    W->mem->scope_end(w->req, scope);
    if (s == WHARF_OK && n)
        W->res->set(w->rec, AUDIT_GROUP_ID, val_text(items_stock.group_id(stock)));
    return s;
}

wharf_status audit_approve(struct audit_write *w)
{
    wharf_status s = check_reasons_given(w);

    if (s == WHARF_OK)
        s = mark_places(w);
    if (s == WHARF_OK)
        s = settle_layouts(w);
    if (s == WHARF_OK)
        s = audit_progress(w, true);
    if (s == WHARF_OK)
        s = at_moment(w, "SELECT items.audit_hold($1::text, $2::timestamptz)");
    if (s == WHARF_OK && field_int(w->rec, AUDIT_UPDATE_INVENTORY))
        s = book(w);
    return s == WHARF_OK ? at_moment(w, "SELECT items.audit_mark($1::text, $2::timestamptz)") : s;
}
