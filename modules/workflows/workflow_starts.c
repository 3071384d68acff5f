/* workflow_starts.c - the service workflows.runs (wharf/ext/workflows.h): runs of manual triggers
 * that rows of other modules start, such as integrations (docs/spec/07-events-and-webhooks.md
 * section 12).
 *
 * Leaves to others: what a run is and when it is done (workflow_queue.c). */
#include "workflows.gen.h"
#include "workflows.h"

/* ---- what may be named ---- */

static wharf_status no_workflow(wharf_req *req, wharf_str id, const char *path, const char *says)
{
    return W->err->fail(
        req, ERR_VALIDATION_FAILED, path, "%s %.*s", says, (int)id.n, id.n ? id.p : "");
}

static wharf_status workflow_starts_choose(wharf_req *req, wharf_str workflow_id, const char *path)
{
    const wharf_rec *rec;
    struct code code;
    bool enabled, found;
    wharf_status s = W->req->need_scope(req, "workflow:write");

    if (s != WHARF_OK)
        return s;
    s = W->res->fetch(req, "workflow", workflow_id, 0, &rec);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return no_workflow(req, workflow_id, path, "There is no workflow");
    }
    if (s == WHARF_OK)
        s = code_load(req, workflow_id, 0, &code, &enabled, &found);
    if (s == WHARF_OK && (!found || !trigger_has(code.triggers, "manual")))
        s = no_workflow(req, workflow_id, path,
            "Publish it first, with a manual trigger and on_run: the workflow");
    return s;
}

/* ---- runs ---- */

struct target { /* a workflow that is started, read once for all of its runs */
    struct target *next;
    wharf_str id;
    struct code code;
    struct secret *secrets;
    const char *wrong, *why; /* NULL: it may run */
};

/* Tells why nothing of the workflow runs. */
static void judge_target(struct target *t, bool found, bool enabled)
{
    if (!found) {
        t->wrong = ERR_WORKFLOW_NOT_PUBLISHED;
        t->why = "The workflow is deleted, or has no published version";
    } else if (!enabled) {
        t->wrong = ERR_WORKFLOW_DISABLED;
        t->why = "The workflow is disabled";
    } else if (!trigger_has(t->code.triggers, "manual")) {
        t->wrong = ERR_WORKFLOW_TRIGGER_INVALID;
        t->why = "The workflow has no manual trigger that is enabled";
    }
}

static wharf_status target_of(
    wharf_req *req, wharf_str workflow_id, struct target **list, struct target **ret)
{
    bool enabled = false, found = false;
    wharf_status s;

    for (*ret = *list; *ret; *ret = (*ret)->next) {
        if (same((*ret)->id, workflow_id))
            return WHARF_OK;
    }
    *ret = W->mem->alloc(req, sizeof(**ret));
    **ret = (struct target){.next = *list, .id = workflow_id};
    *list = *ret;
    s = code_load(req, workflow_id, 0, &(*ret)->code, &enabled, &found);
    judge_target(*ret, found, enabled);
    return s == WHARF_OK && !(*ret)->wrong ? secrets_load(req, workflow_id, &(*ret)->secrets) : s;
}

static void workflow_starts_refuse(wharf_workflow_start *x, const char *code, const char *why)
{
    x->code = code;
    x->why = why;
}

/* Judges whether this run may be: after rounds of workflows that cause each other, for its place,
 * and by what the trigger says of its input. */
static wharf_status workflow_starts_judge(
    wharf_req *req, const struct target *t, wharf_workflow_start *x)
{
    wharf_str text = WHARF_S("");
    wharf_status s;

    x->run_id = WHARF_S("");
    workflow_starts_refuse(x, t->wrong, t->why);
    if (x->code)
        return WHARF_OK;
    if (x->depth >= DEPTH_MAX)
        workflow_starts_refuse(
            x, "workflow.depth_exceeded", "Workflows caused each other five times in a row");
    else if (!trigger_reaches(t->code.locations, x->location_id))
        workflow_starts_refuse(x, ERR_LOCATION_ACCESS, "The workflow is not for this location");
    if (x->code)
        return WHARF_OK;
    s = trigger_input_faults(req, t->code.triggers, x->input, &text);
    if (s == WHARF_OK && text.n)
        workflow_starts_refuse(x, ERR_VALIDATION_FAILED, W->mem->dup(req, text.p, text.n).p);
    return s;
}

static const wharf_json *workflow_starts_trigger_of(wharf_req *req, const wharf_workflow_start *x)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *v = NULL;

    W->json->open(out, NULL, '{');
    W->json->put(out, "type", val_text(WHARF_S("manual")));
    W->json->put(out, "cause_id", val_text(x->cause_id));
    if (x->event_id.n)
        W->json->put(out, "event_id", val_text(x->event_id));
    W->json->close(out);
    W->json->result(req, out, &v);
    return v;
}

static wharf_status workflow_starts_put_run(
    wharf_req *req, wharf_out *rows, const struct target *t, wharf_workflow_start *x)
{
    struct queued q = {.workflow_id = t->id,
        .type = "manual",
        .trigger = workflow_starts_trigger_of(req, x),
        .location_id = x->location_id,
        .actor = x->cause_id,
        .event_id = x->event_id,
        .resource_id = x->resource_id,
        .order_key = queue_order_key(req, t->code.options, x->resource_type, x->resource_id),
        .depth = x->depth,
        .input = x->input};
    wharf_status s = run_queue_hide(req, &q, t->secrets);

    run_queue_put(req, rows, &q, &x->run_id);
    return s;
}

static wharf_status workflow_starts_start(
    wharf_req *req, wharf_workflow_start *const *starts, size_t n)
{
    wharf_out *rows = W->json->writer(req);
    struct target *targets = NULL, *t;
    wharf_status s = WHARF_OK;
    size_t made = 0;

    W->json->open(rows, NULL, '[');
    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        s = target_of(req, starts[i]->workflow_id, &targets, &t);
        if (s == WHARF_OK)
            s = workflow_starts_judge(req, t, starts[i]);
        if (s != WHARF_OK || starts[i]->code)
            continue;
        s = workflow_starts_put_run(req, rows, t, starts[i]);
        made++;
    }
    return s == WHARF_OK && made ? queue_commit(req, rows, made) : s;
}

const wharf_workflows_runs_api workflows_runs = {
    WHARF_HEAD(wharf_workflows_runs_api), workflow_starts_choose, workflow_starts_start};
