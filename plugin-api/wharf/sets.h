/* wharf/sets.h - rules over the rows of a set, for check_many of hooks (wharf/service/many.h). For
 * modules that call their host table W, as in wharf/inline.h; header only, [worker], nothing of it
 * is ABI. docs/reference/definitions.md 'Many rows at once'. */
#ifndef WHARF_SETS_H
#define WHARF_SETS_H

#include "wharf/inline.h"
#include "wharf/service/many.h"

/* A rule that looks at one row: check of wharf_hooks. */
typedef wharf_status wharf_row_check_fn(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec);

/* A rule that refuses rows for what a statement finds about them. */
typedef struct wharf_refusal {
    /* ($1 ids of rows as text[], $2 organization) answers the number of each id that is refused,
     * from 1 on. */
    const char *sql;
    const char *code, *path; /* path: of an update; a delete names no field */
    /* An update asks only when one of these fields changes; not read for deletes. */
    const char *const *fields;
    size_t n_fields;
} wharf_refusal;

#ifdef W
/* Returns the status with which a set goes on behind one row. s: what became of the row. A refused
 * row does not hinder the others; what is no row's fault ends the set. */
WHARF_INLINE wharf_status row_passed(wharf_req *req, wharf_status s)
{
    return W->err->current(req) == WHARF_OK ? s : WHARF_OK;
}

/* Checks row by row. old_recs: NULL on create; new_recs: NULL on delete. */
WHARF_INLINE wharf_status check_each(wharf_req *req, const wharf_many_api *many, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n,
    wharf_row_check_fn *check)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        many->at(req, i);
        s = row_passed(req,
            check(req, op, old_recs ? old_recs[i] : NULL, new_recs ? new_recs[i] : NULL));
    }
    return s;
}

/* Refuses the rows of an update or a delete that the statement finds. many: they are the rows of a
 * set; NULL: it is one row, and the status is its. */
WHARF_INLINE wharf_status refuse_rows(wharf_req *req, const wharf_many_api *many, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n, const wharf_refusal *r)
{
    const wharf_rec **asked = (const wharf_rec **)W->mem->alloc(req, (n + 1) * sizeof(*asked));
    size_t *places = (size_t *)W->mem->alloc(req, (n + 1) * sizeof(*places)), k = 0;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        if (op == WHARF_UPDATE &&
            !W->res->changed_any(old_recs[i], new_recs[i], r->fields, r->n_fields))
            continue;
        places[k] = i;
        asked[k++] = old_recs[i];
    }
    if (!k)
        return WHARF_OK;
    s = query_about(req, r->sql, val_rec_ids(req, asked, k).u.s, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (many)
            many->at(req, places[row_int(rows, i, 0) - 1]);
        W->err->add(req, r->code, op == WHARF_UPDATE ? r->path : NULL, NULL);
    }
    return s == WHARF_OK && !many ? W->err->current(req) : s;
}
#endif

#endif
