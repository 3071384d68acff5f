/* index.h - the words of all names of a book, kept in the transaction that changes a contact, and finding who may be meant by some.
 *
 * docs/spec/06-inference.md section 9.7. Leaves to others: how well they match (score.h).
 */
#ifndef CONTACTS_INDEX_H
#define CONTACTS_INDEX_H

#include "contacts.h"
#include "score.h"

enum { CANDIDATES_MAX = 200 };

/* The words of these names are the contact's, and no others; n 0: it has none any more. */
wharf_status index_write(wharf_req *req, wharf_str contact, const struct name *names, size_t n);
/* The contacts (CANDIDATES_MAX at most) that share most of the name's words, as written, mistyped, shortened or by another form of them. */
wharf_status index_find(wharf_req *req, const struct name *name, struct ids *ret);

#endif
