/* sandbox_budget.c - instructions, time, and the end that nobody catches.
 *
 * A hook runs every 1,000 instructions of each thread of the state. Once the run is over (dead),
 * hooks come with every instruction, and pcall, xpcall and the functions of coroutine raise
 * again after they return: so neither handlers nor __close methods go on. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/time.h"

static int over_value; /* its address is the error value; authors can't do anything with it */

_Noreturn void budget_raise(lua_State *lua)
{
    lua_sethook(lua, budget_hook, LUA_MASKCOUNT, 1);
    lua_pushlightuserdata(lua, &over_value);
    lua_error(lua);
    __builtin_unreachable();
}

_Noreturn void budget_end(
    lua_State *lua, enum sandbox_end end, const char *code, const char *message)
{
    struct sandbox *sb = sandbox_of(lua);

    if (!sb->dead) {
        sb->over = (struct sandbox_error){.end = end, .retry = -1, .after_ms = -1};
        errors_text(sb->over.code, sizeof(sb->over.code), code, strlen(code));
        errors_text(sb->over.message, sizeof(sb->over.message), message, strlen(message));
        errors_frames(lua, &sb->over);
        sb->dead = true;
    }
    budget_raise(lua);
}

int64_t budget_cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sandbox_budget_look(lua_State *lua, struct sandbox *sb)
{
    if (sb->dead)
        budget_raise(lua);
    if (sb->limits.instructions && sb->spent > sb->limits.instructions)
        budget_end(lua, SANDBOX_OVER, ERR_WORKFLOW_BUDGET_INSTRUCTIONS,
            "the run took more instructions than it may; do less, or in several runs");
    if ((sb->limits.deadline_us && clock_monotonic_us() >= sb->limits.deadline_us) ||
        (sb->limits.cpu_us && budget_cpu_us() - sb->cpu_us >= sb->limits.cpu_us))
        budget_end(
            lua, SANDBOX_OVER, ERR_WORKFLOW_BUDGET_TIME, "the run took more time than it may");
}

void budget_spend(lua_State *lua, uint64_t instructions)
{
    struct sandbox *sb = sandbox_of(lua);

    sb->spent += instructions;
    sandbox_budget_look(lua, sb);
}

static void sandbox_budget_tell_line(lua_State *lua, lua_Debug *ar)
{
    const struct sandbox *sb = sandbox_of(lua);

    lua_getinfo(lua, "Sl", ar);
    if (errors_own(ar))
        sb->line(sb->line_arg, ar->source + 1, ar->currentline);
}

void budget_hook(lua_State *lua, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKLINE) {
        sandbox_budget_tell_line(lua, ar);
        return;
    }
    if (lua_gethookcount(lua) != HOOK_COUNT && !sandbox_of(lua)->dead)
        budget_watch(lua); /* a thread of a call that was ended before */
    budget_spend(lua, HOOK_COUNT);
}

void budget_watch(lua_State *thread)
{
    lua_sethook(thread, budget_hook, LUA_MASKCOUNT | (sandbox_of(thread)->line ? LUA_MASKLINE : 0),
        HOOK_COUNT);
}

void budget_memory(struct sandbox_error *e)
{
    e->end = SANDBOX_OVER;
    e->retry = -1;
    e->after_ms = -1;
    snprintf(e->code, sizeof(e->code), ERR_WORKFLOW_BUDGET_MEMORY);
    snprintf(e->message, sizeof(e->message), "the run needed more memory than it may have");
}

void budget_check(lua_State *lua, int status)
{
    struct sandbox *sb = sandbox_of(lua);

    if (status == LUA_ERRMEM && !sb->dead) {
        sb->over = sb->refused;
        budget_memory(&sb->over);
        sb->dead = true;
    }
    if (sb->dead)
        budget_raise(lua);
}
