/* host_verify.h - one check of `wharf verify`: runs it, counts what it looked at, keeps the first
 * faults (docs/reference/plugin-abi.md section 14).
 *
 * A check reads the rows of all organizations with the rights of the database user of the server,
 * in one snapshot that can't write. It waits for no lock that a request holds, and no request waits
 * for it. Memory is bounded: rows come by a cursor, and only the first faults are kept.
 * Leaves to others: which checks there are (engine->checks), printing. */
#ifndef WHARF_HOST_HOST_VERIFY_H
#define WHARF_HOST_HOST_VERIFY_H

#include <libpq-fe.h>

#include "resource/engine.h"
#include "util/vector.h"

struct verify_fault {
    wharf_str organization, id, wrong;
};

struct wharf_verify {
    /* filled by the caller: a connection that nobody else uses, and how many faults to keep */
    const struct config *config;
    const struct engine *engine;
    PGconn *conn;
    struct arena *arena; /* the faults that are kept, and error */
    size_t show;
    /* filled by verify_run() */
    struct vector shown; /* struct verify_fault */
    uint64_t looked, faults;
    wharf_str error; /* why it could not be run, and what to do; empty: it was run */
    unsigned depth; /* cursors that are open */
};

extern const wharf_verify_api verify_api;

/* Runs a check; the outcome is in v. */
void verify_run(struct wharf_verify *v, const wharf_check *check);
/* Takes a new snapshot, for what compares rows with files: those may go meanwhile. Not inside of
 * each(). Returns false after fail(). */
bool verify_anew(struct wharf_verify *v);
/* Gives the snapshot back, for what looks at files alone and may take hours. No each() after it. */
void verify_let_go(struct wharf_verify *v);

#endif
