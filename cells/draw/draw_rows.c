/* draw_rows.c - rows of a table: the head, groups, what the data say, totals; see draw_table.h. */
#include <math.h>
#include <string.h>

#include "draw.h"
#include "draw_table.h"
#include "util/str.h"

struct making {
    struct drawing *d;
    struct element *e;
    struct table *t;
    unsigned room;
};

static struct table_row *draw_rows_add_row(struct making *m, enum row_kind kind, unsigned cells)
{
    struct table_row *row;

    if (m->t->n_rows == m->room) {
        struct table_row *more = ARENA_ARRAY(m->d->arena, struct table_row, m->room * 2 + 64);

        if (m->t->n_rows)
            memcpy(more, m->t->rows, m->t->n_rows * sizeof(*more));
        m->t->rows = more;
        m->room = m->room * 2 + 64;
    }
    row = &m->t->rows[m->t->n_rows++];
    row->kind = kind;
    row->cells = ARENA_ARRAY(m->d->arena, struct table_cell, cells);
    for (unsigned i = 0; i < cells; i++)
        row->cells[i].text = str_z("");
    return row;
}

/* Puts the variables into the text of a cell: "" when the expression is wrong, which was told. That
 * it says page makes the cell late, not the table. v: may be NULL. */
static void draw_rows_set_text(struct drawing *d, struct element *e, struct table_cell *cell,
    const struct draw_vars *vars, const struct wharf_json *v)
{
    bool table_late = e->late;

    e->late = false;
    cell->text = value_as_text(d->arena, v ? expand_value(d, e, vars, v, NULL) : NULL);
    cell->late = e->late ? v : NULL;
    cell->vars = vars;
    e->late = table_late;
}

void cell_again(struct drawing *d, struct table *t, struct table_cell *cell)
{
    if (cell->late)
        draw_rows_set_text(d, t->e, cell, cell->vars, cell->late);
}

/* ---- the rows of the data ---- */

static const struct wharf_json *draw_rows_find_rows(struct making *m)
{
    const struct wharf_json *rows = json_get(m->e->written, "rows");
    struct draw_eval eval = expand_eval(m->d, m->e->vars);

    if (json_is(rows, JSON_STRING)) {
        rows = expr_value(&eval, rows->text);
        if (!rows) {
            report_error(m->d, m->e, "expression.invalid", "rows: %s", eval.wrong);
            return NULL;
        }
        if (rows->type == JSON_NULL)
            report_warning(m->d, m->e, "rows", "variable.missing", "there is no list for rows");
    }
    if (rows && rows->type != JSON_NULL && rows->type != JSON_ARRAY) {
        report_error(m->d, m->e, "expression.invalid", "rows is no list");
        return NULL;
    }
    if (json_is(rows, JSON_ARRAY) && rows->count > TABLE_ROWS_MAX) {
        report_complex(m->d, "a table has more than 10,000 rows");
        return NULL;
    }
    return json_is(rows, JSON_ARRAY) ? rows : &value_null;
}

static struct draw_vars *row_variable(
    struct making *m, const struct draw_vars *up, const char *name, const struct wharf_json *value)
{
    struct draw_vars *v = ARENA_NEW(m->d->arena, struct draw_vars);

    *v = (struct draw_vars){up, str_z(name), value};
    return v;
}

static void add_body(struct making *m, const struct draw_vars *vars, unsigned number)
{
    struct table_row *row = draw_rows_add_row(m, ROW_BODY, m->t->n_columns);
    struct table_cell *cells = row->cells;

    row->number = number;
    for (unsigned i = 0; i < m->t->n_columns && !m->e->failed; i++) {
        const struct wharf_json *json = m->t->columns[i].json, *element = json_get(json, "element");

        if (json_is(element, JSON_OBJECT))
            cells[i].e = expand_member(m->d, element,
                arena_printf(
                    m->d->arena, "%.*s.columns.%u.element#%u", STR_ARG(m->e->path), i, number),
                vars);
        else
            draw_rows_set_text(m->d, m->e, &cells[i], vars, json_get(json, "value"));
    }
}

