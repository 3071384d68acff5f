/* idempotency.h - a write with an Idempotency-Key is done once, and answered the same way again
 * (docs/spec/01-platform.md section 8.1).
 *
 * The key is recorded in the transaction of the change: a crash leaves both or neither. While
 * the first request runs its key is held by an advisory lock of that transaction, so a crash
 * frees it. Leaves to others: forgetting old keys (worker/housekeeping.c). */
#ifndef WHARF_RESOURCE_IDEMPOTENCY_H
#define WHARF_RESOURCE_IDEMPOTENCY_H

#include "resource/request.h"

enum { IDEMPOTENCY_KEY_MAX = 255 }; /* letters of a key */
/* How long a key is remembered, in seconds. housekeeping.c deletes older ones. */
enum { IDEMPOTENCY_KEPT_S = 24 * 3600 }; /* a key is remembered */

/* Tells whether the key has 1 to 255 printable ASCII characters. */
bool idempotency_key_good(wharf_str key);

/* Runs `run` in a transaction around whatever it does, or answers from what is recorded.
 * Problems or answer in req. */
void idempotent_run(struct wharf_req *req, void (*run)(struct wharf_req *req));

#endif
