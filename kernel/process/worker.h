/* worker.h - what the supervisor hands to a worker process, and what it expects of it.
 *
 * A worker is `wharf _worker` started by fork and exec. It runs worker_main(), writes one line
 * on the control descriptor ("ready\n", or "failed: <reason>\n" and exits), beats its slot on
 * the board each second, and ends by itself after SIGTERM: it stops accepting, finishes what
 * runs, and exits with 0 within the drain timeout. docs/reference/plugin-abi.md section 3, 11. */
#ifndef WHARF_PROCESS_WORKER_H
#define WHARF_PROCESS_WORKER_H

#include "config/config.h"

struct board;

enum worker_kind { WORKER_WEB = 1, WORKER_JOB = 2 };

struct worker_boot {
    enum worker_kind kind;
    unsigned index; /* among its kind */
    uint64_t generation;
    /* web: its SO_REUSEPORT socket, listening, non-blocking; job: the admin socket or -1 */
    int listen_fd;
    int tls_fd; /* web: certificate and key, for tls_receive(); -1: plain HTTP */
    bool proves; /* the first one of a reload: what can't be loaded anew refuses the reload */
    int control_fd; /* write end of the supervisor's pipe */
    struct board *board; /* shared memory, see board.h */
    unsigned slot; /* this worker's slot on the board */
    const char *database; /* connection string that works (embedded already resolved) */
    const char *quarantined; /* comma list of plugins not to load, "" for none */
};

/* Serves until told to stop. Returns the exit code: 0 stopped; WORKER_REFUSED when it can't
 * start and said why, which ends a server that is just starting and makes a reload fail. Later
 * the supervisor tries again, whatever the code. */
enum { WORKER_REFUSED = 2 };
int worker_main(const struct config *config, const struct worker_boot *boot);

#endif
