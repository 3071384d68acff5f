/* merge.c - POST /v1/contacts/:id/merge (spec 02 section 4): what others have fills the free
 * places of one contact, and they are deleted.
 *
 * Both happen through the pipeline, in one transaction. References of other modules follow by
 * what they registered with the service contacts.merge. Leaves to others: the rules of a contact
 * (contact_rules.c), leaving groups (membership.c). */
#include "contacts.gen.h"
#include "contacts.h"
#include "wharf/ext/contacts.h"

enum {
    FROM_MAX = 20, /* contacts of one merge */
    VALUES_MAX = (FROM_MAX + 1) * 6,
    SLOTS_MAX = 5,
    MOVERS_MAX = 32
};

/* ---- who has references ---- */

static wharf_contacts_move_fn *movers[MOVERS_MAX]; /* filled while modules start, read after */
static size_t n_movers;

static void on_merge(wharf_contacts_move_fn *fn)
{
    if (n_movers < MOVERS_MAX)
        movers[n_movers++] = fn;
}

const wharf_contacts_merge_api contacts_merge = {WHARF_HEAD(wharf_contacts_merge_api), on_merge};

/* ---- one kind of data ---- */

/* A field with one value and an object of others: which they are, and what stands in them. */
struct kind {
    wharf_field one, others;
    const char *name, *more;
    const char *slots[SLOTS_MAX];
};

static const struct kind kinds[] = {
    {CONTACT_NAME, CONTACT_ALTERNATE_NAMES, "name", "alternate_names", {"0", "1", "2", "3", "4"}},
    {CONTACT_EMAIL, CONTACT_ALTERNATE_EMAILS, "email", "alternate_emails",
        {"work", "personal", "other", "education", "social"}},
    {CONTACT_PHONE, CONTACT_ALTERNATE_PHONES, "phone", "alternate_phones",
        {"mobile", "work", "home", "other", "education"}},
    {CONTACT_ADDRESS, CONTACT_ALTERNATE_ADDRESSES, "address", "alternate_addresses",
        {"secondary", "work", "home", "other", "education"}},
};

struct value_at {
    wharf_str value, slot; /* slot "": the one */
};

struct values {
    struct value_at items[VALUES_MAX];
    size_t n;
};

/* Reads the text itself, or the id of an address. */
static bool merge_text_of(const wharf_json *v, wharf_str *ret)
{
    if (v && W->json->type(v) == WHARF_J_OBJECT)
        v = W->json->get(v, "id");
    return v && W->json->text(v, ret) && ret->n;
}

static void merge_add(struct values *v, wharf_str value, wharf_str slot)
{
    if (v->n < VALUES_MAX)
        v->items[v->n++] = (struct value_at){value, slot};
}

static void merge_add_all(const struct kind *k, const wharf_rec *rec, struct values *v)
{
    const wharf_json *others = field_json(rec, k->others), *one;
    wharf_str s;

    one = k->one == CONTACT_ADDRESS ? field_json(rec, k->one) : NULL;
    if (one ? merge_text_of(one, &s) : k->one != CONTACT_ADDRESS && field_get_text(rec, k->one, &s))
        merge_add(v, s, WHARF_S(""));
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (merge_text_of(m, &s))
            merge_add(v, s, W->json->key(m));
    }
}

static bool same_folded(wharf_str a, wharf_str b)
{
    for (size_t i = 0; a.n == b.n && i < a.n; i++) {
        char x = a.p[i] >= 'A' && a.p[i] <= 'Z' ? (char)(a.p[i] + 32) : a.p[i];
        char y = b.p[i] >= 'A' && b.p[i] <= 'Z' ? (char)(b.p[i] + 32) : b.p[i];

        if (x != y)
            return false;
    }
    return a.n == b.n;
}

/* Tells whether the value is there. Ids of addresses are told apart by their letters' case too. */
static bool has_value(const struct kind *k, const struct values *v, wharf_str value)
{
    for (size_t i = 0; i < v->n; i++) {
        if (k->one == CONTACT_ADDRESS ? wharf_same(v->items[i].value, value)
                                      : same_folded(v->items[i].value, value))
            return true;
    }
    return false;
}

static bool has_slot(const struct values *v, wharf_str slot)
{
    for (size_t i = 0; i < v->n; i++) {
        if (wharf_same(v->items[i].slot, slot))
            return true;
    }
    return false;
}

/* Finds the slot that it had if that is free, else the first free one. Returns false when none
 * is. */
static bool free_slot(const struct kind *k, const struct values *own, wharf_str had, wharf_str *ret)
{
    if (had.n && !has_slot(own, had)) {
        *ret = had;
        return true;
    }
    for (size_t i = 0; i < SLOTS_MAX; i++) {
        *ret = wharf_z(k->slots[i]);
        if (!has_slot(own, *ret))
            return true;
    }
    return false;
}

/* Writes what the others have of a kind and the contact has not into its free places, as members
 * of an update. */
