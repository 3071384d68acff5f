/* envelope.h - the JSON around every answer: the common envelope, or problem details for errors
 * on request.
 *
 * docs/spec/01-platform.md section 1. Leaves to others: headers (http/http_answer.c). */
#ifndef WHARF_RESOURCE_ENVELOPE_H
#define WHARF_RESOURCE_ENVELOPE_H

#include "resource/request.h"

void envelope_write(struct buf *out, const struct wharf_req *req, int status);
/* Writes the member "errors": each path of the problems that have the first problem's code,
 * once. */
void envelope_errors(struct jw *w, const struct wharf_req *req);
/* Writes the problem document (RFC 9457); the request has at least one problem. */
void problem_details_write(struct buf *out, const struct wharf_req *req, int status);

#endif
