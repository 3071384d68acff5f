/* backup_objects.c - the objects of a backup: which ones, taking them, reading them again. See
 * backup.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "tool/backup/backup.h"
#include "tool/cli/cli.h"

enum { LINE_BYTES = BLOB_HASH + 24, PATH_BYTES = 96, CHUNK = 64 * 1024, LOST_TOLD = 20 };

/* An object of the list. */
struct wanted {
    char hash[BLOB_HASH + 1];
    uint64_t size;
};

/* Reads "<hash> <size>". */
static bool backup_objects_read_line(const char *line, struct wanted *ret)
{
    char *end;

    if (strlen(line) < BLOB_HASH + 2 || line[BLOB_HASH] != ' ')
        return false;
    memcpy(ret->hash, line, BLOB_HASH);
    ret->hash[BLOB_HASH] = 0;
    ret->size = strtoull(line + BLOB_HASH + 1, &end, 10);
    return blob_hash_shape(ret->hash) && (*end == 0 || *end == '\n');
}

/* Writes where an object is in the backup. */
static void backup_objects_path_of(
    const struct backup_seal *seal, const char *hash, char ret[PATH_BYTES])
{
    char name[SEAL_NAME + 1];

    if (seal)
        seal_name(seal, hash, name);
    else
        snprintf(name, sizeof(name), "%s", hash);
    snprintf(ret, PATH_BYTES, "objects/%.2s/%s", name, name);
}

/* ---- which ones ---- */

static const char wanted_name[] = "wanted";

/* Writes n rows of r. Returns false with errno. */
static bool backup_objects_write_rows(FILE *f, const PGresult *r, int n)
{
    for (int i = 0; i < n; i++)
        if (fprintf(f, "%s %s\n", PQgetvalue(r, i, 0), PQgetvalue(r, i, 1)) < 0)
            return false;
    return fflush(f) == 0;
}

/* Writes the rows of a cursor. Returns false after a message. */
static bool write_wanted(FILE *f, const struct backup_place *p, PGconn *conn)
{
    static const char declare_sql[] =
        "DECLARE objects NO SCROLL CURSOR FOR SELECT DISTINCT ON (hash) hash, size FROM wharf.file "
        "WHERE state = 'stored' AND hash IS NOT NULL ORDER BY hash";
    PGresult *r = PQexec(conn, declare_sql);
    bool good = PQresultStatus(r) == PGRES_COMMAND_OK, written = true;
    int n = good ? 1 : 0;

    while (good && written && n) {
        PQclear(r);
        r = PQexec(conn, "FETCH 5000 FROM objects");
        good = PQresultStatus(r) == PGRES_TUPLES_OK;
        n = good ? PQntuples(r) : 0;
        written = backup_objects_write_rows(f, r, n);
    }
    if (!good)
        cli_fail("the files can't be listed: %s", PQresultErrorMessage(r));
    else if (!written)
        place_failed(p, wanted_name, "written");
    PQclear(r);
    return good && written;
}

