/* tracker_rules.c - the rules of trackers, and what they learn of their legs
 * (docs/spec/03-shipments-and-trackers.md section 5). Lock order: the tracker (advisory), its
 * row, its legs; a leg that is written first takes its tracker's lock before its own row. */
#include "trackers.h"
#include "trackers.gen.h"

/* The trackers whose legs this request writes itself, innermost first: trackers write legs and
 * legs write trackers. */
struct busy {
    const struct busy *under;
    wharf_str tracker_id;
};

static const struct busy **busy_trackers(wharf_req *req)
{
    static const char kind[] = "trackers.busy";

    return W->mem->slot(req, kind, sizeof(const struct busy *));
}

bool trackers_busy(wharf_req *req, wharf_str tracker_id)
{
    for (const struct busy *b = *busy_trackers(req); b; b = b->under) {
        if (same(b->tracker_id, tracker_id))
            return true;
    }
    return false;
}

const char trackers_seed_kind[] = "trackers.seed";

/* ---- normalize ---- */

static wharf_status tracker_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    return op == WHARF_UPDATE && W->res->id(new_rec).n
               ? trackers_lock(req, W->res->id(new_rec), W->res->member(new_rec, "chaining"))
               : WHARF_OK;
}

/* ---- check ---- */

wharf_status trackers_begin(
    wharf_req *req, wharf_rec *rec, const struct seed *seed, const struct chain *c)
{
    if (!c->n)
        return W->err->fail(req, ERR_INTERNAL, NULL, NULL);
    W->res->set(rec, TRACKER_COMMENTS_COUNT, val_int(0));
    if (!field_text(rec, TRACKER_TYPE).n)
        W->res->set(rec, TRACKER_TYPE, val_text(json_text(c->legs[0].row, "type")));
    if (!field_text(rec, TRACKER_SENDER_CONTACT_ID).n)
        W->res->set(rec, TRACKER_SENDER_CONTACT_ID,
            val_text_or_null(json_text(c->legs[0].row, "sender_contact_id")));
    if (!field_text(rec, TRACKER_RECIPIENT_CONTACT_ID).n)
        W->res->set(rec, TRACKER_RECIPIENT_CONTACT_ID,
            val_text_or_null(json_text(c->legs[0].row, "recipient_contact_id")));
    if (seed->candidates)
        W->res->set(rec, TRACKER_PROVIDER_CANDIDATES, val_json(seed->candidates));
    return trackers_derive(req, rec, c);
}

static wharf_status tracker_check_create(wharf_req *req, wharf_rec *rec)
{
    const struct seed *seed = W->res->context(rec, trackers_seed_kind);
    struct chain c;
    wharf_status s;

    if (!seed)
        return W->err->fail(req, ERR_INTERNAL, NULL, NULL);
    s = seed->entered ? WHARF_OK
                      : trackers_shipments->set_tracker(req, seed->shipment_id, W->res->id(rec), 0);
    if (s == WHARF_OK)
        s = trackers_load(req, W->res->id(rec), &c);
    return s == WHARF_OK ? trackers_begin(req, rec, seed, &c) : s;
}

static wharf_status tracker_pin(wharf_req *req, wharf_rec *rec, const struct chain *c)
{
    wharf_str id = field_text(rec, TRACKER_CURRENT_SHIPMENT_ID);
    const struct leg *current = trackers_current(c, field_text(rec, TRACKER_PINNED_SHIPMENT_ID));

    if (!W->res->sent(rec, TRACKER_CURRENT_SHIPMENT_ID))
        return WHARF_OK;
    if (!id.n) {
        W->res->set(rec, TRACKER_PINNED_SHIPMENT_ID, val_null());
        return WHARF_OK;
    }
    /* The client sends back the leg that it read: the tracker goes on to follow its legs. */
    if (current && same(current->id, id))
        return WHARF_OK;
    for (size_t i = 0; i < c->n; i++) {
        if (!same(c->legs[i].id, id))
            continue;
        W->res->set(rec, TRACKER_PINNED_SHIPMENT_ID, val_text(id));
        return WHARF_OK;
    }
    return W->err->fail(req, ERR_TRACKER_NOT_IN_CHAIN, "current_shipment_id", NULL);
}

