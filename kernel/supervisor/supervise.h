/* supervise.h - the supervisor's state, shared by its parts. Private to kernel/supervisor/. */
#ifndef WHARF_SUPERVISOR_SUPERVISE_H
#define WHARF_SUPERVISOR_SUPERVISE_H

#include <poll.h>
#include <sys/types.h>

#include "process/board.h"
#include "process/quarantine.h"
#include "supervisor/supervisor.h"
#include "process/worker.h"

enum {
    JOB_WORKERS_MAX = 8, /* job workers */
    SEATS_MAX = 64 + JOB_WORKERS_MAX,
    PROCS_MAX = BOARD_WORKERS,
    CLIENTS_MAX = 16,
    CRASHES_KEPT = 256,
    PLUGIN_NAME = QUARANTINE_NAME,
    REASON_MAX = 600,
};

_Static_assert((int)SEATS_MAX == (int)BOARD_SEATS, "each place is told of");

/* Everything that all workers of a generation run with, whatever the files hold by now: each
 * worker that is started for it gets the same. */
struct generation {
    uint64_t number;
    struct config *config;
    int config_fd; /* text of the settings (config_keep()), or -1 */
    int tls_fd; /* tls_open() of the settings, or -1 */
    char quarantined[QUARANTINE_MAX * (QUARANTINE_NAME + 1)]; /* comma list of plugins left out */
};

/* Memory that a worker's threads have taken, by the pages that they touched first: it tells
 * which thread is to blame when the worker ends for its memory (greed.c). */
struct greed {
    int64_t used, at_us; /* bytes that the worker had at the last look */
    struct {
        int thread;
        uint64_t faults;
    } seen[BOARD_THREADS];
    uint64_t oom_kills; /* of the machine, at the last look */
    int64_t taken_us; /* 0, or when somebody was seen who took much: */
    int thread;
    char plugin[PLUGIN_NAME], what[BOARD_TEXT], request[32];
};

/* A worker process. Its index in the array is its slot on the board. */
struct proc {
    pid_t pid; /* 0: free */
    struct seat *seat;
    enum board_state state;
    uint64_t generation;
    int control_fd; /* read end, -1 after its end */
    int64_t started_us, kill_at_us; /* kill_at 0: not asked to end */
    int64_t abort_at_us; /* 0, or when a thread that hangs is made to write its report */
    bool asked; /* its end is our doing */
    bool hung; /* noticed by the watchdog, which noted: */
    bool over_memory; /* ended for it */
    int64_t looked_us; /* when its memory was looked at */
    struct greed greed;
    int hung_thread; /* its number for the system, or 0 */
    int64_t beat_us, ran_ns,
        /* when its last beat was seen: what its main thread had run, and waited for a processor */
        waited_ns;
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
    int64_t down_us; /* since when nobody serves here; 0: somebody does */
    int64_t replace_at_us; /* earliest time of the next try to replace `now`; 0: at once */
    unsigned tries; /* starts since then that failed */
    bool shut; /* its socket does not listen */
    bool replaced; /* `next` takes over from `now`, and there is no reload */
    char reason[BOARD_REASON]; /* of the last end */
};

struct client {
    int fd; /* -1: free */
    char text[256];
    size_t n;
    bool waits_for_reload;
};

struct supervisor {
    const struct supervisor_start *start;
    struct config *config; /* serving.config */
    struct generation serving;
    const struct config *first; /* as the operator wrote them when the server started */
    struct board *board;
    int board_fd, signal_fd;
    char exe[512];
    struct seat seats[SEATS_MAX];
    size_t n_seats;
    struct proc procs[PROCS_MAX];
    uint64_t generation; /* number of the last one that was begun */
    bool stopping, ready_reported;
    int exit_code;
    pid_t ready_pid;
    int64_t tick_us, cluster_at_us, cluster_started_us, cluster_delay_us;
    struct {
        bool active, again, again_reads;
        bool reads; /* the settings anew; else those that serve, with another quarantine */
        size_t seat;
        unsigned tries;
        /* until the first new worker proves it; config NULL: there is none */
        struct generation coming;
        char restart[256]; /* settings that need a restart */
        char reason[REASON_MAX];
    } reload;
    struct {
        char plugin[PLUGIN_NAME];
        int64_t at_us;
        bool hang;
    } crashes[CRASHES_KEPT];
    size_t n_crashes;
    struct quarantined quarantine[QUARANTINE_MAX]; /* as in the data folder */
    size_t n_quarantine;
    struct client clients[CLIENTS_MAX];
};

