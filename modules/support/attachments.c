/* attachments.c - attachments of support requests: announced, brought by signed link, shown,
 * sent out as tokenized links (spec 01 section 16). */
#include <string.h>

#include "support.h"
#include "wharf/errors.h"

enum {
    NAME_CHARS = 255, /* letters of a file's name */
    TYPE_CHARS = 127
};

/* ---- what the body says ---- */

static bool plain_text(wharf_str s, size_t max)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    }
    return s.n && s.n <= max;
}

static bool media_type(wharf_str s)
{
    const char *slash = memchr(s.p, '/', s.n);

    return plain_text(s, TYPE_CHARS) && slash && slash > s.p && slash + 1 < s.p + s.n &&
           !memchr(s.p, ' ', s.n);
}

static void attachments_check_one(wharf_req *req, const wharf_json *item, size_t i)
{
    static const char *const known[] = {"name", "mime_type", "size"};
    wharf_str s;
    int64_t size;

    if (W->json->type(item) != WHARF_J_OBJECT) {
        W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "attachments.%zu", i).p,
            "An attachment is an object of name, mime_type and size");
        return;
    }
    if (!W->json->text(W->json->get(item, known[0]), &s) || !plain_text(s, NAME_CHARS))
        W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "attachments.%zu.name", i).p,
            "The name has 1 to 255 bytes, none of them a control character");
    if (!W->json->text(W->json->get(item, known[1]), &s) || !media_type(s))
        W->err->add(req, ERR_VALIDATION_FAILED,
            W->mem->format(req, "attachments.%zu.mime_type", i).p,
            "The mime_type is like image/png");
    if (!W->json->integer(W->json->get(item, known[2]), &size) || size < 1 ||
        size > ATTACHMENT_BYTES)
        W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "attachments.%zu.size", i).p,
            "The size is 1 to %d bytes", ATTACHMENT_BYTES);
}

wharf_status attachments_check(wharf_req *req, const wharf_json *list)
{
    size_t n = 0;

    if (W->json->type(list) != WHARF_J_ARRAY || W->json->count(list) > ATTACHMENTS_MAX)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "attachments",
            "attachments is an array of at most %d", ATTACHMENTS_MAX);
    for (const wharf_json *item = W->json->at(list, 0); item; item = W->json->next(item))
        attachments_check_one(req, item, n++);
    return W->err->current(req);
}

/* ---- writing ---- */

static wharf_status attachments_add_one(wharf_req *req, wharf_str request_id, wharf_str message_id,
    const wharf_json *item, size_t position)
{
    static const char sql[] =
        "INSERT INTO support.attachment (organization_id, id, request_id, message_id, file_id, "
        "position, name, mime_type, size, created_at)"
        " VALUES ($1::text, $2::text, $3::text, NULLIF($4::text, ''), $5::text, $6::integer, "
        "$7::text, $8::text, $9::bigint, $10::timestamptz)";
    wharf_str name = WHARF_S(""), type = WHARF_S(""), file;
    int64_t size = 0;
    wharf_status s;

    W->json->text(W->json->get(item, "name"), &name);
    W->json->text(W->json->get(item, "mime_type"), &type);
    W->json->integer(W->json->get(item, "size"), &size);
    s = support_blob->await(
        req, name, type, size, -1, W->req->now_us(req) + UPLOAD_SECONDS * 1000000LL, &file);
    if (s == WHARF_OK)
        s = support_blob->announce(req, file, "notice");
    if (s != WHARF_OK)
        return s;
    const wharf_val args[] = {val_text(W->req->organization(req)),
        val_text(W->req->new_id(req, "satt")), val_text(request_id), val_text(message_id),
        val_text(file), val_int((int64_t)position), val_text(name), val_text(type), val_int(size),
        val_time(W->req->now_us(req))};

    return W->db->exec(req, sql, args, 10, NULL);
}

wharf_status attachments_add(
    wharf_req *req, wharf_str request_id, wharf_str message_id, const wharf_json *list)
{
    wharf_status s = WHARF_OK;
    size_t i = 0;

    for (const wharf_json *item = list ? W->json->at(list, 0) : NULL; item && s == WHARF_OK;
         item = W->json->next(item))
        s = attachments_add_one(req, request_id, message_id, item, i++);
    return s;
}

