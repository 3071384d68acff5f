/* leg_changes.c - legs that are added and removed, and the place that each gets
 * (docs/spec/03-shipments-and-trackers.md section 5.3, rules 1 to 3). */
#include <stdlib.h>

#include "trackers.h"
#include "trackers.gen.h"

struct entry { /* of chaining.add */
    wharf_str id;
    int64_t position; /* -1: at the end */
};

/* ---- locks ---- */

static int leg_changes_by_bytes(const void *a, const void *b)
{
    const wharf_str *x = a, *y = b;

    return strcmp(x->p, y->p);
}

static wharf_str entry_id(const wharf_json *e)
{
    wharf_str s = WHARF_S("");

    if (W->json->type(e) == WHARF_J_OBJECT)
        return json_text(e, "shipment_id");
    W->json->text(e, &s);
    return s;
}

static size_t name_all(const wharf_json *list, wharf_str *ids, size_t n, size_t most)
{
    for (const wharf_json *e = list && W->json->type(list) == WHARF_J_ARRAY ? W->json->at(list, 0)
                                                                            : NULL;
         e && n < most; e = W->json->next(e))
        ids[n++] = entry_id(e);
    return n;
}

wharf_status trackers_lock(wharf_req *req, wharf_str tracker_id, const wharf_json *chaining)
{
    static const char sql[] =
        "SELECT DISTINCT tracker_id FROM shipments.shipment WHERE "
        "organization_id = $2::text AND id = ANY ((SELECT $1::text[])::text[])"
        " AND tracker_id IS NOT NULL";
    wharf_str ids[4 * LEGS_MAX], trackers[4 * LEGS_MAX + 1];
    size_t n = 0, k = 0;
    const wharf_rows *rows;
    wharf_status s;

    trackers[k++] = tracker_id;
    if (chaining) {
        n = name_all(W->json->get(chaining, "add"), ids, n, 2 * LEGS_MAX);
        n = name_all(W->json->get(chaining, "remove"), ids, n, 4 * LEGS_MAX);
        s = query_about(req, sql, val_array(req, ids, n).u.s, &rows);
        for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
            trackers[k++] = row_text(rows, i, 0);
        if (s != WHARF_OK)
            return s;
    }
    qsort(trackers, k, sizeof(trackers[0]), leg_changes_by_bytes);
    for (size_t i = 0; i < k; i++) {
        s = W->db->lock(req, "tracker", trackers[i]);
        if (s != WHARF_OK)
            return s;
    }
    return WHARF_OK;
}

/* ---- the order ---- */

struct work {
    wharf_req *req;
    wharf_str tracker;
    wharf_rec *rec;
    wharf_str order[4 * LEGS_MAX];
    size_t n;
    struct chaining *result;
};

static size_t leg_changes_place_of(const struct work *w, wharf_str id)
{
    size_t i = 0;

    while (i < w->n && !same(w->order[i], id))
        i++;
    return i;
}

static void leg_changes_take_out(struct work *w, size_t at)
{
    memmove(&w->order[at], &w->order[at + 1], (w->n - at - 1) * sizeof(w->order[0]));
    w->n--;
}

static void leg_changes_put_in(struct work *w, wharf_str id, int64_t position)
{
    size_t at = position < 0 || (size_t)position > w->n ? w->n : (size_t)position;

    memmove(&w->order[at + 1], &w->order[at], (w->n - at) * sizeof(w->order[0]));
    w->order[at] = id;
    w->n++;
}

static wharf_status touched(struct work *w, wharf_str id)
{
    w->result->touched[w->result->n_touched++] = id;
    w->result->any = true;
    return WHARF_OK;
}

/* ---- adding ---- */

/* Merges the other tracker, which had only this leg: it goes, what it knew comes along. */
static wharf_status leg_changes_merge(struct work *w, wharf_str other)
{
    static const char sql[] = "SELECT metadata, merged_ids || to_jsonb(id) FROM trackers.tracker"
                              " WHERE organization_id = $2::text AND id = $1::text";
    static const char merge_sql[] =
        "SELECT ($1::jsonb || coalesce($2::jsonb, '{}')), coalesce($3::jsonb, '[]') || $4::jsonb";
    wharf_val args[4];
    const wharf_rows *rows;
    wharf_status s = query_about(w->req, sql, other, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    args[0] = val_json(row_json(rows, 0, 0));
    args[1] = val_json(field_json(w->rec, TRACKER_METADATA));
    args[2] = val_json(field_json(w->rec, TRACKER_MERGED_IDS));
    args[3] = val_json(row_json(rows, 0, 1));
    s = W->db->query(w->req, merge_sql, args, 4, &rows);
    if (s != WHARF_OK)
        return s;
    W->res->set(w->rec, TRACKER_METADATA, val_json(row_json(rows, 0, 0)));
    W->res->set(w->rec, TRACKER_MERGED_IDS, val_json(row_json(rows, 0, 1)));
    return W->res->remove(w->req, "tracker", other);
}

static wharf_status leave_other(struct work *w, wharf_str shipment, const char *path)
{
    static const char sql[] =
        "SELECT s.tracker_id, (SELECT count(*) FROM shipments.shipment o WHERE o.organization_id = "
        "$2::text"
        " AND o.tracker_id = s.tracker_id AND o.deleted_at IS NULL)"
        " FROM shipments.shipment s WHERE s.organization_id = $2::text AND s.id = $1::text";
    const wharf_rows *rows;
    wharf_str other;
    wharf_status s = query_about(w->req, sql, shipment, &rows);

    if (s != WHARF_OK)
        return s;
    other = row_text(rows, 0, 0);
    if (!other.n || same(other, w->tracker))
        return WHARF_OK;
    if (row_int(rows, 0, 1) > 1)
        return W->err->fail(w->req, ERR_TRACKER_SHIPMENT_CHAINED, path, NULL);
    return leg_changes_merge(w, other);
}

static wharf_status leg_changes_add_one(struct work *w, const struct entry *e, const char *path)
{
    const wharf_rec *shipment;
    wharf_status s;

    if (leg_changes_place_of(w, e->id) < w->n) {
        if (e->position >= 0) {
            leg_changes_take_out(w, leg_changes_place_of(w, e->id));
            leg_changes_put_in(w, e->id, e->position);
            w->result->any = true;
        }
        return WHARF_OK;
    }
    s = W->res->fetch(w->req, "shipment", e->id, 0, &shipment);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(w->req);
        return W->err->fail(w->req, ERR_VALIDATION_FAILED, path, "There is no shipment %.*s",
            (int)e->id.n, e->id.p);
    }
    if (s == WHARF_OK && w->n >= LEGS_MAX)
        return W->err->fail(w->req, ERR_TRACKER_CHAIN_LIMIT, "chaining.add", NULL);
    if (s == WHARF_OK)
        s = leave_other(w, e->id, path);
    if (s != WHARF_OK)
        return s;
    leg_changes_put_in(w, e->id, e->position);
    return touched(w, e->id);
}

