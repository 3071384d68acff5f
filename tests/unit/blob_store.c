/* blob_store.c - one suite for both drivers of the blob store: bytes and ranges, limits, a
 * process killed at each step of a put, a full disk, collection.
 *
 * Alone it tests the directory. tests/api/files/test_blobs.py runs it again with WHARF_S3 set to
 * "endpoint bucket key secret". */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "net/client.h"
#include <sodium.h>

static char folder[64], s3[4][200];
static bool with_s3;

static struct config config_of(const char *dir)
{
    return (struct config){.data = dir,
        .blob_dir = dir,
        .blob_driver = with_s3 ? "s3" : "dir",
        .blob_s3_endpoint = s3[0],
        .blob_s3_bucket = s3[1],
        .blob_s3_key = s3[2],
        .blob_s3_secret = s3[3],
        .blob_s3_region = "us-east-1",
        .blob_s3_client_endpoint = "",
        .net_ca_file = "",
        .net_dns = "",
        .net_per_host = 8,
        .net_transfers = 64,
        .environment = "test"};
}

struct world {
    struct config config;
    struct arena *a;
    struct net_client *net;
    struct blob_store *store;
};

static struct world open_world(const char *dir)
{
    struct world w = {.config = config_of(dir), .a = arena_new(0)};
    return w;
}

static void open_store(struct world *w)
{
    wharf_str why = {"", 0};

    w->net = with_s3 ? net_start(&w->config, w->a, &why) : NULL;
    w->store = blob_open(&w->config, w->net, w->a, &why);
    if (!w->store)
        fail_msg("%s", why.p);
}

static void close_world(struct world *w)
{
    blob_close(w->store);
    net_stop(w->net);
    arena_free(w->a);
}

static enum blob_status put(
    struct blob_store *s, const char *bytes, size_t n, uint64_t max, struct blob_id *id)
{
    enum blob_status status;
    struct blob_put *p;

    status = blob_put_begin(s, max, &p);
    if (status != BLOB_OK)
        return status;
    for (size_t at = 0; at < n; at += 100000)
        blob_put_write(p, bytes + at, n - at < 100000 ? n - at : 100000);
    status = blob_put_hash(p, id);
    if (status == BLOB_OK)
        return blob_put_finish(p);
    blob_put_abort(p);
    return status;
}

/* n bytes that are like no others of another seed. */
static char *bytes_of(struct arena *a, unsigned seed, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    uint32_t x = seed * 2654435761u + 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        p[i] = (char)(x >> 24);
    }
    return p;
}

static unsigned temporary_files(const struct world *w)
{
    return blob_sweep(w->store, 0);
}

static void bytes_come_back(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, 100000, 100001, 1000003};
    struct world w = open_world(folder);
    struct blob_id id, twice;

    open_store(&w);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *p = bytes_of(w.a, (unsigned)i + 10, sizes[i]), *back = arena_alloc(w.a, sizes[i] + 1);
        uint64_t size = 77, at;
        int fd;

        assert_int_equal(put(w.store, p, sizes[i], 0, &id), BLOB_OK);
        assert_int_equal(id.size, sizes[i]);
        assert_int_equal(blob_size(w.store, id.hash, &size), BLOB_OK);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(blob_get(w.store, id.hash, 0, size, &fd, &at), BLOB_OK);
        assert_int_equal(pread(fd, back, sizes[i], (off_t)at), (ssize_t)sizes[i]);
        assert_memory_equal(back, p, sizes[i]);
        close(fd);
        assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
        assert_int_equal(put(w.store, p, sizes[i], 0, &twice), BLOB_OK);
        assert_string_equal(twice.hash, id.hash);
    }
    assert_string_equal(id.hash + 64, "");
    assert_int_equal(temporary_files(&w), 0);
    close_world(&w);
}

