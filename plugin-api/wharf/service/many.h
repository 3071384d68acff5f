/* wharf/service/many.h - writes of many rows: service "wharf.many", version 1.3
 * (docs/reference/definitions.md 'Many rows at once').
 *
 * Every row goes through the same validation, defaults, references, rules, change log and events
 * as a single write, and comes out the same. What is written for a whole set (row, change-log
 * line, event) is one statement each when every plugin with a rule on the resource has said the
 * set's form of it (check_many, written_many of wharf_hooks); else the rows are written one by
 * one, which is slower and nothing more.
 * Rules of this header: wharf/plugin.h. A function without a tag is [worker]. */
#ifndef WHARF_SERVICE_MANY_H
#define WHARF_SERVICE_MANY_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* problems that are to be told later; of the request's memory */
typedef struct wharf_held_problems wharf_held_problems;
/* what became of the rows; lives in the request's memory, until the scope that it was made in
 * ends */
typedef struct wharf_many wharf_many;

enum wharf_many_flag {
    WHARF_MANY_ALL = 1 /* all rows or none: one that is refused takes back the others */
};

enum wharf_many_outcome {
    WHARF_MANY_WRITTEN = 1,
    WHARF_MANY_UNCHANGED = 2, /* an update that found everything as it is */
    WHARF_MANY_REFUSED = 3, /* problem() tells why; nothing of the row was written */
    WHARF_MANY_TAKEN_BACK = 4 /* another row of a set with WHARF_MANY_ALL was refused */
};

/* A write of many rows, and what the hooks of the plugin that makes it are to know of each beside
 * its body (wharf_write). The caller sets head. */
typedef struct wharf_many_write {
    wharf_head head;
    const char *resource;
    uint32_t op; /* enum wharf_op */
    uint32_t flags; /* WHARF_MANY_* */
    size_t n;
    const wharf_str *ids; /* update, delete; create: NULL, or as in wharf_write */
    const wharf_json *const *bodies; /* create, update */
    const void *kind; /* whose contexts they are, or NULL */
    void *const *contexts; /* one for each row, or NULL */
} wharf_many_write;

typedef struct wharf_many_api {
    wharf_head head;
    /* Some hundred rows at a time; memory is that of the rows with their events. All happens in
     * a savepoint of the request's transaction, or in a transaction of its own: a row that is
     * refused leaves nothing behind and does not hinder the others. WHARF_OK: outcomes stand in
     * *ret_many. Else something failed that is no row's fault (the database is away, a race was
     * lost): nothing was written, problems are on the request. With problems on the request
     * already nothing is done. */
    wharf_status (*create)(wharf_req *req, const char *resource, const wharf_json *const *bodies,
        size_t n, uint32_t flags, const wharf_many **ret_many);
    wharf_status (*update)(wharf_req *req, const char *resource, const wharf_str *ids,
        const wharf_json *const *bodies, size_t n, uint32_t flags, const wharf_many **ret_many);
    wharf_status (*remove)(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
        uint32_t flags, const wharf_many **ret_many);
    size_t (*refused)(const wharf_many *many); /* how many rows */
    uint32_t (*outcome)(const wharf_many *many, size_t row); /* WHARF_MANY_* */
    /* "" of a create that did not take place */
    wharf_str (*id)(const wharf_many *many, size_t row);
    /* The i-th problem of a row, as a single write would have told it. False: there are no more.
     * path may be "". */
    bool (*problem)(const wharf_many *many, size_t row, size_t i, wharf_str *ret_code,
        wharf_str *ret_path, wharf_str *ret_message);

    /* In check_many and written_many: problems told from now on are those of the row-th element
     * of the call's arrays. What is told before belongs to no row and fails the whole set. In
     * batch_item hooks, with row 0: what was told so far is the item's, which is refused for it
     * whatever the hook returns; the request has no problem then and the rest of the item can be
     * judged, unless something failed that is no item's fault. */
    void (*at)(wharf_req *req, size_t row);
    /* The same: what becomes of one row depends on the others in a way that the set can't answer
     * (a limit that is reached in the middle of it). What was written for the set is taken back
     * and its rows are written one by one. The hook returns any status but WHARF_OK. */
    void (*row_by_row)(wharf_req *req);
    /* 1.1, for routes that write rows one by one and tell of each what is wrong with it:
     * problems told so far go into *held (NULL: it is made), and the request has none. False:
     * there is one that is no row's fault, and stays. report() puts them back, the first one
     * first, unless one that is no row's fault came since, and returns their status; nothing may
     * be committed before. Memory scopes that began before hold() may not end before report(). */
    bool (*hold)(wharf_req *req, wharf_held_problems **held);
    wharf_status (*report)(wharf_req *req, wharf_held_problems *held);
    /* 1.2: create, update and remove with contexts. */
    wharf_status (*write)(wharf_req *req, const wharf_many_write *w, const wharf_many **ret_many);
    /* 1.3, in check_many: something was written for rows that are not refused so far. When one of
     * them is refused later, by a unique rule or another plugin, what was written for the set is
     * taken back and its rows are written one by one. */
    void (*wrote)(wharf_req *req);
} wharf_many_api;

#ifdef __cplusplus
}
#endif
#endif
