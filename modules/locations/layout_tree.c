/* layout_tree.c - looking layouts up: by names, the whole tree, the default one; and their
 * checksums (spec 02 section 3). */
#include <stdlib.h>

#include "layouts.h"
#include "locations.gen.h"

/* ---- checksums ---- */

static int layout_tree_by_key(const void *a, const void *b)
{
    wharf_str x = W->json->key(*(const wharf_json *const *)a),
              y = W->json->key(*(const wharf_json *const *)b);
    size_t n = x.n < y.n ? x.n : y.n;
    int order = memcmp(x.p, y.p, n);

    return order ? order : (x.n > y.n) - (x.n < y.n);
}

/* Writes members in the order of their keys, whatever order they were sent or stored in. */
static void put_sorted(wharf_req *req, wharf_out *out, const wharf_json *object)
{
    size_t n = object ? W->json->count(object) : 0, k = 0;
    const wharf_json **members = W->mem->alloc(req, (n + 1) * sizeof(wharf_json *));

    for (const wharf_json *m = n ? W->json->at(object, 0) : NULL; m; m = W->json->next(m))
        members[k++] = m;
    if (n > 1)
        qsort(members, n, sizeof(wharf_json *), layout_tree_by_key);
    W->json->open(out, "metadata", '{');
    for (size_t i = 0; i < n; i++)
        W->json->put(out, W->json->key(members[i]).p, val_json(members[i]));
    W->json->close(out);
}

wharf_str layout_checksum(wharf_req *req, wharf_str id, wharf_str name, wharf_str code,
    wharf_str path, int64_t position, const wharf_json *metadata)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "name", val_text(name));
    W->json->put(out, "code", val_text_or_null(code));
    W->json->put(out, "path", val_text_or_null(path));
    W->json->put(out, "position", val_int(position));
    put_sorted(req, out, metadata);
    W->json->close(out);
    return locations_text->sha256(req, W->json->result_text(out));
}

/* ---- the default layout ---- */

wharf_str layout_default_id(wharf_req *req, wharf_str location_id)
{
    return W->mem->format(req, "lay_%s", location_id.n > 4 ? location_id.p + 4 : "");
}

void layouts_make_default(wharf_req *req, const wharf_str *location_ids, size_t n)
{
    static const char sql[] = QUERY_LAYOUTS_MAKE_DEFAULT;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids)),
              *checksums = W->mem->alloc(req, (n + 1) * sizeof(*checksums)), none = {"", 0};
    wharf_val args[6] = {val_text(W->req->organization(req)), val_null(),
        val_array(req, location_ids, n), val_null(), val_int(W->req->now_us(req)),
        val_text(W->req->actor(req))};

    for (size_t i = 0; i < n; i++) {
        ids[i] = layout_default_id(req, location_ids[i]);
        checksums[i] = layout_checksum(req, ids[i], WHARF_S("Default"), none, none, 0, NULL);
    }
    args[1] = val_array(req, ids, n);
    args[3] = val_array(req, checksums, n);
    W->db->later(req, sql, args, 6);
}

/* ---- locks ---- */

wharf_status layout_unlocked(wharf_req *req, wharf_str location_id)
{
    bool locked = false;
    uint32_t flags = 0;
    wharf_status s = directory.flags(req, location_id, &flags);

    if (s == WHARF_OK && org)
        s = org->setting(req, "layouts.locked", false, &locked);
    if (s == WHARF_OK && (locked || (flags & WHARF_LOCATION_LOCKED)))
        return W->err->fail(req, ERR_LAYOUT_LOCKED, NULL, NULL);
    return s;
}

/* ---- paths of names ---- */

static wharf_status child_by_name(wharf_req *req, wharf_str location_id, wharf_str parent,
    wharf_str name, bool *ret_found, wharf_str *ret_id)
{
    static const char sql[] = "SELECT id FROM locations.layout WHERE organization_id = $4::text "
                              "AND location_id = $1::text"
                              " AND (path = $2::text OR ($2::text = '' AND path IS NULL)) AND name "
                              "= $3::text AND deleted_at IS NULL LIMIT 2";
    wharf_val args[4] = {val_text(location_id), val_text(parent),
        val_text(W->mem->dup(req, name.p, name.n)), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    *ret_found = s == WHARF_OK && W->db->count(rows) == 1 && row_get_text(rows, 0, 0, ret_id);
    return s;
}

wharf_status layout_by_names(
    wharf_req *req, wharf_str location_id, wharf_str names, bool *ret_found, wharf_str *ret_id)
{
    wharf_status s = WHARF_OK;

    *ret_id = (wharf_str){"", 0};
    *ret_found = names.n && names.p[0] == '/';
    for (size_t at = 1; s == WHARF_OK && *ret_found && at < names.n;) {
        size_t end = at;

        while (end < names.n && names.p[end] != '/')
            end++;
        s = child_by_name(
            req, location_id, *ret_id, (wharf_str){names.p + at, end - at}, ret_found, ret_id);
        at = end + 1;
    }
    return s;
}

/* ---- the tree ---- */

struct node {
    wharf_str id, name, code, path;
    bool placed;
};

static void put_children(
    wharf_out *out, struct node *nodes, size_t n, wharf_str parent, unsigned depth)
{
    for (size_t i = 0; i < n && depth <= DEPTH_MAX; i++) {
        if (nodes[i].placed || !same(nodes[i].path, parent))
            continue;
        nodes[i].placed = true;
        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(nodes[i].id));
        W->json->put(out, "name", val_text(nodes[i].name));
        W->json->put(out, "code", val_text_or_null(nodes[i].code));
        W->json->open(out, "children", '[');
        put_children(out, nodes, n, nodes[i].id, depth + 1);
        W->json->close(out);
        W->json->close(out);
    }
}

wharf_status layouts_tree(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT id, name, coalesce(code, ''), coalesce(path, '') FROM locations.layout"
        " WHERE organization_id = $2::text AND location_id = $1::text AND deleted_at IS NULL"
        " ORDER BY position, id";
    const wharf_rec *location;
    const wharf_rows *rows;
    wharf_str id = {"", 0};
    struct node *nodes;
    wharf_out *out;
    wharf_status s;
    size_t n;

    W->req->param(req, "location", &id);
    s = W->res->fetch(req, "location", id, 0, &location);
    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows);
    nodes = W->mem->alloc(req, (n + 1) * sizeof(*nodes));
    for (size_t i = 0; i < n; i++) {
        row_get_text(rows, i, 0, &nodes[i].id);
        row_get_text(rows, i, 1, &nodes[i].name);
        row_get_text(rows, i, 2, &nodes[i].code);
        row_get_text(rows, i, 3, &nodes[i].path);
    }
    out = W->req->respond(req, 200, W->mem->format(req, "%zu layouts retrieved", n).p);
    W->json->open(out, NULL, '[');
    put_children(out, nodes, n, (wharf_str){"", 0}, 1);
    W->json->close(out);
    return WHARF_OK;
}
