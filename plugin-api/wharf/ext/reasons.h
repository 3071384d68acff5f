/* wharf/ext/reasons.h - services of the module reasons.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/03-shipments-and-trackers.md section 7. */
#ifndef WHARF_EXT_REASONS_H
#define WHARF_EXT_REASONS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "reasons.lookup", version 1.0. */
typedef struct wharf_reasons_lookup_api {
    wharf_head head;
    /* A code that a row of this kind ("manifest") is about to be linked to. Told at path:
     * validation.failed (unknown), reason_code.inactive, reason_code.resource_mismatch.
     * *ret_code: its code. */
    wharf_status (*check)(
        wharf_req *req, wharf_str id, const char *kind, const char *path, wharf_str *ret_code);
    /* {id, code, name, description} of a code, deleted ones too; NULL in *ret_code: there never
     * was such one. */
    wharf_status (*linked)(wharf_req *req, wharf_str id, const wharf_json **ret_code);
} wharf_reasons_lookup_api;

#ifdef __cplusplus
}
#endif
#endif
