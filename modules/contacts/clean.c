/* clean.c - from a text to the name in it: what stands before and after, turned round, left out.
 * See score.h; steps as in docs/spec/06-inference.md section 9.2. Each step is undone when
 * nothing would be left. */
#include <string.h>

#include "score.h"
#include "wharf/inline.h"

enum { WORDS_MAX = 64 };

/* Words of a text, commas and number signs among them. */
struct words {
    wharf_str w[WORDS_MAX];
    size_t n;
};

static bool is_mark(wharf_str w)
{
    return w.n == 1 && (*w.p == ',' || *w.p == '#' || *w.p == '/');
}

static void clean_split(wharf_str text, struct words *ret)
{
    const char *p = text.p, *end = text.p + text.n;

    ret->n = 0;
    while (p < end && ret->n < WORDS_MAX) {
        const char *space = memchr(p, ' ', (size_t)(end - p));
        size_t n = space ? (size_t)(space - p) : (size_t)(end - p);

        if (n)
            ret->w[ret->n++] = (wharf_str){p, n};
        p += n + 1;
    }
}

/* Counts the words that are no marks. */
static size_t real(const wharf_str *w, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += !is_mark(w[i]);
    return count;
}

static void clean_cut(struct words *s, size_t at, size_t n)
{
    memmove(s->w + at, s->w + at + n, (s->n - at - n) * sizeof(*s->w));
    s->n -= n;
}

/* ---- step 1: for whom ---- */

static const char *const leading[][2] = {{"deliver", "to"}, {"ship", "to"}, {"attn", NULL},
    {"attention", NULL}, {"att", NULL}, {"to", NULL}};

/* Counts the words of "c/o", "care of" at a place; 0: none. */
static size_t care_of(const struct words *s, size_t i)
{
    if (i + 2 < s->n && is(s->w[i], "c") && is(s->w[i + 1], "/") && is(s->w[i + 2], "o"))
        return 3;
    return i + 1 < s->n && is(s->w[i], "care") && is(s->w[i + 1], "of") ? 2 : 0;
}

static bool is_attn(wharf_str w)
{
    return is(w, "attn") || is(w, "attention");
}

static size_t leading_words(const struct words *s)
{
    size_t n = care_of(s, 0);

    for (size_t i = 0; !n && i < sizeof(leading) / sizeof(leading[0]); i++) {
        if (s->n && is(s->w[0], leading[i][0]) &&
            (!leading[i][1] || (s->n > 1 && is(s->w[1], leading[i][1]))))
            n = leading[i][1] ? 2 : 1;
    }
    return n;
}

static void business_of(const wharf_str *w, size_t n, struct name *ret);

static void whom(struct words *s, struct name *business)
{
    for (size_t n; (n = leading_words(s)) > 0 && real(s->w + n, s->n - n) > 0;)
        clean_cut(s, 0, n);
    for (size_t i = 1; i < s->n; i++) {
        size_t n = care_of(s, i);

        if (n && real(s->w, i) && real(s->w + i + n, s->n - i - n)) {
            if (!business->n)
                business_of(s->w + i + n, s->n - i - n, business);
            s->n = i;
        } else if (is_attn(s->w[i]) && real(s->w, i) && real(s->w + i + 1, s->n - i - 1)) {
            business_of(s->w, i, business);
            clean_cut(s, 0, i + 1);
            i = 0;
        }
    }
}

/* ---- step 2: the unit ---- */

static bool clean_has_digit(wharf_str w)
{
    for (size_t i = 0; i < w.n; i++) {
        if (w.p[i] >= '0' && w.p[i] <= '9')
            return true;
    }
    return false;
}

static wharf_str take_unit(struct words *s)
{
    size_t n = s->n;
    wharf_str unit;

    if (n < 3 || !clean_has_digit(s->w[n - 1]) ||
        !(is(s->w[n - 2], "#") || word_of(s->w[n - 2].p, s->w[n - 2].n)->kinds & WORD_UNIT))
        return (wharf_str){"", 0};
    unit = s->w[n - 1];
    n -= 2;
    if (n > 1 && is(s->w[n], "#") && word_of(s->w[n - 1].p, s->w[n - 1].n)->kinds & WORD_UNIT)
        n--; /* apt #4 */
    if (!real(s->w, n))
        return (wharf_str){"", 0};
    s->n = n;
    while (s->n && is_mark(s->w[s->n - 1]))
        s->n--;
    return unit;
}

/* ---- step 3: phrases ---- */

static size_t clean_found_at(const struct words *s, size_t i, const struct words *phrase)
{
    for (size_t k = 0; k < phrase->n; k++) {
        if (i + k >= s->n || s->w[i + k].n != phrase->w[k].n ||
            memcmp(s->w[i + k].p, phrase->w[k].p, phrase->w[k].n) != 0)
            return 0;
    }
    return phrase->n;
}

