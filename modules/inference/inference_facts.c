/* inference_facts.c - what a label says as fields of the row, and what follows of them: carrier,
 * hash, words for searches (docs/spec/06-inference.md section 3). */
#include <stdlib.h>
#include <string.h>

#include "inference.h"

#include "inference.gen.h"

enum { HASH_DIGITS = 32, TEXT_MAX = 191 };

static const char *const source_names[] = {"barcode", "ocr", "request"};

/* ---- where a value comes from ---- */

static void facts_put_box(wharf_out *out, const wharf_image_box *b)
{
    if (!b->w || !b->h) {
        W->json->put(out, "box", val_null());
        return;
    }
    W->json->open(out, "box", '[');
    W->json->put(out, NULL, val_int(b->x));
    W->json->put(out, NULL, val_int(b->y));
    W->json->put(out, NULL, val_int(b->w));
    W->json->put(out, NULL, val_int(b->h));
    W->json->close(out);
}

static void facts_put_source(wharf_out *out, const char *key, const struct label_fact *f, int image)
{
    if (!f->confidence)
        return;
    W->json->open(out, key, '{');
    W->json->put(out, "confidence", val_decimal(f->confidence, 3));
    W->json->put(out, "source", val_text(z(source_names[f->source % 3])));
    W->json->put(out, "image_index", f->source == LABEL_REQUEST ? val_null() : val_int(image));
    facts_put_box(out, &f->box);
    W->json->put(out, "raw", val_text_or_null(f->raw));
    W->json->close(out);
}

enum { PARTY_SOURCES = 10, PARTY_WHOLE = 4 }; /* those before the parts of the address */

static void facts_put_party_sources(
    wharf_req *req, wharf_out *out, const struct reading *r, int which)
{
    const struct label_party *p = which == RECIPIENT ? &r->label->recipient : &r->label->sender;
    const struct {
        const char *name;
        const struct label_fact *fact;
    } all[PARTY_SOURCES] = {{"name", &p->name}, {"business", &p->business}, {"phone", &p->phone},
        {"email", &p->email}, {"address.line1", &p->line1}, {"address.line2", &p->line2},
        {"address.city", &p->city}, {"address.state_code", &p->state_code},
        {"address.postal_code", &p->postal_code}, {"address.country_code", &p->country_code}};

    for (size_t i = 0; i < (r->wishes.parse[which] ? PARTY_SOURCES : PARTY_WHOLE); i++)
        facts_put_source(out, W->mem->format(req, "%s.%s", party_names[which], all[i].name).p,
            all[i].fact, r->choice.selected);
}

struct named_fact {
    const char *name;
    const struct label_fact *fact;
    wharf_field field;
};

/* Lists the facts that are one text each. */
static size_t facts_list(const struct label *l, struct named_fact all[12])
{
    const struct named_fact list[] = {
        {"tracking_number", &l->tracking_number, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER},
        {"provider_id", &l->provider_id, SHIPPING_LABEL_INFERENCE_PROVIDER_ID},
        {"service_level_name", &l->service_level_name, SHIPPING_LABEL_INFERENCE_SERVICE_LEVEL_NAME},
        {"provider_service_level_id", &l->provider_service_level_id,
            SHIPPING_LABEL_INFERENCE_PROVIDER_SERVICE_LEVEL_ID},
        {"ship_date", &l->ship_date, SHIPPING_LABEL_INFERENCE_SHIP_DATE},
        {"delivery_date", &l->delivery_date, SHIPPING_LABEL_INFERENCE_DELIVERY_DATE},
        {"purchase_order", &l->purchase_order, SHIPPING_LABEL_INFERENCE_PURCHASE_ORDER},
        {"order_number", &l->order_number, SHIPPING_LABEL_INFERENCE_ORDER_NUMBER},
        {"invoice_number", &l->invoice_number, SHIPPING_LABEL_INFERENCE_INVOICE_NUMBER},
        {"rma_number", &l->rma_number, SHIPPING_LABEL_INFERENCE_RMA_NUMBER},
        {"reference_number", &l->reference_number, SHIPPING_LABEL_INFERENCE_REFERENCE_NUMBER},
        {"account_id", &l->account_id, SHIPPING_LABEL_INFERENCE_ACCOUNT_ID}};

    memcpy(all, list, sizeof(list));
    return sizeof(list) / sizeof(list[0]);
}

