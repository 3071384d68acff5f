/* again.c - what can be done with runs that are there: cancel one, do one or many again (spec 08
 * section 1); and the end of old ones (spec 08 section 7). */
#include <string.h>

#include "workflows.gen.h"
#include "workflows.h"

enum { EXPIRE_AT_ONCE = 1000, AGAIN_MOST = 100 /* inputs of 64 KiB each */ };

/* Finds the workflow and the run of the path, when the caller may see both. */
static wharf_status again_find(
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

static wharf_status again_show(wharf_req *req, wharf_str id, uint32_t status, const char *message)
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
    wharf_status s = again_find(req, &id, &workflow, &run);

    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!row_text(rows, 0, 0).n)
        return W->err->fail(req, ERR_WORKFLOW_RUN_FINAL, NULL, NULL);
    return again_show(req, id, 202, "Workflow run is canceled");
}

/* ---- again ---- */

struct refusal {
    const char *code, *path, *text; /* path and text may be NULL */
};

/* Tells why the run can't be done again; code NULL: it can. */
static struct refusal refusal_of(wharf_req *req, const wharf_rec *workflow, const wharf_rec *run)
{
    wharf_str status = field_text(run, WORKFLOW_RUN_STATUS),
              type = field_text(run, WORKFLOW_RUN_TRIGGER_TYPE);

    if (!is(status, "failed") && !is(status, "rejected") && !is(status, "canceled") &&
        !is(status, "skipped"))
        return (struct refusal){ERR_WORKFLOW_RUN_NOT_FAILED, NULL, NULL};
    if (is(json_text(field_json(run, WORKFLOW_RUN_TRIGGER), "phase"), "before"))
        return (struct refusal){ERR_WORKFLOW_RUN_NOT_FAILED, NULL,
            "The run judged a write that is over; send the write again instead"};
    if ((is(type, "manual") || is(type, "http")) && !flow_keys->caller(req)->all_locations)
        return (struct refusal){ERR_LOCATION_ACCESS, NULL,
            "Such a run may do what its caller may; start a new one instead of doing this one "
            "again"};
    if (!field_int(workflow, WORKFLOW_ENABLED))
        return (struct refusal){ERR_WORKFLOW_DISABLED, NULL, NULL};
    if (!field_int(workflow, WORKFLOW_VERSION) || !field_int(run, WORKFLOW_RUN_VERSION))
        return (struct refusal){
            ERR_WORKFLOW_NOT_PUBLISHED, NULL, "The run was of a draft, or nothing is published"};
    if (!field_json(run, WORKFLOW_RUN_INPUT))
        return (struct refusal){
            ERR_WORKFLOW_RUN_NOT_FAILED, "input", "The input of this run was too large to be kept"};
    return (struct refusal){NULL, NULL, NULL};
}

/* Runs that are to be done again together. */
struct again {
    wharf_out *rows, *made; /* open arrays: for queue_commit(), and [{i run, n its new one}] */
    size_t n;
    bool same_version;
};

static void again_begin(wharf_req *req, const wharf_json *body, struct again *a)
{
    *a = (struct again){.rows = W->json->writer(req),
        .made = W->json->writer(req),
        .same_version = is(json_text(body, "version"), "same")};
    W->json->open(a->rows, NULL, '[');
    W->json->open(a->made, NULL, '[');
}

/* Adds a run. given: what it got, where that is not what is shown of it; or NULL. */
static void again_add(wharf_req *req, struct again *a, const wharf_rec *run,
    const wharf_json *given, wharf_str *ret_id)
{
    wharf_out *input = W->json->writer(req);
    struct queued q = {.workflow_id = field_text(run, WORKFLOW_RUN_WORKFLOW_ID),
        .type = field_text(run, WORKFLOW_RUN_TRIGGER_TYPE).p,
        .trigger = field_json(run, WORKFLOW_RUN_TRIGGER),
        .given = given,
        .location_id = field_text(run, WORKFLOW_RUN_LOCATION_ID),
        .actor = W->req->actor(req),
        .event_id = field_text(run, WORKFLOW_RUN_EVENT_ID),
        .resource_id = field_text(run, WORKFLOW_RUN_RESOURCE_ID),
        .order_key = WHARF_S(""),
        .depth = (uint32_t)field_int(run, WORKFLOW_RUN_DEPTH),
        .pinned = a->same_version ? field_int(run, WORKFLOW_RUN_VERSION) : 0};

    W->json->put(input, NULL, val_json(W->json->get(field_json(run, WORKFLOW_RUN_INPUT), "value")));
    q.input = W->json->result_text(input);
    run_queue_put(req, a->rows, &q, ret_id);
    W->json->open(a->made, NULL, '{');
    W->json->put(a->made, "i", val_text(W->res->id(run)));
    W->json->put(a->made, "n", val_text(*ret_id));
    W->json->close(a->made);
    a->n++;
}

