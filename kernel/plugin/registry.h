/* registry.h - the plugins of this process: found, ordered, loaded, declared, compiled; then read-only.
 *
 * docs/plugin-abi.md sections 2 to 4. Reading a manifest runs no plugin code. All problems are collected and told at once,
 * each naming the file, both versions and the remedy.
 */
#ifndef WHARF_PLUGIN_REGISTRY_H
#define WHARF_PLUGIN_REGISTRY_H

#include "config/config.h"
#include "plugin/manifest.h"

struct registry;

struct plugin_migration {
    const char *plugin;
    uint32_t number;
    const char *name; /* "init" */
    wharf_str sql;
};

/* Reads the notes of the configured modules and orders them by their needs. NULL and all problems (one per line) in
 * *ret_problems, allocated in a. Runs no plugin code. quarantined: names left out (and those that need them). */
const struct manifest *const *registry_resolve(
    const struct config *config, const char *quarantined, struct arena *a, size_t *ret_count, wharf_str *ret_problems);

/* The configured modules that `quarantined` leaves out: those named, and those that need them. Runs no plugin code. */
const struct manifest *const *registry_left_out(
    const struct config *config, const char *quarantined, struct arena *a, size_t *ret_count);
bool names_have(const char *list, const char *name); /* of a comma list */

/* REGISTRY_GUARDED: each plugin is loaded and declares in a child process first, so that one that crashes, hangs or exits is a problem that
 * names it, and not the end of this process. For commands, before they have threads. */
enum registry_mode { REGISTRY_PLAIN, REGISTRY_GUARDED };
/* resolve + dlopen + declare + compile. The registry lives until the process ends. */
struct registry *registry_load(const struct config *config, const char *quarantined, enum registry_mode mode,
    struct arena *a, wharf_str *ret_problems);

/* What a worker serves with; its board, caches and documents are filled in by the worker. */
struct engine;
struct engine *registry_engine(struct registry *r);

size_t registry_plugin_count(const struct registry *r);
const struct manifest *registry_plugin(const struct registry *r, size_t i); /* in load order */
/* All migrations in load order, the kernel's own first (plugin "wharf"), numbers ascending within a plugin. */
const struct plugin_migration *registry_migrations(const struct registry *r, size_t *ret_count);

#endif
