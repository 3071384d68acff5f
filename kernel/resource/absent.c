/* absent.c - see absent.h. */
#include "resource/absent.h"

#include <string.h>
#include <sys/stat.h>

#include "config/config.h"
#include "plugin/manifest.h"
#include "plugin/resolve.h"
#include "util/file.h"
#include "util/log.h"
#include "util/str.h"

enum { NOTE_LIMIT = 1 << 20 };

static const char *note_file(struct arena *a, const char *data, const char *module)
{
    return arena_printf(a, "%s/modules/%s.json", data, module).p;
}

/* ---- what is left out ---- */

static void absent_add_route(struct wharf_decl *d, const struct absent *m, wharf_str text)
{
    const char *space = memchr(text.p, ' ', text.n);
    struct route *r;

    if (!space)
        return;
    r = vector_add(d->arena, &d->routes);
    *r = (struct route){.kind = ROUTE_KERNEL,
        .method = arena_dup(d->arena, text.p, (size_t)(space - text.p)).p,
        .pattern = arena_dup(d->arena, space + 1, (size_t)(text.p + text.n - space - 1)).p,
        .area = -1,
        .absent = m};
}

/* Adds the areas of an absent module: scopes of keys and of hooks' routes are the same, whether or
 * not it is there. */
static void know_areas(struct engine *e, const struct absent *m)
{
    for (const struct wharf_json *a = m->areas ? m->areas->child : NULL; a; a = a->next)
        if (a->type == JSON_STRING)
            area_number(&e->areas, a->text.p);
}

static bool has_text(const struct wharf_json *list, const char *text)
{
    for (const struct wharf_json *t = list ? list->child : NULL; t; t = t->next)
        if (t->type == JSON_STRING && str_eqz(t->text, text))
            return true;
    return false;
}

const struct absent *absent_owner(const struct engine *e, const char *resource)
{
    const struct absent *unknown = NULL;

    for (size_t i = 0; i < e->n_absent; i++) {
        if (has_text(e->absent[i].resources, resource))
            return &e->absent[i];
        if (!e->absent[i].resources)
            unknown = &e->absent[i];
    }
    return unknown;
}

void absent_add(struct wharf_decl *d, const struct config *config, const char *quarantined)
{
    size_t n;
    const struct manifest *const *out = registry_left_out(config, quarantined, d->arena, &n);
    struct absent *all = ARENA_ARRAY(d->arena, struct absent, n + 1);

    for (size_t i = 0; i < n; i++) {
        const char *file = note_file(d->arena, config->data, out[i]->name);
        wharf_str text = file_read(file, NOTE_LIMIT, d->arena);
        struct json_error why;
        const struct wharf_json *note = text.n ? json_parse(d->arena, text, &why) : NULL;

        all[i] = (struct absent){.manifest = out[i],
            .quarantined = names_have(quarantined, out[i]->name),
            .areas = json_get(note, "areas"),
            .routes = json_get(note, "routes"),
            .resources = json_get(note, "resources")};
        know_areas(d->engine, &all[i]);
        if (!note)
            log_warn("module.unknown_routes",
                "%s says nothing: the routes of %s answer 404 while it is left out", file,
                out[i]->name);
        for (const struct wharf_json *r = all[i].routes ? all[i].routes->child : NULL; r;
             r = r->next)
            absent_add_route(d, &all[i], r->text);
    }
    d->engine->absent = all;
    d->engine->n_absent = n;
}

/* ---- what is loaded ---- */

static void write_note(const struct engine *e, const struct plugin *p, struct buf *out)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "version", p->manifest->version);
    jw_open(&w, "areas", '[');
    for (size_t i = 0; i < e->areas.count; i++)
        if (engine_owns_area(e, p, (int)i))
            jw_z(&w, NULL, e->areas.names[i]);
    jw_close(&w, ']');
    jw_open(&w, "routes", '[');
    for (size_t i = 0; i < e->n_routes; i++)
        if (e->routes[i].plugin == p)
            jw_str(&w, NULL,
                arena_printf(e->arena, "%s %s", e->routes[i].method, e->routes[i].pattern));
    jw_close(&w, ']');
    jw_open(&w, "resources", '[');
    for (size_t i = 0; i < e->n_resources; i++)
        if (e->resources[i].plugin == p)
            jw_z(&w, NULL, e->resources[i].def->name);
    jw_close(&w, ']');
    jw_close(&w, '}');
}

void absent_remember(const struct engine *e, const char *data)
{
    wharf_str why = {"", 0};

    mkdir(arena_printf(e->arena, "%s/modules", data).p, 0750);
    for (size_t i = 0; i < e->n_plugins && !why.n; i++) {
        const char *file = note_file(e->arena, data, e->plugins[i].name);
        wharf_str old = file_read(file, NOTE_LIMIT, e->arena);
        struct buf out;

        buf_init(&out, NOTE_LIMIT);
        write_note(e, &e->plugins[i], &out);
        if (!old.p || !str_eq(old, buf_str(&out)))
            file_replace(file, buf_str(&out), 0640, e->arena, &why);
        buf_done(&out);
    }
    if (why.n)
        log_warn("module.not_noted", "%s; a module that is left out later answers 404", why.p);
}