/* Queues them, and notes on both sides which run does which again. */
static wharf_status again_commit(wharf_req *req, struct again *a)
{
    static const char sql[] =
        "UPDATE workflows.run r SET retried_as = CASE WHEN r.id = m.i THEN m.n ELSE r.retried_as "
        "END, retry_of = CASE WHEN r.id = m.n THEN m.i ELSE r.retry_of END "
        "FROM json_to_recordset($2::json) AS m(i text, n text) "
        "WHERE r.organization_id = $1::text AND r.id IN (m.i, m.n)";
    const wharf_rows *none;
    wharf_status s = queue_commit(req, a->rows, a->n);

    W->json->close(a->made);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(W->json->result_text(a->made))};
    return s == WHARF_OK ? W->db->query(req, sql, args, 2, &none) : s;
}

/* Reads what runs got, where that is not what is shown of them, as rows of id and given. */
static wharf_status given_to(
    wharf_req *req, const wharf_str *ids, size_t n, const wharf_rows **ret_rows)
{
    static const char sql[] =
        "SELECT id, given FROM workflows.run WHERE organization_id = $1::text AND id = ANY "
        "((SELECT $2::text[])::text[]) AND given IS NOT NULL";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_array(req, ids, n)};

    return W->db->query(req, sql, args, 2, ret_rows);
}

static const wharf_json *given_of(const wharf_rows *rows, wharf_str id)
{
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (same(row_text(rows, i, 0), id))
            return row_json(rows, i, 1);
    }
    return NULL;
}

wharf_status run_again_route(wharf_req *req, void *arg)
{
    const wharf_rec *workflow, *run;
    const wharf_rows *given;
    const wharf_json *body;
    struct refusal no;
    struct again a;
    wharf_str id;
    wharf_status s = again_find(req, &id, &workflow, &run);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    no = refusal_of(req, workflow, run);
    if (no.code)
        return W->err->fail(req, no.code, no.path, no.text ? "%s" : NULL, no.text);
    s = given_to(req, &id, 1, &given);
    if (s != WHARF_OK)
        return s;
    again_begin(req, body, &a);
    again_add(req, &a, run, given_of(given, id), &id);
    s = again_commit(req, &a);
    return s == WHARF_OK ? again_show(req, id, 202, "Workflow run is queued") : s;
}

/* ---- many again ---- */

/* Judges the workflow that is named: one that the caller does not see is none. */
static wharf_status judge_workflow(wharf_req *req, const wharf_json *body)
{
    wharf_str id = json_text(body, "workflow_id");
    const wharf_rec *workflow;
    wharf_status s = id.n ? W->res->fetch(req, "workflow", id, 0, &workflow) : WHARF_OK;

    if (s != WHARF_NOT_FOUND && s != WHARF_DENIED)
        return s;
    W->err->clear(req);
    return W->err->fail(
        req, ERR_VALIDATION_FAILED, "workflow_id", "There is no workflow %.*s", (int)id.n, id.p);
}

/* Judges the run behind which to go on: behind one that is gone there would seem to be none. */
static wharf_status judge_after(wharf_req *req, const wharf_json *body)
{
    static const char sql[] =
        "SELECT FROM workflows.run WHERE id = $1::text AND organization_id = $2::text";
    wharf_str id = json_text(body, "after");
    const wharf_rows *rows;
    wharf_status s = id.n ? query_about(req, sql, id, &rows) : WHARF_OK;

    if (s != WHARF_OK || !id.n || W->db->count(rows))
        return s;
    return W->err->fail(req, ERR_VALIDATION_FAILED, "after",
        "There is no run %.*s, or none any more: begin anew, without after", (int)id.n, id.p);
}

/* Finds the next runs that are meant, the oldest first, whether or not the caller sees them. */
static wharf_status find_meant(
    wharf_req *req, const wharf_json *body, wharf_str *ids, size_t *ret_n, int64_t most)
{
    static const char sql[] = QUERY_RUNS_AGAIN;
    const wharf_json *status = W->json->get(body, "status"),
                     *created = W->json->get(body, "created_at");
    wharf_str states[4] = {WHARF_S("failed")};
    size_t n = status ? 0 : 1;
    const wharf_rows *rows;
    wharf_status s;

    for (const wharf_json *e = status ? W->json->at(status, 0) : NULL; e && n < 4;
         e = W->json->next(e))
        n += W->json->text(e, &states[n]);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_array(req, states, n),
        val_text(json_text(body, "workflow_id")), val_text(json_text(body, "trigger_type")),
        val_text_or_null(json_text(created, "gte")), val_text_or_null(json_text(created, "lt")),
        val_text(json_text(body, "after")), val_int(most + 1)};
    s = W->db->query(req, sql, args, sizeof(args) / sizeof(args[0]), &rows);
    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; i < *ret_n; i++)
        ids[i] = row_text(rows, i, 0);
    return s;
}

/* Reads those of the runs that the caller sees, the oldest first. */
static wharf_status again_seen(wharf_req *req, const wharf_str *ids, size_t n,
    const wharf_rec *const **ret_runs, size_t *ret_n)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *query;
    wharf_str among = ids[0];
    wharf_status s;

    for (size_t i = 1; i < n; i++)
        among = W->mem->format(req, "%s,%s", among.p, ids[i].p);
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(among));
    W->json->put(out, "order_by", val_text(WHARF_S("created_at")));
    W->json->put(out, "direction", val_text(WHARF_S("asc")));
    W->json->put(out, "limit", val_int((int64_t)n));
    W->json->close(out);
    s = W->json->result(req, out, &query);
    return s == WHARF_OK ? W->res->list(req, "workflow_run", query, ret_runs, ret_n) : s;
}

