/* asset_serials.c - serial numbers (docs/spec/02-places-and-people.md section 9): those that come
 * of a sequence, and POST /v1/assets/sequences. How a counter steps says sql/counter_after.sql;
 * that a number is unique for its item says the index asset_serial_number. */
#include "assets.h"

#include "assets.gen.h"

enum { SERIAL_MAX = 128 };

/* ---- sequences ---- */

/* Finds the sequence that begins so; *ret_id is empty when there is none. */
static wharf_status find_sequence(
    wharf_req *req, wharf_str prefix, wharf_str start, wharf_str *ret_id)
{
    static const char sql[] =
        "SELECT id FROM assets.sequence WHERE organization_id = $1::text AND prefix = $2::text"
        " AND sequence = $3::text AND deleted_at IS NULL";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(prefix), val_text(start)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    *ret_id = s == WHARF_OK && W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

/* Finds the sequence that begins so, or makes it. Two that make sequences wait for each other. */
static wharf_status find_or_make(
    wharf_req *req, wharf_str prefix, wharf_str start, wharf_str *ret_id, bool *ret_made)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    const wharf_rec *made;
    wharf_status s = find_sequence(req, prefix, start, ret_id);

    *ret_made = false;
    if (s != WHARF_OK || ret_id->n)
        return s;
    s = W->db->lock(req, "assets.sequences", W->req->organization(req));
    if (s == WHARF_OK)
        s = find_sequence(req, prefix, start, ret_id);
    if (s != WHARF_OK || ret_id->n)
        return s;
    *ret_made = true;
    W->json->open(out, NULL, '{');
    W->json->put(out, "prefix", val_text(prefix));
    W->json->put(out, "sequence", val_text(start));
    W->json->close(out);
    s = W->json->result(req, out, &body);
    if (s == WHARF_OK)
        s = W->res->create(req, "sequence", body, &made);
    if (s == WHARF_OK)
        *ret_id = W->res->id(made);
    return s;
}

static wharf_status sequence_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    if (op == WHARF_CREATE)
        W->res->set(new_rec, SEQUENCE_COUNTER, val_text(field_text(new_rec, SEQUENCE_SEQUENCE)));
    return WHARF_OK;
}

const wharf_hooks assets_sequence_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = sequence_check, .ops = WHARF_CREATE};

wharf_status asset_sequence_create(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_str id;
    bool made;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = find_or_make(req, json_text(body, "prefix"), json_text(body, "sequence"), &id, &made);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "sequence", id, WHARF_SHOWN, &rec);
    if (s != WHARF_OK)
        return s;
    W->res->encode(req,
        W->req->respond(
            req, made ? 201 : 200, made ? "Sequence created" : "Existing sequence returned"),
        NULL, rec);
    if (made)
        W->req->created(req, W->mem->format(req, "/v1/assets/sequences/%s", id.p));
    return WHARF_OK;
}

/* ---- the number of an asset ---- */

/* Counts the code points of a text. */
static size_t characters(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

/* Takes the next number of a sequence. before: instead of its prefix, or empty. */
static wharf_status take(wharf_req *req, wharf_rec *rec, wharf_str sequence, wharf_str before)
{
    static const char sql[] = "SELECT assets.serial_take($1::text, $2::text, $3::text, $4::text)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(sequence),
        val_text(field_text(rec, ASSET_ITEM_ID)), val_text_or_null(before)};
    const wharf_rows *rows;
    wharf_str serial;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    if (s != WHARF_OK)
        return s;
    if (!row_get_text(rows, 0, 0, &serial))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "sequence_id",
            "sequence_id names no sequence; POST /v1/assets/sequences makes one");
    if (characters(serial) > SERIAL_MAX)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "serial_number",
            "The serial number with its prefix has more than 128 characters; shorten the prefix");
    W->res->set(rec, ASSET_SERIAL_NUMBER, val_text(serial));
    return WHARF_OK;
}

wharf_status asset_settle_serial(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_json *options = field_json(rec, ASSET_OPTIONS);
    bool is_prefix = options && json_truth(W->json->get(options, "is_prefix")), made;
    wharf_str id = field_text(rec, ASSET_SEQUENCE_ID),
              serial = W->res->sent(rec, ASSET_SERIAL_NUMBER) ? field_text(rec, ASSET_SERIAL_NUMBER)
                                                              : WHARF_S("");
    wharf_status s;

    if (id.n && serial.n && !is_prefix)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "sequence_id",
            "Send serial_number or sequence_id; for both, options.is_prefix makes serial_number "
            "the prefix of the number");
    if (!id.n && is_prefix)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "sequence_id",
            "sequence_id is required with options.is_prefix");
    if (!id.n && (serial.n || old_rec))
        return WHARF_OK;
    if (id.n)
        return take(req, rec, id, serial);
    s = find_or_make(req, WHARF_S("AST-"), WHARF_S("000001"), &id, &made);
    return s == WHARF_OK ? take(req, rec, id, WHARF_S("")) : s;
}
