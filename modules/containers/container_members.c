/* container_members.c - shipments that are put into a container and taken out
 * (docs/spec/02-places-and-people.md section 8): all of a call or nothing. */
#include <stdlib.h>

#include "containers.h"
#include "containers.gen.h"

static bool container_members_among(wharf_str id, const wharf_str *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (same(ids[i], id))
            return true;
    }
    return false;
}

size_t containers_read_ids(wharf_req *req, const wharf_json *list, wharf_str **ret)
{
    size_t n = 0;

    *ret = W->mem->alloc(req, ((list ? W->json->count(list) : 0) + 1) * sizeof(**ret));
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        if (W->json->text(e, &(*ret)[n]))
            n++;
    }
    return n;
}

/* Checks a shipment that is to be put in and tells what is wrong; *ret_in: it is in already. */
static wharf_status check_added(
    wharf_req *req, wharf_str container, wharf_str id, size_t i, bool *ret_in)
{
    static const char sql[] = "SELECT container_id, status FROM shipments.shipment"
                              " WHERE organization_id = $2::text AND id = $1::text";
    const char *path = W->mem->format(req, "add.%zu", i).p;
    const wharf_rec *shipment;
    const wharf_rows *rows;
    wharf_str in;
    wharf_status s = W->res->fetch(req, "shipment", id, 0, &shipment);

    *ret_in = false;
    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    in = row_text(rows, 0, 0);
    *ret_in = in.n && same(in, container);
    if (in.n && !*ret_in)
        return W->err->fail(req, ERR_CONTAINER_SHIPMENT_ASSIGNED, path, NULL);
    if (!*ret_in && containers_shipments->group(row_text(rows, 0, 1)) >= WHARF_GROUP_GOOD)
        return W->err->fail(req, ERR_CONTAINER_SHIPMENT_COMPLETED, path, NULL);
    return WHARF_OK;
}

static int container_members_by_bytes(const void *a, const void *b)
{
    return strcmp(((const wharf_str *)a)->p, ((const wharf_str *)b)->p);
}

/* Locks the shipments. Who puts the same shipments into containers waits here; the shipments' own
 * rows are locked when they are written, after their trackers. */
static wharf_status lock_all(wharf_req *req, const wharf_str *ids, size_t n)
{
    wharf_str *sorted = W->mem->alloc(req, (n + 1) * sizeof(*sorted));
    wharf_status s = WHARF_OK;

    memcpy(sorted, ids, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), container_members_by_bytes);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = W->db->lock(req, "membership", sorted[i]);
    return s;
}

static wharf_status check_all_added(
    wharf_req *req, wharf_str container, const wharf_str *ids, size_t n, struct members *ret)
{
    wharf_status s = lock_all(req, ids, n);

    ret->added = W->mem->alloc(req, (n + 1) * sizeof(*ret->added));
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        bool in;

        s = check_added(req, container, ids[i], i, &in);
        if (s == WHARF_OK && !in)
            ret->added[ret->n_added++] = ids[i];
    }
    return s;
}

wharf_status containers_inside(wharf_req *req, wharf_str id, wharf_str **ret_ids, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id FROM shipments.shipment WHERE organization_id = $2::text"
        " AND container_id = $1::text AND deleted_at IS NULL ORDER BY tracker_id, id";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    *ret_ids = W->mem->alloc(req, (*ret_n + 1) * sizeof(**ret_ids));
    for (size_t i = 0; i < *ret_n; i++)
        (*ret_ids)[i] = row_text(rows, i, 0);
    return s;
}

wharf_status containers_members_check(
    wharf_req *req, uint32_t op, wharf_rec *rec, bool completed, struct members *ret)
{
    wharf_str *add, *remove, *inside, id = W->res->id(rec);
    size_t n_add = containers_read_ids(req, W->res->input(rec, CONTAINER_ADD), &add), n_inside = 0;
    size_t n_remove = containers_read_ids(req, W->res->input(rec, CONTAINER_REMOVE), &remove);
    wharf_status s = WHARF_OK;

    *ret = (struct members){0};
    if (!n_add && !n_remove)
        return WHARF_OK;
    for (size_t i = 0; i < n_add; i++) {
        if (container_members_among(add[i], remove, n_remove))
            return W->err->fail(req, ERR_VALIDATION_FAILED, W->mem->format(req, "add.%zu", i).p,
                "%s stands in add and in remove", add[i].p);
    }
    if (n_add && completed)
        return W->err->fail(req, ERR_CONTAINER_COMPLETED, "add", NULL);
    if (op == WHARF_UPDATE)
        s = containers_inside(req, id, &inside, &n_inside);
    ret->removed = W->mem->alloc(req, (n_remove + 1) * sizeof(*ret->removed));
    for (size_t i = 0; s == WHARF_OK && i < n_inside; i++) {
        if (container_members_among(inside[i], remove, n_remove))
            ret->removed[ret->n_removed++] = inside[i];
    }
    if (s == WHARF_OK)
        s = check_all_added(req, id, add, n_add, ret);
    if (s == WHARF_OK && n_inside + ret->n_added - ret->n_removed > MEMBERS_MAX)
        return W->err->fail(req, ERR_CONTAINER_TOO_MANY, "add", NULL);
    return s;
}

/* ---- writing a shipment ---- */

static void put_update(wharf_out *out, const wharf_tracking_update *u)
{
    if (u->status.n)
        W->json->put(out, "status", val_text(u->status));
    if (u->comment.n)
        W->json->put(out, "comment", val_text(u->comment));
    if (u->dated)
        W->json->put(out, "occurred_at", val_time(u->occurred_us));
    if (u->location_id.n)
        W->json->put(out, "location_id", val_text(u->location_id));
    if (u->layout_id.n)
        W->json->put(out, "layout_id", val_text(u->layout_id));
    if (u->container_id.n)
        W->json->put(out, "container_id", val_text(u->container_id));
    if (u->vehicle_id.n)
        W->json->put(out, "vehicle_id", val_text(u->vehicle_id));
    containers_put_details(out, u);
}

wharf_status containers_write_shipment(wharf_req *req, wharf_str shipment_id,
    const wharf_tracking_update *u, const wharf_shipment_write *w)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *update = NULL;
    wharf_status s = WHARF_OK;

    if (u && (u->status.n || u->comment.n)) {
        W->json->open(out, NULL, '{');
        put_update(out, u);
        W->json->close(out);
        s = W->json->result(req, out, &update);
    }
    return s == WHARF_OK ? containers_shipments->update(req, shipment_id, update, w) : s;
}

/* ---- the service ---- */

static wharf_status container_of(wharf_req *req, wharf_str shipment_id, wharf_str *ret)
{
    static const char sql[] =
        "SELECT container_id FROM shipments.shipment"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, shipment_id, &rows);

    *ret = s == WHARF_OK && W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

static wharf_status container_members_add(
    wharf_req *req, wharf_str container_id, const wharf_str *ids, size_t n)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->open(out, "add", '[');
    for (size_t i = 0; i < n; i++)
        W->json->put(out, NULL, val_text(ids[i]));
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(req, out, &body);
    return s == WHARF_OK ? W->res->update(req, "container", container_id, body, NULL) : s;
}

const wharf_containers_membership_api containers_membership = {
    WHARF_HEAD(wharf_containers_membership_api), container_of, container_members_add};
