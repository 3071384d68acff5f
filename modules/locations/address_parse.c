/* address_parse.c - one string as the parts of an address, without any outside service (spec 02
 * section 1).
 *
 * A last part that is a country's name or code is the country; then "<state> <postal>",
 * "<postal>" or "<postal> <city>" where the postal code has the country's form; then the city;
 * what is left are line 1 and, by its first word, line 2. */
#include <strings.h>

#include "location_address.h"

enum { PARTS = 32 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool same_word(wharf_str s, const char *word)
{
    return strlen(word) == s.n && strncasecmp(s.p, word, s.n) == 0;
}

static wharf_str trimmed(const char *p, size_t n)
{
    while (n && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
        p++;
        n--;
    }
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\n' || p[n - 1] == '\r'))
        n--;
    return (wharf_str){p, n};
}

const struct country *country_find(wharf_str s)
{
    for (size_t i = 0; i < countries_count; i++) {
        if (same_word(s, countries[i].code) || same_word(s, countries[i].code3) ||
            same_word(s, countries[i].name))
            return &countries[i];
    }
    for (size_t i = 0; i < country_words_count; i++) {
        if (same_word(s, country_words[i].name))
            return country_find(wharf_z(country_words[i].code));
    }
    return NULL;
}

const struct state *state_find(wharf_str country_code, wharf_str s)
{
    for (size_t i = 0; i < states_count; i++) {
        if (same_word(country_code, states[i].country) &&
            (same_word(s, states[i].code) || same_word(s, states[i].name)))
            return &states[i];
    }
    return NULL;
}

/* Tells whether s has the form. a: letter, 9: digit, ' ': at most one space; anything else
 * itself. */
static bool fits(const char *form, wharf_str s)
{
    size_t i = 0;

    for (; *form; form++) {
        if (*form == ' ') {
            i += i < s.n && s.p[i] == ' ';
            continue;
        }
        if (i >= s.n || (*form == '9'      ? !is_digit(s.p[i])
                            : *form == 'a' ? !is_letter(s.p[i])
                                           : s.p[i] != *form))
            return false;
        i++;
    }
    return i == s.n;
}

/* Tells whether s is an outward code of letters and digits and the inward code "9aa". */
static bool fits_gb(wharf_str s)
{
    static const char *const forms[] = {
        "a9 9aa", "a99 9aa", "aa9 9aa", "aa99 9aa", "a9a 9aa", "aa9a 9aa"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (fits(forms[i], s))
            return true;
    }
    return false;
}

bool postal_fits(wharf_str country_code, wharf_str s)
{
    bool digit = false;

    if (same_word(country_code, "US"))
        return fits("99999", s) || fits("99999-9999", s);
    if (same_word(country_code, "CA"))
        return fits("a9a 9a9", s);
    if (same_word(country_code, "GB"))
        return fits_gb(s);
    if (s.n < 3 || s.n > 10)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]) && !is_letter(s.p[i]) && s.p[i] != ' ' && s.p[i] != '-')
            return false;
        digit = digit || is_digit(s.p[i]);
    }
    return digit;
}

/* Takes "<city> <state>", where no comma stands between them; the longest name of a state wins. */
static bool take_city_and_state(wharf_str part, struct address *a)
{
    for (size_t i = 1; i < part.n; i++) {
        wharf_str city = trimmed(part.p, i), state = trimmed(part.p + i, part.n - i);

        if (part.p[i] == ' ' && city.n && state_find(a->country_code, state)) {
            a->city = city;
            a->state = state;
            return true;
        }
    }
    return false;
}

/* Takes "<state> <postal>", "<city> <state> <postal>" of a country whose states are known,
 * "<postal>" or "<postal> <city>"; the longest postal code wins. Returns false when it is none of
 * them. */
static bool take_postal(wharf_str part, struct address *a)
{
    if (postal_fits(a->country_code, part)) {
        a->postal_code = part;
        return true;
    }
    for (size_t i = 1; i < part.n; i++) {
        wharf_str before = trimmed(part.p, i), after = trimmed(part.p + i, part.n - i);

        if (part.p[i] == ' ' && before.n && postal_fits(a->country_code, after)) {
            const struct state *s = state_find(a->country_code, before);

            if (!s && (same_word(a->country_code, "US") || same_word(a->country_code, "CA"))) {
                if (!take_city_and_state(before, a))
                    continue;
            } else {
                a->state = before;
            }
            a->postal_code = after;
            return true;
        }
    }
    for (size_t i = part.n; i-- > 1;) {
        wharf_str before = trimmed(part.p, i), after = trimmed(part.p + i, part.n - i);

        if (part.p[i] == ' ' && after.n && postal_fits(a->country_code, before)) {
            a->postal_code = before;
            a->city = after;
            return true;
        }
    }
    return false;
}

static bool begins_line2(wharf_str s)
{
    static const char *const words[] = {"suite", "ste", "unit", "apt", "floor", "fl", "room"};

    if (s.n && s.p[0] == '#')
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);

        if (s.n >= n && strncasecmp(s.p, words[i], n) == 0 &&
            (s.n == n || s.p[n] == ' ' || s.p[n] == '.' || is_digit(s.p[n])))
            return true;
    }
    return false;
}

static size_t split(wharf_str s, wharf_str parts[PARTS])
{
    size_t n = 0, start = 0;

    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && (s.p[i] != ',' || n == PARTS - 1))
            continue;
        parts[n] = trimmed(s.p + start, i - start);
        n += parts[n].n > 0;
        start = i + 1;
    }
    return n;
}

static wharf_str joined(wharf_req *req, wharf_str a, wharf_str b)
{
    return a.n ? W->mem->format(req, "%.*s, %.*s", (int)a.n, a.p, (int)b.n, b.p) : b;
}

void read_address(wharf_req *req, wharf_str whole, wharf_str country, struct address *ret)
{
    wharf_str parts[PARTS], empty = {"", 0};
    size_t n = split(whole, parts);
    const struct country *c = n > 1 ? country_find(parts[n - 1]) : NULL;
    bool found = c != NULL;

    *ret = (struct address){empty, empty, empty, empty, empty, country};
    if (c) {
        ret->country_code = z(c->code);
        n--;
    }
    if (n > 1 && take_postal(parts[n - 1], ret)) {
        found = true;
        n--;
    } else if (n > 2 && state_find(ret->country_code, parts[n - 1])) {
        ret->state = parts[--n];
        found = true;
    }
    if (!found) {
        ret->line1 = trimmed(whole.p, whole.n);
        return;
    }
    if (!ret->city.n && n > 1)
        ret->city = parts[--n];
    for (size_t i = 0; i < n; i++) {
        if (i && begins_line2(parts[i]) && !ret->line2.n)
            ret->line2 = parts[i];
        else
            ret->line1 = joined(req, ret->line1, parts[i]);
    }
}
