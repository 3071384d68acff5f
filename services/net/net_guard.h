/* net_guard.h - which addresses and hosts outgoing requests may reach.
 *
 * The rules: docs/spec/06-inference.md section 10 and docs/spec/07-events-and-webhooks.md
 * section 9, the union of both lists. Addresses that are not public are refused; IPv6 addresses
 * that carry an IPv4 address (mapped, translated, 6to4, ISATAP) are judged by it. The operator
 * opens exceptions with net.allow: networks, hosts, each with a port or for all ports
 * (docs/reference/net.md).
 * Leaves to others: URLs (url.h), and asking at each connect (transfer.c). */
#ifndef WHARF_NET_NET_GUARD_H
#define WHARF_NET_NET_GUARD_H

#include <sys/socket.h>

#include "config/config.h"

struct guard;

/* Reads net.allow. Entries that are neither network nor host nor host:port are told in
 * *ret_problem (allocated in err): then NULL. */
struct guard *guard_new(const struct config_list *allow, struct arena *err, wharf_str *ret_problem);
void guard_free(struct guard *g); /* NULL is accepted */

/* Tells whether this address is public in the sense of the rules. Other families than IPv4 and
 * IPv6 are not. */
bool address_public(const struct sockaddr *sa);
/* Judges whether an address may be reached at its port: public, or opened by a network of the
 * list. */
bool guard_address(const struct guard *g, const struct sockaddr *sa);
/* Tells whether the operator opened this name (lower case). Then its form and its addresses are
 * not judged. port_named: by an entry with a port. */
bool guard_host(const struct guard *g, const char *host, uint16_t port, bool *ret_port_named);
/* Tells whether this literal address is opened by the list (public ones are not). */
bool guard_literal(const struct guard *g, const struct sockaddr *sa, bool *ret_port_named);
/* Tells whether a name is refused before anybody asks for its address: single labels, localhost,
 * metadata services, private zones. */
bool host_name_refused(const char *host);

/* Reads "127.0.0.1" or "::1" (no brackets, no zone) and a port. Returns false when the text is
 * neither. */
bool address_parse(const char *text, uint16_t port, struct sockaddr_storage *ret);
/* Compares two addresses without regard to the port. */
bool address_same(const struct sockaddr *a, const struct sockaddr *b);
uint16_t address_port(const struct sockaddr *sa);

#endif
