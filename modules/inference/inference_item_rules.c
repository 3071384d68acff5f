/* inference_item_rules.c - rules of readings of item labels: what is open, what an update may
 * change, what a delete erases (docs/spec/06-inference.md section 11). */
#include "inference.h"

#include "inference.gen.h"
#include "label_inside.h"

enum { GTIN_DIGITS = 14 };

/* ---- what it says ---- */

/* Tells whether the row says anything of an item. */
static bool item_label_says(const wharf_rec *rec)
{
    static const wharf_field values[] = {ITEM_LABEL_INFERENCE_ITEM_NAME,
        ITEM_LABEL_INFERENCE_CARTON_NUMBER, ITEM_LABEL_INFERENCE_LOT_NUMBER,
        ITEM_LABEL_INFERENCE_SERIAL_NUMBER, ITEM_LABEL_INFERENCE_GTIN, ITEM_LABEL_INFERENCE_SKU,
        ITEM_LABEL_INFERENCE_QUANTITY, ITEM_LABEL_INFERENCE_WEIGHT, ITEM_LABEL_INFERENCE_DIMENSIONS,
        ITEM_LABEL_INFERENCE_PRODUCTION_DATE, ITEM_LABEL_INFERENCE_EXPIRY_DATE,
        ITEM_LABEL_INFERENCE_SSCC, ITEM_LABEL_INFERENCE_SUPPLIER};
    wharf_val v;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (W->res->get(rec, values[i], &v))
            return true;
    return W->json->count(field_json(rec, ITEM_LABEL_INFERENCE_ITEM_NUMBERS)) ||
           W->json->count(field_json(rec, ITEM_LABEL_INFERENCE_PURCHASE_ORDERS));
}

static wharf_status item_label_settle_errors(wharf_req *req, bool unreadable, wharf_rec *rec)
{
    bool says = item_label_says(rec);
    wharf_str text = says         ? WHARF_S("[]")
                     : unreadable ? WHARF_S("[\"image_unreadable\"]")
                                  : WHARF_S("[\"no_fields\"]");
    const wharf_json *errors;
    wharf_status s = W->json->parse(req, text, &errors);

    if (s != WHARF_OK)
        return s;
    W->res->set(rec, ITEM_LABEL_INFERENCE_ERRORS, val_json(errors));
    W->res->set(
        rec, ITEM_LABEL_INFERENCE_STATUS, val_text(says ? WHARF_S("completed") : WHARF_S("error")));
    return WHARF_OK;
}

static bool item_label_was_unreadable(const wharf_rec *rec)
{
    wharf_str text;

    return W->json->text(W->json->at(field_json(rec, ITEM_LABEL_INFERENCE_ERRORS), 0), &text) &&
           is(text, "image_unreadable");
}

/* ---- searches ---- */

static wharf_str item_label_join(wharf_req *req, wharf_str all, const wharf_json *list)
{
    wharf_str text;

    for (const wharf_json *m = W->json->at(list, 0); m; m = W->json->next(m))
        if (W->json->text(m, &text))
            all = W->mem->format(req, "%s %s", all.p, text.p);
    return all;
}

static void item_label_settle_search(wharf_req *req, wharf_rec *rec)
{
    static const wharf_field texts[] = {ITEM_LABEL_INFERENCE_ITEM_NAME,
        ITEM_LABEL_INFERENCE_CARTON_NUMBER, ITEM_LABEL_INFERENCE_LOT_NUMBER,
        ITEM_LABEL_INFERENCE_SERIAL_NUMBER, ITEM_LABEL_INFERENCE_GTIN, ITEM_LABEL_INFERENCE_SKU};
    wharf_str all = WHARF_S("");

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        all = W->mem->format(req, "%s %s", all.p, field_text(rec, texts[i]).p);
    all = item_label_join(req, all, field_json(rec, ITEM_LABEL_INFERENCE_ITEM_NUMBERS));
    all = item_label_join(req, all, field_json(rec, ITEM_LABEL_INFERENCE_PURCHASE_ORDERS));
    W->res->set(rec, ITEM_LABEL_INFERENCE_SEARCH_TEXT, val_text(all));
}

/* ---- an update ---- */

static wharf_status item_label_normalize(wharf_req *req, uint32_t op, wharf_rec *rec)
{
    if (op == WHARF_UPDATE && (W->res->member(rec, "image") || W->res->member(rec, "image_url")))
        return W->err->add(req, ERR_VALIDATION_FAILED,
            W->res->member(rec, "image") ? "image" : "image_url",
            "The image of a reading can't be changed; make a new one");
    return WHARF_OK;
}

static bool item_label_checked(wharf_str digits)
{
    return label_gs1_check(digits.p, digits.n - 1) == digits.p[digits.n - 1];
}

