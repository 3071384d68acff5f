/* registry.c - resolve, dlopen, declare, compile: a worker's plugins. See registry.h. */
#include "host/registry.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "identity/roles.h"
#include "db/migrate.h"
#include "event/event_catalogue.h"
#include "http/deprecation.h"
#include "job/job.h"
#include "resource/absent.h"
#include "host/declare.h"
#include "host/declare_check.h"
#include "plugin/offered.h"
#include "resource/part.h"
#include "plugin/static.h"
#include "util/log.h"
#include "util/str.h"

enum { DECLARE_SECONDS = 10 }; /* a plugin may take to declare itself */

struct registry {
    struct engine *engine;
    const struct manifest *const *manifests;
    size_t n_manifests;
    const struct plugin_migration *migrations;
    size_t n_migrations;
};

static bool service_named(const struct manifest_service *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return true;
    return false;
}

/* Tells whether the plugin may ask for the service. Services are asked for by name, and loaded in
 * the order of the manifests: one that the manifest does not name may be there by chance only. */
static bool service_allowed(const wharf_plugin *self, const char *name)
{
    static const char *const everybody[] = {"wharf.mem", "wharf.err", "wharf.log", "wharf.req",
        "wharf.json", "wharf.db", "wharf.res", "wharf.event"};
    const struct manifest *m = self->plugin->manifest;

    for (size_t i = 0; i < sizeof(everybody) / sizeof(*everybody); i++)
        if (!strcmp(everybody[i], name))
            return true;
    if (service_named(m->needs, m->n_needs, name) || service_named(m->wants, m->n_wants, name))
        return true;
    if (self->engine->loading)
        buf_addf(self->engine->loading,
            "%s: it asks for the service %s, which is neither in \"needs\" nor in \"wants\" of "
            "plugin.json; add it\n",
            m->name, name);
    else
        log_write(WHARF_LOG_ERROR, m->name, NULL, "plugin.service",
            "it asks for the service %s, which is neither in \"needs\" nor in \"wants\" of "
            "plugin.json; add it",
            name);
    return false;
}

/* Finds a service (wharf_host.service). */
static const void *find_service(
    const wharf_plugin *self, const char *name, uint16_t major, uint16_t min_minor)
{
    const struct offered_service *own = offered_find(name);
    const struct engine *e = self->engine;

    if (!service_allowed(self, name))
        return NULL;
    if (own && own->offer.major == major && own->offer.minor >= min_minor)
        return own->table;
    for (size_t i = 0; i < e->n_services; i++) {
        const struct service_entry *s = &e->services[i];

        if (!strcmp(s->name, name) && s->major == major && s->minor >= min_minor)
            return s->table;
    }
    return NULL;
}

const wharf_host host_tables = {WHARF_HEAD(wharf_host), "0.1.0", find_service, &host_mem, &host_err,
    &host_log, &host_req, &host_json, &host_db, &host_res, &host_event};

/* Finds the entry of a plugin. Returns NULL when a problem was told. */
static wharf_plugin_entry_fn *find_entry(const struct manifest *m, struct buf *problems)
{
    const struct static_module *linked = static_module_find(m->file);
    wharf_plugin_entry_fn *entry;
    void *so;

    if (linked)
        return linked->entry;
    so = dlopen(m->file, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        buf_addf(problems, "%s: %s\n", m->file, dlerror());
        return NULL;
    }
    *(void **)&entry = dlsym(so, "wharf_plugin_entry_v1");
    if (!entry)
        buf_addf(problems,
            "%s: exports no wharf_plugin_entry_v1; it was not built for plugin ABI %d\n", m->file,
            WHARF_ABI_MAJOR);
    return entry;
}

static bool load_one(struct engine *e, struct plugin *p, const struct manifest *m, unsigned index,
    struct buf *problems)
{
    wharf_plugin_entry_fn *entry = find_entry(m, problems);
    const wharf_plugin_desc *desc;

    if (!entry)
        return false;
    desc = entry(&host_tables);
    if (!desc || !str_eq(desc->manifest, m->text)) {
        buf_addf(problems, "%s: its code carries another manifest than its note; build it again\n",
            m->file);
        return false;
    }
    *p = (struct plugin){.manifest = m, .name = m->name, .index = index, .desc = desc};
    p->handle = ARENA_NEW(e->arena, struct wharf_plugin);
    *p->handle = (struct wharf_plugin){.engine = e, .plugin = p, .memory = e->plugin_memory};
    return true;
}

/* Tries a plugin in a child process, which has all that was loaded before it. False after a
 * problem. */
