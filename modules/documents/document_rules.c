/* document_rules.c - the rules of documents (docs/spec/05-documents-and-templates.md sections 1, 2
 * and 4): names, what is announced and what is stored, the rows of versions. Leaves the bytes to
 * document_content.c. */
#include "documents.h"
#include "documents.gen.h"

enum { NAME_CHARS = 128 };
static const char stored_kind[] = "documents.stored";

/* ---- normalize ---- */

/* Returns at most so many characters of a text. */
static wharf_str cut_text(wharf_req *req, wharf_str s, size_t most)
{
    size_t i = 0, chars = 0;

    while (i < s.n && chars < most) {
        for (i++; i < s.n && ((unsigned char)s.p[i] & 0xc0) == 0x80;)
            i++;
        chars++;
    }
    return W->mem->dup(req, s.p, i);
}

static wharf_status document_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *name = W->res->member(new_rec, "name"),
                     *filename = W->res->member(new_rec, "filename");
    wharf_str s;

    if (op != WHARF_CREATE || !filename || !W->json->text(filename, &s))
        return WHARF_OK;
    s = filename_clean(req, s);
    if (json_is_null(name) && s.n)
        W->res->set(new_rec, DOCUMENT_NAME, val_text(cut_text(req, s, NAME_CHARS)));
    if (s.n)
        W->res->set(new_rec, DOCUMENT_FILENAME, val_text(s));
    else
        W->res->drop(new_rec, "filename");
    return WHARF_OK;
}

/* ---- check ---- */

/* Keeps keys and values of the metadata in one text, for search. */
static void settle_words(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *metadata = field_json(rec, DOCUMENT_METADATA), *m;
    wharf_str words = WHARF_S("");

    for (m = metadata ? W->json->at(metadata, 0) : NULL; m; m = W->json->next(m)) {
        wharf_str value = WHARF_S("");

        W->json->text(m, &value);
        words = W->mem->format(
            req, "%s%s%s %s", words.p, words.n ? "\n" : "", W->json->key(m).p, value.p);
    }
    W->res->set(rec, DOCUMENT_METADATA_TEXT, val_text_or_null(words));
}

/* Notes in the row what was stored. */
static void note_stored(wharf_rec *rec, const struct stored *got)
{
    W->res->set(rec, DOCUMENT_FILE_ID, val_text(got->file));
    W->res->set(rec, DOCUMENT_MIME_TYPE, val_text(got->type));
    W->res->set(rec, DOCUMENT_SIZE, val_int(got->size));
    W->res->set(rec, DOCUMENT_CHECKSUM_MD5, val_text(got->md5));
    W->res->set(rec, DOCUMENT_CHECKSUM_SHA256, val_text(got->sha256));
    W->res->set(rec, DOCUMENT_STATUS, val_text(WHARF_S("completed")));
}

static wharf_status check_create(wharf_req *req, wharf_rec *rec)
{
    struct stored *got = W->res->scratch(rec, stored_kind, sizeof(*got));
    const struct stored wanted = {.type = field_text(rec, DOCUMENT_MIME_TYPE),
        .md5 = field_text(rec, DOCUMENT_CHECKSUM_MD5),
        .sha256 = field_text(rec, DOCUMENT_CHECKSUM_SHA256),
        .size = field_int(rec, DOCUMENT_SIZE)};
    wharf_status s;

    if (!W->res->sent(rec, DOCUMENT_CONTENT))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "content", "Send the content");
    s = content_store(req, rec, &wanted, got);
    if (s != WHARF_OK)
        return s;
    note_stored(rec, got);
    W->res->set(rec, DOCUMENT_FILENAME, val_text(got->filename));
    W->res->set(rec, DOCUMENT_VERSION, val_int(1));
    W->res->set(rec, DOCUMENT_VERSIONS_COUNT, val_int(1));
    return WHARF_OK;
}

static wharf_status document_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    if (op == WHARF_CREATE || W->res->changed(old_rec, new_rec, DOCUMENT_METADATA))
        settle_words(req, new_rec);
    return op == WHARF_CREATE ? check_create(req, new_rec) : WHARF_OK;
}

/* ---- written ---- */

static wharf_status add_version(wharf_req *req, const wharf_rec *rec, const struct stored *got)
{
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(W->res->id(rec)),
        val_int(field_int(rec, DOCUMENT_VERSION)), val_text(got->file), val_text(got->type),
        val_int(got->size), val_text(got->md5), val_text(got->sha256),
        val_time(W->req->now_us(req)), val_text_or_null(W->req->actor(req))};

    return W->db->exec(req, QUERY_VERSION_ADD, args, sizeof(args) / sizeof(args[0]), NULL);
}

static wharf_status document_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const struct stored *got = W->res->scratch(new_rec, stored_kind, sizeof(*got));
    wharf_status s = got->file.p && got->file.n ? add_version(req, new_rec, got) : WHARF_OK;

    if (s == WHARF_OK)
        W->res->row_kept(new_rec);
    return s;
}

const wharf_hooks documents_document_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = document_normalize,
    .check = document_check,
    .written = document_written,
    .compute = document_compute,
    .ops = WHARF_CREATE | WHARF_UPDATE};
