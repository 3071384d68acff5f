/* backup_file.c - see backup_file.h. */
#include "tool/backup/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob/blob_digest.h"

enum {
    PIECE = 64 * 1024,
    MORE = crypto_secretstream_xchacha20poly1305_ABYTES,
    HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    NAME_MAX_BYTES = 120
};

/* Counts and hashes bytes as they pass. */
struct summing {
    EVP_MD_CTX *digest;
    uint64_t size;
};

static void sum_begin(struct summing *s)
{
    *s = (struct summing){blob_digest_new(EVP_sha256()), 0};
}

static void sum_add(struct summing *s, const void *bytes, size_t n)
{
    if (EVP_DigestUpdate(s->digest, bytes, n) != 1)
        abort();
    s->size += n;
}

static void sum_end(struct summing *s, struct backup_sum *ret)
{
    unsigned char raw[EVP_MAX_MD_SIZE];

    if (ret) {
        if (EVP_DigestFinal_ex(s->digest, raw, NULL) != 1)
            abort();
        sodium_bin2hex(ret->sha256, sizeof(ret->sha256), raw, SUM_TEXT / 2);
        ret->size = s->size;
    }
    EVP_MD_CTX_free(s->digest);
}

/* ---- writing ---- */

struct backup_out {
    int fd, error; /* error: the first errno */
    bool sealed;
    crypto_secretstream_xchacha20poly1305_state state;
    char name[NAME_MAX_BYTES];
    struct summing stored, given;
    size_t n; /* bytes in piece */
    unsigned char piece[PIECE], out[PIECE + MORE];
};

static void backup_file_store(struct backup_out *o, const unsigned char *bytes, size_t n)
{
    sum_add(&o->stored, bytes, n);
    while (n && !o->error) {
        ssize_t w = write(o->fd, bytes, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            o->error = w < 0 ? errno : ENOSPC;
            break;
        }
        bytes += w;
        n -= (size_t)w;
    }
}

static void store_piece(struct backup_out *o, bool last)
{
    unsigned long long n;

    if (o->sealed) {
        crypto_secretstream_xchacha20poly1305_push(&o->state, o->out, &n, o->piece, o->n,
            (const unsigned char *)o->name, strlen(o->name),
            last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
        backup_file_store(o, o->out, (size_t)n);
    } else if (o->n) {
        backup_file_store(o, o->piece, o->n);
    }
    o->n = 0;
}

struct backup_out *backup_out(int dir, const char *name, const struct backup_seal *seal)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    unsigned char header[HEADER];
    struct backup_out *o = fd >= 0 ? calloc(1, sizeof(*o)) : NULL;

    if (fd < 0)
        return NULL;
    if (!o || strlen(name) >= sizeof(o->name))
        abort();
    o->fd = fd;
    o->sealed = seal != NULL;
    memcpy(o->name, name, strlen(name) + 1);
    sum_begin(&o->stored);
    sum_begin(&o->given);
    if (seal) {
        crypto_secretstream_xchacha20poly1305_init_push(&o->state, header, seal->content);
        backup_file_store(o, header, sizeof(header));
    }
    return o;
}

bool backup_out_write(struct backup_out *o, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;

    sum_add(&o->given, bytes, n);
    while (n && !o->error) {
        size_t room = PIECE - o->n, some = n < room ? n : room;

        if (!room) { /* only now: the last piece must be known as such */
            store_piece(o, false);
            continue;
        }
        memcpy(o->piece + o->n, from, some);
        o->n += some;
        from += some;
        n -= some;
    }
    return !o->error;
}

bool backup_out_end(
    struct backup_out *o, struct backup_sum *ret_stored, struct backup_sum *ret_given)
{
    int error;

    store_piece(o, true);
    error = o->error;
    if (close(o->fd) != 0 && !error)
        error = errno;
    sum_end(&o->stored, ret_stored);
    sum_end(&o->given, ret_given);
    sodium_memzero(o, sizeof(*o));
    free(o);
    errno = error;
    return !error;
}

