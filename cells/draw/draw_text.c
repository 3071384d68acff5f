/* draw_text.c - text: shaping, wrapping and fallback by pango, lines placed by us; see draw.h for
 * where they stand. */
#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "draw.h"
#include "util/str.h"

enum {
    LINES_MAX = 20000, /* lines of one text */
    SHRINK_STEPS = 60,
    SPACING_MAX = 1000 /* points between letters */
};

struct text_made {
    PangoLayout *layout;
    double size, ascent, natural; /* of the font; natural: from line to line */
    double advance;
    unsigned lines, from, to; /* that are drawn */
    double inner, block; /* width of the widest line, height of all lines */
    double limit; /* width; 0: none */
    double padding, top; /* top: of the first line in the box */
    double box_height; /* 0: as high as the lines */
    unsigned align; /* 0 left, 1 center, 2 right, 3 justify */
    bool cut; /* a line is wider than the limit */
};

/* ---- the font ---- */

static PangoWeight draw_text_weight_of(
    struct drawing *d, struct element *e, const struct element *from)
{
    static const char *const words[] = {"regular", "light", "medium", "semibold", "bold", NULL};
    static const PangoWeight weights[] = {PANGO_WEIGHT_NORMAL, PANGO_WEIGHT_LIGHT,
        PANGO_WEIGHT_MEDIUM, PANGO_WEIGHT_SEMIBOLD, PANGO_WEIGHT_BOLD};
    wharf_str said = el_text(from, from == e ? "font_weight" : "weight", "regular");

    for (int i = 0; words[i]; i++) {
        if (str_eqz(said, words[i]))
            return weights[i];
    }
    report_error(d, e, "expression.invalid", "there is no font weight %.*s",
        (int)(said.n < 40 ? said.n : 40), said.p);
    return PANGO_WEIGHT_NORMAL;
}

static PangoFontDescription *font_of(struct drawing *d, struct element *e, double size)
{
    wharf_str name = el_text(e, "font_family", "inter");
    const char *family = fonts_family(d, name);
    PangoFontDescription *font;

    if (!family) {
        report_error(d, e, "expression.invalid", "there is no font %.*s",
            (int)(name.n < 60 ? name.n : 60), name.p);
        return NULL;
    }
    font = pango_font_description_new();
    pango_font_description_set_family(font, family);
    pango_font_description_set_weight(font, draw_text_weight_of(d, e, e));
    pango_font_description_set_style(
        font, el_truth(e, "italic", false) ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL);
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    return font;
}

static void measure_font(struct drawing *d, struct text_made *t, const PangoFontDescription *font)
{
    PangoFontMetrics *m = pango_context_get_metrics(d->pango, font, NULL);

    t->ascent = pango_font_metrics_get_ascent(m) / (double)PANGO_SCALE;
    t->natural = t->ascent + pango_font_metrics_get_descent(m) / (double)PANGO_SCALE;
    pango_font_metrics_unref(m);
}

/* ---- what is written ---- */

static void add_attribute(PangoAttrList *list, PangoAttribute *a, size_t from, size_t to)
{
    a->start_index = (guint)from;
    a->end_index = (guint)to;
    pango_attr_list_insert(list, a);
}

static void span_attributes(struct drawing *d, struct element *e, const struct element *span,
    PangoAttrList *list, size_t from, size_t to)
{
    struct color c;

    if (el_has(span, "weight"))
        add_attribute(list, pango_attr_weight_new(draw_text_weight_of(d, e, span)), from, to);
    if (el_has(span, "size"))
        add_attribute(list,
            pango_attr_size_new_absolute(
                (int)(fmin(fmax(el_number(span, "size", 12), 0.5), 1000) * PANGO_SCALE)),
            from, to);
    if (!el_has(span, "color"))
        return;
    if (!color_read(el_text(span, "color", ""), &c)) {
        report_error(d, e, "expression.invalid", "the color of a span is none");
        return;
    }
    add_attribute(list,
        pango_attr_foreground_new(
            (guint16)(c.r * 65535), (guint16)(c.g * 65535), (guint16)(c.b * 65535)),
        from, to);
    if (c.a < 1)
        add_attribute(list, pango_attr_foreground_alpha_new((guint16)(c.a * 65535)), from, to);
}

