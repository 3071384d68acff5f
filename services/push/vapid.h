/* vapid.h - how push services of browsers know this installation: a key of its own, and a token
 * signed with it for each service (VAPID, RFC 8292).
 *
 * The key is one for a database: made at the first start, kept in wharf.setting beside the other
 * signing keys of the installation. Browsers subscribe for this key: with another one all
 * subscriptions are void. */
#ifndef WHARF_PUSH_VAPID_H
#define WHARF_PUSH_VAPID_H

#include "push/p256.h"
#include "util/arena.h"

enum { VAPID_TEXT = 88 }; /* base64url of the public key, with a NUL */

/* Reads the key; makes it when there is none. Returns false when the database does not answer. */
bool vapid_load(const char *database);
/* Returns the public key in base64url. */
const char *vapid_public(void);
/* Writes the value of the header authorization for an endpoint. contact: mailto: or https: of the
 * operator, or empty. Returns false when the endpoint is no URL. */
bool vapid_header(
    struct arena *a, wharf_str endpoint, wharf_str contact, int64_t now_us, wharf_str *ret_value);
/* Writes the value with a given key, for tests. */
bool vapid_header_of(struct arena *a, const struct p256 *key, wharf_str endpoint, wharf_str contact,
    int64_t now_us, wharf_str *ret_value);

/* Encodes in the letters of RFC 4648 section 5, without padding. */
wharf_str base64url(struct arena *a, const void *p, size_t n);
/* Decodes exactly n bytes; padding may be there. Returns false when the text is something else. */
bool base64url_read(wharf_str text, unsigned char *ret, size_t n);

#endif
