/* workflow_queue.c - runs that wait, and the job that does them (spec 08 sections 3 and 7;
 * statements: sql/).
 *
 * * The job claims runs of one workflow of its organization, does them one after the other,
 * and settles them together: a short run costs a share of two statements. Nobody waits for a
 * slow one: what was claimed behind it is given back. After a slice of time the job asks for
 * another one and ends, so that organizations take turns. Leaves to others: how many run at a
 * time for an organization (the job's policy), what a run is (workflow_run.c). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

enum {
    JOBS_AT_ONCE = 8, /* asked for when runs are added */
    CLAIM_FIRST = 8,
    CLAIM_MOST = 128, /* runs that are claimed at once */
    WAITS_MOST = 32,
    MILLISECOND_US = 1000, /* due times are kept in milliseconds, rounded */
};
static const int64_t slice_us = 250000, claim_us = 160000; /* of a job; of what one claim brought */

/* ---- adding ---- */

wharf_str queue_order_key(
    wharf_req *req, const wharf_json *options, wharf_str resource_type, wharf_str resource_id)
{
    wharf_str key = json_text(options ? W->json->get(options, "concurrency") : NULL, "key");

    if (is(key, "workflow"))
        return WHARF_S("*");
    return is(key, "resource") && resource_id.n
               ? W->mem->format(req, "%s %s", resource_type.p, resource_id.p)
               : WHARF_S("");
}

static wharf_str problem_text(wharf_req *req, const struct queued *q)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "code", val_text(z(q->skipped)));
    W->json->put(out, "message", val_text(z(q->why)));
    W->json->close(out);
    return W->json->result_text(out);
}

static wharf_str json_as_text(wharf_req *req, const wharf_json *v)
{
    wharf_out *out = W->json->writer(req);

    W->json->put(out, NULL, val_json(v));
    return W->json->result_text(out);
}

wharf_status run_queue_hide(wharf_req *req, struct queued *q, const struct secret *secrets)
{
    const wharf_json *input = NULL;
    wharf_status s = secrets ? W->json->parse(req, q->input, &input) : WHARF_OK;

    if (s != WHARF_OK || !secrets)
        return s;
    q->given = run_given(req, secrets, &input, &q->trigger);
    if (q->given)
        q->input = json_as_text(req, input);
    return WHARF_OK;
}

void run_queue_put(wharf_req *req, wharf_out *rows, const struct queued *q, wharf_str *ret_id)
{
    wharf_str id = W->req->new_id(req, "wkf_run");

    W->json->open(rows, NULL, '{');
    W->json->put(rows, "i", val_text(id));
    W->json->put(rows, "w", val_text(q->workflow_id));
    W->json->put(rows, "g", val_json(q->trigger));
    W->json->put(rows, "t", val_text(z(q->type)));
    W->json->put(rows, "k", val_text_or_null(q->order_key));
    W->json->put(rows, "l", val_text_or_null(q->location_id));
    W->json->put(rows, "b", val_text_or_null(q->actor));
    W->json->put(rows, "d", val_int(q->depth));
    W->json->put(
        rows, "x", val_text(W->mem->format(req, "%llu", (unsigned long long)run_seed(id))));
    W->json->put(rows, "v", val_text(q->input));
    W->json->put(rows, "e", val_text_or_null(q->event_id));
    W->json->put(rows, "r", val_text_or_null(q->resource_id));
    W->json->put(rows, "p", q->pinned ? val_int(q->pinned) : val_null());
    if (q->given)
        W->json->put(rows, "y", val_text(json_as_text(req, q->given)));
    if (q->reach)
        W->json->put(rows, "h", val_json(q->reach));
    if (q->skipped) {
        W->json->put(rows, "s", val_text(WHARF_S("skipped")));
        W->json->put(rows, "c", val_text(problem_text(req, q)));
    }
    W->json->close(rows);
    if (ret_id)
        *ret_id = id;
}

static wharf_status ask_for_jobs(wharf_req *req, size_t n, int64_t at_us)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && i < JOBS_AT_ONCE && s == WHARF_OK; i++)
        s = W->event->enqueue(req, "workflows.work", WHARF_S(""), NULL, at_us);
    return s;
}

