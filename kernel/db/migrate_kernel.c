/* migrate_kernel.c - the kernel's own migration files, carried by the program. */
#include "db/migrate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "db/kernel_migrations.h" /* generated from kernel/db/migrations by tools/embed.py */

enum { NAME_MAX_BYTES = 64 };

/* The same for the life of the process; filled by the first call. */
static struct plugin_migration files[kernel_sql_count];
static char names[kernel_sql_count][NAME_MAX_BYTES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (size_t i = 0; i < kernel_sql_count; i++) {
        const char *name = kernel_sql[i].name; /* 0001_kernel.sql */
        size_t n = strlen(name) - strlen("0001_.sql");

        if (n >= NAME_MAX_BYTES)
            abort();
        memcpy(names[i], name + strlen("0001_"), n);
        files[i] = (struct plugin_migration){
            "wharf", (uint32_t)strtoul(name, NULL, 10), names[i], (wharf_str){kernel_sql[i].text, kernel_sql[i].size}};
    }
}

const struct plugin_migration *migrate_kernel_files(size_t *ret_count)
{
    pthread_once(&once, fill);
    *ret_count = kernel_sql_count;
    return files;
}
