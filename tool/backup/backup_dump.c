/* backup_dump.c - pg_dump and pg_restore, which read and write the rows. See backup.h.
 *
 * They are told where the database is by their environment, which holds the password that their
 * arguments would show. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "process/spawn.h"
#include "tool/backup/backup.h"
#include "tool/cli/cli.h"
#include "util/str.h"

enum { ENV_MAX = 1024, ARGS_MAX = MODULES_MAX + 16, CHUNK = 64 * 1024 };
static const char versions[] = "/usr/lib/postgresql/";

extern char **environ;

/* ---- the programs ---- */

static const char *program_in_path(struct arena *a, const char *name)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        const char *file = arena_printf(a, "%.*s/%s", (int)n, path, name).p;

        if (n && access(file, X_OK) == 0)
            return file;
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* Finds the program of the server's version, or of the next newer one that is installed. Returns
 * NULL after a message. */
static const char *program_of(struct arena *a, const char *name, int version)
{
    const char *best = NULL;
    long best_version = 0;
    glob_t found;

    if (glob(arena_printf(a, "%s*/bin/%s", versions, name).p, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            long v = strtol(found.gl_pathv[i] + sizeof(versions) - 1, NULL, 10);

            if (v >= version && (!best || v < best_version)) {
                best = arena_dupz(a, found.gl_pathv[i]).p;
                best_version = v;
            }
        }
        globfree(&found);
    }
    if (!best)
        best = program_in_path(a, name);
    if (!best)
        cli_fail("there is no %s for PostgreSQL %d; install postgresql-client-%d", name, version,
            version);
    return best;
}

/* Makes the environment of the programs: the connection of conn, then ours. */
static const char *const *environment(PGconn *conn, struct arena *a)
{
    const char **env = ARENA_ARRAY(a, const char *, ENV_MAX);
    PQconninfoOption *all = PQconninfo(conn);
    size_t n = 0;

    env[n++] = "PGAPPNAME=wharf backup";
    for (const PQconninfoOption *o = all; o && o->keyword; o++) {
        if (o->envvar && o->val && *o->val && strcmp(o->envvar, "PGAPPNAME") != 0)
            env[n++] = arena_printf(a, "%s=%s", o->envvar, o->val).p;
    }
    PQconninfoFree(all);
    for (char **e = environ; *e && n < ENV_MAX - 1; e++)
        env[n++] = *e;
    return env;
}

/* Waits for the program. Returns false after a message. */
static bool backup_dump_ended_well(pid_t pid, const char *name)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    cli_fail("%s did not end well (%s %d)", name, WIFEXITED(status) ? "exit code" : "signal",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return false;
}

/* ---- the dump ---- */

static const char *const *dump_arguments(
    const char *program, const char *snapshot, const struct backup_manifest *m, struct arena *a)
{
    const char **argv = ARENA_ARRAY(a, const char *, ARGS_MAX);
    size_t n = 0;

    argv[n++] = program;
    argv[n++] = "--format=custom";
    argv[n++] = "--compress=3"; /* the rest costs twice the time for a twentieth of the size */
    argv[n++] = "--no-password";
    /* it may wait for somebody who waits for our locks: that would never end */
    argv[n++] = "--lock-wait-timeout=60s";
    argv[n++] = arena_printf(a, "--snapshot=%s", snapshot).p;
    for (size_t i = 0; i < m->n_modules; i++)
        argv[n++] = arena_printf(a, "--schema=\"%s\"", m->modules[i].name).p;
    return argv;
}

/* Reads what the program writes. Returns false with errno when that can't be read. */
static bool backup_dump_collect(int fd, struct backup_out *o)
{
    char chunk[CHUNK];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || !backup_out_write(o, chunk, (size_t)n))
            return n > 0; /* what can't be written is told by the end of the file */
    }
    return true;
}

