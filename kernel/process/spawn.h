/* spawn.h - fork and exec with everything a child of ours needs said in one place. */
#ifndef WHARF_PROCESS_SPAWN_H
#define WHARF_PROCESS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn {
    const char *const *argv; /* argv[0] is the file to execute, with its path; NULL-terminated */
    const char *const *env; /* NULL: our own */
    const char *dir; /* working directory, or NULL */
    int in, out, err; /* descriptors for 0, 1, 2; -1: /dev/null for in, our own for the others */
    const int *keep; /* descriptors the child inherits under the same number */
    size_t n_keep;
    bool as_user; /* become uid and gid (only root can) */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* NULL: gid alone */
    size_t n_groups;
    int death_signal; /* sent to the child when this process dies; 0: none */
    bool short_turns; /* of the processor: somebody waits for what it does (util/turns.h) */
    bool own_session; /* keep the terminal's signals away */
};

/* Starts a process. Returns the child's pid, or -1 with errno; also -1, with the child's errno,
 * when the exec failed. Signal handlers and mask of the child are the defaults. */
pid_t spawn(const struct spawn *s);
/* Starts a process and waits for its end. Returns the exit status as waitpid tells it, or -1. */
int spawn_wait(const struct spawn *s);

#endif