/* Returns the length of the longest of the phrases that begin here. */
static size_t clean_longest(
    const struct words *s, size_t i, const wharf_str *ignore, size_t n_ignore)
{
    struct words phrase;
    size_t most = 0, n;

    for (size_t k = 0; k < n_ignore; k++) {
        clean_split(ignore[k], &phrase);
        n = clean_found_at(s, i, &phrase);
        most = n > most ? n : most;
    }
    return most;
}

static void clean_leave_out(struct words *s, const wharf_str *ignore, size_t n_ignore)
{
    struct words before = *s;

    for (size_t i = 0; n_ignore && i < s->n;) {
        size_t n = clean_longest(s, i, ignore, n_ignore);

        if (n)
            clean_cut(s, i, n);
        else
            i++;
    }
    if (!real(s->w, s->n))
        *s = before;
}

/* ---- step 4: last, first ---- */

static bool any_of(const wharf_str *w, size_t n, uint32_t kind)
{
    for (size_t i = 0; i < n; i++) {
        if (word_of(w[i].p, w[i].n)->kinds & kind)
            return true;
    }
    return false;
}

static bool clean_all_of(const wharf_str *w, size_t n, uint32_t kind)
{
    for (size_t i = 0; i < n; i++) {
        if (!(word_of(w[i].p, w[i].n)->kinds & kind))
            return false;
    }
    return true;
}

static void turn_round(struct words *s)
{
    size_t commas = 0, at = 0, right;
    struct words turned;

    for (size_t i = 0; i < s->n; i++) {
        if (is(s->w[i], ",")) {
            commas++;
            at = i;
        }
    }
    right = s->n - at - 1;
    if (commas == 1 && at >= 1 && at <= 3 && right >= 1 && right <= 3 &&
        !clean_all_of(s->w + at + 1, right, WORD_SUFFIX) && !any_of(s->w, s->n, WORD_LEGAL)) {
        turned.n = s->n;
        memcpy(turned.w, s->w + at + 1, right * sizeof(*s->w));
        memcpy(turned.w + right, s->w, (at + 1) * sizeof(*s->w));
        *s = turned;
    }
    for (size_t i = 0; i < s->n;) {
        if (is_mark(s->w[i]))
            clean_cut(s, i, 1);
        else
            i++;
    }
}

/* ---- steps 5 and 6: titles and suffixes ---- */

static int titles(struct words *s)
{
    int generation = 0;

    while (s->n > 1 && word_of(s->w[0].p, s->w[0].n)->kinds & WORD_TITLE)
        clean_cut(s, 0, 1);
    while (s->n > 1 && word_of(s->w[s->n - 1].p, s->w[s->n - 1].n)->kinds & WORD_SUFFIX) {
        int g = word_of(s->w[s->n - 1].p, s->w[s->n - 1].n)->generation;

        generation = g ? g : generation;
        s->n--;
    }
    return generation;
}

/* ---- tokens ---- */

static void token_from(wharf_str w, struct token *ret)
{
    const unsigned char *p = (const unsigned char *)w.p, *end = p + w.n;

    ret->text = w;
    ret->word = word_of(w.p, w.n);
    ret->n_points = 0;
    while (p < end && ret->n_points < TOKEN_POINTS) {
        size_t more = *p < 0x80 ? 0 : *p < 0xE0 ? 1 : *p < 0xF0 ? 2 : 3;
        uint32_t c = more ? *p & (0x3Fu >> more) : *p;

        for (p++; more && p < end; more--, p++)
            c = c << 6 | (*p & 0x3Fu);
        ret->points[ret->n_points++] = c;
    }
}

static void name_from(const wharf_str *w, size_t n, struct name *ret)
{
    ret->n = 0;
    ret->generation = 0;
    for (size_t i = 0; i < n && ret->n < TOKENS_MAX; i++) {
        if (!is_mark(w[i]))
            token_from(w[i], &ret->tokens[ret->n++]);
    }
}

/* Makes the name of a business. Legal forms go, unless nothing else is there. */
static void business_of(const wharf_str *w, size_t n, struct name *ret)
{
    wharf_str kept[WORDS_MAX];
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_mark(w[i]))
            kept[k++] = w[i];
    }
    k = legal_forms_drop(kept, k);
    name_from(k ? kept : w, k ? k : n, ret);
}

void business_clean(wharf_str search_form, struct name *ret)
{
    struct words s;

    clean_split(search_form, &s);
    business_of(s.w, s.n, ret);
}

void name_clean(wharf_str search_form, const wharf_str *ignore, size_t n_ignore, unsigned flags,
    struct cleaned *ret)
{
    struct words s;
    int generation = 0;

    ret->business.n = 0;
    ret->business.generation = 0;
    clean_split(search_form, &s);
    whom(&s, &ret->business);
    ret->unit = take_unit(&s);
    clean_leave_out(&s, ignore, n_ignore);
    turn_round(&s);
    if (!(flags & CLEAN_KEEP_TITLES))
        generation = titles(&s);
    name_from(s.w, s.n, &ret->name);
    ret->name.generation = generation;
}
