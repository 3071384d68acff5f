/* parties.c - sender and recipient: a contact's id, or who and where
 * (docs/spec/03-shipments-and-trackers.md section 3). What a party with a contact does not say
 * itself is taken from the contact when it is written, and stays as it was when the contact
 * changes. */
#include "shipments.h"
#include "shipments.gen.h"

static const char *at(wharf_req *req, const char *party, const char *member)
{
    return W->mem->format(req, "%s.%s", party, member).p;
}

/* Takes the address as the organization's others are kept; without the module locations as it was
 * sent. */
static wharf_status take_address(wharf_req *req, const wharf_json *input, wharf_str line2,
    const char *name, const wharf_json **ret)
{
    wharf_out *out;
    wharf_str s;
    wharf_status status;

    *ret = NULL;
    if (json_is_null(input))
        return WHARF_OK;
    if (shipments_places) {
        status = shipments_places->address(req, input, line2, at(req, name, "address"), &s);
        return status == WHARF_OK ? W->json->parse(req, s, ret) : status;
    }
    if (W->json->type(input) == WHARF_J_OBJECT) {
        *ret = input;
        return WHARF_OK;
    }
    if (!W->json->text(input, &s) || !s.n)
        return W->err->add(req, ERR_VALIDATION_FAILED, at(req, name, "address"),
            "%s must be text or an object", at(req, name, "address"));
    out = W->json->writer(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "formatted_address", val_text(s));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Returns what the party itself says; else what its contact says. */
static const wharf_json *said(const wharf_json *party, const wharf_json *contact, const char *key)
{
    const wharf_json *v = party ? W->json->get(party, key) : NULL;

    return v || !contact ? v : W->json->get(contact, key);
}

static void put_member(
    wharf_req *req, wharf_out *out, const wharf_json *v, const char *name, const char *key)
{
    wharf_str s = WHARF_S("");

    if (!json_is_null(v) && !W->json->text(v, &s))
        W->err->add(req, ERR_VALIDATION_FAILED, at(req, name, key), "%s must be a string",
            at(req, name, key));
    if (is(z(key), "email") && s.n && !shipments_org->email(s))
        W->err->add(req, ERR_VALIDATION_FAILED, at(req, name, key),
            "%s must be an address such as ann@example.com", at(req, name, key));
    if (is(z(key), "phone") && s.n && !shipments_org->phone(req, s, &s))
        W->err->add(req, ERR_VALIDATION_FAILED, at(req, name, key), "%s must have 7 to 15 digits",
            at(req, name, key));
    W->json->put(out, key, val_text_or_null(s));
}

static void read_contact_id(
    wharf_req *req, const wharf_json *party, const char *name, wharf_str *ret)
{
    const wharf_json *v = W->json->get(party, "contact_id");

    if (!json_is_null(v) && !W->json->text(v, ret))
        W->err->add(req, ERR_VALIDATION_FAILED, at(req, name, "contact_id"),
            "%s must be a contact's id", at(req, name, "contact_id"));
}

/* Makes a party. party: NULL when only the contact's id was sent. Who is unknown is refused as a
 * reference. */
static wharf_status party_of(
    wharf_req *req, const char *name, wharf_str id, const wharf_json *party, const wharf_json **ret)
{
    static const char *const keys[] = {"name", "email", "phone", "business"};
    const wharf_json *contact = NULL, *address = NULL,
                     *sent = party ? W->json->get(party, "address") : NULL;
    wharf_out *out = W->json->writer(req);
    wharf_status s = WHARF_OK;

    if (id.n && shipments_contacts)
        s = shipments_contacts->who(req, id, &contact);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "contact_id", val_text_or_null(id));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        put_member(req, out, said(party, contact, keys[i]), name, keys[i]);
    if (sent)
        s = take_address(req, sent, json_text(party, "address_line2"), name, &address);
    else if (contact && !json_is_null(W->json->get(contact, "address")))
        address = W->json->get(contact, "address");
    W->json->put(out, "address", val_json(address));
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

static wharf_status take_party(
    wharf_req *req, wharf_rec *rec, const char *name, wharf_field field, wharf_field contact)
{
    const wharf_json *v = W->res->member(rec, name), *party = NULL, *whole;
    wharf_str id = WHARF_S("");
    wharf_status s;

    if (json_is_null(v))
        return WHARF_OK;
    if (W->json->type(v) == WHARF_J_OBJECT) {
        party = v;
        read_contact_id(req, v, name, &id);
    } else if (!W->json->text(v, &id)) {
        return W->err->add(
            req, ERR_VALIDATION_FAILED, name, "%s must be a contact's id or an object", name);
    }
    s = party_of(req, name, id, party, &whole);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, field, val_json(whole));
    W->res->set(rec, contact, val_text_or_null(id));
    return WHARF_OK;
}

