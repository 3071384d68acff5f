/* run.c - the phases of a batch, in a request or in the background (spec 10 sections 4 and 12).
 *
 * In a request everything is one transaction: either the batch with all it did is there when the answer goes out, or nothing is. In the
 * background each chunk is one: the items' effects, their states and the batch's counters; it asks for the lease, so that whoever was
 * overtaken writes nothing. The chunk that runs is named, with how often it was begun, in the commit before it.
 */
#include <time.h>

#include "batches.h"

enum { CONFLICT_TRIES = 5, SECOND_US = 1000000, PROCESSING_MARK = 1000000, REVOKED_CHECK_US = 5 * 1000000 };

/* ---- one chunk ---- */

/* Others wait for us and we for them: a moment later that is over. */
static void pause_a_moment(struct batch *b)
{
    const wharf_rows *rows;

    W->err->clear(b->req);
    W->db->query(b->req, "SELECT pg_sleep(0.02 + random() * 0.1)", NULL, 0, &rows);
    if (!b->in_request)
        W->db->rollback(b->req);
    W->err->clear(b->req);
}

/* Effects and states of a chunk, or of one item of it, in one transaction or savepoint. */
static wharf_status step(struct batch *b, int number, enum phase_name phase, int only)
{
    struct chunk c;
    bool found;
    wharf_status s = batch_begin(b);

    if (s != WHARF_OK)
        return s;
    s = chunk_load(b, number, true, &c, &found);
    if (s == WHARF_OK && found)
        s = phase == VALIDATING ? validate_chunk(b, &c) : process_chunk(b, &c, only);
    if (s == WHARF_OK && found)
        s = chunk_save(b, &c);
    if (s == WHARF_OK && !b->in_request)
        s = batch_note(b);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

static wharf_status step_again(struct batch *b, int number, enum phase_name phase, int only)
{
    wharf_status s = WHARF_OK;

    for (int i = 0; i < CONFLICT_TRIES; i++) {
        s = step(b, number, phase, only);
        if (s != WHARF_CONFLICT || b->lost || W->req->cancelled(b->req))
            return s;
        pause_a_moment(b);
    }
    return s;
}

static wharf_status give_up_item(struct batch *b, int number, int i, const char *code, const char *message)
{
    struct chunk c;
    bool found;
    wharf_status s = batch_begin(b);

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
static wharf_status begin_item(struct batch *b, int number, int i, char *ret_state, int *ret_tries, int *ret_size)
{
    struct chunk c;
    bool found;
    wharf_status s = batch_begin(b);

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

/* A chunk that crashed the worker, or that always loses its race: item by item, so that the one to blame is alone. */
static wharf_status one_by_one(struct batch *b, int number)
{
    wharf_status s = WHARF_OK;
    int size = 1;

    for (int i = 0; s == WHARF_OK && i < size; i++) {
        wharf_scope *scope = W->mem->scope_begin(b->req);
        int tries = 0;
        char state;

        s = begin_item(b, number, i, &state, &tries, &size);
        if (s == WHARF_OK && state == '.' && tries > CHUNK_TRIES)
            s = give_up_item(b, number, i, "batch.item_crashed", "The server crashed twice while this item ran");
        else if (s == WHARF_OK && state == '.')
            s = step_again(b, number, PROCESSING, i);
        if (s == WHARF_CONFLICT && !b->lost) {
            W->err->clear(b->req);
            s = give_up_item(b, number, i, "conflict", "Somebody else changed the same data again and again");
        }
        W->mem->scope_end(b->req, scope);
    }
    return s == WHARF_OK ? step(b, number, PROCESSING, size) : s; /* nothing is left: the chunk is over */
}

/* ---- chunk after chunk ---- */

static int64_t monotonic_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND_US + t.tv_nsec / 1000;
}

static wharf_status next_number(struct batch *b, int stage, int *number, bool *ret_found)
{
    static const char sql[] =
        "SELECT number FROM batches.chunk WHERE organization_id = $2::text AND batch_id = $1::text"
        " AND number > $3::integer AND stage < $4::integer ORDER BY number LIMIT 1";
    wharf_val args[4] = {val_text(b->id), val_text(W->req->organization(b->req)), val_int(*number), val_int(stage)};
    const wharf_rows *rows;
    wharf_status s = b->in_request ? WHARF_OK : W->db->begin(b->req);

    if (s == WHARF_OK)
        s = W->db->query(b->req, sql, args, 4, &rows);
    *ret_found = s == WHARF_OK && W->db->count(rows);
    if (*ret_found)
        *number = (int)row_int(rows, 0, 0);
    if (!b->in_request)
        W->db->rollback(b->req);
    return s;
}

/* Writes down what the row shows, in a transaction of its own. */
static wharf_status note_alone(struct batch *b)
{
    wharf_status s = W->db->begin(b->req);

    if (s == WHARF_OK)
        s = batch_note(b);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

/* The chunk is named, with its first try, before it begins; most are in the commit of the one before. */
static wharf_status name_chunk(struct batch *b, enum phase_name phase, int number)
{
    int mark = number + (phase == PROCESSING ? PROCESSING_MARK : 0);

    if (b->in_request || b->chunk == mark)
        return WHARF_OK;
    b->chunk = mark;
    b->tries = 1;
    return note_alone(b);
}

static wharf_status run_chunk(struct batch *b, enum phase_name phase, int number)
{
    wharf_status s = name_chunk(b, phase, number);
    bool singly = phase == PROCESSING && b->tries > CHUNK_TRIES && !b->in_request;

    if (s != WHARF_OK)
        return s;
    if (!singly) {
        int tries = b->tries;

        b->chunk++; /* as the commit of this one will have it */
        b->tries = 1;
        s = step_again(b, number, phase, -1);
        if (s == WHARF_OK)
            return s;
        b->chunk--;
        b->tries = tries;
        singly = s == WHARF_CONFLICT && !b->lost && phase == PROCESSING && !W->req->cancelled(b->req);
    }
    if (singly) {
        W->err->clear(b->req);
        s = one_by_one(b, number);
    }
    return s;
}

/* Is there a reason to leave off before the next chunk? */
static bool interrupted(struct batch *b)
{
    if (b->in_request)
        return monotonic_us() > b->deadline_us;
    b->stopping = W->event->progress(b->req, ++b->steps, 0) != 0;
    if (monotonic_us() - b->asked_us > REVOKED_CHECK_US) {
        b->asked_us = monotonic_us();
        if (batch_act(b, &b->revoked) != WHARF_OK)
            return b->stopping = true;
    }
    b->timed_out = W->req->now_us(b->req) - b->started_us > RUN_HOURS * 3600LL * SECOND_US;
    return b->stopping || b->timed_out || b->cancel_asked || b->revoked;
}

wharf_status walk(struct batch *b, enum phase_name phase, bool *ret_rest)
{
    int number = -1;
    bool found = true;
    wharf_status s = WHARF_OK;

    *ret_rest = false;
    if (b->phases[phase].status == PHASE_PENDING) {
        phase_begin(b, phase);
        s = b->in_request ? WHARF_OK : note_alone(b);
    }
    while (s == WHARF_OK) {
        wharf_scope *scope = W->mem->scope_begin(b->req);

        s = next_number(b, phase == VALIDATING ? 1 : 2, &number, &found);
        *ret_rest = s == WHARF_OK && found && interrupted(b);
        if (s == WHARF_OK && found && !*ret_rest)
            s = run_chunk(b, phase, number);
        W->mem->scope_end(b->req, scope);
        if (!found || *ret_rest)
            break;
    }
    if (s == WHARF_OK && !*ret_rest)
        phase_end(b, phase, PHASE_COMPLETED);
    return s;
}

/* ---- in a request ---- */

/* How many items there may be is known when they were taken in, and when they were validated. */
static wharf_status fits_request(struct batch *b, enum phase_name before, bool *ret_rest)
{
    struct counts c;
    wharf_status s = batch_counts(b, &c);

    if (s == WHARF_OK && is(b->mode, "sync") && c.total > SYNC_MAX)
        return W->err->fail(b->req, "batch.too_many_items_sync", "data", NULL);
    *ret_rest = before == PROCESSING && is(b->mode, "mixed") && c.pending > MIXED_MAX;
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
    s = walk(b, VALIDATING, ret_rest);
    if (s == WHARF_OK && !*ret_rest && b->phases[PROCESSING].there) {
        s = fits_request(b, PROCESSING, ret_rest);
        if (s == WHARF_OK && !*ret_rest)
            s = walk(b, PROCESSING, ret_rest);
    }
    return s;
}

/* A file that is large for a request is parsed in the background. */
static wharf_status is_large(struct batch *b, bool *ret_large)
{
    wharf_blob_info info = {.head = WHARF_HEAD(wharf_blob_info), .size = (int64_t)b->bytes.n};
    wharf_status s = b->bytes.n || !b->source_file.n ? WHARF_OK : batches_blob->info(b->req, b->source_file, &info);

    *ret_large = s == WHARF_OK && is(b->mode, "mixed") && info.size > INLINE_PARSE_BYTES;
    return s;
}

wharf_status run_in_request(struct batch *b, bool *ret_rest)
{
    wharf_status s = WHARF_OK;

    *ret_rest = is(b->mode, "async");
    b->deadline_us = monotonic_us() + IN_REQUEST_SECONDS * SECOND_US;
    batches_events->cause(b->req, b->id, 0, b->quiet);
    if (b->phases[FETCHING].there && !*ret_rest) {
        phase_begin(b, FETCHING);
        s = source_fetch(b);
        phase_end(b, FETCHING, PHASE_COMPLETED);
    }
    if (s == WHARF_OK && !*ret_rest)
        s = is_large(b, ret_rest);
    if (s == WHARF_OK && (!*ret_rest || b->array))
        s = phases_in_request(b, ret_rest);
    if (s == WHARF_OK && !*ret_rest)
        return batch_end(b, "completed", WHARF_S(""));
    b->status = WHARF_S("queued");
    b->chunk = b->tries = 0;
    if (s == WHARF_OK)
        s = batch_note(b);
    return s == WHARF_OK ? batch_enqueue(b) : s;
}
