/* enqueue.c - kinds of jobs, and asking for one: a row in the transaction of its cause
 * (docs/spec/10-batches.md, docs/internals/jobs.md). */
#include <stdlib.h>

#include "db/notifier.h"
#include "job/job.h"
#include "kernel_queries.gen.h"
#include "resource/decl.h"
#include "plugin/manifest.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- kinds ---- */

static void policy_problem(void *arg, wharf_str message)
{
    struct wharf_decl *d = arg;

    buf_addf(d->problems, "%s: %s\n", d->plugin ? d->plugin->name : "wharf", message.p);
}

static bool enqueue_good_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return n >= 1 && n <= 30 && !name[n];
}

void job_declare(
    struct wharf_decl *d, const char *name, wharf_handler *fn, void *arg, wharf_str policy)
{
    const char *owner = d->plugin ? d->plugin->name : "wharf";
    const struct job_kind *others = d->jobs.items;
    struct job_kind kind = {.plugin = d->plugin, .fn = fn, .arg = arg};
    size_t residents = 1;

    if (!name || !enqueue_good_name(name) || !fn) {
        policy_problem(
            d, arena_printf(d->arena,
                   "job %s needs a name of 1 to 30 characters a-z, 0-9, _, and a handler",
                   name ? name : ""));
        return;
    }
    kind.name = arena_printf(d->arena, "%s.%s", owner, name).p;
    for (size_t i = 0; i < d->jobs.n; i++) {
        if (!strcmp(others[i].name, kind.name))
            policy_problem(d, arena_printf(d->arena, "job %s is declared twice", name));
    }
    if (!job_policy_read(d->arena, name, policy, &kind.policy, policy_problem, d))
        return;
    for (size_t i = 0; i < d->jobs.n; i++)
        residents += others[i].policy.resident;
    if (kind.policy.resident && residents > JOB_RESIDENTS_MAX)
        policy_problem(d,
            arena_printf(d->arena, "job %s is one resident too many: a job worker has room for %d",
                name, JOB_RESIDENTS_MAX));
    else
        *(struct job_kind *)vector_add(d->arena, &d->jobs) = kind;
}

static int enqueue_by_name(const void *key, const void *kind)
{
    const wharf_str *name = key;
    const char *other = ((const struct job_kind *)kind)->name;
    int c = strncmp(name->p, other, name->n);

    return c ? c : -(other[name->n] != 0);
}

const struct job_kind *job_kind_find(const struct engine *e, wharf_str name)
{
    return e->n_jobs ? bsearch(&name, e->jobs, e->n_jobs, sizeof(*e->jobs), enqueue_by_name) : NULL;
}

/* ---- asking ---- */

/* State and time are judged by the clock of the one who asks: wharf.now() would read a setting
 * for each row. */
static const char enqueue_sql[] =
    "INSERT INTO wharf.job (organization_id, queue, lane, key, state, run_at, args, actor_type, "
    "actor_id, request_id, created_at)"
    " VALUES ($1, $2, $3, $4, $5, $6::timestamptz, $7::json, $8, $9, $10, $11::timestamptz)";
static const char many_sql[] = QUERY_ENQUEUE_MANY;

static struct sql_arg enqueue_text(wharf_str s)
{
    return (struct sql_arg){s.p, s.n};
}

static struct sql_arg enqueue_text_or_null(wharf_str s)
{
    return (struct sql_arg){s.n ? s.p : NULL, s.n};
}

static const char *enqueue_lane_of(const struct job_kind *kind)
{
    return kind->policy.lane ? kind->policy.lane : kind->name;
}

static wharf_str full_name(struct wharf_req *req, const char *job)
{
    return strchr(job, '.')
               ? str_z(job)
               : arena_printf(req->arena, "%s.%s", req->plugin ? req->plugin->name : "wharf", job);
}

