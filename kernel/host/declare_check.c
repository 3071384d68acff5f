/* declare_check.c - what plugins declare, held against each other when all of them have
 * declared: a name that nothing has is a mistake that else shows at the first request, or never.
 * Every problem names its plugin and says what to do.
 *
 * Leaves to others: single declarations (declare.c), definitions by themselves (schema/), tables
 * (resource/table_check.c). docs/reference/plugin-abi.md section 4.3. */
#include "host/declare_check.h"

#include "event/event_catalogue.h"
#include "event/steps.h"
#include "plugin/manifest.h"
#include "util/str.h"

/* Tells whether the plugin says that it may do without this resource ("refers" in plugin.json). */
static bool manifest_refers(const struct plugin *p, wharf_str resource)
{
    for (size_t i = 0; i < p->manifest->n_refers; i++)
        if (str_eqz(resource, p->manifest->refers[i]))
            return true;
    return false;
}

static bool resource_known(const struct wharf_decl *d, const struct plugin *p, const char *name)
{
    return engine_resource(d->engine, name) || manifest_refers(p, str_z(name));
}

/* ---- names of resources ---- */

static void check_reference(struct wharf_decl *d, const struct resource *res, const struct field *f)
{
    if (f->ref && !resource_known(d, res->plugin, f->ref))
        declare_problem(d,
            "%s.%s refers to the resource \"%s\", which no loaded plugin has; correct the name, "
            "enable its module, or name it in \"refers\" of plugin.json when this plugin works "
            "without it",
            res->def->name, f->name, f->ref);
}

/* Checks what is shown of another row: it is judged by the location of that row alone
 * (resource/record.c). Rows that are for some people only, or for who reaches each of several
 * locations, can't be shown so. */
static void check_shown(struct wharf_decl *d, const struct resource *res, const struct field *f)
{
    const char *name = f->kind == FIELD_EMBED && f->embed_from ? f->embed_from->ref
                       : f->n_show                             ? f->ref
                                                               : NULL;
    const struct resource *to = name ? engine_resource(d->engine, name) : NULL;
    const struct definition *def = to ? to->def : NULL;

    if (def && (def->audience.users || def->audience.through || def->recorded.audience ||
                   (def->place.location && def->place.location->store == STORE_JSON)))
        declare_problem(d,
            "%s.%s shows fields of rows of \"%s\", which are for some keys only; show their ids, "
            "and let clients ask for them",
            res->def->name, f->name, name);
}

/* Checks that what carries the location of a row refers to the resource whose rows are locations
 * ("location": "self"). */
static void declare_check_location(struct wharf_decl *d, const struct resource *res)
{
    const struct field *f = res->def->place.location;
    const struct resource *to = f && f->ref ? engine_resource(d->engine, f->ref) : NULL;

    if (to && !to->def->place.is_location)
        declare_problem(d,
            "%s.%s carries the location of a row, and \"%s\" are no locations (\"location\": "
            "\"self\")",
            res->def->name, f->name, f->ref);
    if (res->def->place.is_location && engine_locations(d->engine) != res)
        declare_problem(d,
            "\"%s\" and \"%s\" both say that their rows are locations (\"location\": \"self\")",
            engine_locations(d->engine)->def->name, res->def->name);
}

static void check_references(struct wharf_decl *d, const struct resource *res)
{
    d->plugin = res->plugin;
    for (size_t i = 0; i < res->def->n_fields; i++) {
        const struct field *f = &res->def->fields[i];

        check_reference(d, res, f);
        check_shown(d, res, f);
        for (size_t k = 0; f->children && k < f->children->n_fields; k++)
            check_reference(d, res, &f->children->fields[k]);
    }
}

static void check_hooks(struct wharf_decl *d)
{
    const struct foreign_hook *f = d->hooks.items;

    for (size_t i = 0; i < d->hooks.n; i++) {
        d->plugin = f[i].entry.plugin;
        if (!hooked_link(f[i].resource) && !resource_known(d, d->plugin, f[i].resource))
            declare_problem(d,
                "its hooks are on the resource \"%s\", which no loaded plugin has; correct the "
                "name, enable its module, or name it in \"refers\" of plugin.json when this plugin "
                "works without it",
                f[i].resource);
    }
}

static void check_refers(struct wharf_decl *d)
{
    for (size_t i = 0; i < d->engine->n_plugins; i++) {
        d->plugin = &d->engine->plugins[i];
        for (size_t k = 0; k < d->plugin->manifest->n_refers; k++) {
            const struct resource *res = engine_resource(d->engine, d->plugin->manifest->refers[k]);

            if (res && res->plugin == d->plugin)
                declare_problem(d,
                    "plugin.json: refers names \"%s\", which is a resource of its own; take it out",
                    d->plugin->manifest->refers[k]);
        }
    }
}

static bool same(const char *a, const char *b)
{
    return a && b && *a && !strcmp(a, b);
}

/* Checks that two resources share nothing that the engine finds rows by. */
static void declare_check_pair(
    struct wharf_decl *d, const struct resource *a, const struct resource *b)
{
    const struct definition *x = a->def, *y = b->def;
    const char *what = same(x->name, y->name)                     ? "are both named"
                       : same(x->ids.prefix, y->ids.prefix)       ? "both have ids that begin with"
                       : same(x->storage.table, y->storage.table) ? "are both kept in"
                                                                  : NULL;
    const char *value = same(x->name, y->name)               ? x->name
                        : same(x->ids.prefix, y->ids.prefix) ? x->ids.prefix
                                                             : x->storage.table_name;

