/* hosted.h - the ops that hooks ask their host for, one function per family; private to
 * services/lua/operator. */
#ifndef WHARF_LUA_OPERATOR_HOSTED_H
#define WHARF_LUA_OPERATOR_HOSTED_H

#include "lua/operator/generation.h"

/* Tells the author's mistake, as {"code", "message"} (operator_host.c). */
enum sandbox_answer host_mistake(wharf_str *ret_text, const char *text);

/* Answers the ops api.* (operator_asked.c). */
enum sandbox_answer asked_api(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text);
/* Calls that this call of a hook may still make. */
unsigned asked_api_left(const struct hook_state *st);
enum sandbox_answer asked_config(const struct hook_state *st, struct arena *a,
    const struct wharf_json *args, wharf_str *ret_text);
enum sandbox_answer asked_secret(const struct hook_state *st, struct arena *a,
    const struct wharf_json *args, wharf_str *ret_text);
enum sandbox_answer asked_metric(
    const struct hook_state *st, const struct wharf_json *args, wharf_str *ret_text);
enum sandbox_answer asked_tell(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text);
enum sandbox_answer asked_sleep(
    struct hook_state *st, const struct wharf_json *args, wharf_str *ret_text);

/* Answers the ops kv.* (operator_store.c). */
enum sandbox_answer asked_kv(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text);
/* Ends the locks of a call that is over: nobody waits for the end of a lock that it did not give
 * back. */
void asked_locks_end(struct hook_state *st);
enum sandbox_answer asked_lock(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text);

#endif