/* Adds a line above the first row of a group. last: the value of the row before, or NULL. */
static const struct wharf_json *add_group(
    struct making *m, const struct draw_vars *vars, const struct wharf_json *last)
{
    wharf_str by = json_text_or(m->e->written, "group_by", "");
    const struct wharf_json *head = json_get(m->e->written, "group_header"), *value;
    struct draw_eval eval = expand_eval(m->d, vars);
    struct table_row *row;

    if (!by.n)
        return NULL;
    value = expr_value(&eval, by);
    if (!value) {
        report_error(m->d, m->e, "expression.invalid", "group_by: %s", eval.wrong);
        return NULL;
    }
    if (value->type == JSON_NULL && eval.lost.n)
        value = value_at(vars->value, by) ? value_at(vars->value, by) : value; /* of the row */
    if (last && value_equal(last, value))
        return value;
    row = draw_rows_add_row(m, ROW_GROUP, 1);
    if (json_is(head, JSON_STRING))
        draw_rows_set_text(m->d, m->e, &row->cells[0], row_variable(m, vars, "group", value), head);
    else
        row->cells[0].text = value_as_text(m->d->arena, value);
    return value;
}

static void add_bodies(struct making *m, const struct wharf_json *rows)
{
    const struct wharf_json *group = NULL;
    unsigned i = 0;

    for (const struct wharf_json *r = rows->child; r && !m->e->failed && report_goes_on(m->d);
         r = r->next, i++) {
        const struct draw_vars *vars = row_variable(
            m, m->e->vars, "i", value_number(m->d->arena, i));

        vars = row_variable(m, vars, "row", r);
        group = add_group(m, vars, group);
        add_body(m, vars, i);
    }
}

static void add_feet(struct making *m)
{
    const struct wharf_json *feet = json_get(m->e->written, "footer_rows");

    for (const struct wharf_json *f = json_is(feet, JSON_ARRAY) ? feet->child : NULL; f;
         f = f->next) {
        struct table_row *row = draw_rows_add_row(m, ROW_FOOT, m->t->n_columns);
        unsigned i = 0;

        for (const struct wharf_json *c = f->child; c && i < m->t->n_columns; c = c->next, i++)
            draw_rows_set_text(m->d, m->e, &row->cells[i], m->e->vars, c);
    }
}

static void add_head(struct making *m)
{
    struct table_row *row;
    bool said = false;

    for (unsigned i = 0; i < m->t->n_columns; i++)
        said = said || json_text_or(m->t->columns[i].json, "header", "").n;
    m->t->has_head = said;
    if (!said)
        return;
    row = draw_rows_add_row(m, ROW_HEAD, m->t->n_columns);
    for (unsigned i = 0; i < m->t->n_columns; i++)
        draw_rows_set_text(
            m->d, m->e, &row->cells[i], m->e->vars, json_get(m->t->columns[i].json, "header"));
}

bool rows_make(struct drawing *d, struct element *e, struct table *t)
{
    struct making m = {d, e, t, 0};
    const struct wharf_json *rows = draw_rows_find_rows(&m);

    if (!rows)
        return false;
    add_head(&m);
    if (rows->child)
        add_bodies(&m, rows);
    else if (el_text(e, "empty", "").n)
        draw_rows_add_row(&m, ROW_EMPTY, 1)->cells[0].text = el_text(e, "empty", "");
    add_feet(&m);
    return !e->failed && !d->complex;
}

/* ---- heights ---- */

PangoLayout *cell_lay_out(
    struct table *t, const struct table_row *row, unsigned column, double width)
{
    static const PangoAlignment aligns[] = {
        PANGO_ALIGN_LEFT, PANGO_ALIGN_CENTER, PANGO_ALIGN_RIGHT, PANGO_ALIGN_LEFT};
    const struct table_column *c = &t->columns[column];
    const struct table_cell *cell = &row->cells[column];
    PangoLayout *layout = cell->laid ? cell->laid : c->layout;
    bool whole = row->kind == ROW_GROUP || row->kind == ROW_EMPTY;

