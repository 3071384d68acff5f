/* draw_table.c - tables: widths of columns, rows over pages, lines
 * (docs/spec/05-documents-and-templates.md section 9.5); see draw.h. Leaves to others: what is in
 * the rows (draw_rows.c).
 *
 * A row is cut where it is higher than a page, or keep_rows is false: between its lines. A head
 * does not stand alone at the end of a page, nor does the line of a group, and totals have a row
 * above them. */
#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "draw_table.h"
#include "util/str.h"

#define NEAR 0.01
enum { AUTO_ROWS = 200 }; /* rows that an `auto` column looks at */

/* ---- columns ---- */

static bool column_style(
    struct drawing *d, struct element *e, struct table *t, struct table_column *c)
{
    static const char *const aligns[] = {"left", "center", "right", "justify", NULL};
    static const char *const valigns[] = {"top", "middle", "bottom", "center", NULL};
    static const char *const weights[] = {"regular", "light", "medium", "semibold", "bold", NULL};
    static const PangoWeight values[] = {PANGO_WEIGHT_NORMAL, PANGO_WEIGHT_LIGHT,
        PANGO_WEIGHT_MEDIUM, PANGO_WEIGHT_SEMIBOLD, PANGO_WEIGHT_BOLD};
    struct element own = *e;
    const char *family = fonts_family(d, el_text(e, "font_family", "inter"));
    PangoAttrList *attributes;
    int align, valign, weight;

    own.json = c->json;
    align = el_word(d, &own, "align", aligns, 0);
    valign = el_word(d, &own, "valign", valigns, 0);
    weight = el_word(d, &own, "weight", weights, 0);
    if (align < 0 || valign < 0 || weight < 0)
        return false;
    if (!family || !color_read(el_text(&own, "color", el_text(e, "color", "#000000").p), &c->color))
        return report_error(
            d, e, "expression.invalid", "a column has a font or color that is none");
    c->align = (unsigned)align;
    c->valign = valign == 3 ? 1 : (unsigned)valign;
    c->font = pango_font_description_new();
    pango_font_description_set_family(c->font, family);
    pango_font_description_set_weight(c->font, values[weight]);
    pango_font_description_set_absolute_size(c->font, t->size * PANGO_SCALE);
    c->bold = pango_font_description_copy(c->font);
    pango_font_description_set_weight(c->bold, PANGO_WEIGHT_SEMIBOLD);
    c->layout = pango_layout_new(d->pango);
    attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(FALSE));
    pango_layout_set_attributes(c->layout, attributes);
    pango_attr_list_unref(attributes);
    pango_layout_set_wrap(c->layout, PANGO_WRAP_WORD_CHAR);
    return true;
}

/* Finds how wide the longest text of a column is. */
static double natural_width(struct table *t, unsigned column)
{
    size_t longest = 0;
    double width = t->size;

    for (unsigned r = 0; r < t->n_rows; r++) {
        const struct table_row *row = &t->rows[r];

        if (row->kind != ROW_GROUP && row->kind != ROW_EMPTY && row->cells[column].text.n > longest)
            longest = row->cells[column].text.n;
    }
    for (unsigned r = 0, looked = 0; r < t->n_rows && looked < AUTO_ROWS; r++) {
        const struct table_row *row = &t->rows[r];
        PangoLayout *layout;
        int w, h;

        /* of many rows those with long texts */
        if (row->kind == ROW_GROUP || row->kind == ROW_EMPTY ||
            (t->n_rows > AUTO_ROWS && row->kind == ROW_BODY &&
                row->cells[column].text.n + 2 < longest))
            continue;
        looked++;
        layout = cell_lay_out(t, row, column, 1);
        pango_layout_set_width(layout, -1);
        pango_layout_get_size(layout, &w, &h);
        width = fmax(width, w / (double)PANGO_SCALE);
    }
    return width + 2 * t->padding + 0.5;
}

