/* judge.c - what the server's validator says of schemas and values given as JSON; run.py
 * compares it with what is right.
 *
 * Standard input: [{"schema": ..., "values": [...]}, ...]. Standard output, one line each:
 * {"problems": ["..."]} when the schema is refused, else {"verdicts": [true, ...]}. */
#include <stdio.h>
#include <unistd.h>

#include "schema/schema.h"
#include "util/str.h"

static void collect(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct jw *w = arg;
    struct buf line;

    buf_init(&line, 10000);
    buf_addf(&line, "%.*s: %.*s", STR_ARG(path), STR_ARG(message));
    jw_str(w, NULL, buf_str(&line));
    buf_done(&line);
}

static void judge(struct arena *a, const struct wharf_json *group, struct buf *out)
{
    const struct schema *s;
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_open(&w, "problems", '[');
    s = schema_compile(a, json_get(group, "schema"), collect, &w);
    jw_close(&w, ']');
    jw_open(&w, "verdicts", '[');
    for (const struct wharf_json *v = json_get(group, "values")->child; s && v; v = v->next) {
        struct buf messages;
        struct jw reported;
        bool loud, quiet;

        buf_init(&messages, 1 << 20);
        jw_init(&reported, &messages);
        loud = schema_validate(s, v, WHARF_S(""), 0, a, collect, &reported);
        quiet = schema_validate(s, v, WHARF_S(""), 0, a, NULL, NULL);
        /* The verdict, and that exactly the refused values have a problem told. */
        if (loud != quiet || loud != (messages.n == 0))
            jw_z(&w, NULL, "the problems told do not fit the verdict");
        else
            jw_bool(&w, NULL, loud);
        buf_done(&messages);
    }
    jw_close(&w, ']');
    jw_close(&w, '}');
    buf_addc(out, '\n');
}

int main(void)
{
    struct arena *a = arena_new(0);
    struct json_error error;
    const struct wharf_json *all;
    struct buf in, out;
    ssize_t n;

    buf_init(&in, 1 << 28);
    buf_init(&out, 1 << 28);
    do {
        char *room = buf_room(&in, 65536);

        n = room ? read(STDIN_FILENO, room, 65536) : -1;
        if (n > 0)
            in.n += (size_t)n;
    } while (n > 0);
    all = json_parse(a, buf_str(&in), &error);
    if (!all) {
        fprintf(stderr, "judge: %s at byte %zu\n", error.message, error.offset);
        return 1;
    }
    for (const struct wharf_json *group = all->child; group; group = group->next) {
        struct arena *inner = arena_new(0);

        judge(inner, group, &out);
        arena_free(inner);
    }
    fwrite(out.p, 1, out.n, stdout);
    buf_done(&in);
    buf_done(&out);
    arena_free(a);
    return 0;
}
