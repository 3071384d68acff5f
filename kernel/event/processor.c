/* processor.c - takes what committed changes left in the outbox in chunks: numbers their events,
 * runs the steps, notes them as processed, and seals their log lines; all in one transaction.
 *
 * Any number of processors may run: an organization's events are with one of them at a time (an
 * advisory lock of the transaction), so that its numbers become visible in order. See
 * processor.h. */
#include "event/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "db/copy.h"
#include "event/outbox.h"
#include "event/steps.h"
#include "db/notifier.h"
#include "job/job.h"
#include "kernel_queries.gen.h"
#include "util/id.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    CHUNK = 500, /* events that are taken at once */
    ARENA_BUDGET = 512 * 1024 * 1024,
    POLL_US = 1000000, /* between two looks when nobody tells */
    /* between the beginnings of chunks that are not full: a chunk costs milliseconds however few
     * it has */
    PACE_US = 20000,
    /* the same where a batch leaves them: it makes full chunks of them in that time */
    BATCH_PACE_US = 50000,
    /* between two chunks that a batch left behind, which rests while clients ask */
    BATCHES_US = 2000000,
    LATE_US = 500000, /* then events have been waiting for long enough ... */
    /* ... and those of batches, which are as old as their chunk when they can be seen */
    BATCH_LATE_US = 5000000,
    AGAIN_US = 200000, /* after the database was away */
    AGAIN_MAX_US = 5000000 /* the longest wait of these */
};
const char processor_policy[] = "{\"resident\": true}";

static const int64_t retry_waits_us[] = {1000000, 5000000, 30000000, 120000000, 600000000};
enum { RETRIES = sizeof(retry_waits_us) / sizeof(retry_waits_us[0]) };

/* ---- the request of a chunk ---- */

static void chunk_begin(const struct wharf_req *resident, struct wharf_req *c)
{
    *c = (struct wharf_req){.arena = arena_new(ARENA_BUDGET),
        .engine = resident->engine,
        .thread = resident->thread,
        .job = resident->job,
        .head.method = resident->head.method,
        .head.path = resident->head.path,
        .head.raw_query = str_z(""),
        .head.client_request_id = str_z(""),
        .head.traceparent = str_z(""),
        .body = resident->body,
        .start_us = clock_monotonic_us(),
        .now_us = clock_now_us()};
    buf_init(&c->reply.out, 64 << 20);
    jw_init(&c->reply.w, &c->reply.out);
    c->access.who = principal_system(c->arena, str_z(""));
}

static void chunk_end(struct wharf_req *c)
{
    while (c->tx.depth)
        req_rollback(c);
    buf_done(&c->reply.out);
    arena_free(c->arena);
}

static void be(struct wharf_req *c, wharf_str organization, wharf_str live)
{
    req_leave_organization(c);
    c->access.who = principal_system(c->arena, organization);
    c->access.who->access.live_organization = live.n ? live : organization;
    c->access.who->test_mode = live.n && !str_eq(live, organization);
}

static struct sql_arg now_arg(struct wharf_req *c)
{
    char *p = arena_alloc(c->arena, ISO_MS_LEN + 1);

    time_format_iso(c->now_us, p);
    return (struct sql_arg){p, ISO_MS_LEN};
}

/* ---- a chunk ---- */

/* Counts the first events of the list that are of one organization. */
static size_t same_organization(struct event *const *list, size_t n)
{
    size_t k = 1;

    while (k < n && str_eq(list[k]->pub.organization, list[0]->pub.organization))
        k++;
    return k;
}

static bool mark_processed(
    struct wharf_req *c, struct event *const *list, size_t n, const struct step_result *results)
{
    static const char sql[] =
        "COPY wharf.event_done (organization_id, created_at, event_id, sequence, processed_at, "
        "head, steps) FROM STDIN (FORMAT binary)";
    struct buf rows;
    bool good;

    if (!n)
        return true;
    buf_init(&rows, SIZE_MAX / 2);
    binary_begin(&rows);
    for (size_t i = 0; i < n; i++) {
        binary_row(&rows, 7);
        binary_text(&rows, list[i]->pub.organization);
        binary_moment(&rows, list[i]->pub.created_at_us);
        binary_text(&rows, list[i]->pub.id);
        binary_int8(&rows, list[i]->pub.sequence);
        binary_moment(&rows, c->now_us / 1000 * 1000); /* cut, as everywhere: PostgreSQL rounds */
        binary_text(&rows, list[i]->head);
        binary_text(&rows, steps_json(c, list[i], results + i * c->engine->n_steps));
    }
    binary_end(&rows);
    good = req_copy(c, sql, &rows);
    buf_done(&rows);
    return good;
}

static void put_retry(struct jw *w, const struct event *e, const char *step)
{
    jw_open(w, NULL, '{');
    jw_str(w, "o", e->pub.organization);
    jw_str(w, "c", e->created_at);
    jw_str(w, "i", e->pub.id);
    jw_z(w, "s", step);
    jw_close(w, '}');
}

