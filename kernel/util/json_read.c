/* json_read.c - strict JSON text to a tree, see json.h. Leaves to others: asking the tree
 * (json_value.c), numbers (json_number.c), writing (json_write.c).
 *
 * All decoded strings and number texts share one block: decoding never makes text longer, and
 * each piece is followed in the source by at least one byte (quote or delimiter) whose place its
 * NUL takes. */
#include <math.h>
#include <sodium.h>
#include <stdlib.h>

#include "util/id.h"
#include "util/json.h"
#include "util/str.h"

enum { FEW_KEYS = 12, CHUNK_FIRST = 8, CHUNK_MAX = 256, DIGITS_SAFE = 300, LARGE_TEXT = 1 << 20 };

struct reader {
    struct arena *arena;
    const char *start, *p, *end;
    char *pool; /* where the next decoded text goes */
    struct wharf_json *nodes; /* ready-made values */
    size_t n_nodes, chunk;
    unsigned depth;
    const char *error;
    bool no_memory;
};

static struct wharf_json *read_value(struct reader *r);

static bool json_read_refuse(struct reader *r, const char *message)
{
    if (!r->error)
        r->error = message;
    return false;
}

static struct wharf_json *json_read_fail(struct reader *r, const char *message)
{
    json_read_refuse(r, message);
    return NULL;
}

static struct wharf_json *node_new(struct reader *r, uint32_t type)
{
    struct wharf_json *v;

    if (!r->n_nodes) {
        r->nodes = ARENA_ARRAY(r->arena, struct wharf_json, r->chunk);
        r->n_nodes = r->chunk;
        if (r->chunk < CHUNK_MAX)
            r->chunk *= 2;
        r->no_memory = arena_poisoned(r->arena);
        if (r->no_memory)
            return json_read_fail(r, "too many values");
    }
    v = r->nodes++;
    r->n_nodes--;
    v->type = type;
    v->key = v->text = (wharf_str){"", 0};
    return v;
}

static void json_read_skip_space(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
}

/* ---- strings ---- */

/* Counts the bytes before the first that is a quote, a backslash, a control or not ASCII. Eight at
 * a time: in each word the lowest marked byte is a true hit (a borrow can only mark bytes above
 * one). */
static size_t plain_run(const char *p, size_t n)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t w, quote, slash, marks;

        memcpy(&w, p + i, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        w = __builtin_bswap64(w);
#endif
        quote = w ^ (ones * '"');
        slash = w ^ (ones * '\\');
        marks = (w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & high;
        if (marks)
            return i + (size_t)__builtin_ctzll(marks) / 8;
    }
    for (; i < n; i++) {
        unsigned char c = (unsigned char)p[i];

        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
    }
    return i;
}

static bool read_hex4(struct reader *r, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    if (r->end - r->p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)*r->p++;
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (unsigned)(c | 0x20) - 'a' + 10;
        else
            return false;
        unit = unit << 4 | digit;
    }
    *ret_unit = unit;
    return true;
}

/* Reads what stands after "\u". A pair of surrogates is one character; a lone one is refused. */
static bool read_unicode_escape(struct reader *r, char **to, bool *nul)
{
    uint32_t unit, low;

    if (!read_hex4(r, &unit))
        return json_read_refuse(r, "a \\u escape needs four hexadecimal digits");
    if (unit >= 0xDC00 && unit <= 0xDFFF)
        return json_read_refuse(r, "lone surrogate escape");
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return json_read_refuse(r, "lone surrogate escape");
        r->p += 2;
        if (!read_hex4(r, &low))
            return json_read_refuse(r, "a \\u escape needs four hexadecimal digits");
        if (low < 0xDC00 || low > 0xDFFF)
            return json_read_refuse(r, "lone surrogate escape");
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    if (unit == 0) {
        *nul = true;
        unit = 0xFFFD;
    }
    *to += utf8_put(unit, *to);
    return true;
}

static bool read_escape(struct reader *r, char **to, bool *nul)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *at;

    if (r->p == r->end)
        return json_read_refuse(r, "the text ends inside a string");
    if (*r->p == 'u') {
        r->p++;
        return read_unicode_escape(r, to, nul);
    }
    at = *r->p ? strchr(from, *r->p) : NULL;
    if (!at)
        return json_read_refuse(r, "unknown escape in a string");
    r->p++;
    *(*to)++ = into[at - from];
    return true;
}

/* Copies characters beyond ASCII as long as they follow each other. */
static bool read_wide(struct reader *r, char **to)
{
    while (r->p < r->end && (unsigned char)*r->p >= 0x80) {
        uint32_t cp;
        size_t step = utf8_step(r->p, (size_t)(r->end - r->p), &cp);

        if (!step)
            return json_read_refuse(r, "not UTF-8");
        memcpy(*to, r->p, step);
        *to += step;
        r->p += step;
    }
    return true;
}

