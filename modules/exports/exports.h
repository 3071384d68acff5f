/* exports.h - what the files of the module exports share. */
#ifndef EXPORTS_H
#define EXPORTS_H

#include <stdlib.h>
#include <string.h>

#include "wharf/ext/exports.h"
#include "wharf/service/batch.h"
#include "wharf/service/blob.h"
#include "wharf/service/config.h"
#include "wharf/service/keys.h"
#include "wharf/service/text.h"
#include "wharf/service/walk.h"

#define W exports_host
extern const wharf_host *exports_host;
extern wharf_plugin *exports_self;
extern const wharf_walk_api *exports_walk;
extern const wharf_batch_api *exports_kernel;
extern const wharf_blob_api *exports_blob;
extern const wharf_keys_api *exports_keys;
extern const wharf_text_api *exports_text;

#include "wharf/inline.h"

enum {
    COLUMNS_MOST = 2000, /* columns of an export */
    PART = 500
};
extern int64_t exports_rows_most; /* rows of one export: setting exports.rows */
#define OPTIONS "options."

/* export_rules.c */
extern const wharf_hooks export_hooks;
wharf_handler exports_delete;
/* Returns the area of the resource's scope; "" and a problem when there is no such resource
 * here. */
wharf_str area_of(wharf_req *req, wharf_str resource);

/* export_source.c: exports whose rows a module reckons. */
extern const wharf_exports_sources_api export_sources;
/* Returns the source of a resource; NULL: its export is its list. */
const wharf_export_source *export_source_of(wharf_str resource);
/* Lists the names of the members that rows of an export have, in the request's memory, and judges
 * the options as far as the list does; those of a source are judged by its check. */
wharf_status export_names(wharf_req *req, wharf_str resource, const wharf_json *options,
    const wharf_str **ret_names, size_t *ret_n);

/* export_run.c */
wharf_handler exports_run, exports_forget;

/* dates.c */
struct date_style {
    wharf_str zone, format; /* format empty: ISO 8601 */
    bool plain; /* moments stay as they are */
};
struct date_cell { /* a moment that becomes text */
    wharf_str *text;
};
/* Tells whether the format consists of the tokens y M d H h m s S a, quoted text and what is no
 * letter. */
bool date_format_good(wharf_str format);
/* Tells whether a time zone is of the IANA list, as the database knows it. */
wharf_status date_zone_known(wharf_req *req, wharf_str zone, bool *ret_known);
/* Rewrites moments in ISO 8601 (UTC). What is no moment stays. */
wharf_status dates_render(
    wharf_req *req, const struct date_style *style, const struct date_cell *cells, size_t n);

/* export_table.c: the rows of an export as CSV. Made outside of memory scopes; freed by
 * table_free. */
struct table;
struct table_options {
    const wharf_str *names; /* the members to show, in their order */
    size_t n_names;
    bool flatten;
    struct date_style dates;
    const wharf_json *schema; /* "properties" of the resource, to know moments by */
};
struct table *table_new(const struct table_options *options);
void table_free(struct table *t);
/* Learns the columns that this row needs, for flattened tables. Must be called for all rows before
 * the first is written. */
void table_learn(struct table *t, const wharf_json *row);
/* Returns the header, which settles the columns, as a line of CSV; table_rows() does so for rows.
 * Texts are in the request's memory. */
wharf_str table_header(wharf_req *req, struct table *t);
enum row_kind {
    ROW_GOOD,
    ROW_SANITIZED /* a cell looks like a formula; the text has it defused */,
    ROW_ERROR /* more columns than a table has */
};
/* Makes the lines of n rows at once: kinds[i] and lines[i]. */
wharf_status table_rows(wharf_req *req, const struct table *t, const wharf_json *const *rows,
    size_t n, enum row_kind *kinds, wharf_str *lines);
#define CSV_MARK "\xEF\xBB\xBF" /* spreadsheets know UTF-8 by it */

#endif
