/* inference_rules.c - rules of readings: how a row is filled, what an update may change, what a
 * delete erases (docs/spec/06-inference.md sections 1, 5 and 6). */
#include <string.h>

#include "inference.h"

#include "inference.gen.h"

/* ---- a new row ---- */

static const char *inference_image_error(const struct reading *r)
{
    return r->error ? r->error : r->choice.error;
}

static wharf_status inference_fill(wharf_req *req, const struct inner *in, wharf_rec *rec)
{
    const struct reading *r = in->reading;
    struct state st;
    wharf_status s;

    facts_set(req, r, rec);
    if (r->later) {
        state_set(req, &(struct state){.n = 0}, rec, "processing");
        return WHARF_OK;
    }
    s = facts_provider(req, rec);
    if (s == WHARF_OK)
        s = parties_match(req, &r->wishes, rec);
    if (s == WHARF_OK)
        s = destination_set(req, &r->wishes, rec);
    if (s != WHARF_OK)
        return s;
    facts_settle(req, rec);
    s = state_judge(req, &r->wishes, rec, inference_image_error(r), &st);
    if (s == WHARF_OK && r->wishes.tracker && !st.blocked &&
        inference_keys->level(req, WHARF_S("trackers")) < WHARF_LEVEL_WRITE)
        state_add(&st, "tracker_forbidden", true);
    if (s == WHARF_OK)
        state_set(req, &st, rec, st.blocked ? "error" : "extracted");
    return s;
}

/* ---- the tracker is told ---- */

static void inference_take_tracker(wharf_req *req, const struct inner *in, wharf_rec *rec)
{
    struct state st = {.n = 0};
    static const char *const kept[] = {
        "multiple_matches", "manual_match", "partial_matches", "no_matches", "unknown_provider"};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (state_has(rec, kept[i]))
            state_add(&st, kept[i], false);
    if (in->error)
        state_add(&st, in->error, true);
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID, val_text_or_null(in->tracker_id));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_SHIPMENT_ID, val_text_or_null(in->shipment_id));
    state_set(req, &st, rec, in->error ? "error" : "completed");
}

/* ---- an update ---- */

struct change { /* of an update, between its hooks */
    bool status_sent, rematch;
    wharf_str status; /* as sent, or empty */
    const wharf_json *options;
    bool track; /* the tracker is made now */
    bool synchronously;
};

static struct change *inference_change(const wharf_rec *rec)
{
    static const char kind[] = "inference.change";

    return W->res->scratch(rec, kind, sizeof(struct change));
}

static wharf_status inference_normalize(wharf_req *req, uint32_t op, wharf_rec *rec)
{
    struct change *c = inference_change(rec);
    const wharf_json *status = W->res->member(rec, "status");

    if (op == WHARF_CREATE)
        batch_note_sent(rec);
    if (op != WHARF_UPDATE)
        return WHARF_OK;
    parties_note(rec);
    c->status_sent = !json_is_null(status) && W->json->text(status, &c->status);
    c->rematch = json_truth(W->res->member(rec, "rematch"));
    c->options = W->res->member(rec, "options");
    if (W->res->member(rec, "image") || W->res->member(rec, "image_url"))
        return W->err->add(req, ERR_VALIDATION_FAILED,
            W->res->member(rec, "image") ? "image" : "image_url",
            "The images of a reading can't be changed; make a new one");
    return WHARF_OK;
}

/* Refuses statuses that a client can't set. */
static wharf_status inference_check_status(
    wharf_req *req, const struct change *c, const wharf_rec *old_rec)
{
    wharf_str was = field_text(old_rec, SHIPPING_LABEL_INFERENCE_STATUS);

    if (!c->status_sent || same(was, c->status))
        return WHARF_OK;
    if (is(c->status, "error") || is(c->status, "processing"))
        return W->err->fail(req, ERR_INFERENCE_STATUS_INVALID, "status", NULL);
    if (is(was, "completed") && field_text(old_rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID).n)
        return W->err->fail(req, ERR_INFERENCE_STATUS_INVALID, "status",
            "A reading that has a tracker stays completed");
    return WHARF_OK;
}

/* Settles the wishes anew where options were sent. */
static wharf_status inference_settle_wishes(
    wharf_req *req, const struct change *c, wharf_rec *rec, struct wishes *ret)
{
    const wharf_json *settled = field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES);
    wharf_status s = WHARF_OK;

    if (W->json->type(c->options) == WHARF_J_OBJECT) {
        s = wishes_settle(
            req, c->options, field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID), &settled);
        if (s == WHARF_OK)
            W->res->set(rec, SHIPPING_LABEL_INFERENCE_WISHES, val_json(settled));
    }
    wishes_read(settled, ret);
    return s;
}

