/* label_place.c - one address of a label (docs/spec/06-inference.md section 8.4): which lines are
 * one, and its parts. The parts are read as everywhere (spec 02 section 1), by address_parse.h;
 * here is what a label needs beside it. See label_inside.h. */
#include <strings.h>

#include "address_parse.h"
#include "label_inside.h"

enum { PLACE_POSTAL_DIGITS = 3 };
#define K(kind) ADDRESS_KIND(ADDRESS_##kind)

/* ---- kinds of lines ---- */

bool label_is_country(wharf_str text)
{
    const struct country *c;
    wharf_str t = label_trim(text);

    if (t.n < 2 || t.n > 48 || label_digits(t))
        return false;
    c = country_find(t);
    if (c)
        return true;
    /* "UNITED STATES US" */
    if (t.n > 5 && t.p[t.n - 3] == ' ') {
        c = country_find((wharf_str){t.p, t.n - 3});
        return c && !memcmp(t.p + t.n - 2, c->code, 2);
    }
    return false;
}

bool label_is_unit(wharf_str text)
{
    struct words t;
    size_t n;

    if (!words_of(text, &t) || !t.n)
        return false;
    n = unit_length(&t, 0, t.n, form_of((wharf_str){"US", 2}));
    return n == t.n || box_length(&t, 0, t.n) == t.n;
}

static bool label_ends_street(wharf_str key)
{
    for (const char *const *end = address_street_ends; *end; end++) {
        size_t n = strlen(*end);

        if (key.n >= n && n > 2 && !memcmp(key.p + key.n - n, *end, n))
            return true;
    }
    return false;
}

bool label_is_street(wharf_str text)
{
    struct words t;
    bool street = false, digit = false;

    if (!words_of(text, &t) || !t.n)
        return false;
    if (box_length(&t, 0, t.n))
        return true;
    for (size_t i = 0; i < t.n; i++) {
        digit = digit || t.at[i].digit;
        street = street || (i && word_is(&t, i, K(STREET), NULL)) ||
                 (i + 1 < t.n && word_is(&t, i, K(STREET_FIRST), NULL) && !i && t.n > 1 &&
                     t.at[i].key_n > 2) ||
                 (t.at[i].key_n > 4 && label_ends_street(key_of(&t, i)));
    }
    /* "12 Harbor Avenue", "Hauptstr. 5", "100 Broadway", "Hafenkai 7b" */
    if (digit && (street || t.at[0].digit || t.at[t.n - 1].digit))
        return t.n > 1 || street;
    return unit_length(&t, 0, t.n, form_of((wharf_str){"US", 2})) == t.n;
}

/* ---- postal codes ---- */

static bool label_has_letter(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
            (uint8_t)s.p[i] >= 0x80)
            return true;
    }
    return false;
}

/* Tells whether the state has postal codes that begin so; true where nothing is known. */
static bool label_state_agrees(const struct state *s, wharf_str postal)
{
    unsigned digits = 0;

    if (!s || !s->postal[0][1] || postal.n < PLACE_POSTAL_DIGITS)
        return true;
    for (size_t i = 0; i < PLACE_POSTAL_DIGITS; i++) {
        if (postal.p[i] < '0' || postal.p[i] > '9')
            return true;
        digits = digits * 10 + (unsigned)(postal.p[i] - '0');
    }
    for (size_t i = 0; i < 2; i++) {
        if (digits >= s->postal[i][0] && digits <= s->postal[i][1])
            return true;
    }
    return false;
}

/* Tells whether addresses of the country have no postal codes. */
static bool label_has_no_codes(wharf_str country)
{
    const struct address_form *f = form_of(country);

    return *f->country && !*f->postal[0];
}

/* Tells whether the postal code stands in the text as it is: "31.00" is none. */
static bool label_is_printed_so(wharf_str text, wharf_str postal)
{
    for (size_t i = 0; i + postal.n <= text.n; i++) {
        if (!strncasecmp(text.p + i, postal.p, postal.n))
            return true;
    }
    return false;
}

/* Takes the text apart after the form of the country, which is named or meant. The parts lie in
 * text and room. */
