/* draw_words.c - see draw_words.h. A text is read once: placeholders are computed where they
 * stand, {{if expression}} … {{else}} … {{end}} keeps one of two parts. What is left out is
 * computed as well, so that every mistake is found whatever the data are. */
#include "draw_words.h"

#include <stdio.h>
#include <string.h>

#include "util/str.h"

enum { MEMBERS = 3 };

struct block {
    bool shown, was_shown; /* this part; the text around it */
    bool truth, other; /* of its condition; {{else}} was there */
    const char *at;
};

struct words {
    struct draw_eval e;
    wharf_str member, text; /* that is made now */
    struct buf out;
    bool html;
    struct block blocks[EXPR_DEPTH_MAX];
    unsigned n_blocks, operations;
    const char *wrong_at;
    struct jw *missing; /* written once */
    bool has_missing;
};

/* ---- what is told ---- */

/* Writes {path, message, line, column} of a place in the text. */
static void draw_words_put_place(
    struct jw *w, const struct words *x, const char *at, const char *message)
{
    long long line = 1, column = 1;

    for (const char *p = x->text.p; p < at; p++) {
        line += *p == '\n';
        column = *p == '\n' ? 1 : column + ((*p & 0xc0) != 0x80);
    }
    jw_str(w, "path", x->member);
    jw_str(w, "message", str_z(message));
    jw_int(w, "line", line);
    jw_int(w, "column", column);
}

static bool draw_words_fail(struct words *x, const char *at, const char *why)
{
    expr_fail(&x->e, "%s", why);
    x->wrong_at = at;
    return false;
}

/* Notes the first placeholder that stays empty for want of a value. */
static void draw_words_note_missing(struct words *x, const char *at, wharf_str path)
{
    char message[EXPR_MESSAGE];

    if (x->has_missing || !path.n)
        return;
    x->has_missing = true;
    snprintf(
        message, sizeof(message), "there is no %.*s", (int)(path.n < 100 ? path.n : 100), path.p);
    jw_open(x->missing, "missing", '{');
    draw_words_put_place(x->missing, x, at, message);
    jw_close(x->missing, '}');
}

/* ---- parts ---- */

static bool draw_words_shown(const struct words *x)
{
    return !x->n_blocks || x->blocks[x->n_blocks - 1].shown;
}

static const struct wharf_json *draw_words_compute(
    struct words *x, const char *at, wharf_str expression)
{
    const struct wharf_json *v = expr_value(&x->e, expression);

    x->operations += x->e.operations;
    if (v && x->operations > EXPR_OPERATIONS_MAX)
        expr_fail(&x->e, "it takes more than %d operations", EXPR_OPERATIONS_MAX);
    if (x->e.wrong[0]) {
        x->wrong_at = at;
        return NULL;
    }
    return v;
}

static bool begin_block(struct words *x, const char *at, wharf_str condition)
{
    const struct wharf_json *v;
    struct block *b;

    if (x->n_blocks == EXPR_DEPTH_MAX)
        return draw_words_fail(x, at, "its blocks are nested deeper than 32");
    v = draw_words_compute(x, at, condition);
    if (!v)
        return false;
    b = &x->blocks[x->n_blocks];
    *b = (struct block){.was_shown = draw_words_shown(x), .truth = value_truth(v), .at = at};
    b->shown = b->was_shown && b->truth;
    x->n_blocks++;
    return true;
}

static bool turn_block(struct words *x, const char *at)
{
    struct block *b = x->n_blocks ? &x->blocks[x->n_blocks - 1] : NULL;

    if (!b || b->other)
        return draw_words_fail(x, at, "{{else}} belongs to no {{if}}");
    b->other = true;
    b->shown = b->was_shown && !b->truth;
    return true;
}

static void draw_words_put_value(struct words *x, const char *at, const struct wharf_json *v)
{
    wharf_str text = value_as_text(x->e.arena, v);

    if (!draw_words_shown(x))
        return;
    draw_words_note_missing(x, at, x->e.missing.n ? x->e.missing : text.n ? str_z("") : x->e.lost);
    if (x->html)
        buf_add_html(&x->out, text);
    else
        buf_adds(&x->out, text);
}

