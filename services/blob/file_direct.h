/* file_direct.h - files whose links lead past this server (blob.s3.direct): the links, taking what
 * was brought, ending what is out.
 *
 * A link to read leads to a copy of the bytes (blob_direct.h), made with the first link behind the
 * lock of the file's row; who ends the links has the same lock and erases the copy before the end
 * of its transaction. So when a delete is answered, no link works. What is brought is taken by
 * whoever looks first: a request about its owner, or the job that looks each minute.
 * docs/spec/05-documents-and-templates.md sections 2, 3.3 and 6; docs/reference/files.md. */
#ifndef WHARF_BLOB_FILE_DIRECT_H
#define WHARF_BLOB_FILE_DIRECT_H

#include "blob/blob_direct.h"
#include "blob/blob_file.h"

enum { COPY_FRESH_S = 3600 }; /* a copy is led to for so long, and kept for twice as long */

/* Makes a link as file_link() does, straight to the S3-compatible server where that is set, and
 * possible. Of a put: the client sends Content-Type, the file's type, and where md5 is not empty
 * Content-MD5: md5. While the server does not answer the link leads to this one. */
wharf_status file_link_direct(struct wharf_req *req, const struct file_row *row, const char *op,
    wharf_str md5, int64_t seconds, wharf_str *ret_url);
/* Ends links of a file that were given out: in the transaction that takes the file away, with its
 * row locked. Problem: storage.unavailable. */
wharf_status file_links_end(struct wharf_req *req, wharf_str organization, wharf_str id);

/* Takes the bytes that a client has brought for a file of the request's organization, if they are
 * there, in a transaction of its own; inside of one it belongs to that. Nothing came, or the server
 * does not answer: nothing happens. Problems only of the database. */
wharf_status file_fetch(struct wharf_req *req, wharf_str id);
/* Runs the kernel's job that takes what nobody asked about. */
wharf_status file_fetch_job(struct wharf_req *req, void *arg);
extern const char file_fetch_policy[];

#endif
