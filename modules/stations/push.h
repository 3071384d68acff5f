/* push.h - signals to station applications by a push service, inside of the module stations
 * (spec 04 section 9.2).
 *
 * push.c queues a signal in the transaction of its cause; push_engine.c, a resident, sends what
 * is due and notes what became of it; push_driver.c knows the services, push_token.c how Google
 * is told who asks. Keys, tokens and the service account are in no row, no log line and no
 * answer: what is noted of a failure is a status and a word of the service. */
#ifndef PUSH_H
#define PUSH_H

#include "printing.h"

extern const wharf_crypto_api *print_crypto;

/* ---- push.c ---- */

/* Returns a text of the table stations.push ("fcm.endpoint"). */
wharf_str push_setting(const char *name, const char *fallback);

/* ---- push_token.c ---- */

struct push_token { /* of FCM, kept until shortly before its end */
    char *bearer, *project;
    int64_t until_us;
    char *request; /* not NULL: an exchange runs */
};
/* Tells what is wrong with the service account's file; NULL: nothing. */
const char *push_account_problem(wharf_req *req);
/* Starts asking for a token, by a fetch whose tag is t. False: the file can't be used. */
bool push_token_ask(wharf_req *req, struct push_token *t);
/* Takes the answer. False: none was given, and *ret_why is a word for it. */
bool push_token_take(
    wharf_req *req, const wharf_fetch *f, struct push_token *t, const char **ret_why);
void push_token_drop(struct push_token *t);

/* ---- push_driver.c ---- */

struct push { /* one delivery that is being made */
    struct push *next;
    char organization[48], id[48], station[48], job[48], type[32], driver[16];
    char *device_token, *body; /* the body lives until the fetch is over */
    int64_t seq, attempts, at_us, first_us, ttl;
    int64_t token_until_us; /* of the token it was sent with */
    bool renewed; /* another token was asked for because of it */
};
enum push_end { PUSH_DELIVERED, PUSH_DEAD, PUSH_AGAIN, PUSH_RENEW, PUSH_FAILED };
struct push_outcome {
    enum push_end end;
    uint32_t status; /* of HTTP; 0: no answer */
    const char *error; /* NULL: none */
    int64_t later_ms; /* what the service asks to wait; 0: nothing */
};
/* Sends a push; bearer: of FCM. Sets p->body. */
wharf_status push_send(
    wharf_req *req, struct push *p, const struct push_token *t, wharf_fetch **ret_fetch);
struct push_outcome push_judge(wharf_req *req, const struct push *p, const wharf_fetch *f);

void *push_need(void *memory); /* that there is, or the process ends */

#endif
