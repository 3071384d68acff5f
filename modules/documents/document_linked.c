/* document_linked.c - what resources have of their documents: `_documents`, and links that go with
 * their resource or their document (docs/spec/05-documents-and-templates.md section 5). Leaves
 * what requests of documents do to links to document_links.c. */
#include "documents.h"
#include "documents.gen.h"

enum { SHOWN_MAX = 200 }; /* documents that a row shows */

/* ---- _documents ---- */

/* Tells whether the caller reads documents; leaves no problem behind. */
static bool reads_documents(wharf_req *req)
{
    bool reads = W->req->need_scope(req, "documents:read") == WHARF_OK;

    if (!reads)
        W->err->clear(req);
    return reads;
}

static wharf_status show_documents(
    wharf_req *req, const char *resource, wharf_str id, wharf_out *out)
{
    wharf_out *asked = W->json->builder(req);
    const wharf_rec *const *recs;
    const wharf_json *query;
    size_t n = 0;
    wharf_status s;

    W->json->open(asked, NULL, '{');
    W->json->put(asked, "resource_type", val_text(z(resource)));
    W->json->put(asked, "resource_id", val_text(id));
    W->json->put(asked, "status", val_text(WHARF_S("completed")));
    W->json->put(asked, "limit", val_int(SHOWN_MAX));
    W->json->close(asked);
    s = W->json->result(req, asked, &query);
    if (s == WHARF_OK)
        s = W->res->list(req, "document", query, &recs, &n);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '[');
    W->res->encode_many(req, out, recs, n);
    W->json->close(out);
    return W->err->current(req);
}

static wharf_status documents_embed(
    wharf_req *req, const char *resource, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    bool reads = reads_documents(req);
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        if (reads) {
            s = show_documents(req, resource, ids[i], outs[i]);
            continue;
        }
        W->json->open(outs[i], NULL, '[');
        W->json->close(outs[i]);
    }
    return s;
}

/* ---- rows that go ---- */

static wharf_status remove_links_of(
    wharf_req *req, const wharf_str *resources, size_t n, size_t *ret_links)
{
    const wharf_rows *rows;
    wharf_str *ids;
    size_t links;
    wharf_status s = W->db->lock_many(req, LINKED_LOCK, resources, n);

    if (s == WHARF_OK)
        s = query_about(req, QUERY_LINKS_OF_RESOURCES, val_array(req, resources, n).u.s, &rows);
    *ret_links = links = s == WHARF_OK ? W->db->count(rows) : 0;
    ids = W->mem->alloc(req, (links + 1) * sizeof(*ids));
    for (size_t i = 0; i < links; i++)
        ids[i] = row_text(rows, i, 0);
    return s == WHARF_OK ? links_remove(req, ids, links) : s;
}

static wharf_status linked_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_str id = W->res->id(old_rec);
    size_t links;

    return remove_links_of(req, &id, 1, &links);
}

static wharf_status linked_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    size_t links;
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(old_recs[i]);
    s = remove_links_of(req, ids, n, &links);
    if (s == WHARF_OK && links) /* those of a row that another rule refuses stay */
        documents_many->wrote(req);
    return s;
}

static const wharf_hooks linked_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = linked_check,
    .check_many = linked_check_many,
    .ops = WHARF_DELETE};

/* Removes the links of a document that is removed, also those that the caller does not see. */
static wharf_status unlink_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char find[] = "SELECT id FROM documents.link WHERE organization_id = $2::text"
                               " AND document_id = $1::text ORDER BY id",
                      drop[] = "DELETE FROM documents.link WHERE organization_id = $2::text"
                               " AND document_id = $1::text";
    const wharf_val args[] = {val_text(W->res->id(old_rec)), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    const char **types;
    wharf_str *ids;
    size_t n;
    wharf_status s = W->db->query(req, find, args, 2, &rows);

    n = s == WHARF_OK ? W->db->count(rows) : 0;
    types = W->mem->alloc(req, (n + 1) * sizeof(*types));
    ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    for (size_t i = 0; i < n; i++) {
        types[i] = "document.unlinked";
        ids[i] = row_text(rows, i, 0);
    }
    if (!n)
        return s;
    s = W->event->emit_many(req, "document_link", types, ids, NULL, n);
    return s == WHARF_OK ? W->db->exec(req, drop, args, 2, NULL) : s;
}

static const wharf_hooks unlink_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = unlink_check, .ops = WHARF_DELETE};

void links_declare(wharf_decl *d, const wharf_decl_api *api)
{
    declare_resource(d, api, "document_link", (wharf_str)DOCUMENT_LINK_DEFINITION,
        DOCUMENT_LINK_DEFINITION_HASH, NULL);
    api->hook(d, "document", &documents_links_hooks, 0);
    api->hook(d, "document", &unlink_hooks, 0);
    api->hook(d, "links:documents", &linked_hooks, 0);
    api->embed(d, "include_documents", "_documents", documents_embed);
}
