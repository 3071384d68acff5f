/* fuzz_luajson.c - JSON that authors of Lua decode: what is read is JSON for the strict reader
 * too, and is written and read again as the same value; everything else is refused with a place. */
#include <stdio.h>
#include <stdlib.h>

#include "lua/sandbox/sandbox.h"
#include "util/json.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum sandbox_answer no_call(void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    *ret_text = WHARF_S("{\"code\":\"none\",\"message\":\"there is nothing outside\"}");
    return SANDBOX_MISTAKE;
}

static int64_t no_time(void *arg)
{
    return 0;
}

static void no_chance(void *arg, void *p, size_t n)
{
    memset(p, 0, n);
}

static bool no_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    return false;
}

static const struct sandbox_host host = {NULL, no_call, no_time, no_chance, no_zone};
static const char code[] =
    "return {f = function(text) local v, e = wharf.json.decode(text) if e then return e end "
    "local once = wharf.json.encode(v, {sort_keys = true}) return {text = once, same = once == "
    "wharf.json.encode(wharf.json.decode(once), {sort_keys = true})} end}";
static const struct sandbox_file files[] = {{.name = "main", .text = {code, sizeof(code) - 1}}};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void check(struct sandbox *sb, struct arena *a, wharf_str text)
{
    struct sandbox_call call = {.handler = "f", .context = WHARF_S("{}")};
    struct sandbox_error e;
    struct json_error error;
    struct buf arg, out;
    const struct wharf_json *v;

    buf_init(&arg, 64 << 20);
    buf_init(&out, 64 << 20);
    json_quote(&arg, text);
    call.arg = buf_str(&arg);
    if (sandbox_call(sb, &call, &out, NULL, &e)) {
        v = json_parse(a, buf_str(&out), &error);
        must(v != NULL, "results are JSON");
        if (json_get(v, "text")) {
            must(json_bool_or(v, "same", false), "written and read is equal");
            must(memmem(text.p, text.n, "\\u0000", 6) || json_parse(a, text, &error),
                "what is read is strict JSON");
        } else {
            must(json_int_or(v, "offset", -1) >= 0 &&
                     json_int_or(v, "offset", -1) <= (int64_t)text.n,
                "errors have a place");
        }
    } else {
        must(e.end == SANDBOX_OVER, "only memory is a reason to end");
    }
    buf_done(&arg);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sandbox_config config = {.memory = 32 << 20, .host = &host};
    struct sandbox_error e;
    struct sandbox *sb;
    struct arena *a;

    if (size > 1 << 16 || !utf8_valid((const char *)data, size))
        return 0;
    must(sandbox_prepare(), "the library compiles");
    a = arena_new(256 << 20);
    sb = sandbox_new(&config);
    must(sb != NULL, "there is memory");
    sandbox_files(sb, files, 1);
    must(sandbox_load(sb, "main", &e), "the code loads");
    check(sb, a, (wharf_str){(const char *)data, size});
    sandbox_free(sb);
    arena_free(a);
    return 0;
}
