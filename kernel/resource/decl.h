/* decl.h - what plugins and the server's parts declare, while an engine is being built.
 *
 * Leaves to others: the functions that plugins call (host/declare.c), handing it to the engine
 * (declare_finish()). */
#ifndef WHARF_RESOURCE_DECL_H
#define WHARF_RESOURCE_DECL_H

#include <string.h>

#include "resource/engine.h"
#include "util/vector.h"

struct foreign_hook {
    const char *resource;
    struct hook_entry entry;
};

/* Returns the link of hooks that are on all resources which name it ("links:documents"), NULL for
 * the name of a resource. */
static inline const char *hooked_link(const char *name)
{
    return strncmp(name, "links:", 6) == 0 ? name + 6 : NULL;
}

struct wharf_decl {
    struct engine *engine;
    struct arena *arena;
    const struct plugin *plugin; /* whose declare() runs */
    struct buf *problems;
    const struct manifest *const *manifests; /* of all plugins that are being loaded */
    size_t n_manifests;
    struct vector resources; /* struct resource */
    struct vector routes; /* struct route */
    struct vector hooks; /* struct foreign_hook */
    struct vector services; /* struct service_entry */
    struct vector codes; /* struct error_code */
    struct vector embeds; /* struct embed_entry */
    struct vector migrations; /* struct plugin_migration */
    struct vector jobs; /* struct job_kind */
    struct vector steps; /* struct event_step */
    struct vector handlers; /* struct event_handler */
    struct vector checks; /* wharf_check, with full names */
    void (*own_job)(struct wharf_decl *d, const char *name, wharf_handler *fn, const char *policy);
    void (*own_check)(struct wharf_decl *d, const char *area, const wharf_check *c);
    void (*own_route)(struct wharf_decl *d, const wharf_route *r); /* own_route of declare.c */
};

/* Adds a route of the server's own, in the form that plugins have. */
static inline void decl_own_route(struct wharf_decl *d, const wharf_route *r)
{
    d->own_route(d, r);
}

#endif
