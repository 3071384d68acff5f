/* manifest_rules.c - the rules of manifests: what may be written when, reason codes, what a new
 * status does (docs/spec/03-shipments-and-trackers.md sections 7.1 and 7.2). */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

/* the context of writes after a receipt was booked */
static const char receipt_kind[] = "manifests.by_receipt";

void manifest_put_facts(wharf_req *req, wharf_out *out)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "now", val_time(W->req->now_us(req)));
    W->json->put(out, "actor", val_text(W->req->actor(req)));
}

wharf_status manifest_reason_check(wharf_req *req, wharf_str id, const char *path)
{
    struct checked { /* the last one that was good */
        wharf_str id;
    } * last;
    static const char kind;
    wharf_str code;
    wharf_status s;

    last = W->mem->slot(req, &kind, sizeof(*last));
    if (!id.n || (last->id.p && same(last->id, id)))
        return WHARF_OK;
    s = manifests_reasons->check(req, id, "manifest", path, &code);
    if (s == WHARF_OK)
        last->id = id;
    return s;
}

static wharf_status manifest_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    return manifest_take_parties(req, new_rec);
}

/* ---- check ---- */

static wharf_status settle_reason(struct manifest_write *w)
{
    wharf_str id = field_text(w->rec, MANIFEST_REASON_CODE_ID), code;
    bool moved = !w->old_rec || W->res->changed(w->old_rec, w->rec, MANIFEST_REASON_CODE_ID);
    wharf_status s;

    if (!id.n) {
        /* what mirrored the code goes with it */
        if (moved && w->old_rec && !W->res->sent(w->rec, MANIFEST_REASON_CODE))
            W->res->set(w->rec, MANIFEST_REASON_CODE, val_null());
        return WHARF_OK;
    }
    if (!moved && !W->res->sent(w->rec, MANIFEST_REASON_CODE))
        return WHARF_OK;
    if (moved) {
        s = manifests_reasons->check(w->req, id, "manifest", "reason_code_id", &code);
        if (s == WHARF_OK)
            W->res->set(w->rec, MANIFEST_REASON_CODE, val_text(code));
        return s;
    }
    W->res->set(w->rec, MANIFEST_REASON_CODE,
        val_text_or_null(field_text(w->old_rec, MANIFEST_REASON_CODE)));
    return WHARF_OK;
}

static void manifest_settle_search(wharf_rec *rec, wharf_req *req)
{
    static const wharf_field numbers[] = {MANIFEST_ORDER_NUMBER, MANIFEST_INVOICE_NUMBER,
        MANIFEST_PURCHASE_ORDER_NUMBER, MANIFEST_REFERENCE_NUMBER,
        MANIFEST_CUSTOMER_PURCHASE_ORDER_NUMBER, MANIFEST_CONTAINER_NUMBER, MANIFEST_LOAD_NUMBER,
        MANIFEST_EXTERNAL_ID, MANIFEST_ALTERNATE_EXTERNAL_ID};
    wharf_str all = WHARF_S("");

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        wharf_str one = field_text(rec, numbers[i]);

        if (one.n)
            all = all.n ? W->mem->format(req, "%s %s", all.p, one.p) : one;
    }
    W->res->set(rec, MANIFEST_SEARCH_TEXT, val_text_or_null(all));
}

static void settle_arrival(struct manifest_write *w)
{
    if (!field_int(w->rec, MANIFEST_ARRIVED_AT))
        W->res->set(w->rec, MANIFEST_ARRIVED_AT, val_time(W->req->now_us(w->req)));
}

/* Settles what comes with a new status. */
static wharf_status manifest_take_step(struct manifest_write *w, enum manifest_status to)
{
    if (to == MANIFEST_IS_PROCESSING || to == MANIFEST_IS_COMPLETED)
        settle_arrival(w);
    if (to == MANIFEST_IS_COMPLETED)
        return manifest_complete(w);
    return to == MANIFEST_IS_VOID ? manifest_void(w) : WHARF_OK;
}

static wharf_status manifest_create_check(struct manifest_write *w)
{
    enum manifest_status status = manifest_status_of(w->rec);
    uint32_t flags;
    wharf_status s = manifests_places->flags(w->req, w->location, &flags);

    if (s == WHARF_OK && !(flags & WHARF_LOCATION_ACTIVE))
        s = W->err->fail(w->req, ERR_LOCATION_INACTIVE, "location_id", NULL);
    if (s == WHARF_OK && status > MANIFEST_IS_ACCEPTED)
        s = W->err->fail(
            w->req, ERR_MANIFEST_STATUS_INVALID, "status", "A new manifest is created or accepted");
    W->res->set(w->rec, MANIFEST_CHANGES, val_int(0));
    W->res->set(w->rec, MANIFEST_RECEIPT_COUNT, val_int(0));
    manifest_settle_search(w->rec, w->req);
    if (s == WHARF_OK)
        s = manifest_settle_parties(w->req, w->rec);
    if (s == WHARF_OK)
        s = settle_reason(w);
    if (s == WHARF_OK)
        s = manifest_articles_take(w);
    return s == WHARF_OK ? manifest_count(w) : s;
}

