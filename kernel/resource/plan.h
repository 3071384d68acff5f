/* plan.h - a request as statements and what is made of their results: the same for both executors.
 *
 * docs/architecture.md 'Two executors, one plan'. plan_build() checks the request (query, body,
 * access) and says which statements answer it; the event loop sends them down its lanes, a
 * worker thread runs them on its connection; finish() encodes. A plan may say `threads` before
 * any statement ran: then plugin code or a transaction is needed. Leaves to others: HTTP. */
#ifndef WHARF_RESOURCE_PLAN_H
#define WHARF_RESOURCE_PLAN_H

#include "db/lane.h"
#include "resource/record.h"

enum { PLAN_STATEMENTS = 2 };

struct plan_statement {
    const char *sql;
    const char *many_sql; /* or NULL (db/lane.h) */
    const struct sql_arg *args;
    size_t n_args;
    enum lane_kind lane;
    bool by_value; /* db/lane.h */
};

struct plan {
    struct plan_statement statements[PLAN_STATEMENTS];
    size_t n_statements;
    /* Reads results into req (answer or problems). errors[i].status != DB_OK when statement i
     * failed. Returns false when the request must be run on a worker thread instead, to find out
     * more. */
    bool (*finish)(struct wharf_req *req, struct plan *plan, PGresult *const *results,
        const struct db_error *errors);
    const struct list_query *list;
    struct view view;
    struct wharf_rec *rec; /* create: the row as it will be */
    bool searches; /* on the event loop: a search rule is to be asked, the plan ends there */
};

/* Tells whether this request's plan can run on the event loop. */
bool plan_on_loop(const struct wharf_req *req);
/* For list, retrieve and plain create. PROBLEMS: on the request. THREADS: only a worker thread
 * can tell. */
enum plan_result { PLAN_READY, PLAN_PROBLEMS, PLAN_THREADS };
enum plan_result plan_build(struct wharf_req *req, struct plan *plan);
/* Runs the whole request on a worker thread: plan, or transaction. Problems or answer in req. */
void request_run(struct wharf_req *req);

/* Builds the plan of one kind of request; used by the files of this folder. */
bool plan_list(struct wharf_req *req, struct plan *plan);
bool plan_retrieve(struct wharf_req *req, struct plan *plan);
enum plan_result plan_create(struct wharf_req *req, struct plan *plan);
/* Returns the id of the row that the request names; "" on collections. */
wharf_str addressed_id(const struct wharf_req *req);
/* Answers with the row. */
void answer_row(struct wharf_req *req, struct wharf_rec *rec, const struct view *view, int status,
    const char *what);
void answer_created(struct wharf_req *req, struct wharf_rec *rec, const struct view *view);
/* Tells whether the request's key has the write scope of the resource. */
bool req_may_write(const struct req_access *access, const struct resource *res);
/* Reads fields=, include_* of a retrieve, and unknown parameters under strict handling. Returns
 * false after problems. */
bool read_view(struct wharf_req *req, const struct resource *res, uint32_t in, struct view *view);
/* Tells whether the view shows a field that the owner's compute hook fills. */
bool computes_fields(const struct resource *res, const struct view *view);
/* Fills the computed cells of a page by the owner's hook. */
wharf_status compute_fields(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct view *view);

#endif
