/* set.c - the pipeline of a write of many. See set.h. Leaves to others: its statements
 * (set_rows.c), single rows (write.c). */
#include "resource/set.h"

#include "resource/observe.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { SILENT_US = 5000000 };

/* ---- whose problem it is ---- */

/* Tells whether no row is to blame for a code: it would have failed any other as well. */
static bool is_everybodys(const struct wharf_req *req, const char *code)
{
    return code_status(req->engine, code) >= 500 || !strcmp(code, ERR_CONFLICT);
}

bool set_everybodys(const struct wharf_req *req)
{
    for (size_t i = 0; i < req->problems.n; i++) {
        if (is_everybodys(req, req->problems.list[i].code))
            return true;
    }
    return false;
}

static void take_problems(struct wharf_req *req, struct write_set *set)
{
    struct req_problems *problems = &req->problems;
    struct set_row *row = set->current;
    struct problem *all;

    if (!problems->n || set->broken)
        return;
    set->broken |= !row || set_everybodys(req);
    if (set->broken)
        return;
    all = ARENA_ARRAY(req->arena, struct problem, row->n_problems + problems->n);
    if (row->n_problems)
        memcpy(all, row->problems, row->n_problems * sizeof(*all));
    memcpy(all + row->n_problems, problems->list, problems->n * sizeof(*all));
    set->n_failed += !row->failed;
    row->failed = true;
    row->problems = all;
    row->n_problems += problems->n;
    req_clear_problems(problems);
}

void set_at(struct wharf_req *req, struct set_row *row)
{
    struct write_set *set = req->set;

    take_problems(req, set);
    set->current = row;
}

void set_sift(struct wharf_req *req, struct write_set *set)
{
    size_t n = 0;

    set_at(req, NULL);
    for (size_t i = 0; i < set->n_live; i++) {
        if (!set->live[i]->failed)
            set->live[n++] = set->live[i];
    }
    set->n_live = n;
}

void set_wrote(struct wharf_req *req, struct write_set *set)
{
    set_at(req, NULL);
    if (set->wrote)
        return;
    set->wrote = true;
    /* of deletes, rules are asked about refused rows as well */
    set->failed_before = set->op == OP_DELETE ? 0 : set->n_failed;
}

/* Tells whether something was written for a row that was refused afterwards: it has to be undone
 * alone. */
static bool wrote_for_refused(struct write_set *set)
{
    set->row_by_row |= set->wrote && set->n_failed != set->failed_before;
    return set->row_by_row;
}

/* ---- hooks ---- */

static bool has_stage(const wharf_hooks *h, enum hook_stage stage)
{
    return stage == HOOK_CHECK ? h->check_many != NULL : h->written_many != NULL;
}

static void judge_ruled(struct wharf_req *req, struct write_set *set, const struct plugin *plugin)
{
    for (size_t i = 0; i < set->n_live; i++) {
        struct set_row *row = set->live[i];

        if (!row->w.new_rec || !row->w.new_rec->values)
            continue;
        set_at(req, row);
        ruled_values_judge(req, plugin, row->w.new_rec);
    }
    set_at(req, NULL);
    set_sift(req, set);
}

static const char *stage_name(enum hook_stage stage)
{
    return stage == HOOK_CHECK ? "check_many" : "written_many";
}

/* Calls one plugin's rule. Old and new rows are as the op has them. */
static wharf_status call_hook(struct wharf_req *req, const struct write_set *set,
    const struct hook_entry *h, enum hook_stage stage)
{
    const wharf_rec **recs = ARENA_ARRAY(req->arena, const wharf_rec *, set->n_live + 1),
                    **old_recs = set->op == OP_CREATE ? NULL : recs;
    wharf_rec **made = ARENA_ARRAY(req->arena, wharf_rec *, set->n_live + 1),
              **new_recs = set->op == OP_DELETE ? NULL : made;
    const struct plugin *before;
    wharf_status s;

    for (size_t k = 0; k < set->n_live; k++) {
        recs[k] = set->live[k]->w.old_rec;
        made[k] = set->live[k]->w.new_rec;
    }
    before = plugin_enter(req, h->plugin, stage_name(stage));
    s = stage == HOOK_CHECK ? h->hooks->check_many(req, set->op, old_recs, new_recs, set->n_live)
                            : h->hooks->written_many(req, set->op, old_recs,
                                  (const wharf_rec *const *)new_recs, set->n_live);
    plugin_leave(req, before);
    return s;
}

/* Runs the rules of one stage for the live rows. Everybody's reasons against a deletion are told
 * together, as run_hooks() does it. */
