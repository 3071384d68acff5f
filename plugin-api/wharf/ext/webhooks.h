/* wharf/ext/webhooks.h - service of the module webhooks: who wants which event, and requests to
 * receivers, as webhooks have them (docs/spec/07-events-and-webhooks.md sections 5, 7 and 9).
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Lists are
 * values as the API takes and shows them. */
#ifndef WHARF_EXT_WEBHOOKS_H
#define WHARF_EXT_WEBHOOKS_H

#include "wharf/plugin.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "webhooks.rules", version 1.1. path: of the field, for problems. */
typedef struct wharf_webhooks_rules_api {
    wharf_head head;
    /* Checks event types as a client sent them. Problems: webhook.event_unknown,
     * location_access, validation.failed, webhook.filter_invalid, webhook.header_invalid,
     * webhook.url, webhook.hostname, webhook.protocol. The lists that come back have nothing
     * twice. */
    wharf_status (*events)(
        wharf_req *req, const wharf_json *list, const char *path, const wharf_json **ret_list);
    wharf_status (*locations)(wharf_req *req, const wharf_json *list /* NULL: all */,
        const char *path, const wharf_json **ret_list /* or NULL */);
    wharf_status (*filter)(wharf_req *req, const wharf_json *conditions, const char *path);
    /* Values are write-only: *ret_shown has *** for each, *ret_values is the text to be sealed,
     * empty without any. before: that text as it was, from which a value sent as *** is taken. */
    wharf_status (*headers)(wharf_req *req, const wharf_json *given, wharf_str before,
        const char *path, const wharf_json **ret_shown, wharf_str *ret_values);
    wharf_status (*url)(wharf_req *req, wharf_str url, const char *path);
    /* A key of some locations changes what is of these only: location_access. list: as kept,
     * NULL: all. */
    wharf_status (*reach)(wharf_req *req, const wharf_json *list);

    /* Does the event concern who asked for these? locations and filter may be NULL. */
    wharf_status (*wanted)(wharf_req *req, const wharf_event *e, const wharf_json *events,
        const wharf_json *locations, const wharf_json *filter, bool *ret_wanted);

    /* Reads a finished fetch that was started with WHARF_FETCH_ANY_STATUS: {status, headers,
     * body, body_encoding, body_truncated} and {code, message}, NULL without an answer or an
     * error. Any 2xx is no error. wait_ms: how long a 429, 502, 503 or 504 asks to wait; 0:
     * nothing. */
    wharf_status (*answer)(wharf_req *req, const wharf_fetch *f, const wharf_json **ret_response,
        const wharf_json **ret_error, int64_t *ret_wait_ms);
    /* The wait after a failed attempt that was number `retries` from 0 on, of a retry_mode;
     * random: 0 up to 1. False: that was the last. [any] */
    bool (*retry_wait)(const char *mode, uint32_t retries, double random, int64_t *ret_ms);

    /* Since 1.1. Whose rights a subscription to these events has from now on: *ret_key is the
     * caller's key, to be kept, or null for the installation itself. Its read scopes must cover
     * the events: scope_access. For a subscription that is made, and each time that its events,
     * its locations, its URL or what is sent change. What is kept goes to events->readers(). */
    wharf_status (*owner)(wharf_req *req, const wharf_json *events, wharf_val *ret_key);
} wharf_webhooks_rules_api;

#ifdef __cplusplus
}
#endif
#endif
