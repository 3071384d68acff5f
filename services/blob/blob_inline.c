/* blob_inline.c - see blob_inline.h. */
#include "blob/blob_inline.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <strings.h>
#include <unistd.h>

#include "blob/blob_digest.h"
#include "util/str.h"

enum { PIECE = 48 * 1024, MD5_BYTES = 16 };
enum { DIGIT_PAD = 64, DIGIT_BLANK = 65, DIGIT_NONE = 66 };

/* ---- base64 ---- */

/* Returns the value of a digit, 0 to 63, or one of DIGIT_. Takes both alphabets. */
static unsigned base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0') + 52;
    if (c == '+' || c == '-')
        return 62;
    if (c == '/' || c == '_')
        return 63;
    return c == '=' ? DIGIT_PAD : c && strchr("\n\r\t ", c) ? DIGIT_BLANK : DIGIT_NONE;
}

static enum inline_end bad_text(const char **ret_fault, const char *why)
{
    *ret_fault = why;
    return INLINE_BAD;
}

static enum inline_end read_base64(
    wharf_str text, inline_take_fn *take, void *arg, const char **ret_fault)
{
    unsigned char out[PIECE];
    size_t n = 0, padding = 0;
    unsigned bits = 0, have = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned d = base64_digit(text.p[i]);

        if (d == DIGIT_BLANK)
            continue;
        padding += d == DIGIT_PAD;
        if (d == DIGIT_NONE || padding > 2 || (padding && d != DIGIT_PAD))
            return bad_text(ret_fault, "it is neither a data URI nor base64");
        if (d == DIGIT_PAD)
            continue;
        bits = bits << 6 | d;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (unsigned char)(bits >> have);
        }
        if (n == PIECE) {
            if (!take(arg, out, n))
                return INLINE_STOPPED;
            n = 0;
        }
    }
    if (have >= 6)
        return bad_text(ret_fault, "its base64 is cut off");
    return !n || take(arg, out, n) ? INLINE_DONE : INLINE_STOPPED;
}

/* ---- data URIs ---- */

static int blob_inline_hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads the text of a data URI that is no base64. A '%' without two digits stands for itself. */
static enum inline_end read_escaped(wharf_str text, inline_take_fn *take, void *arg)
{
    unsigned char out[PIECE];
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c == '%' && text.n - i > 2 && blob_inline_hex_value(text.p[i + 1]) >= 0 &&
            blob_inline_hex_value(text.p[i + 2]) >= 0) {
            c = (unsigned char)(blob_inline_hex_value(text.p[i + 1]) << 4 |
                                blob_inline_hex_value(text.p[i + 2]));
            i += 2;
        }
        out[n++] = c;
        if (n == PIECE) {
            if (!take(arg, out, n))
                return INLINE_STOPPED;
            n = 0;
        }
    }
    return !n || take(arg, out, n) ? INLINE_DONE : INLINE_STOPPED;
}

enum inline_end inline_read(
    wharf_str text, inline_take_fn *take, void *arg, wharf_str *ret_type, const char **ret_fault)
{
    static const char mark[] = ";base64";
    const size_t m = sizeof(mark) - 1;
    const char *comma;
    wharf_str rest;

    *ret_type = str_z("");
    *ret_fault = "";
    if (text.n < 5 || strncasecmp(text.p, "data:", 5) != 0)
        return read_base64(text, take, arg, ret_fault);
    comma = memchr(text.p, ',', text.n);
    if (!comma)
        return bad_text(ret_fault, "the data URI has no comma");
    *ret_type = (wharf_str){text.p + 5, (size_t)(comma - text.p) - 5};
    rest = (wharf_str){comma + 1, text.n - (size_t)(comma - text.p) - 1};
    if (ret_type->n < m || strncasecmp(comma - m, mark, m) != 0)
        return read_escaped(rest, take, arg);
    ret_type->n -= m;
    return read_base64(rest, take, arg, ret_fault);
}

/* ---- MD5 ---- */

bool inline_md5(struct arena *a, int fd, int64_t at, int64_t length, wharf_str *ret_base64)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    char text[sodium_base64_ENCODED_LEN(MD5_BYTES, sodium_base64_VARIANT_ORIGINAL)];

    if (!blob_digest_of(EVP_md5(), fd, (uint64_t)at, length > 0 ? (uint64_t)length : 0, hash))
        return false;
    *ret_base64 = arena_dupz(
        a, sodium_bin2base64(text, sizeof(text), hash, MD5_BYTES, sodium_base64_VARIANT_ORIGINAL));
    return true;
}
