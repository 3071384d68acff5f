/* notices.c - telling of errors: one event when there were as many within the interval as the
 * settings allow (spec 07 section 12), and what is kept for how long.
 *
 * The mails follow from the event (module events). */
#include <stdlib.h>

#include "integrations.h"
#include "integrations.gen.h"

enum { BATCH = 1000, INTERVAL_TEXT = 9 };

struct limit {
    int64_t failures, interval_us;
};

/* Reads settings.integration_notifications.<kind>; failures 0: off. */
static wharf_status notices_read_limit(wharf_req *req, const char *kind, struct limit *ret)
{
    const wharf_json *v;
    const wharf_json *count;
    wharf_str interval;
    wharf_status s = int_org->setting_json(
        req, W->mem->format(req, "integration_notifications.%s", kind).p, &v);

    *ret = (struct limit){0, 1440 * 60 * SECOND_US};
    if (s != WHARF_OK || json_is_null(v))
        return s;
    count = W->json->get(v, "failure_limit");
    if (count)
        W->json->integer(count, &ret->failures);
    interval = json_text(v, "failure_interval");
    if (interval.n == INTERVAL_TEXT) /* mins_0015 */
        ret->interval_us = strtoll(interval.p + 5, NULL, 10) * 60 * SECOND_US;
    return WHARF_OK;
}

static wharf_status notices_emit(
    wharf_req *req, const char *kind, wharf_str id, int64_t count, int64_t limit)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->open(out, "error_notification", '{');
    W->json->put(out, "count", val_int(count));
    W->json->put(out, "limit", val_int(limit));
    W->json->put(out, "created_at", val_time(W->req->now_us(req)));
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK
               ? W->event->emit(req, W->mem->format(req, "%s.error", kind).p, kind, id, extra)
               : s;
}

/* Tells of errors. The count begins anew with each notice, and for one interval there is no other.
 * The lock makes errors that come at once one after the other. */
wharf_status notice_error(wharf_req *req, const char *kind, wharf_str id)
{
    static const char sql[] = QUERY_FAILURES_TO_TELL;
    static const char reported_sql[] =
        "INSERT INTO integrations.notice (organization_id, kind, at) VALUES ($1::text, $2::text, "
        "$3::timestamptz) ON CONFLICT (organization_id, kind) DO UPDATE SET at = EXCLUDED.at";
    const wharf_rows *rows;
    struct limit limit;
    int64_t count;
    wharf_status s = notices_read_limit(req, kind, &limit);

    if (s != WHARF_OK || !limit.failures)
        return s;
    s = W->db->lock(req, kind, W->req->organization(req));
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(z(kind)),
        val_time(W->req->now_us(req)), val_int(limit.interval_us)};

    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 4, &rows);
    if (s != WHARF_OK)
        return s;
    count = row_int(rows, 0, 0);
    if (count < limit.failures || row_bool(rows, 0, 1))
        return WHARF_OK;
    s = W->db->exec(req, reported_sql, args, 3, NULL);
    return s == WHARF_OK ? notices_emit(req, kind, id, count, limit.failures) : s;
}

wharf_status retention_run(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT integrations.expire($1::integer)";
    const wharf_val most = val_int(BATCH);
    const wharf_rows *rows;
    wharf_status s;

    (void)arg;
    do {
        wharf_scope *scope = W->mem->scope_begin(req);
        int64_t n = 0;

        s = W->db->query(req, sql, &most, 1, &rows);
        if (s == WHARF_OK)
            n = row_int(rows, 0, 0);
        W->mem->scope_end(req, scope);
        if (!n)
            break;
    } while (s == WHARF_OK && !W->event->progress(req, 0, 0));
    return s;
}
