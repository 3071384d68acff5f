/* steps.c - see steps.h. */
#include "event/steps.h"

#include "job/job.h"
#include "resource/decl.h"
#include "plugin/manifest.h"
#include "resource/hooks.h"
#include "db/notifier.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

/* In the order of docs/spec/07-events-and-webhooks.md section 1; a step whose module is not
 * there is skipped. */
static const char *const known_steps[] = {"webhooks_list", "log_write", "user_push_notifications",
    "subscribers_email", "workflows_list", "integrations_list", "stream_publish"};
enum { KNOWN_STEPS = sizeof(known_steps) / sizeof(known_steps[0]) };

/* ---- declaring ---- */

static void steps_refuse(struct wharf_decl *d, const char *what, const char *why)
{
    buf_addf(d->problems, "%s: event %s %s\n", d->plugin->name, what, why);
}

void event_step_declare(struct wharf_decl *d, const wharf_event_step *s)
{
    const struct event_step *others = d->steps.items;
    struct event_step *step;

    if (s->head.size < sizeof(*s) || !s->name || !s->name[0] || !s->fn) {
        steps_refuse(d, "step", "needs a name and a function");
        return;
    }
    for (size_t i = 0; i < d->steps.n; i++) {
        if (!strcmp(others[i].name, s->name))
            steps_refuse(d, s->name, "is a step of two plugins");
    }
    if (d->steps.n == STEPS_MAX) {
        steps_refuse(d, s->name, "is one step too many");
        return;
    }
    step = vector_add(d->arena, &d->steps);
    *step = (struct event_step){d->plugin, arena_dupz(d->arena, s->name).p, s->fn, s->arg};
}

/* Runs the job of a handler: the event is read anew, its body becomes the request's. */
static wharf_status handle(struct wharf_req *req, void *arg)
{
    const struct event_handler *h = arg;
    wharf_str id = json_text_or(req->body, "event", "");
    struct event *e;
    wharf_status s;

    if (!event_read(req, &id, 1, &e))
        return WHARF_UNAVAILABLE;
    if (!e)
        return WHARF_OK; /* expired meanwhile: nobody can be told any more */
    e = event_for(req->arena, req->access.who, NULL, e);
    if (!e)
        return WHARF_OK;
    s = event_parse(req, e, &req->body);
    if (s != WHARF_OK)
        return s;
    req->body_text = e->pub.body;
    req->depth = (int)e->pub.depth;
    return h->fn(req, h->arg);
}

void event_handler_declare(struct wharf_decl *d, const char *pattern, wharf_handler *fn, void *arg)
{
    struct event_handler *h = ARENA_NEW(d->arena, struct event_handler);
    size_t number = 1;

    if (!pattern || !pattern[0] || !fn) {
        steps_refuse(d, "handler", "needs a type, \"object.*\" or \"*\", and a function");
        return;
    }
    for (size_t i = 0; i < d->handlers.n; i++)
        number += ((const struct event_handler *)d->handlers.items)[i].plugin == d->plugin;
    *h = (struct event_handler){d->plugin, arena_dupz(d->arena, pattern), fn, arg, NULL};
    h->job = arena_printf(d->arena, "%s.on_event_%zu", d->plugin->name, number).p;
    *(struct event_handler *)vector_add(d->arena, &d->handlers) = *h;
    job_declare(d, strchr(h->job, '.') + 1, handle, h, str_z(""));
}

const struct event_step *step_find(const struct engine *e, const char *name)
{
    for (size_t i = 0; i < e->n_steps; i++) {
        if (!strcmp(e->steps[i].name, name))
            return &e->steps[i];
    }
    return NULL;
}

/* ---- running ---- */

static const char *reason(struct wharf_req *req)
{
    return req->problems.n ? arena_dup_str(req->arena, req->problems.list[0].text).p
                           : "it gave no reason";
}

/* Calls a step. Returns false when the transaction is lost. ret_error: why the step failed, or
 * NULL. */
static bool steps_call(struct wharf_req *req, const struct event_step *step,
    struct event *const *events, size_t n, uint8_t *outcomes, const char **ret_error)
{
    /* pub is the first member */
    const wharf_event *const *list = (const wharf_event *const *)events;
    unsigned depth = req->tx.depth;
    const struct plugin *before;
    wharf_status s;

    *ret_error = NULL;
    if (req_begin(req) != WHARF_OK)
        return false;
    before = plugin_enter(req, step->plugin, step->name);
    s = step->fn(req, list, n, outcomes, step->arg);
    plugin_leave(req, before);
    while (req->tx.depth > depth + 1)
        req_rollback(req);
    if (s == WHARF_OK && !req->problems.n)
        return req_commit(req) == WHARF_OK;
    *ret_error = reason(req);
    log_write(WHARF_LOG_WARN, step->plugin->name, NULL, "event.step_failed",
        "%s of %zu events from %s on: %s", step->name, n, events[0]->pub.id.p, *ret_error);
    req_clear_problems(&req->problems);
    req_rollback(req);
    return db_in_transaction(req->thread->db);
}

