/* parties.c - sender and recipient: a contact's id, or who and where
 * (docs/spec/03-shipments-and-trackers.md section 3). What a party with a contact does not say
 * itself is taken from the contact when it is written, and stays as it was when the contact
 * changes. */
#include <stdlib.h>

#include "shipments.h"
#include "shipments.gen.h"
#include "wharf/party.h"

/* The addresses that a write took, as JSON: they are remembered when its row is written. */
struct taken {
    wharf_str addresses[2];
    size_t n;
};

static struct taken *taken_of(const wharf_rec *rec)
{
    static const char kind[] = "shipments.addresses";

    return W->res->scratch(rec, kind, sizeof(struct taken));
}

static const char *parties_at(wharf_req *req, const char *party, const char *member)
{
    return W->mem->format(req, "%s.%s", party, member).p;
}

/* Takes the address as the organization's others are kept; without the module locations as it was
 * sent. rec: NULL for a party of another module's row, whose address is remembered at once. */
static wharf_status parties_take_address(wharf_req *req, const wharf_rec *rec,
    const wharf_json *input, wharf_str line2, const char *name, const wharf_json **ret)
{
    struct taken *taken = rec ? taken_of(rec) : NULL;
    wharf_out *out;
    wharf_str s;
    wharf_status status;

    *ret = NULL;
    if (json_is_null(input))
        return WHARF_OK;
    if (shipments_places && !rec) {
        status = shipments_places->address(req, input, line2, parties_at(req, name, "address"), &s);
        return status == WHARF_OK ? W->json->parse(req, s, ret) : status;
    }
    if (shipments_places) {
        status = shipments_places->address_in(req, input, line2, shipments_shared(rec)->country,
            parties_at(req, name, "address"), &s);
        if (status == WHARF_OK && taken->n < 2)
            taken->addresses[taken->n++] = s;
        return status == WHARF_OK ? W->json->parse(req, s, ret) : status;
    }
    if (W->json->type(input) == WHARF_J_OBJECT) {
        *ret = input;
        return WHARF_OK;
    }
    if (!W->json->text(input, &s) || !s.n)
        return W->err->add(req, ERR_VALIDATION_FAILED, parties_at(req, name, "address"),
            "%s must be text or an object", parties_at(req, name, "address"));
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "formatted_address", val_text(s));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static int parties_by_id(const void *a, const void *b)
{
    const struct party_contact *x = a, *y = b;

    return strcmp(x->id.p, y->id.p);
}

static wharf_status contact_of(
    wharf_req *req, const wharf_rec *rec, wharf_str id, const wharf_json **ret)
{
    const struct shipments_shared *set = rec ? shipments_shared(rec) : NULL;
    const struct party_contact key = {.id = id}, *found = NULL;

    if (!set || !set->looked)
        return shipments_contacts->who(req, id, ret);
    if (set->n_contacts)
        found = bsearch(&key, set->contacts, set->n_contacts, sizeof(key), parties_by_id);
    *ret = found ? found->who : NULL;
    return WHARF_OK;
}

/* Makes a party. party: NULL when only the contact's id was sent. Who is unknown is refused as a
 * reference. */
static wharf_status party_of(wharf_req *req, const wharf_rec *rec, const char *name, wharf_str id,
    const wharf_json *party, const wharf_json **ret)
{
    const wharf_json *contact = NULL, *address = NULL,
                     *sent = party ? W->json->get(party, "address") : NULL;
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    if (id.n && shipments_contacts)
        s = contact_of(req, rec, id, &contact);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "contact_id", val_text_or_null(id));
    wharf_party_put(req, shipments_org, out, party, contact, name);
    if (sent)
        s = parties_take_address(req, rec, sent, json_text(party, "address_line2"), name, &address);
    else if (contact && !json_is_null(W->json->get(contact, "address")))
        address = W->json->get(contact, "address");
    W->json->put(out, "address", val_json(address));
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

/* Reads a party that was sent. rec: NULL for one of another module's row. */
static wharf_status parties_read_party(wharf_req *req, const wharf_rec *rec, const wharf_json *v,
    const char *name, const wharf_json **ret_party, wharf_str *ret_contact)
{
    const wharf_json *party;
    wharf_status s = wharf_party_read(req, v, name, &party, ret_contact);

    if (s != WHARF_OK)
        return s;
    return party_of(req, rec, name, *ret_contact, party, ret_party);
}

wharf_status shipments_party(wharf_req *req, const wharf_json *input, const char *name,
    const wharf_json **ret_party, wharf_str *ret_contact)
{
    return parties_read_party(req, NULL, input, name, ret_party, ret_contact);
}

static wharf_status parties_take_party(
    wharf_req *req, wharf_rec *rec, const char *name, wharf_field field, wharf_field contact)
{
    const wharf_json *v = W->res->member(rec, name), *whole = NULL;
    wharf_str id;
    wharf_status s;

    if (json_is_null(v))
        return WHARF_OK;
    s = parties_read_party(req, rec, v, name, &whole, &id);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, field, val_json(whole));
    W->res->set(rec, contact, val_text_or_null(id));
    return WHARF_OK;
}

wharf_status shipments_take_parties(wharf_req *req, wharf_rec *rec)
{
    parties_take_party(req, rec, "sender", SHIPMENT_SENDER, SHIPMENT_SENDER_CONTACT_ID);
    parties_take_party(req, rec, "recipient", SHIPMENT_RECIPIENT, SHIPMENT_RECIPIENT_CONTACT_ID);
    return W->err->current(req);
}