/* Writes the provider and the update to the current leg. *ret_wrote: there was something to
 * write. */
static wharf_status write_current(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec,
    const struct chain *c, bool *ret_wrote)
{
    const struct leg *current = trackers_current(c, field_text(rec, TRACKER_PINNED_SHIPMENT_ID));
    const wharf_json *update = W->res->input(rec, TRACKER_TRACKING_UPDATE), *body;
    bool provider = W->res->changed(old_rec, rec, TRACKER_PROVIDER_ID);
    wharf_out *out;
    wharf_status s;

    *ret_wrote = current && (update || provider);
    if (!*ret_wrote)
        return WHARF_OK;
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    if (update)
        W->json->put(out, "tracking_update", val_json(update));
    if (provider)
        W->json->put(out, "provider_id", val_text_or_null(field_text(rec, TRACKER_PROVIDER_ID)));
    if (field_int(rec, TRACKER_FORCE_UPDATE))
        W->json->put(out, "force_update", val_bool(true));
    if (W->res->sent(rec, TRACKER_NOTIFY_CUSTOMER))
        W->json->put(
            out, "notify_customer", val_bool(field_int(rec, TRACKER_NOTIFY_CUSTOMER) != 0));
    W->json->close(out);
    s = W->json->result(req, out, &body);
    return s == WHARF_OK ? W->res->update(req, "shipment", current->id, body, NULL) : s;
}

static wharf_status tracker_write_log(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *log = W->res->input(rec, TRACKER_LOG);
    wharf_log_line line = {
        .head = WHARF_HEAD(wharf_log_line), .resource = "tracker", .action = "comment"};

    if (!log)
        return WHARF_OK;
    line.resource_id = W->res->id(rec);
    line.parent_id = line.resource_id;
    line.location_id = field_text(rec, TRACKER_LOCATION_ID);
    line.message = json_text(log, "message");
    line.images = W->json->get(log, "images");
    line.public_line = is(json_text(log, "visibility"), "public");
    return trackers_logs->add(req, &line);
}

/* Gives a leg that went away a tracker of its own. */
static wharf_status tracker_part(wharf_req *req, const struct chaining *chaining)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < chaining->n_gone; i++)
        s = trackers_around(
            req, &(struct seed){.shipment_id = chaining->gone[i]}, WHARF_S(""), NULL, NULL);
    for (size_t i = 0; s == WHARF_OK && i < chaining->n_touched; i++)
        s = W->event->emit(req, "shipment.updated", "shipment", chaining->touched[i], NULL);
    return s;
}

/* Tells that another leg is current: the update goes downstream. */
static wharf_status tell_current(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str before = field_text(old_rec, TRACKER_CURRENT_SHIPMENT_ID),
              after = field_text(rec, TRACKER_PINNED_SHIPMENT_ID);
    wharf_status s;

    if (!W->res->changed(old_rec, rec, TRACKER_PINNED_SHIPMENT_ID) || !after.n ||
        same(before, after))
        return WHARF_OK;
    s = before.n ? W->event->emit(req, "shipment.updated", "shipment", before, NULL) : WHARF_OK;
    return s == WHARF_OK ? W->event->emit(req, "shipment.updated", "shipment", after, NULL) : s;
}

/* Counts the legs before the last one that was added. */
static size_t before_added(const struct chain *c, const struct chaining *chaining)
{
    for (size_t i = c->n; i-- > 0;) {
        for (size_t k = 0; k < chaining->n_touched; k++) {
            if (same(c->legs[i].id, chaining->touched[k]))
                return i;
        }
    }
    return 0;
}

static wharf_status follow_legs(
    wharf_req *req, wharf_rec *rec, const struct chaining *chaining, struct chain *c)
{
    bool any;
    wharf_status s = trackers_auto_close(req, c,
        field_text(rec, TRACKER_AUTO_CLOSE_SHIPMENTS_OPTION), before_added(c, chaining), &any);

    if (s == WHARF_OK && any)
        s = trackers_load(req, W->res->id(rec), c);
    return s == WHARF_OK ? trackers_derive(req, rec, c) : s;
}