static wharf_status leg_changes_add_all(struct work *w, const wharf_json *list)
{
    size_t i = 0;
    wharf_status s = WHARF_OK;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e && s == WHARF_OK;
         e = W->json->next(e), i++) {
        const char *path = W->mem->format(w->req, "chaining.add.%zu", i).p;
        const wharf_json *position = W->json->type(e) == WHARF_J_OBJECT
                                         ? W->json->get(e, "position")
                                         : NULL;
        struct entry one = {.id = entry_id(e), .position = -1};

        if (!one.id.n)
            return W->err->fail(w->req, ERR_VALIDATION_FAILED, path,
                "%s must be a shipment's id or {shipment_id, position}", path);
        if (!json_is_null(position) &&
            (!W->json->integer(position, &one.position) || one.position < 0))
            return W->err->fail(w->req, ERR_VALIDATION_FAILED,
                W->mem->format(w->req, "%s.position", path).p, "position counts from 0");
        s = leg_changes_add_one(w, &one, path);
    }
    return s;
}

/* ---- removing ---- */

static wharf_status remove_all(struct work *w, const wharf_json *list)
{
    size_t i = 0;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++) {
        wharf_str id = entry_id(e);
        size_t at = leg_changes_place_of(w, id);

        if (at == w->n)
            return W->err->fail(w->req, ERR_TRACKER_NOT_IN_CHAIN,
                W->mem->format(w->req, "chaining.remove.%zu", i).p, NULL);
        leg_changes_take_out(w, at);
        w->result->gone[w->result->n_gone++] = id;
        touched(w, id);
    }
    return WHARF_OK;
}

static wharf_status no_id_twice(wharf_req *req, const wharf_json *input)
{
    wharf_str ids[4 * LEGS_MAX];
    size_t n = name_all(W->json->get(input, "add"), ids, 0, 2 * LEGS_MAX);

    n = name_all(W->json->get(input, "remove"), ids, n, 4 * LEGS_MAX);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (same(ids[i], ids[k]))
                return W->err->fail(req, ERR_VALIDATION_FAILED, "chaining",
                    "%s stands in chaining twice", ids[i].p);
        }
    }
    return WHARF_OK;
}

/* Removes the pin when the leg that was said to be current is gone: from now on the legs tell
 * (rule 4). */
static void settle_pin(struct work *w)
{
    wharf_str pinned = field_text(w->rec, TRACKER_PINNED_SHIPMENT_ID);

    if (pinned.n && leg_changes_place_of(w, pinned) == w->n)
        W->res->set(w->rec, TRACKER_PINNED_SHIPMENT_ID, val_null());
}

static wharf_status keep_order(struct work *w)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < w->n; i++)
        s = trackers_shipments->set_tracker(w->req, w->order[i], w->tracker, (int64_t)i);
    for (size_t i = 0; s == WHARF_OK && i < w->result->n_gone; i++)
        s = trackers_shipments->set_tracker(w->req, w->result->gone[i], WHARF_S(""), 0);
    return s;
}

wharf_status trackers_chain(
    wharf_req *req, wharf_rec *rec, const wharf_json *input, struct chaining *ret)
{
    struct work w = {.req = req, .tracker = W->res->id(rec), .rec = rec, .result = ret};
    struct chain c;
    wharf_status s = no_id_twice(req, input);

    if (s == WHARF_OK)
        s = trackers_load(req, w.tracker, &c);
    for (size_t i = 0; s == WHARF_OK && i < c.n; i++)
        w.order[w.n++] = c.legs[i].id;
    if (s == WHARF_OK)
        s = remove_all(&w, W->json->get(input, "remove"));
    if (s == WHARF_OK)
        s = leg_changes_add_all(&w, W->json->get(input, "add"));
    if (s == WHARF_OK && !w.n)
        s = W->err->fail(req, ERR_TRACKER_CHAIN_EMPTY, "chaining.remove", NULL);
    if (s != WHARF_OK || !ret->any)
        return s;
    settle_pin(&w);
    return keep_order(&w);
}
