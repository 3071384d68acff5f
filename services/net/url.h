/* url.h - a URL that somebody gave us, read strictly: two parsers must agree on its host, and
 * its host must be a public name.
 *
 * The rules: docs/spec/06-inference.md section 10 (first four rows) and
 * docs/spec/07-events-and-webhooks.md section 9 'Static'. Nothing is asked over the network
 * here. Leaves to others: addresses (net_guard.h). */
#ifndef WHARF_NET_URL_H
#define WHARF_NET_URL_H

#include <curl/curl.h>

#include "net/client.h"
#include "net/net_guard.h"

enum {
    URL_TEXT_MAX = 2048, /* letters of a URL */
    HOST_TEXT_MAX = 253 /* letters of a host name */
};

struct net_url {
    CURLU *handle; /* what libcurl is given: normalised, without fragment */
    char host[HOST_TEXT_MAX + 1]; /* lower case; a literal without brackets */
    uint16_t port;
    bool https;
    bool literal; /* an address of net.allow, in `address` */
    bool open; /* the operator opened the name: its addresses are not judged */
    struct sockaddr_storage address;
};

/* Parses a URL. flags: NET_HTTP, NET_PORT_80, NET_NO_FRAGMENT, NET_TRUSTED (own settings: form and
 * host are not judged). Returns NET_DONE, NET_BAD_PROTOCOL, NET_BAD_URL or NET_BAD_HOST; url is
 * filled only with NET_DONE and then ended with net_url_done(). */
enum net_outcome net_url_parse(
    const struct guard *g, wharf_str text, unsigned flags, struct net_url *url);
void net_url_done(struct net_url *url);

#endif
