/* places.c - the service locations.layouts: rows of other modules that stand in a layout
 * (docs/spec/02-places-and-people.md sections 2 and 3). Leaves what is asked of a place to
 * places_known.c. */
#include "layouts.h"
#include "locations.gen.h"

/* ---- a layout lies in its location ---- */

static wharf_status mismatch(wharf_req *req, const char *path)
{
    return W->err->fail(req, ERR_LAYOUT_LOCATION_MISMATCH, path, NULL);
}

/* Places the row rec, or what is no row (NULL). */
static wharf_status place_row(wharf_req *req, const wharf_rec *rec, wharf_str *location_id,
    wharf_str layout_id, const char *path)
{
    wharf_str its;
    wharf_status s = place_location_of(req, rec, layout_id, &its);

    if (s != WHARF_OK)
        return s;
    if (!its.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path, "There is no layout %.*s",
            (int)layout_id.n, layout_id.p);
    if (location_id->n && !same(*location_id, its))
        return mismatch(req, path);
    s = location_id->n ? WHARF_OK : W->req->need_location(req, its);
    *location_id = its;
    return s;
}

static wharf_status places_place(
    wharf_req *req, wharf_str *location_id, wharf_str layout_id, const char *path)
{
    return place_row(req, NULL, location_id, layout_id, path);
}

static wharf_status stand(
    wharf_req *req, wharf_str *location_id, wharf_str layout_id, const char *path)
{
    uint32_t flags = 0;
    wharf_status s = WHARF_OK;

    if (layout_id.n)
        s = places_place(req, location_id, layout_id, W->mem->format(req, "%slayout_id", path).p);
    if (s != WHARF_OK || !location_id->n)
        return s;
    s = directory.flags(req, *location_id, &flags);
    if (s == WHARF_OK && !(flags & WHARF_LOCATION_KNOWN))
        return W->err->fail(req, ERR_VALIDATION_FAILED,
            W->mem->format(req, "%slocation_id", path).p, "There is no location %s",
            location_id->p);
    return s == WHARF_OK ? W->req->need_location(req, *location_id) : s;
}

static wharf_status active(wharf_req *req, const wharf_rec *rec, wharf_str location_id)
{
    uint32_t flags = 0;
    wharf_status s = place_flags(req, rec, location_id, &flags);

    if (s == WHARF_OK && (flags & WHARF_LOCATION_KNOWN) && !(flags & WHARF_LOCATION_ACTIVE))
        return W->err->fail(req, ERR_LOCATION_INACTIVE, "location_id", NULL);
    return s;
}

static wharf_status places_settle(wharf_req *req, uint32_t op, const wharf_rec *old_rec,
    wharf_rec *new_rec, wharf_field location_field, wharf_field layout_field, uint32_t flags)
{
    wharf_str location = {"", 0}, layout = {"", 0}, before = {"", 0};
    bool sent_location = W->res->sent(new_rec, location_field),
         sent_layout = W->res->sent(new_rec, layout_field);
    bool moved;
    wharf_status s = WHARF_OK;

    field_get_text(new_rec, location_field, &location);
    field_get_text(new_rec, layout_field, &layout);
    if (old_rec)
        field_get_text(old_rec, location_field, &before);
    if (!sent_location && !sent_layout)
        return WHARF_OK;
    moved = !same(before, location);
    if (moved && !sent_layout && layout.n) {
        W->res->set(new_rec, layout_field, val_null());
        layout.n = 0;
    }
    if (sent_layout && layout.n) {
        wharf_str asked = sent_location || !(flags & WHARF_PLACE_ADOPT) ? location
                                                                        : (wharf_str){"", 0};

        if (!(flags & WHARF_PLACE_ADOPT) && !location.n)
            return mismatch(req, "layout_id");
        s = place_row(req, new_rec, &asked, layout, "layout_id");
        if (s == WHARF_OK && !same(asked, location)) {
            W->res->set(new_rec, location_field, val_text(asked));
            location = asked;
            moved = !same(before, location);
        }
    }
    return s == WHARF_OK && moved && location.n && (flags & WHARF_PLACE_ACTIVE)
               ? active(req, new_rec, location)
               : s;
}

