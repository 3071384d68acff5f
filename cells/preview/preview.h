/* preview.h - inside of the `preview` cell: a page of a PDF becomes a PNG, or its pages' text is
 * read (docs/spec/05-documents-and-templates.md sections 3.6 and 3.7). Poppler reads and draws it;
 * this program is the only one that links it (docs/dependencies.md). */
#ifndef WHARF_CELL_PREVIEW_H
#define WHARF_CELL_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <poppler.h>

#include "render/preview_wire.h"

enum { PREVIEW_ERROR = 200 };

struct picture {
    unsigned char *bytes; /* a PNG, or text; free() */
    size_t n, cap;
    struct preview_made made;
    char error[PREVIEW_ERROR]; /* "invalid: ..." */
};

/* ---- preview_page.c ---- */
/* Reads a call of n bytes. Returns false for one that the server does not send. */
bool wish_read(const void *p, size_t n, struct preview_call *ret);
/* Draws a page of the n bytes at pdf, or reads their text, as wished. Returns false when it fails:
 * ret->error says why. The bytes must stay until then. */
bool page_draw(const void *pdf, size_t n, const struct preview_call *wish, struct picture *ret);
/* Adds n bytes. Returns false when they are more than `most` then. */
bool picture_add(struct picture *p, const void *bytes, size_t n, size_t most);
bool picture_fail(struct picture *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- preview_text.c ---- */
/* Reads the text of the pages from wish->page on, each with a form feed behind it. */
bool text_read(struct picture *p, PopplerDocument *document, const struct preview_call *wish);

/* ---- preview_fonts.c ---- */
/* Maps the fonts for text whose font the document does not carry along: before the walls. */
void fonts_prepare(void);

#endif
