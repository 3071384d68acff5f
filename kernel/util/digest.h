/* digest.h - SHA-256 of texts that lie in parts, with the processor's instructions for it: for
 * who has many to hash.
 *
 * Leaves to others: what is kept under it (event/seal.h), digests with a key (signature.h). */
#ifndef WHARF_UTIL_DIGEST_H
#define WHARF_UTIL_DIGEST_H

#include "wharf/plugin.h"

enum { DIGEST_BYTES = 32 };

/* Computes the SHA-256 of the parts, one behind the other. Aborts when libcrypto has no memory. */
void digest_sha256(const wharf_str *parts, size_t n, unsigned char ret[DIGEST_BYTES]);

#endif
