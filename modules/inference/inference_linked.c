/* inference_linked.c - rows of other modules that a reading is about: shipments that go inside of
 * it, the location of its recipient, the tracker that follows it (docs/spec/06-inference.md
 * sections 2, 3, 5 and 6). */
#include "inference.h"

#include "inference.gen.h"

wharf_status linked_row(
    wharf_req *req, const char *resource, wharf_str id, uint32_t flags, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, resource, id, WHARF_SHOWN | flags, &rec);

    *ret = NULL;
    if (s == WHARF_NOT_FOUND || s == WHARF_DENIED) {
        W->err->clear(req);
        return WHARF_OK;
    }
    if (s != WHARF_OK)
        return s;
    W->res->encode(req, out, NULL, rec);
    return W->json->result(req, out, ret);
}

/* ---- shipments inside of it ---- */

static wharf_status children_check_one(
    wharf_req *req, wharf_str id, wharf_str location, const char *path)
{
    static const char *const statuses[] = {"created", "delivered", "return_to_sender"};
    const wharf_json *row;
    wharf_status s = linked_row(req, "shipment", id, 0, &row);

    if (s != WHARF_OK)
        return s;
    if (!row)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path, "%s names no shipment", path);
    if (!same(json_text(row, "location_id"), location))
        return W->err->fail(req, ERR_VALIDATION_FAILED, path,
            "%s is a shipment of another location than the reading", path);
    if (word_place(json_text(row, "status"), statuses, 3) == 3)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path,
            "%s is neither created, delivered nor return_to_sender", path);
    return WHARF_OK;
}

wharf_status children_check(
    wharf_req *req, const wharf_json *list, wharf_str tracker_type, wharf_str location)
{
    const wharf_json *ids = W->json->type(list) == WHARF_J_OBJECT ? W->json->get(list, "set")
                                                                  : list;
    wharf_status s = WHARF_OK;
    wharf_str id;
    size_t i = 0;

    if (!W->json->count(ids))
        return WHARF_OK;
    if (!is(tracker_type, "outbound"))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "child_shipments",
            "Only outbound trackers have child_shipments; send options.tracker.type outbound");
    for (const wharf_json *m = W->json->at(ids, 0); m && s == WHARF_OK; m = W->json->next(m), i++)
        if (W->json->text(m, &id))
            s = children_check_one(
                req, id, location, W->mem->format(req, "child_shipments.%zu", i).p);
    return s;
}

wharf_status children_join(wharf_req *req, const wharf_rec *rec, wharf_str shipment)
{
    const wharf_json *list = field_json(rec, SHIPPING_LABEL_INFERENCE_CHILD_SHIPMENTS), *body;
    wharf_status s = WHARF_OK;
    wharf_str id;

    if (!W->json->count(list) || !shipment.n)
        return WHARF_OK;
    s = W->json->parse(req, W->mem->format(req, "{\"parent_id\": \"%s\"}", shipment.p), &body);
    for (const wharf_json *m = W->json->at(list, 0); m && s == WHARF_OK; m = W->json->next(m))
        if (W->json->text(m, &id))
            s = W->res->update(req, "shipment", id, body, NULL);
    return s;
}

/* ---- where it goes ---- */

wharf_status destination_set(wharf_req *req, const struct wishes *w, wharf_rec *rec)
{
    wharf_str here = field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID), there = WHARF_S(""),
              contact = json_text(
                  field_json(rec, SHIPPING_LABEL_INFERENCE_RECIPIENT), "contact_id");
    const wharf_json *who = NULL, *places, *made = NULL;
    wharf_status s = WHARF_OK;

    if (w->reroute && inference_contacts && contact.n && here.n && !is(w->tracker_type, "outbound"))
        s = inference_contacts->who(req, contact, &who);
    if (s != WHARF_OK)
        return s;
    places = W->json->get(who, "locations");
    if (W->json->count(places) == 1 && W->json->text(W->json->at(places, 0), &there) &&
        !same(there, here))
        s = W->json->parse(req, W->mem->format(req, "{\"id\": \"%s\"}", there.p), &made);
    if (s == WHARF_OK)
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_DESTINATION_LOCATION, val_json(made));
    return s;
}

/* ---- its tracker ---- */