static const wharf_json *facts_sources(wharf_req *req, const struct reading *r)
{
    const struct label *l = r->label;
    struct named_fact all[12];
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;
    size_t n = facts_list(l, all);
    int image = r->choice.selected;

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < n; i++)
        facts_put_source(out, all[i].name, all[i].fact, image);
    facts_put_source(out, "weight", &l->weight.fact, image);
    facts_put_source(out, "dimensions", &l->dimensions.fact, image);
    facts_put_source(out, "package", &l->package.fact, image);
    for (int i = 0; i < PARTIES; i++)
        facts_put_party_sources(req, out, r, i);
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

/* ---- values that are objects ---- */

const wharf_json *facts_weight(wharf_req *req, const struct label_measure *m)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    if (!m->fact.confidence)
        return NULL;
    W->json->open(out, NULL, '{');
    W->json->put(out, "value", val_decimal(m->value, 3));
    W->json->put(out, "unit", val_text(z(m->unit)));
    W->json->put(out, "raw", val_text_or_null(m->fact.raw));
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

const wharf_json *facts_dimensions(wharf_req *req, const struct label_dimensions *d)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    if (!d->fact.confidence)
        return NULL;
    W->json->open(out, NULL, '{');
    W->json->put(out, "length", val_decimal(d->length, 3));
    W->json->put(out, "width", val_decimal(d->width, 3));
    W->json->put(out, "height", val_decimal(d->height, 3));
    W->json->put(out, "unit", val_text(z(d->unit)));
    W->json->put(out, "raw", val_text_or_null(d->fact.raw));
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

static const wharf_json *facts_package(wharf_req *req, const struct label_package *p)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    if (!p->fact.confidence)
        return NULL;
    W->json->open(out, NULL, '{');
    W->json->put(out, "number", val_int(p->number));
    W->json->put(out, "total", p->total ? val_int(p->total) : val_null());
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

const wharf_json *facts_barcodes(
    wharf_req *req, const struct label_code *codes, size_t n, int image)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        const struct label_code *c = &codes[i];
        bool sent = c->source == LABEL_REQUEST;

        if (!inference_text->is_text(c->value)) /* bytes that JSON can't hold */
            continue;
        W->json->open(out, NULL, '{');
        W->json->put(out, "value", val_text(c->value));
        W->json->put(out, "symbology", val_text(z(c->symbology)));
        W->json->put(out, "image_index", sent ? val_null() : val_int(image));
        facts_put_box(out, &c->box);
        W->json->put(out, "orientation", sent ? val_null() : val_int(c->orientation));
        W->json->put(out, "purpose", val_text(z(c->purpose)));
        W->json->put(out, "source", val_text(z(sent ? "request" : "image")));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

static const wharf_json *facts_references(wharf_req *req, const struct label *l)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < l->n_references; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "type", val_text(z(l->references[i].type)));
        W->json->put(out, "value", val_text(l->references[i].value));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

static const wharf_json *facts_tags(wharf_req *req, const struct label *l)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < l->n_tags; i++)
        W->json->put(out, NULL, val_text(z(l->tags[i])));
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

const wharf_json *facts_engine(wharf_req *req, const wharf_image_read *read, wharf_str languages)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *made = NULL;
    int64_t ms = 0;

    for (uint32_t i = 0; i < read->n_steps; i++)
        ms += read->steps[i].ms;
    W->json->open(out, NULL, '{');
    W->json->put(out, "name", val_text(z(read->engine ? read->engine : "")));
    W->json->put(out, "version", val_text(z(read->engine_version ? read->engine_version : "")));
    W->json->put(out, "languages", val_text(languages));
    W->json->put(out, "duration_ms", val_int(ms));
    W->json->put(out, "rotated", val_int(read->turn));
    W->json->put(out, "whole", val_bool(read->whole));
    W->json->close(out);
    W->json->result(req, out, &made);
    return made;
}

