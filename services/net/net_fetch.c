/* net_fetch.c - see net_fetch.h. */
#include "net/net_fetch.h"

#include "util/str.h"
#include "wharf/errors.h"

static struct fetch_verdict of_family(
    struct arena *a, const char *family, const char *reason, const char *text)
{
    return (struct fetch_verdict){arena_printf(a, "%s.%s", family, reason), text};
}

static struct fetch_verdict unreachable(struct arena *a, const char *family)
{
    return of_family(a, family, strcmp(family, "file") == 0 ? "not_available" : "unreachable",
        "The file could not be fetched; check that its URL opens without a login and answers with "
        "the file");
}

struct fetch_verdict fetch_outcome_verdict(struct arena *a, enum net_outcome o, const char *family)
{
    switch (o) {
    case NET_DONE:
        return (struct fetch_verdict){str_z(""), ""};
    case NET_BAD_URL:
        return of_family(a, family, "url",
            "The URL needs a host name, no user or password, and port 443 or one from 1024 on; "
            "addresses in numbers are taken only where the operator lets them (net.allow)");
    case NET_BAD_PROTOCOL:
        return of_family(a, family, "protocol",
            "The URL must begin with https://; with http:// only where the operator lets it "
            "(net.allow_http)");
    case NET_BAD_HOST:
    case NET_BLOCKED:
        return of_family(a, family, "hostname",
            "The host of the URL is not public; use one that the internet can reach");
    case NET_TIMEOUT:
        return (struct fetch_verdict){str_z(ERR_FILE_TIMEOUT_ERROR),
            "The host of the URL was too slow; try again, or use a faster one"};
    case NET_TOO_LARGE:
        return (struct fetch_verdict){
            str_z(ERR_FILE_TOO_LARGE), "The file is larger than this route takes"};
    case NET_ENCODED:
        return (struct fetch_verdict){str_z(ERR_FILE_TOO_LARGE),
            "The host sent the file compressed, so its size is not known; "
            "use a URL that sends it as it is"};
    case NET_SINK:
        return (struct fetch_verdict){
            str_z(ERR_OVERLOADED), "The server has no room for this file at the moment; try again"};
    case NET_NO_NAME:
    case NET_NO_ADDRESS:
    case NET_NO_CONNECTION:
    case NET_NO_TRUST:
    case NET_REDIRECTS:
    case NET_BAD_HEADER:
    case NET_BROKEN:
    case NET_CANCELLED:
        break;
    }
    return unreachable(a, family);
}

struct fetch_verdict fetch_verdict(struct arena *a, const struct net_transfer *t,
    const char *family, bool any_status, bool any_body)
{
    if (net_outcome(t) != NET_DONE || any_status)
        return fetch_outcome_verdict(a, net_outcome(t), family);
    if (net_status(t) >= 500)
        return (struct fetch_verdict){str_z(ERR_FILE_DOWNLOAD),
            "The host of the URL has trouble of its own; try again later"};
    if (net_status(t) >= 300 || (!any_body && !net_received(t)))
        return unreachable(a, family);
    return (struct fetch_verdict){str_z(""), ""};
}
