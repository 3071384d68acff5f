/* pool.h - the insides of a pool, shared by pool.c (taking and giving back), keeper.c (starting,
 * watching, reaping), launch.c (one process) and cell_run.c (one call). Private to kernel/cell.
 *
 * One thread per pool, the keeper, starts and reaps all processes: the kernel's death signal
 * belongs to the thread that started a process, so it must be one that lives as long as the
 * pool; and nobody who waits for an answer waits for an exec. */
#ifndef WHARF_CELL_POOL_H
#define WHARF_CELL_POOL_H

#include <pthread.h>
#include <sys/types.h>

#include "cell/cell.h"
#include "cell/frame.h"

enum cell_state { CELL_STARTING, CELL_IDLE, CELL_BUSY, CELL_DYING };

struct cell {
    struct cell *next; /* in pool.all */
    struct cell *below; /* in pool.idle */
    enum cell_state state;
    pid_t pid;
    int pidfd, sock; /* sock -1 once dying */
    int group; /* its file autogroup, until that is written; -1: nothing is to be written */
    unsigned calls;
    uint32_t call_id;
    /* whose calls it serves; empty: it may still become anybody's */
    char owner[CELL_OWNER_MAX + 1];
    uint64_t mark; /* of what it was told ahead of its next call; 0: nothing */
    int64_t since_us; /* start, then last use */
    struct frame_reader reader;
};

struct cell_waiter { /* on the stack of who waits for a process */
    struct cell_waiter *next;
    const char *owner;
};

struct cell_pool {
    struct cell_kind kind;
    char program[512];
    pthread_mutex_t lock;
    pthread_cond_t freed; /* a cell became idle, or starting failed */
    pthread_t keeper;
    int wake_fd; /* eventfd that the keeper polls */
    bool stopping;
    struct cell *all, *idle; /* idle: last used first */
    struct cell_waiter *waiters;
    unsigned n_all, n_starting, n_idle, n_owned, waiting; /* n_owned: of the idle ones */
    unsigned failures; /* starts that failed in a row */
    int64_t retry_us; /* no start before */
    char problem[200]; /* why the last start failed, or empty */
    struct cell_counts counts;
};

void *cell_keeper(void *pool);
void cell_pool_wake(struct cell_pool *p);
/* Takes an idle process that is the owner's, else one that is nobody's, until give_up_us,
 * waiting while there is none. NULL and a reason. */
struct cell *cell_pool_take(struct cell_pool *p, const struct cell_call *call, int64_t give_up_us,
    char *reason, size_t size);
/* Gives a cell back to the pool. healthy: it may serve again; else it was killed or is to be
 * killed, and the keeper reaps it. */
void cell_pool_give(struct cell_pool *p, struct cell *c, bool healthy);
void cell_pool_count(struct cell_pool *p, enum cell_status status);

/* Starts the program. 0, or an errno. On 0 pid, pidfd and sock are set. */
int cell_launch(const struct cell_pool *p, struct cell *c);
/* Lets the session that the process is step back as the process does. False: the kernel takes
 * that later. */
bool cell_step_back(const struct cell_pool *p, struct cell *c);
void cell_kill(const struct cell *c);
/* Returns the most memory that the process ever held since it became its program, as the system
 * counts it, in KiB; UINT32_MAX where that can't be told. */
uint32_t cell_peak_kib(const struct cell *c);
/* Takes the cell out of the list of idle ones. The caller holds the lock. */
void cell_pool_unlist(struct cell_pool *p, struct cell *c);
/* Waits for the end of a process whose socket is closed: its wait status as siginfo code and
 * status. False: it goes on living. */
bool cell_wait_end(const struct cell *c, int limit_ms, int *ret_code, int *ret_status);

#endif