wharf_status queue_commit(wharf_req *req, wharf_out *rows, size_t n)
{
    static const char sql[] = "SELECT workflows.add($1::text, $2::json)";
    const wharf_rows *none;
    wharf_status s;

    W->json->close(rows);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(W->json->result_text(rows))};
    s = W->db->query(req, sql, args, 2, &none);
    return s == WHARF_OK ? ask_for_jobs(req, n, 0) : s;
}

/* ---- the code of claimed runs ---- */

struct loaded {
    struct loaded *next;
    struct code code;
    wharf_lua_actor *actor; /* NULL: the publisher is gone */
    struct secret *secrets;
};

static wharf_status workflow_queue_load(wharf_req *req, wharf_str workflow_id, int64_t version,
    struct loaded **list, struct loaded **ret)
{
    struct code code;
    bool enabled, found;
    wharf_status s;

    for (*ret = *list; *ret; *ret = (*ret)->next) {
        if ((*ret)->code.version == version && same((*ret)->code.workflow_id, workflow_id))
            return WHARF_OK;
    }
    s = code_load(req, workflow_id, version, &code, &enabled, &found);
    if (s != WHARF_OK || !found)
        return s;
    *ret = W->mem->alloc(req, sizeof(**ret));
    **ret = (struct loaded){.next = *list, .code = code};
    *list = *ret;
    s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = secrets_load(req, workflow_id, &(*ret)->secrets);
    if (s == WHARF_OK)
        s = run_actor(req, &(*ret)->code, false, &(*ret)->actor);
    W->db->rollback(req); /* only read */
    return s;
}

/* Narrows the reach of a run that somebody asked for to what both reach; nothing at all is said by
 * a location that there is none of. */
static wharf_status narrow(wharf_req *req, struct run *r, const wharf_json *reach)
{
    const wharf_json *own = r->code.locations;
    wharf_out *out = W->json->builder(req);
    wharf_str id, other;
    size_t n = 0;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(reach, 0); e; e = W->json->next(e)) {
        bool among = !own || !W->json->count(own);

        W->json->text(e, &id);
        for (const wharf_json *o = among ? NULL : W->json->at(own, 0); o && !among;
             o = W->json->next(o))
            among = W->json->text(o, &other) && same(id, other);
        if (among)
            W->json->put(out, NULL, val_text(id));
        n += among;
    }
    if (!n)
        W->json->put(out, NULL, val_text(WHARF_S("none")));
    W->json->close(out);
    s = W->json->result(req, out, &r->code.locations);
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = run_actor(req, &r->code, false, &r->asked.actor);
    W->db->rollback(req); /* only read */
    return s;
}

/* ---- one run ---- */

struct work { /* what one claim brought */
    const wharf_rows *rows;
    wharf_out *ends, *recordings,
        *lines; /* for workflows.settle, recordings_keep() and run_lines_keep(): open arrays */
    size_t n_recordings, n_lines;
    struct loaded *loaded;
    wharf_str worker;
    int64_t began_us;
    /* steps of the job, which is how it tells that it goes on, and reads the clock anew */
    uint32_t done;
    int64_t waits_ms[WAITS_MOST]; /* of those that wait for another attempt */
    size_t n_waits, at, released; /* at: the one that runs */
    bool rest_gone; /* those behind it were given back while it ran */
    uint32_t depth; /* the greatest of failed runs */
};

/* Releases the rest, which is asked for while a run takes long: nobody waits behind it. */
static void release_rest(wharf_req *req, struct work *w)
{
    static const char sql[] = "SELECT workflows.release($1::text, $2::text, $3::json)";
    wharf_out *ids = W->json->writer(req);
    size_t n = W->db->count(w->rows);
    const wharf_rows *none;

    if (w->rest_gone || w->at + 1 == n)
        return;
    W->json->open(ids, NULL, '[');
    for (size_t i = w->at + 1; i < n; i++)
        W->json->put(ids, NULL, val_text(row_text(w->rows, i, 0)));
    W->json->close(ids);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(w->worker),
        val_text(W->json->result_text(ids))};
    w->rest_gone = query_alone(req, sql, args, 3, &none) == WHARF_OK &&
                   ask_for_jobs(req, 1, 0) == WHARF_OK;
    W->err->clear(req);
}

/* Tells that it goes on, and hears whether it is to. A run that is somebody else's by now ends,
 * and what is said of it counts for nothing. */