/* Tells whether a request changes more than status and metadata. */
static bool is_edited(const struct manifest_write *w)
{
    static const wharf_field fields[] = {MANIFEST_SENDER, MANIFEST_RECIPIENT, MANIFEST_ORDER_NUMBER,
        MANIFEST_INVOICE_NUMBER, MANIFEST_PURCHASE_ORDER_NUMBER, MANIFEST_REFERENCE_NUMBER,
        MANIFEST_CUSTOMER_PURCHASE_ORDER_NUMBER, MANIFEST_CONTAINER_NUMBER, MANIFEST_LOAD_NUMBER,
        MANIFEST_EXTERNAL_ID, MANIFEST_ALTERNATE_EXTERNAL_ID, MANIFEST_SPECIAL_HANDLING_TAGS,
        MANIFEST_ESTIMATED_ARRIVAL_AT, MANIFEST_ARRIVED_AT, MANIFEST_REASON_CODE_ID,
        MANIFEST_REASON_CODE, MANIFEST_COMMENT, MANIFEST_BLIND};
    const wharf_json *articles = W->res->input(w->rec, MANIFEST_ARTICLES),
                     *containers = W->res->input(w->rec, MANIFEST_CONTAINERS);

    if ((articles && W->json->count(articles)) || (containers && W->json->count(containers)))
        return true;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (W->res->changed(w->old_rec, w->rec, fields[i]))
            return true;
    }
    return false;
}

static wharf_status manifest_update_check(struct manifest_write *w)
{
    enum manifest_status from = manifest_status_of(w->old_rec), to = manifest_status_of(w->rec);
    bool edited;
    wharf_status s = manifest_step(w->req, from, to);

    if (s != WHARF_OK)
        return s;
    edited = is_edited(w);
    if (edited && !manifest_is_open(from))
        return W->err->fail(w->req, ERR_MANIFEST_CLOSED, NULL, NULL);
    if (edited && from == MANIFEST_IS_CREATED && to != MANIFEST_IS_ACCEPTED)
        return W->err->fail(w->req, ERR_MANIFEST_NOT_ACCEPTED, NULL,
            "Of a manifest that is created only status and metadata can be changed; set status "
            "accepted first");
    manifest_settle_search(w->rec, w->req);
    s = manifest_settle_parties(w->req, w->rec);
    if (s == WHARF_OK)
        s = settle_reason(w);
    if (s == WHARF_OK)
        s = manifest_articles_take(w);
    if (s == WHARF_OK && from != to)
        s = manifest_take_step(w, to);
    return s == WHARF_OK && (edited || from != to) ? manifest_count(w) : s;
}

static wharf_status manifest_receipt_check(struct manifest_write *w)
{
    W->res->set(w->rec, MANIFEST_CHANGES, val_int(field_int(w->rec, MANIFEST_CHANGES) + 1));
    W->res->set(
        w->rec, MANIFEST_RECEIPT_COUNT, val_int(field_int(w->rec, MANIFEST_RECEIPT_COUNT) + 1));
    if (manifest_status_of(w->rec) == MANIFEST_IS_ACCEPTED) {
        W->res->set(w->rec, MANIFEST_STATUS, val_text(WHARF_S("processing")));
        settle_arrival(w);
    }
    return manifest_count(w);
}

static wharf_status manifest_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_rec *rec = new_rec ? new_rec : old_rec;
    struct manifest_write w = {.req = req,
        .old_rec = old_rec,
        .rec = new_rec,
        .id = W->res->id(rec),
        .location = field_text(rec, MANIFEST_LOCATION_ID)};
    enum manifest_status status;

    if (op == WHARF_CREATE)
        return manifest_create_check(&w);
    if (op == WHARF_UPDATE)
        return W->res->context(rec, receipt_kind) ? manifest_receipt_check(&w)
                                                  : manifest_update_check(&w);
    status = manifest_status_of(old_rec);
    if (status == MANIFEST_IS_CREATED)
        return booking_expect(req, w.id, w.location, false, "expected", NULL);
    return status == MANIFEST_IS_VOID ? WHARF_OK
                                      : W->err->fail(req, ERR_MANIFEST_NOT_DELETABLE, NULL, NULL);
}

/* ---- written ---- */

static wharf_status manifest_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    enum manifest_status to = manifest_status_of(new_rec);

    if (op != WHARF_UPDATE || manifest_is_open(to) ||
        !W->res->changed(old_rec, new_rec, MANIFEST_STATUS))
        return WHARF_OK;
    return W->event->emit(req,
        to == MANIFEST_IS_COMPLETED ? "manifest.completed" : "manifest.canceled", "manifest",
        W->res->id(new_rec), NULL);
}

const wharf_hooks manifest_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = manifest_normalize,
    .check = manifest_check,
    .written = manifest_written,
    .ops = WHARF_CREATE | WHARF_UPDATE | WHARF_DELETE};

wharf_status manifest_touch(wharf_req *req, wharf_str id)
{
    static char yes;
    wharf_out *out = W->json->builder(req);
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "manifest",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = receipt_kind,
        .context = &yes};
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->close(out);
    s = W->json->result(req, out, &w.body);
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}