/* ---- the row ---- */

wharf_str facts_cut(wharf_req *req, wharf_str s)
{
    size_t n = s.n < TEXT_MAX ? s.n : TEXT_MAX;

    while (n && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return n == s.n ? s : W->mem->dup(req, s.p, n);
}

static void facts_set_parties(wharf_req *req, const struct reading *r, wharf_rec *rec)
{
    const struct label_party *const all[PARTIES] = {&r->label->recipient, &r->label->sender};

    for (int i = 0; i < PARTIES; i++) {
        const wharf_json *party = NULL;

        if (party_of_label(req, all[i], r->wishes.parse[i], &party) == WHARF_OK)
            W->res->set(rec, party_field(i), val_json(party));
    }
}

static void facts_set_nothing(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *none;

    if (W->json->parse(req, WHARF_S("[]"), &none) != WHARF_OK)
        return;
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_BARCODES, val_json(none));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_REFERENCES, val_json(none));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TAGS, val_json(none));
}

/* Sets what is known without a label. */
static void facts_set_images(wharf_req *req, const struct reading *r, wharf_rec *rec)
{
    const wharf_json *none = NULL;
    bool any = false;

    for (const wharf_json *m = W->json->at(r->images, 0); m; m = W->json->next(m))
        any = any || json_text(m, "file").n || json_text(m, "held").n;
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_HAS_IMAGES, val_bool(any));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_IMAGES_KEPT, val_json(r->images));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_WISHES, val_json(r->settled));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TRIES, val_int(0));
    if (W->json->parse(req, WHARF_S("{}"), &none) == WHARF_OK)
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_CUSTOM_ATTRIBUTES,
            val_json(r->custom ? r->custom : none));
}

void facts_set(wharf_req *req, const struct reading *r, wharf_rec *rec)
{
    const struct label *l = r->label;
    struct named_fact all[12];
    size_t n;

    facts_set_images(req, r, rec);
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TRACKER_TYPE,
        r->wishes.tracker ? val_text(r->wishes.tracker_type) : val_null());
    if (r->n == 1 && r->pictures[0].classification)
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_DOCUMENT_CLASSIFICATION,
            val_text(z(r->pictures[0].classification)));
    if (!l) {
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_RAW_TEXT, val_text(WHARF_S("")));
        facts_set_nothing(req, rec);
        return;
    }
    n = facts_list(l, all);
    for (size_t i = 0; i < n; i++)
        if (all[i].fact->confidence)
            W->res->set(rec, all[i].field, val_text(facts_cut(req, all[i].fact->value)));
    W->res->set(
        rec, SHIPPING_LABEL_INFERENCE_DOCUMENT_CLASSIFICATION, val_text(z(l->classification)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_RAW_TEXT, val_text(l->raw_text));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_BARCODES,
        val_json(facts_barcodes(req, l->codes, l->n_codes, r->choice.selected)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_REFERENCES, val_json(facts_references(req, l)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TAGS, val_json(facts_tags(req, l)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_WEIGHT, val_json(facts_weight(req, &l->weight)));
    W->res->set(
        rec, SHIPPING_LABEL_INFERENCE_DIMENSIONS, val_json(facts_dimensions(req, &l->dimensions)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_PACKAGE, val_json(facts_package(req, &l->package)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_EXTRACTION, val_json(facts_sources(req, r)));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_ENGINE,
        val_json(facts_engine(req, r->pictures[r->choice.selected].read, r->wishes.languages)));
    facts_set_parties(req, r, rec);
}

wharf_status facts_provider(wharf_req *req, wharf_rec *rec)
{
    wharf_str number = field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER),
              id = field_text(rec, SHIPPING_LABEL_INFERENCE_PROVIDER_ID), url = WHARF_S("");
    wharf_detection d = {.head = WHARF_HEAD(wharf_detection)};
    const wharf_json *provider = NULL;
    wharf_status s = WHARF_OK;

    if (number.n) {
        number = inference_carriers->normalize(req, number);
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER, val_text(number));
    }
    if (!id.n && number.n) {
        s = inference_carriers->detect(req, number, &d);
        if (s == WHARF_OK && !d.ambiguous && !is(d.provider_id, "unknown"))
            id = d.provider_id;
    }
    if (s == WHARF_OK && id.n)
        s = inference_carriers->provider(req, id, &provider);
    if (s == WHARF_OK && id.n && !provider)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "provider_id",
            "There is no carrier %s; GET /v1/providers lists them", id.p);
    if (s == WHARF_OK && id.n)
        s = inference_carriers->tracking_url(req, id, number, &url);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_PROVIDER_ID, val_text_or_null(id));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_PROVIDER, val_json(provider));
    W->res->set(
        rec, SHIPPING_LABEL_INFERENCE_PROVIDER_NAME, val_text_or_null(json_text(provider, "name")));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TRACKING_URL, val_text_or_null(url));
    return WHARF_OK;
}

