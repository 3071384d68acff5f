/* address_words.c - the words of an address and their look-up in the tables (spec 02 section 1):
 * blanks and commas of all kinds, letters without case and marks. */
#include <string.h>

#include "address_parse.h"

/* Reads one character of UTF-8; a byte that begins none is itself. */
static size_t character(const char *p, size_t n, uint32_t *ret)
{
    const uint8_t *s = (const uint8_t *)p;
    size_t k = s[0] < 0xc2 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    *ret = s[0];
    if (k == 1 || k > n)
        return 1;
    *ret = s[0] & (0x7f >> k);
    for (size_t i = 1; i < k; i++)
        *ret = *ret << 6 | (s[i] & 0x3f);
    return k;
}

static bool address_words_is_blank(uint32_t c)
{
    return c == ' ' || c == '\t' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool is_break(uint32_t c)
{
    return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* Tells whether nobody sees it: joiners, marks of direction, the byte order mark. */
static bool address_words_is_hidden(uint32_t c)
{
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || c == 0x2060 ||
           c == 0xfeff || c == 0xad;
}

static bool is_comma(uint32_t c)
{
    return c == ',' || c == ';' || c == '|' || c == 0xff0c || c == 0x3001 || c == 0xff1b ||
           c == 0x2022 || c == 0x60c || c == 0xff64;
}

static bool is_dash(uint32_t c)
{
    return c == '-' || (c >= 0x2010 && c <= 0x2015) || c == 0x2212 || c == 0xff0d || c == 0xb7;
}

enum { POSTAL_MARK = 0x3012 };

/* Copies the text with one kind of blank and of line break; 〒 is a word. */
static void address_words_clean(wharf_str text, struct words *ret)
{
    for (size_t i = 0, k; i < text.n; i += k) {
        uint32_t c;

        k = character(text.p + i, text.n - i, &c);
        if (address_words_is_hidden(c))
            continue;
        if (is_break(c) || address_words_is_blank(c)) {
            ret->clean[ret->clean_n++] = is_break(c) ? '\n' : ' ';
            continue;
        }
        memcpy(ret->clean + ret->clean_n, text.p + i, k);
        ret->clean_n += k;
        if (c == POSTAL_MARK)
            ret->clean[ret->clean_n++] = ' ';
    }
}

static void address_words_put_key(struct words *t, const char *p, size_t n)
{
    memcpy(t->keys + t->keys_n, p, n);
    t->keys_n += n;
}

static void put_ascii(struct words *t, char c)
{
    char small = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;

    if (c != '.' && c != '\'' && c != '`')
        address_words_put_key(t, &small, 1);
}

/* Writes a letter without case and marks. */
static void put_folded(struct words *t, const char *p, size_t n, uint32_t c)
{
    if (c >= 0xff01 && c <= 0xff5e)
        c -= 0xfee0;
    if (is_dash(c) || c == 0x30fc)
        c = '-';
    if (c < 0x80) {
        put_ascii(t, (char)c);
    } else if (c == 0xba || c == 0xb0 || c == 0xaa) {
        address_words_put_key(t, c == 0xaa ? "a" : "o", 1);
    } else if (c >= 0xc0 && c < 0x180) {
        address_words_put_key(t, address_latin[c - 0xc0], strlen(address_latin[c - 0xc0]));
    } else if (c == 0x2116) {
        address_words_put_key(t, "no", 2);
    } else if (c != 0x2019 && (c < 0x300 || c > 0x36f)) {
        address_words_put_key(t, p, n);
    }
}

static bool is_outer(char c)
{
    return strchr("()[]:;*\"!", c) != NULL;
}

/* Adds the word clean[from..to), unless nothing but punctuation is in it. */
static void address_words_add_word(struct words *t, size_t from, size_t to, enum address_gap gap)
{
    struct word *w = &t->at[t->n];
    size_t begin = t->keys_n, letters = 0, upper = 0;

    if (t->n == ADDRESS_WORDS)
        return;
    *w = (struct word){(uint16_t)from, (uint16_t)to, 0, 0, (uint8_t)gap, false, false};
    for (size_t i = from, k; i < to; i += k) {
        uint32_t c;

        k = character(t->clean + i, to - i, &c);
        put_folded(t, t->clean + i, k, c);
        letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        upper += c >= 'A' && c <= 'Z';
    }
    while (t->keys_n > begin && is_outer(t->keys[t->keys_n - 1]))
        t->keys_n--;
    while (begin < t->keys_n && is_outer(t->keys[begin]))
        begin++;
    w->key = (uint16_t)begin;
    w->key_n = (uint16_t)(t->keys_n - begin);
    for (size_t i = begin; i < t->keys_n; i++)
        w->digit = w->digit || (t->keys[i] >= '0' && t->keys[i] <= '9');
    if (w->key_n >= 3 && !memcmp(t->keys + begin, "s/n", 3)) /* "sin número": stands for one */
        w->digit = true;
    w->upper = letters && upper == letters;
    t->n += w->key_n > 0;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool address_words_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t address_words_digits_of(const char *p, size_t n)
{
    size_t i = 0;

    while (i < n && address_words_is_digit(p[i]))
        i++;
    return i;
}

/* Returns where a word is two: "D-10115", "Delhi-110001", "41020-SEVILLA", "Paulo/SP",
 * "Curitiba-PR". 0: nowhere. */
static size_t joint(const char *p, size_t n)
{
    size_t i = 0, digits = address_words_digits_of(p, n);

    if (digits >= 4 && digits + 3 < n && p[digits] == '-' && !address_words_is_digit(p[digits + 1]))
        return digits;
    while (i < n && p[i] != '-' && p[i] != '/' && !address_words_is_digit(p[i]))
        i++;
    if (!i || i + 1 >= n || address_words_is_digit(p[i]))
        return 0;
    if (n - i == 3 && i > 2 && is_upper(p[i + 1]) && is_upper(p[i + 2]))
        return i;
    return p[i] == '-' && address_words_digits_of(p + i + 1, n - i - 1) >= 3 ? i : 0;
}

static void add_words(struct words *t, size_t from, size_t to, enum address_gap gap)
{
    size_t at = joint(t->clean + from, to - from);

    if (!at) {
        address_words_add_word(t, from, to, gap);
        return;
    }
    address_words_add_word(t, from, from + at, gap);
    address_words_add_word(t, from + at + 1, to, GAP_NONE);
}

/* Tells whether clean[from..to) is one dash or slash that stands alone, or nothing but stops. */
static enum address_gap lone(const struct words *t, size_t from, size_t to)
{
    uint32_t c;
    size_t k = character(t->clean + from, to - from, &c);

    return k == to - from && (is_dash(c) || c == '/') ? GAP_DASH : GAP_NONE;
}

/* Tells whether the word ends a sentence, "Centro. Rio de Janeiro": letters alone, and more of them
 * than abbreviations have. */
static bool ends_sentence(const struct words *t)
{
    const struct word *w = &t->at[t->n - 1];

    return t->clean[w->to - 1] == '.' && w->key_n >= 5 && !w->digit &&
           !memchr(t->clean + w->from, '.', (size_t)(w->to - w->from - 1)) &&
           !memchr(t->clean + w->from, '-', (size_t)(w->to - w->from - 1));
}

bool words_of(wharf_str text, struct words *ret)
{
    enum address_gap gap = GAP_LINE, between;
    size_t from = 0;

    ret->clean_n = ret->keys_n = ret->n = 0;
    if (text.n > ADDRESS_BYTES)
        return false;
    address_words_clean(text, ret);
    for (size_t i = 0, k; i <= ret->clean_n; i += k) {
        uint32_t c = '\n';

        k = i < ret->clean_n ? character(ret->clean + i, ret->clean_n - i, &c) : 1;
        between = c == '\n' ? GAP_LINE : c == ' ' ? GAP_SPACE : is_comma(c) ? GAP_COMMA : GAP_NONE;
        if (!between)
            continue;
        if (i > from) {
            enum address_gap dash = lone(ret, from, i);

            if (dash == GAP_NONE) {
                add_words(ret, from, i, gap);
                gap = ret->n && ends_sentence(ret) ? GAP_DASH : GAP_NONE;
            }
            gap = dash > gap ? dash : gap;
        }
        gap = between > gap ? between : gap;
        from = i + k;
    }
    return ret->n < ADDRESS_WORDS;
}

/* ---- look-ups ---- */

static uint32_t hashed(uint32_t h, wharf_str s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 16777619u;
    return h;
}

enum { HASH_BEGIN = 0x811c9dc5u };

static bool entry_is(const struct address_word *e, unsigned kinds, size_t base)
{
    return ADDRESS_KIND(e->kind) & kinds && (e->form == ADDRESS_ANY || e->form == base);
}

static size_t base_of(const struct address_form *f)
{
    return f ? f->base : ADDRESS_ANY;
}

const struct address_word *key_find(wharf_str key, unsigned kinds, const struct address_form *f)
{
    uint32_t h = hashed(HASH_BEGIN, key);

    for (size_t i = address_starts[h >> 20]; i < address_starts[(h >> 20) + 1]; i++) {
        const struct address_word *e = &address_words[i];

        if (e->hash == h && entry_is(e, kinds, base_of(f)) && e->n == key.n &&
            !memcmp(address_keys + e->key, key.p, key.n))
            return e;
    }
    return NULL;
}

/* Tells whether the words are the key, with spaces between. */
static bool same_words(const struct words *t, size_t from, size_t n, const struct address_word *e)
{
    const char *key = address_keys + e->key, *end = key + e->n;

    for (size_t i = 0; i < n; i++) {
        wharf_str k = key_of(t, from + i);

        if (i && (key == end || *key++ != ' '))
            return false;
        if ((size_t)(end - key) < k.n || memcmp(key, k.p, k.n) != 0)
            return false;
        key += k.n;
    }
    return key == end;
}

const struct address_word *words_find(
    const struct words *t, size_t from, size_t n, unsigned kinds, const struct address_form *f)
{
    uint32_t h = HASH_BEGIN;

    for (size_t i = 0; i < n; i++) {
        if (i)
            h = hashed(h, (wharf_str){" ", 1});
        h = hashed(h, key_of(t, from + i));
    }
    for (size_t i = address_starts[h >> 20]; i < address_starts[(h >> 20) + 1]; i++) {
        const struct address_word *e = &address_words[i];

        if (e->hash == h && entry_is(e, kinds, base_of(f)) && same_words(t, from, n, e))
            return e;
    }
    return NULL;
}

bool word_is(const struct words *t, size_t i, unsigned kinds, const struct address_form *f)
{
    return words_find(t, i, 1, kinds, f) != NULL;
}

bool may_be_code(const struct words *t, struct span p, size_t end, const struct address_form *f)
{
    const unsigned others = ADDRESS_KIND(ADDRESS_STREET) | ADDRESS_KIND(ADDRESS_DIRECTION) |
                            ADDRESS_KIND(ADDRESS_UNIT);
    bool other = false;

    for (size_t i = p.from; i < p.to; i++) {
        if (t->at[i].digit)
            return true;
        other = other || word_is(t, i, others, f);
    }
    return p.to == end && p.to - p.from == 2 && !other;
}

bool pattern_fits(const char *pattern, wharf_str key)
{
    size_t i = 0;

    for (; *pattern; pattern++) {
        char c = i < key.n ? key.p[i] : 0;
        bool digit = address_words_is_digit(c), letter = c >= 'a' && c <= 'z';

        if (*pattern == ' ' || *pattern == '-') {
            i += c == *pattern;
            continue;
        }
        if (!(*pattern == '9'     ? digit
                : *pattern == 'a' ? letter
                : *pattern == 'x' ? digit || letter
                                  : c == *pattern))
            return false;
        i++;
    }
    return i == key.n;
}

const struct address_form *form_of(wharf_str country_code)
{
    size_t last = address_forms_count - 1;

    for (size_t i = 0; i < last; i++) {
        if (country_code.n == 2 && !memcmp(address_forms[i].country, country_code.p, 2))
            return &address_forms[i];
    }
    return &address_forms[last];
}

/* Makes the key of a whole text, as of words with spaces between. Returns false when it is too
 * long for a name. */
static bool key_of_text(wharf_str text, char *room, size_t size, wharf_str *ret)
{
    struct words t;
    size_t n = 0;

    if (text.n > size / 2 || !words_of(text, &t))
        return false;
    for (size_t i = 0; i < t.n; i++) {
        if (i)
            room[n++] = ' ';
        memcpy(room + n, t.keys + t.at[i].key, t.at[i].key_n);
        n += t.at[i].key_n;
    }
    *ret = (wharf_str){room, n};
    return true;
}

const struct country *country_find(wharf_str text)
{
    const struct address_word *e = NULL;
    char room[256];
    wharf_str key;

    if (key_of_text(text, room, sizeof(room), &key))
        e = key_find(key, ADDRESS_KIND(ADDRESS_COUNTRY) | ADDRESS_KIND(ADDRESS_COUNTRY_CODE), NULL);
    return e ? &countries[e->ref] : NULL;
}

const struct state *state_find(wharf_str country_code, wharf_str text)
{
    const struct address_word *e = NULL;
    char room[256];
    wharf_str key;

    if (text.n && key_of_text(text, room, sizeof(room), &key))
        e = key_find(key, ADDRESS_KIND(ADDRESS_STATE), form_of(country_code));
    return e ? &address_states[e->ref] : NULL;
}
