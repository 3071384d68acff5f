/* lua_box.h - a sandbox for tests: a host that answers a few ops, and one call that runs a text
 * and gives its result as JSON. */
#ifndef WHARF_TESTS_LUA_BOX_H
#define WHARF_TESTS_LUA_BOX_H

#include "unit.h"

#include <string.h>

#include "lua/sandbox/sandbox.h"
#include "util/file.h"

struct box {
    struct sandbox_config config;
    struct sandbox_host host;
    struct sandbox_file files[4]; /* the first is main */
    size_t n_files;
    int64_t now_us;
    struct buf log; /* args of every op, a line each */
    enum sandbox_answer answer; /* to the op "say" and all that begin with "api." */
    const char *text;
    struct buf zone;
    struct sandbox *sb;
    struct sandbox_error error;
    struct sandbox_usage usage;
    char result[65536];
};

static inline enum sandbox_answer box_call(
    void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    struct box *b = arg;

    buf_addf(&b->log, "%s %.*s\n", op, (int)args.n, args.p);
    *ret_text = (wharf_str){"", 0};
    if (!strcmp(op, "log"))
        return SANDBOX_GIVEN;
    if (!strcmp(op, "budget")) {
        *ret_text = WHARF_S("{\"deadline_ms\":77,\"api_calls\":5,\"http_calls\":3}");
        return SANDBOX_GIVEN;
    }
    if (b->text) {
        *ret_text = (wharf_str){b->text, strlen(b->text)};
        return b->answer;
    }
    *ret_text = WHARF_S("{\"code\":\"op.unknown\",\"message\":\"there is no such thing here\"}");
    return SANDBOX_MISTAKE;
}

static inline int64_t box_now(void *arg)
{
    return ((struct box *)arg)->now_us;
}

static inline void box_random(void *arg, void *p, size_t n)
{
    (void)arg;
    memset(p, 0x5A, n);
}

static inline bool box_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    struct box *b = arg;
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    f = fopen(path, "rb");
    if (!f)
        return false;
    buf_clear(&b->zone);
    b->zone.n += fread(buf_room(&b->zone, 16384), 1, 16384, f);
    fclose(f);
    *ret_bytes = buf_str(&b->zone);
    return true;
}

static inline int box_open(void **state)
{
    struct box *b = calloc(1, sizeof(*b));

    assert_true(sandbox_prepare());
    buf_init(&b->log, 8 << 20);
    buf_init(&b->zone, 64 << 10);
    b->now_us = 1735689600000000 + 123456; /* 2025-01-01T00:00:00.123 */
    b->host = (struct sandbox_host){b, box_call, box_now, box_random, box_zone};
    b->config = (struct sandbox_config){
        .memory = 16 << 20, .limits = {.instructions = 2000000}, .seed = 1, .host = &b->host};
    b->files[0].name = "main";
    b->n_files = 1;
    *state = b;
    return 0;
}

static inline int box_close(void **state)
{
    struct box *b = *state;

    sandbox_free(b->sb);
    buf_done(&b->log);
    buf_done(&b->zone);
    free(b);
    return 0;
}
#define BOX(fn) cmocka_unit_test_setup_teardown(fn, box_open, box_close)

static inline void box_file(struct box *b, const char *name, const char *text)
{
    b->files[b->n_files++] = (struct sandbox_file){.name = name, .text = {text, strlen(text)}};
}

/* Runs the text as the body of a handler with (arg, ctx) in a fresh sandbox. False: b->error
 * tells. */
static inline bool box_try(struct box *b, const char *body)
{
    static const char ctx[] = "{\"run\":{\"id\":\"wkf_run_1\",\"seed\":1},\"settings\":{\"a\":1},"
                              "\"organization_id\":\"org_1\"}";
    struct sandbox_call call = {
        .handler = "f", .arg = WHARF_S("{\"n\":1}"), .context = {ctx, sizeof(ctx) - 1}};
    struct buf text, out;
    bool good;

    buf_init(&text, 4 << 20);
    buf_init(&out, sizeof(b->result) - 1);
    buf_addf(&text, "local M = {} function M.f(arg, ctx) %s\nend return M", body);
    b->files[0].text = buf_str(&text);
    sandbox_free(b->sb);
    b->sb = sandbox_new(&b->config);
    assert_non_null(b->sb);
    sandbox_files(b->sb, b->files, b->n_files);
    good = sandbox_load(b->sb, "main", &b->error) &&
           sandbox_call(b->sb, &call, &out, NULL, &b->error);
    sandbox_usage(b->sb, &b->usage);
    memcpy(b->result, buf_str(&out).p, out.n);
    b->result[out.n] = 0;
    buf_done(&text);
    buf_done(&out);
    return good;
}

/* It must be good, and its result this JSON. */
static inline void box_is(struct box *b, const char *body, const char *json)
{
    if (!box_try(b, body))
        fail_msg("%s\n%s: %s:%d: %s", body, b->error.code, b->error.file, b->error.line,
            b->error.message);
    if (strcmp(b->result, json) != 0)
        fail_msg("%s\ngave %s instead of %s", body, b->result, json);
}

/* return EXPR must be true. */
static inline void box_true(struct box *b, const char *expression)
{
    char body[4096];

    snprintf(body, sizeof(body), "return %s", expression);
    box_is(b, body, "true");
}

/* It must end so, with this in its message. */
static inline void box_ends(struct box *b, const char *body, enum sandbox_end end, const char *part)
{
    if (box_try(b, body))
        fail_msg("%s\ngave %s instead of an error", body, b->result);
    if (b->error.end != end ||
        (!strstr(b->error.message, part) && strcmp(b->error.code, part) != 0))
        fail_msg("%s\nended with %d %s: %s instead of %d %s", body, b->error.end, b->error.code,
            b->error.message, end, part);
}

#endif
