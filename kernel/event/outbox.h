/* outbox.h - what committed changes left to be done: rows of wharf.outbox, taken in chunks with
 * their events and log lines and numbered (docs/spec/07-events-and-webhooks.md section 2).
 *
 * Leaves to others: what is done with them (processor.h), the hashes of lines (seal.h). */
#ifndef WHARF_EVENT_OUTBOX_H
#define WHARF_EVENT_OUTBOX_H

#include "event/event_record.h"
#include "event/seal.h"

/* Columns of wharf.outbox_waiting: those of an event up to its parts, which are the last, then
 * these. A line has its action as type, changes as data, images as previous. */
enum outbox_column {
    O_KIND = E_PARTS,
    O_LIVE,
    O_PARENT,
    O_MESSAGE,
    O_VISIBILITY,
    O_EVENT,
    O_PARTS
};

struct outbox_chunk {
    size_t n; /* rows of the outbox */
    /* those of each organization together, in the order of their numbers; so are lines */
    struct event **events;
    size_t n_events, of_batches;
    int64_t oldest_us, oldest_of_batches_us; /* 0: there is none */
    struct seal_line *lines;
    size_t n_lines;
    wharf_str last; /* organization */
};

/* Takes up to `most` rows, of organizations behind `after` ("": from the first) and around to
 * it, in the open transaction, which keeps these organizations from other processors until it
 * ends. Fewer when they are large: at least one of those that wait. What is in *ret lives in the
 * request's arena. False: problems. */
bool outbox_claim(struct wharf_req *req, const char *after, int most, struct outbox_chunk *ret);

#endif
