/* inference_party.c - sender and recipient of a label, and the contacts that they mean
 * (docs/spec/06-inference.md sections 3.1, 6 and 9). A contact is set only when one alone is meant,
 * or when somebody chose it. Leaves to others: how alike two names are (contacts.match), what an
 * open question does to the row (inference_state.c). */
#include "inference.h"

#include "inference.gen.h"
#include "wharf/ext/shipments.h"

static const char *const sent_members[] = {"name", "business", "email", "phone"};
enum { SENT = sizeof(sent_members) / sizeof(sent_members[0]) };

wharf_field party_field(int which)
{
    return which == RECIPIENT ? SHIPPING_LABEL_INFERENCE_RECIPIENT
                              : SHIPPING_LABEL_INFERENCE_SENDER;
}

wharf_field party_contact_field(int which)
{
    return which == RECIPIENT ? SHIPPING_LABEL_INFERENCE_RECIPIENT_CONTACT_ID
                              : SHIPPING_LABEL_INFERENCE_SENDER_CONTACT_ID;
}

/* ---- what the label says ---- */

static void party_put_fact(wharf_out *out, const char *key, const struct label_fact *f)
{
    W->json->put(out, key, f->confidence ? val_text(f->value) : val_null());
}

/* Makes the address: as the directory of locations keeps it, else its parts as they are. */
static wharf_status party_address(
    wharf_req *req, const struct label_party *p, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *parts;
    wharf_str whole;
    wharf_status s;

    *ret = NULL;
    if (!p->line1.confidence && !p->city.confidence && !p->postal_code.confidence)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    party_put_fact(out, "line1", &p->line1);
    party_put_fact(out, "line2", &p->line2);
    party_put_fact(out, "city", &p->city);
    party_put_fact(out, "state", &p->state_code);
    party_put_fact(out, "state_code", &p->state_code);
    party_put_fact(out, "postal_code", &p->postal_code);
    party_put_fact(out, "country_code", &p->country_code);
    W->json->close(out);
    s = W->json->result(req, out, &parts);
    if (s != WHARF_OK)
        return s;
    *ret = parts;
    if (!inference_places || !p->line1.confidence)
        return WHARF_OK;
    s = inference_places->address_in(
        req, parts, WHARF_S(""), p->country_code.value, "address", &whole);
    if (s == WHARF_OK)
        return W->json->parse(req, whole, ret);
    if (s == WHARF_INVALID)
        W->err->clear(req);
    return s == WHARF_INVALID ? WHARF_OK : s;
}

/* Puts what has not been matched yet. */
static void party_put_open(wharf_out *out)
{
    W->json->put(out, "contact_id", val_null());
    W->json->put(out, "contact", val_null());
    W->json->put(out, "searched_name", val_null());
    W->json->put(out, "searched_business", val_null());
    W->json->open(out, "matches", '[');
    W->json->close(out);
    W->json->put(out, "matching_decision", val_null());
}

