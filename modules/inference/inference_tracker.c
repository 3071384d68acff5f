/* inference_tracker.c - the tracker of what was read: made within the request or by a job
 * (docs/spec/06-inference.md section 5). What goes wrong is told by the row, never by HTTP. */
#include <stdlib.h>

#include "inference.h"

#include "inference.gen.h"

const char inference_inner_kind[] = "inference.inner";

bool tracker_missing(const struct wishes *w, const wharf_rec *rec)
{
    return w->tracker && !field_text(rec, SHIPPING_LABEL_INFERENCE_TRACKER_ID).n;
}

static void tracker_put_party(wharf_out *out, const wharf_rec *rec, int which)
{
    static const char *const ids[PARTIES] = {"recipient_contact_id", "sender_contact_id"};
    const wharf_json *party = field_json(rec, party_field(which));
    wharf_str contact = json_text(party, "contact_id");

    if (contact.n) {
        W->json->put(out, ids[which], val_text(contact));
        return;
    }
    if (!json_text(party, "name").n && !json_text(party, "business").n)
        return;
    W->json->open(out, party_names[which], '{');
    W->json->put(out, "name", val_json(W->json->get(party, "name")));
    W->json->put(out, "business", val_json(W->json->get(party, "business")));
    W->json->close(out);
}

/* Tells whether the body of a client names the member, or "". */
static bool tracker_is_sent(const wharf_json *sent, const char *name)
{
    return name[0] && W->json->get(sent, name);
}

static void tracker_put_sent(wharf_out *out, const wharf_json *sent)
{
    for (const wharf_json *m = W->json->at(sent, 0); m; m = W->json->next(m))
        if (!is(W->json->key(m), "inference_id"))
            W->json->put(out, W->json->key(m).p, val_json(m));
}

wharf_status tracker_body(
    wharf_req *req, const wharf_rec *rec, const wharf_json *sent, const wharf_json **ret)
{
    static const struct {
        const char *name, *hidden_by; /* or "" */
        wharf_field field;
    } texts[] = {{"tracking_number", "", SHIPPING_LABEL_INFERENCE_TRACKING_NUMBER},
        {"provider_id", "", SHIPPING_LABEL_INFERENCE_PROVIDER_ID},
        {"location_id", "", SHIPPING_LABEL_INFERENCE_LOCATION_ID},
        {"layout_id", "location_id", SHIPPING_LABEL_INFERENCE_LAYOUT_ID}};
    static const char *const contacts[PARTIES] = {"recipient_contact_id", "sender_contact_id"};
    struct wishes wishes;
    wharf_out *out = W->json->builder(req);

    wishes_read(field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES), &wishes);
    W->json->open(out, NULL, '{');
    W->json->put(out, "inference_id", val_text(W->res->id(rec)));
    if (!tracker_is_sent(sent, "type")) /* the row says it only where a tracker was asked for */
        W->json->put(out, "type", val_text(wishes.tracker_type));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (field_text(rec, texts[i].field).n && !tracker_is_sent(sent, texts[i].name) &&
            !tracker_is_sent(sent, texts[i].hidden_by))
            W->json->put(out, texts[i].name, val_text(field_text(rec, texts[i].field)));
    for (int i = 0; i < PARTIES; i++)
        if (!tracker_is_sent(sent, contacts[i]) && !tracker_is_sent(sent, party_names[i]))
            tracker_put_party(out, rec, i);
    tracker_put_sent(out, sent);
    W->json->close(out);
    return W->json->result(req, out, ret);
}

struct making {
    wharf_str id; /* of the row whose tracker is made; empty: of none */
};

static struct making *tracker_making(wharf_req *req)
{
    static const char kind[] = "inference.making";

    return W->mem->slot(req, kind, sizeof(struct making));
}

bool tracker_is_made(wharf_req *req, wharf_str id)
{
    const struct making *m = tracker_making(req);

    return m->id.n && same(m->id, id);
}

