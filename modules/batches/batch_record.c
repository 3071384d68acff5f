/* batch_record.c - the row of a batch: reading it, what it shows of its items, its end (spec
 * 10 section 10). */
#include <stdio.h>

#include "batches.h"
#include "batches.gen.h"
#include "wharf/errors.h"

/* ---- reading ---- */

static int64_t integer_or_0(const wharf_json *v)
{
    int64_t i;

    return v && W->json->integer(v, &i) ? i : 0;
}

static void read_phases(struct batch *b, const wharf_json *list)
{
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        enum phase_name name = phase_of(json_text(e, "name"));

        if (name == PHASES)
            continue;
        b->phases[name] = (struct phase){.there = true,
            .async = mode_of(json_text(e, "mode")) == MODE_ASYNC,
            .status = phase_status_of(json_text(e, "status")),
            .started_us = integer_or_0(W->json->get(e, "_started")),
            .finished_us = integer_or_0(W->json->get(e, "_finished")),
            .total = integer_or_0(W->json->get(e, "total")),
            .processed = integer_or_0(W->json->get(e, "processed"))};
    }
}

static const char load_sql[] = QUERY_BATCH_LOAD;

enum {
    L_RESOURCE,
    L_ACTION,
    L_MODE,
    L_STATUS,
    L_MATCH_BY,
    L_LOCATION,
    L_DATES,
    L_DUPLICATES,
    L_KEY,
    L_URL,
    L_FILE,
    L_PARENT,
    L_PROPERTIES,
    L_FILTERS,
    L_MAPPING,
    L_OPTIONS,
    L_SAVE_UPLOAD,
    L_SAVE_RESULT,
    L_VALIDATE_ONLY,
    L_QUIET,
    L_NOTIFY,
    L_FROM_FILE,
    L_CANCEL,
    L_LEASE,
    L_STARTED,
    L_TRIES,
    L_RUNS,
    L_PHASES
};

static void read_texts(
    struct batch_request *asked, struct batch_source *source, const wharf_rows *rows)
{
    const struct {
        wharf_str *text;
        size_t column;
    } all[] = {{&asked->resource, L_RESOURCE}, {&asked->match_by, L_MATCH_BY},
        {&asked->location_id, L_LOCATION}, {&asked->dates, L_DATES}, {&asked->key_id, L_KEY},
        {&source->url, L_URL}, {&source->file, L_FILE}, {&asked->parent, L_PARENT}};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        *all[i].text = row_text(rows, 0, all[i].column);
}

