/* wharf/service/schema.h - JSON Schemas that tenants write: service "wharf.schema", version 1.1.
 *
 * The subset of JSON Schema 2020-12 of docs/reference/plugin-abi.md section 6. Nobody vouches for
 * these schemas: whatever they say, comparing ends within some hundredths of a second. Rules of
 * this header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_SCHEMA_H
#define WHARF_SERVICE_SCHEMA_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_schema_api {
    wharf_head head;
    /* Is it one, of at most 16 KiB and 20 patterns? What is wrong is told with this code at this
     * path. */
    wharf_status (*check)(
        wharf_req *req, const wharf_json *schema, const char *code, const char *path);
    /* Checks a value against a checked schema. Refusals are told as validation.failed with paths
     * that begin with path ("input" gives "input.name"): the first 50 places. A value that takes
     * too long to be compared is refused. */
    wharf_status (*validate)(
        wharf_req *req, const wharf_json *schema, const wharf_json *value, const char *path);
    /* 1.1: the same, where there is nobody to answer: what is refused comes as one line, the
     * sentences with "; " between; empty: nothing is. The status tells of the server only. */
    wharf_status (*faults)(wharf_req *req, const wharf_json *schema, const wharf_json *value,
        const char *path, wharf_str *ret_text);
} wharf_schema_api;

#ifdef __cplusplus
}
#endif
#endif
