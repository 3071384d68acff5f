/* pusher.h - what a pusher is made of, inside of services/push (plugin-api/wharf/service/push.h).
 *
 * host_push.c keeps the messages; fcm_account.c gets tokens, fcm.c and web.c know one service
 * each. Keys, tokens and the account are in no log line and no result. */
#ifndef WHARF_PUSH_PUSHER_H
#define WHARF_PUSH_PUSHER_H

#include "resource/engine.h"
#include "wharf/service/push.h"

struct fcm_token { /* kept until shortly before its end */
    char *bearer, *project;
    int64_t until_us;
    wharf_fetch *exchange; /* not NULL: one runs */
    char *request; /* its body */
};

struct message { /* one that is under way, waits for a token, or is over */
    struct message *next, *prev;
    uint32_t kind, ttl_s;
    bool urgent, renewed; /* renewed: another token was asked for because of it */
    wharf_str token, endpoint, p256dh, auth, organization;
    wharf_str text; /* what is shown and data, as the service takes them */
    char topic[33];
    int64_t token_until_us; /* of the token it was sent with */
    wharf_fetch *fetch; /* not NULL: it is under way */
    char *body; /* lives until the fetch is over */
    struct arena *arena; /* of all texts */
    wharf_push_result result;
};

struct message_list {
    struct message *first, *last;
};

struct wharf_pusher {
    struct arena *arena;
    wharf_push_account account;
    struct fcm_token token;
    struct message_list held, sent, over;
};

/* ---- fcm_account.c ---- */

const char *fcm_account_problem(wharf_req *req, const wharf_push_account *account);
/* Starts asking for a token, by a fetch whose tag is the token. False: the file can't be used. */
bool fcm_token_ask(wharf_req *req, wharf_pusher *p);
/* Takes the answer. False: none was given, and *ret_why is a word for it. */
bool fcm_token_take(wharf_req *req, wharf_pusher *p, const wharf_fetch *f, const char **ret_why);
void fcm_token_drop(struct fcm_token *t);

/* ---- fcm.c, web.c ---- */

/* Writes the message's text as the service takes it: once, when it is given. */
wharf_str fcm_text(struct arena *a, const wharf_push_message *m, const char *topic);
wharf_str web_text(struct arena *a, const wharf_push_message *m);
/* Starts the fetch, with the message as its tag. Returns NULL or why it can't be sent at all. */
const char *fcm_send(wharf_req *req, wharf_pusher *p, struct message *m);
const char *web_send(wharf_req *req, wharf_pusher *p, struct message *m);
/* Reads an answer into the result, which has its status already. Returns true when the token was
 * refused. */
bool fcm_judge(wharf_req *req, const wharf_fetch *f, wharf_push_result *ret);
/* Reads an answer into the result, as fcm_judge does. */
void web_judge(wharf_req *req, const wharf_fetch *f, wharf_push_result *ret);

/* ---- host_push.c ---- */

/* Writes the message's data as the member "data". */
void push_put_data(struct jw *w, const wharf_push_message *m);
/* Fills what fetches of all services have in common. */
wharf_fetch_request push_request(const struct message *m);
/* Returns a text that lives as long as the process lets it: freed with free(). */
char *push_copy(const char *p, size_t n);

#endif