static bool stop(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT workflows.renew($1::text, $2::text, $3::text)";
    struct asked *a = arg;
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(a->work->worker), val_text(a->run_key)};
    const wharf_rows *rows;
    bool lost = false;

    release_rest(req, a->work);
    if (W->req->cancelled(req))
        return true;
    if (query_alone(req, sql, args, 3, &rows) == WHARF_OK) {
        a->canceled = is(row_text(rows, 0, 0), "cancel");
        lost = is(row_text(rows, 0, 0), "lost");
    }
    W->err->clear(req);
    return a->canceled || lost;
}

/* Tells whether code asked for a secret that is not there: it is not there the next time. The code
 * of a mistake stands at the end of its message (services/lua/sandbox/lib_host.c). */
static bool lacks_secret(const wharf_lua_outcome *o)
{
    static const char end[] = "(secret.missing)";
    size_t n = sizeof(end) - 1;

    return o->end == WHARF_LUA_RAISED && o->message.n >= n &&
           !memcmp(o->message.p + o->message.n - n, end, n);
}

/* Returns the wait before the next attempt; -1: there is none. */
static int64_t workflow_queue_retry_wait(const struct run *r, int64_t retries)
{
    static const int64_t waits_s[] = {10, 60, 300};
    const wharf_lua_outcome *o = &r->outcome;
    const wharf_json *rule = r->code.options ? W->json->get(r->code.options, "retry") : NULL, *max,
                     *waits, *one;
    bool again = o->end == WHARF_LUA_RAISED || o->end == WHARF_LUA_DIED ||
                 (o->end == WHARF_LUA_OVER &&
                     (is(o->code, ERR_WORKFLOW_BUDGET_TIME) || is(o->code, ERR_OVERLOADED))) ||
                 (o->end == WHARF_LUA_FAILED && o->retry == 1);
    int64_t most = 3, wait = waits_s[retries < 3 ? retries : 2];

    max = rule ? W->json->get(rule, "max") : NULL;
    waits = rule ? W->json->get(rule, "waits") : NULL;
    if (max)
        W->json->integer(max, &most);
    if (waits && W->json->count(waits)) {
        size_t n = W->json->count(waits);

        one = W->json->at(waits, (size_t)retries < n ? (size_t)retries : n - 1);
        W->json->integer(one, &wait);
    }
    if (!again || retries >= most || lacks_secret(o))
        return -1;
    return o->end == WHARF_LUA_FAILED && o->after_ms >= 0 ? o->after_ms : wait * 1000;
}

/* Puts the attempt; logs: what it said, when another one follows. */
static void put_attempt(
    wharf_req *req, wharf_out *out, const struct run *r, int64_t now, const wharf_json *logs)
{
    W->json->open(out, "a", '{');
    W->json->put(out, "started_at", val_time(r->started_us));
    W->json->put(out, "finished_at", val_time(now));
    if (r->outcome.end == WHARF_LUA_OK) {
        W->json->put(out, "error", val_null());
    } else {
        W->json->open(out, "error", '{');
        W->json->put(out, "code", val_text(z(run_code(&r->outcome))));
        W->json->put(out, "message", val_text(r->outcome.message));
        W->json->close(out);
    }
    if (logs)
        W->json->put(out, "logs", val_json(logs));
    W->json->close(out);
}

/* Parses a JSON text: such texts go as texts into the array and are read as such there. */
static const wharf_json *workflow_queue_parsed(wharf_req *req, wharf_val text)
{
    const wharf_json *v = NULL;

    if (text.type != WHARF_V_TEXT || W->json->parse(req, text.u.s, &v) != WHARF_OK)
        W->err->clear(req);
    return v;
}

