/* document_rules.c - the rules of documents (docs/spec/05-documents-and-templates.md sections 1, 2
 * and 4): names, what is announced and what is stored, the rows of versions. Leaves the bytes to
 * document_content.c. */
#include "documents.h"
#include "documents.gen.h"

enum { NAME_CHARS = 128 };
static const char stored_kind[] = "documents.stored";
const char document_arrived_kind[] = "documents.arrived";

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

    if (op == WHARF_CREATE && check_creates(req) != WHARF_OK)
        return WHARF_LIMIT;
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
        wharf_str value;

        if (!W->json->text(m, &value)) {
            wharf_out *out = W->json->writer(req);

            W->json->put(out, NULL, val_json(m));
            value = W->json->result_text(out);
        }
        words = W->mem->format(
            req, "%s%s%s %s", words.p, words.n ? "\n" : "", W->json->key(m).p, value.p);
    }
    W->res->set(rec, DOCUMENT_METADATA_TEXT, val_text_or_null(words));
}

/* Returns a measure with four decimals; 0 is not known. */
static wharf_val document_rules_measure(double value)
{
    return value > 0 ? val_decimal((int64_t)(value * 10000 + 0.5), 4) : val_null();
}

/* Notes in the row what was stored. */
static void note_stored(wharf_rec *rec, const struct stored *got)
{
    int64_t count = field_int(rec, DOCUMENT_VERSIONS_COUNT),
            number = count ? field_int(rec, DOCUMENT_VERSION) + 1 : 1;

    W->res->set(rec, DOCUMENT_FILE_ID, val_text(got->file));
    W->res->set(rec, DOCUMENT_MIME_TYPE, val_text(got->type));
    W->res->set(rec, DOCUMENT_SIZE, val_int(got->size));
    W->res->set(rec, DOCUMENT_CHECKSUM_MD5, val_text_or_null(got->md5));
    W->res->set(rec, DOCUMENT_CHECKSUM_SHA256, val_text(got->sha256));
    W->res->set(rec, DOCUMENT_PAGES, got->pages ? val_int(got->pages) : val_null());
    W->res->set(rec, DOCUMENT_WIDTH, document_rules_measure(got->width));
    W->res->set(rec, DOCUMENT_HEIGHT, document_rules_measure(got->height));
    W->res->set(rec, DOCUMENT_STATUS, val_text(WHARF_S("completed")));
    W->res->set(rec, DOCUMENT_CONTENT_WORDS, val_null()); /* of the bytes before */
    W->res->set(rec, DOCUMENT_FAILURE_REASON, val_null());
    W->res->set(rec, DOCUMENT_VERSION, val_int(number));
    W->res->set(
        rec, DOCUMENT_VERSIONS_COUNT, val_int(count < VERSIONS_MAX ? count + 1 : VERSIONS_MAX));
}

/* Notes the oldest document with the same bytes that the caller may see, for the answer. own: the
 * document that is written, empty on create. */
static wharf_status note_duplicate(wharf_req *req, wharf_str own, wharf_str sha256)
{
    wharf_out *asked = W->json->builder(req);
    const wharf_rec *const *recs;
    const wharf_json *query;
    size_t n = 0;
    wharf_status s;

    W->json->open(asked, NULL, '{');
    W->json->put(asked, "checksum_sha256", val_text(sha256));
    W->json->put(asked, "status", val_text(WHARF_S("completed")));
    W->json->put(asked, "order_by", val_text(WHARF_S("created_at")));
    W->json->put(asked, "direction", val_text(WHARF_S("asc")));
    W->json->put(asked, "limit", val_int(2)); /* one of them may be itself */
    W->json->close(asked);
    s = W->json->result(req, asked, &query);
    if (s == WHARF_OK)
        s = W->res->list(req, "document", query, &recs, &n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (same(W->res->id(recs[i]), own))
            continue;
        document_made(req)->duplicate = W->res->id(recs[i]);
        break;
    }
    return s;
}

