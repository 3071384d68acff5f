/* workflow_hooks.c - triggers of type hook (spec 08 section 3): before a change is written, in
 * its transaction, and after it, as queued runs. */
#include <string.h>
#include <time.h>

#include "workflows.h"
#include "workflows.gen.h"

/* ---- what may stand in one ---- */

/* Refuses a resource and action that can have no hooks, and tells what can. */
static wharf_status workflow_hooks_no_hooks(
    wharf_req *req, wharf_str resource, wharf_str action, const char *path)
{
    const wharf_str actions[] = {WHARF_S("create"), WHARF_S("update"), WHARF_S("delete")};
    wharf_str there = {"", 0}, area;

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (flow_lua->hookable(flow_self, resource, actions[i], &area))
            there = W->mem->format(req, "%s%s%s", there.p, there.n ? ", " : "", actions[i].p);
    }
    if (there.n)
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path,
            "There are no hooks on %s:%s; there are on %s", resource.p, action.p, there.p);
    return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path,
        "resource and action name something that can have hooks, such as location and create, "
        "update or delete");
}

wharf_status hook_check(wharf_req *req, const wharf_json *t, const char *path)
{
    wharf_str phase = json_text(t, "phase"), area;

    if (!is(phase, "before") && !is(phase, "after"))
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path, "phase is before or after");
    if (!flow_lua->hookable(flow_self, json_text(t, "resource"), json_text(t, "action"), &area))
        return workflow_hooks_no_hooks(req, json_text(t, "resource"), json_text(t, "action"), path);
    return WHARF_OK;
}

void hooks_need(const wharf_json *triggers, struct needed *needed)
{
    wharf_str area;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        if (is(json_text(t, "type"), "hook") &&
            flow_lua->hookable(flow_self, json_text(t, "resource"), json_text(t, "action"), &area))
            need_area(needed, area,
                is(json_text(t, "phase"), "before") ? WHARF_LEVEL_WRITE : WHARF_LEVEL_READ);
    }
}

wharf_status hooks_tell(wharf_req *req, wharf_str workflow_id)
{
    wharf_str writes[TRIGGERS_MAX];
    struct code code;
    bool enabled = false, found = false;
    size_t n = 0;
    wharf_status s = code_load(req, workflow_id, 0, &code, &enabled, &found);

    if (s != WHARF_OK)
        return s;
    for (const wharf_json *t = found && enabled && code.triggers ? W->json->at(code.triggers, 0)
                                                                 : NULL;
         t && n < TRIGGERS_MAX; t = W->json->next(t)) {
        if (is(json_text(t, "type"), "hook") && trigger_enabled(t))
            writes[n++] = W->mem->format(
                req, "%s:%s", json_text(t, "resource").p, json_text(t, "action").p);
    }
    return flow_lua->hooked(req, workflow_id, writes, n);
}

/* ---- those of a write ---- */

struct hook {
    struct code code;
    const wharf_json *trigger;
    wharf_lua_actor *actor; /* NULL: the publisher is gone, or it has no before hook */
    bool secrets; /* the workflow has some */
};

struct hooks { /* of an organization */
    struct hook *list;
    size_t n;
};

/* Finds the first trigger of the workflow for such a change, as for events; NULL: none. */
static const wharf_json *workflow_hooks_wanted(
    const wharf_json *triggers, const wharf_lua_change *c, const char *phase)
{
    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        if (is(json_text(t, "type"), "hook") && trigger_enabled(t) &&
            is(json_text(t, "phase"), phase) && is(json_text(t, "resource"), c->resource) &&
            is(json_text(t, "action"), c->action))
            return t;
    }
    return NULL;
}

static bool workflow_hooks_has_before(const wharf_json *triggers)
{
    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        if (is(json_text(t, "phase"), "before"))
            return true;
    }
    return false;
}

