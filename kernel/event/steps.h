/* steps.h - what is done with each processed event (docs/spec/07-events-and-webhooks.md section
 * 1 'steps', docs/internals/events.md).
 *
 * Declared by plugins (plugin-api/wharf/service/events.h). Leaves to others: which events, and
 * when (processor.c). */
#ifndef WHARF_EVENT_STEPS_H
#define WHARF_EVENT_STEPS_H

#include "event/event_record.h"

struct wharf_decl;

struct event_step {
    const struct plugin *plugin;
    const char *name;
    wharf_status (*fn)(
        wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);
    void *arg;
};

struct event_handler { /* wharf_decl_api.on_event */
    const struct plugin *plugin;
    wharf_str pattern;
    wharf_handler *fn;
    void *arg;
    const char *job; /* "items.on_event_1" */
};

/* Adds a step or a handler of the current plugin, from declare(). */
void event_step_declare(struct wharf_decl *d, const wharf_event_step *s);
void event_handler_declare(struct wharf_decl *d, const char *pattern, wharf_handler *fn, void *arg);

enum { STEPS_MAX = 24 }; /* steps of events */
enum step_status {
    STEP_COMPLETED = WHARF_STEP_COMPLETED,
    STEP_SKIPPED = WHARF_STEP_SKIPPED,
    STEP_FAILED
};
struct step_result {
    uint8_t status; /* enum step_status */
    const char *error; /* of a failed one */
};

/* Runs all steps for events of one organization, which is the request's. results: n rows of
 * e->n_steps. False: the transaction is lost. */
bool steps_run(
    struct wharf_req *req, struct event *const *events, size_t n, struct step_result *results);
/* Runs one step again, for one event. */
bool step_run_again(
    struct wharf_req *req, const struct event_step *s, struct event *e, struct step_result *ret);
/* Enqueues the jobs of the handlers that want these events. */
bool steps_enqueue_handlers(struct wharf_req *req, struct event *const *events, size_t n);
/* Returns the event's `steps` as JSON. */
wharf_str steps_json(
    struct wharf_req *req, const struct event *e, const struct step_result *results);
const struct event_step *step_find(const struct engine *e, const char *name); /* or NULL */

#endif
