/* again.c - what can be done with a run that is there: cancel it, do it again (spec 08 section
 * 1); and the end of old ones (spec 08 section 7). */
#include <string.h>

#include "workflows.gen.h"
#include "workflows.h"

enum { EXPIRE_AT_ONCE = 1000 };

/* Finds the workflow and the run of the path, when the caller may see both. */
static wharf_status find(
    wharf_req *req, wharf_str *ret_id, const wharf_rec **ret_workflow, const wharf_rec **ret_run)
{
    wharf_str id = {"", 0};
    wharf_status s;

    W->req->param(req, "run", &id);
    s = W->res->fetch(req, "workflow_run", id, 0, ret_run);
    if (s == WHARF_OK)
        s = W->res->fetch(
            req, "workflow", field_text(*ret_run, WORKFLOW_RUN_WORKFLOW_ID), 0, ret_workflow);
    *ret_id = id;
    return s;
}

static wharf_status show(wharf_req *req, wharf_str id, uint32_t status, const char *message)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "workflow_run", id, 0, &rec);

    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, status, message), NULL, rec);
    return s;
}

wharf_status run_cancel_route(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT workflows.cancel($2::text, $1::text)";
    const wharf_rec *workflow, *run;
    const wharf_rows *rows;
    wharf_str id;
    wharf_status s = find(req, &id, &workflow, &run);

    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!row_text(rows, 0, 0).n)
        return W->err->fail(req, ERR_WORKFLOW_RUN_FINAL, NULL, NULL);
    return show(req, id, 202, "Workflow run is canceled");
}

/* ---- again ---- */

static wharf_status check_again(wharf_req *req, const wharf_rec *workflow, const wharf_rec *run)
{
    wharf_str status = field_text(run, WORKFLOW_RUN_STATUS);

    if (!is(status, "failed") && !is(status, "rejected") && !is(status, "canceled") &&
        !is(status, "skipped"))
        return W->err->fail(req, ERR_WORKFLOW_RUN_NOT_FAILED, NULL, NULL);
    if (is(json_text(field_json(run, WORKFLOW_RUN_TRIGGER), "phase"), "before"))
        return W->err->fail(req, ERR_WORKFLOW_RUN_NOT_FAILED, NULL,
            "The run judged a write that is over; send the write again instead");
    if ((is(field_text(run, WORKFLOW_RUN_TRIGGER_TYPE), "manual") ||
            is(field_text(run, WORKFLOW_RUN_TRIGGER_TYPE), "http")) &&
        !flow_keys->caller(req)->all_locations)
        return W->err->fail(req, ERR_LOCATION_ACCESS, NULL,
            "Such a run may do what its caller may; start a new one instead of doing this one "
            "again");
    if (!field_int(workflow, WORKFLOW_ENABLED))
        return W->err->fail(req, ERR_WORKFLOW_DISABLED, NULL, NULL);
    if (!field_int(workflow, WORKFLOW_VERSION) || !field_int(run, WORKFLOW_RUN_VERSION))
        return W->err->fail(req, ERR_WORKFLOW_NOT_PUBLISHED, NULL,
            "The run was of a draft, or nothing is published");
    if (!field_json(run, WORKFLOW_RUN_INPUT))
        return W->err->fail(req, ERR_WORKFLOW_RUN_NOT_FAILED, "input",
            "The input of this run was too large to be kept");
    return WHARF_OK;
}

/* Reads what the run got, where that is not what is shown of it; else NULL. */
static wharf_status given_to(wharf_req *req, wharf_str id, const wharf_json **ret)
{
    static const char sql[] =
        "SELECT given FROM workflows.run WHERE id = $1::text AND organization_id = $2::text";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    if (s == WHARF_OK && W->db->count(rows))
        *ret = row_json(rows, 0, 0);
    return s;
}

wharf_status run_again_route(wharf_req *req, void *arg)
{
    const wharf_rec *workflow, *run;
    const wharf_json *body;
    const wharf_json *given = NULL;
    wharf_out *rows = W->json->writer(req), *input = W->json->writer(req);
    wharf_str id, type;
    struct queued q;
    wharf_status s = find(req, &id, &workflow, &run);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s == WHARF_OK)
        s = check_again(req, workflow, run);
    if (s == WHARF_OK)
        s = given_to(req, id, &given);
    if (s != WHARF_OK)
        return s;
    W->json->put(input, NULL, val_json(W->json->get(field_json(run, WORKFLOW_RUN_INPUT), "value")));
    type = field_text(run, WORKFLOW_RUN_TRIGGER_TYPE);
    q = (struct queued){.workflow_id = W->res->id(workflow),
        .type = type.p,
        .trigger = field_json(run, WORKFLOW_RUN_TRIGGER),
        .given = given,
        .location_id = field_text(run, WORKFLOW_RUN_LOCATION_ID),
        .actor = W->req->actor(req),
        .event_id = field_text(run, WORKFLOW_RUN_EVENT_ID),
        .resource_id = field_text(run, WORKFLOW_RUN_RESOURCE_ID),
        .order_key = WHARF_S(""),
        .depth = (uint32_t)field_int(run, WORKFLOW_RUN_DEPTH),
        .pinned = is(json_text(body, "version"), "same") ? field_int(run, WORKFLOW_RUN_VERSION) : 0,
        .input = W->json->result_text(input)};
    W->json->open(rows, NULL, '[');
    run_queue_put(req, rows, &q, &id);
    s = queue_commit(req, rows, 1);
    return s == WHARF_OK ? show(req, id, 202, "Workflow run is queued") : s;
}

/* ---- the end of old ones ---- */

wharf_status runs_expire(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT workflows.expire($1::integer)";
    const wharf_val most = val_int(EXPIRE_AT_ONCE);
    const wharf_rows *rows;
    uint32_t done = 0;
    wharf_status s;

    do {
        wharf_scope *scope = W->mem->scope_begin(req);
        int64_t n;

        s = query_alone(req, sql, &most, 1, &rows);
        n = s == WHARF_OK ? row_int(rows, 0, 0) : 0;
        W->mem->scope_end(req, scope);
        if (!n)
            break;
    } while (!W->event->progress(req, ++done, 0));
    return s == WHARF_OK ? query_alone(req, "SELECT workflows.expire_locks()", NULL, 0, &rows) : s;
}