static void workflow_queue_put_end(wharf_req *req, struct work *w, const struct run *r,
    const char *status, int64_t wait_ms, bool again)
{
    const wharf_lua_outcome *o = &r->outcome;
    bool cut = false;
    wharf_val output = o->result ? run_recorded(req, "value", val_json(o->result), &cut)
                                 : val_null();
    int64_t now = r->started_us + o->duration_us;
    wharf_out *out = w->ends;
    const wharf_json *logs = r->asked.logs ? workflow_queue_parsed(
                                                 req, val_text(W->json->result_text(r->asked.logs)))
                                           : NULL;

    W->json->put(out, "s", val_text(z(status)));
    W->json->put(out, "at", val_time(r->started_us));
    W->json->put(out, "f", wait_ms < 0 ? val_time(now) : val_null());
    W->json->put(out, "ms", val_int(o->duration_us / 1000));
    W->json->put(out, "u", val_json(workflow_queue_parsed(req, run_usage(req, r))));
    W->json->put(out, "o", val_json(workflow_queue_parsed(req, output)));
    W->json->put(out, "ot", val_bool(cut));
    if (logs)
        W->json->put(out, "l", val_json(logs));
    /* also of one that is tried again: its author need not wait for the last try to see why */
    W->json->put(out, "e",
        wait_ms < 0 || again ? val_json(workflow_queue_parsed(req, run_error(req, r)))
                             : val_null());
    if (wait_ms >= 0)
        W->json->put(out, "z", val_int(wait_ms));
    W->json->put(out, "again", val_bool(again));
    put_attempt(req, out, r, now, again ? logs : NULL);
}

static void note_wait(struct work *w, int64_t wait_ms)
{
    for (size_t i = 0; i < w->n_waits; i++) {
        if (w->waits_ms[i] == wait_ms)
            return;
    }
    if (w->n_waits < WAITS_MOST)
        w->waits_ms[w->n_waits++] = wait_ms;
}

/* Judges how the run ended, and what that means. */
static void workflow_queue_judge(wharf_req *req, struct work *w, struct run *r, int64_t retries)
{
    const char *status = run_status(&r->outcome),
               *kept = json_text(
                   r->code.options ? W->json->get(r->code.options, "record") : NULL, "runs")
                           .p;
    int64_t wait = workflow_queue_retry_wait(r, retries);
    bool again = wait >= 0;

    if (r->outcome.end == WHARF_LUA_NO_CELL ||
        (r->outcome.end == WHARF_LUA_STOPPED && !r->asked.canceled))
        wait = 0; /* no failure of its own */
    if (again || wait < 0)
        run_count(req, json_text(row_json(w->rows, w->at, 5), "type"), again ? "retried" : status);
    if (wait >= 0) {
        status = "waiting";
        note_wait(w, wait);
    } else if (!strcmp(status, "succeeded") && !strcmp(kept, "errors")) {
        status = "forgotten";
    } else if (!strcmp(status, "failed") && r->depth > w->depth) {
        w->depth = r->depth;
    }
    workflow_queue_put_end(req, w, r, status, wait, again);
}

static void workflow_queue_fail(struct run *r, const char *message)
{
    r->outcome = (wharf_lua_outcome){.head = WHARF_HEAD(wharf_lua_outcome),
        .end = WHARF_LUA_FAILED,
        .code = WHARF_S(""),
        .message = z(message),
        .field = WHARF_S("")};
}

/* Tells whether the event fits the input_schema of what it started, as that is by now; else the
 * run is over, as if the code had refused it. */
static wharf_status judge_event(wharf_req *req, struct run *r, bool *ret_fits)
{
    const wharf_json *started = NULL;
    wharf_str name, text = {"", 0};
    wharf_status s = W->json->parse(req, r->trigger, &started);

    *ret_fits = true;
    if (s != WHARF_OK || !is(json_text(started, "type"), "event"))
        return s;
    name = json_text(started, "name");
    s = trigger_event_faults(
        req, r->code.triggers, json_text(started, "event_type"), &name, r->input, &text);
    *ret_fits = !text.n;
    if (text.n)
        r->outcome = (wharf_lua_outcome){.head = WHARF_HEAD(wharf_lua_outcome),
            .end = WHARF_LUA_REJECTED,
            .code = WHARF_S("input_schema"),
            .message = secrets_hide(req, r->asked.secrets, text),
            .field = WHARF_S("")};
    return s;
}

/* Returns the class of a trigger: when anybody may have asked for it, less is done for them. */
static const struct budget *class_of(const wharf_json *trigger)
{
    return is(json_text(trigger, "auth"), "none") ? &public_budget : &queued_budget;
}

