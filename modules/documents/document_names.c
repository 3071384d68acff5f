/* document_names.c - file names: made clean, made of a name, written into URLs
 * (docs/spec/05-documents-and-templates.md section 1 'filename'). */
#include "documents.h"

enum { FILENAME_BYTES = 1020 }; /* 255 characters of UTF-8 */

/* Tells whether a file name may not have the character: one of a control, or one that a common
 * file system takes for something else. */
static bool is_reserved(unsigned char c)
{
    return c < ' ' || c == 0x7f || strchr("<>:\"|?*/\\", c);
}

/* Returns the text without reserved characters, without blanks at both ends and dots at the end. */
static wharf_str without_reserved(wharf_req *req, wharf_str text)
{
    wharf_str s = W->mem->dup(req, text.p, text.n);
    char *p = (char *)s.p;
    size_t n = 0, from = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (!is_reserved((unsigned char)p[i]))
            p[n++] = p[i];
    }
    while (n && strchr(" .", p[n - 1]))
        n--;
    while (from < n && p[from] == ' ')
        from++;
    p[n] = 0;
    return (wharf_str){p + from, n - from};
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
    static const char hex[] = "0123456789ABCDEF";
    char *out = W->mem->alloc(req, 3 * text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~", c)) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
    }
    out[n] = 0;
    return (wharf_str){out, n};
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

bool path_means(wharf_str part, wharf_str text)
{
    size_t k = 0;

    for (size_t i = 0; i < part.n; i++, k++) {
        unsigned char c = (unsigned char)part.p[i];

        if (c == '%' && part.n - i > 2 && hex_digit(part.p[i + 1]) >= 0 &&
            hex_digit(part.p[i + 2]) >= 0) {
            c = (unsigned char)(hex_digit(part.p[i + 1]) << 4 | hex_digit(part.p[i + 2]));
            i += 2;
        }
        if (k >= text.n || (unsigned char)text.p[k] != c)
            return false;
    }
    return k == text.n;
}
