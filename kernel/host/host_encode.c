/* host_encode.c - rows that plugins put into answers, and which links their resources name; parts
 * of the table of resources, see host_data.c. */
#include "host/host.h"
#include "resource/out.h"
#include "resource/place_sql.h"
#include "resource/write.h"

/* Writes n rows of one resource, with their computed fields. in: as what they are shown, IN_LIST or
 * IN_RETRIEVE. key: NULL in an array. Writes nothing when a computed field failed: the request has
 * the problem then. */
static void host_encode_put_rows(wharf_req *req, wharf_out *out, const char *key,
    const wharf_rec *const *recs, size_t n, uint32_t in)
{
    struct view view = {
        .in = in, .datetime = req->head.datetime_format, .who = &req->access.who->access};
    struct wharf_rec *own = ARENA_ARRAY(req->arena, struct wharf_rec, n + 1);
    struct wharf_rec **list = ARENA_ARRAY(req->arena, struct wharf_rec *, n + 1);

    if (!n)
        return;
    for (size_t i = 0; i < n; i++) {
        own[i] = *recs[i]; /* compute_fields() may change a record; these are const */
        list[i] = &own[i];
    }
    view.writer = req_may_write(&req->access, recs[0]->res);
    if (compute_fields(req, recs[0]->res, list, n, &view) != WHARF_OK)
        return;
    for (size_t i = 0; i < n; i++)
        out_record(out, key, req->arena, list[i], &view);
}

void row_encoded(wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec)
{
    host_encode_put_rows(req, out, key, &rec, 1, IN_RETRIEVE);
}

void rows_encoded(wharf_req *req, wharf_out *out, const wharf_rec *const *recs, size_t n)
{
    host_encode_put_rows(req, out, NULL, recs, n, IN_LIST);
}

bool resource_links(wharf_req *req, wharf_str resource, const char *link)
{
    const struct resource *res = engine_resource(
        req->engine, arena_dup_str(req->arena, resource).p);

    return res && definition_links(res->def, link);
}
