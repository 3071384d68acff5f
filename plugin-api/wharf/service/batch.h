/* wharf/service/batch.h - items of batches: what the module batches runs on, and what hooks
 * batch_item answer with: service "wharf.batch", version 1.2 (docs/reference/batches.md).
 *
 * An item becomes a create, an update or a delete of a declared resource, by the same pipeline
 * as any other write. Which resources take
 * part, and how, is said by the key "batch" of their definitions (docs/reference/definitions.md).
 * Results are those of wharf/service/many.h.
 * Rules of this header: wharf/plugin.h. A function without a tag is [worker]. */
#ifndef WHARF_SERVICE_BATCH_H
#define WHARF_SERVICE_BATCH_H

#include "wharf/service/many.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_batch_api {
    wharf_head head;
    /* The whole definition of a loaded resource, as it was written; NULL: there is none of this
     * name. */
    const wharf_json *(*definition)(wharf_req *req, const char *resource);
    /* From here on the request acts for a key of its organization, as it is now: rights,
     * locations and name. For jobs. *ret_refused: why the key may not ("api_key.revoked"), or
     * "". It holds until the request ends; not to be called inside a memory scope. */
    wharf_status (*act_as)(wharf_req *req, wharf_str key_id, wharf_str *ret_refused);

    /* Items: ids[i] is the row that is meant, "" for a create. action: "merge", "overwrite" (an
     * update that sets what the body leaves out back to
     * its default; links, and the fields that the definition keeps, stay) or "delete" (bodies
     * may be NULL).
     * check: what a write would be refused for before it writes: fields, the rows that are
     * meant, references, locations, check hooks; nothing of it
     * stays. A row's outcome is WRITTEN when nothing is wrong with it. The action "part" is for
     * bodies that are parts of others': their fields and
     * references alone. Of a resource with a batch_item hook items are written and taken back.
     * apply: writes them in their order; those with a batch_item hook are written by it, all
     * others as wharf.many does. */
    wharf_status (*check)(wharf_req *req, const char *resource, const char *action,
        const wharf_str *ids, const wharf_json *const *bodies, size_t n,
        const wharf_many **ret_many);
    wharf_status (*apply)(wharf_req *req, const char *resource, const char *action,
        const wharf_str *ids, const wharf_json *const *bodies, size_t n,
        const wharf_many **ret_many);
    /* "created", "updated", "overwritten", "deleted", "unchanged", or what the hook said; ""
     * when the row was refused. */
    wharf_str (*operation)(const wharf_many *many, size_t row);
    /* The rule that the i-th problem of a row is about ("required"); "" when it names none. */
    wharf_str (*rule)(const wharf_many *many, size_t row, size_t i);
    /* In batch_item hooks: the item is done, and this is what became of it. A hook that returns
     * WHARF_OK without it leaves the item to the next hook, and at last to the generic write.
     * operation: static text. */
    void (*done)(wharf_req *req, wharf_str id, const char *operation);

    /* Ids of the rows that match filters (01 section 11.3 'JSON bodies'), in their order, at
     * most `most` + 1; only those the caller may see. most 0: only what is wrong with the
     * filters is told, with paths below "filters.". */
    wharf_status (*resolve)(wharf_req *req, const char *resource, const wharf_json *filters,
        size_t most, const wharf_str **ret_ids, size_t *ret_n);
    /* The rows with these values, as the list filter of the resource compares them: ret_ids[i]
     * is the row, "" when there is none. ret_several[i]: there are more. */
    wharf_status (*match)(wharf_req *req, const char *resource, const char *filter,
        const wharf_str *values, size_t n, wharf_str *ret_ids, bool *ret_several);
    /* Rows as their retrieve shows them: outs[i] gets the row ids[i], nothing when it is gone.
     * format: "iso_8601", "epoch", "epoch_millis". */
    wharf_status (*show)(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
        const char *format, wharf_out *const *outs);
    /* Events that the open transaction has written so far. */
    size_t (*events)(wharf_req *req);

    /* The row for which all of these list filters, of texts, ids or enumerated words, have these
     * values: *ret_id is "" when there is none, *ret_several: there are more. Only those the
     * caller may see. Since 1.1. */
    wharf_status (*find)(wharf_req *req, const char *resource, const char *const *filters,
        const wharf_str *values, size_t n, wharf_str *ret_id, bool *ret_several);
    /* Ids of the rows below a row of the resource's parent ("parent" of its definition), in the
     * list's own order, at most `most` + 1. Since 1.1. */
    wharf_status (*below)(wharf_req *req, const char *resource, wharf_str parent_id, size_t most,
        const wharf_str **ret_ids, size_t *ret_n);

    /* 1.2: in batch_items hooks, which get the items of a set; row is an item's place in it.
     * Problems are told of an item after at() of wharf.many, and refuse it; nothing that was
     * written for it may be left then. row_by_row() of wharf.many takes back what the hooks did,
     * and all items go one by one.
     * done_at: as done, of one item. */
    void (*done_at)(wharf_req *req, size_t row, wharf_str id, const char *operation);
    /* The item is none of the set: it is written when the set is, by batch_item. So are those
     * that no hook has done or refused, in their order: an item that means the same as one
     * before it has to be left when that one is. */
    void (*leave)(wharf_req *req, size_t row);
    /* Tells whether nobody has done, refused or left the item. */
    bool (*is_open)(wharf_req *req, size_t row);
} wharf_batch_api;

#ifdef __cplusplus
}
#endif
#endif
