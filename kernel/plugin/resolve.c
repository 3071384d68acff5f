/* resolve.c - which plugins, in what order: manifests only, no plugin code
 * (docs/reference/plugin-abi.md sections 2 to 4).
 *
 * All problems are told at once. The order is topological by needs, ties by name, so it never
 * depends on a directory. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/module_settings.h"
#include "plugin/resolve.h"
#include "plugin/offered.h"
#include "plugin/static.h"
#include "util/str.h"

enum { PLUGINS_MAX = 128 }; /* plugins of a server */

static const char *find_file(const struct config *c, const char *name, struct arena *a)
{
    const char *p = c->module_path ? c->module_path : "";

    if (strchr(name, '/'))
        return name;
    while (*p) {
        size_t n = strcspn(p, ":");
        wharf_str direct = arena_printf(a, "%.*s/%s.so", (int)n, p, name);
        wharf_str nested = arena_printf(a, "%.*s/%s/%s.so", (int)n, p, name, name);

        if (access(direct.p, R_OK) == 0)
            return direct.p;
        if (access(nested.p, R_OK) == 0)
            return nested.p;
        p += n + (p[n] == ':');
    }
    return NULL;
}

bool names_have(const char *list, const char *name)
{
    size_t n = strlen(name);

    while (list && *list) {
        size_t k = strcspn(list, ",");

        if (k == n && !strncmp(list, name, n))
            return true;
        list += k + (list[k] == ',');
    }
    return false;
}

static const struct manifest_service *resolve_provider(const struct manifest *const *all, size_t n,
    const char *service, uint16_t major, const struct manifest **ret_owner)
{
    const struct offered_service *own = offered_find(service);
    const struct manifest_service *other = NULL;

    *ret_owner = NULL;
    if (own)
        return &own->offer;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < all[i]->n_provides; k++) {
            const struct manifest_service *s = &all[i]->provides[k];

            if (strcmp(s->name, service) != 0)
                continue;
            *ret_owner = all[i];
            if (s->major == major)
                return s;
            other = s;
        }
    }
    return other;
}

static void check_needs(
    const struct manifest *const *all, size_t n, const struct manifest *m, struct buf *problems)
{
    for (size_t i = 0; i < m->n_needs; i++) {
        const struct manifest_service *need = &m->needs[i];
        const struct manifest *owner;
        const struct manifest_service *have = resolve_provider(
            all, n, need->name, need->major, &owner);

        if (!have)
            buf_addf(problems,
                "%s: %s %s needs %s %u.%u, which no enabled module provides; enable the module "
                "that does, or remove %s\n",
                m->file, m->name, m->version, need->name, need->major, need->minor, m->name);
        else if (have->major != need->major || have->minor < need->minor)
            buf_addf(problems, "%s: %s %s needs %s %u.%u, %s %s offers %u.%u; %s\n", m->file,
                m->name, m->version, need->name, need->major, need->minor,
                owner ? owner->name : "this server", owner ? owner->version : "", have->major,
                have->minor,
                owner ? "install a newer version of the module that offers it"
                      : "use a newer server");
    }
}

static void check_clashes(const struct manifest *const *all, size_t n, struct buf *problems)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            if (!strcmp(all[i]->name, all[k]->name))
                buf_addf(problems, "%s and %s are both named %s; enable one of them\n",
                    all[i]->file, all[k]->file, all[i]->name);
            for (size_t x = 0; x < all[i]->n_scopes * all[k]->n_scopes; x++) {
                const char *area = all[i]->scopes[x / all[k]->n_scopes];

                if (!strcmp(area, all[k]->scopes[x % all[k]->n_scopes]))
                    buf_addf(problems,
                        "%s and %s both claim the scope area %s; enable one of them\n",
                        all[i]->file, all[k]->file, area);
            }
            for (size_t x = 0; x < all[i]->n_provides; x++) {
                for (size_t y = 0; y < all[k]->n_provides; y++) {
                    if (!strcmp(all[i]->provides[x].name, all[k]->provides[y].name) &&
                        all[i]->provides[x].major == all[k]->provides[y].major)
                        buf_addf(problems, "%s and %s both provide %s %u; enable one of them\n",
                            all[i]->file, all[k]->file, all[i]->provides[x].name,
                            all[i]->provides[x].major);
                }
            }
        }
    }
}

static bool resolve_ready(
    const struct manifest *const *all, size_t n, const bool *placed, const struct manifest *m)
{
    for (size_t i = 0; i < m->n_needs; i++) {
        const struct manifest *owner;

        resolve_provider(all, n, m->needs[i].name, m->needs[i].major, &owner);
        for (size_t k = 0; owner && owner != m && k < n; k++) {
            if (all[k] == owner && !placed[k])
                return false;
        }
    }
    return true;
}

static void resolve_order(
    const struct manifest *const *all, size_t n, const struct manifest **out, struct buf *problems)
{
    bool placed[PLUGINS_MAX] = {false};

    for (size_t done = 0; done < n; done++) {
        size_t best = n;

        for (size_t i = 0; i < n; i++) {
            if (!placed[i] && resolve_ready(all, n, placed, all[i]) &&
                (best == n || strcmp(all[i]->name, all[best]->name) < 0))
                best = i;
        }
        if (best == n) {
            buf_addz(problems, "these modules need each other in a circle:");
            for (size_t i = 0; i < n; i++) {
                if (!placed[i])
                    buf_addf(problems, " %s", all[i]->name);
            }
            buf_addz(problems, "; one of them must only \"want\" the other\n");
            return;
        }
        placed[best] = true;
        out[done] = all[best];
    }
}