/* Writes the text of spans one after the other, and how each looks. */
static wharf_str take_spans(struct drawing *d, struct element *e, PangoAttrList *list)
{
    const struct wharf_json *spans = json_get(e->json, "spans");
    struct buf all;
    wharf_str made;

    buf_init(&all, 1 << 20);
    for (const struct wharf_json *s = spans->child; s; s = s->next) {
        const struct element span = {.json = s};
        size_t from = all.n;

        buf_adds(&all, value_as_text(d->arena, json_get(s, "value")));
        span_attributes(d, e, &span, list, from, all.n);
    }
    made = arena_dup_str(d->arena, buf_str(&all));
    buf_done(&all);
    return made;
}

/* Makes one line of a text: what ends a line becomes a blank. */
static wharf_str draw_text_one_line(struct arena *a, wharf_str s)
{
    wharf_str made;

    if (!memchr(s.p, '\n', s.n) && !memchr(s.p, '\r', s.n))
        return s;
    made = arena_dup_str(a, s);
    for (size_t i = 0; i < made.n; i++) {
        if (made.p[i] == '\n' || made.p[i] == '\r')
            ((char *)made.p)[i] = ' ';
    }
    return made;
}

/* Tells whether it may have several lines: where it says so, or how many, or in a flow. */
static bool wraps(const struct element *e)
{
    return el_truth(e, "wrap",
        e->flow_width > 0 || el_number(e, "max_lines", 1) >= 2 || el_has(e, "box_height"));
}

static void draw_text_set_text(struct drawing *d, struct element *e, struct text_made *t)
{
    PangoAttrList *list = pango_attr_list_new();
    /* pango adds the widths of letters as int, in steps of 1/1024 pt */
    double spacing = fmin(fmax(el_number(e, "letter_spacing", 0), -SPACING_MAX), SPACING_MAX);
    wharf_str said;

    if (json_is(json_get(e->json, "spans"), JSON_ARRAY))
        said = take_spans(d, e, list);
    else if (str_eqz(el_text(e, "type", ""), "page_number") && !el_has(e, "value"))
        said = arena_printf(d->arena, "%u / %u", d->page ? d->page : 1, d->pages ? d->pages : 1);
    else
        said = value_as_text(d->arena, json_get(e->json, "value"));
    if (!wraps(e))
        said = draw_text_one_line(d->arena, said);
    pango_layout_set_text(t->layout, said.p, (int)said.n);
    pango_attr_list_insert(list, pango_attr_insert_hyphens_new(FALSE)); /* a number has none */
    if (el_truth(e, "underline", false))
        pango_attr_list_insert(list, pango_attr_underline_new(PANGO_UNDERLINE_SINGLE));
    if (el_truth(e, "strike", false))
        pango_attr_list_insert(list, pango_attr_strikethrough_new(TRUE));
    if (spacing != 0)
        pango_attr_list_insert(list, pango_attr_letter_spacing_new((int)(spacing * PANGO_SCALE)));
    pango_layout_set_attributes(t->layout, list);
    pango_attr_list_unref(list);
}

static void set_lines(struct element *e, struct text_made *t, double size, double max_lines)
{
    bool wrap = wraps(e), dots = el_truth(e, "ellipsis", false);

    if (t->limit > 0 && (wrap || dots || t->align == 3))
        pango_layout_set_width(t->layout, (int)(t->limit * PANGO_SCALE));
    pango_layout_set_wrap(t->layout, PANGO_WRAP_WORD_CHAR);
    if (!dots)
        return;
    pango_layout_set_ellipsize(t->layout, PANGO_ELLIPSIZE_END);
    if (wrap && max_lines < 1 && t->box_height > 0)
        max_lines = floor((t->box_height + 0.01) / t->advance);
    pango_layout_set_height(t->layout, wrap && max_lines >= 1 ? -(int)fmin(max_lines, 10000)
                                       : wrap                 ? -10000
                                                              : 0);
}

