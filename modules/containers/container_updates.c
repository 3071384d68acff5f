/* container_updates.c - the container's own history: tracking updates, positions
 * (docs/spec/02-places-and-people.md section 8). */
#include "containers.h"
#include "containers.gen.h"

/* ---- lines ---- */

static void container_updates_add_line(wharf_req *req, struct history_lines *lines, wharf_rec *rec,
    const wharf_tracking_update *u, wharf_str status)
{
    int64_t count = field_int(rec, CONTAINER_HISTORY_COUNT) + 1;

    lines->list[lines->n++] = (struct history_line){
        W->req->new_id(req, "tup"), W->res->id(rec), status, *u, count};
    W->res->set(rec, CONTAINER_HISTORY_COUNT, val_int(count));
}

void containers_put_details(wharf_out *out, const wharf_tracking_update *u)
{
    if (u->address)
        W->json->put(out, "address", val_json(u->address));
    if (u->coordinates)
        W->json->put(out, "coordinates", val_json(u->coordinates));
    if (u->images)
        W->json->put(out, "images", val_json(u->images));
}

static void container_updates_put_line(wharf_out *out, const struct history_line *line)
{
    const wharf_tracking_update *u = &line->update;

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(line->id));
    W->json->put(out, "owner_id", val_text(line->container));
    W->json->put(out, "status", val_text_or_null(line->status));
    W->json->put(out, "comment", val_text_or_null(u->comment));
    W->json->put(out, "occurred_ms", val_int(u->occurred_us / 1000));
    W->json->put(out, "location_id", val_text_or_null(u->location_id));
    W->json->put(out, "layout_id", val_text_or_null(u->layout_id));
    W->json->put(out, "user_id", val_text_or_null(u->user_id));
    W->json->put(out, "vehicle_id", val_text_or_null(u->vehicle_id));
    containers_put_details(out, u);
    W->json->put(out, "position", val_int(line->position));
    W->json->close(out);
}

wharf_status containers_write_lines(
    wharf_req *req, const struct history_lines *const *all, size_t n)
{
    static const char sql[] = QUERY_TRACKING_UPDATES_ADD;
    wharf_out *out = W->json->writer(req);
    wharf_val args[4] = {val_text(W->req->organization(req)), val_null(),
        val_time(W->req->now_us(req)), val_text_or_null(W->req->actor(req))};
    size_t lines = 0;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < all[i]->n; k++, lines++)
            container_updates_put_line(out, &all[i]->list[k]);
    }
    W->json->close(out);
    args[1] = val_text(W->json->result_text(out));
    return lines ? W->db->exec(req, sql, args, 4, NULL) : WHARF_OK;
}

/* ---- what an update changes ---- */

/* Reads when the newest line was. 0: there is none. */
static wharf_status container_updates_newest(wharf_req *req, wharf_str id, int64_t *ret_us)
{
    static const char sql[] =
        "SELECT occurred_at FROM containers.tracking_update WHERE organization_id = $2::text"
        " AND owner_id = $1::text ORDER BY occurred_at DESC, position DESC LIMIT 1";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);
    wharf_val v;

    *ret_us = s == WHARF_OK && W->db->count(rows) && W->db->value(rows, 0, 0, WHARF_V_TIME_US, &v)
                  ? v.u.i
                  : 0;
    return s;
}

static wharf_status container_updates_set_status(
    wharf_req *req, wharf_rec *rec, wharf_str from, wharf_str to)
{
    int64_t changes = field_int(rec, CONTAINER_STATUS_CHANGES);
    const wharf_json *filters;
    wharf_status s;

    if (containers_shipments->group(to) == WHARF_GROUP_BEFORE && !same(from, to))
        return W->err->fail(req, ERR_SHIPMENT_STATUS_INVALID, "tracking_update.status", NULL);
    if (containers_shipments->group(from) >= WHARF_GROUP_GOOD && !same(from, to) &&
        !field_int(rec, CONTAINER_FORCE_UPDATE))
        return W->err->fail(req, ERR_CONTAINER_COMPLETED, "tracking_update.status", NULL);
    if (!same(from, to) && changes >= STATUS_CHANGES_MAX)
        return W->err->fail(req, ERR_CONTAINER_STATUS_LIMIT, "tracking_update.status", NULL);
    s = containers_shipments->filters(req, to, &filters);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, CONTAINER_STATUS, val_text(to));
    W->res->set(rec, CONTAINER_FILTERS, val_json(filters));
    W->res->set(rec, CONTAINER_STATUS_CHANGES, val_int(changes + !same(from, to)));
    return WHARF_OK;
}

