/* recover.c - bringing events again: resend (one attempt now) and recovery (a job that queues
 * what failed or was missed) (spec 07 section 8). */
#include "webhooks.gen.h"
#include "webhooks.h"

enum {
    RECOVER_MOST = 1000000, /* events of one recovery */
    CHUNK = 500
};

/* ---- resend ---- */

/* Reads the webhooks that got the event when it was processed and are still there. */
static wharf_status initial_webhooks(wharf_req *req, wharf_str event_id, const wharf_json **ret)
{
    static const char sql[] =
        "SELECT DISTINCT d.webhook_id FROM webhooks.delivery d JOIN webhooks.webhook w ON "
        "w.organization_id = d.organization_id"
        " AND w.id = d.webhook_id WHERE d.organization_id = $1::text AND d.event_id || '' = "
        "$2::text AND d.trigger = 'automatic'"
        " AND w.deleted_at IS NULL ORDER BY 1";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(event_id)};
    wharf_out *out = W->json->builder(req);
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        W->json->put(out, NULL, val_text(row_text(rows, i, 0)));
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, ret) : s;
}

static wharf_status wanting_of(wharf_req *req, const wharf_rec *rec, struct wanting *ret)
{
    wharf_val supersede = {0};
    wharf_str key = field_text(rec, WEBHOOK_OWNER_KEY);

    W->res->get(rec, WEBHOOK_SUPERSEDE, &supersede);
    *ret = (struct wanting){.id = W->res->id(rec),
        .events = field_json(rec, WEBHOOK_EVENTS),
        .locations = field_json(rec, WEBHOOK_LOCATION_IDS),
        .filter = field_json(rec, WEBHOOK_FILTER),
        .supersede = supersede.u.i != 0};
    return hooks_events->readers(req, &key, 1, &ret->reader);
}

static wharf_status find_wanting(wharf_req *req, wharf_str id, struct wanting *ret)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "webhook", id, 0, &rec);

    return s == WHARF_OK ? wanting_of(req, rec, ret) : s;
}

/* Adds a delivery of the event as the webhook sees it. chosen: the caller named it. */
static wharf_status add_resend(wharf_req *req, const wharf_event *e, wharf_str id, wharf_str run,
    size_t i, bool chosen, wharf_out *rows, wharf_out *shown)
{
    const char *path = W->mem->format(req, "webhook_ids.%zu", i).p;
    const wharf_rec *rec;
    struct wanting w;
    wharf_str delivery;
    wharf_status s;

    if (W->res->fetch(req, "webhook", id, 0, &rec) != WHARF_OK) {
        W->err->clear(req);
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, path, "There is no webhook %.*s", (int)id.n, id.p);
    }
    if (is(field_text(rec, WEBHOOK_STATUS), "disabled"))
        return W->err->fail(req, ERR_WEBHOOK_DISABLED, path, NULL);
    s = wanting_of(req, rec, &w);
    e = s == WHARF_OK ? hooks_events->for_reader(req, w.reader, w.locations, e) : NULL;
    if (s != WHARF_OK || (!e && !chosen))
        return s;
    if (!e)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path,
            "The key that made the webhook %.*s may not see this event", (int)id.n, id.p);
    delivery_row(req, rows, e, W->mem->dup(req, id.p, id.n), "manual", run, W->req->now_us(req),
        false, &delivery);
    W->json->open(shown, NULL, '{');
    W->json->put(shown, "id", val_text(delivery));
    W->json->put(shown, "webhook_id", val_text(id));
    W->json->close(shown);
    return WHARF_OK;
}

static wharf_status find_event(wharf_req *req, const wharf_event **ret)
{
    const wharf_event *const *events;
    wharf_str id = WHARF_S("");
    wharf_status s;

    W->req->param(req, "event", &id);
    s = hooks_events->read(req, &id, 1, &events);
    if (s != WHARF_OK)
        return s;
    if (!events[0])
        return W->err->fail(req, ERR_NOT_FOUND, id.p, NULL);
    *ret = events[0];
    return events[0]->location_id.n ? W->req->need_location(req, events[0]->location_id) : WHARF_OK;
}

