/* inner.h - a request of the API from inside of the process: the same route, checks, rules and
 * transaction as over HTTP, without a socket.
 *
 * Runs on the thread and the database connection of the request that asks, which must have no
 * open transaction; a GET may be inside of one, and sees what it wrote. Routes whose answer is
 * not a JSON envelope (files, streams), whose body is not JSON, or that park are not available. */
#ifndef WHARF_LUA_INNER_H
#define WHARF_LUA_INNER_H

#include "resource/request.h"

struct inner_call {
    const char *method; /* "GET", "POST", "DELETE" */
    wharf_str path; /* "/v1/…", may have a query */
    const struct wharf_json *query; /* object of scalars and arrays of scalars; or NULL */
    const struct wharf_json *body; /* or NULL */
    wharf_str idempotency_key; /* or empty */
    bool key_is_ours; /* nobody asked for it: routes that take none go without */
    struct principal *who;
};

/* Reads the key that the author names in an op api.*, as over HTTP; p NULL: none. Returns false
 * when it can't be one; then the op is a mistake: ret_mistake. */
bool inner_key(const struct wharf_json *args, wharf_str *ret_key, wharf_str *ret_mistake);

/* Runs a request inside of `outer`. Returns true for 2xx: the text is {status, message, data,
 * pagination}. Returns false else: {code, message, status, errors}. The text lives in outer's
 * arena. */
bool inner_request(struct wharf_req *outer, const struct inner_call *call, wharf_str *ret_text);

#endif
