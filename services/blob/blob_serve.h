/* blob_serve.h - a file as an HTTP answer: ranges, conditions, and headers that keep browsers
 * from running it.
 *
 * docs/spec/01-platform.md section 16, docs/spec/05-documents-and-templates.md section 3.2.
 * Leaves to others: sending it (http/). */
#ifndef WHARF_BLOB_BLOB_SERVE_H
#define WHARF_BLOB_BLOB_SERVE_H

#include "blob/blob_file.h"
#include "http/served.h"

enum range_kind { RANGE_ALL, RANGE_PART, RANGE_NONE };
/* Reads one range of RFC 9110; several, other units and what is malformed mean the whole.
 * RANGE_NONE: outside of it. range may be NULL. */
enum range_kind range_read(
    const char *range, uint64_t size, uint64_t *ret_first, uint64_t *ret_length);

/* Sets req->reply.served. cache: value of Cache-Control; attachment: never shown in the browser.
 * Problems as file_open(). */
wharf_status file_serve(
    struct wharf_req *req, const struct file_row *row, wharf_str cache, bool attachment);
/* Returns the type that is said: active content (html, svg, xml, scripts, programs) is
 * application/octet-stream. */
wharf_str served_type(struct arena *a, wharf_str type, bool *ret_active);
/* Tells what is said of a file: its type and disposition. Returns whether it is active content,
 * which is never shown in the browser. */
bool file_said(struct arena *a, const struct file_row *row, bool attachment, wharf_str *ret_type,
    wharf_str *ret_disposition);
/* Makes the header Content-Disposition (RFC 6266). */
wharf_str content_disposition(struct arena *a, wharf_str name, bool inline_shown);

#endif
