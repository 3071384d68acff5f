/* container_rules.c - the rules of containers (docs/spec/02-places-and-people.md section 8):
 * numbers, places, what a change does to the shipments inside, in one transaction: out, in, then
 * the update for all that are left. */
#include <stdlib.h>

#include "containers.h"
#include "containers.gen.h"

enum { NUMBER_TRIES = 8 }; /* numbers that are tried until one is free */

/* From check to written of one container's write: its history, and what is done to the shipments
 * once the row is there. */
struct plan {
    wharf_str id;
    struct members members;
    struct history_lines lines;
    wharf_tracking_update update; /* head.size 0: none */
    bool moved, bare_status; /* bare_status: a status alone, without update or comment */
    bool quiet; /* recipients are not told */
    wharf_str add_comment, remove_comment;
};

static struct plan *plan_of(const wharf_rec *rec)
{
    static const char kind[] = "containers.plan";

    return W->res->scratch(rec, kind, sizeof(struct plan));
}

/* ---- normalize: status and comment are other ways to say tracking_update ---- */

static bool container_has(const wharf_json *object, const char *key)
{
    return object && W->json->type(object) == WHARF_J_OBJECT &&
           !json_is_null(W->json->get(object, key));
}

/* Joins the update with the status and the comment that stood beside it. */
static wharf_status join_update(wharf_req *req, wharf_rec *rec, const wharf_json *update,
    const wharf_json *status, const wharf_json *comment)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *whole;
    wharf_status s;

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = update ? W->json->at(update, 0) : NULL; m; m = W->json->next(m)) {
        if (!json_is_null(m))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    if (status && !container_has(update, "status"))
        W->json->put(out, "status", val_json(status));
    if (comment && !container_has(update, "comment"))
        W->json->put(out, "comment", val_json(comment));
    W->json->close(out);
    plan_of(rec)->bare_status = status && !update && !comment;
    s = W->json->result(req, out, &whole);
    if (s == WHARF_OK)
        W->res->set(rec, CONTAINER_TRACKING_UPDATE, val_json(whole));
    W->res->drop(rec, "status");
    return s;
}

static wharf_status container_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *status = W->res->member(new_rec, "status"),
                     *update = W->res->member(new_rec, "tracking_update");
    const wharf_json *comment = W->res->member(new_rec, "comment"),
                     *number = W->res->member(new_rec, "tracking_number");
    bool moves = W->res->member(new_rec, "add") || W->res->member(new_rec, "remove");
    wharf_str s;

    if (number && W->json->text(number, &s) && s.n)
        W->res->set(
            new_rec, CONTAINER_TRACKING_NUMBER, val_text(containers_carriers->normalize(req, s)));
    if (comment && (W->json->type(comment) != WHARF_J_STRING || (moves && !status)))
        comment = NULL;
    if ((!status && !comment) || (update && W->json->type(update) != WHARF_J_OBJECT))
        return WHARF_OK;
    if (status && (!W->json->text(status, &s) || !containers_shipments->canonical(s).n ||
                      is(s, "rates_generated")))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "status",
            "status must be a status of shipments other than rates_generated");
    return join_update(req, new_rec, update, status, comment);
}

/* ---- check ---- */

/* Numbers that no container has, made for the rows of a set before their rules run. */
struct numbers {
    wharf_str *free;
    size_t n;
};

static struct numbers *container_numbers_of(const wharf_rec *rec)
{
    static const char kind[] = "containers.numbers";

    return W->res->shared(rec, kind, sizeof(struct numbers));
}

/* Makes n numbers, and keeps those that no container has. */
static wharf_status make_numbers(wharf_req *req, size_t n, struct numbers *ret)
{
    static const char sql[] =
        "SELECT x.number FROM unnest((SELECT $1::text[])) x(number) WHERE NOT EXISTS ("
        "SELECT 1 FROM containers.of_number(x.number) c WHERE c.organization_id = $2::text)";
    const wharf_rows *rows;
    wharf_status s;

    ret->free = W->mem->alloc(req, (n + 1) * sizeof(*ret->free));
    for (size_t i = 0; i < n; i++)
        ret->free[i] = containers_carriers->internal_number(req);
    s = query_about(req, sql, val_array(req, ret->free, n).u.s, &rows);
    ret->n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; i < ret->n; i++)
        ret->free[i] = row_text(rows, i, 0);
    return s;
}

static bool lacks_number(uint32_t op, const wharf_rec *rec)
{
    return (op == WHARF_CREATE || W->res->sent(rec, CONTAINER_TRACKING_NUMBER)) &&
           !field_text(rec, CONTAINER_TRACKING_NUMBER).n;
}

