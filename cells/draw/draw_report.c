/* draw_report.c - errors of elements, warnings and counts, see draw.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "util/str.h"
#include "util/time.h"

enum { MESSAGE = 300 };

/* Writes a message, cut at a letter when it is too long. */
static wharf_str draw_report_message_of(char room[MESSAGE], const char *fmt, va_list ap)
{
    size_t n;

    vsnprintf(room, MESSAGE, fmt, ap);
    n = strlen(room);
    while (n && !utf8_valid(room, n))
        room[--n] = 0;
    return (wharf_str){room, n};
}

static void begin_note(struct buf *b)
{
    if (b->n)
        buf_addc(b, ',');
    buf_addc(b, '{');
}

static void note_text(struct buf *b, const char *key, wharf_str value)
{
    buf_addf(b, "\"%s\":", key);
    json_quote(b, value);
}

bool report_error(struct drawing *d, struct element *e, const char *code, const char *fmt, ...)
{
    struct buf *b = &d->report.errors;
    char room[MESSAGE];
    va_list ap;

    if (e->failed)
        return false;
    e->failed = true;
    if (e->counted)
        d->report.rendered--; /* its first page went well */
    e->counted = false;
    if (d->report.n_errors++ >= NOTES_MAX)
        return false;
    va_start(ap, fmt);
    begin_note(b);
    if (e->index >= 0)
        buf_addf(b, "\"index\":%d,", e->index);
    else
        buf_addz(b, "\"index\":null,");
    note_text(b, "path", e->path);
    buf_addc(b, ',');
    note_text(b, "type", el_text(e, "type", ""));
    buf_addc(b, ',');
    note_text(b, "code", str_z(code));
    buf_addc(b, ',');
    note_text(b, "message", draw_report_message_of(room, fmt, ap));
    buf_addc(b, '}');
    va_end(ap);
    return false;
}

void report_warning(struct drawing *d, const struct element *e, const char *what, const char *code,
    const char *fmt, ...)
{
    struct buf *b = &d->report.warnings, note;
    char room[MESSAGE];
    va_list ap;

    if (d->report.n_warnings >= NOTES_MAX)
        return;
    buf_init(&note, 4 * MESSAGE + 8192);
    va_start(ap, fmt);
    buf_addz(&note, "{");
    note_text(&note, "path",
        arena_printf(d->arena, "%.*s%s%s", STR_ARG(e->path), what[0] ? "." : "", what));
    buf_addc(&note, ',');
    note_text(&note, "code", str_z(code));
    buf_addc(&note, ',');
    note_text(&note, "message", draw_report_message_of(room, fmt, ap));
    buf_addc(&note, '}');
    va_end(ap);
    /* the same again, of another page */
    if (note.n && !note.failed && !(b->n && memmem(b->p, b->n, note.p, note.n))) {
        if (b->n)
            buf_addc(b, ',');
        buf_adds(b, buf_str(&note));
        d->report.n_warnings++;
    }
    buf_done(&note);
}

bool report_problem(struct drawing *d, wharf_str path, const char *fmt, ...)
{
    struct buf *b = &d->report.problems;
    char room[MESSAGE];
    va_list ap;

    if (d->report.n_problems++ >= NOTES_MAX)
        return false;
    va_start(ap, fmt);
    begin_note(b);
    note_text(b, "path", path);
    buf_addc(b, ',');
    note_text(b, "message", draw_report_message_of(room, fmt, ap));
    buf_addc(b, '}');
    va_end(ap);
    return false;
}

bool report_complex(struct drawing *d, const char *why)
{
    if (!d->complex)
        d->complex = why;
    return false;
}

bool report_goes_on(struct drawing *d)
{
    if (!d->complex && arena_poisoned(d->arena))
        report_complex(d, "it takes too much memory");
    if (!d->complex && d->end_us && clock_monotonic_us() > d->end_us)
        report_complex(d, "it takes too much time");
    return !d->complex;
}

void report_write(struct drawing *d, struct buf *out)
{
    struct draw_report *r = &d->report;

    if (r->n_problems) {
        buf_addf(out, "{\"problems\":[%s]}", r->problems.p);
        return;
    }
    buf_addf(out,
        "{\"pages\":%u,\"width\":%.10g,\"height\":%.10g,\"elements_total\":%u,\"elements_"
        "rendered\":%u,\"element_errors\":[",
        d->made_pages, d->page_width, d->page_height, r->total, r->rendered);
    buf_adds(out, buf_str(&r->errors));
    buf_addz(out, "],\"warnings\":[");
    buf_adds(out, buf_str(&r->warnings));
    buf_addz(out, "]}");
}
