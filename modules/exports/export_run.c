/* export_run.c - the job: the list is read once, from one snapshot, into the JSON file; the
 * CSV is made of that, when all columns are known (spec 01 section 15).
 *
 * Its transactions are short and its own; the walk has another connection. Until the last one
 * nothing but progress can be seen. A run that a crash ended begins anew; after three the export
 * fails. */
#include <errno.h>
#include <unistd.h>

#include "exports.h"
#include "exports.gen.h"

enum {
    RUNS_MOST = 3, /* runs that a crash may end before the export fails */
    LINE_START = 1 << 16,
    NOTE_US = 500000, /* between two notes of progress */
    DAY_S = 86400, /* the files of an export are kept so long after its end */
    CANCELED = 1
};

struct file {
    wharf_blob_writer *writer; /* NULL: not begun */
    wharf_str id;
    int64_t rows;
};

struct run {
    wharf_req *req;
    wharf_str id, resource, key_id;
    const wharf_json *options, *csv_options, *columns; /* columns: NULL: all */
    bool csv, json;
    const wharf_export_source *source; /* NULL: the list is walked */
    const wharf_str *reckoned; /* the rows of the source, total of them */
    int64_t total, read, written, noted_us;
    struct file json_file, csv_file, sanitized_file, error_file;
    struct table *table;
    char *line; /* a row of the JSON file */
    size_t line_room;
    const char *failed; /* code, when there is no sense in trying again */
    bool canceled;
};

static void free_run(void *arg)
{
    struct run *r = arg;

    table_free(r->table);
    free(r->line);
}

/* ---- the row ---- */

static wharf_status export_run_load(struct run *r, bool *ret_there)
{
    static const char sql[] = QUERY_EXPORT_CLAIM;
    const wharf_val args[] = {
        val_text(W->req->organization(r->req)), val_text(r->id), val_time(W->req->now_us(r->req))};
    const wharf_rows *rows;
    wharf_status s = W->db->begin(r->req);

    if (s == WHARF_OK)
        s = W->db->query(r->req, sql, args, 3, &rows);
    *ret_there = s == WHARF_OK && W->db->count(rows);
    if (*ret_there) {
        r->resource = row_text(rows, 0, 0);
        r->key_id = row_text(rows, 0, 1);
        r->options = row_json(rows, 0, 2);
        r->csv_options = row_json(rows, 0, 3);
        r->csv = row_bool(rows, 0, 4);
        r->json = row_bool(rows, 0, 5);
        r->columns = row_json(rows, 0, 7);
        r->failed = row_int(rows, 0, 6) > RUNS_MOST ? ERR_EXPORT_INTERNAL : NULL;
    }
    if (s == WHARF_OK)
        return W->db->commit(r->req);
    W->db->rollback(r->req);
    return s;
}

/* Notes how far it is, twice a second; learns whether it was canceled. Reading is the first half
 * of the way when a CSV is made. */
static wharf_status export_run_note(struct run *r, bool now)
{
    static const char sql[] =
        "UPDATE exports.export SET progress = $3::bigint, total_rows = $4::bigint, exported_rows = "
        "$5::bigint"
        " WHERE organization_id = $1::text AND id = $2::text AND state = 'processing' RETURNING 1";
    int64_t way = r->total * (r->csv ? 2 : 1), at = r->read + r->written;
    const wharf_val args[] = {val_text(W->req->organization(r->req)), val_text(r->id),
        val_int(way ? 99 * (at < way ? at : way) / way : 0), val_int(r->total),
        val_int(r->csv ? r->written : r->read)};
    int64_t us = W->req->now_us(r->req);
    const wharf_rows *rows;
    wharf_status s;

    if (W->event->progress(r->req, (uint32_t)at, (uint32_t)way))
        return W->err->fail(r->req, ERR_CONFLICT, NULL, "the run was ended");
    if (!now && us - r->noted_us < NOTE_US && us >= r->noted_us)
        return WHARF_OK;
    r->noted_us = us;
    s = W->db->begin(r->req);
    if (s == WHARF_OK)
        s = W->db->query(r->req, sql, args, 5, &rows);
    r->canceled = s == WHARF_OK && !W->db->count(rows);
    if (s == WHARF_OK)
        return W->db->commit(r->req);
    W->db->rollback(r->req);
    return s;
}

