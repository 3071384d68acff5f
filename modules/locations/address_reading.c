/* address_reading.c - finds postal code, state and city of an address after the form of one
 * country (spec 02 section 1). Leaves the choice of the country to address_parse.c, what is no
 * part of them to address_lines.c. */
#include <string.h>

#include "address_reading.h"

enum { STATE_WORDS = 6, CITY_WORDS = 6, CITY_NAME = 4 };
#define K(kind) ADDRESS_KIND(ADDRESS_##kind)

static bool part_begins(const struct words *t, size_t i)
{
    return i == 0 || t->at[i].gap >= GAP_DASH;
}

/* Returns where the part of the text begins in which the word before hi stands. */
static size_t part_within(const struct words *t, size_t lo, size_t hi)
{
    size_t i = hi;

    while (i > lo + 1 && t->at[i - 1].gap < GAP_DASH)
        i--;
    return i > lo ? i - 1 : lo;
}

static bool digit_within(const struct words *t, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (t->at[from].digit)
            return true;
    }
    return false;
}

static void reading_mark(struct reading *r, size_t from, size_t to, enum address_mark as)
{
    for (; from < to; from++)
        r->marks[from] = (uint8_t)as;
}

/* Tells whether the word ends as names of streets do where they are one word. */
static bool ends_street(wharf_str key)
{
    for (const char *const *end = address_street_ends; *end; end++) {
        size_t n = strlen(*end);

        if (n > 2 && key.n > n + 1 && !memcmp(key.p + key.n - n, *end, n))
            return true;
    }
    return false;
}

/* Tells whether the words are a street, house or box rather than a place. first: they begin the
 * address. */
static bool is_street(const struct reading *r, size_t from, size_t to, bool first)
{
    if (from == to || digit_within(r->t, from, to))
        return from != to;
    if (word_is(r->t, from, K(STREET_FIRST), r->f) && to - from > 1 && first)
        return true;
    for (size_t i = from; i < to && first; i++) {
        if ((i > from && word_is(r->t, i, K(STREET), r->f)) || ends_street(key_of(r->t, i)))
            return true;
    }
    return false;
}

/* ---- the postal code ---- */

static const char *reading_pattern_of(const struct reading *r, struct span p, size_t *ret_index)
{
    char text[32];
    size_t n = 0;

    for (size_t i = p.from; i < p.to; i++) {
        wharf_str k = key_of(r->t, i);

        if (n + k.n + 1 > sizeof(text))
            return NULL;
        if (n)
            text[n++] = ' ';
        memcpy(text + n, k.p, k.n);
        n += k.n;
    }
    for (size_t i = 0; i < ADDRESS_PATTERNS && *r->f->postal[i]; i++) {
        if (pattern_fits(r->f->postal[i], (wharf_str){text, n})) {
            *ret_index = i;
            return r->f->postal[i];
        }
    }
    return NULL;
}

/* Tells whether no house number looks like it: letters in it, or its own dash. */
static bool is_strong(const struct reading *r, struct span p, const char *pattern)
{
    wharf_str k = key_of(r->t, p.from);

    return strpbrk(pattern, "ax") || (strchr(pattern, '-') && memchr(k.p, '-', k.n));
}

/* Tells whether everything from there on is states. */
static bool states_only(const struct reading *r, size_t from)
{
    while (from < r->hi) {
        size_t n = STATE_WORDS;

        while (n && (from + n > r->hi ||
                        !words_find(r->t, from, n, K(STATE) | K(REGION) | K(NATION), r->f)))
            n--;
        if (!n)
            return false;
        from += n;
    }
    return true;
}

/* Tells whether the word in front makes the number one of a box, a unit or a road. */
static bool is_numbered(const struct reading *r, size_t i)
{
    const struct words *t = r->t;

    if (!i || t->at[i].gap > GAP_SPACE || word_is(t, i - 1, K(LABEL) | K(PREFIX), r->f))
        return false;
    if (word_is(t, i - 1, K(STATE), r->f)) /* FL is Florida, and a floor */
        return false;
    if (word_is(t, i - 1, K(BOX) | K(UNIT) | K(NUMBER), r->f))
        return true;
    for (size_t n = 2; n <= 4 && n <= i; n++) {
        if (words_find(t, i - n, n, K(BOX), r->f))
            return true;
    }
    return false;
}