/* Leaves out quarantined plugins and, transitively, those that need what only they provide. */
static size_t resolve_leave_out(const struct manifest **all, size_t n, const char *quarantined)
{
    bool again = true;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (!names_have(quarantined, all[i]->name))
            all[kept++] = all[i];
    }
    if (kept == n)
        return n;
    while (again) {
        size_t before = kept;

        kept = 0;
        for (size_t i = 0; i < before; i++) {
            const struct manifest *owner;
            bool complete = true;

            for (size_t k = 0; k < all[i]->n_needs; k++)
                complete = complete && resolve_provider(all, before, all[i]->needs[k].name,
                                           all[i]->needs[k].major, &owner);
            if (complete)
                all[kept++] = all[i];
        }
        again = kept != before;
    }
    return kept;
}

static void check_abi(const struct manifest *m, struct buf *problems)
{
    if (m->abi_major != WHARF_ABI_MAJOR)
        buf_addf(problems,
            "%s: %s %s was built for plugin ABI %u, this server has %d; install a build for ABI "
            "%d\n",
            m->file, m->name, m->version, m->abi_major, WHARF_ABI_MAJOR, WHARF_ABI_MAJOR);
    else if (m->abi_minor > WHARF_ABI_MINOR)
        buf_addf(problems,
            "%s: %s %s needs plugin ABI %u.%u, this server has %d.%d; use a newer server or an "
            "older %s\n",
            m->file, m->name, m->version, m->abi_major, m->abi_minor, WHARF_ABI_MAJOR,
            WHARF_ABI_MINOR, m->name);
}

/* Reads one manifest. What is linked into the program comes before files of the same name. */
static const struct manifest *resolve_read_one(
    const struct config *config, const char *name, struct arena *a, struct buf *problems)
{
    const struct static_module *linked = static_module_find(name);
    const struct manifest *m;
    const char *file;
    wharf_str why;

    if (linked) {
        m = manifest_parse(a, name, *linked->manifest, &why);
    } else {
        file = find_file(config, name, a);
        if (!file) {
            buf_addf(problems, "modules: there is no %s.so in module_path (%s)\n", name,
                config->module_path ? config->module_path : "");
            return NULL;
        }
        m = manifest_read(a, file, &why);
    }
    if (!m)
        buf_addf(problems, "%.*s\n", STR_ARG(why));
    return m;
}

/* Tells whether a module is left out by its name: "/opt/x/dock_doors.so" is of the plugin
 * dock_doors. */
static bool left_out_by_name(const char *module, const char *quarantined)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    char bare[64];
    int n = (int)strlen(name);

    if (n > 3 && strcmp(name + n - 3, ".so") == 0)
        n -= 3;
    snprintf(bare, sizeof(bare), "%.*s", n, name);
    return names_have(quarantined, bare);
}

const struct manifest *const *registry_left_out(
    const struct config *config, const char *quarantined, struct arena *a, size_t *ret_count)
{
    const struct manifest **all = ARENA_ARRAY(a, const struct manifest *, PLUGINS_MAX);
    const struct manifest **kept = ARENA_ARRAY(a, const struct manifest *, PLUGINS_MAX);
    struct buf problems;
    size_t n = 0, n_kept, n_out = 0, k = 0;

    *ret_count = 0;
    if (!quarantined[0])
        return all;
    buf_init(&problems, 1 << 20);
    for (size_t i = 0; i < config->modules.count && n < PLUGINS_MAX; i++) {
        const struct manifest *m = resolve_read_one(config, config->modules.items[i], a, &problems);

        if (m && !(config->safe_mode && m->third_party))
            all[n++] = m;
    }
    buf_done(&problems); /* registry_resolve() tells them */
    memcpy(kept, all, n * sizeof(*all));
    n_kept = resolve_leave_out(kept, n, quarantined);
    for (size_t i = 0; i < n; i++) { /* kept is a subsequence of all */
        if (k < n_kept && kept[k] == all[i])
            k++;
        else
            all[n_out++] = all[i];
    }
    *ret_count = n_out;
    return all;
}

const struct manifest *const *registry_resolve(const struct config *config, const char *quarantined,
    struct arena *a, size_t *ret_count, wharf_str *ret_problems)
{
    const struct manifest **all = ARENA_ARRAY(a, const struct manifest *, PLUGINS_MAX);
    const struct manifest **out = ARENA_ARRAY(a, const struct manifest *, PLUGINS_MAX);
    struct buf problems, unread;
    size_t n = 0;

    buf_init(&problems, 1 << 20);
    buf_init(&unread, 1 << 20);
    for (size_t i = 0; i < config->modules.count && n < PLUGINS_MAX; i++) {
        const struct manifest *m = resolve_read_one(config, config->modules.items[i], a, &unread);

        if (!m && !left_out_by_name(config->modules.items[i], quarantined))
            buf_adds(&problems, buf_str(&unread)); /* a file that is not used may be damaged */
        buf_clear(&unread);
        if (!m || (config->safe_mode && m->third_party))
            continue;
        check_abi(m, &problems);
        all[n++] = m;
    }
    buf_done(&unread);
    n = resolve_leave_out(all, n, quarantined);
    check_clashes(all, n, &problems);
    for (size_t i = 0; i < n; i++) {
        check_needs(all, n, all[i], &problems);
        module_settings_check(config, all[i], a, &problems);
    }
    if (!problems.n)
        resolve_order(all, n, out, &problems);
    *ret_count = n;
    *ret_problems = arena_dup_str(a, buf_str(&problems));
    buf_done(&problems);
    return ret_problems->n ? NULL : out;
}