wharf_status event_resend(wharf_req *req, void *arg)
{
    wharf_out *rows = W->json->writer(req), *shown = W->json->builder(req);
    wharf_str run = W->req->new_id(req, "rsd"), id;
    const wharf_json *body, *list, *deliveries;
    const wharf_event *e = NULL;
    size_t i = 0;
    bool chosen = true;
    wharf_status s = find_event(req, &e);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK || !e)
        return s;
    list = W->json->get(body, "webhook_ids");
    if (!list || W->json->type(list) != WHARF_J_ARRAY) {
        chosen = false;
        s = initial_webhooks(req, e->id, &list);
    }
    W->json->open(rows, NULL, '[');
    W->json->open(shown, NULL, '[');
    for (const wharf_json *m = s == WHARF_OK ? W->json->at(list, 0) : NULL; m && s == WHARF_OK;
         m = W->json->next(m)) {
        if (W->json->text(m, &id))
            s = add_resend(req, e, id, run, i, chosen, rows, shown);
        i++;
    }
    W->json->close(rows);
    W->json->close(shown);
    if (s == WHARF_OK && i)
        s = delivery_add(req, rows, NULL);
    if (s == WHARF_OK)
        s = W->json->result(req, shown, &deliveries);
    if (s != WHARF_OK)
        return s;
    wharf_out *out = W->req->respond(req, 202, "Event is sent again");
    W->json->open(out, NULL, '{');
    W->json->put(out, "event_id", val_text(e->id));
    W->json->put(out, "deliveries", val_json(deliveries));
    W->json->close(out);
    return WHARF_OK;
}

/* ---- recovery ---- */

struct recovery {
    wharf_str webhook_id, run;
    wharf_str states; /* PostgreSQL array of those of deliveries */
    const wharf_json *types; /* or NULL */
    bool missed;
    /* at: when it was asked for, which is created_at of all its deliveries */
    int64_t since_us, until_us, at_us;
};

static bool type_chosen(const struct recovery *r, wharf_str type)
{
    wharf_str t;

    for (const wharf_json *e = r->types ? W->json->at(r->types, 0) : NULL; e;
         e = W->json->next(e)) {
        if (W->json->text(e, &t) && same(t, type))
            return true;
    }
    return !r->types;
}

/* Tells whether the webhook ever had a delivery of the event. Missed ones had not. */
static wharf_status had_delivery(
    wharf_req *req, const struct recovery *r, wharf_str event_id, bool *ret)
{
    static const char sql[] =
        "SELECT 1 FROM webhooks.delivery WHERE organization_id = $1::text AND event_id || '' = "
        "$2::text AND webhook_id = $3::text LIMIT 1";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(event_id), val_text(r->webhook_id)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    *ret = s == WHARF_OK && W->db->count(rows);
    return s;
}

/* Takes those that were missed of the events after a sequence; rows NULL: only counts them.
 * *after: where to go on; 0: that was all. */
static wharf_status missed_chunk(wharf_req *req, const struct recovery *r, const struct wanting *w,
    wharf_out *rows, int64_t *after, int64_t *count)
{
    const wharf_event *const *events;
    size_t n;
    wharf_str id;
    wharf_status s = hooks_events->range(req, r->since_us, r->until_us, *after, CHUNK, &events, &n);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        const wharf_event *e = NULL;
        bool had = false;

        if (type_chosen(r, events[i]->type) && !events[i]->disable_webhooks)
            s = delivery_wanted(req, w, events[i], &e);
        if (s == WHARF_OK && e)
            s = had_delivery(req, r, e->id, &had);
        if (s != WHARF_OK || !e || had)
            continue;
        *count += 1;
        if (rows)
            delivery_row(req, rows, e, w->id, "recovery", r->run, r->at_us, w->supersede, &id);
    }
    *after = s == WHARF_OK && n ? events[n - 1]->sequence : 0;
    return s;
}

static wharf_status count_missed(wharf_req *req, const struct recovery *r, int64_t *count)
{
    struct wanting w;
    int64_t after = 0;
    wharf_status s = find_wanting(req, r->webhook_id, &w);

    while (s == WHARF_OK && *count <= RECOVER_MOST && !W->req->cancelled(req)) {
        wharf_scope *scope = W->mem->scope_begin(req);

        s = missed_chunk(req, r, &w, NULL, &after, count);
        W->mem->scope_end(req, scope);
        if (!after)
            break;
    }
    return s;
}

static wharf_status count_states(wharf_req *req, const struct recovery *r, int64_t *count)
{
    static const char sql[] = "SELECT webhooks.recover_count($1::text, $2::text, $3::text[], "
                              "$4::json, $5::timestamptz, $6::timestamptz)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(r->webhook_id),
        val_text(r->states), val_json(r->types), val_time(r->since_us), val_time(r->until_us)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 6, &rows);

    if (s == WHARF_OK)
        *count += row_integer(rows, 0, 0, 0);
    return s;
}

static wharf_status read_states(wharf_req *req, const wharf_json *list, struct recovery *r)
{
    static const char *const known[] = {"failed", "dropped", "superseded", "succeeded"};
    wharf_str array = WHARF_S("{"), word;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        W->json->text(e, &word);
        r->missed |= is(word, "missed");
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (is(word, known[i]))
                array = W->mem->format(
                    req, "%.*s%s%s", (int)array.n, array.p, array.n > 1 ? "," : "", known[i]);
        }
    }
    r->states = list ? W->mem->format(req, "%.*s}", (int)array.n, array.p) : WHARF_S("{failed}");
    return WHARF_OK;
}

