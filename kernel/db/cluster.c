/* cluster.c - makes, starts, revives and stops the embedded PostgreSQL.
 *
 * `postgres` itself is our child, so its death is seen at once; whether it accepts connections
 * is read from its pid file, so that no client library is needed here. Leaves to others: where
 * it lives (cluster_place.c), tables (migrate.c). */
#include "db/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/cluster_place.h"
#include "db/cluster_settings.h"
#include "process/spawn.h"
#include "util/file.h"
#include "util/str.h"
#include "util/time.h"

enum {
    SOCKET_DIR_MAX = 90, /* + "/.s.PGSQL.5432" must fit sun_path, and PostgreSQL's limit of 107 */
    POLL_US = 5000,
    LEFT_US = 100000, /* between two starts beside what is left of a killed server */
    ORPHAN_WAIT_S = 60, /* the wait for the end of an earlier PostgreSQL */
    STOP_FAST_S = 60, /* a fast stop may take */
    STOP_NOW_S = 10, /* an immediate stop after it may take */
    LOG_MAX_BYTES = 16 * 1024 * 1024, /* of the log of PostgreSQL */
};

struct cluster {
    struct arena *a;
    struct place place;
    bool has_guests;
    gid_t guests; /* who may connect too */
    char socket_dir[SOCKET_DIR_MAX];
    const char *conninfo;
    pid_t pid; /* 0: not running */
};