/* Makes a body of the contacts that were changed. Returns NULL when none was. */
static const wharf_json *linked_contacts(
    wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char *const keys[PARTIES] = {"recipient_contact_id", "sender_contact_id"};
    wharf_out *out = W->json->builder(req);
    const wharf_json *body = NULL;
    bool any = false;

    W->json->open(out, NULL, '{');
    for (int i = 0; i < PARTIES; i++) {
        if (!W->res->changed(old_rec, new_rec, party_contact_field(i)))
            continue;
        any = true;
        W->json->put(out, keys[i], val_text_or_null(field_text(new_rec, party_contact_field(i))));
    }
    W->json->close(out);
    return any && W->json->result(req, out, &body) == WHARF_OK ? body : NULL;
}

wharf_status linked_pass_on(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str tracker = field_text(new_rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID);
    const wharf_json *body = linked_contacts(req, old_rec, new_rec), *row = NULL;
    wharf_status s;

    if (!tracker.n || !body || !inference_trackers ||
        inference_keys->level(req, WHARF_S("trackers")) < WHARF_LEVEL_WRITE)
        return WHARF_OK;
    s = linked_row(req, "tracker", tracker, 0, &row);
    if (s != WHARF_OK || !is(json_text(row, "status"), "created"))
        return s;
    return W->res->update(req, "tracker", tracker, body, NULL);
}

/* Tells whether somebody has to decide something before the reading may have a tracker. That an
 * earlier one failed is no matter of the next one. */
static wharf_status linked_is_open(wharf_req *req, const wharf_rec *rec, bool *ret)
{
    struct wishes wishes;
    struct state st;
    wharf_status s;

    *ret = false;
    if (!is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "error"))
        return WHARF_OK;
    wishes_read(field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES), &wishes);
    s = state_judge(req, &wishes, rec, state_image_error(rec), &st);
    *ret = s == WHARF_OK && st.blocked;
    return s;
}

/* Completes the reading that a tracker names. */
static wharf_status linked_tracked(
    wharf_req *req, wharf_str inference_id, wharf_str tracker_id, wharf_str shipment_id)
{
    struct inner *made = W->mem->alloc(req, sizeof(*made));
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = RESOURCE,
        .op = WHARF_UPDATE,
        .id = inference_id,
        .kind = inference_inner_kind,
        .context = made};
    const wharf_rec *rec;
    bool open = false;
    wharf_status s;

    if (tracker_is_made(req, inference_id))
        return WHARF_OK; /* by this module, which tells the row itself */
    s = W->res->fetch(req, RESOURCE, inference_id, WHARF_FOR_UPDATE, &rec);
    if (s != WHARF_OK || field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID).n ||
        is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "processing"))
        return s;
    s = linked_is_open(req, rec, &open);
    if (s != WHARF_OK || open)
        return s;
    *made = (struct inner){.tracker_id = tracker_id, .shipment_id = shipment_id};
    s = children_join(req, rec, shipment_id);
    if (s == WHARF_OK)
        s = W->json->parse(req, WHARF_S("{}"), &w.body);
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* Refuses a reading that can have no tracker now. */
static wharf_status linked_refuse(wharf_req *req, const wharf_rec *rec)
{
    static const char path[] = "inference_id";
    bool open = false;
    wharf_status s;

    if (is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "processing"))
        return W->err->fail(req, ERR_INFERENCE_PROCESSING, path, NULL);
    if (field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID).n)
        return W->err->fail(req, ERR_INFERENCE_TRACKER_EXISTS, path,
            "The reading has a tracker already: %s",
            field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID).p);
    if (!field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER).n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "tracking_number",
            "The reading has no tracking number; send tracking_number");
    s = linked_is_open(req, rec, &open);
    return s == WHARF_OK && open ? W->err->fail(req, ERR_INFERENCE_UNRESOLVED_ERRORS, path, NULL)
                                 : s;
}

static wharf_status linked_order(
    wharf_req *req, wharf_str inference_id, const wharf_json *sent, const wharf_json **ret_body)
{
    static const char scope[] = "inferences:read";
    const wharf_rec *rec;
    wharf_status s;

    if (inference_keys->level(req, WHARF_S("inferences")) < WHARF_LEVEL_READ)
        return W->err->fail(req, ERR_SCOPE_ACCESS, scope, "The key lacks the scope %s", scope);
    s = W->res->fetch(req, RESOURCE, inference_id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "inference_id", "inference_id names no reading");
    }
    if (s == WHARF_OK)
        s = linked_refuse(req, rec);
    return s == WHARF_OK ? tracker_body(req, rec, sent, ret_body) : s;
}

const wharf_inference_ops_api linked_ops = {
    WHARF_HEAD(wharf_inference_ops_api), linked_tracked, linked_order};