/* Reads all that hooks of writes of the organization need, but for secrets. */
static wharf_status read_hooks(wharf_req *req, void **ret)
{
    static const char sql[] = QUERY_HOOKS_LOAD;
    const wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *rows;
    struct hooks *all;
    wharf_status s = W->db->query(req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    all = W->mem->alloc(req, sizeof(*all));
    *all = (struct hooks){
        W->mem->alloc(req, (W->db->count(rows) + 1) * sizeof(*all->list)), W->db->count(rows)};
    for (size_t i = 0; s == WHARF_OK && i < all->n; i++) {
        struct hook *h = &all->list[i];

        *h = (struct hook){
            .code = {.workflow_id = row_text(rows, i, 0),
                .name = row_text(rows, i, 1),
                .locations = row_json(rows, i, 2),
                .version = row_int(rows, i, 3),
                .source = W->mem->dup(req, row_text(rows, i, 4).p, row_text(rows, i, 4).n),
                .files = row_json(rows, i, 5),
                .triggers = row_json(rows, i, 6),
                .scopes = row_json(rows, i, 7),
                .settings = row_json(rows, i, 8),
                .publisher_key = row_text(rows, i, 9),
                .options = row_json(rows, i, 10)},
            .secrets = row_bool(rows, i, 11)};
        if (workflow_hooks_has_before(h->code.triggers))
            s = run_actor(req, &h->code, false, &h->actor);
    }
    *ret = all;
    return s;
}

static wharf_status workflow_hooks_find(wharf_req *req, const wharf_lua_change *c,
    const char *phase, struct hook **ret_list, size_t *ret_n)
{
    const void *kept = NULL;
    wharf_status s = flow_lua->kept(req, read_hooks, &kept);
    const struct hooks *all = kept;

    *ret_n = 0;
    if (s != WHARF_OK)
        return s;
    *ret_list = W->mem->alloc(req, (all->n + 1) * sizeof(**ret_list));
    for (size_t i = 0; i < all->n; i++) {
        const wharf_json *trigger = workflow_hooks_wanted(all->list[i].code.triggers, c, phase);

        if (!trigger || !trigger_reaches(all->list[i].code.locations, c->location_id))
            continue;
        (*ret_list)[*ret_n] = all->list[i];
        (*ret_list)[(*ret_n)++].trigger = trigger;
    }
    return WHARF_OK;
}

static wharf_status workflow_hooks_list(
    wharf_req *req, const wharf_lua_change *c, void **ret_list, size_t *ret_n)
{
    struct hook *hooks = NULL;
    wharf_status s = workflow_hooks_find(req, c, "before", &hooks, ret_n);

    if (*ret_n && c->depth >= DEPTH_MAX) {
        W->log->write(flow_self, req, WHARF_LOG_WARN, "workflow.depth_exceeded",
            "before hooks of %s are not called: workflows caused each other five times in a row",
            c->resource);
        *ret_n = 0;
    }
    *ret_list = hooks;
    return s;
}

/* A run whose state is made while the row is read: its seed is that of its id, so it has one
 * from then on. */
struct ahead {
    wharf_str workflow_id, run_id;
};

static wharf_status workflow_hooks_ahead(wharf_req *req, const wharf_lua_change *c, void **ret)
{
    struct hook *hooks = NULL;
    struct code *code;
    struct ahead *a;
    size_t n = 0;
    wharf_status s = workflow_hooks_find(req, c, "before", &hooks, &n);

    /* those behind the first one find the same process, which can be ready for one run only */
    if (s != WHARF_OK || !n || !hooks[0].actor || recording_wanted(&hooks[0].code))
        return s;
    code = &hooks[0].code;
    a = W->mem->alloc(req, sizeof(*a));
    *a = (struct ahead){code->workflow_id, W->req->new_id(req, "wkf_run")};
    run_ahead(req, code, &before_budget, a->run_id);
    *ret = a;
    return WHARF_OK;
}

static wharf_str workflow_hooks_trigger_text(wharf_req *req, const wharf_json *t)
{
    static const char *const members[] = {"type", "name", "phase", "resource", "action"};
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        W->json->put(out, members[i], val_text_or_null(json_text(t, members[i])));
    W->json->close(out);
    return W->json->result_text(out);
}

/* ---- before ---- */

/* Notes how a hook ended, in a transaction of its own, behind that of the write. */
static wharf_status workflow_hooks_note(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT workflow_id, streak, tell, run_id FROM workflows.note_hook($1::text, $2::json)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(z(arg))};
    const wharf_rows *rows;
    const wharf_json *given = NULL;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    if (s == WHARF_OK)
        s = W->json->parse(req, z(arg), &given);
    if (s == WHARF_OK && W->json->get(given, "rec")) {
        wharf_out *out = W->json->writer(req);

        W->json->put(out, NULL, val_json(W->json->get(given, "rec")));
        s = recordings_keep(req, W->json->result_text(out));
    }
    if (s == WHARF_OK && W->json->count(W->json->get(given, "ln"))) {
        wharf_out *out = W->json->writer(req);

        W->json->put(out, NULL, val_json(W->json->get(given, "ln")));
        s = run_lines_keep(req, W->json->result_text(out));
    }
    return s == WHARF_OK ? run_failures(req, rows, 0) : s;
}

