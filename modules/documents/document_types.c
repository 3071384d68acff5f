/* document_types.c - what bytes look like, and which types that fits
 * (docs/spec/05-documents-and-templates.md section 2 'Verification'). Leaves PDF, images and text
 * to the server's own look (wharf.render). */
#include "documents.h"

/* Kinds of containers that many formats share: what is inside of them is not looked at. */
#define SEEN_ZIP  "application/zip"
#define SEEN_OLE  "application/x-ole-storage"
#define SEEN_GZIP "application/gzip"

static bool document_types_begins(wharf_str s, const char *with)
{
    size_t n = strlen(with);

    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static bool document_types_ends(wharf_str s, const char *with)
{
    size_t n = strlen(with);

    return s.n >= n && memcmp(s.p + s.n - n, with, n) == 0;
}

/* Tells whether it may be text that is not UTF-8: UTF-16 with its mark, or bytes of which none is
 * a control character. */
static bool is_other_text(const unsigned char *p, size_t n)
{
    if (n > 1 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < ' ' && (!p[i] || !strchr("\t\n\r\f", p[i])))
            return false;
    }
    return n > 0;
}

wharf_str type_seen(const void *p, size_t n, bool all)
{
    static const struct {
        const char *begins;
        size_t n;
        const char *type;
    } signs[] = {{"PK\3\4", 4, SEEN_ZIP}, {"PK\5\6", 4, SEEN_ZIP},
        {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, SEEN_OLE}, {"\x1f\x8b\x08", 3, SEEN_GZIP}};
    wharf_str seen;

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (n >= signs[i].n && memcmp(p, signs[i].begins, signs[i].n) == 0)
            return z(signs[i].type);
    }
    seen = documents_render->sniff(p, n, all);
    return seen.n || !is_other_text(p, n) ? seen : WHARF_S("text/plain");
}

/* Tells whether the type is one of texts: what a person reads in an editor. */
static bool is_text_type(wharf_str said)
{
    static const char *const others[] = {"application/json", "application/xml",
        "application/javascript", "application/ecmascript", "application/x-javascript",
        "application/csv", "application/sql", "application/rtf", "application/yaml",
        "application/x-yaml", "application/x-ndjson", "application/x-sh",
        "application/x-www-form-urlencoded", "message/rfc822"};
    const size_t n = sizeof(others) / sizeof(others[0]);

    return document_types_begins(said, "text/") || document_types_ends(said, "+xml") ||
           document_types_ends(said, "+json") || document_types_ends(said, "+yaml") ||
           word_place(said, others, n) < n;
}

/* Tells whether the type is one whose bytes always show it. */
static bool shows_itself(wharf_str said)
{
    static const char *const types[] = {"application/pdf", "image/png", "image/jpeg", "image/gif",
        "image/webp", "image/tiff", SEEN_ZIP, SEEN_GZIP};
    const size_t n = sizeof(types) / sizeof(types[0]);

    return word_place(said, types, n) < n;
}

/* Tells whether the type is one of files that are ZIP containers. */
static bool is_zip_type(wharf_str said)
{
    return document_types_begins(said, "application/vnd.openxmlformats-officedocument.") ||
           document_types_begins(said, "application/vnd.oasis.opendocument.") ||
           document_types_ends(said, "+zip");
}

static wharf_str usual_name(wharf_str type)
{
    static const char *const names[][2] = {{"image/jpg", "image/jpeg"},
        {"image/pjpeg", "image/jpeg"}, {"image/x-png", "image/png"},
        {"application/x-pdf", "application/pdf"}, {"application/x-zip-compressed", SEEN_ZIP},
        {"application/x-gzip", SEEN_GZIP}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is(type, names[i][0]))
            return z(names[i][1]);
    }
    return type;
}

bool type_fits(wharf_str said, wharf_str seen)
{
    bool text = is(seen, "text/plain") || is(seen, "image/svg+xml");

    said = usual_name(said);
    if (same(said, seen) || is(said, "application/octet-stream"))
        return true;
    if (shows_itself(said))
        return false;
    if (is_text_type(said))
        return text;
    if (is_zip_type(said))
        return is(seen, SEEN_ZIP);
    /* Bytes of a type that is not known here may look like text or like a container. */
    return text || !seen.n || is(seen, SEEN_ZIP) || is(seen, SEEN_OLE) || is(seen, SEEN_GZIP);
}
