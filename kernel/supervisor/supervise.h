/* supervise.h - the supervisor's state, shared by its parts. Private to kernel/supervisor/. */
#ifndef WHARF_SUPERVISOR_SUPERVISE_H
#define WHARF_SUPERVISOR_SUPERVISE_H

#include <poll.h>
#include <sys/types.h>

#include "supervisor/board.h"
#include "supervisor/quarantine.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker.h"

enum {
    JOB_WORKERS_MAX = 8,
    SEATS_MAX = 64 + JOB_WORKERS_MAX,
    PROCS_MAX = BOARD_WORKERS,
    CLIENTS_MAX = 16,
    CRASHES_KEPT = 256,
    PLUGIN_NAME = QUARANTINE_NAME,
    REASON_MAX = 600,
};

/* A worker process. Its index in the array is its slot on the board. */
struct proc {
    pid_t pid; /* 0: free */
    struct seat *seat;
    enum board_state state;
    uint64_t generation;
    int control_fd; /* read end, -1 after its end */
    int64_t started_us, kill_at_us; /* kill_at 0: not asked to end */
    bool asked; /* its end is our doing */
    bool hung; /* stopped by the watchdog, which noted: */
    int64_t beat_us, ran_ns, waited_ns; /* when its last beat was seen: what its main thread had run, and waited for a processor */
    char hung_plugin[PLUGIN_NAME], hung_what[BOARD_TEXT], hung_request[32];
    char line[REASON_MAX]; /* what it said */
    size_t line_n;
};

/* A place that must always be served: web 0..n-1, job 0..m-1. */
struct seat {
    enum worker_kind kind;
    unsigned index;
    int listen_fd;
    struct proc *now, *next; /* next: the successor while a reload runs */
    int64_t start_at_us; /* 0: no start planned */
    int64_t delay_us; /* of the last restart */
    bool given_up; /* it said: do not restart me */
};

struct client {
    int fd; /* -1: free */
    char text[256];
    size_t n;
    bool waits_for_reload;
};

struct supervisor {
    const struct supervisor_start *start;
    struct config *config;
    struct board *board;
    int board_fd, signal_fd;
    int tls_fd; /* tls_open() of the settings that serve, or -1 */
    char exe[512];
    struct seat seats[SEATS_MAX];
    size_t n_seats;
    struct proc procs[PROCS_MAX];
    uint64_t generation;
    bool stopping, ready_told;
    int exit_code;
    pid_t ready_pid;
    int64_t tick_us, cluster_at_us, cluster_started_us, cluster_delay_us;
    struct {
        bool active, again;
        size_t seat;
        unsigned tries;
        struct config *config; /* the new settings, until the first new worker proves them */
        int tls_fd; /* and their certificate */
        char reason[REASON_MAX];
    } reload;
    struct {
        char plugin[PLUGIN_NAME];
        int64_t at_us;
    } crashes[CRASHES_KEPT];
    size_t n_crashes;
    struct quarantined quarantine[QUARANTINE_MAX]; /* as in the data folder */
    size_t n_quarantine;
    struct client clients[CLIENTS_MAX];
};

/* proc.c */
struct proc *proc_start(struct supervisor *s, struct seat *seat); /* NULL: could not be started, was logged */
void proc_ask_to_end(struct supervisor *s, struct proc *p);
/* Reads what it says. 1 when it just became ready, 0 else. */
int proc_listen(struct supervisor *s, struct proc *p);
/* Its reason from "failed: reason", or a text made from the exit status. */
void proc_reason(const struct proc *p, int status, char out[REASON_MAX]);
const char *proc_name(const struct proc *p, char out[24]); /* "web 0" */
void proc_free(struct supervisor *s, struct proc *p);
/* Ends workers that hang or were given time enough. */
void proc_watch(struct supervisor *s, int64_t now);

/* blame.c */
void blame_crash(struct supervisor *s, const struct proc *p, int status);
bool quarantine_release(struct supervisor *s, const char *plugin);
void quarantine_load(struct supervisor *s); /* at start */

/* reload.c */
/* False and the reason when it can't even begin. */
bool reload_begin(struct supervisor *s);
void reload_ready(struct supervisor *s, struct proc *p);
void reload_died(struct supervisor *s, struct proc *p, int status);

/* control.c */
void control_accept(struct supervisor *s);
void control_read(struct supervisor *s, struct client *c);
void control_reload_done(struct supervisor *s, bool good, const char *text);
void control_stop(struct supervisor *s);

/* supervisor.c */
/* How long to wait before a process is started again, in us; delay is the last such wait. At once the first time; then 0.1 s, doubled
 * up to 30 s, as long as each end comes within 5 s of the start. A process that somebody killed was not the cause: when it served it
 * waits no longer than 0.1 s, before that 0.4 s at most (memory that it asked for may have been the reason, but clients wait). */
int64_t restart_delay(int64_t delay, int64_t started, int64_t now, bool killed, bool served);
void supervisor_stop(struct supervisor *s);

#endif
