/* draw_hand.c - the papers of draw.py, drawn by hand with cairo, pango and zint:
 *
 *   draw-hand label|slip|table TIMES OUT.pdf
 *
 * It draws these three and nothing else: no expressions, no rules of pages, no report. The last
 * drawing goes to OUT. */
#include <cairo-pdf.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zint.h>

#include "util/buf.h"

enum { NAME = 40, LABEL_WIDTH = 288, LABEL_HEIGHT = 432, PAGE_WIDTH = 612, PAGE_HEIGHT = 792 };
enum { LEFT = 36, BOTTOM = 774, TOP = 18, CELLS = 4, PADDING = 3 };

static const double columns[CELLS + 1] = {0, 120, 380, 460, 540};

struct hand {
    cairo_t *c;
    PangoContext *pango;
    PangoLayout *layout; /* of cells */
};

static cairo_status_t take(void *arg, const unsigned char *bytes, unsigned n)
{
    buf_add(arg, bytes, n);
    return CAIRO_STATUS_SUCCESS;
}

static PangoFontDescription *font_of(double size, bool bold)
{
    PangoFontDescription *font = pango_font_description_new();

    pango_font_description_set_family(font, "Inter");
    pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    return font;
}

static void text(struct hand *h, double x, double y, double size, bool bold, const char *z)
{
    PangoLayout *layout = pango_layout_new(h->pango);
    PangoFontDescription *font = font_of(size, bold);

    pango_layout_set_font_description(layout, font);
    pango_layout_set_text(layout, z, -1);
    cairo_move_to(h->c, x, y);
    pango_cairo_show_layout(h->c, layout);
    pango_font_description_free(font);
    g_object_unref(layout);
}

/* Draws a symbol in a box: rows of the same height, each dark run a rectangle. */
static void code(struct hand *h, int kind, const char *z, double x, double y, double w, double high)
{
    struct zint_symbol *s = ZBarcode_Create();

    s->symbology = kind;
    s->option_3 = kind == BARCODE_DATAMATRIX ? DM_SQUARE : 0;
    if (ZBarcode_Encode(s, (const unsigned char *)z, (int)strlen(z)) >= ZINT_ERROR) {
        fprintf(stderr, "%s\n", s->errtxt);
        exit(1);
    }
    for (int row = 0; row < s->rows; row++) {
        for (int from = 0, to; from < s->width; from = to + 1) {
            for (to = from; to < s->width && s->encoded_data[row][to >> 3] >> (to & 7) & 1; to++)
                ;
            if (to > from)
                cairo_rectangle(h->c, x + from * w / s->width, y + row * high / s->rows,
                    (to - from) * w / s->width, high / s->rows);
        }
    }
    cairo_fill(h->c);
    ZBarcode_Delete(s);
}

static void line(struct hand *h, double x, double y, double width)
{
    cairo_set_line_width(h->c, 0.5);
    cairo_move_to(h->c, x, y);
    cairo_line_to(h->c, x + width, y);
    cairo_stroke(h->c);
}

/* ---- the papers ---- */

static void draw_label(struct hand *h)
{
    text(h, 18, 18, 8, false, "FROM  Wharf Goods, Dock 5, Oakland CA 94607");
    line(h, 18, 34, 252);
    text(h, 18, 42, 9, false, "SHIP TO");
    text(h, 18, 56, 16, true, "Ada Lovelace");
    text(h, 18, 78, 14, false, "1200 Harbor Street, Suite 400");
    text(h, 18, 96, 14, false, "Baltimore MD 21230");
    line(h, 18, 120, 252);
    code(h, BARCODE_CODE128, "1Z999AA10123456784", 18, 128, 252, 70);
    text(h, 90, 202, 9, false, "1Z999AA10123456784");
    line(h, 18, 220, 252);
    code(h, BARCODE_QRCODE, "https://track.example/1Z999AA10123456784", 18, 230, 90, 90);
    code(h, BARCODE_DATAMATRIX, "ORDER-100234", 130, 230, 60, 60);
    code(h, BARCODE_PDF417, "ORDER-100234/1Z999AA10123456784", 18, 340, 252, 60);
    text(h, 200, 240, 9, false, "Order 100234");
    text(h, 200, 254, 9, false, "1 of 2");
}

