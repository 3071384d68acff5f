/* user_module.c - push messages to users (spec 07 section 16.2): what this half of the module
 * declares. */
#include "notifications.h"

void users_declare(wharf_decl *d, const wharf_decl_api *api)
{
}

wharf_status users_start(wharf_plugin *self)
{
    return WHARF_OK;
}

wharf_status user_queue(wharf_req *req, wharf_str user_id, int64_t run_at_us)
{
    return WHARF_OK;
}
