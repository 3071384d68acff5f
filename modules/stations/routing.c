/* routing.c - which printers can print a job, and which of them does (spec 04 section 7
 * 'Auto-selection'). */
#include "printing.h"
#include "stations.gen.h"

static bool row_flag(const wharf_rows *rows, size_t r, size_t c)
{
    return row_bool(rows, r, c);
}

static const char printers_sql[] = QUERY_PRINTERS_VISIBLE;

/* Loads the visible printers: the station is for all users, for this one, or the caller's own
 * (spec 04 section 5 'Access'). Keys without a user see all. */
wharf_status printers_load(
    wharf_req *req, wharf_str actor, wharf_str location, wharf_str station, struct printers *ret)
{
    wharf_val args[4] = {val_text(W->req->organization(req)), val_text(location), val_text(station),
        val_text(actor)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, printers_sql, args, 4, &rows);

    *ret = (struct printers){NULL, 0};
    if (s != WHARF_OK)
        return s;
    ret->n = W->db->count(rows);
    ret->list = W->mem->alloc(req, (ret->n + 1) * sizeof(*ret->list));
    for (size_t i = 0; i < ret->n; i++)
        ret->list[i] = (struct printer_at){.id = row_text(rows, i, 0),
            .name = row_text(rows, i, 1),
            .model = row_text(rows, i, 2),
            .status = row_text(rows, i, 3),
            .station_id = row_text(rows, i, 4),
            .station_status = row_text(rows, i, 5),
            .page_size = row_json(rows, i, 6),
            .languages = row_json(rows, i, 7),
            .color = row_flag(rows, i, 8),
            .double_sided = row_flag(rows, i, 9),
            .spooling = row_flag(rows, i, 10),
            .pooled = row_flag(rows, i, 11),
            .priority = row_int(rows, i, 12),
            .load = row_int(rows, i, 13),
            .last_us = row_int(rows, i, 14)};
    return WHARF_OK;
}

bool printer_has(const struct printer_at *p, wharf_str size)
{
    return p->page_size && json_truth(W->json->get(p->page_size, size.p));
}

static bool speaks(const struct printer_at *p, wharf_str language)
{
    wharf_str one;

    for (const wharf_json *e = p->languages ? W->json->at(p->languages, 0) : NULL; e;
         e = W->json->next(e)) {
        if (W->json->text(e, &one) && same(one, language))
            return true;
    }
    return false;
}

size_t printer_lacks(const struct printer_at *p, const struct wish *w, const char *ret_fields[4])
{
    const struct paper *twin = w->paper ? paper_twin(w->papers, w->paper) : NULL;
    size_t n = 0;

    if (w->paper && !printer_has(p, w->paper->name) && !(twin && printer_has(p, twin->name)))
        ret_fields[n++] = "configuration.paper_size";
    if (w->color && !p->color)
        ret_fields[n++] = "configuration.color_print";
    if (w->double_sided && !p->double_sided)
        ret_fields[n++] = "configuration.double_sided";
    if (w->language.n && !speaks(p, w->language))
        ret_fields[n++] = "raw";
    return n;
}

wharf_status printer_hold(
    wharf_req *req, wharf_str station, wharf_str id, wharf_str model, const char **ret_gone)
{
    /* in two statements: what the first one waited for is seen by the second one only */
    static const char lock_sql[] =
        "SELECT 1 FROM stations.print_station WHERE organization_id = $2::text AND id = "
        "$1::text AND deleted_at IS NULL FOR KEY SHARE";
    static const char sql[] =
        "SELECT 1 FROM stations.printer WHERE organization_id = $1::text AND station_id = $2::text "
        "AND deleted_at IS NULL AND CASE WHEN $3::text = '' THEN model = $4::text ELSE id = "
        "$3::text END LIMIT 1";
    wharf_val args[4] = {
        val_text(W->req->organization(req)), val_text(station), val_text(id), val_text(model)};
    const wharf_rows *rows;
    wharf_status s = query_about(req, lock_sql, station, &rows);

    *ret_gone = s == WHARF_OK && !W->db->count(rows) ? "station_deleted" : NULL;
    if (s != WHARF_OK || *ret_gone)
        return s;
    s = W->db->query(req, sql, args, 4, &rows);
    if (s == WHARF_OK && !W->db->count(rows))
        *ret_gone = "printer_removed";
    return s;
}

bool printer_reachable(const struct printer_at *p)
{
    return is(p->station_status, "online") && !is(p->status, "offline") && !is(p->status, "error");
}

static int64_t routing_distance(const struct printer_at *p)
{
    return !is(p->station_status, "online") + (is(p->status, "offline") || is(p->status, "error"));
}

/* Compares two printers. Negative: a before b. ret_reason: what decided. */
static int routing_compare(
    const struct printer_at *a, const struct printer_at *b, const char **ret_reason)
{
    const struct {
        int64_t a, b;
        const char *reason;
    } ranks[] = {{routing_distance(a), routing_distance(b), "online"},
        {a->load, b->load, "fewest jobs"}, {a->priority, b->priority, "printer priority"},
        {a->last_us, b->last_us, "longest unused"}};

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        if (ranks[i].a != ranks[i].b) {
            *ret_reason = ranks[i].reason;
            return ranks[i].a < ranks[i].b ? -1 : 1;
        }
    }
    *ret_reason = "first of equals";
    return strcmp(a->id.p, b->id.p);
}

const struct printer_at *printer_choose(
    const struct printers *all, const struct wish *w, size_t *ret_n, const char **ret_reason)
{
    const struct printer_at *best = NULL, *second = NULL;
    const char *fields[4], *reason;
    bool any = false;

    *ret_n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct printer_at *p = &all->list[i];

        if (printer_lacks(p, w, fields))
            continue;
        ++*ret_n;
        any = any || printer_reachable(p);
        if (!best || routing_compare(p, best, &reason) < 0) {
            second = best;
            best = p;
        } else if (!second || routing_compare(p, second, &reason) < 0) {
            second = p;
        }
    }
    reason = "only candidate";
    if (second)
        routing_compare(best, second, &reason); /* what it has before the next best */
    *ret_reason = *ret_n && !any ? "all candidates offline" : reason;
    return best;
}
