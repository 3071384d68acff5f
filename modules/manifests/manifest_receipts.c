/* manifest_receipts.c - receipts: one scan or many lines, a whole parcel, the reversal of another
 * receipt (docs/spec/03-shipments-and-trackers.md sections 7.3 to 7.6). sql/receive.sql finds what
 * they are about; manifest_book.c books it. */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

static const struct line_member line_members[] = {{"article_id", MEMBER_TEXT, 64, NULL, NULL},
    {"item_id", MEMBER_TEXT, 64, NULL, NULL}, {"sku", MEMBER_TEXT, 400, NULL, NULL},
    {"gtin", MEMBER_TEXT, 14, NULL, NULL}, {"code", MEMBER_TEXT, 191, NULL, NULL},
    {"item_transactional_unit_id", MEMBER_TEXT, 64, NULL, NULL},
    {"lot_number", MEMBER_TEXT, 100, NULL, NULL}, {"expires_at", MEMBER_MOMENT, 0, NULL, NULL},
    {"serial_numbers", MEMBER_TEXTS, 500, NULL, NULL}, {"layout_id", MEMBER_TEXT, 64, NULL, NULL},
    {"parcel_id", MEMBER_TEXT, 64, NULL, NULL}, {"reason_code_id", MEMBER_REASON, 64, NULL, NULL},
    {"comment", MEMBER_TEXT, 500, NULL, NULL},
    {"received_qty", MEMBER_SOME, 0, "verified_qty", "received"},
    {"defective_qty", MEMBER_QUANTITY, 0, "damaged_qty", "defective"}};

/* the context of the receipt of a completion: its booking */
static const char completion_kind[] = "manifests.completion";

struct receiving {
    wharf_req *req;
    wharf_rec *rec;
    wharf_str id; /* of the receipt */
    const wharf_rec *manifest;
    wharf_str manifest_id, location, parcel;
    enum manifest_status status;
    bool correction; /* it may be booked on a completed manifest */
    bool lines; /* it has `lines` */
    const char *type;
    struct booking booking;
};

static wharf_status manifest_receipts_tell_all(
    const struct receiving *r, const wharf_json *problems)
{
    for (const wharf_json *p = W->json->at(problems, 0); p; p = W->json->next(p)) {
        wharf_str member = json_text(p, "member");
        int64_t n = 0;

        W->json->integer(W->json->get(p, "n"), &n);
        manifest_tell(r->req, json_text(p, "problem"),
            r->lines ? W->mem->format(r->req, "lines.%lld.%s", (long long)n, member.p).p
                     : member.p);
    }
    return W->err->current(r->req);
}

/* ---- what was sent ---- */

/* Tells whether the manifest is closed, and only what is in stored parcels can be received. */
static bool manifest_receipts_is_late(const struct receiving *r)
{
    return !manifest_is_open(r->status) && !r->correction;
}

/* Tells whether the request says that a parcel is unpacked, or is not. */
static bool says_unpacked(const struct receiving *r, bool *ret_unpacked)
{
    wharf_val v;

    if (!W->res->get(r->rec, RECEIPT_UNPACKED, &v))
        return false;
    *ret_unpacked = v.u.i != 0;
    return true;
}

/* Builds a line of the members of a scan; NULL: none was sent. */
static const wharf_json *scan_of(struct receiving *r)
{
    static const struct {
        const char *name;
        wharf_field field;
    } members[] = {{"article_id", RECEIPT_ARTICLE_ID}, {"item_id", RECEIPT_ITEM_ID},
        {"sku", RECEIPT_SKU}, {"gtin", RECEIPT_GTIN}, {"code", RECEIPT_CODE},
        {"item_transactional_unit_id", RECEIPT_ITEM_TRANSACTIONAL_UNIT_ID},
        {"lot_number", RECEIPT_LOT_NUMBER}, {"expires_at", RECEIPT_EXPIRES_AT},
        {"serial_numbers", RECEIPT_SERIAL_NUMBERS}, {"received_qty", RECEIPT_RECEIVED_QTY},
        {"defective_qty", RECEIPT_DEFECTIVE_QTY}};
    wharf_out *out = W->json->builder(r->req);
    const wharf_json *line = NULL;
    size_t n = 0;

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const wharf_json *sent = W->res->input(r->rec, members[i].field);
        wharf_val v = val_json(sent);

        if (!json_is_null(sent) || W->res->get(r->rec, members[i].field, &v)) {
            W->json->put(out, members[i].name, v);
            n++;
        }
    }
    W->json->close(out);
    return n && W->json->result(r->req, out, &line) == WHARF_OK ? line : NULL;
}

static wharf_status manifest_receipts_put_line(
    struct receiving *r, const wharf_json *e, size_t i, wharf_out *out)
{
    const size_t n = sizeof(line_members) / sizeof(line_members[0]);
    wharf_str at = r->lines ? W->mem->format(r->req, "lines.%zu.", i) : WHARF_S("");