static bool draw_words_take_holder(struct words *x, const char *at, wharf_str inner)
{
    const struct wharf_json *v;

    inner = utf8_trim(inner);
    if (str_starts(inner, "if ") || str_starts(inner, "if(") || str_starts(inner, "if\n"))
        return begin_block(x, at, (wharf_str){inner.p + 2, inner.n - 2});
    if (str_eqz(inner, "else"))
        return turn_block(x, at);
    if (str_eqz(inner, "end")) {
        if (!x->n_blocks)
            return draw_words_fail(x, at, "{{end}} belongs to no {{if}}");
        x->n_blocks--;
        return true;
    }
    v = draw_words_compute(x, at, inner);
    if (!v)
        return false;
    draw_words_put_value(x, at, v);
    return true;
}

/* ---- a text ---- */

static void take_plain(struct words *x, const char *from, const char *to)
{
    if (draw_words_shown(x))
        buf_add(&x->out, from, (size_t)(to - from));
}

/* Makes the text. False: it can't be read, and x says where. */
static bool draw_words_make(struct words *x)
{
    const char *p = x->text.p, *end = p + x->text.n;

    x->n_blocks = x->operations = 0;
    while (p < end) {
        const char *next = p + 1, *close;

        if (end - p >= 3 && !memcmp(p, "\\{{", 3)) {
            take_plain(x, p + 1, p + 3);
            p += 3;
            continue;
        }
        if (end - p < 2 || memcmp(p, "{{", 2) != 0) {
            while (next < end && *next != '\\' && *next != '{')
                next++;
            take_plain(x, p, next);
            p = next;
            continue;
        }
        close = expr_holder_end(p + 2, end);
        if (!close)
            return draw_words_fail(x, p, "{{ has no }}");
        if (!draw_words_take_holder(x, p, (wharf_str){p + 2, (size_t)(close - p - 2)}))
            return false;
        p = close + 2;
    }
    if (x->n_blocks)
        return draw_words_fail(x, x->blocks[x->n_blocks - 1].at, "{{if}} has no {{end}}");
    return !x->out.failed || draw_words_fail(x, x->text.p, "its text is longer than 64 KiB");
}

static const char *const members[MEMBERS] = {"subject", "text", "html"};

/* Makes all texts; each that can't be read is a problem. Returns whether there was none. */
static bool draw_words_make_all(
    struct words *x, const struct wharf_json *body, struct buf *made, struct jw *problems)
{
    bool good = true;

    for (size_t i = 0; i < MEMBERS; i++) {
        x->member = str_z(members[i]);
        x->text = json_text_or(body, members[i], "");
        x->html = i == 2;
        x->e.wrong[0] = 0;
        buf_init(&x->out, EXPR_TEXT_MAX);
        if (!draw_words_make(x)) {
            good = false;
            jw_open(problems, NULL, '{');
            draw_words_put_place(problems, x, x->wrong_at, x->e.wrong);
            jw_close(problems, '}');
        }
        made[i] = x->out;
    }
    return good;
}

void words_make(struct draw_result *ret, struct arena *a, const struct wharf_json *body,
    struct draw_zones *zones)
{
    const struct draw_vars vars = {.value = json_get(body, "data")};
    struct buf problems, report, made[MEMBERS];
    struct jw w, p;
    bool good;
    struct words x = {
        .e = {.arena = a, .vars = &vars, .zones = zones, .null_is_missing = true}, .missing = &w};

    buf_init(&problems, DRAW_REPORT_MAX);
    buf_init(&report, DRAW_REPORT_MAX);
    jw_init(&p, &problems);
    jw_init(&w, &report);
    jw_open(&p, NULL, '{');
    jw_open(&p, "problems", '[');
    jw_open(&w, NULL, '{');
    good = draw_words_make_all(&x, body, made, &p);
    jw_close(&p, ']');
    jw_close(&p, '}');
    if (!x.has_missing)
        jw_null(&w, "missing");
    for (size_t i = 0; i < MEMBERS; i++) {
        jw_str(&w, members[i], buf_str(&made[i]));
        buf_done(&made[i]);
    }
    jw_close(&w, '}');
    buf_adds(&ret->report, buf_str(good ? &report : &problems));
    ret->told.verdict = good ? DRAW_GOOD : DRAW_REFUSED;
    buf_done(&problems);
    buf_done(&report);
}
