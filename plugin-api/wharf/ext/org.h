/* wharf/ext/org.h - services of the module org: who the users are, and the organization's settings.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction.
 */
#ifndef WHARF_EXT_ORG_H
#define WHARF_EXT_ORG_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says why phone() refuses a text; stands behind the name of its field. */
#define WHARF_PHONE_WRONG "must be a phone number that a country can have, such as +14155552671"

enum wharf_user_flag {
    WHARF_USER_KNOWN = 1, /* there is such a user, not deleted */
    WHARF_USER_ACTIVE = 2, /* status is not disabled */
    /* reaches the location asked for (spec 01 section 7); set for all when none was asked for */
    WHARF_USER_LOCATION = 4
};

/* Service "org.directory", version 1.4. */
typedef struct wharf_org_directory_api {
    wharf_head head;
    /* ret_flags[i]: WHARF_USER_* of ids[i]; one query for all. location_id may be empty. */
    wharf_status (*users)(
        wharf_req *req, const wharf_str *ids, size_t n, wharf_str location_id, uint32_t *ret_flags);
    /* Lets a user or device that is limited to locations reach new ones, which nobody has yet;
     * others are left as they are. */
    wharf_status (*grant)(
        wharf_req *req, wharf_str principal_id, const wharf_str *location_ids, size_t n);
    /* A boolean of the organization's settings by its dotted path ("layouts.locked"); fallback
     * when it is not set. */
    wharf_status (*setting)(wharf_req *req, const char *path, bool fallback, bool *ret_value);
    /* The organization's country, ISO 3166-1 alpha-2; "US" when its address names none. */
    wharf_status (*country)(wharf_req *req, wharf_str *ret_code);
    /* The locations that a user or device reaches; ret_all: every one. Nobody of this id: none. */
    wharf_status (*locations)(wharf_req *req, wharf_str principal_id, bool *ret_all,
        const wharf_str **ret_ids, size_t *ret_n);
    /* 1.1 */
    /* Any value of the organization's settings by its dotted path; NULL in *ret_value when it is
     * not set. */
    wharf_status (*setting_json)(wharf_req *req, const char *path, const wharf_json **ret_value);
    /* Contact data as every module takes it (docs/spec/02-places-and-people.md section 4).
     * email: one '@', a local part of up to 64 bytes, a domain with a dot, no white space. */
    bool (*email)(wharf_str text);
    /* A phone as it is kept: "+14155552671", or 7 to 15 digits when nobody can say of which
     * country, with ";ext=12" behind it when there is an extension. False: no phone. */
    bool (*phone)(wharf_req *req, wharf_str text, wharf_str *ret_phone);
    /* The active users with the role owner, in the order in which they came; ret_emails[i]
     * belongs to ret_ids[i]. */
    wharf_status (*owners)(
        wharf_req *req, const wharf_str **ret_ids, const wharf_str **ret_emails, size_t *ret_n);
    /* The addresses of settings.notifications.administrators; the owners' when none are set. */
    wharf_status (*administrators)(wharf_req *req, const wharf_str **ret_emails, size_t *ret_n);
    /* 1.2 */
    /* The addresses of the active users whose notification_events have the type. */
    wharf_status (*listeners)(
        wharf_req *req, wharf_str type, const wharf_str **ret_emails, size_t *ret_n);
    /* 1.3 */
    /* As phone(), for many of them: country is what country() told. Asks nothing. */
    bool (*phone_in)(wharf_req *req, wharf_str country, wharf_str text, wharf_str *ret_phone);
    /* 1.4 */
    /* A location is gone: users, devices and keys that are limited to it and others are limited
     * to the others. */
    wharf_status (*revoke)(wharf_req *req, wharf_str location_id);
} wharf_org_directory_api;

#ifdef __cplusplus
}
#endif
#endif
