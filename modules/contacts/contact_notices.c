/* contact_notices.c - whether a contact is told of its shipments by mail (spec 07 section 16.3):
 * its own wish, and addresses that were refused for good. Leaves to others: telling it (the
 * module notifications, by the service contacts.notices). */
#include "contacts.gen.h"
#include "contacts.h"
#include "wharf/ext/contacts.h"

/* The context of a write that notes a refusal. */
static const char bounce_kind[] = "contacts.bounce";
struct bounce {
    wharf_str words;
};

/* Facts about a contact; times are ISO texts, empty: none. */
struct notices {
    wharf_val opted_out_at, bounced_at, bounce;
};

static wharf_val contact_notices_text_of(const wharf_json *of, const char *key)
{
    return val_text_or_null(json_text(of, key));
}

static wharf_status set_notices(wharf_req *req, wharf_rec *rec, const struct notices *n)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *value;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "opted_out_at", n->opted_out_at);
    W->json->put(out, "bounced_at", n->bounced_at);
    W->json->put(out, "bounce", n->bounce);
    W->json->close(out);
    s = W->json->result(req, out, &value);
    if (s == WHARF_OK)
        W->res->set(rec, CONTACT_NOTIFICATIONS, val_json(value));
    return s;
}

/* Takes what was sent: opted_out. What is read may be sent back, and changes nothing. */
static wharf_status contact_notices_take_sent(
    wharf_req *req, const wharf_json *sent, struct notices *n)
{
    bool out;

    for (const wharf_json *m = W->json->at(sent, 0); m; m = W->json->next(m)) {
        const char *key = W->json->key(m).p, *path = W->mem->format(req, "notifications.%s", key).p;

        if (!strcmp(key, "opted_out_at") || !strcmp(key, "bounced_at") || !strcmp(key, "bounce"))
            continue;
        if (strcmp(key, "opted_out") != 0)
            return W->err->add(req, ERR_VALIDATION_FAILED, path,
                "%s is not written; send notifications.opted_out, true or false", path);
        if (!W->json->truth(m, &out))
            return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s must be true or false", path);
        if (!out)
            n->opted_out_at = n->bounced_at = n->bounce = val_null();
        else if (n->opted_out_at.type == WHARF_V_NULL)
            n->opted_out_at = val_time(W->req->now_us(req));
    }
    return WHARF_OK;
}

wharf_status contact_settle_notices(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *before = field_json(old_rec, CONTACT_NOTIFICATIONS),
                     *sent = W->res->input(new_rec, CONTACT_NOTIFICATIONS);
    const struct bounce *bounce = W->res->context(new_rec, bounce_kind);
    bool moved = old_rec && W->res->changed(old_rec, new_rec, CONTACT_EMAIL);
    struct notices n = {contact_notices_text_of(before, "opted_out_at"),
        contact_notices_text_of(before, "bounced_at"), contact_notices_text_of(before, "bounce")};
    wharf_status s = WHARF_OK;

    if (old_rec && !sent && !bounce && !moved) { /* a row that is sent whole does not end it */
        if (W->res->changed(old_rec, new_rec, CONTACT_NOTIFICATIONS))
            W->res->set(new_rec, CONTACT_NOTIFICATIONS, val_json(before));
        return WHARF_OK;
    }
    if (moved)
        n.bounced_at = n.bounce = val_null();
    if (sent)
        s = contact_notices_take_sent(req, sent, &n);
    if (bounce) {
        n.bounced_at = val_time(W->req->now_us(req));
        n.bounce = val_text(bounce->words);
    }
    return s == WHARF_OK ? set_notices(req, new_rec, &n) : s;
}

/* ---- the service ---- */

static wharf_status contact_notices_reach(
    wharf_req *req, const wharf_str *contact_ids, size_t n, const wharf_json **ret)
{
    static const char sql[] = QUERY_CONTACTS_REACH;
    wharf_val args[2] = {val_text(W->req->organization(req)), val_array(req, contact_ids, n)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        ret[i] = row_json(rows, i, 0);
    return s;
}

static wharf_status contact_notices_write_beside(
    wharf_req *req, wharf_str id, wharf_str text, struct bounce *bounce)
{
    const wharf_json *body;
    const wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "contact",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = bounce ? bounce_kind : NULL,
        .context = bounce};
    wharf_write with = w;
    wharf_status s = W->json->parse(req, text, &body);

    with.body = body;
    return s == WHARF_OK ? W->res->write(req, &with) : s;
}

static wharf_status opt_out(wharf_req *req, wharf_str contact_id)
{
    return contact_notices_write_beside(
        req, contact_id, WHARF_S("{\"notifications\": {\"opted_out\": true}}"), NULL);
}

static wharf_status bounced(
    wharf_req *req, wharf_str contact_id, wharf_str address, wharf_str words)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "contact", contact_id, WHARF_FOR_UPDATE, &rec);

    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return WHARF_OK;
    }
    if (s != WHARF_OK || !same(field_text(rec, CONTACT_EMAIL), address))
        return s;
    return contact_notices_write_beside(req, contact_id, WHARF_S("{}"), &(struct bounce){words});
}

const wharf_contacts_notices_api contacts_notices = {
    WHARF_HEAD(wharf_contacts_notices_api), contact_notices_reach, opt_out, bounced};
