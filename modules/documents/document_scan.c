/* document_scan.c - service documents.scan (plugin-api/wharf/ext/documents.h): the virus scanner
 * and other modules look at files before they become documents
 * (docs/spec/05-documents-and-templates.md section 2). Leaves the scanner to document_clamd.c. */
#include "documents.h"

enum { SCANS_MAX = 8 }; /* scanners of plugins */
typedef wharf_status scan_fn(
    wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected);

/* Functions of other modules; written by their start(), before any request. */
static struct {
    scan_fn *list[SCANS_MAX];
    size_t n;
} scans;

static bool add_scan(scan_fn *fn)
{
    if (scans.n == SCANS_MAX)
        return false;
    scans.list[scans.n++] = fn;
    return true;
}

wharf_status document_scan(wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected)
{
    wharf_status s;

    *ret_rejected = WHARF_S("");
    s = clamd_scan(req, file, ret_rejected);
    for (size_t i = 0; i < scans.n && s == WHARF_OK && !ret_rejected->n; i++)
        s = scans.list[i](req, file, ret_rejected);
    return s;
}

const wharf_documents_scan_api document_scan_table = {
    WHARF_HEAD(wharf_documents_scan_api), add_scan};