/* Returns where the postal code begins with its label and the letters of the country. */
static size_t with_prefix(const struct reading *r, size_t i)
{
    const struct words *t = r->t;

    if (i && t->at[i].gap <= GAP_SPACE && word_is(t, i - 1, K(PREFIX), r->f) &&
        (t->at[i].gap == GAP_NONE || (part_begins(t, i - 1) && t->at[i - 1].upper)))
        return i - 1;
    for (size_t n = 3; n; n--) {
        if (n <= i && words_find(t, i - n, n, K(LABEL), r->f))
            return i - n;
    }
    return i;
}

static bool has_after_city(const struct reading *r, size_t from, size_t to)
{
    while (from < to && !word_is(r->t, from, K(AFTER_CITY), r->f))
        from++;
    return from < to;
}

/* Tells whether a number at the end is a postal code, where one would stand before the city. */
static bool ends_place(const struct reading *r, size_t from)
{
    const struct words *t = r->t;
    size_t part = part_begins(t, from) ? part_within(t, 0, from) : part_within(t, 0, from + 1);

    if (!from)
        return false;
    if (has_after_city(r, part, from))
        return true;
    if (digit_within(t, part, from)) /* "Via Roma 1 Milano 20121" */
        return r->told != TOLD_BY_FORM && r->f->number_last && !part_begins(t, from) &&
               !t->at[from - 1].digit && digit_within(t, part, from - 1);
    return part > 0 || r->told != TOLD_BY_FORM;
}

/* Tells whether a strong postal code may stand there: one with letters anywhere, one with a dash
 * at the begin of a part, unless the country is named. */
static bool may_stand_anywhere(const struct reading *r, struct span p, size_t from)
{
    wharf_str first = key_of(r->t, p.from), last = key_of(r->t, p.to - 1);

    if (from == 0 && r->told == TOLD_BY_FORM)
        return false;
    return r->told == TOLD_BY_TEXT || part_begins(r->t, from) || from < p.from ||
           !memchr(first.p, '-', first.n) || last.p[last.n - 1] > '9';
}

/* Tells whether it may stand at the end. */
static bool may_end(const struct reading *r, size_t from, bool strong, bool labelled)
{
    bool own = r->told != TOLD_BY_FORM || r->f->stands != ADDRESS_BEFORE;

    return from > 0 &&
           ((strong && own) || labelled || r->f->stands == ADDRESS_AFTER || ends_place(r, from));
}

/* Tells whether it may stand before the city. */
static bool may_begin_city(const struct reading *r, struct span p, size_t from)
{
    const struct words *t = r->t;
    bool labelled = from < p.from;

    if (r->f->stands == ADDRESS_AFTER || t->at[p.to].digit ||
        (from == 0 && r->told == TOLD_BY_FORM && !labelled))
        return false;
    if (t->at[p.to].gap <= GAP_SPACE)
        return !unit_length(t, p.to, r->hi, r->f);
    return part_begins(t, from);
}

/* Tells whether the postal code may stand where it does. */
static bool is_placed(const struct reading *r, struct span p, bool strong)
{
    const struct words *t = r->t;
    size_t from = with_prefix(r, p.from);

    if ((from == 0 && p.to == r->hi) || is_numbered(r, p.from))
        return false;
    if (p.to == r->hi)
        return may_end(r, from, strong, from < p.from);
    if (strong && may_stand_anywhere(r, p, from))
        return true;
    if (from > 0 && t->at[p.to].gap > GAP_SPACE && t->at[p.to].gap < GAP_LINE &&
        states_only(r, p.to))
        return part_begins(t, from) || !t->at[from - 1].digit;
    return may_begin_city(r, p, from);
}

static bool find_postal(struct reading *r)
{
    for (size_t i = r->hi; i-- > 0;) {
        for (size_t n = 2; n; n--) {
            struct span p = {i, i + n};
            size_t index;
            const char *pattern;

            if (p.to > r->hi || (n == 2 && r->t->at[i + 1].gap > GAP_SPACE) ||
                !may_be_code(r->t, p, r->hi, r->f))
                continue;
            pattern = reading_pattern_of(r, p, &index);
            if (!pattern || !is_placed(r, p, is_strong(r, p, pattern)))
                continue;
            r->postal = p;
            r->sure = r->f->sure >> index & 1 && is_strong(r, p, pattern);
            return true;
        }
    }
    return false;
}

