/* ahead.c - see ahead.h. */
#include "db/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *ahead_must(void *p)
{
    if (p)
        return p;
    fputs("wharf: out of memory\n", stderr);
    abort();
}

static char *ahead_put(char *at, const char *from, size_t n)
{
    if (n)
        memcpy(at, from, n);
    at[n] = 0;
    return at + n + 1;
}

void ahead_add(struct ahead *a, const struct db_statement *s)
{
    const struct sql_arg *args = s->args;
    size_t text = strlen(s->sql), n_args = s->n_args, size = n_args * sizeof(*args) + text + 1;
    struct sql_arg *copies;
    char *at;

    for (size_t i = 0; i < n_args; i++)
        size += args[i].n + 1;
    copies = ahead_must(malloc(size));
    at = (char *)(copies + n_args);
    for (size_t i = 0; i < n_args; i++) {
        copies[i] = (struct sql_arg){args[i].p ? at : NULL, args[i].n};
        at = ahead_put(at, args[i].p, args[i].p ? args[i].n : 0);
    }
    ahead_put(at, s->sql, text);
    if (a->n + 1 >= a->cap) {
        a->cap = a->cap ? 2 * a->cap : 8;
        a->list = ahead_must(realloc(a->list, a->cap * sizeof(*a->list)));
    }
    a->list[a->n] = *s;
    a->list[a->n].sql = at;
    a->list[a->n++].args = copies;
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
    return a->n && a->list[0].step == TX_BEGIN;
}

static bool is_savepoint(const struct db_statement *s, unsigned level)
{
    return s->step == TX_SAVEPOINT && s->level == level;
}

bool ahead_releases(struct ahead *a, unsigned level)
{
    if (!a->n || !is_savepoint(&a->list[a->n - 1], level))
        return false;
    ahead_drop(a, a->n - 1);
    return true;
}

bool ahead_rolls_back(struct ahead *a, unsigned level)
{
    size_t at = a->n;

    while (at && !is_savepoint(&a->list[at - 1], level))
        at--;
    ahead_drop(a, at ? at - 1 : 0);
    return at != 0;
}
