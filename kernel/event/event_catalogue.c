/* event_catalogue.c - see event_catalogue.h. */
#include "event/event_catalogue.h"

#include <stdlib.h>

#include "resource/openapi_schema.h"
#include "plugin/manifest.h"
#include "util/str.h"
#include "wharf/errors.h"

struct collecting {
    struct engine *engine;
    struct buf *problems;
    struct event_type *list;
    size_t n, cap;
};

static bool says_state(const char *type)
{
    return str_ends(str_z(type), ".updated") || str_ends(str_z(type), ".level_updated") ||
           str_ends(str_z(type), ".status_changed");
}

static void event_catalogue_add(struct collecting *c, struct event_type t)
{
    if (c->n == c->cap) {
        struct event_type *more = ARENA_ARRAY(
            c->engine->arena, struct event_type, c->cap ? c->cap * 2 : 64);

        if (c->n)
            memcpy(more, c->list, c->n * sizeof(*more));
        c->list = more;
        c->cap = c->cap ? c->cap * 2 : 64;
    }
    t.supersedable = t.supersedable || says_state(t.type);
    c->list[c->n++] = t;
}

/* The type of all events of workflows, whose names nobody knows before they are sent. */
static const struct event_type custom_type = {.type = "custom.*",
    .description = "What a workflow or a hook of the operator emits",
    .resource_type = "workflow",
    .module = "wharf",
    .schema_path = "/v1/schemas/events/custom",
    .example_text = {"{}", 2}};

static bool event_catalogue_good_name(const char *type)
{
    size_t words = 0;

    for (;;) {
        size_t n = strspn(type, "abcdefghijklmnopqrstuvwxyz0123456789_");

        words++;
        type += n;
        if (!n || (*type && *type != '.'))
            return false;
        if (!*type)
            return words >= 2;
        type++;
    }
}

/* Checks a type's name. Others' plugins keep to their own part of the names, so that no two of
 * them meet. */
static void check_name(struct collecting *c, const struct plugin *p, const char *type)
{
    size_t n = strlen(p->name);

    if (!event_catalogue_good_name(type))
        buf_addf(c->problems,
            "%s: event type \"%s\" is not words of a-z, 0-9 and _ with single dots between\n",
            p->name, type);
    else if (p->manifest->third_party && (strncmp(type, p->name, n) != 0 || type[n] != '.'))
        buf_addf(c->problems,
            "%s: event type \"%s\" must begin with the plugin's name: \"%s.%s\"\n", p->name, type,
            p->name, type);
    else if (event_type_custom(str_z(type)))
        buf_addf(c->problems, "%s: event type \"%s\": what begins with custom. is for workflows\n",
            p->name, type);
}

/* ---- what definitions emit ---- */

static void add_of_resource(struct collecting *c, const struct resource *res)
{
    const struct definition_events *names = &res->def->events;
    const struct {
        const char *type, *verb;
    } three[] = {{names->created, "was created"}, {names->updated, "was changed"},
        {names->deleted, "was deleted"}};

    for (size_t i = 0; i < 3; i++) {
        if (!three[i].type)
            continue;
        check_name(c, res->plugin, three[i].type);
        event_catalogue_add(
            c, (struct event_type){.type = three[i].type,
                   .description =
                       arena_printf(c->engine->arena, "%s %s", res->def->title, three[i].verb).p,
                   .resource_type = res->def->name,
                   .module = res->plugin->name,
                   .log = res->def->events.log,
                   .resource = res});
    }
}

/* ---- what manifests declare ---- */

static bool event_catalogue_known_member(wharf_str key)
{
    static const char *const known[] = {
        "description", "resource", "system", "supersedable", "deprecated", "members", "example"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eqz(key, known[i]))
            return true;
    }
    return false;
}