/* Reads a string; r->p stands behind the opening quote. */
static bool json_read_string(struct reader *r, wharf_str *ret, bool *ret_nul)
{
    char *to = r->pool, *first = to;

    for (;;) {
        size_t plain = plain_run(r->p, (size_t)(r->end - r->p));
        unsigned char c;

        memcpy(to, r->p, plain);
        to += plain;
        r->p += plain;
        if (r->p == r->end)
            return json_read_refuse(r, "the text ends inside a string");
        c = (unsigned char)*r->p;
        if (c == '"')
            break;
        if (c < 0x20)
            return json_read_refuse(r, "a control character in a string must be escaped");
        if (c >= 0x80) {
            if (!read_wide(r, &to))
                return false;
            continue;
        }
        r->p++;
        if (!read_escape(r, &to, ret_nul))
            return false;
    }
    r->p++;
    *to = 0;
    *ret = (wharf_str){first, (size_t)(to - first)};
    r->pool = to + 1;
    return true;
}

/* ---- numbers ---- */

static size_t skip_digits(struct reader *r)
{
    const char *from = r->p;

    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return (size_t)(r->p - from);
}

/* Tells whether c is the next byte. */
static bool json_read_at(const struct reader *r, char c)
{
    return r->p < r->end && *r->p == c;
}

/* Reads the whole part of a number. Returns how many digits it has, 0 when it is refused. */
static size_t json_read_whole(struct reader *r)
{
    size_t n;

    if (json_read_at(r, '-'))
        r->p++;
    if (json_read_at(r, '0') && r->end - r->p > 1 && r->p[1] >= '0' && r->p[1] <= '9') {
        json_read_refuse(r, "a number with leading zeros");
        return 0;
    }
    n = skip_digits(r);
    if (!n)
        json_read_refuse(r, "a number without digits");
    return n;
}

static struct wharf_json *json_read_number(struct reader *r)
{
    struct wharf_json *v = node_new(r, JSON_NUMBER);
    const char *from = r->p;
    bool exponent;
    size_t whole;

    if (!v)
        return NULL;
    whole = json_read_whole(r);
    if (!whole)
        return NULL;
    if (json_read_at(r, '.')) {
        r->p++;
        if (!skip_digits(r))
            return json_read_fail(r, "a number without digits after its point");
    }
    exponent = json_read_at(r, 'e') || json_read_at(r, 'E');
    if (exponent) {
        r->p++;
        if (json_read_at(r, '+') || json_read_at(r, '-'))
            r->p++;
        if (!skip_digits(r))
            return json_read_fail(r, "a number without digits in its exponent");
    }
    v->text = (wharf_str){r->pool, (size_t)(r->p - from)};
    memcpy(r->pool, from, v->text.n);
    r->pool[v->text.n] = 0;
    r->pool += v->text.n + 1;
    /* strtod is slow; only these can be too large for a double. */
    if ((exponent || whole > DIGITS_SAFE) && isinf(strtod(v->text.p, NULL)))
        return json_read_fail(r, "a number too large");
    return v;
}

/* ---- arrays and objects ---- */

static bool keys_equal(const struct wharf_json *a, const struct wharf_json *b)
{
    return a->key.n == b->key.n && memcmp(a->key.p, b->key.p, a->key.n) == 0;
}

static bool key_taken(const struct wharf_json *first, const struct wharf_json *member)
{
    for (; first; first = first->next)
        if (keys_equal(first, member))
            return true;
    return false;
}

/* Tells whether the keys of an object of many keys differ: open addressing over a keyed hash, so
 * that nobody can make the keys collide. */
static bool keys_unique(struct reader *r, const struct wharf_json *object)
{
    struct arena_mark mark = arena_mark(r->arena);
    unsigned char secret[crypto_shorthash_KEYBYTES];
    const struct wharf_json **slots;
    size_t size = 32;
    bool unique = true;

    while (size < (size_t)object->count * 2)
        size *= 2;
    random_bytes(secret, sizeof(secret));
    slots = ARENA_ARRAY(r->arena, const struct wharf_json *, size);
    for (const struct wharf_json *m = object->child; m && unique; m = m->next) {
        uint64_t hash;
        size_t i;

        crypto_shorthash((unsigned char *)&hash, (const unsigned char *)m->key.p, m->key.n, secret);
        for (i = hash & (size - 1); slots[i] && unique; i = (i + 1) & (size - 1))
            unique = !keys_equal(slots[i], m);
        if (unique)
            slots[i] = m;
    }
    arena_rewind(r->arena, mark);
    return unique;
}

/* Reads "key" and ':'; the value is to be read at r->p. */
static bool json_read_key(struct reader *r, struct wharf_json *ret_key)
{
    json_read_skip_space(r);
    if (r->p == r->end || *r->p != '"')
        return json_read_refuse(r, "a member needs a key in quotes");
    r->p++;
    if (!json_read_string(r, &ret_key->key, &ret_key->key_nul))
        return false;
    json_read_skip_space(r);
    if (r->p == r->end || *r->p != ':')
        return json_read_refuse(r, "a colon is missing after a key");
    r->p++;
    return true;
}

