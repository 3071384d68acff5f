/* reply.h - what a receiver's answer says beyond its status (docs/spec/07-events-and-webhooks.md
 * section 7).
 *
 * head: status line and headers as they came, lines by CRLF or LF. No memory, no clock: now_us
 * is microseconds since 1970. */
#ifndef WEBHOOKS_REPLY_H
#define WEBHOOKS_REPLY_H

#include "wharf/plugin.h"

enum {
    REPLY_PAUSE_MIN_MS = 1000, /* the shortest pause after an answer 429 */
    REPLY_PAUSE_MAX_MS = 24 * 3600 * 1000, /* the longest one */
    REPLY_LATER_MAX_MS = 3600 * 1000 /* Retry-After of other answers counts at most */
};

/* Reads the pause that a 429 asks for: the first usable of Retry-After, RateLimit-Reset,
 * X-RateLimit-Reset, RateLimit-Reset-After, X-RateLimit-Reset-After, of several lines the longest;
 * 1 s to 24 h. Returns false when none is usable. */
bool reply_pause(wharf_str head, int64_t now_us, int64_t *ret_ms);
/* Reads Retry-After of a 502, 503 or 504, at most an hour. */
bool reply_later(wharf_str head, int64_t now_us, int64_t *ret_ms);
/* Reads the header webhook-delivery: abort-message, disable. */
void reply_directives(wharf_str head, bool *ret_abort, bool *ret_disable);
/* Reads the next header line from *at on (0 at first; the status line is passed over). Returns
 * false when there are no more. */
bool reply_line(wharf_str head, size_t *at, wharf_str *ret_name, wharf_str *ret_value);
/* Reads the three forms of HTTP dates, and ISO 8601 with Z or an offset. */
bool reply_date(wharf_str s, int64_t now_us, bool iso, int64_t *ret_us);

#endif
