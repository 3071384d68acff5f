/* batch_job.c - a batch in the background: who works on it, phase after phase, and why it ends
 * (spec 10 section 12).
 *
 * Leaves to others: the chunks (batch_run.c), where items come from (batch_source.c). */
#include "batches.h"
#include "batches.gen.h"

/* TAKE_UP_HOURS: longer than all tries of a job last. */
enum {
    EARLY_TRIES = 5, /* runs that may die before the first item */
    TAKE_UP_HOURS = 9 /* a batch without worker is looked for */
};

/* ---- taking it over ---- */

static const char claim_sql[] = QUERY_BATCH_CLAIM;

/* Chunks that were taken by a run that ended in order are no suspects. */
static const char untried_sql[] = "UPDATE batches.chunk SET tries = tries - 1, lease = 0 WHERE "
                                  "organization_id = $2::text AND batch_id = $1::text"
                                  " AND lease > 0 AND tries > 0";

static int64_t failed_runs(wharf_req *req)
{
    wharf_str s;
    int64_t n = 0;

    if (!W->req->param(req, "attempts", &s))
        return 0;
    for (size_t i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        n = n * 10 + (s.p[i] - '0');
    return n;
}

static wharf_status batch_job_claim(wharf_req *req, wharf_str id, struct batch *b, bool *ret_mine)
{
    wharf_val args[4] = {val_text(id), val_text(W->req->organization(req)),
        val_time(W->req->now_us(req)), val_int(failed_runs(req))};
    const wharf_rows *rows;
    wharf_status s = begin_briefly(req, true);

    *ret_mine = false;
    if (s != WHARF_OK)
        return s;
    s = W->db->query(req, claim_sql, args, 4, &rows);
    *ret_mine = s == WHARF_OK && W->db->count(rows);
    if (*ret_mine)
        s = batch_load(req, id, b);
    if (s == WHARF_OK && *ret_mine && b->run.tries == 1)
        s = W->db->exec(req, untried_sql, args, 2, NULL);
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

/* ---- ends ---- */

static wharf_status batch_job_end(struct batch *b, enum batch_status status, wharf_str reason)
{
    wharf_status s;

    W->err->clear(b->req);
    W->db->rollback(b->req); /* nothing but what the end says */
    s = batch_begin(b, true);
    if (s == WHARF_OK)
        s = batch_end(b, status, reason);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

/* Gives the batch back because the worker ends: the next one goes on, and the chunk that did not
 * begin is no suspect. */
static wharf_status batch_job_give_back(struct batch *b)
{
    b->run.tries = 0;
    if (batch_begin(b, true) == WHARF_OK) {
        if (batch_note(b) == WHARF_OK)
            W->db->commit(b->req);
        else
            W->db->rollback(b->req);
    }
    W->err->clear(b->req);
    return W->err->fail(b->req, ERR_OVERLOADED, NULL, "the worker ends");
}

/* Finds out what the key may now, and whether it may at all: a scope that it lost is as good as a
 * key that is gone. */
wharf_status batch_act(struct batch *b, bool *ret_revoked)
{
    wharf_str refused = WHARF_S("");
    wharf_status s = b->asked.key_id.n ? batches_kernel->act_as(b->req, b->asked.key_id, &refused)
                                       : WHARF_OK;

    *ret_revoked = refused.n > 0;
    if (s != WHARF_OK || refused.n || !b->asked.key_id.n)
        return s;
    s = batch_scope(b);
    if (s != WHARF_DENIED)
        return s;
    W->err->clear(b->req);
    *ret_revoked = true;
    return WHARF_OK;
}

/* ---- phases ---- */

typedef wharf_status source_fn(struct batch *b);

/* Runs a phase that is one step: what it wrote is kept with the note that it is over. */
static wharf_status whole_phase(struct batch *b, enum phase_name name, source_fn *fn)
{
    wharf_status s;

    if (!b->phases[name].there || b->phases[name].status >= PHASE_COMPLETED)
        return WHARF_OK;
    phase_begin(b, name);
    b->run.filling_us = monotonic_us();
    s = batch_begin(b, true);
    if (s == WHARF_OK)
        s = fn(b);
    if (s == WHARF_OK) {
        phase_end(b, name, PHASE_COMPLETED);
        b->run.tries = 1;
        s = batch_note(b);
    }
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

static wharf_status chunk_phase(struct batch *b, enum phase_name name, bool *ret_rest)
{
    if (!b->phases[name].there || b->phases[name].status >= PHASE_COMPLETED)
        return WHARF_OK;
    return walk(b, name, ret_rest);
}

static wharf_status phases(struct batch *b, bool *ret_rest)
{
    wharf_status s = whole_phase(b, FETCHING, source_fetch);

    if (s == WHARF_OK && !b->reason)
        s = whole_phase(b, RESOLVING, source_resolve);
    if (s == WHARF_OK && !b->reason)
        s = whole_phase(b, PARSING, source_parse);
    if (s == WHARF_OK)
        s = chunk_phase(b, VALIDATING, ret_rest);
    if (s == WHARF_OK && !*ret_rest)
        s = chunk_phase(b, PROCESSING, ret_rest);
    return s;
}

static wharf_status conclude(struct batch *b, bool rest, bool revoked)
{
    if (revoked)
        return batch_job_end(b, BATCH_FAILED, WHARF_S(ERR_BATCH_KEY_REVOKED));
    if (rest && b->run.cancel_asked)
        return batch_job_end(b, BATCH_CANCELED, WHARF_S("canceled"));
    if (rest && b->run.timed_out)
        return batch_job_end(b, BATCH_TIMED_OUT, WHARF_S(ERR_TIMEOUT));
    return rest ? batch_job_give_back(b) : batch_job_end(b, BATCH_COMPLETED, WHARF_S(""));
}

static bool is_early(const struct batch *b)
{
    return b->phases[PARSING].there && b->phases[PARSING].status < PHASE_COMPLETED;
}

static wharf_status work(struct batch *b)
{
    bool rest = false, revoked;
    wharf_status s = batch_act(b, &revoked);

    if (s == WHARF_OK && !revoked && is_early(b) && b->run.tries > EARLY_TRIES)
        return batch_job_end(b, BATCH_FAILED, WHARF_S(ERR_INTERNAL));
    batches_events->cause(b->req, b->id, 0, b->asked.quiet);
    batches_events->silence(b->req, b->asked.silent);
    if (s == WHARF_OK && !revoked)
        s = phases(b, &rest);
    if (b->reason)
        return batch_job_end(b, BATCH_FAILED, z(b->reason));
    if (is_early(b) && s == WHARF_LIMIT)
        /* what is too large for the memory of a job is so again */
        return batch_job_end(b, BATCH_FAILED, WHARF_S(ERR_INTERNAL));
    if (b->run.revoked)
        revoked = true;
    return s == WHARF_OK ? conclude(b, rest, revoked) : s;
}

wharf_status batches_run(wharf_req *req, void *arg)
{
    struct batch *b = W->mem->alloc(req, sizeof(*b));
    const wharf_json *args;
    bool mine = false;
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    b->source.fd = -1;
    if (s == WHARF_OK)
        s = batch_job_claim(req, json_text(args, "batch"), b, &mine);
    if (s == WHARF_OK && mine)
        s = work(b);
    if (mine && b->run.lost) {
        W->err->clear(req); /* whoever has it now goes on */
        return WHARF_OK;
    }
    return s;
}

wharf_status batch_enqueue(struct batch *b)
{
    const wharf_json *args;
    wharf_status s = W->json->parse(
        b->req, W->mem->format(b->req, "{\"batch\": \"%s\"}", b->id.p), &args);

    /* one at a time, if there are two */
    return s == WHARF_OK ? W->event->enqueue(b->req, "run", b->id, args, 0) : s;
}

/* ---- uploads ---- */

/* Notes that the bytes of an awaited file have come: the batch waits for a worker now. */
wharf_status batches_uploaded(wharf_req *req, void *arg)
{
    static const char sql[] = "UPDATE batches.batch SET status = 'queued', updated_at = "
                              "$3::timestamptz, version = version + 1"
                              " WHERE organization_id = $2::text AND source_file = $1::text AND "
                              "status = 'requested' RETURNING id";
    struct batch b = {.req = req};
    const wharf_json *args;
    const wharf_rows *rows;
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    wharf_val values[3] = {val_text(json_text(args, "file")), val_text(W->req->organization(req)),
        val_time(W->req->now_us(req))};
    s = W->db->query(req, sql, values, 3, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    b.id = row_text(rows, 0, 0);
    return batch_enqueue(&b);
}

/* ---- what time does ---- */

static wharf_status expire_uploads(wharf_req *req)
{
    static const char sql[] =
        "SELECT id FROM batches.batch WHERE organization_id = $1::text AND status = 'requested'"
        " AND created_at < $2::timestamptz LIMIT 100 FOR UPDATE";
    wharf_val args[2] = {val_text(W->req->organization(req)),
        val_time(W->req->now_us(req) - UPLOAD_HOURS * 3600LL * 1000000)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct batch b = {.source = {.fd = -1}};

        s = batch_load_row(req, row_text(rows, i, 0), &b);
        if (s == WHARF_OK)
            s = batch_end(&b, BATCH_EXPIRED, WHARF_S("expired"));
    }
    return s;
}

/* Takes up a batch that is open and was not touched for so long. It has no job any more: its tries
 * were used up while its module was away, or somebody cancelled it. If the job is there all the
 * same, the new one finds nothing to do behind it. */
static wharf_status batch_job_take_up(wharf_req *req)
{
    static const char sql[] =
        "UPDATE batches.batch SET updated_at = $3::timestamptz, version = version + 1 WHERE id IN"
        " (SELECT id FROM batches.batch WHERE organization_id = $1::text AND status IN ('queued', "
        "'processing')"
        " AND updated_at < $2::timestamptz LIMIT 100 FOR UPDATE SKIP LOCKED)"
        " AND organization_id = $1::text RETURNING id";
    int64_t now = W->req->now_us(req);
    wharf_val args[3] = {val_text(W->req->organization(req)),
        val_time(now - TAKE_UP_HOURS * 3600LL * 1000000), val_time(now)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct batch b = {.req = req, .id = row_text(rows, i, 0)};

        s = batch_enqueue(&b);
    }
    return s;
}

/* Removes what somebody brought, which has no end of its own. */
static wharf_status forget_uploads(wharf_req *req)
{
    static const char sql[] =
        "SELECT source_file FROM batches.batch WHERE organization_id = $1::text AND kept"
        " AND source_file IS NOT NULL AND finished_at < $2::timestamptz";
    wharf_val args[2] = {val_text(W->req->organization(req)),
        val_time(W->req->now_us(req) - batches_limits.keep_days * 86400LL * 1000000)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        s = batches_blob->remove(req, row_text(rows, i, 0));
        s = s == WHARF_NOT_FOUND ? WHARF_OK : s;
    }
    return s;
}

/* Deletes old batches: items go first, the batch itself later. Files that were made end by
 * themselves. */
static wharf_status batch_job_forget(wharf_req *req)
{
    static const char *const sqls[] = {
        "DELETE FROM batches.chunk WHERE organization_id = $1::text AND batch_id IN (SELECT id "
        "FROM batches.batch"
        " WHERE organization_id = $1::text AND kept AND finished_at < $2::timestamptz)",
        "DELETE FROM batches.line WHERE organization_id = $1::text AND batch_id IN (SELECT id FROM "
        "batches.batch"
        " WHERE organization_id = $1::text AND kept AND finished_at < $2::timestamptz)",
        "UPDATE batches.batch SET kept = false, version = version + 1 WHERE organization_id = "
        "$1::text AND kept"
        " AND finished_at < $2::timestamptz",
        "DELETE FROM batches.batch WHERE organization_id = $1::text AND created_at < "
        "$2::timestamptz AND NOT kept"};
    wharf_status s = forget_uploads(req);

    for (size_t i = 0; i < sizeof(sqls) / sizeof(*sqls) && s == WHARF_OK; i++) {
        int64_t days = i == 3 ? batches_limits.record_days : batches_limits.keep_days;
        wharf_val args[2] = {val_text(W->req->organization(req)),
            val_time(W->req->now_us(req) - days * 86400LL * 1000000)};

        s = W->db->exec(req, sqls[i], args, 2, NULL);
    }
    return s;
}

wharf_status batches_sweep(wharf_req *req, void *arg)
{
    wharf_status s = expire_uploads(req);

    (void)arg;
    if (s == WHARF_OK)
        s = batch_job_take_up(req);
    return s == WHARF_OK ? batch_job_forget(req) : s;
}
