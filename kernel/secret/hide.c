/* hide.c - see hide.h. */
#include "secret/hide.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "util/buf.h"
#include "util/str.h"

enum {
    HIDDEN_MIN = 6, /* bytes of a secret that is hidden */
    OFFSETS = 3
};

/* A character of base64 that holds some bits of the secret and some of what stands beside it.
 * mask 0: there is none. */
struct edge {
    int mask, bits;
};

/* The secret in base64 behind some bytes. The characters of core are the secret's alone. */
struct encoded {
    struct edge before, after;
    wharf_str core;
    size_t padding; /* so many '=' stand behind it when it is the end of what was encoded */
};

struct hide_one {
    wharf_str name, value, hex;
    struct encoded base64[OFFSETS]; /* behind 0, 1 and 2 bytes, modulo 3 */
};

struct hide_list {
    size_t n;
    struct hide_one items[];
};

/* Returns the number that a character of base64 stands for, in either alphabet; -1: it is none. */
static int base64_number(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

/* Computes what of its base64 stands there whatever comes before it ("user:") and behind it;
 * before: so many bytes, modulo 3. */
static struct encoded in_base64(struct arena *a, wharf_str s, size_t before)
{
    size_t n = before + s.n,
           room = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    size_t first = before ? before + 1 : 0, whole = n * 8 / 6, rest = n * 8 % 6;
    unsigned char *padded = arena_alloc(a, n + 1);
    char *text = arena_alloc(a, room);
    struct encoded e = {.padding = (3 - n % 3) % 3};

    memset(padded, 0, before);
    memcpy(padded + before, s.p, s.n);
    sodium_bin2base64(text, room, padded, n, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    e.core = (wharf_str){text + first, whole - first};
    if (before)
        e.before = (struct edge){before == 1 ? 0x0F : 0x03, base64_number(text[first - 1])};
    if (rest)
        e.after = (struct edge){rest == 2 ? 0x30 : 0x3C, base64_number(text[whole])};
    return e;
}

static void make_forms(struct arena *a, struct hide_one *s)
{
    size_t room = 2 * s->value.n + 1;

    for (size_t i = 0; i < OFFSETS; i++)
        s->base64[i] = in_base64(a, s->value, i);
    s->hex = str_z(
        sodium_bin2hex(arena_alloc(a, room), room, (const unsigned char *)s->value.p, s->value.n));
}

const struct hide_list *hide_prepare(
    struct arena *a, const wharf_str *names, const wharf_str *values, size_t n)
{
    struct hide_list *list = arena_alloc(a, sizeof(*list) + n * sizeof(list->items[0]));

    list->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct hide_one one = {.name = names[i], .value = values[i]};
        size_t at = list->n;

        if (one.value.n <
            HIDDEN_MIN) /* it would be found in texts that have nothing to do with it */
            continue;
        make_forms(a, &one);
        for (list->n++; at && list->items[at - 1].value.n < one.value.n;
             at--) /* the longest first: one may hold another */
            list->items[at] = list->items[at - 1];
        list->items[at] = one;
    }
    return list;
}

static int hide_hex_digit(char c)
{
    const char *digits = "0123456789abcdef",
               *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Returns the number that n hex digits at p are; -1 when they are none. */
static int hex_number(const char *p, size_t left, size_t n)
{
    int number = 0;

    for (size_t i = 0; i < n; i++) {
        int digit = i < left ? hide_hex_digit(p[i]) : -1;

        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}

/* Writes the bytes of a code point of the basic plane. Returns how many. */
static size_t utf8_of(int cp, char out[3])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    out[0] = (char)(0xE0 | cp >> 12);
    out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[2] = (char)(0x80 | (cp & 0x3F));
    return 3;
}

/* Reads what one character of a text stands for: itself, or, escaped, %XX, \uXXXX, \n. Returns how
 * much of the text it takes. */
static size_t one_character(const char *p, size_t left, bool escaped, char out[3], size_t *ret_n)
{
    static const char letters[] = "nrtbf/\"\\", meant[] = "\n\r\t\b\f/\"\\";
    const char *at;
    size_t bars = 0;
    int number;

    out[0] = *p;
    *ret_n = 1;
    if (!escaped || left < 2)
        return 1;
    if (*p == '%' && (number = hex_number(p + 1, left - 1, 2)) >= 0) {
        out[0] = (char)number;
        return 3;
    }
    while (
        bars < left && p[bars] == '\\') /* escaped once more with each text that it was put into */
        bars++;
    if (bars && bars < left && p[bars] == 'u' &&
        (number = hex_number(p + bars + 1, left - bars - 1, 4)) >= 0) {
        *ret_n = utf8_of(number, out);
        return bars + 5;
    }
    at = *p == '\\' && p[1] ? strchr(letters, p[1]) : NULL;
    if (!at)
        return 1;
    out[0] = meant[at - letters];
    return 2;
}

/* Tells whether the value stands at p, in letters of any case and each character as it is or
 * escaped. Returns how much of the text it is; 0 when it does not. cut: the text went on; its end
 * counts when it is the beginning of the value. */
static size_t stands_at(wharf_str value, const char *p, size_t left, bool cut)
{
    size_t i = 0, k = 0;

    while (i < value.n && k < left) {
        char bytes[3];
        size_t n, took = one_character(p + k, left - k, false, bytes, &n);

        if (strncasecmp(value.p + i, bytes, 1) != 0) {
            took = one_character(p + k, left - k, true, bytes, &n);
            if (n > value.n - i || strncasecmp(value.p + i, bytes, n) != 0)
                return 0;
        }
        i += n;
        k += took;
    }
    return i == value.n || cut ? k : 0;
}

/* Reads one character of base64 at p, as it is or escaped ("\\/", "%2B"). Returns its number, -1
 * when there is none. */
static int base64_at(const char *p, size_t left, size_t *ret_took)
{
    char bytes[3];
    size_t n;
    int number;

    if (!left)
        return -1;
    *ret_took = one_character(p, left, false, bytes, &n);
    number = base64_number(*p);
    if (number >= 0 || (*p != '\\' && *p != '%'))
        return number;
    *ret_took = one_character(p, left, true, bytes, &n);
    return n == 1 ? base64_number(bytes[0]) : -1;
}

/* Returns how much of the text the edge takes, 0 when what stands at p is not it. */
static size_t edge_at(struct edge e, const char *p, size_t left)
{
    size_t took;
    int number = e.mask ? base64_at(p, left, &took) : -1;

    return number >= 0 && (number & e.mask) == e.bits ? took : 0;
}

/* Returns how much of the text the '=' behind the end of base64 take, escaped ("%3D") or not. */
static size_t padding_at(size_t padding, const char *p, size_t left)
{
    size_t k = 0;

    for (size_t i = 0; i < padding; i++) {
        char bytes[3];
        size_t n, took = k < left ? one_character(p + k, left - k, true, bytes, &n) : 0;

        if (!took || bytes[0] != '=')
            return 0;
        k += took;
    }
    return k;
}

/* Finds the value in base64 at p, with the characters that it shares with its neighbours.
 * Returns as stands_at() does. A text may begin or end with its core. */
static size_t encoded_at(const struct encoded *e, const char *p, size_t left, bool cut)
{
    size_t k = edge_at(e->before, p, left), took;

    for (size_t i = 0; i < e->core.n; i++) {
        if (k >= left)
            return cut ? k : 0;
        if (base64_at(p + k, left - k, &took) != base64_number(e->core.p[i]))
            return 0;
        k += took;
    }
    took = edge_at(e->after, p + k, left - k);
    return k + took +
           (took || !e->after.mask ? padding_at(e->padding, p + k + took, left - k - took) : 0);
}

/* Finds the value in hex at p. Returns as stands_at() does. */
static size_t hex_at(wharf_str hex, const char *p, size_t left, bool cut)
{
    size_t n = cut && hex.n > left ? left : hex.n;

    return n <= left && strncasecmp(p, hex.p, n) == 0 ? n : 0;
}

/* Returns what stands at p, or NULL. cut: the text went on, and what stands at its end may be
 * the beginning of a secret. */
static const struct hide_one *hide_found_at(
    const struct hide_list *list, const char *p, size_t left, bool cut, size_t *ret_n)
{
    for (const struct hide_one *s = list->items; s < list->items + list->n; s++) {
        *ret_n = stands_at(s->value, p, left, cut);
        for (size_t i = 0; !*ret_n && i < OFFSETS; i++)
            *ret_n = encoded_at(&s->base64[i], p, left, cut);
        if (!*ret_n)
            *ret_n = hex_at(s->hex, p, left, cut);
        if (*ret_n)
            return s;
    }
    return NULL;
}

/* Hides the secrets. Of a beginning that is too short to be told from other text nothing is said:
 * the text is cut there. */
wharf_str hide_text(struct arena *a, const struct hide_list *list, wharf_str text, bool cut)
{
    size_t done = 0, k = 0;
    bool found = false;
    struct buf out;

    if (!list || !list->n)
        return text;
    buf_init(&out, SIZE_MAX / 4);
    for (size_t i = 0; i < text.n; i += k) {
        const struct hide_one *s = hide_found_at(list, text.p + i, text.n - i, cut, &k);

        if (!s) {
            k = 1;
            continue;
        }
        found = true;
        buf_add(&out, text.p + done, i - done);
        done = i + k;
        if (k < HIDDEN_MIN) {
            done = text.n;
            break;
        }
        buf_addf(&out, "[secret:%.*s]", STR_ARG(s->name));
    }
    if (found) {
        buf_add(&out, text.p + done, text.n - done);
        text = arena_dup_str(a, buf_str(&out));
    }
    buf_done(&out);
    return text;
}
