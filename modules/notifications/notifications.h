/* notifications.h - inside of the module notifications.
 *
 * A half for customers (customer_*.c: mail) and a half for users (user_*.c, push_*.c) share the
 * table and what stands in notification_*.c. */
#ifndef NOTIFICATIONS_H
#define NOTIFICATIONS_H

#include <string.h>

#include "wharf/ext/org.h"
#include "wharf/plugin.h"
#include "wharf/service/config.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/keys.h"
#include "wharf/service/mail.h"
#include "wharf/service/metrics.h"
#include "wharf/service/token.h"

enum {
    GIVE_UP_HOURS = 24, /* what was not reached for so long has failed */
};

#define W notifications_host
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/inline.h"
extern const wharf_config_api *notifications_config;
extern const wharf_crypto_api *notifications_crypto;
extern const wharf_events_api *notifications_events;
extern const wharf_keys_api *notifications_keys;
extern const wharf_mail_api *notifications_mail;
extern const wharf_metrics_api *notifications_metrics;
extern const wharf_token_api *notifications_token;
extern const wharf_org_directory_api *notifications_org;
extern wharf_plugin *notifications_self;

/* ---- notification_rows.c: the rows of both kinds ---- */

/* A row that is made in the step of an event. Empty texts are null. */
struct notification {
    const wharf_event *event;
    const char *kind, *channel; /* "user" and "push", or "customer" and "mail" */
    wharf_str person; /* a user's or a contact's id, as kind says */
    wharf_str occasion, address, language;
    const char *status, *reason; /* reason: NULL for none */
    int64_t next_attempt_us; /* of one that waits */
};

/* Writes the row. *ret_id: its id, empty when this person was told of this event before. One that
 * is made as failed is told by notification.failed. */
wharf_status notification_add(wharf_req *req, const struct notification *n, wharf_str *ret_id);
/* Ends one that waits: status "sent", "failed" or "skipped", with its event and its count. Of one
 * that does not wait any more nothing is changed and nothing told. In the caller's transaction. */
wharf_status notification_end(
    wharf_req *req, wharf_str id, const char *status, const char *reason /* or NULL */);
/* Notes that one is tried once more, and, with next_us, not before then. */
wharf_status notification_tried(wharf_req *req, wharf_str id, int64_t next_us);

/* ---- notification_module.c ---- */

/* Copies a text for as long as the module is loaded. */
wharf_str notification_keep(wharf_str text);

/* ---- notification_routes.c ---- */

wharf_handler notification_resend, notification_tidy;

/* Puts the rows of a person that wait into the queue of their half again: POST .../resend has made
 * one. */
wharf_status customer_queue(wharf_req *req, wharf_str contact_id, int64_t run_at_us);
wharf_status user_queue(wharf_req *req, wharf_str user_id, int64_t run_at_us);

/* ---- what each half declares and starts ---- */

void customers_declare(wharf_decl *d, const wharf_decl_api *api);
wharf_status customers_start(wharf_plugin *self, wharf_req *req);
void users_declare(wharf_decl *d, const wharf_decl_api *api);
wharf_status users_start(wharf_plugin *self, wharf_req *req);

#endif
