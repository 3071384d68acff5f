/* runner.h - the job worker: leases jobs, runs them on threads of its own, settles what is over.
 *
 * One dispatcher thread with a connection of its own talks to the queue; executors run handlers.
 * docs/internals/jobs.md has the promises, docs/reference/plugin-abi.md section 11 the blame for
 * crashes. */
#ifndef WHARF_JOB_RUNNER_H
#define WHARF_JOB_RUNNER_H

#include "process/worker.h"
#include "resource/engine.h"

struct runner;

/* Starts jobs.threads executors and the dispatcher. They wait for the database when it is away. */
struct runner *runner_start(
    struct engine *e, const struct config *config, const struct worker_boot *boot);
/* Tells the runner that there may be work, a job to cancel, or something for the residents: enum
 * notifier_news of db/notifier.h. [any] */
void runner_news(void *runner, unsigned news);
/* Stops the runner: nothing new is begun; what was leased and not begun is given back, what runs
 * is told to stop soon. [any] */
void runner_drain(void *runner);
/* Waits for what runs, until drain_timeout after runner_drain(); then gives back its leases. */
void runner_stop(struct runner *r);

#endif
