/* delivery.c - making deliveries of events, and what becomes of those that wait when their
 * webhook changes (spec 07 sections 2, 7 and 8).
 *
 * Leaves to others: sending (webhook_engine.c), recovery (recover.c). */
#include "webhook_match.h"
#include "webhooks.h"

/* ---- the step ---- */

bool wants_type(const wharf_json *patterns, wharf_str type)
{
    for (const wharf_json *e = patterns ? W->json->at(patterns, 0) : NULL; e;
         e = W->json->next(e)) {
        wharf_str pattern;

        if (W->json->text(e, &pattern) && hooks_events->matches(hooks_self, pattern, type))
            return true;
    }
    return false;
}

wharf_status delivery_wanted(
    wharf_req *req, const struct wanting *w, const wharf_event *e, const wharf_event **ret_event)
{
    const wharf_json *body;
    wharf_status s;

    *ret_event = NULL;
    if (!wants_type(w->events, e->type) || !match_places(W->json, w->locations, e))
        return WHARF_OK;
    if (w->reader)
        e = hooks_events->for_reader(req, w->reader, w->locations, e);
    if (!e || !w->filter) {
        *ret_event = e;
        return WHARF_OK;
    }
    s = hooks_events->parsed(req, e, &body);
    if (s == WHARF_OK && match_filter(W->json, w->filter, body))
        *ret_event = e;
    return s;
}

void delivery_row(wharf_req *req, wharf_out *rows, const wharf_event *e, wharf_str webhook_id,
    const char *trigger, wharf_str run_id, int64_t at_us, bool supersede, wharf_str *ret_id)
{
    bool manual = !strcmp(trigger, "manual");

    *ret_id = W->req->new_id(req, "dlv");
    W->json->open(rows, NULL, '{');
    W->json->put(rows, "i", val_text(*ret_id));
    W->json->put(rows, "t", val_time(at_us));
    W->json->put(rows, "e", val_text(e->id));
    W->json->put(rows, "et", val_time(e->created_at_us));
    W->json->put(rows, "w", val_text(webhook_id));
    W->json->put(rows, "y", val_text(e->type));
    W->json->put(rows, "l", val_text(z(manual ? "manual" : e->batch_id.n ? "batch" : "direct")));
    W->json->put(rows, "rt", val_text(e->resource_type));
    W->json->put(rows, "r", val_text(e->resource_id));
    W->json->put(rows, "s", val_int(e->sequence));
    W->json->put(rows, "g", val_text(z(trigger)));
    W->json->put(rows, "n", val_text(run_id));
    W->json->put(rows, "x", val_time(e->expires_at_us));
    W->json->put(rows, "su", val_bool(supersede && e->supersedable && !manual));
    W->json->put(rows, "p", val_text_or_null(e->seen));
    W->json->close(rows);
}

wharf_status delivery_add(wharf_req *req, wharf_out *rows, int64_t *ret_added)
{
    static const char sql[] = "SELECT webhooks.add($1::text, $2::json)";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(W->json->result_text(rows))};
    const wharf_rows *result;
    wharf_status s = W->db->query(req, sql, args, 2, &result);

    if (s == WHARF_OK && ret_added)
        *ret_added = row_integer(result, 0, 0, 0);
    if (s == WHARF_OK)
        hooks_events->wake(req);
    return s;
}