static bool label_read_as(
    wharf_str text, wharf_str country, bool named, char room[ADDRESS_ROOM], struct label_place *ret)
{
    struct address a;
    const struct state *state;

    address_read(text, country, room, &a);
    if ((!a.postal_code.n && !(named && label_has_no_codes(country))) || !a.city.n ||
        !label_has_letter(a.city) || !label_is_printed_so(text, a.postal_code))
        return false;
    state = state_find(a.country_code, a.state);
    *ret = (struct label_place){.line1 = a.line1,
        .line2 = a.line2,
        .city = a.city,
        .state_code = state ? wharf_z(state->code) : wharf_z(""),
        .postal_code = a.postal_code,
        .country_code = a.country_code,
        .country_told = !same(a.country_code, country),
        .disagrees = !label_state_agrees(state, a.postal_code)};
    return true;
}

/* Reads the text with the country's name off its end, where that is a line of its own. */
static wharf_str label_last_line(wharf_str text, wharf_str *ret_rest)
{
    size_t n = text.n;

    while (n && text.p[n - 1] != '\n')
        n--;
    *ret_rest = (wharf_str){text.p, n ? n - 1 : 0};
    return (wharf_str){text.p + n, text.n - n};
}

static wharf_str label_named_country(wharf_str line)
{
    wharf_str t = label_trim(line);
    const struct country *c = country_find(t);

    if (!c && t.n > 5 && t.p[t.n - 3] == ' ') /* "UNITED STATES US" */
        c = country_find((wharf_str){t.p, t.n - 3});
    return c ? (wharf_str){c->code, 2} : wharf_z("");
}

/* Reads the text as it stands there. */
static bool label_place_as_is(
    const struct label_env *env, wharf_str text, wharf_str country, struct label_place *ret)
{
    wharf_str rest, last = label_last_line(text, &rest);
    wharf_str named = rest.n && label_is_country(last) ? label_named_country(last) : wharf_z("");
    char *room = label_new(env, char, ADDRESS_ROOM);

    if (named.n && label_read_as(label_has_no_codes(named) ? text : rest, named, true, room, ret)) {
        ret->country_code = named;
        ret->country_told = true;
        return true;
    }
    /* five digits before a city may be an address of a country that nothing tells */
    return label_read_as(text, country, false, room, ret) ||
           label_read_as(text, wharf_z(""), false, room, ret);
}

/* Reads the text; false where its postal code does not stand in the last lines. */
static bool label_place_in(const struct label_env *env, wharf_str text, size_t last,
    wharf_str country, struct label_place *ret)
{
    return label_place_as_is(env, text, country, ret) &&
           label_is_printed_so((wharf_str){text.p + last, text.n - last}, ret->postal_code);
}

bool label_place_read(const struct label_env *env, wharf_str text, size_t last, wharf_str country,
    struct label_place *ret)
{
    wharf_str rest, line = label_last_line(text, &rest), repaired;
    wharf_str named = rest.n && label_is_country(line) ? label_named_country(line) : country;

    last = last < text.n ? last : text.n;
    if (label_place_in(env, text, last, country, ret))
        return true;
    if (!label_postal_repair(env, text, named, &repaired) ||
        !label_place_in(env, repaired, last, country, ret))
        return false;
    ret->repaired = true;
    return true;
}

/* Tells whether a word of it is one of streets. */
static bool label_names_street(const struct words *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if ((i && word_is(t, i, K(STREET), NULL)) || word_is(t, i, K(STREET_FIRST), NULL) ||
            (t->at[i].key_n > 4 && label_ends_street(key_of(t, i))))
            return true;
    }
    return false;
}

/* Tells whether it is a street, "4469 MISSION ST", whose end is also the code of a country. */
static bool label_is_street_with_code(
    const struct label_env *env, const struct words *t, const struct label_place *p)
{
    const struct address_form *own = form_of(wharf_z(env->country));

    return t->at[0].digit && t->at[t->n - 1].key_n == 2 && !is(p->country_code, env->country) &&
           word_is(t, t->n - 1, K(STREET) | K(DIRECTION), own);
}

