/* errors.c - what went wrong, where, and how it is told. Nothing of the author's runs here:
 * __tostring is not asked. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/json.h"
#include "util/str.h"

enum { AROUND = 2 /* lines of a snippet before and after */, LINE_MAX_BYTES = 200 };

void errors_text(char *to, size_t size, const char *p, size_t n)
{
    size_t at = 0;

    while (at < n) {
        uint32_t cp;
        size_t step = utf8_step(p + at, n - at, &cp);

        if (at + (step ? step : 1) >= size)
            break;
        if (step && cp)
            memcpy(to + at, p + at, step);
        else
            to[at] = '?';
        at += step ? step : 1;
    }
    to[at] = 0;
}

/* Tells whether a frame is the author's own: ours are C, or "[wharf]". */
bool errors_own(const lua_Debug *ar)
{
    return ar->currentline > 0 && ar->source[0] == '=' && ar->source[1] != '[';
}

void errors_frames(lua_State *lua, struct sandbox_error *e)
{
    lua_Debug ar;

    e->n_frames = 0;
    for (int level = 0;
         e->n_frames < SANDBOX_FRAMES && level < 1000 && lua_getstack(lua, level, &ar); level++) {
        struct sandbox_frame *f = &e->frames[e->n_frames];
        const char *name;

        lua_getinfo(lua, "nSl", &ar);
        if (!errors_own(&ar))
            continue;
        name = ar.what[0] == 'm' ? "main chunk" : ar.name ? ar.name : "";
        errors_text(f->file, sizeof(f->file), ar.source + 1, strlen(ar.source + 1));
        errors_text(f->function, sizeof(f->function), name, strlen(name));
        f->line = ar.currentline;
        e->n_frames++;
    }
    if (e->n_frames) {
        struct sandbox_frame *outer = &e->frames[e->n_frames - 1];
        const char *handler = sandbox_of(lua)->handler;

        if (!outer->function[0] && handler) /* called from C: Lua knows no name */
            errors_text(outer->function, sizeof(outer->function), handler, strlen(handler));
        memcpy(e->file, e->frames[0].file, sizeof(e->file));
        e->line = e->frames[0].line;
    }
}

bool sandbox_where(lua_State *lua, char *file, int *ret_line)
{
    lua_Debug ar;

    for (int level = 0; level < 100 && lua_getstack(lua, level, &ar); level++) {
        lua_getinfo(lua, "Sl", &ar);
        if (errors_own(&ar)) {
            errors_text(file, 64, ar.source + 1, strlen(ar.source + 1));
            *ret_line = ar.currentline;
            return true;
        }
    }
    return false;
}

_Noreturn void sandbox_raise(lua_State *lua, const char *fmt, ...)
{
    char file[64], *message;
    va_list args, again;
    int line, n;

    /* never cut: nobody could tell where the end of it was, and whether a secret stood across */
    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    message = lua_newuserdatauv(lua, (size_t)n + 1, 0);
    vsnprintf(message, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    if (sandbox_where(lua, file, &line))
        lua_pushfstring(lua, "%s:%d: %s", file, line, message);
    else
        lua_pushstring(lua, message);
    lua_error(lua);
    __builtin_unreachable();
}

int errors_handler(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);

    if (!sb->dead) {
        sb->raised = (struct sandbox_error){.end = SANDBOX_RAISED, .retry = -1, .after_ms = -1};
        errors_frames(lua, &sb->raised);
    }
    return 1;
}

/* Splits "main.lua:12: text": the position goes into e, the text is what follows. */
static void split_position(lua_State *lua, struct sandbox_error *e, const char *p, size_t n)
{
    const struct sandbox *sb = sandbox_of(lua);

    for (size_t i = 0; i < sb->n_files; i++) {
        size_t k = strlen(sb->files[i].name);
        long line = 0;
        char *end;

        if (n < k + 6 || memcmp(p, sb->files[i].name, k) != 0 || memcmp(p + k, ".lua:", 5) != 0)
            continue;
        line = strtol(p + k + 5, &end, 10);
        if (line <= 0 || end[0] != ':')
            continue;
        snprintf(e->file, sizeof(e->file), "%s.lua", sb->files[i].name);
        e->line = (int)line;
        end += end[1] == ' ' ? 2 : 1;
        n -= (size_t)(end - p);
        p = end;
        break;
    }
    errors_text(e->message, sizeof(e->message), p, n);
}

/* Reads a member of the table on top, raw. */
static bool text_member(lua_State *lua, const char *name, char *to, size_t size)
{
    bool is_text;

    lua_pushstring(lua, name);
    is_text = lua_rawget(lua, -2) == LUA_TSTRING;
    if (is_text) {
        size_t n;
        const char *p = lua_tolstring(lua, -1, &n);

        errors_text(to, size, p, n);
    }
    lua_pop(lua, 1);
    return is_text;
}