    W->json->open(out, NULL, '{');
    W->json->put(out, "n", val_int((int64_t)i));
    W->json->put(out, "id", val_text(W->req->new_id(r->req, "mart")));
    members_read(r->req, e, at, line_members, n, out);
    W->json->close(out);
    return W->err->current(r->req);
}

/* Writes the lines as text; empty: none was sent. */
static wharf_status manifest_receipts_read_lines(struct receiving *r, wharf_str *ret)
{
    const wharf_json *sent = W->res->input(r->rec, RECEIPT_LINES), *scan = scan_of(r);
    wharf_out *out = W->json->writer(r->req);
    size_t i = 0;

    *ret = WHARF_S("");
    r->lines = sent && W->json->count(sent);
    if (r->lines && scan)
        return W->err->fail(r->req, ERR_VALIDATION_FAILED, "lines",
            "Send lines, or the members of one scan, not both");
    if (!r->lines && !scan)
        return WHARF_OK;
    W->json->open(out, NULL, '[');
    if (!r->lines)
        manifest_receipts_put_line(r, scan, 0, out);
    for (const wharf_json *e = r->lines ? W->json->at(sent, 0) : NULL; e; e = W->json->next(e), i++)
        manifest_receipts_put_line(r, e, i, out);
    W->json->close(out);
    *ret = W->json->result_text(out);
    return W->err->current(r->req);
}

/* ---- asking the database ---- */

static wharf_status manifest_receipts_ask(
    struct receiving *r, const char *sql, const wharf_val *args, size_t n, const wharf_json **ret)
{
    const wharf_rows *rows;
    wharf_status s = W->db->query(r->req, sql, args, n, &rows);

    *ret = s == WHARF_OK ? row_json(rows, 0, 0) : NULL;
    return s == WHARF_OK && !*ret ? W->err->fail(r->req, ERR_INTERNAL, NULL, NULL) : s;
}

static wharf_status manifest_receipts_facts_of(struct receiving *r, wharf_str *ret)
{
    wharf_out *out = W->json->writer(r->req);
    wharf_status s;

    manifest_put_facts(r->req, out);
    s = manifest_put_tolerance(r->req, out);
    W->json->put(out, "reason",
        val_bool(field_text(r->rec, RECEIPT_REASON_CODE_ID).n > 0 ||
                 field_text(r->manifest, MANIFEST_REASON_CODE_ID).n > 0));
    W->json->put(out, "layout", val_text_or_null(field_text(r->rec, RECEIPT_LAYOUT_ID)));
    W->json->put(out, "parcel", val_text_or_null(r->parcel));
    W->json->put(out, "allow_expired", val_bool(field_int(r->rec, RECEIPT_ALLOW_EXPIRED) != 0));
    W->json->put(out, "by", val_text(r->id));
    W->json->close(out);
    *ret = W->json->result_text(out);
    return s;
}

/* ---- parcels ---- */

static wharf_status write_parcels(struct receiving *r, const wharf_json *parcels)
{
    wharf_status s = WHARF_OK;

    for (const wharf_json *p = parcels ? W->json->at(parcels, 0) : NULL; p && s == WHARF_OK;
         p = W->json->next(p))
        s = parcel_write(r->req, r->manifest_id, r->location, json_text(p, "id"),
            json_truth(W->json->get(p, "made")));
    return s;
}

/* Makes lines of what is still to come of a parcel. */
static wharf_str rest_as_lines(struct receiving *r, const wharf_json *rest)
{
    wharf_out *out = W->json->writer(r->req);
    int64_t i = 0;

    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(rest, 0); e; e = W->json->next(e), i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "n", val_int(i));
        W->json->put(out, "id", val_text(WHARF_S("")));
        W->json->put(out, "received", val_json(W->json->get(e, "quantity")));
        W->json->open(out, "j", '{');
        W->json->put(out, "article_id", val_json(W->json->get(e, "article_id")));
        W->json->close(out);
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result_text(out);
}

static wharf_status receive_lines(struct receiving *r, wharf_str lines);

