/* backup_verify.c - reads all of a backup and compares it with what it says of itself. See
 * backup.h. */
#include <string.h>

#include "tool/backup/backup.h"
#include "tool/cli/cli.h"

static bool file_fits(const struct backup_place *p, const char *name, const struct backup_sum *said,
    const struct backup_seal *seal)
{
    struct backup_sum sum = {0, ""};
    enum backup_read status = backup_in(p->fd, name, seal, NULL, NULL, &sum, NULL);

    if (status == READ_WHOLE && sum.size == said->size && strcmp(sum.sha256, said->sha256) == 0)
        return true;
    cli_fail("%s/%s %s", p->dir, name,
        status == READ_ABSENT    ? "is missing"
        : status == READ_TROUBLE ? "can't be read"
                                 : "is damaged");
    return false;
}

bool backup_verify(
    const struct backup_place *p, const struct backup_manifest *m, const struct backup_seal *seal)
{
    bool good = true, listed = true;

    for (size_t i = 0; i < m->n_files; i++) {
        bool fits = file_fits(p, m->files[i].name, &m->files[i].sum, seal);

        good = good && fits;
        listed = listed && (fits || strcmp(m->files[i].name, BACKUP_OBJECTS) != 0);
    }
    return listed && objects_read(p, m, seal, NULL) && good;
}
