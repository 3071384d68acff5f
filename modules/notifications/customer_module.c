/* customer_module.c - mails to the recipients of shipments (spec 07 section 16.3): what this half
 * of the module declares. */
#include "notifications.h"

void customers_declare(wharf_decl *d, const wharf_decl_api *api)
{
}

wharf_status customers_start(wharf_plugin *self)
{
    return WHARF_OK;
}

wharf_status customer_queue(wharf_req *req, wharf_str contact_id, int64_t run_at_us)
{
    return WHARF_OK;
}