bool backup_out_text(int dir, const char *name, const struct backup_seal *seal, const char *text,
    size_t n, struct backup_sum *ret_stored)
{
    struct backup_out *o = backup_out(dir, name, seal);

    if (!o)
        return false;
    backup_out_write(o, text, n);
    return backup_out_end(o, ret_stored, NULL);
}

/* ---- reading ---- */

struct backup_in {
    int fd;
    const char *name;
    bool sealed;
    backup_bytes_fn *fn;
    void *arg;
    crypto_secretstream_xchacha20poly1305_state state;
    struct summing stored, given;
    unsigned char bytes[PIECE + MORE], plain[PIECE];
};

/* Reads n bytes, or those that are left. Returns how many, -1 with errno. */
static ssize_t backup_file_fill(struct backup_in *in, size_t n)
{
    size_t got = 0;

    while (got < n) {
        ssize_t r = read(in->fd, in->bytes + got, n - got);

        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -1;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    sum_add(&in->stored, in->bytes, got);
    return (ssize_t)got;
}

static enum backup_read backup_file_give(struct backup_in *in, const unsigned char *bytes, size_t n)
{
    sum_add(&in->given, bytes, n);
    return !in->fn || !n || in->fn(in->arg, bytes, n) ? READ_WHOLE : READ_STOPPED;
}

static enum backup_read read_plain(struct backup_in *in)
{
    enum backup_read status = READ_WHOLE;
    ssize_t n = 1;

    while (status == READ_WHOLE && (n = backup_file_fill(in, PIECE)) > 0)
        status = backup_file_give(in, in->bytes, (size_t)n);
    return n < 0 ? READ_TROUBLE : status;
}

static enum backup_read read_sealed(struct backup_in *in, const struct backup_seal *seal)
{
    enum backup_read status = READ_WHOLE;
    unsigned char tag = 0;
    ssize_t n = backup_file_fill(in, HEADER);

    if (n != HEADER)
        return n < 0 ? READ_TROUBLE : READ_DAMAGED;
    if (crypto_secretstream_xchacha20poly1305_init_pull(&in->state, in->bytes, seal->content) != 0)
        return READ_DAMAGED;
    while (status == READ_WHOLE && (n = backup_file_fill(in, PIECE + MORE)) > 0) {
        unsigned long long plain;

        if (tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL || n < MORE ||
            crypto_secretstream_xchacha20poly1305_pull(&in->state, in->plain, &plain, &tag,
                in->bytes, (unsigned long long)n, (const unsigned char *)in->name,
                strlen(in->name)) != 0)
            status = READ_DAMAGED;
        else
            status = backup_file_give(in, in->plain, (size_t)plain);
    }
    if (n < 0)
        return READ_TROUBLE;
    return status == READ_WHOLE && tag != crypto_secretstream_xchacha20poly1305_TAG_FINAL
               ? READ_DAMAGED
               : status;
}

/* Opens a file. A backup may come from anybody: a pipe or a device in the place of a file would be
 * read for ever. */
static int open_file(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

enum backup_read backup_in(int dir, const char *name, const struct backup_seal *seal,
    backup_bytes_fn *fn, void *arg, struct backup_sum *ret_stored, struct backup_sum *ret_given)
{
    int fd = open_file(dir, name), error;
    struct backup_in *in;
    enum backup_read status;

    if (fd < 0)
        return errno == ENOENT ? READ_ABSENT : READ_TROUBLE;
    in = calloc(1, sizeof(*in));
    if (!in)
        abort();
    in->fd = fd;
    in->name = name;
    in->fn = fn;
    in->arg = arg;
    sum_begin(&in->stored);
    sum_begin(&in->given);
    status = seal ? read_sealed(in, seal) : read_plain(in);
    error = errno;
    close(fd);
    sum_end(&in->stored, ret_stored);
    sum_end(&in->given, ret_given);
    sodium_memzero(in, sizeof(*in));
    free(in);
    errno = error;
    return status;
}