/* Gives each column its width: those that say it, then by content, then what is left. */
static void set_widths(struct table *t)
{
    double left = t->width, shares[TABLE_COLUMNS_MAX] = {0}, all = 0, automatic = 0, x = 0;

    for (unsigned i = 0; i < t->n_columns; i++) {
        const struct element c = {.json = t->columns[i].json};
        wharf_str said = el_text(&c, "width", "1fr");

        t->columns[i].width = 0;
        if (str_ends(said, "fr"))
            shares[i] = fmax(strtod(said.p, NULL), 0.001);
        else if (str_eqz(said, "auto"))
            automatic += t->columns[i].width = natural_width(t, i);
        else
            left -= t->columns[i].width = fmax(el_number(&c, "width", 0), 1);
        all += shares[i];
    }
    for (unsigned i = 0; i < t->n_columns; i++) {
        const struct element c = {.json = t->columns[i].json};

        /* columns by content shrink together where there is no room */
        if (str_eqz(el_text(&c, "width", ""), "auto") && automatic > left)
            t->columns[i].width *= fmax(left, 1) / automatic;
    }
    left = fmax(left - fmin(automatic, fmax(left, 0)), 0);
    for (unsigned i = 0; i < t->n_columns; i++) {
        if (shares[i] > 0)
            t->columns[i].width = fmax(left * shares[i] / all, 1);
        t->columns[i].x = x;
        x += t->columns[i].width;
    }
    t->width = x;
}

static bool draw_table_read_columns(struct drawing *d, struct element *e, struct table *t)
{
    const struct wharf_json *columns = json_get(e->written, "columns");

    if (!json_is(columns, JSON_ARRAY) || !columns->count || columns->count > TABLE_COLUMNS_MAX)
        return report_error(d, e, "expression.invalid", "columns has 1 to %d", TABLE_COLUMNS_MAX);
    for (const struct wharf_json *c = columns->child; c; c = c->next) {
        struct table_column *column = &t->columns[t->n_columns++];

        column->json = c;
        if (!column_style(d, e, t, column))
            return false;
    }
    return true;
}

static struct table *draw_table_of(struct element *e)
{
    return e->made;
}

bool table_make(struct drawing *d, struct element *e)
{
    struct table *t = ARENA_NEW(d->arena, struct table);

    e->made = t;
    t->e = e;
    t->size = fmin(fmax(el_number(e, "font_size", 10), 1), 500);
    t->padding = fmax(el_number(e, "padding", 3), 0);
    t->least = fmax(el_number(e, "row_height", 0), 0);
    t->width = el_number(
        e, "width", e->flow_width > 0 ? e->flow_width : d->page_width - d->right - e->x);
    t->keeps_rows = el_truth(e, "keep_rows", true);
    t->repeats_head = el_truth(e, "header_repeat", true);
    if (t->width < 1)
        return report_error(d, e, "element.outside_page", "the table has no width");
    if (draw_table_read_columns(d, e, t) && rows_make(d, e, t))
        return true;
    table_done(e);
    return false;
}

bool table_measure(struct drawing *d, struct element *e)
{
    PangoFontMetrics *m;
    struct table *t;

    if (!table_make(d, e))
        return false;
    t = draw_table_of(e);
    m = pango_context_get_metrics(d->pango, t->columns[0].font, NULL);
    t->line = (pango_font_metrics_get_ascent(m) + pango_font_metrics_get_descent(m)) /
              (double)PANGO_SCALE;
    pango_font_metrics_unref(m);
    set_widths(t);
    rows_measure(d, t);
    e->width = t->width;
    e->height = t->tops[t->n_rows];
    if (d->complex)
        table_done(e);
    return !d->complex;
}

