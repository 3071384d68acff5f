/* ahead.c - see ahead.h. */
#include "db/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (p)
        return p;
    fputs("wharf: out of memory\n", stderr);
    abort();
}

static char *put(char *at, const char *from, size_t n)
{
    if (n)
        memcpy(at, from, n);
    at[n] = 0;
    return at + n + 1;
}

void ahead_add(struct ahead *a, const char *sql, const struct sql_arg *args, size_t n_args)
{
    size_t text = strlen(sql), size = n_args * sizeof(*args) + text + 1;
    struct sql_arg *copies;
    char *at;

    for (size_t i = 0; i < n_args; i++)
        size += args[i].n + 1;
    copies = must(malloc(size));
    at = (char *)(copies + n_args);
    for (size_t i = 0; i < n_args; i++) {
        copies[i] = (struct sql_arg){args[i].p ? at : NULL, args[i].n};
        at = put(at, args[i].p, args[i].p ? args[i].n : 0);
    }
    put(at, sql, text);
    if (a->n + 1 >= a->cap) {
        a->cap = a->cap ? 2 * a->cap : 8;
        a->list = must(realloc(a->list, a->cap * sizeof(*a->list)));
    }
    a->list[a->n++] = (struct db_statement){at, copies, n_args};
}

void ahead_drop(struct ahead *a, size_t keep)
{
    while (a->n > keep)
        free((void *)a->list[--a->n].args); /* the block begins there */
}

void ahead_done(struct ahead *a)
{
    ahead_drop(a, 0);
    free(a->list);
    *a = (struct ahead){0};
}

bool ahead_begins(const struct ahead *a)
{
    return a->n && !strcmp(a->list[0].sql, "BEGIN");
}

bool ahead_releases(struct ahead *a, const char *sql)
{
    static const char release[] = "RELEASE ";

    if (!a->n || strncmp(sql, release, sizeof(release) - 1) != 0 ||
        strcmp(sql + sizeof(release) - 1, a->list[a->n - 1].sql) != 0)
        return false;
    ahead_drop(a, a->n - 1);
    return true;
}
