/* inference_debug.c - what the matching would decide, and why: tools for people who ask how it came
 * that a label went to somebody (docs/spec/06-inference.md section 6 'Debug tools'). They write
 * nothing. */
#include <stdlib.h>
#include <string.h>

#include "inference.h"

#include "inference.gen.h"

enum {
    COMPARE_MAX = 20 /* readings of one comparison */
};

/* ---- search ---- */

static wharf_str debug_param(wharf_req *req, const char *name)
{
    wharf_str v;

    return W->req->param(req, name, &v) ? v : WHARF_S("");
}

static wharf_status debug_party_asked(wharf_req *req, const wharf_json **ret)
{
    static const char *const texts[] = {"name", "business", "email", "phone"};
    wharf_out *out = W->json->builder(req);
    wharf_str address = debug_param(req, "address"), whole;
    const wharf_json *parsed = NULL, *text;
    wharf_status s = WHARF_OK;
    bool any = address.n > 0;

    if (address.n && inference_places) {
        wharf_out *quoted = W->json->builder(req);

        W->json->put(quoted, NULL, val_text(address));
        s = W->json->result(req, quoted, &text);
        if (s == WHARF_OK)
            s = inference_places->address(req, text, WHARF_S(""), "address", &whole);
        if (s == WHARF_OK)
            s = W->json->parse(req, whole, &parsed);
    }
    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        wharf_str v = debug_param(req, texts[i]);

        any = any || v.n;
        W->json->put(out, texts[i], val_text_or_null(v));
    }
    W->json->put(out, "address", val_json(parsed));
    W->json->close(out);
    if (s == WHARF_OK && !any)
        return W->err->fail(req, ERR_PARAM_INVALID, "name",
            "Send at least one of name, business, email, phone and address");
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

/* Makes options of the parameters, as a body has them. */
static wharf_status debug_options_asked(wharf_req *req, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    wharf_str terms = debug_param(req, "name_ignore_terms"), v;

    W->json->open(out, NULL, '{');
    W->json->open(out, "match", '{');
    if ((v = debug_param(req, "search_fuzziness")).n)
        W->json->put(out, "search_fuzziness", val_text(v));
    if ((v = debug_param(req, "order_by")).n)
        W->json->put(out, "order_by", val_text(v));
    if ((v = debug_param(req, "limit")).n)
        W->json->put(out, "limit", val_int(strtol(v.p, NULL, 10)));
    W->json->open(out, "name_ignore_terms", '[');
    while (terms.n) {
        const char *comma = memchr(terms.p, ',', terms.n);
        size_t n = comma ? (size_t)(comma - terms.p) : terms.n;

        if (n)
            W->json->put(out, NULL, val_text(W->mem->dup(req, terms.p, n)));
        terms = comma ? (wharf_str){comma + 1, terms.n - n - 1} : WHARF_S("");
    }
    W->json->close(out);
    W->json->close(out);
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status inference_search(wharf_req *req, void *arg)
{
    const wharf_json *party, *options, *settled, *found = NULL;
    wharf_str location = debug_param(req, "location_id");
    struct wishes w;
    wharf_out *out;
    wharf_status s = debug_party_asked(req, &party);

    (void)arg;
    if (s == WHARF_OK && location.n)
        s = place_check(req, location, WHARF_S(""));
    if (s == WHARF_OK)
        s = debug_options_asked(req, &options);
    if (s == WHARF_OK)
        s = wishes_settle(req, options, location, &settled);
    if (s != WHARF_OK)
        return s;
    wishes_read(settled, &w);
    w.learn = false;
    s = party_find(req, &w, party, location, &found);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Contacts searched");
    W->json->open(out, NULL, '{');
    party_put_found(out, found);
    W->json->close(out);
    return WHARF_OK;
}

/* ---- match ---- */

/* Puts what is found for both parties now. parties: an object with recipient and sender. */
static wharf_status debug_put_parties(wharf_req *req, const struct wishes *w,
    const wharf_json *const parties[PARTIES], wharf_str location, wharf_out *out)
{
    wharf_status s = WHARF_OK;

    for (int i = 0; i < PARTIES && s == WHARF_OK; i++) {
        const wharf_json *found = NULL;

        if (w->search[i] && !json_is_null(parties[i]))
            s = party_find(req, w, parties[i], location, &found);
        if (!found) {
            W->json->put(out, party_names[i], val_null());
            continue;
        }
        W->json->open(out, party_names[i], '{');
        W->json->put(out, "contact_id",
            val_json(W->json->get(W->json->get(found, "decision"), "contact_id")));
        party_put_found(out, found);
        W->json->close(out);
    }
    return s;
}

static wharf_status debug_row(wharf_req *req, wharf_str id, const wharf_rec **ret)
{
    return W->res->fetch(req, RESOURCE, id, 0, ret);
}

wharf_status inference_match(wharf_req *req, void *arg)
{
    const wharf_json *body, *settled = NULL, *parties[PARTIES] = {NULL}, *options;
    wharf_str id, location;
    const wharf_rec *rec = NULL;
    struct wishes w;
    wharf_out *out;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    id = json_text(body, "inference_id");
    options = W->json->get(body, "options");
    if (id.n)
        s = debug_row(req, id, &rec);
    if (s != WHARF_OK)
        return s;
    location = rec ? field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID)
                   : json_text(body, "location_id");
    for (int i = 0; i < PARTIES; i++)
        parties[i] = rec ? field_json(rec, party_field(i)) : W->json->get(body, party_names[i]);
    if (rec && json_is_null(options))
        settled = field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES);
    else
        s = wishes_settle(req, options, location, &settled);
    if (s == WHARF_OK && !rec && location.n)
        s = place_check(req, location, WHARF_S(""));
    if (s != WHARF_OK)
        return s;
    wishes_read(settled, &w);
    out = W->req->respond(req, 200, "Contacts matched");
    W->json->open(out, NULL, '{');
    s = debug_put_parties(req, &w, parties, location, out);
    W->json->close(out);
    return s;
}

