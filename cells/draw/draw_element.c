/* draw_element.c - one element on the page: its kind, turning, opacity, link; lines, rectangles
 * and ellipses; see draw.h. */
#include <math.h>
#include <string.h>

#include "draw.h"
#include "draw_flow.h"
#include "util/str.h"

/* ---- where it stands ---- */

void to_page(struct drawing *d, double *x, double *y)
{
    cairo_user_to_device(d->cairo, x, y);
    cairo_matrix_transform_point(&d->to_page, x, y);
}

void from_page(struct drawing *d, double *x, double *y)
{
    cairo_matrix_t back = d->to_page;

    cairo_matrix_invert(&back);
    cairo_matrix_transform_point(&back, x, y);
    cairo_device_to_user(d->cairo, x, y);
}

/* Tells whether a part of its box is on the page. A box of no width or height is a line. */
static bool is_on_page(struct drawing *d, const struct element *e)
{
    double left = INFINITY, top = INFINITY, right = -INFINITY, bottom = -INFINITY;

    for (int i = 0; i < 4; i++) {
        double x = e->box_x + (i & 1 ? e->width : 0), y = e->box_y + (i & 2 ? e->height : 0);

        to_page(d, &x, &y);
        left = fmin(left, x);
        right = fmax(right, x);
        top = fmin(top, y);
        bottom = fmax(bottom, y);
    }
    return left < d->page_width && top < d->page_height && right >= 0 && bottom >= 0 &&
           (right > 0 || right == left) && (bottom > 0 || bottom == top);
}

void elements_done(struct element *first)
{
    for (struct element *e = first; e; e = e->next) {
        elements_done(e->child);
        if (e->kind->done && e->measured)
            e->kind->done(e);
    }
}

bool element_measure(struct drawing *d, struct element *e)
{
    if (e->failed)
        return false;
    if (!e->measured) {
        e->box_x = e->x;
        e->box_y = e->y;
        e->measured = e->kind->measure(d, e);
    }
    return e->measured;
}

/* ---- link, opacity ---- */

/* Begins what leads to a page of the web, in a PDF. */
static bool begin_link(struct drawing *d, struct element *e)
{
    wharf_str to = el_text(e, "link", "");
    struct buf attributes;

    if (!to.n || !d->vector)
        return false;
    if (!str_starts(to, "https://")) {
        report_warning(d, e, "link", "element.link", "a link begins with https://");
        return false;
    }
    buf_init(&attributes, 8192);
    buf_addz(&attributes, "uri='");
    for (size_t i = 0; i < to.n; i++) {
        bool plain = to.p[i] > ' ' && to.p[i] < 0x7f && !strchr("'\\()<>", to.p[i]);

        if (plain)
            buf_addc(&attributes, to.p[i]);
        else
            buf_addf(&attributes, "%%%02X", (unsigned)(unsigned char)to.p[i]);
    }
    buf_addz(&attributes, "'");
    if (!attributes.failed) {
        /* without a tag of structure around it cairo names a tree that it does not write */
        cairo_tag_begin(d->cairo, "P", NULL);
        cairo_tag_begin(d->cairo, CAIRO_TAG_LINK, attributes.p);
    } else {
        report_warning(d, e, "link", "element.link", "a link has at most 8 KB");
    }
    to.n = attributes.failed ? 0 : to.n;
    buf_done(&attributes);
    return to.n > 0;
}

static bool draw_faded(struct drawing *d, struct element *e)
{
    double opacity = el_number(e, "opacity", 1);
    bool drawn;

    if (!(opacity < 1))
        return e->kind->draw(d, e);
    cairo_push_group(d->cairo);
    drawn = e->kind->draw(d, e);
    cairo_pop_group_to_source(d->cairo);
    if (drawn)
        cairo_paint_with_alpha(d->cairo, fmax(opacity, 0));
    return drawn;
}

/* Cuts it off at the page's end, and to the lines that belong here. */
static void draw_element_cut(struct drawing *d, struct element *e, const struct piece *piece)
{
    if (piece->clip > 0) {
        cairo_rectangle(d->cairo, -SIDE_MAX, -SIDE_MAX, 3.0 * SIDE_MAX, SIDE_MAX + piece->clip);
        cairo_clip(d->cairo);
    }
    cairo_translate(d->cairo, piece->dx, piece->dy);
    if (piece->to && e->kind->draw == text_draw)
        text_part(e, piece->from, piece->to);
}