wharf_status party_of_label(
    wharf_req *req, const struct label_party *p, bool parse, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *address = NULL;
    wharf_status s = parse ? party_address(req, p, &address) : WHARF_OK;

    *ret = NULL;
    if (s != WHARF_OK)
        return s;
    if (!address && !p->name.confidence && !p->business.confidence && !p->email.confidence &&
        !p->phone.confidence && !p->formatted.n)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    party_put_fact(out, "name", &p->name);
    party_put_fact(out, "business", &p->business);
    party_put_fact(out, "email", &p->email);
    party_put_fact(out, "phone", &p->phone);
    W->json->put(out, "address", val_json(address));
    W->json->put(out, "formatted_address", val_text_or_null(p->formatted));
    party_put_fact(out, "extracted_name", &p->name);
    party_put_fact(out, "extracted_business", &p->business);
    party_put_open(out);
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* ---- matching ---- */

/* Finds who was chosen by hand for this name before. */
static wharf_status party_remembered(wharf_req *req, wharf_str searched, wharf_str *ret_contact)
{
    static const char sql[] = "SELECT contact_id FROM inference.choice WHERE organization_id = "
                              "$2::text AND searched_name = $1::text";
    const wharf_rows *rows;
    wharf_status s;

    *ret_contact = WHARF_S("");
    if (!searched.n)
        return WHARF_OK;
    s = query_about(req, sql, searched, &rows);
    if (s == WHARF_OK && W->db->count(rows))
        *ret_contact = row_text(rows, 0, 0);
    return s;
}

static const wharf_str *party_ignored(wharf_req *req, const wharf_json *list, size_t *ret_n)
{
    wharf_str *texts = W->mem->alloc(req, (W->json->count(list) + 1) * sizeof(*texts));

    *ret_n = 0;
    for (const wharf_json *m = W->json->at(list, 0); m; m = W->json->next(m))
        *ret_n += W->json->text(m, &texts[*ret_n]);
    return texts;
}

/* Returns what the party's name was on the label, or as somebody wrote it. */
static wharf_str party_said(const wharf_json *party, const char *extracted, const char *written)
{
    wharf_str s = json_text(party, extracted);

    return s.n ? s : json_text(party, written);
}

/* Puts a decision that gives the label to nobody, since this contact gets labels by hand only. */
static void party_put_for_hand(wharf_out *out, const wharf_json *decision)
{
    W->json->open(out, "decision", '{');
    for (const wharf_json *m = W->json->at(decision, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (is(key, "best_score"))
            W->json->put(out, key.p, val_text(WHARF_S("manual_match")));
        else if (is(key, "reason"))
            W->json->put(out, key.p, val_text(WHARF_S("This contact is to be chosen by hand")));
        else
            W->json->put(out, key.p, is(key, "contact_id") ? val_null() : val_json(m));
    }
    W->json->close(out);
}

/* Takes the contact out of the decision when its metadata says manual_match. */
static wharf_status party_keep_for_hand(
    wharf_req *req, const wharf_json *found, const wharf_json **ret)
{
    const wharf_json *decision = W->json->get(found, "decision"), *contact = NULL;
    wharf_str id = json_text(decision, "contact_id");
    wharf_out *out = W->json->builder(req);
    wharf_status s = id.n ? inference_contacts->who(req, id, &contact) : WHARF_OK;

    *ret = found;
    if (s != WHARF_OK || !json_truth(W->json->get(contact, "manual_match")))
        return s;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(found, 0); m; m = W->json->next(m)) {
        if (is(W->json->key(m), "decision"))
            party_put_for_hand(out, decision);
        else
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status party_find(wharf_req *req, const struct wishes *w, const wharf_json *party,
    wharf_str location, const wharf_json **ret)
{
    wharf_match_label label = {.head = WHARF_HEAD(wharf_match_label),
        .name = party_said(party, "extracted_name", "name"),
        .business = party_said(party, "extracted_business", "business"),
        .email = json_text(party, "email"),
        .phone = json_text(party, "phone"),
        .address = W->json->get(party, "address"),
        .location_id = location,
        .flags = (w->exact ? WHARF_MATCH_EXACT : 0U) |
                 (w->at_location ? WHARF_MATCH_AT_LOCATION : 0U),
        .order = w->order,
        .limit = w->limit,
        .threshold = w->threshold,
        .tolerance = w->tolerance};
    wharf_str chosen = WHARF_S("");
    struct place place;
    wharf_status s;

    *ret = NULL;
    if (!inference_contacts || !party)
        return WHARF_OK;
    if (json_is_null(label.address))
        label.address = NULL;
    if (!label.name.n && !label.business.n && !label.email.n && !label.phone.n && !label.address)
        return WHARF_OK;
    label.ignore = party_ignored(req, w->ignore, &label.n_ignore);
    s = place_read(req, location, &place);
    label.own_address = place.address; /* everybody there shares it */
    if (s == WHARF_OK)
        s = inference_contacts->find(req, &label, ret);
    if (s == WHARF_OK && w->learn)
        s = party_remembered(req, json_text(*ret, "searched_name"), &chosen);
    if (s == WHARF_OK && chosen.n) {
        label.remembered = &chosen;
        label.n_remembered = 1;
        s = inference_contacts->find(req, &label, ret);
    }
    if (s == WHARF_OK)
        s = party_keep_for_hand(req, *ret, ret);
    return s == WHARF_OK && w->legacy ? similarity_add(req, label.name, *ret, ret) : s;
}

/* Tells whether there is a contact at all within the caller's reach. */
static wharf_status party_book_is_empty(wharf_req *req, bool *ret)
{
    const wharf_rec *const *recs;
    const wharf_json *query;
    size_t n = 0;
    wharf_status s = W->json->parse(req, WHARF_S("{\"limit\": 1}"), &query);

    if (s == WHARF_OK)
        s = W->res->list(req, "contact", query, &recs, &n);
    *ret = n == 0;
    return s;
}

/* Says of a book without contacts that nothing was decided: nobody has a question to answer. */
static wharf_status party_nobody_there(
    wharf_req *req, const wharf_json *found, const wharf_json **ret)
{
    static const char text[] =
        "{\"searched_name\": null, \"searched_business\": null, \"matches\": [], \"decision\": "
        "{\"matches\": 0, \"error\": null, \"best_score\": \"none\", \"matched_by\": [], "
        "\"unmatched_by\": [], \"reason\": \"There is no contact to look among\", \"contact_id\": "
        "null}}";
    bool empty = false;
    wharf_status s = WHARF_OK;

    *ret = found;
    if (is(json_text(W->json->get(found, "decision"), "best_score"), "none"))
        s = party_book_is_empty(req, &empty);
    return s == WHARF_OK && empty ? W->json->parse(req, z(text), ret) : s;
}

/* Puts a decision without the contact's id, which stands beside it. */
static void party_put_decision(wharf_out *out, const wharf_json *decision)
{
    W->json->open(out, "matching_decision", '{');
    for (const wharf_json *m = W->json->at(decision, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (!is(key, "contact_id"))
            W->json->put(out, key.p, val_json(m));
    }
    W->json->close(out);
}

void party_put_found(wharf_out *out, const wharf_json *found)
{
    W->json->put(out, "searched_name", val_json(W->json->get(found, "searched_name")));
    W->json->put(out, "searched_business", val_json(W->json->get(found, "searched_business")));
    W->json->put(out, "matches", val_json(W->json->get(found, "matches")));
    party_put_decision(out, W->json->get(found, "decision"));
}

/* Puts the contact and its name; what the contact does not say is as it was on the label. */
static wharf_status party_put_contact(
    wharf_req *req, wharf_out *out, const wharf_json *party, wharf_str id)
{
    const wharf_json *contact = NULL;
    wharf_str name = party_said(party, "extracted_name", "name");
    wharf_status s = id.n ? inference_contacts->who(req, id, &contact) : WHARF_OK;

    if (s != WHARF_OK)
        return s;
    if (json_text(contact, "name").n)
        name = json_text(contact, "name");
    W->json->put(out, "name", val_text_or_null(name));
    W->json->put(out, "contact_id", val_text_or_null(id));
    if (!contact) {
        W->json->put(out, "contact", val_null());
        return WHARF_OK;
    }
    W->json->open(out, "contact", '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "name", val_json(W->json->get(contact, "name")));
    W->json->put(out, "email", val_json(W->json->get(contact, "email")));
    W->json->put(out, "phone", val_json(W->json->get(contact, "phone")));
    W->json->close(out);
    return WHARF_OK;
}

static void party_put_kept(wharf_out *out, const wharf_json *party)
{
    static const char *const keys[] = {"business", "email", "phone", "address", "formatted_address",
        "extracted_name", "extracted_business"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        W->json->put(out, keys[i], val_json(W->json->get(party, keys[i])));
}

/* Makes the party with what was found for it. */
static wharf_status party_with_found(
    wharf_req *req, const wharf_json *party, const wharf_json *found, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    wharf_str id = json_text(W->json->get(found, "decision"), "contact_id");
    wharf_status s;

    W->json->open(out, NULL, '{');
    s = party_put_contact(req, out, party, id);
    party_put_kept(out, party);
    party_put_found(out, found);
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

static bool party_by_hand(const wharf_json *party)
{
    return is(json_text(W->json->get(party, "matching_decision"), "best_score"), "manual");
}

wharf_status parties_match(wharf_req *req, const struct wishes *w, wharf_rec *rec)
{
    const wharf_json *old = field_json(rec, SHIPPING_LABEL_INFERENCE_FOUND), *all;
    wharf_str location = field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID);
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '{');
    for (int i = 0; i < PARTIES && s == WHARF_OK; i++) {
        const wharf_json *party = field_json(rec, party_field(i)), *found = NULL, *whole;

        if (w->search[i] && party && !party_by_hand(party))
            s = party_find(req, w, party, location, &found);
        if (s == WHARF_OK && found)
            s = party_nobody_there(req, found, &found);
        if (s == WHARF_OK && found)
            s = party_with_found(req, party, found, &whole);
        if (s == WHARF_OK && found)
            W->res->set(rec, party_field(i), val_json(whole));
        if (!found)
            found = W->json->get(old, party_names[i]);
        W->json->put(out, party_names[i], val_json(json_is_null(found) ? NULL : found));
    }
    W->json->close(out);
    if (s == WHARF_OK)
        s = W->json->result(req, out, &all);
    if (s == WHARF_OK)
        W->res->set(rec, SHIPPING_LABEL_INFERENCE_FOUND, val_json(all));
    return s;
}

/* ---- what somebody says ---- */

static void party_put_manual(wharf_out *out, const wharf_json *old)
{
    W->json->put(out, "searched_name", val_json(W->json->get(old, "searched_name")));
    W->json->put(out, "searched_business", val_json(W->json->get(old, "searched_business")));
    if (json_is_null(W->json->get(old, "matches"))) {
        W->json->open(out, "matches", '[');
        W->json->close(out);
    } else {
        W->json->put(out, "matches", val_json(W->json->get(old, "matches")));
    }
    W->json->open(out, "matching_decision", '{');
    W->json->put(out, "matches", val_int(0));
    W->json->put(out, "error", val_null());
    W->json->put(out, "best_score", val_text(WHARF_S("manual")));
    W->json->open(out, "matched_by", '[');
    W->json->put(out, NULL, val_text(WHARF_S("manual")));
    W->json->close(out);
    W->json->open(out, "unmatched_by", '[');
    W->json->close(out);
    W->json->put(out, "reason", val_text(WHARF_S("Somebody chose the contact")));
    W->json->close(out);
}

/* Notes who was chosen for the name, for the next label with it. */
static wharf_status party_learn(wharf_req *req, wharf_str searched, wharf_str contact)
{
    static const char sql[] =
        "INSERT INTO inference.choice (organization_id, searched_name, contact_id, chosen_at)"
        " VALUES ($1::text, $2::text, $3::text, $4::timestamptz)"
        " ON CONFLICT (organization_id, searched_name) DO UPDATE SET contact_id ="
        " EXCLUDED.contact_id, chosen_at = EXCLUDED.chosen_at";
    const wharf_val args[4] = {val_text(W->req->organization(req)), val_text(searched),
        val_text(contact), val_time(W->req->now_us(req))};

    return searched.n ? W->db->exec(req, sql, args, 4, NULL) : WHARF_OK;
}

static wharf_status party_choose(wharf_req *req, const struct wishes *w, const wharf_json *base,
    wharf_str contact, const char *name, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *who = NULL;
    wharf_status s = inference_contacts ? inference_contacts->who(req, contact, &who) : WHARF_OK;

    if (s == WHARF_OK && !who)
        return W->err->fail(req, ERR_VALIDATION_FAILED,
            W->mem->format(req, "%s.contact_id", name).p, "%s.contact_id names no contact", name);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    s = party_put_contact(req, out, base, contact);
    party_put_kept(out, base);
    party_put_manual(out, base);
    W->json->close(out);
    if (s == WHARF_OK && w->learn)
        s = party_learn(req, json_text(base, "searched_name"), contact);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

/* Makes the party of what it was and what was sent of it, without a contact. */
static wharf_status party_written(wharf_req *req, const wharf_json *old, const wharf_json *sent,
    const char *name, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *address = W->json->get(old, "address"),
                     *given = W->json->get(sent, "address");
    wharf_status s = WHARF_OK;
    wharf_str whole;

    if (given && json_is_null(given)) {
        address = NULL;
    } else if (given && inference_places) {
        s = inference_places->address(req, given, json_text(sent, "address_line2"),
            W->mem->format(req, "%s.address", name).p, &whole);
        if (s == WHARF_OK)
            s = W->json->parse(req, whole, &address);
    }
    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < SENT; i++)
        W->json->put(out, sent_members[i],
            val_json(W->json->get(sent, sent_members[i]) ? W->json->get(sent, sent_members[i])
                                                         : W->json->get(old, sent_members[i])));
    W->json->put(out, "address", val_json(address));
    W->json->put(out, "formatted_address", val_json(W->json->get(old, "formatted_address")));
    W->json->put(out, "extracted_name", val_json(W->json->get(old, "extracted_name")));
    W->json->put(out, "extracted_business", val_json(W->json->get(old, "extracted_business")));
    party_put_open(out);
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

static bool party_has_parts(const wharf_json *sent)
{
    bool any = W->json->get(sent, "address") != NULL;

    for (size_t i = 0; i < SENT; i++)
        any = any || W->json->get(sent, sent_members[i]);
    return any;
}

static bool party_equal(wharf_req *req, const wharf_json *a, const wharf_json *b)
{
    wharf_out *one = W->json->writer(req), *other = W->json->writer(req);

    if (json_is_null(a) || json_is_null(b))
        return json_is_null(a) && json_is_null(b);
    W->json->put(one, NULL, val_json(a));
    W->json->put(other, NULL, val_json(b));
    return same(W->json->result_text(one), W->json->result_text(other));
}

/* Tells whether all that was sent is as it was, as of an export that comes back. */
static bool party_is_kept(wharf_req *req, const wharf_json *old, const wharf_json *sent)
{
    bool kept = old != NULL;

    for (const wharf_json *m = W->json->at(sent, 0); m && kept; m = W->json->next(m))
        kept = party_equal(req, m, W->json->get(old, W->json->key(m).p));
    return kept && W->json->count(sent);
}

struct sent_parties {
    const wharf_json *party[PARTIES]; /* as sent, or NULL */
};

static struct sent_parties *parties_sent(const wharf_rec *rec)
{
    static const char kind[] = "inference.sent_parties";

    return W->res->scratch(rec, kind, sizeof(struct sent_parties));
}

void parties_note(const wharf_rec *rec)
{
    for (int i = 0; i < PARTIES; i++)
        parties_sent(rec)->party[i] = W->res->member(rec, party_names[i]);
}

wharf_status party_take(
    wharf_req *req, const struct wishes *w, const wharf_rec *old_rec, wharf_rec *new_rec, int which)
{
    const wharf_json *old = field_json(old_rec, party_field(which)),
                     *sent = parties_sent(new_rec)->party[which], *made = old, *found;
    wharf_str contact = json_text(sent, "contact_id");
    wharf_status s = WHARF_OK;

    if (json_is_null(sent))
        return WHARF_OK;
    if (party_has_parts(sent) && party_is_kept(req, old, sent)) {
        W->res->set(new_rec, party_field(which), val_json(old));
        return WHARF_OK;
    }
    if (party_has_parts(sent))
        s = party_written(req, old, sent, party_names[which], &made);
    if (s == WHARF_OK && contact.n) {
        s = party_choose(req, w, made, contact, party_names[which], &made);
    } else if (s == WHARF_OK && !party_has_parts(sent)) {
        found = W->json->get(
            field_json(old_rec, SHIPPING_LABEL_INFERENCE_FOUND), party_names[which]);
        if (!json_is_null(found))
            s = party_with_found(req, old, found, &made);
    }
    if (s == WHARF_OK)
        W->res->set(new_rec, party_field(which), val_json(made));
    return s;
}

wharf_status inference_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] = WHARF_PARTIES_MERGED("inference.shipping_label"),
                      choice_sql[] = "UPDATE inference.choice SET contact_id = $3::text WHERE "
                                     "organization_id = $1::text AND contact_id = ANY "
                                     "((SELECT $2::text[])::text[])";
    const wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};
    wharf_status s = W->db->exec(req, sql, args, 3, NULL);

    return s == WHARF_OK ? W->db->exec(req, choice_sql, args, 3, NULL) : s;
}