wharf_status batch_load_row(wharf_req *req, wharf_str id, struct batch *b)
{
    const wharf_rows *rows;
    wharf_val v;
    wharf_status s = query_about(req, load_sql, id, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s == WHARF_OK ? W->err->fail(req, ERR_NOT_FOUND, id.p, NULL) : s;
    *b = (struct batch){.req = req,
        .id = id,
        .run = {.in_request = b->run.in_request, .deadline_us = b->run.deadline_us},
        .source = b->source};
    read_texts(&b->asked, &b->source, rows);
    b->asked.action = action_of(row_text(rows, 0, L_ACTION));
    b->asked.mode = mode_of(row_text(rows, 0, L_MODE));
    b->status = status_of(row_text(rows, 0, L_STATUS));
    b->asked.duplicates = duplicates_of(row_text(rows, 0, L_DUPLICATES));
    b->asked.properties = row_json(rows, 0, L_PROPERTIES);
    b->asked.filters = row_json(rows, 0, L_FILTERS);
    b->asked.mapping = row_json(rows, 0, L_MAPPING);
    b->asked.file_options = row_json(rows, 0, L_OPTIONS);
    if (!b->source.file_name.n)
        b->source.file_name = json_text(b->asked.file_options, "name");
    b->asked.save_upload = row_bool(rows, 0, L_SAVE_UPLOAD);
    b->asked.save_result = row_bool(rows, 0, L_SAVE_RESULT);
    b->asked.validate_only = row_bool(rows, 0, L_VALIDATE_ONLY);
    b->asked.quiet = row_bool(rows, 0, L_QUIET);
    b->asked.silent = !row_bool(rows, 0, L_NOTIFY);
    b->asked.from_file = row_bool(rows, 0, L_FROM_FILE);
    b->run.cancel_asked = row_bool(rows, 0, L_CANCEL);
    b->run.lease = row_int(rows, 0, L_LEASE);
    b->run.started_us = W->db->value(rows, 0, L_STARTED, WHARF_V_TIME_US, &v) ? v.u.i : 0;
    b->run.tries = (int)row_int(rows, 0, L_TRIES);
    b->run.runs = row_int(rows, 0, L_RUNS);
    read_phases(b, row_json(rows, 0, L_PHASES));
    return WHARF_OK;
}

wharf_status batch_load(wharf_req *req, wharf_str id, struct batch *b)
{
    wharf_status s = batch_load_row(req, id, b);

    return s == WHARF_OK ? resource_find(req, b->asked.resource, &b->definition, &b->block) : s;
}

/* ---- what became of its items ---- */

wharf_status batch_counts(const struct batch *b, struct counts *c)
{
    static const char sql[] = QUERY_BATCH_COUNTS;
    int64_t *const all[] = {&c->total, &c->pending, &c->created, &c->updated, &c->overwritten,
        &c->deleted, &c->unchanged, &c->not_parsed, &c->not_valid, &c->not_done, &c->ignored,
        &c->skipped, &c->events, &c->validated};
    const wharf_rows *rows;
    wharf_status s = query_about(b->req, sql, b->id, &rows);

    *c = (struct counts){0};
    for (size_t i = 0; s == WHARF_OK && i < sizeof(all) / sizeof(*all); i++)
        *all[i] = row_int(rows, 0, i);
    return s;
}

static int64_t done_of(const struct counts *c)
{
    return c->created + c->updated + c->overwritten + c->deleted + c->unchanged;
}

static void phase_numbers(
    enum phase_name name, const struct phase *p, const struct counts *c, int64_t numbers[5])
{
    int64_t total = p->total, processed = p->processed, error = 0, ignored = 0;

    if (name == PARSING) {
        total = processed = c->total;
        error = c->not_parsed;
        ignored = c->ignored;
    } else if (name == VALIDATING) {
        total = c->total - c->not_parsed - c->ignored;
        processed = c->validated;
        error = c->not_valid;
    } else if (name == PROCESSING) {
        total = c->total - c->not_parsed - c->ignored - c->not_valid;
        processed = done_of(c) + c->not_done;
        error = c->not_done;
    }
    numbers[0] = total;
    numbers[1] = processed;
    numbers[2] = processed - error - ignored;
    numbers[3] = error;
    numbers[4] = ignored;
}

wharf_val phases_json(struct batch *b, const struct counts *c)
{
    static const char *const keys[] = {"total", "processed", "success", "error", "ignored"};
    wharf_out *out = W->json->writer(b->req);

    W->json->open(out, NULL, '[');
    for (int i = 0; i < PHASES; i++) {
        const struct phase *p = &b->phases[i];
        int64_t numbers[5];

        if (!p->there)
            continue;
        phase_numbers((enum phase_name)i, p, c, numbers);
        W->json->open(out, NULL, '{');
        W->json->put(out, "name", val_text(z(phase_word((enum phase_name)i))));
        W->json->put(out, "mode", val_text(z(mode_word(p->async ? MODE_ASYNC : MODE_SYNC))));
        W->json->put(out, "status", val_text(z(phase_status_word(p->status))));
        for (size_t k = 0; k < 5; k++)
            W->json->put(out, keys[k], val_int(p->status == PHASE_PENDING ? 0 : numbers[k]));
        W->json->put(out, "started_at", p->started_us ? val_time(p->started_us) : val_null());
        W->json->put(out, "finished_at", p->finished_us ? val_time(p->finished_us) : val_null());
        W->json->close(out);
    }
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

wharf_val stats_json(wharf_req *req, const struct counts *c)
{
    const struct {
        const char *key;
        int64_t n;
    } all[] = {{"created", c->created}, {"updated", c->updated}, {"deleted", c->deleted},
        {"overwritten", c->overwritten}, {"events", c->events}, {"ignored", c->ignored},
        {"errors", c->not_parsed + c->not_valid + c->not_done}, {"skipped", c->skipped},
        {"unchanged", c->unchanged}};
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        W->json->put(out, all[i].key, val_int(all[i].n));
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

/* Computes the progress: the first tenth is reading, the next two are looking, the rest is
 * writing; 100 is the end's alone. */
static int64_t progress_of(const struct batch *b, const struct counts *c)
{
    int64_t all = c->total - c->not_parsed - c->ignored,
            done = done_of(c) + c->not_done + c->not_valid;

    if (b->phases[PARSING].there && b->phases[PARSING].status < PHASE_COMPLETED)
        return 0;
    if (!all)
        return 10;
    if (b->asked.validate_only)
        return 10 + 89 * c->validated / all;
    return 10 + 20 * c->validated / all +
           69 * (b->phases[PROCESSING].status > PHASE_PENDING ? done : 0) / all;
}

/* Writes how far the batch is, with the status that it has now. */
static wharf_status batch_record_note(struct batch *b, wharf_str reason, bool over)
{
    static const char sql[] = QUERY_BATCH_NOTE;
    struct counts c;
    const wharf_rows *rows;
    wharf_status s = batch_counts(b, &c);

    if (s != WHARF_OK)
        return s;
    wharf_val args[] = {val_text(b->id), val_text(W->req->organization(b->req)), phases_json(b, &c),
        stats_json(b->req, &c),
        val_int(over && b->status == BATCH_COMPLETED ? 100 : progress_of(b, &c)),
        val_text(z(status_word(b->status))), val_text_or_null(reason),
        val_time(W->req->now_us(b->req)), val_bool(over), val_int(b->run.tries),
        val_int(b->run.lease), val_int(c.total)};
    s = W->db->query(b->req, sql, args, sizeof(args) / sizeof(*args), &rows);
    b->run.lost = s == WHARF_OK && !W->db->count(rows);
    if (b->run.lost)
        return W->err->fail(
            b->req, ERR_CONFLICT, NULL, "another worker has taken %s over", b->id.p);
    if (s == WHARF_OK)
        b->run.cancel_asked = row_bool(rows, 0, 0);
    return s;
}

/* Begins a transaction of a batch. Who adds to a GIN index puts off the work, until somebody
 * meets a list that is too long and does it for all: 100 ms. Batches find it too long before
 * others do. */
wharf_status begin_briefly(wharf_req *req, bool durable)
{
    static const char sql[] = "SELECT batches.begun($1::boolean)";
    const wharf_val arg = val_bool(durable);
    const wharf_rows *rows;
    wharf_status s = W->db->begin(req);

    return s == WHARF_OK ? W->db->query(req, sql, &arg, 1, &rows) : s;
}

wharf_status batch_begin(struct batch *b, bool durable)
{
    return b->run.in_request ? W->db->begin(b->req) : begin_briefly(b->req, durable);
}

wharf_status batch_note(struct batch *b)
{
    return batch_record_note(b, WHARF_S(""), false);
}

wharf_status batch_look(struct batch *b)
{
    static const char sql[] =
        "SELECT cancel_asked FROM batches.batch WHERE organization_id = $2::text AND id = $1::text"
        " AND lease = $3::bigint AND status = 'processing'";
    wharf_val args[3] = {
        val_text(b->id), val_text(W->req->organization(b->req)), val_int(b->run.lease)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(b->req, sql, args, 3, &rows);

    b->run.lost = s == WHARF_OK && !W->db->count(rows);
    if (b->run.lost)
        return W->err->fail(
            b->req, ERR_CONFLICT, NULL, "nobody works on %s any more, or somebody else", b->id.p);
    if (s == WHARF_OK)
        b->run.cancel_asked = row_bool(rows, 0, 0);
    return s;
}

void phase_begin(struct batch *b, enum phase_name name)
{
    struct phase *p = &b->phases[name];

    p->status = PHASE_RUNNING;
    p->async = !b->run.in_request;
    if (!p->started_us)
        p->started_us = W->req->now_us(b->req);
}

void phase_end(struct batch *b, enum phase_name name, enum phase_status status)
{
    b->phases[name].status = status;
    b->phases[name].finished_us = W->req->now_us(b->req);
}

/* ---- the end ---- */

static wharf_status skip_rest(struct batch *b)
{
    static const char sql[] =
        "UPDATE batches.chunk SET states = replace(states, '.', 's')"
        " WHERE organization_id = $2::text AND batch_id = $1::text AND pending > 0";

    return query_about(b->req, sql, b->id, NULL);
}

wharf_status batch_end(struct batch *b, enum batch_status status, wharf_str reason)
{
    bool good = status == BATCH_COMPLETED;
    wharf_status s = good ? WHARF_OK : skip_rest(b);

    for (int i = 0; i < PHASES; i++) {
        if (b->phases[i].there && b->phases[i].status <= PHASE_RUNNING)
            phase_end(b, (enum phase_name)i,
                b->phases[i].status == PHASE_RUNNING && status == BATCH_FAILED ? PHASE_FAILED
                                                                               : PHASE_SKIPPED);
    }
    b->status = status;
    if (s == WHARF_OK)
        s = batch_record_note(b, reason, true);
    if (s == WHARF_OK)
        s = files_make(b);
    batches_events->cause(b->req, b->id, 0, false);
    return s == WHARF_OK ? W->event->emit(b->req, good ? "batch.completed" : "batch.failed",
                               "batch", b->id, NULL)
                         : s;
}
