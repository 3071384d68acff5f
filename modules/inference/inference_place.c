/* inference_place.c - the place where a label is read: what its location says about readings, and
 * whether location and layout fit (docs/spec/06-inference.md section 2). */
#include "inference.h"

#include "inference.gen.h"

/* Reads a row of the module locations as linked_row(); NULL in *ret also where it is not loaded. */
static wharf_status inference_place_row(
    wharf_req *req, const char *resource, wharf_str id, uint32_t flags, const wharf_json **ret)
{
    *ret = NULL;
    return inference_places && id.n ? linked_row(req, resource, id, flags, ret) : WHARF_OK;
}

wharf_status place_read(wharf_req *req, wharf_str location, struct place *ret)
{
    const wharf_json *row, *settings;
    wharf_status s = inference_place_row(req, "location", location, WHARF_WITH_DELETED, &row);

    *ret = (struct place){.country = WHARF_S("")};
    if (s != WHARF_OK || !row)
        return s;
    settings = W->json->get(W->json->get(row, "settings"), "inferences");
    ret->settings = json_is_null(settings) ? NULL : settings;
    ret->address = W->json->get(row, "address");
    ret->country = json_text(ret->address, "country_code");
    return WHARF_OK;
}

static wharf_status place_check_layout(wharf_req *req, wharf_str location, wharf_str layout)
{
    const wharf_json *row;
    wharf_status s = inference_place_row(req, "layout", layout, 0, &row);

    if (s == WHARF_OK && !row)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "layout_id", "layout_id names no layout");
    if (s == WHARF_OK && !same(json_text(row, "location_id"), location))
        return W->err->fail(req, ERR_INFERENCE_LAYOUT_MISMATCH, "layout_id", NULL);
    return s;
}

wharf_status place_check(wharf_req *req, wharf_str location, wharf_str layout)
{
    uint32_t flags = 0;
    wharf_status s = WHARF_OK;

    if (location.n && inference_places)
        s = inference_places->flags(req, location, &flags);
    if (s == WHARF_OK && location.n && !(flags & WHARF_LOCATION_KNOWN))
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "location_id", "location_id names no location");
    if (s == WHARF_OK && location.n)
        s = W->req->need_location(req, location);
    return s == WHARF_OK && layout.n ? place_check_layout(req, location, layout) : s;
}

wharf_status place_settle(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    bool moved = W->res->changed(old_rec, new_rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID),
         other = W->res->changed(old_rec, new_rec, SHIPPING_LABEL_INFERENCE_LAYOUT_ID);
    wharf_str layout = field_text(new_rec, SHIPPING_LABEL_INFERENCE_LAYOUT_ID);

    if (moved && !other && !W->res->sent(new_rec, SHIPPING_LABEL_INFERENCE_LAYOUT_ID)) {
        W->res->set(new_rec, SHIPPING_LABEL_INFERENCE_LAYOUT_ID, val_null());
        return WHARF_OK;
    }
    return (moved || other) && layout.n
               ? place_check_layout(
                     req, field_text(new_rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID), layout)
               : WHARF_OK;
}