/* ---- sets ---- */

static const char *const sides[] = {"sender", "recipient"};

static wharf_str named_contact(const wharf_json *party)
{
    wharf_str s = WHARF_S("");

    if (json_is_null(party))
        return s;
    if (W->json->type(party) == WHARF_J_OBJECT)
        return json_text(party, "contact_id");
    W->json->text(party, &s);
    return s;
}

static bool has_address(const wharf_json *party)
{
    return party && W->json->type(party) == WHARF_J_OBJECT &&
           !json_is_null(W->json->get(party, "address"));
}

static wharf_status parties_look_up(
    wharf_req *req, struct shipments_shared *set, const wharf_str *ids)
{
    const wharf_json **who = W->mem->alloc(req, (set->n_contacts + 1) * sizeof(*who));
    wharf_status s = WHARF_OK;

    if (shipments_contacts && set->n_contacts)
        s = shipments_contacts->who_many(req, ids, set->n_contacts, who);
    set->contacts = W->mem->alloc(req, (set->n_contacts + 1) * sizeof(*set->contacts));
    for (size_t i = 0; i < set->n_contacts; i++)
        set->contacts[i] = (struct party_contact){ids[i], who[i]};
    if (set->n_contacts)
        qsort(set->contacts, set->n_contacts, sizeof(*set->contacts), parties_by_id);
    set->looked = true;
    return s;
}

wharf_status shipments_look_ahead(
    wharf_req *req, uint32_t op, const wharf_rec *const *recs, size_t n)
{
    struct shipments_shared *set = shipments_shared(recs[0]);
    wharf_str *ids = W->mem->alloc(req, (2 * n + 1) * sizeof(*ids));
    bool any = false;
    wharf_status s = WHARF_OK;

    (void)op;
    for (size_t i = 0; i < 2 * n; i++) {
        const wharf_json *party = W->res->member(recs[i / 2], sides[i % 2]);

        ids[set->n_contacts] = named_contact(party);
        set->n_contacts += ids[set->n_contacts].n > 0;
        any = any || has_address(party);
    }
    if (any && shipments_places)
        s = shipments_org->country(req, &set->country);
    return s == WHARF_OK ? parties_look_up(req, set, ids) : s;
}

wharf_status shipments_remember(wharf_req *req, const wharf_rec *const *recs, size_t n)
{
    wharf_str *all = W->mem->alloc(req, (2 * n + 1) * sizeof(*all));
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const struct taken *taken = taken_of(recs[i]);

        for (size_t t = 0; t < taken->n; t++)
            all[k++] = taken->addresses[t];
    }
    return k ? shipments_places->remember(req, all, k) : WHARF_OK;
}

/* ---- what is looked for ---- */

static wharf_str address_id(const wharf_json *party)
{
    const wharf_json *address = party ? W->json->get(party, "address") : NULL;

    return json_is_null(address) ? WHARF_S("") : json_text(address, "id");
}

static wharf_str parties_add(wharf_req *req, wharf_str all, wharf_str more)
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
        all = parties_add(req, all, field_text(rec, numbers[i]));
    for (size_t i = 0; i < 2; i++) {
        all = parties_add(req, all, json_text(parties[i], "name"));
        all = parties_add(req, all, json_text(parties[i], "email"));
    }
    all = parties_add(req, all, json_text(provider, "name"));
    W->res->set(rec, SHIPMENT_SEARCH_TEXT, val_text_or_null(all));
    W->res->set(rec, SHIPMENT_SENDER_ADDRESS_ID, val_text_or_null(address_id(parties[0])));
    W->res->set(rec, SHIPMENT_RECIPIENT_ADDRESS_ID, val_text_or_null(address_id(parties[1])));
}

/* ---- quotes ---- */

static void parties_need(wharf_req *req, const char *party, const char *member)
{
    W->err->add(req, ERR_VALIDATION_FAILED, parties_at(req, party, member),
        "%s is required for a quote", parties_at(req, party, member));
}

static void check_party(wharf_req *req, const wharf_json *party, const char *name)
{
    if (!party || (!shipments_contacts && json_text(party, "contact_id").n))
        return;
    if (!json_text(party, "name").n)
        parties_need(req, name, "name");
    if (json_is_null(W->json->get(party, "address")))
        parties_need(req, name, "address");
    if (!json_text(party, "email").n && !json_text(party, "phone").n)
        parties_need(req, name, "email");
}

static void parties_check_parcels(wharf_req *req, const wharf_json *parcels)
{
    static const char *const lengths[] = {"length", "width", "height", "weight"};
    size_t i = 0;

    for (const wharf_json *e = parcels ? W->json->at(parcels, 0) : NULL; e;
         e = W->json->next(e), i++) {
        for (size_t k = 0; k < 4; k++) {
            const wharf_json *v = W->json->get(e, lengths[k]);
            int64_t n = 0;

            if (!v || !W->json->decimal(v, 4, &n) || n <= 0)
                parties_need(req, W->mem->format(req, "parcels.%zu", i).p, lengths[k]);
        }
    }
}

void shipments_check_parties(wharf_req *req, const wharf_rec *rec)
{
    check_party(req, field_json(rec, SHIPMENT_SENDER), "sender");
    check_party(req, field_json(rec, SHIPMENT_RECIPIENT), "recipient");
    parties_check_parcels(req, field_json(rec, SHIPMENT_PARCELS));
}

wharf_status shipments_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] = WHARF_PARTIES_MERGED("shipments.shipment");
    wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}