/* Tells whether the text is a postal code with letters in it and nothing else: "RG1 1LZ". */
static bool label_is_code_alone(const struct label_env *env, wharf_str text)
{
    char room[ADDRESS_ROOM], line[32] = "Anytown\n";
    size_t n = strlen(line);
    struct label_place p;

    if (text.n < 5 || text.n > 10 || !label_has_letter(text) || label_digits(text) < 2)
        return false;
    memcpy(line + n, text.p, text.n);
    return label_read_as((wharf_str){line, n + text.n}, wharf_z(env->country), false, room, &p) &&
           !p.line1.n && !p.line2.n && p.city.n == n - 1 && p.postal_code.n >= text.n;
}

/* Reads a line below a street that is not there, "Anystreet 1": false unless all the rest is the
 * place. named: the country's line below it, or empty. */
static bool label_read_below_street(const struct label_env *env, wharf_str text, wharf_str named,
    wharf_str country, struct label_place *ret)
{
    static const wharf_str street = WHARF_S("Anystreet 1");
    char *room = label_new(env, char, ADDRESS_ROOM);
    wharf_str lines = label_format(env, "%s\n%.*s\n%.*s", street.p,
        (int)(text.n < 80 ? text.n : 80), text.p, (int)(named.n < 48 ? named.n : 48), named.p);

    return label_read_as(lines, country, named.n > 0, room, ret) && same(ret->line1, street) &&
           !ret->line2.n;
}

bool label_ends_named(const struct label_env *env, wharf_str text, wharf_str country)
{
    struct label_place p;
    wharf_str code = label_named_country(country);

    return code.n && text.n >= 3 && text.n <= 80 &&
           label_read_below_street(env, text, label_trim(country), code, &p);
}

/* Tells whether a line begins with a postal code that only one country writes so, and whose cities
 * stand behind it: "50-106 WROCLAW". */
static bool label_begins_with_code(
    const struct label_env *env, const struct words *t, wharf_str text)
{
    struct label_place p;

    /* "7917 SW JEFFERSON ST" is no place in the Netherlands */
    if (label_names_street(t) || word_is(t, 1, K(DIRECTION), form_of(wharf_z(env->country))))
        return false;
    return label_read_below_street(env, text, wharf_z(""), wharf_z(env->country), &p) &&
           p.country_told && form_of(p.country_code)->stands == ADDRESS_BEFORE &&
           text.n > p.postal_code.n && !strncasecmp(text.p, p.postal_code.p, p.postal_code.n);
}

/* Tells how a line as it stands ends an address. */
static enum label_ends label_ends_as_is(const struct label_env *env, wharf_str text)
{
    char room[ADDRESS_ROOM];
    struct label_place p;
    struct words t;
    bool digit = false;

    if (label_is_code_alone(env, text))
        return LABEL_ENDS_CODE;
    if (text.n < 5 || text.n > 80 || !words_of(text, &t) || t.n < 2 || t.n > 9)
        return LABEL_ENDS_NOTHING;
    for (size_t i = 0; i < t.n; i++)
        digit = digit || t.at[i].digit;
    if (!digit)
        return LABEL_ENDS_NOTHING;
    if (label_begins_with_code(env, &t, text))
        return LABEL_ENDS_PLACE;
    if (label_read_as(text, wharf_z(env->country), false, room, &p) && !p.line1.n)
        return label_is_street_with_code(env, &t, &p) ? LABEL_ENDS_NOTHING : LABEL_ENDS_PLACE;
    if (!label_read_as(text, wharf_z(""), false, room, &p) || p.line1.n || p.line2.n ||
        label_is_street_with_code(env, &t, &p))
        return LABEL_ENDS_NOTHING;
    return p.country_code.n         ? LABEL_ENDS_PLACE
           : label_names_street(&t) ? LABEL_ENDS_NOTHING
                                    : LABEL_ENDS_PERHAPS;
}

enum label_ends label_ends_place(const struct label_env *env, wharf_str text)
{
    enum label_ends ends = label_ends_as_is(env, text);
    wharf_str repaired;

    if (ends == LABEL_ENDS_NOTHING && text.n >= 5 && text.n <= 80 &&
        label_postal_repair(env, text, wharf_z(env->country), &repaired))
        ends = label_ends_as_is(env, repaired);
    return ends;
}
