/* batch_source.c - where items come from: the array of a request, a file, filters, a batch that
 * is tried again (spec 10 sections 7 and 9).
 *
 * What is wrong with all of it is told to who asks, in a request; in the background it is the
 * batch's reason. Leaves to others: reading files (wharf.import), fetching them (wharf.fetch),
 * names that stand for ids (batch_names.c), items (intake.c). */
#include <unistd.h>

#include "batches.h"
#include "batches.gen.h"

enum {
    DIGEST_WEIGHT = 1 << 20,
    CHUNKS_COMMIT = 10, /* chunks of the background that are written together */
    /* memory of the rows of a file that wait to be written, about: a record may have megabytes */
    WEIGHT_AT_ONCE = 8 << 20,
};

wharf_status source_wrong(struct batch *b, const char *code, const char *path, wharf_str message)
{
    if (b->run.in_request)
        return W->err->fail(b->req, code, path, "%s", message.p);
    b->reason = W->mem->dup(b->req, code, strlen(code)).p;
    return W->err->fail(b->req, ERR_CONFLICT, NULL, "%s: %s", code, message.p);
}

static wharf_status batch_source_too_many(struct batch *b, int64_t most)
{
    return source_wrong(b, ERR_BATCH_TOO_MANY_ITEMS, b->asked.filters ? "filters" : "data",
        W->mem->format(b->req, "A batch has at most %lld items in this form", (long long)most));
}

/* ---- filling chunks ---- */

wharf_status source_pause(struct batch *b)
{
    wharf_status s;

    if (b->run.in_request)
        return WHARF_OK;
    s = batch_note(b);
    if (s == WHARF_OK)
        s = W->db->commit(b->req);
    if (s == WHARF_OK)
        give_way(b->req, &b->run, monotonic_us() - b->run.filling_us);
    b->run.filling_us = monotonic_us();
    if (s == WHARF_OK && W->event->progress(b->req, b->run.steps, 0))
        s = W->err->fail(b->req, ERR_OVERLOADED, NULL, "the worker ends");
    return s == WHARF_OK ? batch_begin(b, false) : s;
}

void filling_open(wharf_req *req, struct filling *f)
{
    if (!f->scope)
        f->scope = W->mem->scope_begin(req);
}

/* Closes a filling. In the background some chunks are committed together: they show, and the
 * worker is seen to live. */
wharf_status filling_close(struct batch *b, struct filling *f)
{
    wharf_status s = f->scope ? intake_flush(f->in) : WHARF_OK;

    if (s == WHARF_OK && f->scope && ++b->run.steps % CHUNKS_COMMIT == 0)
        s = source_pause(b);
    if (f->scope)
        W->mem->scope_end(b->req, f->scope);
    f->scope = NULL;
    return s;
}

/* ---- what an array was ---- */

static void digest_value(struct batch *b, wharf_digest *d, wharf_val v)
{
    wharf_scope *scope = W->mem->scope_begin(b->req);
    wharf_out *out = W->json->writer(b->req);

    W->json->put(out, NULL, v);
    batches_text->digest_add(d, W->json->result_text(out));
    W->mem->scope_end(b->req, scope);
}

/* Adds a value to the digest as JSON without white space. What is large goes by its members, so
 * that no copy of it is made. */
static void digest_json(struct batch *b, wharf_digest *d, const wharf_json *v)
{
    bool object = W->json->type(v) == WHARF_J_OBJECT;
    const char *before = object ? "{" : "[";

    if ((!object && W->json->type(v) != WHARF_J_ARRAY) ||
        (W->json->count(v) && json_weight(v) <= DIGEST_WEIGHT)) {
        digest_value(b, d, val_json(v));
        return;
    }
    if (!W->json->count(v))
        batches_text->digest_add(d, z(before));
    for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e), before = ",") {
        batches_text->digest_add(d, z(before));
        if (object) {
            digest_value(b, d, val_text(W->json->key(e)));
            batches_text->digest_add(d, WHARF_S(":"));
        }
        digest_json(b, d, e);
    }
    batches_text->digest_add(d, object ? WHARF_S("}") : WHARF_S("]"));
}