/* Makes it, and tells of it in *made, of what outlives a savepoint. */
static wharf_status tracker_create_of(wharf_req *req, const wharf_rec *rec, struct inner *made)
{
    const wharf_rec *tracker = NULL;
    const wharf_json *body, *shown;
    wharf_out *out = W->json->builder(req);
    bool known = false;
    wharf_status s = tracker_body(req, rec, NULL, &body);

    tracker_making(req)->id = W->res->id(rec);
    if (s == WHARF_OK)
        s = inference_trackers->create(req, body, &tracker, &known);
    tracker_making(req)->id = WHARF_S("");
    if (s == WHARF_OK) {
        W->res->encode(req, out, NULL, tracker);
        s = W->json->result(req, out, &shown);
    }
    if (s != WHARF_OK)
        return s;
    made->tracker_id = W->res->id(tracker);
    made->shipment_id = json_text(shown, "current_shipment_id");
    return children_join(req, rec, made->shipment_id);
}

/* Makes the tracker in a savepoint: a problem of it takes nothing else back. again: a job makes it,
 * and tries once more; where nobody does it is given up after TRACK_MS. */
static wharf_status tracker_try(
    wharf_req *req, const wharf_rec *rec, bool again, struct inner *made)
{
    struct inner done = *made;
    int64_t before = 0;
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    if (!again)
        before = W->db->limit(req, TRACK_MS);
    s = tracker_create_of(req, rec, &done);
    if (!again)
        W->db->limit_end(req, before);
    if (s == WHARF_OK)
        s = W->db->commit(req);
    else
        W->db->rollback(req);
    if (s != WHARF_OK && !(s == WHARF_UNAVAILABLE && again)) {
        W->err->clear(req);
        made->error = s == WHARF_DENIED ? "tracker_forbidden" : "tracker_failed";
        return WHARF_OK;
    }
    if (s == WHARF_OK)
        *made = done;
    return s;
}

/* Makes it. again: what can't be had now is a problem, and tried later. */
static wharf_status tracker_make_now(wharf_req *req, wharf_str id, bool again)
{
    struct inner *made = W->mem->alloc(req, sizeof(*made));
    const wharf_rec *rec;
    const wharf_json *nothing = NULL;
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = RESOURCE,
        .op = WHARF_UPDATE,
        .id = id,
        .kind = inference_inner_kind,
        .context = made};
    wharf_status s = W->res->fetch(req, RESOURCE, id, WHARF_FOR_UPDATE, &rec);

    *made = (struct inner){.tracker_id = WHARF_S(""), .shipment_id = WHARF_S("")};
    if (s != WHARF_OK)
        return s;
    if (!inference_trackers)
        made->error = "tracker_failed";
    else if (inference_keys->level(req, WHARF_S("trackers")) < WHARF_LEVEL_WRITE)
        made->error = "tracker_forbidden";
    else
        s = tracker_try(req, rec, again, made);
    if (s == WHARF_OK)
        s = W->json->parse(req, WHARF_S("{}"), &nothing);
    w.body = nothing;
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

wharf_status tracker_make(wharf_req *req, wharf_str id)
{
    return tracker_make_now(req, id, false);
}

/* ---- by a job ---- */

wharf_status tracker_later(wharf_req *req, wharf_str id)
{
    const wharf_json *args;
    wharf_status s = W->json->parse(
        req, W->mem->format(req, "{\"inference\": \"%s\"}", id.p), &args);

    return s == WHARF_OK ? W->event->enqueue(req, "track", id, args, 0) : s;
}

wharf_status tracker_job(wharf_req *req, void *arg)
{
    const wharf_json *args;
    const wharf_rec *rec;
    struct wishes wishes;
    wharf_str id, attempts = WHARF_S("");
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    id = json_text(args, "inference");
    s = W->res->fetch(req, RESOURCE, id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req); /* it was deleted meanwhile */
        return WHARF_OK;
    }
    if (s != WHARF_OK)
        return s;
    wishes_read(field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES), &wishes);
    if (!tracker_missing(&wishes, rec) ||
        !is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "extracted"))
        return WHARF_OK;
    W->req->param(req, "attempts", &attempts);
    return tracker_make_now(req, id, strtol(attempts.p, NULL, 10) < TRACK_TRIES);
}