static void measure_lines(struct element *e, struct text_made *t, double max_lines)
{
    PangoLayoutIter *iter = pango_layout_get_iter(t->layout);
    unsigned lines = 0;

    t->inner = 0;
    do {
        PangoRectangle logical;

        pango_layout_line_get_extents(pango_layout_iter_get_line_readonly(iter), NULL, &logical);
        t->inner = fmax(t->inner, logical.width / (double)PANGO_SCALE);
        lines++;
    } while (lines < LINES_MAX && pango_layout_iter_next_line(iter));
    pango_layout_iter_free(iter);
    t->lines = max_lines >= 1 && lines > max_lines ? (unsigned)max_lines : lines;
    t->to = t->lines;
    t->block = t->natural + (t->lines - 1) * t->advance;
    t->cut = t->limit > 0 && t->inner > t->limit + 0.01;
}

/* Lays it out at a size. False: its error was told. */
static bool lay_out(struct drawing *d, struct element *e, struct text_made *t, double size)
{
    static const char *const directions[] = {"auto", "ltr", "rtl", NULL};
    static const PangoAlignment aligns[] = {
        PANGO_ALIGN_LEFT, PANGO_ALIGN_CENTER, PANGO_ALIGN_RIGHT, PANGO_ALIGN_LEFT};
    PangoFontDescription *font = font_of(d, e, size);
    int direction = el_word(d, e, "direction", directions, 0);
    double factor = el_number(e, "line_height", 0), max_lines = el_number(e, "max_lines", 0);

    if (!font)
        return false;
    if (!t->layout)
        t->layout = pango_layout_new(d->pango);
    pango_layout_set_auto_dir(t->layout, direction == 0);
    pango_context_set_base_dir(
        d->pango, direction == 2 ? PANGO_DIRECTION_RTL : PANGO_DIRECTION_LTR);
    pango_layout_context_changed(t->layout);
    pango_layout_set_font_description(t->layout, font);
    measure_font(d, t, font);
    pango_font_description_free(font);
    t->size = size;
    t->advance = factor > 0 ? fmin(fmax(factor, 0.8), 3) * size : t->natural;
    pango_layout_set_alignment(t->layout, aligns[t->align]);
    pango_layout_set_justify(t->layout, t->align == 3);
    draw_text_set_text(d, e, t);
    set_lines(e, t, size, max_lines);
    measure_lines(e, t, max_lines);
    return !e->failed;
}

/* ---- the box ---- */

static bool draw_text_fits(const struct text_made *t)
{
    return !t->cut && !pango_layout_is_ellipsized(t->layout) &&
           (t->box_height <= 0 || t->block <= t->box_height + 0.01);
}

/* Tries smaller sizes, down to the smallest, until it fits. */
static bool draw_text_shrink(struct drawing *d, struct element *e, struct text_made *t)
{
    double least = fmin(fmax(el_number(e, "shrink_to", 0), 1), t->size), step;

    step = fmax((t->size - least) / SHRINK_STEPS, 0.25);
    while (!draw_text_fits(t) && t->size > least && report_goes_on(d)) {
        if (!lay_out(d, e, t, fmax(t->size - step, least)))
            return false;
    }
    return true;
}

static bool draw_text_set_box(struct drawing *d, struct element *e, struct text_made *t)
{
    static const char *const valigns[] = {"top", "middle", "bottom", "center", NULL};
    int valign = el_word(d, e, "valign", valigns, 0);
    double free_height;

    if (valign < 0)
        return false;
    e->width = (t->limit > 0 ? t->limit : t->inner) + 2 * t->padding;
    e->height = (t->box_height > 0 ? t->box_height : t->block) + 2 * t->padding;
    free_height = t->box_height > 0 ? t->box_height - t->block : 0;
    t->top = valign == 2 ? free_height : valign ? free_height / 2 : 0;
    if (t->top < 0)
        t->top = 0;
    if (t->align == 1)
        e->box_x = e->x - e->width / 2;
    else if (t->align == 2)
        e->box_x = e->x - e->width;
    return true;
}

bool text_measure(struct drawing *d, struct element *e)
{
    static const char *const aligns[] = {"left", "center", "right", "justify", NULL};
    struct text_made *t = ARENA_NEW(d->arena, struct text_made);
    double size = el_number(e, "height", 12);
    int align = el_word(d, e, "align", aligns, 0);

    if (align < 0)
        return false;
    if (size < 0.5 || size > 2000)
        return report_error(d, e, "expression.invalid", "height is from 0.5 to 2000 pt");
    t->align = (unsigned)align;
    t->padding = fmax(el_number(e, "padding", 0), 0);
    t->limit = el_number(e, "width", e->flow_width);
    t->limit = t->limit > 0 ? fmax(t->limit - 2 * t->padding, 0.1) : 0;
    t->box_height = el_has(e, "box_height")
                        ? fmax(el_number(e, "box_height", 0) - 2 * t->padding, 0.1)
                        : 0;
    e->made = t;
    if (!lay_out(d, e, t, size) || (el_has(e, "shrink_to") && !draw_text_shrink(d, e, t)) ||
        !draw_text_set_box(d, e, t)) {
        text_done(e);
        return false;
    }
    letters_check(d, e, "value", t->layout);
    return true;
}