static const char *const child_env[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC", NULL};

static void pause_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

static int cluster_open_log(const struct cluster *c)
{
    struct stat st;
    int fd = open(c->place.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX_BYTES && ftruncate(fd, 0) != 0)
        return fd;
    return fd;
}

static struct spawn cluster_child_of(
    const struct cluster *c, const char *const *argv, int in, int log)
{
    return (struct spawn){.argv = argv,
        .env = child_env,
        .dir = "/",
        .in = in,
        .out = log,
        .err = log,
        .as_user = c->place.as_user,
        .uid = c->place.uid,
        .gid = c->place.gid,
        .own_session = true};
}

/* Returns the last lines PostgreSQL wrote, for a message. */
static wharf_str log_tail(const struct cluster *c, struct arena *a)
{
    int fd = open(c->place.log, O_RDONLY | O_CLOEXEC);
    char text[601];
    off_t size;
    ssize_t n = 0;

    if (fd < 0)
        return (wharf_str){"", 0};
    size = lseek(fd, 0, SEEK_END);
    if (lseek(fd, size > 600 ? size - 600 : 0, SEEK_SET) >= 0)
        n = read(fd, text, 600);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return arena_dupz(a, size > 600 && strchr(text, '\n') ? strchr(text, '\n') + 1 : text);
}

/* ---- making it ---- */

static bool run_to_end(struct cluster *c, const char *const *argv, int in)
{
    int log = cluster_open_log(c), status;
    struct spawn s = cluster_child_of(c, argv, in, log);

    status = spawn_wait(&s);
    if (log >= 0)
        close(log);
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs one statement by the server in single-user mode. */
static bool run_single(struct cluster *c, const char *pgdata, const char *statement)
{
    const char *argv[] = {arena_printf(c->a, "%s/postgres", c->place.bin).p, "--single", "-D",
        pgdata, "template1", NULL};
    int in[2];
    bool good;

    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    good = write(in[1], statement, strlen(statement)) == (ssize_t)strlen(statement);
    close(in[1]);
    good = good && run_to_end(c, argv, in[0]);
    close(in[0]);
    return good;
}

static bool append_settings(const struct cluster *c, const char *pgdata)
{
    wharf_str settings = cluster_settings(cluster_memory_mib("/sys/fs/cgroup/memory.max"), c->a);
    int fd = open(
        arena_printf(c->a, "%s/postgresql.conf", pgdata).p, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool good;

    if (fd < 0)
        return false;
    good = write(fd, settings.p, settings.n) == (ssize_t)settings.n && fsync(fd) == 0;
    close(fd);
    return good;
}

/* Makes the cluster under another name and renames it when complete: a start that was cut short
 * leaves nothing that looks like a cluster. Rows compare by byte (lc_collate C) and letters are
 * those of Unicode (lc_ctype C.UTF-8). */
static bool cluster_make(struct cluster *c, wharf_str *ret_error)
{
    const char *fresh = arena_printf(c->a, "%s.new", c->place.pgdata).p;
    const char *argv[] = {arena_printf(c->a, "%s/initdb", c->place.bin).p, "-D", fresh, "-U",
        "wharf", "--auth=trust", "--data-checksums", "-E", "UTF8", "--locale=C",
        "--lc-ctype=C.UTF-8", NULL};

    file_remove_tree(fresh);
    if (mkdir(fresh, 0700) != 0 ||
        (c->place.as_user && chown(fresh, c->place.uid, c->place.gid) != 0)) {
        *ret_error = arena_printf(c->a, "%s can't be made: %s", fresh, strerror(errno));
        return false;
    }
    if (!run_to_end(c, argv, -1) || !append_settings(c, fresh) ||
        !run_single(c, fresh, "CREATE DATABASE wharf;\n")) {
        *ret_error = arena_printf(c->a,
            "the database could not be made; PostgreSQL says in %s:\n%s", c->place.log,
            log_tail(c, c->a).p);
        file_remove_tree(fresh);
        return false;
    }
    if (rename(fresh, c->place.pgdata) != 0) {
        *ret_error = arena_printf(c->a, "%s can't be renamed: %s", fresh, strerror(errno));
        return false;
    }
    return true;
}

/* ---- its pid file ---- */

/* Returns line n (from 1) of postmaster.pid, "" when there is none. */
static wharf_str pid_file_line(const char *pgdata, unsigned n, struct arena *a)
{
    wharf_str text = cluster_read_small(arena_printf(a, "%s/postmaster.pid", pgdata).p, a);
    const char *p = text.p;

    while (--n && *p) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return arena_dup(a, p, strcspn(p, "\n"));
}

static pid_t pid_in_file(const char *pgdata, struct arena *a)
{
    long pid = strtol(pid_file_line(pgdata, 1, a).p, NULL, 10);

    return pid > 0 && pid < INT_MAX ? (pid_t)pid : 0;
}

static bool is_ready(const char *pgdata, struct arena *a)
{
    return str_starts(pid_file_line(pgdata, 8, a), "ready");
}

/* Tells whether that process is the server of this cluster. Its working directory tells; a pid
 * used again by another program does not. */
static bool is_its_server(pid_t pid, const char *pgdata, struct arena *a)
{
    struct stat cwd, own;

    if (pid <= 0 || kill(pid, 0) != 0 || stat(pgdata, &own) != 0)
        return false;
    if (stat(arena_printf(a, "/proc/%d/cwd", (int)pid).p, &cwd) != 0)
        return false;
    return cwd.st_dev == own.st_dev && cwd.st_ino == own.st_ino;
}

/* Removes only what PostgreSQL puts there, and the folder when it is then empty: its name may come
 * from a file. */
static void remove_socket_dir(const char *dir, struct arena *a)
{
    const char *slash = strrchr(dir, '/');

    if (!slash || strncmp(slash, "/wharf-", 7) != 0)
        return;
    unlink(arena_printf(a, "%s/.s.PGSQL.5432", dir).p);
    unlink(arena_printf(a, "%s/.s.PGSQL.5432.lock", dir).p);
    rmdir(dir);
}

/* Waits for a server whose supervisor was killed, which ends by itself (death signal), and
 * insists. A pid file that names a stranger, or one that ended and that its parent has not taken
 * notice of yet, is removed: PostgreSQL would refuse to start beside it. What may be left of such
 * a server is known by its shared memory. */
static bool clear_orphan(struct cluster *c, wharf_str *ret_error)
{
    struct arena *tmp = arena_new(0);
    pid_t pid = pid_in_file(c->place.pgdata, tmp);
    const char *sockets = pid_file_line(c->place.pgdata, 5, c->a).p;
    bool alive = is_its_server(pid, c->place.pgdata, tmp);

    for (long waited = 0; alive && waited < ORPHAN_WAIT_S * 1000000L; waited += POLL_US) {
        if (waited % 5000000 == 0)
            kill(pid, waited < ORPHAN_WAIT_S * 500000L ? SIGINT : SIGQUIT);
        pause_us(POLL_US);
        alive = is_its_server(pid, c->place.pgdata, tmp);
        arena_reset(tmp);
    }
    if (pid && !alive && pid_in_file(c->place.pgdata, tmp) == pid)
        unlink(arena_printf(tmp, "%s/postmaster.pid", c->place.pgdata).p);
    arena_free(tmp);
    if (!alive)
        remove_socket_dir(sockets, c->a);
    if (alive)
        *ret_error = arena_printf(c->a,
            "an older PostgreSQL (pid %d) of %s does not end; stop it first", (int)pid,
            c->place.pgdata);
    return !alive;
}

/* ---- running it ---- */

static bool make_socket_dir(struct cluster *c, wharf_str *ret_error)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    const char *const bases[] = {geteuid() == 0 ? "/run" : xdg, "/tmp"};

    for (size_t i = 0; i < 2; i++) {
        if (!bases[i] || strlen(bases[i]) > SOCKET_DIR_MAX - 20)
            continue;
        snprintf(c->socket_dir, sizeof(c->socket_dir), "%s/wharf-XXXXXX", bases[i]);
        if (!mkdtemp(c->socket_dir))
            continue;
        if ((!c->place.as_user || chown(c->socket_dir, c->place.uid,
                                      c->has_guests ? c->guests : c->place.gid) == 0) &&
            (!c->has_guests || chmod(c->socket_dir, 0710) == 0) &&
            cluster_reaches(&c->place, c->socket_dir))
            return true;
        rmdir(c->socket_dir);
    }
    *ret_error = arena_printf(c->a,
        "no folder for the database's socket could be made in /run or /tmp: %s", strerror(errno));
    c->socket_dir[0] = 0;
    return false;
}

static bool cluster_launch(struct cluster *c)
{
    const char *sockets = arena_printf(c->a, "unix_socket_directories=%s", c->socket_dir).p;
    /* the folder says who comes to the socket */
    const char *mode = c->has_guests ? "unix_socket_permissions=0777"
                                     : "unix_socket_permissions=0700";
    const char *argv[] = {arena_printf(c->a, "%s/postgres", c->place.bin).p, "-D", c->place.pgdata,
        "-c", sockets, "-c", "listen_addresses=", "-c", "port=5432", "-c", mode, "-c",
        "logging_collector=off", NULL};
    int log = cluster_open_log(c);
    struct spawn s = cluster_child_of(c, argv, -1, log);

    s.death_signal = SIGINT; /* fast shutdown */
    s.short_turns = true;
    c->pid = spawn(&s);
    if (log >= 0)
        close(log);
    if (c->pid < 0)
        c->pid = 0;
    return c->pid > 0;
}

/* Waits as long as the server lives: recovery after a power cut may take minutes. */
static bool wait_ready(struct cluster *c, wharf_str *ret_error)
{
    struct arena *tmp = arena_new(0);
    bool ready = false;

    while (!ready && waitpid(c->pid, NULL, WNOHANG) == 0) {
        ready = pid_in_file(c->place.pgdata, tmp) == c->pid && is_ready(c->place.pgdata, tmp);
        arena_reset(tmp);
        if (!ready)
            pause_us(POLL_US);
    }
    arena_free(tmp);
    if (!ready) {
        c->pid = 0;
        *ret_error = arena_printf(c->a, "PostgreSQL did not start; it says in %s:\n%s",
            c->place.log, log_tail(c, c->a).p);
    }
    return ready;
}

/* Starts the server again until it is ready: what is left of a killed server holds its shared
 * memory until each of its processes has seen that the first one is gone. */
static bool launch_until_ready(struct cluster *c, wharf_str *ret_error)
{
    for (long waited = 0; cluster_launch(c); waited += LEFT_US) {
        if (wait_ready(c, ret_error))
            return true;
        if (waited >= ORPHAN_WAIT_S * 1000000L || !strstr(ret_error->p, "shared memory block"))
            return false;
        pause_us(LEFT_US);
    }
    *ret_error = arena_printf(
        c->a, "%s/postgres can't be started: %s", c->place.bin, strerror(errno));
    return false;
}

static const char *conninfo_of(const char *socket_dir, struct arena *a)
{
    return arena_printf(a, "host='%s' port=5432 user=wharf dbname=wharf", socket_dir).p;
}

struct cluster *cluster_start(const char *data_dir, const gid_t *guests, struct arena *a,
    wharf_str *ret_note, wharf_str *ret_error)
{
    struct cluster *c = ARENA_NEW(a, struct cluster);

    c->a = a;
    c->has_guests = guests != NULL;
    c->guests = guests ? *guests : 0;
    if (!cluster_place(&c->place, data_dir, a, ret_error))
        return NULL;
    if (access(arena_printf(a, "%s/PG_VERSION", c->place.pgdata).p, F_OK) != 0 &&
        !cluster_make(c, ret_error))
        return NULL;
    if (!clear_orphan(c, ret_error) || !make_socket_dir(c, ret_error))
        return NULL;
    if (!launch_until_ready(c, ret_error)) {
        cluster_stop(c);
        return NULL;
    }
    c->conninfo = conninfo_of(c->socket_dir, a);
    *ret_note = c->place.note;
    return c;
}

const char *cluster_conninfo(const struct cluster *c)
{
    return c->conninfo;
}

int cluster_pid(const struct cluster *c)
{
    return c->pid;
}

bool cluster_revive(struct cluster *c)
{
    /* what is left of a killed server still holds its shared memory: then this one ends at once
     * and we are called again */
    return cluster_launch(c);
}

const char *cluster_running(const char *data_dir, struct arena *a)
{
    char real[PATH_MAX];
    const char *pgdata;

    if (!realpath(data_dir, real))
        return NULL;
    pgdata = cluster_pgdata(real, a);
    if (!pgdata || !is_its_server(pid_in_file(pgdata, a), pgdata, a))
        return NULL;
    return conninfo_of(pid_file_line(pgdata, 5, a).p, a);
}

static bool wait_gone(struct cluster *c, long seconds)
{
    for (long waited = 0; waited < seconds * 1000000; waited += POLL_US) {
        pid_t got = waitpid(c->pid, NULL, WNOHANG);

        if (got == c->pid || (got < 0 && errno == ECHILD))
            return true;
        pause_us(POLL_US);
    }
    return false;
}

void cluster_stop(struct cluster *c)
{
    if (!c)
        return;
    if (c->pid > 0) {
        kill(c->pid, SIGINT);
        if (!wait_gone(c, STOP_FAST_S)) {
            kill(c->pid, SIGQUIT);
            if (!wait_gone(c, STOP_NOW_S)) {
                kill(c->pid, SIGKILL);
                wait_gone(c, STOP_NOW_S);
            }
        }
        c->pid = 0;
    }
    if (c->socket_dir[0])
        remove_socket_dir(c->socket_dir, c->a);
    c->socket_dir[0] = 0;
}
