/* mail_outbox.h - what a test organization would have sent is kept for GET /v1/test/outbox
 * instead (docs/spec/01-platform.md section 5 'Test mode').
 *
 * Leaves to others: the table and its list (modules/org), erasing it after 30 days
 * (worker/kernel_part.c). */
#ifndef WHARF_MAIL_MAIL_OUTBOX_H
#define WHARF_MAIL_MAIL_OUTBOX_H

#include "mail/message.h"
#include "resource/request.h"

/* Tells whether this is a request or job of a test organization. */
bool outbox_wanted(const struct req_access *access);
/* Keeps a mail in the outbox, in the request's transaction. Problem: mail.refused, for a message
 * that no mail server would get either. */
wharf_status outbox_keep(struct wharf_req *req, const struct mail *m, const char *path);

#endif