/* ---- state and city ---- */

static void take_city(struct reading *r, size_t from, size_t to)
{
    /* "Anytown, ST 12345": two letters are a state that is not known */
    if (to - from == 1 && r->t->at[from].key_n <= 2 && r->f->stands == ADDRESS_AFTER)
        return;
    if (from < to && to - from <= CITY_WORDS)
        r->city = (struct span){from, to};
}

static bool has_street_first(const struct reading *r, size_t from, size_t to)
{
    while (from < to && !word_is(r->t, from, K(STREET_FIRST), r->f))
        from++;
    return from < to;
}

/* Returns where a known city begins that ends at hi; hi: there is none. */
static size_t known_city(const struct reading *r, size_t lo, size_t hi)
{
    const struct words *t = r->t;

    for (size_t n = CITY_NAME; n; n--) {
        size_t from = hi - n;

        if (n >= hi - lo || !words_find(t, from, n, K(CITY), r->f) ||
            word_is(t, from - 1, K(JOINT), r->f)) /* "rue de Rennes" */
            continue;
        if (!word_is(t, from - 1, K(DIRECTION), r->f) || from == lo + 1 ||
            word_is(t, from - 2, K(STREET), r->f) || has_street_first(r, lo, from - 2))
            return from;
    }
    return hi;
}

/* Returns where a city begins whose last word says that it is one: "Chiyoda-ku", "Minato City". */
static size_t told_city(const struct reading *r, size_t lo, size_t hi)
{
    wharf_str k = key_of(r->t, hi - 1);
    size_t n = k.n;

    while (n && k.p[n - 1] != '-')
        n--;
    if (n > 1 && key_find((wharf_str){k.p + n, k.n - n}, K(CITY_END), r->f))
        return hi - 1;
    if (hi > lo + 2 && word_is(r->t, hi - 1, K(CITY_END), r->f))
        return hi - 2;
    return hi;
}

/* Tells whether the name, which begins a part of the text, is a state there and not the city of
 * the same name. */
static bool is_state_part(const struct reading *r, size_t lo, size_t from, bool city)
{
    const struct words *t = r->t;
    size_t part = part_within(t, lo, from);

    if (city && r->f->names_are_cities)
        return known_city(r, part > 0 ? part - 1 : part, from) != from;
    if (told_city(r, part, from) != from)
        return true;
    if (!city && from > part + 1 && !t->at[from - 1].digit)
        return !word_is(t, from - 1, K(STREET), r->f) &&
               !(word_is(t, from - 1, K(DIRECTION), r->f) && word_is(t, from - 2, K(STREET), r->f));
    return !is_street(r, part, from, part == 0) && !(city && part == 0);
}

/* Tells whether the words are the end of a city's name: "New Delhi". */
static bool ends_city(const struct reading *r, size_t lo, size_t from, size_t n)
{
    for (size_t more = 1; more <= 3 && from >= lo + more; more++) {
        if (words_find(r->t, from - more, n + more, K(CITY), r->f))
            return true;
    }
    return false;
}

static bool is_state_name(
    const struct reading *r, size_t lo, size_t from, size_t n, const struct address_word *e)
{
    const struct words *t = r->t;
    bool city = words_find(t, from, n, K(CITY), r->f) != NULL;

    if (e->kind == ADDRESS_NATION)
        return true;
    if (part_begins(t, from))
        return is_state_part(r, lo, from, city);
    if (word_is(t, from - 1, K(JOINT), r->f) || ends_city(r, lo, from, n) ||
        (e->kind == ADDRESS_REGION && r->f->has_codes))
        return false;
    return !city ||
           !(word_is(t, from - 1, K(STREET) | K(DIRECTION), r->f) || t->at[from - 1].digit);
}

/* Tells whether the words, which can be the state e, are it there. at_postal: the postal code
 * follows. */
static bool reading_is_state(
    const struct reading *r, size_t lo, struct span s, const struct address_word *e, bool at_postal)
{
    const struct words *t = r->t;
    bool code = s.to - s.from == 1 && t->at[s.from].key_n <= 3 && e->kind != ADDRESS_NATION;

    if (s.from == lo) /* "Sydney 2000, NSW"; "TX 75001" */
        return (lo && lo == r->postal.to && r->f->stands == ADDRESS_AFTER) ||
               (code && at_postal && s.from > 0);
    if (code)
        return t->at[s.from].upper || (at_postal && s.to == r->end) || part_begins(t, s.from);
    return is_state_name(r, lo, s.from, s.to - s.from, e);
}

