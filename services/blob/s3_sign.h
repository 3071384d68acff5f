/* s3_sign.h - signed links to an S3-compatible server ("presigned"): AWS Signature Version 4 in
 * the query, payload unsigned.
 *
 * docs/spec/05-documents-and-templates.md section 6. Pure: it knows no store and no clock. Leaves
 * to others: which objects, for how long (s3_direct.c); requests of our own are signed by libcurl
 * (s3_call.c). */
#ifndef WHARF_BLOB_S3_SIGN_H
#define WHARF_BLOB_S3_SIGN_H

#include <stdint.h>

#include "util/arena.h"
#include "util/buf.h"
#include "wharf/plugin.h"

enum { S3_LINK_MAX_S = 7 * 86400 }; /* a link to S3 is good at most */

struct s3_pair {
    const char *name;
    wharf_str value;
};

struct s3_link {
    const char *key, *secret, *region;
    const char *method;
    wharf_str base; /* "https://host:port/bucket/"; the host is signed as clients send it */
    wharf_str object; /* as it is, not escaped */
    /* Headers that the client must send, beside Host; lower-case names in order. */
    const struct s3_pair *headers;
    size_t n_headers;
    /* Parameters of the request; names in order, behind "X-Amz-". */
    const struct s3_pair *query;
    size_t n_query;
    int64_t now_s; /* of the real clock: servers refuse another one */
    int64_t seconds; /* at most S3_LINK_MAX_S are given */
};

/* Adds a text with all but letters, digits, '-', '.', '_', '~' as %XX; in a path slashes stay. */
void s3_add_escaped(struct buf *b, wharf_str s, bool path);
/* Returns the whole URL. */
wharf_str s3_link_sign(struct arena *a, const struct s3_link *l);

#endif
