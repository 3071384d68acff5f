/* s3_call.h - requests to the S3-compatible server, signed by libcurl (AWS Signature Version 4):
 * one, one with three tries, and pages of a list.
 *
 * docs/spec/05-documents-and-templates.md section 6. Leaves to others: what the objects are
 * (s3.c, s3_direct.c). */
#ifndef WHARF_BLOB_S3_CALL_H
#define WHARF_BLOB_S3_CALL_H

#include "blob/blob_store.h"
#include "net/client.h"

enum {
    S3_URL_MAX = 2000,
    S3_ANSWER_MAX = 4 << 20,
    S3_TRIES = 3 /* of a request to S3 */
};

struct s3_call {
    const char *method;
    char url[S3_URL_MAX];
    const char *header; /* one of its own, or NULL */
    char hash[BLOB_HASH + 1]; /* of the body; empty: of text */
    int body_fd;
    uint64_t at, size; /* of the file, or of text */
    const char *text;
    uint64_t max; /* of the answer; 0: S3_ANSWER_MAX */
    /* Where the answer's body goes (net/client.h); NULL: to memory. */
    bool (*sink)(void *arg, const void *p, size_t n);
    void *sink_arg;
    /* Empties the sink before the next try. Returns false when it can't. NULL without a sink. */
    bool (*again)(void *arg);
    bool once; /* one try, for who does not wait */
    int64_t within_us; /* of a try, all in all; 0: as long as something comes */
};

struct s3_call s3_call_of(struct blob_store *s, const char *method, const char *key);
/* Runs it, and tries again what may go better. Never NULL. */
struct net_transfer *s3_run(struct blob_store *s, const struct s3_call *call);
/* Tells what an answer means, and logs trouble. t is freed unless it went well and ret_keep takes
 * it. */
enum blob_status s3_end(struct net_transfer *t, const char *what, struct net_transfer **ret_keep);

/* Sinks of a file: sink_arg points to its descriptor. */
bool s3_to_file(void *arg, const void *p, size_t n);
bool s3_file_again(void *arg);

/* Finds the text between <tag> and </tag>, from *at on, which then stands behind it. */
bool s3_element(const char **at, const char *tag, char *out, size_t size);
/* Escapes everything but letters and digits: upload ids and continuation tokens are theirs. */
void s3_escape(const char *from, char *out, size_t size);

/* Walks over the keys that begin with prefix, of objects that changed last more than age_s seconds
 * ago. fn returns false to end the walk. */
typedef bool s3_key_fn(void *arg, const char *key);
enum blob_status s3_list(
    struct blob_store *s, const char *prefix, int64_t age_s, s3_key_fn *fn, void *arg);

#endif