/* Takes the state that ends at *hi. */
static bool take_state(struct reading *r, size_t lo, size_t *hi, bool at_postal)
{
    for (size_t n = *hi - lo < STATE_WORDS ? *hi - lo : STATE_WORDS; n; n--) {
        struct span s = {*hi - n, *hi};
        const struct address_word *e = words_find(
            r->t, s.from, n, K(STATE) | K(REGION) | K(NATION), r->f);

        if (!e || !reading_is_state(r, lo, s, e, at_postal))
            continue;
        if (r->state.to && e->kind >= r->state_kind)
            return false;
        r->state = s;
        r->state_kind = e->kind;
        reading_mark(r, s.from, s.to, MARK_DROPPED);
        *hi = s.from;
        return true;
    }
    return false;
}

static size_t take_states(struct reading *r, size_t lo, size_t hi, bool at_postal)
{
    for (size_t times = 0; times < 3 && take_state(r, lo, &hi, at_postal); times++) {
        if (r->state_kind == ADDRESS_STATE)
            break;
    }
    return hi;
}

/* Returns where the street ends that has its last word at i: behind its direction, its number
 * (Highway 431) and its unit. */
static size_t past_street(const struct reading *r, size_t i, size_t hi)
{
    const struct words *t = r->t;
    size_t end = i + 1, n;

    if (end < hi && t->at[end].key_n <= 2 && word_is(t, end, K(DIRECTION), r->f))
        end++;
    while (end < hi && t->at[end].digit && !unit_length(t, end, hi, r->f))
        end++;
    while (end < hi && (n = unit_length(t, end, hi, r->f)) > 0)
        end += n;
    return end;
}

/* Tells whether the word ends the name of a street, and is no saint. */
static bool is_street_end(const struct reading *r, size_t lo, size_t i)
{
    const struct words *t = r->t;
    wharf_str k = key_of(t, i);

    if (i == lo || !word_is(t, i, K(STREET), r->f))
        return false;
    if (k.n != 2 || memcmp(k.p, "st", 2) != 0)
        return true;
    return !word_is(t, i - 1, K(STREET), r->f) && digit_within(t, lo, i);
}

/* Returns where the last box or unit ends; hi: there is none, or nothing behind it. */
static size_t past_any_unit(const struct reading *r, size_t lo, size_t hi)
{
    const struct words *t = r->t;
    size_t end = hi;

    for (size_t i = lo, n; i < hi; i += n ? n : 1) {
        n = box_length(t, i, hi);
        if (!n && (i > lo || (lo > 0 && !word_is(t, hi - 1, K(STREET), r->f))))
            n = unit_length(t, i, hi, r->f);
        if (n)
            end = i + n;
    }
    return end;
}

/* Returns where the city begins in words that begin with a street; hi: it is not to be seen. */
static size_t past_any_street(const struct reading *r, size_t lo, size_t hi)
{
    const struct words *t = r->t;
    size_t end;

    for (size_t i = hi; !r->f->number_last && i-- > lo;) {
        end = is_street_end(r, lo, i) ? past_street(r, i, hi) : hi;
        if (end < hi)
            return end;
    }
    end = past_any_unit(r, lo, hi);
    if (end < hi || !r->f->number_last)
        return end;
    for (size_t i = hi - 1; i-- > lo;) {
        if (t->at[i].digit)
            return i > lo || !word_is(t, i + 1, K(STREET_FIRST), r->f) ? i + 1 : hi;
    }
    return hi;
}

/* Returns where the words in capitals begin that end a street in small letters, "9 rue Hoche
 * COLOMBELLES", as posts ask for; hi: there are none. */
static size_t capitals(const struct reading *r, size_t lo, size_t hi)
{
    const struct words *t = r->t;
    size_t from = hi, small = 0;

    if (hi != r->end) /* something else was the place */
        return hi;
    while (
        from > lo && t->at[from - 1].upper && !t->at[from - 1].digit && t->at[from - 1].key_n > 2)
        from--;
    for (size_t i = lo; i < from; i++)
        small += !t->at[i].upper && !t->at[i].digit && t->at[i].key_n > 2;
    return small > 1 ? from : hi;
}

