/* batch.c - shipments of batches and containers (docs/spec/10-batches.md section 8.1): who is in
 * one is not changed through a batch, and container_id puts a shipment into one. */
#include "containers.h"
#include "containers.gen.h"

/* Opens a container that takes shipments, at the place that was said. */
static wharf_status open_container(wharf_req *req, wharf_str id, wharf_str location)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "container", id, WHARF_FOR_UPDATE, &rec);

    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "container_id", "There is no container %s", id.p);
    }
    if (s != WHARF_OK)
        return s;
    if (location.n && !same(location, field_text(rec, CONTAINER_LOCATION_ID)))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "container_id",
            "The container is not at the location %s", location.p);
    if (containers_shipments->group(field_text(rec, CONTAINER_STATUS)) >= WHARF_GROUP_GOOD)
        return W->err->fail(req, ERR_CONTAINER_COMPLETED, "container_id", NULL);
    return WHARF_OK;
}

/* Makes the item without what is said of the container. */
static wharf_status plain_item(wharf_req *req, const wharf_json *item, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(item, 0); m; m = W->json->next(m)) {
        if (!is(W->json->key(m), "container_id") && !is(W->json->key(m), "id"))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static wharf_status in_none(wharf_req *req, wharf_str shipment)
{
    wharf_str in = WHARF_S("");
    wharf_status s = containers_membership.container_of(req, shipment, &in);

    return s == WHARF_OK && in.n ? W->err->fail(req, ERR_SHIPMENT_IN_CONTAINER, "id", NULL) : s;
}

static wharf_status batch_put_in(
    wharf_req *req, const wharf_json *item, wharf_str id, wharf_str container)
{
    const wharf_json *body;
    const wharf_rec *rec = NULL;
    bool known = id.n > 0, made = !known;
    wharf_status s = open_container(req, container, json_text(item, "location_id"));

    if (s == WHARF_OK)
        s = plain_item(req, item, &body);
    if (s == WHARF_OK)
        s = made ? containers_shipments->create(req, body, &rec, &known)
                 : W->res->update(req, "shipment", id, body, &rec);
    if (s == WHARF_OK && made && known)
        s = in_none(req, W->res->id(rec));
    if (s != WHARF_OK)
        return s;
    id = W->res->id(rec);
    s = containers_membership.add(req, container, &id, 1);
    if (s == WHARF_OK)
        containers_batch->done(req, id, known ? "updated" : "created");
    return s;
}

static wharf_status shipment_item(wharf_req *req, const char *action, const wharf_json *item)
{
    wharf_str id = json_text(item, "id"), container = json_text(item, "container_id");
    wharf_status s = id.n ? in_none(req, id) : WHARF_OK;

    (void)action;
    return s == WHARF_OK && container.n ? batch_put_in(req, item, id, container) : s;
}

/* Leaves to shipment_item what it has a say in: new shipments that are put into a container. */
static wharf_status shipment_items(
    wharf_req *req, const char *action, const wharf_json *const *items, size_t n)
{
    (void)action;
    for (size_t i = 0; i < n; i++) {
        if (json_text(items[i], "container_id").n || json_text(items[i], "id").n)
            containers_batch->leave(req, i);
    }
    return WHARF_OK;
}

const wharf_hooks containers_shipment_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .batch_item = shipment_item, .batch_items = shipment_items};