void errors_value(lua_State *lua, struct sandbox_error *e)
{
    size_t n;
    const char *p;

    if (lua_type(lua, -1) == LUA_TTABLE) {
        if (!text_member(lua, "message", e->message, sizeof(e->message)))
            snprintf(e->message, sizeof(e->message), "an error object without message was raised");
        text_member(lua, "code", e->code, sizeof(e->code));
        lua_pushliteral(lua, "status");
        if (lua_rawget(lua, -2) == LUA_TNUMBER && lua_isinteger(lua, -1) &&
            lua_tointeger(lua, -1) >= 400 && lua_tointeger(lua, -1) < 500)
            e->status = (int)lua_tointeger(lua, -1);
        lua_pop(lua, 1);
        return;
    }
    if (lua_type(lua, -1) != LUA_TSTRING && lua_type(lua, -1) != LUA_TNUMBER) {
        snprintf(e->message, sizeof(e->message), "an error object (%s) was raised",
            luaL_typename(lua, -1));
        return;
    }
    p = lua_tolstring(lua, -1, &n);
    split_position(lua, e, p, n);
}

/* ---- telling ---- */

static void write_snippet(const struct sandbox *sb, const struct sandbox_error *e, struct jw *w)
{
    char name[64];
    const struct sandbox_file *file;
    const char *p, *end;
    size_t n = strlen(e->file);

    jw_open(w, "snippet", '[');
    snprintf(name, sizeof(name), "%.*s", (int)(n > 4 ? n - 4 : 0), e->file);
    file = require_find(sb, name);
    p = file ? file->text.p : NULL;
    end = file ? p + file->text.n : NULL;
    for (int line = 1; p && p <= end && line <= e->line + AROUND; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        char text[LINE_MAX_BYTES];

        if (!stop)
            stop = end;
        if (line >= e->line - AROUND) {
            errors_text(text, sizeof(text), p, (size_t)(stop - p));
            jw_open(w, NULL, '{');
            jw_int(w, "line", line);
            jw_z(w, "text", text);
            jw_close(w, '}');
        }
        p = stop + 1;
    }
    jw_close(w, ']');
}

static void write_usage(const struct sandbox *sb, int64_t cpu_us, struct jw *w)
{
    struct sandbox_usage usage;

    sandbox_usage(sb, &usage);
    jw_open(w, "usage", '{');
    jw_int(w, "instructions", (int64_t)usage.instructions);
    jw_int(w, "memory_peak", (int64_t)usage.memory_peak);
    jw_int(w, "cpu_us", cpu_us);
    jw_close(w, '}');
}

void sandbox_outcome_json(const struct sandbox *sb, const struct sandbox_error *e,
    const struct buf *result, const struct buf *kept, int64_t cpu_us, struct buf *out)
{
    struct buf error;
    struct jw w;

    buf_init(&error, 64 << 10);
    sandbox_error_json(sb, e, e->code, &error);
    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_int(&w, "end", e->end);
    jw_z(&w, "code", e->code);
    jw_z(&w, "message", e->message);
    jw_z(&w, "field", e->field);
    jw_int(&w, "status", e->status);
    jw_int(&w, "retry", e->retry);
    jw_int(&w, "after_ms", e->after_ms);
    jw_raw(&w, "error", e->end && !error.failed ? buf_str(&error) : str_z("null"));
    write_usage(sb, cpu_us, &w);
    if (!e->end && result->n)
        jw_raw(&w, "result", buf_str(result));
    if (!e->end && kept->n)
        jw_raw(&w, "kept", buf_str(kept));
    jw_close(&w, '}');
    buf_done(&error);
}

void sandbox_error_json(
    const struct sandbox *sb, const struct sandbox_error *e, const char *code, struct buf *out)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "code", code);
    jw_z(&w, "message", e->message);
    jw_z(&w, "file", e->file[0] ? e->file : NULL);
    if (e->line)
        jw_int(&w, "line", e->line);
    else
        jw_null(&w, "line");
    jw_z(&w, "function", e->n_frames && e->frames[0].function[0] ? e->frames[0].function : NULL);
    jw_open(&w, "traceback", '[');
    for (size_t i = 0; i < e->n_frames; i++) {
        jw_open(&w, NULL, '{');
        jw_z(&w, "file", e->frames[i].file);
        jw_int(&w, "line", e->frames[i].line);
        jw_z(&w, "function", e->frames[i].function[0] ? e->frames[i].function : NULL);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    write_snippet(sb, e, &w);
    jw_close(&w, '}');
}
