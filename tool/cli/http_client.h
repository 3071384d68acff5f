/* http_client.h - just enough HTTP to talk to our own server on this machine (the demonstration
 * data goes the public way), or to one elsewhere. */
#ifndef WHARF_TOOL_CLI_HTTP_CLIENT_H
#define WHARF_TOOL_CLI_HTTP_CLIENT_H

#include "util/arena.h"

struct http_reply {
    int status; /* 0: no answer */
    const char *failure; /* why there is none; NULL when there is one */
    wharf_str body;
};

/* Makes one request on a connection of its own. base_url: "http://127.0.0.1:8080", or https of our
 * own listener. body "" for none. Waits at most 10 s. */
struct http_reply http_call(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body);
/* Makes a request to a server that may be anywhere: its certificate is checked, against the
 * system's authorities and those in the file WHARF_CA_FILE of the environment; the environment's
 * proxies are used, and it waits for at most 60 s. */
struct http_reply http_call_far(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body);
/* Makes the same request to a server that is to refuse what it does not know instead of ignoring
 * it. */
struct http_reply http_call_strict(struct arena *a, const char *base_url, const char *key,
    const char *method, const char *path, wharf_str body);

#endif
