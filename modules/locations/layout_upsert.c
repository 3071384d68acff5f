/* layout_upsert.c - POST /v1/locations/:location/layouts: one layout, an array, or {"layouts":
 * [...]}; all or nothing (spec 02 section 3).
 *
 * Items may come in any order: one whose parent stands in the array too waits until that was
 * written. Each goes through the same pipeline as a single write; what the rules say about it is
 * told with its place in front ("2.path", "layouts.2.path"). Each that is wrong is told; then
 * nothing is kept. */
#include <stdlib.h>
#include <string.h>

#include "layouts.h"
#include "locations.gen.h"

struct named {
    wharf_str id;
    size_t i;
};

struct upsert {
    wharf_req *req;
    wharf_str location;
    const char *base; /* "", or "layouts." */
    bool many;
    bool item; /* of a batch: what is wrong refuses the item, not the request */
    wharf_held_problems *held; /* else: what is wrong, until all are judged */
    size_t n;
    const wharf_json **items;
    wharf_str *ids, *parents; /* sent id; sent path or parent_id */
    struct named *named; /* those that have an id, by it */
    size_t n_named;
    size_t *parent_at; /* index of the parent, or n: it is not in the array */
    bool *known, *done;
    bool *wrong; /* told, and done with */
    const wharf_rec **recs;
    size_t created;
};

static const char *layout_upsert_place_of(const struct upsert *u, size_t i)
{
    return u->many ? W->mem->format(u->req, "%s%zu.", u->base, i).p : "";
}

static wharf_str layout_upsert_member_text(const wharf_json *object, const char *key)
{
    const wharf_json *m = W->json->get(object, key);
    wharf_str s = {"", 0};

    if (m)
        W->json->text(m, &s);
    return s;
}

static void layout_upsert_tell(struct upsert *u, size_t i, const char *code, const char *path)
{
    W->err->add(
        u->req, code, W->mem->format(u->req, "%s%s", layout_upsert_place_of(u, i), path).p, NULL);
    u->wrong[i] = u->done[i] = true;
}

bool layouts_hold_problems(wharf_req *req)
{
    locations_many->at(req, 0);
    return W->err->current(req) == WHARF_OK;
}

/* Goes on when problems were told: they do not keep the others from being judged, unless they are
 * nobody's in particular. */
static wharf_status layout_upsert_go_on(struct upsert *u)
{
    bool held = u->item ? layouts_hold_problems(u->req) : locations_many->hold(u->req, &u->held);

    return held ? WHARF_OK : W->err->current(u->req);
}

/* ---- what was sent ---- */

static int layout_upsert_by_id(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    int order = memcmp(a->id.p, b->id.p, a->id.n < b->id.n ? a->id.n : b->id.n);

    if (!order)
        order = (a->id.n > b->id.n) - (a->id.n < b->id.n);
    return order ? order : (a->i > b->i) - (a->i < b->i);
}

static void sort_ids(struct upsert *u)
{
    u->named = W->mem->alloc(u->req, u->n * sizeof(*u->named));
    for (size_t i = 0; i < u->n; i++) {
        if (u->ids[i].n)
            u->named[u->n_named++] = (struct named){u->ids[i], i};
    }
    qsort(u->named, u->n_named, sizeof(*u->named), layout_upsert_by_id);
}