/* Reads the workflow of a run into *workflow, which may have been that of the run before; NULL: it
 * was deleted since. */
static wharf_status again_find_workflow(
    wharf_req *req, const wharf_rec *run, const wharf_rec **workflow)
{
    wharf_str its = field_text(run, WORKFLOW_RUN_WORKFLOW_ID);
    wharf_status s = WHARF_OK;

    if (!*workflow || !same(W->res->id(*workflow), its))
        s = W->res->fetch(req, "workflow", its, 0, workflow);
    if (s != WHARF_NOT_FOUND)
        return s;
    W->err->clear(req);
    *workflow = NULL;
    return WHARF_OK;
}

/* Adds the runs that can be done again; all are told, in retried or in refused. */
static wharf_status put_each(wharf_req *req, struct again *a, const wharf_rec *const *runs,
    size_t n, const wharf_rows *given, wharf_out *refused, wharf_out *retried)
{
    const wharf_rec *workflow = NULL;

    for (size_t i = 0; i < n; i++) {
        wharf_str id = W->res->id(runs[i]), made = {"", 0};
        struct refusal no = {ERR_NOT_FOUND, NULL, NULL};
        wharf_status s = again_find_workflow(req, runs[i], &workflow);
        wharf_scope *scope;
        wharf_out *list;

        if (s != WHARF_OK)
            return s;
        scope = W->mem->scope_begin(req); /* read inputs are large, and many */
        if (workflow)
            no = refusal_of(req, workflow, runs[i]);
        if (!no.code)
            again_add(req, a, runs[i], given_of(given, id), &made);
        list = no.code ? refused : retried;
        W->json->open(list, NULL, '{');
        W->json->put(list, "run_id", val_text(id));
        W->json->put(list, no.code ? "code" : "id", val_text(no.code ? z(no.code) : made));
        W->json->close(list);
        W->mem->scope_end(req, scope);
    }
    return WHARF_OK;
}

static void again_answer(wharf_req *req, const struct again *a, const wharf_json *retried,
    const wharf_json *refused, wharf_str next)
{
    wharf_out *out = W->req->respond(req, 202,
        W->mem->format(req, a->n == 1 ? "%zu run is queued" : "%zu runs are queued", a->n).p);

    W->json->open(out, NULL, '{');
    W->json->put(out, "retried", val_json(retried));
    W->json->put(out, "refused", val_json(refused));
    W->json->put(out, "next", val_text_or_null(next));
    W->json->close(out);
}

/* Queues again those of the n runs that the caller sees and that can be, and answers. */
static wharf_status do_again(
    wharf_req *req, const wharf_json *body, const wharf_str *ids, size_t n, wharf_str next)
{
    wharf_out *retried = W->json->writer(req), *refused = W->json->writer(req);
    const wharf_json *all_retried, *all_refused;
    const wharf_rec *const *runs = NULL;
    const wharf_rows *given = NULL;
    struct again a;
    size_t n_seen = 0;
    wharf_status s = n ? again_seen(req, ids, n, &runs, &n_seen) : WHARF_OK;

    if (s == WHARF_OK && n)
        s = given_to(req, ids, n, &given);
    if (s != WHARF_OK)
        return s;
    again_begin(req, body, &a);
    W->json->open(retried, NULL, '[');
    W->json->open(refused, NULL, '[');
    s = put_each(req, &a, runs, n_seen, given, refused, retried);
    W->json->close(retried);
    W->json->close(refused);
    if (s == WHARF_OK)
        s = W->json->parse(req, W->json->result_text(retried), &all_retried);
    if (s == WHARF_OK)
        s = W->json->parse(req, W->json->result_text(refused), &all_refused);
    if (s == WHARF_OK && a.n)
        s = again_commit(req, &a);
    if (s == WHARF_OK)
        again_answer(req, &a, all_retried, all_refused, next);
    return s;
}

wharf_status runs_again_route(wharf_req *req, void *arg)
{
    wharf_str ids[AGAIN_MOST + 1];
    const wharf_json *body;
    int64_t most = AGAIN_MOST;
    size_t n = 0;
    bool more;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = judge_workflow(req, body);
    if (s == WHARF_OK)
        s = judge_after(req, body);
    if (s == WHARF_OK && W->json->get(body, "limit"))
        W->json->integer(W->json->get(body, "limit"), &most);
    if (s == WHARF_OK) /* two requests for the same runs do them again once */
        s = W->db->lock(req, "workflows.again", W->req->organization(req));
    if (s == WHARF_OK)
        s = find_meant(req, body, ids, &n, most);
    if (s != WHARF_OK)
        return s;
    more = n > (size_t)most;
    n -= more;
    return do_again(req, body, ids, n, more ? ids[n - 1] : WHARF_S(""));
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