/* Stores content of the request as the next version. */
static wharf_status take_content(
    wharf_req *req, wharf_rec *rec, wharf_str own, const struct stored *wanted)
{
    struct stored *got = W->res->scratch(rec, stored_kind, sizeof(*got));
    wharf_status s = hold_check_version(req, rec);

    if (s == WHARF_OK)
        s = content_store(req, rec, own, wanted, got);

    if (s == WHARF_OK)
        s = note_duplicate(req, own, got->sha256);
    if (s == WHARF_OK)
        s = upload_cancel(req, rec);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, DOCUMENT_FILENAME, val_text(got->filename));
    note_stored(rec, got);
    return WHARF_OK;
}

static wharf_status document_check_create(wharf_req *req, wharf_rec *rec)
{
    const struct stored wanted = {.type = field_text(rec, DOCUMENT_MIME_TYPE),
        .md5 = field_text(rec, DOCUMENT_CHECKSUM_MD5),
        .sha256 = field_text(rec, DOCUMENT_CHECKSUM_SHA256),
        .size = field_int(rec, DOCUMENT_SIZE)};

    W->res->set(rec, DOCUMENT_VERSION, val_int(1));
    W->res->set(rec, DOCUMENT_VERSIONS_COUNT, val_int(0));
    if (W->res->sent(rec, DOCUMENT_CONTENT))
        return take_content(req, rec, WHARF_S(""), &wanted);
    if (!wanted.type.n)
        W->res->set(rec, DOCUMENT_MIME_TYPE, val_text(WHARF_S("application/octet-stream")));
    if (!field_text(rec, DOCUMENT_FILENAME).n)
        W->res->set(rec, DOCUMENT_FILENAME,
            val_text(filename_of(req, field_text(rec, DOCUMENT_NAME), wanted.type)));
    return upload_request(req, rec);
}

/* Takes over a file that came, or notes why not: a document that has bytes keeps them. */
static wharf_status take_arrived(wharf_req *req, wharf_rec *rec, struct arrived *arrived)
{
    struct stored *got = W->res->scratch(rec, stored_kind, sizeof(*got));
    wharf_status s;

    arrived->late = !same(field_text(rec, DOCUMENT_UPLOAD_ID), arrived->stored.file);
    if (arrived->late)
        return WHARF_OK;
    s = hold_check_version(req, rec);
    if (s == WHARF_OK && !arrived->reason)
        s = upload_look(req, rec, &arrived->stored, &arrived->reason);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, DOCUMENT_UPLOAD_ID, val_null());
    W->res->set(rec, DOCUMENT_UPLOAD_EXPIRES_AT, val_null());
    W->res->set(rec, DOCUMENT_REQUESTED_AT, val_null());
    if (!arrived->reason) {
        *got = arrived->stored;
        note_stored(rec, got);
    } else if (!field_int(rec, DOCUMENT_VERSIONS_COUNT)) {
        W->res->set(rec, DOCUMENT_STATUS, val_text(WHARF_S("failed")));
        W->res->set(rec, DOCUMENT_FAILURE_REASON, val_text(z(arrived->reason)));
    }
    return WHARF_OK;
}

/* Writes that the bytes did not come in time, unless that is settled already. */
static wharf_status document_settle_overdue(wharf_req *req, wharf_rec *rec)
{
    int64_t requested = field_int(rec, DOCUMENT_REQUESTED_AT);
    wharf_status s;

    if (!is(field_text(rec, DOCUMENT_STATUS), "requested") ||
        requested > W->req->now_us(req) - REQUEST_S * SECOND_US)
        return WHARF_OK;
    s = upload_cancel(req, rec);
    W->res->set(rec, DOCUMENT_STATUS, val_text(WHARF_S("expired")));
    W->res->set(rec, DOCUMENT_REQUESTED_AT, val_time(requested));
    return s;
}

/* Keeps the name of a public document in paths, and of no other one. */
static wharf_status settle_public(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    bool was = old_rec && is(field_text(old_rec, DOCUMENT_VISIBILITY), "public"),
         is_now = rec && is(field_text(rec, DOCUMENT_VISIBILITY), "public");
    wharf_str id = W->res->id(rec ? rec : old_rec);

    if (was == is_now)
        return WHARF_OK;
    return is_now ? documents_token->name(req, PUBLIC_NAMES, id, id)
                  : documents_token->revoke(req, PUBLIC_NAMES, id);
}