/* Checks the numbers that have check digits, and fills a short one up. */
static wharf_status item_label_take_numbers(wharf_req *req, wharf_rec *rec)
{
    wharf_str gtin = field_text(rec, ITEM_LABEL_INFERENCE_GTIN),
              sscc = field_text(rec, ITEM_LABEL_INFERENCE_SSCC);

    if (gtin.n && (gtin.n < 8 || (gtin.n > 8 && gtin.n < 12) || !item_label_checked(gtin)))
        W->err->add(req, ERR_VALIDATION_FAILED, "gtin",
            "gtin must have 8, 12, 13 or 14 digits, the last of which is the check digit");
    if (sscc.n && !item_label_checked(sscc))
        W->err->add(req, ERR_VALIDATION_FAILED, "sscc",
            "sscc must have 18 digits, the last of which is the check digit");
    if (gtin.n && gtin.n < GTIN_DIGITS)
        W->res->set(rec, ITEM_LABEL_INFERENCE_GTIN,
            val_text(W->mem->format(
                req, "%.*s%s", (int)(GTIN_DIGITS - gtin.n), "00000000000000", gtin.p)));
    return W->err->current(req);
}

/* Takes the address of the supplier as the directory of locations keeps it. One without name and
 * address is none. */
static wharf_status item_label_take_supplier(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_json *supplier = field_json(rec, ITEM_LABEL_INFERENCE_SUPPLIER), *kept,
                     *address = W->json->get(supplier, "address");
    wharf_out *out = W->json->builder(req);
    wharf_str whole;
    wharf_status s;

    if (!W->res->changed(old_rec, rec, ITEM_LABEL_INFERENCE_SUPPLIER))
        return WHARF_OK;
    if (json_is_null(address) && !json_text(supplier, "name").n)
        W->res->set(rec, ITEM_LABEL_INFERENCE_SUPPLIER, val_null());
    if (json_is_null(address) || !inference_places)
        return WHARF_OK;
    s = inference_places->address(req, address, WHARF_S(""), "supplier.address", &whole);
    if (s == WHARF_OK)
        s = W->json->parse(req, whole, &kept);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "name", val_json(W->json->get(supplier, "name")));
    W->json->put(out, "address", val_json(kept));
    W->json->close(out);
    s = W->json->result(req, out, &kept);
    if (s == WHARF_OK)
        W->res->set(rec, ITEM_LABEL_INFERENCE_SUPPLIER, val_json(kept));
    return s;
}

static wharf_status item_label_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_status s = item_label_take_numbers(req, rec);

    if (s == WHARF_OK)
        s = item_label_take_supplier(req, old_rec, rec);
    if (s == WHARF_OK)
        s = item_label_settle_errors(req, item_label_was_unreadable(old_rec), rec);
    if (s == WHARF_OK)
        item_label_settle_search(req, rec);
    return s;
}

static wharf_status item_label_fill(wharf_req *req, const struct item_reading *r, wharf_rec *rec)
{
    wharf_status s;

    item_label_set(req, r, rec);
    s = item_label_settle_errors(
        req, !r->page || is(z(r->page->classification), "unreadable"), rec);
    if (s == WHARF_OK)
        item_label_settle_search(req, rec);
    return s;
}

static wharf_status item_label_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const struct item_reading *r;

    if (op != WHARF_CREATE)
        return op == WHARF_UPDATE ? item_label_update(req, old_rec, new_rec) : WHARF_OK;
    r = W->res->context(new_rec, item_label_inner_kind);
    if (!r)
        return W->err->fail(req, ERR_INFERENCE_IMAGE_REQUIRED, NULL, NULL);
    return item_label_fill(req, r, new_rec);
}

/* ---- a delete ---- */

static wharf_status item_label_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] = QUERY_BLANK_ITEM;
    wharf_str file;
    wharf_status s = WHARF_OK;

    (void)new_rec;
    if (op != WHARF_DELETE)
        return WHARF_OK;
    file = field_text(old_rec, ITEM_LABEL_INFERENCE_IMAGE_FILE);
    if (file.n)
        s = inference_blob->erase(req, file);
    if (s == WHARF_OK || s == WHARF_NOT_FOUND)
        s = query_about(req, sql, W->res->id(old_rec), NULL);
    return s;
}

/* ---- the link ---- */

static wharf_status item_label_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    (void)f; /* image_url is the only one */
    for (size_t i = 0; i < n; i++)
        W->json->put(outs[i], NULL,
            val_text_or_null(
                shown_link(req, field_text(recs[i], ITEM_LABEL_INFERENCE_IMAGE_FILE))));
    return WHARF_OK;
}

const wharf_hooks item_label_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = item_label_normalize,
    .check = item_label_check,
    .written = item_label_written,
    .compute = item_label_compute};