/* ---- files ---- */

static wharf_status export_run_put(struct run *r, struct file *f, wharf_str text)
{
    wharf_status s = f->writer ? WHARF_OK : exports_blob->begin(r->req, 0, &f->writer);

    return s == WHARF_OK ? exports_blob->write(r->req, f->writer, text.p, text.n) : s;
}

/* Returns when the files of the export are erased. */
static int64_t erased_us(const struct run *r)
{
    return W->req->now_us(r->req) + DAY_S * (int64_t)1000000;
}

static wharf_status finish_file(struct run *r, struct file *f, const char *suffix, const char *type)
{
    wharf_str name = W->mem->format(r->req, "%s-%s%s", r->resource.p, r->id.p, suffix);
    wharf_blob_writer *w = f->writer;

    f->writer = NULL;
    if (!w)
        return WHARF_OK;
    return exports_blob->finish(r->req, w, name, z(type), erased_us(r), &f->id);
}

static void abort_file(struct run *r, struct file *f)
{
    if (f->writer)
        exports_blob->abort(r->req, f->writer);
    f->writer = NULL;
}

/* ---- reading the list ---- */

static wharf_status learn_rows(struct run *r, const wharf_str *rows, size_t n)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n && r->table; i++) {
        const wharf_json *row;

        s = W->json->parse(r->req, rows[i], &row);
        if (s == WHARF_OK)
            table_learn(r->table, row);
    }
    return s;
}

static wharf_status keep_rows(struct run *r, const wharf_str *rows, size_t n)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        s = export_run_put(r, &r->json_file, r->read ? WHARF_S(",\n") : WHARF_S("\n"));
        if (s == WHARF_OK)
            s = export_run_put(r, &r->json_file, rows[i]);
        r->read++;
    }
    return s;
}

/* Gives the next rows of the list, or of the source; n 0: there are no more. */
static wharf_status next_rows(
    struct run *r, wharf_walk *walk, const wharf_str **ret_rows, size_t *ret_n)
{
    if (!r->source)
        return exports_walk->next(r->req, walk, PART, ret_rows, ret_n);
    *ret_rows = r->reckoned + r->read;
    *ret_n = r->total - r->read < PART ? (size_t)(r->total - r->read) : PART;
    return WHARF_OK;
}

static wharf_status export_run_read_list(struct run *r, wharf_walk *walk)
{
    wharf_status s = export_run_put(r, &r->json_file, WHARF_S("["));
    size_t n = 1;

    while (s == WHARF_OK && n && !r->canceled) {
        wharf_scope *scope = W->mem->scope_begin(r->req);
        const wharf_str *rows;

        s = next_rows(r, walk, &rows, &n);
        if (s == WHARF_OK && n)
            s = learn_rows(r, rows, n);
        if (s == WHARF_OK && n)
            s = keep_rows(r, rows, n);
        if (s == WHARF_OK && n)
            s = export_run_note(r, false);
        W->mem->scope_end(r->req, scope);
    }
    if (walk)
        exports_walk->end(r->req, walk);
    return s == WHARF_OK ? export_run_put(r, &r->json_file, WHARF_S("\n]\n")) : s;
}

/* ---- writing the table ---- */

static wharf_str export_run_option(const struct run *r, const char *name, const char *fallback)
{
    const wharf_json *v = r->csv_options ? W->json->get(r->csv_options, name) : NULL;
    wharf_str s;

    return v && W->json->text(v, &s) ? s : z(fallback);
}

/* Chooses the columns: those that were chosen, in the order of the choice; else all members but
 * the kind of the row, which is the same everywhere. */
static void export_run_choose(
    struct run *r, const wharf_str *names, size_t n, struct table_options *o)
{
    size_t most = r->columns ? W->json->count(r->columns) : n;
    wharf_str *chosen = W->mem->alloc(r->req, (most + 1) * sizeof(*chosen));

    for (size_t i = 0; i < most; i++) {
        if (r->columns)
            W->json->text(W->json->at(r->columns, i), &chosen[o->n_names++]);
        else if (!is(names[i], "object"))
            chosen[o->n_names++] = names[i];
    }
    o->names = chosen;
}

