/* wharf/service/push.h - messages to phones and browsers: service "wharf.push", version 1.0.
 *
 * Firebase Cloud Messaging (HTTP v1, tokens of a service account) and Web Push (RFC 8030, sealed
 * by RFC 8291, signed by RFC 8292). A pusher belongs to one request, as a rule to a resident's;
 * its messages go through wharf.fetch of that request, so that events->wait() ends when one is
 * over. What it does not do: queue, try again, know who shall be told. Rules of this header:
 * wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_PUSH_H
#define WHARF_SERVICE_PUSH_H

#include "wharf/service/fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_pusher wharf_pusher;

/* An account to push by. Texts are copied by open(). */
typedef struct wharf_push_account {
    wharf_head head;
    /* path of the service account's key file; it is read at each exchange, and kept nowhere.
     * Empty: no FCM */
    wharf_str file;
    wharf_str project;   /* empty: as the file says */
    wharf_str token_uri; /* empty: as the file says */
    wharf_str endpoint;  /* where FCM is: "https://fcm.googleapis.com" */
    /* whom push services of browsers ask when something is wrong, "mailto:..." or "https:...";
     * empty: the address that mails are from */
    wharf_str contact;
} wharf_push_account;

enum wharf_push_kind { WHARF_PUSH_FCM = 1, WHARF_PUSH_WEB = 2 };

/* A message. Texts are copied by send(). */
typedef struct wharf_push_message {
    wharf_head head;
    uint32_t kind;  /* WHARF_PUSH_* */
    uint32_t ttl_s; /* for how long the service keeps it for a device that is off */
    wharf_str token;                  /* FCM: of the device */
    wharf_str endpoint, p256dh, auth; /* Web Push: of the subscription, keys in base64url */
    wharf_str title, body;            /* what is shown; both empty: data only */
    const wharf_str *names, *values;  /* data, all texts */
    size_t n_data;
    /* a newer message with the same topic takes the place of one that waits at the service; any
     * text, of which the services see a hash. Empty: none does */
    wharf_str topic;
    wharf_str organization; /* whose it is */
    bool urgent;
    void *tag; /* the caller's own */
} wharf_push_message;

enum wharf_push_end {
    WHARF_PUSH_TAKEN = 0, /* the service has it */
    WHARF_PUSH_DEAD = 1,  /* the address is none any more */
    WHARF_PUSH_AGAIN = 2, /* not now: no answer, 429, 5xx, no token of the account */
    WHARF_PUSH_REFUSED = 3
};

typedef struct wharf_push_result {
    wharf_head head;
    void *tag;
    uint32_t end;         /* WHARF_PUSH_TAKEN ... */
    uint32_t http_status; /* 0: no answer */
    wharf_str error;      /* a word or status of the service, nothing of anybody's; empty: none */
    int64_t later_ms;     /* what the service asks to wait; 0: nothing */
} wharf_push_result;

typedef struct wharf_push_api {
    wharf_head head;
    /* Tells what is wrong with the account's file, as the end of a sentence that begins with the
     * setting's name. NULL: nothing. */
    const char *(*problem)(wharf_req *req, const wharf_push_account *account);
    wharf_pusher *(*open)(wharf_req *req, const wharf_push_account *account);
    /* Sends a message, when there is a token of the account. Whatever is wrong shows in its
     * result. */
    void (*send)(wharf_req *req, wharf_pusher *p, const wharf_push_message *m);
    /* Takes a fetch that wharf.fetch's next() has returned, and its done() with it. False: it is
     * none of the pusher's, and stays the caller's. */
    bool (*finished)(wharf_req *req, wharf_pusher *p, wharf_fetch *f);
    /* Returns how one of the messages ended; each is told once. False: none is over that was not
     * told. The caller sets head. */
    bool (*next)(wharf_req *req, wharf_pusher *p, wharf_push_result *ret_result);
    /* Gives up what is under way; nothing more is told of it. */
    void (*close)(wharf_req *req, wharf_pusher *p);
    /* Returns the public key that browsers subscribe with, in base64url: one of this database. */
    wharf_str (*public_key)(wharf_req *req);
    /* Tells what is wrong with the keys of a subscription. NULL: nothing. */
    const char *(*keys_problem)(wharf_req *req, wharf_str p256dh, wharf_str auth);
} wharf_push_api;

#ifdef __cplusplus
}
#endif
#endif