static void known_hash(void **state)
{
    struct world w = open_world(folder);
    struct blob_id id;

    open_store(&w);
    assert_int_equal(put(w.store, "abc", 3, 0, &id), BLOB_OK);
    assert_string_equal(
        id.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    close_world(&w);
}

/* Digests that a thread computes beside the writing, more of them at once than there may be
 * threads: the same hashes, and the MD5 where a sender says one, rightly or not. */
static void digests_beside(void **state)
{
    enum { PUTS = 7, SIZE = 3000001, PIECE = 70001 };
    struct world w = open_world(folder);
    char *p = bytes_of(w.a, 77, SIZE), md5[BLOB_MD5_TEXT + 1], wanted[BLOB_MD5_TEXT + 1];
    unsigned char raw[EVP_MAX_MD_SIZE];
    struct blob_put *puts[PUTS];
    struct blob_id id, same;

    open_store(&w);
    EVP_Digest(p, SIZE, raw, NULL, EVP_md5(), NULL);
    sodium_bin2base64(wanted, sizeof(wanted), raw, 16, sodium_base64_VARIANT_ORIGINAL);
    assert_int_equal(put(w.store, p, SIZE, 0, &same), BLOB_OK);
    for (int i = 0; i < PUTS; i++) {
        assert_int_equal(blob_put_begin(w.store, 0, &puts[i]), BLOB_OK);
        blob_put_beside(puts[i], i == 2 ? NULL : i == 4 ? "AAAAAAAAAAAAAAAAAAAAAA==" : wanted);
    }
    for (size_t at = 0; at < SIZE; at += PIECE) {
        for (int i = 0; i < PUTS; i++)
            assert_int_equal(
                blob_put_write(puts[i], p + at, SIZE - at < PIECE ? SIZE - at : PIECE), BLOB_OK);
    }
    for (int i = 0; i < PUTS; i++) {
        if (i % 2) { /* given up while its thread may still read */
            blob_put_abort(puts[i]);
            continue;
        }
        assert_int_equal(blob_put_hash(puts[i], &id), BLOB_OK);
        assert_string_equal(id.hash, same.hash);
        assert_int_equal(blob_put_md5(puts[i], md5), i != 2);
        if (i != 2)
            assert_string_equal(md5, wanted);
        assert_int_equal(blob_put_is_as_sent(puts[i]), i != 4);
        assert_int_equal(blob_put_finish(puts[i]), BLOB_OK);
    }
    assert_int_equal(temporary_files(&w), 0);
    close_world(&w);
}

/* A put that goes on after it was given up; its bytes are for one writer at a time. */
static void resumed_puts(void **state)
{
    struct world w = open_world(folder);
    char *p = bytes_of(w.a, 78, 300000);
    struct blob_put *one, *two;
    struct blob_id id, same;
    uint64_t size;

    open_store(&w);
    assert_int_equal(put(w.store, p, 300000, 0, &same), BLOB_OK);
    assert_int_equal(blob_resume_size(w.store, "file_1", &size), BLOB_OK);
    assert_int_equal(size, 0);
    assert_int_equal(blob_resume(w.store, "file_1", 300000, &one), BLOB_OK);
    assert_int_equal(blob_put_write(one, p, 100000), BLOB_OK);
    assert_int_equal(blob_resume(w.store, "file_1", 300000, &two), BLOB_BUSY);
    assert_int_equal(blob_resume_size(w.store, "file_1", &size), BLOB_BUSY);
    assert_int_equal(blob_resume_sync(one), BLOB_OK);
    blob_put_abort(one);
    assert_int_equal(blob_resume_size(w.store, "file_1", &size), BLOB_OK);
    assert_int_equal(size, 100000);
    assert_int_equal(blob_resume(w.store, "file_1", 300000, &one), BLOB_OK);
    assert_int_equal(blob_resumed(one), 100000);
    assert_int_equal(blob_resume_cut(one, 50000), BLOB_OK);
    assert_int_equal(blob_put_write(one, p + 50000, 250000), BLOB_OK);
    assert_int_equal(blob_put_write(one, "x", 1), BLOB_TOO_LARGE);
    blob_put_abort(one);
    assert_int_equal(blob_resume(w.store, "file_1", 300000, &one), BLOB_OK);
    assert_int_equal(blob_put_hash(one, &id), BLOB_OK);
    assert_string_equal(id.hash, same.hash);
    assert_int_equal(blob_put_finish(one), BLOB_OK);
    assert_int_equal(blob_resume_size(w.store, "file_1", &size), BLOB_OK);
    assert_int_equal(size, 0);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
    assert_int_equal(blob_resume(w.store, "file_2", 0, &one), BLOB_OK);
    blob_put_abort(one);
    assert_int_equal(temporary_files(&w), 1); /* what nobody continues goes */
    assert_int_equal(temporary_files(&w), 0);
    close_world(&w);
}

static void ranges(void **state)
{
    static const uint64_t cuts[][2] = {{0, 1}, {0, 1000}, {999, 1}, {500, 100}, {1000, 0}, {0, 0}};
    struct world w = open_world(folder);
    char *p = bytes_of(w.a, 3, 1000), back[1000];
    struct blob_id id;
    uint64_t at;
    int fd;

    open_store(&w);
    assert_int_equal(put(w.store, p, 1000, 0, &id), BLOB_OK);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        assert_int_equal(blob_get(w.store, id.hash, cuts[i][0], cuts[i][1], &fd, &at), BLOB_OK);
        assert_int_equal(pread(fd, back, cuts[i][1], (off_t)at), (ssize_t)cuts[i][1]);
        assert_memory_equal(back, p + cuts[i][0], cuts[i][1]);
        close(fd);
    }
    assert_int_not_equal(blob_get(w.store, id.hash, 500, 501, &fd, &at), BLOB_OK);
    close_world(&w);
}

