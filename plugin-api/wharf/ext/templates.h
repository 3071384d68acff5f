/* wharf/ext/templates.h - services of the module templates. Rules: wharf/plugin.h. */
#ifndef WHARF_EXT_TEMPLATES_H
#define WHARF_EXT_TEMPLATES_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A definition for draft(). The caller sets head. */
typedef struct wharf_templates_draft {
    wharf_head head;
    /* A definition, or an object as template_data is, which has a type. */
    const wharf_json *definition;
    /* An object, or an array of one for each copy. NULL: the template's `sample`, or the
     * definition's `data`. */
    const wharf_json *data;
    uint32_t format; /* enum wharf_draw_format (wharf/service/draw.h), a file */
    uint32_t page; /* of a PNG; 0: the first */
} wharf_templates_draft;

/* A drawing and what is told of it; both live as long as the request. The caller sets head. */
typedef struct wharf_templates_drawn {
    wharf_head head;
    wharf_str bytes;
    const wharf_json *report; /* as wharf_draw_made has it */
} wharf_templates_drawn;

/* Service "templates.render", version 1.1: templates drawn for requests of other modules
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
    /* Draws what is no row, for its author: judged as the routes judge it, each problem told by
     * its path. Reads no row and needs no database: images that are documents are missing, which
     * the report says of their elements; fonts that are documents are problems. Since 1.1. */
    wharf_status (*draft)(wharf_req *req, const wharf_templates_draft *draft,
        wharf_templates_drawn *ret_drawn);
} wharf_templates_render_api;

#ifdef __cplusplus
}
#endif
#endif