static void put_kind(wharf_req *req, wharf_out *out, const struct kind *k, const wharf_rec *to,
    const wharf_rec *const *from, size_t n)
{
    struct values *own = W->mem->alloc(req, sizeof(*own)),
                  *more = W->mem->alloc(req, sizeof(*more));
    size_t before;

    merge_add_all(k, to, own);
    for (size_t i = 0; i < n; i++)
        merge_add_all(k, from[i], more);
    before = own->n;
    for (size_t i = 0; i < more->n; i++) {
        wharf_str slot = WHARF_S("");

        if (has_value(k, own, more->items[i].value))
            continue;
        if (has_slot(own, slot) && !free_slot(k, own, more->items[i].slot, &slot))
            break;
        merge_add(own, more->items[i].value, slot);
    }
    for (size_t i = before; i < own->n; i++) {
        if (!own->items[i].slot.n)
            W->json->put(out, k->name, wharf_text(own->items[i].value));
    }
    W->json->open(out, k->more, '{');
    for (size_t i = before; i < own->n; i++) {
        if (own->items[i].slot.n)
            W->json->put(out, own->items[i].slot.p, wharf_text(own->items[i].value));
    }
    W->json->close(out);
}

/* ---- groups and locations ---- */

static void put_added(wharf_req *req, wharf_out *out, wharf_field f, const char *name,
    const wharf_rec *to, const wharf_rec *const *from, size_t n)
{
    /* and what is added: each id is sent once */
    struct ids own = ids_of(req, field_json(to, f), n * GROUPS_MAX);

    W->json->open(out, name, '{');
    W->json->open(out, "add", '[');
    for (size_t i = 0; i < n; i++) {
        struct ids theirs = ids_of(req, field_json(from[i], f), 0),
                   fresh = ids_without(req, &theirs, &own);

        for (size_t k = 0; k < fresh.n; k++) {
            W->json->put(out, NULL, wharf_text(fresh.p[k]));
            own.p[own.n++] = fresh.p[k];
        }
    }
    W->json->close(out);
    W->json->close(out);
}

/* Writes the locations. Who belongs to the whole organization does not become one of some
 * locations by taking in one that is. */
static void put_locations(
    wharf_req *req, wharf_out *out, const wharf_rec *to, const wharf_rec *const *from, size_t n)
{
    struct ids own = ids_of(req, field_json(to, CONTACT_LOCATIONS), 0);
    bool everywhere = !own.n;

    for (size_t i = 0; i < n && !everywhere; i++)
        everywhere = !ids_of(req, field_json(from[i], CONTACT_LOCATIONS), 0).n;
    if (!everywhere)
        put_added(req, out, CONTACT_LOCATIONS, "locations", to, from, n);
    else if (own.n)
        W->json->put(out, "locations", wharf_null());
}

/* Writes that it wants no mails when one of the others wanted none: nobody is asked twice. */
static void put_wish(wharf_out *out, const wharf_rec *const *from, size_t n)
{
    bool none = false;

    for (size_t i = 0; i < n; i++)
        none |= json_text(field_json(from[i], CONTACT_NOTIFICATIONS), "opted_out_at").n > 0;
    if (!none)
        return;
    W->json->open(out, "notifications", '{');
    W->json->put(out, "opted_out", val_bool(true));
    W->json->close(out);
}

/* ---- the request ---- */

static wharf_status read_from(wharf_req *req, wharf_str id, struct ids *ret)
{
    const wharf_json *body;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    /* an array of different texts: the route's definition says so */
    *ret = ids_of(req, W->json->get(body, "from"), 0);
    for (size_t i = 0; i < ret->n; i++) {
        if (wharf_same(ret->p[i], id))
            W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "from.%zu", i).p,
                "A contact is not merged into itself; leave it out of from");
    }
    return W->err->current(req);
}

static wharf_status merge_fetch_all(wharf_req *req, wharf_str id, const struct ids *from,
    const wharf_rec **to, const wharf_rec **recs)
{
    wharf_status s = W->res->fetch(req, "contact", id, WHARF_FOR_UPDATE, to);

    for (size_t i = 0; s == WHARF_OK && i < from->n; i++) {
        s = W->res->fetch(req, "contact", from->p[i], WHARF_FOR_UPDATE, &recs[i]);
        if (s == WHARF_NOT_FOUND) {
            W->err->clear(req);
            s = W->err->fail(req, ERR_VALIDATION_FAILED, W->mem->format(req, "from.%zu", i).p,
                "There is no contact %.*s", (int)from->p[i].n, from->p[i].p);
        }
    }
    return s;
}

static wharf_status merge_all(
    wharf_req *req, wharf_str id, const struct ids *from, const wharf_rec **ret)
{
    const wharf_rec **recs = W->mem->alloc(req, (from->n + 1) * sizeof(*recs)), *to;
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    wharf_status s = merge_fetch_all(req, id, from, &to, recs);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        put_kind(req, out, &kinds[i], to, recs, from->n);
    put_added(req, out, CONTACT_GROUPS, "groups", to, recs, from->n);
    put_locations(req, out, to, recs, from->n);
    put_wish(out, recs, from->n);
    W->json->close(out);
    s = W->json->result(req, out, &body);
    for (size_t i = 0; s == WHARF_OK && i < n_movers; i++)
        s = movers[i](req, from->p, from->n, id);
    for (size_t i = 0; s == WHARF_OK && i < from->n; i++)
        s = W->res->remove(req, "contact", from->p[i]);
    return s == WHARF_OK ? W->res->update(req, "contact", id, body, ret) : s;
}

wharf_status contacts_merge_route(wharf_req *req, void *arg)
{
    wharf_str id = {"", 0};
    const wharf_rec *rec;
    struct ids from;
    wharf_status s;

    (void)arg;
    W->req->param(req, "id", &id);
    s = read_from(req, id, &from);
    if (s == WHARF_OK)
        s = merge_all(req, id, &from, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Contacts merged"), NULL, rec);
    return s;
}
