/* net_fetch.h - what the end of a transfer means to whoever asked for a file: the documented codes.
 *
 * docs/spec/06-inference.md section 10, docs/spec/10-batches.md section 9,
 * docs/spec/04-printing.md section 7. One code, one text: whatever made a host unreachable, the
 * answer is the same, so that nobody can ask us about addresses and ports. */
#ifndef WHARF_NET_NET_FETCH_H
#define WHARF_NET_NET_FETCH_H

#include "net/client.h"
#include "resource/request.h"

struct fetch_verdict {
    wharf_str code; /* "" when all is well */
    const char *text;
};

/* Judges a transfer that is over. family: "file", "inference", ...; any_status, any_body: see
 * wharf/service/fetch.h. */
struct fetch_verdict fetch_verdict(struct arena *a, const struct net_transfer *t,
    const char *family, bool any_status, bool any_body);
/* Judges an outcome alone, for checks that ask nobody. */
struct fetch_verdict fetch_outcome_verdict(struct arena *a, enum net_outcome o, const char *family);

#endif
