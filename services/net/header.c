/* header.c - which header lines a caller of net_submit() may send. See client.h. */
#include <string.h>
#include <strings.h>

#include "net/client.h"

/* Headers that say where a request ends, whom it is for, and what becomes of the connection (RFC
 * 9112, RFC 9110 section 7.6.1). The client writes these lines itself. A caller that could write
 * them could make the receiver see another request than the one that was sent. */
static const char *const reserved[] = {"connection", "content-length", "expect", "host",
    "http2-settings", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade"};

bool net_header_reserved(wharf_str name)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (name.n == strlen(reserved[i]) && strncasecmp(name.p, reserved[i], name.n) == 0)
            return true;
    return false;
}

bool net_header_valid(wharf_str name, wharf_str value)
{
    static const char token[] =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (size_t i = 0; i < name.n; i++)
        if (!name.p[i] || !strchr(token, name.p[i]))
            return false;
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];

        if ((c < ' ' && c != '\t') || c == 0x7F)
            return false;
    }
    return name.n && !net_header_reserved(name);
}
