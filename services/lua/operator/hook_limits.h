/* hook_limits.h - what one call of an operator's hook may take (docs/reference/lua-hooks.md
 * 'Limits'). The sizes of wharf.db and wharf.kv stand where these are made: operator_host.c,
 * operator_store.c; those of organizations' workflows in modules/workflows/workflow_budget.c. */
#ifndef WHARF_LUA_OPERATOR_HOOK_LIMITS_H
#define WHARF_LUA_OPERATOR_HOOK_LIMITS_H

enum {
    /* Time: the default, and the most that timeout_ms may say. */
    BEFORE_US = 250000, /* before hooks; request and response hooks by the clock */
    LONG_US = 60000000, /* after, event and schedule hooks */
    ROUTE_US = 10000000, /* routes, unless timeout_ms says otherwise */
    ROUTE_MAX_US = 30000000, /* routes at most */
    AROUND_MS = 5, /* request and response hooks: of the processor */
    CALL_INSTRUCTIONS = 200000000, /* unless lua_hooks.instructions says otherwise */
    STATE_MEMORY = 256 << 20, /* bytes of a Lua state, with all that its files keep */
    API_CALLS_MAX = 1000, /* wharf.api */
    HTTP_CALLS_MAX = 100, /* wharf.http */
    MAILS_MAX = 10, /* mails */
    EMITS_MAX = 100, /* events */
    SLEEP_MAX_MS = 10000, /* wharf.sleep, in all */
};

#endif