/* Takes the city at the end of a part that begins with a street. */
static void split_street(struct reading *r, size_t lo, size_t hi)
{
    size_t from = known_city(r, lo, hi);

    if (from == hi)
        from = told_city(r, lo, hi);
    if (from == hi)
        from = capitals(r, lo, hi);
    if (from == hi)
        from = past_any_street(r, lo, hi);
    if (hi - from <= CITY_NAME && !digit_within(r->t, from, hi))
        take_city(r, from, hi);
}

/* Tells whether the part is a city with the number of its district: "Dublin 2". */
static bool is_district(const struct reading *r, size_t from, size_t to)
{
    return to - from > 1 && r->t->at[to - 1].key_n <= 2 && !digit_within(r->t, from, to - 1) &&
           words_find(r->t, from, to - 1 - from, K(CITY), r->f);
}

static bool is_number_only(const struct words *t, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!t->at[i].digit)
            return false;
    }
    return to > from;
}

/* Tells whether commas or line ends part the words before i. */
static bool has_commas(const struct words *t, size_t i)
{
    while (i && t->at[i].gap < GAP_COMMA)
        i--;
    return i > 0;
}

/* Tells whether words that stand alone are one name and not two things: up to two words, or up to
 * five with "de", "upon" between. */
static bool reading_is_name(const struct reading *r, size_t from, size_t to)
{
    size_t joints = 0;

    for (size_t i = from + 1; i + 1 < to; i++)
        joints += word_is(r->t, i, K(JOINT), r->f);
    return to - from <= 2 || (joints && to - from <= 5);
}

/* Takes the city of a part without digits that is no street: all of it, unless it shows where in
 * it the city begins. */
static void reading_take_place(struct reading *r, size_t part, size_t hi)
{
    const struct words *t = r->t;
    size_t told = told_city(r, part, hi);

    if (told == hi && hi - part > 1 && told_city(r, part, part + 1) == part)
        told = part + 1; /* "Kohoku-ku Yokohama" */
    if (told == hi && hi - part > 1 &&
        (r->f->city_ends_part || (hi - part > 2 && !has_commas(t, part))))
        told = known_city(r, part, hi);
    if (told < hi || part > r->lo || reading_is_name(r, part, hi))
        take_city(r, told == hi ? part : told, hi);
}

static bool is_city(const struct reading *r, size_t from, size_t to)
{
    return is_district(r, from, to) || has_after_city(r, from, to) ||
           words_find(r->t, from, to - from, K(CITY), r->f);
}

/* Takes the city that stands before the postal code, or at the end where there is none. */
static void city_before(struct reading *r, size_t hi)
{
    const struct words *t = r->t;
    size_t part;

    if (hi <= r->lo)
        return;
    part = part_within(t, r->lo, hi);
    if (is_number_only(t, r->lo, part)) /* "418, Bridport Road London" */
        part = r->lo;
    if (unit_length(t, part, hi, r->f) == hi - part)
        return;
    if (is_city(r, part, hi)) {
        take_city(r, part, hi);
    } else if (digit_within(t, part, hi) || box_length(t, part, hi)) {
        split_street(r, part, hi);
    } else if (part == r->lo && is_street(r, part, hi, true)) {
        split_street(r, part, hi);
        if (!r->city.to && word_is(t, hi - 1, K(STREET), r->f))
            take_city(r, part, hi);
    } else if (part > r->lo || r->postal.to || r->state.to) {
        reading_take_place(r, part, hi);
    }
}

/* Returns where the city's part begins in what follows the postal code: the first one; where a
 * code mostly stands last and the state follows, that beside the state, "CEP 80060-000, Centro,
 * Curitiba (PR)". */
static size_t city_part(const struct reading *r, size_t lo, size_t hi)
{
    size_t part = part_within(r->t, lo, hi);
    bool own = r->f->stands == ADDRESS_AFTER && r->state.from == hi;

    return own && !digit_within(r->t, part, hi) ? part : lo;
}