static wharf_status workflow_queue_do_run(
    wharf_req *req, struct work *w, struct loaded *l, size_t i)
{
    struct run r = {.id = row_text(w->rows, i, 0),
        .handler = trigger_handler(row_text(w->rows, i, 6)),
        .attempt = row_int(w->rows, i, 3),
        .trigger = row_text(w->rows, i, 5),
        .location_id = row_text(w->rows, i, 7),
        .actor = row_text(w->rows, i, 8),
        .depth = (uint32_t)row_int(w->rows, i, 9),
        .event_id = row_text(w->rows, i, 11),
        .input = row_text(w->rows, i, 12),
        .budget = class_of(row_json(w->rows, i, 5)),
        .started_us = W->req->now_us(req),
        .stop = stop};
    bool fits = false;
    wharf_status s = WHARF_OK;

    r.seed = run_seed(r.id);
    r.asked.work = w;
    w->at = i;
    if (l) {
        r.code = l->code;
        r.asked.actor = l->actor;
        r.asked.secrets = l->secrets;
    }
    flow_events->cause(req, WHARF_S(""), r.depth, false);
    if (l && l->actor && row_json(w->rows, i, 14))
        s = narrow(req, &r, row_json(w->rows, i, 14));
    if (s != WHARF_OK)
        return s;
    if (!l)
        workflow_queue_fail(&r, "the version that it is for is gone");
    else if (!l->actor)
        run_unpublished(&r);
    else
        s = judge_event(req, &r, &fits);
    if (s == WHARF_OK && fits)
        s = run_execute(req, &r);
    if (s != WHARF_OK)
        return s;
    W->json->put(w->ends, "q", val_int((r.started_us - row_int(w->rows, i, 13)) / 1000));
    if (r.recording.n) {
        recording_put(req, &r, w->recordings);
        w->n_recordings++;
    }
    run_lines_put(req, &r, w->lines, &w->n_lines);
    workflow_queue_judge(req, w, &r, row_int(w->rows, i, 4));
    return WHARF_OK;
}

/* Releases a run of those that were claimed behind a slow run. */
static void workflow_queue_release(struct work *w)
{
    W->json->put(w->ends, "s", val_text(WHARF_S("released")));
    w->released++;
}

static wharf_status do_runs(wharf_req *req, struct work *w)
{
    wharf_status s = WHARF_OK;
    bool enough = false;

    for (size_t i = 0; i < W->db->count(w->rows) && s == WHARF_OK && !w->rest_gone; i++) {
        struct loaded *l = NULL;
        wharf_scope *scope;

        if (!enough)
            s = workflow_queue_load(
                req, row_text(w->rows, i, 1), row_int(w->rows, i, 2), &w->loaded, &l);
        if (s != WHARF_OK)
            return s;
        scope = W->mem->scope_begin(req);
        W->json->open(w->ends, NULL, '{');
        W->json->put(w->ends, "i", val_text(row_text(w->rows, i, 0)));
        W->json->put(w->ends, "w", val_text(row_text(w->rows, i, 1)));
        W->json->put(w->ends, "n", val_int(row_int(w->rows, i, 3)));
        if (enough)
            workflow_queue_release(w);
        else
            s = workflow_queue_do_run(req, w, l, i);
        W->json->close(w->ends);
        W->mem->scope_end(req, scope);
        enough = W->event->progress(req, ++w->done, 0) ||
                 W->req->now_us(req) - w->began_us > claim_us;
    }
    return s;
}

/* ---- the job ---- */

/* Asks for jobs for those that wait, at moments of the database's clock, read behind
 * workflow_queue_settle(): a job that comes before what it is for finds nothing, and nobody else
 * comes until the sweep. */
static wharf_status ask_for_waiting(wharf_req *req, const struct work *w)
{
    static const char sql[] = "SELECT workflows.clock_us()";
    const wharf_rows *rows;
    wharf_status s = w->n_waits ? W->db->query(req, sql, NULL, 0, &rows) : WHARF_OK;

    for (size_t i = 0; i < w->n_waits && s == WHARF_OK; i++)
        s = ask_for_jobs(req, 1, row_int(rows, 0, 0) + w->waits_ms[i] * 1000 + MILLISECOND_US);
    return s;
}

static wharf_status workflow_queue_settle(wharf_req *req, struct work *w)
{
    static const char sql[] = "SELECT workflow_id, streak, tell, run_id FROM "
                              "workflows.settle($1::text, $2::text, $3::json)";
    const wharf_rows *rows;
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    W->json->close(w->ends);
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(w->worker),
        val_text(W->json->result_text(w->ends))};
    s = W->db->query(req, sql, args, 3, &rows);
    W->json->close(w->recordings);
    if (s == WHARF_OK && w->n_recordings)
        s = recordings_keep(req, W->json->result_text(w->recordings));
    W->json->close(w->lines);
    if (s == WHARF_OK && w->n_lines)
        s = run_lines_keep(req, W->json->result_text(w->lines));
    if (s == WHARF_OK)
        s = run_failures(req, rows, w->depth);
    if (s == WHARF_OK)
        s = ask_for_waiting(req, w);
    if (s == WHARF_OK && w->released)
        s = ask_for_jobs(req, w->released, 0);
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