void table_done(struct element *e)
{
    struct table *t = draw_table_of(e);

    for (unsigned i = 0; t && i < t->n_columns; i++) {
        pango_font_description_free(t->columns[i].font);
        pango_font_description_free(t->columns[i].bold);
        if (t->columns[i].layout)
            g_object_unref(t->columns[i].layout);
    }
    for (unsigned r = 0; t && r < t->n_rows; r++) {
        bool whole = t->rows[r].kind == ROW_GROUP || t->rows[r].kind == ROW_EMPTY;

        for (unsigned i = 0; i < (whole ? 1 : t->n_columns); i++) {
            elements_done(t->rows[r].cells[i].e);
            g_clear_object(&t->rows[r].cells[i].laid);
        }
    }
    e->made = NULL;
    e->measured = false;
}

/* ---- pages ---- */

/* Returns the height of the rows that must stand together from a row on. */
static double together(const struct table *t, unsigned row)
{
    double height = t->rows[row].height;

    while (
        row + 1 < t->n_rows && (t->rows[row].kind == ROW_GROUP || t->rows[row].kind == ROW_HEAD ||
                                   t->rows[row + 1].kind == ROW_FOOT))
        height += t->rows[++row].height;
    return height;
}

static double head_height(const struct table *t)
{
    return t->has_head ? t->rows[0].height : 0;
}

/* A table on its way over pages. */
struct passage {
    struct drawing *d;
    struct layout *l;
    struct element *e;
    struct table *t;
    struct cursor *c;
    double x;
    unsigned from; /* the first row that is not on a page yet */
    bool fresh; /* nothing of it is on this page */
};

/* Returns the height of the head that is repeated above the next rows of this page. */
static double head_due(const struct passage *p)
{
    return p->fresh && p->from && p->t->has_head && p->t->repeats_head ? head_height(p->t) : 0;
}

static struct piece *draw_table_add_part(struct passage *p, unsigned to)
{
    struct piece *piece = layout_add(p->d, p->l, p->e, p->c->page);

    piece->dx = p->x - p->e->x;
    piece->dy = p->c->y - p->e->y;
    piece->from = p->from;
    piece->to = to;
    piece->goes_on = !p->fresh;
    return piece;
}

/* Puts the rows before this one on the page. */
static void draw_table_put_rows(struct passage *p, unsigned row)
{
    if (row == p->from)
        return;
    draw_table_add_part(p, row);
    p->c->y += head_due(p) + p->t->tops[row] - p->t->tops[p->from];
    p->from = row;
    p->fresh = false;
}

static void turn_page(struct passage *p)
{
    flow_next_page(p->d, p->c);
    p->fresh = true;
}

/* Puts the next row on pages, cut between its lines. */
static void split_row(struct passage *p)
{
    struct table *t = p->t;
    double left = t->rows[p->from].height, skip = 0;

    while (left > NEAR && report_goes_on(p->d)) {
        double room = flow_room(p->d, p->c) - head_due(p), first = skip > 0 ? 0 : t->padding;
        double lines = fmax(floor((room - first + NEAR) / t->line), 0);
        double show = left <= room + NEAR ? left : first + lines * t->line;
        struct piece *piece;

        if (show < first + t->line - NEAR && show < left && !p->fresh) {
            turn_page(p);
            continue;
        }
        show = fmin(fmax(show, fmin(t->line, left)), left);
        piece = draw_table_add_part(p, p->from + 1);
        piece->skip = skip;
        piece->show = show;
        p->c->y += head_due(p) + show;
        p->fresh = false;
        skip += show;
        left -= show;
        if (left > NEAR)
            turn_page(p);
    }
    p->from++;
}

/* Tells whether a row that has no room here is cut: where no page has room for it, or it may be. */
static bool is_cut(const struct passage *p, unsigned row, double room, double page)
{
    const struct table *t = p->t;

    if (t->rows[row].height > page + NEAR)
        return true;
    return !t->keeps_rows && t->rows[row].kind == ROW_BODY && room >= t->padding + t->line;
}

