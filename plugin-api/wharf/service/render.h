/* wharf/service/render.h - documents made ready for a medium: service "wharf.render", version
 * 1.1 (docs/guide/printing.md).
 *
 * PDF, PNG, JPEG, GIF, WebP, TIFF and text become one PDF whose pages have exactly the medium's
 * size. All of it is done by a sandboxed process of its own (docs/internals/cells.md); what a
 * document does there can hurt nobody else. A render belongs to its request and ends with it at the
 * latest. Two
 * steps, because what is asked of the medium often depends on what the document says: open()
 * reads it, make() writes the PDF. Both wait for
 * the cell. Rules of this header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_RENDER_H
#define WHARF_SERVICE_RENDER_H

#include "wharf/plugin.h"
#include "wharf/service/blob.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_render wharf_render; /* a document that was opened */

enum wharf_render_fit {
    WHARF_RENDER_NONE = 0,
    WHARF_RENDER_SHRINK = 1,
    WHARF_RENDER_FIT = 2,
    WHARF_RENDER_FILL = 3
};
enum { WHARF_RENDER_PAGES_MAX = 2000 };

/* Facts about a document. The caller sets head; members that its size does not reach are left
 * out. */
typedef struct wharf_render_info {
    wharf_head head;
    uint32_t pages; /* 0: told by make() (text) */
    uint32_t mixed; /* its pages have different sizes */
    double width, height; /* points, of the first page as it is shown; 0: it does not say */
    /* 1.1: 1 after make(): a page is larger than the medium by more than 0.06 inches, and what
     * stands over its edges is cut off */
    uint32_t cropped;
} wharf_render_info;

typedef struct wharf_render_range {
    uint32_t from, to;
} wharf_render_range; /* pages from 1 on, both included */

typedef struct wharf_render_plan {
    wharf_head head;
    double width, height; /* of the medium as it is fed, in points */
    double scale; /* after the fit, about the page's centre */
    /* WHARF_RENDER_*; an image that says no size is fitted with WHARF_RENDER_NONE too */
    uint32_t fit;
    uint32_t rotate; /* 0, 90, 180, 270, clockwise */
    uint32_t landscape; /* not 0: laid out on the medium turned by 90 degrees */
    uint32_t n_ranges; /* at most 1,000; 0: all pages */
    const wharf_render_range *ranges;
} wharf_render_plan;

enum wharf_render_verdict {
    WHARF_RENDER_GOOD = 0,
    /* the document can't be read, is too large or too complex: reason() says why */
    WHARF_RENDER_DOCUMENT = 1,
    WHARF_RENDER_NO_PAGES = 2 /* the plan's ranges leave none */
};

typedef struct wharf_render_api {
    wharf_head head;
    /* The media type of the bytes, by their look: "application/pdf", "image/png", "image/jpeg",
     * "text/plain", others that are known but can't be opened, or empty. p: the first bytes, 1
     * KiB is enough; all: these are all bytes. [any] */
    wharf_str (*sniff)(const void *p, size_t n, bool all);
    /* Reads the document on fd, of a type that sniff() told. WHARF_OK also for one that is no
     * good: see verdict(). A problem (overloaded) is told when no cell could be had. */
    wharf_status (*open)(wharf_req *req, int fd, wharf_str type, wharf_render **ret_render);
    uint32_t (*verdict)(const wharf_render *r); /* WHARF_RENDER_GOOD or why not */
    wharf_str (*reason)(const wharf_render *r); /* one sentence for people, "" when good */
    void (*info)(const wharf_render *r, wharf_render_info *ret_info);
    /* The PDF into the writer; once. ret_pages: how many it has. */
    wharf_status (*make)(wharf_req *req, wharf_render *r, const wharf_render_plan *plan,
        wharf_blob_writer *to, uint32_t *ret_pages);
    void (*close)(wharf_render *r); /* the cell is free again */
} wharf_render_api;

#ifdef __cplusplus
}
#endif
#endif
