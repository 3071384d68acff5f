/* index.h - the words of all names of a book, kept in the transaction that changes a contact,
 * and finding who may be meant by some.
 *
 * docs/spec/06-inference.md section 9.7. Leaves to others: how well they match (score.h). */
#ifndef CONTACTS_INDEX_H
#define CONTACTS_INDEX_H

#include "contacts.h"
#include "score.h"

enum { CANDIDATES_MAX = 200 }; /* contacts that are compared */

/* Words of names, each with what it counts. */
struct words {
    struct indexed *p;
    size_t n, cap;
};
/* Adds all names of a contact one after another, with the same text for its id, which must live as
 * long as the list. The words are the request's. */
void words_add(wharf_req *req, struct words *list, wharf_str contact, const struct name *name);
/* Stores the words as their contacts' from now on. again: some of these contacts had words
 * before. */
wharf_status index_add(wharf_req *req, const struct words *list, bool again);
/* Removes the words from the index. */
void index_remove(wharf_req *req, const struct words *list);
/* Finds the contacts (CANDIDATES_MAX at most) that share most of the name's words, as written,
 * mistyped, shortened or by another form of them. */
wharf_status index_find(wharf_req *req, const struct name *name, struct ids *ret);

#endif
