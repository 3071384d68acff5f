/* tracker_routes.c - POST /v1/trackers, which may find the tracker there, and GET
 * /v1/trackers/:tracker_id/logs (spec 03 sections 5.2 and 5.4). */
#include "trackers.h"
#include "trackers.gen.h"

const char trackers_wanted_kind[] = "trackers.wanted";

struct wanted *trackers_wanted(const wharf_rec *shipment)
{
    return W->res->context(shipment, trackers_wanted_kind);
}

/* ---- reading it ---- */

static wharf_status tracker_read_provider(struct order *o, const wharf_carriers_table *table)
{
    wharf_detection found = {.head = WHARF_HEAD(wharf_detection)};
    wharf_str ambiguity = json_text(o->body, "on_ambiguity");
    wharf_status s;

    o->provider = json_text(o->body, "provider_id");
    if (ambiguity.n && !is(ambiguity, "use_best") && !is(ambiguity, "error"))
        return W->err->fail(o->req, ERR_VALIDATION_FAILED, "on_ambiguity",
            "on_ambiguity must be use_best or error");
    if (o->provider.n)
        return WHARF_OK;
    s = trackers_carriers->detect_in(o->req, table, o->number, &found);
    if (s != WHARF_OK)
        return s;
    if (found.ambiguous && is(ambiguity, "error"))
        return W->err->fail(o->req, ERR_TRACKER_PROVIDER_AMBIGUOUS, "provider_id", NULL);
    o->provider = found.provider_id;
    o->wanted.candidates = found.ambiguous ? found.candidates : NULL;
    return WHARF_OK;
}

static wharf_status tracker_read_options(struct order *o)
{
    static const char *const keys[] = {"type", "chained_status", "auto_close_shipments_option",
        "location_id", "layout_id", "sender_contact_id", "recipient_contact_id", "inference_id",
        "destination", "metadata"};
    wharf_out *out = W->json->builder(o->req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const wharf_json *v = W->json->get(o->body, keys[i]);

        if (!json_is_null(v))
            W->json->put(out, keys[i], val_json(v));
    }
    W->json->close(out);
    return W->json->result(o->req, out, &o->wanted.options);
}

wharf_status trackers_read_number(wharf_req *req, const wharf_json *body, struct order *o)
{
    const wharf_json *number = W->json->get(body, "tracking_number");

    *o = (struct order){.req = req, .body = body, .number = json_text(body, "tracking_number")};
    if (!o->number.n || strspn(o->number.p, " \t\r\n") >= o->number.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "tracking_number",
            json_is_null(number) ? "tracking_number is required"
                                 : "tracking_number must be a text that is not empty");
    o->number = trackers_carriers->normalize(req, o->number);
    return WHARF_OK;
}

wharf_status trackers_read_order(struct order *o, const wharf_carriers_table *table)
{
    wharf_status s = tracker_read_provider(o, table);

    return s == WHARF_OK ? tracker_read_options(o) : s;
}

static wharf_status tracker_read_order(wharf_req *req, const wharf_json *body, struct order *o)
{
    const wharf_carriers_table *table = NULL;
    wharf_status s = trackers_read_number(req, body, o);

    if (s == WHARF_OK)
        s = W->db->lock(req, "tracking_number", o->number);
    if (s == WHARF_OK && !json_text(body, "provider_id").n)
        s = trackers_carriers->open(req, &table);
    return s == WHARF_OK ? trackers_read_order(o, table) : s;
}

/* ---- what is there already ---- */

/* Finds the open leg of the number: its tracker, or none (*ret_leg alone). */
static wharf_status find_leg(const struct order *o, wharf_str *ret_leg, wharf_str *ret_tracker)
{
    static const char sql[] = QUERY_OPEN_LEG;
    wharf_val args[2] = {val_text(o->number), val_text(o->provider)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(o->req, sql, args, 2, &rows);

    *ret_leg = *ret_tracker = WHARF_S("");
    if (s == WHARF_OK && W->db->count(rows)) {
        *ret_leg = row_text(rows, 0, 0);
        *ret_tracker = row_text(rows, 0, 1);
    }
    return s;
}

/* ---- making it ---- */

static void put_party(
    wharf_out *out, const wharf_json *body, const char *contact, const char *party)
{
    wharf_str id = json_text(body, contact);

    if (!json_is_null(W->json->get(body, party)))
        W->json->put(out, party, val_json(W->json->get(body, party)));
    else if (id.n)
        W->json->put(out, party, val_text(id));
}

wharf_status trackers_leg_body(const struct order *o, const wharf_json **ret_body)
{
    static const char *const keys[] = {
        "type", "location_id", "layout_id", "tracking_update", "notify_customer"};
    wharf_out *out = W->json->builder(o->req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "tracking_number", val_text(o->number));
    W->json->put(out, "provider_id", val_text(o->provider));
    W->json->put(out, "allow_duplicate", val_bool(true));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!json_is_null(W->json->get(o->body, keys[i])))
            W->json->put(out, keys[i], val_json(W->json->get(o->body, keys[i])));
    }
    put_party(out, o->body, "sender_contact_id", "sender");
    put_party(out, o->body, "recipient_contact_id", "recipient");
    W->json->close(out);
    return W->json->result(o->req, out, ret_body);
}

