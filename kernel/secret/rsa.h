/* rsa.h - signatures with RSA keys, for services that know a client by a signed text (RFC 7518
 * section 3.3: RS256). */
#ifndef WHARF_SECRET_RSA_H
#define WHARF_SECRET_RSA_H

#include "util/arena.h"

enum { RSA_BITS_MIN = 2048 }; /* bits of a key that signs */

/* Signs text by RSASSA-PKCS1-v1_5 with SHA-256. pem: a private key without a passphrase, PKCS #8
 * or PKCS #1. Returns false when it is none, or shorter than RSA_BITS_MIN. */
bool rsa_sha256(struct arena *a, wharf_str pem, wharf_str text, wharf_str *ret_signature);

#endif
