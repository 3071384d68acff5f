/* quarantined.h - tells every organization that a plugin was put into quarantine
 * (docs/spec/07-events-and-webhooks.md section 3). */
#ifndef WHARF_JOB_QUARANTINED_H
#define WHARF_JOB_QUARANTINED_H

#include "resource/engine.h"

extern const char quarantined_job_policy[];

/* Runs the job "wharf.announce_quarantine", one per organization: writes its event
 * plugin.quarantined. */
wharf_status quarantined_job(struct wharf_req *req, void *arg);
/* Asks for those jobs at the start of a job worker, once per quarantine, machine and plugin. A
 * database that is away is logged; the next start asks again. */
void quarantined_announce(const struct engine *e, const char *database);

#endif