/* Takes a whole parcel. lines: what the request says was in it, or empty. */
static wharf_status receive_parcel(struct receiving *r, wharf_str parcel, wharf_str lines)
{
    static const char sql[] =
        "SELECT manifests.parcel_come($1::text, $2::text, $3::boolean, $4::boolean, $5::boolean)";
    const wharf_json *answer, *rest;
    bool unpacked;
    wharf_status s = manifest_receipts_ask(r, sql,
        (const wharf_val[]){val_text(r->manifest_id), val_text(parcel),
            says_unpacked(r, &unpacked) ? val_bool(unpacked) : val_null(), val_bool(lines.n > 0),
            val_bool(manifest_receipts_is_late(r))},
        5, &answer);

    if (s != WHARF_OK)
        return s;
    if (json_text(answer, "problem").n)
        return manifest_tell(r->req, json_text(answer, "problem"),
            is(json_text(answer, "problem"), "closed") ? NULL : "parcel_id");
    r->type = "parcel";
    r->parcel = parcel;
    W->res->set(r->rec, RECEIPT_PARCEL_ID, val_text(parcel));
    rest = W->json->get(answer, "rest");
    if (!json_is_null(rest))
        lines = rest_as_lines(r, rest);
    if (lines.n) {
        s = receive_lines(r, lines);
        r->type = "parcel";
        return s;
    }
    return parcel_write(
        r->req, r->manifest_id, r->location, parcel, json_truth(W->json->get(answer, "made")));
}

/* ---- lines ---- */

static wharf_status receive_lines(struct receiving *r, wharf_str lines)
{
    static const char sql[] = "SELECT manifests.receive($1::text, $2::jsonb, $3::jsonb)";
    const wharf_json *answer;
    wharf_str facts = WHARF_S("");
    wharf_status s = manifest_receipts_facts_of(r, &facts);

    if (s == WHARF_OK)
        s = manifest_receipts_ask(r, sql,
            (const wharf_val[]){val_text(r->manifest_id), val_text(facts), val_text(lines)}, 3,
            &answer);
    if (s != WHARF_OK)
        return s;
    if (!json_is_null(W->json->get(answer, "problems")))
        return manifest_receipts_tell_all(r, W->json->get(answer, "problems"));
    if (json_text(answer, "parcel").n)
        return receive_parcel(r, json_text(answer, "parcel"), WHARF_S(""));
    r->type = "scan";
    r->booking.parts = W->json->get(answer, "parts");
    r->booking.lines = r->lines;
    s = booking_make(&r->booking);
    return s == WHARF_OK ? write_parcels(r, W->json->get(answer, "parcels")) : s;
}

/* ---- reversals ---- */

static wharf_status reverse(struct receiving *r, wharf_str receipt)
{
    static const char sql[] = "SELECT manifests.reverse($1::text, $2::text, $3::jsonb)";
    const wharf_json *answer;
    wharf_str facts = WHARF_S(""), lines;
    bool unpacked;
    wharf_status s = manifest_receipts_read_lines(r, &lines);

    if (s == WHARF_OK && (lines.n || r->parcel.n || says_unpacked(r, &unpacked)))
        return W->err->fail(r->req, ERR_VALIDATION_FAILED, "reverses_receipt_id",
            "A reversal takes back all of the receipt; send nothing else with it");
    if (s == WHARF_OK)
        s = manifest_receipts_facts_of(r, &facts);
    if (s == WHARF_OK)
        s = manifest_receipts_ask(r, sql,
            (const wharf_val[]){val_text(r->manifest_id), val_text(receipt), val_text(facts)}, 3,
            &answer);
    if (s != WHARF_OK)
        return s;
    if (json_text(answer, "problem").n)
        return manifest_tell(r->req, json_text(answer, "problem"), "reverses_receipt_id");
    r->type = "reversal";
    r->booking.reversed = true;
    r->booking.parts = W->json->get(answer, "parts");
    s = booking_make(&r->booking);
    if (s == WHARF_OK && json_text(answer, "parcel").n)
        s = parcel_write(r->req, r->manifest_id, r->location, json_text(answer, "parcel"), true);
    return s;
}

/* ---- check ---- */

static wharf_status judge_status(const struct receiving *r)
{
    if (r->status == MANIFEST_IS_CREATED)
        return W->err->fail(r->req, ERR_MANIFEST_NOT_ACCEPTED, NULL, NULL);
    if (r->correction && !field_text(r->rec, RECEIPT_REASON_CODE_ID).n)
        return W->err->fail(r->req, ERR_MANIFEST_REASON_REQUIRED, "reason_code_id", NULL);
    if (r->status == MANIFEST_IS_COMPLETED &&
        (r->correction || r->parcel.n || field_text(r->rec, RECEIPT_REVERSES_RECEIPT_ID).n))
        return WHARF_OK;
    return manifest_is_open(r->status) ? WHARF_OK
                                       : W->err->fail(r->req, ERR_MANIFEST_CLOSED, NULL, NULL);
}