static wharf_status set_hooks(struct wharf_req *req, struct write_set *set, enum hook_stage stage)
{
    bool all = stage == HOOK_CHECK && set->op == OP_DELETE;

    for (size_t i = 0; i < set->res->n_hooks; i++) {
        const struct hook_entry *h = &set->res->hooks[i];
        size_t failed = set->n_failed;
        wharf_status s;

        if (!has_stage(h->hooks, stage) || !hooks_about(h->hooks, set->op) || !set->n_live)
            continue;
        s = call_hook(req, set, h, stage);
        if (set->row_by_row && !set_everybodys(req)) /* it is told again, row by row */
            req_clear_problems(&req->problems);
        set_at(req, NULL);
        if (!all)
            set_sift(req, set);
        if (set->row_by_row)
            return WHARF_CONFLICT;
        if (s != WHARF_OK && !set->broken && set->n_failed == failed)
            return plugin_unexplained(req, h->plugin, stage_name(stage), s);
        if (set->broken)
            return WHARF_INVALID;
        if (stage == HOOK_CHECK && set->op != OP_DELETE)
            judge_ruled(req, set, h->plugin);
    }
    set_sift(req, set);
    return WHARF_OK;
}

/* ---- as a set ---- */

static bool as_a_set(const struct wharf_req *req, const struct write_set *set)
{
    const struct resource *res = set->res;

    if (set->n < 2 || set->op == OP_UPDATE || res->def->place.parent || res->has_children ||
        write_observed(req, res, set->op))
        return false;
    for (size_t i = 0; i < res->n_hooks; i++) {
        const wharf_hooks *h = res->hooks[i].hooks;

        if (hooks_about(h, set->op) &&
            ((h->check && !h->check_many) || (h->written && !h->written_many)))
            return false;
    }
    return true;
}

static void begin_sides(struct wharf_req *req, struct write_set *set)
{
    set->shared = NULL;
    for (size_t i = 0; i < set->n_live; i++) {
        write_side_begin(req, &set->live[i]->w);
        if (set->live[i]->w.side)
            set->live[i]->w.side->shared = &set->shared;
    }
}

/* Makes the records that normalize hooks will get, with bodies as they were sent. */
static const wharf_rec **raw_recs(struct wharf_req *req, const struct write_set *set)
{
    const wharf_rec **recs = ARENA_ARRAY(req->arena, const wharf_rec *, set->n_live + 1);

    for (size_t i = 0; i < set->n_live; i++) {
        const struct write *w = &set->live[i]->w;
        struct wharf_rec *rec = ARENA_NEW(req->arena, struct wharf_rec);

        *rec = (struct wharf_rec){.res = w->res, .arena = req->arena, .id = w->id, .side = w->side};
        rec->raw = ARENA_NEW(req->arena, struct wharf_json);
        *rec->raw = *w->body;
        recs[i] = rec;
    }
    return recs;
}

/* Lets hooks ask once for all rows. What they fail with is no row's problem. */
static void set_look_ahead(struct wharf_req *req, struct write_set *set)
{
    const wharf_rec **recs = NULL;

    for (size_t i = 0; i < set->res->n_hooks && set->n_live && !set->broken; i++) {
        const struct hook_entry *h = &set->res->hooks[i];
        const struct plugin *before;
        wharf_status s;

        if (!WHARF_HAS(wharf_hooks, h->hooks, look_ahead))
            continue;
        if (!recs)
            recs = raw_recs(req, set);
        before = plugin_enter(req, h->plugin, "look_ahead");
        s = h->hooks->look_ahead(req, set->op, recs, set->n_live);
        plugin_leave(req, before);
        if (s != WHARF_OK && !req->problems.n)
            plugin_unexplained(req, h->plugin, "look_ahead", s);
        set_at(req, NULL);
    }
}

static void check_bodies(struct wharf_req *req, struct write_set *set)
{
    set_look_ahead(req, set);
    for (size_t i = 0; i < set->n_live && !set->broken; i++) {
        struct write *w = &set->live[i]->w;

        set_at(req, set->live[i]);
        write_check_body(req, w);
        set->row_by_row |= w->disable_webhooks;
    }
    set_sift(req, set);
}

static void new_rows(struct wharf_req *req, struct write_set *set)
{
    for (size_t i = 0; i < set->n_live; i++) {
        struct write *w = &set->live[i]->w;

        if (set->op == OP_CREATE) {
            set_at(req, set->live[i]);
            write_new_id(req, w);
        }
        w->new_rec = ARENA_NEW(req->arena, struct wharf_rec);
        *w->new_rec = (struct wharf_rec){
            .res = w->res, .arena = req->arena, .values = w->values, .id = w->id, .side = w->side};
        if (w->old_rec)
            w->new_rec->cells = w->old_rec->cells;
    }
    set_at(req, NULL);
}

