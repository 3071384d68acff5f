/* supervisor.h - the small process that owns sockets and workers (docs/reference/plugin-abi.md
 * section 11).
 *
 * Starts workers by fork and exec, restarts them, reloads, notices hangs, names the plugin a
 * crash is due to and leaves it out when it crashes too often. Loads no plugin and opens no
 * database connection. */
#ifndef WHARF_SUPERVISOR_SUPERVISOR_H
#define WHARF_SUPERVISOR_SUPERVISOR_H

#include "process/user.h"

struct cluster;

struct supervisor_start {
    struct config *config; /* the supervisor frees it */
    /* or NULL; with the sets: how workers, and each reload, read the settings */
    const char *config_file;
    const struct config_override *sets;
    size_t n_sets;
    size_t n_given; /* of them, those that the operator wrote; the others are the server's */
    const struct server_user *user; /* of workers */
    int config_fd; /* text of config for ready_argv, or -1 */
    int sets_fd; /* the sets, for those processes that are started (config_keep_sets()) */
    const int *listen_fds; /* one per web worker */
    size_t n_web;
    int tls_fd; /* tls_open() of config, or -1; the supervisor closes it */
    int admin_fd; /* for the job worker, or -1 */
    int control_fd; /* listening control socket of the data folder */
    struct cluster *cluster; /* embedded database to revive, or NULL */
    const char *database; /* its connection string; "" when the settings name the database */
    const char *const *ready_argv; /* run once when all workers are ready, or NULL */
    bool hangup_stops; /* a terminal that closes ends the server instead of reloading it */
};

/* Serves until told to stop. 0: stopped as asked; 2: the first worker could not start (its
 * reason was logged). */
int supervisor_run(const struct supervisor_start *start);

#endif
