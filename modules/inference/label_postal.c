/* label_postal.c - postal codes in which OCR took one sign for another that looks like it
 * (docs/spec/06-inference.md section 8.4): the form of the code says where a digit stands and where
 * a letter, so that "T5J ON3" is "T5J 0N3". See label_inside.h; leaves to label_place.c what an
 * address is. */
#include <strings.h>

#include "address_parse.h"
#include "label_inside.h"

enum { POSTAL_CHANGES = 2, POSTAL_ROOM = 12, POSTAL_LINES = 3, POSTAL_SIGNS_KEPT = 2 };

/* Returns the digit that a letter looks like; 0: none. */
static char label_digit_like(char c)
{
    static const char letters[] = "OoIilLZzSsGBA", digits[] = "0011112255684";
    const char *at = c ? strchr(letters, c) : NULL;

    return at ? digits[at - letters] : 0;
}

/* Returns the letter that a digit looks like; 0: none. */
static char label_letter_like(char c)
{
    static const char digits[] = "012568$])", letters[] = "OIZSGBSJJ";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? letters[at - digits] : 0;
}

static bool label_postal_is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool label_postal_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the sign that stands for c where the pattern has what; 0: none may. */
static char label_sign_for(char what, char c)
{
    if (what == '9')
        return label_postal_is_digit(c) ? c : label_digit_like(c);
    if (what == 'a')
        return label_postal_is_letter(c) ? c : label_letter_like(c);
    if (what == 'x')
        return label_postal_is_letter(c) || label_postal_is_digit(c) ? c : 0;
    return (c | 0x20) == what ? c : 0;
}

/* Writes the text as the pattern wants it, in as many bytes. Returns how many signs are others than
 * before; -1: it can't be. */
static int label_fit_postal(const char *pattern, wharf_str text, char out[POSTAL_ROOM])
{
    size_t i = 0;
    int changed = 0, kept = 0;

    if (text.n > POSTAL_ROOM)
        return -1;
    for (; *pattern; pattern++) {
        char c = i < text.n ? text.p[i] : 0;

        if (*pattern == ' ' || *pattern == '-') {
            if (c == *pattern)
                out[i++] = c;
            continue;
        }
        if (!c || !(out[i] = label_sign_for(*pattern, c)))
            return -1;
        changed += out[i] != c;
        kept += out[i] == c;
        i++;
    }
    return i == text.n && changed <= POSTAL_CHANGES && kept >= POSTAL_SIGNS_KEPT ? changed : -1;
}

bool label_is_postal_form(wharf_str postal, wharf_str country)
{
    const struct address_form *f = form_of(country);

    for (size_t i = 0; i < ADDRESS_PATTERNS && *f->postal[i]; i++) {
        if (pattern_fits(f->postal[i], postal))
            return true;
    }
    return false;
}

struct label_postal_search {
    wharf_str text;
    size_t at, n; /* where the code stands */
    char code[POSTAL_ROOM];
    int changes; /* 0: none was found */
    bool several; /* ways with as few changes */
};

/* Tells whether postal codes of the country begin so; true where nothing is known. */
static bool label_begins_area(wharf_str code, const char *country)
{
    bool known = false;

    for (const struct label_area *a = label_areas; a->country; a++) {
        size_t n = strlen(a->begins);

        if (strcmp(a->country, country) != 0)
            continue;
        known = true;
        if (code.n > n && !strncasecmp(code.p, a->begins, n) && !label_postal_is_letter(code.p[n]))
            return true;
    }
    return !known;
}

static void label_try_form(
    struct label_postal_search *s, const struct address_form *f, size_t from, size_t to)
{
    wharf_str text = {s->text.p + from, to - from};
    char code[POSTAL_ROOM];

    for (size_t i = 0; i < ADDRESS_PATTERNS && *f->postal[i]; i++) {
        int changes = label_fit_postal(f->postal[i], text, code);
        bool other;

        if (changes <= 0 || !label_begins_area((wharf_str){code, text.n}, f->country) ||
            (s->changes && changes > s->changes))
            continue;
        other = s->at != from || s->n != text.n || memcmp(s->code, code, text.n) != 0;
        s->several = s->changes == changes && (other || s->several);
        memcpy(s->code, code, text.n);
        s->at = from;
        s->n = text.n;
        s->changes = changes;
    }
}

/* Tells whether the forms of the country's codes have letters, so that no number looks like one. */
static bool label_form_has_letters(const struct address_form *f)
{
    for (size_t i = 0; i < ADDRESS_PATTERNS && *f->postal[i]; i++) {
        if (f->sure >> i & 1 && strpbrk(f->postal[i], "ax"))
            return true;
    }
    return false;
}

static void label_try_span(
    struct label_postal_search *s, const struct address_form *own, size_t from, size_t to)
{
    if (from >= to || to - from > POSTAL_ROOM)
        return;
    label_try_form(s, own, from, to);
    for (size_t i = 0; i + 1 < address_forms_count; i++) {
        const struct address_form *f = &address_forms[i];

        if (f != own && f->base == i && label_form_has_letters(f))
            label_try_form(s, f, from, to);
    }
}

static bool label_is_gap(char c)
{
    return c == ' ' || c == ',' || c == ';';
}

/* Returns where the word that ends at to begins. */
static size_t label_word_begin(wharf_str text, size_t from, size_t to)
{
    while (to > from && !label_is_gap(text.p[to - 1]))
        to--;
    return to;
}

/* Tries the first and the last one or two words of a line. */
static void label_try_line(
    struct label_postal_search *s, const struct address_form *own, size_t from, size_t to)
{
    size_t last, before, first = from, second;

    while (to > from && (label_is_gap(s->text.p[to - 1]) || s->text.p[to - 1] == '.'))
        to--;
    last = label_word_begin(s->text, from, to);
    label_try_span(s, own, last, to);
    if (last == from)
        return;
    before = last - 1;
    before = label_is_gap(s->text.p[before]) && before > from
                 ? label_word_begin(s->text, from, before)
                 : last;
    if (s->text.p[last - 1] == ' ')
        label_try_span(s, own, before, to);
    if (before == from || own->stands == ADDRESS_AFTER)
        return;
    while (first < to && !label_is_gap(s->text.p[first]))
        first++;
    label_try_span(s, own, from, first);
    second = first + 1;
    while (second < to && !label_is_gap(s->text.p[second]))
        second++;
    if (s->text.p[first] == ' ' && second < last)
        label_try_span(s, own, from, second);
}

bool label_postal_repair(
    const struct label_env *env, wharf_str text, wharf_str country, wharf_str *ret)
{
    struct label_postal_search s = {.text = text};
    const struct address_form *own = form_of(country);
    size_t to = text.n;
    char *copy;

    for (int line = 0; line < POSTAL_LINES && to; line++) {
        size_t from = to;

        while (from && text.p[from - 1] != '\n')
            from--;
        label_try_line(&s, own, from, to);
        to = from ? from - 1 : 0;
    }
    if (!s.changes || s.several)
        return false;
    copy = (char *)label_copy(env, text).p;
    memcpy(copy + s.at, s.code, s.n);
    *ret = (wharf_str){copy, text.n};
    return true;
}
