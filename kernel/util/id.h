/* id.h - identifiers and random text.
 *
 * An id is prefix + '_' + 22 characters of 0-9A-Za-z: 48-bit millisecond time, then 80 random
 * bits, base 62 in ASCII order, zero-padded, so byte order is time order
 * (docs/spec/01-platform.md section 4.2). Ids that a thread makes one after the other of one
 * millisecond rise: the first has all its random bits, each other one stands up to 2^48 behind
 * the one before. */
#ifndef WHARF_UTIL_ID_H
#define WHARF_UTIL_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "wharf/plugin.h"

enum { ID_BODY = 22, ID_MAX = 48 }; /* longest prefix + '_' + body + NUL fits ID_MAX */

/* Writes prefix_body and NUL to out (ID_MAX bytes); returns its length. [any] */
size_t id_new(const char *prefix, int64_t now_us, char out[ID_MAX]);
/* Tells whether s is prefix + '_' + 22 base 62 characters. */
bool id_shape(wharf_str s, const char *prefix);
/* Returns the millisecond time in an id of any prefix, or -1 when it has not that shape. */
int64_t id_time_ms(wharf_str s);
/* Writes n random base 62 characters and NUL. [any] */
void random_base62(char *out, size_t n);
void random_bytes(void *out, size_t n);
void uuid_v4(char out[37]);
/* Writes the value in base 62, ASCII order, zero-padded to width, to out (no NUL). */
void base62_u128(unsigned __int128 value, char *out, size_t width);

#endif