/* Returns the first item with this id, or n. */
static size_t first_with(const struct upsert *u, wharf_str id)
{
    const struct named wanted = {id, 0};
    size_t from = 0, to = u->n_named;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (layout_upsert_by_id(&u->named[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return id.n && from < u->n_named && same(u->named[from].id, id) ? u->named[from].i : u->n;
}

static void read_item(struct upsert *u, size_t i, const wharf_json *item)
{
    u->items[i] = item;
    u->ids[i] = layout_upsert_member_text(item, "id");
    u->parents[i] = W->json->get(item, "path") ? layout_upsert_member_text(item, "path")
                                               : layout_upsert_member_text(item, "parent_id");
}

/* Finds which of them are the parents of others, once all ids are known. */
static void find_parents(struct upsert *u)
{
    sort_ids(u);
    u->parent_at = W->mem->alloc(u->req, u->n * sizeof(*u->parent_at));
    for (size_t i = 0; i < u->n; i++)
        u->parent_at[i] = first_with(u, u->parents[i]);
}

static void layout_upsert_refuse(struct upsert *u, size_t i, const char *path, wharf_str message)
{
    W->err->add(u->req, ERR_VALIDATION_FAILED,
        W->mem->format(u->req, "%s%zu%s", u->base, i, path).p, "%s", message.p);
    u->wrong[i] = u->done[i] = true;
}

static wharf_status layout_upsert_read_items(struct upsert *u, const wharf_json *list)
{
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e), u->n++) {
        u->ids[u->n] = u->parents[u->n] = WHARF_S("");
        if (W->json->type(e) == WHARF_J_OBJECT)
            read_item(u, u->n, e);
    }
    find_parents(u);
    for (size_t i = 0; i < u->n; i++) {
        if (!u->items[i])
            layout_upsert_refuse(u, i, "", WHARF_S("A layout must be an object"));
        else if (u->ids[i].n && first_with(u, u->ids[i]) != i)
            layout_upsert_refuse(u, i, ".id",
                W->mem->format(u->req, "The id %s stands in the request twice", u->ids[i].p));
    }
    return layout_upsert_go_on(u);
}

static wharf_status layout_upsert_read_body(struct upsert *u, const wharf_json *body)
{
    const wharf_json *list = W->json->type(body) == WHARF_J_ARRAY ? body
                                                                  : W->json->get(body, "layouts");
    size_t n;

    u->base = list == body ? "" : "layouts.";
    u->many = list != NULL;
    if (list && W->json->type(list) != WHARF_J_ARRAY)
        return W->err->fail(u->req, ERR_VALIDATION_FAILED, "layouts", "layouts must be an array");
    n = list ? W->json->count(list) : 1;
    if (!n)
        return W->err->fail(u->req, ERR_VALIDATION_FAILED, list == body ? "" : "layouts",
            "Send at least one layout");
    if (n > BATCH_MAX)
        return W->err->fail(u->req, ERR_LAYOUT_TOO_MANY, list == body ? "" : "layouts", NULL);
    u->items = W->mem->alloc(u->req, n * sizeof(wharf_json *));
    u->ids = W->mem->alloc(u->req, n * sizeof(wharf_str));
    u->parents = W->mem->alloc(u->req, n * sizeof(wharf_str));
    u->known = W->mem->alloc(u->req, n * sizeof(bool));
    u->done = W->mem->alloc(u->req, n * sizeof(bool));
    u->wrong = W->mem->alloc(u->req, n * sizeof(bool));
    u->recs = W->mem->alloc(u->req, n * sizeof(wharf_rec *));
    if (list)
        return layout_upsert_read_items(u, list);
    u->n = 1;
    read_item(u, 0, body);
    find_parents(u);
    return WHARF_OK;
}

/* Finds which sent ids are layouts already; ids of removed ones are free again. */
static wharf_status layout_upsert_find_known(struct upsert *u)
{
    static const char sql[] =
        "SELECT location_id FROM locations.layout"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL";
    static const char free_sql[] =
        "DELETE FROM locations.layout"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NOT NULL";

    for (size_t i = 0; i < u->n; i++) {
        const wharf_rows *rows;
        wharf_str location;
        wharf_status s;

        if (!u->ids[i].n || u->wrong[i])
            continue;
        s = query_about(u->req, sql, u->ids[i], &rows);
        if (s != WHARF_OK)
            return s;
        if (!W->db->count(rows)) {
            s = query_about(u->req, free_sql, u->ids[i], NULL);
            if (s != WHARF_OK)
                return s;
            continue;
        }
        u->known[i] = row_get_text(rows, 0, 0, &location) && same(location, u->location);
        if (!u->known[i])
            layout_upsert_tell(u, i, ERR_LAYOUT_WRONG_LOCATION, "id");
    }
    return layout_upsert_go_on(u);
}

/* Tells whether the item's parent is in the array, and not written yet. */
static bool must_wait(const struct upsert *u, size_t i)
{
    return u->parent_at[i] < u->n && !u->done[u->parent_at[i]];
}

/* Tells whether the item's parent is in the array, and was refused: that it is not there is not
 * the item's fault. */
static bool is_orphan(const struct upsert *u, size_t i)
{
    size_t p = u->parent_at[i];

    return p < u->n && u->wrong[p] && !u->known[p];
}

/* Tells whether the names of a parent_path are found. It may name layouts that later items make:
 * the item waits until then. */
static wharf_status names_found(struct upsert *u, size_t i, bool *ret_found)
{
    wharf_str names = layout_upsert_member_text(u->items[i], "parent_path"), id;

    *ret_found = true;
    if (!names.n || W->json->get(u->items[i], "path") || W->json->get(u->items[i], "parent_id"))
        return WHARF_OK;
    return layout_by_names(u->req, u->location, names, ret_found, &id);
}

static bool is_left_out(const struct upsert *u, size_t i, wharf_str key, bool orphan)
{
    return same(key, WHARF_S("location_id")) || (u->known[i] && same(key, WHARF_S("id"))) ||
           (orphan && (same(key, WHARF_S("path")) || same(key, WHARF_S("parent_id"))));
}

/* Makes the item as a body of its own: with the location, and without what the address says
 * already. Orphans are judged as roots: nothing of them stays. */
static wharf_status item_body(struct upsert *u, size_t i, const wharf_json **ret_body)
{
    wharf_out *out = W->json->builder(u->req);
    bool orphan = is_orphan(u, i);

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(u->items[i], 0); m; m = W->json->next(m)) {
        if (!is_left_out(u, i, W->json->key(m), orphan))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    if (!u->known[i])
        W->json->put(out, "location_id", val_text(u->location));
    W->json->close(out);
    return W->json->result(u->req, out, ret_body);
}

static wharf_status write_item(struct upsert *u, size_t i)
{
    const wharf_json *body;
    wharf_status s = item_body(u, i, &body);

    if (s != WHARF_OK)
        return s;
    W->err->base(u->req, layout_upsert_place_of(u, i));
    s = u->known[i] ? W->res->update(u->req, "layout", u->ids[i], body, &u->recs[i])
                    : W->res->create(u->req, "layout", body, &u->recs[i]);
    W->err->base(u->req, "");
    u->created += !u->known[i];
    u->done[i] = true;
    u->wrong[i] = s != WHARF_OK;
    return s == WHARF_OK ? s : layout_upsert_go_on(u);
}

/* Tells those that are left that they wait for each other, or for names that nobody makes. */
static wharf_status tell_stuck(struct upsert *u)
{
    bool *cycle = W->mem->alloc(u->req, u->n * sizeof(*cycle));

    for (size_t i = 0; i < u->n; i++)
        cycle[i] = must_wait(u, i);
    for (size_t i = 0; i < u->n; i++) {
        if (!u->done[i])
            layout_upsert_tell(u, i, cycle[i] ? ERR_LAYOUT_CYCLE : ERR_LAYOUT_PARENT_NOT_FOUND,
                cycle[i] ? "path" : "parent_path");
    }
    return layout_upsert_go_on(u);
}

static wharf_status layout_upsert_write_all(struct upsert *u)
{
    size_t left = 0, before = 0;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < u->n; i++)
        left += !u->done[i];
    while (left && left != before) {
        before = left;
        for (size_t i = 0; i < u->n; i++) {
            bool found = true;

            if (u->done[i] || must_wait(u, i))
                continue;
            s = names_found(u, i, &found);
            if (s == WHARF_OK && found) {
                s = write_item(u, i);
                left--;
            }
            if (s != WHARF_OK)
                return s;
        }
    }
    return left ? tell_stuck(u) : WHARF_OK;
}

