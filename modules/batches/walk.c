/* walk.c - the chunks of a phase in the background, by one worker or several (spec 10 section 12).
 *
 * Whoever works on a batch takes a chunk by writing the batch's lease into it, with one try
 * more, in the commit of the chunk before: so a chunk that kills its worker is known. That only
 * keeps them out of each other's way: what makes an item's effect happen once is the chunk's
 * row, which is locked while it runs, and its stage. One of them is the batch's own job; when
 * nothing is left to be taken it walks over what others hold, which waits for those that live
 * and does the work of those that do not. Then come the chunks that killed their workers or
 * always lost a race, one by one, when nobody else is at work. */
#include <time.h>

#include "batches.h"
#include "batches.gen.h"

enum {
    SECOND_US = 1000000,
    REVOKED_CHECK_US = 5 * 1000000, /* between two looks at the key */
    TURN_US = 2 * 1000000, /* one worker works before others get a turn */
    HELPERS = 2,
    HELPED_CHUNKS = 3
};
enum {
    LOOK_US = 200000,
    AWAY_US = 2 * 1000000,
    AWAY_MAX_US = 32 * 1000000,
    LOOKS = 2,
    PATIENT_LOOKS = 4
};

/* In processors. A batch with all its helpers, and who seals and sends what they wrote, may fill
 * four of them to the brim without anybody else's doing: then some hundredths are left. Where
 * others want as much there is nothing at all. */
#define IDLE_TO_STAY 0.05 /* share of idle processors at which helpers stay */
#define IDLE_TO_COME 0.85 /* share of idle processors at which helpers come */

int64_t monotonic_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND_US + t.tv_nsec / 1000;
}

/* ---- whose a chunk is ---- */

static wharf_status walk_take(
    struct batch *b, const char *sql, int stage, int after, struct taken *ret)
{
    wharf_val args[6] = {val_text(b->id), val_text(W->req->organization(b->req)),
        val_int(b->run.lease), val_int(stage), val_int(CHUNK_TRIES), val_int(after)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(b->req, sql, args, 6, &rows);

    *ret = (struct taken){.number = -1};
    if (s == WHARF_OK && W->db->count(rows))
        *ret = (struct taken){
            .number = (int)row_int(rows, 0, 0), .tries = (int)row_int(rows, 0, 1)};
    return s;
}

wharf_status chunk_take(struct batch *b, int stage, int after, struct taken *ret)
{
    static const char sql[] = QUERY_CHUNK_TAKE;

    return walk_take(b, sql, stage, after, ret);
}

/* Takes whatever is left, whoever has it: the suspects last. */
static wharf_status take_rest(struct batch *b, int stage, int after, struct taken *ret)
{
    static const char sql[] = QUERY_CHUNK_TAKE_REST;

    return walk_take(b, sql, stage, after, ret);
}

typedef wharf_status take_fn(struct batch *b, int stage, int after, struct taken *ret);

/* Takes a chunk in a transaction of its own. */
static wharf_status take_alone(
    struct batch *b, take_fn *fn, enum phase_name phase, int after, struct taken *ret)
{
    wharf_status s = batch_begin(b, false);

