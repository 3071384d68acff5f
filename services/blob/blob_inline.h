/* blob_inline.h - bytes that stand in a text: data URIs and base64; and their MD5.
 *
 * docs/spec/05-documents-and-templates.md section 1 (content), docs/spec/04-printing.md section 7
 * (data). Leaves to others: which texts are taken, and how large they may be. */
#ifndef WHARF_BLOB_BLOB_INLINE_H
#define WHARF_BLOB_BLOB_INLINE_H

#include "blob/blob.h"
#include "resource/request.h"

/* Takes n bytes of what a text holds; false ends the reading. */
typedef bool inline_take_fn(void *arg, const void *bytes, size_t n);

enum inline_end { INLINE_DONE, INLINE_STOPPED, INLINE_BAD };

/* Hands over what a data URI or bare base64 holds, in pieces. Both alphabets, white space and
 * missing padding do no harm. ret_type: the URI's type as it is written, borrowed from text, or
 * empty. INLINE_BAD: *ret_fault says why, as a sentence about "it". */
enum inline_end inline_read(
    wharf_str text, inline_take_fn *take, void *arg, wharf_str *ret_type, const char **ret_fault);

/* Computes the MD5, in base64, of length bytes of a descriptor from `at` on. Returns false when
 * they can't be read. */
bool inline_md5(struct arena *a, int fd, int64_t at, int64_t length, wharf_str *ret_base64);

#endif
