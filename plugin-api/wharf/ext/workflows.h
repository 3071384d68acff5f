/* wharf/ext/workflows.h - service of the module workflows: other modules start runs.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/07-events-and-webhooks.md section 12. */
#ifndef WHARF_EXT_WORKFLOWS_H
#define WHARF_EXT_WORKFLOWS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run to be queued: of the workflow's manual trigger (on_run), in its published version and with
 * the rights of its publisher. Texts that are empty say nothing. */
typedef struct wharf_workflow_start {
    wharf_head head;
    wharf_str workflow_id;
    wharf_str cause_id; /* the row that starts it; the run's actor */
    wharf_str input; /* JSON: what on_run gets */
    wharf_str location_id; /* where it is for */
    wharf_str event_id, resource_type, resource_id; /* of the event that it is about */
    uint32_t depth; /* of that event */
    /* Filled in: the run, or why there is none. code: workflow.not_published (also when it is
     * deleted), workflow.disabled, workflow.trigger_invalid, workflow.depth_exceeded,
     * location_access, validation.failed; NULL: the run is queued. */
    wharf_str run_id;
    const char *code, *why;
} wharf_workflow_start;

/* Service "workflows.runs", version 1.0. */
typedef struct wharf_workflows_runs_api {
    wharf_head head;
    /* A workflow that a row is about to name. The caller needs workflow:write: it lets others
     * start what it may not do itself. Told at path: validation.failed (there is none, or no
     * published version of it has a manual trigger); scope_access, location_access. */
    wharf_status (*choose)(wharf_req *req, wharf_str workflow_id, const char *path);
    /* Queues runs, in the order of the array: statements for each workflow, and one for all runs.
     * What can't be started is no failure: it says so. */
    wharf_status (*start)(wharf_req *req, wharf_workflow_start *const *starts, size_t n);
} wharf_workflows_runs_api;

#ifdef __cplusplus
}
#endif
#endif
