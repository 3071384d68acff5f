/* datadir.h - the data folder: made, locked for one server, and the control socket in it. */
#ifndef WHARF_SUPERVISOR_DATADIR_H
#define WHARF_SUPERVISOR_DATADIR_H

#include "util/arena.h"

/* Makes the folder (and its parents) when missing. Others may pass through it, not list it. */
bool datadir_make(const char *dir, struct arena *a, wharf_str *ret_error);
/* Takes the folder for this process until it ends. -1 and a message naming the process that has
 * it. */
int datadir_lock(const char *dir, struct arena *a, wharf_str *ret_error);
/* Opens the supervisor's control socket, listening; replaces one left by a dead supervisor.
 * Returns -1 and a message on failure. */
int datadir_control_listen(const char *dir, struct arena *a, wharf_str *ret_error);
/* Connects to it: -1 and a message when no server runs there. */
int datadir_control_connect(const char *dir, struct arena *a, wharf_str *ret_error);

#endif
