/* events.h - inside of the module events. */
#ifndef EVENTS_H
#define EVENTS_H

#include <string.h>

#include "wharf/plugin.h"
#include "wharf/service/events.h"
#include "wharf/service/keys.h"
#include "wharf/service/token.h"

#include "wharf/ext/org.h"
#include "wharf/service/config.h"
#include "wharf/service/mail.h"

enum {
    TOKEN_SECONDS = 60, /* of the stream */
    SUBSCRIBERS_MAX = 20, /* of an organization */
    VERIFY_HOURS = 72, /* the link that verifies an address is good */
    PENDING_DAYS = 30, /* a subscriber who never verifies is deleted then */
    RESENDS_A_DAY = 5, /* of that mail */
    REFUSALS_MAX = 3, /* refusals in a row, then an address counts as bounced */
    UNSUBSCRIBE_DAYS = 365, /* the link that ends mails is good */
};
#define TOKEN_KIND       "stream"
#define VERIFY_KIND      "verify"
#define UNSUBSCRIBE_KIND "unsubscribe"

#define W events_host
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/inline.h"
extern const wharf_events_api *events_api;
extern const wharf_token_api *events_tokens;
extern const wharf_keys_api *events_keys;
extern const wharf_mail_api *events_mail;
extern const wharf_config_api *events_config;
extern const wharf_org_directory_api *events_org;
extern wharf_plugin *events_self;

extern const wharf_hooks subscriber_hooks;

/* verify.c: pages behind links; the job that sends the mail with the first of them. Arguments
 * {"subscriber": id} */
wharf_handler verify_page, verify_done, unsubscribe_page, unsubscribe_done, verify_send;
/* Runs the step of alerts (alerts.c). alerts_send is the job of one line of alerts ({"address",
 * "resource", "type"}); subscribers_tidy forgets what is over. */
wharf_status alerts_step(
    wharf_req *req, const wharf_event *const *list, size_t n, uint8_t *outcomes, void *arg);
wharf_handler alerts_send, subscribers_tidy;
/* Notes that the mail server refused the subscriber's address for good (true), or took a mail for
 * it. */
wharf_status subscriber_answered(wharf_req *req, wharf_str id, bool refused);

#endif