static bool recover_read_time(wharf_req *req, const wharf_json *v, int64_t *ret_us)
{
    static const char sql[] = "SELECT (extract(epoch FROM $1::timestamptz) * 1000000)::bigint";
    const wharf_rows *rows;
    wharf_str s;

    if (!v || !W->json->text(v, &s))
        return false;
    const wharf_val arg = val_text(s);

    if (W->db->query(req, sql, &arg, 1, &rows) != WHARF_OK)
        return false;
    *ret_us = row_integer(rows, 0, 0, 0);
    return true;
}

static wharf_status read_recovery(wharf_req *req, const wharf_json *body, struct recovery *r)
{
    r->until_us = W->req->now_us(req);
    if (!recover_read_time(req, W->json->get(body, "since"), &r->since_us))
        return W->err->current(req) != WHARF_OK
                   ? W->err->current(req)
                   : W->err->fail(req, ERR_VALIDATION_FAILED, "since", "since is a moment");
    if (W->json->get(body, "until") &&
        !recover_read_time(req, W->json->get(body, "until"), &r->until_us))
        return W->err->current(req);
    r->types = W->json->get(body, "types");
    return read_states(req, W->json->get(body, "statuses"), r);
}

static wharf_status check_since(wharf_req *req, const struct recovery *r)
{
    if (r->since_us < W->req->now_us(req) - hooks_events->days_kept(req) * 24 * HOUR_US)
        return W->err->fail(req, ERR_PARAM_INVALID, "since", "since is older than events are kept");
    return WHARF_OK;
}

static wharf_status note_recovery(wharf_req *req, const struct recovery *r, int64_t matched)
{
    static const char running_sql[] =
        "SELECT 1 FROM webhooks.recovery WHERE organization_id = $1::text AND webhook_id "
        "= $2::text AND finished_at IS NULL";
    static const char sql[] =
        "INSERT INTO webhooks.recovery (organization_id, webhook_id, id, created_at, matched)"
        " VALUES ($1::text, $2::text, $3::text, $4::timestamptz, $5::bigint)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(r->webhook_id),
        val_text(r->run), val_time(W->req->now_us(req)), val_int(matched)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, running_sql, args, 2, &rows);

    if (s == WHARF_OK && W->db->count(rows))
        return W->err->fail(req, ERR_WEBHOOK_RECOVERY_RUNNING, NULL, NULL);
    return s == WHARF_OK ? W->db->exec(req, sql, args, 5, NULL) : s;
}

static wharf_status recover_enqueue(wharf_req *req, const struct recovery *r)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "webhook", val_text(r->webhook_id));
    W->json->put(out, "run", val_text(r->run));
    W->json->put(out, "states", val_text(r->states));
    W->json->put(out, "types", val_json(r->types));
    W->json->put(out, "missed", val_bool(r->missed));
    W->json->put(out, "since_us", val_int(r->since_us));
    W->json->put(out, "until_us", val_int(r->until_us));
    W->json->put(out, "at_us", val_int(W->req->now_us(req)));
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK ? W->event->enqueue(req, "recover", r->webhook_id, args, 0) : s;
}

wharf_status webhook_recover(wharf_req *req, void *arg)
{
    struct recovery r = {.run = W->req->new_id(req, "rcv")};
    const wharf_json *body;
    const wharf_rec *rec;
    int64_t matched = 0;
    wharf_status s = find_webhook(req, WHARF_FOR_UPDATE, &rec, &r.webhook_id);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s == WHARF_OK)
        s = read_recovery(req, body, &r);
    if (s == WHARF_OK)
        s = check_since(req, &r);
    if (s == WHARF_OK && is(field_text(rec, WEBHOOK_STATUS), "disabled"))
        s = W->err->fail(req, ERR_WEBHOOK_DISABLED, NULL, NULL);
    if (s == WHARF_OK)
        s = count_states(req, &r, &matched);
    if (s == WHARF_OK && r.missed)
        s = count_missed(req, &r, &matched);
    if (s == WHARF_OK && matched > RECOVER_MOST)
        s = W->err->fail(req, ERR_PARAM_INVALID, "since",
            "That is more than %d events; choose a shorter time", RECOVER_MOST);
    if (s == WHARF_OK)
        s = note_recovery(req, &r, matched);
    if (s == WHARF_OK)
        s = recover_enqueue(req, &r);
    if (s != WHARF_OK)
        return s;
    wharf_out *out = W->req->respond(req, 202, "Recovery started");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(r.run));
    W->json->put(out, "matched", val_int(matched));
    W->json->close(out);
    return WHARF_OK;
}

