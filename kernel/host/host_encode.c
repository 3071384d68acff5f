/* host_encode.c - rows that plugins put into answers, and which links their resources name; parts
 * of the table of resources, see host_data.c. */
#include "host/host.h"
#include "resource/out.h"
#include "resource/place_sql.h"
#include "resource/write.h"

void row_encoded(wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec)
{
    struct view view = {.in = IN_RETRIEVE,
        .datetime = req->head.datetime_format,
        .who = &req->access.who->access,
        .writer = req_may_write(&req->access, rec->res)};
    struct wharf_rec *own = ARENA_NEW(req->arena, struct wharf_rec);

    *own = *rec; /* the cells of computed fields are filled in either */
    if (compute_fields(req, rec->res, &own, 1, &view) != WHARF_OK)
        return;
    out_record(out, key, req->arena, rec, &view);
}

bool resource_links(wharf_req *req, wharf_str resource, const char *link)
{
    const struct resource *res = engine_resource(
        req->engine, arena_dup_str(req->arena, resource).p);

    return res && definition_links(res->def, link);
}

void rows_encoded(wharf_req *req, wharf_out *out, const wharf_rec *const *recs, size_t n)
{
    struct view view = {
        .in = IN_LIST, .datetime = req->head.datetime_format, .who = &req->access.who->access};
    struct wharf_rec *own = ARENA_ARRAY(req->arena, struct wharf_rec, n + 1);
    struct wharf_rec **list = ARENA_ARRAY(req->arena, struct wharf_rec *, n + 1);

    if (!n)
        return;
    for (size_t i = 0; i < n; i++) {
        own[i] = *recs[i]; /* the cells of computed fields are filled in either */
        list[i] = &own[i];
    }
    view.writer = req_may_write(&req->access, recs[0]->res);
    if (compute_fields(req, recs[0]->res, list, n, &view) != WHARF_OK)
        return;
    for (size_t i = 0; i < n; i++)
        out_record(out, NULL, req->arena, list[i], &view);
}
