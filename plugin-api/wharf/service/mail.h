/* wharf/service/mail.h - mail through the operator's server: service "wharf.mail", version 1.2.
 *
 * What is in a text can't become a header; the message carries Date, Message-ID and From by
 * itself (docs/reference/net.md). Rules of this header: wharf/plugin.h. All functions are
 * [worker]. */
#ifndef WHARF_SERVICE_MAIL_H
#define WHARF_SERVICE_MAIL_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_mail_message {
    wharf_head head;
    const wharf_str *to; /* 1 to 100 addresses, "a@b.example"; all of them see each other */
    size_t n_to;
    wharf_str reply_to;                  /* address, or empty */
    wharf_str subject;                   /* one line; line ends in it become spaces */
    wharf_str text, html;                /* UTF-8; with both, readers choose. Not both empty */
    /* n_files each; an empty type is application/octet-stream */
    const wharf_str *file_names, *file_types, *file_data;
    size_t n_files;
    wharf_str message_id; /* "x@y", for mails that must not come twice; empty: a new one */
    /* 1.1: URL that ends such mails when it is posted to (RFC 8058); or empty */
    wharf_str unsubscribe;
} wharf_mail_message;

/* Members of the policy of a job that sends mail (wharf_decl_api.job): tries for about a day, after
 * 30 s, 1 min, 2 min ... each 2 h (docs/spec/07-events-and-webhooks.md section 12 'E-mail'). */
#define WHARF_MAIL_TRIES \
    "\"retries\": 18, \"backoff\": {\"first\": \"30s\", \"factor\": 2, \"max\": \"2h\"}"

enum wharf_mail_outcome {
    WHARF_MAIL_SENT = 0,
    WHARF_MAIL_REFUSED = 1, /* for good: trying again changes nothing */
    WHARF_MAIL_LATER = 2 /* not reached, or it said later; or no mail server is configured */
};

/* The outcome of a mail, since 1.2. The caller sets head. */
typedef struct wharf_mail_answer {
    wharf_head head;
    uint32_t outcome; /* enum wharf_mail_outcome */
    /* True: it is the address that was refused, not the message. */
    bool address;
    /* The line by which the server refused it, else why there was no answer. */
    wharf_str words;
} wharf_mail_answer;

typedef struct wharf_mail_api {
    wharf_head head;
    /* Is a mail server configured? [any] */
    bool (*enabled)(wharf_plugin *self);
    /* Sends now and waits, at most until the request's deadline. A test organization's mail is
     * kept for GET /v1/test/outbox instead, whether there is a mail server or not. mail.refused
     * (400): an address or the message itself; mail.unavailable (503): no server is configured,
     * or it can't be reached or says later. path: of the field with the address. */
    wharf_status (*send)(wharf_req *req, const wharf_mail_message *m, const char *path);
    /* Sends after the request's transaction has committed, by a job that tries for about a day
     * (docs/reference/net.md). Here only what is wrong with the message itself is a problem:
     * mail.refused. */
    wharf_status (*queue)(wharf_req *req, const wharf_mail_message *m, const char *path);
    /* 1.2, for modules that have a queue of their own. Takes one of this minute's mails
     * (mail.max_per_minute). False: they are sent; *ret_wait_us until the next may be, and
     * *ret_pace_us between those behind it. */
    bool (*turn)(wharf_req *req, int64_t *ret_wait_us, int64_t *ret_pace_us);
    /* 1.2: sends as send() does, and tells what became of it. WHARF_OK whatever that is. */
    wharf_status (*deliver)(
        wharf_req *req, const wharf_mail_message *m, wharf_mail_answer *ret_answer);
} wharf_mail_api;

#ifdef __cplusplus
}
#endif
#endif