static void absent_and_strange(void **state)
{
    static const char *const strange[] = {"", "..", "../../etc/passwd", "abc",
        "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/",
        "00000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000"};
    struct world w = open_world(folder);
    uint64_t n;
    int fd;

    open_store(&w);
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        assert_int_equal(blob_get(w.store, strange[i], 0, 1, &fd, &n), BLOB_ABSENT);
        assert_int_equal(blob_size(w.store, strange[i], &n), BLOB_ABSENT);
        assert_int_equal(blob_verify(w.store, strange[i]), BLOB_ABSENT);
    }
    assert_int_equal(blob_erase(w.store, strange[7]), BLOB_OK);
    close_world(&w);
}

static void limits_and_aborts(void **state)
{
    struct world w = open_world(folder);
    char *p = bytes_of(w.a, 4, 300000);
    struct blob_put *half;
    struct blob_id id;

    open_store(&w);
    assert_int_equal(put(w.store, p, 300000, 300000, &id), BLOB_OK);
    assert_int_equal(put(w.store, p, 300000, 299999, &id), BLOB_TOO_LARGE);
    assert_int_equal(blob_put_begin(w.store, 0, &half), BLOB_OK);
    assert_int_equal(blob_put_write(half, "only half", 9), BLOB_OK);
    assert_int_equal(blob_put_hash(half, &id), BLOB_OK);
    blob_put_abort(half);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_ABSENT);
    blob_put_abort(NULL);
    assert_int_equal(temporary_files(&w), 0);
    close_world(&w);
}

struct found {
    unsigned n;
    const char *wanted;
    bool seen;
};

static bool see(void *arg, const char *hash)
{
    struct found *f = arg;

    f->n++;
    f->seen |= strcmp(hash, f->wanted) == 0;
    return true;
}

static void walk_and_erase(void **state)
{
    struct world w = open_world(folder);
    struct found f = {0}, young = {0};
    struct blob_id id;

    open_store(&w);
    assert_int_equal(put(w.store, "walk", 4, 0, &id), BLOB_OK);
    f.wanted = young.wanted = id.hash;
    assert_int_equal(blob_walk(w.store, -5, see, &f), BLOB_OK);
    assert_true(f.seen && f.n > 1);
    assert_int_equal(blob_walk(w.store, 3600, see, &young), BLOB_OK);
    assert_int_equal(young.n, 0);
    assert_int_equal(blob_erase(w.store, id.hash), BLOB_OK);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_ABSENT);
    f.seen = false;
    assert_int_equal(blob_walk(w.store, -5, see, &f), BLOB_OK);
    assert_false(f.seen);
    close_world(&w);
}

/* ---- kill -9 ---- */

/* Puts objects one after the other until the named point kills it; each acknowledged one is told
 * through the pipe. */
static void put_until_killed(const char *point, unsigned round, size_t size, int to)
{
    struct world w = open_world(folder);
    struct blob_id id;

    open_store(&w);
    if (put(w.store, bytes_of(w.a, round * 7 + 1000, size), size, 0, &id) != BLOB_OK ||
        write(to, &id, sizeof(id)) != sizeof(id))
        _exit(3);
    setenv("WHARF_FAULT", point, 1);
    if (put(w.store, bytes_of(w.a, round * 7 + 1001, size), size, 0, &id) == BLOB_OK &&
        write(to, &id, sizeof(id)) != sizeof(id))
        _exit(3);
    _exit(0);
}

