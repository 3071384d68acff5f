/* label_lines.c - kinds of lines of a party (docs/spec/06-inference.md section 8.3): names of
 * people and of businesses, phones, addresses of mail. See label_inside.h. */
#include "label_inside.h"

enum {
    PERSON_WORDS = 4,
    PHONE_LEAST = 7, /* digits of a phone */
    PHONE_MOST = 15, /* digits of a phone */
    EMAIL_MOST = 254
};

bool label_is_phone(wharf_str text)
{
    wharf_str t = label_trim(text);
    size_t digits = label_digits(t);

    if (digits < PHONE_LEAST || digits > PHONE_MOST)
        return false;
    for (size_t i = 0; i < t.n; i++) {
        if (!strchr("0123456789+()-./ ", t.p[i]))
            return false;
    }
    return true;
}

bool label_is_email(wharf_str text)
{
    wharf_str t = label_trim(text);
    const char *at = t.n ? memchr(t.p, '@', t.n) : NULL;
    const char *dot = at ? memchr(at, '.', t.n - (size_t)(at - t.p)) : NULL;

    return at && at > t.p && dot > at + 1 && dot < t.p + t.n - 1 && t.n <= EMAIL_MOST &&
           !memchr(t.p, ' ', t.n);
}

bool label_looks_business(const struct label_env *env, wharf_str text)
{
    uint32_t n, length = 0;
    const struct label_token *t = label_tokens(env, text, 0, &n);

    for (uint32_t i = 0; i < n; i++) {
        if (label_phrase(t, n, i, LABEL_BIT(LABEL_BUSINESS), &length))
            return true;
        if (i && label_phrase(t, n, i, LABEL_BIT(LABEL_LEGAL), &length) && i + length == n)
            return true;
        if (t[i].key.n == 1 && *t[i].key.p == '&' && i && i + 1 < n)
            return true;
        if (t[i].digit)
            return true;
    }
    return false;
}

bool label_looks_person(wharf_str text)
{
    wharf_str t = label_trim(text);
    size_t words = 1, letters = 0;

    for (size_t i = 0; i < t.n; i++) {
        uint8_t c = (uint8_t)t.p[i];

        words += c == ' ' && i + 1 < t.n && t.p[i + 1] != ' ';
        letters += c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (c < 0x80 && !strchr(" .,'-", c) && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z'))
            return false;
    }
    return words >= 2 && words <= PERSON_WORDS && letters >= 3;
}