static wharf_status settle_number(wharf_req *req, uint32_t op, wharf_rec *rec)
{
    struct numbers *numbers = container_numbers_of(rec);

    if (!lacks_number(op, rec))
        return WHARF_OK;
    for (int i = 0; !numbers->n && i < NUMBER_TRIES; i++) {
        wharf_status s = make_numbers(req, 1, numbers);

        if (s != WHARF_OK)
            return s;
    }
    if (numbers->n)
        W->res->set(rec, CONTAINER_TRACKING_NUMBER, val_text(numbers->free[--numbers->n]));
    return WHARF_OK;
}

static wharf_status check_coordinates(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *v = field_json(rec, CONTAINER_COORDINATES);
    int64_t d[2];

    if (!v || !W->res->sent(rec, CONTAINER_COORDINATES))
        return WHARF_OK;
    if (W->json->decimal(W->json->at(v, 0), 9, &d[0]) &&
        W->json->decimal(W->json->at(v, 1), 9, &d[1]) && llabs(d[0]) <= 90000000000LL &&
        llabs(d[1]) <= 180000000000LL)
        return WHARF_OK;
    return W->err->fail(
        req, ERR_VALIDATION_FAILED, "coordinates", "coordinates must be [latitude, longitude]");
}

static void container_settle_search(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *metadata = field_json(rec, CONTAINER_METADATA);
    wharf_str all = WHARF_S(""), s;

    for (const wharf_json *m = metadata ? W->json->at(metadata, 0) : NULL; m;
         m = W->json->next(m)) {
        if (W->json->text(m, &s) && s.n)
            all = all.n ? W->mem->format(req, "%s %s", all.p, s.p) : s;
    }
    W->res->set(rec, CONTAINER_METADATA_TEXT, val_text_or_null(all));
}

static wharf_status read_comments(
    wharf_req *req, const wharf_rec *rec, struct plan *plan, wharf_str *ret_update)
{
    const wharf_json *v = W->res->input(rec, CONTAINER_COMMENT);
    wharf_str s = WHARF_S("");

    plan->add_comment = plan->remove_comment = *ret_update = WHARF_S("");
    if (!v)
        return WHARF_OK;
    if (W->json->text(v, &s)) {
        plan->add_comment = plan->remove_comment = *ret_update = s;
    } else if (W->json->type(v) == WHARF_J_OBJECT) {
        plan->add_comment = json_text(v, "add");
        plan->remove_comment = json_text(v, "remove");
        *ret_update = json_text(v, "update");
    } else {
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "comment", "comment must be text or {add, remove, update}");
    }
    return WHARF_OK;
}

static wharf_status container_check_write(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec, struct plan *plan)
{
    bool completed = containers_shipments->group(field_text(old_rec, CONTAINER_STATUS)) >=
                     WHARF_GROUP_GOOD;
    wharf_str update_comment, id = W->res->id(rec);
    wharf_status s = settle_number(req, op, rec);

    if (s == WHARF_OK)
        s = check_coordinates(req, rec);
    if (s == WHARF_OK)
        s = containers_layouts->settle(
            req, op, old_rec, rec, CONTAINER_LOCATION_ID, CONTAINER_LAYOUT_ID, WHARF_PLACE_ACTIVE);
    if (s == WHARF_OK)
        s = read_comments(req, rec, plan, &update_comment);
    if (s == WHARF_OK && op == WHARF_CREATE)
        W->res->set(rec, CONTAINER_MEMBERS_COUNT, val_int(0));
    if (s == WHARF_OK)
        s = containers_members_check(req, op, rec, completed, &plan->members);
    if (s == WHARF_OK)
        s = containers_apply(req, op, old_rec, rec, plan->bare_status, &plan->lines, &plan->update);
    if (s != WHARF_OK)
        return s;
    if (plan->update.head.size && !plan->update.comment.n)
        plan->update.comment = update_comment;
    container_settle_search(req, rec);
    if (plan->members.n_added || plan->members.n_removed) /* so that the row changes */
        W->res->set(
            rec, CONTAINER_MEMBERS_COUNT, val_int(field_int(rec, CONTAINER_MEMBERS_COUNT) + 1));
    plan->id = id;
    plan->quiet = W->res->sent(rec, CONTAINER_NOTIFY_CUSTOMER) &&
                  !field_int(rec, CONTAINER_NOTIFY_CUSTOMER);
    plan->moved = op == WHARF_UPDATE && (W->res->changed(old_rec, rec, CONTAINER_LOCATION_ID) ||
                                            W->res->changed(old_rec, rec, CONTAINER_LAYOUT_ID));
    return WHARF_OK;
}

