/* operator_part.c - hooks of the operator as a part of the server (resource/part.h). */
#include "parts.h"

#include "lua/operator/generation.h"
#include "lua/operator/hooks_route.h"
#include "lua/operator/operator.h"

static const struct part_job jobs[] = {{"lua_hook", operator_job, operator_job_policy},
    {"lua_schedules", operator_plan, operator_plan_policy}};

static const struct write_observer operator_observer = {.name = "hooks of the operator",
    .wants = operator_wants,
    .before = operator_before,
    .after = operator_after};

static wharf_str operator_openapi(struct wharf_req *req)
{
    const struct lua_generation *g = operator_hold(req);

    return g ? g->openapi : (wharf_str){"", 0};
}

static const struct request_observer operator_around = {.find_route = operator_find_route,
    .owns_route = operator_route_is,
    .release = operator_release,
    .share = operator_share,
    .asks_request = operator_asks_request,
    .asks_response = operator_asks_response,
    .request = operator_request,
    .response = operator_response,
    .openapi = operator_openapi};

static void operator_link(struct engine *e)
{
    observer_add(e, &operator_observer);
    e->around = &operator_around;
    e->on_events = operator_events;
}

static bool operator_begin(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    e->operator_lua = operator_start(e, e->config, boot, ret_error);
    return e->operator_lua != NULL;
}

static void operator_ready(struct engine *e)
{
    operator_watch(e->operator_lua);
}

static void operator_end(struct engine *e)
{
    operator_stop(e->operator_lua);
}

const struct part operator_part = {.name = "operator",
    .jobs = jobs,
    .n_jobs = sizeof(jobs) / sizeof(*jobs),
    .routes = lua_hooks_routes_add,
    .link = operator_link,
    .start = operator_begin,
    .ready = operator_ready,
    .stop = operator_end};
