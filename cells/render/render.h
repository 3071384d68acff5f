/* render.h - inside of the `render` cell: a document becomes a PDF whose pages have exactly the
 * medium's size (docs/spec/04-printing.md section 7, 'Prepared document'). Everything ends as
 * pages of a qpdf document, which render_place.c then puts onto the medium. */
#ifndef WHARF_CELL_RENDER_H
#define WHARF_CELL_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <qpdf/qpdf-c.h>

#include "render/render_wire.h"

enum { RENDER_ERROR = 200 };

struct bytes {
    unsigned char *p;
    size_t n;
};

struct source { /* a document that was opened */
    qpdf_data q;
    struct bytes bytes; /* of the file; qpdf reads from them */
    unsigned char *filled; /* these, when the fields of a form were drawn, else NULL */
    enum render_type type;
    struct render_call call;
    bool unsized; /* an image that does not say how large it is: it is fitted to the page */
    struct render_reported reported;
    uint32_t cropped; /* pages that were put onto the medium and are cut off at its edges */
    char error[RENDER_ERROR]; /* "invalid: ..." */
};

/* Opens the n bytes at p as the document of a call. Returns false when it fails; s->error says
 * why. Whatever happens, source_close() frees it. */
bool source_open(struct source *s, const struct render_call *call, const void *p, size_t n);
void source_close(struct source *s);
bool source_fail(struct source *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Tells whether libqpdf met with no error since the last look; else sets s->error and returns
 * false. */
bool source_good(struct source *s);

/* Handles a PDF (pdf.c): pdf_look() reads its pages and their sizes, pdf_write() makes the
 * finished file. */
bool pdf_look(struct source *s);
/* Writes the one page that the call is about, as it is. */
bool pdf_show(struct source *s, const unsigned char **ret_p, size_t *ret_n);
bool pdf_keep(struct source *s, const struct render_range *ranges, size_t n);
bool pdf_write(struct source *s, const unsigned char **ret_p, size_t *ret_n);

/* image.c, pixels.c, render_text.c: as pages of an empty document. */
enum {
    IMAGE_PIXELS_MAX = 100000000, /* pixels of an image that is printed */
    IMAGE_SIDE_MAX = 65500
};
struct image {
    uint32_t width, height, components; /* 1 grey, 3 colours, 4 inks */
    double per_inch_x, per_inch_y; /* 0: not told */
    bool inverted; /* inks as Adobe writes them */
    unsigned turn; /* clockwise, to be shown upright */
    bool mirrored; /* left and right are exchanged before it is turned */
};
bool image_look(struct source *s); /* PNG, JPEG */
bool webp_look(struct source *s);
bool gif_look(struct source *s);
bool tiff_look(struct source *s);
/* Tells whether the image is small enough to be printed; else sets s->error and returns false. */
bool image_fair(struct source *s, const struct image *im);
/* Sets how the image is turned and mirrored, from an orientation of Exif or TIFF (1 to 8). */
void image_orient(struct image *im, uint32_t orientation);
/* Reads density and orientation from Exif data (n bytes at t) into `im`. */
void image_exif(const unsigned char *t, size_t n, struct image *im);
/* Turns decoded dots of red, green, blue and opacity to dots on white; the memory may move. */
void pixels_onto_white(struct bytes *dots);
/* Makes fewer dots of decoded ones where a picture needs no more (image_shrink.c): data->p is
 * new memory then. */
void image_shrink(const struct render_call *call, struct image *im, struct bytes *data);
/* Adds the next page, which shows the image. filter: the PDF filter that the data are packed with,
 * or NULL. The data are copied. */
bool image_add(
    struct source *s, const struct image *im, const struct bytes *data, const char *filter);
/* Handles letters beyond Windows-1252 (font.c); font_prepare() maps the font file. */
void font_prepare(void); /* before the walls */
unsigned font_glyph(uint32_t c); /* 0: there is no such letter, or no font */
int font_object(struct source *s); /* the font as an object of the document: its number */
bool text_lay_out(struct source *s, double width, double height);
/* Adds a page of that size in points with this content and these resources (a PDF dictionary). */
bool page_add(struct source *s, double width, double height, const char *content, size_t n,
    const char *resources, qpdf_oh xobjects);

/* render_place.c: the page as it is shown, and its way onto the medium. */
struct page_box {
    double x, y, width, height; /* crop box within the media box, in user space */
    double unit;
    unsigned rotate; /* clockwise: 0, 90, 180, 270 */
};
bool page_box(struct source *s, qpdf_oh page, struct page_box *ret);
void page_shown(const struct page_box *box, double *ret_width, double *ret_height); /* in points */
bool page_place(struct source *s, qpdf_oh page, const struct render_wish *wish);

#endif
