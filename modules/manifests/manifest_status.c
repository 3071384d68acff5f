/* manifest_status.c - which status of a manifest follows which (docs/spec/
 * 03-shipments-and-trackers.md section 7.2). */
#include "manifests.h"

#include "manifests.gen.h"

static const char *const words[] = {"created", "accepted", "processing", "completed", "void"};

static const bool follows[MANIFEST_STATUSES][MANIFEST_STATUSES] = {
    [MANIFEST_IS_CREATED] = {[MANIFEST_IS_ACCEPTED] = true, [MANIFEST_IS_VOID] = true},
    [MANIFEST_IS_ACCEPTED] = {[MANIFEST_IS_PROCESSING] = true,
        [MANIFEST_IS_COMPLETED] = true,
        [MANIFEST_IS_VOID] = true},
    [MANIFEST_IS_PROCESSING] = {[MANIFEST_IS_COMPLETED] = true, [MANIFEST_IS_VOID] = true}};

enum manifest_status manifest_status_of(const wharf_rec *rec)
{
    return (enum manifest_status)word_place(
        field_text(rec, MANIFEST_STATUS), words, MANIFEST_STATUSES);
}

wharf_status manifest_step(wharf_req *req, enum manifest_status from, enum manifest_status to)
{
    if (from == to || (to < MANIFEST_STATUSES && follows[from][to]))
        return WHARF_OK;
    if (!manifest_is_open(from))
        return W->err->fail(req, ERR_MANIFEST_CLOSED, "status",
            "The manifest is %s, no other status follows it", words[from]);
    if (from == MANIFEST_IS_CREATED)
        return W->err->fail(req, ERR_MANIFEST_NOT_ACCEPTED, "status", NULL);
    return W->err->fail(req, ERR_MANIFEST_STATUS_INVALID, "status",
        "The manifest is %s, and does not become %s again", words[from],
        to < MANIFEST_STATUSES ? words[to] : "that");
}
