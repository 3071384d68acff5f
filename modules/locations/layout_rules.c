/* layout_rules.c - the rules of one layout (spec 02 section 3): its parent, what follows from
 * its ancestors, the default one. */
#include "layouts.h"
#include "locations.gen.h"

/* ---- normalize: the other names of path ---- */

static wharf_status path_of_names(wharf_req *req, wharf_rec *rec, const wharf_json *names)
{
    wharf_str location = {"", 0}, text_of_names, id;
    const wharf_json *own = W->res->member(rec, "location_id");
    bool found = false;
    wharf_status s;

    if (!W->json->text(names, &text_of_names))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "parent_path",
            "parent_path must be text that begins with /");
    if (!W->req->param(req, "location", &location) && own)
        W->json->text(own, &location);
    s = layout_by_names(req, location, text_of_names, &found, &id);
    if (s != WHARF_OK)
        return s;
    if (!found)
        return W->err->fail(req, ERR_LAYOUT_PARENT_NOT_FOUND, "parent_path", NULL);
    W->res->set(rec, LAYOUT_PATH, val_text_or_null(id));
    W->res->drop(rec, "parent_path");
    return WHARF_OK;
}

static wharf_status layout_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *parent = W->res->member(new_rec, "parent_id"),
                     *names = W->res->member(new_rec, "parent_path");
    bool has_path = W->res->member(new_rec, "path") != NULL;

    if (parent) {
        if (!has_path)
            W->res->set(new_rec, LAYOUT_PATH, val_json(parent));
        W->res->drop(new_rec, "parent_id");
    }
    return names && !has_path && !parent ? path_of_names(req, new_rec, names) : WHARF_OK;
}

/* ---- check ---- */

/* "down": a layout of the organization $2 and what lies below it and still stands, with its
 * distance n. */
struct place {
    wharf_str id, location, path, name;
    wharf_str root, nested_name; /* of the parent, then of the layout */
    int64_t depth;
};

static wharf_status parent_missing(wharf_req *req)
{
    return W->err->fail(req, ERR_LAYOUT_PARENT_NOT_FOUND, "path", NULL);
}

