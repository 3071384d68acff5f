/* preview.h - inside of the `preview` cell: a page of a PDF becomes a PNG
 * (docs/spec/05-documents-and-templates.md section 3.6). Poppler reads and draws it; this program
 * is the only one that links it (docs/dependencies.md). */
#ifndef WHARF_CELL_PREVIEW_H
#define WHARF_CELL_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "render/preview_wire.h"

enum { PREVIEW_ERROR = 200 };

struct picture {
    unsigned char *png; /* free() */
    size_t n, cap;
    struct preview_made made;
    char error[PREVIEW_ERROR]; /* "invalid: ..." */
};

/* ---- preview_page.c ---- */
/* Reads a call of n bytes. Returns false for one that the server does not send. */
bool wish_read(const void *p, size_t n, struct preview_call *ret);
/* Draws a page of the n bytes at pdf. Returns false when it fails: ret->error says why. The bytes
 * must stay until then. */
bool page_draw(
    const void *pdf, size_t n, const struct preview_call *wish, struct picture *ret);

/* ---- preview_fonts.c ---- */
/* Maps the fonts for text whose font the document does not carry along: before the walls. */
void fonts_prepare(void);

#endif
