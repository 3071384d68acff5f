/* address_split.c - what the parser makes of the public addresses, and how fast, on one core.
 *
 * Prints a JSON line per address of the files that is not taken apart right, and one at the end.
 * Run: tests/bench/addresses.py */
#include <stdio.h>
#include <time.h>

#include "util/arena.h"
#include "util/buf.h"
#include "../unit/address_cases.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static wharf_str whole(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "re");
    struct buf text;
    wharf_str s;
    size_t n;

    if (!f)
        return (wharf_str){"", 0};
    buf_init(&text, 1 << 24);
    do {
        n = fread(buf_room(&text, 65536), 1, 65536, f);
        text.n += n;
    } while (n);
    fclose(f);
    s = arena_dup_str(a, buf_str(&text));
    buf_done(&text);
    return s;
}

static void put(struct buf *out, const char *key, wharf_str v)
{
    buf_addz(out, ",\"");
    buf_addz(out, key);
    buf_addz(out, "\":");
    json_quote(out, v);
}

static void tell(const char *file, size_t at, const char *wrong, const struct address *a)
{
    struct buf out;

    buf_init(&out, 1 << 16);
    put(&out, "file", str_z(file));
    put(&out, "wrong", str_z(wrong));
    put(&out, "line1", a->line1);
    put(&out, "line2", a->line2);
    put(&out, "city", a->city);
    put(&out, "state", a->state);
    put(&out, "postal_code", a->postal_code);
    put(&out, "country_code", a->country_code);
    printf("{\"at\":%zu%.*s}\n", at, (int)out.n, buf_str(&out).p);
    buf_done(&out);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new(0);
    struct json_error error = {0};
    char room[ADDRESS_ROOM];
    struct address a;
    size_t parsed = 0;
    double start, spent = 0;

    for (int i = 1; i < argc; i++) {
        const struct wharf_json *all = json_parse(arena, whole(arena, argv[i]), &error), *c;

        if (!all) {
            fprintf(stderr, "%s: %s\n", argv[i], error.message);
            return 1;
        }
        for (size_t at = 0; (c = json_at(all, at)); at++) {
            const char *wrong = case_wrong(c, room, &a);
            wharf_str text = json_text_or(c, "text", "");
            wharf_str country = json_text_or(c, "organization", "");

            if (wrong)
                tell(argv[i], at, wrong, &a);
            start = now();
            for (size_t n = 0; n < 200; n++)
                address_read(text, country, room, &a);
            spent += now() - start;
            parsed += 200;
        }
    }
    printf("{\"parsed\":%zu,\"microseconds_each\":%.2f}\n", parsed,
        parsed ? spent * 1e6 / (double)parsed : 0);
    arena_free(arena);
    return 0;
}