int objects_wanted(const struct backup_place *p, PGconn *conn)
{
    int fd = openat(p->fd, wanted_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
    bool good = (f && unlinkat(p->fd, wanted_name, 0) == 0) || place_failed(p, wanted_name, "made");

    good = good && write_wanted(f, p, conn);
    if (f)
        fclose(f);
    if (!good && fd >= 0)
        close(fd);
    return good ? fd : -1;
}

/* ---- taking ---- */

struct taking {
    const struct backup_place *place;
    struct blob_store *store;
    const struct backup_seal *seal;
    struct objects_taken *taken;
    struct backup_out *list;
};

enum outcome { TAKEN, LOST, FAILED };

static bool backup_objects_fits(const struct wanted *w, const struct backup_sum *sum)
{
    return sum->size == w->size && strcmp(sum->sha256, w->hash) == 0;
}

/* Reads an object that was taken as a hard link: its bytes were not copied, and not yet looked
 * at. */
static enum outcome take_link(struct taking *t, const struct wanted *w, const char *path)
{
    struct backup_sum sum;
    enum backup_read status = backup_in(t->place->fd, path, NULL, NULL, NULL, &sum, NULL);

    if (status == READ_WHOLE && backup_objects_fits(w, &sum)) {
        t->taken->linked++;
        return TAKEN;
    }
    unlinkat(t->place->fd, path, 0);
    return LOST;
}

/* Copies bytes of the store. Returns false when they can't be read; a backup that can't be written
 * is told by its end. */
static bool pour(int fd, uint64_t at, uint64_t size, struct backup_out *o)
{
    char chunk[CHUNK];

    while (size) {
        ssize_t n = pread(fd, chunk, size < CHUNK ? (size_t)size : CHUNK, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        if (!backup_out_write(o, chunk, (size_t)n))
            return true;
        at += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

static enum outcome take_copy(struct taking *t, const struct wanted *w, const char *path)
{
    uint64_t at;
    int fd;
    enum blob_status status = blob_get(t->store, w->hash, 0, w->size, &fd, &at);
    struct backup_out *o;
    struct backup_sum sum;
    bool whole;

    if (status == BLOB_ABSENT || status == BLOB_DAMAGED)
        return LOST;
    if (status != BLOB_OK) {
        cli_fail("the object %s can't be read from the store; see that it can be reached", w->hash);
        return FAILED;
    }
    o = backup_out(t->place->fd, path, t->seal);
    whole = o && pour(fd, at, w->size, o);
    close(fd);
    if (!o || !backup_out_end(o, NULL, &sum)) {
        place_failed(t->place, path, "written");
        return FAILED;
    }
    if (whole && backup_objects_fits(w, &sum))
        return TAKEN;
    unlinkat(t->place->fd, path, 0);
    return LOST;
}

static bool make_folder(const struct backup_place *p, const char *path)
{
    char part[sizeof("objects/ab")];

    snprintf(part, sizeof(part), "%.10s", path);
    return mkdirat(p->fd, part, 0700) == 0 || errno == EEXIST;
}

static enum outcome backup_objects_take_one(struct taking *t, const struct wanted *w)
{
    char path[PATH_BYTES];

    backup_objects_path_of(t->seal, w->hash, path);
    if (!make_folder(t->place, path)) {
        place_failed(t->place, path, "made");
        return FAILED;
    }
    if (!t->seal && blob_second_name(t->store, w->hash, t->place->fd, path))
        return take_link(t, w, path);
    return take_copy(t, w, path);
}

static void note_lost(struct objects_taken *taken, const char *hash)
{
    if (taken->n_lost < LOST_TOLD)
        cli_fail("the object %s is not in the store, or is damaged: the backup lacks it", hash);
    if (taken->n_lost++ < LOST_SHOWN)
        buf_addf(&taken->lost, "%s\n", hash);
}

static bool backup_objects_take_all(struct taking *t, FILE *wanted)
{
    char line[LINE_BYTES];
    struct wanted w;

    while (fgets(line, sizeof(line), wanted)) {
        enum outcome o;

        if (!backup_objects_read_line(line, &w)) {
            cli_fail("the database names an object that can't be: %s", line);
            return false;
        }
        o = backup_objects_take_one(t, &w);
        if (o == FAILED)
            return false;
        if (o == LOST) {
            note_lost(t->taken, w.hash);
            continue;
        }
        fault_point("backup.object");
        t->taken->n++;
        t->taken->bytes += w.size;
        backup_out_write(t->list, line, strlen(line));
    }
    return !ferror(wanted) || place_failed(t->place, wanted_name, "read");
}

bool objects_take(const struct backup_place *p, int wanted, struct blob_store *store,
    const struct backup_seal *seal, struct objects_taken *ret, struct backup_sum *ret_list)
{
    struct taking t = {p, store, seal, ret, backup_out(p->fd, BACKUP_OBJECTS, seal)};
    FILE *f = fdopen(wanted, "r");
    bool good = f && t.list && mkdirat(p->fd, "objects", 0700) == 0;

    *ret = (struct objects_taken){.n = 0};
    buf_init(&ret->lost, LOST_SHOWN * LINE_BYTES);
    if (!good)
        place_failed(p, BACKUP_OBJECTS, "made");
    if (f)
        rewind(f);
    good = good && backup_objects_take_all(&t, f);
    if (t.list && !backup_out_end(t.list, ret_list, NULL) && good)
        good = place_failed(p, BACKUP_OBJECTS, "written");
    if (f)
        fclose(f);
    return good;
}

/* ---- reading again ---- */

struct reading {
    const struct backup_place *place;
    const struct backup_seal *seal;
    struct blob_store *store;
    char line[LINE_BYTES]; /* begun */
    size_t n;
    int64_t objects;
    unsigned wrong;
    bool failed; /* the store: there is no sense in going on */
};

static bool backup_objects_put_bytes(void *arg, const void *bytes, size_t n)
{
    return blob_put_write(arg, bytes, n) == BLOB_OK;
}

/* Puts an object into the store. Returns false after a message. */
static bool backup_objects_put_one(struct reading *r, const struct wanted *w, const char *path)
{
    struct backup_sum sum;
    struct blob_put *put;
    struct blob_id id;
    enum blob_status status = blob_put_begin(r->store, w->size, &put);
    enum backup_read read;

    if (status == BLOB_OK) {
        read = backup_in(r->place->fd, path, r->seal, backup_objects_put_bytes, put, NULL, &sum);
        if (read != READ_STOPPED && (read != READ_WHOLE || !backup_objects_fits(w, &sum))) {
            blob_put_abort(put);
            cli_fail("%s/%s is damaged since it was verified", r->place->dir, path);
            return false;
        }
        status = blob_put_hash(put, &id);
        if (status == BLOB_OK)
            status = blob_put_finish(put);
        else
            blob_put_abort(put);
    }
    fault_point("restore.object");
    if (status != BLOB_OK)
        cli_fail("the object %s can't be stored%s", w->hash,
            status == BLOB_NO_ROOM ? ": there is no room" : "");
    return status == BLOB_OK;
}

static void backup_objects_look_at(struct reading *r, const struct wanted *w, const char *path)
{
    struct backup_sum sum;
    enum backup_read status = backup_in(r->place->fd, path, r->seal, NULL, NULL, NULL, &sum);

    if (status == READ_WHOLE && backup_objects_fits(w, &sum))
        return;
    r->wrong++;
    cli_fail("%s/%s %s", r->place->dir, path,
        status == READ_ABSENT    ? "is missing"
        : status == READ_TROUBLE ? "can't be read"
                                 : "is damaged");
}

static bool backup_objects_take_line(struct reading *r)
{
    char path[PATH_BYTES];
    struct wanted w;

    r->line[r->n] = 0;
    r->n = 0;
    if (!backup_objects_read_line(r->line, &w))
        return false;
    r->objects++;
    backup_objects_path_of(r->seal, w.hash, path);
    if (r->store)
        r->failed = !backup_objects_put_one(r, &w, path);
    else
        backup_objects_look_at(r, &w, path);
    return !r->failed;
}

static bool backup_objects_take_lines(void *arg, const void *bytes, size_t n)
{
    struct reading *r = arg;
    const char *p = bytes;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n' ? !backup_objects_take_line(r) : r->n + 1 >= sizeof(r->line))
            return false;
        if (p[i] != '\n')
            r->line[r->n++] = p[i];
    }
    return true;
}

bool objects_read(const struct backup_place *p, const struct backup_manifest *m,
    const struct backup_seal *seal, struct blob_store *store)
{
    struct reading r = {.place = p, .seal = seal, .store = store};
    enum backup_read status = backup_in(
        p->fd, BACKUP_OBJECTS, seal, backup_objects_take_lines, &r, NULL, NULL);

    if (r.failed || r.wrong)
        return false;
    if (status == READ_WHOLE && !r.n && r.objects == m->objects)
        return true;
    cli_fail("%s/" BACKUP_OBJECTS " is damaged", p->dir);
    return false;
}
