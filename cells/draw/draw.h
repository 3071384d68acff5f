/* draw.h - inside of the `draw` cell: a definition and its data become pages
 * (docs/spec/05-documents-and-templates.md part C).
 *
 * The way of a call: draw_main.c takes it apart; draw_expand.c makes elements of the definition,
 * with their variables in place; draw_layout.c puts them on pages; draw_page.c draws these, each
 * element by its kind (draw_element.c); cairo and draw_zpl.c make bytes. All is in points, y
 * downwards.
 *
 * Where text stands: its y is the top of the first line, which is as far above the base line as
 * the font's ascent says (Inter: 0.969 of the size). The lines below follow at the font's own
 * distance (Inter: 1.21), or at line_height times the size. */
#ifndef WHARF_CELL_DRAW_H
#define WHARF_CELL_DRAW_H

#include <cairo.h>
#include <pango/pango.h>

#include "draw_expr.h"

enum {
    ELEMENTS_MAX = 20000, /* after expansion */
    GROUPS_MAX = 32, /* of groups in groups */
    PAGES_MAX = 500, /* pages of one drawing */
    RECORDS_MAX = 1000, /* records (copies) of one drawing */
    IMAGES_MAX = 50, /* different ones */
    IMAGE_BYTES_MAX = 10000000, /* bytes of one image */
    IMAGE_PIXELS_MAX = 40000000, /* pixels of one image */
    IMAGE_BOX_MAX = 5000, /* points of a side */
    SIDE_MAX = 14400, /* points of a side of a page */
    NOTES_MAX = 1000, /* errors or warnings that are told */
    FONTS_MAX = 8 /* fonts that come with a drawing */
};

/* Points: a smaller scale can't be undone, and cairo draws nothing more after it. */
#define LEAST_SCALE 1e-6

struct draw_bytes {
    const unsigned char *p;
    size_t n;
};

struct drawing;
struct element;
struct layout;
struct piece;
struct cursor;

/* ---- draw_report.c: what is told besides the picture ---- */

struct draw_report {
    struct buf errors, warnings, problems; /* members of JSON arrays */
    unsigned n_errors, n_warnings, n_problems;
    unsigned total, rendered; /* elements */
};

/* Tells why an element is not drawn: once for each. Returns false. */
bool report_error(struct drawing *d, struct element *e, const char *code, const char *fmt, ...)
    WHARF_PRINTF(4, 5);
/* Notes a warning. what: a member's name behind the path, or "". */
void report_warning(struct drawing *d, const struct element *e, const char *what, const char *code,
    const char *fmt, ...) WHARF_PRINTF(5, 6);
/* Tells why the definition can't be drawn at all. Returns false. */
bool report_problem(struct drawing *d, wharf_str path, const char *fmt, ...) WHARF_PRINTF(3, 4);
/* Notes that it is too much. Returns false. */
bool report_complex(struct drawing *d, const char *why);
/* Tells whether there is time left, and it was not too much yet. */
bool report_goes_on(struct drawing *d);
void report_write(struct drawing *d, struct buf *out);

/* ---- draw_expand.c: elements ---- */

struct element_kind {
    const char *type;
    /* Finds the box that it takes, at its own x and y. False: its error was told. */
    bool (*measure)(struct drawing *d, struct element *e);
    /* Draws it there. False: its error was told. */
    bool (*draw)(struct drawing *d, struct element *e);
    void (*done)(struct element *e); /* gives back what measure() made; may be NULL */
    bool is_frame; /* holds others, or nothing: it is not counted */
    /* Puts it on pages from the cursor on, where it may go over several of them; may be NULL. x: of
     * its left edge; width: what it has when it says none. */
    void (*place)(struct drawing *d, struct layout *l, struct element *e, struct cursor *c,
        double x, double width);
};

struct element {
    const struct wharf_json *json; /* with variables in place */
    const struct wharf_json *written;
    const struct draw_vars *vars;
    const struct element_kind *kind;
    wharf_str path; /* "raw.3#1.children.0" */
    int index; /* in `raw`; -1: it stands elsewhere */
    bool late; /* says page or pages: variables are put in again when it is drawn */
    bool waits; /* its condition asks for page or pages: judged when it is drawn */
    bool failed; /* its error is told */
    bool measured;
    bool counted; /* drawn on a page before */
    double x, y; /* with the steps of its repeat */
    double box_x, box_y, width, height; /* set by measure() */
    void *made; /* by measure() */
    unsigned end_page; /* of a flow or table that was placed; 0: it is none */
    double end_y;
    double flow_width; /* of the flow that it is in; 0: in none */
    const struct piece *piece; /* while it is drawn; NULL: all of it is */
    struct element *child, *next;
};

