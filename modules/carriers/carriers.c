/* carriers.c - the module carriers: what it declares, and its tables at start
 * (docs/spec/03-shipments-and-trackers.md sections 8 to 11). */
#include <stdio.h>
#include <stdlib.h>

#include "carriers.h"
#include "carriers.gen.h"

enum { FILE_MAX = 4 * 1024 * 1024 }; /* bytes of the operator's file */

const wharf_host *W;
const wharf_org_directory_api *carriers_org;
const wharf_config_api *carriers_config;
static struct table operators_table; /* of the operator's file */

/* ---- settings of organizations: refused when they are written, not when they are used ---- */

static wharf_status settings_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *settings = W->res->member(new_rec, "settings");
    const wharf_json *providers = settings ? W->json->get(settings, "providers") : NULL;
    const wharf_json *custom = providers ? W->json->get(providers, "custom") : NULL;
    struct memory m = {.req = req};
    const char *path, *problem;
    struct table t;

    if (!custom || W->json->type(custom) != WHARF_J_ARRAY ||
        W->json->count(custom) > CUSTOM_PROVIDERS ||
        table_read_custom(&m, custom, &carriers_table, &t, &path, &problem))
        return WHARF_OK;
    path = W->mem->format(req, "settings.providers.custom.%s", path).p;
    return W->err->fail(req, ERR_VALIDATION_FAILED, path, "%s %s", path, problem);
}

/* ---- start ---- */

static wharf_status carriers_tell(
    wharf_plugin *self, wharf_req *req, const char *file, const char *path, const char *problem)
{
    W->log->write(self, req, WHARF_LOG_ERROR, "carriers.file", "file=%s at=%s problem=\"%s\"", file,
        path, problem);
    return W->err->fail(
        req, ERR_VALIDATION_FAILED, NULL, "%s%s%s %s", file, *path ? ": " : "", path, problem);
}

static wharf_status carriers_read_file(
    wharf_req *req, const char *name, wharf_str *ret, const char **ret_problem)
{
    FILE *f = fopen(name, "re");
    char *text;
    size_t n;

    *ret_problem = "can not be read";
    if (!f)
        return WHARF_INVALID;
    text = W->mem->alloc(req, FILE_MAX + 1);
    n = fread(text, 1, FILE_MAX + 1, f);
    fclose(f);
    *ret_problem = "has more than 4 MiB";
    if (n > FILE_MAX)
        return WHARF_INVALID;
    *ret = (wharf_str){text, n};
    return WHARF_OK;
}

static wharf_status read_operators(wharf_plugin *self, wharf_req *req, wharf_str name)
{
    struct memory m = {req, self};
    const char *path = "", *problem = "is not JSON";
    const wharf_json *json;
    wharf_str text;

    if (carriers_read_file(req, name.p, &text, &problem) != WHARF_OK)
        return carriers_tell(self, req, name.p, path, problem);
    problem = "is not JSON";
    if (W->json->parse(req, text, &json) != WHARF_OK)
        return carriers_tell(self, req, name.p, path, problem);
    operators_table = carriers_table;
    if (!table_read(&m, json, &operators_table, &carriers_table, &path, &problem))
        return carriers_tell(self, req, name.p, path, problem);
    return WHARF_OK;
}

static bool good_prefix(wharf_str s)
{
    return s.n >= 2 && s.n <= 16 && strspn(s.p, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == s.n;
}

static wharf_status carriers_start(wharf_plugin *self, wharf_req *req)
{
    struct memory m = {req, self};
    const char *path = "", *problem = "is not JSON";
    const wharf_json *json;
    wharf_str file, prefix;

    carriers_org = W->service(self, "org.directory", 1, 1);
    carriers_config = W->service(self, "wharf.config", 1, 2);
    if (W->json->parse(req, (wharf_str)EMBEDDED, &json) != WHARF_OK ||
        !table_read(&m, json, NULL, &carriers_table, &path, &problem))
        return carriers_tell(self, req, "schemas/carriers.json", path, problem);
    if (carriers_config && carriers_config->text(self, "tracking_prefix", &prefix)) {
        if (!good_prefix(prefix))
            return carriers_tell(self, req, "configuration", "carriers.tracking_prefix",
                "must have 2 to 16 of 0-9 and A-Z");
        carriers_prefix = prefix;
    }
    return carriers_config && carriers_config->text(self, "file", &file)
               ? read_operators(self, req, file)
               : WHARF_OK;
}

static const wharf_route routes[] = {
    {ROUTE_DETECT, .handler = providers_detect},
    {ROUTE_LIST, .handler = providers_list},
};

static void carriers_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const wharf_hooks organization = {
        .head = WHARF_HEAD(wharf_hooks), .normalize = settings_normalize};

    api->errors(d, (wharf_str)ERRORS);
    ROUTES(api, d, routes);
    api->hook(d, "organization", &organization, 0);
    api->provide(d, "carriers.detect", 1, 1, &detect_service);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = carriers_declare,
        .start = carriers_start};

    W = host;
    return &desc;
}
