/* hide.c - see hide.h. */
#include "secret/hide.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "util/buf.h"
#include "util/str.h"

enum { HIDDEN_MIN = 6, FORMS = 7 };

struct hide_one {
    wharf_str name, value;
    wharf_str forms[FORMS]; /* as it stands beside itself: base64 and its URL form behind 0, 1 and 2 bytes, and hex */
};

struct hide_list {
    size_t n;
    struct hide_one items[];
};

/* Returns the characters of its base64 that stand there whatever comes before it ("user:") and
 * behind it; before: so many bytes, modulo 3. */
static wharf_str in_base64(struct arena *a, wharf_str s, size_t before, int variant)
{
    size_t n = before + s.n, room = sodium_base64_encoded_len(n, variant), first = before ? before + 1 : 0;
    unsigned char *padded = arena_alloc(a, n + 1);
    char *text = arena_alloc(a, room);

    memset(padded, 0, before);
    memcpy(padded + before, s.p, s.n);
    sodium_bin2base64(text, room, padded, n, variant);
    return (wharf_str){text + first, n * 8 / 6 - first};
}

static void make_forms(struct arena *a, struct hide_one *s)
{
    size_t room = 2 * s->value.n + 1;

    for (size_t i = 0; i < 3; i++) {
        s->forms[2 * i] = in_base64(a, s->value, i, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
        s->forms[2 * i + 1] = in_base64(a, s->value, i, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    }
    s->forms[FORMS - 1] = str_z(
        sodium_bin2hex(arena_alloc(a, room), room, (const unsigned char *)s->value.p, s->value.n));
}

const struct hide_list *hide_prepare(struct arena *a, const wharf_str *names, const wharf_str *values, size_t n)
{
    struct hide_list *list = arena_alloc(a, sizeof(*list) + n * sizeof(list->items[0]));

    list->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct hide_one one = {.name = names[i], .value = values[i]};
        size_t at = list->n;

        if (one.value.n < HIDDEN_MIN) /* it would be found in texts that have nothing to do with it */
            continue;
        make_forms(a, &one);
        for (list->n++; at && list->items[at - 1].value.n < one.value.n;
             at--) /* the longest first: one may hold another */
            list->items[at] = list->items[at - 1];
        list->items[at] = one;
    }
    return list;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Returns the number that n hex digits at p are; -1 when they are none. */
static int hex_number(const char *p, size_t left, size_t n)
{
    int number = 0;

    for (size_t i = 0; i < n; i++) {
        int digit = i < left ? hex_digit(p[i]) : -1;

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
    while (bars < left && p[bars] == '\\') /* escaped once more with each text that it was put into */
        bars++;
    if (bars && bars < left && p[bars] == 'u' && (number = hex_number(p + bars + 1, left - bars - 1, 4)) >= 0) {
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

/* Finds the secret that stands at p. Returns NULL when there is none. cut: the text went on, and
 * what stands at its end may be the beginning of a secret. */
static const struct hide_one *found_at(
    const struct hide_list *list, const char *p, size_t left, bool cut, size_t *ret_n)
{
    for (const struct hide_one *s = list->items; s < list->items + list->n; s++) {
        *ret_n = stands_at(s->value, p, left, cut);
        if (*ret_n)
            return s;
        for (size_t f = 0; f < FORMS; f++) {
            bool hex = f == FORMS - 1;
            wharf_str form = s->forms[f];
            size_t n = cut && form.n > left ? left : form.n;

            if (n > left || (hex ? strncasecmp(p, form.p, n) : memcmp(p, form.p, n)) != 0)
                continue;
            *ret_n = n;
            return s;
        }
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
        const struct hide_one *s = found_at(list, text.p + i, text.n - i, cut, &k);

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
