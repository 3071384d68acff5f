/* lane_pack.h - several writes of a lane as one statement: its parameters, and what each job
 * gets (lane.h, many_sql).
 *
 * Leaves to others: which jobs go together, and sending (lane.c). */
#ifndef WHARF_DB_LANE_PACK_H
#define WHARF_DB_LANE_PACK_H

#include "db/lane.h"

/* Fewer than PACK_MIN cost less one by one. */
enum { PACK_MIN = 3, PACK_MAX = 128, PACK_BYTES = 4 << 20 };

/* As libpq wants them; filled are as many as the job has. Of a single job only values, which are
 * text. */
struct pack_params {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
    char *memory; /* freed by the caller */
};

/* Tells how many bytes a job's parameters take in the arrays. */
size_t pack_bytes(const struct lane_job *job);
/* Fills the arrays, in PostgreSQL's binary form, with the parameters of the job and of those
 * packed with it. */
void pack_params_fill(struct pack_params *p, const struct lane_job *job);

/* A row of one column, and no row. */
struct pack_results {
    PGresult *row, *none;
};
/* Makes the results that are answered per job. Returns false when there is no memory. */
bool pack_results_make(struct pack_results *r);

#endif