static wharf_status container_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct plan *plan = plan_of(new_rec ? new_rec : old_rec);

    *plan = (struct plan){.bare_status = plan->bare_status};
    return op == WHARF_DELETE ? WHARF_OK : container_check_write(req, op, old_rec, new_rec, plan);
}

/* Asks before for the rows of a set what their rules ask for. */
static wharf_status container_look_ahead(
    wharf_req *req, uint32_t op, const wharf_rec *const *recs, size_t n)
{
    size_t lacking = 0;
    wharf_status s = containers_layouts->ahead(
        req, recs, n, CONTAINER_LOCATION_ID, CONTAINER_LAYOUT_ID);

    for (size_t i = 0; i < n; i++)
        lacking += lacks_number(op, recs[i]);
    return s == WHARF_OK && lacking ? make_numbers(req, lacking, container_numbers_of(recs[0])) : s;
}

/* Checks the rows of a set. Rows that put shipments in or take them out go one by one: which
 * shipment is in which container is read and written row by row. */
static wharf_status container_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; op == WHARF_CREATE && i < n; i++) {
        if (!W->res->input(new_recs[i], CONTAINER_ADD))
            continue;
        containers_many->row_by_row(req);
        return WHARF_CONFLICT;
    }
    if (op != WHARF_DELETE)
        s = container_look_ahead(req, op, (const wharf_rec *const *)new_recs, n);
    return s == WHARF_OK
               ? check_each(req, containers_many, op, old_recs, new_recs, n, container_check)
               : s;
}

/* ---- written: the shipments ---- */

static wharf_status container_take_out(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_str comment)
{
    const wharf_shipment_write w = {.head = WHARF_HEAD(wharf_shipment_write),
        .source = "container",
        .set_container = true,
        .container_id = WHARF_S(""),
        .skip_completed = true};
    wharf_tracking_update u = wharf_update_of(
        WHARF_S("removed_from_container"), comment, W->req->now_us(req));
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = containers_write_shipment(req, ids[i], &u, &w);
    return s;
}

static wharf_status container_put_in(wharf_req *req, const struct plan *p, const wharf_rec *rec)
{
    const wharf_shipment_write w = {.head = WHARF_HEAD(wharf_shipment_write),
        .source = "container",
        .set_container = true,
        .container_id = p->id,
        .place = field_text(rec, CONTAINER_LOCATION_ID).n > 0,
        .location_id = field_text(rec, CONTAINER_LOCATION_ID),
        .layout_id = field_text(rec, CONTAINER_LAYOUT_ID)};
    wharf_tracking_update u = wharf_update_of(
        WHARF_S("added_to_container"), p->add_comment, W->req->now_us(req));
    wharf_status s = WHARF_OK;

    u.container_id = p->id;
    u.location_id = w.location_id;
    u.layout_id = w.layout_id;
    for (size_t i = 0; s == WHARF_OK && i < p->members.n_added; i++)
        s = containers_write_shipment(req, p->members.added[i], &u, &w);
    return s;
}

/* Copies the container's update, or only its new place, to all that are inside. */
static wharf_status container_copy(wharf_req *req, const struct plan *p, const wharf_rec *rec)
{
    const wharf_shipment_write w = {.head = WHARF_HEAD(wharf_shipment_write),
        .source = "container",
        .skip_completed = true,
        .quiet = p->quiet,
        .place = p->moved,
        .location_id = field_text(rec, CONTAINER_LOCATION_ID),
        .layout_id = field_text(rec, CONTAINER_LAYOUT_ID)};
    wharf_str *ids;
    size_t n;
    wharf_status s;

    if (!p->update.head.size && !p->moved)
        return WHARF_OK;
    s = containers_inside(req, p->id, &ids, &n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = containers_write_shipment(req, ids[i], p->update.head.size ? &p->update : NULL, &w);
    return s;
}

static wharf_status tell_members(wharf_req *req, const struct plan *p)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    if (!p->members.n_added && !p->members.n_removed)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    W->json->open(out, "added_shipment_ids", '[');
    for (size_t i = 0; i < p->members.n_added; i++)
        W->json->put(out, NULL, val_text(p->members.added[i]));
    W->json->close(out);
    W->json->open(out, "removed_shipment_ids", '[');
    for (size_t i = 0; i < p->members.n_removed; i++)
        W->json->put(out, NULL, val_text(p->members.removed[i]));
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK
               ? W->event->emit(req, "container.contents_changed", "container", p->id, extra)
               : s;
}