static void add_declared(struct collecting *c, const struct plugin *p, const struct wharf_json *m)
{
    struct arena *a = c->engine->arena;
    const char *resource = json_text_or(m, "resource", "").p;
    struct event_type t = {.type = m->key.p,
        .description = json_text_or(m, "description", "").p,
        .resource_type = resource,
        .module = p->name,
        .system = json_bool_or(m, "system", false),
        .supersedable = json_bool_or(m, "supersedable", false),
        .deprecated = json_bool_or(m, "deprecated", false),
        .resource = engine_resource(c->engine, resource),
        .members = json_get(m, "members"),
        .example = json_get(m, "example")};

    for (const struct wharf_json *k = m->child; k; k = k->next) {
        if (!event_catalogue_known_member(k->key))
            buf_addf(c->problems,
                "%s: plugin.json: events.%s.%s is not known; a type has description, resource, "
                "system, supersedable, deprecated, members, example\n",
                p->name, t.type, k->key.p);
    }
    check_name(c, p, t.type);
    if (!t.description[0])
        buf_addf(
            c->problems, "%s: plugin.json: events.%s needs a \"description\"\n", p->name, t.type);
    if (t.members && !json_is(t.members, JSON_OBJECT))
        buf_addf(c->problems,
            "%s: plugin.json: events.%s.members must be an object of JSON Schemas\n", p->name,
            t.type);
    if (!resource[0])
        t.resource_type = arena_dup(a, t.type, strcspn(t.type, ".")).p;
    event_catalogue_add(c, t);
}

/* ---- all of them ---- */

static int by_type(const void *a, const void *b)
{
    return strcmp(((const struct event_type *)a)->type, ((const struct event_type *)b)->type);
}

/* Merges a type that a manifest and a definition of the same plugin both name: a manifest may say
 * more about it. */
static void merge_twins(struct collecting *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct event_type *before = n ? &c->list[n - 1] : NULL, *t = &c->list[i];

        if (!before || strcmp(before->type, t->type) != 0) {
            c->list[n++] = *t;
            continue;
        }
        if (strcmp(before->module, t->module) != 0)
            buf_addf(c->problems, "event type %s is declared by %s and by %s\n", t->type,
                before->module, t->module);
        before->resource = before->resource ? before->resource : t->resource;
        before->log = before->log || t->log;
        before->system = before->system || t->system;
        before->supersedable = before->supersedable || t->supersedable;
        before->deprecated = before->deprecated || t->deprecated;
        before->members = before->members ? before->members : t->members;
        before->example = before->example ? before->example : t->example;
    }
    c->n = n;
}

static const char kernel_members[] = "{\"name\":{\"type\":\"string\"},\"status\":{\"const\":"
                                     "\"quarantined\"},\"host\":{\"type\":\"string\"},"
                                     "\"quarantined_at\":{\"type\":\"string\"},\"crashes\":{"
                                     "\"type\":\"integer\"},\"window_seconds\":{\"type\":"
                                     "\"integer\"}}";
static const char kernel_example[] =
    "{\"object\":\"plugin\",\"name\":\"dock_doors\",\"status\":\"quarantined\",\"host\":\"wh1\","
    "\"quarantined_at\":\"2025-03-01T09:15:02.114Z\",\"crashes\":3,\"window_seconds\":60}";

static wharf_str event_catalogue_example_of(
    const struct engine *e, struct arena *a, const struct event_type *t)
{
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, 1 << 20);
    jw_init(&w, &b);
    if (t->example) {
        jw_value(&w, NULL, t->example);
    } else {
        jw_open(&w, NULL, '{');
        if (t->resource)
            schema_event_example(e, &w, a, t->resource);
        else
            jw_z(&w, "object", t->resource_type);
        jw_close(&w, '}');
    }
    text = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

void event_catalogue_link(struct engine *e, struct buf *problems)
{
    struct collecting c = {.engine = e, .problems = problems};
    struct json_error error;

    for (size_t i = 0; i < e->n_resources; i++)
        add_of_resource(&c, &e->resources[i]);
    for (size_t i = 0; i < e->n_plugins; i++) {
        const struct wharf_json *declared = e->plugins[i].manifest->events;

        for (const struct wharf_json *m = declared ? declared->child : NULL; m; m = m->next)
            add_declared(&c, &e->plugins[i], m);
    }
    event_catalogue_add(
        &c, (struct event_type){.type = "plugin.quarantined",
                .description = "A plugin crashed the server again and again and was left out",
                .resource_type = "plugin",
                .module = "wharf",
                .system = true,
                .members = json_parse(e->arena, str_z(kernel_members), &error),
                .example = json_parse(e->arena, str_z(kernel_example), &error)});
    qsort(c.list, c.n, sizeof(*c.list), by_type);
    merge_twins(&c);
    for (size_t i = 0; i < c.n; i++) {
        c.list[i].schema_path = arena_printf(e->arena, "/v1/schemas/events/%s", c.list[i].type).p;
        c.list[i].example_text = event_catalogue_example_of(e, e->arena, &c.list[i]);
    }
    e->event_types = c.list;
    e->n_event_types = c.n;
}