/* Makes the elements of a list. base: "raw"; vars: the data. Returns the first; NULL: there are
 * none. */
struct element *expand_list(
    struct drawing *d, const struct wharf_json *list, wharf_str base, const struct draw_vars *vars);
/* Makes the element that a member is, and its copies where it repeats. path: of the member. */
struct element *expand_member(
    struct drawing *d, const struct wharf_json *v, wharf_str path, const struct draw_vars *vars);
/* Tells whether its condition holds; what asks for a page holds while there is none yet. A
 * condition that is wrong fails it. */
bool expand_wanted(struct drawing *d, struct element *e);
/* Puts the variables into a late element, now that its page is known. */
bool expand_again(struct drawing *d, struct element *e);
/* Puts the variables into a value: text of it and of its members, but of those that are skipped
 * (names in a list that ends with NULL). NULL: the expression is wrong, which was told. */
const struct wharf_json *expand_value(struct drawing *d, struct element *e,
    const struct draw_vars *vars, const struct wharf_json *v, const char *const *skipped);
struct draw_eval expand_eval(struct drawing *d, const struct draw_vars *vars);

/* Tells whether an element has a member; the next ones read it. A text that is a number is one. */
bool el_has(const struct element *e, const char *key);
double el_number(const struct element *e, const char *key, double fallback);
wharf_str el_text(const struct element *e, const char *key, const char *fallback);
bool el_truth(const struct element *e, const char *key, bool fallback);
/* Finds a word in a list that ends with NULL. Returns its place; fallback when it is absent.
 * Returns -1 when it is another word: the error was told. */
int el_word(
    struct drawing *d, struct element *e, const char *key, const char *const *words, int fallback);

struct color {
    double r, g, b, a;
};
/* Reads #RGB, #RRGGBB, #RRGGBBAA. */
bool color_read(wharf_str s, struct color *ret);
/* Sets the paint of an element's member. False: it is no colour, which was told. */
bool color_set(struct drawing *d, struct element *e, const char *key, const char *fallback);

/* ---- draw_layout.c: pages ---- */

struct piece { /* of an element, on a page */
    struct element *e;
    unsigned page; /* from 1 on, in its record */
    double dx, dy; /* from where the element says it is to where it is */
    double clip; /* y where it is cut off; 0: nowhere */
    double width, height; /* of the ground of a flow */
    double skip, show; /* heights of a row of a table: not here, and here; show 0: all of it */
    bool goes_on; /* of a table: more of it is above on this page */
    bool below; /* is drawn before what stands at the same place in the order */
    unsigned from, to; /* lines of a text, rows of a table; to 0: all */
    unsigned order, step; /* of drawing */
};

struct layout {
    struct piece *pieces;
    size_t n, room;
    unsigned pages;
    unsigned order; /* of the pieces that are added now */
};

/* Puts the elements of a record on pages. False: it is too much. */
bool layout_make(struct drawing *d, struct element *first, struct layout *ret);
struct piece *layout_add(struct drawing *d, struct layout *l, struct element *e, unsigned page);
/* Returns how far up it reaches when it is turned; the next one: how far down. */
double layout_top(const struct element *e);
double layout_bottom(const struct element *e);

/* ---- draw_page.c ---- */

struct drawing {
    struct arena *arena;
    const struct wharf_json *request, *body;
    struct json_index images, image_errors; /* by paths of elements */
    const struct draw_vars *builtins;
    struct draw_bytes *blobs;
    size_t n_blobs;
    uint32_t format;
    struct draw_zones zones;
    int64_t end_us; /* by clock_monotonic_us */
    const char *complex; /* why it is too much, or NULL */
    struct draw_report report;
    unsigned elements;
    unsigned record, records; /* which is expanded now, from 0 on; of how many */

    double page_width, page_height, top, right, bottom, left; /* margins, with head and foot */
    double dpi, snap; /* 0: bars are not snapped */
    struct buf *native; /* commands of ZPL for the page, in place of dots; NULL: all is dots */
    unsigned page, pages; /* being drawn, 0 while pages are laid out; of the record */
    struct buf *sources; /* of WHARF_DRAW_SOURCES, else NULL */

    cairo_t *cairo; /* NULL while there is no paper */
    cairo_matrix_t to_page; /* from the device to points of the page */
    bool vector; /* a PDF is made */
    PangoContext *pango;
    struct own_font *own_fonts; /* of the call */
    unsigned n_own_fonts;
    struct picture *pictures; /* decoded images, in a list */
    unsigned n_pictures;
    double kept_pixels; /* of images, decoded */
    unsigned made_pages; /* over all records */
};

