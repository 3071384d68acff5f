/* blob_sample.h - looks for some of the stored objects: enough to see that the folder or bucket is
 * the one of the database, without waiting for all of them (blob_check.c, scrub_job.c). */
#ifndef WHARF_BLOB_BLOB_SAMPLE_H
#define WHARF_BLOB_BLOB_SAMPLE_H

#include <libpq-fe.h>

#include "blob/blob.h"

/* Names up to 64 objects, with their sizes: those that were stored or read last, and those behind a
 * random hash ($1). */
extern const char blob_sample_sql[];

struct blob_sampled {
    unsigned looked, lost;
    char first[BLOB_HASH + 1]; /* of the lost ones */
};

/* Looks for them. note: those that are lost are marked as the scrub marks them. Returns false when
 * the database or the store can't be asked. */
bool blob_sample(
    PGconn *conn, struct blob_store *store, bool note, struct blob_sampled *ret_sampled);

#endif
