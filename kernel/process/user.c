/* user.c - see user.h.
 *
 * The data folder stays root's, with the user's group and the sticky bit: the user adds files
 * and can't put others in the place of the supervisor's (lock, control.sock, quarantine,
 * postgres). Leaves to others: becoming the user (spawn.c). */
#include "process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/spawn.h"
#include "util/str.h"

bool user_find(
    const struct config *config, struct server_user *ret, struct arena *a, wharf_str *ret_error)
{
    const char *name = config->user;
    const struct passwd *pw;

    *ret = (struct server_user){.drops = false};
    if (!name[0])
        return true;
    pw = getpwnam(name);
    if (!pw) {
        *ret_error = arena_printf(a,
            "user: there is no user \"%s\" on this machine; make it (useradd --system %s), or name "
            "another",
            name, name);
        return false;
    }
    if (pw->pw_uid == geteuid())
        return true;
    if (geteuid() != 0) {
        *ret_error = arena_printf(
            a, "user: only root can become \"%s\"; start the server as root or as that user", name);
        return false;
    }
    ret->drops = true;
    ret->uid = pw->pw_uid;
    ret->gid = pw->pw_gid;
    ret->n_groups = USER_GROUPS_MAX;
    if (getgrouplist(name, ret->gid, ret->groups, &ret->n_groups) < 0) {
        *ret_error = arena_printf(
            a, "user: \"%s\" is in more than %d groups", name, USER_GROUPS_MAX);
        return false;
    }
    return true;
}

void user_become(const struct server_user *u, struct spawn *child)
{
    child->as_user = u->drops;
    child->uid = u->uid;
    child->gid = u->gid;
    child->groups = u->groups;
    child->n_groups = (size_t)u->n_groups;
}

static const struct server_user *given_to; /* of the walk below; nftw() hands nothing through */

static int give_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return st->st_uid == 0 ? lchown(path, given_to->uid, given_to->gid) : 0;
}

/* Gives the user a file or a folder with all in it, when it is there and still root's. What the
 * user has already may lead anywhere, and is left alone. */
static bool user_give(
    const struct server_user *u, const char *path, struct arena *a, wharf_str *ret_error)
{
    struct stat st;
    bool good;

    if (lstat(path, &st) != 0 || st.st_uid != 0)
        return true;
    given_to = u;
    good = nftw(path, give_one, 16, FTW_PHYS | FTW_DEPTH) == 0;
    if (!good)
        *ret_error = arena_printf(
            a, "%s can't be given to the user of the server: %s", path, strerror(errno));
    return good;
}

bool user_take_places(
    const struct server_user *u, const struct config *config, struct arena *a, wharf_str *ret_error)
{
    static const char *const own[] = {"blobs", "modules", "crash", "master.key", "lua-hooks.json",
        "lua-hooks.reload", "dev.json"};
    bool good = true;

    if (!u->drops)
        return true;
    if (chown(config->data, 0, u->gid) != 0 || chmod(config->data, 01771) != 0) {
        *ret_error = arena_printf(a, "the folder %s can't be opened to the user of the server: %s",
            config->data, strerror(errno));
        return false;
    }
    for (size_t i = 0; good && i < sizeof(own) / sizeof(own[0]); i++)
        good = user_give(u, arena_printf(a, "%s/%s", config->data, own[i]).p, a, ret_error);
    if (good && config->blob_dir[0])
        good = user_give(u, config->blob_dir, a, ret_error);
    if (good)
        good = user_give(u, config->crash_dir, a, ret_error);
    return good && user_make_logs(u, config, a, ret_error);
}

static bool make_log(
    const struct server_user *u, const char *file, struct arena *a, wharf_str *ret_error)
{
    struct stat st;
    int fd;
    bool good;

    if (!file[0] || strcmp(file, "-") == 0)
        return true;
    fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
    /* it stays root's, who opens it too; a pipe, or a file of somebody else, is as the operator
     * wants it */
    good = fd >= 0 && fstat(fd, &st) == 0 &&
           (st.st_uid != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
               (fchown(fd, 0, u->gid) == 0 && fchmod(fd, 0660) == 0));
    if (!good)
        *ret_error = arena_printf(a, "the log %s can't be made: %s", file, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

bool user_make_logs(
    const struct server_user *u, const struct config *config, struct arena *a, wharf_str *ret_error)
{
    return !u->drops || (make_log(u, config->log_file, a, ret_error) &&
                            make_log(u, config->access_log, a, ret_error));
}
