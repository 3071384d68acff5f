/* keytext.h - the text of an API key: making, recognising, hashing (docs/spec/01-platform.md
 * section 5).
 *
 * wh_live_ or wh_test_, 32 random base 62 characters, 6 base 62 characters of the CRC-32 of what
 * precedes. [any] */
#ifndef WHARF_IDENTITY_KEYTEXT_H
#define WHARF_IDENTITY_KEYTEXT_H

#include <stdbool.h>

#include "wharf/plugin.h"

enum { KEYTEXT_LEN = 46, KEYTEXT_HASH = 32 };

/* Makes a new key and its NUL. The caller shows it once and keeps only the hash. */
void keytext_new(bool test, char out[KEYTEXT_LEN + 1]);
/* Tells whether s has the shape and the right check digits of a key. *ret_test: it is a test key,
 * not a live one. */
bool keytext_check(wharf_str s, bool *ret_test);
/* Computes what is stored: SHA-256 of the text, or its HMAC-SHA-256 when there is a pepper. */
void keytext_hash(wharf_str s, const char *pepper, unsigned char out[KEYTEXT_HASH]);

#endif
