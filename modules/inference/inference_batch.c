/* inference_batch.c - items of batches that create a reading: accepted with the item, read by the
 * job of inference_later.c (docs/spec/06-inference.md section 6 'Batches', docs/spec/10-batches.md
 * section 12.7). Nothing is fetched and read in the transaction of the item. */
#include "inference.h"

#include "inference.gen.h"

/* ---- accepting ---- */

struct batch_sent { /* between the hooks of a create */
    struct reading reading;
    const wharf_json *image, *image_url, *barcode_values, *options;
};

static struct batch_sent *batch_sent_of(const wharf_rec *rec)
{
    static const char kind[] = "inference.batch";

    return W->res->scratch(rec, kind, sizeof(struct batch_sent));
}

void batch_note_sent(const wharf_rec *rec)
{
    struct batch_sent *sent = batch_sent_of(rec);

    sent->image = W->res->member(rec, "image");
    sent->image_url = W->res->member(rec, "image_url");
    sent->barcode_values = W->res->member(rec, "barcode_values");
    sent->options = W->res->member(rec, "options");
}

/* Makes the body of what was sent of images. */
static wharf_status batch_body(
    wharf_req *req, const struct batch_sent *sent, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "image", val_json(sent->image));
    W->json->put(out, "image_url", val_json(sent->image_url));
    W->json->put(out, "barcode_values", val_json(sent->barcode_values));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Judges the images that were sent themselves; what is to be fetched is judged by the job. Their
 * bytes are let go: a set of items would hold too many files until it is written. */
static wharf_status batch_try(wharf_req *req, struct reading *r)
{
    const struct picture *first = &r->pictures[0];
    wharf_status s = WHARF_OK;
    size_t failed = 0;

    for (size_t i = 0; i < r->n && s == WHARF_OK; i++) {
        struct picture *p = &r->pictures[i];

        if (p->is_url)
            continue;
        s = images_decode(req, p);
        if (p->bytes)
            inference_blob->abort(req, p->bytes);
        p->bytes = NULL;
        failed += p->error != NULL;
    }
    return s == WHARF_OK && failed == r->n ? images_fail(req, first) : s;
}

wharf_status batch_accept(wharf_req *req, wharf_rec *rec)
{
    struct batch_sent *sent = batch_sent_of(rec);
    struct reading *r = &sent->reading;
    wharf_str location = field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID);
    const wharf_json *body;
    wharf_status s = batch_body(req, sent, &body);

    if (s == WHARF_OK)
        s = images_collect(req, body, IMAGES_MAX, r->pictures, &r->n);
    if (s == WHARF_OK)
        s = wishes_settle(req, sent->options, location, &r->settled);
    if (s != WHARF_OK)
        return s;
    wishes_read(r->settled, &r->wishes);
    s = create_take_given(req, body, r);
    if (s == WHARF_OK)
        s = place_check(req, location, field_text(rec, SHIPPING_LABEL_INFERENCE_LAYOUT_ID));
    if (s == WHARF_OK)
        s = children_check(req, field_json(rec, SHIPPING_LABEL_INFERENCE_CHILD_SHIPMENTS),
            r->wishes.tracker_type, location);
    if (s == WHARF_OK)
        s = batch_try(req, r);
    if (s != WHARF_OK)
        return s;
    facts_set(req, r, rec);
    state_set(req, &(struct state){.n = 0}, rec, "processing");
    return WHARF_OK;
}

/* ---- keeping what was accepted ---- */

static wharf_status batch_store(wharf_req *req, struct picture *p, size_t i)
{
    wharf_status s;

    if (p->is_url || p->error)
        return WHARF_OK;
    s = images_decode(req, p);
    return s == WHARF_OK && !p->error
               ? inference_blob->finish(req, p->bytes, W->mem->format(req, "label-%zu", i),
                     WHARF_S("application/octet-stream"), 0, &p->file)
               : s;
}

wharf_status batch_keep(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] = QUERY_KEEP_IMAGES;
    struct reading *r = &batch_sent_of(rec)->reading;
    wharf_out *out = W->json->builder(req);
    const wharf_json *images;
    wharf_status s = WHARF_OK;
    bool any = false;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < r->n && s == WHARF_OK; i++) {
        s = batch_store(req, &r->pictures[i], i);
        any = any || r->pictures[i].file.n;
        later_put(out, r, &r->pictures[i]);
    }
    W->json->close(out);
    if (s == WHARF_OK)
        s = W->json->result(req, out, &images);
    if (s == WHARF_OK) {
        const wharf_val values[4] = {val_text(W->res->id(rec)), val_text(W->req->organization(req)),
            val_json(images), val_bool(any)};

        s = W->db->exec(req, sql, values, 4, NULL);
    }
    return s == WHARF_OK
               ? later_enqueue(req, W->res->id(rec), inference_keys->caller(req)->key_id, false)
               : s;
}
