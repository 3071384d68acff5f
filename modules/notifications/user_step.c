/* user_step.c - who is told of an event: the step user_push_notifications (spec 07 section 16.2
 * rules 1 to 5 and 8).
 *
 * One statement reads who listens, one writes all rows of a chunk. Leaves to others: sending
 * (push_send.c). */
#include "user_push.h"

#include "notifications.gen.h"

struct listener { /* a user who wants to hear of some event of the chunk */
    wharf_str id, language;
    const wharf_json *patterns, *quiet;
    bool reachable;
    int64_t due_us;
    const wharf_event_reader *reader;
};

struct chunk {
    const wharf_event *const *events;
    size_t n;
    struct listener *listeners;
    size_t n_listeners;
    bool *told; /* by event and listener */
    size_t *newer; /* the next event of the same row; n: none */
};

static bool *user_step_told(const struct chunk *c, size_t event, size_t listener)
{
    return &c->told[event * c->n_listeners + listener];
}

/* ---- who listens ---- */

static bool wants(const struct listener *l, wharf_str type)
{
    wharf_str pattern;

    for (const wharf_json *p = W->json->at(l->patterns, 0); p; p = W->json->next(p)) {
        if (W->json->text(p, &pattern) &&
            notifications_events->matches(notifications_self, pattern, type))
            return true;
    }
    return false;
}

/* Tells whether an event may be told to users at all: those about notifications would tell of
 * themselves. */
static bool telling(const wharf_event *e)
{
    return e->type.n < 13 || memcmp(e->type.p, "notification.", 13) != 0;
}

/* Tells whether the listener wants one of the events. Each type is asked about once when events
 * of one type stand together, as they do. */
static bool wants_any(const struct chunk *c, const struct listener *l)
{
    for (size_t i = 0; i < c->n; i++) {
        if (i && same(c->events[i]->type, c->events[i - 1]->type))
            continue;
        if (telling(c->events[i]) && wants(l, c->events[i]->type))
            return true;
    }
    return false;
}

static wharf_status user_step_read_listeners(wharf_req *req, struct chunk *c)
{
    static const char sql[] = QUERY_USER_LISTENERS;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_bool(push_phones())};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);
    size_t n = s == WHARF_OK ? W->db->count(rows) : 0;

    c->listeners = W->mem->alloc(req, (n + 1) * sizeof(*c->listeners));
    for (size_t i = 0; i < n; i++) {
        struct listener *l = &c->listeners[c->n_listeners];

        *l = (struct listener){.id = row_text(rows, i, 0),
            .patterns = row_json(rows, i, 1),
            .quiet = row_json(rows, i, 2),
            .language = row_text(rows, i, 3),
            .reachable = row_bool(rows, i, 4)};
        c->n_listeners += wants_any(c, l);
    }
    return s;
}

/* Reads what the listeners may see, by role and locations. */
static wharf_status read_rights(wharf_req *req, struct chunk *c)
{
    size_t room = c->n_listeners + 1;
    const wharf_event_reader **readers = W->mem->alloc(req, room * sizeof(*readers));
    wharf_str *ids = W->mem->alloc(req, room * sizeof(*ids));
    wharf_status s;

    for (size_t k = 0; k < c->n_listeners; k++) {
        ids[k] = c->listeners[k].id;
        c->listeners[k].due_us = quiet_end(c->listeners[k].quiet, W->req->now_us(req));
    }
    s = notifications_events->user_readers(req, ids, c->n_listeners, readers);
    for (size_t k = 0; s == WHARF_OK && k < c->n_listeners; k++)
        c->listeners[k].reader = readers[k];
    return s;
}

/* ---- who is told ---- */

static bool caused_by(const wharf_event *e, const struct listener *l)
{
    return is(e->actor_type, "user") && same(e->actor_id, l->id);
}

static void find_told(wharf_req *req, struct chunk *c)
{
    c->told = W->mem->alloc(req, c->n * c->n_listeners * sizeof(*c->told) + 1);
    for (size_t i = 0; i < c->n; i++) {
        for (size_t k = 0; telling(c->events[i]) && k < c->n_listeners; k++)
            *user_step_told(c, i, k) = wants(&c->listeners[k], c->events[i]->type) &&
                                       !caused_by(c->events[i], &c->listeners[k]) &&
                                       notifications_events->sees(
                                           c->listeners[k].reader, c->events[i]);
    }
}