/* proc.c */
/* Starts a worker of that generation. Returns NULL when it could not be started, which was
 * logged. */
struct proc *proc_start(struct supervisor *s, struct seat *seat, const struct generation *g);
void proc_ask_to_end(struct supervisor *s, struct proc *p);
/* Reads what it says. 1 when it just became ready, 0 else. */
int proc_listen(struct supervisor *s, struct proc *p);
/* Writes its reason from "failed: reason", or a text made from the exit status. */
void proc_reason(const struct proc *p, int status, char out[REASON_MAX]);
const char *proc_name(const struct proc *p, char out[24]); /* "web 0" */
void proc_free(struct supervisor *s, struct proc *p);
/* Looks at who takes much memory in a process (greed.c). */
void greed_look(struct supervisor *s, struct proc *p, int64_t used, int64_t now);
/* Tells whether the system's own end of those who have too much memory met a process since the
 * last look. */
bool greed_was_killed(const struct proc *p);
/* Returns the thread that took much lately, or 0 when nobody was seen. */
int greed_thread(const struct proc *p, int64_t now);

/* Replaces workers that hang or grow, and ends those that were given time enough (watch.c). */
void proc_watch(struct supervisor *s, int64_t now);

/* Writes the name of a seat (seat.c). */
const char *seat_name(const struct seat *seat, char out[24]); /* "web 0" */
bool seat_serves(const struct seat *seat);
void seat_start(struct supervisor *s, struct seat *seat);
/* Notes that the seat's worker is ready: the socket listens, and everybody may know. */
void seat_up(struct supervisor *s, struct seat *seat);
/* Notes that the seat's worker ended unasked, and plans the next start. */
void seat_down(struct supervisor *s, struct seat *seat, const struct proc *p, int status);
/* Starts what is due, and closes sockets that nobody takes connections from. */
void seats_watch(struct supervisor *s, int64_t now);
/* Starts a successor of a worker that should end, which is drained when that one is ready.
 * False: not now, ask again. */
bool seat_replace(struct supervisor *s, struct seat *seat);
void seat_replaced(struct supervisor *s, struct seat *seat); /* the successor is ready */
/* Notes that the successor of a seat's worker ended instead of taking over. */
void seat_not_replaced(struct supervisor *s, struct seat *seat, const char *reason);

/* Finds out whom to blame for a crash (blame.c). */
void blame_crash(struct supervisor *s, const struct proc *p, int status);
/* Blames the plugin in which a thread of p hangs, as p says. */
void blame_hang(struct supervisor *s, const struct proc *p);
bool quarantine_release(struct supervisor *s, const char *plugin);
void quarantine_load(struct supervisor *s); /* at start */

/* reload.c */
/* Begins a reload. reads: the settings are read anew; else it begins a generation with those that
 * serve and the quarantine of now. Returns false when it can't even begin. */
bool reload_begin(struct supervisor *s, bool reads);
void generation_quarantine(const struct supervisor *s, struct generation *g); /* as it is now */
void reload_ready(struct supervisor *s, struct proc *p);
void reload_died(struct supervisor *s, struct proc *p, int status);

/* Handles clients of the control socket (control.c). */
void control_accept(struct supervisor *s);
void control_read(struct supervisor *s, struct client *c);
void control_reload_done(struct supervisor *s, bool good, const char *text);
void control_stop(struct supervisor *s);

/* supervisor.c */
/* Returns how long to wait before a process is started again, in us; delay is the last such wait.
 * None for one that ran for 5 s or more; else 0.1 s, doubled up to 30 s with each quick end. A
 * process that somebody killed was not the cause: when it served it waits no longer than 0.1 s,
 * before that 0.4 s at most (memory that it asked for may have been the reason, but clients
 * wait). */
int64_t restart_delay(int64_t delay, int64_t started, int64_t now, bool killed, bool served);
/* Returns the wait after a start that failed: 0.1 s, doubled up to 30 s, however long it took to
 * fail. */
int64_t retry_delay(int64_t delay);
void supervisor_stop(struct supervisor *s);

#endif
