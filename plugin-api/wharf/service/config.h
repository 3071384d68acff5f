/* wharf/service/config.h - the module's own table of the configuration: service "wharf.config", version 1.0.
 *
 * What stands in `support = { email_to = "..." }` of the file, or came by --set support.email_to=..., WHARF_SUPPORT_EMAIL_TO. Rules of this
 * header: wharf/plugin.h. Functions are [any] unless it says otherwise.
 */
#ifndef WHARF_SERVICE_CONFIG_H
#define WHARF_SERVICE_CONFIG_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_config_api {
    wharf_head head;
    /* A member of the table as text; false: it is not there, or is no text. */
    bool (*text)(wharf_plugin *self, const char *name, wharf_str *ret_text);
    /* A link for clients: setting base_url and the path ("/v1/..."); only the path when it is not set. Lives as long as req. [worker] */
    wharf_str (*url)(wharf_req *req, wharf_str path);
} wharf_config_api;

#ifdef __cplusplus
}
#endif
#endif
