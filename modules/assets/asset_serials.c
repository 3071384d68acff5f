/* asset_serials.c - serial numbers (docs/spec/02-places-and-people.md section 9): those that come
 * of a sequence, and POST /v1/assets/sequences. How a counter steps says sql/counter_after.sql;
 * that a number is unique for its item says the index asset_serial_number. */
#include "assets.h"

#include "assets.gen.h"

enum { SERIAL_MAX = 128 }; /* letters of a serial number */

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
static wharf_status asset_serials_find_or_make(
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
        s = asset_serials_find_or_make(
            req, json_text(body, "prefix"), json_text(body, "sequence"), &id, &made);
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
static size_t asset_serials_characters(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

wharf_status asset_check_serial(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec, struct serial_wanted *ret)
{
    const wharf_json *options = field_json(rec, ASSET_OPTIONS);
    bool is_prefix = options && json_truth(W->json->get(options, "is_prefix"));
    wharf_str id = field_text(rec, ASSET_SEQUENCE_ID),
              serial = W->res->sent(rec, ASSET_SERIAL_NUMBER) ? field_text(rec, ASSET_SERIAL_NUMBER)
                                                              : WHARF_S("");

    if (id.n && serial.n && !is_prefix)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "sequence_id",
            "Send serial_number or sequence_id; for both, options.is_prefix makes serial_number "
            "the prefix of the number");
    if (!id.n && is_prefix)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "sequence_id",
            "sequence_id is required with options.is_prefix");
    if (!id.n && (serial.n || old_rec))
        return WHARF_OK;
    ret->rec = rec;
    ret->sequence = id;
    ret->before = id.n ? serial : WHARF_S("");
    return WHARF_OK;
}

/* Gives an asset the number that was taken for it; taken false: there is no such sequence. */
static wharf_status asset_serials_give(wharf_req *req, wharf_rec *rec, bool taken, wharf_str serial)
{
    if (!taken)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "sequence_id",
            "sequence_id names no sequence; POST /v1/assets/sequences makes one");
    if (asset_serials_characters(serial) > SERIAL_MAX)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "serial_number",
            "The serial number with its prefix has more than 128 characters; shorten the prefix");
    W->res->set(rec, ASSET_SERIAL_NUMBER, val_text(serial));
    return WHARF_OK;
}

/* Says which sequence the assets take their numbers of that name none: the organization's. */
static wharf_status name_sequences(wharf_req *req, struct serial_wanted *list, size_t n)
{
    wharf_str own = WHARF_S("");
    bool made;

    for (size_t i = 0; i < n; i++) {
        wharf_status s = list[i].sequence.n || own.n
                             ? WHARF_OK
                             : asset_serials_find_or_make(
                                   req, WHARF_S("AST-"), WHARF_S("000001"), &own, &made);

        if (s != WHARF_OK)
            return s;
        if (!list[i].sequence.n)
            list[i].sequence = own;
    }
    return WHARF_OK;
}

/* Gives the assets the numbers that were taken. One that is refused here makes the rows go one by
 * one: its number goes back, and the next one gets it. */
static wharf_status give_all(wharf_req *req, const struct serial_wanted *list,
    const wharf_rows *rows, size_t n, bool together)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_str serial = WHARF_S("");
        bool taken = row_get_text(rows, i, 0, &serial);

        if (together)
            assets_many->at(req, list[i].row);
        s = asset_serials_give(req, list[i].rec, taken, serial);
    }
    if (together && s != WHARF_OK)
        assets_many->row_by_row(req);
    else if (together)
        assets_many->wrote(req);
    return s;
}

wharf_status asset_take_serials(wharf_req *req, struct serial_wanted *list, size_t n, bool together)
{
    static const char sql[] = /* in the order of the rows */
        "SELECT assets.serial_take($1::text, x.sequence, x.item, nullif(x.before, ''))"
        " FROM unnest((SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[])) x(sequence, "
        "item, before)";
    wharf_str *texts = W->mem->alloc(req, 3 * n * sizeof(*texts));
    wharf_val args[4] = {val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s;

    if (together)
        assets_many->at(req, list[0].row);
    s = name_sequences(req, list, n);
    if (s != WHARF_OK) {
        if (together)
            assets_many->row_by_row(req);
        return s;
    }
    for (size_t i = 0; i < n; i++) {
        texts[i] = list[i].sequence;
        texts[n + i] = field_text(list[i].rec, ASSET_ITEM_ID);
        texts[2 * n + i] = list[i].before;
    }
    for (size_t k = 0; k < 3; k++)
        args[k + 1] = val_array(req, texts + k * n, n);
    s = W->db->query(req, sql, args, 4, &rows);
    return s == WHARF_OK ? give_all(req, list, rows, n, together) : s;
}
