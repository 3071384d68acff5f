/* wharf/service/http.h - a request as it came: service "wharf.http", version 1.0.
 *
 * For routes declared with WHARF_R_RAW_BODY, which judge bytes and headers themselves (signatures, other formats than JSON). Of other requests
 * there is nothing to see here. Rules of this header: wharf/plugin.h. All functions are [worker]; texts live as long as the request.
 */
#ifndef WHARF_SERVICE_HTTP_H
#define WHARF_SERVICE_HTTP_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_http_api {
    wharf_head head;
    wharf_str (*body)(wharf_req *req);                                     /* decompressed; unlike other texts it may hold zeros */
    wharf_str (*header)(wharf_req *req, const char *name);                 /* of several lines the first; "" when there is none */
    /* The i-th line, from 0 on, in the order in which they came; false: there are no more. Bytes that are not UTF-8 are shown as '?'. */
    bool (*header_at)(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value);
} wharf_http_api;

#ifdef __cplusplus
}
#endif
#endif