wharf_status shipments_take_parties(wharf_req *req, wharf_rec *rec)
{
    take_party(req, rec, "sender", SHIPMENT_SENDER, SHIPMENT_SENDER_CONTACT_ID);
    take_party(req, rec, "recipient", SHIPMENT_RECIPIENT, SHIPMENT_RECIPIENT_CONTACT_ID);
    return W->err->current(req);
}

/* ---- what is looked for ---- */

static wharf_str address_id(const wharf_json *party)
{
    const wharf_json *address = party ? W->json->get(party, "address") : NULL;

    return json_is_null(address) ? WHARF_S("") : json_text(address, "id");
}

static wharf_str add(wharf_req *req, wharf_str all, wharf_str more)
{
    if (!more.n)
        return all;
    return all.n ? W->mem->format(req, "%s %s", all.p, more.p) : more;
}

void shipments_settle_parties(wharf_req *req, wharf_rec *rec)
{
    static const wharf_field numbers[] = {SHIPMENT_TRACKING_NUMBER, SHIPMENT_ORDER_NUMBER,
        SHIPMENT_REFERENCE_NUMBER, SHIPMENT_RMA_NUMBER, SHIPMENT_INVOICE_NUMBER,
        SHIPMENT_PURCHASE_ORDER};
    const wharf_json *parties[] = {
        field_json(rec, SHIPMENT_SENDER), field_json(rec, SHIPMENT_RECIPIENT)};
    const wharf_json *provider = field_json(rec, SHIPMENT_PROVIDER);
    wharf_str all = WHARF_S("");

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        all = add(req, all, field_text(rec, numbers[i]));
    for (size_t i = 0; i < 2; i++) {
        all = add(req, all, json_text(parties[i], "name"));
        all = add(req, all, json_text(parties[i], "email"));
    }
    all = add(req, all, json_text(provider, "name"));
    W->res->set(rec, SHIPMENT_SEARCH_TEXT, val_text_or_null(all));
    W->res->set(rec, SHIPMENT_SENDER_ADDRESS_ID, val_text_or_null(address_id(parties[0])));
    W->res->set(rec, SHIPMENT_RECIPIENT_ADDRESS_ID, val_text_or_null(address_id(parties[1])));
}

/* ---- quotes ---- */

static void need(wharf_req *req, const char *party, const char *member)
{
    W->err->add(req, ERR_VALIDATION_FAILED, at(req, party, member), "%s is required for a quote",
        at(req, party, member));
}

static void check_party(wharf_req *req, const wharf_json *party, const char *name)
{
    if (!party || (!shipments_contacts && json_text(party, "contact_id").n))
        return;
    if (!json_text(party, "name").n)
        need(req, name, "name");
    if (json_is_null(W->json->get(party, "address")))
        need(req, name, "address");
    if (!json_text(party, "email").n && !json_text(party, "phone").n)
        need(req, name, "email");
}

static void check_parcels(wharf_req *req, const wharf_json *parcels)
{
    static const char *const sides[] = {"length", "width", "height", "weight"};
    size_t i = 0;

    for (const wharf_json *e = parcels ? W->json->at(parcels, 0) : NULL; e;
         e = W->json->next(e), i++) {
        for (size_t k = 0; k < 4; k++) {
            const wharf_json *v = W->json->get(e, sides[k]);
            int64_t n = 0;

            if (!v || !W->json->decimal(v, 4, &n) || n <= 0)
                need(req, W->mem->format(req, "parcels.%zu", i).p, sides[k]);
        }
    }
}

void shipments_check_parties(wharf_req *req, const wharf_rec *rec)
{
    check_party(req, field_json(rec, SHIPMENT_SENDER), "sender");
    check_party(req, field_json(rec, SHIPMENT_RECIPIENT), "recipient");
    check_parcels(req, field_json(rec, SHIPMENT_PARCELS));
}

wharf_status shipments_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] = WHARF_PARTIES_MERGED("shipments.shipment");
    wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}
