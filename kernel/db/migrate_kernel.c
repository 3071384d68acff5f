/* migrate_kernel.c - the kernel's own migration files, carried by the program. */
#include "db/migrate.h"

#include <stdlib.h>
#include <string.h>

#include "util/str.h"

#include "kernel_migrations.h" /* generated from kernel/db/migrations by tools/embed.py */

static struct plugin_migration files[kernel_sql_count];

/* The list is the same for the life of the process: filled before main, so that no call has to care. */
__attribute__((constructor)) static void fill(void)
{
    for (size_t i = 0; i < kernel_sql_count; i++) {
        const char *name = kernel_sql[i].name; /* 0001_kernel.sql */
        size_t n = strlen(name) - strlen(".sql");
        static char names[kernel_sql_count][64];

        if (n < 6 || n - 5 >= sizeof(names[i]))
            abort();
        memcpy(names[i], name + 5, n - 5);
        files[i] = (struct plugin_migration){"wharf", (uint32_t)strtoul(name, NULL, 10), names[i],
            (wharf_str){kernel_sql[i].text, kernel_sql[i].size}};
    }
}

const struct plugin_migration *migrate_kernel_files(size_t *ret_count)
{
    *ret_count = kernel_sql_count;
    return files;
}
