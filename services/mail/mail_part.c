/* mail_part.c - outgoing mail as a part of the server (resource/part.h). */
#include "parts.h"

#include "mail/host_mail.h"
#include "mail/mail.h"
#include "mail/mail_job.h"

static const struct offered_service services[] = {{{"wharf.mail", 1, 2}, &host_mail}};
static const struct part_job jobs[] = {{"mail", mail_job, mail_job_policy}};

static bool mail_open(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    return mail_settings_ok(e->config, e->arena, ret_error);
}

const struct part mail_part = {.name = "mail",
    .services = services,
    .n_services = sizeof(services) / sizeof(*services),
    .jobs = jobs,
    .n_jobs = sizeof(jobs) / sizeof(*jobs),
    .open = mail_open};
