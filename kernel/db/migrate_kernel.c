/* migrate_kernel.c - the kernel's own migration files, carried by the program: the numbered ones, then the repeatable ones. */
#include "db/migrate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "db/kernel_migrations.h" /* generated from kernel/db/migrations and kernel/db/sql by tools/embed.py */

enum { NAME_MAX_BYTES = 64 };

/* The same for the life of the process; filled by the first call. */
static struct plugin_migration files[kernel_numbered_count + kernel_repeatable_count];
static char names[kernel_numbered_count + kernel_repeatable_count][NAME_MAX_BYTES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Adds one file as number i. skip: bytes of its name before the part that names it. */
static void fill_one(size_t i, const char *file, size_t skip, const char *text, size_t size)
{
    size_t n = strlen(file) - skip - strlen(".sql");

    if (n >= NAME_MAX_BYTES)
        abort();
    memcpy(names[i], file + skip, n);
    files[i] = (struct plugin_migration){
        "wharf", skip ? (uint32_t)strtoul(file, NULL, 10) : 0, names[i], (wharf_str){text, size}};
}

static void fill(void)
{
    for (size_t i = 0; i < kernel_numbered_count; i++)
        fill_one(i, kernel_numbered[i].name, strlen("0001_"), kernel_numbered[i].text, kernel_numbered[i].size);
    for (size_t i = 0; i < kernel_repeatable_count; i++)
        fill_one(kernel_numbered_count + i, kernel_repeatable[i].name, 0, kernel_repeatable[i].text,
            kernel_repeatable[i].size);
}

const struct plugin_migration *migrate_kernel_files(size_t *ret_count)
{
    pthread_once(&once, fill);
    *ret_count = kernel_numbered_count + kernel_repeatable_count;
    return files;
}