static wharf_status document_check_update(wharf_req *req, wharf_rec *rec)
{
    static const struct stored any = {.type = {"", 0}, .md5 = {"", 0}, .sha256 = {"", 0}};
    struct arrived *arrived = W->res->context(rec, document_arrived_kind);
    const struct damage *damage = W->res->context(rec, document_damage_kind);
    bool content = W->res->sent(rec, DOCUMENT_CONTENT),
         renew = field_int(rec, DOCUMENT_RENEW_UPLOAD) != 0;

    if (arrived)
        return take_arrived(req, rec, arrived);
    if (damage) {
        damage_settle(rec, damage);
        return WHARF_OK;
    }
    if (W->res->context(rec, document_overdue_kind))
        return document_settle_overdue(req, rec);
    if (content && renew)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "renew_upload",
            "Send content, or renew_upload: true, not both");
    if (content)
        return take_content(req, rec, W->res->id(rec), &any);
    if (!renew)
        return WHARF_OK;
    return hold_check_version(req, rec) == WHARF_OK ? upload_request(req, rec) : WHARF_CONFLICT;
}

static wharf_status document_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    *document_made(req) = (struct made){.first = false};
    if (op == WHARF_DELETE)
        return hold_check_delete(req, old_rec);
    if ((op == WHARF_CREATE || W->res->changed(old_rec, new_rec, DOCUMENT_CATEGORY)) &&
        check_category(req, field_text(new_rec, DOCUMENT_CATEGORY)) != WHARF_OK)
        return WHARF_INVALID;
    if (op == WHARF_CREATE || W->res->changed(old_rec, new_rec, DOCUMENT_METADATA))
        settle_words(req, new_rec);
    return op == WHARF_CREATE ? document_check_create(req, new_rec)
                              : document_check_update(req, new_rec);
}

/* ---- written ---- */

static wharf_status add_version(wharf_req *req, const wharf_rec *rec, const struct stored *got)
{
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(W->res->id(rec)),
        val_int(field_int(rec, DOCUMENT_VERSION)), val_text(got->file), val_text(got->type),
        val_int(got->size), val_text_or_null(got->md5), val_text(got->sha256),
        got->pages ? val_int(got->pages) : val_null(), document_rules_measure(got->width),
        document_rules_measure(got->height), val_time(W->req->now_us(req)),
        val_text_or_null(W->req->actor(req))};

    return W->db->exec(req, QUERY_VERSION_ADD, args, sizeof(args) / sizeof(args[0]), NULL);
}

/* Drops the oldest version when there are too many, with its file. */
static wharf_status drop_oldest(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] = QUERY_VERSION_DROP;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(W->res->id(rec)),
        val_int(field_int(rec, DOCUMENT_VERSION) - VERSIONS_MAX)};
    const wharf_rows *rows;
    wharf_status s;

    if (field_int(rec, DOCUMENT_VERSION) <= VERSIONS_MAX)
        return WHARF_OK;
    s = previews_drop(req, W->res->id(rec), field_int(rec, DOCUMENT_VERSION) - VERSIONS_MAX);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        s = documents_blob->remove(req, row_text(rows, i, 0));
        s = s == WHARF_NOT_FOUND ? WHARF_OK : s;
    }
    return s;
}

static wharf_status document_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const struct stored *got;
    wharf_status s = settle_public(req, old_rec, op == WHARF_DELETE ? NULL : new_rec);

    if (s != WHARF_OK || op == WHARF_DELETE)
        return s == WHARF_OK ? files_close(req, old_rec) : s;
    document_made(req)->id = W->res->id(new_rec);
    got = W->res->scratch(new_rec, stored_kind, sizeof(*got));
    if (got->file.p && got->file.n) {
        s = add_version(req, new_rec, got);
        if (s == WHARF_OK)
            s = drop_oldest(req, new_rec);
        if (s == WHARF_OK && op == WHARF_UPDATE)
            s = W->event->emit(req, "document.uploaded", "document", W->res->id(new_rec), NULL);
        if (s != WHARF_OK)
            return s;
    }
    W->res->row_kept(new_rec);
    return WHARF_OK;
}

const wharf_hooks documents_document_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = document_normalize,
    .check = document_check,
    .written = document_written,
    .restrict_rows = document_rows,
    .compute = document_compute};
