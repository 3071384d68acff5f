/* operator_schedule.c - wharf.hook.schedule: what is due soon becomes jobs that wait until then,
 * one for each organization.
 *
 * A row per hook says up to when that was done; it is locked, so each due time is done once in
 * the cluster, in the transaction of the planning job. */
#include "lua/operator/operator_inside.h"

#include <stdlib.h>

#include "job/job.h"
#include "host/host.h"
#include "db/notifier.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/service/cron.h"

enum { AHEAD_US = 150000000, LATE_US = 60000000 /* missed, and not made up for */, DUE_MAX = 8 };

const char operator_plan_policy[] = "{\"every\": \"1m\", \"retries\": 0}";

bool schedule_tick(
    struct wharf_req *req, const struct lua_hook *hook, int64_t due_us, wharf_str *ret_arg)
{
    int64_t at;

    if (!host_cron.next(hook->pattern, hook->zone, due_us - 1000000, &at) || at != due_us)
        return false; /* the schedule was changed since */
    *ret_arg = arena_printf(req->arena,
        "{\"scheduled_at\":\"%s\",\"actual_at\":\"%s\",\"local_time\":\"%s\"}",
        time_iso(req->arena, due_us).p, time_iso(req->arena, req->now_us).p,
        host_cron.local(req, hook->zone, due_us).p);
    return true;
}

static struct sql_arg operator_schedule_time_arg(struct wharf_req *req, int64_t us)
{
    wharf_str text = time_iso(req->arena, us);

    return (struct sql_arg){text.p, text.n};
}

/* Reads up to when it was planned; of a hook that is new, now (older servers knew it by its name).
 * The row is locked. Returns false when the database failed. */
static bool planned_until(struct wharf_req *req, const struct lua_hook *hook, int64_t *ret_us)
{
    static const char sql[] =
        "INSERT INTO wharf.hook_plan AS p (hook, until_at) SELECT $1::text, COALESCE((SELECT "
        "greatest(o.until_at, $2::timestamptz) FROM wharf.hook_plan o WHERE o.hook = $3::text), "
        "$2::timestamptz) ON CONFLICT (hook) DO UPDATE SET hook = p.hook RETURNING (extract(epoch "
        "FROM p.until_at) * 1000000)::bigint";
    struct sql_arg args[] = {{hook->mark.p, hook->mark.n},
        operator_schedule_time_arg(req, req->now_us), {hook->name, strlen(hook->name)}};
    PGresult *r = req_query(req, sql, args, 3);

    if (r)
        *ret_us = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    return r != NULL;
}

static wharf_str due_args(struct wharf_req *req, const struct lua_hook *hook, int64_t due_us)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, JOB_ARGS_MAX);
    jw_init(&w, &out);
    operator_job_args(&w, hook);
    jw_int(&w, "due_us", due_us);
    jw_close(&w, '}');
    text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

static bool operator_schedule_enqueue(
    struct wharf_req *req, const struct lua_hook *hook, const int64_t *due, size_t n_due)
{
    PGresult *r = req_query(req,
        "SELECT o.organization_id FROM wharf.organization o WHERE " ORGANIZATION_THERE, NULL, 0);
    size_t n = r ? (size_t)PQntuples(r) : 0, k = 0;
    struct job_order *orders = ARENA_ARRAY(req->arena, struct job_order, n * n_due + 1);
    struct db_error error = {.status = DB_OK};
    wharf_str args[DUE_MAX];

    for (size_t d = 0; d < n_due; d++)
        args[d] = due_args(req, hook, due[d]);
    for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < n_due; d++) {
            orders[k++] = (struct job_order){.job = "wharf.lua_hook",
                .organization = arena_dupz(req->arena, PQgetvalue(r, (int)i, 0)),
                .key = str_z(hook->name),
                .args = args[d],
                .run_at_us = due[d]};
        }
    }
    if (k &&
        job_enqueue_many(req->engine, req->thread->db, orders, k, req->now_us, &error) != DB_OK) {
        req_database_problem(req, &error);
        return false;
    }
    if (k)
        req_tell(req, NEWS_JOBS);
    return r != NULL;
}

static bool plan(struct wharf_req *req, const struct lua_hook *hook)
{
    static const char sql[] =
        "UPDATE wharf.hook_plan SET until_at = $2::timestamptz WHERE hook = $1";
    int64_t until = req->now_us + AHEAD_US, from = 0, due[DUE_MAX];
    size_t n = 0;
    struct sql_arg args[] = {{hook->mark.p, hook->mark.n}, operator_schedule_time_arg(req, until)};

    if (!planned_until(req, hook, &from))
        return false;
    if (from < req->now_us - LATE_US)
        from = req->now_us - LATE_US;
    if (from > until + 60 * (int64_t)LATE_US)
        from = req->now_us; /* the clock was set back */
    while (
        n < DUE_MAX && host_cron.next(hook->pattern, hook->zone, from, &due[n]) && due[n] <= until)
        from = due[n++];
    if (n && !operator_schedule_enqueue(req, hook, due, n))
        return false;
    return from > until || req_query(req, sql, args, 2) != NULL;
}

wharf_status operator_plan(struct wharf_req *req, void *arg)
{
    struct lua_generation *g = req->engine->operator_lua
                                   ? operator_current(req->engine->operator_lua)
                                   : NULL;
    bool good = true;

    for (size_t i = 0; g && good && i < g->schedules.n; i++)
        good = plan(req, g->schedules.items[i]);
    generation_unref(g);
    if (good)
        good = req_query(req,
            "DELETE FROM wharf.hook_plan WHERE until_at < wharf.now() - interval '1 day'", NULL, 0);
    good = good && store_expire(req);
    return good ? WHARF_OK : WHARF_UNAVAILABLE;
}
