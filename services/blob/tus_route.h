/* tus_route.h - uploads in pieces by the protocol tus 1.0, for files_route.c. See tus_route.c. */
#ifndef WHARF_BLOB_TUS_ROUTE_H
#define WHARF_BLOB_TUS_ROUTE_H

#include "blob/blob_file.h"

/* Headers of a PATCH; NULL: there is none. */
struct tus_headers {
    const char *version, *type, *offset, *length, *checksum;
};

/* Answers HEAD: how far the upload is. Problems: file.upload_busy, storage.unavailable. */
wharf_status tus_head(struct wharf_req *req, const struct file_row *row);
/* Judges the headers of a PATCH and opens what is here of the file as req->reply.put. Fills in
 * row->want_size from Upload-Length. False: a problem. [loop] */
bool tus_headers_ok(struct wharf_req *req, const struct tus_headers *h, struct file_row *row);
/* Takes the piece in req->reply.put, and the file when it was the last one. Problems as of a PUT,
 * file.piece_damaged. */
wharf_status tus_piece(struct wharf_req *req, struct file_row *row);

#endif
