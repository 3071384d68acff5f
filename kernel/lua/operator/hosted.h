/* hosted.h - the ops that hooks ask their host for, one function per family; private to kernel/lua/operator. */
#ifndef WHARF_LUA_OPERATOR_HOSTED_H
#define WHARF_LUA_OPERATOR_HOSTED_H

#include "lua/operator/generation.h"

/* host.c: the author's mistake, as {"code", "message"}. */
enum sandbox_answer host_mistake(wharf_str *ret_text, const char *text);

#endif
