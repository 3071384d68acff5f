/* wharf/filename.h - names of files: without what file systems take for something else, and as a
 * part of a URL's path. For modules; header only, nothing of it is ABI. All functions are [any]. */
#ifndef WHARF_FILENAME_H
#define WHARF_FILENAME_H

#include <string.h>

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the text without control characters and those that a common file system takes for
 * something else, without blanks at both ends and dots at the end. out has s.n + 1 bytes. */
static inline wharf_str wharf_filename_clean(wharf_str s, char *out)
{
    wharf_str kept = {out, 0};
    size_t n = 0, from = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c >= ' ' && c != 0x7f && !strchr("<>:\"|?*/\\", c))
            out[n++] = s.p[i];
    }
    while (n && strchr(" .", out[n - 1]))
        n--;
    while (from < n && out[from] == ' ')
        from++;
    out[n] = 0;
    kept.p = out + from;
    kept.n = n - from;
    return kept;
}

/* Writes the text as one part of a path. out has 3 * s.n + 1 bytes. */
static inline wharf_str wharf_path_part(wharf_str s, char *out)
{
    static const char hex[] = "0123456789ABCDEF";
    wharf_str part = {out, 0};

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            (c && strchr("-._~", c))) {
            out[part.n++] = (char)c;
        } else {
            out[part.n++] = '%';
            out[part.n++] = hex[c >> 4];
            out[part.n++] = hex[c & 15];
        }
    }
    out[part.n] = 0;
    return part;
}

static inline int wharf_hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* Tells whether a part of a path, escaped or not, means the text. */
static inline bool wharf_path_means(wharf_str part, wharf_str text)
{
    size_t k = 0;

    for (size_t i = 0; i < part.n; i++, k++) {
        unsigned char c = (unsigned char)part.p[i];

        if (c == '%' && part.n - i > 2 && wharf_hex_digit(part.p[i + 1]) >= 0 &&
            wharf_hex_digit(part.p[i + 2]) >= 0) {
            c = (unsigned char)(wharf_hex_digit(part.p[i + 1]) << 4 |
                                wharf_hex_digit(part.p[i + 2]));
            i += 2;
        }
        if (k >= text.n || (unsigned char)text.p[k] != c)
            return false;
    }
    return k == text.n;
}

#ifdef __cplusplus
}
#endif
#endif