static wharf_status make_table(struct run *r)
{
    struct table_options o = {.flatten = is(export_run_option(r, "nested", "merge"), "flatten"),
        .dates = {export_run_option(r, "timezone", "UTC"),
            export_run_option(r, "datetime_format", ""), false},
        .schema = r->source ? NULL : exports_kernel->definition(r->req, r->resource.p)};
    const wharf_str *names;
    size_t n;
    wharf_status s = export_names(r->req, r->resource, r->options, &names, &n);

    if (s != WHARF_OK)
        return s;
    o.dates.plain = is(o.dates.zone, "UTC") && !o.dates.format.n;
    export_run_choose(r, names, n, &o);
    r->table = table_new(&o);
    return WHARF_OK;
}

/* Reads the file that was written a moment ago, row by row: each is a line, the first and the
 * last are the brackets. */
struct reader {
    int fd;
    int64_t at;
    size_t have, used;
    bool end;
};

static wharf_status export_run_read_line(struct run *r, struct reader *in, wharf_str *ret)
{
    for (;;) {
        char *from = r->line + in->used, *end = memchr(from, '\n', in->have - in->used);
        ssize_t n;

        if (end) {
            *ret = W->mem->dup(r->req, from, (size_t)(end - from));
            in->used += ret->n + 1;
            return WHARF_OK;
        }
        memmove(r->line, from, in->have - in->used);
        in->have -= in->used;
        in->used = 0;
        if (in->have == r->line_room) {
            char *more = realloc(r->line, r->line_room * 2);

            if (!more)
                return W->err->fail(r->req, ERR_EXPORT_INTERNAL, NULL, "a row is too large");
            r->line = more;
            r->line_room *= 2;
        }
        n = pread(in->fd, r->line + in->have, r->line_room - in->have, in->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return W->err->fail(
                r->req, ERR_EXPORT_INTERNAL, NULL, "what was written can't be read");
        in->end = n == 0;
        if (in->end) {
            *ret = WHARF_S("");
            return WHARF_OK;
        }
        in->have += (size_t)n;
        in->at += n;
    }
}

/* Reads up to PART rows, parsed. */
static wharf_status export_run_read_rows(
    struct run *r, struct reader *in, const wharf_json **rows, size_t *ret_n)
{
    wharf_status s = WHARF_OK;
    wharf_str line = WHARF_S("");

    *ret_n = 0;
    while (s == WHARF_OK && *ret_n < PART) {
        s = export_run_read_line(r, in, &line);
        if (s != WHARF_OK || in->end)
            break;
        if (!line.n || line.p[0] != '{')
            continue;
        line.n -= line.p[line.n - 1] == ',';
        s = W->json->parse(r->req, line, &rows[*ret_n]);
        *ret_n += s == WHARF_OK;
    }
    return s;
}

/* Begins a file. Must be called outside of memory scopes, which would end them. */
static wharf_status begin_file(struct run *r, struct file *f, wharf_str header)
{
    wharf_status s = export_run_put(r, f, WHARF_S(CSV_MARK));

    return s == WHARF_OK ? export_run_put(r, f, header) : s;
}

static wharf_status export_run_put_row(struct run *r, struct file *f, wharf_str line)
{
    f->rows++;
    return export_run_put(r, f, line);
}

static wharf_str error_line(struct run *r, const wharf_json *row)
{
    wharf_str id = WHARF_S("");
    const wharf_json *v = W->json->get(row, "id");

    if (v)
        W->json->text(v, &id);
    return W->mem->format(r->req,
        "%.*s,export.too_large,The row has values beyond the %d columns of a table; they are in "
        "the JSON file\r\n",
        (int)id.n, id.p, COLUMNS_MOST);
}

static wharf_status export_run_put_rows(struct run *r, const wharf_json *const *rows, size_t n)
{
    enum row_kind *kinds = W->mem->alloc(r->req, n * sizeof(*kinds));
    wharf_str *lines = W->mem->alloc(r->req, n * sizeof(*lines));
    wharf_status s = table_rows(r->req, r->table, rows, n, kinds, lines);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (kinds[i] == ROW_GOOD)
            s = export_run_put_row(r, &r->csv_file, lines[i]);
        else if (kinds[i] == ROW_SANITIZED)
            s = export_run_put_row(r, &r->sanitized_file, lines[i]);
        else
            s = export_run_put_row(r, &r->error_file, error_line(r, rows[i]));
    }
    r->written += (int64_t)n;
    return s;
}