static void kill_at(const char *point, unsigned round, size_t size, bool must_die)
{
    struct world w;
    struct blob_id acknowledged, *lost, unknown;
    int ends[2], status = 0;
    unsigned n = 0;
    struct blob_put *p;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0)
        put_until_killed(point, round, size, ends[1]);
    close(ends[1]);
    w = open_world(folder);
    open_store(&w);
    while (read(ends[0], &acknowledged, sizeof(acknowledged)) == sizeof(acknowledged)) {
        n++;
        assert_int_equal(blob_verify(w.store, acknowledged.hash), BLOB_OK);
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (must_die && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && n == 1))
        fail_msg("%s was not reached", point);
    /* A file whose write was not acknowledged is there completely or not at all. */
    lost = &unknown;
    assert_int_equal(blob_put_begin(w.store, 0, &p), BLOB_OK);
    blob_put_write(p, bytes_of(w.a, round * 7 + 1001, size), size);
    assert_int_equal(blob_put_hash(p, lost), BLOB_OK);
    blob_put_abort(p);
    status = blob_verify(w.store, lost->hash);
    if (status != BLOB_OK && status != BLOB_ABSENT)
        fail_msg("%s left half an object", point);
    temporary_files(&w);
    assert_int_equal(put(w.store, bytes_of(w.a, round * 7 + 1001, size), size, 0, lost), BLOB_OK);
    assert_int_equal(blob_verify(w.store, lost->hash), BLOB_OK);
    assert_int_equal(blob_erase(w.store, lost->hash), BLOB_OK);
    close_world(&w);
}

static void killed_at_each_step(void **state)
{
    static const char *const points[] = {
        "blob.begun", "blob.written", "blob.synced", "blob.placed"};
    static const char *const of_dir[] = {"blob.part_made", "blob.renamed"};
    unsigned round = 0;

    for (size_t i = 0; i < 4; i++)
        kill_at(points[i], round++, 250000, true);
    if (with_s3) {
        kill_at("blob.part", round++, (size_t)(64 << 20) + 5, true);
        return;
    }
    kill_at(of_dir[1], round++, 250000, true);
    /* A new folder is made for about each new object while there are few. */
    for (unsigned i = 0; i < 40; i++)
        kill_at(of_dir[0], round++, 1000 + i, false);
}

/* At moments that nobody chose. */
static void killed_at_any_time(void **state)
{
    for (unsigned round = 0; round < 20; round++) {
        struct world w;
        struct blob_id id;
        int ends[2], status;
        unsigned n = 0;
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (child == 0) {
            w = open_world(folder);
            open_store(&w);
            for (unsigned i = 0; i < 5000; i++) {
                if (put(w.store, bytes_of(w.a, round * 5000 + i + 100000, 20000), 20000, 0, &id) !=
                        BLOB_OK ||
                    write(ends[1], &id, sizeof(id)) != sizeof(id))
                    _exit(3);
            }
            _exit(0);
        }
        close(ends[1]);
        usleep(20000 + round * 3777);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        w = open_world(folder);
        open_store(&w);
        for (; read(ends[0], &id, sizeof(id)) == sizeof(id); n++)
            assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
        close(ends[0]);
        temporary_files(&w);
        close_world(&w);
    }
}

static bool verify_each(void *arg, const char *hash)
{
    struct world *w = arg;

    if (blob_verify(w->store, hash) != BLOB_OK)
        fail_msg("%s is damaged", hash);
    return true;
}

static void nothing_half_is_left(void **state)
{
    struct world w = open_world(folder);

    open_store(&w);
    assert_int_equal(blob_walk(w.store, -5, verify_each, &w), BLOB_OK);
    close_world(&w);
}

/* ---- full disk ---- */

/* Fills the file system but for `keep` bytes. */
static void fill(const char *dir, size_t keep)
{
    char name[128], zeros[4096] = {0};
    int fd;

    snprintf(name, sizeof(name), "%s/filler", dir);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    while (write(fd, zeros, sizeof(zeros)) == sizeof(zeros))
        ;
    assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_CUR) - (off_t)keep), 0);
    close(fd);
}

/* A put with room for 0, 1, 2 ... pages: it is stored completely, or refused and nothing is left
 * of it. */
static void full_disk(void **state)
{
    char dir[96];
    struct world w;
    unsigned refused = 0, stored = 0;

    snprintf(dir, sizeof(dir), "%s-full", folder);
    assert_int_equal(mkdir(dir, 0700), 0);
    if (mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=700") != 0) {
        rmdir(dir);
        print_message("no right to mount: a limit of file size stands for the full disk "
                      "(full_disk_by_limit)\n");
        skip();
    }
    w = open_world(dir);
    open_store(&w);
    for (size_t pages = 0; pages < 48; pages++) {
        char name[128], *bytes = bytes_of(w.a, (unsigned)pages + 5000, 100000);
        struct blob_id id;
        struct blob_put *p;
        enum blob_status status;

        fill(dir, pages * 4096);
        status = put(w.store, bytes, 100000, 0, &id);
        refused += status == BLOB_NO_ROOM;
        stored += status == BLOB_OK;
        if (status != BLOB_OK && status != BLOB_NO_ROOM)
            fail_msg("%zu pages: status %d", pages, status);
        snprintf(name, sizeof(name), "%s/filler", dir);
        unlink(name);
        assert_int_equal(blob_put_begin(w.store, 0, &p), BLOB_OK);
        blob_put_write(p, bytes, 100000);
        assert_int_equal(blob_put_hash(p, &id), BLOB_OK);
        blob_put_abort(p);
        /* With S3 only the temporary file is here: what was refused may still have been complete
         * there. */
        assert_int_equal(blob_verify(w.store, id.hash), status == BLOB_OK ? BLOB_OK : BLOB_ABSENT);
        assert_int_equal(temporary_files(&w), 0);
        blob_erase(w.store, id.hash);
    }
    close_world(&w);
    umount(dir);
    rmdir(dir);
    assert_true(refused > 5 && stored > 5);
}

