/* inference_item_facts.c - what the label of an item says, as fields of its row
 * (docs/spec/06-inference.md section 11). Leaves to others: reading it (label_item.c), and whether
 * it says anything (inference_item_rules.c). */
#include "inference.h"

#include "inference.gen.h"

enum { QUANTITY_SCALE = 4, QUANTITY_DIGITS = 11 };

/* ---- who supplies it ---- */

/* Returns the name behind a caption, else that of the sender. */
static wharf_str item_label_supplier_name(wharf_req *req, const struct item_reading *r)
{
    const struct label_party *sender = &r->page->sender;

    return facts_cut(req, r->label->supplier.confidence ? r->label->supplier.value
                          : sender->business.confidence ? sender->business.value
                          : sender->name.confidence     ? sender->name.value
                                                        : WHARF_S(""));
}

wharf_status item_label_supplier(wharf_req *req, struct item_reading *r)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *party = NULL, *address;
    wharf_str name = item_label_supplier_name(req, r);
    wharf_status s = party_of_label(req, &r->page->sender, true, &party);

    r->supplier = NULL;
    if (s != WHARF_OK)
        return s;
    address = W->json->get(party, "address");
    if (!name.n && json_is_null(address))
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    W->json->put(out, "name", val_text_or_null(name));
    W->json->put(out, "address", val_json(address));
    W->json->close(out);
    return W->json->result(req, out, &r->supplier);
}

/* ---- fields ---- */

static void item_label_set_texts(wharf_req *req, const struct item_label *l, wharf_rec *rec)
{
    const struct {
        const struct label_fact *fact;
        wharf_field field;
    } all[] = {{&l->item_name, ITEM_LABEL_INFERENCE_ITEM_NAME},
        {&l->carton_number, ITEM_LABEL_INFERENCE_CARTON_NUMBER},
        {&l->lot_number, ITEM_LABEL_INFERENCE_LOT_NUMBER},
        {&l->serial_number, ITEM_LABEL_INFERENCE_SERIAL_NUMBER},
        {&l->gtin, ITEM_LABEL_INFERENCE_GTIN}, {&l->sku, ITEM_LABEL_INFERENCE_SKU},
        {&l->sscc, ITEM_LABEL_INFERENCE_SSCC},
        {&l->production_date, ITEM_LABEL_INFERENCE_PRODUCTION_DATE},
        {&l->expiry_date, ITEM_LABEL_INFERENCE_EXPIRY_DATE}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].fact->confidence)
            W->res->set(rec, all[i].field, val_text(facts_cut(req, all[i].fact->value)));
}

static const wharf_json *item_label_texts(wharf_req *req, const struct label_fact *list, size_t n)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++)
        W->json->put(out, NULL, val_text(facts_cut(req, list[i].value)));
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

/* Reads "12", "0012" or "2.5"; more digits than a field holds are none. */
static bool item_label_quantity(wharf_str s, int64_t *ret)
{
    size_t whole = 0, parts = 0, i = 0;

    *ret = 0;
    while (i < s.n && s.p[i] == '0')
        i++;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, whole++)
        if (whole < QUANTITY_DIGITS)
            *ret = *ret * 10 + (s.p[i] - '0');
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, parts++)
            if (parts < QUANTITY_SCALE)
                *ret = *ret * 10 + (s.p[i] - '0');
    for (; parts < QUANTITY_SCALE; parts++)
        *ret *= 10;
    return i == s.n && s.n && whole <= QUANTITY_DIGITS;
}

void item_label_set(wharf_req *req, const struct item_reading *r, wharf_rec *rec)
{
    static const struct item_label nothing;
    const struct item_label *l = r->label ? r->label : &nothing;
    int64_t quantity;

    item_label_set_texts(req, l, rec);
    W->res->set(rec, ITEM_LABEL_INFERENCE_RAW_TEXT, val_text(r->label ? l->raw_text : WHARF_S("")));
    W->res->set(
        rec, ITEM_LABEL_INFERENCE_BARCODES, val_json(facts_barcodes(req, l->codes, l->n_codes, 0)));
    W->res->set(rec, ITEM_LABEL_INFERENCE_ITEM_NUMBERS,
        val_json(item_label_texts(req, l->item_numbers, l->n_item_numbers)));
    W->res->set(rec, ITEM_LABEL_INFERENCE_PURCHASE_ORDERS,
        val_json(item_label_texts(req, l->purchase_orders, l->n_purchase_orders)));
    if (l->quantity.confidence && item_label_quantity(l->quantity.value, &quantity))
        W->res->set(rec, ITEM_LABEL_INFERENCE_QUANTITY, val_decimal(quantity, QUANTITY_SCALE));
    W->res->set(rec, ITEM_LABEL_INFERENCE_WEIGHT, val_json(facts_weight(req, &l->weight)));
    W->res->set(
        rec, ITEM_LABEL_INFERENCE_DIMENSIONS, val_json(facts_dimensions(req, &l->dimensions)));
    W->res->set(rec, ITEM_LABEL_INFERENCE_SUPPLIER, val_json(r->supplier));
    W->res->set(rec, ITEM_LABEL_INFERENCE_IMAGE_FILE, val_text_or_null(r->file));
    if (r->picture.read)
        W->res->set(rec, ITEM_LABEL_INFERENCE_ENGINE,
            val_json(facts_engine(req, r->picture.read, r->wishes.languages)));
}