/* Sets the update's place as the container's. */
static wharf_status set_place(wharf_req *req, wharf_rec *rec, wharf_tracking_update *u)
{
    wharf_str before = field_text(rec, CONTAINER_LOCATION_ID);
    wharf_status s;

    if (u->layout_id.n && !u->location_id.n)
        u->location_id = before;
    s = containers_layouts->stand(req, &u->location_id, u->layout_id, "tracking_update.");
    if (s != WHARF_OK || !u->location_id.n)
        return s;
    W->res->set(rec, CONTAINER_LOCATION_ID, val_text(u->location_id));
    if (u->layout_id.n || !same(before, u->location_id))
        W->res->set(rec, CONTAINER_LAYOUT_ID, val_text_or_null(u->layout_id));
    return WHARF_OK;
}

static wharf_status apply_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec,
    const wharf_json *input, struct history_lines *lines, wharf_tracking_update *u)
{
    wharf_str from = old_rec ? field_text(old_rec, CONTAINER_STATUS) : WHARF_S("created");
    int64_t last = lines->n ? lines->list[0].update.occurred_us : 0;
    bool late;
    wharf_status s = containers_shipments->read(req, input, "tracking_update.", u);

    if (s == WHARF_OK && old_rec)
        s = container_updates_newest(req, W->res->id(rec), &last);
    if (s != WHARF_OK)
        return s;
    late = u->dated && u->occurred_us < last;
    if (!late && u->status.n)
        s = container_updates_set_status(req, rec, from, u->status);
    if (s == WHARF_OK && !late)
        s = set_place(req, rec, u);
    if (s == WHARF_OK && !late && u->coordinates)
        W->res->set(rec, CONTAINER_COORDINATES, val_json(u->coordinates));
    if (s == WHARF_OK)
        container_updates_add_line(req, lines, rec, u, u->status.n ? u->status : from);
    return s;
}

/* Applies a position alone, which leaves a point in the history at most every 30 seconds. */
static wharf_status apply_position(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec, struct history_lines *lines)
{
    const wharf_json *at = field_json(rec, CONTAINER_COORDINATES);
    wharf_tracking_update u = wharf_update_of(WHARF_S(""), WHARF_S(""), W->req->now_us(req));
    int64_t last;
    wharf_status s;

    if (!at || !old_rec || !W->res->changed(old_rec, rec, CONTAINER_COORDINATES))
        return WHARF_OK;
    s = container_updates_newest(req, W->res->id(rec), &last);
    if (s != WHARF_OK || u.occurred_us < last + POSITION_SECONDS * 1000000LL)
        return s;
    u.coordinates = at;
    container_updates_add_line(req, lines, rec, &u, field_text(old_rec, CONTAINER_STATUS));
    return WHARF_OK;
}

/* Tells whether a status that was sent alone is the one that the container has: sending back what
 * was read is no news. */
static bool repeats_status(const wharf_rec *old_rec, const wharf_json *input, bool bare_status)
{
    return bare_status && old_rec &&
           same(field_text(old_rec, CONTAINER_STATUS), json_text(input, "status"));
}

wharf_status containers_apply(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec,
    bool bare_status, struct history_lines *lines, wharf_tracking_update *ret_update)
{
    const wharf_json *input = W->res->input(rec, CONTAINER_TRACKING_UPDATE);
    wharf_tracking_update first = wharf_update_of(WHARF_S(""), WHARF_S(""), W->req->now_us(req));
    wharf_status s = WHARF_OK;

    *ret_update = (wharf_tracking_update){0};
    if (op == WHARF_CREATE) {
        const wharf_json *filters;

        W->res->set(rec, CONTAINER_HISTORY_COUNT, val_int(0));
        W->res->set(rec, CONTAINER_STATUS_CHANGES, val_int(0));
        W->res->set(rec, CONTAINER_STATUS, val_text(WHARF_S("created")));
        s = containers_shipments->filters(req, WHARF_S("created"), &filters);
        if (s == WHARF_OK)
            W->res->set(rec, CONTAINER_FILTERS, val_json(filters));
        container_updates_add_line(req, lines, rec, &first, WHARF_S("created"));
    }
    if (s != WHARF_OK || !input || repeats_status(old_rec, input, bare_status))
        return s == WHARF_OK ? apply_position(req, old_rec, rec, lines) : s;
    if (W->json->type(input) != WHARF_J_OBJECT)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "tracking_update", "tracking_update must be an object");
    ret_update->head = first.head;
    return apply_update(req, old_rec, rec, input, lines, ret_update);
}

wharf_status containers_show_updates(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    static const char sql[] = QUERY_TRACKING_UPDATES;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    wharf_val args[3];
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(recs[i]);
    args[0] = val_ids(req, ids, n);
    args[1] = val_int(UPDATES_SHOWN);
    args[2] = val_text(W->req->organization(req));
    s = W->db->query(req, sql, args, 3, &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(row_json(rows, i, 0)));
    return s;
}
