/* message.h - from texts to an Internet message (RFC 5322, MIME): nothing in a text can end a
 * header or begin another.
 *
 * Non-ASCII in headers: RFC 2047; file names: RFC 2231. Bodies: quoted-printable, attachments:
 * base64, lines at most 76 characters, all ends of lines CRLF. Leaves to others: sending
 * (mail.h). */
#ifndef WHARF_MAIL_MESSAGE_H
#define WHARF_MAIL_MESSAGE_H

#include "util/arena.h"
#include "util/buf.h"

struct mail_attachment {
    wharf_str name, type, data; /* type "application/pdf"; empty: application/octet-stream */
};

struct mail {
    wharf_str from, from_name; /* address "a@b.example"; name may be empty */
    const wharf_str *to; /* addresses */
    size_t n_to;
    wharf_str reply_to; /* address or empty */
    wharf_str subject, text, html; /* UTF-8; text or html may be empty, not both */
    wharf_str message_id; /* "x@y" without brackets; empty: made */
    wharf_str unsubscribe; /* URL for List-Unsubscribe (RFC 8058), or empty */
    const struct mail_attachment *attachments;
    size_t n_attachments;
};

enum {
    MESSAGE_MAX = 64 << 20, /* bytes of a mail */
    MAIL_TO_MAX = 100 /* addresses of a mail */
};

/* Tells whether an address is as mail servers take it everywhere: local part and host name in
 * ASCII, no quotes, no comments. */
bool mail_address_valid(wharf_str address);
/* Writes the whole message. now_us: the kernel clock. False and a sentence in *ret_problem when
 * an address, a type or a size is not accepted. */
bool message_build(struct arena *a, const struct mail *m, int64_t now_us, struct buf *out,
    const char **ret_problem);

#endif
