/* address_lines.c - line1 and line2 of an address (spec 02 section 1): units and c/o go to line2,
 * in all languages of the tables; everything else stays in line1, in its order. */
#include <string.h>

#include "address_parse.h"

static bool address_lines_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Tells whether the word stands in the same part of the text as the one before it. */
static bool address_lines_follows(const struct words *t, size_t i, size_t end)
{
    return i < end && t->at[i].gap <= GAP_SPACE;
}

static size_t dashes(wharf_str k)
{
    size_t n = 0;

    for (size_t i = 0; i < k.n; i++)
        n += k.p[i] == '-';
    return n;
}

static bool is_roman(wharf_str k)
{
    size_t n = 0;

    while (n < k.n && (k.p[n] == 'i' || k.p[n] == 'v' || k.p[n] == 'x'))
        n++;
    return n == k.n;
}

/* Tells whether a word is a number, a number with letters, a letter or a Roman number. */
static bool address_lines_is_number(const struct words *t, size_t i)
{
    wharf_str k = key_of(t, i);

    if (t->at[i].digit) /* "Bldg 1-17-5" is a building and a place */
        return k.n <= 10 && dashes(k) < 2;
    for (size_t n = 0; n < k.n; n++) {
        if (k.p[n] < 'a' || k.p[n] > 'z')
            return false;
    }
    return k.n == 1 || (k.n <= 4 && is_roman(k));
}

/* Tells whether a word is "2nd", "1er", "4º", "3.": a number that counts. */
static bool is_ordinal(const struct words *t, size_t i)
{
    static const char *const ends[] = {
        "st", "nd", "rd", "th", "er", "e", "eme", "ieme", "o", "a", "re", "de", "ste"};
    const struct word *w = &t->at[i];
    wharf_str k = key_of(t, i);
    size_t n = 0;

    while (n < k.n && address_lines_digit(k.p[n]))
        n++;
    if (!n || n > 3)
        return false;
    if (n == k.n)
        return t->clean[w->to - 1] == '.';
    for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
        if (k.n - n == strlen(ends[e]) && !memcmp(k.p + n, ends[e], k.n - n))
            return true;
    }
    return false;
}

/* Returns how many words from i are the longest entry of the kind, within one part of the text. */
static size_t address_lines_longest(
    const struct words *t, size_t i, size_t end, unsigned kinds, const struct address_form *f)
{
    size_t best = 0;

    for (size_t n = 1; n <= 5 && i + n <= end; n++) {
        if (n > 1 && !address_lines_follows(t, i + n - 1, end))
            break;
        if (words_find(t, i, n, kinds, f))
            best = n;
    }
    return best;
}

/* Returns 1 for "apt4", "#5", "ste200": a word for a unit with its number behind. */
static size_t glued(const struct words *t, size_t i, const struct address_form *f)
{
    wharf_str k = key_of(t, i);
    size_t n = 0;

    if (k.p[0] == '#')
        return k.n > 1;
    while (n < k.n && k.p[n] >= 'a' && k.p[n] <= 'z')
        n++;
    return n > 1 && n < k.n && address_lines_digit(k.p[n]) &&
           key_find((wharf_str){k.p, n}, ADDRESS_KIND(ADDRESS_UNIT), f) != NULL;
}

static size_t past_number_word(const struct words *t, size_t i, size_t end)
{
    size_t n;

    if (!address_lines_follows(t, i, end))
        return i;
    n = address_lines_longest(t, i, end, ADDRESS_KIND(ADDRESS_NUMBER), NULL);
    if (!n && key_of(t, i).n == 1 && key_of(t, i).p[0] == '#')
        n = 1;
    return address_lines_follows(t, i + n, end) ? i + n : i;
}

/* Returns how many words from i are a word for a unit and its number: "Apt. No. 4B". */
static size_t unit_with_number(
    const struct words *t, size_t i, size_t end, const struct address_form *f)
{
    size_t n = address_lines_longest(t, i, end, ADDRESS_KIND(ADDRESS_UNIT), f), at;

    if (!n)
        return 0;
    at = past_number_word(t, i + n, end);
    if (!address_lines_follows(t, at, end))
        return 0;
    if (key_of(t, at).p[0] == '#' || address_lines_is_number(t, at))
        return at + 1 - i;
    return 0;
}

size_t unit_length(const struct words *t, size_t i, size_t end, const struct address_form *f)
{
    size_t n;

    if (i >= end)
        return 0;
    n = address_lines_longest(t, i, end, ADDRESS_KIND(ADDRESS_ALONE), f);
    if (n)
        return n;
    if (key_of(t, i).p[0] == '#' && key_of(t, i).n == 1)
        return address_lines_follows(t, i + 1, end) && address_lines_is_number(t, i + 1) ? 2 : 0;
    if (glued(t, i, f))
        return 1;
    if (is_ordinal(t, i)) {
        n = address_lines_follows(t, i + 1, end)
                ? address_lines_longest(t, i + 1, end, ADDRESS_KIND(ADDRESS_UNIT), f)
                : 0;
        if (n)
            return n + 1;
        /* "2º B", "3º izda": only with the mark itself */
        if (t->clean[t->at[i].to - 1] != '.' && (uint8_t)t->clean[t->at[i].to - 1] >= 0x80)
            return address_lines_follows(t, i + 1, end) && key_of(t, i + 1).n <= 4 &&
                           !t->at[i + 1].digit
                       ? 2
                       : 1;
        return 0;
    }
    return unit_with_number(t, i, end, f);
}