static const wharf_json *workflow_hooks_parsed(wharf_req *req, wharf_val text)
{
    const wharf_json *v = NULL;

    if (text.type != WHARF_V_TEXT || W->json->parse(req, text.u.s, &v) != WHARF_OK)
        W->err->clear(req);
    return v;
}

static void keep_record(wharf_req *req, const struct run *r)
{
    size_t lines = 0;
    bool cut = false;
    const wharf_json *input = secrets_hide_json(
        req, r->asked.secrets, workflow_hooks_parsed(req, val_text(r->input)));
    wharf_val kept = run_recorded(req, "value", val_json(input), &cut);
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "i", val_text(r->id));
    W->json->put(out, "w", val_text(r->code.workflow_id));
    W->json->put(out, "v", val_int(r->code.version));
    W->json->put(out, "g", val_json(workflow_hooks_parsed(req, val_text(r->trigger))));
    W->json->put(out, "s", val_text(z(run_status(&r->outcome))));
    W->json->put(out, "l", val_text_or_null(r->location_id));
    W->json->put(out, "b", val_text_or_null(r->actor));
    W->json->put(out, "d", val_int(r->depth));
    W->json->put(out, "x", val_text(W->mem->format(req, "%llu", (unsigned long long)r->seed)));
    W->json->put(out, "at", val_time(r->started_us));
    W->json->put(out, "ms", val_int(r->outcome.duration_us / 1000));
    W->json->put(out, "u", val_json(workflow_hooks_parsed(req, run_usage(req, r))));
    W->json->put(out, "n", val_json(workflow_hooks_parsed(req, kept)));
    W->json->put(out, "nt", val_bool(cut));
    W->json->put(out, "lg",
        val_json(workflow_hooks_parsed(req, val_text(W->json->result_text(r->asked.logs)))));
    W->json->put(out, "e", val_json(workflow_hooks_parsed(req, run_error(req, r))));
    W->json->put(out, "oe", val_text(json_text(r->code.options, "on_error")));
    W->json->open(out, "ln", '[');
    run_lines_put(req, r, out, &lines);
    W->json->close(out);
    if (r->recording.n) {
        W->json->open(out, "rec", '[');
        recording_put(req, r, out);
        W->json->close(out);
    }
    W->json->close(out);
    flow_lua->at_end(req, workflow_hooks_note, W->json->result_text(out));
}

/* Tells the rejection. The text is the author's, and nothing else: who may write a rule may say
 * what it says. */
static wharf_status rejected(wharf_req *req, const wharf_lua_outcome *o)
{
    const char *custom = W->mem->format(req, "custom.%s", o->code.p).p;

    if (o->field.n)
        W->err->add(req, ERR_WORKFLOW_REJECTED, o->field.p, "%s", o->message.p);
    return W->err->add(req, ERR_WORKFLOW_REJECTED, custom, "%s", o->message.p);
}

static wharf_status workflow_hooks_failed(wharf_req *req, const struct run *r)
{
    bool author = flow_keys->level(req, WHARF_S("workflow")) == WHARF_LEVEL_WRITE;

    return W->err->fail(req, ERR_WORKFLOW_HOOK_FAILED,
        author ? place_of(req, &r->code, &r->outcome).p : NULL,
        "A rule failed, so nothing was written (run %s of workflow %s)", r->id.p,
        r->code.workflow_id.p);
}

static wharf_status run_hook(wharf_req *req, const struct hook *h, struct run *r)
{
    wharf_status s = h->secrets ? secrets_load(req, r->code.workflow_id, &r->asked.secrets)
                                : WHARF_OK;

    r->asked.actor = h->actor;
    if (s != WHARF_OK)
        return s;
    if (r->asked.actor)
        return run_begin(req, r);
    r->id = r->id.n ? r->id : W->req->new_id(req, "wkf_run");
    r->started_us = W->req->now_us(req);
    run_unpublished(r);
    r->asked.logs = W->json->writer(req);
    W->json->open(r->asked.logs, NULL, '[');
    W->json->close(r->asked.logs);
    return WHARF_OK;
}