static wharf_status write_table(struct run *r)
{
    struct reader in = {.fd = exports_blob->written(r->json_file.writer)};
    wharf_str header = table_header(r->req, r->table);
    wharf_status s = begin_file(r, &r->csv_file, header);
    size_t n = 1;

    if (s == WHARF_OK)
        s = begin_file(r, &r->sanitized_file, header);
    if (s == WHARF_OK)
        s = begin_file(r, &r->error_file, WHARF_S("id,_code,_message\r\n"));

    r->line_room = LINE_START;
    r->line = malloc(r->line_room);
    while (s == WHARF_OK && n && !r->canceled) {
        wharf_scope *scope = W->mem->scope_begin(r->req);
        const wharf_json **rows = W->mem->alloc(r->req, PART * sizeof(*rows));

        s = r->line ? export_run_read_rows(r, &in, rows, &n)
                    : W->err->fail(r->req, ERR_EXPORT_INTERNAL, NULL, NULL);
        if (s == WHARF_OK && n)
            s = export_run_put_rows(r, rows, n);
        if (s == WHARF_OK && n)
            s = export_run_note(r, false);
        W->mem->scope_end(r->req, scope);
    }
    return s;
}

/* ---- the end ---- */

static wharf_status end_sql(struct run *r, bool good, const wharf_val *error, bool *ret_done)
{
    static const char sql[] = QUERY_EXPORT_END;
    int64_t rows = good ? (r->csv ? r->csv_file.rows + r->sanitized_file.rows : r->read) : 0;
    const wharf_val args[] = {val_text(W->req->organization(r->req)), val_text(r->id),
        val_text(z(good ? "completed" : "failed")), *error, val_text_or_null(r->csv_file.id),
        val_text_or_null(r->json_file.id), val_text_or_null(r->error_file.id),
        val_text_or_null(r->sanitized_file.id), r->total >= 0 ? val_int(r->total) : val_null(),
        val_int(rows), val_int(r->error_file.rows), val_int(r->sanitized_file.rows),
        val_time(W->req->now_us(r->req)), val_time(erased_us(r))};
    const wharf_rows *done;
    wharf_status s = W->db->query(r->req, sql, args, sizeof(args) / sizeof(*args), &done);

    *ret_done = s == WHARF_OK && W->db->count(done);
    return s;
}

/* Ends the run, as completed or as failed: files, row and event in one transaction. Canceled
 * meanwhile: nothing of it. */
static wharf_status export_run_end(struct run *r, bool good, wharf_val error)
{
    bool done = false;
    wharf_status s = W->db->begin(r->req);

    if (s != WHARF_OK)
        return s;
    if (good && r->json)
        s = finish_file(r, &r->json_file, ".json", "application/json");
    if (s == WHARF_OK && good)
        s = finish_file(r, &r->csv_file, ".csv", "text/csv");
    if (s == WHARF_OK && good && r->sanitized_file.rows)
        s = finish_file(r, &r->sanitized_file, "-sanitized.csv", "text/csv");
    if (s == WHARF_OK && good && r->error_file.rows)
        s = finish_file(r, &r->error_file, "-errors.csv", "text/csv");
    if (s == WHARF_OK)
        s = end_sql(r, good, &error, &done);
    if (s == WHARF_OK && done)
        s = W->event->emit(
            r->req, good ? "export.completed" : "export.failed", "export", r->id, NULL);
    if (s == WHARF_OK && done)
        return W->db->commit(r->req);
    W->db->rollback(r->req);
    return s;
}

static wharf_status export_run_fail(struct run *r, const char *code, const char *message)
{
    wharf_out *error = W->json->builder(r->req);
    const wharf_json *value;
    wharf_status s;

    W->err->clear(r->req);
    W->json->open(error, NULL, '{');
    W->json->put(error, "code", val_text(z(code)));
    W->json->put(error, "message", val_text(z(message)));
    W->json->close(error);
    s = W->json->result(r->req, error, &value);
    return s == WHARF_OK ? export_run_end(r, false, val_json(value)) : s;
}