/* ---- removed layouts ---- */

/* Runs after the rows below were marked removed as well: what lay below is found by the path,
 * whether it is removed or not. */
static wharf_status removed(
    wharf_req *req, wharf_str layout_id, wharf_str *ret_ids, wharf_str *ret_target)
{
    static const char sql[] = QUERY_LAYOUT_REMOVED;
    wharf_str location = {"", 0};
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, layout_id, &rows);

    *ret_ids = WHARF_S("{}");
    *ret_target = (wharf_str){"", 0};
    if (s != WHARF_OK)
        return s;
    row_get_text(rows, 0, 0, ret_ids);
    row_get_text(rows, 0, 1, &location);
    if (!W->req->param(req, "move_to", ret_target))
        *ret_target = layout_default_id(req, location);
    return WHARF_OK;
}

static wharf_status places_carry(wharf_req *req, const wharf_rec *old_layout, const char *sql)
{
    wharf_str ids, target;
    wharf_val args[3];
    wharf_status s;

    s = removed(req, W->res->id(old_layout), &ids, &target);
    args[0] = val_text(ids);
    args[1] = val_text(target);
    args[2] = val_text(W->req->organization(req));
    return s == WHARF_OK ? W->db->exec(req, sql, args, 3, NULL) : s;
}

/* ---- shown ---- */

static wharf_status places_show(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    static const char sql[] =
        "SELECT l.id, jsonb_build_object('id', l.id, 'name', l.name, 'nested_name', "
        "l.nested_name, 'code', l.code, 'location', jsonb_build_object('id', o.id, 'name', "
        "o.name)) FROM locations.layout l JOIN locations.location o ON o.organization_id = "
        "l.organization_id AND o.id = l.location_id WHERE l.organization_id = $2::text AND l.id "
        "= ANY ((SELECT $1::text[])::text[]) AND l.deleted_at IS NULL";
    const wharf_rows *rows;
    wharf_str id;
    wharf_val v;
    wharf_status s = query_about(req, sql, val_array(req, ids, n).u.s, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        bool found = false;

        for (size_t r = 0; r < W->db->count(rows) && !found; r++) {
            found = ids[i].n && row_get_text(rows, r, 0, &id) && same(id, ids[i]) &&
                    W->db->value(rows, r, 1, WHARF_V_JSON, &v);
            if (found)
                W->json->put(outs[i], NULL, v);
        }
        if (!found)
            W->json->put(outs[i], NULL, val_null());
    }
    return s;
}

/* ---- batches ---- */

/* A layout that a delete names. */
struct listed {
    wharf_str id;
    bool good;
};

/* Judges what is wrong with the i-th of them, before any is gone. */
static wharf_status judge_listed(
    wharf_req *req, wharf_str location_id, const wharf_json *layout, struct listed *all, size_t i)
{
    const char *path = W->mem->format(req, "layouts.%zu.id", i).p;
    const wharf_json *m = W->json->get(layout, "id");
    wharf_str its;
    wharf_status s;

    if (!m || !W->json->text(m, &all[i].id) || !all[i].id.n) {
        all[i].id = WHARF_S("");
        W->err->add(req, ERR_VALIDATION_FAILED, path, "id is required");
        return WHARF_OK;
    }
    for (size_t k = 0; k < i; k++) {
        if (same(all[k].id, all[i].id)) {
            W->err->add(req, ERR_VALIDATION_FAILED, path, "The id %s stands in the request twice",
                all[i].id.p);
            return WHARF_OK;
        }
    }
    s = place_location_of(req, NULL, all[i].id, &its);
    if (s != WHARF_OK)
        return s;
    all[i].good = same(its, location_id) && !same(all[i].id, layout_default_id(req, location_id));
    if (!all[i].good)
        W->err->add(
            req, same(its, location_id) ? ERR_LAYOUT_DEFAULT_PROTECTED : ERR_NOT_FOUND, path, NULL);
    return WHARF_OK;
}

/* Removes a layout if it is there. One that is gone by now went with its parent, which stood
 * before it in the array. */
