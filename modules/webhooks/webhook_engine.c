/* webhook_engine.c - the delivery engine: a resident job that sends what is due, and settles
 * what is over (spec 07 sections 2 and 7).
 *
 * One per job worker; in the database it is settled who does what (webhooks.turn). Between the
 * rounds of its loop it keeps the requests that
 * run (send.c), and the webhooks they go to as they last were (endpoints.c). Leaves to others:
 * turns with the database (turn.c), what a
 * request carries (attempt.c), what its end means (outcome.c), how long a retry waits
 * (webhook_schedule.c), what failures mean for the webhook (webhook_health.c). */
#include <stdio.h>
#include <stdlib.h>

#include "webhook_engine.h"

enum {
    WAIT_US = 1000000,
    GRACE_US = 10000000, /* requests that run, and notes of their ends, have when the server ends */
};

void engine_ask_for_care(
    struct engine *g, wharf_str organization, wharf_str webhook, wharf_str what)
{
    struct care *c = g->care;

    while (
        c && !(is(organization, c->organization) && is(webhook, c->webhook) && is(what, c->what)))
        c = c->next;
    if (c)
        return; /* a failure and the clock may ask for the same */
    c = engine_need(calloc(1, sizeof(*c)));
    snprintf(c->organization, sizeof(c->organization), "%s", organization.p);
    snprintf(c->webhook, sizeof(c->webhook), "%s", webhook.p);
    snprintf(c->what, sizeof(c->what), "%s", what.p);
    *g->care_last = c;
    g->care_last = &c->next;
}

/* ---- timers ---- */

static wharf_status care_by_time(wharf_req *req, struct engine *g)
{
    static const char sql[] = "SELECT organization_id, webhook_id, care FROM "
                              "webhooks.due_for_care() WHERE care IS NOT NULL";
    const wharf_rows *rows;
    wharf_status s = engine_call(req, sql, NULL, 0, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        engine_ask_for_care(g, row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2));
    return s;
}

/* Gives care. Must be called outside of memory scopes: it acts for organizations, one after the
 * other. */
static void give_care(wharf_req *req, struct engine *g)
{
    struct care *c;

    while ((c = g->care)) {
        g->care = c->next;
        health_care(req, (wharf_str){c->organization, strlen(c->organization)},
            (wharf_str){c->webhook, strlen(c->webhook)}, (wharf_str){c->what, strlen(c->what)});
        W->err->clear(req);
        free(c);
    }
    g->care_last = &g->care;
}

static wharf_status timers(wharf_req *req, struct engine *g)
{
    static const char late_sql[] = "SELECT webhooks.interrupt('')",
                      drop_sql[] = "SELECT webhooks.drop_overdue()";
    int64_t now = W->req->now_us(req);
    const wharf_rows *rows;
    wharf_status s = WHARF_OK;

    if (now >= g->second_us && now < g->second_us + SECOND_US)
        return WHARF_OK;
    g->second_us = now;
    s = engine_call(req, late_sql, NULL, 0, &rows);
    if (s == WHARF_OK)
        s = care_by_time(req, g);
    if (s == WHARF_OK && (now >= g->minute_us + MINUTE_US || now < g->minute_us)) {
        g->minute_us = now;
        s = engine_call(req, drop_sql, NULL, 0, &rows);
        if (g->endpoints.n > CACHE_MOST)
            endpoints_empty(&g->endpoints);
    }
    return s;
}

/* ---- the loop ---- */

static void webhook_round_of(wharf_req *req, struct engine *g)
{
    wharf_scope *scope = W->mem->scope_begin(req);

    jobs_collect(req, g);
    turn_end(req, g);
    if (g->leads && !g->ends && timers(req, g) != WHARF_OK)
        W->log->write(hooks_self, req, WHARF_LOG_WARN, "webhooks.timers",
            "the database is away; tried again");
    if (!g->asked && turn_wait_us(req, g) == 0)
        turn_ask(req, g);
    W->err->clear(req);
    W->mem->scope_end(req, scope);
}

static void wait_for_more(wharf_req *req, struct engine *g)
{
    int64_t us = turn_wait_us(req, g);

    hooks_events->wait(req, us < WAIT_US ? (us + 999) / 1000 : WAIT_US / 1000);
}

/* Winds up: requests that run are given some time to end; what does not is sent again by whoever
 * comes next. */
static void webhook_wind_up(wharf_req *req, struct engine *g)
{
    static const char sql[] = "SELECT webhooks.interrupt($1::text)";
    int64_t until = W->req->now_us(req) + GRACE_US;
    const wharf_val server = val_text(z(g->server));
    const wharf_rows *rows;

    g->ends = true;
    while ((g->running || g->n_over || g->asked) && W->req->now_us(req) < until) {
        webhook_round_of(req, g);
        wait_for_more(req, g);
    }
    engine_call(req, sql, &server, 1, &rows);
    W->err->clear(req);
}

static void free_jobs(struct job *j)
{
    for (struct job *next; j; j = next) {
        next = j->next;
        job_free(j);
    }
}

wharf_status engine_run(wharf_req *req, void *arg)
{
    struct engine *g = engine_need(calloc(1, sizeof(*g)));

    snprintf(g->server, sizeof(g->server), "%s", W->req->new_id(req, "eng").p);
    g->over_last = &g->over;
    g->care_last = &g->care;
    g->leads = arg != NULL;
    g->wanted = CLAIM_LEAST;
    if (g->leads)
        engine_ask_for_care(g, WHARF_S(""), WHARF_S(""), WHARF_S("urls"));
    while (!W->req->cancelled(req)) {
        webhook_round_of(req, g);
        give_care(req, g);
        wait_for_more(req, g);
    }
    webhook_wind_up(req, g);
    free_jobs(g->over);
    free_jobs(g->reported);
    endpoints_empty(&g->endpoints);
    free(g);
    return WHARF_OK;
}
