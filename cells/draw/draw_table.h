/* draw_table.h - inside of tables: rows and cells (draw_rows.c), widths, pages and lines
 * (draw_table.c). */
#ifndef WHARF_CELL_DRAW_TABLE_H
#define WHARF_CELL_DRAW_TABLE_H

#include "draw.h"
#include "draw_flow.h"

enum {
    TABLE_COLUMNS_MAX = 50, /* columns of a table */
    TABLE_ROWS_MAX = 10000 /* rows of a table */
};

enum row_kind { ROW_HEAD, ROW_GROUP, ROW_BODY, ROW_FOOT, ROW_EMPTY };

struct table_cell {
    wharf_str text;
    /* what the text is made of when it says page or pages, else NULL: it is made again for each
     * page that shows it */
    const struct wharf_json *late;
    const struct draw_vars *vars; /* for that */
    PangoLayout *laid; /* the text as it was measured, for when it is drawn, or NULL */
    struct element *e; /* and its copies, instead of the text */
    double width, height; /* of these */
};

struct table_row {
    enum row_kind kind;
    unsigned number; /* of body rows, for stripes */
    double height;
    struct table_cell *cells; /* of ROW_GROUP and ROW_EMPTY: one, as wide as the table */
};

struct table_column {
    const struct wharf_json *json;
    PangoLayout *layout; /* lays out cells whose layout is not kept */
    double x, width;
    unsigned align, valign; /* 0, 1, 2; align 3: justified */
    struct color color;
    PangoFontDescription *font, *bold;
};

struct table {
    struct element *e;
    struct table_column columns[TABLE_COLUMNS_MAX];
    unsigned n_columns;
    struct table_row *rows; /* the first is the head when there is one */
    unsigned n_rows, n_laid;
    bool has_head, repeats_head, keeps_rows;
    double width, padding, least, size;
    double line; /* height of a line of text */
    double *tops; /* of rows; n_rows + 1 */
};

/* Makes a table of an element, without sizes. False: an error was told. */
bool table_make(struct drawing *d, struct element *e);
/* Makes the rows, with the variables in place. False: an error was told. */
bool rows_make(struct drawing *d, struct element *e, struct table *t);
/* Makes the text of a cell that is late, for the page that is drawn. */
void cell_again(struct drawing *d, struct table *t, struct table_cell *cell);
/* Computes the height of each row, now that the columns have widths. */
void rows_measure(struct drawing *d, struct table *t);
/* Lays out the text of a cell, `width` points wide. Returns the cell's own layout when it has one,
 * else the column's, which is valid until the next call. */
PangoLayout *cell_lay_out(
    struct table *t, const struct table_row *row, unsigned column, double width);

#endif
