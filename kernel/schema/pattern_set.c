/* pattern_set.c - the characters and classes of patterns, see program.h. Leaves to others: how
 * they are put together. */
#include "schema/program.h"
#include "util/str.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct range DIGITS[] = {{'0', '9'}};
static const struct range WORDS[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct range SPACES[] = {{9, 13}, {' ', ' '}, {0xA0, 0xA0}, {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
    {0xFEFF, 0xFEFF}};
static const struct range LINE_ENDS[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

void source_fail(struct source *s, const char *message)
{
    if (!s->error)
        s->error = message;
    s->p = s->end;
}

static void add_range(struct source *s, struct ranges *set, uint32_t low, uint32_t high)
{
    if (set->n == RANGES_MAX)
        source_fail(s, "a character class has too many members");
    else
        set->list[set->n++] = (struct range){low, high};
}

/* Sorts and joins; then the complement if wanted. */
void ranges_settle(struct source *s, struct ranges *set, bool negate)
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
        add_range(s, set, next, 0x10FFFF);
}

/* Adds the set of \d \D \w \W \s \S. Returns false when the letter is none of them. */
bool ranges_named(struct source *s, struct ranges *set, char letter)
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
        ranges_settle(s, &other, true);
        for (size_t i = 0; i < other.n; i++)
            add_range(s, set, other.list[i].low, other.list[i].high);
    } else {
        for (size_t i = 0; i < n; i++)
            add_range(s, set, list[i].low, list[i].high);
    }
    return true;
}

static bool hex_digits(struct source *s, size_t n, uint32_t *ret)
{
    uint32_t v = 0;

    if ((size_t)(s->end - s->p) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char d = s->p[i];

        if (d >= '0' && d <= '9')
            v = v << 4 | (uint32_t)(d - '0');
        else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
            v = v << 4 | (uint32_t)((d | 0x20) - 'a' + 10);
        else
            return false;
    }
    s->p += n;
    *ret = v;
    return true;
}

/* Reads what stands after \u: four digits, a pair of such escapes, or {digits}. */
static uint32_t unicode_escape(struct source *s)
{
    uint32_t cp = 0, low;

    if (s->p < s->end && *s->p == '{') {
        const char *close = memchr(s->p, '}', (size_t)(s->end - s->p));
        size_t n = close ? (size_t)(close - s->p - 1) : 0;

        s->p++;
        if (n < 1 || n > 6 || !hex_digits(s, n, &cp) || cp > 0x10FFFF)
            source_fail(s, "\\u{...} needs the number of a character");
        else
            s->p++;
        return cp;
    }
    if (!hex_digits(s, 4, &cp)) {
        source_fail(s, "\\u needs four hexadecimal digits");
        return 0;
    }
    if (cp >= 0xD800 && cp <= 0xDBFF && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
        s->p += 2;
        if (hex_digits(s, 4, &low) && low >= 0xDC00 && low <= 0xDFFF)
            return 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        source_fail(s, "a pair of \\u escapes is broken");
    }
    return cp;
}

/* Reads a letter behind a backslash that stands for one character. */
static uint32_t letter_escape(struct source *s, char letter)
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
        if (s->p < s->end && *s->p >= '0' && *s->p <= '9')
            source_fail(s, "octal escapes are not part of patterns");
        return 0;
    case 'c':
        if (s->p < s->end && ((*s->p | 0x20) >= 'a' && (*s->p | 0x20) <= 'z'))
            return (uint32_t)(*s->p++ & 0x1F);
        source_fail(s, "\\c needs a letter");
        return 0;
    case 'x':
        if (!hex_digits(s, 2, &cp))
            source_fail(s, "\\x needs two hexadecimal digits");
        return cp;
    case 'u':
        return unicode_escape(s);
    case 'p':
    case 'P':
        source_fail(s, "classes of Unicode properties (\\p) are not part of patterns");
        return 0;
    default:
        source_fail(s, letter >= '1' && letter <= '9'
                           ? "backreferences are not part of patterns"
                           : "a backslash before a character that needs none");
        return 0;
    }
}

/* Reads the character behind a backslash; classes (\d ...) were handled before. */
uint32_t source_escape(struct source *s, bool in_class)
{
    char letter;

    if (s->p == s->end) {
        source_fail(s, "the pattern ends with a backslash");
        return 0;
    }
    letter = *s->p++;
    if (letter && strchr("^$\\.*+?()[]{}|/", letter))
        return (uint32_t)letter;
    if (in_class && letter == '-')
        return '-';
    if (in_class && letter == 'b')
        return '\b';
    return letter_escape(s, letter);
}

uint32_t source_char(struct source *s)
{
    uint32_t cp = 0;
    size_t step = utf8_step(s->p, (size_t)(s->end - s->p), &cp);

    if (!step)
        source_fail(s, "the pattern is not UTF-8");
    else
        s->p += step;
    return cp;
}

/* Reads one member of a class: a named set (returns false) or a character. */
static bool class_char(struct source *s, struct ranges *set, uint32_t *ret_cp)
{
    if (*s->p != '\\') {
        *ret_cp = source_char(s);
        return true;
    }
    s->p++;
    if (s->p < s->end && ranges_named(s, set, *s->p)) {
        s->p++;
        return false;
    }
    *ret_cp = source_escape(s, true);
    return true;
}

void ranges_class(struct source *s, struct ranges *set)
{
    bool negate = s->p < s->end && *s->p == '^';

    set->n = 0;
    if (negate)
        s->p++;
    while (s->p < s->end && *s->p != ']') {
        uint32_t low = 0, high = 0;

        if (!class_char(s, set, &low))
            continue;
        high = low;
        if (s->end - s->p >= 2 && s->p[0] == '-' && s->p[1] != ']') {
            s->p++;
            if (!class_char(s, set, &high))
                source_fail(s, "a range in a class needs a character at both ends");
            else if (high < low)
                source_fail(s, "a range in a class runs backwards");
        }
        add_range(s, set, low, high);
    }
    if (s->p == s->end) {
        source_fail(s, "a [ has no ]");
        return;
    }
    s->p++;
    ranges_settle(s, set, negate);
}

void ranges_dot(struct source *s, struct ranges *set)
{
    set->n = COUNT(LINE_ENDS);
    memcpy(set->list, LINE_ENDS, sizeof(LINE_ENDS));
    ranges_settle(s, set, true);
}
