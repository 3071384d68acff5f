/* host.c - the host of the sandbox inside of a cell: everything but clock and randomness is asked of the parent. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cell_lua.h"
#include "child.h"
#include "lua/wire.h"
#include "util/time.h"

static wharf_str text_of(const char *p, size_t n)
{
    return (wharf_str){p, n};
}

static enum sandbox_answer budget(int64_t end_us, wharf_str told, wharf_str *ret_text)
{
    static char text[256]; /* the process has one thread */
    int64_t left = end_us ? (end_us - clock_monotonic_us()) / 1000 : 0;
    int n = snprintf(text, sizeof(text), "{\"deadline_ms\":%lld", (long long)(left > 0 ? left : 0));

    if (told.n > 2 && told.n < 128) /* {"api_calls":…}: its members follow */
        n += snprintf(text + n, sizeof(text) - (size_t)n, ",%.*s", (int)(told.n - 1), told.p + 1);
    else
        n += snprintf(text + n, sizeof(text) - (size_t)n, "}");
    *ret_text = text_of(text, (size_t)n);
    return SANDBOX_GIVEN;
}

static enum sandbox_answer call(void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    struct buf question;
    const char *answer;
    size_t n;
    bool good;

    *ret_text = text_of("", 0);
    if (!strcmp(op, "log")) {
        cell_data(args.p, args.n);
        return SANDBOX_GIVEN;
    }
    buf_init(&question, 64 << 20);
    buf_addf(&question, "%s\n", op);
    buf_adds(&question, args);
    if (question.failed)
        cell_out_of_memory();
    good = cell_ask(question.p, question.n, &answer, &n);
    buf_done(&question);
    if (!good || !n) {
        *ret_text = WHARF_S("{\"code\":\"workflow.failed\",\"message\":\"the server gave no answer\"}");
        return SANDBOX_ENDED;
    }
    *ret_text = text_of(answer + 1, n - 1);
    if (!strcmp(op, "budget"))
        return budget(((struct lua_clock *)arg)->end_us, *ret_text, ret_text);
    switch (answer[0]) {
    case LUA_GIVEN:
        return SANDBOX_GIVEN;
    case LUA_REFUSED:
        return SANDBOX_REFUSED;
    case LUA_MISTAKE:
        return SANDBOX_MISTAKE;
    }
    return SANDBOX_ENDED;
}

static int64_t now_us(void *arg)
{
    return clock_monotonic_us() + ((struct lua_clock *)arg)->offset_us;
}

static void random_of(void *arg, void *p, size_t n)
{
    (void)arg;
    randombytes_buf(p, n);
}

static bool zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    char question[80];
    const char *answer;
    size_t n;

    (void)arg;
    snprintf(question, sizeof(question), "zone\n%s", name);
    if (!cell_ask(question, strlen(question), &answer, &n))
        return false;
    *ret_bytes = text_of(answer, n);
    return true;
}

void lua_host(struct sandbox_host *host, struct lua_clock *clock)
{
    *host = (struct sandbox_host){clock, call, now_us, random_of, zone};
}