static wharf_status keep_checksum(struct batch *b)
{
    static const char sql[] =
        "UPDATE batches.batch SET checksum = $3::text WHERE organization_id = $2::text"
        " AND id = $1::text";
    wharf_digest *d = batches_text->digest(b->req);

    digest_json(b, d, b->source.array);
    wharf_val args[3] = {val_text(b->id), val_text(W->req->organization(b->req)),
        val_text(batches_text->digest_end(b->req, d))};
    return W->db->exec(b->req, sql, args, 3, NULL);
}

/* ---- arrays and old batches ---- */

static wharf_status take_array(struct batch *b, struct filling *g)
{
    const wharf_str none = WHARF_S("");
    wharf_status s = (int64_t)W->json->count(b->source.array) > batches_limits.array_items
                         ? batch_source_too_many(b, batches_limits.array_items)
                         : WHARF_OK;

    for (const wharf_json *e = W->json->at(b->source.array, 0); e && s == WHARF_OK;
         e = W->json->next(e)) {
        filling_open(b->req, g);
        s = intake_add(g->in, e, 0, none, none, none);
        if (s == WHARF_OK && intake_full(g->in))
            s = filling_close(b, g);
    }
    if (s == WHARF_OK)
        s = filling_close(b, g);
    return s == WHARF_OK ? keep_checksum(b) : s;
}

/* ---- files ---- */

static wharf_status source_open(wharf_req *req, struct batch_source *source)
{
    wharf_status s;
    int64_t at, length;

    if (source->fd >= 0 || source->bytes.n || !source->file.n)
        return WHARF_OK;
    s = batches_blob->open(req, source->file, 0, -1, &source->fd, &at, &length);
    return s == WHARF_OK && at
               ? W->err->fail(req, ERR_INTERNAL, NULL, "a file that begins in the middle")
               : s;
}

void source_close(struct batch_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}

