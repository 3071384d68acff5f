/* mail_job.h - mails that are sent later: the message is a file, sending it a job of the kernel
 * (docs/reference/net.md 'Mail'). */
#ifndef WHARF_MAIL_MAIL_JOB_H
#define WHARF_MAIL_MAIL_JOB_H

#include "mail/message.h"
#include "resource/request.h"

/* Queues a mail in the request's transaction. Problems: mail.refused (the message itself),
 * storage.unavailable. */
wharf_status mail_queue(struct wharf_req *req, const struct mail *m, const char *path);
/* Runs the kernel's job "wharf.mail". */
wharf_status mail_job(struct wharf_req *req, void *arg);
/* Takes one of this minute's mails. False: they are sent; *ret_wait_us until the next may be. */
bool mail_turn(struct wharf_req *req, int64_t *ret_wait_us);
extern const char mail_job_policy[];

#endif
