/* contact_emails.c - e-mail addresses as people and programs write them: in brackets behind a name,
 * in quotes, as links (spec 02 section 4). Leaves to others: what an address looks like
 * (org.directory), which addresses a contact may have (contact_rules.c). */
#include <strings.h>

#include "contacts.gen.h"
#include "contacts.h"

static bool is_around(char c)
{
    return c == ' ' || c == '\t' || c == '"' || c == '\'' || c == '<' || c == '>' || c == ',' ||
           c == ';';
}

wharf_str email_bare(wharf_str s)
{
    static const char link[] = "mailto:";
    const char *open = memchr(s.p, '<', s.n),
               *close = open ? memchr(open, '>', s.n - (size_t)(open - s.p)) : NULL;

    /* "Jo Out <jo@example.com>" */
    if (close && memchr(open, '@', (size_t)(close - open)))
        s = (wharf_str){open + 1, (size_t)(close - open - 1)};
    while (s.n && is_around(s.p[0]))
        s = (wharf_str){s.p + 1, s.n - 1};
    if (s.n >= sizeof(link) - 1 && strncasecmp(s.p, link, sizeof(link) - 1) == 0)
        s = (wharf_str){s.p + sizeof(link) - 1, s.n - (sizeof(link) - 1)};
    while (s.n && is_around(s.p[s.n - 1]))
        s.n--;
    return s;
}

wharf_status contact_take_emails(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *main = W->res->member(rec, "email"),
                     *others = W->res->member(rec, "alternate_emails"), *made;
    wharf_out *out;
    wharf_str s;
    wharf_status status;

    if (main && W->json->text(main, &s) && email_bare(s).n && email_bare(s).n != s.n)
        W->res->set(rec, CONTACT_EMAIL, val_text(email_bare(s)));
    if (!others || W->json->type(others) != WHARF_J_OBJECT)
        return WHARF_OK;
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(others, 0); m; m = W->json->next(m)) {
        if (W->json->text(m, &s) && email_bare(s).n)
            W->json->put(out, W->json->key(m).p, val_text(email_bare(s)));
        else
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->close(out);
    status = W->json->result(req, out, &made);
    if (status == WHARF_OK)
        W->res->set(rec, CONTACT_ALTERNATE_EMAILS, val_json(made));
    return status;
}