static void cell(
    struct hand *h, unsigned i, double y, const PangoFontDescription *font, const char *z)
{
    double width = columns[i + 1] - columns[i] - 2 * PADDING;

    pango_layout_set_font_description(h->layout, font);
    pango_layout_set_width(h->layout, (int)(width * PANGO_SCALE));
    pango_layout_set_alignment(h->layout, i < 2 ? PANGO_ALIGN_LEFT : PANGO_ALIGN_RIGHT);
    pango_layout_set_text(h->layout, z, -1);
    cairo_move_to(h->c, LEFT + columns[i] + PADDING, y + PADDING);
    pango_cairo_show_layout(h->c, h->layout);
}

/* Draws a table from y on, over as many pages as it needs. Returns where it ends. */
static double table(struct hand *h, double y, unsigned rows)
{
    static const char *const heads[CELLS] = {"SKU", "Name", "Ordered", "Shipped"};
    PangoFontDescription *plain = font_of(9, false), *bold = font_of(9, true);
    const double height = 9 * 1.21 + 2 * PADDING;
    bool fresh = true;

    h->layout = pango_layout_new(h->pango);
    for (unsigned r = 0; r < rows; r++) {
        char cells[CELLS][NAME];

        if (!fresh && y + height > BOTTOM) {
            cairo_show_page(h->c);
            y = TOP;
            fresh = true;
        }
        for (unsigned i = 0; i < CELLS && fresh; i++)
            cell(h, i, y, bold, heads[i]);
        y += fresh ? height : 0;
        fresh = false;
        snprintf(cells[0], NAME, "SKU-%04u", r);
        snprintf(cells[1], NAME, "Article number %u of the list", r);
        snprintf(cells[2], NAME, "%u", r % 17 + 1);
        snprintf(cells[3], NAME, "%u", r % 13 + 1);
        for (unsigned i = 0; i < CELLS; i++)
            cell(h, i, y, plain, cells[i]);
        y += height;
        line(h, LEFT, y, columns[CELLS]);
    }
    g_object_unref(h->layout);
    pango_font_description_free(plain);
    pango_font_description_free(bold);
    return y;
}

static void draw_slip(struct hand *h)
{
    text(h, 36, 30, 22, true, "Packing slip");
    code(h, BARCODE_CODE128, "ORDER-100234", 396, 30, 180, 40);
    text(h, 36, 90, 9, true, "Ship to");
    text(h, 36, 104, 10, false, "Ada Lovelace");
    text(h, 36, 118, 10, false, "1200 Harbor Street, Suite 400");
    text(h, 36, 132, 10, false, "Baltimore MD 21230");
    text(h, 396, 90, 9, true, "Order");
    text(h, 396, 104, 10, false, "100234 of 5 January 2026");
    text(h, 36, table(h, 170, 25) + 12, 9, false, "Thank you. Returns within 30 days.");
    text(h, 520, 760, 9, false, "1 / 1");
}

static void draw_table(struct hand *h)
{
    table(h, 36, 1000);
}

/* ---- all ---- */

static void draw(const char *what, struct buf *out)
{
    bool label = strcmp(what, "label") == 0;
    cairo_surface_t *pdf = cairo_pdf_surface_create_for_stream(
        take, out, label ? LABEL_WIDTH : PAGE_WIDTH, label ? LABEL_HEIGHT : PAGE_HEIGHT);
    struct hand h = {.c = cairo_create(pdf)};

    h.pango = pango_cairo_create_context(h.c);
    if (label)
        draw_label(&h);
    else if (strcmp(what, "slip") == 0)
        draw_slip(&h);
    else
        draw_table(&h);
    cairo_show_page(h.c);
    g_object_unref(h.pango);
    cairo_destroy(h.c);
    cairo_surface_finish(pdf);
    cairo_surface_destroy(pdf);
}

int main(int argc, char **argv)
{
    struct buf out;
    FILE *f;

    if (argc != 4) {
        fprintf(stderr, "draw-hand label|slip|table TIMES OUT.pdf\n");
        return 2;
    }
    buf_init(&out, 64 << 20);
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
        buf_clear(&out);
        draw(argv[1], &out);
    }
    f = fopen(argv[3], "wb");
    if (!f || fwrite(out.p, 1, out.n, f) != out.n || fclose(f) != 0)
        return 1;
    buf_done(&out);
    return 0;
}
