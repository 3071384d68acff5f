/* blob_mark.c - see blob_mark.h. Two servers that start at once agree: the first mark in the folder
 * counts, and so does the first one in the database. */
#include "blob/blob_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "util/id.h"
#include "util/str.h"
#include <sodium.h>

enum { MARK_BYTES = 16, MARK_HEX = 2 * MARK_BYTES };

static const char file[] = "store";
static const char read_sql[] = "SELECT value FROM wharf.setting WHERE key = 'blob.mark'";
static const char make_sql[] = "INSERT INTO wharf.setting (key, value) VALUES ('blob.mark', "
                               "$1::text) ON CONFLICT (key) DO NOTHING";
static const char adopt_sql[] =
    "INSERT INTO wharf.setting (key, value) VALUES ('blob.mark', $1::text) ON CONFLICT (key) DO "
    "UPDATE SET value = excluded.value, updated_at = now()";

/* Reads the mark of the folder. Returns 0, ENOENT when it has none, or another errno. */
static int blob_mark_read_file(const struct blob_store *s, char ret[MARK_HEX + 1])
{
    int fd = openat(s->objects_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, ret, MARK_HEX) : -1;
    int error = fd < 0 ? errno : n != MARK_HEX ? EIO : 0;

    if (fd >= 0)
        close(fd);
    ret[n > 0 ? n : 0] = 0;
    return error;
}

/* Writes the mark, a new one when it is empty, unless somebody else does it at this moment. It is
 * there whole or not at all. */
static int make_file(const struct blob_store *s, const char *mark)
{
    unsigned char fresh[MARK_BYTES];
    char hex[MARK_HEX + 1], name[64];
    int fd = blob_nameless(s), error = fd < 0 ? errno : 0;

    random_bytes(fresh, sizeof(fresh));
    sodium_bin2hex(hex, sizeof(hex), fresh, sizeof(fresh));
    if (mark[0])
        memcpy(hex, mark, MARK_HEX);
    if (!error && (write(fd, hex, MARK_HEX) != MARK_HEX || fchmod(fd, 0644) != 0 || fsync(fd) != 0))
        error = errno ? errno : ENOSPC;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    if (!error && linkat(AT_FDCWD, name, s->objects_fd, file, AT_SYMLINK_FOLLOW) != 0 &&
        errno != EEXIST)
        error = errno;
    if (!error && fsync(s->objects_fd) != 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    return error;
}

/* Reads the mark of the database; empty: it knows no folder. */
static bool blob_mark_read_row(
    PGconn *conn, char ret[MARK_HEX + 1], struct arena *a, wharf_str *ret_error)
{
    PGresult *r = PQexec(conn, read_sql);
    bool good = PQresultStatus(r) == PGRES_TUPLES_OK;

    ret[0] = 0;
    if (!good)
        *ret_error = arena_printf(
            a, "the database was asked which folder of files it has: %s", PQerrorMessage(conn));
    else if (PQntuples(r))
        snprintf(ret, MARK_HEX + 1, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    return good;
}

static bool blob_mark_write_row(
    PGconn *conn, const char *sql, const char *mark, struct arena *a, wharf_str *ret_error)
{
    PGresult *r = PQexecParams(conn, sql, 1, NULL, &mark, NULL, NULL, 0);
    bool good = PQresultStatus(r) == PGRES_COMMAND_OK;

    if (!good)
        *ret_error = arena_printf(
            a, "the database could not note its folder of files: %s", PQerrorMessage(conn));
    PQclear(r);
    return good;
}

static bool blob_mark_differ(
    const struct blob_store *s, int error, struct arena *a, wharf_str *ret_error)
{
    *ret_error = arena_printf(a,
        "the folder of files, %s (blob.dir), is not the one of this database: it has %s. All "
        "servers of a database must see one folder (a shared one, or blob.driver = \"s3\"); when "
        "this is the right one, or the files are lost, `wharf files adopt` takes it",
        s->dir, error ? "no mark" : "the mark of another one");
    return false;
}

/* Makes the mark of the folder where that is wanted. Returns as blob_mark_read_file() does. */
static int blob_mark_file_of(
    const struct blob_store *s, enum blob_mark_how how, const char *known, char ret[MARK_HEX + 1])
{
    int error = blob_mark_read_file(s, ret);
    bool make = how >= BLOB_MARK_COPY || (how == BLOB_MARK_MAKE && !known[0]);

    if (error != ENOENT || !make)
        return error;
    error = make_file(s, how == BLOB_MARK_COPY ? known : "");
    return error ? error : blob_mark_read_file(s, ret);
}

bool blob_mark(PGconn *conn, const struct blob_store *s, enum blob_mark_how how, struct arena *a,
    wharf_str *ret_error)
{
    char known[MARK_HEX + 1], here[MARK_HEX + 1];
    int error;

    if (s->driver != &blob_dir)
        return true;
    if (!blob_mark_read_row(conn, known, a, ret_error))
        return false;
    error = blob_mark_file_of(s, how, known, here);
    if (error && error != ENOENT) {
        *ret_error = arena_printf(a,
            "the mark of the folder of files, %s/objects/%s, can't be %s: "
            "%s",
            s->dir, file, how == BLOB_MARK_LOOK ? "read" : "written", strerror(error));
        return false;
    }
    if (!known[0] && how == BLOB_MARK_LOOK)
        return true;
    if (!error && how != BLOB_MARK_LOOK &&
        (!blob_mark_write_row(
             conn, how == BLOB_MARK_ADOPT ? adopt_sql : make_sql, here, a, ret_error) ||
            !blob_mark_read_row(conn, known, a, ret_error)))
        return false;
    return (!error && strcmp(known, here) == 0) || blob_mark_differ(s, error, a, ret_error);
}
