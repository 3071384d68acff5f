/* cover.c - coverage: how often each line ran, against the lines that have code. Those are read
 * from what Lua's own compiler made of the text, in the form of lua_dump of Lua 5.4: the
 * only place where it says them of functions that were never called. */
#include <lauxlib.h>
#include <stdio.h>

#include "tool/lua/author.h"
#include "lua/testing/testing.h"
#include "util/file.h"
#include "util/str.h"

enum { LINES_MAX = 1 << 16, COVERED_MAX = 1000, REPORT_MAX = 64 << 20, CODE_MAX = 64 << 20 };

struct covered {
    const char *file;
    uint32_t *times; /* by line */
    size_t n; /* the last line that ran, and 1 */
};

struct cover {
    struct arena *arena;
    struct covered files[COVERED_MAX];
    size_t n;
};

struct cover *cover_new(struct arena *a)
{
    struct cover *c = ARENA_NEW(a, struct cover);

    c->arena = a;
    return c;
}

static struct covered *of_file(struct cover *c, const char *file)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!strcmp(c->files[i].file, file))
            return &c->files[i];
    }
    if (c->n == COVERED_MAX)
        return NULL;
    c->files[c->n] = (struct covered){
        arena_dupz(c->arena, file).p, ARENA_ARRAY(c->arena, uint32_t, LINES_MAX), 0};
    return &c->files[c->n++];
}

static void cover_count(struct cover *c, const char *file, size_t line, uint32_t times)
{
    struct covered *f = times && line && line < LINES_MAX ? of_file(c, file) : NULL;

    if (!f)
        return;
    f->times[line] += times;
    f->n = f->n > line ? f->n : line + 1;
}

void cover_line(void *cover, const char *file, int line)
{
    cover_count(cover, file, (size_t)line, 1);
}

void cover_write(const struct cover *c, struct jw *w)
{
    jw_open(w, "lines", '{');
    for (size_t i = 0; i < c->n; i++) {
        jw_open(w, c->files[i].file, '[');
        for (size_t k = 1; k < c->files[i].n; k++)
            jw_int(w, NULL, c->files[i].times[k]);
        jw_close(w, ']');
    }
    jw_close(w, '}');
}

void cover_add(struct cover *c, const struct wharf_json *lines)
{
    for (const struct wharf_json *m = lines ? lines->child : NULL; m; m = m->next) {
        size_t line = 1;

        for (const struct wharf_json *v = m->child; v; v = v->next, line++) {
            int64_t times = 0;

            if (json_int(v, &times) && times > 0)
                cover_count(c, m->key.p, line, (uint32_t)times);
        }
    }
}

/* ---- lines that have code ---- */

struct dump {
    const unsigned char *p, *end;
    char *lines;
    size_t n;
    bool bad;
};

static uint64_t cover_size_of(struct dump *d)
{
    uint64_t v = 0;

    for (; d->p < d->end; d->p++) {
        v = (v << 7) | (*d->p & 0x7F);
        if (*d->p & 0x80) {
            d->p++;
            return v;
        }
    }
    d->bad = true;
    return 0;
}

static void cover_skip(struct dump *d, uint64_t n)
{
    if (n > (uint64_t)(d->end - d->p)) {
        d->bad = true;
        d->p = d->end;
    } else {
        d->p += n;
    }
}

static void skip_text(struct dump *d)
{
    uint64_t n = cover_size_of(d);

    cover_skip(d, n ? n - 1 : 0);
}

static void skip_constants(struct dump *d)
{
    for (uint64_t n = cover_size_of(d); n && !d->bad; n--) {
        int kind = d->p < d->end ? *d->p : 0;

        cover_skip(d, 1);
        if ((kind & 0x0F) == LUA_TSTRING)
            skip_text(d);
        else if ((kind & 0x0F) == LUA_TNUMBER)
            cover_skip(d, 8);
    }
}

/* Reads the lines: differences from instruction to instruction; -128 says that the line stands in
 * the list behind. */