/* Decides the status after an update that left these errors. */
static wharf_status inference_decide(
    wharf_req *req, struct change *c, const struct wishes *w, struct state *st, wharf_rec *rec)
{
    bool was_completed = is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "completed");
    const char *status = st->blocked ? "error" : "completed";

    if (is(c->status, "extracted")) {
        status = "extracted";
    } else if (is(c->status, "completed") && st->blocked) {
        return W->err->fail(req, ERR_INFERENCE_UNRESOLVED_ERRORS, "status", NULL);
    } else if (was_completed && !c->status_sent) {
        status = "completed";
    } else if (!st->blocked && !c->status_sent && tracker_missing(w, rec)) {
        c->track = !st->tied;
        c->synchronously = w->synchronously;
        status = "extracted";
    }
    state_set(req, st, rec, status);
    return WHARF_OK;
}

/* Settles what hangs on place and recipient. */
static wharf_status inference_settle_linked(
    wharf_req *req, const struct wishes *w, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = WHARF_OK;

    if (W->res->changed(old_rec, new_rec, SHIPPING_LABEL_INFERENCE_CHILD_SHIPMENTS))
        s = children_check(req, field_json(new_rec, SHIPPING_LABEL_INFERENCE_CHILD_SHIPMENTS),
            w->tracker_type, field_text(new_rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID));
    return s == WHARF_OK ? destination_set(req, w, new_rec) : s;
}

static wharf_status inference_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct change *c = inference_change(new_rec);
    struct wishes w;
    struct state st;
    wharf_status s = inference_check_status(req, c, old_rec);

    if (s == WHARF_OK && is(field_text(old_rec, SHIPPING_LABEL_INFERENCE_STATUS), "processing"))
        return W->err->fail(req, ERR_INFERENCE_PROCESSING, NULL, NULL);
    if (s == WHARF_OK)
        s = place_settle(req, old_rec, new_rec);
    if (s == WHARF_OK &&
        W->res->changed(old_rec, new_rec, SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER) &&
        field_text(old_rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID).n)
        return W->err->fail(req, ERR_INFERENCE_TRACKER_EXISTS, "tracking_number", NULL);
    if (s == WHARF_OK)
        s = inference_settle_wishes(req, c, new_rec, &w);
    for (int i = 0; i < PARTIES && s == WHARF_OK; i++)
        s = party_take(req, &w, old_rec, new_rec, i);
    if (s == WHARF_OK)
        s = facts_provider(req, new_rec);
    if (s == WHARF_OK && c->rematch)
        s = parties_match(req, &w, new_rec);
    if (s == WHARF_OK)
        s = inference_settle_linked(req, &w, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    facts_settle(req, new_rec);
    s = state_judge(req, &w, new_rec, state_image_error(new_rec), &st);
    return s == WHARF_OK ? inference_decide(req, c, &w, &st, new_rec) : s;
}

static wharf_status inference_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const struct inner *in = op == WHARF_DELETE ? NULL
                                                : W->res->context(new_rec, inference_inner_kind);

    if (in && in->reading)
        return inference_fill(req, in, new_rec);
    if (op == WHARF_CREATE)
        return batch_accept(req, new_rec);
    if (op == WHARF_UPDATE && in) {
        inference_take_tracker(req, in, new_rec);
        return WHARF_OK;
    }
    return op == WHARF_UPDATE ? inference_update(req, old_rec, new_rec) : WHARF_OK;
}

/* ---- events, trackers, and what a delete erases ---- */

static wharf_status inference_erase(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] = QUERY_BLANK;
    const wharf_json *images = field_json(rec, SHIPPING_LABEL_INFERENCE_IMAGES_KEPT);
    wharf_status s = retain_remove(req, images);

    return s == WHARF_OK ? query_about(req, sql, W->res->id(rec), NULL) : s;
}

static wharf_status inference_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const struct change *c;
    wharf_status s;

    if (op == WHARF_DELETE)
        return inference_erase(req, old_rec);
    if (op == WHARF_CREATE)
        return W->res->context(new_rec, inference_inner_kind) ? WHARF_OK : batch_keep(req, new_rec);
    s = state_tell(req, old_rec, new_rec);
    if (s != WHARF_OK || W->res->context(new_rec, inference_inner_kind))
        return s;
    s = linked_pass_on(req, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    c = inference_change(new_rec);
    if (!c->track)
        return WHARF_OK;
    return c->synchronously ? tracker_make(req, W->res->id(new_rec))
                            : tracker_later(req, W->res->id(new_rec));
}

const wharf_hooks inference_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = inference_normalize,
    .check = inference_check,
    .written = inference_written,
    .compute = inference_compute};
