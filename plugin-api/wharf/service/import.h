/* wharf/service/import.h - rows of CSV, JSON and XLSX files, streamed (docs/spec/10-batches.md
 * sections 9 and 9.1).
 *
 * Same rules as wharf/plugin.h. An import belongs to the request that opened it and ends with
 * it. Memory is a few blocks and one record, whatever the file's size; spreadsheets are read by
 * a sandboxed process. What is wrong with a file is told by problem(), with the codes of section
 * 14, which are the platform's. */
#ifndef WHARF_SERVICE_IMPORT_H
#define WHARF_SERVICE_IMPORT_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_import wharf_import;  /* one file, being read */

enum wharf_import_event {
    WHARF_IMPORT_ROW = 1,
    WHARF_IMPORT_END,      /* all rows were read */
    WHARF_IMPORT_FAILED    /* problem() tells why; rows before it were good */
};

/* Service "wharf.import", version 1.2. */
typedef struct wharf_import_api {
    wharf_head head;
    /* fd >= 0: a regular file, which must stay open until close; else the bytes, which must live
     * as long. Format by content. resource: whose fields and header names are taken. options, or
     * NULL: an object that may have
     *   "file":           {format, delimiter, encoding, sheet, header_row, strict_headers} of
     *                     section 2
     *   "column_mapping": {field: header}
     *   "aliases":        {header: field}, more header names than those of section 9.1
     * Never NULL; wrong options are a problem of the file. */
    wharf_import *(*open)(wharf_req *req, const char *resource, int32_t fd, wharf_str bytes,
        const wharf_json *options /* or NULL */);
    uint32_t (*next)(wharf_import *in); /* WHARF_IMPORT_* */
    /* Read the row that came last. */
    uint64_t (*row)(const wharf_import *in); /* physical line or row, from 1 */
    /* As the resource pipeline takes it. Memory of the request: a scope around the use keeps
     * that flat. A record that can't be an object is an empty one, and row_error() tells why
     * from then on. */
    wharf_status (*object)(wharf_req *req, wharf_import *in, const wharf_json **ret_object);
    /* as in the file, trimmed; until next() */
    wharf_str (*cell)(const wharf_import *in, size_t column);
    /* The i-th thing wrong with the row: row.too_many_columns, row.cell_error. False: there are
     * no more. */
    bool (*row_error)(const wharf_import *in, size_t i, wharf_str *ret_code, wharf_str *ret_path,
        wharf_str *ret_message);
    /* Writes the problem of the whole file. False: there is none. */
    bool (*problem)(const wharf_import *in, wharf_str *ret_code, wharf_str *ret_message);
    bool (*warning)(const wharf_import *in, size_t i, wharf_str *ret_code, wharf_str *ret_message);
    /* The i-th column: header as written, the field it fills ("": ignored). None in JSON files. */
    bool (*column)(const wharf_import *in, size_t i, wharf_str *ret_header, wharf_str *ret_path);
    /* "format" (csv json xlsx), "encoding", "delimiter", "sheet"; empty when there is no such
     * thing. */
    wharf_str (*info)(const wharf_import *in, const char *name);
    void (*close)(wharf_import *in); /* early; the end of the request does it too */
    /* 1.1: is there a field of this path ("address.city", "parcels.0.length", "metadata.color")
     * that files of the resource may fill? What open() asks of "column_mapping", before there is
     * a file. */
    bool (*is_field)(wharf_req *req, const char *resource, wharf_str path);
    /* 1.2: the text that fills a field in the row that came last ("phone"), whichever of its
     * columns it stands in, and in *ret_column that column; "" when there is none. Until next().
     * Not for JSON files. */
    wharf_str (*text)(wharf_import *in, wharf_str path, size_t *ret_column);
} wharf_import_api;

#ifdef __cplusplus
}
#endif
#endif