    if (s != WHARF_OK)
        return s;
    s = fn(b, stage_after(phase), after, ret);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

/* Gives a chunk back, with so many tries. */
static wharf_status walk_leave(struct batch *b, const struct taken *t, int tries)
{
    static const char sql[] =
        "UPDATE batches.chunk SET lease = 0, tries = $4::smallint WHERE organization_id = $2::text"
        " AND batch_id = $1::text AND number = $3::integer AND lease = $5::bigint";
    wharf_val args[5] = {val_text(b->id), val_text(W->req->organization(b->req)),
        val_int(t->number), val_int(tries), val_int(b->run.lease)};
    wharf_status s = batch_begin(b, false);

    if (s != WHARF_OK)
        return s;
    s = W->db->exec(b->req, sql, args, 5, NULL);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

/* ---- chunk after chunk ---- */

/* Tells whether there is a reason to leave off before the next chunk. */
static bool interrupted(struct batch *b)
{
    b->run.stopping = W->event->progress(b->req, ++b->run.steps, 0) != 0;
    if (monotonic_us() - b->run.asked_us > REVOKED_CHECK_US) {
        b->run.asked_us = monotonic_us();
        if (batch_act(b, &b->run.revoked) != WHARF_OK)
            return b->run.stopping = true;
    }
    b->run.timed_out = W->req->now_us(b->req) - b->run.started_us >
                       batches_limits.run_hours * 3600 * SECOND_US;
    return b->run.stopping || b->run.timed_out || b->run.cancel_asked || b->run.revoked;
}

/* ---- helpers: when they go ---- */

/* Tells whether the helper gives way to all. The first one stays, and comes back at once, where no
 * client asks: the batch and it fill two processors by themselves, and whatever else runs has its
 * share of them. */
static bool gives_way_to_all(const struct help *h)
{
    return h->nth || h->look.clients_ask;
}

/* Tells whether it is crowded. Helpers use what nobody else does: when the processors had next to
 * nothing left for some time, they go; the first one last, after the others made room. */
static bool is_crowded(wharf_req *req, struct batch_run *run)
{
    double idle;

    if (!run->helper || monotonic_us() < run->help.look.at_us + LOOK_US ||
        !processors_idle(req, &run->help.look, &idle))
        return false;
    run->help.crowded_looks = idle < IDLE_TO_STAY && gives_way_to_all(&run->help)
                                  ? run->help.crowded_looks + 1
                                  : 0;
    return run->help.crowded_looks >= (run->help.nth ? LOOKS : PATIENT_LOOKS);
}

/* Tells whether there is room: helpers come when one more has a processor to itself. A look takes
 * a moment in which nothing is held. */
static bool walk_has_room(wharf_req *req, struct batch_run *run)
{
    const struct timespec moment = {0, LOOK_US * 500L};
    double idle;

    processors_idle(req, &run->help.look, &idle);
    nanosleep(&moment, NULL);
    if (!processors_idle(req, &run->help.look, &idle))
        return true;
    return idle >= (run->help.away_us && gives_way_to_all(&run->help) ? IDLE_TO_COME : 0);
}

/* ---- a chunk that was taken ---- */

/* Runs a taken chunk. One that always loses its race is left for the end, when the others are no
 * longer at work. */
static wharf_status run_taken(struct batch *b, enum phase_name phase, struct taken *t)
{
    struct taken next = {.number = -1};
    wharf_status s = run_chunk(b, t->number, phase, -1, &next);

    if (s == WHARF_CONFLICT && !b->run.lost && !W->req->cancelled(b->req)) {
        W->err->clear(b->req);
        s = walk_leave(b, t, CHUNK_TRIES);
        if (s == WHARF_OK)
            s = take_alone(b, chunk_take, phase, t->number, &next);
    }
    *t = next;
    return s;
}

static wharf_status run_rest(struct batch *b, enum phase_name phase, struct taken *t)
{
    bool row_by_row = phase == PROCESSING && t->tries > CHUNK_TRIES;
    wharf_status s = row_by_row ? WHARF_OK : run_chunk(b, t->number, phase, -1, NULL);

    if (s == WHARF_CONFLICT && !b->run.lost && phase == PROCESSING && !W->req->cancelled(b->req)) {
        W->err->clear(b->req);
        row_by_row = true;
    }
    if (row_by_row)
        s = run_one_by_one(b, t->number);
    return s == WHARF_OK ? take_alone(b, take_rest, phase, -1, t) : s;
}

typedef wharf_status run_fn(struct batch *b, enum phase_name phase, struct taken *t);

/* Runs chunks. until_us: a helper's turn. *ret_rest: there is more to do, for a reason that b
 * tells, or because the turn is over. */
static wharf_status chunks(struct batch *b, enum phase_name phase, take_fn *first, run_fn *run,
    int64_t until_us, bool *ret_rest)
{
    struct taken t;
    wharf_status s = take_alone(b, first, phase, -1, &t);

    *ret_rest = false;
    while (s == WHARF_OK && t.number >= 0 && !*ret_rest) {
        wharf_scope *scope = W->mem->scope_begin(b->req);
        int64_t begun_us = monotonic_us();

        b->run.help.crowded = is_crowded(b->req, &b->run);
        *ret_rest = interrupted(b) || b->run.help.crowded ||
                    (until_us && monotonic_us() > until_us);
        s = *ret_rest ? walk_leave(b, &t, t.tries - 1) : run(b, phase, &t);
        W->mem->scope_end(b->req, scope);
        give_way(b->req, &b->run, monotonic_us() - begun_us);
    }
    return s;
}

/* ---- helpers: how they come ---- */

/* Asks for help: the nth helper comes at once, or after having been away for so long. */
static wharf_status ask_for_help(
    struct batch *b, enum phase_name phase, int64_t nth, int64_t away_us)
{
    wharf_out *out = W->json->builder(b->req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "batch", val_text(b->id));
    W->json->put(out, "lease", val_int(b->run.lease));
    W->json->put(out, "phase", val_text(z(phase_word(phase))));
    W->json->put(out, "nth", val_int(nth));
    W->json->put(out, "away_us", val_int(away_us));
    W->json->close(out);
    s = W->json->result(b->req, out, &args);
    if (s != WHARF_OK)
        return s;
    return W->event->enqueue(
        b->req, "help", WHARF_S(""), args, away_us ? W->req->now_us(b->req) + away_us : 0);
}

/* Asks for helpers where no item minds the order, and there is enough to do. What is only tried
 * out is worth no memory and locks of others. */
static wharf_status helpers_for(struct batch *b, enum phase_name phase)
{
    static const char sql[] =
        "SELECT count(*) FROM (SELECT FROM batches.chunk WHERE organization_id = $2::text"
        " AND batch_id = $1::text AND stage < $3::smallint LIMIT $4::integer) x";
    wharf_val args[4] = {val_text(b->id), val_text(W->req->organization(b->req)),
        val_int(stage_after(phase)), val_int(HELPED_CHUNKS)};
    const wharf_rows *rows;
    wharf_status s;

    if (!json_truth(block_member(b->block, "unordered")) || b->asked.validate_only)
        return WHARF_OK;
    s = W->db->query(b->req, sql, args, 4, &rows);
    for (int i = 0; s == WHARF_OK && row_int(rows, 0, 0) == HELPED_CHUNKS && i < HELPERS; i++)
        s = ask_for_help(b, phase, i, 0);
    return s;
}

static wharf_status walk_begin(struct batch *b, enum phase_name phase)
{
    wharf_status s = batch_begin(b, true);

    if (s != WHARF_OK)
        return s;
    if (b->phases[phase].status == PHASE_PENDING)
        phase_begin(b, phase);
    s = helpers_for(b, phase);
    b->run.noted_us = 0; /* the first chunk shows at once */
    if (s == WHARF_OK)
        s = batch_note(b);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

wharf_status walk(struct batch *b, enum phase_name phase, bool *ret_rest)
{
    wharf_status s = walk_begin(b, phase);

    *ret_rest = false;
    if (s == WHARF_OK)
        s = chunks(b, phase, chunk_take, run_taken, 0, ret_rest);
    if (s == WHARF_OK && !*ret_rest)
        s = chunks(b, phase, take_rest, run_rest, 0, ret_rest);
    if (s == WHARF_OK && !*ret_rest)
        phase_end(b, phase, PHASE_COMPLETED);
    return s;
}

static int64_t walk_number(const wharf_json *object, const char *key)
{
    const wharf_json *v = W->json->get(object, key);
    int64_t n = 0;

    if (v)
        W->json->integer(v, &n);
    return n;
}

/* Begins to help, if the batch is still where it was when help was asked for. */
static wharf_status help_begin(
    wharf_req *req, const wharf_json *args, struct batch *b, enum phase_name *ret, bool *ret_on)
{
    wharf_status s = begin_briefly(req, false);

    *ret = phase_of(json_text(args, "phase")) == VALIDATING ? VALIDATING : PROCESSING;
    if (s == WHARF_OK)
        s = batch_load(req, json_text(args, "batch"), b);
    W->db->rollback(req);
    *ret_on = s == WHARF_OK && b->status == BATCH_PROCESSING &&
              b->phases[*ret].status == PHASE_RUNNING && walk_number(args, "lease") == b->run.lease;
    b->run.helper = true;
    b->run.help = (struct help){
        .nth = walk_number(args, "nth"), .away_us = walk_number(args, "away_us")};
    return s;
}

/* Ends a helper's turn for somebody else's; one of us comes again, after a while when there was no
 * room, each time a longer one: coming and going costs others something too. */
static wharf_status help_again(struct batch *b, enum phase_name phase)
{
    int64_t longer = b->run.help.away_us ? 2 * b->run.help.away_us : AWAY_US;
    wharf_status s = batch_begin(b, true);

    if (s == WHARF_OK)
        s = ask_for_help(b, phase, b->run.help.nth,
            !b->run.help.crowded   ? 0
            : longer < AWAY_MAX_US ? longer
                                   : AWAY_MAX_US);
    if (s == WHARF_OK)
        return W->db->commit(b->req);
    W->db->rollback(b->req);
    return s;
}

/* Helps. It looks first, and one that was sent away before looks closer. */
static wharf_status help(struct batch *b, enum phase_name phase, bool *ret_rest)
{
    b->run.asked_us = monotonic_us();
    *ret_rest = b->run.help.crowded = !walk_has_room(b->req, &b->run);
    if (b->run.help.crowded)
        return WHARF_OK;
    batches_events->cause(b->req, b->id, 0, b->asked.quiet);
    batches_events->silence(b->req, b->asked.silent);
    return chunks(b, phase, chunk_take, run_taken, monotonic_us() + TURN_US, ret_rest);
}

wharf_status batches_help(wharf_req *req, void *arg)
{
    struct batch *b = W->mem->alloc(req, sizeof(*b));
    const wharf_json *args;
    enum phase_name phase;
    bool on = false, rest;
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    b->source.fd = -1;
    if (s == WHARF_OK)
        s = help_begin(req, args, b, &phase, &on);
    if (s == WHARF_OK && on)
        s = batch_act(b, &b->run.revoked);
    if (s != WHARF_OK || !on || b->run.revoked)
        return s;
    s = help(b, phase, &rest);
    if (b->run.lost) {
        W->err->clear(req);
        return WHARF_OK;
    }
    if (s == WHARF_OK && rest && !b->run.stopping && !b->run.timed_out && !b->run.cancel_asked &&
        !b->run.revoked)
        s = help_again(b, phase);
    return s;
}