    d->plugin = b->plugin;
    if (what)
        declare_problem(d,
            "its resource \"%s\" and the resource \"%s\" of %s %s \"%s\"; rename one of them",
            y->name, x->name, a->plugin->name, what, value);
}

/* ---- codes, services, events, routes ---- */

static bool code_has_prefix(const char *code, const char *prefix)
{
    size_t n = strlen(prefix);

    return !strncmp(code, prefix, n) && (code[n] == '.' || code[n] == ':');
}

static bool code_is_own(const struct wharf_decl *d, const struct plugin *p, const char *code)
{
    bool own = code_has_prefix(code, p->name);

    for (size_t i = 0; i < d->engine->n_resources; i++)
        own = own || (d->engine->resources[i].plugin == p &&
                         code_has_prefix(code, d->engine->resources[i].def->name));
    for (size_t i = 0; i < p->manifest->n_codes; i++)
        own = own || code_has_prefix(code, p->manifest->codes[i]);
    return own;
}

static void check_codes(struct wharf_decl *d)
{
    const struct error_code *codes = d->codes.items;

    for (size_t i = 0; i < d->codes.n; i++) {
        for (size_t k = 0; k < d->engine->n_plugins; k++)
            if (!strcmp(d->engine->plugins[k].name, codes[i].plugin))
                d->plugin = &d->engine->plugins[k];
        if (!code_is_own(d, d->plugin, codes[i].code))
            declare_problem(d,
                "errors.json: %s begins with neither the plugin's name nor that of a resource of "
                "its own; rename it, or name its first word in \"codes\" of plugin.json",
                codes[i].code);
    }
}

static const struct service_entry *service_given(
    const struct wharf_decl *d, const struct plugin *p, const char *name)
{
    const struct service_entry *s = d->services.items;

    for (size_t i = 0; i < d->services.n; i++)
        if (s[i].plugin == p && !strcmp(s[i].name, name))
            return &s[i];
    return NULL;
}

static void check_services(struct wharf_decl *d)
{
    const struct service_entry *given = d->services.items;

    for (size_t i = 0; i < d->engine->n_plugins; i++) {
        const struct manifest *m = d->engine->plugins[i].manifest;

        d->plugin = &d->engine->plugins[i];
        for (size_t k = 0; k < m->n_provides; k++) {
            const struct service_entry *s = service_given(d, d->plugin, m->provides[k].name);

            if (!s)
                declare_problem(d,
                    "plugin.json says that it provides %s, but its declare() does not; call "
                    "provide() or take it out of \"provides\"",
                    m->provides[k].name);
            else if (s->major != m->provides[k].major || s->minor != m->provides[k].minor)
                declare_problem(d,
                    "plugin.json says that it provides %s %u.%u, its declare() says %u.%u; make "
                    "them the same",
                    s->name, m->provides[k].major, m->provides[k].minor, s->major, s->minor);
        }
    }
    for (size_t i = 0; i < d->services.n; i++) {
        const struct manifest *m = given[i].plugin->manifest;
        bool named = false;

        d->plugin = given[i].plugin;
        for (size_t k = 0; k < m->n_provides; k++)
            named = named || !strcmp(m->provides[k].name, given[i].name);
        if (!named)
            declare_problem(d,
                "its declare() provides %s, which is not in \"provides\" of plugin.json; add it",
                given[i].name);
    }
}

static void check_route_areas(struct wharf_decl *d)
{
    const struct route *r = d->routes.items;

    for (size_t i = 0; i < d->routes.n; i++) {
        const char *colon = r[i].kind == ROUTE_PLUGIN && r[i].plugin->manifest
                                ? strchr(r[i].declared->scope, ':')
                                : NULL;

        if (!colon)
            continue;
        d->plugin = r[i].plugin;
        declare_area(
            d, arena_dup(d->arena, r[i].declared->scope, (size_t)(colon - r[i].declared->scope)).p);
    }
}

void declare_check(struct wharf_decl *d)
{
    for (size_t i = 0; i < d->engine->n_resources; i++) {
        check_references(d, &d->engine->resources[i]);
        declare_check_location(d, &d->engine->resources[i]);
        for (size_t k = i + 1; k < d->engine->n_resources; k++)
            declare_check_pair(d, &d->engine->resources[i], &d->engine->resources[k]);
    }
    check_hooks(d);
    check_refers(d);
    check_codes(d);
    check_services(d);
    check_route_areas(d);
    d->plugin = NULL;
}

void declare_check_events(struct wharf_decl *d)
{
    const struct engine *e = d->engine;

    for (size_t i = 0; i < e->n_handlers; i++) {
        wharf_str pattern = e->handlers[i].pattern, resource = {pattern.p, strcspn(pattern.p, ".")};

        d->plugin = e->handlers[i].plugin;
        if (!event_pattern_known(e, pattern) && !manifest_refers(d->plugin, resource))
            declare_problem(d,
                "it listens to \"%s\", which is no type of event that a loaded plugin emits; "
                "correct it (GET /v1/events/types lists them), or name \"%.*s\" in \"refers\" of "
                "plugin.json when this plugin works without it",
                pattern.p, STR_ARG(resource));
    }
    d->plugin = NULL;
}