static wharf_status update_chain(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec, struct chaining *chaining)
{
    const wharf_json *input = W->res->input(rec, TRACKER_CHAINING);
    struct chain c;
    bool wrote = false;
    wharf_status s = input ? trackers_chain(req, rec, input, chaining) : WHARF_OK;

    if (s == WHARF_OK)
        s = trackers_load(req, W->res->id(rec), &c);
    if (s == WHARF_OK)
        s = tracker_pin(req, rec, &c);
    if (s == WHARF_OK)
        s = write_current(req, old_rec, rec, &c, &wrote);
    if (s == WHARF_OK && wrote)
        s = trackers_load(req, W->res->id(rec), &c);
    if (s == WHARF_OK)
        s = follow_legs(req, rec, chaining, &c);
    if (s == WHARF_OK && !chaining->any)
        s = tell_current(req, old_rec, rec);
    return s == WHARF_OK ? tracker_part(req, chaining) : s;
}

static wharf_status tracker_check_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const struct busy **busy = busy_trackers(req);
    const struct busy now = {.under = *busy, .tracker_id = W->res->id(rec)};
    struct chaining chaining = {.any = false};
    wharf_status s;

    *busy = &now;
    s = update_chain(req, old_rec, rec, &chaining);
    *busy = now.under;
    if (s == WHARF_OK)
        s = tracker_write_log(req, rec);
    if (s == WHARF_OK && W->res->input(rec, TRACKER_LOG)) /* a comment alone tells of itself, too */
        W->res->set(
            rec, TRACKER_COMMENTS_COUNT, val_int(field_int(old_rec, TRACKER_COMMENTS_COUNT) + 1));
    return s;
}

wharf_status trackers_settle_place(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec)
{
    return trackers_layouts ? trackers_layouts->settle(req, op, old_rec, rec, TRACKER_LOCATION_ID,
                                  TRACKER_LAYOUT_ID, WHARF_PLACE_ADOPT)
                            : WHARF_OK;
}

static wharf_status tracker_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s;

    if (op == WHARF_DELETE)
        return WHARF_OK;
    s = trackers_settle_place(req, op, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    return op == WHARF_CREATE ? tracker_check_create(req, new_rec)
                              : tracker_check_update(req, old_rec, new_rec);
}

static wharf_status tracker_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    struct chain c;
    wharf_status s;

    if (op != WHARF_DELETE)
        return WHARF_OK;
    s = trackers_load(req, W->res->id(old_rec), &c);
    for (size_t i = 0; s == WHARF_OK && i < c.n; i++)
        s = trackers_shipments->set_tracker(req, c.legs[i].id, WHARF_S(""), ORPHAN);
    return s;
}

const wharf_hooks trackers_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = tracker_normalize,
    .check = tracker_check,
    .written = tracker_written,
    .restrict_rows = trackers_restrict,
    .compute = trackers_compute,
    .batch_item = trackers_batch_item,
    .check_many = trackers_check_many,
    .written_many = trackers_written_many,
    .batch_items = trackers_batch_items};

/* ---- layouts ---- */

static wharf_status tracker_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE trackers.tracker SET layout_id = $2::text, version = version + 1"
        " WHERE organization_id = $3::text AND layout_id = ANY ((SELECT $1::text[])::text[]) AND "
        "deleted_at IS NULL";

    return trackers_layouts ? trackers_layouts->carry(req, old_rec, sql) : WHARF_OK;
}

const wharf_hooks trackers_layout_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = tracker_layout_written, .ops = WHARF_DELETE};

/* ---- making one ---- */

wharf_status trackers_around(wharf_req *req, struct seed *seed, wharf_str id,
    const wharf_json *options, const wharf_rec **ret_rec)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "tracker",
        .op = WHARF_CREATE,
        .id = id,
        .body = options,
        .kind = trackers_seed_kind,
        .context = seed,
        .ret_rec = ret_rec};
    wharf_status s = options ? WHARF_OK : W->json->parse(req, WHARF_S("{}"), &w.body);

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* ---- what legs do ---- */

wharf_status trackers_read_legs(wharf_req *req, const wharf_str *ids, size_t n, struct leg_row *ret)
{
    static const char sql[] = QUERY_LEG_ROWS;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_array(req, ids, n).u.s, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        ret[i] = (struct leg_row){row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2),
            row_bool(rows, i, 3), row_int(rows, i, 4)};
    return s;
}

