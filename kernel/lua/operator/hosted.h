/* hosted.h - the ops that hooks ask their host for, one function per family; private to kernel/lua/operator. */
#ifndef WHARF_LUA_OPERATOR_HOSTED_H
#define WHARF_LUA_OPERATOR_HOSTED_H

#include "lua/operator/generation.h"

/* http.c: http.request and http.all of kernel/lua/sandbox/ops.md. */
enum sandbox_answer hook_http(struct hook_state *st, bool all, const struct wharf_json *args, wharf_str *ret_text);
/* host.c: the author's mistake, as {"code", "message"}. */
enum sandbox_answer host_mistake(wharf_str *ret_text, const char *text);

#endif