static void full_disk_by_limit(void **state)
{
    struct world w = open_world(folder);
    struct rlimit before, small = {50000, RLIM_INFINITY};
    char *bytes = bytes_of(w.a, 6000, 60000);
    struct blob_id id;

    open_store(&w);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(put(w.store, bytes, 60000, 0, &id), BLOB_NO_ROOM);
    assert_int_equal(put(w.store, bytes, 40000, 0, &id), BLOB_OK);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
    assert_int_equal(temporary_files(&w), 0);
    close_world(&w);
}

/* ---- what only a directory can have ---- */

static void damage_is_found_and_mended(void **state)
{
    struct world w = open_world(folder);
    struct blob_id id;
    char path[256];
    int fd;

    if (with_s3)
        skip();
    open_store(&w);
    assert_int_equal(put(w.store, "to be damaged", 13, 0, &id), BLOB_OK);
    snprintf(path, sizeof(path), "%s/objects/%.2s/%s", folder, id.hash, id.hash);
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "X", 1, 3), 1);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_DAMAGED);
    assert_int_equal(ftruncate(fd, 5), 0);
    close(fd);
    assert_int_equal(blob_get(w.store, id.hash, 0, 13, &fd, &id.size), BLOB_DAMAGED);
    assert_int_equal(put(w.store, "to be damaged", 13, 0, &id), BLOB_OK);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
    /* A link in the place of an object leads nowhere. */
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_not_equal(blob_verify(w.store, id.hash), BLOB_OK);
    assert_int_equal(put(w.store, "to be damaged", 13, 0, &id), BLOB_OK);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
    close_world(&w);
}

static void large_object(void **state)
{
    struct world w = open_world(folder);
    size_t n = (64 << 20) + (20 << 20) + 3; /* more than goes to S3 in one piece */
    char *p = bytes_of(w.a, 8, n), *back = arena_alloc(w.a, 100);
    struct blob_id id;
    uint64_t at;
    int fd;

    open_store(&w);
    assert_int_equal(put(w.store, p, n, 0, &id), BLOB_OK);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_OK);
    assert_int_equal(blob_get(w.store, id.hash, n - 50, 50, &fd, &at), BLOB_OK);
    assert_int_equal(pread(fd, back, 50, (off_t)at), 50);
    assert_memory_equal(back, p + n - 50, 50);
    close(fd);
    close_world(&w);
}

static void wrong_secret(void **state)
{
    struct blob_id id;
    struct world w;

    if (!with_s3)
        skip();
    w = open_world(folder);
    w.config.blob_s3_secret = "wrong";
    open_store(&w);
    assert_int_equal(put(w.store, "never stored", 12, 0, &id), BLOB_TROUBLE);
    close_world(&w);
    w = open_world(folder);
    open_store(&w);
    assert_int_equal(blob_verify(w.store, id.hash), BLOB_ABSENT);
    close_world(&w);
}

static int erase_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(known_hash), cmocka_unit_test(digests_beside),
        cmocka_unit_test(resumed_puts), cmocka_unit_test(ranges),
        cmocka_unit_test(absent_and_strange), cmocka_unit_test(limits_and_aborts),
        cmocka_unit_test(walk_and_erase), cmocka_unit_test(killed_at_each_step),
        cmocka_unit_test(killed_at_any_time), cmocka_unit_test(full_disk),
        cmocka_unit_test(full_disk_by_limit), cmocka_unit_test(damage_is_found_and_mended),
        cmocka_unit_test(large_object), cmocka_unit_test(wrong_secret),
        cmocka_unit_test(nothing_half_is_left)};
    const char *given = getenv("WHARF_S3");
    int failed;

    with_s3 = given && sscanf(given, "%199s %199s %199s %199s", s3[0], s3[1], s3[2], s3[3]) == 4;
    snprintf(folder, sizeof(folder), "/tmp/wharf-blob-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, erase_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
