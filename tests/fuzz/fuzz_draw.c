/* fuzz_draw.c - whole definitions, from anybody, drawn as PDF: each ends with a verdict, a report
 * that is JSON, and a file that has a beginning and an end, or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fontconfig/fontconfig.h>
#include <pango/pangocairo.h>

#include "draw.h"
#include "draw_call.h"
#include "util/str.h"

enum { LIMIT_MS = 2500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* The sanitizers' libraries look for these two. */
#define FOUND __attribute__((visibility("default")))
FOUND const char *__asan_default_options(void);
FOUND const char *__lsan_default_suppressions(void);

/* Has libraries without frame pointers unwound, for the names below. */
const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}

/* cairo 1.16 forgets a table of each font of CFF with CIDs (Chinese) that it makes a subset of. */
const char *__lsan_default_suppressions(void)
{
    return "leak:cairo_surface_finish\n";
}

static void judge(const struct draw_result *r)
{
    struct arena *a = arena_new(0);
    struct json_error bad;
    wharf_str bytes = buf_str(&r->bytes), report = buf_str(&r->report);

    if (r->told.verdict > DRAW_REFUSED || r->told.bytes != bytes.n)
        abort();
    if (r->told.verdict == DRAW_TOO_COMPLEX ? !r->told.reason[0] || bytes.n
                                            : !json_parse(a, report, &bad))
        abort();
    if (bytes.n && (!str_starts(bytes, "%PDF-1.5") || !str_ends(bytes, "%%EOF\n")))
        abort();
    arena_free(a);
}

/* Gives back what the libraries keep for a process: fontconfig hides pointers from who looks for
 * leaks. */
static void forget(void)
{
    pango_cairo_font_map_set_default(NULL);
    cairo_debug_reset_static_data();
    FcFini();
}

/* Maps the fonts, the first time. */
static bool get_ready(void)
{
    static bool ready;

    if (!ready)
        ready = fonts_prepare() && atexit(forget) == 0;
    return ready;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct draw_result result = {0};
    struct draw_call call = {.format = DRAW_PDF};
    struct buf text;

    if (size > 4096 || !get_ready())
        return 0;
    buf_init(&text, 1 << 16);
    buf_addz(&text, "{\"now\":\"2026-01-05T10:00:00Z\",\"context\":{\"template\":null},\"body\":");
    buf_add(&text, data, size);
    buf_addz(&text, "}");
    call.request = text.n;
    if (draw_call_run(&result, (const unsigned char *)text.p, text.n, &call, LIMIT_MS, NULL))
        judge(&result);
    draw_result_done(&result);
    buf_done(&text);
    return 0;
}
