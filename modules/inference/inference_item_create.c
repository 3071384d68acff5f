/* inference_item_create.c - POST /v0/ai/inferences/images/item-labels: one image becomes a row
 * (docs/spec/06-inference.md section 11). Leaves to others: fields (inference_item_facts.c), rules
 * of the row (inference_item_rules.c). */
#include <string.h>

#include "inference.h"

#include "inference.gen.h"

const char item_label_inner_kind[] = "inference.item_label";

/* ---- the image ---- */

/* Reads the image; one that is none fails the request. */
static wharf_status item_label_read_image(wharf_req *req, struct item_reading *r)
{
    struct picture *p = &r->picture;
    struct label_env env;
    wharf_status s;

    reading_env(req, r->table, r->wishes.country, &env);
    s = picture_read(req, p, WHARF_IMAGE_CODES | WHARF_IMAGE_TEXT, r->wishes.languages, 1);
    if (s != WHARF_OK)
        return s;
    if (picture_is_none(p))
        return images_fail(req, p);
    if (!p->read)
        return WHARF_OK;
    r->label = W->mem->alloc(req, sizeof(*r->label));
    r->page = W->mem->alloc(req, sizeof(*r->page));
    item_label_read(&env, p->read, &p->given, r->label);
    label_read(&env, p->read, &p->given, r->page);
    return item_label_supplier(req, r);
}

/* ---- the row ---- */

static wharf_status item_label_write(
    wharf_req *req, const wharf_json *body, struct item_reading *r, const wharf_rec **ret)
{
    static const char *const keys[] = {"location_id", "metadata"};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = ITEM_RESOURCE,
        .op = WHARF_CREATE,
        .kind = item_label_inner_kind,
        .context = r,
        .ret_rec = ret};
    wharf_status s = picture_keep(
        req, &r->picture, r->wishes.store_images, WHARF_S("item-label"), &r->file);

    if (s == WHARF_OK)
        s = create_row_body(req, body, keys, sizeof(keys) / sizeof(keys[0]), &w.body);
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

static wharf_status item_label_answer(
    wharf_req *req, const wharf_json *body, struct item_reading *r)
{
    static const struct create_words words = {"/v0/ai/inferences/images/item-labels",
        ITEM_LABEL_INFERENCE_STATUS, "Nothing was found on the label"};
    const wharf_rec *rec = NULL;
    wharf_status s = item_label_write(req, body, r, &rec);

    return s == WHARF_OK ? create_answer(req, ITEM_RESOURCE, W->res->id(rec), &words) : s;
}

wharf_status item_label_create(wharf_req *req, void *arg)
{
    struct item_reading *r = W->mem->alloc(req, sizeof(*r));
    const wharf_json *body;
    wharf_str location;
    size_t n;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    if (s == WHARF_OK)
        s = images_collect(req, body, 1, &r->picture, &n);
    if (s != WHARF_OK)
        return s;
    location = json_text(body, "location_id");
    s = wishes_of_settings(req, location, &r->wishes);
    if (s == WHARF_OK)
        s = images_take_values(
            req, W->json->get(body, "barcode_values"), "barcode_values", &r->picture.given);
    if (s == WHARF_OK)
        s = place_check(req, location, WHARF_S(""));
    if (s == WHARF_OK)
        s = inference_carriers->open(req, &r->table);
    if (s == WHARF_OK)
        s = images_bring(req, &r->picture, 1);
    if (s == WHARF_OK)
        s = item_label_read_image(req, r);
    return s == WHARF_OK ? item_label_answer(req, body, r) : s;
}