    pango_layout_set_font_description(
        layout, row->kind == ROW_BODY || row->kind == ROW_EMPTY ? c->font : c->bold);
    pango_layout_set_width(layout, (int)(fmax(width, 1) * PANGO_SCALE));
    pango_layout_set_alignment(layout, whole ? PANGO_ALIGN_LEFT : aligns[c->align]);
    pango_layout_set_justify(layout, !whole && c->align == 3);
    pango_layout_set_text(layout, cell->text.p, (int)cell->text.n);
    return layout;
}

/* Gives a cell a layout of its own, so that its letters are chosen and placed once and not again
 * when it is drawn; most of what a table takes is that. A layout takes some 2 KiB, so only short
 * texts of the first cells have one. */
static void keep_layout(
    struct drawing *d, struct table *t, struct table_cell *cell, unsigned column)
{
    enum { LAID_MAX = 8192, LAID_TEXT_MAX = 256 };
    PangoLayout *like = t->columns[column].layout;

    if (cell->laid || cell->late || t->n_laid == LAID_MAX || cell->text.n > LAID_TEXT_MAX)
        return;
    cell->laid = pango_layout_new(d->pango);
    pango_layout_set_attributes(cell->laid, pango_layout_get_attributes(like));
    pango_layout_set_wrap(cell->laid, pango_layout_get_wrap(like));
    t->n_laid++;
}

/* Measures the element of a cell, and its copies. Returns how far down they reach. */
static double element_height(
    struct drawing *d, struct table *t, struct table_cell *cell, double width)
{
    double bottom = 0;

    cell->width = 0;
    for (struct element *e = cell->e; e; e = e->next) {
        /* text is wrapped in the column; others have the width that they say */
        e->flow_width = e->kind->measure == text_measure ? width : 0;
        if (!element_measure(d, e))
            continue;
        cell->width = fmax(cell->width, e->x - cell->e->x + e->width);
        bottom = fmax(bottom, e->y + e->height);
    }
    if (cell->width > width + 0.01)
        report_warning(d, t->e, "", "table.cell_overflow",
            "an element is %g pt wide, its column has %g pt inside", cell->width, width);
    cell->height = bottom;
    return bottom;
}

static double cell_height(struct drawing *d, struct table *t, struct table_row *row, unsigned i)
{
    struct table_cell *cell = &row->cells[i];
    bool whole = row->kind == ROW_GROUP || row->kind == ROW_EMPTY;
    double width = (whole ? t->width : t->columns[i].width) - 2 * t->padding;
    int w, h;

    if (cell->e)
        return element_height(d, t, cell, width);
    if (!cell->text.n)
        return 0;
    keep_layout(d, t, cell, i);
    pango_layout_get_size(cell_lay_out(t, row, i, width), &w, &h);
    if (w > width * PANGO_SCALE + 10)
        report_warning(d, t->e, "", "table.cell_overflow", "a word is wider than its column");
    return h / (double)PANGO_SCALE;
}

void rows_measure(struct drawing *d, struct table *t)
{
    t->tops = ARENA_ARRAY(d->arena, double, t->n_rows + 1);
    for (unsigned r = 0; r < t->n_rows && report_goes_on(d); r++) {
        struct table_row *row = &t->rows[r];
        bool whole = row->kind == ROW_GROUP || row->kind == ROW_EMPTY;
        double height = t->size * 1.2;

        for (unsigned i = 0; i < (whole ? 1 : t->n_columns); i++)
            height = fmax(height, cell_height(d, t, row, i));
        row->height = fmax(height + 2 * t->padding, t->least);
        t->tops[r + 1] = t->tops[r] + row->height;
    }
}
