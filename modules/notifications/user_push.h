/* user_push.h - users are told by push, inside of the module notifications (spec 07 section
 * 16.2).
 *
 * user_step.c finds who is told of an event; what is not sent yet stands in notifications.push;
 * push_send.c, a resident, sends it by the server's service wharf.push; push_devices.c are the
 * browsers of users. Keys, tokens and endpoints are in no log line and no answer. */
#ifndef USER_PUSH_H
#define USER_PUSH_H

#include "notifications.h"
#include "wharf/service/cron.h"
#include "wharf/service/fetch.h"
#include "wharf/service/push.h"

extern const wharf_cron_api *push_cron;
extern const wharf_fetch_api *push_fetch;
extern const wharf_push_api *push_service;

/* Tells whether the settings have an account of FCM: without one phones are no addresses. */
bool push_phones(void);
/* Returns the account that the settings name. */
wharf_push_account user_push_account(void);

/* ---- user_step.c ---- */

wharf_status user_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);

/* ---- user_quiet.c ---- */

/* Returns when a user with these hours (or NULL) may be told: now, or the end of the hours that
 * now is in, by the user's own clock. */
int64_t quiet_end(const wharf_json *hours, int64_t now_us);

/* ---- user_words.c ---- */

struct words {
    wharf_str language, title, body;
};
/* Keeps the words of all languages. */
wharf_status words_start(wharf_req *req);
/* Returns what a user is told of an event of this type, in their language where it is known. */
struct words told_words(wharf_req *req, wharf_str type, wharf_str language);

/* ---- push_send.c ---- */

wharf_status user_push_run(wharf_req *req, void *arg); /* the resident that sends */

/* ---- push_devices.c ---- */

wharf_status push_subscribe(wharf_req *req, void *arg);
wharf_status push_unsubscribe(wharf_req *req, void *arg);
wharf_status push_key(wharf_req *req, void *arg);
/* Keeps the number of a user's addresses to what it may be, after their row was written. */
extern const wharf_hooks push_user_hooks;
extern const wharf_hooks push_subscription_hooks;

#endif