bool steps_run(
    struct wharf_req *req, struct event *const *events, size_t n, struct step_result *results)
{
    const struct engine *e = req->engine;
    uint8_t *outcomes = arena_alloc(req->arena, n);

    for (size_t k = 0; k < e->n_steps; k++) {
        const char *error;

        memset(outcomes, STEP_COMPLETED, n);
        if (!steps_call(req, &e->steps[k], events, n, outcomes, &error))
            return false;
        for (size_t i = 0; i < n; i++) {
            struct step_result *r = &results[i * e->n_steps + k];

            r->status = error                         ? STEP_FAILED
                        : outcomes[i] == STEP_SKIPPED ? STEP_SKIPPED
                                                      : STEP_COMPLETED;
            r->error = error;
        }
    }
    return true;
}

bool step_run_again(
    struct wharf_req *req, const struct event_step *step, struct event *e, struct step_result *ret)
{
    uint8_t outcome = STEP_COMPLETED;

    if (!steps_call(req, step, &e, 1, &outcome, &ret->error))
        return false;
    ret->status = ret->error                ? STEP_FAILED
                  : outcome == STEP_SKIPPED ? STEP_SKIPPED
                                            : STEP_COMPLETED;
    return true;
}

bool steps_enqueue_handlers(struct wharf_req *req, struct event *const *events, size_t n)
{
    const struct engine *engine = req->engine;
    struct job_order *orders;
    struct db_error error;
    size_t n_orders = 0;

    if (!engine->n_handlers)
        return true;
    orders = ARENA_ARRAY(req->arena, struct job_order, n * engine->n_handlers);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < engine->n_handlers; k++) {
            const struct event_handler *h = &engine->handlers[k];
            wharf_str key = events[i]->pub.resource_id;

            if (!events[i]->type ||
                !event_matches(events[i]->type, events[i]->pub.type, h->pattern))
                continue;
            if (key.n > JOB_KEY_MAX)
                key.n = JOB_KEY_MAX;
            orders[n_orders++] = (struct job_order){.job = h->job,
                .organization = events[i]->pub.organization,
                .key = key,
                .args = arena_printf(req->arena, "{\"event\":\"%s\"}", events[i]->pub.id.p)};
        }
    }
    if (!n_orders)
        return true;
    req_leave_organization(req);
    if (job_enqueue_many(engine, req->thread->db, orders, n_orders, req->now_us, &error) != DB_OK) {
        req_database_problem(req, &error);
        return false;
    }
    req_tell(req, NEWS_JOBS);
    return true;
}

/* ---- showing ---- */

static void put_step(struct jw *w, const char *name, const struct step_result *r)
{
    static const char *const words[] = {"completed", "skipped", "failed"};

    jw_open(w, NULL, '{');
    jw_z(w, "name", name);
    jw_z(w, "status", words[r->status]);
    jw_z(w, "error", r->error);
    jw_close(w, '}');
}

static struct step_result result_of(struct wharf_req *req, const struct event *e,
    const struct step_result *results, const char *name)
{
    const struct engine *engine = req->engine;

    for (size_t k = 0; k < engine->n_steps; k++) {
        if (!strcmp(engine->steps[k].name, name))
            return results[k];
    }
    if (!strcmp(name, "log_write"))
        return (struct step_result){
            .status = e->type && e->type->log ? STEP_COMPLETED : STEP_SKIPPED};
    return (struct step_result){
        .status = !strcmp(name, "stream_publish") ? STEP_COMPLETED : STEP_SKIPPED};
}

static bool steps_is_known(const char *name)
{
    for (size_t i = 0; i < KNOWN_STEPS; i++) {
        if (!strcmp(known_steps[i], name))
            return true;
    }
    return false;
}

wharf_str steps_json(
    struct wharf_req *req, const struct event *e, const struct step_result *results)
{
    const struct engine *engine = req->engine;
    struct step_result r;
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, 1 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; i < KNOWN_STEPS; i++) {
        r = result_of(req, e, results, known_steps[i]);
        put_step(&w, known_steps[i], &r);
    }
    for (size_t k = 0; k < engine->n_steps; k++) {
        if (!steps_is_known(engine->steps[k].name))
            put_step(&w, engine->steps[k].name, &results[k]);
    }
    jw_close(&w, ']');
    text = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return text;
}