/* Goes to the next item. Returns true when the container goes on, false when it ended or failed
 * (r->error). */
static bool next_item(struct reader *r, char closing)
{
    json_read_skip_space(r);
    if (r->p < r->end && *r->p == ',') {
        r->p++;
        return true;
    }
    if (r->p < r->end && *r->p == closing)
        r->p++;
    else
        json_read_fail(r, closing == ']' ? "a comma or ] is missing in an array"
                                         : "a comma or } is missing in an object");
    return false;
}

static void json_read_members(struct reader *r, struct wharf_json *object)
{
    struct wharf_json **tail = &object->child;

    do {
        struct wharf_json key = {0}, *member;
        const char *from = r->p;

        if (!json_read_key(r, &key))
            return;
        if (object->count < FEW_KEYS && key_taken(object->child, &key)) {
            r->p = from;
            json_read_fail(r, "duplicate key");
            return;
        }
        member = read_value(r);
        if (!member)
            return;
        member->key = key.key;
        member->key_nul = key.key_nul;
        *tail = member;
        tail = &member->next;
        object->count++;
    } while (next_item(r, '}'));
    if (!r->error && object->count > FEW_KEYS && !keys_unique(r, object))
        json_read_fail(r, "duplicate key");
}

static void json_read_items(struct reader *r, struct wharf_json *array)
{
    struct wharf_json **tail = &array->child;

    do {
        struct wharf_json *item = read_value(r);

        if (!item)
            return;
        *tail = item;
        tail = &item->next;
        array->count++;
    } while (next_item(r, ']'));
}

static struct wharf_json *read_container(struct reader *r, uint32_t type)
{
    struct wharf_json *v = node_new(r, type);

    if (!v)
        return NULL;
    if (r->depth == JSON_DEPTH_MAX)
        return json_read_fail(r, "nested deeper than 64 levels");
    r->depth++;
    r->p++;
    json_read_skip_space(r);
    if (r->p < r->end && *r->p == (type == JSON_OBJECT ? '}' : ']'))
        r->p++;
    else if (type == JSON_OBJECT)
        json_read_members(r, v);
    else
        json_read_items(r, v);
    r->depth--;
    return r->error ? NULL : v;
}

static struct wharf_json *json_read_word(struct reader *r, const char *word, uint32_t type)
{
    size_t n = strlen(word);
    struct wharf_json *v;

    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return json_read_fail(r, "a value is not JSON");
    r->p += n;
    v = node_new(r, type);
    if (v)
        v->truth = *word == 't';
    return v;
}

static struct wharf_json *read_value(struct reader *r)
{
    struct wharf_json *v;

    json_read_skip_space(r);
    if (r->p == r->end)
        return json_read_fail(r, "the text ends too early");
    switch (*r->p) {
    case '{':
        return read_container(r, JSON_OBJECT);
    case '[':
        return read_container(r, JSON_ARRAY);
    case '"':
        r->p++;
        v = node_new(r, JSON_STRING);
        return v && json_read_string(r, &v->text, &v->has_nul) ? v : NULL;
    case 't':
        return json_read_word(r, "true", JSON_BOOL);
    case 'f':
        return json_read_word(r, "false", JSON_BOOL);
    case 'n':
        return json_read_word(r, "null", JSON_NULL);
    case '-':
    case '0' ... '9':
        return json_read_number(r);
    default:
        return json_read_fail(r, "a value is not JSON");
    }
}

const struct wharf_json *json_parse(struct arena *a, wharf_str text, struct json_error *ret_error)
{
    /* A short text gets no more than it has room for: most texts that are read again and again
     * are {} or []. */
    size_t few = text.n / 2 + 1;
    struct reader r = {.arena = a,
        .start = text.p,
        .p = text.p,
        .end = text.p + text.n,
        .chunk = few < CHUNK_FIRST ? few : CHUNK_FIRST};
    struct wharf_json *v;

    if (text.n >= 3 && memcmp(text.p, "\xEF\xBB\xBF", 3) == 0)
        r.p += 3;
    /* The texts of a large body are as bounded as the body: they are no part of what its
     * handling may use. */
    r.pool = text.n > LARGE_TEXT ? arena_alloc_apart(a, text.n + 2) : arena_alloc(a, text.n + 2);
    v = read_value(&r);
    if (v) {
        json_read_skip_space(&r);
        if (r.p != r.end)
            v = json_read_fail(&r, "text after the value");
    }
    if (!v) {
        ret_error->offset = (size_t)(r.p - r.start);
        ret_error->message = r.error;
        ret_error->no_memory = r.no_memory;
    }
    return v;
}