/* Makes the shipment: its tracker is made with it. */
static wharf_status make_leg(struct order *o, const wharf_rec **ret_tracker)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "shipment",
        .op = WHARF_CREATE,
        .kind = trackers_wanted_kind,
        .context = &o->wanted};
    wharf_status s = trackers_leg_body(o, &w.body);

    if (s == WHARF_OK)
        s = W->res->write(o->req, &w);
    return s == WHARF_OK
               ? W->res->fetch(o->req, "tracker", o->wanted.tracker_id, WHARF_SHOWN, ret_tracker)
               : s;
}

/* Tells the reading of a label that the tracker names. */
static wharf_status tracker_tell_reading(
    wharf_req *req, const wharf_json *body, const wharf_rec *rec)
{
    wharf_str reading = json_text(body, "inference_id");

    return reading.n && trackers_inference
               ? trackers_inference->tracked(
                     req, reading, W->res->id(rec), field_text(rec, TRACKER_CURRENT_SHIPMENT_ID))
               : WHARF_OK;
}

/* Makes a body of what a label says, where nothing but its reading tells the number. */
static wharf_status tracker_of_reading(
    wharf_req *req, const wharf_json *body, const wharf_json **ret_body)
{
    wharf_str reading = json_text(body, "inference_id");

    *ret_body = body;
    return reading.n && trackers_inference && json_is_null(W->json->get(body, "tracking_number"))
               ? trackers_inference->order(req, reading, body, ret_body)
               : WHARF_OK;
}

static wharf_status tracker_create(
    wharf_req *req, const wharf_json *body, const wharf_rec **ret_rec, bool *ret_known)
{
    wharf_str leg = WHARF_S(""), tracker = WHARF_S("");
    struct order o;
    wharf_status s;

    *ret_known = false;
    if (W->json->type(body) != WHARF_J_OBJECT)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "", "A tracker must be an object");
    s = tracker_of_reading(req, body, &body);
    if (s == WHARF_OK)
        s = tracker_read_order(req, body, &o);
    if (s == WHARF_OK && !json_truth(W->json->get(body, "allow_duplicate")))
        s = find_leg(&o, &leg, &tracker);
    if (s != WHARF_OK)
        return s;
    *ret_known = tracker.n > 0;
    if (tracker.n)
        s = W->res->fetch(req, "tracker", tracker, WHARF_SHOWN, ret_rec);
    else if (leg.n)
        s = trackers_around(req,
            &(struct seed){.shipment_id = leg, .candidates = o.wanted.candidates}, WHARF_S(""),
            o.wanted.options, ret_rec);
    else
        s = make_leg(&o, ret_rec);
    return s == WHARF_OK ? tracker_tell_reading(req, body, *ret_rec) : s;
}

const wharf_trackers_ops_api trackers_ops = {WHARF_HEAD(wharf_trackers_ops_api), tracker_create};

/* Makes a new tracker of a batch as POST makes it. */
wharf_status trackers_batch_item(wharf_req *req, const char *action, const wharf_json *item)
{
    const wharf_rec *rec = NULL;
    bool known = false;
    wharf_status s;

    if (json_text(item, "id").n || strcmp(action, "merge") != 0)
        return WHARF_OK;
    s = tracker_create(req, item, &rec, &known);
    if (s == WHARF_OK)
        trackers_batch->done(req, W->res->id(rec), known ? "unchanged" : "created");
    return s;
}

wharf_status trackers_post(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec = NULL;
    bool known = false;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = tracker_create(req, body, &rec, &known);
    if (s != WHARF_OK)
        return s;
    W->res->encode(req,
        W->req->respond(
            req, known ? 200 : 201, known ? "Existing tracker returned" : "Tracker created"),
        NULL, rec);
    if (!known)
        W->req->created(req, W->mem->format(req, "/v1/trackers/%s", W->res->id(rec).p));
    return WHARF_OK;
}

/* ---- GET /v1/trackers/:tracker_id/logs ---- */

wharf_status trackers_logs_get(wharf_req *req, void *arg)
{
    wharf_str id = WHARF_S(""), groups, visibility, order = WHARF_S("asc");
    const wharf_json *lines;
    const wharf_rec *rec;
    int64_t page, limit;
    wharf_out *out;
    size_t i = 0;
    wharf_status s = W->req->page(req, SHOWN, LOGS_MOST, &page, &limit);

    if (!W->req->param(req, "logs_visibility", &visibility) || is(visibility, "all"))
        visibility = WHARF_S("");
    else if (!is(visibility, "public") && !is(visibility, "internal"))
        s = W->err->add(req, ERR_PARAM_INVALID, "logs_visibility",
            "logs_visibility must be public, internal or all");
    if (W->req->param(req, "order", &order) && !is(order, "asc") && !is(order, "desc"))
        s = W->err->add(req, ERR_PARAM_INVALID, "order", "order must be asc or desc");
    W->req->param(req, "tracker_id", &id);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "tracker", id, 0, &rec);
    if (s == WHARF_OK)
        s = trackers_reported_of(req, &id, 1, &groups);
    if (s == WHARF_OK)
        s = trackers_logs->page(
            req, groups, visibility, is(order, "desc"), (page - 1) * limit, limit + 1, &lines);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Logs retrieved");
    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(lines, 0); e && (int64_t)i < limit;
         e = W->json->next(e), i++)
        W->json->put(out, NULL, val_json(e));
    W->json->close(out);
    W->req->paged(req, page, limit, (int64_t)W->json->count(lines) > limit);
    return WHARF_OK;
}
