/* contact_rules.c - the rules of contacts (spec 02 section 4): forms of input, contact data,
 * what is derived from it. Leaves to others: what follows from a written contact
 * (contact_written.c). */
#include "contacts.gen.h"
#include "contacts.h"

/* ---- normalize: other forms of input ---- */

static wharf_str contact_member_text(const wharf_rec *rec, const char *name)
{
    const wharf_json *v = W->res->member(rec, name);
    wharf_str s = {"", 0};

    if (v)
        W->json->text(v, &s);
    return s;
}

/* Takes first_name and last_name, when no name is sent. */
static void take_names(wharf_req *req, wharf_rec *rec)
{
    wharf_str first = contact_member_text(rec, "first_name"),
              last = contact_member_text(rec, "last_name");

    if (!W->res->member(rec, "name") && first.n + last.n)
        W->res->set(rec, CONTACT_NAME,
            wharf_text(W->mem->format(req, "%.*s%s%.*s", (int)first.n, first.p,
                first.n && last.n ? " " : "", (int)last.n, last.p)));
    W->res->drop(rec, "first_name");
    W->res->drop(rec, "last_name");
}

/* Takes the type. Contacts are people: groups have a resource of their own. */
static void take_type(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *type = W->res->member(rec, "type");
    wharf_str s = {"", 0};

    if (type && W->json->type(type) != WHARF_J_NULL &&
        !(W->json->text(type, &s) && wharf_same(s, WHARF_S("person"))))
        W->err->add(req, ERR_VALIDATION_FAILED, "type",
            "type must be person; groups are made by POST /v1/groups");
    W->res->drop(rec, "type");
}

static wharf_status contact_read_address(wharf_req *req, const wharf_json *input,
    const wharf_json *line2, const char *path, const wharf_json **ret)
{
    wharf_str second = {"", 0};

    if (line2)
        W->json->text(line2, &second);
    return contact_address(req, input, second, path, ret);
}

static wharf_status contact_take_address(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *sent = W->res->member(rec, "address"),
                     *primary = W->res->member(rec, "primary_address"),
                     *line2 = W->res->member(rec, "address_line2"), *value = NULL;
    const char *path = sent ? "address" : "primary_address";
    wharf_status s = WHARF_OK;

    sent = sent ? sent : primary;
    if (!json_is_null(sent))
        s = contact_read_address(req, sent, line2, path, &value);
    if (sent && s == WHARF_OK)
        W->res->set(rec, CONTACT_ADDRESS, json_is_null(sent) ? wharf_null() : wharf_value(value));
    W->res->drop(rec, "primary_address");
    W->res->drop(rec, "address_line2");
    return s;
}

static bool is_line2(wharf_str key)
{
    return key.n > 6 && memcmp(key.p + key.n - 6, "_line2", 6) == 0;
}

static wharf_status contact_put_address(wharf_req *req, wharf_out *out, const wharf_json *of,
    const char *key, const wharf_json *input, const char *path)
{
    const wharf_json *line2 = of ? W->json->get(of, W->mem->format(req, "%s_line2", key).p) : NULL,
                     *value = NULL;
    wharf_status s = WHARF_OK;

    if (json_is_null(input)) {
        W->json->put(out, key, wharf_null());
        return s;
    }
    s = contact_read_address(req, input, line2, path, &value);
    if (s == WHARF_OK)
        W->json->put(out, key, wharf_value(value));
    return s;
}

/* Takes alternate_addresses with their line2 beside them, and secondary_address. */
static wharf_status take_alternates(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *sent = W->res->member(rec, "alternate_addresses"),
                     *second = W->res->member(rec, "secondary_address"), *value;
    bool object = sent && W->json->type(sent) == WHARF_J_OBJECT;
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    if (sent && !object)
        return WHARF_OK; /* the schema says what is wrong, or it is null */
    if (!sent && !second)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = object ? W->json->at(sent, 0) : NULL; m && s == WHARF_OK;
         m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (!is_line2(key) && !(second && wharf_same(key, WHARF_S("secondary"))))
            s = contact_put_address(
                req, out, sent, key.p, m, W->mem->format(req, "alternate_addresses.%s", key.p).p);
    }
    if (second && s == WHARF_OK)
        s = contact_put_address(
            req, out, object ? sent : NULL, "secondary", second, "secondary_address");
    W->json->close(out);
    if (s == WHARF_OK)
        s = W->json->result(req, out, &value);
    if (s == WHARF_OK)
        W->res->set(rec, CONTACT_ALTERNATE_ADDRESSES, wharf_value(value));
    W->res->drop(rec, "secondary_address");
    return s;
}