bool element_draw(struct drawing *d, struct element *e, const struct piece *piece)
{
    double turn = el_number(e, "rotate", 0);
    bool drawn, linked;

    if (e->waits && !e->failed && !expand_wanted(d, e))
        return !e->failed;
    if (e->failed || !report_goes_on(d) || (e->late && !expand_again(d, e)))
        return false;
    e->piece = piece;
    cairo_save(d->cairo);
    drawn = element_measure(d, e);
    if (drawn && piece)
        draw_element_cut(d, e, piece);
    if (turn != 0) {
        cairo_translate(d->cairo, e->x, e->y);
        cairo_rotate(d->cairo, turn * M_PI / 180);
        cairo_translate(d->cairo, -e->x, -e->y);
    }
    if (drawn && !is_on_page(d, e))
        drawn = report_error(d, e, "element.outside_page",
            "it is wholly outside of the page, which is %g by %g pt", d->page_width,
            d->page_height);
    if (drawn) {
        linked = begin_link(d, e);
        drawn = draw_faded(d, e);
        if (linked) {
            cairo_tag_end(d->cairo, CAIRO_TAG_LINK);
            cairo_tag_end(d->cairo, "P");
        }
    }
    cairo_restore(d->cairo);
    if (drawn && !e->counted && !e->kind->is_frame) {
        e->counted = true;
        d->report.rendered++;
        d->report.total += e->waits;
    }
    return drawn;
}

/* ---- shapes ---- */

static double thickness(const struct element *e, double fallback)
{
    return fmin(fmax(el_number(e, "thickness", fallback), 0), 50);
}

bool shape_measure(struct drawing *d, struct element *e)
{
    e->width = fmax(el_number(e, "width", 0), 0);
    e->height = fmax(el_number(e, "height", 0), 0);
    return true;
}

bool line_measure(struct drawing *d, struct element *e)
{
    double dx = el_number(e, "width", 0), dy = el_has(e, "width") ? 0 : el_number(e, "height", 0);

    if (el_has(e, "x2") || el_has(e, "y2")) {
        /* a repeat moves both ends */
        dx = el_number(e, "x2", el_number(e, "x", 0)) - el_number(e, "x", 0);
        dy = el_number(e, "y2", el_number(e, "y", 0)) - el_number(e, "y", 0);
    }
    e->box_x = fmin(e->x, e->x + dx);
    e->box_y = fmin(e->y, e->y + dy);
    e->width = fabs(dx);
    e->height = fabs(dy);
    return true;
}

static void set_dash(struct drawing *d, struct element *e)
{
    const struct wharf_json *dash = json_get(e->json, "dash");
    double lengths[16], sum = 0;
    int n = 0;

    for (const struct wharf_json *c = json_is(dash, JSON_ARRAY) ? dash->child : NULL; c && n < 16;
         c = c->next) {
        if (!value_as_number(c, &lengths[n]) || lengths[n] < 0)
            return;
        sum += lengths[n++];
    }
    if (sum > 0)
        cairo_set_dash(d->cairo, lengths, n, 0);
}

bool line_draw(struct drawing *d, struct element *e)
{
    static const char *const caps[] = {"butt", "round", "square", NULL};
    int cap = el_word(d, e, "cap", caps, 0);
    double x2 = el_number(e, "x2", 0) - el_number(e, "x", 0) + e->x;
    double y2 = el_number(e, "y2", 0) - el_number(e, "y", 0) + e->y;

    if (cap < 0 || !color_set(d, e, "color", "#000000"))
        return false;
    if (!el_has(e, "x2"))
        x2 = e->x + (el_has(e, "y2") ? 0 : el_number(e, "width", 0));
    if (!el_has(e, "y2"))
        y2 = e->y + (el_has(e, "x2") || el_has(e, "width") ? 0 : el_number(e, "height", 0));
    cairo_set_line_width(d->cairo, fmax(thickness(e, 1), 0.1));
    cairo_set_line_cap(d->cairo, cap == 1   ? CAIRO_LINE_CAP_ROUND
                                 : cap == 2 ? CAIRO_LINE_CAP_SQUARE
                                            : CAIRO_LINE_CAP_BUTT);
    set_dash(d, e);
    cairo_move_to(d->cairo, e->x, e->y);
    cairo_line_to(d->cairo, x2, y2);
    cairo_stroke(d->cairo);
    return true;
}

