/* support.c - the module support (spec 01 section 16): what it declares. Rules: support_rules.c;
 * files: attachments.c; the mail: notice.c. */
#include "support.h"

#include "support.gen.h"

const wharf_host *support_host;
const wharf_blob_api *support_blob;
const wharf_mail_api *support_mail;
const wharf_token_api *support_token;
const wharf_config_api *support_config;
wharf_plugin *support_self;

static const wharf_route routes[] = {
    {ROUTE_DOWNLOAD, .handler = attachment_download},
};

static void support_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "support_request", (wharf_str)SUPPORT_REQUEST_DEFINITION,
        SUPPORT_REQUEST_DEFINITION_HASH, &support_hooks);
    ROUTES(api, d, routes);
    api->job(d, "notice", notice_send, NULL,
        WHARF_S("{" WHARF_MAIL_TRIES ", \"transaction\": \"own\"}"));
}

static wharf_status support_start(wharf_plugin *self, wharf_req *req)
{
    support_self = self;
    support_blob = support_host->service(self, "wharf.blob", 1, 1);
    support_mail = support_host->service(self, "wharf.mail", 1, 0);
    support_token = support_host->service(self, "wharf.token", 1, 0);
    support_config = support_host->service(self, "wharf.config", 1, 0);
    return support_blob && support_mail && support_token && support_config ? WHARF_OK
                                                                           : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = support_declare,
        .start = support_start};

    support_host = host;
    return &desc;
}
