/* cell_host.c - the host of the sandbox inside of a cell: everything but clock and randomness is
 * asked of the parent; of those it is told where it records. */
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cell_lua.h"
#include "child.h"
#include "lua/wire.h"
#include "util/time.h"

static wharf_str cell_host_text_of(const char *p, size_t n)
{
    return (wharf_str){p, n};
}

enum {
    NOTES_MAX = 20000, /* notes of one run */
    RANDOM_MAX = 1024
};

/* Records something that the run got without asking for it, for a run that is recorded. */
__attribute__((format(printf, 2, 3))) static void note(
    struct lua_clock *clock, const char *fmt, ...)
{
    char text[RANDOM_MAX * 2 + 64];
    va_list args;
    int n;

    if (!clock->record || clock->notes > NOTES_MAX)
        return;
    va_start(args, fmt);
    n = clock->notes++ == NOTES_MAX ? snprintf(text, sizeof(text), "{\"note\":\"full\"}")
                                    : vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    cell_data(text, (size_t)n);
}

static enum sandbox_answer cell_host_budget(
    struct lua_clock *clock, wharf_str reported, wharf_str *ret_text)
{
    static char text[256]; /* the process has one thread */
    int64_t left = clock->end_us ? (clock->end_us - clock_monotonic_us()) / 1000 : 0;
    int n = snprintf(text, sizeof(text), "{\"deadline_ms\":%lld", (long long)(left > 0 ? left : 0));

    if (reported.n > 2 && reported.n < 128) /* {"api_calls":…}: its members follow */
        n += snprintf(
            text + n, sizeof(text) - (size_t)n, ",%.*s", (int)(reported.n - 1), reported.p + 1);
    else
        n += snprintf(text + n, sizeof(text) - (size_t)n, "}");
    note(clock, "{\"note\":\"deadline\",\"value\":%lld}", (long long)(left > 0 ? left : 0));
    *ret_text = cell_host_text_of(text, (size_t)n);
    return SANDBOX_GIVEN;
}

static enum sandbox_answer cell_host_call(
    void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    struct buf question;
    const char *answer;
    size_t n;
    bool good;

    *ret_text = cell_host_text_of("", 0);
    if (!strcmp(op, "log")) {
        cell_data(args.p, args.n);
        return SANDBOX_GIVEN;
    }
    buf_init(&question, 64 << 20);
    buf_addf(&question, "%s\n", op);
    buf_adds(&question, args);
    if (question.failed)
        cell_out_of_memory();
    if (question.n > LUA_ASK_MAX) {
        buf_done(&question);
        *ret_text = WHARF_S("{\"code\":\"param.invalid\",\"message\":\"what is asked or sent at "
                            "once is at most 12 MiB as JSON\"}");
        return SANDBOX_MISTAKE;
    }
    good = cell_ask(question.p, question.n, &answer, &n);
    buf_done(&question);
    if (!good || !n) {
        *ret_text = WHARF_S(
            "{\"code\":\"workflow.failed\",\"message\":\"the server gave no answer\"}");
        return SANDBOX_ENDED;
    }
    *ret_text = cell_host_text_of(answer + 1, n - 1);
    if (!strcmp(op, "budget"))
        return cell_host_budget(arg, *ret_text, ret_text);
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

static int64_t cell_host_now_us(void *arg)
{
    struct lua_clock *clock = arg;
    int64_t now = clock_monotonic_us() + clock->offset_us;

    note(clock, "{\"note\":\"now\",\"value\":%lld}", (long long)now);
    return now;
}

static void cell_host_random_of(void *arg, void *p, size_t n)
{
    char hex[RANDOM_MAX * 2 + 1];

    randombytes_buf(p, n);
    if (((struct lua_clock *)arg)->record)
        note(arg, "{\"note\":\"random\",\"hex\":\"%s\"}",
            sodium_bin2hex(hex, sizeof(hex), p, n < RANDOM_MAX ? n : RANDOM_MAX));
}

static bool cell_host_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    char question[80];
    const char *answer;
    size_t n;

    (void)arg;
    snprintf(question, sizeof(question), "zone\n%s", name);
    if (!cell_ask(question, strlen(question), &answer, &n))
        return false;
    *ret_bytes = cell_host_text_of(answer, n);
    return true;
}

void lua_host(struct sandbox_host *host, struct lua_clock *clock)
{
    *host = (struct sandbox_host){
        clock, cell_host_call, cell_host_now_us, cell_host_random_of, cell_host_zone};
}
