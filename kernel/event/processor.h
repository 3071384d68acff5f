/* processor.h - what becomes of events after their commit (docs/spec/07-events-and-webhooks.md
 * section 2, docs/internals/events.md). */
#ifndef WHARF_EVENT_PROCESSOR_H
#define WHARF_EVENT_PROCESSOR_H

#include "resource/request.h"

extern const char processor_policy[];
/* Runs the resident job "wharf.events" of each job worker. */
wharf_status processor_job(struct wharf_req *req, void *arg);

#endif
