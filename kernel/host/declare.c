/* declare.c - what plugins register, checked and collected; problems are told together
 * (docs/reference/plugin-abi.md sections 3 and 4.3). */
#include "host/declare.h"

#include <stdlib.h>

#include "identity/roles.h"
#include "event/steps.h"
#include "job/job.h"
#include "host/contribute.h"
#include "plugin/manifest.h"
#include "resource/codes.h"
#include "resource/place_sql.h"
#include "util/str.h"

enum { ROUTE_PARAMS = 4 };

void declare_problem(struct wharf_decl *d, const char *fmt, ...)
{
    wharf_str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    buf_addf(d->problems, "%s: %s\n", d->plugin ? d->plugin->name : "wharf", text.p);
}

/* Takes a descriptor of any size: shorter ones are filled with zero, longer ones are accepted when
 * the unknown tail is zero. */
static bool declare_take(
    struct wharf_decl *d, void *own, size_t own_size, const void *theirs, const char *what)
{
    const wharf_head *head = theirs;
    const unsigned char *bytes = theirs;

    memset(own, 0, own_size);
    if (head->size < sizeof(*head)) {
        declare_problem(d, "%s has no size; begin it with WHARF_HEAD", what);
        return false;
    }
    for (size_t i = own_size; i < head->size; i++) {
        if (bytes[i]) {
            declare_problem(d,
                "%s uses a feature of plugin ABI %u.%u, this server has %d.%d; use a newer server",
                what, head->major, head->minor, WHARF_ABI_MAJOR, WHARF_ABI_MINOR);
            return false;
        }
    }
    memcpy(own, theirs, head->size < own_size ? head->size : own_size);
    return true;
}

static void definition_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct wharf_decl *d = arg;

    (void)rule;
    declare_problem(d, "definition, at %.*s: %.*s", STR_ARG(path), STR_ARG(message));
}

static const wharf_hooks *copy_hooks(struct wharf_decl *d, const wharf_hooks *theirs)
{
    wharf_hooks *own = arena_alloc(d->arena, sizeof(*own));

    return declare_take(d, own, sizeof(*own), theirs, "wharf_hooks") ? own : NULL;
}

/* Checks an area: it belongs to the catalogue of 01 section 6.3, or to the manifest of the plugin
 * that uses it. */
void declare_area(struct wharf_decl *d, const char *area)
{
    const struct manifest *m = d->plugin->manifest;
    size_t n;
    const struct role_area *known = roles_areas(&n);

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(known[i].area, area))
            return;
    }
    for (size_t i = 0; i < m->n_scopes; i++) {
        if (!strcmp(m->scopes[i], area))
            return;
    }
    declare_problem(d, "the scope area %s is nobody's; add it to \"scopes\" in plugin.json", area);
}

static struct route *declare_add_route(struct wharf_decl *d, const struct resource *res,
    enum route_kind kind, const char *method, bool member)
{
    const struct definition *def = res->def;
    struct route *r = vector_add(d->arena, &d->routes);

    r->kind = kind;
    r->method = method;
    r->pattern = member ? arena_printf(d->arena, "%s/:%s", def->collection, def->ids.param).p
                        : def->collection;
    r->area = area_number(&d->engine->areas, def->scope);
    r->level = !strcmp(method, "GET") ? SCOPE_READ : SCOPE_WRITE;
    r->resource = res;
    if (kind == ROUTE_CREATE) {
        r->per_minute = def->creates.per_minute;
        r->per_second = def->creates.per_second;
        r->burst = def->creates.burst;
    }
    r->large_body = (kind == ROUTE_CREATE || kind == ROUTE_UPDATE) && def->creates.large_body;
    r->plugin = d->plugin;
    return r;
}

/* Adds the routes of a resource. They point to its place in its vector, which moves while it
 * grows: declare_finish() adds them. */