bool dump_write(const struct backup_place *p, PGconn *conn, const char *snapshot,
    const struct backup_manifest *m, const struct backup_seal *seal, struct backup_sum *ret)
{
    struct arena *a = arena_new(0);
    const char *program = program_of(a, "pg_dump", PQserverVersion(conn) / 10000);
    struct backup_out *o = program ? backup_out(p->fd, BACKUP_DUMP, seal) : NULL;
    int pipe_fds[2] = {-1, -1};
    pid_t pid = -1;
    bool good;

    if (o && pipe2(pipe_fds, O_CLOEXEC) == 0)
        pid = spawn(&(struct spawn){.argv = dump_arguments(program, snapshot, m, a),
            .env = environment(conn, a),
            .in = -1,
            .out = pipe_fds[1],
            .err = -1,
            .death_signal = SIGKILL});
    if (program && pid < 0)
        place_failed(p, BACKUP_DUMP, "made");
    close(pipe_fds[1]);
    fault_point("backup.dumping");
    good = pid >= 0 && backup_dump_collect(pipe_fds[0], o);
    close(pipe_fds[0]); /* before waiting: who writes to nobody ends */
    if (o && !backup_out_end(o, ret, NULL) && pid >= 0)
        good = place_failed(p, BACKUP_DUMP, "written");
    if (pid >= 0 && !good)
        kill(pid, SIGKILL);
    good = pid >= 0 && backup_dump_ended_well(pid, program) && good;
    arena_free(a);
    return good;
}

/* ---- the way back ---- */

static bool backup_dump_pass_on(void *arg, const void *bytes, size_t n)
{
    const char *from = bytes;

    while (n) {
        ssize_t w = write(*(int *)arg, from, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false; /* the program has ended, and has said why */
        from += w;
        n -= (size_t)w;
    }
    return true;
}

/* Compares the dump that was read with what the manifest says of it. Returns false after a
 * message. */
static bool dump_is_whole(const struct backup_place *p, enum backup_read status,
    const struct backup_sum *sum, const struct backup_sum *said)
{
    if (status == READ_WHOLE && sum->size == said->size && strcmp(sum->sha256, said->sha256) == 0)
        return true;
    if (status == READ_TROUBLE)
        return place_failed(p, BACKUP_DUMP, "read");
    cli_fail(status == READ_STOPPED ? "%s/" BACKUP_DUMP " was not taken whole by pg_restore"
                                    : "%s/" BACKUP_DUMP " is damaged since it was verified",
        p->dir);
    return false;
}

bool dump_restore(const struct backup_place *p, PGconn *conn, const struct backup_seal *seal,
    const struct backup_sum *said)
{
    struct arena *a = arena_new(0);
    const char *program = program_of(a, "pg_restore", PQserverVersion(conn) / 10000);
    const char *argv[] = {program, "--exit-on-error", "--no-owner", "--no-password",
        arena_printf(a, "--dbname=%s", PQdb(conn)).p, NULL};
    int pipe_fds[2] = {-1, -1};
    struct backup_sum sum = {0, ""};
    bool good = false;
    pid_t pid = -1;

    signal(SIGPIPE, SIG_IGN);
    if (program && pipe2(pipe_fds, O_CLOEXEC) == 0)
        pid = spawn(&(struct spawn){.argv = argv,
            .env = environment(conn, a),
            .in = pipe_fds[0],
            .out = -1,
            .err = -1,
            .death_signal = SIGKILL});
    if (program && pid < 0)
        cli_fail("%s can't be started: %s", program, strerror(errno));
    close(pipe_fds[0]);
    fault_point("restore.rows");
    if (pid >= 0)
        good = dump_is_whole(p,
            backup_in(p->fd, BACKUP_DUMP, seal, backup_dump_pass_on, &pipe_fds[1], &sum, NULL),
            &sum, said);
    if (!good && pid >= 0)
        kill(pid, SIGKILL); /* it must not take the part for the whole */
    close(pipe_fds[1]);
    good = pid >= 0 && backup_dump_ended_well(pid, program) && good;
    arena_free(a);
    return good;
}