/* Computes the next claim: as many as are over in half the time after which the rest is given
 * back; never more than twice as many as before. */
static int64_t next_claim(int64_t most, size_t n, int64_t took_us)
{
    int64_t fit = took_us > 0 ? (int64_t)n * (claim_us / 2) / took_us : CLAIM_MOST,
            next = fit < most * 2 ? fit : most * 2;

    return next < 1 ? 1 : next < CLAIM_MOST ? next : CLAIM_MOST;
}

/* Works on up to *most runs; *most is afterwards what fits the next time. *ret_n 0: nothing is
 * due, or others are at it. */
static wharf_status work_once(
    wharf_req *req, wharf_str worker, int64_t *most, uint32_t *done, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id, workflow_id, version, attempt, retries, trigger, trigger_type, location_id, "
        "on_behalf_of, depth, seed, event_id, input, created_us, CASE WHEN trigger_type IN "
        "('manual', 'http') THEN workflows.reach_of($1::text, c.id) END "
        "FROM workflows.claim($1::text, $2::text, $3::integer) c";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(worker), val_int(*most)};
    struct work w = {.worker = worker, .began_us = W->req->now_us(req), .done = *done};
    wharf_status s = query_alone(req, sql, args, 3, &w.rows);

    *ret_n = s == WHARF_OK ? W->db->count(w.rows) : 0;
    if (!*ret_n)
        return s;
    w.ends = W->json->writer(req);
    W->json->open(w.ends, NULL, '[');
    w.recordings = W->json->writer(req);
    W->json->open(w.recordings, NULL, '[');
    w.lines = W->json->writer(req);
    W->json->open(w.lines, NULL, '[');
    s = do_runs(req, &w);
    *done = w.done;
    *most = next_claim(*most, *ret_n - w.released, W->req->now_us(req) - w.began_us);
    return s == WHARF_OK ? workflow_queue_settle(req, &w) : s;
}

static wharf_status workflow_queue_give_back(wharf_req *req, wharf_str worker)
{
    static const char sql[] = "SELECT workflows.give_back($1::text, $2::text)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(worker)};
    const wharf_rows *rows;

    return query_alone(req, sql, args, 2, &rows);
}

wharf_status queue_work(wharf_req *req, void *arg)
{
    int64_t until = W->req->now_us(req) + slice_us, most = CLAIM_FIRST;
    wharf_str worker = {"", 0};
    uint32_t done = 0;
    size_t n = 1;
    wharf_status s;

    W->req->param(req, "job_id", &worker);
    s = workflow_queue_give_back(req, worker); /* of a run of this job that did not end */
    /* who took their share waits for the sweep, which asks again */
    while (
        s == WHARF_OK && n && W->req->now_us(req) < until && !W->event->progress(req, ++done, 0)) {
        if (flow_lua->wait_us(req) > 0)
            return WHARF_OK;

        wharf_scope *scope = W->mem->scope_begin(req);

        s = work_once(req, worker, &most, &done, &n);
        W->mem->scope_end(req, scope);
    }
    return s == WHARF_OK && n ? ask_for_jobs(req, 1, 0) : s;
}

/* Sweeps: whatever was not asked for, because a server ended in between, is asked for within a
 * minute. */
wharf_status run_queue_sweep(wharf_req *req, void *arg)
{
    static const char *const sqls[] = {"SELECT * FROM workflows.sweep()",
        "SELECT * FROM workflows.late_schedules()"},
                             *const jobs[] = {"work", "tick"};
    wharf_status s = WHARF_OK;

    for (size_t k = 0; k < 2 && s == WHARF_OK; k++) {
        const wharf_rows *rows;

        s = query_alone(req, sqls[k], NULL, 0, &rows);
        for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
            s = flow_events->act_for(req, row_text(rows, i, 0));
            if (s == WHARF_OK)
                s = W->event->enqueue(req, jobs[k], WHARF_S(""), NULL, 0);
        }
    }
    return s;
}
