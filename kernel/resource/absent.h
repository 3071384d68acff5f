/* absent.h - modules that are configured but left out of this generation: quarantined ones, and
 * those that need them.
 *
 * docs/reference/plugin-abi.md section 11: their routes answer 503 `module.unavailable`. No code of
 * theirs is run to find out which routes those are: each worker that loaded a module notes its
 * routes in DATA/modules/NAME.json. Leaves to others: why a module is left out
 * (supervisor/blame.c), the answer (http/http_check.c). */
#ifndef WHARF_RESOURCE_ABSENT_H
#define WHARF_RESOURCE_ABSENT_H

#include "resource/decl.h"

enum { ABSENT_RETRY_S = 60 }; /* Retry-After: somebody has to look into it first */

struct absent {
    const struct manifest *manifest;
    bool quarantined; /* else it needs one that is */
    /* arrays of texts ("items", "GET /v1/items", "item"), or NULL */
    const struct wharf_json *areas, *routes, *resources;
};

/* Adds the known routes of what the comma list leaves out, and fills engine->absent. */
void absent_add(struct wharf_decl *d, const struct config *config, const char *quarantined);
/* Finds the module that is left out and has a resource of that name; when there is none, one whose
 * resources nobody noted. Returns NULL when there is neither. */
const struct absent *absent_owner(const struct engine *e, const char *resource);
/* Notes the routes, areas and resources of the loaded modules. A folder that can't be written is
 * logged, and no more. */
void absent_remember(const struct engine *e, const char *data);

#endif
