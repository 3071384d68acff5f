/* batch_run.c - a chunk of a batch, and the phases of a batch in a request (spec 10 sections 4
 * and 12).
 *
 * In a request everything is one transaction: either the batch with all it did is there when the
 * answer goes out, or nothing is. In the background each chunk is one: the items' effects, their
 * states and the batch's counters. Leaves to others: which chunk is whose (walk.c). */
#include "batches.h"
#include "batches.gen.h"

enum {
    CONFLICT_TRIES = 5, /* of an item that lost a race */
    SECOND_US = 1000000,
    NOTE_US = SECOND_US / 2
};

/* ---- one chunk ---- */

/* Pauses a moment: others wait for us and we for them, and a moment later that is over. */
static void pause_a_moment(wharf_req *req, const struct batch_run *run)
{
    const wharf_rows *rows;

    W->err->clear(req);
    W->db->query(req, "SELECT pg_sleep(0.02 + random() * 0.1)", NULL, 0, &rows);
    if (!run->in_request)
        W->db->rollback(req);
    W->err->clear(req);
}

int stage_after(enum phase_name phase)
{
    return phase == VALIDATING ? 1 : 2;
}

/* Tells whether a note is due. What the row shows is written by the one who leads the batch, twice
 * a second, and is on the disk then with everything that was committed before. Everybody looks
 * each time whether the batch is still his. */
static bool is_note_due(const struct batch_run *run)
{
    return !run->helper && !run->in_request && monotonic_us() - run->noted_us > NOTE_US;
}

static wharf_status look_or_note(struct batch *b, bool due)
{
    if (due)
        b->run.noted_us = monotonic_us();
    return b->run.in_request ? WHARF_OK : due ? batch_note(b) : batch_look(b);
}

/* Runs one step: effects and states of a chunk, or of one item of it, in one transaction or
 * savepoint; and takes the chunk to be taken next, unless NULL. One that somebody else has done is
 * left as it is. */
static wharf_status batch_run_step(
    struct batch *b, int number, enum phase_name phase, int only, struct taken *next)
{
    struct chunk c;
    bool found, due = is_note_due(&b->run);
    wharf_status s = batch_begin(b, due);

    if (s != WHARF_OK)
        return s;
    s = chunk_load(b, number, true, &c, &found);
    found = found && c.stage < stage_after(phase);
    if (s == WHARF_OK && found)
        s = phase == VALIDATING ? validate_chunk(b, &c) : process_chunk(b, &c, only);
    if (s == WHARF_OK && found)
        s = chunk_save(b, &c);
    if (s == WHARF_OK && next)
        s = chunk_take(b, stage_after(phase), number, next);
    if (s == WHARF_OK)
        s = look_or_note(b, due);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

wharf_status run_chunk(
    struct batch *b, int number, enum phase_name phase, int only, struct taken *next)
{
    wharf_status s = WHARF_OK;

    for (int i = 0; i < CONFLICT_TRIES; i++) {
        s = batch_run_step(b, number, phase, only, next);
        if (s != WHARF_CONFLICT || b->run.lost || W->req->cancelled(b->req))
            return s;
        pause_a_moment(b->req, &b->run);
    }
    return s;
}

static wharf_status give_up_item(
    struct batch *b, int number, int i, const char *code, const char *message)
{
    struct chunk c;
    bool found;
    wharf_status s = batch_begin(b, false);

    if (s != WHARF_OK)
        return s;
    s = chunk_load(b, number, true, &c, &found);
    if (s == WHARF_OK && found)
        chunk_problem(b, &c, i, 'e', PROCESSING, z(code), WHARF_S(""), WHARF_S(""), z(message));
    if (s == WHARF_OK && found)
        s = chunk_save(b, &c);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

/* Raises the tries of an item in a commit of its own. */
static wharf_status begin_item(
    struct batch *b, int number, int i, char *ret_state, int *ret_tries, int *ret_size)
{
    struct chunk c;
    bool found;
    wharf_status s = batch_begin(b, false);

