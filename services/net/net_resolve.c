/* net_resolve.c - from a host name to checked addresses, without waiting: c-ares on the loop's
 * epoll. See transfer.h.
 *
 * The hosts file is read first, then the name servers of /etc/resolv.conf or net.dns; no search
 * domains, so that a name means the same everywhere. One refused address among the answers
 * refuses the name. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "net/transfer.h"
#include "util/log.h"
#include "util/str.h"

struct query {
    struct net_client *client;
    struct net_transfer *transfer; /* NULL: nobody waits any more */
};

static void socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct net_client *c = arg;
    struct epoll_event e = {.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u),
        .data.u64 = (uint64_t)fd | (uint64_t)1 << 32};

    if (!readable && !writable)
        epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, fd, &e) != 0 &&
             epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e) != 0)
        log_warn("net.resolve", "a socket to a name server can't be watched");
}

/* Reads "host=address" or "host=address:port". */
static bool net_resolve_read_mapping(const char *text, struct mapping *m)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    unsigned long port = 0;
    char address[64];
    char *colon, *end;

    if (!n || n > HOST_TEXT_MAX || strlen(equals + 1) >= sizeof(address))
        return false;
    for (size_t i = 0; i < n; i++)
        m->host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    memcpy(address, equals + 1, strlen(equals + 1) + 1);
    colon = strrchr(address, ':');
    if (address[0] == '[') {
        end = strchr(address, ']');
        if (!end)
            return false;
        colon = end[1] == ':' ? end + 1 : NULL;
        *end = 0;
        memmove(address, address + 1, strlen(address));
        colon = colon ? colon : end;
    } else if (colon && strchr(address, ':') == colon) {
        *colon = 0;
    } else {
        colon = NULL;
    }
    if (colon && colon[1])
        port = strtoul(colon + 1, &end, 10);
    return port <= 65535 && address_parse(address, (uint16_t)port, &m->address);
}

static bool read_mappings(struct net_client *c, struct arena *err, wharf_str *ret_problem)
{
    const struct config_list *list = &c->config->net_resolve;

    if (!strcmp(c->config->environment, "production"))
        return true;
    c->mappings = calloc(list->count + 1, sizeof(*c->mappings));
    if (!c->mappings)
        abort();
    for (size_t i = 0; i < list->count; i++) {
        if (!net_resolve_read_mapping(list->items[i], &c->mappings[c->n_mappings++])) {
            *ret_problem = arena_printf(err,
                "net.resolve: \"%s\" is not host=address or host=address:port", list->items[i]);
            return false;
        }
    }
    return true;
}

bool resolve_setup(struct net_client *c, struct arena *err, wharf_str *ret_problem)
{
    struct ares_options options = {.flags = ARES_FLAG_NOSEARCH,
        .timeout = 2000,
        .tries = 2,
        .sock_state_cb = socket_state,
        .sock_state_cb_data = c};
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    int r;

    if (!read_mappings(c, err, ret_problem))
        return false;
    r = ares_init_options(&c->ares, &options, mask);
    if (r != ARES_SUCCESS) {
        *ret_problem = arena_printf(err, "the resolver did not start: %s", ares_strerror(r));
        return false;
    }
    if (c->config->net_dns[0] &&
        ares_set_servers_ports_csv(c->ares, c->config->net_dns) != ARES_SUCCESS) {
        *ret_problem = arena_printf(
            err, "net.dns: \"%s\" is no list of address or address:port", c->config->net_dns);
        return false;
    }
    return true;
}

/* Takes the addresses. All answers are judged, also those beyond the ones that are kept. */
static enum net_outcome take_addresses(
    struct net_client *c, struct net_transfer *t, const struct ares_addrinfo *found)
{
    for (const struct ares_addrinfo_node *n = found->nodes; n; n = n->ai_next) {
        struct sockaddr_storage *to = &t->addresses[t->n_addresses];

        if (n->ai_family != AF_INET && n->ai_family != AF_INET6)
            continue;
        if (t->n_addresses == ADDRESSES_MAX)
            to = &t->addresses[ADDRESSES_MAX - 1];
        else
            t->n_addresses++;
        memset(to, 0, sizeof(*to));
        memcpy(to, n->ai_addr, n->ai_addrlen);
        if (n->ai_family == AF_INET)
            ((struct sockaddr_in *)to)->sin_port = htons(t->url.port);
        else
            ((struct sockaddr_in6 *)to)->sin6_port = htons(t->url.port);
        if (!t->url.open && !guard_address(c->guard, (struct sockaddr *)to))
            return NET_BLOCKED;
    }
    return t->n_addresses ? NET_DONE : NET_NO_ADDRESS;
}

static void net_resolve_answered(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    struct query *q = arg;
    struct net_transfer *t = q->transfer;

    (void)timeouts;
    if (t) {
        t->query = NULL;
        t->state = T_RESOLVED;
        if (status == ARES_SUCCESS)
            t->outcome = take_addresses(q->client, t, found);
        else
            t->outcome = status == ARES_ENOTFOUND ? NET_NO_NAME : NET_NO_ADDRESS;
    }
    if (found)
        ares_freeaddrinfo(found);
    free(q);
}

static const struct mapping *mapping_of(const struct net_client *c, const char *host)
{
    for (size_t i = 0; i < c->n_mappings; i++) {
        if (strcmp(c->mappings[i].host, host) == 0)
            return &c->mappings[i];
    }
    return NULL;
}

static void use_mapping(struct net_transfer *t, const struct mapping *m)
{
    const struct sockaddr *sa = (const struct sockaddr *)&m->address;
    bool v6 = sa->sa_family == AF_INET6;
    const void *in = v6 ? (const void *)&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr
                        : (const void *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr;
    uint16_t port = address_port(sa) ? address_port(sa) : t->url.port;
    char text[INET6_ADDRSTRLEN];

    inet_ntop(sa->sa_family, in, text, sizeof(text));
    snprintf(t->mapped_to, sizeof(t->mapped_to), v6 ? "[%s]:%u" : "%s:%u", text, port);
    t->mapped = true;
    t->addresses[t->n_addresses++] = m->address;
}

void resolve_start(struct net_client *c, struct net_transfer *t)
{
    static const struct ares_addrinfo_hints hints = {
        .ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT};
    const struct mapping *m = mapping_of(c, t->url.host);

    t->outcome = NET_DONE;
    t->n_addresses = 0;
    t->mapped = false;
    t->state = T_RESOLVED;
    if (t->url.literal) {
        t->addresses[t->n_addresses++] = t->url.address;
        return;
    }
    if (m) {
        use_mapping(t, m);
        return;
    }
    t->state = T_RESOLVING;
    t->query = malloc(sizeof(*t->query));
    if (!t->query)
        abort();
    *t->query = (struct query){c, t};
    ares_getaddrinfo(c->ares, t->url.host, NULL, &hints, net_resolve_answered, t->query);
}

void resolve_forget(struct net_transfer *t)
{
    if (t->query)
        t->query->transfer = NULL;
    t->query = NULL;
}
