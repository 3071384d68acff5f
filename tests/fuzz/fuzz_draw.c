/* fuzz_draw.c - whole definitions, from anybody, drawn as PDF, or as ZPL where they say zpl_native:
 * each ends with a verdict, a report that is JSON, and a file that has a beginning and an end, or
 * none. No value becomes a command of ZPL. */
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

static size_t count_of(wharf_str text, const char *what)
{
    size_t n = 0, length = strlen(what);

    for (size_t i = 0; i + length <= text.n; i++)
        n += memcmp(text.p + i, what, length) == 0;
    return n;
}

/* Looks that each command is one that the cell writes: labels begin and end, and have what stands
 * in them. */
static void judge_zpl(wharf_str bytes, unsigned pages)
{
    static const char *const known[] = {"^XA\n", "^PW", "^LL", "^LH0,0\n", "^FO", "^GFA,", "^FS\n",
        "^BY", "^BCN,", "^BQN,2,", "^FD", "^PQ1\n", "^XZ\n"};
    size_t commands = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        commands += count_of(bytes, known[i]);
    if (count_of(bytes, "^") != commands || count_of(bytes, "~") ||
        count_of(bytes, "^XA\n") != pages || count_of(bytes, "^XZ\n") != pages)
        abort();
}

static void judge(const struct draw_result *r, bool zpl)
{
    struct arena *a = arena_new(0);
    struct json_error bad;
    wharf_str bytes = buf_str(&r->bytes), report = buf_str(&r->report);

    if (r->told.verdict > DRAW_REFUSED || r->told.bytes != bytes.n)
        abort();
    if (r->told.verdict == DRAW_TOO_COMPLEX ? !r->told.reason[0] || bytes.n
                                            : !json_parse(a, report, &bad))
        abort();
    if (bytes.n && zpl)
        judge_zpl(bytes, r->told.pages);
    else if (bytes.n && (!str_starts(bytes, "%PDF-1.5") || !str_ends(bytes, "%%EOF\n")))
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
    bool zpl;

    if (size > 4096 || !get_ready())
        return 0;
    buf_init(&text, 1 << 16);
    buf_addz(&text, "{\"now\":\"2026-01-05T10:00:00Z\",\"context\":{\"template\":null},\"body\":");
    buf_add(&text, data, size);
    buf_addz(&text, "}");
    call.request = text.n;
    zpl = strstr(text.p, "\"zpl_native\"") != NULL;
    if (zpl)
        call.format = DRAW_ZPL;
    if (draw_call_run(&result, (const unsigned char *)text.p, text.n, &call, LIMIT_MS, NULL))
        judge(&result, zpl);
    draw_result_done(&result);
    buf_done(&text);
    return 0;
}
