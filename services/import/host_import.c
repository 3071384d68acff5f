/* host_import.c - the service wharf.import: services/import/ for plugins
 * (plugin-api/wharf/service/import.h). */
#include <stdio.h>
#include <string.h>

#include "cell/shared.h"
#include "config/config.h"
#include "import/import.h"
#include "import/sheets.h"
#include "host/host.h"
#include "wharf/errors.h"
#include "wharf/service/import.h"

struct wharf_import { /* handle */
    struct import *in;
    struct import_row row;
    struct import_problem wrong; /* with the options; code NULL: none */
    const char *unfit; /* why the row that came last is no object; or NULL */
    char delimiter[2];
};

static struct cell_shared sheets = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- options ---- */

static bool host_import_wrong(struct wharf_import *h, const char *code, const char *message)
{
    h->wrong.code = code;
    snprintf(h->wrong.message, sizeof(h->wrong.message), "%s", message);
    return false;
}

static bool host_import_read_format(struct wharf_import *h, wharf_str s, struct import_options *o)
{
    if (str_eqz(s, "csv"))
        o->format = IMPORT_CSV;
    else if (str_eqz(s, "json"))
        o->format = IMPORT_JSON;
    else if (str_eqz(s, "xlsx"))
        o->format = IMPORT_XLSX;
    else if (s.n > 0)
        return host_import_wrong(
            h, ERR_PARAM_INVALID, "file.format must be one of: csv, json, xlsx");
    return true;
}

static bool host_import_read_file(struct wharf_import *h, struct arena *a,
    const struct wharf_json *file, struct import_options *o)
{
    wharf_str delimiter = json_text_or(file, "delimiter", "");
    const struct wharf_json *sheet = json_get(file, "sheet");
    int64_t header_row = json_int_or(file, "header_row", 0);

    if (!host_import_read_format(h, json_text_or(file, "format", ""), o))
        return false;
    if (delimiter.n > 1)
        return host_import_wrong(
            h, ERR_PARAM_INVALID, "file.delimiter must be one character of ASCII");
    if (header_row < 0)
        return host_import_wrong(h, ERR_PARAM_INVALID, "file.header_row counts from 1");
    o->delimiter = delimiter.n ? delimiter.p[0] : 0;
    o->encoding = json_text_or(file, "encoding", "").p;
    o->sheet = json_is(sheet, JSON_STRING) || json_is(sheet, JSON_NUMBER)
                   ? arena_dup_str(a, sheet->text).p
                   : "";
    o->header_row = (uint64_t)header_row;
    o->strict_headers = json_bool_or(file, "strict_headers", false);
    return true;
}

/* Reads {header: field} and puts it before those of the resource: they win. */
static void read_aliases(
    struct arena *a, const struct wharf_json *more, const char *resource, struct import_options *o)
{
    size_t n_own, n = 0;
    const struct import_alias *own = import_aliases(resource, &n_own);
    struct import_alias *all = ARENA_ARRAY(
        a, struct import_alias, n_own + (more ? more->count : 0) + 1);

    for (const struct wharf_json *m = more ? more->child : NULL; m; m = m->next)
        if (json_is(m, JSON_STRING))
            all[n++] = (struct import_alias){.header = m->key.p, .path = m->text.p};
    if (n_own)
        memcpy(all + n, own, n_own * sizeof(*own));
    o->aliases = all;
    o->n_aliases = n + n_own;
}

static void host_import_read_mapping(
    struct arena *a, const struct wharf_json *map, struct import_options *o)
{
    struct import_mapping *all = ARENA_ARRAY(a, struct import_mapping, (map ? map->count : 0) + 1);

    for (const struct wharf_json *m = map ? map->child : NULL; m; m = m->next)
        if (json_is(m, JSON_STRING))
            all[o->n_mapping++] = (struct import_mapping){m->key, m->text};
    o->mapping = all;
}

/* ---- the table ---- */

static void i_close(wharf_import *h)
{
    import_close(h->in);
    h->in = NULL;
}

static void host_import_release(void *arg)
{
    i_close(arg);
}

static wharf_import *i_open(
    wharf_req *req, const char *resource, int32_t fd, wharf_str bytes, const wharf_json *options)
{
    struct wharf_import *h = ARENA_NEW(req->arena, struct wharf_import);
    const struct resource *r = engine_resource(req->engine, resource);
    const struct wharf_json *file = json_get(options, "file"),
                            *map = json_get(options, "column_mapping");
    const struct wharf_json *aliases = json_get(options, "aliases");
    struct import_options o = {
        .sheets = cell_shared_pool(&sheets, &import_sheet_kind, req->engine->config->cell_dir)};

    if (!r) {
        host_import_wrong(
            h, ERR_BATCH_RESOURCE_UNAVAILABLE, "the module of this resource is not enabled");
        return h;
    }
    o.fields = import_fields(req->arena, r->def, &o.n_fields);
    read_aliases(req->arena, json_is(aliases, JSON_OBJECT) ? aliases : NULL, resource, &o);
    host_import_read_mapping(req->arena, json_is(map, JSON_OBJECT) ? map : NULL, &o);
    if (host_import_read_file(h, req->arena, file, &o)) {
        h->in = import_open(fd, bytes.p, bytes.n, &o);
        h->delimiter[0] = import_delimiter(h->in);
        arena_on_release(req->arena, host_import_release, h);
    }
    return h;
}

