/* scanner.c - looks at files before they become documents: one that holds EVIL is not wanted
 * (plugin-api/wharf/ext/documents.h). */
#include <string.h>
#include <unistd.h>

#include "scanner.gen.h"
#include "wharf/ext/documents.h"
#include "wharf/plugin.h"

static const wharf_host *scanner_host;

static wharf_status look(wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected)
{
    char text[256] = "";
    ssize_t n = pread(file->fd, text, sizeof(text) - 1, (off_t)file->at);

    if (n > 0 && strstr(text, "EVIL"))
        *ret_rejected = scanner_host->mem->format(req, "%s of %lld bytes (%s) is evil",
            file->filename.p, (long long)file->size, file->type.p);
    return WHARF_OK;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    api->errors(d, (wharf_str)ERRORS);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    const wharf_documents_scan_api *scan = scanner_host->service(self, "documents.scan", 1, 0);

    return scan->on_scan(look) ? WHARF_OK : WHARF_INTERNAL;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    scanner_host = host;
    return &desc;
}
