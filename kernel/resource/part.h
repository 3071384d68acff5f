/* part.h - a part of the server: what it offers to plugins, its jobs and routes, and how it
 * starts. The program says which parts there are.
 *
 * So the kernel knows nothing of what stands above it: `services/` and the upper floors of
 * `kernel/` are parts (docs/architecture.md 'The house'). */
#ifndef WHARF_RESOURCE_PART_H
#define WHARF_RESOURCE_PART_H

#include "plugin/offered.h"
#include "process/worker.h"
#include "resource/decl.h"

struct part_job {
    const char *name;
    wharf_handler *fn;
    const char *policy; /* JSON (docs/internals/jobs.md) */
};

struct part_check {
    const char *area; /* "logs": the check is called logs.<name> */
    const wharf_check *check;
};

/* Each function may be NULL. Those of a worker are called in the order of the parts, stop() and
 * close() in the opposite one. */
struct part {
    const char *name;
    const struct offered_service *services;
    size_t n_services;
    const struct part_job *jobs;
    size_t n_jobs;
    const struct part_check *checks;
    size_t n_checks;
    void (*routes)(struct wharf_decl *d);
    /* Puts what hooks into writes and requests into the engine. In each process that loads
     * plugins. */
    void (*link)(struct engine *e);
    /* Begins what needs no database. False and the reason: the worker does not start. */
    bool (*open)(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error);
    /* Begins what needs the database, before plugins start. */
    bool (*start)(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error);
    /* The worker serves from here on. */
    void (*ready)(struct engine *e);
    /* The worker serves no more; plugins are still there. */
    void (*stop)(struct engine *e);
    /* Plugins are stopped. */
    void (*close)(struct engine *e);
};

/* Says which parts the program has, the lowest first. Once, before anything else. */
void parts_set(const struct part *const *list, size_t n);
void parts_jobs(struct wharf_decl *d);
void parts_checks(struct wharf_decl *d);
void parts_routes(struct wharf_decl *d);
void parts_link(struct engine *e);
bool parts_open(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error);
bool parts_start(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error);
void parts_ready(struct engine *e);
void parts_stop(struct engine *e);
void parts_close(struct engine *e);

#endif