void table_place(struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x,
    double width)
{
    struct passage p = {d, l, e, NULL, c, x, 0, true};
    unsigned row = 0;

    e->flow_width = width;
    if (!element_measure(d, e))
        return;
    p.t = draw_table_of(e);
    while (row < p.t->n_rows && report_goes_on(d)) {
        double block = together(p.t, row), page = d->page_height - d->top - d->bottom;
        double used = head_due(&p) + p.t->tops[row] - p.t->tops[p.from];
        double room = flow_room(d, c) - used;

        page -= row && p.t->has_head && p.t->repeats_head ? head_height(p.t) : 0;
        if (block > page + NEAR)
            block = p.t->rows[row].height; /* they can't stand together anywhere */
        if (block <= room + NEAR) {
            row++;
        } else if (is_cut(&p, row, room, page)) {
            draw_table_put_rows(&p, row);
            split_row(&p);
            row = p.from;
        } else {
            draw_table_put_rows(&p, row);
            turn_page(&p);
        }
    }
    draw_table_put_rows(&p, row);
    c->y = fmin(c->y, d->page_height - d->bottom);
}

/* ---- drawing ---- */

struct border {
    bool all, rows, outer;
};

static void draw_text(struct drawing *d, struct table *t, const struct table_row *row, unsigned i,
    double y, double width)
{
    const struct table_column *c = &t->columns[i];
    double room = row->height - 2 * t->padding;
    PangoLayout *layout = row->cells[i].laid;
    int w, h;

    cell_again(d, t, &row->cells[i]);
    if (!row->cells[i].text.n)
        return;
    if (!layout)
        layout = cell_lay_out(t, row, i, width - 2 * t->padding);
    pango_layout_get_size(layout, &w, &h);
    cairo_save(d->cairo);
    if (h > (room + 1) * PANGO_SCALE || w > (width - 2 * t->padding) * PANGO_SCALE + 10) {
        cairo_rectangle(d->cairo, t->e->x + c->x, y, width, row->height);
        cairo_clip(d->cairo);
    }
    cairo_set_source_rgba(d->cairo, c->color.r, c->color.g, c->color.b, c->color.a);
    letters_all(d, layout, t->e->x + c->x + t->padding,
        y + t->padding + (room - h / (double)PANGO_SCALE) * c->valign / 2);
    cairo_restore(d->cairo);
    letters_check(d, t->e, "", layout);
}

/* Tells whether the part of a row that is drawn now has some of an element. by: how much lower it
 * stands in the row than it says. */
static bool is_shown(const struct table *t, const struct element *e, double by)
{
    const struct piece *piece = t->e->piece;
    double top = by + layout_top(e), bottom = by + layout_bottom(e);

    return !piece || piece->show <= 0 ||
           (top < piece->skip + piece->show && (bottom > piece->skip || top >= piece->skip));
}

static void draw_cell(
    struct drawing *d, struct table *t, const struct table_row *row, unsigned i, double y)
{
    const struct table_column *c = &t->columns[i];
    const struct table_cell *cell = &row->cells[i];
    double inner = c->width - 2 * t->padding, x = t->e->x + c->x + t->padding, top;

    if (!cell->e) {
        draw_text(d, t, row, i, y, c->width);
        return;
    }
    x += fmax(inner - cell->width, 0) * (c->align == 3 ? 0 : c->align) / 2;
    top = t->padding + fmax(row->height - 2 * t->padding - cell->height, 0) * c->valign / 2;
    for (struct element *e = cell->e; e; e = e->next) {
        if (!element_measure(d, e) || !is_shown(t, e, top))
            continue;
        cairo_save(d->cairo);
        cairo_translate(d->cairo, x - (e->box_x - e->x), y + top);
        element_draw(d, e, NULL);
        cairo_restore(d->cairo);
    }
}

