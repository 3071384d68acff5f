/* pattern.c - compiles regular expressions, see schema.h. Leaves to others: matching (program.c).
 *
 * The syntax is that of ECMAScript with the u flag, without what needs memory of the past
 * (backreferences, look-around, \p classes). The source becomes a small program (Thompson's
 * construction); matching runs all its threads side by side, a code point at a time, so the time
 * is at most program size times text length. Jumps are relative: a repeated part is copied as it
 * stands. */
#include "schema/program.h"
#include "util/str.h"

enum {
    GROUPS_DEEP = 60,
    COUNT_MAX = 2000 /* of a repeat in a pattern */
};

struct compiler {
    struct arena *arena; /* of the pattern */
    struct arena *scratch; /* of the program while it grows; ends with the compilation */
    struct source s;
    struct instruction *program;
    size_t size, cap;
    struct instruction spare; /* takes what is written after an error */
    unsigned depth;
};

static void parse_choice(struct compiler *c);

/* ---- code ---- */

static struct instruction *pattern_emit(struct compiler *c, enum op op)
{
    struct instruction *i;

    if (c->size == PROGRAM_MAX)
        source_fail(&c->s, "the pattern is too large: its counts multiply to more than 4000 steps");
    if (c->s.error)
        return &c->spare;
    if (c->size == c->cap) {
        struct instruction *grown = ARENA_ARRAY(
            c->scratch, struct instruction, c->cap ? c->cap * 2 : 32);

        if (c->size)
            memcpy(grown, c->program, c->size * sizeof(*grown));
        c->program = grown;
        c->cap = c->cap ? c->cap * 2 : 32;
    }
    i = &c->program[c->size++];
    *i = (struct instruction){.op = op};
    return i;
}

/* Puts a split before the fragment that begins at `at`; the fragment moves, and stays whole
 * because jumps are relative. */
static void insert_split(struct compiler *c, size_t at, int to, int or_to)
{
    pattern_emit(c, OP_SPLIT);
    if (c->s.error)
        return;
    memmove(&c->program[at + 1], &c->program[at], (c->size - 1 - at) * sizeof(*c->program));
    c->program[at] = (struct instruction){.op = OP_SPLIT, .to = to, .or_to = or_to};
}

