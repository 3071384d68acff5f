/* mail.h - sending a message through the operator's mail server (SMTP with STARTTLS or TLS, AUTH).
 *
 * Settings: mail.url, mail.user, mail.password, mail.from, mail.from_name, mail.tls. Blocks; has
 * no memory of its own: what must not be lost is queued by the caller. Leaves to others: the
 * text of the message (message.h), retries. */
#ifndef WHARF_MAIL_MAIL_H
#define WHARF_MAIL_MAIL_H

#include "config/config.h"
#include "mail/message.h"

enum mail_outcome {
    MAIL_SENT, /* the server took it for all recipients */
    /* for good: an address or the message; trying again changes nothing. Nobody got it */
    MAIL_REFUSED,
    /* no connection, TLS, login, or the server says later. Nobody got it, or the server did not
     * say so in time */
    MAIL_LATER,
    MAIL_OFF, /* mail.url is empty */
};

struct mail_result {
    enum mail_outcome outcome;
    int code; /* of the server's last answer, 0: none */
    char trouble[256]; /* for the log */
    bool address; /* MAIL_REFUSED: a recipient was, not the message */
    char words[256]; /* the line by which the server refused it; "" */
};

/* Checks the settings of mail. Returns false and a problem when they do not fit each other. */
bool mail_settings_ok(const struct config *c, struct arena *err, wharf_str *ret_problem);
/* Sends a message that message_build() has written. */
struct mail_result mail_send_built(const struct config *c, wharf_str from, const wharf_str *to,
    size_t n_to, wharf_str text, uint32_t total_ms);
/* Sets from and from_name of the settings where m has none. */
void mail_complete(const struct config *c, struct mail *m);
/* Builds (from and from_name of the settings where m has none) and sends. total_ms bounds
 * everything. */
struct mail_result mail_send(const struct config *c, struct arena *a, const struct mail *m,
    int64_t now_us, uint32_t total_ms);

#endif