static wharf_status batch_source_read_options(
    wharf_req *req, const struct batch_request *asked, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    if (asked->file_options)
        W->json->put(out, "file", val_json(asked->file_options));
    if (asked->mapping)
        W->json->put(out, "column_mapping", val_json(asked->mapping));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status source_read(struct batch *b, wharf_import **ret)
{
    const wharf_json *options;
    wharf_status s = source_open(b->req, &b->source);

    if (s == WHARF_OK)
        s = batch_source_read_options(b->req, &b->asked, &options);
    if (s == WHARF_OK)
        *ret = batches_files->open(b->req, b->asked.resource.p,
            b->source.bytes.n ? -1 : b->source.fd, b->source.bytes, options);
    return s;
}

bool rows_full(const struct rows *rows)
{
    return rows->n == CHUNK_ITEMS || rows->weight >= WEIGHT_AT_ONCE;
}

wharf_status rows_read(wharf_req *req, wharf_import *file, struct rows *rows)
{
    wharf_str code, path, message;
    size_t i = rows->n++;
    wharf_status s = batches_files->object(req, file, &rows->items[i]);

    if (s != WHARF_OK)
        return s;
    rows->weight += json_weight(rows->items[i]);
    rows->lines[i] = (int64_t)batches_files->row(file);
    rows->codes[i] = rows->paths[i] = rows->messages[i] = WHARF_S("");
    if (batches_files->row_error(file, 0, &code, &path, &message)) {
        rows->codes[i] = W->mem->dup(req, code.p, code.n);
        rows->paths[i] = W->mem->dup(req, path.p, path.n);
        rows->messages[i] = W->mem->dup(req, message.p, message.n);
    }
    return WHARF_OK;
}

static wharf_status batch_source_take_rows(struct batch *b, struct filling *g, struct rows *rows)
{
    wharf_status s = names_resolve(
        b, rows->items, rows->n, rows->codes, rows->paths, rows->messages);

    for (size_t i = 0; i < rows->n && s == WHARF_OK; i++) {
        s = intake_add(g->in, rows->items[i], rows->lines[i], rows->codes[i], rows->paths[i],
            rows->messages[i]);
        if (s == WHARF_OK && (int64_t)intake_count(g->in) > batches_limits.items)
            s = batch_source_too_many(b, batches_limits.items);
        if (s == WHARF_OK && intake_full(g->in) && i + 1 < rows->n)
            s = intake_flush(g->in);
    }
    rows->n = rows->weight = 0;
    return s == WHARF_OK ? filling_close(b, g) : s;
}

/* ---- a batch that is tried again ---- */

static bool batch_source_failed(char state)
{
    return state == 'a' || state == 'v' || state == 'e' || state == 's';
}

/* Reads what the reader found wrong with rows, which stays wrong: the bad cells are not in the
 * item. Names may stand for something by now. */
static wharf_status parsed_wrongly(wharf_req *req, const struct batch_request *asked,
    const struct chunk *c, const wharf_rows **ret)
{
    static const char sql[] =
        "SELECT index, code, line #>> '{errors,0,path}', line ->> 'message' FROM batches.line "
        "WHERE organization_id = $2::text"
        " AND batch_id = $1::text AND phase = 'parsing' AND code LIKE 'row.%' AND index >= "
        "$3::integer AND index < $4::integer";
    wharf_val args[4] = {val_text(asked->parent), val_text(W->req->organization(req)),
        val_int(c->first), val_int(c->first + c->size)};

    return W->db->query(req, sql, args, 4, ret);
}

static void batch_source_take_over(
    const wharf_rows *wrong, int64_t index, struct rows *rows, size_t i)
{
    rows->codes[i] = rows->paths[i] = rows->messages[i] = WHARF_S("");
    for (size_t r = 0; r < W->db->count(wrong); r++) {
        if (row_int(wrong, r, 0) == index) {
            rows->codes[i] = row_text(wrong, r, 1);
            rows->paths[i] = row_text(wrong, r, 2);
            rows->messages[i] = row_text(wrong, r, 3);
        }
    }
}

/* Tells whether the batch began as a file: names stand for ids in files only, also in those of the
 * batch that was tried again first. */
static wharf_status began_as_file(struct batch *b, bool *ret)
{
    static const char sql[] = QUERY_BATCH_BEGAN_AS_FILE;
    const wharf_rows *rows;
    wharf_status s = query_about(b->req, sql, b->id, &rows);

    *ret = s == WHARF_OK && row_bool(rows, 0, 0);
    return s;
}

static wharf_status take_failed_of(struct batch *b, struct filling *g, struct chunk *c, bool names)
{
    struct rows *rows = W->mem->alloc(b->req, sizeof(*rows));
    const wharf_rows *wrong;
    wharf_status s = parsed_wrongly(b->req, &b->asked, c, &wrong);
    int i = 0;

    for (const wharf_json *e = s == WHARF_OK ? W->json->at(c->items, 0) : NULL; e && i < c->size;
         e = W->json->next(e), i++) {
        if (!batch_source_failed(c->states[i]))
            continue;
        rows->items[rows->n] = e;
        batch_source_take_over(wrong, c->first + i, rows, rows->n++);
    }
    if (s == WHARF_OK && names)
        s = names_resolve(b, rows->items, rows->n, rows->codes, rows->paths, rows->messages);
    for (size_t k = 0; k < rows->n && s == WHARF_OK; k++)
        s = intake_add(g->in, rows->items[k], 0, rows->codes[k], rows->paths[k], rows->messages[k]);
    return s;
}

static wharf_status take_failed(struct batch *b, struct filling *g)
{
    struct batch parent = {.req = b->req, .id = b->asked.parent};
    bool found = true, names;
    wharf_status s = began_as_file(b, &names);

    for (int number = 0; s == WHARF_OK && found; number++) {
        struct chunk c;

        filling_open(b->req, g);
        s = chunk_load(&parent, number, false, &c, &found);
        if (s == WHARF_OK && found)
            s = take_failed_of(b, g, &c, names);
        if (s == WHARF_OK)
            s = filling_close(b, g);
    }
    return s;
}

/* ---- rows of a file ---- */

static wharf_status take_table(
    struct batch *b, struct filling *g, wharf_import *file, uint32_t *ret_event)
{
    struct rows *rows = W->mem->alloc(b->req, sizeof(*rows));
    wharf_status s = WHARF_OK;

    while (s == WHARF_OK) {
        filling_open(b->req, g);
        while (s == WHARF_OK && !rows_full(rows) &&
               (*ret_event = batches_files->next(file)) == WHARF_IMPORT_ROW)
            s = rows_read(b->req, file, rows);
        if (s == WHARF_OK && *ret_event == WHARF_IMPORT_FAILED)
            break;
        if (s == WHARF_OK)
            s = batch_source_take_rows(b, g, rows);
        if (*ret_event != WHARF_IMPORT_ROW)
            break;
    }
    return s;
}

static wharf_status batch_source_file_problem(struct batch *b, wharf_import *file)
{
    wharf_str code = WHARF_S(ERR_FILE_UNSUPPORTED_TYPE),
              message = WHARF_S("The file can not be read");

    batches_files->problem(file, &code, &message);
    return source_wrong(b, W->mem->dup(b->req, code.p, code.n).p,
        is(code, ERR_PARAM_INVALID) ? "file" : "data", message);
}

static wharf_status batch_source_take_file(struct batch *b, struct filling *g)
{
    uint32_t event = WHARF_IMPORT_END;
    wharf_import *file;
    wharf_status s = source_read(b, &file);

    if (s != WHARF_OK)
        return s;
    s = block_member(b->block, "group") ? groups_take(b, g, file, &event)
                                        : take_table(b, g, file, &event);
    if (s == WHARF_OK && event == WHARF_IMPORT_FAILED)
        s = batch_source_file_problem(b, file);
    else if (s == WHARF_OK && !intake_count(g->in))
        s = source_wrong(b, ERR_BATCH_DATA_EMPTY, "data", WHARF_S("The file has no row"));
    if (s == WHARF_OK)
        s = source_describe(b, file);
    batches_files->close(file);
    return s;
}

/* ---- the phases ---- */

static wharf_status batch_source_start_over(struct batch *b)
{
    wharf_status s = query_about(b->req,
        "DELETE FROM batches.chunk WHERE organization_id = $2::text AND batch_id = $1::text", b->id,
        NULL);

    return s == WHARF_OK ? query_about(b->req,
                               "DELETE FROM batches.line WHERE organization_id = $2::text AND "
                               "batch_id = $1::text",
                               b->id, NULL)
                         : s;
}

wharf_status source_parse(struct batch *b)
{
    struct filling g = {.in = intake_begin(b)};
    wharf_status s = g.in ? WHARF_OK : WHARF_UNAVAILABLE;

    if (s == WHARF_OK && !b->run.in_request)
        s = batch_source_start_over(b);
    if (s == WHARF_OK)
        s = b->source.array     ? take_array(b, &g)
            : b->asked.parent.n ? take_failed(b, &g)
                                : batch_source_take_file(b, &g);
    if (s == WHARF_OK)
        s = filling_close(b, &g);
    if (s == WHARF_OK)
        s = intake_end(g.in);
    intake_free(g.in);
    source_close(&b->source);
    return s;
}

/* Resolves the filters: one statement sees one moment. */
wharf_status source_resolve(struct batch *b)
{
    const wharf_str none = WHARF_S("");
    struct filling g = {.in = intake_begin(b)};
    const wharf_str *ids;
    size_t n = 0;
    wharf_status s = g.in ? batch_source_start_over(b) : WHARF_UNAVAILABLE;

    if (s == WHARF_OK)
        s = batches_kernel->resolve(
            b->req, b->asked.resource.p, b->asked.filters, (size_t)batches_limits.items, &ids, &n);
    if (s == WHARF_OK && (int64_t)n > batches_limits.items)
        s = batch_source_too_many(b, batches_limits.items);
    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        wharf_out *out;
        const wharf_json *item;

        filling_open(b->req, &g);
        out = W->json->builder(b->req);
        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(ids[i]));
        W->json->close(out);
        s = W->json->result(b->req, out, &item);
        if (s == WHARF_OK)
            s = intake_add(g.in, item, 0, none, none, none);
        if (s == WHARF_OK && intake_full(g.in))
            s = filling_close(b, &g);
    }
    if (s == WHARF_OK)
        s = filling_close(b, &g);
    b->phases[RESOLVING].total = b->phases[RESOLVING].processed = (int64_t)n;
    intake_free(g.in);
    return s;
}