static uint32_t i_next(wharf_import *h)
{
    h->unfit = NULL;
    switch (h->in ? import_next(h->in, &h->row) : IMPORT_FAILED) {
    case IMPORT_ROW:
        return WHARF_IMPORT_ROW;
    case IMPORT_END:
        return WHARF_IMPORT_END;
    case IMPORT_FAILED:
        break;
    }
    return WHARF_IMPORT_FAILED;
}

static uint64_t i_row(const wharf_import *h)
{
    return h->row.row;
}

/* Parses a record. It may be what no request could say: keys that are the same once they are
 * normalized, more values than a request has memory for. */
static wharf_status i_object(wharf_req *req, wharf_import *h, const wharf_json **ret_object)
{
    struct json_error e = {.message = "the file is not open"};

    *ret_object = h->in ? json_parse(req->arena,
                              arena_dup_str(req->arena, import_json(h->in, &h->row)), &e)
                        : NULL;
    if (*ret_object)
        return WHARF_OK;
    h->unfit = e.message;
    *ret_object = json_parse(req->arena, str_z("{}"), &e);
    return *ret_object ? WHARF_OK : WHARF_LIMIT;
}

static wharf_str i_cell(const wharf_import *h, size_t column)
{
    return column < h->row.n_cells ? h->row.cells[column] : str_z("");
}

static bool i_row_error(const wharf_import *h, size_t i, wharf_str *ret_code, wharf_str *ret_path,
    wharf_str *ret_message)
{
    if (i == h->row.n_errors && h->unfit) {
        *ret_code = WHARF_S(ERR_ROW_CELL_ERROR);
        *ret_path = WHARF_S("");
        *ret_message = str_z(h->unfit);
        return true;
    }
    if (i >= h->row.n_errors)
        return false;
    *ret_code = str_z(h->row.errors[i].code);
    *ret_path = h->row.errors[i].path;
    *ret_message = h->row.errors[i].message;
    return true;
}

static bool i_problem(const wharf_import *h, wharf_str *ret_code, wharf_str *ret_message)
{
    const struct import_problem *p = h->in           ? import_problem(h->in)
                                     : h->wrong.code ? &h->wrong
                                                     : NULL;

    if (!p)
        return false;
    *ret_code = str_z(p->code);
    *ret_message = str_z(p->message);
    return true;
}

static bool i_warning(const wharf_import *h, size_t i, wharf_str *ret_code, wharf_str *ret_message)
{
    size_t n = 0;
    const struct import_warning *all = h->in ? import_warnings(h->in, &n) : NULL;

    if (i >= n)
        return false;
    *ret_code = str_z(all[i].code);
    *ret_message = all[i].message;
    return true;
}

static bool i_column(const wharf_import *h, size_t i, wharf_str *ret_header, wharf_str *ret_path)
{
    size_t n = 0;
    const struct import_column *all = h->in ? import_columns(h->in, &n) : NULL;

    if (i >= n)
        return false;
    *ret_header = all[i].header;
    *ret_path = all[i].path;
    return true;
}

static wharf_str i_info(const wharf_import *h, const char *name)
{
    static const char *const formats[] = {"", "csv", "json", "xlsx"};

    if (!h->in)
        return str_z("");
    if (strcmp(name, "format") == 0)
        return str_z(formats[import_format(h->in)]);
    if (strcmp(name, "encoding") == 0)
        return str_z(import_encoding(h->in));
    if (strcmp(name, "sheet") == 0)
        return import_sheet(h->in);
    return strcmp(name, "delimiter") == 0 ? str_z(h->delimiter) : str_z("");
}

static bool i_is_field(wharf_req *req, const char *resource, wharf_str path)
{
    const struct resource *r = engine_resource(req->engine, resource);
    size_t n;
    const struct import_field *fields = r ? import_fields(req->arena, r->def, &n) : NULL;

    return fields && import_field_at(fields, n, path) >= 0;
}

static wharf_str i_text(wharf_import *h, wharf_str path, size_t *ret_column)
{
    int column = -1;
    wharf_str text = h->in ? import_text(h->in, path, &column) : str_z("");

    *ret_column = column < 0 ? 0 : (size_t)column;
    return text;
}

const wharf_import_api host_import = {WHARF_HEAD(wharf_import_api), i_open, i_next, i_row, i_object,
    i_cell, i_row_error, i_problem, i_warning, i_column, i_info, i_close, i_is_field, i_text};
