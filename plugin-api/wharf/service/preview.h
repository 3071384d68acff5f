/* wharf/service/preview.h - pictures and text of documents: service "wharf.preview", version 1.1
 * (docs/spec/05-documents-and-templates.md sections 3.6 and 3.7).
 *
 * A page of a PDF, an image or a text becomes a PNG on white; of a PDF, the text is read. All of it
 * is done by sandboxed processes (docs/internals/cells.md); what a document does there can hurt
 * nobody else. Rules of this header: wharf/plugin.h. */
#ifndef WHARF_SERVICE_PREVIEW_H
#define WHARF_SERVICE_PREVIEW_H

#include "wharf/plugin.h"
#include "wharf/service/blob.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WHARF_PREVIEW_SIDE_MAX = 4000, WHARF_PREVIEW_PAGE_MAX = 2000 };

typedef struct wharf_preview_wish {
    wharf_head head;
    uint32_t page; /* from 1 on */
    /* Pixels at most, up to WHARF_PREVIEW_SIDE_MAX: a PDF or a text gets this width, or this
     * height where it would be higher; an image is not enlarged. */
    uint32_t width, height;
} wharf_preview_wish;

enum wharf_preview_verdict {
    WHARF_PREVIEW_GOOD = 0,
    /* the document can't be read, is too large or too complex: the reason says why */
    WHARF_PREVIEW_DOCUMENT = 1,
    WHARF_PREVIEW_NO_PAGE = 2 /* it has no such page */
};

typedef struct wharf_preview_api {
    wharf_head head;
    /* Tells whether documents of this media type have pictures. Active content (HTML, SVG) has
     * none. [any] */
    bool (*takes)(wharf_str type);
    /* Draws the document on fd, of a type that takes() knows, into the writer. WHARF_OK also for
     * one that is no good: *ret_verdict is not WHARF_PREVIEW_GOOD then, and *ret_reason one
     * sentence for people about "it". A problem (overloaded) is told when no cell could be had.
     * Waits for the cells. [worker] */
    wharf_status (*make)(wharf_req *req, int fd, wharf_str type, const wharf_preview_wish *wish,
        wharf_blob_writer *to, uint32_t *ret_verdict, wharf_str *ret_reason);
    /* Since 1.1. Reads the text that a PDF carries: UTF-8, behind each page a form feed, at most
     * 200 pages and 1 MiB. A page that is a picture, as scanned ones are, has none. *ret_text lives
     * as long as the request. Verdicts and problems: as of make. [worker] */
    wharf_status (*text)(wharf_req *req, int fd, wharf_str *ret_text, uint32_t *ret_pages,
        uint32_t *ret_verdict, wharf_str *ret_reason);
} wharf_preview_api;

#ifdef __cplusplus
}
#endif
#endif
