/* pattern.c - compiles regular expressions, see schema.h. Leaves to others: matching (program.c).
 *
 * The syntax is that of ECMAScript with the u flag, without what needs memory of the past (backreferences,
 * look-around, \p classes). The source becomes a small program (Thompson's construction); matching runs all its
 * threads side by side, a code point at a time, so the time is at most program size times text length. Jumps are
 * relative: a repeated part is copied as it stands.
 */
#include "schema/program.h"
#include "util/str.h"

enum { GROUPS_DEEP = 60, RANGES_MAX = 256, COUNT_MAX = 2000 };

struct ranges { /* of one class, while it is read */
    struct range list[RANGES_MAX];
    size_t n;
};

struct compiler {
    struct arena *arena;
    const char *p, *end;
    struct instruction *program;
    size_t size, cap;
    struct instruction spare; /* takes what is written after an error */
    unsigned depth;
    const char *error;
};

static const struct range DIGITS[] = {{'0', '9'}};
static const struct range WORDS[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct range SPACES[] = {{9, 13}, {' ', ' '}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
static const struct range LINE_ENDS[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void parse_choice(struct compiler *c);

static void fail(struct compiler *c, const char *message)
{
    if (!c->error)
        c->error = message;
    c->p = c->end;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static struct instruction *emit(struct compiler *c, enum op op)
{
    struct instruction *i;

    if (c->size == PROGRAM_MAX)
        fail(c, "the pattern is too large: its counts multiply to more than 4000 steps");
    if (c->error)
        return &c->spare;
    if (c->size == c->cap) {
        struct instruction *grown = ARENA_ARRAY(c->arena, struct instruction, c->cap ? c->cap * 2 : 32);

        if (c->size)
            memcpy(grown, c->program, c->size * sizeof(*grown));
        c->program = grown;
        c->cap = c->cap ? c->cap * 2 : 32;
    }
    i = &c->program[c->size++];
    *i = (struct instruction){.op = op};
    return i;
}

/* Puts a split before the fragment that begins at `at`; the fragment moves, and stays whole because jumps are
 * relative. */
static void insert_split(struct compiler *c, size_t at, int to, int or_to)
{
    emit(c, OP_SPLIT);
    if (c->error)
        return;
    memmove(&c->program[at + 1], &c->program[at], (c->size - 1 - at) * sizeof(*c->program));
    c->program[at] = (struct instruction){.op = OP_SPLIT, .to = to, .or_to = or_to};
}

static void emit_ranges(struct compiler *c, const struct range *list, size_t n)
{
    struct range *copy = ARENA_ARRAY(c->arena, struct range, n ? n : 1);
    struct instruction *i = emit(c, OP_RANGES);

    for (size_t k = 0; k < n; k++) {
        copy[k] = list[k];
        for (uint32_t cp = list[k].low; cp <= list[k].high && cp < 128; cp++)
            i->ascii[cp / 64] |= 1ull << cp % 64;
    }
    i->ranges = copy;
    i->n_ranges = n;
}

static void emit_char(struct compiler *c, uint32_t cp)
{
    emit_ranges(c, &(struct range){cp, cp}, 1);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static void add_range(struct compiler *c, struct ranges *set, uint32_t low, uint32_t high)
{
    if (set->n == RANGES_MAX)
        fail(c, "a character class has too many members");
    else
        set->list[set->n++] = (struct range){low, high};
}

/* Sorts and joins; then the complement if wanted. */
static void settle(struct compiler *c, struct ranges *set, bool negate)
{
    size_t n = 0;
    uint32_t next = 0;

    for (size_t i = 1; i < set->n; i++)
        for (size_t j = i; j && set->list[j].low < set->list[j - 1].low; j--) {
            struct range swap = set->list[j];

            set->list[j] = set->list[j - 1];
            set->list[j - 1] = swap;
        }
    for (size_t i = 0; i < set->n; i++) {
        if (n && set->list[i].low <= set->list[n - 1].high + 1) {
            if (set->list[i].high > set->list[n - 1].high)
                set->list[n - 1].high = set->list[i].high;
        } else {
            set->list[n++] = set->list[i];
        }
    }
    set->n = n;
    if (!negate)
        return;
    n = 0;
    for (size_t i = 0; i < set->n; i++) {
        struct range r = set->list[i];

        if (r.low > next)
            set->list[n++] = (struct range){next, r.low - 1};
        next = r.high + 1;
    }
    set->n = n;
    if (next <= 0x10FFFF)
        add_range(c, set, next, 0x10FFFF);
}

/* \d \D \w \W \s \S: adds the set. False: the letter is none of them. */
static bool add_named(struct compiler *c, struct ranges *set, char letter)
{
    const struct range *list;
    size_t n;
    bool negate = letter < 'a';

    switch (letter | 0x20) {
    case 'd':
        list = DIGITS;
        n = COUNT(DIGITS);
        break;
    case 'w':
        list = WORDS;
        n = COUNT(WORDS);
        break;
    case 's':
        list = SPACES;
        n = COUNT(SPACES);
        break;
    default:
        return false;
    }
    if (negate) {
        struct ranges other = {.n = n};

        memcpy(other.list, list, n * sizeof(*list));
        settle(c, &other, true);
        for (size_t i = 0; i < other.n; i++)
            add_range(c, set, other.list[i].low, other.list[i].high);
    } else {
        for (size_t i = 0; i < n; i++)
            add_range(c, set, list[i].low, list[i].high);
    }
    return true;
}

static bool hex_digits(struct compiler *c, size_t n, uint32_t *ret)
{
    uint32_t v = 0;

    if ((size_t)(c->end - c->p) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char d = c->p[i];

        if (d >= '0' && d <= '9')
            v = v << 4 | (uint32_t)(d - '0');
        else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
            v = v << 4 | (uint32_t)((d | 0x20) - 'a' + 10);
        else
            return false;
    }
    c->p += n;
    *ret = v;
    return true;
}

/* After \u: four digits, a pair of such escapes, or {digits}. */
static uint32_t unicode_escape(struct compiler *c)
{
    uint32_t cp = 0, low;

    if (c->p < c->end && *c->p == '{') {
        const char *close = memchr(c->p, '}', (size_t)(c->end - c->p));
        size_t n = close ? (size_t)(close - c->p - 1) : 0;

        c->p++;
        if (n < 1 || n > 6 || !hex_digits(c, n, &cp) || cp > 0x10FFFF)
            fail(c, "\\u{...} needs the number of a character");
        else
            c->p++;
        return cp;
    }
    if (!hex_digits(c, 4, &cp)) {
        fail(c, "\\u needs four hexadecimal digits");
        return 0;
    }
    if (cp >= 0xD800 && cp <= 0xDBFF && c->end - c->p >= 6 && c->p[0] == '\\' && c->p[1] == 'u') {
        c->p += 2;
        if (hex_digits(c, 4, &low) && low >= 0xDC00 && low <= 0xDFFF)
            return 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        fail(c, "a pair of \\u escapes is broken");
    }
    return cp;
}

/* A letter behind a backslash that stands for one character. */
static uint32_t letter_escape(struct compiler *c, char letter)
{
    uint32_t cp = 0;

    switch (letter) {
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'v':
        return '\v';
    case 'f':
        return '\f';
    case 'r':
        return '\r';
    case '0':
        if (c->p < c->end && *c->p >= '0' && *c->p <= '9')
            fail(c, "octal escapes are not part of patterns");
        return 0;
    case 'c':
        if (c->p < c->end && ((*c->p | 0x20) >= 'a' && (*c->p | 0x20) <= 'z'))
            return (uint32_t)(*c->p++ & 0x1F);
        fail(c, "\\c needs a letter");
        return 0;
    case 'x':
        if (!hex_digits(c, 2, &cp))
            fail(c, "\\x needs two hexadecimal digits");
        return cp;
    case 'u':
        return unicode_escape(c);
    case 'p':
    case 'P':
        fail(c, "classes of Unicode properties (\\p) are not part of patterns");
        return 0;
    default:
        fail(c, letter >= '1' && letter <= '9' ? "backreferences are not part of patterns"
                                               : "a backslash before a character that needs none");
        return 0;
    }
}

/* The character behind a backslash; classes (\d ...) were handled before. */
static uint32_t escaped_char(struct compiler *c, bool in_class)
{
    char letter;

    if (c->p == c->end) {
        fail(c, "the pattern ends with a backslash");
        return 0;
    }
    letter = *c->p++;
    if (letter && strchr("^$\\.*+?()[]{}|/", letter))
        return (uint32_t)letter;
    if (in_class && letter == '-')
        return '-';
    if (in_class && letter == 'b')
        return '\b';
    return letter_escape(c, letter);
}

static uint32_t plain_char(struct compiler *c)
{
    uint32_t cp = 0;
    size_t step = utf8_step(c->p, (size_t)(c->end - c->p), &cp);

    if (!step)
        fail(c, "the pattern is not UTF-8");
    else
        c->p += step;
    return cp;
}

/* One member of a class: a named set (returns false) or a character. */
static bool class_char(struct compiler *c, struct ranges *set, uint32_t *ret_cp)
{
    if (*c->p != '\\') {
        *ret_cp = plain_char(c);
        return true;
    }
    c->p++;
    if (c->p < c->end && add_named(c, set, *c->p)) {
        c->p++;
        return false;
    }
    *ret_cp = escaped_char(c, true);
    return true;
}

/* Behind '['. */
static void parse_class(struct compiler *c)
{
    struct ranges set = {.n = 0};
    bool negate = c->p < c->end && *c->p == '^';

    if (negate)
        c->p++;
    while (c->p < c->end && *c->p != ']') {
        uint32_t low = 0, high = 0;

        if (!class_char(c, &set, &low))
            continue;
        high = low;
        if (c->end - c->p >= 2 && c->p[0] == '-' && c->p[1] != ']') {
            c->p++;
            if (!class_char(c, &set, &high))
                fail(c, "a range in a class needs a character at both ends");
            else if (high < low)
                fail(c, "a range in a class runs backwards");
        }
        add_range(c, &set, low, high);
    }
    if (c->p == c->end) {
        fail(c, "a [ has no ]");
        return;
    }
    c->p++;
    settle(c, &set, negate);
    emit_ranges(c, set.list, set.n);
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

/* Behind '('. */
static void parse_group(struct compiler *c)
{
    if (c->p < c->end && *c->p == '?') {
        size_t left = (size_t)(c->end - c->p);

        if (left >= 2 && c->p[1] == ':') {
            c->p += 2;
        } else if (left >= 3 && c->p[1] == '<' && c->p[2] != '=' && c->p[2] != '!') {
            const char *close = memchr(c->p, '>', left);

            if (!close) {
                fail(c, "the name of a group has no >");
                return;
            }
            c->p = close + 1;
        } else {
            fail(c, "look-ahead and look-behind are not part of patterns");
            return;
        }
    }
    if (++c->depth > GROUPS_DEEP) {
        fail(c, "groups are nested too deep");
        return;
    }
    parse_choice(c);
    c->depth--;
    if (c->p == c->end || *c->p != ')')
        fail(c, "a ( has no )");
    else
        c->p++;
}

static void parse_escape(struct compiler *c)
{
    struct ranges set = {.n = 0};

    if (c->p < c->end && add_named(c, &set, *c->p)) {
        c->p++;
        settle(c, &set, false);
        emit_ranges(c, set.list, set.n);
        return;
    }
    emit_char(c, escaped_char(c, false));
}

/* ^ $ \b \B: true when there was one. */
static bool parse_assertion(struct compiler *c)
{
    if (*c->p == '^' || *c->p == '$') {
        emit(c, *c->p == '^' ? OP_START : OP_END);
        c->p++;
        return true;
    }
    if (*c->p == '\\' && c->end - c->p >= 2 && (c->p[1] == 'b' || c->p[1] == 'B')) {
        emit(c, c->p[1] == 'b' ? OP_WORD_EDGE : OP_NO_WORD_EDGE);
        c->p += 2;
        return true;
    }
    return false;
}

static void parse_atom(struct compiler *c)
{
    struct ranges set = {.n = COUNT(LINE_ENDS)};

    switch (*c->p) {
    case '(':
        c->p++;
        parse_group(c);
        break;
    case '[':
        c->p++;
        parse_class(c);
        break;
    case '\\':
        c->p++;
        parse_escape(c);
        break;
    case '.':
        c->p++;
        memcpy(set.list, LINE_ENDS, sizeof(LINE_ENDS));
        settle(c, &set, true);
        emit_ranges(c, set.list, set.n);
        break;
    case '*':
    case '+':
    case '?':
        fail(c, "there is nothing to repeat before *, + or ?");
        break;
    case '{':
    case '}':
    case ']':
        fail(c, "{, } and ] need a backslash before them");
        break;
    default:
        emit_char(c, plain_char(c));
    }
}

static bool read_count(struct compiler *c, unsigned *ret)
{
    const char *from = c->p;
    unsigned v = 0;

    while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
        v = v * 10 + (unsigned)(*c->p++ - '0');
        if (v > COUNT_MAX)
            v = COUNT_MAX + 1;
    }
    *ret = v;
    return c->p > from;
}

/* *, +, ?, {n}, {n,}, {n,m} and the lazy forms, which match the same texts. False: none. high UINT_MAX: no end. */
static bool parse_quantifier(struct compiler *c, unsigned *ret_low, unsigned *ret_high)
{
    if (c->p == c->end || !*c->p || !strchr("*+?{", *c->p))
        return false;
    *ret_low = *c->p == '+';
    *ret_high = *c->p == '?' ? 1 : UINT32_MAX;
    if (*c->p++ == '{') {
        bool ok = read_count(c, ret_low);

        *ret_high = *ret_low;
        if (ok && c->p < c->end && *c->p == ',') {
            c->p++;
            if (!read_count(c, ret_high))
                *ret_high = UINT32_MAX;
        }
        if (!ok || c->p == c->end || *c->p++ != '}')
            fail(c, "a count is written {n}, {n,} or {n,m}");
        else if (*ret_low > COUNT_MAX || (*ret_high > COUNT_MAX && *ret_high != UINT32_MAX))
            fail(c, "a count is larger than 2000");
        else if (*ret_high < *ret_low)
            fail(c, "the counts of {n,m} run backwards");
    }
    if (c->p < c->end && *c->p == '?')
        c->p++;
    return true;
}

static void emit_copy(struct compiler *c, const struct instruction *part, size_t n)
{
    for (size_t i = 0; i < n && !c->error; i++)
        *emit(c, part[i].op) = part[i];
}

static void emit_split(struct compiler *c, int to, int or_to)
{
    struct instruction *i = emit(c, OP_SPLIT);

    i->to = to;
    i->or_to = or_to;
}

/* The part since `from` low to high times. */
static void repeat(struct compiler *c, size_t from, unsigned low, unsigned high)
{
    size_t n = c->size - from;
    struct instruction *part;

    if (c->error || !n)
        return;
    part = ARENA_ARRAY(c->arena, struct instruction, n);
    memcpy(part, &c->program[from], n * sizeof(*part));
    c->size = from;
    for (unsigned i = 0; i < low && !c->error; i++)
        emit_copy(c, part, n);
    if (high == UINT32_MAX && low) {
        emit_split(c, -(int)n, 1);
    } else if (high == UINT32_MAX) {
        emit_split(c, 1, (int)n + 2);
        emit_copy(c, part, n);
        emit(c, OP_JUMP)->to = -(int)n - 1;
    } else {
        for (unsigned left = high - low; left && !c->error; left--) {
            emit_split(c, 1, (int)(left * (n + 1)));
            emit_copy(c, part, n);
        }
    }
}

static void parse_sequence(struct compiler *c)
{
    while (c->p < c->end && *c->p != '|' && *c->p != ')') {
        size_t from = c->size;
        unsigned low, high;

        if (parse_assertion(c))
            continue;
        parse_atom(c);
        if (parse_quantifier(c, &low, &high))
            repeat(c, from, low, high);
    }
}

/* a|b|c becomes: split, a, jump, split, b, jump, c. Each jump but the last leads to the next jump. */
static void parse_choice(struct compiler *c)
{
    size_t from = c->size, last = SIZE_MAX;

    parse_sequence(c);
    while (c->p < c->end && *c->p == '|') {
        c->p++;
        insert_split(c, from, 1, (int)(c->size - from) + 2);
        if (c->error)
            return;
        if (last != SIZE_MAX)
            c->program[last].to = (int)(c->size - last);
        last = c->size;
        emit(c, OP_JUMP);
        from = c->size;
        parse_sequence(c);
    }
    if (last != SIZE_MAX && !c->error)
        c->program[last].to = (int)(c->size - last);
}

const struct pattern *pattern_compile(struct arena *a, wharf_str source, const char **ret_error)
{
    struct compiler c = {.arena = a, .p = source.p, .end = source.p + source.n};
    struct pattern *p = ARENA_NEW(a, struct pattern);
    struct instruction *program;

    parse_choice(&c);
    if (c.p < c.end)
        fail(&c, "a ) has no (");
    emit(&c, OP_MATCH);
    if (c.error) {
        *ret_error = c.error;
        return NULL;
    }
    program = ARENA_ARRAY(a, struct instruction, c.size);
    memcpy(program, c.program, c.size * sizeof(*program));
    p->program = program;
    p->size = c.size;
    p->anchored = program[0].op == OP_START;
    return p;
}
