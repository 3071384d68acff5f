/* wharf/ext/exports.h - services of the module exports.
 *
 * Same rules as wharf/plugin.h. Source: docs/spec/01-platform.md section 15. */
#ifndef WHARF_EXT_EXPORTS_H
#define WHARF_EXT_EXPORTS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows that the export of a resource has when they are not those of its list, but something that
 * the module reckons. Lives as long as the process. */
typedef struct wharf_export_source {
    wharf_head head;
    const char *resource; /* of the module; its definition says whose read scope is asked for */
    const char *const *members; /* of each row, in their order; NULL ends them */
    /* Judges the options of a new export, a JSON object. Tells what is wrong with them as
     * param.invalid or location_access, at base ("options.") and the option's name. */
    wharf_status (*check)(wharf_req *req, const wharf_json *options, const char *base);
    /* Reckons the rows, JSON texts of objects in the request's memory, in a transaction that only
     * reads, as the caller that made the export. WHARF_DENIED: it may not any more;
     * WHARF_INVALID: the options hold no more. */
    wharf_status (*rows)(wharf_req *req, const wharf_json *options, const char *base,
        const wharf_str **ret_rows, size_t *ret_n);
} wharf_export_source;

/* Service "exports.sources", version 1.0. */
typedef struct wharf_exports_sources_api {
    wharf_head head;
    /* Takes a source, at start. WHARF_INVALID: its resource has one already, or there are 16. */
    wharf_status (*add)(const wharf_export_source *source);
} wharf_exports_sources_api;

#ifdef __cplusplus
}
#endif
#endif