static bool declare_survives(
    struct wharf_decl *d, struct plugin *p, const struct manifest *m, unsigned index)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(DECLARE_SECONDS);
        if (load_one(d->engine, p, m, index, d->problems)) {
            d->plugin = p;
            p->desc->declare(p->handle, d, &declare_api);
        }
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return true; /* it can't be tried: the process itself finds out */
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        buf_addf(d->problems,
            "%s: %s does not come back from declare() within %d s; correct it, or remove it from "
            "modules\n",
            m->file, m->name, DECLARE_SECONDS);
    else if (WIFSIGNALED(status))
        buf_addf(d->problems,
            "%s: %s crashes while it is loaded and declares (%s); correct it, or remove it from "
            "modules\n",
            m->file, m->name, strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        buf_addf(d->problems,
            "%s: %s ends the process while it declares (exit status %d); correct it, or remove it "
            "from modules\n",
            m->file, m->name, WEXITSTATUS(status));
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void collect_migrations(struct registry *r, const struct wharf_decl *d)
{
    size_t n_kernel;
    const struct plugin_migration *kernel = migrate_kernel_files(&n_kernel);
    struct plugin_migration *all = ARENA_ARRAY(
        d->arena, struct plugin_migration, n_kernel + d->migrations.n);

    memcpy(all, kernel, n_kernel * sizeof(*all));
    if (d->migrations.n)
        memcpy(all + n_kernel, d->migrations.items, d->migrations.n * sizeof(*all));
    r->migrations = all;
    r->n_migrations = n_kernel + d->migrations.n;
}

/* Adds known areas: those of the catalogue even when no module claims them, and those of a
 * manifest when no route needs them, so that keys can be made for them. */
static void known_areas(struct engine *e, const struct registry *r)
{
    size_t n;
    const struct role_area *areas = roles_areas(&n);

    for (size_t i = 0; i < n; i++)
        area_number(&e->areas, areas[i].area);
    for (size_t i = 0; i < r->n_manifests; i++) {
        const struct manifest *m = r->manifests[i];

        for (size_t k = 0; k < m->n_scopes; k++) {
            if (!strchr(m->scopes[k], ':'))
                area_number(&e->areas, m->scopes[k]);
        }
    }
}

static void free_arena(void *arena)
{
    arena_free(arena);
}

struct registry *registry_load(const struct config *config, const char *quarantined,
    enum registry_mode mode, struct arena *a, wharf_str *ret_problems)
{
    struct registry *r = ARENA_NEW(a, struct registry);
    struct engine *e = ARENA_NEW(a, struct engine);
    struct plugin *plugins;
    struct wharf_decl decl;
    struct buf problems;
    bool complete = true;

    r->manifests = registry_resolve(config, quarantined, a, &r->n_manifests, ret_problems);
    if (!r->manifests)
        return NULL;
    buf_init(&problems, 1 << 20);
    e->arena = a;
    e->plugin_memory = arena_small(1 << 12);
    arena_belongs(e->plugin_memory, MEMORY_DEFINITIONS);
    arena_on_release(a, free_arena, e->plugin_memory);
    e->config = config;
    e->loading = &problems;
    r->engine = e;
    known_areas(e, r);
    plugins = ARENA_ARRAY(a, struct plugin, r->n_manifests);
    e->plugins = plugins;
    declare_init(&decl, e, &problems);
    decl.manifests = r->manifests;
    decl.n_manifests = r->n_manifests;
    parts_jobs(&decl);
    parts_checks(&decl);
    for (size_t i = 0; i < r->n_manifests; i++) {
        complete = (mode != REGISTRY_GUARDED ||
                       declare_survives(&decl, &plugins[i], r->manifests[i], (unsigned)i)) &&
                   load_one(e, &plugins[i], r->manifests[i], (unsigned)i, &problems);
        if (!complete)
            break; /* what the others declare can't be held against what is missing */
        e->n_plugins = i + 1;
        decl.plugin = &plugins[i];
        plugins[i].desc->declare(plugins[i].handle, &decl, &declare_api);
    }
    decl.plugin = NULL;
    parts_routes(&decl);
    absent_add(&decl, config, quarantined);
    if (complete) {
        declare_finish(&decl);
        declare_check(&decl);
        collect_migrations(r, &decl);
        deprecation_link(e, &problems);
    }
    parts_link(e);
    if (!problems.n)
        engine_link(e, &problems);
    if (!problems.n)
        event_catalogue_link(e, &problems);
    if (!problems.n)
        declare_check_events(&decl);
    e->loading = NULL;
    *ret_problems = arena_dup_str(a, buf_str(&problems));
    buf_done(&problems);
    return ret_problems->n ? NULL : r;
}

struct engine *registry_engine(struct registry *r)
{
    return r->engine;
}

size_t registry_plugin_count(const struct registry *r)
{
    return r->n_manifests;
}

const struct manifest *registry_plugin(const struct registry *r, size_t i)
{
    return r->manifests[i];
}

const struct plugin_migration *registry_migrations(const struct registry *r, size_t *ret_count)
{
    *ret_count = r->n_migrations;
    return r->migrations;
}
