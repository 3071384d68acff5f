/* send.c - the engine's requests: from what was claimed to what is to be told of it (spec 07
 * section 7). See webhook_engine.h.
 *
 * Leaves to others: what a request carries (attempt.c), what its end means (outcome.c), the
 * database (turn.c). */
#include <stdlib.h>

#include "webhook_engine.h"

/* Returns the body, with those parts of the event's data that the webhook sees. */
static wharf_str send_body_of(wharf_req *req, const wharf_rows *rows, size_t i)
{
    wharf_str body = row_text(rows, i, 18), parts = row_text(rows, i, 20);

    return parts.n ? hooks_events->with_parts(req, body, (size_t)row_integer(rows, i, 22, 0), parts,
                         row_text(rows, i, 21))
                   : body;
}

struct job *job_of(wharf_req *req, struct engine *g, const wharf_rows *rows, size_t i)
{
    struct job *j = engine_need(calloc(1, sizeof(*j)));

    j->organization = row_text(rows, i, 0);
    j->webhook = row_text(rows, i, 1);
    j->attempt = row_text(rows, i, 3);
    j->lane = row_text(rows, i, 5);
    j->resource_type = row_text(rows, i, 6);
    j->resource_id = row_text(rows, i, 7);
    j->event = row_text(rows, i, 10);
    j->type = row_text(rows, i, 11);
    j->trigger = row_text(rows, i, 15);
    j->traceparent = row_text(rows, i, 17);
    j->body = send_body_of(req, rows, i);
    j->request = WHARF_S("");
    j->sequence = row_integer(rows, i, 12, 0);
    j->number = row_integer(rows, i, 13, 1);
    j->retries = row_integer(rows, i, 14, 0);
    j->superseded = row_integer(rows, i, 16, 0);
    j->endpoint = endpoints_find(&g->endpoints, j->organization, j->webhook);
    if (j->endpoint)
        j->endpoint->users++;
    return j;
}

void job_free(struct job *j)
{
    endpoint_leave(j->endpoint);
    free(j->memory);
    free(j->report);
    free(j);
}

void job_over(wharf_req *req, struct engine *g, struct job *j, const struct result *r)
{
    job_report(req, j, r);
    j->next = NULL;
    *g->over_last = j;
    g->over_last = &j->next;
    g->n_over++;
}

static bool target_from(
    wharf_req *req, const struct endpoint *e, wharf_str organization, struct target *ret)
{
    *ret = (struct target){.organization = organization,
        .webhook_id = {e->id, strlen(e->id)},
        .url = e->url,
        .timeout_ms = e->timeout_ms};
    if (e->headers.n && W->json->parse(req, e->headers, &ret->headers) != WHARF_OK)
        return false;
    return secrets_read(req, e->secrets, W->req->now_us(req), &ret->secrets) == WHARF_OK &&
           ret->secrets.n;
}

/* Gives a delivery back that this machine can't sign (docs/guide/secrets.md): no retry is used up,
 * and for a while others are left to it. */
static void send_give_back(wharf_req *req, struct engine *g, struct job *j)
{
    static const struct result locked = {.outcome = OUT_FAILURE,
        .error = "interrupted",
        .error_text =
            {"The webhook's secret does not open with the keys of this machine; it is tried again",
                83},
        .headers = {"", 0},
        .body = {"", 0},
        .encoding = {"", 0}};

    j->unsigned_here = true;
    g->locked_until_us = W->req->now_us(req) + LOCKED_US;
    job_over(req, g, j, &locked);
}

void job_send(wharf_req *req, struct engine *g, struct job *j)
{
    static const struct result expired = {.outcome = OUT_FAILURE,
        .error = "protocol",
        .error_text = {"The event has expired", 21},
        .headers = {"", 0},
        .body = {"", 0},
        .encoding = {"", 0},
        .abort = true};
    struct message m = {.event_id = j->event,
        .type = j->type,
        .lane = j->lane,
        .traceparent = j->traceparent,
        .sequence = j->sequence,
        .number = j->number,
        .superseded = j->superseded};
    struct target t;
    wharf_str request;
    wharf_fetch *f;

    if (is(m.lane, "manual"))
        m.lane = WHARF_S("direct");
    j->memory = engine_keep((wharf_str *const[]){&j->organization, &j->webhook, &j->attempt,
                                &j->lane, &j->resource_type, &j->resource_id, &j->event, &j->type,
                                &j->trigger, &j->traceparent, &j->body},
        11);
    m.body = j->body;
    if (!j->body.n) {
        job_over(req, g, j, &expired);
    } else if (!j->endpoint || !target_from(req, j->endpoint, j->organization, &t) ||
               attempt_start(req, &t, &m, j, &f, &request) != WHARF_OK) {
        W->err->clear(req);
        send_give_back(req, g, j);
    } else {
        char *copy = engine_need(malloc(request.n + 1));

        memcpy(copy, request.p, request.n + 1);
        j->request = (wharf_str){copy, request.n};
        g->running++;
    }
}

void jobs_collect(wharf_req *req, struct engine *g)
{
    wharf_fetch *f;

    while ((f = hooks_fetch->next(req, 0))) {
        struct job *j = hooks_fetch->tag(f);
        struct result r;

        attempt_judge(req, f, &r);
        g->running--;
        job_over(req, g, j, &r);
        hooks_fetch->done(req, f);
    }
}
