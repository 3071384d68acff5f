/* addresses.c - addresses that contacts are sent: read when they come in, remembered when
 * their contacts are written, those of many in one statement (spec 02 section 4). Leaves to
 * others: what an address is (locations.directory). */
#include "contacts.gen.h"
#include "contacts.h"

/* The country of the organization that this thread's request is about, so that a thousand rows
 * of a file ask once. A request is known by its one reading of the clock. */
struct asked {
    int64_t at_us;
    char organization[64], country[3];
};

wharf_status contacts_thread(wharf_plugin *self, void **ret_state)
{
    *ret_state = W->mem->plugin_alloc(self, sizeof(struct asked));
    return WHARF_OK;
}

static wharf_status addresses_country_of(wharf_req *req, wharf_str *ret)
{
    struct asked *a = W->req->thread_local_state(req);
    wharf_str organization = W->req->organization(req);
    wharf_status s;

    if (a && a->at_us == W->req->now_us(req) &&
        wharf_same(organization, wharf_z(a->organization))) {
        *ret = wharf_z(a->country);
        return WHARF_OK;
    }
    s = contacts_org->country(req, ret);
    if (s != WHARF_OK || !a || ret->n != 2 || organization.n >= sizeof(a->organization))
        return s;
    a->at_us = W->req->now_us(req);
    memcpy(a->organization, organization.p, organization.n);
    a->organization[organization.n] = 0;
    memcpy(a->country, ret->p, 2);
    return s;
}

wharf_status contact_address(wharf_req *req, const wharf_json *input, wharf_str line2,
    const char *path, const wharf_json **ret)
{
    wharf_str whole, country, text;
    wharf_status s = addresses_country_of(req, &country);

    if (s == WHARF_OK)
        s = contacts_places->address_in(req, input, line2, country, path, &whole);
    if (s == WHARF_OK)
        return W->json->parse(req, whole, ret);
    /* The id may be of an address that comes with another row of the set. */
    if (W->json->text(input, &text) && text.n > 5 && !memcmp(text.p, "addr_", 5))
        contacts_many->row_by_row(req);
    return s;
}

static bool is_value(const wharf_json *v)
{
    return v && W->json->type(v) == WHARF_J_OBJECT;
}

wharf_status contact_complete_addresses(wharf_req *req, wharf_rec *rec)
{
    static const char *const members[] = {"id", "hash", "line1", "line2", "city", "state",
        "state_code", "postal_code", "country", "country_code", "formatted_address", "textarea",
        "coordinates", "timezone", "verified"};
    const wharf_json *others = field_json(rec, CONTACT_ALTERNATE_ADDRESSES), *whole;
    wharf_out *out = W->json->builder(req);
    wharf_status s;

    if (!others || !W->res->sent(rec, CONTACT_ALTERNATE_ADDRESSES))
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(others, 0); m; m = W->json->next(m)) {
        if (!is_value(m))
            continue;
        W->json->open(out, W->json->key(m).p, '{');
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
            const wharf_json *v = W->json->get(m, members[i]);

            W->json->put(out, members[i], v ? wharf_value(v) : wharf_null());
        }
        W->json->close(out);
    }
    W->json->close(out);
    s = W->json->result(req, out, &whole);
    if (s == WHARF_OK)
        W->res->set(rec, CONTACT_ALTERNATE_ADDRESSES, wharf_value(whole));
    return s;
}

static void addresses_keep(wharf_req *req, struct ids *list, const wharf_json *address)
{
    wharf_out *out = W->json->writer(req);

    W->json->put(out, NULL, wharf_value(address));
    list->p[list->n++] = W->json->result_text(out);
}

wharf_status contacts_remember(wharf_req *req, const wharf_rec *const *recs, size_t n)
{
    struct ids list = {NULL, 0};

    for (size_t i = 0; i < n; i++) {
        const wharf_json *others = field_json(recs[i], CONTACT_ALTERNATE_ADDRESSES);

        list.n += 1 + (others ? W->json->count(others) : 0);
    }
    list.p = W->mem->alloc(req, (list.n + 1) * sizeof(*list.p));
    list.n = 0;
    for (size_t i = 0; i < n; i++) {
        const wharf_json *others = field_json(recs[i], CONTACT_ALTERNATE_ADDRESSES),
                         *first = field_json(recs[i], CONTACT_ADDRESS);

        if (W->res->sent(recs[i], CONTACT_ADDRESS) && is_value(first))
            addresses_keep(req, &list, first);
        if (!W->res->sent(recs[i], CONTACT_ALTERNATE_ADDRESSES) || !others)
            continue;
        for (const wharf_json *m = W->json->at(others, 0); m; m = W->json->next(m)) {
            if (is_value(m))
                addresses_keep(req, &list, m);
        }
    }
    return list.n ? contacts_places->remember(req, list.p, list.n) : WHARF_OK;
}
