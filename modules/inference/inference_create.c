/* inference_create.c - POST /v1/inferences/images/shipping-labels: images of a request become a row
 * (docs/spec/06-inference.md sections 2 and 5). Leaves to others: reading them later
 * (inference_later.c). */
#include "inference.h"

#include "inference.gen.h"

/* ---- what the client read ---- */

wharf_status create_take_given(wharf_req *req, const wharf_json *body, struct reading *r)
{
    const wharf_json *list = W->json->get(body, "barcode_values"), *first = W->json->at(list, 0);
    bool nested = false;
    wharf_status s = WHARF_OK;
    size_t i = 0;

    if (!json_is_null(list) && W->json->type(list) != WHARF_J_ARRAY)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "barcode_values", "barcode_values must be a list");
    for (const wharf_json *m = first; m; m = W->json->next(m))
        nested = nested || json_is_null(m) || W->json->type(m) == WHARF_J_ARRAY;
    if (nested && (!r->wishes.barcodes_from_all || W->json->count(list) != r->n))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "barcode_values",
            r->wishes.barcodes_from_all
                ? "barcode_values must have one list for each image"
                : "Lists for each image need options.images.barcodes_from_all: true");
    if (!nested) {
        for (; i < r->n && s == WHARF_OK; i++)
            s = images_take_values(req, list, "barcode_values", &r->pictures[i].given);
        return s;
    }
    for (const wharf_json *m = first; m && s == WHARF_OK; m = W->json->next(m), i++)
        s = images_take_values(req, json_is_null(m) ? NULL : m,
            W->mem->format(req, "barcode_values.%zu", i).p, &r->pictures[i].given);
    return s;
}

/* ---- the row ---- */

wharf_status create_row_body(wharf_req *req, const wharf_json *body, const char *const *keys,
    size_t n, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < n; i++)
        if (W->json->get(body, keys[i]))
            W->json->put(out, keys[i], val_json(W->json->get(body, keys[i])));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status create_row(
    wharf_req *req, const wharf_json *body, struct reading *r, const wharf_rec **ret_rec)
{
    static const char *const keys[] = {
        "location_id", "layout_id", "child_shipments", "metadata", "notes", "disable_webhooks"};
    struct inner *in = W->mem->alloc(req, sizeof(*in));
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = RESOURCE,
        .op = WHARF_CREATE,
        .kind = inference_inner_kind,
        .context = in,
        .ret_rec = ret_rec};
    wharf_status s = create_row_body(req, body, keys, sizeof(keys) / sizeof(keys[0]), &w.body);

    in->reading = r;
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* Tells whether a tracker is made at once: wanted, and nothing is open that somebody decides. */
static bool create_tracks(const struct reading *r, const wharf_rec *rec)
{
    return tracker_missing(&r->wishes, rec) &&
           is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "extracted") &&
           !state_has(rec, "manual_match");
}

wharf_status create_tracker(wharf_req *req, const struct reading *r, const wharf_rec *rec)
{
    if (!create_tracks(r, rec))
        return WHARF_OK;
    return r->wishes.synchronously ? tracker_make(req, W->res->id(rec))
                                   : tracker_later(req, W->res->id(rec));
}

wharf_status create_answer(
    wharf_req *req, const char *resource, wharf_str id, const struct create_words *words)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, resource, id, WHARF_SHOWN, &rec);

    if (s != WHARF_OK)
        return s;
    W->res->encode(req,
        W->req->respond(
            req, 201, is(field_text(rec, words->status), "error") ? words->open : "Label read"),
        NULL, rec);
    W->req->created(req, W->mem->format(req, "%s/%s", words->path, id.p));
    return WHARF_OK;
}

/* Makes row and tracker in one transaction, and answers. */
static wharf_status create_write(wharf_req *req, const wharf_json *body, struct reading *r)
{
    static const struct create_words words = {"/v1/inferences/images/shipping-labels",
        SHIPPING_LABEL_INFERENCE_STATUS, "Label read, review needed"};
    const wharf_rec *rec = NULL;
    wharf_status s = reading_keep(req, r);

    if (s == WHARF_OK)
        s = create_row(req, body, r, &rec);
    if (s == WHARF_OK && json_truth(W->json->get(body, "disable_webhooks")))
        state_quiet(req, W->res->id(rec));
    if (s == WHARF_OK)
        s = state_tell(req, NULL, rec); /* behind the event of the create */
    if (s == WHARF_OK)
        s = create_tracker(req, r, rec);
    return s == WHARF_OK ? create_answer(req, RESOURCE, W->res->id(rec), &words) : s;
}

wharf_status inference_create(wharf_req *req, void *arg)
{
    struct reading *r = W->mem->alloc(req, sizeof(*r));
    const wharf_json *body;
    wharf_str location;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    if (s == WHARF_OK)
        s = images_collect(req, body, IMAGES_MAX, r->pictures, &r->n);
    if (s != WHARF_OK)
        return s;
    location = json_text(body, "location_id");
    s = wishes_settle(req, W->json->get(body, "options"), location, &r->settled);
    if (s != WHARF_OK)
        return s;
    wishes_read(r->settled, &r->wishes);
    s = create_take_given(req, body, r);
    if (s == WHARF_OK)
        s = place_check(req, location, json_text(body, "layout_id"));
    if (s == WHARF_OK)
        s = children_check(
            req, W->json->get(body, "child_shipments"), r->wishes.tracker_type, location);
    if (s == WHARF_OK)
        s = inference_carriers->open(req, &r->table);
    if (s == WHARF_OK)
        s = images_bring(req, r->pictures, r->n);
    if (s == WHARF_OK && inference_http->respond_async(req))
        return later_create(req, body, r);
    if (s == WHARF_OK)
        s = reading_run(req, r);
    return s == WHARF_OK ? create_write(req, body, r) : s;
}