static void add_resource_routes(struct wharf_decl *d, const struct resource *res)
{
    uint32_t ops = res->def->ops;

    d->plugin = res->plugin;
    if (res->def->place.below && ops & OP_LIST) {
        struct route *r = declare_add_route(d, res, ROUTE_LIST, "GET", false);

        r->pattern = res->def->place.below_path;
        r->below = true;
    }
    if (res->def->place.all_path && ops & OP_LIST) {
        struct route *r = declare_add_route(d, res, ROUTE_LIST, "GET", false);

        r->pattern = res->def->place.all_path;
        r->all_parents = true;
    }
    if (res->def->own_path && ops & OP_RETRIEVE)
        declare_add_route(d, res, ROUTE_RETRIEVE, "GET", true)->pattern = res->def->own_path;
    if (res->def->own_path && ops & OP_UPDATE)
        declare_add_route(d, res, ROUTE_UPDATE, "POST", true)->pattern = res->def->own_path;
    if (ops & OP_LIST)
        declare_add_route(d, res, ROUTE_LIST, "GET", false);
    if (ops & OP_CREATE)
        declare_add_route(d, res, ROUTE_CREATE, "POST", false);
    if (ops & OP_RETRIEVE)
        declare_add_route(d, res, ROUTE_RETRIEVE, "GET", true);
    if (ops & OP_UPDATE)
        declare_add_route(d, res, ROUTE_UPDATE, "POST", true);
    if (ops & OP_DELETE)
        declare_add_route(d, res, ROUTE_DELETE, "DELETE", true);
}

static void d_resource(wharf_decl *d, const wharf_resource *theirs)
{
    const struct definition *def;
    struct hook_entry *hook;
    struct resource *res;
    wharf_resource r;

    if (!declare_take(d, &r, sizeof(r), theirs, "wharf_resource"))
        return;
    if (r.definition_hash && r.definition_hash != definition_hash(r.definition)) {
        declare_problem(d,
            "the definition of %s is not the one its constants were generated from; build the "
            "module again",
            r.name);
        return;
    }
    def = definition_compile(
        d->arena, d->plugin->name, contribute(d, r.definition), definition_problem, d);
    if (!def)
        return;
    declare_area(d, def->scope);
    res = vector_add(d->arena, &d->resources);
    res->def = def;
    res->plugin = d->plugin;
    if (r.hooks) {
        hook = ARENA_NEW(d->arena, struct hook_entry);
        *hook = (struct hook_entry){d->plugin, copy_hooks(d, r.hooks), INT32_MIN};
        res->hooks = hook;
        res->n_hooks = hook->hooks != NULL;
    }
}

/* Checks that the route has a location policy: who reaches which locations is decided by somebody
 * who thought of it (docs/spec/01-platform.md section 7). */
static void check_policy(
    wharf_decl *d, const wharf_route *r, const struct wharf_json *def, bool open)
{
    static const char *const policies[] = {"none", "row", "via", "multi", "body"};
    wharf_str policy = json_text_or(def, "location", open ? "none" : "");

    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        if (str_eqz(policy, policies[i]))
            return;
    }
    declare_problem(d,
        "route %s %s has no location policy; add \"location\": \"row\" (or none, via, multi, body) "
        "to its definition",
        r->method, r->path);
}

/* Checks what would else fail, or never be reached, at the first request. */
static bool route_shape_ok(wharf_decl *d, const wharf_route *r)
{
    size_t params = 0;

    for (const char *p = r->path; p && *p; p++)
        params += p[0] == '/' && (p[1] == ':' || p[1] == '*');
    if (!r->handler)
        declare_problem(d, "route %s %s has no handler; give it one", r->method, r->path);
    else if (!r->path || r->path[0] != '/')
        declare_problem(
            d, "route %s %s: its path must begin with /", r->method, r->path ? r->path : "(none)");
    else if (params > ROUTE_PARAMS)
        declare_problem(d, "route %s %s has %zu parameters; a path has at most %d", r->method,
            r->path, params, ROUTE_PARAMS);
    else
        return true;
    return false;
}

/* Copies a body's schema without its references to schemas of the description: a write of that
 * resource, or the handler, judges what lies there. */
static struct wharf_json *without_components(struct arena *a, const struct wharf_json *schema)
{
    static const char components[] = "#/components/schemas/";
    struct wharf_json *copy = ARENA_NEW(a, struct wharf_json), **tail = &copy->child;

    *copy = *schema;
    copy->child = NULL;
    if (str_starts(json_text_or(schema, "$ref", ""), components)) {
        copy->child = ARENA_NEW(a, struct wharf_json);
        *copy->child = (struct wharf_json){
            .type = JSON_BOOL, .truth = true, .key = WHARF_S("additionalProperties")};
        copy->count = 1;
        return copy;
    }
    for (const struct wharf_json *m = schema->child; m; m = m->next) {
        *tail = without_components(a, m);
        tail = &(*tail)->next;
        *tail = NULL;
    }
    return copy;
}

