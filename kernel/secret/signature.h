/* signature.h - signatures of Standard Webhooks 1.0 (docs/spec/07-events-and-webhooks.md section
 * 6).
 *
 * Signed is "<id>.<timestamp>.<body>" with HMAC-SHA256; a secret is "whsec_" and the padded
 * base64 of 24 to 64 bytes; the header has one "v1,<base64>" for each secret, separated by one
 * space. Leaves to others: which secrets, when they end, the clock. */
#ifndef WHARF_SECRET_SIGNATURE_H
#define WHARF_SECRET_SIGNATURE_H

#include "wharf/plugin.h"

enum {
    SIGNATURE_KEY_MIN = 24, /* bytes of a secret */
    SIGNATURE_KEY_MAX = 64, /* bytes of a secret */
    SIGNATURE_SECRET_TEXT = 6 + 88 + 1, /* with its NUL */
    SIGNATURE_ENTRY = 3 + 44, /* "v1," and the base64 of 32 bytes */
    SIGNATURE_TOLERANCE_S = 300, /* the time of a signature may be off */
};

/* Makes a new secret of 32 random bytes. */
void signature_secret(char out[SIGNATURE_SECRET_TEXT]);
bool signature_secret_valid(wharf_str secret);
void signature_hmac(const void *key, size_t key_bytes, wharf_str data, unsigned char out[32]);
/* Writes the header's value with an entry for each secret, and its NUL. Returns its length; 0 when
 * a secret is not valid, or room is too small. */
size_t signature_make(const wharf_str *secrets, size_t n, wharf_str id, int64_t timestamp_s,
    wharf_str body, char *out, size_t room);

enum signature_verdict { SIGNATURE_GOOD, SIGNATURE_WRONG, SIGNATURE_LATE, SIGNATURE_MALFORMED };
/* Checks a signature. timestamp: as in the header, decimal seconds. tolerance_s 0: any moment.
 * Compares in constant time; entries of other versions are passed over. */
enum signature_verdict signature_check(wharf_str secret, wharf_str id, wharf_str timestamp,
    wharf_str header, wharf_str body, int64_t now_s, int64_t tolerance_s);

#endif
