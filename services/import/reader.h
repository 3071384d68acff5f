/* reader.h - the insides of an import, shared by its files. Private to services/import.
 *
 *   import.c     opening, the way of a row          import_detect.c  format by content
 *   import_csv.c import_text.c CSV records                        headers.c columns from the
 *   header row
 *   jsonrows.c   objects of JSON files              object.c  cells into a JSON object
 *   sheet.c      rows that a `sheet` cell reads     fields.c  fields of a resource
 *   import_aliases.c other names of columns */
#ifndef WHARF_IMPORT_READER_H
#define WHARF_IMPORT_READER_H

#include "import/import_csv.h"
#include "import/problem.h"

struct cell_run;

/* a member of the row's object, or of an object inside; children in the order of the file */
struct import_node {
    wharf_str key;
    bool array; /* children are elements, by number */
    int column; /* -1: an object or array of children */
    struct import_source *sources; /* by rank; NULL: the column alone fills the field */
    /* of a field beside: it gets the first text of those sources of `main` that name it, and that
     * `main` has not taken */
    const char *beside;
    const struct import_node *main;
    struct import_node *child, *next, *last;
};

enum { IMPORT_PARTS_MAX = 8 };

/* The columns that together make one of several texts for a field. */
struct import_source {
    unsigned rank;
    size_t n;
    int columns[IMPORT_PARTS_MAX];
    unsigned char parts[IMPORT_PARTS_MAX];
    const char *beside;
    bool lost_told; /* warned that a row had no room for its text */
    struct import_source *next;
};

struct json_rows { /* objects of a JSON file */
    struct text *text;
    char *p;
    size_t at, n, cap;
    bool ended, array, any, closed;
    uint64_t line, column; /* of p[at] */
};

struct sheet_rows { /* rows of a `sheet` cell */
    struct cell_run *run;
    wharf_str block;
    size_t at;
    bool ended;
    wharf_str name;
};

/* why a cell is not taken */
enum cell_fault { CELL_GOOD, CELL_SHEET_ERROR, CELL_NO_VALUE, CELL_CONTROL, CELL_ROUNDED };

struct import {
    struct arena *arena; /* lives as long as the import */
    struct arena *row; /* of the current row */
    struct import_options options;
    struct bytes bytes;
    struct text text;
    enum import_format format;
    struct csv csv;
    struct json_rows json;
    struct sheet_rows sheet;
    struct import_problem problem;
    bool ended, any;
    struct import_column *columns;
    size_t n_columns;
    struct import_node *root; /* NULL in JSON files */
    struct import_warning *warnings;
    size_t n_warnings;
    bool nameless_told; /* warned of a column without header */
    /* the current row, before its cells are made good */
    wharf_str cells[IMPORT_COLUMNS_MAX];
    unsigned char cell_fault[IMPORT_COLUMNS_MAX]; /* enum cell_fault */
    size_t n_cells;
    uint64_t row_number;
    struct buf out;
};

/* Detects the format. declared: the encoding that somebody told, "" or NULL: none. Returns
 * IMPORT_AUTO after a problem. */
enum import_format detect_format(
    const struct bytes *b, const char *declared, struct import_problem *problem);

/* Reads the next record into in->cells. Returns 1, 0 at the end, -1 after a problem. */
int csv_row(struct import *in);
int sheet_row(struct import *in);
bool sheet_open(struct import *in);
void sheet_close(struct import *in);

bool json_rows_open(struct json_rows *j, struct text *text, struct import_problem *problem);
void json_rows_close(struct json_rows *j);
/* Reads the next object as it stands in the file, checked; good until the next call. Returns 1, 0
 * at the end, -1 after a problem. */
int json_rows_next(struct json_rows *j, struct arena *a, wharf_str *ret_object, uint64_t *ret_line,
    struct import_problem *problem);

/* Reads the header row, which is in in->cells. Returns false after a problem. */
bool headers_read(struct import *in);
void import_warn(struct import *in, const char *code, wharf_str message);
wharf_str cell_clean(struct arena *a, wharf_str raw);

/* Writes in->cells as an object, in in->out. */
wharf_str object_write(struct import *in);
/* Returns the text that fills the field of a path in the current row, "" for none, and sets
 * *ret_column to (the first of) its columns, -1 for none. */
wharf_str object_text(struct import *in, wharf_str path, int *ret_column);

#endif
