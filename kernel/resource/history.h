/* history.h - what every change leaves behind, in the transaction of the change: a change-log
 * row and an event row.
 *
 * docs/spec/01-platform.md section 13, docs/spec/07-events-and-webhooks.md sections 1 and 2,
 * docs/decisions 7. One SQL fragment writes both, so that a declared create is a single
 * statement. Leaves to others: delivery, sealing, reading. */
#ifndef WHARF_RESOURCE_HISTORY_H
#define WHARF_RESOURCE_HISTORY_H

#include "identity/seen.h"
#include "resource/request.h"

enum { HISTORY_PARAMS = 27 };

struct change {
    wharf_str organization; /* whose row it is; "": the principal's */
    const char *resource; /* "print_station" */
    wharf_str resource_id;
    wharf_str parent_id; /* "" none */
    wharf_str location_id; /* "" none */
    struct seen_by seen; /* who may see the row; all empty: location_id says it */
    const char *action; /* "created", "updated", "deleted", ... */
    bool log;
    wharf_str changes; /* JSON array of {field, old, new} */
    wharf_str message; /* "" none */
    const char *event; /* type, or NULL: no event */
    wharf_str data; /* JSON snapshot */
    wharf_str parts; /* of it that not all see (identity/seen_parts.h); or "" */
    wharf_str previous; /* JSON object, or "" */
    bool disable_webhooks;
    /* type of an event of this transaction and row that says all that this one would say, or
     * NULL */
    const char *unless;
};

/* Appends ", g AS (INSERT INTO wharf.change_log ... FROM r) INSERT INTO wharf.event ... FROM r":
 * parameters are numbered from first; r must be a preceding WITH query that yields one row when
 * the change took place. Ends with RETURNING 1 of the last insert; with neither log nor event it
 * is "SELECT 1 FROM r". */
void history_sql(struct buf *out, size_t first, bool log, bool event);
/* Writes the same for many changes: the parameters are the columns p1, p2, ... (texts) of a
 * preceding WITH query u that has a row for each change. Appends WITH queries only. */
void history_many_sql(struct buf *out, size_t first, bool log, bool event);
/* Returns for how many days events of the request's organization are kept. A request has it with
 * its key; a job asks its organization at the first call. */
int history_event_days(struct wharf_req *req);
/* Fills HISTORY_PARAMS arguments; texts live in the request. */
void history_args(struct wharf_req *req, const struct change *c, struct sql_arg *args);
/* Writes both rows as a statement of its own in the request's transaction. One event per type,
 * row and transaction: a second one is merged into the first
 * (docs/spec/07-events-and-webhooks.md section 2.7). */
wharf_status history_write(struct wharf_req *req, const struct change *c);
/* Writes the same, and returns the id of the event, also of one that was there before. */
wharf_status history_write_event(
    struct wharf_req *req, const struct change *c, wharf_str *ret_event_id);

/* Writes the same for many rows of one resource, with one statement or one COPY for each table for
 * those that nothing merges with. */
wharf_status history_write_many(struct wharf_req *req, const struct change *changes, size_t n);

#endif
