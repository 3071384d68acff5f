/* address_parse.c - one string as the parts of an address, without any outside service (spec 02
 * section 1). Chooses the country: the one that the text names, else the organization's, unless
 * the postal code or the state is of another country alone; address_reading.c reads the rest. */
#include <string.h>

#include "address_reading.h"

#define K(kind) ADDRESS_KIND(ADDRESS_##kind)

enum { COUNTRY_WORDS = 6 };

/* The country that a text names. */
struct named {
    const struct country *country;
    struct span words;
    struct span postal; /* where it stands behind the country */
    bool weak; /* the words can mean something else */
    bool state; /* a state */
};

static bool address_parse_starts_part(const struct words *t, size_t i)
{
    return i == 0 || t->at[i].gap >= GAP_DASH;
}

static bool in_one_part(const struct words *t, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++) {
        if (t->at[i].gap >= GAP_DASH)
            return false;
    }
    return true;
}

/* Tells whether the words are a state, of the own country or of one whose states are countries'
 * codes. */
static bool address_parse_is_state(
    const struct words *t, size_t from, size_t n, const struct address_form *own)
{
    static const char *const others[] = {"US", "CA"};

    if (words_find(t, from, n, K(STATE) | K(REGION), own))
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (words_find(t, from, n, K(STATE), form_of((wharf_str){others[i], 2})))
            return true;
    }
    return false;
}

/* Tells whether the country's name is the end of a state's: "New Mexico". */
static bool ends_state(const struct words *t, size_t from, size_t n, const struct address_form *own)
{
    for (size_t more = 1; more <= 2 && more <= from; more++) {
        if (address_parse_is_state(t, from - more, n + more, own))
            return true;
    }
    return false;
}

/* Finds a country whose name ends at end. */
static bool address_parse_named_before(
    const struct words *t, size_t end, const struct address_form *own, struct named *ret)
{
    for (size_t n = end < COUNTRY_WORDS ? end : COUNTRY_WORDS; n; n--) {
        size_t from = end - n;
        const struct address_word *e = words_find(t, from, n, K(COUNTRY) | K(COUNTRY_CODE), NULL);
        bool starts = address_parse_starts_part(t, from),
             code = e && e->kind == ADDRESS_COUNTRY_CODE;

        if (!e || from == 0 || !in_one_part(t, from, end))
            continue;
        if (!starts &&
            ((code && !t->at[from].upper && !t->at[from - 1].digit) || ends_state(t, from, n, own)))
            continue;
        *ret = (struct named){&countries[e->ref], {from, end}, {0, 0}, false,
            words_find(t, from, n, K(STATE) | K(REGION), own) != NULL};
        ret->weak = (code && !starts) || (address_parse_is_state(t, from, n, own) &&
                                             memcmp(ret->country->code, own->country, 3) != 0);
        return true;
    }
    return false;
}

static bool fits_any(const struct words *t, struct span p, const struct address_form *f)
{
    char text[24];
    size_t n = 0;

    for (size_t i = p.from; i < p.to; i++) {
        wharf_str k = key_of(t, i);

        if (n + k.n + 1 > sizeof(text))
            return false;
        if (n)
            text[n++] = ' ';
        memcpy(text + n, k.p, k.n);
        n += k.n;
    }
    for (size_t i = 0; i < ADDRESS_PATTERNS && *f->postal[i]; i++) {
        if (pattern_fits(f->postal[i], (wharf_str){text, n}))
            return true;
    }
    return false;
}

/* Finds the country that the text names: before the postal code at its end, or at its end. */
static bool find_named(const struct words *t, const struct address_form *own, struct named *ret)
{
    for (size_t n = 1; n <= 2 && n < t->n; n++) {
        struct span p = {t->n - n, t->n};
        const struct address_form *f;
        size_t end = p.from;

        while (end > 1 && word_is(t, end - 1, K(LABEL), NULL))
            end--;
        if (!(t->at[p.from].digit || t->at[t->n - 1].digit) ||
            !address_parse_named_before(t, end, own, ret))
            continue;
        f = form_of((wharf_str){ret->country->code, 2});
        /* "Anytown, ST 12345": of a country without a form of its own a code is no proof */
        if ((*f->country || ret->words.to - ret->words.from > 1 ||
                t->at[ret->words.from].key_n > 3) &&
            fits_any(t, p, f)) {
            ret->postal = p;
            return true;
        }
    }
    return address_parse_named_before(t, t->n, own, ret);
}

static void read_as(struct reading *r, const struct words *t, const struct address_form *f,
    const struct named *named, bool own)
{
    memset(r, 0, offsetof(struct reading, marks) + t->n);
    r->t = t;
    r->f = f;
    r->told = named ? TOLD_BY_TEXT : own ? TOLD_BY_DEFAULT : TOLD_BY_FORM;
    r->hi = named ? named->words.from : t->n;
    if (named) {
        r->end = r->hi;
        r->postal = named->postal;
        if (r->postal.to)
            r->hi = r->postal.to;
        memset(r->marks + named->words.from, MARK_DROPPED, named->words.to - named->words.from);
    }
    reading_make(r);
    if (named && !r->city.to &&
        words_find(t, named->words.from, named->words.to - named->words.from, K(CITY), f)) {
        r->city = named->words;
        r->score++;
    }
    r->score += named || (own && r->score);
}

/* Tells whether some words can be a postal code that only the form's country has, or has letters
 * of the country in front. */