static void layout_upsert_answer(struct upsert *u)
{
    uint32_t status = u->created ? 201 : 200;
    const char *message =
        u->many ? W->mem->format(u->req, "%zu %s saved", u->n, u->n == 1 ? "layout" : "layouts").p
        : u->created ? "Layout created"
                     : "Layout updated";
    wharf_out *out = W->req->respond(u->req, status, message);

    if (!u->many) {
        W->res->encode(u->req, out, NULL, u->recs[0]);
        if (u->created)
            W->req->created(u->req, W->mem->format(u->req, "/v1/locations/%s/layouts/%s",
                                        u->location.p, W->res->id(u->recs[0]).p));
        return;
    }
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < u->n; i++)
        W->res->encode(u->req, out, NULL, u->recs[i]);
    W->json->close(out);
}

static wharf_status layout_upsert_reach(struct upsert *u)
{
    const wharf_rec *location;
    wharf_status s = W->res->fetch(u->req, "location", u->location, 0, &location);

    return s == WHARF_OK ? layout_unlocked(u->req, u->location) : s;
}

static wharf_status layout_upsert_judge_all(struct upsert *u)
{
    wharf_held_problems *dropped = NULL;
    wharf_status s = layout_upsert_reach(u);

    for (size_t i = 0; i < u->n && s != WHARF_OK && !u->item; i++) {
        if (u->wrong[i] && locations_many->hold(u->req,
                               &dropped)) /* the shape of what was sent comes first, alone */
            return WHARF_OK;
    }
    if (s == WHARF_OK)
        s = W->db->lock(u->req, "layouts", u->location);
    if (s == WHARF_OK)
        s = layout_upsert_find_known(u);
    return s == WHARF_OK ? layout_upsert_write_all(u) : s;
}

/* Saves: does everything behind reading the body. */
static wharf_status save(struct upsert *u)
{
    wharf_status s = layout_upsert_judge_all(u),
                 reported = u->item ? WHARF_OK : locations_many->report(u->req, u->held);

    return s == WHARF_OK ? reported : s;
}

wharf_status layouts_merge(wharf_req *req, wharf_str location_id, const wharf_json *layouts)
{
    struct upsert u = {.req = req, .location = location_id};
    wharf_status s = layout_upsert_read_body(&u, layouts);

    return s == WHARF_OK ? save(&u) : s;
}

wharf_status layouts_merge_item(wharf_req *req, wharf_str location_id, const wharf_json *layouts)
{
    struct upsert u = {.req = req, .location = location_id, .item = true};
    wharf_status s = layout_upsert_read_body(&u, layouts);

    return s == WHARF_OK ? save(&u) : s;
}

wharf_status layouts_upsert(wharf_req *req, void *arg)
{
    struct upsert u = {.req = req};
    const wharf_json *body;
    wharf_status s = W->req->body(req, &body);

    W->req->param(req, "location", &u.location);
    if (s == WHARF_OK)
        s = layout_upsert_read_body(&u, body);
    if (s == WHARF_OK)
        s = save(&u);
    if (s == WHARF_OK)
        layout_upsert_answer(&u);
    return s;
}
