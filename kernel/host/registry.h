/* registry.h - the plugins of this process: found, ordered, loaded, declared, compiled; then
 * read-only.
 *
 * docs/reference/plugin-abi.md sections 2 to 4. Reading a manifest runs no plugin code. All
 * problems are collected and told at once, each naming the file, both versions and the remedy. */
#ifndef WHARF_HOST_REGISTRY_H
#define WHARF_HOST_REGISTRY_H

#include "db/migrate.h"
#include "plugin/resolve.h"

struct registry;

/* REGISTRY_GUARDED: each plugin is loaded and declares in a child process first, so that one
 * that crashes, hangs or exits is a problem that names it, and not the end of this process. For
 * commands, before they have threads. */
enum registry_mode { REGISTRY_PLAIN, REGISTRY_GUARDED };
/* Loads all plugins: resolve, dlopen, declare, compile. The registry lives until the process
 * ends. */
struct registry *registry_load(const struct config *config, const char *quarantined,
    enum registry_mode mode, struct arena *a, wharf_str *ret_problems);

/* Everything that a worker serves with; the worker adds its board, caches and documents. */
struct engine;
struct engine *registry_engine(struct registry *r);

size_t registry_plugin_count(const struct registry *r);
const struct manifest *registry_plugin(const struct registry *r, size_t i); /* in load order */
/* Returns all migrations in load order, the kernel's own first (plugin "wharf"), numbers ascending
 * within a plugin. */
const struct plugin_migration *registry_migrations(const struct registry *r, size_t *ret_count);

#endif