/* Draws all records, and makes bytes of them. False: nothing was made, the report says why. */
bool draw_all(struct drawing *d, struct buf *out);

/* ---- draw_element.c ---- */

const struct element_kind *kind_of(wharf_str type);
/* Measures it, once. False: its error is told. */
bool element_measure(struct drawing *d, struct element *e);
/* Gives back what measure() made, of all elements of a list and what they hold. */
void elements_done(struct element *first);
/* Draws it at its own place; the piece says how much of it, NULL: all. */
bool element_draw(struct drawing *d, struct element *e, const struct piece *piece);
/* Returns where a point of the element's space is on the page, and back. */
void to_page(struct drawing *d, double *x, double *y);
void from_page(struct drawing *d, double *x, double *y);

bool shape_measure(struct drawing *d, struct element *e);
bool line_measure(struct drawing *d, struct element *e);
bool line_draw(struct drawing *d, struct element *e);
bool rect_draw(struct drawing *d, struct element *e);
bool ellipse_draw(struct drawing *d, struct element *e);

/* ---- draw_path.c ---- */

bool path_measure(struct drawing *d, struct element *e);
bool path_draw(struct drawing *d, struct element *e);
void path_done(struct element *e);

/* ---- draw_text.c ---- */

bool text_measure(struct drawing *d, struct element *e);
bool text_draw(struct drawing *d, struct element *e);
void text_done(struct element *e);
unsigned text_lines(const struct element *e);
double text_advance(const struct element *e); /* from line to line */
/* Sets the part of a text that is drawn next. */
void text_part(struct element *e, unsigned from, unsigned to);
/* Writes one line below a barcode, in the middle; shrinks it to the width. */
void text_caption(struct drawing *d, const char *z, double x, double y, double width, double size);

/* ---- draw_letters.c ---- */

/* Warns of letters that no font has, of which a box is drawn. what: as report_warning(). */
void letters_check(
    struct drawing *d, const struct element *e, const char *what, PangoLayout *layout);
/* Draws a line of text, whose base line begins at x, y. */
void letters_line(struct drawing *d, PangoLayoutLine *line, double x, double y);
/* Draws all lines of a text, whose top left corner is at x, y. */
void letters_all(struct drawing *d, PangoLayout *layout, double x, double y);

/* ---- draw_fonts.c: see there for what libraries open ---- */

/* Maps the fonts: before the walls. */
bool fonts_prepare(void);
/* Adds the fonts of a call. False: one is no font, or the family is not known (problem told). */
bool fonts_take(struct drawing *d);
/* Forgets them. */
void fonts_leave(struct drawing *d);
/* Returns the family that fontconfig knows by the definition's name; NULL: there is none. */
const char *fonts_family(struct drawing *d, wharf_str name);

/* ---- draw_barcode.c ---- */

bool barcode_measure(struct drawing *d, struct element *e);
bool barcode_draw(struct drawing *d, struct element *e);
void barcode_done(struct element *e);

/* ---- draw_image.c ---- */

bool image_measure(struct drawing *d, struct element *e);
bool image_draw(struct drawing *d, struct element *e);
/* Returns what names the image of an element: the id of a document, a URL, or the bytes as text. */
wharf_str image_source(const struct element *e);
/* Tells whether the bytes of a source come from the server. */
bool image_is_elsewhere(const struct element *e, wharf_str source);
bool svg_measure(struct drawing *d, struct element *e);
bool image_prepare(void); /* before the walls */
void image_forget(struct drawing *d);

/* ---- draw_pdf.c ---- */

/* Writes a language ("en-US") into a finished PDF. False: it is none, or the file is not as cairo
 * writes it; it stays as it is. */
bool pdf_set_language(struct buf *b, wharf_str language);

/* ---- draw_zpl.c ---- */

/* Adds a page as ZPL: the picture (grey, 8 bits, 0 is black) as dots, then the commands. */
void zpl_page(struct buf *out, const unsigned char *grey, int width, int height, int stride,
    wharf_str commands);

struct zpl_code { /* a code that the printer may make by itself; lengths in points */
    const char *value;
    bool qr; /* else Code 128 */
    char ecc; /* L, M, Q or H */
    double x, y, module, width, height; /* of the bars, without white around them */
};
/* Adds the command of a code to d->native. False: dots must do, because of what it holds or where
 * it stands. */
bool zpl_native(struct drawing *d, const struct zpl_code *code);

#endif
