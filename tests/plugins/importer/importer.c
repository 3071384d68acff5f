/* importer.c - a plugin that reads files by the service wharf.import and answers what came of
 * them. For tests/api. */
#include <fcntl.h>
#include <unistd.h>

#include "wharf/plugin.h"
#include "wharf/service/import.h"

#include "importer.gen.h"

static const wharf_host *host;
static const wharf_import_api *import;

static void put_text(wharf_out *out, const char *key, wharf_str s)
{
    host->json->put(out, key, (wharf_val){.type = WHARF_V_TEXT, .u = {.s = s}});
}

static wharf_status put_row(wharf_req *req, wharf_import *in, wharf_out *out)
{
    wharf_str code, path, message;
    const wharf_json *object;

    if (import->object(req, in, &object) != WHARF_OK)
        return host->err->fail(req, "importer.problem", NULL, "no object");
    host->json->open(out, NULL, '{');
    host->json->put(
        out, "row", (wharf_val){.type = WHARF_V_INT, .u = {.i = (int64_t)import->row(in)}});
    host->json->put(out, "object", (wharf_val){.type = WHARF_V_JSON, .u = {.j = object}});
    put_text(out, "first", import->cell(in, 0));
    if (import->row_error(in, 0, &code, &path, &message))
        put_text(out, "error", code);
    host->json->close(out);
    return WHARF_OK;
}

static wharf_status put_rows(
    wharf_req *req, wharf_import *in, wharf_out *out, wharf_str *ret_code, wharf_str *ret_message)
{
    uint32_t event;

    *ret_code = *ret_message = WHARF_S("");
    host->json->open(out, "rows", '[');
    while ((event = import->next(in)) == WHARF_IMPORT_ROW)
        if (put_row(req, in, out) != WHARF_OK)
            return WHARF_INVALID;
    host->json->close(out);
    if (event == WHARF_IMPORT_FAILED && !import->problem(in, ret_code, ret_message))
        return host->err->fail(req, "importer.problem", NULL, "failed without a problem");
    return WHARF_OK;
}

/* {"path": of a file, or "text", "options"} */
static wharf_status read_file(wharf_req *req, void *arg)
{
    wharf_str path, text = {"", 0}, code, message, header;
    const wharf_json *body;
    wharf_import *in;
    wharf_out *out;
    wharf_status s;
    int fd = -1;

    if (host->req->body(req, &body) != WHARF_OK)
        return WHARF_INVALID;
    if (host->json->get(body, "path") && host->json->text(host->json->get(body, "path"), &path))
        fd = open(path.p, O_RDONLY | O_CLOEXEC);
    else
        host->json->text(host->json->get(body, "text"), &text);
    in = import->open(req, "pallet", fd, text, host->json->get(body, "options"));
    out = host->req->respond(req, 200, "Read");
    host->json->open(out, NULL, '{');
    s = put_rows(req, in, out, &code, &message);
    put_text(out, "problem", code);
    put_text(out, "message", message);
    put_text(out, "format", import->info(in, "format"));
    put_text(out, "encoding", import->info(in, "encoding"));
    put_text(out, "delimiter", import->info(in, "delimiter"));
    put_text(out, "sheet", import->info(in, "sheet"));
    put_text(out, "warning", import->warning(in, 0, &code, &message) ? code : WHARF_S(""));
    put_text(out, "column", import->column(in, 0, &header, &path) ? path : WHARF_S(""));
    host->json->close(out);
    import->close(in);
    if (fd >= 0)
        close(fd);
    return s;
}

static const wharf_route routes[] = {
    {ROUTE_READ, .handler = read_file},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource pallet = {.head = WHARF_HEAD(wharf_resource),
        .name = "pallet",
        .definition = PALLET_DEFINITION,
        .definition_hash = PALLET_DEFINITION_HASH};

    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &pallet);
    ROUTES(api, d, routes);
    import = host->service(self, "wharf.import", 1, 0);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
