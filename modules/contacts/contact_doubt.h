/* contact_doubt.h - when the one contact that reaches the threshold is not chosen all the same
 * (docs/spec/06-inference.md section 9.6). Scores depend on two records only; this looks at the
 * book, too. */
#ifndef CONTACTS_CONTACT_DOUBT_H
#define CONTACTS_CONTACT_DOUBT_H

#include "channels.h"

/* Tells why the contact of these channels may be another person than the label's: a sentence's end,
 * alive as long as the request; empty: there is no doubt. */
wharf_status doubt_of(
    wharf_req *req, const struct label *label, const struct channels *c, wharf_str *ret);

#endif