bool trackers_lacks_one(const struct leg_row *leg)
{
    if (leg->tracker.n || leg->deleted || !leg->number.n || is(leg->status, "rates_generated"))
        return false;
    return leg->place != ORPHAN; /* else its tracker was deleted: it stays without one */
}

static wharf_status leg_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    struct leg_row leg;
    wharf_str id;
    wharf_status s;

    if (op != WHARF_UPDATE)
        return WHARF_OK;
    id = W->res->id(new_rec);
    s = trackers_read_legs(req, &id, 1, &leg);
    return s == WHARF_OK && leg.tracker.n ? W->db->lock(req, "tracker", leg.tracker) : s;
}

static const char entered_kind[] = "trackers.entered";

wharf_str trackers_entered(const wharf_rec *shipment)
{
    const wharf_str *id = W->res->scratch(shipment, entered_kind, sizeof(*id));

    return id && id->p ? *id : WHARF_S("");
}

wharf_status trackers_leg_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_str *id, made;

    (void)old_rec;
    if (op != WHARF_CREATE)
        return WHARF_OK;
    id = W->res->scratch(new_rec, entered_kind, sizeof(*id));
    made = W->req->new_id(req, "track");
    if (id && trackers_shipments->enter_tracker(new_rec, made))
        *id = made;
    return WHARF_OK;
}

/* Lets the tracker look at its legs anew; without any it is over. */
static wharf_status refresh(wharf_req *req, wharf_str tracker)
{
    const wharf_json *body;
    struct chain c;
    wharf_status s = W->db->lock(req, "tracker", tracker);

    if (s == WHARF_OK)
        s = trackers_load(req, tracker, &c);
    if (s == WHARF_OK && !c.n)
        return W->res->remove(req, "tracker", tracker);
    if (s == WHARF_OK)
        s = W->json->parse(req, WHARF_S("{}"), &body);
    return s == WHARF_OK ? W->res->update(req, "tracker", tracker, body, NULL) : s;
}

/* Tells whether the tracker of a leg has to look at it: queries/legs_load.sql reads these fields,
 * or the leg came to be another one's. */
static bool concerns_tracker(const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char *const fields[] = {"status", "filters", "type", "tracking_number",
        "provider_id", "provider", "tracking_url", "estimated_delivery_at", "pickup_at",
        "delivered_at", "coordinates", "sender", "recipient", "sender_contact_id",
        "recipient_contact_id", "fulfillment_id", "tags", "search_text", "history_count",
        "is_parent", "tracker_id", "leg", "location_id"};

    return W->res->changed_any(old_rec, new_rec, fields, sizeof(fields) / sizeof(fields[0]));
}

static wharf_status leg_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str id = W->res->id(op == WHARF_DELETE ? old_rec : new_rec),
              entered = op == WHARF_CREATE ? trackers_entered(new_rec) : WHARF_S("");
    struct wanted *wanted = trackers_wanted(new_rec);
    struct seed seed = {id, wanted ? wanted->candidates : NULL, entered.n > 0};
    const wharf_rec *rec;
    struct leg_row leg;
    wharf_status s = entered.n ? WHARF_OK : trackers_read_legs(req, &id, 1, &leg);

    if (s != WHARF_OK)
        return s;
    if (!entered.n && leg.tracker.n) {
        if (trackers_busy(req, leg.tracker) ||
            (op == WHARF_UPDATE && !concerns_tracker(old_rec, new_rec)))
            return WHARF_OK;
        return refresh(req, leg.tracker);
    }
    if (!entered.n && !trackers_lacks_one(&leg))
        return WHARF_OK;
    s = trackers_around(req, &seed, entered, wanted ? wanted->options : NULL, &rec);
    if (s == WHARF_OK && wanted)
        wanted->tracker_id = W->res->id(rec);
    return s;
}

const wharf_hooks trackers_shipment_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = leg_normalize,
    .check = trackers_leg_check,
    .written = leg_written,
    .check_many = trackers_legs_check,
    .written_many = trackers_legs_written};
