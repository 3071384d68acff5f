/* quarantine.c - see quarantine.h. */
#include "process/quarantine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/file.h"

enum { FILE_LIMIT = 64 * 1024 };

static const char *quarantine_place(const char *data, struct arena *a)
{
    return arena_printf(a, "%s/quarantine", data).p;
}

size_t quarantine_read(const char *data, struct quarantined *ret)
{
    struct arena *a = arena_new(0);
    wharf_str text = file_read(quarantine_place(data, a), FILE_LIMIT, a);
    size_t n = 0;

    for (const char *p = text.p; p && *p && n < QUARANTINE_MAX;
         p += strcspn(p, "\n"), p += *p == '\n') {
        struct quarantined q = {.name = ""};

        if (sscanf(p, "%31[^ \n] %24[^ \n] %" SCNd64 " %" SCNd64, q.name, q.since, &q.crashes,
                &q.window_s) == 4)
            ret[n++] = q;
    }
    arena_free(a);
    return n;
}

bool quarantine_write(const char *data, const struct quarantined *list, size_t n, struct arena *a,
    wharf_str *ret_error)
{
    struct buf out;
    bool good;

    buf_init(&out, FILE_LIMIT);
    for (size_t i = 0; i < n; i++)
        buf_addf(&out, "%s %s %" PRId64 " %" PRId64 "\n", list[i].name, list[i].since,
            list[i].crashes, list[i].window_s);
    good = file_replace(quarantine_place(data, a), buf_str(&out), 0644, a, ret_error);
    buf_done(&out);
    return good;
}

const char *quarantine_names(const struct quarantined *list, size_t n, struct arena *a)
{
    const char *names = "";

    for (size_t i = 0; i < n; i++)
        names = arena_printf(a, "%s%s%s", names, i ? "," : "", list[i].name).p;
    return names;
}
