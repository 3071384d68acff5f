/* told.h - what an event tells of a row: the row as its retrieve shows it to who sees all of it
 * and sends no parameters (docs/spec/07-events-and-webhooks.md section 4).
 *
 * Leaves to others: writing events (history.h), what a row shows (record.h). */
#ifndef WHARF_RESOURCE_TOLD_H
#define WHARF_RESOURCE_TOLD_H

#include "resource/record.h"
#include "resource/request.h"

struct view told_view(const struct definition *d);
/* Computes what events show of rows that is in no column, and what they keep for some readers only
 * (rec->parts), with statements for all of them. Problems were added where it fails. */
wharf_status told_compute(
    struct wharf_req *req, const struct resource *res, struct wharf_rec *const *recs, size_t n);

#endif
