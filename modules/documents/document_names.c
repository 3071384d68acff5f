/* document_names.c - file names: made clean, made of a name, written into URLs
 * (docs/spec/05-documents-and-templates.md section 1 'filename'). */
#include "documents.h"
#include "wharf/filename.h"

enum { FILENAME_BYTES = 1020 }; /* 255 characters of UTF-8 */

static wharf_str without_reserved(wharf_req *req, wharf_str text)
{
    return wharf_filename_clean(text, W->mem->alloc(req, text.n + 1));
}

wharf_str filename_clean(wharf_req *req, wharf_str sent)
{
    for (size_t i = sent.n; i > 0; i--) {
        if (sent.p[i - 1] == '/' || sent.p[i - 1] == '\\') {
            sent = (wharf_str){sent.p + i, sent.n - i};
            break;
        }
    }
    return without_reserved(req, sent);
}

/* Returns the extension of a type with its dot, "" where none is usual. */
static const char *extension_of(wharf_str type)
{
    static const char *const known[][2] = {{"application/pdf", ".pdf"}, {"image/png", ".png"},
        {"image/jpeg", ".jpg"}, {"image/gif", ".gif"}, {"image/webp", ".webp"},
        {"image/tiff", ".tiff"}, {"image/svg+xml", ".svg"}, {"text/plain", ".txt"},
        {"text/csv", ".csv"}, {"text/html", ".html"}, {"text/markdown", ".md"},
        {"application/json", ".json"}, {"application/xml", ".xml"}, {"text/xml", ".xml"},
        {"application/zip", ".zip"}, {"application/gzip", ".gz"}, {"application/msword", ".doc"},
        {"application/vnd.ms-excel", ".xls"},
        {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"},
        {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"},
        {"application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"},
        {"application/vnd.oasis.opendocument.text", ".odt"},
        {"application/vnd.oasis.opendocument.spreadsheet", ".ods"},
        {"application/vnd.zebra-zpl", ".zpl"}, {"message/rfc822", ".eml"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (is(type, known[i][0]))
            return known[i][1];
    }
    return "";
}

wharf_str filename_of(wharf_req *req, wharf_str name, wharf_str type)
{
    wharf_str base = without_reserved(req, name), extension = z(extension_of(type));

    if (!base.n)
        base = WHARF_S("document");
    if (!extension.n || base.n + extension.n > FILENAME_BYTES ||
        (base.n > extension.n && !memcmp(base.p + base.n - extension.n, extension.p, extension.n)))
        return base;
    return W->mem->format(req, "%s%s", base.p, extension.p);
}

wharf_str path_part(wharf_req *req, wharf_str text)
{
    return wharf_path_part(text, W->mem->alloc(req, 3 * text.n + 1));
}
