/* workflow_triggers.c - what may stand in a trigger, and what starts runs of events: a step of
 * the event processor (spec 08 section 3). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

/* ---- kinds of triggers ---- */

static const struct {
    const char *type, *handler;
} kinds[] = {{"manual", "on_run"}, {"event", "on_event"}, {"schedule", "on_schedule"},
    {"http", "on_http"}, {"hook", "after"}};

const char *trigger_handler(wharf_str type)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (is(type, kinds[i].type))
            return kinds[i].handler;
    }
    return "on_run";
}

bool trigger_enabled(const wharf_json *t)
{
    const wharf_json *enabled = W->json->get(t, "enabled");

    return !enabled || json_truth(enabled);
}

bool trigger_has(const wharf_json *triggers, const char *type)
{
    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        if (is(json_text(t, "type"), type) && trigger_enabled(t))
            return true;
    }
    return false;
}

/* ---- what may stand in one ---- */

wharf_status input_schema_check(wharf_req *req, const wharf_json *t, const char *path)
{
    const wharf_json *schema = W->json->get(t, "input_schema");

    if (json_is_null(schema))
        return WHARF_OK;
    return flow_schemas->check(
        req, schema, ERR_WORKFLOW_TRIGGER_INVALID, W->mem->format(req, "%s.input_schema", path).p);
}

static wharf_status workflow_triggers_check_event(
    wharf_req *req, const wharf_json *t, const char *path)
{
    const wharf_json *events = W->json->get(t, "events"), *filter = W->json->get(t, "filter"),
                     *self = W->json->get(t, "self"), *list;
    bool truth;
    wharf_status s;

    if (!flow_rules)
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path,
            "Triggers of type event need the module webhooks, which is not on");
    if (!events || W->json->type(events) != WHARF_J_ARRAY || !W->json->count(events))
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path,
            "events is an array of types, such as [\"shipment.updated\"]");
    if (self && !W->json->truth(self, &truth))
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path, "self is true or false");
    s = flow_rules->events(req, events, W->mem->format(req, "%s.events", path).p, &list);
    if (s == WHARF_OK && !json_is_null(filter))
        s = flow_rules->filter(req, filter, W->mem->format(req, "%s.filter", path).p);
    return s == WHARF_OK ? input_schema_check(req, t, path) : s;
}

/* Returns the schema of the enabled manual trigger; NULL: it has none. */
static const wharf_json *manual_schema(const wharf_json *triggers)
{
    const wharf_json *schema = NULL;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        if (is(json_text(t, "type"), "manual") && trigger_enabled(t))
            schema = W->json->get(t, "input_schema");
    }
    return json_is_null(schema) ? NULL : schema;
}

wharf_status trigger_check_input(wharf_req *req, const wharf_json *triggers, wharf_str input)
{
    const wharf_json *schema = manual_schema(triggers), *value = NULL;
    wharf_status s = schema ? W->json->parse(req, input, &value) : WHARF_OK;

    return s == WHARF_OK && schema ? flow_schemas->validate(req, schema, value, "input") : s;
}

wharf_status trigger_input_faults(
    wharf_req *req, const wharf_json *triggers, wharf_str input, wharf_str *ret_text)
{
    const wharf_json *schema = manual_schema(triggers), *value = NULL;
    wharf_status s = schema ? W->json->parse(req, input, &value) : WHARF_OK;

    *ret_text = WHARF_S("");
    return s == WHARF_OK && schema ? flow_schemas->faults(req, schema, value, "input", ret_text)
                                   : s;
}

wharf_status trigger_check(
    wharf_req *req, const wharf_json *triggers, const wharf_json *t, size_t i)
{
    wharf_str type = json_text(t, "type");
    const char *path = W->mem->format(req, "triggers.%zu", i).p,
               *wrong = flow_lua->trigger_problem(req, triggers, t);

    if (wrong)
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path, "%s", wrong);
    if (is(type, "schedule"))
        return WHARF_OK;
    if (is(type, "event"))
        return workflow_triggers_check_event(req, t, path);
    if (is(type, "http"))
        return http_check(req, t, path);
    if (is(type, "hook"))
        return hook_check(req, t, path);
    if (!is(type, "manual"))
        return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path,
            "The type of a trigger is event, http, schedule, hook or manual");
    return input_schema_check(req, t, path);
}

