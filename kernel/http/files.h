/* files.h - signed links: GET, HEAD and PUT of /v1/files/:file (docs/spec/01-platform.md section 16). */
#ifndef WHARF_HTTP_FILES_H
#define WHARF_HTTP_FILES_H

#include "http/exchange.h"
#include "plugin/declare.h"

void files_routes_add(struct wharf_decl *d);
/* The answer that req->served describes. */
struct MHD_Response *files_response(struct exchange *x, int *ret_status);

/* An upload: before its body the link is looked up (the exchange is suspended and goes on as X_KEYED), then the bytes go to the store's
 * temporary file as they come. */
void upload_begin(struct exchange *x);
bool upload_headers_ok(struct exchange *x); /* false: a problem */
bool upload_take(struct exchange *x, const char *data, size_t n); /* false: a problem */
void upload_drop(struct exchange *x);

#endif
