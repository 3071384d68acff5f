/* lane.h - the event loop's connections: non-blocking, in libpq's pipeline mode.
 *
 * docs/decisions 14. A lane carries jobs in the order they came. What was queued during a
 * turn of the loop is sent with one Sync: reads (LANE_READ) and declared writes (LANE_WRITE, one
 * implicit transaction, committed by the Sync) travel together, statements that may be slow
 * (LANE_SLOW) go one at a time. When a statement of a group fails, the others of that group have
 * not run (or were rolled back): they are sent again one by one, so that each gets its own
 * answer. Writes that are the same statement and wait together go as one (lane_pack.h,
 * docs/decisions 89): starting a statement costs as much as the row it writes. Plans of the
 * first two kinds are made once and kept, but for jobs that say by_value (docs/decisions
 * 324).
 * All functions belong to the loop's thread. Leaves to others: what a result means. */
#ifndef WHARF_DB_LANE_H
#define WHARF_DB_LANE_H

#include "db/conn.h"

struct lane;
struct lane_job;

enum lane_kind { LANE_READ, LANE_WRITE, LANE_SLOW };

/* Gets the result of a job. result: NULL when the job failed; then *error says how. The lane
 * clears the result after the call. */
typedef void lane_done_fn(struct lane_job *job, PGresult *result, const struct db_error *error);

struct lane_job { /* owned by the caller, alive until done() was called */
    const char *sql;
    /* LANE_WRITE, or NULL: the same for several jobs. Parameter i is an array (text[]) of what
     * the jobs have as parameter i; yields the place, counted from 1, of each job for which sql
     * would yield a row. done() is then given a row of one column, or none. */
    const char *many_sql;
    const struct sql_arg *args;
    size_t n_args;
    /* LANE_READ: the best plan depends on the arguments; else one is made for all of them */
    bool by_value;
    lane_done_fn *done;
    void *arg;
    int64_t deadline_us; /* monotonic: failed with DB_LOST when it has not been sent by then */
    /* of the lane: */
    struct lane_job *next;
    struct lane_job *packed; /* those that go with this one, in its statement */
    size_t n_packed;
    int64_t queued_us;
    uint64_t hash;
    PGresult *result;
    bool alone;
    bool retried;
    uint8_t ahead; /* results that come before its own: of what was sent with it */
    uint8_t lost; /* connections while it was on its way */
};

/* Makes a lane. It calls changed() when the descriptor or the wanted events differ from before (fd
 * -1: nothing to watch; a lane that is up at this moment has just lost its connection). */
struct lane *lane_new(enum lane_kind kind, const char *conninfo, bool prepared,
    int64_t statement_timeout_ms, void (*changed)(void *arg, struct lane *lane), void *arg);
void lane_free(struct lane *l);
void lane_queue(struct lane *l, struct lane_job *job);
size_t lane_load(const struct lane *l); /* jobs queued and under way */
int lane_fd(const struct lane *l);
uint32_t lane_events(const struct lane *l); /* EPOLLIN | EPOLLOUT */
/* Runs one turn of the lane, once per turn: reads results and calls done() when epoll said that
 * the descriptor is ready, sends what waits, repairs the connection. */
void lane_turn(struct lane *l, bool ready, int64_t now_us);
bool lane_up(const struct lane *l);

#endif
