/* carrier_shape.c - see carrier_shape.h. A position automaton (Glushkov): one place per
 * character of the pattern, repeats written out, no state but a set of places while matching, so
 * that no pattern can make matching slow. */
#include "carrier_shape.h"

#include <string.h>

enum { DEPTH = 16, REPEAT = PATTERN_SUBJECT };

struct part { /* of the pattern, as it was read */
    struct positions first, last;
    uint32_t least, most;
    bool nothing;
};

struct reader {
    const char *p, *end;
    struct positions takes[PATTERN_SYMBOLS];
    struct positions follow[PATTERN_POSITIONS];
    uint32_t n;
    unsigned depth;
    const char *why;
};

static void carrier_shape_put(struct positions *s, uint32_t i)
{
    s->w[i / 64] |= UINT64_C(1) << i % 64;
}

static void carrier_shape_join(struct positions *s, const struct positions *more)
{
    for (size_t i = 0; i < PATTERN_POSITIONS / 64; i++)
        s->w[i] |= more->w[i];
}

/* Links places: behind every place of `from` may come any of `to`. */
static void carrier_shape_link_places(
    struct reader *r, const struct positions *from, const struct positions *to)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (from->w[i / 64] >> i % 64 & 1)
            carrier_shape_join(&r->follow[i], to);
    }
}

static bool carrier_shape_wrong(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
    return a > PATTERN_SUBJECT || b > PATTERN_SUBJECT - a ? PATTERN_SUBJECT + 1 : a + b;
}

static struct part carrier_shape_nothing(void)
{
    return (struct part){.nothing = true};
}

static struct part carrier_shape_behind(
    struct reader *r, const struct part *a, const struct part *b)
{
    struct part both = {.least = plus(a->least, b->least), .most = plus(a->most, b->most)};

    carrier_shape_link_places(r, &a->last, &b->first);
    both.first = a->first;
    both.last = b->last;
    if (a->nothing)
        carrier_shape_join(&both.first, &b->first);
    if (b->nothing)
        carrier_shape_join(&both.last, &a->last);
    both.nothing = a->nothing && b->nothing;
    return both;
}

static struct part carrier_shape_either(const struct part *a, const struct part *b)
{
    struct part one = {.first = a->first, .last = a->last, .nothing = a->nothing || b->nothing};

    carrier_shape_join(&one.first, &b->first);
    carrier_shape_join(&one.last, &b->last);
    one.least = a->least < b->least ? a->least : b->least;
    one.most = a->most > b->most ? a->most : b->most;
    return one;
}

/* ---- characters ---- */

static bool new_place(struct reader *r, const bool takes[PATTERN_SYMBOLS], struct part *ret)
{
    if (r->n == PATTERN_POSITIONS)
        return carrier_shape_wrong(r, "stands for too many characters");
    *ret = (struct part){.least = 1, .most = 1};
    carrier_shape_put(&ret->first, r->n);
    carrier_shape_put(&ret->last, r->n);
    for (unsigned c = 0; c < PATTERN_SYMBOLS; c++) {
        if (takes[c])
            carrier_shape_put(&r->takes[c], r->n);
    }
    r->n++;
    return true;
}

static bool read_set(struct reader *r, struct part *ret)
{
    bool takes[PATTERN_SYMBOLS] = {false}, any = false, turned = r->p < r->end && *r->p == '^';

    r->p += turned;
    while (r->p < r->end && (*r->p != ']' || !any)) {
        unsigned char from = (unsigned char)*r->p++, to = from;

        if (from == '[' && r->p < r->end && strchr(":.=", *r->p))
            return carrier_shape_wrong(r, "has a [:class:]; write the characters out");
        if (r->end - r->p >= 2 && r->p[0] == '-' && r->p[1] != ']') {
            to = (unsigned char)r->p[1];
            r->p += 2;
        }
        if (from >= PATTERN_SYMBOLS || to >= PATTERN_SYMBOLS || from > to)
            return carrier_shape_wrong(r, "has a range in [ ] that is none");
        for (unsigned c = from; c <= to; c++)
            takes[c] = true;
        any = true;
    }
    if (r->p == r->end)
        return carrier_shape_wrong(r, "has a [ that is not closed");
    r->p++;
    for (unsigned c = ' ' + 1; turned && c < PATTERN_SYMBOLS; c++)
        takes[c] = !takes[c];
    return new_place(r, takes, ret);
}

