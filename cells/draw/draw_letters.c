/* draw_letters.c - lines of text on the page; see draw.h.
 *
 * Letters of a colored font are pictures, which cairo puts into a PDF as such: nobody could search
 * or copy them. So a blank stands on each of them that says which letters they are. */
#include <hb-ot.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <pango/pangofc-font.h>

#include "draw.h"

enum { BLANK = 0x2003 }; /* an em space: other text has few of them */

/* A font for blanks that stand for pictures. */
struct blank {
    PangoFont *font;
    cairo_glyph_t glyph;
};

static bool is_colored(PangoFont *font)
{
    hb_face_t *face = hb_font_get_face(pango_font_get_hb_font(font));

    return hb_ot_color_has_png(face) || hb_ot_color_has_layers(face) || hb_ot_color_has_svg(face);
}

/* Finds the blank, as large as the text. Returns false when there is none. */
static bool find_blank(struct drawing *d, PangoLayout *text, struct blank *ret)
{
    PangoFontDescription *font = pango_font_description_copy(
        pango_layout_get_font_description(text));
    hb_codepoint_t glyph = 0;

    pango_font_description_set_family(font, fonts_family(d, WHARF_S("inter")));
    ret->font = pango_context_load_font(d->pango, font);
    pango_font_description_free(font);
    if (ret->font && hb_font_get_nominal_glyph(pango_font_get_hb_font(ret->font), BLANK, &glyph)) {
        ret->glyph.index = glyph;
        return true;
    }
    g_clear_object(&ret->font);
    return false;
}

/* Sets where a blank stands. On the edge between two points of a PDF it would have no extent, and
 * cairo leaves out what has none. */
static void draw_letters_place(struct drawing *d, struct blank *blank, double x, double y)
{
    cairo_user_to_device(d->cairo, &x, &y);
    x = floor(x) + fmin(fmax(x - floor(x), 0.1), 0.9);
    y = floor(y) + fmin(fmax(y - floor(y), 0.1), 0.9);
    cairo_device_to_user(d->cairo, &x, &y);
    blank->glyph.x = x;
    blank->glyph.y = y;
}

/* Puts blanks that say their letters on the pictures of a run that begins at x, y. */
static void put_blanks(
    struct drawing *d, PangoLayout *layout, PangoGlyphItem *run, double x, double y)
{
    const char *text = pango_layout_get_text(layout);
    const cairo_text_cluster_flags_t forward = 0;
    struct blank blank;
    PangoGlyphItemIter at;
    double from = 0;

    if (!find_blank(d, layout, &blank))
        return;
    cairo_save(d->cairo);
    cairo_set_scaled_font(d->cairo, pango_cairo_font_get_scaled_font(PANGO_CAIRO_FONT(blank.font)));
    for (gboolean more = pango_glyph_item_iter_init_start(&at, run, text); more;
         more = pango_glyph_item_iter_next_cluster(&at)) {
        cairo_text_cluster_t cluster = {at.end_index - at.start_index, 1};
        int step = at.end_glyph > at.start_glyph ? 1 : -1; /* from right to left */

        draw_letters_place(d, &blank, x + from / PANGO_SCALE, y);
        for (int i = at.start_glyph; i != at.end_glyph; i += step)
            from += run->glyphs->glyphs[i].geometry.width;
        cairo_show_text_glyphs(d->cairo, text + at.start_index, cluster.num_bytes, &blank.glyph, 1,
            &cluster, 1, forward);
    }
    cairo_restore(d->cairo);
    g_object_unref(blank.font);
}

void letters_line(struct drawing *d, PangoLayoutLine *line, double x, double y)
{
    double from = x;

    for (GSList *l = d->vector ? line->runs : NULL; l; l = l->next) {
        PangoGlyphItem *run = l->data;

        if (run->item->analysis.font && is_colored(run->item->analysis.font))
            put_blanks(d, line->layout, run, x, y);
        x += pango_glyph_string_get_width(run->glyphs) / (double)PANGO_SCALE;
    }
    cairo_move_to(d->cairo, from, y);
    pango_cairo_show_layout_line(d->cairo, line);
    cairo_new_path(d->cairo);
}

void letters_all(struct drawing *d, PangoLayout *layout, double x, double y)
{
    PangoLayoutIter *iter = pango_layout_get_iter(layout);

    do {
        double base = pango_layout_iter_get_baseline(iter) / (double)PANGO_SCALE;
        PangoRectangle box;

        pango_layout_iter_get_line_extents(iter, NULL, &box);
        letters_line(d, pango_layout_iter_get_line_readonly(iter), x + box.x / (double)PANGO_SCALE,
            y + base);
    } while (pango_layout_iter_next_line(iter));
    pango_layout_iter_free(iter);
}

/* ---- letters that are missing ---- */

/* Returns the first letter of a line that no font has; 0: there is none. */
static gunichar first_unknown(PangoLayoutLine *line)
{
    for (GSList *l = line->runs; l; l = l->next) {
        PangoGlyphString *glyphs = ((PangoGlyphItem *)l->data)->glyphs;

        for (int i = 0; i < glyphs->num_glyphs; i++) {
            if (glyphs->glyphs[i].glyph & PANGO_GLYPH_UNKNOWN_FLAG &&
                glyphs->glyphs[i].glyph != PANGO_GLYPH_EMPTY)
                return glyphs->glyphs[i].glyph & ~PANGO_GLYPH_UNKNOWN_FLAG;
        }
    }
    return 0;
}

void letters_check(
    struct drawing *d, const struct element *e, const char *what, PangoLayout *layout)
{
    int unknown = pango_layout_get_unknown_glyphs_count(layout);
    gunichar first = 0;

    for (GSList *l = pango_layout_get_lines_readonly(layout); unknown && l && !first; l = l->next)
        first = first_unknown(l->data);
    if (unknown)
        report_warning(d, e, what, "text.font_missing_glyph",
            "no font of the server has %d of its letters; the first is U+%04X", unknown, first);
}
