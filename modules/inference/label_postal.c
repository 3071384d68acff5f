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
    static const char digits[] = "0125678$])}", letters[] = "OIZSGTBSJJJ";
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

/* Returns how many bytes before a letter are the same sign read twice: "2Z" of a Z, ")}" of a J;
 * 0: none are. */
static size_t label_letter_read_twice(wharf_str text, size_t i)
{
    char like = i + 1 < text.n ? label_letter_like(text.p[i]) : 0, next = like ? text.p[i + 1] : 0;

    return like && ((next & ~0x20) == like ||
                       (label_letter_like(next) == like && !label_postal_is_digit(next)));
}

/* Returns how many bytes before a digit are the same sign read twice: "I1" of a 1, "S5" of a 5, or
 * a letter with an accent before it; 0: none are. */
static size_t label_digit_read_twice(wharf_str text, size_t i)
{
    size_t n = i;

    while (n < text.n && (unsigned char)text.p[n] >= 0x80)
        n++;
    if (n == i && n < text.n && label_postal_is_letter(text.p[n]))
        n++;
    if (n == i || n == text.n || !label_postal_is_digit(text.p[n]))
        return 0;
    return n > i + 1 || label_digit_like(text.p[i]) == text.p[n] ? n - i : 0;
}

/* Writes the text as the pattern wants it. twice: a sign may have been read twice. Returns how many
 * signs are others than before; -1: it can't be. */
static int label_fit_postal(
    const char *pattern, wharf_str text, bool twice, wharf_str *ret, char out[POSTAL_ROOM])
{
    size_t i = 0, n = 0;
    int changed = 0, kept = 0;

    if (text.n > POSTAL_ROOM)
        return -1;
    for (; *pattern; pattern++) {
        size_t again = !twice            ? 0
                       : *pattern == '9' ? label_digit_read_twice(text, i)
                       : *pattern == 'a' ? label_letter_read_twice(text, i)
                                         : 0;
        char c;

        i += again;
        changed += again > 0;
        c = i < text.n ? text.p[i] : 0;
        if (*pattern == ' ' || *pattern == '-') {
            if (c == *pattern) {
                out[n++] = c;
                i++;
            }
            continue;
        }
        if (!c || !(out[n] = label_sign_for(*pattern, c)))
            return -1;
        changed += out[n] != c;
        kept += out[n] == c;
        n++;
        i++;
    }
    *ret = (wharf_str){out, n};
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
    size_t code_n;
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

static void label_try_pattern(struct label_postal_search *s, const struct address_form *f,
    const char *pattern, wharf_str text, bool twice)
{
    size_t from = (size_t)(text.p - s->text.p);
    char room[POSTAL_ROOM];
    wharf_str code;
    int changes = label_fit_postal(pattern, text, twice, &code, room);
    bool other;

    if (changes <= 0 || !label_begins_area(code, f->country) ||
        (s->changes && changes > s->changes))
        return;
    other = s->at != from || s->n != text.n || s->code_n != code.n ||
            memcmp(s->code, code.p, code.n) != 0;
    s->several = s->changes == changes && (other || s->several);
    memcpy(s->code, code.p, code.n);
    s->code_n = code.n;
    s->at = from;
    s->n = text.n;
    s->changes = changes;
}

static void label_try_form(
    struct label_postal_search *s, const struct address_form *f, size_t from, size_t to)
{
    wharf_str text = {s->text.p + from, to - from};

    for (size_t i = 0; i < ADDRESS_PATTERNS && *f->postal[i]; i++) {
        label_try_pattern(s, f, f->postal[i], text, false);
        if (strpbrk(f->postal[i], "a"))
            label_try_pattern(s, f, f->postal[i], text, true);
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
    memcpy(copy + s.at, s.code, s.code_n);
    memmove(copy + s.at + s.code_n, text.p + s.at + s.n, text.n - s.at - s.n);
    *ret = (wharf_str){copy, text.n - s.n + s.code_n};
    return true;
}
