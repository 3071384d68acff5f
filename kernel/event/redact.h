/* redact.h - what must not be kept of a request: keys, tokens, secrets, signatures, contents of
 * files (docs/spec/01-platform.md section 13 'Request log', docs/reference/logs.md 'What is
 * removed').
 *
 * Works on texts, also on the beginning of one, so that nothing has to be parsed again. Too much
 * removed is right, too little is not. */
#ifndef WHARF_EVENT_REDACT_H
#define WHARF_EVENT_REDACT_H

#include "util/buf.h"

/* fields that definitions declare secret, beside the names known anyway; not changed while it is
 * used */
struct redact_names {
    const char *const *items;
    size_t n;
};

/* Tells whether what stands under this name (of a member or a query parameter) is a secret. */
bool redact_name(const struct redact_names *names, wharf_str name);
/* Writes JSON, or the beginning of it, with the values of secret members as "***" and with *** for
 * what looks like a secret in texts. Writes at most `max` bytes, whole characters. */
void redact_json(struct buf *out, const struct redact_names *names, wharf_str json, size_t max);
/* Writes a raw query string without its secrets. */
void redact_query(struct buf *out, const struct redact_names *names, wharf_str query);
/* Writes a path, or any other text, without its secrets. */
void redact_text(struct buf *out, wharf_str text);

#endif
