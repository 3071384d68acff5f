/* batch_request.c - POST /v1/batches: what is asked for, judged before anything is written (spec
 * 10 section 2). */
#include "batches.h"
#include "batches.gen.h"

/* ---- reading ---- */

static wharf_str text_or(const wharf_json *body, const char *key, const char *fallback)
{
    wharf_str s = json_text(body, key);

    return s.n ? s : z(fallback);
}

static const wharf_json *value_or_none(const wharf_json *body, const char *key)
{
    const wharf_json *v = W->json->get(body, key);

    return json_is_null(v) ? NULL : v;
}

static bool is_false(const wharf_json *v)
{
    bool truth;

    return W->json->truth(v, &truth) && !truth;
}

static void batch_request_read_body(
    struct batch_request *asked, struct batch_source *source, const wharf_json *body)
{
    const wharf_json *data = value_or_none(body, "data");

    asked->resource = json_text(body, "resource");
    asked->action = action_of(json_text(body, "action"));
    asked->mode = mode_of(json_text(body, "mode"));
    asked->match_by = text_or(body, "match_by", "id");
    asked->duplicates = duplicates_of(json_text(body, "duplicate_handling"));
    asked->dates = text_or(body, "save_result_date_format", "iso_8601");
    asked->location_id = json_text(body, "location_id");
    asked->properties = value_or_none(body, "properties");
    asked->filters = value_or_none(body, "filters");
    asked->mapping = value_or_none(body, "column_mapping");
    asked->file_options = value_or_none(body, "file");
    asked->save_upload = json_truth(W->json->get(body, "save_upload"));
    asked->save_result = json_truth(W->json->get(body, "save_result"));
    asked->validate_only = json_truth(W->json->get(body, "validate_only"));
    asked->quiet = json_truth(W->json->get(body, "disable_webhooks"));
    asked->silent = is_false(W->json->get(body, "notify_customer"));
    source->array = data && W->json->type(data) == WHARF_J_ARRAY ? data : NULL;
    if (asked->filters)
        asked->mode = MODE_ASYNC;
}

/* ---- judging ---- */

wharf_status batch_scope(struct batch *b)
{
    wharf_str area = json_text(definition_x(b->definition), "scope");

    return W->req->need_scope(b->req, W->mem->format(b->req, "%s:write", area.p).p);
}

static wharf_status batch_request_check_pair(struct batch *b)
{
    const wharf_json *keys = block_member(b->block, "match_by");

    if (!block_has(b->block, "actions", b->asked.action))
        return W->err->fail(b->req, ERR_BATCH_ACTION_UNSUPPORTED, "action",
            "Batches of %s have no %s", b->asked.resource.p, action_word(b->asked.action));
    if (b->asked.filters && !block_has(b->block, "filters", b->asked.action))
        return W->err->fail(b->req, ERR_BATCH_ACTION_UNSUPPORTED, "filters",
            "Batches of %s take no filters for %s", b->asked.resource.p,
            action_word(b->asked.action));
    if (!is(b->asked.match_by, "id") && (!keys || !W->json->get(keys, b->asked.match_by.p)))
        return W->err->fail(b->req, ERR_VALIDATION_FAILED, "match_by",
            "Records of %s are not found by %s", b->asked.resource.p, b->asked.match_by.p);
    return WHARF_OK;
}

static wharf_status check_filters(
    wharf_req *req, const struct batch_request *asked, const struct batch_source *source)
{
    const wharf_str *ids;
    bool empty = !asked->properties || !W->json->count(asked->properties);
    size_t n;

    if (!source->array || W->json->count(source->array))
        return W->err->fail(req, ERR_BATCH_FILTERS_WITH_DATA, "data", NULL);
    if (!W->json->count(asked->filters))
        return W->err->fail(req, ERR_BATCH_FILTERS_EMPTY, "filters", NULL);
    if (asked->action == ACTION_DELETE && !empty)
        return W->err->fail(
            req, ERR_BATCH_PROPERTIES_INVALID, "properties", "A delete writes nothing");
    if (asked->action != ACTION_DELETE && empty)
        return W->err->fail(req, ERR_BATCH_PROPERTIES_REQUIRED, "properties", NULL);
    return batches_kernel->resolve(req, asked->resource.p, asked->filters, 0, &ids, &n);
}

