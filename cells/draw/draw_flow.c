/* draw_flow.c - what goes on over pages: flows of elements one below the other, columns beside
 * each other, and what stands below the end of another (`after`)
 * (docs/spec/05-documents-and-templates.md section 9.5); see draw.h. Leaves to others: tables
 * (draw_table.c), elements with a place of their own (draw_layout.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "draw_flow.h"
#include "util/str.h"

#define NEAR 0.01

/* ---- the cursor ---- */

double flow_room(const struct drawing *d, const struct cursor *c)
{
    return d->page_height - d->bottom - c->y;
}

void flow_next_page(const struct drawing *d, struct cursor *c)
{
    c->page++;
    c->y = d->top;
}

bool flow_at_top(const struct drawing *d, const struct cursor *c)
{
    return c->y <= d->top + NEAR;
}

void flow_fit(const struct drawing *d, struct cursor *c, double height)
{
    if (height > flow_room(d, c) + NEAR && !flow_at_top(d, c))
        flow_next_page(d, c);
}

/* ---- one element of a flow ---- */

/* Puts the lines of a text on as many pages as they need. */
static void flow_text(
    struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x)
{
    unsigned lines = text_lines(e), from = 0;
    double advance = text_advance(e);

    while (from < lines && report_goes_on(d)) {
        unsigned fit = (unsigned)fmax(floor((flow_room(d, c) + NEAR) / advance), 0);
        struct piece *piece;

        if (!fit && !flow_at_top(d, c)) {
            flow_next_page(d, c);
            continue;
        }
        fit = fit ? fit : 1;
        piece = layout_add(d, l, e, c->page);
        piece->dx = x;
        piece->dy = c->y - e->y;
        piece->from = from;
        piece->to = from + fit < lines ? from + fit : lines;
        c->y += (piece->to - from) * advance;
        from = piece->to;
        if (from < lines)
            flow_next_page(d, c);
    }
}

/* Puts an element with a size at the cursor, on the next page when it has no room on this. */
void flow_block(struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x)
{
    double height = layout_bottom(e) - e->y, room;
    struct piece *piece;

    if (e->kind->measure == text_measure && text_lines(e) > 1 &&
        height > d->page_height - d->top - d->bottom) {
        flow_text(d, l, e, c, x);
        return;
    }
    flow_fit(d, c, height);
    room = flow_room(d, c);
    piece = layout_add(d, l, e, c->page);
    piece->dx = x;
    piece->dy = c->y - e->y;
    piece->clip = height > room + NEAR ? d->page_height - d->bottom : 0;
    c->y += fmin(height, fmax(room, 0));
}

/* ---- flows ---- */

static void flow_list(struct drawing *d, struct layout *l, struct element *first, struct cursor *c,
    double x, double width, double gap);

/* Divides the width of a flow among its columns. */
static void draw_flow_divide(
    struct drawing *d, struct element *flow, double width, double gap, double *ret)
{
    double shares = 0, left = width;
    size_t i = 0;

    for (struct element *e = flow->child; e; e = e->next, i++) {
        wharf_str said = el_text(e, "width", "1fr");
        bool share = !said.n || str_ends(said, "fr") || str_eqz(said, "auto");

        ret[i] = share ? -fmax(strtod(said.p, NULL), str_ends(said, "fr") ? 0.001 : 1)
                       : fmax(el_number(e, "width", 0), 0);
        shares += share ? -ret[i] : 0;
        left -= (share ? 0 : ret[i]) + (i ? gap : 0);
    }
    for (size_t k = 0; k < i; k++) {
        if (ret[k] < 0)
            ret[k] = fmax(left, 0) * -ret[k] / shares;
    }
}

static bool is_later(const struct cursor *a, const struct cursor *b)
{
    return a->page != b->page ? a->page > b->page : a->y > b->y;
}

static void flow_columns(struct drawing *d, struct layout *l, struct element *flow,
    struct cursor *c, double x, double width, double gap)
{
    double widths[FLOW_COLUMNS_MAX + 1];
    struct cursor furthest = *c;
    size_t n = 0;

    for (struct element *e = flow->child; e; e = e->next)
        n++;
    if (n > FLOW_COLUMNS_MAX) {
        report_error(d, flow, "expression.invalid", "columns has at most %d", FLOW_COLUMNS_MAX);
        return;
    }
    draw_flow_divide(d, flow, width, gap, widths);
    n = 0;
    for (struct element *e = flow->child; e; e = e->next, n++) {
        struct cursor own = *c;

        flow_list(d, l, e->child, &own, x, widths[n], gap);
        furthest = is_later(&own, &furthest) ? own : furthest;
        x += widths[n] + gap;
    }
    *c = furthest;
}

