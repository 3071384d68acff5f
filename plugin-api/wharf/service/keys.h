/* wharf/service/keys.h - API keys and who asks: service "wharf.keys", version 1.0.
 *
 * Rules: docs/spec/01-platform.md sections 5 to 7. The rows of keys are those of the module org;
 * this service has what only the server knows: the text of a new key, which areas there are,
 * what the caller may do. Rules of this header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_KEYS_H
#define WHARF_SERVICE_KEYS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sender of a request. Made by the server; lives as long as the request. */
typedef struct wharf_caller {
    wharf_head head;
    /* whose keys, users, devices and roles these are; of a live key its organization */
    wharf_str live_organization;
    wharf_str key_id;                    /* empty in jobs */
    wharf_str role; /* of the user the key acts for: a built-in role or an id; empty: no user */
    wharf_str user_id, device_id;        /* at most one is not empty */
    const wharf_str *locations;          /* what it reaches when not all, in byte order */
    size_t n_locations;
    bool all_locations;
    bool test_mode;
    /* Objects of the organization whose data it works on, as fresh as the key itself (section 5);
     * NULL in jobs, which may run for long, and where nobody's key asks: then its row tells. */
    const wharf_json *settings, *profile;
} wharf_caller;

enum wharf_scope_level { WHARF_LEVEL_NONE = 0, WHARF_LEVEL_READ = 1, WHARF_LEVEL_WRITE = 2 };

typedef struct wharf_keys_api {
    wharf_head head;
    const wharf_caller *(*caller)(wharf_req *req);
    /* The areas a key may hold, in byte order; loaded modules' and those of modules that are not
     * loaded. Without system, which only keys made on the machine hold. */
    size_t (*areas)(wharf_req *req, const wharf_str **ret_areas);
    /* WHARF_LEVEL_* of the caller; none for an unknown area */
    uint32_t (*level)(wharf_req *req, wharf_str area);
    /* WHARF_LEVEL_* of a built-in role. False: there is no built-in role of this name. */
    bool (*role_level)(wharf_req *req, wharf_str role, wharf_str area, uint32_t *ret_level);
    /* The text of a new key, to be shown this once, and its last four characters. Its hash is
     * kept for the row key_id of the live organization, which the caller writes in the same
     * transaction. */
    wharf_status (*issue)(
        wharf_req *req, wharf_str key_id, bool test, wharf_str *ret_text, wharf_str *ret_last4);
    /* The organization whose data keys of test mode work on; made when it is not there yet. */
    wharf_status (*test_organization)(wharf_req *req, wharf_str *ret_id);
    /* ret_known[i]: is there a location ids[i] in the data that keys of this mode work on? */
    wharf_status (*known_locations)(
        wharf_req *req, bool test, const wharf_str *ids, size_t n, bool *ret_known);
    /* Up to 100 locations of the data of this mode that the caller does not reach, in byte
     * order. */
    wharf_status (*other_locations)(
        wharf_req *req, bool test, const wharf_str **ret_ids, size_t *ret_n);
    /* "192.0.2.1", "192.0.2.0/24", "2001:db8::/32" */
    bool (*network)(wharf_str text);
    bool (*tenants)(wharf_req *req); /* may requests make organizations (tenants.enabled)? */
    /* Runs fn in the request's transaction as the installation's own hand: the actor is sys,
     * with every scope and location of that live organization, which need not be there yet. For
     * making and ending organizations; nothing of the caller's counts inside. */
    wharf_status (*as_installation)(
        wharf_req *req, wharf_str organization, wharf_handler *fn, void *arg);
} wharf_keys_api;

#ifdef __cplusplus
}
#endif
#endif
