/* workflow_schedule.c - triggers of type schedule (spec 08 section 3): when one is due, the
 * job that starts its runs, and what becomes of a time that was missed (fire()). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"
#include "wharf/errors.h"

/* Later than that a time is missed: the servers were down. Further back, and the clock was set
 * (sql/late_schedules.sql). */
static const int64_t late_us = 60000000, set_back_us = 3600000000;

/* ---- which are there ---- */

static wharf_status ask_at(wharf_req *req, int64_t at_us)
{
    return W->event->enqueue(req, "tick", WHARF_S(""), NULL, at_us);
}

wharf_status schedule_clear(wharf_req *req, wharf_str workflow_id)
{
    static const char sql[] = "DELETE FROM workflows.schedule WHERE organization_id = $2::text AND "
                              "workflow_id = $1::text";

    return query_about(req, sql, workflow_id, NULL);
}

wharf_status schedule_set(wharf_req *req, wharf_str workflow_id, const wharf_json *triggers)
{
    static const char sql[] =
        "INSERT INTO workflows.schedule (organization_id, workflow_id, place, next_at, "
        "reckoned_at) VALUES ($1::text, $2::text, $3::bigint, $4::timestamptz, $5::timestamptz)";
    int64_t place = 0, at;
    wharf_status s = schedule_clear(req, workflow_id);

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t && s == WHARF_OK;
         t = W->json->next(t), place++) {
        if (!is(json_text(t, "type"), "schedule") || !trigger_enabled(t) ||
            !flow_cron->next(
                json_text(t, "cron"), json_text(t, "timezone"), W->req->now_us(req), &at))
            continue;
        const wharf_val args[] = {val_text(W->req->organization(req)), val_text(workflow_id),
            val_int(place), val_time(at), val_time(W->req->now_us(req))};
        s = W->db->exec(req, sql, args, 5, NULL);
        if (s == WHARF_OK)
            s = ask_at(req, at);
    }
    return s;
}

wharf_status schedule_begin(wharf_req *req, wharf_str workflow_id)
{
    static const char sql[] = "SELECT v.triggers FROM workflows.workflow w JOIN workflows.version "
                              "v ON v.organization_id = w.organization_id "
                              "AND v.workflow_id = w.id AND v.number = w.published_version WHERE "
                              "w.organization_id = $2::text AND w.id = "
                              "$1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, workflow_id, &rows);

    return s == WHARF_OK && W->db->count(rows)
               ? schedule_set(req, workflow_id, row_json(rows, 0, 0))
               : s;
}

/* ---- what is due ---- */

struct due {
    wharf_str workflow_id;
    int64_t place, at_us; /* the time that it is for */
    const wharf_json *trigger, *options;
};

static const wharf_json *workflow_schedule_trigger_of(wharf_req *req, const struct due *d)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *v = NULL;

    W->json->open(out, NULL, '{');
    W->json->put(out, "type", val_text(WHARF_S("schedule")));
    W->json->put(out, "name", val_text_or_null(json_text(d->trigger, "name")));
    W->json->put(out, "cron", val_text(json_text(d->trigger, "cron")));
    W->json->put(out, "scheduled_at", val_time(d->at_us));
    W->json->close(out);
    W->json->result(req, out, &v);
    return v;
}

static wharf_str tick_of(wharf_req *req, const struct due *d)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "scheduled_at", val_time(d->at_us));
    W->json->put(out, "actual_at", val_time(W->req->now_us(req)));
    W->json->put(out, "local_time",
        val_text(flow_cron->local(req, json_text(d->trigger, "timezone"), d->at_us)));
    W->json->close(out);
    return W->json->result_text(out);
}

wharf_str tick_by_hand(wharf_req *req, const wharf_json *triggers)
{
    struct due d = {.at_us = W->req->now_us(req)};

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t && !d.trigger;
         t = W->json->next(t))
        d.trigger = is(json_text(t, "type"), "schedule") && trigger_enabled(t) ? t : NULL;
    return tick_of(req, &d);
}

/* Tells whether a run of this trigger is not over yet. */
static wharf_status overlaps(wharf_req *req, const struct due *d, bool *ret)
{
    static const char sql[] = QUERY_SCHEDULE_OVERLAPS;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(d->workflow_id),
        val_text(json_text(d->trigger, "cron")), val_text_or_null(json_text(d->trigger, "name"))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    *ret = s == WHARF_OK && row_bool(rows, 0, 0);
    return s;
}

static wharf_status workflow_schedule_start_run(wharf_req *req, const struct due *d)
{
    struct queued q = {.workflow_id = d->workflow_id,
        .type = "schedule",
        .trigger = workflow_schedule_trigger_of(req, d),
        .order_key = queue_order_key(req, d->options, WHARF_S(""), WHARF_S("")),
        .input = tick_of(req, d)};
    wharf_out *rows = W->json->writer(req);
    bool skip = false;
    wharf_status s = is(json_text(d->trigger, "overlap"), "queue") ? WHARF_OK
                                                                   : overlaps(req, d, &skip);

    if (s != WHARF_OK)
        return s;
    if (skip) {
        q.skipped = "workflow.overlap";
        q.why = "the run before was not over";
    }
    W->json->open(rows, NULL, '[');
    run_queue_put(req, rows, &q, NULL);
    return queue_commit(req, rows, 1);
}

/* Fires a schedule. Of a time that was missed because nothing ran the latest one counts, when the
 * trigger wants it. One that is ahead is not started: the clock was set back. */
static wharf_status fire(wharf_req *req, struct due *d)
{
    static const char sql[] =
        "UPDATE workflows.schedule SET next_at = $4::timestamptz, reckoned_at = $5::timestamptz "
        "WHERE organization_id = $1::text AND workflow_id = $2::text AND place = $3::bigint";
    wharf_str cron = json_text(d->trigger, "cron"), zone = json_text(d->trigger, "timezone");
    int64_t now = W->req->now_us(req), next, last;
    wharf_status s = WHARF_OK;

    if (flow_cron->last(cron, zone, now, &last) && last > d->at_us)
        d->at_us = last;
    if (!flow_cron->next(cron, zone, now, &next))
        return W->err->fail(req, ERR_INTERNAL, NULL, "a published schedule is none");
    if (d->at_us <= now &&
        (now - d->at_us <= late_us || json_truth(W->json->get(d->trigger, "catch_up"))))
        s = workflow_schedule_start_run(req, d);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(d->workflow_id),
        val_int(d->place), val_time(next), val_time(now)};
    if (s == WHARF_OK)
        s = W->db->exec(req, sql, args, 5, NULL);
    return s == WHARF_OK ? ask_at(req, next) : s;
}

wharf_status schedule_due(wharf_req *req, void *arg)
{
    static const char sql[] = QUERY_SCHEDULES_DUE;
    int64_t now = W->req->now_us(req);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_time(now), val_time(now + set_back_us)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct due d = {.workflow_id = row_text(rows, i, 0),
            .place = row_int(rows, i, 1),
            .trigger = row_json(rows, i, 3),
            .options = row_json(rows, i, 4)};
        wharf_val at;

        if (W->db->value(rows, i, 2, WHARF_V_TIME_US, &at))
            d.at_us = at.u.i;
        s = fire(req, &d);
    }
    return s;
}
