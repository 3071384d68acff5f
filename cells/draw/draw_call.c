/* draw_call.c - a call taken apart, drawn, and its report written; see draw_call.h. */
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "draw_aside.h"
#include "draw_call.h"
#include "util/str.h"
#include "util/time.h"

enum {
    ARENA = 256 << 20,
    BLOBS_MAX = 1024,
    TIME_LEFT_MS = 500 /* kept for the end of a drawing */
};

/* Returns when a drawing gives up, so that its end can be told before the limit of its caller (ms,
 * 0: none). */
static int64_t draw_call_end_us(uint32_t limit_ms)
{
    uint32_t mine = limit_ms > 2 * TIME_LEFT_MS ? limit_ms - TIME_LEFT_MS : limit_ms / 2;

    return mine ? clock_monotonic_us() + (int64_t)mine * 1000 : 0;
}

/* ---- the request ---- */

static bool take_blobs(
    struct drawing *d, const unsigned char *p, size_t n, const struct draw_call *call)
{
    size_t at = call->request + call->n_blobs * sizeof(uint64_t);

    if (call->request > n || call->n_blobs > BLOBS_MAX || at > n)
        return false;
    d->blobs = ARENA_ARRAY(d->arena, struct draw_bytes, call->n_blobs + 1);
    d->n_blobs = call->n_blobs;
    for (size_t i = 0; i < d->n_blobs; i++) {
        uint64_t size;

        memcpy(&size, p + call->request + i * sizeof(size), sizeof(size));
        if (size > n - at)
            return false;
        d->blobs[i] = (struct draw_bytes){p + at, (size_t)size};
        at += (size_t)size;
    }
    return true;
}

/* Makes the names that are there besides the data. */
static const struct draw_vars *builtins_of(struct drawing *d)
{
    struct draw_vars *context = ARENA_NEW(d->arena, struct draw_vars),
                     *now = ARENA_NEW(d->arena, struct draw_vars);
    const struct wharf_json *members = json_get(d->request, "context"),
                            *time = json_get(d->request, "now");

    *context = (struct draw_vars){.value = members ? members : &value_null};
    *now = (struct draw_vars){context, WHARF_S("now"), time ? time : &value_null};
    return now;
}

/* Refuses by name what this version of the cell does not draw. */
static bool refuse_unknown(struct drawing *d)
{
    if (json_get(d->body, "sheet") && json_get(d->body, "sheet")->type != JSON_NULL &&
        d->format == DRAW_PNG)
        report_problem(d, str_z("sheet"), "a sheet is drawn as PDF or ZPL");
    return !d->report.n_problems;
}

static void draw_call_start(struct drawing *d)
{
    buf_init(&d->report.errors, DRAW_REPORT_MAX);
    buf_init(&d->report.warnings, DRAW_REPORT_MAX);
    buf_init(&d->report.problems, DRAW_REPORT_MAX);
}

static void draw_call_end(struct drawing *d)
{
    buf_done(&d->report.errors);
    buf_done(&d->report.warnings);
    buf_done(&d->report.problems);
}

bool draw_call_run(struct draw_result *ret, const unsigned char *p, size_t n,
    const struct draw_call *call, unsigned limit_ms, size_t (*zone)(const char *name, char *bytes))
{
    struct drawing d = {.arena = arena_new(ARENA), .format = call->format, .zones = {.read = zone}};
    struct json_error bad;
    struct buf sources;
    bool good = take_blobs(&d, p, n, call);

    buf_init(&ret->bytes, DRAW_BYTES_MAX);
    buf_init(&ret->report, 3 * DRAW_REPORT_MAX);
    buf_init(&sources, DRAW_REPORT_MAX);
    draw_call_start(&d);
    if (good)
        d.request = json_parse(d.arena, arena_dup(d.arena, (const char *)p, call->request), &bad);
    d.body = json_get(d.request, "body");
    good = good && json_is(d.body, JSON_OBJECT) && call->format >= DRAW_PDF &&
           call->format <= DRAW_SOURCES;
    if (good) {
        d.end_us = draw_call_end_us(limit_ms);
        d.images = json_index(d.arena, json_get(d.request, "images"));
        d.image_errors = json_index(d.arena, json_get(d.request, "image_errors"));
        d.builtins = builtins_of(&d);
        d.sources = call->format == DRAW_SOURCES ? &sources : NULL;
        ret->told.verdict = (refuse_unknown(&d) && draw_all(&d, &ret->bytes)) ? DRAW_GOOD
                            : d.complex                                       ? DRAW_TOO_COMPLEX
                                                                              : DRAW_REFUSED;
        ret->told.pages = d.made_pages;
        ret->told.spoiled = d.n_own_fonts > 0 || aside_is_late();
        if (d.complex)
            snprintf(ret->told.reason, sizeof(ret->told.reason), "%s", d.complex);
        if (d.sources && ret->told.verdict == DRAW_GOOD)
            buf_addf(&ret->report, "{\"sources\":{%s}}", sources.n ? sources.p : "");
        else if (!d.complex)
            report_write(&d, &ret->report);
        if (ret->told.verdict != DRAW_GOOD || d.sources || !d.report.rendered)
            buf_clear(&ret->bytes);
        ret->told.bytes = ret->bytes.n;
    }
    buf_done(&sources);
    draw_call_end(&d);
    arena_free(d.arena);
    return good;
}

void draw_result_done(struct draw_result *r)
{
    buf_done(&r->bytes);
    buf_done(&r->report);
}