/* Reads the members of a route's document that say how it is served. */
static void read_switches(struct route *r, const struct wharf_json *def)
{
    r->any_answer = json_bool_or(def, "any_answer", false);
    r->tenant_code = json_bool_or(def, "tenant_code", false);
    r->array_body = json_bool_or(def, "array_body", false);
    r->large_body = json_bool_or(def, "large_body", false);
    r->event_stream = json_bool_or(def, "event_stream", false);
    r->unstable = json_bool_or(def, "unstable", false);
    r->max_body = json_int_or(def, "max_body", 0);
    r->per_minute = json_int_or(def, "per_minute", 0);
}

static void d_route(wharf_decl *d, const wharf_route *theirs)
{
    wharf_route *own = arena_alloc(d->arena, sizeof(*own));
    const struct wharf_json *def = NULL;
    const char *colon;
    struct json_error e;
    struct route *r;

    if (!declare_take(d, own, sizeof(*own), theirs, "wharf_route"))
        return;
    if (!own->scope) {
        declare_problem(d,
            "route %s %s has no scope; name one (\"items:read\"), or \"any\" for any key, "
            "\"public\" for none",
            own->method, own->path);
        return;
    }
    if (own->definition.n) {
        def = json_parse(d->arena, own->definition, &e);
        if (!def) {
            declare_problem(d, "route %s %s: its definition is not JSON: %s at byte %zu",
                own->method, own->path, e.message, e.offset);
            return;
        }
    }
    if (!route_shape_ok(d, own))
        return;
    r = vector_add(d->arena, &d->routes);
    r->kind = ROUTE_PLUGIN;
    r->method = own->method;
    r->pattern = own->path;
    r->plugin = d->plugin;
    r->declared = own;
    r->definition = def;
    r->area = -1;
    r->public_route = !strcmp(own->scope, "public") || (own->flags & WHARF_R_PUBLIC);
    r->optional_key = r->public_route && str_eqz(json_text_or(def, "key", ""), "optional");
    read_switches(r, def);
    check_policy(d, own, def, r->public_route);
    colon = strchr(own->scope, ':');
    if (colon) {
        r->area = area_number(
            &d->engine->areas, arena_dup(d->arena, own->scope, (size_t)(colon - own->scope)).p);
        r->level = !strcmp(colon, ":read") ? SCOPE_READ : SCOPE_WRITE;
        if (strcmp(colon, ":read") != 0 && strcmp(colon, ":write") != 0)
            declare_problem(d, "route %s %s: its scope %s ends with neither :read nor :write",
                own->method, own->path, own->scope);
    } else if (strcmp(own->scope, "any") != 0 && !r->public_route) {
        declare_problem(d, "route %s %s: scope %s is not of the form area:read or area:write",
            own->method, own->path, own->scope);
    }
    if (json_get(def, "body"))
        r->body_schema = schema_compile(
            d->arena, without_components(d->arena, json_get(def, "body")), definition_problem, d);
}

static void own_route(struct wharf_decl *d, const wharf_route *r)
{
    static const struct plugin kernel = {.name = "wharf"};

    d->plugin = &kernel;
    d_route(d, r);
}

static void own_job(struct wharf_decl *d, const char *name, wharf_handler *fn, const char *policy)
{
    job_declare(d, name, fn, NULL, str_z(policy));
}

