/* draw_layout.c - which element stands on which page
 * (docs/spec/05-documents-and-templates.md section 9.5), see draw.h.
 *
 * Elements have a place on a canvas. When all of them begin above the page's height there is one
 * page, and nothing moves. Else page 1 shows the canvas down to its bottom margin, and each next
 * page what follows, between its margins; an element that would be cut moves down with all below
 * it, and one that is higher than a page is cut. `page` pins an element to a page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "draw.h"
#include "draw_flow.h"
#include "util/str.h"

#define NEAR 0.01 /* points that do not count */

struct placing {
    struct drawing *d;
    struct layout *l;
    struct element **all; /* that flow over pages, from the top */
    unsigned *order;
    size_t n;
    double first, cap; /* heights of what is shown of page 1, and of the others */
};

struct piece *layout_add(struct drawing *d, struct layout *l, struct element *e, unsigned page)
{
    struct piece *p;

    if (l->n == l->room) {
        l->room = l->room * 2 + 64;
        l->pieces = cell_realloc(l->pieces, l->room * sizeof(*l->pieces));
    }
    if (page > PAGES_MAX) {
        report_complex(d, "it has more than 500 pages");
        page = PAGES_MAX;
    }
    p = &l->pieces[l->n++];
    *p = (struct piece){.e = e, .page = page, .order = l->order, .step = (unsigned)l->n};
    l->pages = page > l->pages ? page : l->pages;
    return p;
}

/* Returns how far its box reaches when it is turned. way: 1 down, -1 up. */
static double draw_layout_reach(const struct element *e, double way)
{
    double turn = el_number(e, "rotate", 0) * M_PI / 180, most = -INFINITY;

    for (int i = 0; i < 4; i++) {
        double x = e->box_x - e->x + (i & 1 ? e->width : 0);
        double y = e->box_y - e->y + (i & 2 ? e->height : 0);

        most = fmax(most, way * (x * sin(turn) + y * cos(turn)));
    }
    return e->y + way * most;
}

double layout_top(const struct element *e)
{
    return draw_layout_reach(e, -1);
}

double layout_bottom(const struct element *e)
{
    return draw_layout_reach(e, 1);
}

/* ---- the canvas ---- */

/* Finds the page (0: the first) of a height on the canvas. */
static unsigned page_at(const struct placing *p, double y)
{
    double beyond = floor((y - p->first + NEAR) / p->cap);

    return y < p->first - NEAR ? 0 : 1 + (unsigned)fmin(fmax(beyond, 0), PAGES_MAX);
}

/* Returns where on the canvas a page ends. */
static double end_of(const struct placing *p, unsigned page)
{
    return p->first + page * p->cap;
}

static double on_page(const struct placing *p, unsigned page, double y)
{
    return page ? p->d->top + y - end_of(p, page - 1) : y;
}

/* Puts the lines of a text that is higher than a page on one page after the other. */
static void split_text(struct placing *p, struct element *e, unsigned order, double y)
{
    unsigned lines = text_lines(e), from = 0;
    double advance = text_advance(e);

    while (from < lines && !p->d->complex) {
        unsigned page = page_at(p, y);
        unsigned fit = (unsigned)fmax(floor((end_of(p, page) - y + NEAR) / advance), 0);
        struct piece *piece;

        if (!fit && y <= end_of(p, page) - p->cap + NEAR)
            fit = 1; /* a line that is higher than a page */
        if (fit) {
            piece = layout_add(p->d, p->l, e, page + 1);
            piece->dy = on_page(p, page, y) - e->y;
            piece->from = from;
            piece->to = from + fit < lines ? from + fit : lines;
            piece->order = order;
            from = piece->to;
        }
        y = end_of(p, page);
    }
}

static void draw_layout_place(struct placing *p, struct element *e, unsigned order, double y)
{
    unsigned page = page_at(p, y);
    double bottom = y + layout_bottom(e) - e->y;
    bool cut = bottom > end_of(p, page) + NEAR;
    struct piece *piece;

    if (cut && e->kind->measure == text_measure && text_lines(e) > 1 &&
        el_number(e, "rotate", 0) == 0) {
        split_text(p, e, order, y);
        return;
    }
    piece = layout_add(p->d, p->l, e, page + 1);
    piece->dy = on_page(p, page, y) - e->y;
    piece->clip = cut ? on_page(p, page, end_of(p, page)) : 0;
    piece->order = order;
}

static const struct placing *sorted; /* for by_place: the process has one thread */

static int draw_layout_by_place(const void *x, const void *y)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    double p = sorted->all[a]->y, q = sorted->all[b]->y;

    return p != q ? (p > q) - (p < q) : (a > b) - (a < b);
}

/* Tells whether an element of these, which begin at the same height, would be cut at the end of
 * the page, and has room on the next. */
static bool must_move(const struct placing *p, const size_t *some, size_t n, double y, double end)
{
    for (size_t i = 0; i < n; i++) {
        const struct element *e = p->all[some[i]];
        double height = layout_bottom(e) - e->y;

        if (y + height > end + NEAR && height <= p->cap + NEAR)
            return true;
    }
    return false;
}

