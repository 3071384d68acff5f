/* incoming.c - requests of other systems: judged, noted, and judged again (spec 07 section 12).
 *
 * Who is refused is noted as well, with what he offered as a proof (sealed), so that a wrong
 * secret can be corrected and nothing is lost. So is what was taken and whose workflow could not be
 * started. Leaves to others: the four kinds of proof (proof.c), what the workflow gets
 * (integration_runs.c), telling of errors (notices.c). */
#include <strings.h>

#include "integrations.gen.h"
#include "integrations.h"

enum {
    WEBHOOK_ID_MAX = 255, /* letters of an id that senders give */
    REFUSED_KEPT = 100, /* refused requests of an integration in an hour whose bodies are kept */
};

struct arrival { /* one request */
    wharf_str id, webhook_id, body;
    struct shown_integration integration;
    const wharf_json *auth, *headers; /* headers: as the log shows them */
    struct proof proof;
    const char *problem; /* NULL: it is who it says */
    wharf_workflow_start run; /* workflow_id empty: there is none to start */
};

/* Tells whether the request ended in an error. */
static bool incoming_failed(const struct arrival *a)
{
    return a->problem || a->run.code;
}

/* ---- what is noted ---- */

/* Tells whether the header is one whose value is a secret by its nature. */
static bool incoming_masked(const struct arrival *a, wharf_str name)
{
    static const char *const names[] = {
        "authorization", "proxy-authorization", "cookie", "svc-api-key"};
    wharf_str own = json_text(a->auth, "header");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (name.n == strlen(names[i]) && !strcasecmp(name.p, names[i]))
            return true;
    }
    return own.n == name.n && !strncasecmp(name.p, own.p, own.n);
}

static bool came_before(wharf_req *req, wharf_str name, size_t n)
{
    wharf_str other, value;

    for (size_t i = 0; i < n; i++) {
        if (int_http->header_at(req, i, &other, &value) && other.n == name.n &&
            !strcasecmp(other.p, name.p))
            return true;
    }
    return false;
}

static wharf_status incoming_read_headers(wharf_req *req, struct arrival *a)
{
    wharf_out *out = W->json->builder(req);
    wharf_str name, value;

    W->json->open(out, NULL, '{');
    for (size_t i = 0; int_http->header_at(req, i, &name, &value); i++) {
        wharf_str lower = W->mem->dup(req, name.p, name.n);

        for (size_t k = 0; k < lower.n; k++)
            ((char *)lower.p)[k] = name.p[k] >= 'A' && name.p[k] <= 'Z' ? (char)(name.p[k] + 32)
                                                                        : name.p[k];
        if (!came_before(req, name, i))
            W->json->put(out, lower.p, val_text(incoming_masked(a, name) ? WHARF_S("***") : value));
    }
    W->json->close(out);
    return W->json->result(req, out, &a->headers);
}

static wharf_status request_json(
    wharf_req *req, const struct arrival *a, bool with_body, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    bool plain = int_text->is_text(a->body);

    W->json->open(out, NULL, '{');
    W->json->put(out, "method", val_text(WHARF_S("POST")));
    W->json->put(out, "path",
        val_text(W->mem->format(
            req, "/v1/incoming/%.*s", (int)a->integration.id.n, a->integration.id.p)));
    if (with_body)
        W->json->put(out, "body", val_text(plain ? a->body : int_crypto->base64(req, a->body)));
    if (with_body && !plain)
        W->json->put(out, "body_encoding", val_text(WHARF_S("base64")));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static wharf_status error_json(wharf_req *req, const struct arrival *a, const wharf_json **ret)
{
    *ret = NULL;
    if (a->problem)
        return error_made(req, "unauthorized", a->problem, ret);
    return a->run.code ? error_made(req, a->run.code, a->run.why, ret) : WHARF_OK;
}

static wharf_status incoming_note(wharf_req *req, const struct arrival *a, bool with_body)
{
    static const char sql[] = QUERY_INCOMING_NOTE;
    const wharf_json *request, *response, *error;
    wharf_str sealed = WHARF_S("");
    /* An incoming request is kept as long as events are. */
    int64_t expires_us = W->req->now_us(req) + int_events->days_kept(req) * DAY_US;
    wharf_status s = request_json(req, a, with_body, &request);

    if (s == WHARF_OK)
        s = error_json(req, a, &error);
    if (s == WHARF_OK)
        s = W->json->parse(req,
            a->problem ? WHARF_S("{\"status\": 401}") : WHARF_S("{\"status\": 202}"), &response);
    if (s != WHARF_OK)
        return s;
    if (a->problem)
        int_crypto->seal(
            req, "integrations.incoming", "proof", a->id, proof_text(req, &a->proof), &sealed);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(a->id),
        val_time(W->req->now_us(req)), val_text(a->integration.id),
        val_text(incoming_failed(a) ? WHARF_S("error") : WHARF_S("success")), val_json(request),
        val_json(a->headers), val_text_or_null(sealed), val_json(response), val_json(error),
        val_time(expires_us), val_text_or_null(a->run.run_id)};

    return W->db->exec(req, sql, args, 12, NULL);
}

