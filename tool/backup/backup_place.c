/* backup_place.c - the folder of a backup: begun under another name, named when all of it is on
 * disk. See backup.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "tool/backup/backup.h"
#include "tool/cli/cli.h"
#include "util/file.h"
#include "util/str.h"

static const char begun[] = ".unfinished";

bool place_failed(const struct backup_place *p, const char *name, const char *doing)
{
    cli_fail("%s%s%s can't be %s: %s", p->unfinished ? p->unfinished : p->dir, *name ? "/" : "",
        name, doing, strerror(errno));
    return false;
}

/* Removes what a backup that was killed has left, unless it is still written to. */
static bool backup_place_clear(const struct backup_place *p)
{
    int fd = open(p->unfinished, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool free = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;

    if (free && fd >= 0)
        file_remove_tree(p->unfinished);
    else if (!free)
        cli_fail("another backup is written to %s", p->unfinished);
    if (fd >= 0)
        close(fd);
    return free;
}

bool place_begin(struct backup_place *p, const char *dir, struct arena *a)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    *p = (struct backup_place){.dir = arena_dup(a, dir, n).p, .fd = -1};
    p->unfinished = arena_printf(a, "%s%s", p->dir, begun).p;
    if (access(p->dir, F_OK) == 0) {
        cli_fail("%s is there already; a backup goes into a folder of its own", p->dir);
        return false;
    }
    if (!backup_place_clear(p))
        return false;
    if (mkdir(p->unfinished, 0700) == 0)
        p->fd = open(p->unfinished, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (p->fd >= 0 && flock(p->fd, LOCK_EX | LOCK_NB) == 0) || place_failed(p, "", "made");
}

/* Brings the entry of the folder itself to disk. */
static bool sync_parent(const struct backup_place *p)
{
    int parent = openat(p->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = parent >= 0 && fsync(parent) == 0;

    if (parent >= 0)
        close(parent);
    return good;
}

bool place_finish(struct backup_place *p)
{
    /* one call for a million objects */
    if (syncfs(p->fd) != 0)
        return place_failed(p, "", "brought to disk");
    fault_point("backup.synced");
    /* a folder replaces nothing but an empty one; NFS knows no RENAME_NOREPLACE */
    if (rename(p->unfinished, p->dir) != 0 || !sync_parent(p))
        return place_failed(p, "", "named");
    close(p->fd);
    p->fd = -1;
    return true;
}

void place_give_up(struct backup_place *p)
{
    if (p->fd < 0)
        return;
    file_remove_tree(p->unfinished);
    close(p->fd);
    p->fd = -1;
}

bool place_open(struct backup_place *p, const char *dir)
{
    *p = (struct backup_place){.dir = dir};
    p->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->fd < 0)
        return place_failed(p, "", "read");
    if (faccessat(p->fd, "manifest.json", F_OK, 0) == 0)
        return true;
    cli_fail("%s is no backup: it has no manifest.json", dir);
    close(p->fd);
    return false;
}
