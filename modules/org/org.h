/* org.h - inside of the module org. */
#ifndef ORG_H
#define ORG_H

#define W org_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* set once, before anything of this module runs */
#include "wharf/ext/org.h"
#include "wharf/inline.h"
#include "wharf/service/cron.h"
#include "wharf/service/keys.h"

extern const wharf_keys_api *keys;
extern const wharf_cron_api *org_cron;
extern bool has_locations; /* the module locations is there */
extern const wharf_org_directory_api org_directory;
extern const wharf_hooks key_hooks, user_hooks, device_hooks, role_hooks, organization_hooks;

enum { KEYS_MAX = 1000, USERS_MAX = 10000, DEVICES_MAX = 10000 }; /* spec 01 section 19 */

/* ---- org_keys.c ---- */

/* Makes a key whose grants the caller need not have: the body names what another row of ours has
 * already. ret_rec: or NULL. */
wharf_status keys_make(wharf_req *req, const wharf_json *body, bool system,
    const wharf_rec **ret_rec, wharf_str *ret_text);
/* Writes a new key as it is shown, with its text behind the name. */
wharf_status keys_show(
    wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec, wharf_str text);
/* Revokes what still works of the keys of a user or device ("user_id", "device_id" in column). */
wharf_status keys_revoke_all(wharf_req *req, bool of_device, wharf_str principal_id);
wharf_status keys_rotate(wharf_req *req, void *arg); /* POST /v1/api-keys/:id/rotate */
wharf_status keys_revoke(wharf_req *req, void *arg); /* DELETE /v1/api-keys/:id */
/* Fails with 409 code when the organization has its number of rows; sql counts them ($1
 * organization, $2 now). Writers wait for each other. */
wharf_status limit_rows(
    wharf_req *req, const char *space, const char *count_sql, int64_t max, const char *code);

/* ---- organization.c ---- */

wharf_status organization_make(wharf_req *req, void *arg); /* POST /v1/organizations */
/* Handles DELETE /v1/organizations/:organization. */
wharf_status organization_end(wharf_req *req, void *arg);

/* ---- org_members.c ---- */

wharf_status members_change(wharf_req *req, void *arg); /* POST /v1/locations/:location/users */
wharf_status members_add(wharf_req *req, void *arg); /* POST .../users/:user */
wharf_status members_remove(wharf_req *req, void *arg); /* DELETE .../users/:user */

/* ---- quiet_hours.c ---- */

/* Adds a problem when the hours that were sent are none. */
wharf_status quiet_hours_check(wharf_req *req, const wharf_rec *rec);

/* ---- scopes.c ---- */

/* Levels by area, as keys, devices and roles have them. */
struct scopes {
    const wharf_str *areas; /* in byte order; the last one is "*" */
    uint8_t *levels;
    size_t n;
};
struct scopes scopes_none(wharf_req *req);
/* Reads the scopes of a stored object; areas that are not known here any more are left out. stored
 * may be NULL. */
struct scopes scopes_of(wharf_req *req, const wharf_json *stored);
/* Reads scopes: an object of 0, 1, 2, "read", "write", null changes s, an array of area:read|write
 * replaces it. Anything else gives problems (validation.failed) at path. */
wharf_status scopes_read(
    wharf_req *req, const wharf_json *input, const char *path, struct scopes *s);
/* Makes {"area": level, ...}. */
wharf_status scopes_json(wharf_req *req, const struct scopes *s, const wharf_json **ret);
/* Fails with 403 scope_access with every scope of s above what the caller has and above what is
 * granted already (or NULL). */
wharf_status scopes_allowed(wharf_req *req, const struct scopes *s, const struct scopes *already);
/* Reads the scopes of a role, built in or not. *ret_found false: there is no such role. */
wharf_status scopes_of_role(wharf_req *req, wharf_str role, bool *ret_found, struct scopes *ret);
void scopes_meet(struct scopes *s, const struct scopes *with);
/* Returns the scopes that the caller has. */
struct scopes scopes_of_caller(wharf_req *req);
/* Puts ["area:write", ...]. */
void scopes_list(wharf_out *out, const char *key, const struct scopes *s, wharf_req *req);
/* Settles the object of the field that a request sent, as a whole: checks, refuses, and sets it.
 * Null and absent: does nothing. */
wharf_status scopes_settle(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec, wharf_field f, bool trusted);

/* ---- locations ---- */

/* Fails with 403 location_access with those of ids (not in already, a JSON array or NULL) that the
 * caller does not reach. */
wharf_status locations_allowed(wharf_req *req, const wharf_json *ids, const wharf_json *already);
/* Fails with 403 when the caller does not reach every location: nobody grants all of them who has
 * not all. */
wharf_status all_locations_allowed(wharf_req *req, bool test);

/* ---- reach.c: 403 location_access when somebody's access is more than the caller's ---- */

/* Judges whether the caller may grant this reach. all: of every location; else of these. */
wharf_status reach_allowed(wharf_req *req, bool all, const wharf_json *ids);
wharf_status reach_of_role(wharf_req *req, wharf_str role, bool *ret_everywhere);
/* Judges who may change a user (new_rec NULL: deleted). Users change themselves; a location's
 * users are changed by who reaches it. */
wharf_status reach_user(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec);
wharf_status reach_device(wharf_req *req, const wharf_rec *rec);
wharf_status reach_key(wharf_req *req, const wharf_rec *key);

/* ---- small helpers ---- */

static inline bool get_truth(const wharf_rec *rec, wharf_field f, bool fallback)
{
    wharf_val v;

    return W->res->get(rec, f, &v) ? v.u.i != 0 : fallback;
}
/* Tells whether the caller acts as an owner: owners, and the server itself, do. */
static inline bool acts_as_owner(wharf_req *req)
{
    const wharf_caller *who = keys->caller(req);

    return same(who->role, WHARF_S("owner")) || !who->key_id.n;
}

/* Judges the form of email and phone for the service (forms.c). */
bool email_form(wharf_str s);
bool phone_form(wharf_req *req, wharf_str s, wharf_str *ret);
/* Writes the standard form of a phone number of that country; asks no database. */
bool phone_form_in(wharf_req *req, wharf_str country, wharf_str s, wharf_str *ret);

#endif
