/* lua_http.h - wharf.http of runs and hooks (ops http.request and http.all of sandbox/ops.md):
 * requests to the outside through the guarded client (services/net/client.h). Answers of any
 * status are answers; what went wrong outside is an expected failure, with the codes of
 * docs/spec/08-workflows-and-lua.md section 5. */
#ifndef WHARF_LUA_LUA_HTTP_H
#define WHARF_LUA_LUA_HTTP_H

#include "lua/sandbox/sandbox.h"
#include "resource/request.h"

struct lua_http {
    int64_t deadline_us; /* clock_monotonic_us(): nothing goes on later */
    unsigned left; /* requests that may still be made */
    /* names that may be asked, "api.example.com" or "*.example.com"; NULL or no array: any */
    const struct wharf_json *hosts;
};

/* Answers the op http. The text lives in the request's arena. */
enum sandbox_answer lua_http(struct wharf_req *req, struct lua_http *limits, bool all,
    const struct wharf_json *args, wharf_str *ret_text);

#endif
