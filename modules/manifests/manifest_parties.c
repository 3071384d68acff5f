/* manifest_parties.c - sender and recipient of a manifest: a contact's id, or who and where, as of
 * a shipment (docs/spec/03-shipments-and-trackers.md section 3). What a party with a contact does
 * not say is the contact's at the time of writing. */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"
#include "wharf/ext/shipments.h"
#include "wharf/party.h"

/* Parties of a write whose contacts are not there: told in check, with what refers to rows. */
struct unknown {
    const char *names[2];
    size_t n;
};

static struct unknown *unknown_of(const wharf_rec *rec)
{
    static const char kind[] = "manifests.unknown_contacts";

    return W->res->scratch(rec, kind, sizeof(struct unknown));
}

static wharf_status manifest_parties_put_address(wharf_req *req, wharf_out *out,
    const wharf_json *party, const wharf_json *contact, const char *name)
{
    const wharf_json *sent = party ? W->json->get(party, "address") : NULL, *address = NULL;
    wharf_str s;
    wharf_status status = WHARF_OK;

    if (!json_is_null(sent)) {
        status = manifests_places->address(req, sent, json_text(party, "address_line2"),
            W->mem->format(req, "%s.address", name).p, &s);
        if (status == WHARF_OK)
            status = W->json->parse(req, s, &address);
    } else if (!sent && contact) {
        address = W->json->get(contact, "address");
    }
    W->json->put(out, "address", val_json(address));
    return status;
}

static wharf_status make_party(wharf_req *req, const wharf_rec *rec, const char *name, wharf_str id,
    const wharf_json *party, const wharf_json **ret)
{
    const wharf_json *contact = NULL;
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    if (id.n && manifests_contacts)
        s = manifests_contacts->who(req, id, &contact);
    if (s != WHARF_OK)
        return s;
    if (id.n && !contact)
        unknown_of(rec)->names[unknown_of(rec)->n++ % 2] = name;
    W->json->open(out, NULL, '{');
    W->json->put(out, "contact_id", val_text_or_null(id));
    wharf_party_put(req, manifests_org, out, party, contact, name);
    s = manifest_parties_put_address(req, out, party, contact, name);
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

static wharf_status manifest_parties_take_party(
    wharf_req *req, wharf_rec *rec, const char *name, wharf_field field)
{
    const wharf_json *v = W->res->member(rec, name), *party, *whole;
    wharf_str id;
    wharf_status s;

    if (json_is_null(v))
        return WHARF_OK;
    s = wharf_party_read(req, v, name, &party, &id);
    if (s == WHARF_OK)
        s = make_party(req, rec, name, id, party, &whole);
    if (s == WHARF_OK)
        W->res->set(rec, field, val_json(whole));
    return s;
}

wharf_status manifest_take_parties(wharf_req *req, wharf_rec *rec)
{
    manifest_parties_take_party(req, rec, "sender", MANIFEST_SENDER);
    manifest_parties_take_party(req, rec, "recipient", MANIFEST_RECIPIENT);
    return W->err->current(req);
}

wharf_status manifest_settle_parties(wharf_req *req, wharf_rec *rec)
{
    const struct unknown *unknown = unknown_of(rec);

    W->res->set(rec, MANIFEST_SENDER_CONTACT_ID,
        val_text_or_null(json_text(field_json(rec, MANIFEST_SENDER), "contact_id")));
    W->res->set(rec, MANIFEST_RECIPIENT_CONTACT_ID,
        val_text_or_null(json_text(field_json(rec, MANIFEST_RECIPIENT), "contact_id")));
    for (size_t i = 0; i < unknown->n && i < 2; i++)
        W->err->add(req, ERR_VALIDATION_FAILED, unknown->names[i], "%s names no contact",
            unknown->names[i]);
    return W->err->current(req);
}

wharf_status manifest_contacts_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] = WHARF_PARTIES_MERGED("manifests.manifest");
    const wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}
