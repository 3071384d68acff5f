/* declare.h - the registration being built while plugins declare. See declare.c. */
#ifndef WHARF_PLUGIN_DECLARE_H
#define WHARF_PLUGIN_DECLARE_H

#include "plugin/host.h"

struct vector {
    void *items;
    size_t n, cap, size;
};
void *vector_add(struct arena *a, struct vector *v); /* a zeroed element */

struct foreign_hook {
    const char *resource;
    struct hook_entry entry;
};

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
};

void declare_init(struct wharf_decl *d, struct engine *e, struct buf *problems);
extern const wharf_decl_api declare_api;
/* Adds a problem of d->plugin (NULL: the server): loading fails, and all problems are told together. */
void declare_problem(struct wharf_decl *d, const char *fmt, ...) WHARF_PRINTF(2, 3);
/* Adds a problem when the scope area is neither in the catalogue nor in the plugin's manifest. */
void declare_area(struct wharf_decl *d, const char *area);
/* A route of the kernel's own, in the form plugins have. */
void declare_kernel_route(struct wharf_decl *d, const wharf_route *r);
/* Hands what was collected to the engine: hooks to their resources, in order. */
void declare_finish(struct wharf_decl *d);

#endif