/* Takes nickname as the first of the other names. */
static wharf_status take_nickname(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *nickname = W->res->member(rec, "nickname"),
                     *names = W->res->member(rec, "alternate_names"), *value;
    wharf_out *out = W->json->builder(req);
    wharf_status s;

    if (!nickname)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    if (names && W->json->type(names) == WHARF_J_OBJECT) {
        for (const wharf_json *m = W->json->at(names, 0); m; m = W->json->next(m)) {
            if (!wharf_same(W->json->key(m), WHARF_S("0")))
                W->json->put(out, W->json->key(m).p, wharf_value(m));
        }
    }
    W->json->put(out, "0", wharf_value(nickname));
    W->json->close(out);
    s = W->json->result(req, out, &value);
    if (s == WHARF_OK)
        W->res->set(rec, CONTACT_ALTERNATE_NAMES, wharf_value(value));
    W->res->drop(rec, "nickname");
    return s;
}

static wharf_status contact_normalize(wharf_req *req, uint32_t op, wharf_rec *rec)
{
    wharf_status s;

    (void)op;
    take_names(req, rec);
    take_type(req, rec);
    s = contact_take_emails(req, rec);
    if (s == WHARF_OK)
        s = contact_take_address(req, rec);
    if (s == WHARF_OK)
        s = take_alternates(req, rec);
    if (s == WHARF_OK)
        s = take_nickname(req, rec);
    return s == WHARF_OK ? W->err->current(req) : s;
}

/* ---- check: e-mails, phones, addresses ---- */

enum { CHANNELS_MAX = 6 };

/* The values of one kind, the primary one first, with the paths they were or would be sent at. */
struct channel {
    wharf_str values[CHANNELS_MAX], paths[CHANNELS_MAX];
    size_t n;
};

static void channel_add(struct channel *c, wharf_str value, wharf_str path)
{
    if (c->n < CHANNELS_MAX) {
        c->values[c->n] = value;
        c->paths[c->n++] = path;
    }
}

static wharf_status unique(wharf_req *req, const struct channel *c, const char *code)
{
    for (size_t i = 1; i < c->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (wharf_same(c->values[i], c->values[k])) {
                W->err->add(req, code, c->paths[i].p, NULL);
                break;
            }
        }
    }
    return W->err->current(req);
}

static wharf_status check_emails(wharf_req *req, wharf_rec *rec, struct channel *c)
{
    const wharf_json *others = field_json(rec, CONTACT_ALTERNATE_EMAILS);
    wharf_str s;

    c->n = 0;
    if (field_get_text(rec, CONTACT_EMAIL, &s))
        channel_add(c, s, WHARF_S("email"));
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (!W->json->text(m, &s))
            continue;
        if (!c->n)
            return W->err->fail(req, ERR_VALIDATION_FAILED, "email",
                "email comes first: there are other addresses, and no main one");
        channel_add(c, s, W->mem->format(req, "alternate_emails.%s", W->json->key(m).p));
    }
    for (size_t i = 0; i < c->n; i++) {
        if (!contacts_org->email(c->values[i]))
            W->err->add(req, ERR_VALIDATION_FAILED, c->paths[i].p,
                "%s must be an address such as dock@example.com", c->paths[i].p);
        c->values[i] = text_lower(req, c->values[i]);
    }
    return W->err->current(req) == WHARF_OK ? unique(req, c, ERR_CONTACT_DUPLICATE_EMAIL)
                                            : W->err->current(req);
}

/* Makes the form of a phone number. country: what the organization's directory tells, or NULL: it
 * is asked now. */
static wharf_status phone_form(
    wharf_req *req, const wharf_str *country, wharf_str sent, const char *path, wharf_str *ret)
{
    if (country ? contacts_org->phone_in(req, *country, sent, ret)
                : contacts_org->phone(req, sent, ret))
        return WHARF_OK;
    return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s " WHARF_PHONE_WRONG, path);
}