/* Tells whether the set is refused: with WHARF_MANY_ALL one refused row is enough. */
static bool set_refused(const struct write_set *set)
{
    return (set->flags & WHARF_MANY_ALL) && set->n_failed;
}

static wharf_status finish_set(struct wharf_req *req, struct write_set *set)
{
    size_t before = set->n_live;
    wharf_status s = set_hooks(req, set, HOOK_WRITTEN);

    /* refused when it was written already: it has to be undone alone */
    if (s == WHARF_OK && set->n_live != before) {
        set->row_by_row = true;
        s = WHARF_CONFLICT;
    }
    if (s == WHARF_OK && set->op == OP_CREATE)
        s = set_refresh(req, set);
    for (size_t i = 0; s == WHARF_OK && i < set->n_live; i++)
        queue_committed(req, set->res, set->op, set->live[i]->w.old_rec,
            set->op == OP_DELETE ? NULL : set->live[i]->w.new_rec);
    return s == WHARF_OK ? set_history(req, set) : s;
}

static wharf_status create_set(struct wharf_req *req, struct write_set *set)
{
    wharf_status s;

    begin_sides(req, set);
    check_bodies(req, set);
    if (set->broken || set->row_by_row)
        return WHARF_CONFLICT;
    s = references_check_set(req, set);
    if (s != WHARF_OK)
        return s;
    new_rows(req, set);
    s = set_hooks(req, set, HOOK_CHECK);
    if (s == WHARF_OK && wrote_for_refused(set))
        return WHARF_CONFLICT;
    if (s != WHARF_OK || set_refused(set) || !set->n_live)
        return s;
    s = set_insert(req, set);
    if (s == WHARF_OK && wrote_for_refused(set))
        return WHARF_CONFLICT;
    if (s != WHARF_OK || set_refused(set) || !set->n_live)
        return s;
    return finish_set(req, set);
}

static wharf_status delete_set(struct wharf_req *req, struct write_set *set)
{
    wharf_status s;

    begin_sides(req, set);
    s = set_lock(req, set);
    if (s == WHARF_OK)
        s = set_hooks(req, set, HOOK_CHECK);
    if (s == WHARF_OK && wrote_for_refused(set))
        return WHARF_CONFLICT;
    if (s != WHARF_OK || set_refused(set) || !set->n_live)
        return s;
    s = set_delete(req, set);
    return s == WHARF_OK ? finish_set(req, set) : s;
}

/* ---- looking only ---- */

/* Says something to PostgreSQL, which ends the transactions of who is silent: hooks that compute
 * for long say nothing. */
static void say_something(struct wharf_req *req, int64_t *last_us)
{
    if (clock_monotonic_us() - *last_us < SILENT_US)
        return;
    PQclear(req_query(req, "SELECT 1", NULL, 0));
    *last_us = clock_monotonic_us();
}

/* Runs the rules for sets, and takes back what they wrote. Where they can't judge the rows, these
 * are as before, but for what they say: anew() makes that. */
static wharf_status check_as_set(struct wharf_req *req, struct write_set *set)
{
    struct set_row **live = ARENA_ARRAY(req->arena, struct set_row *, set->n_live + 1);
    size_t n = set->n_live, failed = set->n_failed;
    wharf_status s;

    memcpy(live, set->live, n * sizeof(*live));
    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    s = set_hooks(req, set, HOOK_CHECK);
    req_rollback(req);
    if (!set->row_by_row || set->broken)
        return s;
    req_clear_problems(&req->problems);
    memcpy(set->live, live, n * sizeof(*live));
    set->n_live = n;
    set->n_failed = failed;
    for (size_t i = 0; i < n; i++) {
        live[i]->failed = false;
        live[i]->n_problems = 0;
    }
    return WHARF_OK;
}

/* Makes a row as it was before the rules for sets ran: they may have changed it. */
static void anew(struct wharf_req *req, struct write *w)
{
    if (w->op == OP_DELETE)
        return;
    write_check_body(req, w);
    if (w->op == OP_UPDATE)
        write_settle(req, w);
    w->new_rec->values = w->values;
}

/* Runs the rules before the write, for all rows or, where one of them has no form for sets or
 * can't judge these, row by row. */