/* Checks that fields that columns are said to fill are fields, down to their last member. */
static wharf_status check_mapping(wharf_req *req, const struct batch_request *asked)
{
    for (const wharf_json *m = asked->mapping ? W->json->at(asked->mapping, 0) : NULL; m;
         m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (!batches_files->is_field(req, asked->resource.p, key))
            W->err->add(req, ERR_VALIDATION_FAILED,
                W->mem->format(req, "column_mapping.%s", key.p).p,
                "%s is no field of %s that a file can fill", key.p, asked->resource.p);
    }
    return W->err->current(req);
}

static bool batch_request_begins(wharf_str s, const char *with)
{
    size_t n = strlen(with);

    for (size_t i = 0; i < n; i++) {
        char c = i < s.n ? s.p[i] : 0;

        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != with[i])
            return false;
    }
    return true;
}

static wharf_status batch_request_check_text(struct batch *b, wharf_str text)
{
    wharf_status s = check_mapping(b->req, &b->asked);

    if (s != WHARF_OK)
        return s;
    if (batch_request_begins(text, "data:"))
        return upload_take_data_url(b, text);
    if (!strstr(text.p, "://"))
        return W->err->fail(b->req, ERR_BATCH_DATA_INVALID, "data", NULL);
    b->source.url = text;
    return upload_check_url(b->req, text);
}

static wharf_status batch_request_check_data(struct batch *b, const wharf_json *body)
{
    const wharf_json *data = W->json->get(body, "data");
    wharf_str text;

    if (b->asked.filters)
        return check_filters(b->req, &b->asked, &b->source);
    if (b->source.array)
        return W->json->count(b->source.array)
                   ? WHARF_OK
                   : W->err->fail(b->req, ERR_BATCH_DATA_EMPTY, "data", NULL);
    b->asked.from_file = true;
    if (W->json->text(data, &text))
        return batch_request_check_text(b, text);
    if (b->asked.mode != MODE_ASYNC)
        return W->err->fail(b->req, ERR_VALIDATION_FAILED, "data",
            "A file that is to come later needs the mode async");
    return check_mapping(b->req, &b->asked);
}

static wharf_status batch_request_judge(struct batch *b, const wharf_json *body)
{
    wharf_status s = resource_find(b->req, b->asked.resource, &b->definition, &b->block);

    if (s == WHARF_OK)
        s = batch_scope(b);
    if (s == WHARF_OK)
        s = batch_request_check_pair(b);
    if (s == WHARF_OK)
        s = batch_request_check_data(b, body);
    return s == WHARF_OK ? shape_check_properties(b) : s;
}

/* ---- the row ---- */

static void plan_phases(struct batch *b)
{
    bool queued = b->asked.mode == MODE_ASYNC;

    b->phases[FETCHING].there = b->asked.from_file && !b->source.bytes.n;
    b->phases[RESOLVING].there = b->asked.filters != NULL;
    b->phases[PARSING].there = !b->asked.filters;
    b->phases[VALIDATING].there = true;
    b->phases[PROCESSING].there = !b->asked.validate_only;
    for (int i = 0; i < PHASES; i++)
        b->phases[i].async = queued;
}

static wharf_status batch_request_make_row(
    struct batch *b, const wharf_json *body, const wharf_rec **ret_rec)
{
    static const char *const same_keys[] = {"name", "location_id", "properties", "filters",
        "column_mapping", "save_upload", "save_result", "validate_only", "disable_webhooks",
        "notify_customer"};
    const struct counts none = {0};
    wharf_out *out = W->json->builder(b->req);
    const wharf_json *row, *phases, *stats;
    enum batch_status status = b->asked.from_file && !b->source.bytes.n && !b->source.url.n
                                   ? BATCH_REQUESTED
                                   : BATCH_QUEUED;
    wharf_status s = W->json->parse(b->req, phases_json(b, &none).u.s, &phases);

