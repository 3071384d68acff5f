/* address_cases.h - the public addresses of tests/data/addresses, and whether the parser takes one
 * apart right (modules/locations/address_parse.h). */
#ifndef WHARF_TESTS_ADDRESS_CASES_H
#define WHARF_TESTS_ADDRESS_CASES_H

#include <stdlib.h>
#include <string.h>

#include "address_parse.h"
#include "util/json.h"
#include "util/str.h"

enum { CASE_WORDS = 128 };

struct case_words {
    wharf_str at[CASE_WORDS];
    size_t n;
};

static int case_word_order(const void *a, const void *b)
{
    const wharf_str *x = a, *y = b;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return c ? c : (x->n > y->n) - (x->n < y->n);
}

static inline bool case_is_word(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr("-/.", s.p[i]) && (uint8_t)s.p[i] != 0xe2)
            return true;
        if ((uint8_t)s.p[i] == 0xe2) /* an en dash */
            i += 2;
    }
    return false;
}

static inline void case_add_words(struct case_words *w, wharf_str s)
{
    for (size_t i = 0, from = 0; i <= s.n; i++) {
        if (i < s.n && !strchr(" ,;|()\n", s.p[i]))
            continue;
        if (i > from && w->n < CASE_WORDS && case_is_word((wharf_str){s.p + from, i - from}))
            w->at[w->n++] = (wharf_str){s.p + from, i - from};
        from = i + 1;
    }
}

static inline bool case_same(wharf_str a, wharf_str b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

static inline bool case_same_words(wharf_str want, wharf_str line1, wharf_str line2)
{
    struct case_words a = {.n = 0}, b = {.n = 0};

    case_add_words(&a, want);
    case_add_words(&b, line1);
    case_add_words(&b, line2);
    qsort(a.at, a.n, sizeof(a.at[0]), case_word_order);
    qsort(b.at, b.n, sizeof(b.at[0]), case_word_order);
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        if (!case_same(a.at[i], b.at[i]))
            return false;
    }
    return a.n == b.n;
}

/* Tells whether two texts are one state: by code, by name, or the same text. */
static inline bool case_same_state(wharf_str country, wharf_str a, wharf_str b)
{
    const struct state *x = state_find(country, a), *y = state_find(country, b);

    return case_same(a, b) || (x && x == y);
}

/* Takes the text of a case apart. Returns the first part that is not as the case says; NULL: all
 * are. */
static inline const char *case_wrong(
    const struct wharf_json *c, char room[ADDRESS_ROOM], struct address *ret)
{
    const struct wharf_json *line2 = json_get(c, "line2");
    wharf_str empty = {"", 0};

    address_read(json_text_or(c, "text", ""), json_text_or(c, "organization", ""), room, ret);
    if (!case_same(ret->country_code, json_text_or(c, "country_code", "")))
        return "country_code";
    if (!case_same(ret->postal_code, json_text_or(c, "postal_code", "")))
        return "postal_code";
    if (!case_same(ret->city, json_text_or(c, "city", "")))
        return "city";
    if (!case_same_state(ret->country_code, ret->state, json_text_or(c, "state", "")))
        return "state";
    if (line2 && !case_same(ret->line2, json_text_or(c, "line2", "")))
        return "line2";
    if (!case_same_words(json_text_or(c, "street", ""), ret->line1, line2 ? empty : ret->line2))
        return "line1";
    return NULL;
}

#endif
