/* outcome.c - what a request's end means for its delivery, as the database is told of it (spec
 * 07 section 7). What it means for the webhook: attempt.c. See webhook_engine.h. */
#include <stdlib.h>

#include "webhook_engine.h"
#include "webhook_schedule.h"
#include "wharf/hash.h"

static void outcome_put_text(wharf_out *out, const char *key, wharf_str s)
{
    if (s.n)
        W->json->put(out, key, val_text(s));
}

/* Returns 0 to 1: the ids of attempts are random. */
static double outcome_random_of(const struct job *j)
{
    return (double)wharf_hash32(WHARF_HASH32_START, j->attempt.p, j->attempt.n) / 4294967296.0;
}

/* Returns the delivery's final state, or NULL and the wait until the next attempt. */
static const char *final_state(const struct job *j, const struct result *r, int64_t *ret_wait_ms)
{
    if (r->outcome == OUT_SUCCESS)
        return "succeeded";
    if (!j->body.n)
        return "dropped";
    if (j->unsigned_here) {
        *ret_wait_ms = LOCKED_US / 1000;
        return NULL;
    }
    if (r->abort || is(j->trigger, "manual"))
        return "failed";
    if (r->outcome == OUT_RATE_LIMITED)
        return NULL;
    if (!schedule_wait(j->endpoint ? j->endpoint->retry_mode : WHARF_S("balanced"),
            (uint32_t)j->retries, outcome_random_of(j), ret_wait_ms))
        return "failed";
    if (r->later_ms > *ret_wait_ms)
        *ret_wait_ms = r->later_ms;
    return NULL;
}

static void outcome_put_outcome(wharf_out *out, const struct job *j, const struct result *r)
{
    static const char *const outcomes[] = {"success", "failure", "rate_limited"};
    bool counted = !is(j->trigger, "manual") && j->body.n && !j->unsigned_here;
    int64_t wait_ms = 0;
    const char *final = final_state(j, r, &wait_ms);

    W->json->put(out, "st", val_text(z(outcomes[r->outcome])));
    if (final)
        W->json->put(out, "f", val_text(z(final)));
    if (!j->body.n)
        W->json->put(out, "fr", val_text(WHARF_S("event_expired")));
    W->json->put(out, "n", val_int(wait_ms));
    W->json->put(out, "c", val_bool(counted && r->outcome == OUT_FAILURE));
    W->json->put(out, "h", val_bool(counted));
    W->json->put(out, "p", val_int(r->pause_ms));
    W->json->put(out, "rf", val_bool(r->refused));
    W->json->put(out, "ms", val_int(r->duration_us / 1000));
    if (*r->error) {
        W->json->put(out, "ec", val_text(z(r->error)));
        W->json->put(out, "em", val_text(r->error_text));
    }
}

/* Writes the answer. Objects go as texts: the database reads them once. */
static void outcome_put_answer(wharf_out *out, const struct result *r)
{
    if (!r->headers.n)
        return;
    W->json->put(out, "rs", val_int(r->status));
    W->json->put(out, "rh", val_text(r->headers));
    W->json->put(out, "rb", val_text(r->body));
    outcome_put_text(out, "re", r->encoding);
    W->json->put(out, "rtr", val_bool(r->truncated));
}

static void outcome_count(wharf_req *req, const struct result *r)
{
    static const wharf_str labels[] = {WHARF_S("result=\"success\""), WHARF_S("result=\"failure\""),
        WHARF_S("result=\"rate_limited\"")};

    hooks_metrics->count(req, WHARF_S("event_delivery"), labels[r->outcome], 1);
}

void job_report(wharf_req *req, struct job *j, const struct result *r)
{
    wharf_out *out = W->json->writer(req);
    wharf_str report;

    W->json->open(out, NULL, '{');
    W->json->put(out, "a", val_text(j->attempt));
    W->json->put(out, "o", val_text(j->organization));
    W->json->put(out, "w", val_text(j->webhook));
    W->json->put(out, "l", val_text(j->lane));
    W->json->put(out, "rt", val_text(j->resource_type));
    W->json->put(out, "r", val_text(j->resource_id));
    W->json->put(out, "u", val_text(j->endpoint ? j->endpoint->url : WHARF_S("")));
    outcome_put_outcome(out, j, r);
    outcome_put_answer(out, r);
    outcome_put_text(out, "rq", j->request);
    W->json->close(out);
    report = W->json->result_text(out);
    j->report = engine_need(malloc(report.n + 1));
    memcpy(j->report, report.p, report.n + 1);
    j->report_bytes = report.n;
    j->failed = r->outcome == OUT_FAILURE && !is(j->trigger, "manual") && j->body.n &&
                !j->unsigned_here;
    j->disable = r->disable;
    outcome_count(req, r);
    free((char *)(j->request.n ? j->request.p : NULL));
    j->request = WHARF_S("");
}