static wharf_status remove_if_there(wharf_req *req, wharf_str id, size_t i)
{
    wharf_str its;
    wharf_status s = place_location_of(req, NULL, id, &its);

    if (s != WHARF_OK || !its.n)
        return s;
    W->err->base(req, W->mem->format(req, "layouts.%zu.", i).p);
    s = W->res->remove(req, "layout", id);
    W->err->base(req, "");
    return s;
}

static wharf_status remove_each(
    wharf_req *req, wharf_str location_id, const wharf_json *layouts, bool item)
{
    size_t n = W->json->count(layouts), i = 0;
    struct listed *all = W->mem->alloc(req, (n + 1) * sizeof(*all));
    wharf_status s = WHARF_OK;

    for (const wharf_json *e = W->json->at(layouts, 0); e && s == WHARF_OK;
         e = W->json->next(e), i++)
        s = judge_listed(req, location_id, e, all, i);
    if (s == WHARF_OK)
        s = item && layouts_hold_problems(req) ? WHARF_OK : W->err->current(req);
    for (i = 0; i < n && s == WHARF_OK; i++) {
        s = all[i].good ? remove_if_there(req, all[i].id, i) : WHARF_OK;
        if (s != WHARF_OK && item && layouts_hold_problems(req))
            s = WHARF_OK;
    }
    return s;
}

static wharf_status remove_those(
    wharf_req *req, wharf_str location_id, const wharf_json *layouts, bool item)
{
    wharf_status s = W->json->type(layouts) == WHARF_J_ARRAY && W->json->count(layouts) <= BATCH_MAX
                         ? layout_unlocked(req, location_id)
                         : W->err->fail(req, ERR_LAYOUT_TOO_MANY, "layouts", NULL);

    if (s == WHARF_OK)
        s = W->db->lock(req, "layouts", location_id);
    return s == WHARF_OK ? remove_each(req, location_id, layouts, item) : s;
}

static wharf_status remove_listed(wharf_req *req, wharf_str location_id, const wharf_json *layouts)
{
    return remove_those(req, location_id, layouts, false);
}

/* Removes the layouts that the array does not name, nearest to the root first; those below one
 * that was removed are gone with it. */
static wharf_status remove_others(wharf_req *req, wharf_str location_id, const wharf_json *layouts)
{
    static const char sql[] =
        "SELECT id FROM locations.layout WHERE organization_id = $3::text AND location_id = "
        "$1::text"
        " AND NOT is_default AND deleted_at IS NULL AND id NOT IN (SELECT e ->> 'id' FROM "
        "jsonb_array_elements($2::jsonb) e WHERE e ->> 'id' IS NOT NULL) ORDER "
        "BY depth DESC, id";
    wharf_val args[3] = {
        val_text(location_id), val_json(layouts), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);
    wharf_str id;

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (row_get_text(rows, i, 0, &id))
            s = W->res->remove(req, "layout", id);
    }
    return s;
}

/* Detaches kept layouts from their old parents first, so that no parent takes them along. */
static wharf_status detach_kept(wharf_req *req, wharf_str location_id, const wharf_json *layouts)
{
    static const char sql[] =
        "UPDATE locations.layout SET path = NULL, parent_id = NULL, root_id = id, depth = 1, "
        "nested_name = name"
        " WHERE organization_id = $3::text AND location_id = $1::text AND NOT is_default AND "
        "deleted_at IS NULL"
        " AND id IN (SELECT e ->> 'id' FROM jsonb_array_elements($2::jsonb) e)";
    wharf_val args[3] = {
        val_text(location_id), val_json(layouts), val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 3, NULL);
}

/* Overwrites the layouts. item: of a batch, an object that has the array; else NULL. Paths of
 * problems are those of what was sent. */