static bool read_choice(struct reader *r, struct part *ret);

static bool read_atom(struct reader *r, struct part *ret)
{
    bool takes[PATTERN_SYMBOLS] = {false};
    unsigned char c = (unsigned char)*r->p++;

    if (c == '(') {
        if (++r->depth > DEPTH)
            return carrier_shape_wrong(r, "nests ( ) too deep");
        if (!read_choice(r, ret))
            return false;
        r->depth--;
        if (r->p == r->end)
            return carrier_shape_wrong(r, "has a ( that is not closed");
        r->p++;
        return true;
    }
    if (c == '[')
        return read_set(r, ret);
    if (strchr("*+?{", c))
        return carrier_shape_wrong(r, "has a repeat with nothing before it");
    if (c == '\\' && r->p < r->end)
        c = (unsigned char)*r->p++;
    else if (c == '.')
        memset(takes + ' ' + 1, true, PATTERN_SYMBOLS - ' ' - 1);
    else if (c == '^' || c == '$' || c == '\\')
        return carrier_shape_wrong(r, "has a ^, $ or \\ at a place where it means nothing");
    if (c <= ' ' || c >= PATTERN_SYMBOLS)
        return carrier_shape_wrong(r, "has a character that is not printable ASCII");
    takes[c] = true;
    return new_place(r, takes, ret);
}

/* ---- repeats ---- */

