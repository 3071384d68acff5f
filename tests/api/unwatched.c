/* unwatched.c - for LD_PRELOAD: a user without a watcher left (fs.inotify.max_user_instances),
 * as test_hook_watch.py needs one. */
#include <errno.h>
#include <sys/inotify.h>

__attribute__((visibility("default"))) int inotify_init1(int flags)
{
    (void)flags;
    errno = EMFILE;
    return -1;
}
