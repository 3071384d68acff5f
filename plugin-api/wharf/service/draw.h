/* wharf/service/draw.h - labels and papers drawn from definitions: service "wharf.draw", version
 * 1.1 (docs/spec/05-documents-and-templates.md part C).
 *
 * A definition (elements, pages, variables) with its data becomes a PDF, a PNG or ZPL. Expanding,
 * laying out and drawing are done by a sandboxed process (docs/internals/cells.md); what a
 * definition, an image or a font does there can hurt nobody else. The plugin fetches what the
 * definition names by URL or id, and hands over the bytes. Rules of this header: wharf/plugin.h.
 * All functions are [worker]. */
#ifndef WHARF_SERVICE_DRAW_H
#define WHARF_SERVICE_DRAW_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum wharf_draw_format {
    WHARF_DRAW_PDF = 1,
    WHARF_DRAW_PNG = 2, /* one page: the request's `page`, from 1 on */
    WHARF_DRAW_ZPL = 3,
    /* Nothing is drawn: the report's `sources` are the URLs of images after their variables, by
     * the path of the expanded element. */
    WHARF_DRAW_SOURCES = 4,
    /* Since 1.1. Nothing is drawn: the body is {subject, text, html, data} (html may be null),
     * texts with the placeholders of section 9.4 and the blocks {{if …}} {{else}} {{end}}. The
     * report is {subject, text, html} with the values of data in place, which are escaped in html,
     * and `missing`: null, or {path, message, line, column} of the first placeholder that stays
     * empty for want of a value. Refused: `problems` have line and column too. */
    WHARF_DRAW_WORDS = 5
};

enum { WHARF_DRAW_BLOBS_MAX = 1024, WHARF_DRAW_BYTES_MAX = 64 << 20 };

/* Something to be drawn. The caller sets head. */
typedef struct wharf_draw_wish {
    wharf_head head;
    uint32_t format; /* enum wharf_draw_format */
    uint32_t n_blobs; /* at most WHARF_DRAW_BLOBS_MAX */
    /* One JSON object. body: the definition, of the shape that the specification gives (section
     * 9.1), as it was sent; its shape is checked by the caller. records: array of data, absent:
     * one record, the body's `data`. now: a time of RFC 3339. context: {location, organization,
     * template}. width, height: of the page, sheet_width, sheet_height: of a sheet, in points;
     * absent: as the body's names of papers say. page: of a PNG. images: {"<path of an element>":
     * index of a blob}. image_errors: {"<path>": {code, message}}, reported as that element's.
     * fonts: array of {family, weight, style, blob}. Paths: "raw.3", of children
     * "raw.3.children.0"; with an element that is repeated "raw.3" is of all, "raw.3#2" of its
     * third copy (which WHARF_DRAW_SOURCES tells); with records "2:raw.3" is of the third record
     * alone. */
    wharf_str request;
    const wharf_str *blobs; /* bytes of images and fonts */
} wharf_draw_wish;

enum wharf_draw_verdict {
    WHARF_DRAW_GOOD = 0,
    /* It takes more time, memory, pages or elements than a drawing may: reason says which. */
    WHARF_DRAW_TOO_COMPLEX = 1,
    /* The definition is not one that can be drawn: the report's `problems` is an array of {path,
     * message}. */
    WHARF_DRAW_REFUSED = 2
};

/* The drawing and its report; in the request's arena. The caller sets head; members that its size
 * does not reach are left out. */
typedef struct wharf_draw_made {
    wharf_head head;
    uint32_t verdict; /* enum wharf_draw_verdict */
    uint32_t pages;
    wharf_str reason; /* one sentence for people about "it"; "" when good */
    /* Empty unless good, also with WHARF_DRAW_SOURCES, and when no element could be drawn. */
    wharf_str bytes;
    /* JSON: {pages, width, height (points), elements_total, elements_rendered, element_errors:
     * [{index, path, type, code, message}], warnings: [{path, code, message}]}; elements are
     * counted after expansion; index is the place in `raw`, null elsewhere. {sources: {path: URL}}
     * or {problems: [...]} in their cases. */
    wharf_str report;
} wharf_draw_made;

typedef struct wharf_draw_api {
    wharf_head head;
    /* Draws. WHARF_OK also where nothing was drawn: see the verdict. A problem (overloaded) is
     * told when no cell could be had. Waits for the cell, at most 10 seconds. */
    wharf_status (*draw)(wharf_req *req, const wharf_draw_wish *wish, wharf_draw_made *ret_made);
} wharf_draw_api;

#ifdef __cplusplus
}
#endif
#endif