static void cover_read_lines(struct dump *d, uint64_t first)
{
    uint64_t n = cover_size_of(d), n_far, line = first;
    const signed char *steps = (const signed char *)d->p;
    struct dump far;

    cover_skip(d, n);
    far = *d;
    n_far = cover_size_of(&far);
    *d = far;
    for (uint64_t i = 0; i < n_far; i++) {
        cover_size_of(d);
        cover_size_of(d);
    }
    for (uint64_t i = 0; i < n && !d->bad; i++) {
        if (steps[i] == -128) {
            cover_size_of(&far);
            line = cover_size_of(&far);
        } else {
            line += (uint64_t)(int64_t)steps[i];
        }
        if (line < d->n)
            d->lines[line] = 1;
    }
}

static void read_function(struct dump *d, int depth)
{
    uint64_t first;

    skip_text(d);
    first = cover_size_of(d);
    cover_size_of(d);
    cover_skip(d, 3);
    cover_skip(d, 4 * cover_size_of(d));
    skip_constants(d);
    cover_skip(d, 3 * cover_size_of(d));
    for (uint64_t n = cover_size_of(d); n && !d->bad && depth < 200; n--)
        read_function(d, depth + 1);
    if (d->p < d->end)
        cover_read_lines(d, first);
    for (uint64_t n = cover_size_of(d); n && !d->bad; n--) { /* locals */
        skip_text(d);
        cover_size_of(d);
        cover_size_of(d);
    }
    for (uint64_t n = cover_size_of(d); n && !d->bad; n--) /* upvalues */
        skip_text(d);
}

static int cover_keep(lua_State *lua, const void *p, size_t n, void *ud)
{
    (void)lua;
    buf_add(ud, p, n);
    return ((struct buf *)ud)->failed;
}

const char *cover_code(struct arena *a, wharf_str text, size_t *ret_n)
{
    enum { HEADER = 4 + 1 + 1 + 6 + 3 + 8 + 8, UPVALUES = 1 };
    struct dump d = {.n = 2};
    lua_State *lua = luaL_newstate();
    struct buf code;
    bool good;

    for (size_t i = 0; i < text.n; i++)
        d.n += text.p[i] == '\n';
    d.lines = arena_alloc(a, d.n + 1);
    buf_init(&code, CODE_MAX);
    good = lua && luaL_loadbufferx(lua, text.p, text.n, "=x", "t") == LUA_OK &&
           lua_dump(lua, cover_keep, &code, 0) == 0;
    if (lua)
        lua_close(lua);
    if (good && code.n > HEADER + UPVALUES) {
        d.p = (const unsigned char *)code.p + HEADER + UPVALUES;
        d.end = (const unsigned char *)code.p + code.n;
        read_function(&d, 0);
        good = !d.bad && d.p == d.end;
    }
    buf_done(&code);
    *ret_n = d.n;
    return good ? d.lines : NULL;
}

/* ---- lcov ---- */

static void report_file(
    const struct cover *c, const struct lua_file *f, struct arena *a, struct buf *out)
{
    const struct covered *ran = NULL;
    size_t n, found = 0, hit = 0;
    const char *code = cover_code(a, f->text, &n);

    for (size_t i = 0; i < c->n; i++)
        ran = !strcmp(c->files[i].file, f->path) ? &c->files[i] : ran;
    buf_addf(out, "SF:%s\n", f->path);
    for (size_t line = 1; code && line < n; line++) {
        uint32_t times = ran && line < ran->n ? ran->times[line] : 0;

        if (!code[line])
            continue;
        buf_addf(out, "DA:%zu,%u\n", line, times);
        found++;
        hit += times > 0;
    }
    buf_addf(out, "LF:%zu\nLH:%zu\nend_of_record\n", found, hit);
}

bool cover_report(
    const struct cover *c, const struct lua_folders *folders, const char *file, struct arena *a)
{
    struct buf out;
    wharf_str error;
    bool good;

    buf_init(&out, REPORT_MAX);
    for (size_t i = 0; i < folders->n; i++) {
        for (size_t k = 0; k < folders->items[i].n; k++) {
            const struct lua_file *f = &folders->items[i].files[k];

            if (!testing_is_test(f->name) && !str_starts(str_z(f->name), "__snapshots__."))
                report_file(c, f, a, &out);
        }
    }
    good = file_replace(file, buf_str(&out), 0644, a, &error);
    if (!good)
        cli_fail("%s", error.p);
    buf_done(&out);
    return good;
}