size_t box_length(const struct words *t, size_t i, size_t end)
{
    size_t n = address_lines_longest(t, i, end, ADDRESS_KIND(ADDRESS_BOX), NULL), at;

    if (!n)
        return 0;
    at = past_number_word(t, i + n, end);
    if (!address_lines_follows(t, at, end) || !t->at[at].digit)
        return 0;
    while (address_lines_follows(t, at + 1, end) && t->at[at + 1].digit && key_of(t, at + 1).n <= 4)
        at++;
    return at + 1 - i;
}

/* ---- writing them ---- */

struct lines {
    const struct words *t;
    const struct address_form *f;
    char *room;
    size_t used;
    wharf_str line[2];
    size_t last; /* the word behind the last one of line1 */
};

/* Adds the words to a line, which is the last text in room or empty. */
static void address_lines_add(struct lines *l, char *room, size_t which, struct span s)
{
    const struct words *t = l->t;
    size_t from = t->at[s.from].from, to = t->at[s.to - 1].to;
    wharf_str *line = &l->line[which];

    while (to > from && strchr(",;|-", t->clean[to - 1]))
        to--;
    if (to == from)
        return;
    if (line->n && !which && l->last == s.from && t->at[s.from].gap == GAP_DASH) {
        from = t->at[s.from - 1].to;
    } else if (line->n) {
        room[line->n++] = ',';
        room[line->n++] = ' ';
    }
    memcpy(room + line->n, t->clean + from, to - from);
    line->n += to - from;
    line->p = room;
    if (!which)
        l->last = s.to;
}

static bool all_units(const struct lines *l, size_t from, size_t to)
{
    for (size_t n; from < to; from += n) {
        n = unit_length(l->t, from, to, l->f);
        if (!n)
            return false;
    }
    return true;
}

static bool begins_care(const struct lines *l, struct span s)
{
    return address_lines_longest(l->t, s.from, s.to, ADDRESS_KIND(ADDRESS_CARE), NULL) > 0;
}

static bool address_lines_has_digit(const struct words *t, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (t->at[from].digit)
            return true;
    }
    return false;
}

/* Splits one part of the text: its units, at the begin or the end, are not line1. ret_rest: what
 * is. */
static struct span units_of(const struct lines *l, struct span s, struct span *ret_rest)
{
    size_t n = 0, k;

    *ret_rest = s;
    while (n < s.to - s.from && (k = unit_length(l->t, s.from + n, s.to, l->f)) > 0)
        n += k;
    if (n && s.from + n + 2 <= s.to && l->t->at[s.from + n].digit) {
        ret_rest->from = s.from + n;
        return (struct span){s.from, s.from + n};
    }
    for (size_t i = s.from + 2; i < s.to; i++) {
        if (address_lines_has_digit(l->t, s.from, i) && all_units(l, i, s.to)) {
            ret_rest->to = i;
            return (struct span){i, s.to};
        }
    }
    return (struct span){0, 0};
}

/* Goes through the parts of the text; which: of which line they are to be. */
static void address_lines_walk(struct lines *l, const uint8_t *marks, char *room, size_t which)
{
    const struct words *t = l->t;

    for (size_t i = 0, k; i < t->n; i = k) {
        struct span rest, units, s;

        for (k = i + 1; k < t->n && marks[k] == marks[i] && t->at[k].gap <= GAP_SPACE;)
            k++;
        if (marks[i] != MARK_LINE)
            continue;
        s = (struct span){i, k};
        if (begins_care(l, s) || all_units(l, i, k)) {
            if (which)
                address_lines_add(l, room, 1, s);
            continue;
        }
        units = units_of(l, s, &rest);
        if (!which)
            address_lines_add(l, room, 0, rest);
        else if (units.to > units.from)
            address_lines_add(l, room, 1, units);
    }
}

size_t lines_of(const struct words *t, const uint8_t *marks, const struct address_form *f,
    char room[ADDRESS_ROOM], struct address *ret)
{
    struct lines l = {.t = t, .f = f, .room = room, .last = SIZE_MAX};

    address_lines_walk(&l, marks, room, 0);
    address_lines_walk(&l, marks, room + l.line[0].n, 1);
    if (l.line[0].n) {
        ret->line1 = l.line[0];
        ret->line2 = l.line[1];
    } else {
        ret->line1 = l.line[1];
    }
    return l.line[0].n + l.line[1].n;
}
