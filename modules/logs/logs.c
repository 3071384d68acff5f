/* logs.c - the module logs: change log and request log as resources (spec 01 section 13), and
 * the check of the seal.
 *
 * Reading needs no code. Leaves to others: writing and sealing the rows, which is the kernel's. */
#include "wharf/service/logs.h"
#include "wharf/inline.h"

#include "logs.gen.h"

static const wharf_host *host;
static const wharf_logs_api *logs;

static wharf_status logs_verify(wharf_req *req, void *arg)
{
    wharf_logs_report r = {.head = WHARF_HEAD(wharf_logs_report)};
    wharf_status s = logs->verify(req, "log", &r);
    wharf_out *out;

    if (s != WHARF_OK)
        return s;
    out = host->req->respond(
        req, 200, r.valid ? "The change log is as it was sealed" : "The change log was altered");
    host->json->open(out, NULL, '{');
    host->json->put(out, "valid", val_bool(r.valid));
    host->json->put(out, "checked", val_int(r.checked));
    host->json->put(out, "first_bad_id", val_text_or_null(r.first_bad_id));
    host->json->put(out, "head_hash", val_text_or_null(r.head_hash));
    host->json->close(out);
    return WHARF_OK;
}

static const wharf_route routes[] = {
    {ROUTE_VERIFY, .handler = logs_verify},
};

static void logs_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "log", (wharf_str)LOG_DEFINITION, LOG_DEFINITION_HASH, NULL);
    declare_resource(d, api, "request_log", (wharf_str)REQUEST_LOG_DEFINITION,
        REQUEST_LOG_DEFINITION_HASH, NULL);
    ROUTES(api, d, routes);
}

static wharf_status logs_start(wharf_plugin *self, wharf_req *req)
{
    logs = host->service(self, "wharf.logs", 1, 0);
    return logs ? WHARF_OK : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = logs_declare,
        .start = logs_start};

    host = given;
    return &desc;
}