static bool may_be_sure(const struct words *t, const struct address_form *f)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].gap == GAP_NONE && i && t->at[i].digit && word_is(t, i - 1, K(PREFIX), f))
            return true;
        for (size_t n = 1; f->sure && n <= 2 && i + n <= t->n; n++) {
            if ((t->at[i].digit || t->at[i + n - 1].digit) &&
                fits_any(t, (struct span){i, i + n}, f))
                return true;
        }
    }
    return f->sure_with_state && t->n && t->at[t->n - 1].digit;
}

/* Reads the text as of each country whose postal code says so, and keeps the best in *best. */
static void try_sure(const struct words *t, struct reading *best)
{
    struct reading r;
    const struct address_form *own = best->f;

    for (size_t i = 0; i + 1 < address_forms_count; i++) {
        const struct address_form *f = &address_forms[i];

        if (f == own || f->base != i || !may_be_sure(t, f))
            continue;
        read_as(&r, t, f, NULL, false);
        if (r.sure && r.postal.to && r.city.to && r.score > best->score)
            *best = r;
    }
}

/* Returns the crown dependency whose postal code it is, else the country. */
static wharf_str island_of(const struct reading *r, wharf_str code)
{
    static const char areas[][3] = {"im", "IM", "je", "JE", "gy", "GG"};
    wharf_str k = r->postal.to ? key_of(r->t, r->postal.from) : (wharf_str){"", 0};

    if (code.n != 2 || memcmp(code.p, "GB", 2) != 0 || k.n < 3 || k.p[2] < '0' || k.p[2] > '9')
        return code;
    for (size_t i = 0; i < 6; i += 2) {
        if (!memcmp(k.p, areas[i], 2))
            return (wharf_str){areas[i + 1], 2};
    }
    return code;
}

/* ---- the answer ---- */

/* Tells whether the stop at the end is one of several in a word: "G.C." */
static bool is_abbreviation(wharf_str s)
{
    size_t i = s.n - 1;

    if (s.p[i] != '.')
        return false;
    while (i && s.p[i - 1] != ' ' && s.p[i - 1] != '.')
        i--;
    return i && s.p[i - 1] == '.' && i + 1 < s.n;
}

static char *address_parse_put(char *room, wharf_str s, wharf_str *ret)
{
    while (s.n && strchr(" .,;:|-(/", s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && strchr(" .,;:|-)/", s.p[s.n - 1]) && !is_abbreviation(s))
        s.n--;
    memcpy(room, s.p, s.n);
    *ret = (wharf_str){room, s.n};
    return room + s.n;
}

static char *address_parse_put_words(
    char *room, const struct words *t, struct span s, wharf_str *ret)
{
    size_t from;

    if (!s.to)
        return room;
    from = t->at[s.from].from;
    return address_parse_put(
        room, (wharf_str){t->clean + from, (size_t)(t->at[s.to - 1].to - from)}, ret);
}

static bool is_ascii(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((uint8_t)s.p[i] >= 0x80)
            return false;
    }
    return true;
}

/* Writes the letters, digits and dashes of a text in ASCII, in capitals: upper, or as they are. */
static char *put_letters(char *at, wharf_str s, bool upper)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (upper && c >= 'a' && c <= 'z')
            c = (char)(c - 32);
        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-')
            *at++ = c;
    }
    return at;
}

/* Writes the postal code as it stands there, in ASCII, with one blank between its words. */
static void put_postal(char *room, const struct words *t, struct span s, wharf_str *ret)
{
    char *at = room;

    for (size_t i = s.from; i < s.to; i++) {
        wharf_str given = {t->clean + t->at[i].from, (size_t)(t->at[i].to - t->at[i].from)};

        if (i > s.from)
            *at++ = ' ';
        at = is_ascii(given) ? put_letters(at, given, false) : put_letters(at, key_of(t, i), true);
    }
    *ret = (wharf_str){room, (size_t)(at - room)};
}

static void address_parse_answer(
    const struct reading *r, wharf_str code, char *room, struct address *ret)
{
    struct span state = r->state;
    wharf_str of = island_of(r, code);

    if (of.p != code.p && r->state_kind == ADDRESS_NATION)
        state.to = 0;
    ret->country_code = of;
    room += lines_of(r->t, r->marks, r->f, room, ret);
    room = address_parse_put_words(room, r->t, r->city, &ret->city);
    room = address_parse_put_words(room, r->t, state, &ret->state);
    put_postal(room, r->t, r->postal, &ret->postal_code);
}

static wharf_str address_parse_trimmed(wharf_str s)
{
    while (s.n && strchr(" \t\r\n", s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

void address_read(wharf_str text, wharf_str country, char room[ADDRESS_ROOM], struct address *ret)
{
    const struct address_form *own = form_of(country), *f;
    struct reading best, as_named;
    struct named named;
    struct words t;
    wharf_str code = country, empty = {"", 0};
    bool any;

    *ret = (struct address){address_parse_trimmed(text), empty, empty, empty, empty, country};
    if (!words_of(text, &t) || !t.n || read_east(&t, country, room, ret))
        return;
    read_as(&best, &t, own, NULL, true);
    any = find_named(&t, own, &named);
    if (any) {
        f = form_of((wharf_str){named.country->code, 2});
        read_as(&as_named, &t, f, &named, false);
    }
    if (!any || named.weak)
        try_sure(&t, &best);
    if (any && (!named.weak || as_named.score > best.score - !named.state)) {
        address_parse_answer(&as_named, (wharf_str){named.country->code, 2}, room, ret);
        return;
    }
    if (best.f != own)
        code = (wharf_str){best.f->country, 2};
    if (best.score && (best.postal.to || best.state.to))
        address_parse_answer(&best, code, room, ret);
}
