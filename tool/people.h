/* people.h - users and keys from the machine: listing, disabling, revoking, limits
 * (docs/spec/01-platform.md sections 5 and 6).
 *
 * Writes the tables of module org by itself, in one transaction per call, with a change-log row
 * each; running servers hear of it at once. Needs no server. Making organizations and keys:
 * admin.h. */
#ifndef WHARF_TOOL_PEOPLE_H
#define WHARF_TOOL_PEOPLE_H

#include <libpq-fe.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/id.h"

struct people_user {
    const char *organization_id, *name, *email;
    const char *role; /* a built-in role or the id of a custom one */
};

/* Creates a user; its id is in ret_id. */
bool people_user_create(PGconn *conn, const struct people_user *user, char ret_id[ID_MAX],
    struct arena *a, wharf_str *ret_error);
/* Writes one line for each user: id, status, role, email, name. */
bool people_user_list(PGconn *conn, const char *organization_id, struct buf *out, struct arena *a,
    wharf_str *ret_error);
/* Ends all that the user's keys may; the organization's last active owner stays. */
bool people_user_disable(PGconn *conn, const char *user_id, struct arena *a, wharf_str *ret_error);
/* Writes one line for each key: id, mode, status, last four characters, when used last, limits of
 * its own, name.
 * Never the text. */
bool people_key_list(PGconn *conn, const char *organization_id, struct buf *out, struct arena *a,
    wharf_str *ret_error);
bool people_key_revoke(PGconn *conn, const char *key_id, struct arena *a, wharf_str *ret_error);

struct people_limit {
    bool organization; /* else a key */
    const char *id;
    const char *limits; /* JSON: {"rate": 10, …}, as the column `limits` has it */
    bool anew; /* what it had before goes */
};
/* Gives an organization or a key limits of its own; others of its limits stay. */
bool people_limit(
    PGconn *conn, const struct people_limit *limit, struct arena *a, wharf_str *ret_error);

#endif