wharf_status job_enqueue(struct wharf_req *req, const struct job_order *o)
{
    struct req_access *access = &req->access;
    wharf_str name = full_name(req, o->job);
    const struct job_kind *kind = job_kind_find(req->engine, name);
    bool later = o->run_at_us > req->now_us;
    char run_at[ISO_MS_LEN + 1], now[ISO_MS_LEN + 1];
    struct sql_arg args[11];

    if (!kind || kind->policy.resident)
        return req_fail(req, ERR_MODULE_UNAVAILABLE, NULL,
            kind ? "the job %s runs all the time, nobody asks for it"
                 : "no enabled module has the job %s",
            name.p);
    if (o->key.n > JOB_KEY_MAX || o->args.n > JOB_ARGS_MAX) {
        log_write(WHARF_LOG_ERROR, req->plugin ? req->plugin->name : NULL, req->request_id,
            "job.too_large",
            "job %s: a key of %zu bytes (at most %d), arguments of %zu (at most %d)", kind->name,
            o->key.n, JOB_KEY_MAX, o->args.n, JOB_ARGS_MAX);
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    }
    time_format_iso(req->now_us, now);
    time_format_iso(later ? o->run_at_us : req->now_us, run_at);
    args[0] = enqueue_text(access->who         ? access->who->organization
                           : o->organization.n ? o->organization
                                               : str_z(""));
    args[1] = enqueue_text(str_z(kind->name));
    args[2] = enqueue_text(str_z(enqueue_lane_of(kind)));
    args[3] = enqueue_text(o->key.n ? o->key : str_z(""));
    args[4] = enqueue_text(str_z(later ? "delayed" : "ready"));
    args[5] = enqueue_text((wharf_str){run_at, ISO_MS_LEN});
    args[6] = enqueue_text(o->args.n ? o->args : str_z("{}"));
    args[7] = enqueue_text(access->who ? access->who->actor_type : str_z("system"));
    args[8] = enqueue_text_or_null(access->who ? access->who->actor_id : str_z(""));
    args[9] = enqueue_text_or_null(str_z(req->request_id));
    args[10] = enqueue_text((wharf_str){now, ISO_MS_LEN});
    req_join(req);
    if (!req_query(req, enqueue_sql, args, 11))
        return WHARF_UNAVAILABLE;
    req_tell(req, NEWS_JOBS);
    return WHARF_OK;
}

static void put_order(struct jw *w, const struct job_kind *kind, const struct job_order *o)
{
    char at[ISO_MS_LEN + 1];

    jw_open(w, NULL, '{');
    jw_str(w, "o", o->organization.n ? o->organization : str_z(""));
    jw_z(w, "q", kind->name);
    jw_z(w, "l", enqueue_lane_of(kind));
    jw_str(w, "k", o->key.n ? o->key : str_z(""));
    if (o->run_at_us) {
        time_format_iso(o->run_at_us, at);
        jw_z(w, "t", at);
    }
    jw_raw(w, "a", o->args.n ? o->args : str_z("{}"));
    jw_close(w, '}');
}

enum db_status job_enqueue_many(const struct engine *e, struct db_conn *db,
    const struct job_order *orders, size_t n, int64_t now_us, struct db_error *ret_error)
{
    char now[ISO_MS_LEN + 1];
    struct sql_arg args[2];
    bool good = true;
    PGresult *r = NULL;
    struct buf b;
    struct jw w;

    *ret_error = (struct db_error){
        .status = DB_FAILED, .message = "a job of these is not loaded, or too large"};
    time_format_iso(now_us, now);
    buf_init(&b, 64 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; good && i < n; i++) {
        const struct job_kind *kind = job_kind_find(e, str_z(orders[i].job));

        good = kind && orders[i].key.n <= JOB_KEY_MAX && orders[i].args.n <= JOB_ARGS_MAX;
        if (good)
            put_order(&w, kind, &orders[i]);
    }
    jw_close(&w, ']');
    if (good && !b.failed) {
        args[0] = enqueue_text(buf_str(&b));
        args[1] = enqueue_text((wharf_str){now, ISO_MS_LEN});
        r = db_run(db, many_sql, args, 2, ret_error);
    }
    if (r)
        ret_error->status = DB_OK;
    PQclear(r);
    buf_done(&b);
    return ret_error->status;
}

void job_wake(const struct engine *e)
{
    if (e->notifier)
        notifier_tell(e->notifier, NEWS_JOBS);
}