/* Notes failed steps for another try. */
static bool note_failures(
    struct wharf_req *c, struct event *const *list, size_t n, const struct step_result *results)
{
    static const char sql[] = "INSERT INTO wharf.event_retry (organization_id, event_id, "
                              "event_created_at, step, attempts, next_at)"
                              " SELECT u.o, u.i, u.c, u.s, 1, $2::timestamptz + interval '1 second'"
                              " FROM json_to_recordset($1::json) AS u(o text, c timestamptz, i "
                              "text, s text) ON CONFLICT DO NOTHING";
    const struct engine *e = c->engine;
    struct sql_arg args[2] = {{NULL, 0}, now_arg(c)};
    bool any = false, good;
    struct buf b;
    struct jw w;

    buf_init(&b, SIZE_MAX / 2);
    jw_init(&w, &b);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; i < n * e->n_steps; i++) {
        if (results[i].status != STEP_FAILED)
            continue;
        put_retry(&w, list[i / e->n_steps], e->steps[i % e->n_steps].name);
        any = true;
    }
    jw_close(&w, ']');
    args[0] = (struct sql_arg){b.p, b.n};
    good = !any || req_query(c, sql, args, 2);
    buf_done(&b);
    return good;
}

static bool work_on(struct wharf_req *c, struct event *const *list, size_t n)
{
    size_t n_steps = c->engine->n_steps;
    struct step_result *results = ARENA_ARRAY(c->arena, struct step_result, n * n_steps + 1);

    for (size_t i = 0, k; i < n; i += k) {
        k = same_organization(list + i, n - i);
        be(c, list[i]->pub.organization, list[i]->live_organization);
        if (!steps_run(c, list + i, k, results + i * n_steps) ||
            !steps_enqueue_handlers(c, list + i, k) ||
            (c->engine->on_events && !c->engine->on_events(c, list + i, k)))
            return false;
    }
    return mark_processed(c, list, n, results) && note_failures(c, list, n, results);
}

/* State that one chunk hands to the next. */
struct state {
    char after[ID_MAX]; /* the organization that was served last */
    int64_t batch_us; /* monotonic: when a chunk was last mostly of batches */
    bool late; /* an event of the last one was processed long after it was written */
};

static bool of_batches(const struct state *s)
{
    return s->batch_us && clock_monotonic_us() - s->batch_us < BATCHES_US;
}

/* Tells whether this chunk steps back: what batches leave behind is processed as the batches are,
 * behind whatever clients wait for, as long as events are not late by that. */
static bool steps_back(const struct state *s)
{
    return of_batches(s) && !s->late;
}

static void look_back(struct state *s, const struct outbox_chunk *k)
{
    int64_t now = clock_now_us();

    if (k->of_batches * 2 > k->n_events)
        s->batch_us = clock_monotonic_us();
    s->late = (k->oldest_us && now - k->oldest_us >= LATE_US) ||
              (k->oldest_of_batches_us && now - k->oldest_of_batches_us >= BATCH_LATE_US);
}

/* Processes a chunk. Returns the number of changes; -1 when it did not work out and nothing was
 * done. */
static int process_chunk(struct wharf_req *resident, struct state *s)
{
    struct wharf_req c;
    struct outbox_chunk k = {0};
    int done = -1;

    job_in_background(resident->thread, steps_back(s));
    chunk_begin(resident, &c);
    if (req_begin(&c) == WHARF_OK && outbox_claim(&c, s->after, CHUNK, &k)) {
        if (!k.n) {
            done = 0;
        } else if (work_on(&c, k.events, k.n_events) && seal_chunk(&c, k.lines, k.n_lines)) {
            c.tx.news |= k.n_events ? NEWS_PROCESSED : 0;
            if (req_commit(&c) == WHARF_OK) {
                done = (int)k.n;
                snprintf(s->after, ID_MAX, "%s", k.last.p);
                look_back(s, &k);
            }
        }
    }
    if (done < 0)
        log_warn("events.chunk", "%zu changes are processed later: %s", k.n,
            c.problems.n ? c.problems.list[0].text.p : "the transaction was lost");
    chunk_end(&c);
    return done;
}

/* ---- failed steps ---- */

/* Returns the event's steps with the new word on one of them. */
static wharf_str steps_with(
    struct wharf_req *c, wharf_str steps, const char *name, const struct step_result *result)
{
    static const char *const words[] = {"completed", "skipped", "failed"};
    struct json_error error;
    const struct wharf_json *old = json_parse(c->arena, steps, &error);
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, 1 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '[');
    for (const struct wharf_json *s = old ? old->child : NULL; s; s = s->next) {
        if (!str_eqz(json_text_or(s, "name", ""), name)) {
            jw_value(&w, NULL, s);
            continue;
        }
        jw_open(&w, NULL, '{');
        jw_z(&w, "name", name);
        jw_z(&w, "status", words[result->status]);
        jw_z(&w, "error", result->error);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    text = arena_dup_str(c->arena, buf_str(&b));
    buf_done(&b);
    return text;
}