/* ---- hash and search ---- */

static wharf_str facts_barcode_values(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *list = field_json(rec, SHIPPING_LABEL_INFERENCE_BARCODES);
    size_t n = 0, count = W->json->count(list);
    wharf_str *values = W->mem->alloc(req, (count + 1) * sizeof(*values)), all = WHARF_S("");

    for (const wharf_json *m = W->json->at(list, 0); m; m = W->json->next(m))
        values[n++] = json_text(m, "value");
    qsort(values, n, sizeof(*values), wharf_str_order);
    for (size_t i = 0; i < n; i++)
        all = W->mem->format(req, "%s|%s", all.p, values[i].p);
    return all;
}

static wharf_str facts_hash(wharf_req *req, const wharf_rec *rec)
{
    wharf_str number = field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER), text;
    const wharf_json *recipient = field_json(rec, SHIPPING_LABEL_INFERENCE_RECIPIENT),
                     *sender = field_json(rec, SHIPPING_LABEL_INFERENCE_SENDER);
    wharf_str who = inference_text->search_form(req, json_text(recipient, "extracted_name"), ""),
              from = inference_text->search_form(req, json_text(sender, "extracted_name"), ""),
              codes = facts_barcode_values(req, rec),
              postal = json_text(W->json->get(recipient, "address"), "postal_code");

    if (number.n)
        text = W->mem->format(
            req, "number|%s|%s", field_text(rec, SHIPPING_LABEL_INFERENCE_PROVIDER_ID).p, number.p);
    else if (who.n || postal.n || from.n || codes.n)
        text = W->mem->format(req, "label|%s|%s|%s%s", who.p, postal.p, from.p, codes.p);
    else
        return WHARF_S("");
    text = inference_text->sha256(req, text);
    return W->mem->dup(req, text.p, text.n < HASH_DIGITS ? text.n : HASH_DIGITS);
}

void facts_settle(wharf_req *req, wharf_rec *rec)
{
    static const wharf_field texts[] = {SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER,
        SHIPPING_LABEL_INFERENCE_PURCHASE_ORDER, SHIPPING_LABEL_INFERENCE_ORDER_NUMBER,
        SHIPPING_LABEL_INFERENCE_INVOICE_NUMBER, SHIPPING_LABEL_INFERENCE_RMA_NUMBER,
        SHIPPING_LABEL_INFERENCE_REFERENCE_NUMBER};
    const wharf_json *metadata = field_json(rec, SHIPPING_LABEL_INFERENCE_METADATA);
    wharf_str all = WHARF_S(""), text;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        all = W->mem->format(req, "%s %s", all.p, field_text(rec, texts[i]).p);
    for (const wharf_json *m = W->json->at(metadata, 0); m; m = W->json->next(m))
        if (W->json->text(m, &text))
            all = W->mem->format(req, "%s %s", all.p, text.p);
    for (int i = 0; i < PARTIES; i++) {
        const wharf_json *p = field_json(rec, party_field(i));

        all = W->mem->format(
            req, "%s %s %s", all.p, json_text(p, "name").p, json_text(p, "business").p);
        W->res->set(rec, party_contact_field(i), val_text_or_null(json_text(p, "contact_id")));
    }
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_SEARCH_TEXT, val_text(all));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_HASH, val_text_or_null(facts_hash(req, rec)));
}