/* ---- what events have to be ---- */

static bool takes_type(const wharf_json *t, wharf_str type)
{
    const wharf_json *list = W->json->get(t, "events");
    wharf_str pattern;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        if (W->json->text(e, &pattern) && flow_events->matches(flow_self, pattern, type))
            return true;
    }
    return false;
}

wharf_status trigger_event_faults(wharf_req *req, const wharf_json *triggers, wharf_str type,
    const wharf_str *name, wharf_str event, wharf_str *ret_text)
{
    const wharf_json *value = NULL;
    wharf_str first = {"", 0};
    wharf_status s = WHARF_OK;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t && s == WHARF_OK;
         t = W->json->next(t)) {
        const wharf_json *schema = W->json->get(t, "input_schema");

        if (!is(json_text(t, "type"), "event") || !trigger_enabled(t) || !takes_type(t, type) ||
            (name && !same(json_text(t, "name"), *name)))
            continue;
        *ret_text = WHARF_S("");
        if (!json_is_null(schema) && !value)
            s = W->json->parse(req, event, &value);
        if (!json_is_null(schema) && s == WHARF_OK)
            s = flow_schemas->faults(req, schema, value, "event", ret_text);
        if (s == WHARF_OK && !ret_text->n)
            return WHARF_OK;
        first = first.n ? first : *ret_text;
    }
    *ret_text = first;
    return s;
}

/* ---- who may be told of events ---- */

/* Adds the needs of all types that the pattern takes now. Those of workflows (custom.*) are of no
 * resource, and not in the list. */
static void events_need_of(wharf_str pattern, struct needed *needed)
{
    wharf_event_type type = {.head = WHARF_HEAD(wharf_event_type)};
    wharf_str area;

    for (size_t i = 0; i < flow_events->type_count(flow_self); i++) {
        if (flow_events->type_at(flow_self, i, &type) &&
            flow_events->matches(flow_self, pattern, type.type) &&
            flow_lua->area(flow_self, type.resource_type, &area))
            need_area(needed, area, WHARF_LEVEL_READ);
    }
}

void events_need(const wharf_json *triggers, struct needed *needed)
{
    wharf_str pattern;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        const wharf_json *list = is(json_text(t, "type"), "event") ? W->json->get(t, "events")
                                                                   : NULL;

        for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
            if (W->json->text(e, &pattern))
                events_need_of(pattern, needed);
        }
    }
}

/* ---- events ---- */

struct listener {
    wharf_str id;
    const wharf_json *triggers, *locations, *options;
    const wharf_event_reader *reader; /* whose rights it has: who published it */
    bool has_secrets;
    struct secret *secrets; /* once they were asked for */
    int64_t since_us; /* what happened before is not for it */
};

static wharf_status workflow_triggers_read_listeners(
    wharf_req *req, struct listener **ret, size_t *ret_n)
{
    static const char sql[] = QUERY_LISTENERS;
    const wharf_val organization = val_text(W->req->organization(req));
    const wharf_event_reader **readers;
    const wharf_rows *rows;
    wharf_str *keys;
    wharf_status s = W->db->query(req, sql, &organization, 1, &rows);

    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    *ret = W->mem->alloc(req, (*ret_n + 1) * sizeof(**ret));
    keys = W->mem->alloc(req, (*ret_n + 1) * sizeof(*keys));
    readers = W->mem->alloc(req, (*ret_n + 1) * sizeof(*readers));
    for (size_t i = 0; i < *ret_n; i++)
        keys[i] = row_text(rows, i, 5);
    if (s == WHARF_OK)
        s = flow_events->readers(req, keys, *ret_n, readers);
    for (size_t i = 0; s == WHARF_OK && i < *ret_n; i++) {
        struct listener *l = &(*ret)[i];
        wharf_val since;

        l->id = row_text(rows, i, 0);
        l->triggers = row_json(rows, i, 1);
        l->locations = row_json(rows, i, 2);
        l->options = row_json(rows, i, 3);
        l->has_secrets = row_bool(rows, i, 4);
        l->secrets = NULL;
        l->since_us = W->db->value(rows, i, 6, WHARF_V_TIME_US, &since) ? since.u.i : 0;
        l->reader = readers[i];
    }
    return s;
}