static wharf_status attachments_rows_of(
    wharf_req *req, wharf_str request_id, const wharf_rows **ret_rows)
{
    static const char sql[] = "SELECT id, file_id, name, mime_type, size FROM support.attachment "
                              "WHERE organization_id = $2::text AND request_id = $1::text"
                              " ORDER BY created_at, position";

    return query_about(req, sql, request_id, ret_rows);
}

wharf_status attachments_revoke(wharf_req *req, wharf_str request_id)
{
    const wharf_rows *rows;
    wharf_status s = attachments_rows_of(req, request_id, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = support_token->revoke(req, TOKEN_KIND, row_text(rows, i, 0));
    return s;
}

wharf_status attachments_remove(wharf_req *req, wharf_str request_id)
{
    const wharf_rows *rows;
    wharf_status s = attachments_revoke(req, request_id);

    if (s == WHARF_OK)
        s = attachments_rows_of(req, request_id, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        s = support_blob->remove(req, row_text(rows, i, 1));
        s = s == WHARF_NOT_FOUND ? WHARF_OK : s; /* it never came */
    }
    return s;
}

/* ---- showing ---- */

/* Finds the state of an attachment. A file whose upload was never made is gone after its time. */
static wharf_status attachments_state_of(wharf_req *req, wharf_str file, const char **ret_state)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info)};
    wharf_status s = support_blob->info(req, file, &info);

    *ret_state = s == WHARF_NOT_FOUND ? "expired" : info.size < 0 ? "pending" : "uploaded";
    if (s == WHARF_NOT_FOUND)
        W->err->clear(req);
    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

static wharf_val link_or_null(
    wharf_req *req, wharf_str file, uint32_t kind, bool wanted, wharf_status *status)
{
    wharf_str url;

    if (!wanted || *status != WHARF_OK)
        return val_null();
    *status = support_blob->link(req, file, kind, UPLOAD_SECONDS, &url);
    return *status == WHARF_OK ? val_text(url) : val_null();
}

static wharf_status show_one(wharf_req *req, const wharf_rows *rows, size_t i, wharf_out *out)
{
    wharf_str file = row_text(rows, i, 1);
    wharf_val size = val_int(0);
    const char *state = "";
    wharf_status s = attachments_state_of(req, file, &state);

    W->db->value(rows, i, 4, WHARF_V_INT, &size);
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(row_text(rows, i, 0)));
    W->json->put(out, "name", val_text(row_text(rows, i, 2)));
    W->json->put(out, "mime_type", val_text(row_text(rows, i, 3)));
    W->json->put(out, "size", size);
    W->json->put(out, "status", val_text((wharf_str){state, strlen(state)}));
    W->json->put(out, "upload_url", link_or_null(req, file, WHARF_BLOB_PUT, *state == 'p', &s));
    W->json->put(out, "url", link_or_null(req, file, WHARF_BLOB_GET, *state == 'u', &s));
    W->json->close(out);
    return s;
}

wharf_status attachments_show(wharf_req *req, wharf_str request_id, wharf_out *out)
{
    const wharf_rows *rows;
    wharf_status s = attachments_rows_of(req, request_id, &rows);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = show_one(req, rows, i, out);
    W->json->close(out);
    return s;
}

/* ---- links by mail ---- */

wharf_status attachment_download(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT a.file_id FROM support.attachment a JOIN support.request r ON r.organization_id = "
        "a.organization_id"
        " AND r.id = a.request_id"
        " WHERE a.organization_id = $2::text AND a.id = $1::text AND r.deleted_at IS NULL";
    wharf_str token = WHARF_S(""), id;
    const wharf_rows *rows;
    wharf_status s;

    W->req->param(req, "token", &token);
    s = support_token->enter(req, TOKEN_KIND, token, &id);
    if (s != WHARF_OK)
        return s;
    s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    return support_blob->respond(req, row_text(rows, 0, 0), WHARF_S("private, no-store"), true);
}
