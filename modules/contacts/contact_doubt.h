/* contact_doubt.h - when the one contact that reaches the threshold is not chosen all the same
 * (docs/spec/06-inference.md section 9.6). Scores depend on two records only; this looks at the
 * book, too. */
#ifndef CONTACTS_CONTACT_DOUBT_H
#define CONTACTS_CONTACT_DOUBT_H

#include "channels.h"

/* Tells why a contact may be another person than the one that the label means. c: what label and
 * contact have in common. *ret: the end of a sentence, good as long as the request; empty: there is
 * no doubt. */
wharf_status doubt_of(wharf_req *req, const struct label *label, wharf_str contact_id,
    const struct channels *c, wharf_str *ret);

#endif