static void find_newer(wharf_req *req, struct chunk *c)
{
    c->newer = W->mem->alloc(req, (c->n + 1) * sizeof(*c->newer));
    for (size_t i = 0; i < c->n; i++) {
        size_t j = i + 1;

        while (j < c->n && !(same(c->events[i]->resource_id, c->events[j]->resource_id) &&
                               same(c->events[i]->resource_type, c->events[j]->resource_type)))
            j++;
        c->newer[i] = j;
    }
}

/* Tells whether a later event of the chunk tells the same listener of the same row. */
static bool replaced(const struct chunk *c, size_t event, size_t listener)
{
    for (size_t j = c->newer[event]; j < c->n; j = c->newer[j]) {
        if (*user_step_told(c, j, listener))
            return true;
    }
    return false;
}

/* ---- rows ---- */

static void user_step_count(wharf_req *req, const char *status, int64_t n)
{
    if (n)
        notifications_metrics->count(req, WHARF_S("wharf_notifications"),
            W->mem->format(req, "kind=\"user\",channel=\"push\",status=\"%s\"", status), (double)n);
}

static void user_step_put_row(
    wharf_req *req, wharf_out *rows, const struct chunk *c, size_t event, size_t listener)
{
    const wharf_event *e = c->events[event];
    const struct listener *l = &c->listeners[listener];
    struct words words = told_words(req, e->type, l->language);
    bool old = replaced(c, event, listener), waits = !old && l->reachable;

    W->json->open(rows, NULL, '{');
    W->json->put(rows, "i", val_text(W->req->new_id(req, "ntf")));
    W->json->put(rows, "u", val_text(l->id));
    W->json->put(rows, "e", val_text(e->id));
    W->json->put(rows, "t", val_text(e->type));
    W->json->put(rows, "y", val_text(e->resource_type));
    W->json->put(rows, "r", val_text(e->resource_id));
    W->json->put(rows, "l", val_text_or_null(e->location_id));
    W->json->put(rows, "o", val_text_or_null(e->locations));
    W->json->put(rows, "g", val_text(words.language));
    W->json->put(rows, "n", val_text(words.title));
    W->json->put(rows, "b", val_text(words.body));
    W->json->put(rows, "s", val_text(waits ? WHARF_S("waiting") : WHARF_S("skipped")));
    W->json->put(
        rows, "w", waits ? val_null() : val_text(old ? WHARF_S("replaced") : WHARF_S("no_device")));
    W->json->put(rows, "d", waits ? val_time(l->due_us) : val_null());
    W->json->put(rows, "x", val_time(e->expires_at_us));
    W->json->close(rows);
}

static wharf_status user_step_add(wharf_req *req, wharf_out *rows)
{
    static const char sql[] = QUERY_USER_ADD;
    const wharf_val args[] = {val_text(W->req->organization(req)),
        val_text(W->json->result_text(rows)), val_time(W->req->now_us(req))};
    const wharf_rows *sums;
    wharf_status s = W->db->query(req, sql, args, 3, &sums);

    if (s != WHARF_OK)
        return s;
    user_step_count(req, "skipped", row_int(sums, 0, 0));
    notifications_events->wake(req);
    return WHARF_OK;
}

wharf_status user_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg)
{
    struct chunk c = {.events = events, .n = n};
    wharf_out *rows = W->json->writer(req);
    bool any = false;
    wharf_status s = user_step_read_listeners(req, &c);

    memset(outcomes, WHARF_STEP_SKIPPED, n);
    if (s != WHARF_OK || !c.n_listeners)
        return s;
    s = read_rights(req, &c);
    if (s != WHARF_OK)
        return s;
    find_told(req, &c);
    find_newer(req, &c);
    W->json->open(rows, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < c.n_listeners; k++) {
            if (!*user_step_told(&c, i, k))
                continue;
            user_step_put_row(req, rows, &c, i, k);
            outcomes[i] = WHARF_STEP_COMPLETED;
            any = true;
        }
    }
    W->json->close(rows);
    return any ? user_step_add(req, rows) : WHARF_OK;
}
