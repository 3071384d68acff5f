/* location_directory.c - the service locations.directory (spec 02 section 2). */
#include "location_address.h"
#include "locations.gen.h"

static wharf_status flags(wharf_req *req, wharf_str location_id, uint32_t *ret_flags)
{
    static const char sql[] =
        "SELECT active, coalesce((settings #>> '{cloud_printing,enabled}')::boolean, true),"
        " coalesce((settings #>> '{layouts,locked}')::boolean, false)"
        " FROM locations.location WHERE organization_id = $2::text AND id = $1::text AND "
        "deleted_at IS NULL";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, location_id, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_flags = 0;
    if (W->db->count(rows))
        *ret_flags = WHARF_LOCATION_KNOWN | (row_bool(rows, 0, 0) ? WHARF_LOCATION_ACTIVE : 0u) |
                     (row_bool(rows, 0, 1) ? WHARF_LOCATION_CLOUD_PRINTING : 0u) |
                     (row_bool(rows, 0, 2) ? WHARF_LOCATION_LOCKED : 0u);
    return WHARF_OK;
}

static wharf_status in_use(wharf_req *req, wharf_str location_id, const char *kind, const char *sql)
{
    const wharf_val args[2] = {val_text(location_id), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s;

    if (param_truth(req, "force"))
        return WHARF_OK;
    s = W->db->query(req, sql, args, 2, &rows);
    return s == WHARF_OK && W->db->count(rows) ? W->err->fail(req, ERR_LOCATION_IN_USE, kind, NULL)
                                               : s;
}

const wharf_locations_directory_api directory = {WHARF_HEAD(wharf_locations_directory_api), flags,
    address_take, in_use, address_in, address_remember};