/* Takes out what is inside of containers that are deleted. together: they are rows of a set. */
static wharf_status empty_all(wharf_req *req, const wharf_rec *const *recs, size_t n, bool together)
{
    static const char sql[] = QUERY_INSIDE_EACH;
    const wharf_val args[3] = {
        val_rec_ids(req, recs, n), val_int(MEMBERS_MAX), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_str *ids;
        size_t inside = containers_read_ids(req, row_json(rows, i, 0), &ids);

        if (together)
            containers_many->at(req, i);
        s = container_take_out(req, ids, inside, WHARF_S(""));
    }
    return s;
}

/* Writes what a container that is made or changed does to shipments. In a new one there are those
 * that it adds, and no others. */
static wharf_status container_follow(wharf_req *req, uint32_t op, const wharf_rec *rec)
{
    const struct plan *p = plan_of(rec);
    wharf_status s;

    if (op == WHARF_CREATE && !p->members.n_added)
        return WHARF_OK;
    s = container_take_out(req, p->members.removed, p->members.n_removed, p->remove_comment);
    if (s == WHARF_OK)
        s = container_put_in(req, p, rec);
    if (s == WHARF_OK)
        s = container_copy(req, p, rec);
    return s == WHARF_OK ? tell_members(req, p) : s;
}

static wharf_status written_all(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n, bool together)
{
    const struct history_lines **lines = W->mem->alloc(req, (n + 1) * sizeof(*lines));
    wharf_status s;

    if (op == WHARF_DELETE)
        return empty_all(req, old_recs, n, together);
    for (size_t i = 0; i < n; i++)
        lines[i] = &plan_of(new_recs[i])->lines;
    s = containers_write_lines(req, lines, n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (together)
            containers_many->at(req, i);
        s = container_follow(req, op, new_recs[i]);
    }
    return s;
}

static wharf_status container_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    return written_all(req, op, &old_rec, &new_rec, 1, false);
}

static wharf_status container_written_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, const wharf_rec *const *new_recs, size_t n)
{
    return written_all(req, op, old_recs, new_recs, n, true);
}

/* ---- shown ---- */

/* Writes the shipment whole; one at a location that the caller does not reach is left out. */
static void container_put_shipment(wharf_req *req, wharf_str id, wharf_out *out)
{
    const wharf_rec *shipment;

    if (W->res->fetch(req, "shipment", id, 0, &shipment) == WHARF_OK)
        W->res->encode(req, out, NULL, shipment);
    else
        W->err->clear(req);
}

static void put_shipments(wharf_req *req, const wharf_json *ids, wharf_out *out)
{
    W->json->open(out, NULL, '[');
    for (const wharf_json *id = W->json->at(ids, 0); id; id = W->json->next(id)) {
        wharf_str text;

        if (W->json->text(id, &text))
            container_put_shipment(req, text, out);
    }
    W->json->close(out);
}

/* Writes what is inside of each container: ids, or whole shipments with include_shipments. */
static wharf_status container_put_members(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    static const char sql[] = QUERY_INSIDE_EACH;
    wharf_val args[3] = {
        val_rec_ids(req, recs, n), val_int(MEMBERS_MAX), val_text(W->req->organization(req))};
    bool whole = param_truth(req, "include_shipments");
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (whole)
            put_shipments(req, row_json(rows, i, 0), outs[i]);
        else
            W->json->put(outs[i], NULL, val_json(row_json(rows, i, 0)));
    }
    return s;
}

static wharf_status container_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    return f == CONTAINER_TRACKING_UPDATES ? containers_show_updates(req, recs, n, outs)
                                           : container_put_members(req, recs, n, outs);
}

const wharf_hooks containers_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = container_normalize,
    .check = container_check,
    .written = container_written,
    .compute = container_compute,
    .check_many = container_check_many,
    .written_many = container_written_many};

/* ---- locations and layouts ---- */

static wharf_status container_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] = "SELECT 1 FROM containers.container WHERE organization_id = $2::text "
                              "AND location_id = $1::text"
                              " AND deleted_at IS NULL"
                              " AND NOT filters ? 'completed' LIMIT 1";

    return containers_places->in_use(req, W->res->id(old_rec), "containers", sql);
}

static wharf_status container_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE containers.container SET layout_id = $2::text, version = version + 1"
        " WHERE organization_id = $3::text AND layout_id = ANY ((SELECT $1::text[])::text[]) AND "
        "deleted_at IS NULL";

    return containers_layouts->carry(req, old_rec, sql);
}

const wharf_hooks containers_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = container_location_check, .ops = WHARF_DELETE};
const wharf_hooks containers_layout_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = container_layout_written, .ops = WHARF_DELETE};