/* Reads the parent's place; cycles and too many brothers are told. */
static wharf_status layout_read_parent(wharf_req *req, struct place *p, bool moves)
{
    static const char sql[] = QUERY_LAYOUT_PARENT;
    wharf_val args[4] = {val_text(p->path), val_text(p->location), val_text(p->id),
        val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return parent_missing(req);
    if (row_bool(rows, 0, 3))
        return W->err->fail(req, ERR_LAYOUT_CYCLE, "path", NULL);
    if (moves && row_int(rows, 0, 4) >= CHILDREN_MAX)
        return W->err->fail(req, ERR_LAYOUT_TOO_MANY, "path", NULL);
    row_get_text(rows, 0, 0, &p->root);
    row_get_text(rows, 0, 1, &p->nested_name);
    p->depth = row_int(rows, 0, 2);
    return WHARF_OK;
}

/* Finds how many levels lie below a layout. */
static wharf_status layout_height_of(wharf_req *req, wharf_str id, int64_t *ret_height)
{
    static const char sql[] = QUERY_LAYOUT_HEIGHT;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    if (s == WHARF_OK)
        *ret_height = row_int(rows, 0, 0);
    return s;
}

static wharf_status next_position(wharf_req *req, const struct place *p, int64_t *ret_position)
{
    static const char sql[] = "SELECT coalesce(max(position) + 1, 0) FROM locations.layout WHERE "
                              "organization_id = $4::text"
                              " AND location_id = $1::text AND (path = $2::text OR ($2::text = '' "
                              "AND path IS NULL)) AND id <> $3::text"
                              " AND deleted_at IS NULL";
    wharf_val args[4] = {val_text(p->location), val_text(p->path), val_text(p->id),
        val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    if (s == WHARF_OK)
        *ret_position = row_int(rows, 0, 0);
    return s;
}

static wharf_status layout_settle_place(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, struct place *p, bool moves)
{
    int64_t height = 0;
    wharf_status s = WHARF_OK;
    wharf_val v;

    if (op == WHARF_UPDATE && W->res->get(old_rec, LAYOUT_IS_DEFAULT, &v) && v.u.i && p->path.n)
        return W->err->fail(req, ERR_LAYOUT_DEFAULT_PROTECTED, "path", NULL);
    if (p->path.n)
        s = layout_read_parent(req, p, moves);
    if (s == WHARF_OK && op == WHARF_UPDATE && moves)
        s = layout_height_of(req, p->id, &height);
    if (s != WHARF_OK)
        return s;
    p->depth = p->path.n ? p->depth + 1 : 1;
    if (p->depth + height > DEPTH_MAX)
        return W->err->fail(req, ERR_LAYOUT_TOO_DEEP, "path", NULL);
    p->root = p->path.n ? p->root : p->id;
    p->nested_name = p->path.n ? W->mem->format(req, "%.*s / %.*s", (int)p->nested_name.n,
                                     p->nested_name.p, (int)p->name.n, p->name.p)
                               : p->name;
    return WHARF_OK;
}

static void set_derived(wharf_req *req, wharf_rec *rec, const struct place *p, int64_t position)
{
    wharf_str code = {"", 0};
    wharf_val metadata = {0};

    field_get_text(rec, LAYOUT_CODE, &code);
    W->res->get(rec, LAYOUT_METADATA, &metadata);
    W->res->set(rec, LAYOUT_PARENT_ID, val_text_or_null(p->path));
    W->res->set(rec, LAYOUT_ROOT_ID, val_text(p->root));
    W->res->set(rec, LAYOUT_NESTED_NAME, val_text(p->nested_name));
    W->res->set(rec, LAYOUT_DEPTH, val_int(p->depth));
    W->res->set(rec, LAYOUT_POSITION, val_int(position));
    W->res->set(rec, LAYOUT_CHECKSUM,
        val_text(layout_checksum(req, p->id, p->name, code, p->path, position, metadata.u.j)));
}

static wharf_status layout_check_write(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec, struct place *p)
{
    bool moves = op == WHARF_CREATE || W->res->changed(old_rec, new_rec, LAYOUT_PATH);
    bool placed = W->res->sent(new_rec, LAYOUT_POSITION);
    int64_t position = 0;
    wharf_status s;
    wharf_val v;

    p->path = (wharf_str){"", 0};
    field_get_text(new_rec, LAYOUT_PATH, &p->path);
    field_get_text(new_rec, LAYOUT_NAME, &p->name);
    s = layout_settle_place(req, op, old_rec, p, moves);
    if (s == WHARF_OK && moves && !placed)
        s = next_position(req, p, &position);
    else if (W->res->get(new_rec, LAYOUT_POSITION, &v))
        position = v.u.i;
    if (s != WHARF_OK)
        return s;
    set_derived(req, new_rec, p, position);
    if (op == WHARF_CREATE)
        W->res->set(new_rec, LAYOUT_IS_DEFAULT, val_bool(false));
    return WHARF_OK;
}

/* Checks where the contents of a removed layout go: it must be a layout of the same location that
 * stays. */
static wharf_status check_move_to(wharf_req *req, const wharf_rec *old_rec)
{
    static const char sql[] = QUERY_LAYOUTS_BELOW
        " SELECT 1 FROM locations.layout WHERE organization_id = $2::text"
        " AND id = $3::text AND location_id = $4::text AND deleted_at IS NULL AND "
        "id NOT IN (SELECT id FROM down)";
    wharf_str to, location = {"", 0};
    const wharf_rows *rows;
    wharf_val args[4];
    wharf_status s;

    if (!W->req->param(req, "move_to", &to))
        return WHARF_OK;
    field_get_text(old_rec, LAYOUT_LOCATION_ID, &location);
    args[0] = val_text(W->res->id(old_rec));
    args[1] = val_text(W->req->organization(req));
    args[2] = val_text(to);
    args[3] = val_text(location);
    s = W->db->query(req, sql, args, 4, &rows);
    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_PARAM_INVALID, "move_to",
            "move_to must name a layout of the same location that stays");
    return s;
}

static wharf_status layout_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct place p = {.id = W->res->id(op == WHARF_CREATE ? new_rec : old_rec)};
    wharf_status s;
    wharf_val v;

    if (!field_get_text(op == WHARF_CREATE ? new_rec : old_rec, LAYOUT_LOCATION_ID, &p.location))
        return WHARF_OK;
    s = layout_unlocked(req, p.location);
    if (s == WHARF_OK)
        s = W->db->lock(req, "layouts", p.location);
    if (s != WHARF_OK)
        return s;
    if (op != WHARF_DELETE)
        return layout_check_write(req, op, old_rec, new_rec, &p);
    if (W->res->get(old_rec, LAYOUT_IS_DEFAULT, &v) && v.u.i)
        return W->err->fail(req, ERR_LAYOUT_DEFAULT_PROTECTED, NULL, NULL);
    return check_move_to(req, old_rec);
}

/* ---- written ---- */

/* Carries a new name or place down to what lies below; that has not changed by itself. */
static wharf_status carry_down(wharf_req *req, wharf_str id)
{
    static const char sql[] = QUERY_LAYOUT_CARRY_DOWN;

    return query_about(req, sql, id, NULL);
}

/* Removes what lies below a removed layout with it; one event names all of it. */
static wharf_status remove_subtree(wharf_req *req, wharf_str id)
{
    static const char sql[] = QUERY_LAYOUTS_BELOW_REMOVE;
    wharf_val args[4] = {val_text(id), val_text(W->req->organization(req)),
        val_int(W->req->now_us(req)), val_text(W->req->actor(req))};
    const wharf_rows *rows;
    const wharf_json *extra;
    wharf_str below;
    wharf_out *out;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    if (s != WHARF_OK)
        return s;
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "deleted", val_bool(true));
    W->json->open(out, "deleted_ids", '[');
    W->json->put(out, NULL, val_text(id));
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (row_get_text(rows, i, 0, &below))
            W->json->put(out, NULL, val_text(below));
    }
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK ? W->event->emit(req, "layout.deleted", "layout", id, extra) : s;
}

static wharf_status layout_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str id = W->res->id(op == WHARF_DELETE ? old_rec : new_rec);

    if (op == WHARF_CREATE)
        return WHARF_OK;
    if (op == WHARF_DELETE)
        return remove_subtree(req, id);
    if (!W->res->changed(old_rec, new_rec, LAYOUT_NESTED_NAME) &&
        !W->res->changed(old_rec, new_rec, LAYOUT_PATH))
        return WHARF_OK;
    return carry_down(req, id);
}

const wharf_hooks layout_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = layout_normalize,
    .check = layout_check,
    .written = layout_layout_written,
    .batch_item = layouts_batch_item};