static wharf_status delivery_read_wanting(wharf_req *req, struct wanting **ret, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id, events, location_ids, filter, supersede, owner_key, created_at FROM "
        "webhooks.webhook"
        " WHERE organization_id = $1::text AND deleted_at IS NULL AND status <> 'disabled' ORDER "
        "BY id";
    wharf_val organization = val_text(W->req->organization(req)), v;
    const wharf_event_reader **readers;
    const wharf_rows *rows;
    wharf_str *keys;
    wharf_status s = W->db->query(req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_n = W->db->count(rows);
    *ret = W->mem->alloc(req, (*ret_n + 1) * sizeof(**ret));
    keys = W->mem->alloc(req, (*ret_n + 1) * sizeof(*keys));
    readers = W->mem->alloc(req, (*ret_n + 1) * sizeof(*readers));
    for (size_t i = 0; i < *ret_n; i++)
        keys[i] = row_text(rows, i, 5);
    s = hooks_events->readers(req, keys, *ret_n, readers);
    for (size_t i = 0; s == WHARF_OK && i < *ret_n; i++)
        (*ret)[i] = (struct wanting){.id = row_text(rows, i, 0),
            .events = W->db->value(rows, i, 1, WHARF_V_JSON, &v) ? v.u.j : NULL,
            .locations = W->db->value(rows, i, 2, WHARF_V_JSON, &v) ? v.u.j : NULL,
            .filter = W->db->value(rows, i, 3, WHARF_V_JSON, &v) ? v.u.j : NULL,
            .reader = readers[i],
            .supersede = W->db->value(rows, i, 4, WHARF_V_BOOL, &v) && v.u.i,
            .since_us = W->db->value(rows, i, 6, WHARF_V_TIME_US, &v) ? v.u.i : 0};
    return s;
}

wharf_status delivery_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg)
{
    wharf_out *rows = W->json->writer(req);
    struct wanting *wanting;
    size_t n_wanting, made = 0;
    const wharf_event *e;
    wharf_str id;
    wharf_status s = delivery_read_wanting(req, &wanting, &n_wanting);

    W->json->open(rows, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (events[i]->disable_webhooks) {
            outcomes[i] = WHARF_STEP_SKIPPED;
            continue;
        }
        for (size_t k = 0; s == WHARF_OK && k < n_wanting; k++) {
            if (events[i]->created_at_us < wanting[k].since_us)
                continue;
            s = delivery_wanted(req, &wanting[k], events[i], &e);
            if (s != WHARF_OK || !e)
                continue;
            delivery_row(req, rows, e, wanting[k].id, "automatic", WHARF_S(""),
                events[i]->created_at_us, wanting[k].supersede, &id);
            made++;
        }
    }
    W->json->close(rows);
    return s == WHARF_OK && made ? delivery_add(req, rows, NULL) : s;
}

/* ---- when the webhook changes ---- */

wharf_status delivery_poke(wharf_req *req, wharf_str webhook_id)
{
    static const char sql[] =
        "INSERT INTO webhooks.poke (organization_id, webhook_id) VALUES ($1::text, $2::text)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(webhook_id)};
    wharf_status s = W->db->exec(req, sql, args, 2, NULL);

    if (s == WHARF_OK)
        hooks_events->wake(req);
    return s;
}

wharf_status delivery_drop(wharf_req *req, wharf_str webhook_id, const char *reason, int64_t *ret_n)
{
    static const char sql[] = "SELECT webhooks.drop_waiting($1::text, $2::text, $3::text, NULL)";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(webhook_id), val_text(z(reason))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    if (s == WHARF_OK && ret_n)
        *ret_n = row_integer(rows, 0, 0, 0);
    return s;
}

/* Notes a change of status. From suspended: the hour begins anew, slowly. From disabled: all
 * figures do. */
wharf_status delivery_status_changed(
    wharf_req *req, wharf_str webhook_id, wharf_str from, wharf_str to)
{
    static const char enabled_sql[] = "UPDATE webhooks.runtime SET hour_since = $3::timestamptz, "
                                      "slow_limit = 1, refused = 0, refused_since = NULL"
                                      " WHERE organization_id = $1::text AND webhook_id = $2::text";
    static const char held_sql[] =
        "UPDATE webhooks.runtime SET held_since = COALESCE(held_since, $3::timestamptz)"
        " WHERE organization_id = $1::text AND webhook_id = $2::text";
    static const char anew_sql[] =
        "DELETE FROM webhooks.bucket WHERE organization_id = $1::text AND webhook_id = $2::text";
    static const char well_sql[] = "UPDATE webhooks.webhook SET degraded_at = NULL WHERE "
                                   "organization_id = $1::text AND id = $2::text";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(webhook_id), val_time(W->req->now_us(req))};
    wharf_status s = W->db->exec(req, is(to, "enabled") ? enabled_sql : held_sql, args, 3, NULL);

    if (s == WHARF_OK && is(to, "enabled") && is(from, "disabled"))
        s = W->db->exec(req, anew_sql, args, 2, NULL);
    if (s == WHARF_OK && is(to, "enabled") && is(from, "disabled"))
        s = W->db->exec(req, well_sql, args, 2, NULL);
    return s == WHARF_OK ? delivery_poke(req, webhook_id) : s;
}

wharf_status webhook_flush(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    int64_t dropped = 0;
    wharf_str id;
    wharf_status s = find_webhook(req, 0, &rec, &id);

    if (s == WHARF_OK)
        s = delivery_drop(req, id, "flushed", &dropped);
    if (s != WHARF_OK)
        return s;
    wharf_out *out = W->req->respond(req, 200, "Waiting deliveries dropped");
    W->json->open(out, NULL, '{');
    W->json->put(out, "dropped", val_int(dropped));
    W->json->close(out);
    return WHARF_OK;
}
