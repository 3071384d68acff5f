/* forms.c - how e-mail addresses and phone numbers are written, for every module
 * (docs/spec/02-places-and-people.md section 4). */
#include "org.h"

enum { EMAIL_LOCAL = 64, PHONE_MIN = 7, PHONE_MAX = 15 };

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

/* Makes the digits of a phone, with '+' in front where the country is known. Returns false for
 * something that is no phone. */
bool phone_form_in(wharf_req *req, wharf_str country, wharf_str s, wharf_str *ret)
{
    char *out = org_host->mem->alloc(req, s.n + 1);
    bool plus = s.n && s.p[0] == '+', america;
    size_t k = 0;

    for (size_t i = plus; i < s.n; i++) {
        if (strchr(" ()-./", s.p[i]))
            continue;
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        out[k++] = s.p[i];
    }
    if (k < PHONE_MIN || k > PHONE_MAX)
        return false;
    america = same(country, WHARF_S("US")) || same(country, WHARF_S("CA"));
    if (!plus && america && (k == 10 || (k == 11 && out[0] == '1')))
        *ret = org_host->mem->format(req, "%s%.*s", k == 10 ? "+1" : "+", (int)k, out);
    else
        *ret = org_host->mem->format(req, "%s%.*s", plus ? "+" : "", (int)k, out);
    return true;
}

bool phone_form(wharf_req *req, wharf_str s, wharf_str *ret)
{
    wharf_str country = WHARF_S("US");

    org_directory.country(req, &country);
    return phone_form_in(req, country, s, ret);
}