static wharf_status check_rules(struct wharf_req *req, struct write_set *set)
{
    bool row_by_row = write_observed(req, set->res, set->op);
    wharf_status s = WHARF_OK;
    int64_t last_us;

    for (size_t i = 0; i < set->res->n_hooks; i++) {
        const wharf_hooks *h = set->res->hooks[i].hooks;

        row_by_row |= hooks_about(h, set->op) && h->check && !h->check_many;
    }
    if (!row_by_row)
        s = check_as_set(req, set);
    if (!row_by_row && (s != WHARF_OK || set->broken || !set->row_by_row))
        return s;
    last_us = clock_monotonic_us();
    for (size_t i = 0; i < set->n_live && !set->broken; i++) {
        struct set_row *row = set->live[i];

        say_something(req, &last_us);
        set_at(req, row);
        if (set->row_by_row)
            anew(req, &row->w);
        if (write_observe(req, &row->w) == WHARF_OK) {
            if (row->w.new_rec)
                row->w.new_rec->values = row->w.values;
            run_hooks(req, set->res, HOOK_CHECK, set->op, row->w.old_rec, row->w.new_rec);
        }
        set_at(req, NULL);
    }
    set_sift(req, set);
    return set->broken ? req_failed(req) : WHARF_OK;
}

static wharf_status check_live(struct wharf_req *req, struct write_set *set)
{
    wharf_status s = WHARF_OK;

    begin_sides(req, set);
    if (set->op != OP_DELETE)
        check_bodies(req, set);
    if (!set->broken && set->op != OP_CREATE && !set->part)
        s = set_find(req, set);
    for (size_t i = 0;
         s == WHARF_OK && set->op == OP_UPDATE && !set->part && i < set->n_live && !set->broken;
         i++) {
        set_at(req, set->live[i]);
        write_settle(req, &set->live[i]->w);
    }
    set_sift(req, set);
    if (s == WHARF_OK && !set->broken && set->op != OP_DELETE)
        s = references_check_set(req, set);
    if (s != WHARF_OK || set->broken || set->part)
        return s == WHARF_OK && set->broken ? req_failed(req) : s;
    if (set->op != OP_DELETE)
        new_rows(req, set);
    return check_rules(req, set);
}

wharf_status check_set(struct wharf_req *req, struct write_set *set)
{
    wharf_status s;

    if (req->problems.n)
        return WHARF_INVALID;
    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    set->outer = req->set;
    req->set = set;
    s = set->n_live ? check_live(req, set) : WHARF_OK;
    req->set = set->outer;
    req_rollback(req); /* also what a normalize hook may have remembered */
    return s;
}

/* ---- row by row ---- */

static wharf_status each_row(struct wharf_req *req, struct write_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        struct set_row *row = &set->rows[i];

        set_at(req, row);
        write_transaction(req, &row->w);
        row->stored = !req->problems.n;
        set_at(req, NULL);
        if (set->broken)
            return req_failed(req);
        if (set_refused(set))
            break;
    }
    return WHARF_OK;
}

/* Restores the set as it was before anything was tried. */
static void set_start_over(struct write_set *set, const struct write *start)
{
    set->n_failed = set->n_live = 0;
    set->broken = set->row_by_row = set->wrote = false;
    set->current = NULL;
    for (size_t i = 0; i < set->n; i++) {
        set->rows[i] = (struct set_row){.w = start[i]};
        set->live[set->n_live++] = &set->rows[i];
    }
}

static wharf_status set_run(struct wharf_req *req, struct write_set *set)
{
    struct write *start = ARENA_ARRAY(req->arena, struct write, set->n + 1);
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < set->n; i++)
        start[i] = set->rows[i].w;
    set->live = ARENA_ARRAY(req->arena, struct set_row *, set->n + 1);
    set_start_over(set, start);
    if (as_a_set(req, set)) {
        if (req_begin(req) != WHARF_OK)
            return req_failed(req);
        s = set->op == OP_CREATE ? create_set(req, set) : delete_set(req, set);
        if (s == WHARF_OK && !set->broken && !set_refused(set))
            return req_commit(req);
        req_rollback(req);
        if (set->broken || !set->row_by_row)
            return s == WHARF_OK && set->broken ? req_failed(req) : s;
        req_clear_problems(&req->problems);
        set_start_over(set, start);
    }
    return each_row(req, set);
}

wharf_status write_set(struct wharf_req *req, struct write_set *set)
{
    wharf_status s;

    if (req->problems.n)
        return WHARF_INVALID;
    if (req->tx.res_depth >= RECURSION_MAX)
        return req_fail(req, ERR_INTERNAL, NULL, "writes nested deeper than %d", RECURSION_MAX);
    if (set->res->def->storage.live == LIVE_READ && req->access.who->test_mode)
        return write_live_refused(req, set->res);
    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    set->outer = req->set;
    req->set = set;
    req->tx.res_depth++;
    s = set_run(req, set);
    req->tx.res_depth--;
    req->set = set->outer;
    if (s != WHARF_OK || set_refused(set)) {
        req_rollback(req);
        return s;
    }
    return req_commit(req);
}
