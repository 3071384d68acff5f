/* fulfillment_rules.c - the rules of fulfillments (docs/spec/03-shipments-and-trackers.md
 * section 6): who is named, what may change when, and in which order it is written. Leaves
 * articles to fulfillment_articles.c, statuses to fulfillment_steps.c, scans to
 * fulfillment_scan.c, returns to fulfillment_returns.c. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

/* Facts that check settles for written, of one write. */
struct work {
    struct order *order; /* NULL: nothing of it changes */
    enum order_status from, to;
};

static struct work *fulfillment_work_of(const wharf_rec *rec)
{
    static const char kind[] = "fulfillments.work";

    return W->res->scratch(rec, kind, sizeof(struct work));
}

static const char act_kind[] = "fulfillments.act";

wharf_status fulfillment_act(
    wharf_req *req, wharf_str id, struct act *act, const wharf_rec **ret_rec)
{
    const wharf_json *body;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &body);
    const wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "fulfillment",
        .op = WHARF_UPDATE,
        .id = id,
        .body = body,
        .kind = act_kind,
        .context = act,
        .ret_rec = ret_rec};

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* ---- normalize ---- */

static wharf_status fulfillment_take_party(
    wharf_req *req, wharf_rec *rec, const char *name, wharf_field field, wharf_field contact)
{
    const wharf_json *v = W->res->member(rec, name), *party;
    wharf_str id;
    wharf_status s;

    if (!v)
        return WHARF_OK;
    if (json_is_null(v)) {
        W->res->set(rec, contact, val_null());
        return WHARF_OK;
    }
    s = fulfillments_shipments->party(req, v, name, &party, &id);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, field, val_json(party));
    W->res->set(rec, contact, val_text_or_null(id));
    return WHARF_OK;
}

static wharf_status fulfillment_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    (void)op;
    fulfillment_take_party(
        req, new_rec, "recipient", FULFILLMENT_RECIPIENT, FULFILLMENT_RECIPIENT_CONTACT_ID);
    fulfillment_take_party(
        req, new_rec, "sender", FULFILLMENT_SENDER, FULFILLMENT_SENDER_CONTACT_ID);
    return W->err->current(req);
}

/* ---- check: values that follow from others ---- */

static wharf_str join_words(wharf_req *req, wharf_str all, wharf_str more)
{
    if (!more.n)
        return all;
    return all.n ? W->mem->format(req, "%s %s", all.p, more.p) : more;
}

static void fulfillment_settle_search(wharf_req *req, wharf_rec *rec)
{
    static const wharf_field numbers[] = {FULFILLMENT_ORDER_NUMBER, FULFILLMENT_PURCHASE_ORDER,
        FULFILLMENT_REFERENCE_NUMBER, FULFILLMENT_EXTERNAL_ID};
    const wharf_json *recipient = field_json(rec, FULFILLMENT_RECIPIENT);
    wharf_str all = WHARF_S("");

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        all = join_words(req, all, field_text(rec, numbers[i]));
    all = join_words(req, all, json_text(recipient, "name"));
    all = join_words(req, all, json_text(recipient, "email"));
    W->res->set(rec, FULFILLMENT_SEARCH_TEXT, val_text_or_null(all));
}

/* Sets the sender of a new fulfillment that says none: its location. */
static wharf_status settle_sender(wharf_req *req, wharf_rec *rec)
{
    static const char sql[] =
        "SELECT json_build_object('contact_id', NULL, 'name', name, 'email', email, 'phone', phone,"
        " 'business', NULL, 'address', CASE WHEN address <> '{}' THEN address END)"
        " FROM locations.location WHERE organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s;

    if (field_json(rec, FULFILLMENT_SENDER))
        return WHARF_OK;
    s = query_about(req, sql, field_text(rec, FULFILLMENT_LOCATION_ID), &rows);
    if (s == WHARF_OK && W->db->count(rows))
        W->res->set(rec, FULFILLMENT_SENDER, val_json(row_json(rows, 0, 0)));
    return s;
}

static wharf_status fulfillment_check_location(wharf_req *req, const wharf_rec *rec)
{
    uint32_t flags;
    wharf_status s = fulfillments_places->flags(
        req, field_text(rec, FULFILLMENT_LOCATION_ID), &flags);

    return s == WHARF_OK && !(flags & WHARF_LOCATION_ACTIVE)
               ? W->err->fail(req, ERR_LOCATION_INACTIVE, "location_id", NULL)
               : s;
}

static struct order *new_order(wharf_req *req, const wharf_rec *rec)
{
    struct order *o = W->mem->alloc(req, sizeof(*o));

    *o = (struct order){
        .req = req, .id = W->res->id(rec), .location_id = field_text(rec, FULFILLMENT_LOCATION_ID)};
    return o;
}

