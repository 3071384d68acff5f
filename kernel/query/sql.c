/* sql.c - building a statement: our own text, and values as $n. Leaves running it to db/. */
#include <stdio.h>

#include "query/query.h"
#include "wharf/values.h"

enum { SQL_TEXT_MAX = 1 << 20 };

static void release_text(void *arg)
{
    buf_done(arg);
}

void sql_init(struct sql *s, struct arena *a)
{
    *s = (struct sql){.arena = a, .text = ARENA_NEW(a, struct buf)};
    buf_init(s->text, SQL_TEXT_MAX);
    arena_on_free(a, release_text, s->text);
}

void sql_add(struct sql *s, const char *text)
{
    buf_addz(s->text, text);
    s->failed |= s->text->failed;
}

void sql_addf(struct sql *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    sql_add(s, arena_vprintf(s->arena, fmt, ap).p);
    va_end(ap);
}

static size_t sql_keep_arg(struct sql *s, struct sql_arg arg)
{
    if (s->n_args == s->cap_args) {
        size_t cap = s->cap_args ? s->cap_args * 2 : 16;
        struct sql_arg *args = ARENA_ARRAY(s->arena, struct sql_arg, cap);

        if (s->n_args)
            memcpy(args, s->args, s->n_args * sizeof(*args));
        s->args = args;
        s->cap_args = cap;
    }
    s->args[s->n_args] = arg;
    return ++s->n_args;
}

size_t sql_keep(struct sql *s, wharf_str value)
{
    wharf_str copy = arena_dup_str(s->arena, value);

    return sql_keep_arg(s, (struct sql_arg){copy.p, copy.n});
}

void sql_bind(struct sql *s, wharf_str value)
{
    sql_addf(s, "$%zu", sql_keep(s, value));
}

void sql_bind_int(struct sql *s, int64_t value)
{
    sql_bind(s, arena_printf(s->arena, "%lld", (long long)value));
}

void sql_bind_null(struct sql *s)
{
    sql_addf(s, "$%zu", sql_keep_arg(s, (struct sql_arg){NULL, 0}));
}

void sql_bind_array(struct sql *s, const wharf_str *values, size_t n)
{
    wharf_str list = wharf_array(values, n, arena_alloc(s->arena, wharf_array_room(values, n)));

    sql_addf(s, "$%zu", sql_keep_arg(s, (struct sql_arg){list.p, list.n}));
}

void sql_bind_set(struct sql *s, const wharf_str *values, size_t n, const char *type)
{
    sql_add(s, "(SELECT ");
    sql_bind_array(s, values, n);
    sql_addf(s, "::%s[])", type);
}

void sql_bind_cells(struct sql *s, const struct sql_arg *values, size_t n)
{
    size_t most = 3, k = 0;
    char *out;

    for (size_t i = 0; i < n; i++)
        most += 2 * values[i].n + 5;
    out = arena_alloc(s->arena, most);
    out[k++] = '{';
    for (size_t i = 0; i < n; i++) {
        if (i)
            out[k++] = ',';
        if (!values[i].p) {
            for (const char *c = "NULL"; *c; c++)
                out[k++] = *c;
            continue;
        }
        out[k++] = '"';
        for (size_t j = 0; j < values[i].n; j++) {
            if (values[i].p[j] == '"' || values[i].p[j] == '\\')
                out[k++] = '\\';
            out[k++] = values[i].p[j];
        }
        out[k++] = '"';
    }
    out[k++] = '}';
    sql_addf(s, "$%zu", sql_keep_arg(s, (struct sql_arg){out, k}));
}
