/* wharf/service/config.h - the module's own table of the configuration: service "wharf.config",
 * version 1.2.
 *
 * What stands in `support = { email_to = "..." }` of the file, or came by --set
 * support.email_to=..., WHARF_SUPPORT_EMAIL_TO. Rules of this header: wharf/plugin.h. Functions
 * are [any] unless it says otherwise. */
#ifndef WHARF_SERVICE_CONFIG_H
#define WHARF_SERVICE_CONFIG_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_config_api {
    wharf_head head;
    /* A member of the table as text, a number as it is written, a boolean as "true" or "false".
     * A setting that the operator did not write is the default of `config` in plugin.json, so a
     * default stands nowhere else; false: there is none either, or it is something else. Since 1.1
     * a name with dots is that of a member of a member ("push.driver"), and a number or boolean is
     * taken. */
    bool (*text)(wharf_plugin *self, const char *name, wharf_str *ret_text);
    /* A link for clients: setting base_url and the path ("/v1/..."); only the path when it is
     * not set. Lives as long as req. [worker] */
    wharf_str (*url)(wharf_req *req, wharf_str path);
    /* 1.1: element i of a list, which is written as a table of texts, or as one text with commas
     * (--set stations.push.drivers=fcm,webhook). False: there are no more. The text need not end
     * with a NUL. */
    bool (*item)(wharf_plugin *self, const char *name, size_t i, wharf_str *ret_text);
    /* 1.2: a whole number; 0 when text() has none, so give it a default in plugin.json. */
    int64_t (*integer)(wharf_plugin *self, const char *name);
} wharf_config_api;

#ifdef __cplusplus
}
#endif
#endif
