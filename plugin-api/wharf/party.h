/* wharf/party.h - senders and recipients as clients send them
 * (docs/spec/03-shipments-and-trackers.md section 3): a contact's id, or who and where.
 *
 * For modules that call their host table W; without W it is empty. Header only, nothing of it is
 * ABI. */
#ifndef WHARF_PARTY_H
#define WHARF_PARTY_H

#include "wharf/errors.h"
#include "wharf/ext/org.h"
#include "wharf/inline.h"

#ifdef W

static inline wharf_status wharf_party_bad(
    wharf_req *req, const char *name, const char *member, const char *message)
{
    const char *at = W->mem->format(req, "%s.%s", name, member).p;

    return W->err->add(req, ERR_VALIDATION_FAILED, at, "%s %s", at, message);
}

/* Reads what was sent as the party name. *ret_party: its object, NULL when a contact's id alone was
 * sent. *ret_contact: the contact's id, or empty. */
static inline wharf_status wharf_party_read(wharf_req *req, const wharf_json *v, const char *name,
    const wharf_json **ret_party, wharf_str *ret_contact)
{
    const wharf_json *id;

    *ret_party = NULL;
    *ret_contact = WHARF_S("");
    if (W->json->type(v) != WHARF_J_OBJECT)
        return W->json->text(v, ret_contact) ? WHARF_OK
                                             : W->err->add(req, ERR_VALIDATION_FAILED, name,
                                                   "%s must be a contact's id or an object", name);
    *ret_party = v;
    id = W->json->get(v, "contact_id");
    return json_is_null(id) || W->json->text(id, ret_contact)
               ? WHARF_OK
               : wharf_party_bad(req, name, "contact_id", "must be a contact's id");
}

/* Puts name, email, phone and business: those of party (or NULL), else those of contact (or
 * NULL). Problems are told below name ("recipient.email"). */
static inline void wharf_party_put(wharf_req *req, const wharf_org_directory_api *org,
    wharf_out *out, const wharf_json *party, const wharf_json *contact, const char *name)
{
    static const char *const keys[] = {"name", "email", "phone", "business"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const wharf_json *v = party ? W->json->get(party, keys[i]) : NULL;
        wharf_str s = WHARF_S("");

        if (!v && contact)
            v = W->json->get(contact, keys[i]);
        if (!json_is_null(v) && !W->json->text(v, &s))
            wharf_party_bad(req, name, keys[i], "must be a string");
        if (is(z(keys[i]), "email") && s.n && !org->email(s))
            wharf_party_bad(req, name, keys[i], "must be an address such as ann@example.com");
        if (is(z(keys[i]), "phone") && s.n && !org->phone(req, s, &s))
            wharf_party_bad(req, name, keys[i], WHARF_PHONE_WRONG);
        W->json->put(out, keys[i], val_text_or_null(s));
    }
}

#endif
#endif
