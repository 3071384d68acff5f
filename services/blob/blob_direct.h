/* blob_direct.h - what clients bring to the S3-compatible server, and read there, past this
 * server: signed links, uploads that wait to be taken, copies that signed reads lead to.
 *
 * An upload is `uploads/<organization>/<file>`: anybody with the link may write it again until the
 * link is over, so nothing is believed of it until its bytes were fetched and hashed. A copy is
 * `downloads/<organization>/<file>`: erasing it ends all links to the file at once, whereas the
 * object of the bytes (`objects/`) may be other files', too.
 * docs/spec/05-documents-and-templates.md sections 2 and 6. Leaves to others: rows and locks
 * (file_direct.c, file_fetch.c, collect.c). */
#ifndef WHARF_BLOB_BLOB_DIRECT_H
#define WHARF_BLOB_BLOB_DIRECT_H

#include "blob/blob.h"

enum direct_kind { DIRECT_UPLOAD, DIRECT_COPY };

struct direct_name {
    enum direct_kind kind;
    wharf_str organization, file;
};

/* A server copies objects of up to 5 GiB in one request. */
#define DIRECT_MAX (5LL << 30) /* bytes of a file that S3 copies */

/* Tells whether links lead to the S3-compatible server (blob.s3.direct). */
bool blob_direct(const struct blob_store *s);
/* Tells whether there is such a server at all. */
bool blob_direct_able(const struct blob_store *s);

/* Makes a signed link that brings an upload. The client sends Content-Type: type and, where md5 is
 * not empty, Content-MD5: md5. Clock: the machine's real one. */
wharf_str blob_direct_put(struct blob_store *s, struct arena *a, const struct direct_name *name,
    wharf_str type, wharf_str md5, int64_t seconds);
/* Makes a signed link that reads a copy, as that type and disposition. */
wharf_str blob_direct_get(struct blob_store *s, struct arena *a, const struct direct_name *name,
    wharf_str type, wharf_str disposition, int64_t seconds);

/* Asks how large it is. brief: BLOB_TROUBLE after 3 seconds, or at once when the server did not
 * answer a moment ago. */
enum blob_status blob_direct_size(
    struct blob_store *s, const struct direct_name *name, bool brief, uint64_t *ret_size);
/* Fetches an upload of at most max bytes. BLOB_TOO_LARGE: it is larger. */
enum blob_status blob_direct_fetch(
    struct blob_store *s, const struct direct_name *name, uint64_t max, struct blob_put **ret_put);
/* Copies the object of a hash there, inside of the server. BLOB_TROUBLE at once, as above. */
enum blob_status blob_direct_copy(
    struct blob_store *s, const char *hash, const struct direct_name *name);
/* Erases it; BLOB_OK too when it was not there. brief: one try, of 3 seconds. */
enum blob_status blob_direct_erase(
    struct blob_store *s, const struct direct_name *name, bool brief);
/* Walks over all of a kind; fn returns false to end the walk. The texts of the name live as long
 * as the call. */
typedef bool direct_walk_fn(void *arg, const struct direct_name *name);
enum blob_status blob_direct_walk(
    struct blob_store *s, enum direct_kind kind, direct_walk_fn *fn, void *arg);

#endif
