/* upload.h - a body that is a file: it goes to a store as it comes, instead of into memory
 * (docs/spec/01-platform.md section 16).
 *
 * Leaves to others: the store (services/blob/files_route.c). Without a store no route takes
 * files. */
#ifndef WHARF_HTTP_UPLOAD_H
#define WHARF_HTTP_UPLOAD_H

#include "http/exchange.h"

struct upload_handler {
    /* Before the body: looks the link up. The exchange is suspended, and goes on as X_KEYED with
     * x->upload set. */
    void (*begin)(struct exchange *x);
    /* Judges the headers, begins a temporary file. False: a problem. */
    bool (*headers_ok)(struct exchange *x);
    /* Takes n bytes. False: a problem. */
    bool (*take)(struct exchange *x, const char *data, size_t n);
    /* Removes what was taken and not kept; does nothing when there is none. */
    void (*drop)(struct exchange *x);
};

#endif