static wharf_status overwrite_by(
    wharf_req *req, wharf_str location_id, const wharf_json *layouts, const wharf_json *item)
{
    wharf_status s = layout_unlocked(req, location_id);

    if (s == WHARF_OK &&
        (W->json->type(layouts) != WHARF_J_ARRAY || W->json->count(layouts) > BATCH_MAX))
        return W->err->fail(req, ERR_LAYOUT_TOO_MANY, "layouts", NULL);
    if (s == WHARF_OK)
        s = W->db->lock(req, "layouts", location_id);
    if (s == WHARF_OK)
        s = detach_kept(req, location_id, layouts);
    if (s == WHARF_OK)
        s = remove_others(req, location_id, layouts);
    if (s != WHARF_OK || !W->json->count(layouts))
        return s;
    return item ? layouts_merge_item(req, location_id, item)
                : layouts_merge(req, location_id, layouts);
}

static wharf_status overwrite(wharf_req *req, wharf_str location_id, const wharf_json *layouts)
{
    return overwrite_by(req, location_id, layouts, NULL);
}

static wharf_status known_location(wharf_req *req, wharf_str id)
{
    const wharf_rec *rec;

    if (!id.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "location_id", "location_id is required");
    return W->res->fetch(req, "location", id, 0, &rec); /* with access to it */
}

/* Checks for repeats. Siblings may share a name, but of two new ones in one item nobody could tell
 * which was meant twice. */
static wharf_status check_repeats(wharf_req *req, const wharf_json *layouts)
{
    size_t i = 0;

    for (const wharf_json *e = W->json->at(layouts, 0); e && i <= BATCH_MAX;
         e = W->json->next(e), i++) {
        size_t k = 0;

        for (const wharf_json *f = W->json->at(layouts, 0); f != e; f = W->json->next(f), k++) {
            if (json_text(e, "id").n || json_text(f, "id").n || !json_text(e, "name").n ||
                !same(json_text(e, "name"), json_text(f, "name")) ||
                !same(json_text(e, "path"), json_text(f, "path")))
                continue;
            W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "layouts.%zu.name", i).p,
                "The layout %zu has the same name at the same place; give both an id, or send one "
                "of them",
                k);
            break;
        }
    }
    return layouts_hold_problems(req) ? WHARF_OK : W->err->current(req);
}

/* Runs an item of a batch. A held problem refuses the item whatever is said of it here. */
wharf_status layouts_batch_item(wharf_req *req, const char *action, const wharf_json *item)
{
    wharf_str location = json_text(item, "location_id");
    const wharf_json *layouts = W->json->get(item, "layouts");
    wharf_status s = known_location(req, location);

    if (s == WHARF_OK && (!layouts || W->json->type(layouts) != WHARF_J_ARRAY))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "layouts", "layouts must be an array");
    if (s == WHARF_OK && strcmp(action, "delete") != 0)
        s = check_repeats(req, layouts);
    if (s != WHARF_OK)
        return s;
    s = strcmp(action, "delete") == 0      ? remove_those(req, location, layouts, true)
        : strcmp(action, "overwrite") == 0 ? overwrite_by(req, location, layouts, item)
                                           : layouts_merge_item(req, location, item);
    if (s == WHARF_OK)
        locations_batch->done(req, location,
            strcmp(action, "delete") == 0      ? "deleted"
            : strcmp(action, "overwrite") == 0 ? "overwritten"
                                               : "updated");
    return s;
}

/* ---- counted ---- */

static wharf_status audited(
    wharf_req *req, wharf_str location_id, const wharf_str *layout_ids, size_t n)
{
    static const char location[] =
        "UPDATE locations.location SET last_audited_at = $3::timestamptz, version = version + 1"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL";
    static const char layouts[] = QUERY_LAYOUTS_AUDITED;
    wharf_val args[4] = {val_text(location_id), val_text(W->req->organization(req)),
        val_time(W->req->now_us(req)), val_array(req, layout_ids, n)};
    wharf_status s = W->db->exec(req, location, args, 3, NULL);

    return s == WHARF_OK ? W->db->exec(req, layouts, args, 4, NULL) : s;
}

const wharf_locations_layouts_api layouts_service = {WHARF_HEAD(wharf_locations_layouts_api),
    places_settle, places_place, removed, places_show, layouts_merge, overwrite, remove_listed,
    places_carry, stand, audited, places_ahead};