static bool place_canvas(struct placing *p)
{
    size_t *by = ARENA_ARRAY(p->d->arena, size_t, p->n + 1);
    double moved = 0;

    for (size_t i = 0; i < p->n; i++)
        by[i] = i;
    sorted = p;
    if (p->n > 1)
        qsort(by, p->n, sizeof(*by), draw_layout_by_place);
    for (size_t i = 0, n; i < p->n && report_goes_on(p->d); i += n) {
        double y = p->all[by[i]]->y + moved, end = end_of(p, page_at(p, y));

        for (n = 1; i + n < p->n && p->all[by[i + n]]->y - p->all[by[i]]->y < NEAR; n++)
            ;
        if (must_move(p, by + i, n, y, end)) {
            moved += end - y;
            y = end;
        }
        for (size_t k = i; k < i + n; k++)
            draw_layout_place(
                p, p->all[by[k]], p->order[by[k]], y + p->all[by[k]]->y - p->all[by[i]]->y);
    }
    return !p->d->complex;
}

/* ---- all elements ---- */

static int by_page(const void *x, const void *y)
{
    const struct piece *a = x, *b = y;

    if (a->page != b->page)
        return (a->page > b->page) - (a->page < b->page);
    if (a->order != b->order)
        return (a->order > b->order) - (a->order < b->order);
    if (a->below != b->below)
        return b->below - a->below;
    if (a->step != b->step)
        return (a->step > b->step) - (a->step < b->step);
    return (a->from > b->from) - (a->from < b->from);
}

/* Returns the page that an element is pinned to; 0: none. */
static unsigned pinned(struct drawing *d, struct element *e)
{
    double page = el_number(e, "page", 0);

    if (!el_has(e, "page"))
        return 0;
    if (page < 1 || page > PAGES_MAX || page != floor(page)) {
        report_error(d, e, "expression.invalid", "page is a whole number from 1 to %d", PAGES_MAX);
        return 0;
    }
    return (unsigned)page;
}

/* Tells whether it has no place of its own from the start. */
static bool is_flowing(const struct element *e)
{
    return e->kind->place || json_is(json_get(e->written, "after"), JSON_STRING);
}

/* Tells whether one of the elements begins below the page. */
static bool is_long(struct drawing *d, struct element *first)
{
    for (struct element *e = first; e; e = e->next) {
        if (!el_has(e, "page") && !is_flowing(e) && e->y >= d->page_height)
            return true;
    }
    return false;
}

/* Finds where the flow or table with an id ended. */
static const struct element *element_named(const struct element *first, wharf_str id)
{
    for (const struct element *e = first; e; e = e->next) {
        if (str_eq(json_text_or(e->written, "id", ""), id))
            return e;
    }
    return NULL;
}

/* Finds where an element that flows begins. False: it has no place, which was told. */
static bool find_start(
    struct placing *p, struct element *first, struct element *e, struct cursor *ret)
{
    wharf_str after = json_text_or(e->written, "after", "");
    const struct element *before = after.n ? element_named(first, after) : NULL;
    unsigned page = pinned(p->d, e);

    if (!after.n) {
        page = page ? page : page_at(p, e->y) + 1;
        *ret = (struct cursor){
            page, el_has(e, "page") || page == 1 ? e->y : on_page(p, page - 1, e->y)};
        return !e->failed;
    }
    if (!before || !before->end_page)
        return report_error(p->d, e, "element.after",
            "after names \"%.*s\", which is no flow or table before it", STR_ARG(after));
    *ret = (struct cursor){before->end_page, before->end_y + el_number(e, "y", 0)};
    return true;
}

/* Places what flows, in the order of the array: each may stand below another. */
static void place_flowing(struct placing *p, struct element *first)
{
    struct drawing *d = p->d;
    unsigned order = 0;

    for (struct element *e = first; e && report_goes_on(d); e = e->next, order++) {
        struct cursor c = {0};

        if (e->failed || !is_flowing(e) || !find_start(p, first, e, &c))
            continue;
        p->l->order = order;
        if (e->kind->place)
            e->kind->place(d, p->l, e, &c, e->x, fmax(d->page_width - d->right - e->x, 1));
        else if (element_measure(d, e))
            flow_block(d, p->l, e, &c, 0);
        e->end_page = c.page;
        e->end_y = c.y;
    }
}

bool layout_make(struct drawing *d, struct element *first, struct layout *ret)
{
    struct placing p = {.d = d,
        .l = ret,
        .first = d->page_height - d->bottom,
        .cap = fmax(d->page_height - d->bottom - d->top, 1)};
    bool many = is_long(d, first) && p.cap > 1;
    unsigned order = 0;

    *ret = (struct layout){.pages = 1};
    p.all = ARENA_ARRAY(d->arena, struct element *, d->elements + 1);
    p.order = ARENA_ARRAY(d->arena, unsigned, d->elements + 1);
    for (struct element *e = first; e && report_goes_on(d); e = e->next, order++) {
        unsigned page = pinned(d, e);

        if (e->failed || is_flowing(e))
            continue;
        if (!many || page) {
            layout_add(d, ret, e, page ? page : 1)->order = order;
        } else if (element_measure(d, e)) {
            p.order[p.n] = order;
            p.all[p.n++] = e;
        }
    }
    if (many)
        place_canvas(&p);
    place_flowing(&p, first);
    if (ret->n > 1)
        qsort(ret->pieces, ret->n, sizeof(*ret->pieces), by_page);
    return !d->complex;
}
