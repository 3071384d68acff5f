/* customer_step.c - who is mailed because of an event: the step customers_mail (spec 07 section
 * 16.3, rules 1 to 4).
 *
 * An event says that a shipment has a status that it did not have before; its line in the
 * history says when that was, and whether somebody wanted nobody to be told. One statement for
 * all events of a chunk each. Leaves to others: sending (customer_send.c). */
#include "customers.h"

#include "notifications.gen.h"

/* A shipment of which its recipient may be told. */
struct candidate {
    const wharf_event *event;
    size_t place; /* of the event */
    const char *occasion; /* NULL: its status says */
    wharf_str contact;
    bool quiet, open; /* open: is still to be told */
    int64_t occurred_us;
};

/* Statuses, and of what a customer is told because of them. */
static const struct {
    const char *status, *occasion;
} causes[] = {{"out_for_delivery", "out_for_delivery"}, {"pickup_available", "ready_for_pickup"},
    {"delivered", "delivered"}, {"picked_up", "delivered"}, {"return_to_sender", "returned"}};
enum { CAUSES = sizeof(causes) / sizeof(causes[0]) };

static const char *occasion_of(wharf_str status)
{
    for (size_t i = 0; i < CAUSES; i++) {
        if (is(status, causes[i].status))
            return causes[i].occasion;
    }
    return NULL;
}

/* Writes the statuses that cause the occasion; NULL: those of all. */
static void put_causes(wharf_out *out, const char *occasion)
{
    W->json->open(out, "st", '[');
    for (size_t i = 0; i < CAUSES; i++) {
        if (!occasion || !strcmp(causes[i].occasion, occasion))
            W->json->put(out, NULL, val_text(z(causes[i].status)));
    }
    W->json->close(out);
}

/* ---- events that may tell somebody ---- */

/* Tells whether the event brought a status with an occasion. Of data that were too large to be
 * kept the row is asked later. */
static wharf_status customer_step_look(wharf_req *req, struct candidate *c)
{
    const wharf_event *e = c->event;
    const wharf_json *body, *data, *before;
    bool created = is(e->type, "shipment.created");
    wharf_status s;

    c->open = e->data_truncated && (created || is(e->type, "shipment.updated"));
    if (c->open || (!created && !is(e->type, "shipment.updated")))
        return WHARF_OK;
    s = notifications_events->parsed(req, e, &body);
    if (s != WHARF_OK)
        return s;
    data = W->json->get(body, "data");
    before = W->json->get(body, "previous_attributes");
    c->occasion = occasion_of(json_text(data, "status"));
    c->open = c->occasion && (created || W->json->get(before, "status"));
    return WHARF_OK;
}

static wharf_status pick(wharf_req *req, const wharf_event *const *events, size_t n,
    struct candidate *list, size_t *ret_n)
{
    wharf_status s = WHARF_OK;

    *ret_n = 0;
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        struct candidate *c = &list[*ret_n];

        *c = (struct candidate){.event = events[i], .place = i, .contact = WHARF_S("")};
        s = customer_step_look(req, c);
        *ret_n += s == WHARF_OK && c->open;
    }
    return s;
}

/* ---- what the shipments say ---- */

static wharf_val facts_asked(wharf_req *req, const struct candidate *list, size_t n)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "i", val_int((int64_t)i));
        W->json->put(out, "s", val_text(list[i].event->resource_id));
        W->json->put(out, "known", val_bool(list[i].occasion != NULL));
        put_causes(out, list[i].occasion);
        W->json->put(out, "at", val_time(list[i].event->timestamp_us));
        W->json->close(out);
    }
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

/* Reads the line of the status, the recipient, and whether a later leg of the tracker follows. */
static wharf_status read_facts(wharf_req *req, struct candidate *list, size_t n)
{
    static const char sql[] = QUERY_CUSTOMER_FACTS;
    const wharf_val args[2] = {val_text(W->req->organization(req)), facts_asked(req, list, n)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    for (size_t i = 0; i < n; i++)
        list[i].open = false;
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        struct candidate *c = &list[row_int(rows, r, 0)];
        wharf_val at;

        c->occasion = occasion_of(row_text(rows, r, 1));
        c->quiet = row_bool(rows, r, 2);
        c->occurred_us = W->db->value(rows, r, 3, WHARF_V_TIME_US, &at) ? at.u.i : 0;
        c->contact = row_text(rows, r, 4);
        c->open = c->occasion != NULL;
    }
    return s;
}