/* Takes the city that follows the postal code. */
static void city_after(struct reading *r, size_t lo, size_t hi)
{
    const struct words *t = r->t;
    bool after_city = false;
    size_t to = lo = city_part(r, lo, hi);

    for (; to < hi && (to == lo || t->at[to].gap < GAP_DASH); to++) {
        bool last = to + 1 == hi || t->at[to + 1].gap >= GAP_DASH;

        after_city = after_city || word_is(t, to, K(AFTER_CITY), r->f) ||
                     (!last && to > lo && word_is(t, to + 1, K(AFTER_CITY), r->f));
        if (t->at[to].digit && !after_city && !(last && to > lo && t->at[to].key_n <= 3))
            break;
    }
    take_city(r, lo, to);
}

/* Takes the name of a state for the city where there is no other: "1-1 Otemachi, Tokyo"; and where
 * the city is a ward of it: "Kita-ku, Osaka". */
static void city_of_state(struct reading *r)
{
    const struct words *t = r->t;
    struct span s = r->state;
    wharf_str k;

    if (!s.to)
        return;
    if (r->city.to) {
        k = key_of(t, r->city.to - 1);
        if (!(k.n > 3 && !memcmp(k.p + k.n - 3, "-ku", 3)) &&
            !(k.n == 4 && !memcmp(k.p, "ward", 4)))
            return;
        if (!words_find(t, s.from, s.to - s.from, K(WARDS_OF), r->f))
            return;
    } else if (!(words_find(t, s.from, s.to - s.from, K(CITY), r->f) ||
                   (r->state_kind == ADDRESS_STATE && r->f->stands == ADDRESS_BEFORE)) ||
               (s.to - s.from == 1 && t->at[s.from].key_n <= 3) || s.from == 0) {
        return;
    }
    r->city = s;
    r->state = (struct span){0, 0};
}

static void reading_read_parts(struct reading *r)
{
    size_t from, hi = r->end;

    if (!r->postal.to) {
        city_before(r, take_states(r, 0, hi, false));
        return;
    }
    from = with_prefix(r, r->postal.from);
    if (from < r->end)
        r->end = from;
    reading_mark(r, from, r->postal.to, MARK_POSTAL);
    if (from == 0 && r->f->stands == ADDRESS_AFTER) {
        r->lo = r->postal.to;
        city_before(r, take_states(r, r->lo, r->hi, false));
        return;
    }
    if (from < r->postal.from && r->t->at[r->postal.from].gap == GAP_NONE)
        r->sure = true;
    if (r->postal.to < r->hi) {
        hi = take_states(r, r->postal.to, r->hi, false);
        if (hi > r->postal.to) {
            city_after(r, r->postal.to, hi);
            return;
        }
    }
    city_before(r, take_states(r, 0, r->end, true));
}

/* Tells whether the postal code is one of the state's. */
static bool is_in_state(const struct reading *r)
{
    const struct words *t = r->t;
    const struct address_word *e = words_find(
        t, r->state.from, r->state.to - r->state.from, K(STATE), r->f);
    wharf_str k = key_of(t, r->postal.from);
    unsigned begin = 0;

    for (size_t i = 0; i < 3 && i < k.n; i++)
        begin = begin * 10 + (unsigned)(k.p[i] - '0');
    for (size_t i = 0; e && i < 2; i++) {
        const uint16_t *range = address_states[e->ref].postal[i];

        if (range[1] && begin >= range[0] && begin <= range[1])
            return true;
    }
    return false;
}

void reading_make(struct reading *r)
{
    bool preset = r->postal.to > 0;
    size_t index;
    const struct address_word *known;

    if (!preset) {
        r->end = r->hi;
        find_postal(r);
    } else if (reading_pattern_of(r, r->postal, &index)) {
        r->sure = r->f->sure >> index & 1;
    }
    reading_read_parts(r);
    city_of_state(r);
    known = r->city.to ? words_find(r->t, r->city.from, r->city.to - r->city.from, K(CITY), r->f)
                       : NULL;
    reading_mark(r, r->state.from, r->state.to, MARK_STATE);
    reading_mark(r, r->city.from, r->city.to, MARK_CITY);
    if (r->f->sure_with_state && r->postal.to && r->state.to) {
        r->sure = r->sure || (r->state.to == r->postal.from && is_in_state(r));
        if (!is_in_state(r))
            r->score -= 3;
    }
    r->score += (r->postal.to ? 4 : 0) + (r->sure ? 2 : 0) + (r->state.to ? 2 : 0) +
                (r->city.to ? 1 : 0) + (known ? 1 : 0);
}
