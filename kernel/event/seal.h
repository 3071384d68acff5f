/* seal.h - tamper evidence of the change log: rows chained by hashes, per organization
 * (docs/spec/01-platform.md section 13, docs/reference/logs.md).
 *
 * The chain is walked in SQL (db/sql/verify_log.sql). Leaves to others: writing rows
 * (history.h), taking what is to be sealed (processor.h), showing them. */
#ifndef WHARF_EVENT_SEAL_H
#define WHARF_EVENT_SEAL_H

#include "resource/request.h"

struct seal_report {
    bool valid;
    int64_t checked;
    wharf_str first_bad_id, head_hash; /* or empty */
};

enum { SEAL_HEX = 64 };

struct seal_line {
    int64_t created_at_us;
    /* text: what is hashed behind the hash of the line before, as wharf.canonical_log has it */
    wharf_str id, text;
    /* chain_hash: of the last line that was sealed before the chunk */
    wharf_str organization, chain_hash;
    int64_t sequence;
    char hash[SEAL_HEX + 1]; /* made here */
};
/* Reads created_at_us, id and text of a line as wharf.outbox_next answers it, into the request's
 * arena. Returns false after a problem was told. */
bool seal_line_read(struct wharf_req *req, const PGresult *r, int row, struct seal_line *ret);
/* Seals lines, those of each organization together and in order, in the transaction that claimed
 * them. False: problems. */
bool seal_chunk(struct wharf_req *req, struct seal_line *lines, size_t n);
/* Checks what the request's created_at filters choose of the resource that shows the log; its
 * location rules do not count. */
wharf_status seal_verify(
    struct wharf_req *req, const struct resource *shown, struct seal_report *ret);

#endif