/* Reads the recipients of trackers, for shipments that have none. */
static wharf_status read_trackers(wharf_req *req, struct candidate *list, size_t n)
{
    static const char sql[] = QUERY_CUSTOMER_TRACKERS;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    wharf_val args[2];
    const wharf_rows *rows;
    size_t asked = 0;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        if (list[i].open && !list[i].contact.n)
            ids[asked++] = list[i].event->resource_id;
    }
    if (!asked || !customers_trackers)
        return WHARF_OK;
    args[0] = val_text(W->req->organization(req));
    args[1] = val_array(req, ids, asked);
    s = W->db->query(req, sql, args, 2, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        for (size_t i = 0; i < n; i++) {
            if (!list[i].contact.n && same(list[i].event->resource_id, row_text(rows, r, 0)))
                list[i].contact = row_text(rows, r, 1);
        }
    }
    return s;
}

/* ---- what the settings say ---- */

static wharf_status ask_settings(wharf_req *req, struct candidate *list, size_t n)
{
    struct customer_settings *settings = W->mem->alloc(req, (n + 1) * sizeof(*settings));
    wharf_str *places = W->mem->alloc(req, (n + 1) * sizeof(*places));
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        places[i] = list[i].event->location_id;
    s = customer_settings(req, places, n, settings);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        list[i].open = list[i].open && list[i].contact.n &&
                       customer_wanted(&settings[i], list[i].occasion);
    return s;
}

/* ---- once per shipment and occasion ---- */

static wharf_status mark_told(wharf_req *req, struct candidate *list, size_t n)
{
    static const char sql[] = QUERY_CUSTOMER_TOLD;
    wharf_out *out = W->json->writer(req);
    wharf_val args[3] = {
        val_text(W->req->organization(req)), val_null(), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    size_t asked = 0;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        if (!list[i].open)
            continue;
        W->json->open(out, NULL, '{');
        W->json->put(out, "s", val_text(list[i].event->resource_id));
        W->json->put(out, "o", val_text(z(list[i].occasion)));
        W->json->put(out, "e", val_text(list[i].event->id));
        W->json->close(out);
        list[i].open = false;
        asked++;
    }
    W->json->close(out);
    if (!asked)
        return WHARF_OK;
    args[1] = val_text(W->json->result_text(out));
    s = W->db->query(req, sql, args, 3, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        for (size_t i = 0; i < n; i++)
            list[i].open |= same(list[i].event->id, row_text(rows, r, 0));
    }
    return s;
}

/* ---- rows ---- */

/* Says why the contact is not mailed, or NULL. */
static const char *why_not(wharf_req *req, const struct candidate *c, const wharf_json *reach)
{
    if (c->quiet)
        return "switched_off";
    if (c->occurred_us && c->occurred_us < c->event->timestamp_us - GIVE_UP_HOURS * HOUR_US)
        return "too_old";
    if (json_truth(W->json->get(reach, "opted_out")))
        return "opted_out";
    if (!json_text(reach, "email").n)
        return "no_address";
    if (json_truth(W->json->get(reach, "bounced")))
        return "bounced";
    return notifications_config->url(req, WHARF_S("")).n ? NULL : "no_base_url";
}

static wharf_status customer_step_add_row(
    wharf_req *req, const struct candidate *c, const wharf_json *reach)
{
    const char *reason = why_not(req, c, reach);
    const struct notification row = {.event = c->event,
        .kind = "customer",
        .channel = "mail",
        .person = c->contact,
        .occasion = z(c->occasion),
        .address = json_text(reach, "email"),
        .language = WHARF_S(""),
        .status = !reason                         ? "waiting"
                  : strcmp(reason, "no_base_url") ? "skipped"
                                                  : "failed",
        .reason = reason,
        .next_attempt_us = reason ? 0 : W->req->now_us(req)};
    wharf_str id;
    wharf_status s = notification_add(req, &row, &id);

    return s == WHARF_OK && id.n && !reason ? customer_queue(req, c->contact, 0) : s;
}

static wharf_status customer_step_add_rows(
    wharf_req *req, const struct candidate *list, size_t n, uint8_t *outcomes)
{
    const wharf_json **reach = W->mem->alloc(req, (n + 1) * sizeof(const wharf_json *));
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = list[i].open ? list[i].contact : WHARF_S("");
    s = customers_contacts->reach(req, ids, n, reach);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (!list[i].open || !reach[i])
            continue;
        s = customer_step_add_row(req, &list[i], reach[i]);
        outcomes[list[i].place] = WHARF_STEP_COMPLETED;
    }
    return s;
}

wharf_status customer_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg)
{
    struct candidate *list = W->mem->alloc(req, (n + 1) * sizeof(*list));
    size_t some = 0;
    wharf_status s = WHARF_OK;

    memset(outcomes, WHARF_STEP_SKIPPED, n);
    if (customers_contacts)
        s = pick(req, events, n, list, &some);
    if (s != WHARF_OK || !some)
        return s;
    s = read_facts(req, list, some);
    if (s == WHARF_OK)
        s = read_trackers(req, list, some);
    if (s == WHARF_OK)
        s = ask_settings(req, list, some);
    if (s == WHARF_OK)
        s = mark_told(req, list, some);
    return s == WHARF_OK ? customer_step_add_rows(req, list, some, outcomes) : s;
}