/* Notes on the integration how its last request went. */
static wharf_status note_state(wharf_req *req, wharf_str integration_id, bool failing)
{
    static const char sql[] =
        "UPDATE integrations.integration SET failing = $3::boolean WHERE organization_id = "
        "$1::text AND id = $2::text AND failing <> $3::boolean";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(integration_id), val_bool(failing)};

    return W->db->exec(req, sql, args, 3, NULL);
}

static wharf_status incoming_note_failure(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "INSERT INTO integrations.failure (organization_id, kind, at, id) VALUES ($1::text, "
        "'incoming_webhook', $2::timestamptz, $3::text)";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_time(W->req->now_us(req)), val_text(id)};
    wharf_status s = W->db->exec(req, sql, args, 3, NULL);

    return s == WHARF_OK ? notice_error(req, INCOMING_NOTICE, id) : s;
}

/* Notes on the integration how its last request went, and that it failed. */
static wharf_status incoming_note_end(wharf_req *req, const struct arrival *a)
{
    wharf_status s = note_state(req, a->integration.id, incoming_failed(a));

    return s == WHARF_OK && incoming_failed(a) ? incoming_note_failure(req, a->id) : s;
}

/* ---- taking ---- */

static wharf_status incoming_find(wharf_req *req, struct arrival *a)
{
    static const char sql[] =
        "SELECT auth, name, provider, workflow_id FROM integrations.integration WHERE "
        "organization_id = $1::text AND id = $2::text AND enabled AND direction = 'incoming' AND "
        "deleted_at IS NULL";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(a->integration.id)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, a->integration.id.p, NULL);
    if (s != WHARF_OK)
        return s;
    a->auth = row_json(rows, 0, 0);
    a->integration.name = row_text(rows, 0, 1);
    a->integration.provider = row_text(rows, 0, 2);
    a->run = (wharf_workflow_start){
        .head = WHARF_HEAD(wharf_workflow_start), .workflow_id = row_text(rows, 0, 3)};
    return WHARF_OK;
}

static wharf_status incoming_judge(wharf_req *req, struct arrival *a, int64_t at_us)
{
    wharf_str secret;
    wharf_status s = secret_value(req, a->integration.id, secret_key(a->auth), &secret);

    if (s == WHARF_OK)
        a->problem = proof_problem(req, a->auth, secret, &a->proof, a->body, at_us / SECOND_US);
    return s;
}

/* Tells whether there is room for a refused request: whoever knows no secret should not fill the
 * disk. */
static wharf_status room_for_refused(wharf_req *req, const struct arrival *a, bool *ret)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT FROM integrations.incoming WHERE "
                              "organization_id = $1::text AND integration_id = "
                              "$2::text AND created_at > $3::timestamptz - interval '1 hour' AND "
                              "status = 'error' LIMIT $4::integer) x";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(a->integration.id),
        val_time(W->req->now_us(req)), val_int(REFUSED_KEPT)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    *ret = s == WHARF_OK && row_int(rows, 0, 0) < REFUSED_KEPT;
    return s;
}

/* Finds the id of the request that came with this webhook-id within a day; "": this is the
 * first. */
static wharf_status seen_before(wharf_req *req, const struct arrival *a, wharf_str *ret_id)
{
    static const char sql[] =
        "WITH new AS (INSERT INTO integrations.seen AS s (organization_id, integration_id, "
        "webhook_id, incoming_id, at) VALUES ($1::text, $2::text, $3::text, $4::text, "
        "$5::timestamptz) ON CONFLICT (organization_id, integration_id, "
        "webhook_id) DO UPDATE SET incoming_id = EXCLUDED.incoming_id, at = EXCLUDED.at WHERE s.at "
        "<= EXCLUDED.at - interval '24 hours' RETURNING incoming_id) SELECT incoming_id FROM new";
    static const char old_sql[] =
        "SELECT incoming_id FROM integrations.seen WHERE organization_id = $1::text AND "
        "integration_id = $2::text AND webhook_id = $3::text";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(a->integration.id),
        val_text(a->webhook_id), val_text(a->id), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    *ret_id = WHARF_S("");
    if (s != WHARF_OK || W->db->count(rows))
        return s;
    s = W->db->query(req, old_sql, args, 3, &rows);
    if (s == WHARF_OK)
        *ret_id = row_text(rows, 0, 0);
    return s;
}

