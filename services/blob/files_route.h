/* files_route.h - signed links: GET, HEAD and PUT of /v1/files/:file. See files_route.c. */
#ifndef WHARF_BLOB_FILES_ROUTE_H
#define WHARF_BLOB_FILES_ROUTE_H

#include "http/upload.h"
#include "resource/decl.h"

void files_routes_add(struct wharf_decl *d);
extern const struct upload_handler file_uploads;

#endif