/* Adds what is seen of the flow itself, its ground and its border, on each page. */
static void flow_ground(struct drawing *d, struct layout *l, struct element *e,
    const struct cursor *from, const struct cursor *to, double x, double width)
{
    if (!el_has(e, "background") && !el_has(e, "border"))
        return;
    for (unsigned page = from->page; page <= to->page && report_goes_on(d); page++) {
        double top = page == from->page ? from->y : d->top;
        double bottom = page == to->page ? to->y : d->page_height - d->bottom;
        struct piece *piece = layout_add(d, l, e, page);

        piece->dx = x - e->x;
        piece->dy = top - e->y;
        piece->width = width;
        piece->height = fmax(bottom - top, 0);
        piece->below = true;
    }
}

static void flow_once(struct drawing *d, struct layout *l, struct element *e, struct cursor *c,
    double x, double width)
{
    double padding = fmax(el_number(e, "padding", 0), 0), gap = fmax(el_number(e, "gap", 0), 0);
    struct cursor from = *c;

    c->y += padding;
    if (json_is(json_get(e->written, "columns"), JSON_ARRAY))
        flow_columns(d, l, e, c, x + padding, width - 2 * padding, gap);
    else
        flow_list(d, l, e->child, c, x + padding, width - 2 * padding, gap);
    c->y += padding;
    flow_ground(d, l, e, &from, c, x, width);
}

void flow_place(struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x,
    double width)
{
    const struct cursor begin = *c;
    const size_t n = l->n;
    const unsigned pages = l->pages;
    bool keep = el_truth(e, "keep_together", false) && !flow_at_top(d, c);

    width = el_number(e, "width", width);
    flow_once(d, l, e, c, x, width);
    if (!keep || c->page == begin.page || !report_goes_on(d))
        return;
    l->n = n;
    l->pages = pages;
    *c = begin;
    flow_next_page(d, c);
    flow_once(d, l, e, c, x, width);
    if (c->page == begin.page + 1)
        return;
    l->n = n; /* it has no room on any page */
    l->pages = pages;
    *c = begin;
    flow_once(d, l, e, c, x, width);
}

static void flow_one(struct drawing *d, struct layout *l, struct element *e, struct cursor *c,
    double x, double width)
{
    if (e->kind->place) {
        e->kind->place(d, l, e, c, x + el_number(e, "x", 0), width - el_number(e, "x", 0));
        return;
    }
    if (e->kind->measure == spacer_measure) {
        c->y = fmin(c->y + fmax(el_number(e, "height", 0), 0), d->page_height - d->bottom);
        return;
    }
    if (e->kind->measure == break_measure) {
        flow_next_page(d, c);
        return;
    }
    if (e->kind->measure == text_measure)
        e->flow_width = fmax(width - el_number(e, "x", 0), 1);
    if (element_measure(d, e))
        flow_block(d, l, e, c, x);
}

static void flow_list(struct drawing *d, struct layout *l, struct element *first, struct cursor *c,
    double x, double width, double gap)
{
    for (struct element *e = first; e && report_goes_on(d); e = e->next) {
        c->y += el_number(e, "y", 0);
        flow_one(d, l, e, c, x, width);
        c->y += e->next ? gap : 0;
    }
}

/* ---- kinds ---- */

bool flow_measure(struct drawing *d, struct element *e)
{
    e->width = el_number(e, "width", 0);
    return true;
}

bool flow_draw(struct drawing *d, struct element *e)
{
    if (!e->piece)
        return true;
    cairo_rectangle(d->cairo, e->x, e->y, e->piece->width, e->piece->height);
    if (el_has(e, "background")) {
        if (!color_set(d, e, "background", "#ffffff"))
            return false;
        cairo_fill_preserve(d->cairo);
    }
    if (el_has(e, "border")) {
        if (!color_set(d, e, "border", "#000000"))
            return false;
        cairo_set_line_width(d->cairo, 0.75);
        cairo_stroke(d->cairo);
    }
    cairo_new_path(d->cairo);
    return true;
}

bool spacer_measure(struct drawing *d, struct element *e)
{
    e->height = fmax(el_number(e, "height", 0), 0);
    return true;
}

bool break_measure(struct drawing *d, struct element *e)
{
    return true;
}

bool nothing_draw(struct drawing *d, struct element *e)
{
    return true;
}
