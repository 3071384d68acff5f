/* forms.c - how e-mail addresses and phone numbers are written, for every module
 * (docs/spec/02-places-and-people.md section 4). */
#include "org.h"
#include "phone_form.h"

enum { EMAIL_LOCAL = 64 };

/* Tells whether s has exactly one '@', something before it, a dot in what follows, no white
 * space. */
bool email_form(wharf_str s)
{
    const char *at = memchr(s.p, '@', s.n);
    size_t local = at ? (size_t)(at - s.p) : 0;
    wharf_str domain = at ? (wharf_str){at + 1, s.n - local - 1} : (wharf_str){"", 0};
    const char *dot = memchr(domain.p, '.', domain.n);

    if (!local || local > EMAIL_LOCAL || !dot || dot == domain.p || domain.p[domain.n - 1] == '.')
        return false;
    return !memchr(domain.p, '@', domain.n) && !memchr(s.p, ' ', s.n) && !memchr(s.p, '\t', s.n);
}

bool phone_form_in(wharf_req *req, wharf_str country, wharf_str s, wharf_str *ret)
{
    char kept[PHONE_ROOM];

    if (!phone_kept(country, s, kept))
        return false;
    *ret = org_host->mem->format(req, "%s", kept);
    return true;
}

bool phone_form(wharf_req *req, wharf_str s, wharf_str *ret)
{
    wharf_str country = WHARF_S("US");

    org_directory.country(req, &country);
    return phone_form_in(req, country, s, ret);
}