static wharf_status check_phones(
    wharf_req *req, const wharf_str *country, wharf_rec *rec, struct channel *c)
{
    const wharf_json *others = field_json(rec, CONTACT_ALTERNATE_PHONES), *value;
    wharf_out *out = W->json->builder(req);
    wharf_str s, form;

    c->n = 0;
    if (field_get_text(rec, CONTACT_PHONE, &s) &&
        phone_form(req, country, s, "phone", &form) == WHARF_OK) {
        W->res->set(rec, CONTACT_PHONE, wharf_text(form));
        channel_add(c, form, WHARF_S("phone"));
    }
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        const char *key = W->json->key(m).p,
                   *path = W->mem->format(req, "alternate_phones.%s", key).p;

        if (!W->json->text(m, &s) || phone_form(req, country, s, path, &form) != WHARF_OK)
            continue;
        W->json->put(out, key, wharf_text(form));
        channel_add(c, form, wharf_z(path));
    }
    W->json->close(out);
    if (W->err->current(req) != WHARF_OK || W->json->result(req, out, &value) != WHARF_OK)
        return W->err->current(req);
    if (others && W->res->sent(rec, CONTACT_ALTERNATE_PHONES))
        W->res->set(rec, CONTACT_ALTERNATE_PHONES, wharf_value(value));
    return unique(req, c, ERR_CONTACT_DUPLICATE_PHONE);
}

static wharf_status check_addresses(wharf_req *req, const wharf_rec *rec, struct channel *ids,
    struct channel *hashes, struct channel *texts)
{
    const wharf_json *first = field_json(rec, CONTACT_ADDRESS),
                     *others = field_json(rec, CONTACT_ALTERNATE_ADDRESSES);

    ids->n = hashes->n = texts->n = 0;
    if (!json_is_null(first)) {
        channel_add(ids, json_text(first, "id"), WHARF_S("address"));
        channel_add(hashes, json_text(first, "hash"), WHARF_S(""));
        channel_add(texts, json_text(first, "formatted_address"), WHARF_S(""));
    }
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (json_is_null(m))
            continue;
        channel_add(ids, json_text(m, "id"),
            W->mem->format(req, "alternate_addresses.%s", W->json->key(m).p));
        channel_add(hashes, json_text(m, "hash"), WHARF_S(""));
        channel_add(texts, json_text(m, "formatted_address"), WHARF_S(""));
    }
    return unique(req, ids, ERR_CONTACT_DUPLICATE_ADDRESS);
}

/* ---- check: groups ---- */

static void no_group_for(wharf_req *req, wharf_str id)
{
    W->err->add(req, ERR_VALIDATION_FAILED, "groups",
        "%.*s is a group of locations, or has 10000 children", (int)id.n, id.p);
}

/* Checks the groups. Groups of locations have other children. */
static wharf_status check_groups(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] = "SELECT id FROM contacts.contact_group WHERE organization_id = "
                              "$1::text AND id = ANY ((SELECT $2::text[])::text[])"
                              " AND (resource <> 'contact' OR jsonb_array_length(children) >= "
                              "$3::integer AND NOT children ? $4::text)";
    struct ids groups = ids_of(req, field_json(rec, CONTACT_GROUPS), 0);
    wharf_val args[4] = {wharf_text(W->req->organization(req)), ids_array(req, &groups),
        wharf_integer(CHILDREN_MAX), wharf_text(W->res->id(rec))},
              id;
    const wharf_rows *rows;
    wharf_status s;

    if (!groups.n || !W->res->sent(rec, CONTACT_GROUPS))
        return WHARF_OK;
    s = W->db->query(req, sql, args, 4, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        W->db->value(rows, i, 0, WHARF_V_TEXT, &id);
        no_group_for(req, id.u.s);
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

/* Checks the same for new contacts: the groups that some of them name, refused ones with how many
 * join them. */
static wharf_status check_groups_many(
    wharf_req *req, wharf_rec *const *recs, const bool *good, size_t n)
{
    static const char sql[] = QUERY_GROUPS_REFUSED;
    struct ids *of = W->mem->alloc(req, (n + 1) * sizeof(*of)), all = {NULL, 0};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(),
        wharf_integer(CHILDREN_MAX)},
              id, full;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        if (good[i] && W->res->sent(recs[i], CONTACT_GROUPS))
            of[i] = ids_of(req, field_json(recs[i], CONTACT_GROUPS), 0);
        all.n += of[i].n;
    }
    if (!all.n)
        return WHARF_OK;
    all.p = W->mem->alloc(req, all.n * sizeof(*all.p));
    all.n = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < of[i].n; k++)
            all.p[all.n++] = of[i].p[k];
    }
    args[1] = ids_array(req, &all);
    s = W->db->query(req, sql, args, 3, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        W->db->value(rows, r, 0, WHARF_V_TEXT, &id);
        /* full after some of them: after which? */
        if (!W->db->value(rows, r, 1, WHARF_V_BOOL, &full) || !full.u.i) {
            contacts_many->row_by_row(req);
            return WHARF_CONFLICT;
        }
        for (size_t i = 0; i < n; i++) {
            contacts_many->at(req, i);
            if (ids_have(&of[i], id.u.s))
                no_group_for(req, id.u.s);
        }
    }
    return s;
}

