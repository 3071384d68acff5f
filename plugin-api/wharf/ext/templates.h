/* wharf/ext/templates.h - services of the module templates. Rules: wharf/plugin.h. */
#ifndef WHARF_EXT_TEMPLATES_H
#define WHARF_EXT_TEMPLATES_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "templates.render", version 1.0: templates drawn for requests of other modules
 * (docs/spec/05-documents-and-templates.md section 8). */
typedef struct wharf_templates_render_api {
    wharf_head head;
    /* Draws what the object names, as a PDF, with the caller's rights: {id, resource: {type, id}}
     * or {id, data}; id may be a type, which means its default (at location, which may be empty).
     * ret_bytes lives as long as the request. Problems: scope_access (templates:read and that of
     * the row), those of the row, validation.failed at members of the object ("resource.id"),
     * template.render_failed when an element can't be drawn, and others of the route. */
    wharf_status (*pdf)(
        wharf_req *req, const wharf_json *named, wharf_str location, wharf_str *ret_bytes);
} wharf_templates_render_api;

#ifdef __cplusplus
}
#endif
#endif
