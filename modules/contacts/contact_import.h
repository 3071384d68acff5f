/* contact_import.h - a file of contacts while it is imported: inside of the module contacts
 * (spec 02 section 5).
 *
 * The file is read twice. First every row is judged (import_file.c), then, when the file is
 * sound, the good ones are written (contact_import.c). */
#ifndef CONTACTS_IMPORT_H
#define CONTACTS_IMPORT_H

#include "contacts.h"

enum {
    ROWS_MAX = 25000, /* rows of a file */
    FILE_MAX = 25 * 1000 * 1000, /* bytes of a file */
    COLUMNS_MAX = 512, /* columns of a file */
    WARNINGS_MAX = 32 /* warnings of a file */
};

/* Uses of a column. */
enum use {
    USE_NONE,
    USE_NAME,
    USE_FIRST,
    USE_LAST,
    USE_EMAIL,
    USE_PHONE,
    USE_TYPE,
    USE_GROUPS,
    USE_ADDRESS,
    USE_METADATA,
    USES
};

struct column {
    wharf_str header; /* as written */
    enum use use; /* also of columns that are known by another name (wharf.import) */
    wharf_str key; /* of metadata */
};

struct group_name {
    wharf_str id, name; /* name in lower case */
};

/* E-mails and phones that were met in the file. */
struct seen {
    wharf_str *slots;
    size_t cap;
};

/* A row that is not added, and the columns that are to blame. */
struct issue {
    size_t row, n_columns;
    const uint16_t *columns;
};

struct reading {
    wharf_req *req;
    wharf_str bytes; /* of the file, or */
    int fd;
    const wharf_json *options; /* what its data URL says of it; or NULL */
    wharf_str country; /* of phones without one */
    struct column columns[COLUMNS_MAX];
    size_t n_columns;
    struct group_name *by_id, *by_name; /* groups of contacts, sorted */
    size_t n_groups;
    struct seen emails, phones;
    struct room *rooms; /* for what is kept of rows, whatever scopes of the request's memory end */
    char *room;
    size_t room_left;
    bool *good; /* by row */
    size_t n_rows, n_good;
    struct issue *issues; /* in no order */
    size_t n_issues;
    struct {
        wharf_str code, message;
    } warnings[WARNINGS_MAX];
    size_t n_warnings;
};

/* Opens the file of an import (import_file.c). Problems of the file are told as the request's. */
wharf_status contact_file_open(struct reading *r, wharf_str url);
wharf_import *file_rows(struct reading *r);
/* Judges the file: columns, groups, and what is wrong with which row. */
wharf_status file_judge(struct reading *r);
void file_close(struct reading *r);
/* Keeps what is told of the file as a whole until now, for the answer. */
void file_keep_warnings(struct reading *r, const wharf_import *in);
void file_issue(struct reading *r, size_t row, const bool bad[COLUMNS_MAX]);
/* Returns what the row says for a use, whichever of its columns says it; "" for nothing. */
wharf_str file_cell(const struct reading *r, wharf_import *in, enum use use);
wharf_str file_name(const struct reading *r, wharf_import *in);
bool file_group_row(const struct reading *r, wharf_import *in); /* the row makes a group */
/* Returns the JSON of a cell that is an object or an array; NULL when it is none. */
const wharf_json *file_json(const struct reading *r, wharf_str cell);
/* Writes the ids of a cell "Crew; Drivers", or of one that an export wrote. Returns false when one
 * of the names is nobody's, or several's. out may be NULL. */
bool file_groups(const struct reading *r, wharf_str cell, wharf_out *out);

#endif
