/* inference_shown.c - links to the images of a reading and its place, made when it is read
 * (docs/spec/06-inference.md sections 3 and 4.1). */
#include "inference.h"

#include "inference.gen.h"

wharf_str shown_link(wharf_req *req, wharf_str file)
{
    wharf_str url = WHARF_S("");

    if (!file.n)
        return url;
    if (inference_blob->link(req, file, WHARF_BLOB_GET, LINK_S, &url) == WHARF_OK)
        return url;
    W->err->clear(req); /* it was removed a moment ago */
    return WHARF_S("");
}

static void shown_put_image(wharf_req *req, wharf_out *out, const wharf_json *image, size_t i)
{
    static const char *const keys[] = {"document_classification", "scores", "selected", "error"};

    W->json->open(out, NULL, '{');
    W->json->put(out, "index", val_int((int64_t)i));
    W->json->put(out, "image_url", val_text_or_null(shown_link(req, json_text(image, "file"))));
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        W->json->put(out, keys[k], val_json(W->json->get(image, keys[k])));
    W->json->close(out);
}

static void shown_put(wharf_req *req, wharf_out *out, const wharf_json *images, wharf_field f)
{
    size_t i = 0, n = W->json->count(images);
    wharf_str url = WHARF_S("");

    if (f == SHIPPING_LABEL_INFERENCE_IMAGE_URL) {
        for (const wharf_json *m = W->json->at(images, 0); m; m = W->json->next(m))
            if (n == 1 || json_truth(W->json->get(m, "selected")))
                url = shown_link(req, json_text(m, "file"));
        W->json->put(out, NULL, val_text_or_null(url));
        return;
    }
    if (f == SHIPPING_LABEL_INFERENCE_IMAGES && n < 2) {
        W->json->put(out, NULL, val_null());
        return;
    }
    W->json->open(out, NULL, '[');
    for (const wharf_json *m = W->json->at(images, 0); m && n > 1; m = W->json->next(m), i++) {
        if (f == SHIPPING_LABEL_INFERENCE_IMAGES)
            shown_put_image(req, out, m, i);
        else if ((url = shown_link(req, json_text(m, "file"))).n)
            W->json->put(out, NULL, val_text(url));
    }
    W->json->close(out);
}

/* Shows the places of the readings; null where there is none, or nobody knows of places. */
static wharf_status shown_layouts(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));

    for (size_t i = 0; i < n; i++)
        ids[i] = field_text(recs[i], SHIPPING_LABEL_INFERENCE_LAYOUT_ID);
    if (inference_layouts)
        return inference_layouts->show(req, ids, n, outs);
    for (size_t i = 0; i < n; i++)
        W->json->put(outs[i], NULL, val_null());
    return WHARF_OK;
}

wharf_status inference_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    if (f == SHIPPING_LABEL_INFERENCE_LAYOUT)
        return shown_layouts(req, recs, n, outs);
    for (size_t i = 0; i < n; i++)
        shown_put(req, outs[i], field_json(recs[i], SHIPPING_LABEL_INFERENCE_IMAGES_KEPT), f);
    return WHARF_OK;
}
