/* cell.h - work that is not trusted, done in small sandboxed processes that are kept in a pool
 * (docs/internals/cells.md, docs/decisions 22).
 *
 * A kind of cell is a program `wharf-cell-NAME`. A pool keeps processes of one kind ready; a run
 * takes one of them, sends it one call (bytes and read-only descriptors), hears it, and gives it
 * back. Whatever the process does (crash, endless loop, flood of data, silence), the run ends
 * with a status and the process is replaced. Pools are safe from any thread; a run belongs to
 * one thread. All times are clock_monotonic_us(). */
#ifndef WHARF_CELL_CELL_H
#define WHARF_CELL_CELL_H

#include "util/buf.h"

enum cell_status {
    CELL_OK = 0,
    CELL_FAILED, /* the kind says so: reason is its text */
    CELL_CRASHED, /* the process ended; signal, when it was one */
    CELL_DEADLINE, /* killed at its deadline, or after it was silent for too long */
    CELL_MEMORY, /* it ran into its memory limit */
    CELL_PROTOCOL, /* killed because it broke the rules of the socket */
    CELL_CANCELED, /* its caller ended it before its end */
    /* no cell could be had in time, or the call can't be sent; nothing was started */
    CELL_UNAVAILABLE,
};

struct cell_kind {
    const char *name; /* "probe": the program wharf-cell-probe */
    unsigned min, max; /* processes kept ready; processes at most */
    unsigned calls; /* calls after which a process is replaced; 1: a fresh one for every call */
    unsigned owned_calls; /* the same for calls that name an owner; 0: as calls */
    unsigned memory_mib; /* address space of a process (not under the address sanitizer) */
    /* a process that ever held more is replaced after its call; 0: not looked at */
    unsigned growth_mib;
    /* CPU time of a process over all its calls: a backstop for what nobody waits for */
    unsigned cpu_s;
    unsigned idle_s; /* processes above min end when idle for so long */
    uint32_t frame_max; /* bytes of one frame from the cell; at most FRAME_MAX */
    int log_fd; /* standard error of the cells; -1: /dev/null */
    /* how far they step back for others when processors are short, as nice(2) counts, each on
     * its own and as a session; 0: not at all */
    int nice;
};

struct cell_pool;

struct cell_counts { /* since the pool was made, but for the first two */
    unsigned idle, live; /* processes waiting; all that are not reaped yet */
    uint64_t started, calls, by_status[CELL_UNAVAILABLE + 1];
};

/* Starts `min` processes in the background. dir: the folder of the programs. Never NULL; a
 * program that can't be started is told by the runs (CELL_UNAVAILABLE with a reason) and tried
 * again with growing pauses. */
struct cell_pool *cell_pool_new(const struct cell_kind *kind, const char *dir);
/* Ends all processes and waits until they are gone. No run may be open. NULL is accepted. */
void cell_pool_free(struct cell_pool *p);
void cell_pool_counts(struct cell_pool *p, struct cell_counts *ret_counts);

enum { CELL_OWNER_MAX = 160 };

struct cell_call {
    wharf_str payload;
    /* The owner of the work. A process that served a call of an owner serves this owner alone
     * from then on: somebody who takes it over sees the owner's data and nothing else. Empty, or
     * longer than CELL_OWNER_MAX: no owner; a process without an owner takes only such calls. */
    wharf_str owner;
    uint64_t mark; /* of cell_pool_ahead: the process that was told is preferred; 0: none was */
    /* regular files and memfds, of any access mode: reopened read-only, with an offset of their
     * own */
    const int *fds;
    size_t n_fds; /* at most FRAME_FDS_MAX */
    int64_t deadline_us; /* the whole run must have ended; 0: only quiet_us holds */
    /* longest wait for the next frame, from when it is asked for; 0: only the deadline holds */
    int64_t quiet_us;
    int64_t wait_us; /* longest wait for a free process */
    bool waits_apart; /* the wait for a process is no part of the run's time: deadline_us moves */
};

struct cell_result {
    enum cell_status status;
    int signal; /* CELL_CRASHED: what ended it, or 0 when it left by itself */
    char reason[256]; /* one sentence; empty with CELL_OK */
};

enum cell_event {
    CELL_EVENT_DATA, /* a block of the result */
    CELL_EVENT_ASK, /* the cell wants an answer: cell_run_answer, then go on */
    CELL_EVENT_END, /* cell_run_result tells how; the payload is the result of CELL_OK */
    CELL_EVENT_NONE, /* nothing yet (wait = false) */
};

struct cell_run;

/* Starts a call in a cell. Never returns NULL: what goes wrong is an END event. At least one of
 * deadline_us and quiet_us must be set. The payload and fds stay good until the first event: a
 * process that ends before it read the call is no reason to fail it, so it is sent to another. */
struct cell_run *cell_run_start(struct cell_pool *p, const struct cell_call *call);
/* Returns the next event. The payload is good until the next call. The cell can't go on sending
 * while nobody calls this: what it sends waits in the socket, so memory stays flat. wait = false
 * does not block: poll cell_run_fd for reading. */
enum cell_event cell_run_next(struct cell_run *r, bool wait, wharf_str *ret_payload);
/* Answers the ASK that came last. refused: the text says why. */
void cell_run_answer(struct cell_run *r, bool refused, wharf_str text);
const struct cell_result *cell_run_result(const struct cell_run *r); /* after END */
int cell_run_fd(const struct cell_run *r); /* or -1 after the end */
/* Returns the latest time at which cell_run_next must be called. For callers that poll. */
int64_t cell_run_due_us(const struct cell_run *r);
/* Marks the process so that it serves no further call, whatever the kind says. */
void cell_run_spoil(struct cell_run *r);
/* An idle process that is the owner's gets to know what its next call will probably need, so
 * that it makes that ready meanwhile. Nobody waits for it, and nothing is said of what became of
 * it: a call is whole in itself. At most CELL_AHEAD_MAX bytes. [any] */
enum { CELL_AHEAD_MAX = 4096 };
void cell_pool_ahead(struct cell_pool *p, wharf_str owner, uint64_t mark, wharf_str payload);
/* Gives the process back; one that has not ended its run is killed. NULL is accepted. */
void cell_run_end(struct cell_run *r);

/* Runs a call without blocks and questions, and waits for its end. `result` gets the payload of
 * CELL_OK; its max bounds it. */
struct cell_result cell_call(struct cell_pool *p, const struct cell_call *call, struct buf *result);

/* Finds the folder that has the program of a kind and writes it to `out`: the setting (cell.dir)
 * when it is not empty, else the first of: next to this program, ../cells of it (a build folder),
 * ../libexec/wharf of it. Returns false when the program is not there. */
bool cell_find_dir(const char *setting, const char *kind, char *out, size_t size);

#endif