/* Counts how long a write was held, or would have been without what PostgreSQL did meanwhile. */
static void count_held(wharf_req *req, const wharf_lua_outcome *o, const struct timespec *since)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    flow_metrics->observe(req, WHARF_S("workflows_hook_duration_seconds"),
        o->end == WHARF_LUA_OK         ? WHARF_S("result=\"passed\"")
        : o->end == WHARF_LUA_REJECTED ? WHARF_S("result=\"rejected\"")
                                       : WHARF_S("result=\"failed\""),
        (double)(now.tv_sec - since->tv_sec) + (double)(now.tv_nsec - since->tv_nsec) / 1e9);
}

static wharf_status workflow_hooks_before(
    wharf_req *req, void *hooks, size_t i, const wharf_lua_change *c, const wharf_json **ret_input)
{
    const struct hook *h = &((const struct hook *)hooks)[i];
    struct run r = {.code = h->code,
        .handler = "before",
        .keep = is(z(c->action), "delete") ? NULL : "input",
        .budget = &before_budget,
        .trigger = workflow_hooks_trigger_text(req, h->trigger),
        .input = c->text,
        .location_id = c->location_id,
        .actor = W->req->actor(req),
        .depth = c->depth};
    const struct ahead *made = c->ahead;
    const wharf_lua_outcome *o = &r.outcome;
    struct timespec since;
    wharf_status s;

    clock_gettime(CLOCK_MONOTONIC, &since);
    if (made && same(made->workflow_id, h->code.workflow_id))
        r.id = made->run_id;
    s = run_hook(req, h, &r);
    if (s != WHARF_OK)
        return s;
    if (o->end == WHARF_LUA_OK && o->kept && W->json->type(o->kept) != WHARF_J_OBJECT) {
        r.outcome.end = WHARF_LUA_RAISED;
        r.outcome.message = WHARF_S("change.input must stay a table of fields");
    }
    count_held(req, o, &since);
    if (o->end == WHARF_LUA_OK) {
        *ret_input = o->kept;
        return WHARF_OK;
    }
    keep_record(req, &r);
    if (o->end == WHARF_LUA_REJECTED)
        return rejected(req, o);
    return is(json_text(h->code.options, "on_error"), "ignore") ? WHARF_OK
                                                                : workflow_hooks_failed(req, &r);
}

/* ---- after ---- */

static wharf_status workflow_hooks_after(wharf_req *req, const wharf_lua_change *c)
{
    struct hook *hooks;
    wharf_out *rows;
    size_t n = 0, made = 0;
    wharf_status s = workflow_hooks_find(req, c, "after", &hooks, &n);

    if (s != WHARF_OK || !n)
        return s;
    rows = W->json->writer(req);
    W->json->open(rows, NULL, '[');
    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        const struct hook *h = &hooks[i];
        struct secret *secrets = NULL;
        struct queued q = {.workflow_id = h->code.workflow_id,
            .type = "hook",
            .location_id = c->location_id,
            .actor = W->req->actor(req),
            .resource_id = c->id,
            .order_key = queue_order_key(req, h->code.options, z(c->resource), c->id),
            .depth = c->depth,
            .input = c->text};

        if (same(q.actor, h->code.workflow_id)) /* what its own runs change */
            continue;
        if (c->depth >= DEPTH_MAX) {
            q.skipped = "workflow.depth_exceeded";
            q.why = "workflows caused each other five times in a row";
        }
        s = W->json->parse(req, workflow_hooks_trigger_text(req, h->trigger), &q.trigger);
        if (s == WHARF_OK && h->secrets)
            s = secrets_load(req, q.workflow_id, &secrets);
        if (s == WHARF_OK && h->secrets)
            s = run_queue_hide(req, &q, secrets);
        run_queue_put(req, rows, &q, NULL);
        made++;
    }
    return s == WHARF_OK && made ? queue_commit(req, rows, made) : s;
}

const wharf_lua_hooks flow_hooks = {.head = WHARF_HEAD(wharf_lua_hooks),
    .list = workflow_hooks_list,
    .before = workflow_hooks_before,
    .after = workflow_hooks_after,
    .ahead = workflow_hooks_ahead};
