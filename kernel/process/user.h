/* user.h - the user that workers and cells run as when the server is started as root (setting
 * `user`). docs/guide/operation.md. */
#ifndef WHARF_PROCESS_USER_H
#define WHARF_PROCESS_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "config/config.h"
#include "util/arena.h"

enum { USER_GROUPS_MAX = 256 };

struct server_user {
    bool drops; /* processes become uid, gid and the groups; else they stay who the server is */
    uid_t uid;
    gid_t gid;
    gid_t groups[USER_GROUPS_MAX]; /* gid among them */
    int n_groups;
};

struct spawn;

/* Lets the child become the user; nothing when drops is false. */
void user_become(const struct server_user *u, struct spawn *child);
/* Finds the user of the settings. Returns false with a message when there is none of that name, or
 * when this process is not root and another user. */
bool user_find(
    const struct config *config, struct server_user *ret, struct arena *a, wharf_str *ret_error);
/* Makes the data folder writable for the user's group, and gives the user what workers write:
 * files, crash reports, logs, the file of master keys. To be called before any process of that
 * user runs. Does nothing when drops is false. */
bool user_take_places(const struct server_user *u, const struct config *config, struct arena *a,
    wharf_str *ret_error);
/* Makes the log files that workers open when they are not there, writable for the user's group. */
bool user_make_logs(const struct server_user *u, const struct config *config, struct arena *a,
    wharf_str *ret_error);

#endif