static void emit_ranges(struct compiler *c, const struct range *list, size_t n)
{
    struct range *copy = ARENA_ARRAY(c->arena, struct range, n ? n : 1);
    struct instruction *i = pattern_emit(c, OP_RANGES);

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

/* ---- structure ---- */

/* Parses what stands behind '('. */
static void parse_group(struct compiler *c)
{
    if (c->s.p < c->s.end && *c->s.p == '?') {
        size_t left = (size_t)(c->s.end - c->s.p);

        if (left >= 2 && c->s.p[1] == ':') {
            c->s.p += 2;
        } else if (left >= 3 && c->s.p[1] == '<' && c->s.p[2] != '=' && c->s.p[2] != '!') {
            const char *close = memchr(c->s.p, '>', left);

            if (!close) {
                source_fail(&c->s, "the name of a group has no >");
                return;
            }
            c->s.p = close + 1;
        } else {
            source_fail(&c->s, "look-ahead and look-behind are not part of patterns");
            return;
        }
    }
    if (++c->depth > GROUPS_DEEP) {
        source_fail(&c->s, "groups are nested too deep");
        return;
    }
    parse_choice(c);
    c->depth--;
    if (c->s.p == c->s.end || *c->s.p != ')')
        source_fail(&c->s, "a ( has no )");
    else
        c->s.p++;
}

static void parse_escape(struct compiler *c)
{
    struct ranges set = {.n = 0};

    if (c->s.p < c->s.end && ranges_named(&c->s, &set, *c->s.p)) {
        c->s.p++;
        ranges_settle(&c->s, &set, false);
        emit_ranges(c, set.list, set.n);
        return;
    }
    emit_char(c, source_escape(&c->s, false));
}

/* Parses ^ $ \b \B. Returns true when there was one. */
static bool parse_assertion(struct compiler *c)
{
    if (*c->s.p == '^' || *c->s.p == '$') {
        pattern_emit(c, *c->s.p == '^' ? OP_START : OP_END);
        c->s.p++;
        return true;
    }
    if (*c->s.p == '\\' && c->s.end - c->s.p >= 2 && (c->s.p[1] == 'b' || c->s.p[1] == 'B')) {
        pattern_emit(c, c->s.p[1] == 'b' ? OP_WORD_EDGE : OP_NO_WORD_EDGE);
        c->s.p += 2;
        return true;
    }
    return false;
}

static void parse_atom(struct compiler *c)
{
    struct ranges set = {.n = 0};

    switch (*c->s.p) {
    case '(':
        c->s.p++;
        parse_group(c);
        break;
    case '[':
        c->s.p++;
        ranges_class(&c->s, &set);
        emit_ranges(c, set.list, set.n);
        break;
    case '\\':
        c->s.p++;
        parse_escape(c);
        break;
    case '.':
        c->s.p++;
        ranges_dot(&c->s, &set);
        emit_ranges(c, set.list, set.n);
        break;
    case '*':
    case '+':
    case '?':
        source_fail(&c->s, "there is nothing to repeat before *, + or ?");
        break;
    case '{':
    case '}':
    case ']':
        source_fail(&c->s, "{, } and ] need a backslash before them");
        break;
    default:
        emit_char(c, source_char(&c->s));
    }
}

static bool read_count(struct compiler *c, unsigned *ret)
{
    const char *from = c->s.p;
    unsigned v = 0;

    while (c->s.p < c->s.end && *c->s.p >= '0' && *c->s.p <= '9') {
        v = v * 10 + (unsigned)(*c->s.p++ - '0');
        if (v > COUNT_MAX)
            v = COUNT_MAX + 1;
    }
    *ret = v;
    return c->s.p > from;
}

/* Parses *, +, ?, {n}, {n,}, {n,m} and the lazy forms, which match the same texts. Returns false
 * when there is none. high UINT_MAX: no end. */
static bool parse_quantifier(struct compiler *c, unsigned *ret_low, unsigned *ret_high)
{
    if (c->s.p == c->s.end || !*c->s.p || !strchr("*+?{", *c->s.p))
        return false;
    *ret_low = *c->s.p == '+';
    *ret_high = *c->s.p == '?' ? 1 : UINT32_MAX;
    if (*c->s.p++ == '{') {
        bool ok = read_count(c, ret_low);

        *ret_high = *ret_low;
        if (ok && c->s.p < c->s.end && *c->s.p == ',') {
            c->s.p++;
            if (!read_count(c, ret_high))
                *ret_high = UINT32_MAX;
        }
        if (!ok || c->s.p == c->s.end || *c->s.p++ != '}')
            source_fail(&c->s, "a count is written {n}, {n,} or {n,m}");
        else if (*ret_low > COUNT_MAX || (*ret_high > COUNT_MAX && *ret_high != UINT32_MAX))
            source_fail(&c->s, "a count is larger than 2000");
        else if (*ret_high < *ret_low)
            source_fail(&c->s, "the counts of {n,m} run backwards");
    }
    if (c->s.p < c->s.end && *c->s.p == '?')
        c->s.p++;
    return true;
}

static void emit_copy(struct compiler *c, const struct instruction *part, size_t n)
{
    for (size_t i = 0; i < n && !c->s.error; i++)
        *pattern_emit(c, part[i].op) = part[i];
}

static void emit_split(struct compiler *c, int to, int or_to)
{
    struct instruction *i = pattern_emit(c, OP_SPLIT);

    i->to = to;
    i->or_to = or_to;
}

/* Repeats the part since `from` low to high times. */
static void repeat(struct compiler *c, size_t from, unsigned low, unsigned high)
{
    size_t n = c->size - from;
    struct instruction *part;

    if (c->s.error || !n)
        return;
    part = ARENA_ARRAY(c->arena, struct instruction, n);
    memcpy(part, &c->program[from], n * sizeof(*part));
    c->size = from;
    for (unsigned i = 0; i < low && !c->s.error; i++)
        emit_copy(c, part, n);
    if (high == UINT32_MAX && low) {
        emit_split(c, -(int)n, 1);
    } else if (high == UINT32_MAX) {
        emit_split(c, 1, (int)n + 2);
        emit_copy(c, part, n);
        pattern_emit(c, OP_JUMP)->to = -(int)n - 1;
    } else {
        for (unsigned left = high - low; left && !c->s.error; left--) {
            emit_split(c, 1, (int)(left * (n + 1)));
            emit_copy(c, part, n);
        }
    }
}

static void parse_sequence(struct compiler *c)
{
    while (c->s.p < c->s.end && *c->s.p != '|' && *c->s.p != ')') {
        size_t from = c->size;
        unsigned low, high;

        if (parse_assertion(c))
            continue;
        parse_atom(c);
        if (parse_quantifier(c, &low, &high))
            repeat(c, from, low, high);
    }
}

/* Parses a choice: a|b|c becomes: split, a, jump, split, b, jump, c. Each jump but the last leads
 * to the next jump. */
static void parse_choice(struct compiler *c)
{
    size_t from = c->size, last = SIZE_MAX;

    parse_sequence(c);
    while (c->s.p < c->s.end && *c->s.p == '|') {
        c->s.p++;
        insert_split(c, from, 1, (int)(c->size - from) + 2);
        if (c->s.error)
            return;
        if (last != SIZE_MAX)
            c->program[last].to = (int)(c->size - last);
        last = c->size;
        pattern_emit(c, OP_JUMP);
        from = c->size;
        parse_sequence(c);
    }
    if (last != SIZE_MAX && !c->s.error)
        c->program[last].to = (int)(c->size - last);
}

/* Returns the program as a pattern in the compiler's arena; NULL when the source is none. */
static const struct pattern *compiled(struct compiler *c)
{
    struct instruction *program;
    struct pattern *p;

    parse_choice(c);
    if (c->s.p < c->s.end)
        source_fail(&c->s, "a ) has no (");
    pattern_emit(c, OP_MATCH);
    if (c->s.error)
        return NULL;
    program = ARENA_ARRAY(c->arena, struct instruction, c->size);
    memcpy(program, c->program, c->size * sizeof(*program));
    p = ARENA_NEW(c->arena, struct pattern);
    *p = (struct pattern){
        .program = program, .size = c->size, .anchored = program[0].op == OP_START};
    return p;
}

const struct pattern *pattern_compile(struct arena *a, wharf_str source, const char **ret_error)
{
    struct compiler c = {
        .arena = a, .scratch = arena_new(0), .s = {source.p, source.p + source.n, NULL}};
    const struct pattern *p = compiled(&c);

    if (!p)
        *ret_error = c.s.error;
    arena_free(c.scratch);
    return p;
}