static wharf_status incoming_refuse(wharf_req *req, const struct arrival *a)
{
    bool room;
    wharf_status s = room_for_refused(req, a, &room);

    if (s == WHARF_OK)
        s = incoming_note(req, a, room);
    return s == WHARF_OK ? incoming_note_end(req, a) : s;
}

/* ---- its workflow ---- */

/* Makes of the request what the workflow gets: as the log shows it, with its body as JSON when it
 * is some. */
static wharf_status shown_request(wharf_req *req, const struct arrival *a, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *request, *json = NULL;
    wharf_status s = request_json(req, a, true, &request);

    if (s != WHARF_OK)
        return s;
    if (W->json->parse(req, a->body, &json) != WHARF_OK) {
        W->err->clear(req);
        json = NULL;
    }
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(request, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    W->json->put(out, "headers", val_json(a->headers));
    W->json->put(out, "json", json ? val_json(json) : val_null());
    W->json->put(out, "incoming_webhook_id", val_text(a->id));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Starts the workflow of the integration, when it has one. */
static wharf_status incoming_start_run(wharf_req *req, struct arrival *a)
{
    wharf_workflow_start *const starts[] = {&a->run};
    const wharf_json *request;
    wharf_status s;

    if (!a->run.workflow_id.n)
        return WHARF_OK;
    s = shown_request(req, a, &request);
    if (s != WHARF_OK)
        return s;
    runs_input(req, &a->integration, "request", request, &a->run);
    return runs_start(req, starts, 1);
}

/* Takes a request. *ret_before: the request that this one repeats, or empty. */
static wharf_status incoming_take_request(wharf_req *req, struct arrival *a, wharf_str *ret_before)
{
    wharf_status s = incoming_find(req, a);

    *ret_before = WHARF_S("");
    if (s != WHARF_OK)
        return s;
    proof_of(req, a->auth, &a->proof);
    s = incoming_read_headers(req, a);
    if (s == WHARF_OK)
        s = incoming_judge(req, a, W->req->now_us(req));
    if (s != WHARF_OK || a->problem)
        return s == WHARF_OK ? incoming_refuse(req, a) : s;
    if (a->webhook_id.n)
        s = seen_before(req, a, ret_before);
    if (s != WHARF_OK || ret_before->n)
        return s;
    s = incoming_start_run(req, a);
    if (s == WHARF_OK)
        s = incoming_note(req, a, true);
    return s == WHARF_OK ? incoming_note_end(req, a) : s;
}

wharf_status incoming_take(wharf_req *req, void *arg)
{
    struct arrival a = {
        .body = int_http->body(req), .webhook_id = int_http->header(req, "webhook-id")};
    wharf_str name = WHARF_S(""), before;
    wharf_out *out;
    wharf_status s;

    (void)arg;
    W->req->param(req, "integration", &name);
    s = int_tokens->enter(req, INCOMING_KIND, name, &a.integration.id);
    if (s == WHARF_OK && a.webhook_id.n > WEBHOOK_ID_MAX)
        a.webhook_id.n = WEBHOOK_ID_MAX;
    a.id = W->req->new_id(req, "inc_whk");
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = incoming_take_request(req, &a, &before);
    if (s != WHARF_OK) {
        W->db->rollback(req);
        return s;
    }
    s = W->db->commit(req); /* also of who was refused: that is noted */
    if (s == WHARF_OK && a.problem)
        return W->err->fail(req, ERR_INTEGRATION_UNAUTHORIZED, NULL, "%s", a.problem);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(
        req, before.n ? 200 : 202, before.n ? "This request was taken before" : "Request taken");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(before.n ? before : a.id));
    W->json->close(out);
    return WHARF_OK;
}

/* ---- another try ---- */

static wharf_status incoming_body_of(wharf_req *req, const wharf_rec *rec, struct arrival *a)
{
    const wharf_json *request = field_json(rec, INCOMING_WEBHOOK_REQUEST);
    const wharf_json *body = request ? W->json->get(request, "body") : NULL;

    if (!body || !W->json->text(body, &a->body)) {
        a->problem = "There were so many refused requests that this one's body was not kept";
        return WHARF_OK;
    }
    if (json_text(request, "body_encoding").n) {
        wharf_str url = W->mem->format(req, "data:;base64,%.*s", (int)a->body.n, a->body.p), type;

        if (!int_text->data_url(req, url, &type, &a->body))
            return W->err->fail(req, ERR_INTERNAL, NULL, NULL);
    }
    return WHARF_OK;
}

/* Judges the request again, by the time at which it came. One that was taken, and whose workflow
 * could not be started, has proved itself then. */
static wharf_status judge_again(
    wharf_req *req, const wharf_rec *rec, bool refused, struct arrival *a)
{
    wharf_val at;
    wharf_status s = incoming_find(req, a);

    a->headers = field_json(rec, INCOMING_WEBHOOK_HEADERS);
    if (s == WHARF_OK)
        s = incoming_body_of(req, rec, a);
    if (s == WHARF_OK && refused)
        s = proof_parse(req, field_text(rec, INCOMING_WEBHOOK_PROOF), &a->proof);
    if (s == WHARF_OK && refused && !a->problem &&
        W->res->get(rec, INCOMING_WEBHOOK_CREATED_AT, &at))
        s = incoming_judge(req, a, at.u.i);
    return s;
}

static wharf_status incoming_settle(wharf_req *req, const struct arrival *a)
{
    static const char sql[] =
        "UPDATE integrations.incoming SET status = $3::text, error = $4::jsonb, attempts = "
        "attempts + 1, proof = CASE WHEN $7::boolean THEN proof END, updated_at = "
        "$5::timestamptz, run_id = $6::text WHERE organization_id = $1::text AND id = $2::text";
    const wharf_json *error;
    wharf_status s = error_json(req, a, &error);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(a->id),
        val_text(incoming_failed(a) ? WHARF_S("error") : WHARF_S("success")),
        val_json(s == WHARF_OK ? error : NULL), val_time(W->req->now_us(req)),
        val_text_or_null(a->run.run_id), val_bool(a->problem != NULL)};

    if (s == WHARF_OK)
        s = W->db->exec(req, sql, args, 7, NULL);
    return s == WHARF_OK ? incoming_note_end(req, a) : s;
}