static bool settle_retry(struct wharf_req *c, const struct event *e, const char *step, int attempts,
    wharf_str steps, const struct step_result *result)
{
    static const char tell_sql[] =
        "UPDATE wharf.event_done SET steps = $4::json WHERE organization_id = $1 AND "
        "created_at = $2::timestamptz AND event_id = $3";
    static const char over_sql[] =
        "DELETE FROM wharf.event_retry WHERE organization_id = $1 AND event_id = $2 AND step = $3";
    static const char again_sql[] =
        "UPDATE wharf.event_retry SET attempts = attempts + 1, next_at = $4::timestamptz + "
        "$5::bigint * interval '1 microsecond' WHERE organization_id = $1 AND event_id = $2 AND "
        "step = $3";
    wharf_str reported = steps_with(c, steps, step, result);
    const struct wharf_event *p = &e->pub;
    struct sql_arg tell[4] = {{p->organization.p, p->organization.n},
        {e->created_at.p, e->created_at.n}, {p->id.p, p->id.n}, {reported.p, reported.n}};
    bool again = result->status == STEP_FAILED && attempts < RETRIES + 1;
    char wait[24];
    struct sql_arg args[5] = {tell[0], tell[2], {step, strlen(step)}, now_arg(c), {wait, 0}};

    args[4].n = (size_t)snprintf(
        wait, sizeof(wait), "%lld", (long long)retry_waits_us[again ? attempts - 1 : 0]);
    return req_query(c, tell_sql, tell, 4) &&
           (again ? req_query(c, again_sql, args, 5) : req_query(c, over_sql, args, 3));
}

static bool retry_row(struct wharf_req *c, const PGresult *r, int row)
{
    enum { T_STEP = EVENT_COLUMNS + 1, T_ATTEMPTS, T_STEPS, T_LIVE };
    const char *name = arena_dupz(c->arena, PQgetvalue(r, row, T_STEP)).p;
    const struct event_step *step = step_find(c->engine, name);
    struct event *e = event_from_row(c, r, row);
    /* that failed before this one */
    int attempts = (int)strtol(PQgetvalue(r, row, T_ATTEMPTS), NULL, 10);
    struct step_result result = {
        .status = STEP_FAILED, .error = "its module is not loaded any more"};

    be(c, e->pub.organization,
        PQgetisnull(r, row, T_LIVE) ? str_z("") : arena_dupz(c->arena, PQgetvalue(r, row, T_LIVE)));
    if (step && !step_run_again(c, step, e, &result))
        return false;
    return settle_retry(
        c, e, name, attempts + 1, arena_dupz(c->arena, PQgetvalue(r, row, T_STEPS)), &result);
}

/* Runs failed steps again. Returns the number of calls; -1 when the database was away. */
static int retry_steps(struct wharf_req *resident)
{
    struct wharf_req c;
    struct sql_arg now;
    PGresult *r = NULL;
    int done = -1;

    job_in_background(resident->thread, false);
    chunk_begin(resident, &c);
    now = now_arg(&c);
    if (req_begin(&c) == WHARF_OK)
        r = req_query(&c, arena_printf(c.arena, QUERY_EVENT_RETRIES, event_columns).p, &now, 1);
    if (r) {
        bool good = true;

        done = PQntuples(r);
        for (int i = 0; good && i < done; i++)
            good = retry_row(&c, r, i);
        c.tx.news |= done ? NEWS_PROCESSED : 0;
        if (!good || (done && req_commit(&c) != WHARF_OK))
            done = -1;
    }
    chunk_end(&c);
    return done;
}

/* ---- the resident ---- */

static void pause_until(int64_t at_us)
{
    int64_t left_us = at_us - clock_monotonic_us();
    struct timespec t = {.tv_nsec = left_us * 1000};

    if (left_us > 0 && left_us < 1000000)
        nanosleep(&t, NULL);
}

wharf_status processor_job(struct wharf_req *req, void *arg)
{
    int64_t next_retry_us = 0, again_us = AGAIN_US;
    struct state state = {.batch_us = 0};

    (void)arg;
    while (!req->job->stop(req)) {
        int64_t begun_us = clock_monotonic_us();
        int n = process_chunk(req, &state);

        if (n >= 0 && clock_monotonic_us() >= next_retry_us) {
            if (retry_steps(req) <= 0)
                next_retry_us = clock_monotonic_us() + POLL_US;
        }
        if (n < 0) {
            job_wait(req, again_us);
            again_us = again_us * 2 < AGAIN_MAX_US ? again_us * 2 : AGAIN_MAX_US;
        } else {
            again_us = AGAIN_US;
        }
        if (!n)
            job_wait(req, POLL_US);
        else if (n > 0 && n < CHUNK)
            pause_until(begun_us + (of_batches(&state) ? BATCH_PACE_US : PACE_US));
    }
    return WHARF_OK;
}
