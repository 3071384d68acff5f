/* hooks.h - running the plugins' rules of a resource, with its activity on the board. */
#ifndef WHARF_RESOURCE_HOOKS_H
#define WHARF_RESOURCE_HOOKS_H

#include "resource/plan.h"
#include "util/id.h"

/* Conditions added by restrict_rows hooks and by the parent of a nested collection. */
struct narrowing {
    struct wharf_req *req;
    const struct resource *res;
    struct where_term *first, **last;
    size_t n;
};
struct wharf_where {
    struct narrowing *n;
};

/* Tells whether restrict_rows hooks have a say in this request: always those of other plugins, the
 * owner's when the definition names the parameters that it reads and one of them was sent. */
bool rows_restricted(const struct wharf_req *req, const struct resource *res);
/* Runs the restrict_rows hooks, adds the parent's id; checks that the parent row is there and
 * accessible. False: problems. */
bool narrow_rows_of(
    struct wharf_req *req, const struct resource *res, wharf_str parent_id, struct narrowing *ret);
/* Returns the id of the parent in the path of a list below a row ("/v1/items/ID/levels"); "" for
 * other routes. */
wharf_str addressed_parent(const struct wharf_req *req, const struct resource *res);
/* Narrows rows in the same way for the request's own route: the parent's id is its first path
 * parameter. */
bool narrow_rows(struct wharf_req *req, const struct resource *res, struct narrowing *ret);
void narrow_sql(struct sql *s, const struct narrowing *n);
void narrow_extra(struct sql *s, void *narrowing); /* a query_extra_fn */
/* Narrows by one field (wharf_res_api.narrow). */
void where_narrow(struct wharf_where *where, wharf_field f, const char *op, wharf_val v);

/* Tells whom rows of the resource are shown to. What the request asks counts where it reads just
 * these: not in what is written or told of them. res NULL: they are told to others. */
struct shown_to shown_to(const struct wharf_req *req, const struct resource *res);
/* Sets the statement that reads the row as it is shown to the caller, whoever may see it. */
void retrieve_statement(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct plan_statement *ret);
/* Reads the row so, if it is there. Returns NULL after a problem was added. */
PGresult *retrieve_row(struct wharf_req *req, const struct resource *res, wharf_str id);
/* Reads the same row. Returns NULL and *ret_error on failure, and adds no problem. */
PGresult *retrieve_row_or(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct db_error *ret_error);

enum hook_stage { HOOK_NORMALIZE, HOOK_CHECK, HOOK_WRITTEN };
/* Tells whether the rules (check, written) are about this op. */
bool hooks_about(const wharf_hooks *h, uint32_t op);
wharf_status run_hooks(struct wharf_req *req, const struct resource *res, enum hook_stage stage,
    uint32_t op, const struct wharf_rec *old_rec, struct wharf_rec *new_rec);
/* Puts the committed hooks behind the outermost commit. */
void queue_committed(struct wharf_req *req, const struct resource *res, uint32_t op,
    const struct wharf_rec *old_rec, const struct wharf_rec *new_rec);

/* Step 3: the owner's normalize hooks on the body as sent. The record they get holds raw JSON:
 * get() gives WHARF_V_JSON, set() replaces the member. Returns the body to go on with. */
/* id: of the row that is updated, for res->id; empty on create. */
/* Memory of one write for its hooks: the facts beside the body, and the scratch memory that
 * hooks keep for each other. Lives in the request's memory; the records of a write point to it. */
struct write_side {
    /* whose context it is: an address that only its owner knows; NULL: nobody's */
    const void *kind;
    void *context;
    struct write_scratch *scratch; /* of each kind that asked for some */
    struct write_scratch **shared; /* the same of all rows of its set; NULL: it is alone */
    struct write_scratch *own_shared; /* of a row that is written alone */
};
/* Returns the context of rec's write when it is of that kind, else NULL. */
void *side_context(const struct wharf_rec *rec, const void *kind);
/* Returns memory of that kind for rec's write, zeroed when it is asked for first. Returns NULL
 * when rec belongs to no write. */
void *side_scratch(const struct wharf_rec *rec, const void *kind, size_t size);
/* Returns memory of that kind that all rows of rec's set have in common, in the same way. */
void *side_shared(const struct wharf_rec *rec, const void *kind, size_t size);

/* Returns the body as the normalize hooks leave it; rec (res, id, side) is what they are called
 * with. */
const struct wharf_json *normalize_body(
    struct wharf_req *req, uint32_t op, struct wharf_rec *rec, const struct wharf_json *body);

/* Judges by the definition what plugin's check hook set in rec; rec->values is not NULL. Fails
 * with `internal` and logs the plugin, the field and the reason (ruled.c). */
wharf_status ruled_values_judge(
    struct wharf_req *req, const struct plugin *plugin, struct wharf_rec *rec);
/* Fails with `internal` for code of a plugin that ended with status s and told no problem; logs
 * plugin, code, route and request. */
wharf_status plugin_unexplained(
    struct wharf_req *req, const struct plugin *plugin, const char *what, wharf_status s);

/* Around any plugin code. */
/* Notes that the thread does something of its own from here on, up to thread_ends(): the
 * supervisor is told of it. Texts live as long. */
void thread_begins(struct wharf_req *req, const char *plugin, const char *what);
void thread_ends(struct wharf_req *req);
const struct plugin *plugin_enter(struct wharf_req *req, const struct plugin *p, const char *what);
void plugin_leave(struct wharf_req *req, const struct plugin *before);

/* A list with search: when the owner has a search rule, its hits are what matches. False:
 * problems. */
enum { SEARCH_HITS_MAX = 1000 }; /* rows that a search of a module may tell */
bool search_found(struct wharf_req *req, const struct resource *res, struct list_query *q);
/* Adds a hit (wharf_res_api.hit). */
void hits_add(
    struct wharf_hits *hits, wharf_str id, double score, const struct wharf_json *members);
void hits_more(
    struct wharf_hits *hits, const wharf_str *words, size_t n, const struct wharf_json *members);

/* Calls thread_start() or thread_stop() of all plugins, on a thread that runs their code. */
void thread_plugins_start(const struct engine *e, struct thread_ctx *ctx);
void thread_plugins_stop(const struct engine *e, struct thread_ctx *ctx);

#endif