/* Fills and outlines the path that stands. Without either it is outlined in its color. */
static bool draw_element_paint(struct drawing *d, struct element *e)
{
    bool fill = el_has(e, "fill"), stroke = el_has(e, "stroke") || !fill;

    if (fill && !color_set(d, e, "fill", "#000000"))
        return false;
    if (fill && stroke)
        cairo_fill_preserve(d->cairo);
    else if (fill)
        cairo_fill(d->cairo);
    if (stroke) {
        if (!color_set(d, e, el_has(e, "stroke") ? "stroke" : "color", "#000000"))
            return false;
        cairo_set_line_width(d->cairo, thickness(e, 1));
        set_dash(d, e);
        cairo_stroke(d->cairo);
    }
    return true;
}

bool rect_draw(struct drawing *d, struct element *e)
{
    double r = fmin(fmax(el_number(e, "radius", 0), 0), fmin(e->width, e->height) / 2);
    double x = e->box_x, y = e->box_y, w = e->width, h = e->height;
    cairo_t *c = d->cairo;

    cairo_new_path(c);
    if (r > 0) {
        cairo_arc(c, x + w - r, y + r, r, -M_PI / 2, 0);
        cairo_arc(c, x + w - r, y + h - r, r, 0, M_PI / 2);
        cairo_arc(c, x + r, y + h - r, r, M_PI / 2, M_PI);
        cairo_arc(c, x + r, y + r, r, M_PI, 3 * M_PI / 2);
        cairo_close_path(c);
    } else {
        cairo_rectangle(c, x, y, w, h);
    }
    return draw_element_paint(d, e);
}

bool ellipse_draw(struct drawing *d, struct element *e)
{
    cairo_matrix_t before;

    if (e->width < LEAST_SCALE || e->height < LEAST_SCALE)
        return report_error(d, e, "expression.invalid", "width and height are above 0");
    cairo_get_matrix(d->cairo, &before);
    cairo_new_path(d->cairo);
    cairo_translate(d->cairo, e->box_x + e->width / 2, e->box_y + e->height / 2);
    cairo_scale(d->cairo, e->width / 2, e->height / 2);
    cairo_arc(d->cairo, 0, 0, 1, 0, 2 * M_PI);
    cairo_close_path(d->cairo);
    cairo_set_matrix(d->cairo, &before);
    return draw_element_paint(d, e);
}

bool path_draw(struct drawing *d, struct element *e)
{
    cairo_new_path(d->cairo);
    cairo_append_path(d->cairo, e->made);
    return draw_element_paint(d, e);
}

/* ---- groups ---- */

static bool group_measure(struct drawing *d, struct element *e)
{
    double right = 0, bottom = 0;

    for (struct element *c = e->child; c; c = c->next) {
        if (!element_measure(d, c))
            continue;
        right = fmax(right, c->box_x + c->width);
        bottom = fmax(bottom, c->box_y + c->height);
    }
    e->width = fmax(el_number(e, "width", right), 0);
    e->height = fmax(el_number(e, "height", bottom), 0);
    return true;
}

static bool group_draw(struct drawing *d, struct element *e)
{
    if (el_truth(e, "clip", false)) {
        cairo_rectangle(d->cairo, e->box_x, e->box_y, e->width, e->height);
        cairo_clip(d->cairo);
    }
    cairo_translate(d->cairo, e->x, e->y);
    for (struct element *c = e->child; c; c = c->next)
        element_draw(d, c, NULL);
    return true;
}

/* ---- all kinds ---- */

static const struct element_kind kinds[] = {{"text", text_measure, text_draw, text_done},
    {"page_number", text_measure, text_draw, text_done},
    {"table", table_measure, table_draw, table_done, false, table_place},
    {"flow", flow_measure, flow_draw, NULL, true, flow_place},
    {"spacer", spacer_measure, nothing_draw, NULL, true},
    {"page_break", break_measure, nothing_draw, NULL, true},
    {"code128", barcode_measure, barcode_draw, barcode_done},
    {"qr", barcode_measure, barcode_draw, barcode_done},
    {"matrix", barcode_measure, barcode_draw, barcode_done},
    {"barcode", barcode_measure, barcode_draw, barcode_done},
    {"line", line_measure, line_draw, NULL}, {"rect", shape_measure, rect_draw, NULL},
    {"ellipse", shape_measure, ellipse_draw, NULL}, {"path", path_measure, path_draw, path_done},
    {"image", image_measure, image_draw, NULL}, {"svg", svg_measure, image_draw, NULL},
    {"group", group_measure, group_draw, NULL, true}};

const struct element_kind *kind_of(wharf_str type)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eqz(type, kinds[i].type))
            return &kinds[i];
    }
    return NULL;
}