void text_done(struct element *e)
{
    struct text_made *t = e->made;

    if (t && t->layout)
        g_object_unref(t->layout);
    e->made = NULL;
    e->measured = false;
}

unsigned text_lines(const struct element *e)
{
    const struct text_made *t = e->made;

    return t->lines;
}

double text_advance(const struct element *e)
{
    const struct text_made *t = e->made;

    return t->advance;
}

void text_part(struct element *e, unsigned from, unsigned to)
{
    struct text_made *t = e->made;

    if (!t)
        return;
    t->from = from;
    t->to = to < t->lines ? to : t->lines;
}

/* ---- drawing ---- */

static bool draw_background(struct drawing *d, struct element *e, const struct text_made *t)
{
    double height = t->to - t->from == t->lines
                        ? e->height
                        : t->natural + (t->to - t->from - 1) * t->advance + 2 * t->padding;

    if (!el_has(e, "background"))
        return true;
    if (!color_set(d, e, "background", "#ffffff"))
        return false;
    cairo_rectangle(d->cairo, e->box_x, e->box_y, e->width, height);
    cairo_fill(d->cairo);
    return true;
}

/* Returns where a line begins. Without a width there is nothing that pango aligned it in. */
static double line_x(const struct element *e, const struct text_made *t, const PangoRectangle *r)
{
    double x = e->box_x + t->padding, width = r->width / (double)PANGO_SCALE;
    double room = e->width - 2 * t->padding;

    if (pango_layout_get_width(t->layout) > 0)
        return x + r->x / (double)PANGO_SCALE;
    if (t->align == 1)
        return x + (room - width) / 2;
    return t->align == 2 ? x + room - width : x;
}

bool text_draw(struct drawing *d, struct element *e)
{
    struct text_made *t = e->made;
    double y = e->box_y + t->padding + t->top + t->ascent;
    PangoLayoutIter *iter;
    unsigned i = 0;

    if (!draw_background(d, e, t) || !color_set(d, e, "color", "#000000"))
        return false;
    cairo_save(d->cairo);
    if (t->cut || (t->box_height > 0 && t->block > t->box_height + 0.01)) {
        cairo_rectangle(d->cairo, e->box_x, e->box_y, e->width, fmax(e->height, t->natural));
        cairo_clip(d->cairo);
    }
    iter = pango_layout_get_iter(t->layout);
    do {
        PangoRectangle logical;

        if (i < t->from)
            continue;
        pango_layout_iter_get_line_extents(iter, NULL, &logical);
        letters_line(d, pango_layout_iter_get_line_readonly(iter), line_x(e, t, &logical),
            y + (i - t->from) * t->advance);
    } while (++i < t->to && pango_layout_iter_next_line(iter));
    pango_layout_iter_free(iter);
    cairo_restore(d->cairo);
    return true;
}

void text_caption(struct drawing *d, const char *z, double x, double y, double width, double size)
{
    PangoLayout *layout = pango_layout_new(d->pango);
    PangoFontDescription *font = pango_font_description_new();
    int w, h;

    pango_font_description_set_family(font, fonts_family(d, WHARF_S("inter")));
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    pango_layout_set_font_description(layout, font);
    pango_layout_set_text(layout, z, -1);
    pango_layout_get_size(layout, &w, &h);
    if (w > width * PANGO_SCALE && w > 0) {
        pango_font_description_set_absolute_size(
            font, fmax(size * width * PANGO_SCALE / w, 0.5) * PANGO_SCALE);
        pango_layout_set_font_description(layout, font);
        pango_layout_get_size(layout, &w, &h);
    }
    letters_all(d, layout, x + (width - w / (double)PANGO_SCALE) / 2, y);
    pango_font_description_free(font);
    g_object_unref(layout);
}