/* Fills every other row. */
static bool draw_stripe(struct drawing *d, struct table *t, const struct table_row *row, double y)
{
    const struct wharf_json *zebra = json_get(t->e->json, "zebra");
    struct color c = {0.95, 0.95, 0.95, 1};

    if (row->kind != ROW_BODY || row->number % 2 == 0 || !value_truth(zebra) ||
        (json_is(zebra, JSON_STRING) && str_eqz(zebra->text, "false")))
        return true;
    if (json_is(zebra, JSON_STRING) && !str_eqz(zebra->text, "true") &&
        !color_read(zebra->text, &c))
        return report_error(d, t->e, "expression.invalid", "zebra is no color");
    cairo_set_source_rgba(d->cairo, c.r, c.g, c.b, c.a);
    cairo_rectangle(d->cairo, t->e->x, y, t->width, row->height);
    cairo_fill(d->cairo);
    return true;
}

static bool draw_row(
    struct drawing *d, struct table *t, const struct table_row *row, double y, struct border b)
{
    bool whole = row->kind == ROW_GROUP || row->kind == ROW_EMPTY;

    if (!draw_stripe(d, t, row, y))
        return false;
    if (whole)
        draw_text(d, t, row, 0, y, t->width);
    for (unsigned i = 0; !whole && i < t->n_columns; i++)
        draw_cell(d, t, row, i, y);
    if (b.all || b.rows) {
        cairo_move_to(d->cairo, t->e->x, y + row->height);
        cairo_line_to(d->cairo, t->e->x + t->width, y + row->height);
    }
    for (unsigned i = 1; b.all && !whole && i < t->n_columns; i++) {
        cairo_move_to(d->cairo, t->e->x + t->columns[i].x, y);
        cairo_line_to(d->cairo, t->e->x + t->columns[i].x, y + row->height);
    }
    if (b.all || b.rows) {
        cairo_set_source_rgb(d->cairo, 0.6, 0.6, 0.6);
        cairo_set_line_width(d->cairo, row->kind == ROW_HEAD ? 1 : 0.5);
        cairo_stroke(d->cairo);
    }
    return true;
}

/* Draws those lines of a row that the piece has. */
static bool draw_part(
    struct drawing *d, struct table *t, const struct table_row *row, double y, struct border b)
{
    const struct piece *piece = t->e->piece;
    bool drawn;

    cairo_save(d->cairo);
    cairo_rectangle(d->cairo, t->e->x - 1, y, t->width + 2, piece->show + 0.5);
    cairo_clip(d->cairo);
    drawn = draw_row(d, t, row, y - piece->skip, b);
    cairo_restore(d->cairo);
    return drawn;
}

bool table_draw(struct drawing *d, struct element *e)
{
    static const char *const borders[] = {"rows", "all", "outer", "none", NULL};
    struct table *t = draw_table_of(e);
    int said = el_word(d, e, "border", borders, 0);
    struct border b = {said == 1, said == 0, said == 1 || said == 2};
    unsigned from = e->piece && e->piece->to ? e->piece->from : 0;
    unsigned to = e->piece && e->piece->to ? e->piece->to : t->n_rows;
    double y = e->y;

    if (said < 0)
        return false;
    if (from && t->has_head && t->repeats_head && !(e->piece && e->piece->goes_on)) {
        if (!draw_row(d, t, &t->rows[0], y, b))
            return false;
        y += t->rows[0].height;
    }
    if (e->piece && e->piece->show > 0) {
        if (!draw_part(d, t, &t->rows[from], y, b))
            return false;
        y += e->piece->show;
        from = to;
    }
    for (unsigned r = from; r < to && report_goes_on(d); r++) {
        if (!draw_row(d, t, &t->rows[r], y, b))
            return false;
        y += t->rows[r].height;
    }
    if (b.outer) {
        cairo_rectangle(d->cairo, e->x, e->y, t->width, y - e->y);
        cairo_set_source_rgb(d->cairo, 0.6, 0.6, 0.6);
        cairo_set_line_width(d->cairo, 0.75);
        cairo_stroke(d->cairo);
    }
    return true;
}