/* Takes it now, unless it came again since and was taken then. */
static wharf_status take_again(wharf_req *req, struct arrival *a, bool refused)
{
    wharf_str before = WHARF_S("");
    wharf_status s = WHARF_OK;

    a->webhook_id = a->proof.id.n > WEBHOOK_ID_MAX ? (wharf_str){a->proof.id.p, WEBHOOK_ID_MAX}
                                                   : a->proof.id;
    if (refused && !a->problem && a->webhook_id.n)
        s = seen_before(req, a, &before);
    if (s == WHARF_OK && before.n)
        return W->err->fail(req, ERR_INTEGRATION_NOT_FAILED, NULL,
            "It came again since, and was taken as %s", before.p);
    if (s == WHARF_OK && !a->problem)
        s = incoming_start_run(req, a);
    return s == WHARF_OK ? incoming_settle(req, a) : s;
}

wharf_status incoming_retry(wharf_req *req, void *arg)
{
    struct arrival a = {.id = WHARF_S("")};
    const wharf_rec *rec;
    bool refused = true;
    wharf_status s;

    (void)arg;
    W->req->param(req, "incoming_webhook", &a.id);
    s = W->res->fetch(req, "incoming_webhook", a.id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK && !is(field_text(rec, INCOMING_WEBHOOK_STATUS), "error"))
        return W->err->fail(req, ERR_INTEGRATION_NOT_FAILED, NULL, NULL);
    if (s == WHARF_OK) {
        refused = is(json_text(field_json(rec, INCOMING_WEBHOOK_ERROR), "code"), "unauthorized");
        a.integration.id = field_text(rec, INCOMING_WEBHOOK_INTEGRATION_ID);
        s = judge_again(req, rec, refused, &a);
    }
    if (s == WHARF_OK)
        s = take_again(req, &a, refused);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "incoming_webhook", a.id, 0, &rec);
    if (s == WHARF_OK)
        W->res->encode(req,
            W->req->respond(req, 202,
                a.problem    ? "Request refused again"
                : a.run.code ? "Request taken, its workflow was not started"
                             : "Request taken"),
            NULL, rec);
    return s;
}
