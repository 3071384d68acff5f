/* document_damage.c - stored bytes that are damaged or lost, as wharf.blob finds them: noted in
 * the document, and told (docs/spec/05-documents-and-templates.md section 6.1). */
#include "documents.h"
#include "documents.gen.h"

const char document_damage_kind[] = "documents.damage";

void damage_settle(wharf_rec *rec, const struct damage *damage)
{
    wharf_str now = field_text(rec, DOCUMENT_FAILURE_REASON);

    if (!same(field_text(rec, DOCUMENT_FILE_ID), damage->file))
        return;
    if (damage->reason)
        W->res->set(rec, DOCUMENT_FAILURE_REASON, val_text(z(damage->reason)));
    else if (is(now, "damaged") || is(now, "missing"))
        W->res->set(rec, DOCUMENT_FAILURE_REASON, val_null());
}

static wharf_status tell_damage(
    wharf_req *req, wharf_str document, int64_t version, const char *reason)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "damage", val_text(z(reason)));
    W->json->put(out, "damaged_version", val_int(version));
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK ? W->event->emit(req, "document.damaged", "document", document, extra) : s;
}

wharf_status document_damaged(wharf_req *req, wharf_str file, uint32_t state)
{
    static const char sql[] =
        "SELECT v.document_id, v.number FROM documents.version v JOIN documents.document d ON "
        "d.organization_id = v.organization_id AND d.id = v.document_id AND d.deleted_at IS NULL "
        "WHERE v.organization_id = $2::text AND v.file_id = $1::text";
    struct damage damage = {.file = file,
        .reason = state == WHARF_BLOB_LOST      ? "missing"
                  : state == WHARF_BLOB_DAMAGED ? "damaged"
                                                : NULL};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "document",
        .op = WHARF_UPDATE,
        .kind = document_damage_kind,
        .context = &damage};
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, file, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    w.id = row_text(rows, 0, 0);
    s = W->json->parse(req, WHARF_S("{}"), &w.body);
    if (s == WHARF_OK)
        s = W->res->write(req, &w);
    if (s == WHARF_NOT_FOUND) { /* it was deleted a moment ago */
        W->err->clear(req);
        return WHARF_OK;
    }
    return s == WHARF_OK && damage.reason
               ? tell_damage(req, w.id, row_int(rows, 0, 1), damage.reason)
               : s;
}
