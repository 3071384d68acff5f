/* location_directory.c - the service locations.directory (spec 02 section 2). */
#include "location_address.h"
#include "locations.gen.h"

static wharf_status flags(wharf_req *req, wharf_str location_id, uint32_t *ret_flags)
{
    return place_flags(req, NULL, location_id, ret_flags);
}

static wharf_status location_directory_in_use(
    wharf_req *req, wharf_str location_id, const char *kind, const char *sql)
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
    address_take, location_directory_in_use, address_in, address_remember};
