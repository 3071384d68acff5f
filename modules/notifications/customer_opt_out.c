/* customer_opt_out.c - the link that ends mails for a contact (spec 07 section 16.3, rule 5).
 *
 * Its token follows from organization and contact by the installation's key, so it is the same in
 * each mail, nobody makes one who does not have that key, and it does not expire. A look at the
 * page does nothing, because mail programs open links by themselves; its button, and the
 * one-click of mail readers (RFC 8058), post. */
#include "customers.h"

#include "notifications.gen.h"

enum { HASH = 32, TOKEN_BYTES = 27 }; /* 36 characters, without padding */

/* Writes the signature of a contact in letters that stand in a link. */
static wharf_str customer_opt_out_sign(wharf_req *req, wharf_str contact_id)
{
    wharf_str organization = W->req->organization(req), text,
              what = W->mem->format(req, "%.*s %.*s", (int)organization.n, organization.p,
                  (int)contact_id.n, contact_id.p);
    unsigned char hash[HASH];

    notifications_crypto->keyed_hash(req, "notifications.opt_out", what, hash);
    text = notifications_crypto->base64(req, (wharf_str){(const char *)hash, TOKEN_BYTES});
    for (char *p = (char *)text.p; *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    return text;
}

wharf_status customer_link(wharf_req *req, wharf_str contact_id, wharf_str *ret_url)
{
    static const char sql[] =
        "INSERT INTO notifications.link (organization_id, id, contact_id) VALUES"
        " ($2::text, $1::text, $1::text) ON CONFLICT DO NOTHING RETURNING id";
    wharf_str token = customer_opt_out_sign(req, contact_id);
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, contact_id, &rows);

    if (s == WHARF_OK && W->db->count(rows))
        s = notifications_token->name(req, OPT_KIND, token, contact_id);
    *ret_url = notifications_config->url(
        req, W->mem->format(req, LINK "?token=%.*s", (int)token.n, token.p));
    return s;
}

/* ---- the pages ---- */

static wharf_status no_link(wharf_req *req)
{
    W->err->clear(req);
    return W->err->fail(req, ERR_NOTIFICATION_LINK_UNKNOWN, "token", NULL);
}

/* Finds the contact: after a merge it is the one that took the other in. */
static wharf_status customer_opt_out_enter(
    wharf_req *req, wharf_str *ret_contact, wharf_str *ret_language)
{
    static const char sql[] = "SELECT contact_id FROM notifications.link"
                              " WHERE organization_id = $2::text AND id = $1::text";
    wharf_str token = WHARF_S(""), id;
    const wharf_json *reach = NULL;
    const wharf_rows *rows;
    wharf_status s;

    W->req->param(req, "token", &token);
    s = notifications_token->enter(req, OPT_KIND, token, &id);
    if (s == WHARF_NOT_FOUND || (s == WHARF_OK && !customers_contacts))
        return no_link(req);
    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return no_link(req);
    *ret_contact = row_text(rows, 0, 0);
    s = customers_contacts->reach(req, ret_contact, 1, &reach);
    *ret_language = json_text(reach, "language");
    return s == WHARF_OK && !reach ? no_link(req) : s;
}

wharf_status customer_page(wharf_req *req, void *arg)
{
    wharf_str contact = WHARF_S(""), language = WHARF_S("");
    wharf_status s = customer_opt_out_enter(req, &contact, &language);

    if (s == WHARF_OK)
        notifications_token->page_in(req, 200, customer_word(language, "language"),
            customer_word(language, "page_title"), customer_word(language, "page_sentence"),
            customer_word(language, "page_button"));
    return s;
}

wharf_status customer_ended(wharf_req *req, void *arg)
{
    wharf_str contact = WHARF_S(""), language = WHARF_S("");
    wharf_status s = customer_opt_out_enter(req, &contact, &language);

    if (s == WHARF_OK)
        s = customers_contacts->opt_out(req, contact);
    if (s == WHARF_OK)
        notifications_token->page_in(req, 200, customer_word(language, "language"),
            customer_word(language, "ended_title"), customer_word(language, "ended_sentence"),
            WHARF_S(""));
    return s;
}
