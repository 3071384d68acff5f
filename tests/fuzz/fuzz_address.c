/* fuzz_address.c - URLs and lists of outgoing requests: no crash, and whatever is let through is
 * a public name or was opened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net_guard.h"
#include "net/url.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void judge(const struct guard *g, wharf_str text, unsigned flags)
{
    struct sockaddr_storage address;
    struct net_url url;
    char *again = NULL;
    struct net_url second;

    if (net_url_parse(g, text, flags, &url) != NET_DONE)
        return;
    must(!address_parse(url.host, url.port, &address), "no literal address passes");
    must(!host_name_refused(url.host), "no private name passes");
    must(url.port == 443 || url.port >= 1024 || (url.port == 80 && (flags & NET_HTTP)), "ports");
    must(curl_url_get(url.handle, CURLUPART_URL, &again, 0) == CURLUE_OK, "what passed has a text");
    if (strlen(again) <= URL_TEXT_MAX) {
        must(net_url_parse(g, str_z(again), flags, &second) == NET_DONE,
            "the normalised URL passes");
        must(!strcmp(second.host, url.host) && second.port == url.port, "and means the same host");
        net_url_done(&second);
    }
    curl_free(again);
    net_url_done(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config_list none = {NULL, 0};
    struct arena *a = arena_new(0);
    wharf_str why, text = arena_dup(a, (const char *)data, size);
    struct guard *g = guard_new(&none, a, &why);
    struct config_list one = {&text.p, 1};
    struct guard *given;

    judge(g, text, 0);
    judge(g, text, NET_HTTP | NET_NO_FRAGMENT);
    given = guard_new(&one, a, &why);
    guard_free(given);
    guard_free(g);
    arena_free(a);
    return 0;
}