/* ---- the job ---- */

/* Reckons the rows of a source, in a transaction that ends at once: the files take a while. */
static wharf_status reckon_rows(struct run *r)
{
    size_t n = 0;
    wharf_status s = W->db->begin(r->req);

    if (s != WHARF_OK)
        return s;
    s = r->source->rows(r->req, r->options, OPTIONS, &r->reckoned, &n);
    r->total = (int64_t)n;
    if (s == WHARF_OK)
        return W->db->commit(r->req);
    W->db->rollback(r->req);
    return s;
}

/* Begins the walk, or tells why it can't be: the creator may not any more, or the list is too
 * long. *ret_code NULL: it can. Problems of the database are on the request. */
static wharf_status begin_walk(
    struct run *r, wharf_walk **ret_walk, const char **ret_code, const char **ret_message)
{
    wharf_str refused = WHARF_S(""), area;
    wharf_status s = exports_kernel->act_as(r->req, r->key_id, &refused);

    if (s != WHARF_OK)
        return s;
    if (refused.n) {
        *ret_code = ERR_EXPORT_KEY_REVOKED;
        *ret_message = "The API key that created the export is no longer good";
        return WHARF_OK;
    }
    area = area_of(r->req, r->resource);
    s = area.n
            ? W->req->need_scope(r->req, W->mem->format(r->req, "%.*s:read", (int)area.n, area.p).p)
            : W->err->current(r->req);
    r->source = export_source_of(r->resource);
    if (s == WHARF_OK)
        s = r->source ? reckon_rows(r)
                      : exports_walk->begin(r->req, r->resource.p, r->options, exports_rows_most,
                            OPTIONS, ret_walk, &r->total);
    if (s == WHARF_DENIED) {
        *ret_code = ERR_LOCATION_ACCESS;
        *ret_message = "The key that created the export may not see these rows any more";
        return WHARF_OK;
    }
    if (s == WHARF_INVALID) {
        *ret_code = ERR_EXPORT_INTERNAL;
        *ret_message = "The list does not take these options any more";
        return WHARF_OK;
    }
    if (s == WHARF_OK && r->total > exports_rows_most) {
        *ret_code = ERR_EXPORT_TOO_LARGE;
        *ret_message = W->mem
                           ->format(r->req, "The list has more than %lld rows; narrow the options",
                               (long long)exports_rows_most)
                           .p;
    }
    return s;
}

static wharf_status make_files(struct run *r, wharf_walk *walk)
{
    wharf_status s = r->csv ? make_table(r) : WHARF_OK;

    if (s == WHARF_OK)
        s = export_run_note(r, true);
    if (s == WHARF_OK && !r->canceled)
        s = export_run_read_list(r, walk);
    if (s == WHARF_OK && !r->canceled && r->csv)
        s = write_table(r);
    return s;
}

wharf_status exports_run(wharf_req *req, void *arg)
{
    struct run *r = W->mem->alloc(req, sizeof(*r));
    const char *code = NULL, *message = NULL;
    const wharf_json *body;
    wharf_walk *walk = NULL;
    bool there = false;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    r->req = req;
    r->total = -1;
    W->mem->on_release(req, free_run, r);
    if (s != WHARF_OK || !W->json->text(W->json->get(body, "id"), &r->id))
        return s;
    s = export_run_load(r, &there);
    if (s != WHARF_OK || !there)
        return s;
    if (r->failed)
        return export_run_fail(r, r->failed, "The export was begun three times and never ended");
    s = begin_walk(r, &walk, &code, &message);
    if (s == WHARF_OK && code)
        return export_run_fail(r, code, message);
    if (s == WHARF_OK)
        s = make_files(r, walk);
    if (s == WHARF_OK && !r->canceled)
        s = export_run_end(r, true, val_null());
    abort_file(r, &r->json_file);
    abort_file(r, &r->csv_file);
    abort_file(r, &r->sanitized_file);
    abort_file(r, &r->error_file);
    return s;
}

wharf_status exports_forget(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT exports.forget(1000)";
    const wharf_rows *rows;

    (void)arg;
    return W->db->query(req, sql, NULL, 0, &rows);
}