    if (s != WHARF_OK)
        return s;
    s = chunk_load(b, number, true, &c, &found);
    *ret_size = s == WHARF_OK && found ? c.size : 0;
    *ret_state = i < *ret_size ? c.states[i] : 's';
    if (*ret_state == '.') {
        c.item_tries = *ret_tries = c.item == i ? c.item_tries + 1 : 1;
        c.item = i;
        s = chunk_save(b, &c);
    }
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

wharf_status run_one_by_one(struct batch *b, int number)
{
    wharf_status s = WHARF_OK;
    int size = 1;

    for (int i = 0; s == WHARF_OK && i < size; i++) {
        wharf_scope *scope = W->mem->scope_begin(b->req);
        int tries = 0;
        char state;

        s = begin_item(b, number, i, &state, &tries, &size);
        if (s == WHARF_OK && state == '.' && tries > CHUNK_TRIES)
            s = give_up_item(b, number, i, ERR_BATCH_ITEM_CRASHED,
                "The server crashed twice while this item ran");
        else if (s == WHARF_OK && state == '.')
            s = run_chunk(b, number, PROCESSING, i, NULL);
        if (s == WHARF_CONFLICT && !b->run.lost) {
            W->err->clear(b->req);
            s = give_up_item(
                b, number, i, ERR_CONFLICT, "Somebody else changed the same data again and again");
        }
        W->mem->scope_end(b->req, scope);
    }
    /* nothing is left: the chunk is over */
    return s == WHARF_OK ? batch_run_step(b, number, PROCESSING, -1, NULL) : s;
}

/* ---- in a request ---- */

static wharf_status batch_run_next_number(struct batch *b, int stage, int *number, bool *ret_found)
{
    static const char sql[] =
        "SELECT number FROM batches.chunk WHERE organization_id = $2::text AND batch_id = $1::text"
        " AND number > $3::integer AND stage < $4::integer ORDER BY number LIMIT 1";
    wharf_val args[4] = {
        val_text(b->id), val_text(W->req->organization(b->req)), val_int(*number), val_int(stage)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(b->req, sql, args, 4, &rows);

    *ret_found = s == WHARF_OK && W->db->count(rows);
    if (*ret_found)
        *number = (int)row_int(rows, 0, 0);
    return s;
}

/* Runs the chunks of a phase one after the other. *ret_rest: the time is up before the last. */
static wharf_status walk_in_request(struct batch *b, enum phase_name phase, bool *ret_rest)
{
    int number = -1;
    bool found = true;
    wharf_status s = WHARF_OK;

    *ret_rest = false;
    phase_begin(b, phase);
    while (s == WHARF_OK && found && !*ret_rest) {
        wharf_scope *scope = W->mem->scope_begin(b->req);

        s = batch_run_next_number(b, stage_after(phase), &number, &found);
        *ret_rest = s == WHARF_OK && found && monotonic_us() > b->run.deadline_us;
        if (s == WHARF_OK && found && !*ret_rest)
            s = run_chunk(b, number, phase, -1, NULL);
        if (s == WHARF_CONFLICT && phase == PROCESSING && !W->req->cancelled(b->req)) {
            W->err->clear(b->req); /* it is an item's, not the request's */
            s = run_one_by_one(b, number);
        }
        W->mem->scope_end(b->req, scope);
    }
    if (s == WHARF_OK && !*ret_rest)
        phase_end(b, phase, PHASE_COMPLETED);
    return s;
}

/* Checks how many items a request may have. Their number is known when they were taken in, and
 * when they were validated. */
static wharf_status fits_request(struct batch *b, enum phase_name before, bool *ret_rest)
{
    struct counts c;
    wharf_status s = batch_counts(b, &c);

    if (s == WHARF_OK && b->asked.mode == MODE_SYNC && c.total > batches_limits.sync_items)
        return W->err->fail(b->req, ERR_BATCH_TOO_MANY_ITEMS_SYNC, "data",
            "A batch of mode sync has at most %lld items; use mixed or async",
            (long long)batches_limits.sync_items);
    *ret_rest = before == PROCESSING && b->asked.mode == MODE_MIXED &&
                c.pending > batches_limits.mixed_items;
    return s;
}

static wharf_status phases_in_request(struct batch *b, bool *ret_rest)
{
    bool queued = *ret_rest;
    wharf_status s = WHARF_OK;

    if (b->phases[PARSING].there) {
        phase_begin(b, PARSING);
        s = source_parse(b);
        phase_end(b, PARSING, PHASE_COMPLETED);
    }
    if (s == WHARF_OK && !queued)
        s = fits_request(b, VALIDATING, ret_rest);
    if (s != WHARF_OK || queued)
        return s;
    s = walk_in_request(b, VALIDATING, ret_rest);
    if (s == WHARF_OK && !*ret_rest && b->phases[PROCESSING].there) {
        s = fits_request(b, PROCESSING, ret_rest);
        if (s == WHARF_OK && !*ret_rest)
            s = walk_in_request(b, PROCESSING, ret_rest);
    }
    return s;
}

/* Tells whether a file is large for a request: then it is parsed in the background. */
static wharf_status is_large(wharf_req *req, const struct batch_request *asked,
    const struct batch_source *source, bool *ret_large)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info), .size = (int64_t)source->bytes.n};
    wharf_status s = source->bytes.n || !source->file.n
                         ? WHARF_OK
                         : batches_blob->info(req, source->file, &info);

    *ret_large = s == WHARF_OK && asked->mode == MODE_MIXED && info.size > INLINE_PARSE_BYTES;
    return s;
}

wharf_status run_in_request(struct batch *b, bool *ret_rest)
{
    wharf_status s = WHARF_OK;

    *ret_rest = b->asked.mode == MODE_ASYNC;
    b->run.deadline_us = monotonic_us() + batches_limits.request_seconds * SECOND_US;
    batches_events->cause(b->req, b->id, 0, b->asked.quiet);
    batches_events->silence(b->req, b->asked.silent);
    if (b->phases[FETCHING].there && !*ret_rest) {
        phase_begin(b, FETCHING);
        s = source_fetch(b);
        phase_end(b, FETCHING, PHASE_COMPLETED);
    }
    if (s == WHARF_OK && !*ret_rest)
        s = is_large(b->req, &b->asked, &b->source, ret_rest);
    if (s == WHARF_OK && (!*ret_rest || b->source.array))
        s = phases_in_request(b, ret_rest);
    if (s == WHARF_OK && !*ret_rest)
        return batch_end(b, BATCH_COMPLETED, WHARF_S(""));
    b->status = BATCH_QUEUED;
    b->run.tries = 0;
    if (s == WHARF_OK)
        s = batch_note(b);
    return s == WHARF_OK ? batch_enqueue(b) : s;
}