/* ---- compare ---- */

static wharf_str debug_contact_now(const wharf_json *now, int i)
{
    return json_text(W->json->get(now, party_names[i]), "contact_id");
}

static wharf_status debug_compare_one(wharf_req *req, const wharf_rec *rec, wharf_out *out)
{
    const wharf_json *parties[PARTIES], *now;
    wharf_out *current = W->json->builder(req);
    struct wishes w;
    wharf_status s;

    wishes_read(field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES), &w);
    for (int i = 0; i < PARTIES; i++)
        parties[i] = field_json(rec, party_field(i));
    W->json->open(current, NULL, '{');
    s = debug_put_parties(
        req, &w, parties, field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID), current);
    W->json->close(current);
    if (s == WHARF_OK)
        s = W->json->result(req, current, &now);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(W->res->id(rec)));
    W->json->open(out, "stored", '{');
    for (int i = 0; i < PARTIES; i++)
        W->json->put(out, party_names[i], val_json(parties[i]));
    W->json->close(out);
    W->json->put(out, "current", val_json(now));
    W->json->open(out, "changed", '[');
    for (int i = 0; i < PARTIES; i++)
        if (w.search[i] && !same(json_text(parties[i], "contact_id"), debug_contact_now(now, i)))
            W->json->put(out, NULL, val_text(W->mem->format(req, "%s.contact_id", party_names[i])));
    W->json->close(out);
    W->json->close(out);
    return WHARF_OK;
}

/* Puts fields side by side, with whether all rows have the same. */
static void debug_put_fields(wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *out)
{
    static const struct {
        const char *name;
        wharf_field field;
    } fields[] = {{"tracking_number", SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER},
        {"provider_id", SHIPPING_LABEL_INFERENCE_PROVIDER_ID},
        {"hash", SHIPPING_LABEL_INFERENCE_HASH},
        {"recipient_contact_id", SHIPPING_LABEL_INFERENCE_RECIPIENT_CONTACT_ID},
        {"sender_contact_id", SHIPPING_LABEL_INFERENCE_SENDER_CONTACT_ID}};

    (void)req;
    for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
        bool equal = true;

        W->json->open(out, NULL, '{');
        W->json->put(out, "field", val_text(z(fields[k].name)));
        W->json->open(out, "values", '{');
        for (size_t i = 0; i < n; i++) {
            wharf_str v = field_text(recs[i], fields[k].field);

            equal = equal && same(v, field_text(recs[0], fields[k].field));
            W->json->put(out, W->res->id(recs[i]).p, val_text_or_null(v));
        }
        W->json->close(out);
        W->json->put(out, "equal", val_bool(equal));
        W->json->close(out);
    }
}

/* Splits ids at commas. Returns how many; more than COMPARE_MAX are not kept. */
static size_t debug_ids(wharf_req *req, wharf_str text, wharf_str ids[COMPARE_MAX])
{
    size_t n = 0;

    while (text.n) {
        const char *comma = memchr(text.p, ',', text.n);
        size_t part = comma ? (size_t)(comma - text.p) : text.n;

        if (part && n++ < COMPARE_MAX)
            ids[n - 1] = W->mem->dup(req, text.p, part);
        text = comma ? (wharf_str){comma + 1, text.n - part - 1} : WHARF_S("");
    }
    return n;
}

wharf_status inference_compare(wharf_req *req, void *arg)
{
    const wharf_rec *recs[COMPARE_MAX];
    wharf_str ids[COMPARE_MAX];
    size_t n = debug_ids(req, debug_param(req, "ids"), ids);
    wharf_status s = WHARF_OK;
    wharf_out *out;

    (void)arg;
    if (n < 1 || n > COMPARE_MAX)
        return W->err->fail(
            req, ERR_PARAM_INVALID, "ids", "ids must be 1 to %d ids with commas", COMPARE_MAX);
    for (size_t i = 0; i < n; i++) { /* all that are not there are told */
        wharf_status one = debug_row(req, ids[i], &recs[i]);

        if (one != WHARF_OK && one != WHARF_NOT_FOUND)
            return one;
        s = one == WHARF_OK ? s : one;
    }
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Readings compared");
    W->json->open(out, NULL, '{');
    W->json->open(out, "inferences", '[');
    for (size_t i = 0; i < n && s == WHARF_OK; i++)
        s = debug_compare_one(req, recs[i], out);
    W->json->close(out);
    W->json->open(out, "fields", '[');
    debug_put_fields(req, recs, n, out);
    W->json->close(out);
    W->json->close(out);
    return s;
}
