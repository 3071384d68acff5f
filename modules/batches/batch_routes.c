/* batch_routes.c - stopping a batch, and trying again what failed (spec 10 sections 1 and 12). */
#include "batches.h"
#include "batches.gen.h"

/* Reads the batch that the path names. Whoever may not see the batch has none. It may be of a
 * module that is not there. */
static wharf_status addressed(wharf_req *req, struct batch *b)
{
    wharf_str id = WHARF_S("");
    const wharf_rec *rec;
    wharf_status s;

    W->req->param(req, "batch", &id);
    s = W->res->fetch(req, "batch", id, WHARF_FOR_UPDATE, &rec);
    b->source.fd = -1;
    return s == WHARF_OK ? batch_load_row(req, id, b) : s;
}

static bool is_over(enum batch_status status)
{
    return status > BATCH_PROCESSING;
}

/* ---- cancel ---- */

static wharf_status ask_to_stop(struct batch *b)
{
    return query_about(b->req,
        "UPDATE batches.batch SET cancel_asked = true WHERE organization_id = $2::text AND id = "
        "$1::text",
        b->id, NULL);
}

static wharf_status batch_cancel(struct batch *b, uint32_t *ret_status)
{
    *ret_status = 200;
    if (b->status == BATCH_CANCELED)
        return WHARF_OK;
    if (is_over(b->status))
        return W->err->fail(
            b->req, ERR_BATCH_NOT_CANCELABLE, NULL, "The batch is %s", status_word(b->status));
    if (b->status != BATCH_PROCESSING)
        return batch_end(b, BATCH_CANCELED, WHARF_S("canceled"));
    *ret_status = 202;
    return ask_to_stop(b);
}

wharf_status batches_cancel(wharf_req *req, void *arg)
{
    struct batch *b = W->mem->alloc(req, sizeof(*b));
    uint32_t status = 200;
    wharf_status s = W->db->begin(req);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    s = addressed(req, b);
    if (s == WHARF_OK)
        s = batch_cancel(b, &status);
    if (s == WHARF_OK)
        s = answer_batch(b, status,
            status == 200 ? "Batch canceled." : "The batch stops after the items that run now.");
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

/* ---- retry ---- */

static wharf_status anything_to_retry(struct batch *b)
{
    static const char sql[] =
        "SELECT kept, EXISTS (SELECT FROM batches.chunk c WHERE c.organization_id = "
        "b.organization_id AND c.batch_id = b.id"
        " AND not_parsed + not_valid + not_done + skipped > 0) FROM batches.batch b WHERE "
        "organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(b->req, sql, b->id, &rows);

    if (s != WHARF_OK)
        return s;
    if (!row_bool(rows, 0, 0))
        return W->err->fail(b->req, ERR_BATCH_PAYLOAD_EXPIRED, NULL, NULL);
    if (!is_over(b->status))
        return W->err->fail(b->req, ERR_BATCH_NOTHING_TO_RETRY, NULL, "The batch is not over yet");
    return row_bool(rows, 0, 1) ? WHARF_OK
                                : W->err->fail(b->req, ERR_BATCH_NOTHING_TO_RETRY, NULL, NULL);
}

static wharf_status batch_new_row(struct batch *b, wharf_str *ret_id)
{
    struct batch plan = *b;
    const struct counts none = {0};
    wharf_out *out = W->json->builder(b->req);
    const wharf_json *phases, *stats, *row;
    const wharf_rec *rec;
    wharf_status s;

    memset(plan.phases, 0, sizeof(plan.phases));
    for (int i = PARSING; i < PHASES; i++)
        plan.phases[i] = (struct phase){
            .there = i != PROCESSING || !b->asked.validate_only, .async = true};
    s = W->json->parse(b->req, phases_json(&plan, &none).u.s, &phases);
    if (s == WHARF_OK)
        s = W->json->parse(b->req, stats_json(plan.req, &none).u.s, &stats);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "resource", val_text(b->asked.resource));
    W->json->put(out, "action", val_text(z(action_word(b->asked.action))));
    W->json->put(out, "mode", val_text(z(mode_word(MODE_ASYNC))));
    W->json->put(out, "match_by", val_text(b->asked.match_by));
    W->json->put(out, "duplicate_handling", val_text(z(duplicates_word(b->asked.duplicates))));
    W->json->put(out, "save_result_date_format", val_text(b->asked.dates));
    W->json->put(out, "save_upload", val_bool(b->asked.save_upload));
    W->json->put(out, "save_result", val_bool(b->asked.save_result));
    W->json->put(out, "validate_only", val_bool(b->asked.validate_only));
    W->json->put(out, "disable_webhooks", val_bool(b->asked.quiet));
    W->json->put(out, "notify_customer", val_bool(!b->asked.silent));
    W->json->put(out, "location_id", val_text_or_null(b->asked.location_id));
    W->json->put(out, "properties", val_json(b->asked.properties));
    W->json->put(out, "parent_batch_id", val_text(b->id));
    W->json->put(out, "key_id", val_text(batches_keys->caller(b->req)->key_id));
    W->json->put(out, "phases", val_json(phases));
    W->json->put(out, "stats", val_json(stats));
    W->json->close(out);
    s = W->json->result(b->req, out, &row);
    if (s == WHARF_OK)
        s = W->res->create(b->req, "batch", row, &rec);
    if (s == WHARF_OK)
        *ret_id = W->res->id(rec);
    return s;
}

static wharf_status batch_retry(struct batch *b)
{
    wharf_str id = WHARF_S("");
    wharf_status s = resource_find(b->req, b->asked.resource, &b->definition, &b->block);

    if (s == WHARF_OK)
        s = batch_scope(b);
    if (s == WHARF_OK)
        /* its items will be in files of the new batch, which is the caller's own */
        s = check_reach(b->req, b->asked.key_id);
    if (s == WHARF_OK)
        s = batch_queue(b->req, batches_limits.queued - 1);
    if (s == WHARF_OK)
        s = anything_to_retry(b);
    if (s == WHARF_OK)
        s = batch_new_row(b, &id);
    if (s == WHARF_OK)
        s = batch_load(b->req, id, b);
    return s == WHARF_OK ? batch_enqueue(b) : s;
}

wharf_status batches_retry(wharf_req *req, void *arg)
{
    struct batch *b = W->mem->alloc(req, sizeof(*b));
    wharf_status s = W->db->begin(req);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    s = addressed(req, b);
    if (s == WHARF_OK)
        s = batch_retry(b);
    if (s == WHARF_OK)
        s = answer_batch(b, 202, "Batch accepted.");
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}
