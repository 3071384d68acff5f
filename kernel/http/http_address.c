/* http_address.c - who the client is: the peer's address, or what trusted proxies say of it
 * (docs/spec/01-platform.md section 5). */
#include <netinet/in.h>

#include "http/exchange.h"
#include "util/log.h"
#include "util/str.h"

bool networks_have(const struct networks *list, const struct ip *ip)
{
    for (size_t i = 0; i < list->n; i++) {
        if (network_has(&list->items[i], ip))
            return true;
    }
    return false;
}

bool networks_read(const struct config_list *from, const char *setting, struct arena *a,
    struct networks *ret, wharf_str *ret_error)
{
    ret->items = ARENA_ARRAY(a, struct network, from->count);
    ret->n = from->count;
    for (size_t i = 0; i < from->count; i++) {
        if (network_parse(from->items[i], &ret->items[i]))
            continue;
        *ret_error = arena_printf(a,
            "%s: \"%s\" is neither an address nor a network such as 10.0.0.0/8", setting,
            from->items[i]);
        return false;
    }
    return true;
}

/* Finds the last address of the list that is no trusted proxy: each proxy adds whom it saw, and
 * what clients send themselves stands before. */
static void forwarded(const struct exchange *x, const char *list, struct ip *ip)
{
    const char *end = list + strlen(list);

    while (networks_have(&x->server->proxies, ip) && end > list) {
        const char *start = end;
        struct ip before;
        wharf_str item;

        while (start > list && start[-1] != ',')
            start--;
        item = utf8_trim((wharf_str){start, (size_t)(end - start)});
        if (!ip_parse(item.p, (unsigned)item.n, &before))
            return;
        *ip = before;
        end = start > list ? start - 1 : list;
    }
}

bool client_ip(struct exchange *x, struct ip *ret)
{
    const union MHD_ConnectionInfo *info;
    const char *list;

    if (!x->has_ip && x->connection) {
        info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        x->has_ip = info && info->client_addr && ip_of(info->client_addr, &x->ip);
        list = x->has_ip && x->server->proxies.n
                   ? MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "X-Forwarded-For")
                   : NULL;
        if (list)
            forwarded(x, list, &x->ip);
    }
    *ret = x->ip;
    return x->has_ip;
}
