/* cluster_place.c - where the embedded cluster lives and as whom it runs (docs/decisions 23).
 *
 * The cluster is DATA/postgres. When we are root, PostgreSQL runs as the owner of the data
 * folder or as `postgres`; if that user can't reach the folder, the cluster lives in
 * /var/lib/wharf and the file DATA/cluster says where. Leaves to others: making and running it
 * (cluster.c). */
#include "db/cluster_place.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/id.h"
#include "util/str.h"

static const char elsewhere[] = "/var/lib/wharf";
enum { SMALL_FILE = 16 * 1024 };

wharf_str cluster_read_small(const char *file, struct arena *a)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    char text[SMALL_FILE];
    ssize_t n;

    if (fd < 0)
        return (wharf_str){"", 0};
    n = read(fd, text, sizeof(text));
    close(fd);
    return arena_dup(a, text, n > 0 ? (size_t)n : 0);
}

/* Asks in a child that has become the user: only the kernel knows about access lists, name spaces
 * and mounts. */
bool cluster_reaches(const struct place *p, const char *dir)
{
    int status = 0;
    pid_t pid;

    if (!p->as_user)
        return access(dir, R_OK | X_OK) == 0;
    pid = fork();
    if (pid == 0) {
        if (setgroups(1, &p->gid) != 0 || setgid(p->gid) != 0 || setuid(p->uid) != 0)
            _exit(1);
        _exit(chdir(dir) == 0 ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool choose_user(struct place *p, struct arena *a, wharf_str *ret_error)
{
    const struct passwd *pw;
    struct stat st;

    p->uid = geteuid();
    p->gid = getegid();
    p->user = "this user";
    if (p->uid != 0)
        return true;
    if (stat(p->data_dir, &st) != 0) {
        *ret_error = arena_printf(a, "%s: %s", p->data_dir, strerror(errno));
        return false;
    }
    pw = st.st_uid ? getpwuid(st.st_uid) : getpwnam("postgres");
    if (!pw) {
        *ret_error = arena_printf(a,
            "PostgreSQL does not run as root and there is no user postgres; install the package "
            "postgresql, or start wharf as another user");
        return false;
    }
    p->as_user = true;
    p->uid = pw->pw_uid;
    p->gid = pw->pw_gid;
    p->user = arena_dupz(a, pw->pw_name).p;
    return true;
}

static bool is_program(struct arena *a, const char *dir, const char *name)
{
    return access(arena_printf(a, "%s/%s", dir, name).p, X_OK) == 0;
}

/* Finds the folder of the programs in PATH. Returns NULL when there is none. */
static const char *bin_in_path(struct arena *a)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        const char *dir = arena_dup(a, path, n).p;

        if (n && is_program(a, dir, "postgres") && is_program(a, dir, "initdb"))
            return dir;
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* Finds the newest installed version, or exactly the one that made the cluster. */
static const char *find_bin(struct arena *a, const char *version)
{
    glob_t found;
    const char *best = NULL;
    long best_version = 0;

    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *path = found.gl_pathv[i];
            long v = strtol(path + strlen("/usr/lib/postgresql/"), NULL, 10);

            if (version[0] ? v == strtol(version, NULL, 10) : v > best_version) {
                best = arena_dup(a, path, strlen(path) - strlen("/initdb")).p;
                best_version = v;
            }
        }
        globfree(&found);
    }
    return best ? best : bin_in_path(a);
}

static bool choose_bin(struct place *p, struct arena *a, wharf_str *ret_error)
{
    wharf_str version = cluster_read_small(arena_printf(a, "%s/PG_VERSION", p->pgdata).p, a);

    while (version.n && version.p[version.n - 1] == '\n')
        version = arena_dup(a, version.p, version.n - 1);
    p->bin = find_bin(a, version.p);
    if (p->bin)
        return true;
    if (version.n)
        *ret_error = arena_printf(a,
            "%s was made by PostgreSQL %s, which is not installed; install postgresql-%s",
            p->pgdata, version.p, version.p);
    else
        *ret_error = arena_printf(
            a, "PostgreSQL is not installed; install the package postgresql, or set database.url");
    return false;
}

const char *cluster_pgdata(const char *data_dir, struct arena *a)
{
    wharf_str moved = cluster_read_small(arena_printf(a, "%s/cluster", data_dir).p, a);
    const char *pgdata;

    while (moved.n && moved.p[moved.n - 1] == '\n')
        moved = arena_dup(a, moved.p, moved.n - 1);
    pgdata = moved.n ? moved.p : arena_printf(a, "%s/postgres", data_dir).p;
    return access(pgdata, F_OK) == 0 ? pgdata : NULL;
}

static bool write_marker(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good;

    if (fd < 0)
        return false;
    good = dprintf(fd, "%s\n", text) > 0 && fsync(fd) == 0;
    close(fd);
    return good;
}

/* Makes the folder when it is missing; others may enter it whatever our umask is. */
static bool open_folder(const char *dir)
{
    if (mkdir(dir, 0755) == 0)
        return chmod(dir, 0755) == 0;
    return errno == EEXIST;
}

/* Chooses a folder of its own under /var/lib/wharf. The name is random, so that a data folder that
 * was deleted and made again never meets the rows of its predecessor. */
static bool place_elsewhere(struct place *p, struct arena *a, wharf_str *ret_error)
{
    char name[13];

    random_base62(name, sizeof(name) - 1);
    p->pgdata = arena_printf(a, "%s/%s/postgres", elsewhere, name).p;
    if (!open_folder(elsewhere) || !open_folder(arena_printf(a, "%s/%s", elsewhere, name).p) ||
        !cluster_reaches(p, elsewhere)) {
        *ret_error = arena_printf(a,
            "the user %s can reach neither %s nor %s; choose another folder with --data", p->user,
            p->data_dir, elsewhere);
        return false;
    }
    if (!write_marker(arena_printf(a, "%s/cluster", p->data_dir).p, p->pgdata)) {
        *ret_error = arena_printf(
            a, "%s/cluster can't be written: %s", p->data_dir, strerror(errno));
        return false;
    }
    p->note = arena_printf(
        a, "the user %s can't reach %s, so the database is in %s", p->user, p->data_dir, p->pgdata);
    return true;
}

bool cluster_place(struct place *p, const char *data_dir, struct arena *a, wharf_str *ret_error)
{
    char real[PATH_MAX];

    *p = (struct place){.note = {"", 0}};
    if (!realpath(data_dir, real)) {
        *ret_error = arena_printf(a, "%s: %s", data_dir, strerror(errno));
        return false;
    }
    p->data_dir = arena_dupz(a, real).p;
    p->log = arena_printf(a, "%s/postgresql.log", real).p;
    if (!choose_user(p, a, ret_error))
        return false;
    p->pgdata = cluster_pgdata(real, a);
    if (!p->pgdata && cluster_reaches(p, real))
        p->pgdata = arena_printf(a, "%s/postgres", real).p;
    if (!p->pgdata && !place_elsewhere(p, a, ret_error))
        return false;
    return choose_bin(p, a, ret_error);
}
