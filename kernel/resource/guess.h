/* guess.h - a write beside the before hooks of its organization (lua/tenant.h). Most hooks look and let the write go as it is: so PostgreSQL is
 * given the row at once, while they judge in their process, and nobody waits for the one behind the other.
 *
 * It is a guess, and nothing of a wrong one is ever seen: the transaction is rolled back and the write done again, hooks first. Wrong is what
 * hooks do to the body, whatever they ask the server for (it would see the row as it is not yet), and a failure of the write before they
 * have judged. A hook that asked or changed is not guessed about for a while.
 *
 * Leaves to others: the write (write.c), the hooks.
 */
#ifndef WHARF_RESOURCE_GUESS_H
#define WHARF_RESOURCE_GUESS_H

#include "resource/write.h"

/* May this write be done so? It is alone in its transaction. Not where operators have hooks too: theirs come first, and would be run twice. */
bool guess_may(const struct wharf_req *req, const struct write *w);
/* Runs the hooks while what was started (req_start_sql) is done. What they say is final when it is WHARF_OK or a problem of theirs. */
wharf_status guess_judge(struct wharf_req *req, struct write *w);
/* The write failed, in its open transaction: is it to be done again without guessing? Then nothing of it is left behind but the rollback, which is
 * the caller's. */
bool guess_failed(struct wharf_req *req, struct write *w);

#endif
