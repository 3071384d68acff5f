/* served.h - a file as an answer: what is sent (docs/spec/01-platform.md section 16).
 *
 * Leaves to others: which part of which file (services/blob/blob_serve.c).
 */
#ifndef WHARF_HTTP_SERVED_H
#define WHARF_HTTP_SERVED_H

#include "http/exchange.h"

struct served {
    int fd; /* -1: none (304, 416, HEAD); who sends it sets it to -1 */
    /* in the descriptor; of the part; of the part in the whole; of the whole */
    uint64_t at, length, first, size;
    int status; /* 200, 206, 304, 416 */
    wharf_str type, disposition, etag, cache;
    wharf_str digest; /* Content-Digest (RFC 9530) of the whole */
    bool sandbox; /* Content-Security-Policy: sandbox */
    int64_t modified_us;
};

/* Makes the answer that x->req.served describes, and sets *ret_status. */
struct MHD_Response *served_response(struct exchange *x, int *ret_status);

#endif
