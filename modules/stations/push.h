/* push.h - signals to station applications by a push service, inside of the module stations
 * (spec 04 section 9.2).
 *
 * push.c queues a signal in the transaction of its cause; push_engine.c, a resident, sends what
 * is due and notes what became of it; FCM is the server's service wharf.push, push_driver.c knows
 * the other services. Keys and tokens are in no row, no log line and no
 * answer: what is noted of a failure is a status and a word of the service.
 */
#ifndef PUSH_H
#define PUSH_H

#include "printing.h"
#include "wharf/service/push.h"

extern const wharf_crypto_api *print_crypto;
extern const wharf_push_api *print_push;

/* ---- push.c ---- */

/* Returns a text of the table stations.push ("fcm.endpoint"). */
wharf_str push_setting(const char *name, const char *fallback);
/* Returns the account of FCM as the settings name it. */
wharf_push_account push_account(void);

/* ---- push_driver.c ---- */

struct push { /* one delivery that is being made */
    char organization[48], id[48], station[48], job[48], type[32], driver[16];
    char *device_token, *body; /* the body lives until the fetch is over */
    int64_t seq, attempts, at_us, first_us, ttl;
};
enum push_end { PUSH_DELIVERED, PUSH_DEAD, PUSH_AGAIN, PUSH_FAILED };
struct push_outcome {
    enum push_end end;
    uint32_t status; /* of HTTP; 0: no answer */
    const char *error; /* NULL: none */
    int64_t later_ms; /* what the service asks to wait; 0: nothing */
};
/* Returns the payload of section 9.1 as texts, for FCM: their number. */
enum { PUSH_TEXTS = 5 };
size_t push_texts(wharf_req *req, const struct push *p, wharf_str names[PUSH_TEXTS],
    wharf_str values[PUSH_TEXTS]);
/* Sends a push by Pushy or the webhook. Sets p->body. */
wharf_status push_send(wharf_req *req, struct push *p, wharf_fetch **ret_fetch);
struct push_outcome push_judge(wharf_req *req, const struct push *p, const wharf_fetch *f);

void *push_need(void *memory); /* that there is, or the process ends */

#endif
