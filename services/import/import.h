/* import.h - rows of CSV, JSON and XLSX files, streamed (docs/spec/10-batches.md sections 9 and
 * 9.1; docs/internals/import.md).
 *
 * The format is told by the content. Rows come one after the other with their physical row
 * number, as cells by column and as the JSON object that the resource pipeline takes. Memory is
 * a few blocks and one record, whatever the file's size. An import belongs to one thread at a
 * time. Leaves to others: fetching files, references by name, duplicates, items. */
#ifndef WHARF_IMPORT_IMPORT_H
#define WHARF_IMPORT_IMPORT_H

#include "schema/definition.h"
#include "util/buf.h"
#include "util/str.h"

struct cell_pool;
struct import;

enum {
    IMPORT_COLUMNS_MAX = 512, /* columns of a file */
    IMPORT_FIELD_MAX = 1 << 20, /* bytes of a cell */
    IMPORT_RECORD_MAX = 4 << 20, /* bytes of a CSV record or a JSON object */
    IMPORT_JSON_DEPTH = 32, /* levels of a JSON file */
    IMPORT_ROW_ERRORS = 8, /* told of one row */
};

enum { IMPORT_IGNORED = -2 /* a column that another one makes superfluous */ };

enum import_format { IMPORT_AUTO, IMPORT_CSV, IMPORT_JSON, IMPORT_XLSX };

/* How the text of a cell becomes a JSON value. Text that does not fit its type stays text: the
 * pipeline refuses it as it refuses the same value from everybody. */
enum import_type { IMPORT_T_TEXT, IMPORT_T_BOOL, IMPORT_T_NUMBER, IMPORT_T_LIST, IMPORT_T_JSON };

struct import_field {
    /* "address.formatted_address"; '#' is a number 0 to 9: "parcels.#.length"; a last '*' any
     * key: "metadata.*" */
    const char *path;
    enum import_type type;
    enum import_type element; /* IMPORT_T_LIST */
};

/* Parts of an address that stand in columns of their own. */
enum import_part {
    IMPORT_WHOLE,
    IMPORT_STREET,
    IMPORT_STREET_2,
    IMPORT_PO_BOX,
    IMPORT_CITY,
    IMPORT_STATE,
    IMPORT_POSTAL,
    IMPORT_COUNTRY
};

/* Another name of a column. Programs that keep several phones, e-mails or addresses of a person
 * give each a column of its own: such aliases have a rank. The first of them that a row fills, by
 * rank, goes to `path`, the others to their `beside`. Columns of one rank are parts of one text
 * (street, city, postal code), in the order of enum import_part. */
struct import_alias {
    const char *header; /* compared as headers are: "e-mail" */
    const char *path; /* "email" */
    unsigned char rank, part; /* rank 0: the column is the field's, as if it had its name */
    const char *beside; /* "alternate_emails.work"; NULL: nowhere, which is told */
};

struct import_mapping {
    wharf_str path, header; /* field -> header text of the file */
};

struct import_options {
    enum import_format format;
    char delimiter; /* 0: found */
    const char *encoding; /* "": found */
    const char *sheet; /* name or 1-based number; "": the first visible one */
    uint64_t header_row; /* 1-based physical row; 0: the first that is not blank */
    bool strict_headers;
    const struct import_field *fields;
    size_t n_fields;
    const struct import_alias *aliases;
    size_t n_aliases;
    const struct import_mapping *mapping;
    size_t n_mapping;
    /* of kind import_sheet_kind; NULL: spreadsheets are refused (file.unsupported_type) */
    struct cell_pool *sheets;
};

/* The problem that ends a file: an error code of section 14 and a sentence. */
struct import_problem {
    const char *code; /* NULL: none */
    uint64_t line, column, offset; /* 0: not known; offset in bytes */
    char message[300];
};

struct import_warning {
    const char *code; /* "file.encoding", "batch.header_unknown" */
    wharf_str message;
};

struct import_column {
    wharf_str header; /* as written, trimmed */
    wharf_str path; /* the field it fills, with the key of metadata; "": ignored */
    int field; /* index in options.fields, -1, or IMPORT_IGNORED */
};

struct import_row_error {
    const char *code; /* row.too_many_columns, row.cell_error */
    wharf_str path; /* of the column, or its header */
    wharf_str message;
};

struct import_row {
    uint64_t row; /* physical line or row where it begins, 1-based */
    const wharf_str *cells; /* by column, trimmed, NFC; empty: absent. None in JSON files */
    size_t n_cells; /* at most the number of columns */
    wharf_str json; /* JSON files: the object as it stands there; else take import_json */
    struct import_row_error errors[IMPORT_ROW_ERRORS];
    size_t n_errors;
};

enum import_event { IMPORT_ROW, IMPORT_END, IMPORT_FAILED };

/* Opens an import. fd >= 0: a regular file, borrowed until import_close; else the memory at p, n
 * bytes, borrowed too. Strings of the options are copied. Never returns NULL; what is wrong (also
 * with headers) is told by import_problem, at once or later. */
struct import *import_open(int fd, const char *p, size_t n, const struct import_options *options);
void import_close(struct import *in); /* NULL is accepted */
/* Returns the problem; NULL while nothing is wrong. */
const struct import_problem *import_problem(const struct import *in);
/* Reads the next row. Everything of the row is good until the next call. */
enum import_event import_next(struct import *in, struct import_row *ret_row);

/* Returns the object of the row that came last, as the resource pipeline takes it; good until the
 * next call. Cells with an error are absent. */
wharf_str import_json(struct import *in, const struct import_row *row);

enum import_format import_format(const struct import *in);
const char *import_encoding(const struct import *in); /* "utf-8"; "" for XLSX */
char import_delimiter(const struct import *in); /* CSV, else 0 */
wharf_str import_sheet(const struct import *in); /* name of the sheet, XLSX */
/* Returns the text that fills a field in the row that came last ("phone"), whichever of its columns
 * it came from, and sets *ret_column to the column, -1 for none. Not for JSON files. */
wharf_str import_text(struct import *in, wharf_str path, int *ret_column);
const struct import_column *import_columns(const struct import *in, size_t *ret_n);
const struct import_warning *import_warnings(const struct import *in, size_t *ret_n);

/* Returns the fields that files may fill, from a definition: writable ones and id; objects with
 * properties by their members, children and arrays of objects by index 0 to 9, metadata by any
 * key. */
const struct import_field *import_fields(
    struct arena *a, const struct definition *d, size_t *ret_n);
/* Finds the field that a path is of: '#' of a field stands for a number from 0 to 9, a last '*'
 * for the rest. Returns -1 when there is none. */
int import_field_at(const struct import_field *fields, size_t n, wharf_str path);
/* Returns the aliases of section 9.1 for a resource; none for others. */
const struct import_alias *import_aliases(const char *resource, size_t *ret_n);
/* Returns a header as it is compared: trimmed, BOM and no-break spaces gone, lower-case, ' ', '_'
 * and '-' one blank. */
wharf_str import_header_key(struct arena *a, wharf_str header);

#endif
