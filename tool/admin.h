/* admin.h - what can only be done from the machine: the first organization and the first keys
 * (docs/spec/01-platform.md section 5).
 *
 * Writes the tables of module org by itself, in one transaction per call, with a change-log row
 * each. Needs no server. */
#ifndef WHARF_TOOL_ADMIN_H
#define WHARF_TOOL_ADMIN_H

#include <libpq-fe.h>

#include "config/config.h"
#include "util/id.h"

struct admin_org {
    const char *name;
    const char *owner_name, *owner_email; /* the first user, role owner; both NULL: none */
};

struct admin_key {
    const char *organization_id; /* the live organization, also for a test key */
    const char *name; /* or NULL */
    const char *scopes; /* "all", or "items:read,shipments:write" */
    const char *locations; /* comma list: the key reaches these only; NULL: all */
    const char *user_id; /* the key acts for this user; or NULL */
    bool test; /* binds to the test twin, which is made with the first such key */
    bool system; /* holds the scope system too, which no role has */
};

/* Creates an organization; its id is in ret_id. */
bool admin_org_create(PGconn *conn, const struct admin_org *org, char ret_id[ID_MAX],
    struct arena *a, wharf_str *ret_error);
/* Creates a key and returns its text, to be shown once. The areas of the settings' modules belong
 * to "all". */
bool admin_key_create(PGconn *conn, const struct config *config, const struct admin_key *key,
    wharf_str *ret_text, struct arena *a, wharf_str *ret_error);
/* Tells whether this key's text is known, unrevoked and not expired. Its organization is in
 * ret_id. */
bool admin_key_works(
    PGconn *conn, const struct config *config, const char *text, char ret_organization[ID_MAX]);

#endif
