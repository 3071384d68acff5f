/* set.h - a write of many: rows of one resource created, updated or deleted together, with the
 * outcome of each (plugin-api/wharf/service/many.h says what callers may count on).
 *
 * Each row goes through the pipeline of write.h. Where every rule of the resource has a form for
 * sets, rows, change-log lines and events are written in one statement each (set_rows.c); else,
 * and whenever a set can't be judged as one, row by row. Same rows, same outcome. */
#ifndef WHARF_RESOURCE_SET_H
#define WHARF_RESOURCE_SET_H

#include "resource/write.h"
#include "wharf/service/many.h"

struct set_row {
    struct write w; /* op, id, body, filled in by the caller; results as of write_run */
    struct problem *problems; /* of a row that was not written */
    size_t n_problems;
    bool failed;
    bool stored; /* its statement took effect */
    /* where the row stood in its table when new_rec was read: another place when it was written
     * again */
    wharf_str place;
    const char *operation; /* what a batch_item hook made of it, or NULL */
    bool left; /* a batch_items hook left it to batch_item */
};

struct write_set {
    const struct resource *res;
    uint32_t op;
    uint32_t flags; /* WHARF_MANY_* */
    bool part; /* check_set: bodies that are parts of bodies, of no row */
    struct set_row *rows;
    size_t n, n_failed;
    /* of the pipeline: */
    struct write_set *outer; /* whose hook this set was made in */
    struct write_scratch *shared; /* memory of its rows' hooks (side.c) */
    struct set_row *current; /* what is told now is about this row; NULL: about none */
    struct set_row **live; /* those that no rule has refused so far: what hooks are called with */
    size_t n_live;
    bool broken; /* something is wrong that is not a row's: its problems are on the request */
    bool row_by_row; /* a rule can't judge these rows as a set */
    /* Rules wrote something for the rows that were left when failed_before had failed: none of
     * them may be refused alone any more. */
    bool wrote;
    size_t failed_before;
};

/* Writes the set in the request's transaction, in a savepoint of it, or in one of its own.
 * WHARF_OK: the rows' outcomes stand in the set, and with WHARF_MANY_ALL either all or none were
 * written. Else nothing was, and problems are on the request. */
wharf_status write_set(struct wharf_req *req, struct write_set *set);

/* Checks what a write would be refused for before it writes: bodies, the rows they mean,
 * references, locations, rules. Problems stand with the rows; nothing of what the rules did
 * stays. */
wharf_status check_set(struct wharf_req *req, struct write_set *set);

/* Tells whether one of the problems belongs to no row: whether it would have failed any other as
 * well. */
bool set_everybodys(const struct wharf_req *req);
/* Gives the problems told so far to the current row; those from now on are row's (NULL:
 * nobody's). */
void set_at(struct wharf_req *req, struct set_row *row);
/* Notes that a rule has written something for the rows that are left. */
void set_wrote(struct wharf_req *req, struct write_set *set);
/* Keeps the rows that are left, after the problems told so far were given to theirs. */
void set_sift(struct wharf_req *req, struct write_set *set);

/* Checks the references of the live rows (references.c): one look for all ids of a field. */
wharf_status references_check_set(struct wharf_req *req, struct write_set *set);

/* Runs the statements of a set (set_rows.c). Conflicts with a unique rule are the row's problem;
 * other failures are the request's. What was inserted stands in new_rec as it is in the
 * database. */
wharf_status set_insert(struct wharf_req *req, struct write_set *set);
wharf_status set_delete(struct wharf_req *req, struct write_set *set);
/* Reads new_rec of the live rows again, if hooks or triggers may have changed what it shows since
 * it was read. */
wharf_status set_refresh(struct wharf_req *req, struct write_set *set);
/* Reads the live rows as they stand, into new_rec. set_lock() reads those to be deleted, locked,
 * into old_rec: a row that is not there is told not_found. set_find() does the same without a
 * lock. */
wharf_status set_read(struct wharf_req *req, struct write_set *set);
wharf_status set_lock(struct wharf_req *req, struct write_set *set);
wharf_status set_find(struct wharf_req *req, struct write_set *set);
/* Writes change-log lines and events of the live rows. */
wharf_status set_history(struct wharf_req *req, struct write_set *set);

#endif
