/* write.h - the transaction of a write: the same for HTTP, batch items, Lua and plugin calls
 * (docs/reference/plugin-abi.md section 6 'Pipeline').
 *
 * Runs on a worker thread, inside the caller's transaction when there is one. Leaves to others:
 * answering, plain creates (create.c). */
#ifndef WHARF_RESOURCE_WRITE_H
#define WHARF_RESOURCE_WRITE_H

#include "resource/hooks.h"

struct write {
    const struct resource *res;
    uint32_t op; /* OP_CREATE, OP_UPDATE, OP_DELETE */
    wharf_str id; /* addressed row; create: filled in, unless a plugin said it */
    wharf_str parent_id; /* nested collections, else "" */
    const struct wharf_json *body; /* create, update */
    wharf_str if_match; /* tags of which the row must have one, or empty */
    const void *kind; /* whose context it is, or NULL */
    void *context; /* what that plugin's hooks are to know beside the body */
    /* update: what the body leaves out goes back to its default, see write_check_body */
    bool replace;
    /* results: */
    struct wharf_rec *old_rec, *new_rec;
    struct wharf_rec *stored; /* the row as its own statement told it, or NULL: not told */
    bool disable_webhooks; /* the body said so: the row's own events have it */
    bool unchanged; /* update: nothing differed, nothing was written */
    /* of the pipeline: */
    struct write_side *side;
    struct value *values;
    void *hooks_ahead; /* see services/lua/lua_tenant.h */
    /* in a transaction of its own, which is done again when a speculation was wrong
     * (speculation.h) */
    bool alone;
    bool speculative, judged;
};

/* Runs steps 3 to 12. Problems are on the request when it is not WHARF_OK. */
wharf_status write_run(struct wharf_req *req, struct write *w);
/* Runs begin, write_run and commit, and tries again after a serialization failure. */
wharf_status write_transaction(struct wharf_req *req, struct write *w);

/* Parts of the pipeline, also of a write of many (set.h). */
/* Makes what the hooks of this run share (side.c); write_rec() puts it on a record (or NULL),
 * which it returns. */
void write_side_begin(struct wharf_req *req, struct write *w);
struct wharf_rec *write_rec(const struct write *w, struct wharf_rec *rec);
enum { RECURSION_MAX = 8 }; /* writes inside of writes */
wharf_status write_live_refused(struct wharf_req *req, const struct resource *res);
/* Runs normalize hooks and the schema: fills w->values. With w->replace every field that may be
 * updated has one, whether the body says it or not; links to other rows, and the fields that
 * "batch": {"keep"} of the definition names, only when it does. */
wharf_status write_check_body(struct wharf_req *req, struct write *w);
/* Runs the schema alone, again: w->body was changed by a hook. */
wharf_status write_values(struct wharf_req *req, struct write *w);
/* Runs operators' before hooks (services/lua/operator/operator.h), and looks again at what must be
 * looked at when they changed the body. */
wharf_status write_observe(struct wharf_req *req, struct write *w);
wharf_status write_new_id(struct wharf_req *req, struct write *w);
/* Settles the values when old_rec was read: create-only fields are as they were, patches and set
 * inputs become whole values. */
wharf_status write_settle(struct wharf_req *req, struct write *w);
/* Computes what the insert writes into the field's column (row.c). Returns false when it could not
 * be sealed. */
bool write_cell(
    struct wharf_req *req, const struct write *w, const struct field *f, struct sql_arg *ret);
/* Builds the statement that makes the row; its table has the alias t. Returns false after a
 * secret could not be sealed. */
bool write_insert_sql(struct wharf_req *req, struct write *w, struct sql *s);
/* The lines that a write leaves in change log and events; computed fields of the row are filled
 * in already. */
struct change;
bool write_change(struct wharf_req *req, const struct write *w, wharf_str changes,
    wharf_str previous, struct change *ret);

/* Brings the live children rows of w's row in line with the sent list (children.c). ret_changed:
 * anything was written. */
wharf_status children_write(
    struct wharf_req *req, const struct write *w, const struct field *f, bool *ret_changed);
wharf_status children_delete(struct wharf_req *req, const struct write *w, const struct field *f);
/* Checks that references of the sent values exist, and that locations among them are accessible
 * (references.c). */
wharf_status references_check(struct wharf_req *req, const struct write *w);
/* Finds the differences of two rows (diff.c): [{field, old, new}] and {field: old}. Returns false
 * when there are none. */
bool rows_differ(struct wharf_req *req, const struct wharf_rec *old_rec,
    const struct wharf_rec *new_rec, wharf_str *ret_changes, wharf_str *ret_previous);
/* Adds the violated unique rule as a problem (row.c). */
wharf_status unique_problem(
    struct wharf_req *req, const struct definition *d, const struct db_error *e);
/* Tells whether the list of entity tags has one with this version, or *. Only the version part
 * counts (01 section 8.2). */
bool version_listed(wharf_str tags, int64_t version);
/* Compares If-Match of a plugin's own route once, with the row that the path names last, when it
 * is locked or written first. Returns false after precondition.failed was told. */
bool route_precondition(struct wharf_req *req, const struct wharf_rec *rec);
enum tag_kind { TAG_END, TAG_ANY /* "*", without quotes */, TAG_ONE };
/* Takes the next tag of an If-Match or If-None-Match list. *ret_tag: what stands between its
 * quotes, weak or not. */
enum tag_kind tag_next(const char **at, wharf_str *ret_tag);
/* Returns the default cell of a written column that nobody sent. */
wharf_str absent_text(const struct field *f);
/* Adds a problem of the body; req is a struct wharf_req. A schema_problem_fn. */
void body_problem(void *req, wharf_str path, const char *rule, wharf_str message);

#endif