static wharf_status fulfillment_check_create(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *sent = W->res->input(rec, FULFILLMENT_ARTICLES);
    struct work *work = fulfillment_work_of(rec);
    wharf_status s = fulfillment_check_location(req, rec);

    if (s == WHARF_OK && (json_is_null(sent) || !W->json->count(sent)))
        s = W->err->fail(
            req, ERR_VALIDATION_FAILED, "articles", "articles must have 1 to 500 lines");
    if (s == WHARF_OK)
        s = settle_sender(req, rec);
    if (s != WHARF_OK)
        return s;
    work->order = new_order(req, rec);
    work->from = work->to = ORDER_CREATED;
    fulfillment_settle_search(req, rec);
    W->res->set(rec, FULFILLMENT_STATUS, val_text(WHARF_S("created")));
    W->res->set(rec, FULFILLMENT_CHANGES, val_int(0));
    return articles_take(work->order, sent, false);
}

/* ---- check: updates ---- */

static wharf_status check_closed(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    static const struct {
        wharf_field field;
        const char *name;
    } fixed[] = {{FULFILLMENT_STATUS, "status"}, {FULFILLMENT_RECIPIENT, "recipient"},
        {FULFILLMENT_SENDER, "sender"}, {FULFILLMENT_ORDER_NUMBER, "order_number"},
        {FULFILLMENT_PURCHASE_ORDER, "purchase_order"},
        {FULFILLMENT_REFERENCE_NUMBER, "reference_number"},
        {FULFILLMENT_EXTERNAL_ID, "external_id"}, {FULFILLMENT_PRIORITY, "priority"},
        {FULFILLMENT_SHIP_BY, "ship_by"}, {FULFILLMENT_ASSIGNED_USER_ID, "assigned_user_id"}};

    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (W->res->changed(old_rec, rec, fixed[i].field))
            return W->err->fail(req, ERR_FULFILLMENT_CLOSED, fixed[i].name, NULL);
    }
    if (W->res->sent(rec, FULFILLMENT_ARTICLES))
        return W->err->fail(req, ERR_FULFILLMENT_CLOSED, "articles", NULL);
    return W->res->sent(rec, FULFILLMENT_PARCELS)
               ? W->err->fail(req, ERR_FULFILLMENT_CLOSED, "parcels", NULL)
               : WHARF_OK;
}

static wharf_status run_act(wharf_req *req, struct work *work, struct act *act)
{
    wharf_str id = work->order->id, location = work->order->location_id;
    wharf_status s;

    switch (act->kind) {
    case ACT_SCAN:
        work->order = &act->scan->order;
        s = order_load(req, id, location, scan_moves(act->scan->body), work->order);
        if (s == WHARF_OK)
            s = scan_run(act->scan, work->from);
        if (s == WHARF_OK && work->from == ORDER_CREATED)
            work->to = ORDER_PROCESSING;
        return s;
    case ACT_RETURN:
        work->order = &act->returns->order;
        s = order_load(req, id, location, false, work->order);
        return s == WHARF_OK ? returns_run(act->returns, work->from) : s;
    case ACT_FOLLOW:
        break;
    }
    work->to = act->to;
    s = order_load(req, id, location, true, work->order);
    return s == WHARF_OK ? step_check(work->order, work->from, &work->to, true) : s;
}

static bool asks_more(const struct order *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (!o->articles[i].removed && o->articles[i].picked < o->articles[i].requested &&
            (o->articles[i].made || o->articles[i].changed))
            return true;
    }
    return false;
}

static wharf_status change_articles(struct work *work, const wharf_json *sent)
{
    wharf_req *req = work->order->req;
    wharf_status s;

    if (work->from > ORDER_PICKED)
        return W->err->fail(req, ERR_FULFILLMENT_INVALID_TRANSITION, "articles",
            "Articles change before the fulfillment is packed; set status picked first");
    s = articles_take(work->order, sent, true);
    if (s == WHARF_OK && work->from == ORDER_PICKED && work->to == ORDER_PICKED &&
        asks_more(work->order))
        work->to = ORDER_PROCESSING;
    return s;
}

/* Settles what a request says of articles and status. */
static wharf_status run_request(wharf_req *req, struct work *work, wharf_rec *rec)
{
    const wharf_json *sent = W->res->input(rec, FULFILLMENT_ARTICLES);
    bool may_lack = field_int(rec, FULFILLMENT_ALLOW_SHORT) != 0;
    enum order_status to = work->to;
    wharf_status s = WHARF_OK;

    if (W->res->sent(rec, FULFILLMENT_ARTICLES) && sent) {
        work->to = work->from;
        s = change_articles(work, sent);
    } else if (work->to != work->from) {
        s = order_load(
            req, work->order->id, work->order->location_id, order_closed(work->to), work->order);
    } else {
        work->order = NULL;
        return WHARF_OK;
    }
    if (s == WHARF_OK && to != work->from) {
        work->to = to;
        s = step_check(work->order, work->from, &work->to, may_lack);
    }
    return s;
}