static bool carrier_shape_read_number(struct reader *r, uint32_t *ret)
{
    const char *start = r->p;

    for (*ret = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9' && *ret <= REPEAT; r->p++)
        *ret = *ret * 10 + (uint32_t)(*r->p - '0');
    return r->p > start;
}

/* Reads "{n}", "{n,}" and "{n,m}" behind the brace; endless: no most. */
static bool read_bounds(
    struct reader *r, uint32_t *ret_least, uint32_t *ret_most, bool *ret_endless)
{
    if (!carrier_shape_read_number(r, ret_least))
        return carrier_shape_wrong(r, "has a { without a number");
    *ret_most = *ret_least;
    *ret_endless = false;
    if (r->p < r->end && *r->p == ',') {
        r->p++;
        *ret_endless = !carrier_shape_read_number(r, ret_most);
    }
    if (r->p == r->end || *r->p++ != '}')
        return carrier_shape_wrong(r, "has a { that is not closed");
    if (*ret_least > REPEAT ||
        (!*ret_endless && (*ret_most > REPEAT || *ret_most < *ret_least || *ret_most == 0)))
        return carrier_shape_wrong(r, "has bounds in { } that are none, or above 64");
    return true;
}

static bool read_repeat(
    struct reader *r, uint32_t *ret_least, uint32_t *ret_most, bool *ret_endless, bool *ret_any)
{
    char c = r->p < r->end ? *r->p : 0;

    *ret_any = c && strchr("*+?{", c) != NULL;
    *ret_least = *ret_most = 1;
    *ret_endless = false;
    if (!*ret_any)
        return true;
    r->p++;
    if (c == '{')
        return read_bounds(r, ret_least, ret_most, ret_endless);
    *ret_least = c == '+';
    *ret_endless = c != '?';
    return true;
}

/* Copies the atom at `from` once more, with places of its own. */
static bool copy_atom(struct reader *r, const char *from, struct part *ret)
{
    const char *back = r->p;
    bool ok;

    r->p = from;
    ok = read_atom(r, ret);
    r->p = back;
    return ok;
}

static bool read_repeated(struct reader *r, struct part *ret)
{
    const char *from = r->p;
    uint32_t least = 1, most = 1, copies;
    struct part atom = carrier_shape_nothing(), whole = carrier_shape_nothing();
    bool endless = false, any = false;

    if (!read_atom(r, &atom) || !read_repeat(r, &least, &most, &endless, &any))
        return false;
    if (!any) {
        *ret = atom;
        return true;
    }
    copies = endless ? (least ? least : 1) : most;
    for (uint32_t i = 0; i < copies; i++) {
        if (i && !copy_atom(r, from, &atom))
            return false;
        if (endless && i == copies - 1) {
            carrier_shape_link_places(r, &atom.last, &atom.first);
            atom.most = atom.most ? PATTERN_SUBJECT + 1 : 0;
        }
        if (i >= least) {
            atom.nothing = true;
            atom.least = 0;
        }
        whole = i ? carrier_shape_behind(r, &whole, &atom) : atom;
    }
    *ret = whole;
    return !(r->p < r->end && strchr("*+?{", *r->p)) ||
           carrier_shape_wrong(r, "has two repeats behind each other");
}

/* ---- sequences and choices ---- */

static bool read_sequence(struct reader *r, struct part *ret)
{
    bool any = false;

    *ret = carrier_shape_nothing();
    while (r->p < r->end && *r->p != '|' && *r->p != ')') {
        struct part one = carrier_shape_nothing();

        if (!read_repeated(r, &one))
            return false;
        *ret = any ? carrier_shape_behind(r, ret, &one) : one;
        any = true;
    }
    return any || carrier_shape_wrong(r, "has an empty alternative");
}

static bool read_choice(struct reader *r, struct part *ret)
{
    if (!read_sequence(r, ret))
        return false;
    while (r->p < r->end && *r->p == '|') {
        struct part other = carrier_shape_nothing();

        r->p++;
        if (!read_sequence(r, &other))
            return false;
        *ret = carrier_shape_either(ret, &other);
    }
    return true;
}

bool shape_compile(const char *text, size_t n, shape_alloc *alloc, void *arg, struct shape *ret,
    const char **ret_why)
{
    struct reader r = {.p = text, .end = text + n};
    struct part whole = carrier_shape_nothing();

    *ret_why = "is empty or has more than 200 characters";
    if (n == 0 || n > PATTERN_TEXT)
        return false;
    if (!read_choice(&r, &whole) ||
        (r.p < r.end && !carrier_shape_wrong(&r, "has a ) that nothing opened"))) {
        *ret_why = r.why;
        return false;
    }
    *ret = (struct shape){.first = whole.first,
        .last = whole.last,
        .n = r.n,
        .least = whole.least,
        .most = whole.most,
        .nothing = whole.nothing};
    ret->takes = alloc(arg, sizeof(r.takes));
    memcpy(ret->takes, r.takes, sizeof(r.takes));
    ret->follow = alloc(arg, r.n * sizeof(*ret->follow));
    memcpy(ret->follow, r.follow, r.n * sizeof(*ret->follow));
    return true;
}

/* ---- matching ---- */

/* Finds the places of `at` that take c. Returns false when there is none. */
static bool carrier_shape_step(
    const struct shape *s, const struct positions *at, unsigned char c, struct positions *ret)
{
    uint64_t any = 0;

    for (size_t i = 0; i < PATTERN_POSITIONS / 64; i++) {
        ret->w[i] = at->w[i] & s->takes[c].w[i];
        any |= ret->w[i];
    }
    return any != 0;
}

static bool meets(const struct positions *a, const struct positions *b)
{
    uint64_t any = 0;

    for (size_t i = 0; i < PATTERN_POSITIONS / 64; i++)
        any |= a->w[i] & b->w[i];
    return any != 0;
}

bool shape_match(const struct shape *s, const char *subject, size_t n)
{
    struct positions at = s->first, took;

    if (n < s->least || n > s->most)
        return false;
    if (n == 0)
        return s->nothing;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)subject[i];

        if (c >= PATTERN_SYMBOLS || !carrier_shape_step(s, &at, c, &took))
            return false;
        if (i == n - 1)
            return meets(&took, &s->last);
        at = (struct positions){{0}};
        for (size_t k = 0; k < PATTERN_POSITIONS / 64; k++) {
            for (uint64_t left = took.w[k]; left; left &= left - 1)
                carrier_shape_join(&at, &s->follow[k * 64 + (size_t)__builtin_ctzll(left)]);
        }
    }
    return false;
}