/* ---- check: what is derived ---- */

static wharf_status set_list(wharf_req *req, wharf_rec *rec, wharf_field f, const struct channel *c)
{
    struct ids ids = {(wharf_str *)c->values, c->n};
    const wharf_json *list;
    wharf_status s = ids_json(req, &ids, &list);

    if (s == WHARF_OK)
        W->res->set(rec, f, wharf_value(list));
    return s;
}

/* Texts joined by a line end: what searches look at, what the checksum is made of. */
struct text {
    char *p;
    size_t n, room;
};

static void text_add(wharf_req *req, struct text *t, wharf_str s)
{
    if (!t->p || t->n + s.n + 1 > t->room) {
        char *wider = W->mem->alloc(req, 2 * (t->room + s.n) + 256);

        if (t->p)
            memcpy(wider, t->p, t->n);
        t->p = wider;
        t->room = 2 * (t->room + s.n) + 256;
    }
    memcpy(t->p + t->n, s.p, s.n);
    t->n += s.n;
    t->p[t->n++] = '\n';
}

static void text_add_all(wharf_req *req, struct text *t, const struct channel *c)
{
    for (size_t i = 0; i < c->n; i++)
        text_add(req, t, c->values[i]);
}

static void contact_names_of(wharf_req *req, const wharf_rec *rec, struct text *t)
{
    const wharf_json *others = field_json(rec, CONTACT_ALTERNATE_NAMES);
    wharf_str s;

    if (field_get_text(rec, CONTACT_NAME, &s))
        text_add(req, t, s);
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (W->json->text(m, &s))
            text_add(req, t, s);
    }
}

/* Checks the contact's own data, and what is derived from it; not its groups. */
static wharf_status contact_check_data(wharf_req *req, const wharf_str *country, wharf_rec *new_rec)
{
    struct channel emails, phones, ids, hashes, addresses;
    struct text search = {0}, identity = {0};
    wharf_status s;
    wharf_str more;

    s = check_emails(req, new_rec, &emails);
    if (s == WHARF_OK)
        s = check_phones(req, country, new_rec, &phones);
    if (s == WHARF_OK)
        s = contact_complete_addresses(req, new_rec);
    if (s == WHARF_OK)
        s = check_addresses(req, new_rec, &ids, &hashes, &addresses);
    if (s == WHARF_OK)
        s = set_list(req, new_rec, CONTACT_EMAILS, &emails);
    if (s == WHARF_OK)
        s = set_list(req, new_rec, CONTACT_ADDRESS_HASHES, &hashes);
    if (s != WHARF_OK)
        return s;
    contact_names_of(req, new_rec, &identity);
    contact_names_of(req, new_rec, &search);
    text_add_all(req, &identity, &emails);
    text_add_all(req, &identity, &phones);
    text_add_all(req, &identity, &ids);
    text_add_all(req, &search, &emails);
    text_add_all(req, &search, &phones);
    text_add_all(req, &search, &addresses);
    if (field_get_text(new_rec, CONTACT_ID_NUMBER, &more))
        text_add(req, &search, more);
    if (field_get_text(new_rec, CONTACT_EXTERNAL_ID, &more))
        text_add(req, &search, more);
    W->res->set(new_rec, CONTACT_SEARCH_TEXT,
        wharf_text(contacts_forms->search_form(req, (wharf_str){search.p, search.n}, "")));
    W->res->set(new_rec, CONTACT_CHECKSUM,
        wharf_text(contacts_forms->sha256(req, (wharf_str){identity.p, identity.n})));
    return WHARF_OK;
}

static wharf_status contact_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s;

    if (op == WHARF_DELETE)
        return WHARF_OK;
    s = contact_settle_notices(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = contact_check_data(req, NULL, new_rec);
    return s == WHARF_OK ? check_groups(req, new_rec) : s;
}

static wharf_status contact_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    bool *good = W->mem->alloc(req, n * sizeof(*good));
    wharf_str country;
    wharf_status s;

    if (op != WHARF_CREATE)
        return WHARF_OK;
    s = contacts_org->country(req, &country);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        contacts_many->at(req, i);
        good[i] = contact_settle_notices(req, NULL, new_recs[i]) == WHARF_OK &&
                  contact_check_data(req, &country, new_recs[i]) == WHARF_OK;
    }
    return s == WHARF_OK ? check_groups_many(req, new_recs, good, n) : s;
}

const wharf_hooks contact_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = contact_normalize,
    .check = contact_check,
    .written = contact_written,
    .search = contact_search,
    .check_many = contact_check_many,
    .written_many = contact_written_many};