static void fulfillment_settle_status(wharf_req *req, const struct work *work, wharf_rec *rec)
{
    wharf_val now = val_time(W->req->now_us(req));

    W->res->set(rec, FULFILLMENT_STATUS, val_text(z(order_status_words[work->to])));
    if (work->to == work->from)
        return;
    if (work->to == ORDER_COMPLETED)
        W->res->set(rec, FULFILLMENT_COMPLETED_AT, now);
    if (work->to == ORDER_CANCELED)
        W->res->set(rec, FULFILLMENT_CANCELED_AT, now);
}

static wharf_status fulfillment_check_update(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    struct act *act = W->res->context(rec, act_kind);
    struct work *work = fulfillment_work_of(rec);
    wharf_status s = WHARF_OK;

    work->from = order_status_of(field_text(old_rec, FULFILLMENT_STATUS));
    work->to = order_status_of(field_text(rec, FULFILLMENT_STATUS));
    work->order = new_order(req, rec);
    if (!act && order_closed(work->from))
        s = check_closed(req, old_rec, rec);
    if (s == WHARF_OK)
        s = act ? run_act(req, work, act) : run_request(req, work, rec);
    if (s != WHARF_OK)
        return s;
    fulfillment_settle_status(req, work, rec);
    fulfillment_settle_search(req, rec);
    if (work->order || W->res->sent(rec, FULFILLMENT_PARCELS))
        W->res->set(rec, FULFILLMENT_CHANGES, val_int(field_int(old_rec, FULFILLMENT_CHANGES) + 1));
    return WHARF_OK;
}

static wharf_status fulfillment_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    return op == WHARF_CREATE ? fulfillment_check_create(req, new_rec)
                              : fulfillment_check_update(req, old_rec, new_rec);
}

/* ---- written ---- */

/* Makes the parcels that a request names. */
static wharf_status make_parcels(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *list = W->res->input(rec, FULFILLMENT_PARCELS);
    size_t i = 0;
    wharf_status s = WHARF_OK;

    if (!W->res->sent(rec, FULFILLMENT_PARCELS) || json_is_null(list))
        return s;
    for (const wharf_json *e = W->json->at(list, 0); e && s == WHARF_OK;
         e = W->json->next(e), i++) {
        W->err->base(req, W->mem->format(req, "parcels.%zu.", i).p);
        s = parcel_make(req, W->res->id(rec), field_text(rec, FULFILLMENT_LOCATION_ID), e, i, NULL);
        W->err->base(req, "");
    }
    return s;
}

static wharf_status emit_more(
    wharf_req *req, const struct work *work, const struct act *act, const wharf_rec *rec)
{
    wharf_str id = W->res->id(rec);

    if (work->to != work->from && work->to == ORDER_COMPLETED)
        return W->event->emit(req, "fulfillment.completed", "fulfillment", id, NULL);
    if (work->to != work->from && work->to == ORDER_CANCELED)
        return W->event->emit(req, "fulfillment.canceled", "fulfillment", id, NULL);
    if (act && act->kind == ACT_RETURN)
        return W->event->emit(req, "fulfillment.returned", "fulfillment", id, act->returns->lines);
    return WHARF_OK;
}

static wharf_status fulfillment_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const struct act *act = W->res->context(new_rec, act_kind);
    struct work *work = fulfillment_work_of(new_rec);
    wharf_status s = WHARF_OK;

    (void)op;
    (void)old_rec;
    if (work->order && act && act->kind == ACT_RETURN)
        s = returns_write(act->returns);
    else if (work->order && work->to != work->from)
        s = step_written(work->order, work->to);
    if (s == WHARF_OK && work->order && !(act && act->kind == ACT_RETURN))
        s = order_write(work->order);
    if (s == WHARF_OK)
        s = make_parcels(req, new_rec);
    return s == WHARF_OK ? emit_more(req, work, act, new_rec) : s;
}

const wharf_hooks fulfillments_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = fulfillment_normalize,
    .check = fulfillment_check,
    .written = fulfillment_written};

/* ---- DELETE ---- */

wharf_status cancel_delete(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_str id = WHARF_S("");
    wharf_status s = W->json->parse(req, WHARF_S("{\"status\": \"canceled\"}"), &body);

    (void)arg;
    W->req->param(req, "id", &id);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "fulfillment", id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK && order_closed(order_status_of(field_text(rec, FULFILLMENT_STATUS))))
        s = W->err->fail(req, ERR_FULFILLMENT_CLOSED, "status", NULL);
    if (s == WHARF_OK)
        s = W->res->update(req, "fulfillment", id, body, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Fulfillment canceled"), NULL, rec);
    return s;
}
