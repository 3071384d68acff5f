/* fuzz_draw.c - whole definitions, from anybody, drawn as PDF, or as ZPL where they say zpl_native:
 * each ends with a verdict, a report that is JSON, and a file that has a beginning and an end, or
 * none. No value becomes a command of ZPL. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "draw_call.h"
#include "util/str.h"

enum { LIMIT_MS = 2500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    struct draw_result result = {0};
    struct draw_call call = {.format = DRAW_PDF};
    struct buf text;
    bool zpl;

    ready = ready || fonts_prepare();
    if (!ready || size > 4096)
        return 0;
    buf_init(&text, 1 << 16);
    buf_addz(&text, "{\"now\":\"2026-01-05T10:00:00Z\",\"context\":{\"template\":null},\"body\":");
    buf_add(&text, data, size);
    buf_addz(&text, "}");
    call.request = text.n;
    zpl = strstr(text.p, "\"zpl_native\"") != NULL;
    if (zpl)
        call.format = DRAW_ZPL;
    if (draw_call_run(&result, (const unsigned char *)text.p, text.n, &call, LIMIT_MS))
        judge(&result, zpl);
    draw_result_done(&result);
    buf_done(&text);
    return 0;
}