    if (s == WHARF_OK)
        s = W->json->parse(b->req, stats_json(b->req, &none).u.s, &stats);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "resource", val_text(b->asked.resource));
    W->json->put(out, "action", val_text(z(action_word(b->asked.action))));
    W->json->put(out, "mode", val_text(z(mode_word(b->asked.mode))));
    W->json->put(out, "via", val_text(z(b->asked.from_file ? "file" : "api")));
    W->json->put(out, "status", val_text(z(status_word(status))));
    W->json->put(out, "match_by", val_text(b->asked.match_by));
    W->json->put(out, "duplicate_handling", val_text(z(duplicates_word(b->asked.duplicates))));
    W->json->put(out, "save_result_date_format", val_text(b->asked.dates));
    W->json->put(out, "key_id", val_text(batches_keys->caller(b->req)->key_id));
    for (size_t i = 0; i < sizeof(same_keys) / sizeof(*same_keys); i++) {
        const wharf_json *v = value_or_none(body, same_keys[i]);

        if (v)
            W->json->put(out, same_keys[i], val_json(v));
    }
    if (b->asked.file_options)
        W->json->put(out, "file_options", val_json(b->asked.file_options));
    W->json->put(out, "phases", val_json(phases));
    W->json->put(out, "stats", val_json(stats));
    W->json->close(out);
    s = W->json->result(b->req, out, &row);
    return s == WHARF_OK ? W->res->create(b->req, "batch", row, ret_rec) : s;
}

/* ---- the request ---- */

wharf_status batch_queue(wharf_req *req, int64_t most)
{
    static const char sql[] = "SELECT count(*) FROM batches.batch WHERE organization_id = $1::text "
                              "AND status IN ('requested', 'queued')"
                              " AND deleted_at IS NULL";
    wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s;

    s = W->db->query(req, sql, &organization, 1, &rows);
    if (s == WHARF_OK && row_int(rows, 0, 0) > most)
        return W->err->fail(req, ERR_RATE_LIMITED, "endpoint",
            "%lld batches wait already; let some of them end", (long long)batches_limits.queued);
    return s;
}

static wharf_status keep_source(struct batch *b, wharf_str url, const wharf_json *options)
{
    static const char sql[] =
        "UPDATE batches.batch SET source_url = $3::text, file_options = $4::jsonb"
        " WHERE organization_id = $2::text AND id = $1::text";
    wharf_val args[4] = {val_text(b->id), val_text(W->req->organization(b->req)),
        val_text_or_null(url), val_json(options)};
    bool later = b->asked.mode == MODE_ASYNC || b->asked.save_upload ||
                 b->source.bytes.n > INLINE_PARSE_BYTES;
    wharf_status s = W->db->exec(b->req, sql, args, 4, NULL);

    b->source.url = url;
    b->asked.file_options = options;
    return s == WHARF_OK && b->source.bytes.n && later ? upload_keep_bytes(b) : s;
}

/* Takes the batch in. Whatever happens from here on happens with the answer or not at all. */
static wharf_status take_in(struct batch *b, const wharf_json *body, bool *ret_rest)
{
    wharf_str url = b->source.url;
    const wharf_json *options = b->asked.file_options;
    const wharf_rec *rec;
    wharf_status s = b->asked.mode == MODE_ASYNC ? batch_queue(b->req, batches_limits.queued - 1)
                                                 : WHARF_OK;

    plan_phases(b);
    if (s == WHARF_OK)
        s = batch_request_make_row(b, body, &rec);
    if (s == WHARF_OK)
        s = batch_load(b->req, W->res->id(rec), b);
    if (s == WHARF_OK && b->asked.from_file)
        s = keep_source(b, url, options);
    if (s == WHARF_OK && b->status == BATCH_REQUESTED) {
        *ret_rest = true;
        return upload_await(b);
    }
    if (s == WHARF_OK)
        s = run_in_request(b, ret_rest);
    /* A mixed batch waits only when it is large: then nothing was done yet. */
    return s == WHARF_OK && *ret_rest && b->asked.mode == MODE_MIXED
               ? batch_queue(b->req, batches_limits.queued)
               : s;
}

wharf_status batches_post(wharf_req *req, void *arg)
{
    struct batch *b = W->mem->alloc(req, sizeof(*b));
    const wharf_json *body;
    bool rest = false;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    b->req = req;
    b->run.in_request = true;
    b->source.fd = -1;
    b->source.url = b->source.file_name = WHARF_S("");
    if (s == WHARF_OK) {
        batch_request_read_body(&b->asked, &b->source, body);
        s = batch_request_judge(b, body);
    }
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = take_in(b, body, &rest);
    if (s == WHARF_OK)
        s = answer_batch(b, rest ? 202 : 201, rest ? "Batch accepted." : "Batch completed.");
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}
