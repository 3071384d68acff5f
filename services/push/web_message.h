/* web_message.h - a message for a browser, sealed so that only it can read it: Web Push (RFC 8291,
 * with the coding aes128gcm of RFC 8188). Pure; no state.
 *
 * Leaves to others: keys (p256.h), sending (host_push.c). */
#ifndef WHARF_PUSH_WEB_MESSAGE_H
#define WHARF_PUSH_WEB_MESSAGE_H

#include "push/p256.h"

enum {
    WEB_AUTH = 16,
    WEB_SALT = 16,
    WEB_HEAD = WEB_SALT + 4 + 1 + P256_PUBLIC,
    WEB_RECORD = 4096, /* what each push service takes (RFC 8030 section 7.2) */
    WEB_TAG = 16,
    WEB_PLAIN_MAX = WEB_RECORD - WEB_HEAD - 1 - WEB_TAG,
};

struct web_reader { /* the subscription's keys */
    unsigned char public[P256_PUBLIC];
    unsigned char auth[WEB_AUTH];
};

/* Seals a message of at most WEB_PLAIN_MAX bytes for the reader, by a pair that is used once, and
 * a salt of random bytes. Returns the length in out; 0 when it can't be done. */
size_t web_message_seal(const struct web_reader *to, const struct p256 *once,
    const unsigned char salt[WEB_SALT], wharf_str plain, unsigned char out[WEB_RECORD]);

#endif