/* ---- asking ---- */

static int event_catalogue_key_of(const void *key, const void *entry)
{
    const wharf_str *name = key;
    const char *other = ((const struct event_type *)entry)->type;
    int order = strncmp(name->p, other, name->n);

    return order ? order : -(other[name->n] != 0);
}

bool event_type_custom(wharf_str type)
{
    char name[EVENT_CUSTOM_MAX + 1];

    if (type.n > EVENT_CUSTOM_MAX || !str_starts(type, "custom.") || memchr(type.p, 0, type.n))
        return false;
    memcpy(name, type.p, type.n);
    name[type.n] = 0;
    return event_catalogue_good_name(name);
}

const struct event_type *event_type_find(const struct engine *e, wharf_str type)
{
    const struct event_type *t = bsearch(
        &type, e->event_types, e->n_event_types, sizeof(*e->event_types), event_catalogue_key_of);

    return t || !event_type_custom(type) ? t : &custom_type;
}

bool event_matches(const struct event_type *t, wharf_str name, wharf_str pattern)
{
    if (str_eqz(pattern, "*"))
        return !t->system;
    if (str_ends(pattern, ".*"))
        return !t->system && name.n >= pattern.n && memcmp(name.p, pattern.p, pattern.n - 1) == 0;
    return str_eq(pattern, name);
}

bool event_pattern_known(const struct engine *e, wharf_str pattern)
{
    bool all = str_ends(pattern, ".*");

    if (str_eqz(pattern, "*") || str_eqz(pattern, "custom.*") ||
        event_type_custom((wharf_str){pattern.p, pattern.n - (all ? 2 : 0)}))
        return true;
    for (size_t i = 0; i < e->n_event_types; i++) {
        if (all ? strncmp(e->event_types[i].type, pattern.p, pattern.n - 1) == 0
                : str_eqz(pattern, e->event_types[i].type))
            return true;
    }
    return false;
}

static void need_area(struct wharf_req *req, const struct event_type *t, bool reported[AREAS_MAX])
{
    const struct resource *res = t->resource ? t->resource
                                             : engine_resource(req->engine, t->resource_type);

    if (!res || reported[res->area] || req->access.who->levels[res->area] >= SCOPE_READ)
        return;
    reported[res->area] = true;
    req_problem(req, ERR_SCOPE_ACCESS, arena_printf(req->arena, "%s:read", res->def->scope), NULL,
        str_z(""));
}

wharf_status event_need_pattern(struct wharf_req *req, wharf_str pattern)
{
    const struct engine *e = req->engine;
    bool reported[AREAS_MAX] = {false};
    size_t before = req->problems.n;

    for (size_t i = 0; i < e->n_event_types; i++) {
        if (event_matches(&e->event_types[i], str_z(e->event_types[i].type), pattern))
            need_area(req, &e->event_types[i], reported);
    }
    if (str_eqz(pattern, "*") || str_starts(pattern, "custom."))
        need_area(req, &custom_type, reported);
    return req->problems.n > before ? WHARF_DENIED : WHARF_OK;
}

/* ---- the schema ---- */

/* Makes the schema. Only the outermost object says what must be there: data that was too large is
 * reduced to three members. */
wharf_str event_schema(const struct engine *e, struct arena *a, const struct event_type *t)
{
    bool known = t != &custom_type; /* else its members are the author's */
    struct schema_writer s;
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, 1 << 20);
    jw_init(&w, &b);
    s = (struct schema_writer){.e = e, .a = a, .w = &w, .whole = true};
    jw_open(&w, NULL, '{');
    jw_z(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jw_z(&w, "$id", t->schema_path);
    jw_z(&w, "title", t->type);
    jw_z(&w, "description", t->description);
    jw_z(&w, "type", "object");
    jw_open(&w, "properties", '{');
    if (t->resource)
        schema_event_properties(&s, t->resource);
    else if (known)
        jw_raw(&w, "object", WHARF_S("{\"type\":\"string\"}"));
    for (const struct wharf_json *m = t->members ? t->members->child : NULL; m; m = m->next)
        schema_copy(&s, m->key.p, m);
    jw_close(&w, '}');
    jw_open(&w, "required", '[');
    if (known)
        jw_z(&w, NULL, "object");
    jw_close(&w, ']');
    jw_bool(&w, "additionalProperties", !known);
    jw_close(&w, '}');
    text = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}
