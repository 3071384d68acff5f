/* speculation.h - a write beside the observers that judge it (resource/observe.h). Most of them
 * look and let the write go as it is: so PostgreSQL is given the row at once while they judge,
 * and nobody waits for the other.
 *
 * Nothing of a wrong speculation is ever seen: the transaction is rolled back and the write is
 * done again, observers first. It is wrong when an observer changes the body, when it asks the
 * server for anything (it would see a row that is not there yet), and when the write fails
 * before they have judged. An observer that asked or changed is not speculated about for 60
 * seconds.
 *
 * Leaves to others: the write (write.c), the hooks. */
#ifndef WHARF_RESOURCE_SPECULATION_H
#define WHARF_RESOURCE_SPECULATION_H

#include "resource/write.h"

/* Returns whether this write may be done so: it is alone in its transaction, and each observer
 * that wants it allows it. */
bool speculation_may(const struct wharf_req *req, const struct write *w);
/* Runs the observers while the started statement (req_start_sql) is done. Their answer is final
 * when it is WHARF_OK or a problem of theirs. */
wharf_status speculation_judge(struct wharf_req *req, struct write *w);
/* Returns whether a write that failed in its open transaction is to be done again without
 * speculation. Then its problems are forgotten, and the caller rolls back. */
bool speculation_failed(struct wharf_req *req, struct write *w);

#endif