/* Tells whether the workflow takes it: one for some locations takes nothing that has none. */
bool trigger_reaches(const wharf_json *locations, wharf_str location_id)
{
    wharf_str id;

    if (!locations || !W->json->count(locations))
        return true;
    for (const wharf_json *e = W->json->at(locations, 0); e; e = W->json->next(e)) {
        if (location_id.n && W->json->text(e, &id) && same(id, location_id))
            return true;
    }
    return false;
}

/* Finds the first trigger of the workflow that takes the event; *ret NULL: none does. *event: as
 * the workflow sees it. */
static wharf_status workflow_triggers_wanted(
    wharf_req *req, const struct listener *l, const wharf_event **event, const wharf_json **ret)
{
    const wharf_event *e = *event;
    bool own = is(e->actor_type, "workflow") && same(e->actor_id, l->id), takes = false;
    wharf_status s = WHARF_OK;

    *ret = NULL;
    if (e->created_at_us < l->since_us || !trigger_reaches(l->locations, e->location_id))
        return WHARF_OK;
    e = *event = flow_events->for_reader(req, l->reader, l->locations, e);
    if (!e)
        return WHARF_OK;
    for (const wharf_json *t = W->json->at(l->triggers, 0); t && s == WHARF_OK;
         t = W->json->next(t)) {
        const wharf_json *filter = W->json->get(t, "filter");

        if (!is(json_text(t, "type"), "event") || !trigger_enabled(t) ||
            (own && !json_truth(W->json->get(t, "self"))))
            continue;
        s = flow_rules->wanted(
            req, e, W->json->get(t, "events"), NULL, json_is_null(filter) ? NULL : filter, &takes);
        if (s == WHARF_OK && takes) {
            *ret = t;
            return WHARF_OK;
        }
    }
    return s;
}

static const wharf_json *workflow_triggers_trigger_of(
    wharf_req *req, const wharf_json *t, const wharf_event *e)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *v = NULL;

    W->json->open(out, NULL, '{');
    W->json->put(out, "type", val_text(WHARF_S("event")));
    W->json->put(out, "name", val_text_or_null(json_text(t, "name")));
    W->json->put(out, "event_id", val_text(e->id));
    W->json->put(out, "event_type", val_text(e->type));
    W->json->put(out, "resource", val_text(e->resource_type));
    W->json->close(out);
    W->json->result(req, out, &v);
    return v;
}

static wharf_status workflow_triggers_put_run(wharf_req *req, wharf_out *rows, struct listener *l,
    const wharf_json *trigger, const wharf_event *e)
{
    wharf_status s = WHARF_OK;
    struct queued q = {.workflow_id = l->id,
        .type = "event",
        .trigger = workflow_triggers_trigger_of(req, trigger, e),
        .location_id = e->location_id,
        .actor = e->actor_id,
        .event_id = e->id,
        .resource_id = e->resource_id,
        .order_key = queue_order_key(req, l->options, e->resource_type, e->resource_id),
        .depth = e->depth,
        .input = e->body};

    if (e->depth >= DEPTH_MAX) {
        q.skipped = "workflow.depth_exceeded";
        q.why = "workflows caused each other five times in a row";
    }
    if (l->has_secrets && !l->secrets)
        s = secrets_load(req, l->id, &l->secrets);
    wharf_scope *scope = W->mem->scope_begin(req); /* events may be large, and many */
    if (s == WHARF_OK)
        s = run_queue_hide(req, &q, l->secrets);
    run_queue_put(req, rows, &q, NULL);
    W->mem->scope_end(req, scope);
    return s;
}

wharf_status event_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg)
{
    struct listener *listeners;
    size_t n_listeners = 0, made = 0;
    wharf_out *rows;
    const wharf_json *trigger;
    wharf_status s = flow_rules ? workflow_triggers_read_listeners(req, &listeners, &n_listeners)
                                : WHARF_OK;

    if (s != WHARF_OK || !n_listeners)
        return s;
    rows = W->json->writer(req);
    W->json->open(rows, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_listeners && s == WHARF_OK; k++) {
            const wharf_event *e = events[i];

            s = workflow_triggers_wanted(req, &listeners[k], &e, &trigger);
            if (s != WHARF_OK || !trigger)
                continue;
            s = workflow_triggers_put_run(req, rows, &listeners[k], trigger, e);
            made++;
        }
    }
    return s == WHARF_OK && made ? queue_commit(req, rows, made) : s;
}