/* Checks the name, and what else a check needs. */
static bool check_ok(struct wharf_decl *d, const char *area, const wharf_check *c)
{
    const wharf_check *other = d->checks.items;
    const char *name = c->name ? c->name : "";

    if (!name[0] || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        declare_problem(d, "a check is named \"%s\"; use a-z, 0-9 and _", name);
    else if (!c->summary || !c->rows)
        declare_problem(d, "check %s: say what holds (summary), and of which rows", name);
    else if (!c->sql == !c->run)
        declare_problem(d, "check %s: give it a query or a function, and not both", name);
    else {
        for (size_t i = 0; i < d->checks.n; i++) {
            if (!strncmp(other[i].name, area, strlen(area)) && other[i].name[strlen(area)] == '.' &&
                !strcmp(other[i].name + strlen(area) + 1, name)) {
                declare_problem(d, "two checks are named %s.%s; rename one", area, name);
                return false;
            }
        }
        return true;
    }
    return false;
}

static void add_check(struct wharf_decl *d, const char *area, const wharf_check *theirs)
{
    wharf_check own, *c;

    if (!declare_take(d, &own, sizeof(own), theirs, "wharf_check") || !check_ok(d, area, &own))
        return;
    own.name = arena_printf(d->arena, "%s.%s", area, own.name).p;
    c = vector_add(d->arena, &d->checks);
    *c = own;
}

void declare_init(struct wharf_decl *d, struct engine *e, struct buf *problems)
{
    *d = (struct wharf_decl){.engine = e,
        .arena = e->arena,
        .problems = problems,
        .own_job = own_job,
        .own_check = add_check,
        .own_route = own_route};
    d->resources.size = sizeof(struct resource);
    d->routes.size = sizeof(struct route);
    d->hooks.size = sizeof(struct foreign_hook);
    d->services.size = sizeof(struct service_entry);
    d->codes.size = sizeof(struct error_code);
    d->embeds.size = sizeof(struct embed_entry);
    d->migrations.size = sizeof(struct plugin_migration);
    d->jobs.size = sizeof(struct job_kind);
    d->steps.size = sizeof(struct event_step);
    d->handlers.size = sizeof(struct event_handler);
    d->checks.size = sizeof(wharf_check);
}

static void d_hook(wharf_decl *d, const char *resource, const wharf_hooks *h, int32_t order)
{
    const wharf_hooks *own = copy_hooks(d, h);
    struct foreign_hook *f;

    if (!own)
        return;
    f = vector_add(d->arena, &d->hooks);
    *f = (struct foreign_hook){resource, {d->plugin, own, order}};
}

static void d_provide(
    wharf_decl *d, const char *service, uint16_t major, uint16_t minor, const void *table)
{
    struct service_entry *s = vector_add(d->arena, &d->services);

    *s = (struct service_entry){d->plugin, service, major, minor, table};
}

static void d_embed(wharf_decl *d, const char *param, const char *key,
    wharf_status (*fn)(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
        wharf_out *const *outs))
{
    struct embed_entry *e = vector_add(d->arena, &d->embeds);

    if (key[0] != '_')
        declare_problem(d, "the key of the embed %s begins with _, then the link's name", param);
    *e = (struct embed_entry){d->plugin, param, key, fn};
}

static void d_errors(wharf_decl *d, wharf_str errors_json)
{
    size_t first = d->codes.n;

    if (!codes_read(d->arena, errors_json, d->plugin->name, &d->codes))
        declare_problem(d, "errors.json is not a JSON object of codes");
    for (size_t i = first; i < d->codes.n; i++) {
        const struct error_code *c = (const struct error_code *)d->codes.items + i;

        if (!c->code[0] || c->status < 400 || c->status > 599 || !c->text[0])
            declare_problem(d, "errors.json: %s needs a status from 400 to 599 and a text",
                c->code[0] ? c->code : "an entry without code");
    }
}

static void d_migration(wharf_decl *d, uint32_t number, const char *name, wharf_str sql)
{
    struct plugin_migration *m = vector_add(d->arena, &d->migrations);

    *m = (struct plugin_migration){d->plugin->name, number, name, sql};
}

static void d_fail(wharf_decl *d, const char *fmt, ...)
{
    wharf_str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    declare_problem(d, "%s", text.p);
}

static void d_job(wharf_decl *d, const char *name, wharf_handler *fn, void *arg, wharf_str policy)
{
    job_declare(d, name, fn, arg, policy);
}

static void d_on_event(wharf_decl *d, const char *pattern, wharf_handler *fn, void *arg)
{
    event_handler_declare(d, pattern, fn, arg);
}

static void d_check(wharf_decl *d, const wharf_check *c)
{
    add_check(d, d->plugin->name, c);
}

const wharf_decl_api declare_api = {WHARF_HEAD(wharf_decl_api), d_resource, d_route, d_hook,
    d_provide, d_job, d_on_event, d_embed, d_errors, d_migration, d_fail, d_check};

static int declare_by_order(const void *a, const void *b)
{
    const struct hook_entry *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->plugin->name, y->plugin->name);
}