static wharf_status manifest_receipts_receive(struct receiving *r)
{
    wharf_str reverses = field_text(r->rec, RECEIPT_REVERSES_RECEIPT_ID), lines;
    bool unpacked = true, said = says_unpacked(r, &unpacked);
    wharf_status s;

    if (reverses.n)
        return reverse(r, reverses);
    s = manifest_receipts_read_lines(r, &lines);
    if (s != WHARF_OK)
        return s;
    if (r->parcel.n && (!lines.n || said || manifest_receipts_is_late(r))) {
        if (lines.n && said && !unpacked)
            return W->err->fail(r->req, ERR_VALIDATION_FAILED, "unpacked",
                "What comes out of a parcel comes out of one that is unpacked");
        return receive_parcel(r, r->parcel, lines);
    }
    if (!lines.n)
        return manifest_tell(r->req, WHARF_S("nothing"), "code");
    return receive_lines(r, lines);
}

static void manifest_receipts_settle(struct receiving *r)
{
    const struct booking *b = &r->booking;

    W->res->set(r->rec, RECEIPT_TYPE, val_text(z(r->type)));
    W->res->set(r->rec, RECEIPT_GROUP_ID, val_text_or_null(b->group));
    if (b->lines_shown) {
        W->res->set(r->rec, RECEIPT_LINES, val_json(b->lines_shown));
        W->res->set(r->rec, RECEIPT_ITEM_IDS, val_json(b->item_ids));
    }
}

static wharf_status manifest_receipts_receipt_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const struct booking *completion = W->res->context(new_rec, completion_kind);
    struct receiving r = {.req = req,
        .rec = new_rec,
        .id = W->res->id(new_rec),
        .manifest_id = field_text(new_rec, RECEIPT_MANIFEST_ID),
        .parcel = field_text(new_rec, RECEIPT_PARCEL_ID),
        .correction = field_int(new_rec, RECEIPT_CORRECTION) != 0,
        .type = "scan"};
    wharf_status s;

    if (completion) {
        r.booking = *completion;
        r.type = "completion";
        W->res->set(new_rec, RECEIPT_LOCATION_ID, val_text(completion->location));
        manifest_receipts_settle(&r);
        return WHARF_OK;
    }
    s = W->res->fetch(req, "manifest", r.manifest_id, WHARF_FOR_UPDATE, &r.manifest);
    if (s != WHARF_OK)
        return s;
    r.location = field_text(r.manifest, MANIFEST_LOCATION_ID);
    r.status = manifest_status_of(r.manifest);
    W->res->set(new_rec, RECEIPT_LOCATION_ID, val_text(r.location));
    r.booking = (struct booking){.req = req,
        .manifest = r.manifest_id,
        .location = r.location,
        .open = manifest_is_open(r.status),
        .reason = field_text(new_rec, RECEIPT_REASON_CODE_ID),
        .comment = field_text(new_rec, RECEIPT_COMMENT),
        .group = WHARF_S("")};
    s = judge_status(&r);
    if (s == WHARF_OK)
        s = manifest_reason_check(req, r.booking.reason, "reason_code_id");
    if (s == WHARF_OK)
        s = manifest_receipts_receive(&r);
    if (s != WHARF_OK)
        return s;
    manifest_receipts_settle(&r);
    return manifest_touch(req, r.manifest_id);
}

/* ---- shown ---- */

/* Fills next, the next step after a receipt. */
static wharf_status receipt_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    static const char sql[] = "SELECT manifests.next($2::text, $1::text, $3::text, $4::boolean)";
    bool named = manifests_keys->level(req, WHARF_S("items")) >= WHARF_LEVEL_READ;

    for (size_t i = 0; i < n; i++) {
        const wharf_json *lines = field_json(recs[i], RECEIPT_LINES);
        size_t count = lines ? W->json->count(lines) : 0;
        const wharf_rows *rows;
        wharf_status s = W->db->query(req, sql,
            (const wharf_val[]){val_text(field_text(recs[i], RECEIPT_MANIFEST_ID)),
                val_text(W->req->organization(req)),
                val_text(
                    count ? json_text(W->json->at(lines, count - 1), "article_id") : WHARF_S("")),
                val_bool(named)},
            4, &rows);

        if (s != WHARF_OK)
            return s;
        W->json->put(outs[i], NULL, val_json(W->db->count(rows) ? row_json(rows, 0, 0) : NULL));
    }
    return WHARF_OK;
}

const wharf_hooks receipt_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = manifest_receipts_receipt_check,
    .compute = receipt_compute,
    .ops = WHARF_CREATE};

wharf_status receipt_of_completion(wharf_req *req, const struct booking *b)
{
    struct booking *kept = W->mem->alloc(req, sizeof(*kept));
    wharf_out *out = W->json->builder(req);
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "receipt",
        .op = WHARF_CREATE,
        .kind = completion_kind,
        .context = kept};
    wharf_status s;

    *kept = *b;
    W->json->open(out, NULL, '{');
    W->json->put(out, "manifest_id", val_text(b->manifest));
    W->json->close(out);
    s = W->json->result(req, out, &w.body);
    return s == WHARF_OK ? W->res->write(req, &w) : s;
}
