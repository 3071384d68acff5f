/* p256.h - keys of the curve P-256: the secret of two of them (ECDH), and signatures of JSON Web
 * Tokens (RFC 7518 section 3.4: ES256). Pure; no state.
 *
 * Leaves to others: messages (web_message.h), tokens (vapid.h), where keys are kept (vapid.h). */
#ifndef WHARF_PUSH_P256_H
#define WHARF_PUSH_P256_H

#include <stdbool.h>

#include "wharf/plugin.h"

enum { P256_PRIVATE = 32, P256_PUBLIC = 65, P256_SECRET = 32, P256_SIGNATURE = 64 };

struct p256 {
    unsigned char private[P256_PRIVATE];
    unsigned char public[P256_PUBLIC]; /* 4, x, y */
};

/* Makes a new pair. Returns false when the library does not. */
bool p256_make(struct p256 *ret);
/* Computes the pair of a private key. Returns false when it is none. */
bool p256_of(const unsigned char private[P256_PRIVATE], struct p256 *ret);
/* Computes what both sides of an exchange know. Returns false when theirs is no point of the
 * curve. */
bool p256_secret(const struct p256 *own, const unsigned char theirs[P256_PUBLIC],
    unsigned char ret_secret[P256_SECRET]);
/* Tells whether it is a point of the curve. */
bool p256_point(const unsigned char public[P256_PUBLIC]);
/* Signs by ECDSA with SHA-256; r and s one after the other. */
bool p256_sign(const struct p256 *own, wharf_str text, unsigned char ret[P256_SIGNATURE]);

#endif