static int by_job_name(const void *a, const void *b)
{
    return strcmp(((const struct job_kind *)a)->name, ((const struct job_kind *)b)->name);
}

static int by_check_name(const void *a, const void *b)
{
    return strcmp(((const wharf_check *)a)->name, ((const wharf_check *)b)->name);
}

/* Tells whether hooks are on the resource: by its name, or by a link that its definition names.
 * Hooks on a link that only watch deletes skip a resource that archives: its rows stay. */
static bool is_hooked_by(const struct foreign_hook *f, const struct definition *d)
{
    const char *link = hooked_link(f->resource);

    if (!link)
        return !strcmp(f->resource, d->name);
    return definition_links(d, link) &&
           !(d->storage.archive && f->entry.hooks->ops == WHARF_DELETE);
}

static void attach_hooks(struct wharf_decl *d, struct resource *res)
{
    const struct foreign_hook *f = d->hooks.items;
    struct hook_entry *all = ARENA_ARRAY(d->arena, struct hook_entry, res->n_hooks + d->hooks.n);
    size_t n = res->n_hooks;

    if (n)
        memcpy(all, res->hooks, n * sizeof(*all));
    for (size_t i = 0; i < d->hooks.n; i++) {
        if (is_hooked_by(&f[i], res->def))
            all[n++] = f[i].entry;
    }
    if (n > 1)
        qsort(all + res->n_hooks, n - res->n_hooks, sizeof(*all), declare_by_order);
    res->hooks = all;
    res->n_hooks = n;
}

/* Finds the resource of an entry of a manifest's "hookable": its name, or with an action behind a
 * colon, "print_job:create". Returns NULL when there is no such thing. */
static const struct resource *hookable_of(struct wharf_decl *d, const struct wharf_json *entry)
{
    const char *colon = entry->type == JSON_STRING ? strchr(entry->text.p, ':') : NULL;

    if (entry->type != JSON_STRING ||
        (colon && strcmp(colon, ":create") != 0 && strcmp(colon, ":update") != 0 &&
            strcmp(colon, ":delete") != 0))
        return NULL;
    return engine_resource(
        d->engine, colon ? arena_dup(d->arena, entry->text.p, (size_t)(colon - entry->text.p)).p
                         : entry->text.p);
}

/* Checks that names in manifests are those of the plugin's own resources. */
static void check_hookable(struct wharf_decl *d)
{
    for (size_t i = 0; i < d->engine->n_plugins; i++) {
        const struct plugin *p = &d->engine->plugins[i];
        const struct wharf_json *list = p->manifest->hookable;

        for (const struct wharf_json *e = list ? list->child : NULL; e; e = e->next) {
            const struct resource *res = hookable_of(d, e);

            d->plugin = p;
            if (!res || res->plugin != p || !res->def->scope)
                declare_problem(d,
                    "plugin.json: hookable names \"%s\", which is no resource of this plugin with "
                    "a scope, nor \"RESOURCE:create\", \":update\" or \":delete\" of one",
                    e->type == JSON_STRING ? e->text.p : "");
        }
    }
}

void declare_finish(struct wharf_decl *d)
{
    struct engine *e = d->engine;

    e->resources = d->resources.items;
    e->n_resources = d->resources.n;
    for (size_t i = 0; i < e->n_resources; i++) {
        attach_hooks(d, &e->resources[i]);
        add_resource_routes(d, &e->resources[i]);
    }
    check_hookable(d);
    e->routes = d->routes.items;
    e->n_routes = d->routes.n;
    e->codes = d->codes.items;
    e->n_codes = d->codes.n;
    e->embeds = d->embeds.items;
    e->n_embeds = d->embeds.n;
    e->services = d->services.items;
    e->n_services = d->services.n;
    e->steps = d->steps.items;
    e->n_steps = d->steps.n;
    e->handlers = d->handlers.items;
    e->n_handlers = d->handlers.n;
    e->jobs = d->jobs.items;
    e->n_jobs = d->jobs.n;
    if (e->n_jobs)
        qsort(e->jobs, e->n_jobs, sizeof(*e->jobs), by_job_name);
    e->checks = d->checks.items;
    e->n_checks = d->checks.n;
    if (e->n_checks)
        qsort(e->checks, e->n_checks, sizeof(*e->checks), by_check_name);
}
