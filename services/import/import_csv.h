/* import_csv.h - records of CSV text. Private to services/import. Rules: docs/spec/10-batches.md
 * section 9, 'Records' and 'Delimiter'. */
#ifndef WHARF_IMPORT_IMPORT_CSV_H
#define WHARF_IMPORT_IMPORT_CSV_H

#include "import/import_text.h"

struct csv_cell {
    char *p; /* in the buffer, ended by NUL */
    uint32_t n;
    bool quoted, doubled; /* doubled: had quotes inside; private */
};

struct csv {
    struct text *text;
    char delimiter;
    bool ended; /* the text has no more */
    char *p; /* buffer */
    size_t at, n, cap;
    uint64_t line; /* of the record that comes next, 1-based */
    /* marks of the 64 bytes at mark_at: delimiter, quote, CR, LF */
    uint64_t marks;
    size_t mark_at;
    struct csv_cell cells[IMPORT_COLUMNS_MAX];
    size_t n_cells;
    uint64_t record_line; /* of the last record */
};

/* Opens a CSV text, which is borrowed. delimiter 0: found, by a first line sep=X or by the first
 * records. */
bool csv_open(struct csv *c, struct text *text, char delimiter, struct import_problem *problem);
void csv_close(struct csv *c);
/* Reads the next record that is not blank. Returns 1: it is in cells; 0: the end; -1: problem. */
int csv_next(struct csv *c, struct import_problem *problem);

#endif