/* ---- the job ---- */

static wharf_status read_job(wharf_req *req, struct recovery *r)
{
    const wharf_json *args;
    wharf_status s = W->req->body(req, &args);

    if (s != WHARF_OK)
        return s;
    W->json->text(W->json->get(args, "webhook"), &r->webhook_id);
    W->json->text(W->json->get(args, "run"), &r->run);
    W->json->text(W->json->get(args, "states"), &r->states);
    W->json->truth(W->json->get(args, "missed"), &r->missed);
    W->json->integer(W->json->get(args, "since_us"), &r->since_us);
    W->json->integer(W->json->get(args, "until_us"), &r->until_us);
    W->json->integer(W->json->get(args, "at_us"), &r->at_us);
    r->types = W->json->get(args, "types");
    if (r->types && W->json->type(r->types) != WHARF_J_ARRAY)
        r->types = NULL;
    return WHARF_OK;
}

/* Takes the next events whose deliveries ended in one of the states. */
static wharf_status ended_chunk(wharf_req *req, const struct recovery *r, const struct wanting *w,
    wharf_out *rows, int64_t *after, int64_t *count)
{
    static const char sql[] =
        "SELECT event_id, sequence FROM webhooks.recover_next($1::text, $2::text, $3::text[], "
        "$4::json, $5::timestamptz, $6::timestamptz, $7::bigint, $8::integer)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(r->webhook_id),
        val_text(r->states), val_json(r->types), val_time(r->since_us), val_time(r->until_us),
        val_int(*after), val_int(CHUNK)};
    const wharf_event *const *events;
    const wharf_rows *found;
    wharf_str ids[CHUNK], id;
    size_t n;
    wharf_status s = W->db->query(req, sql, args, 8, &found);

    if (s != WHARF_OK)
        return s;
    n = W->db->count(found);
    for (size_t i = 0; i < n; i++)
        ids[i] = row_text(found, i, 0);
    *after = n ? row_integer(found, n - 1, 1, 0) : 0;
    s = n ? hooks_events->read(req, ids, n, &events) : WHARF_OK;
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        const wharf_event *e = events[i] ? hooks_events->for_reader(
                                               req, w->reader, w->locations, events[i])
                                         : NULL;

        if (!e)
            continue; /* expired meanwhile, or not the webhook's any more */
        delivery_row(req, rows, e, w->id, "recovery", r->run, r->at_us, w->supersede, &id);
        *count += 1;
    }
    return s;
}

typedef wharf_status chunk_fn(wharf_req *req, const struct recovery *r, const struct wanting *w,
    wharf_out *rows, int64_t *after, int64_t *count);

/* Brings the events, in transactions of their own, oldest first; run again after a crash it adds
 * nothing twice: (event, webhook, run) is unique. */
static wharf_status bring(
    wharf_req *req, const struct recovery *r, const struct wanting *w, chunk_fn *chunk)
{
    int64_t after = 0;
    wharf_status s = WHARF_OK;

    do {
        wharf_scope *scope = W->mem->scope_begin(req);
        wharf_out *rows = W->json->writer(req);
        int64_t count = 0;

        s = W->db->begin(req);
        W->json->open(rows, NULL, '[');
        if (s == WHARF_OK)
            s = chunk(req, r, w, rows, &after, &count);
        W->json->close(rows);
        if (s == WHARF_OK && count)
            s = delivery_add(req, rows, NULL);
        if (s == WHARF_OK)
            s = W->db->commit(req);
        else
            W->db->rollback(req);
        W->mem->scope_end(req, scope);
        if (W->event->progress(req, (uint32_t)(after & INT32_MAX), 0))
            return WHARF_UNAVAILABLE;
    } while (s == WHARF_OK && after);
    return s;
}

wharf_status webhooks_recover_job(wharf_req *req, void *arg)
{
    static const char over_sql[] = "UPDATE webhooks.recovery SET finished_at = $3::timestamptz "
                                   "WHERE organization_id = $1::text AND id = $2::text";
    struct recovery r = {0};
    struct wanting w;
    wharf_status s = read_job(req, &r);

    if (s != WHARF_OK)
        return s;
    s = find_wanting(req, r.webhook_id, &w);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req); /* deleted meanwhile */
        s = WHARF_OK;
    } else if (s == WHARF_OK) {
        s = bring(req, &r, &w, ended_chunk);
        if (s == WHARF_OK && r.missed)
            s = bring(req, &r, &w, missed_chunk);
    }
    if (s != WHARF_OK)
        return s;
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(r.run), val_time(W->req->now_us(req))};

    return W->db->exec(req, over_sql, args, 3, NULL);
}
