/* request.h - one request on its way: HTTP, later also batch items, jobs and Lua calls.
 *
 * Belongs to one thread at a time: the event loop while it is read, checked and answered, a
 * worker thread while it runs. All memory is the arena's. Errors are collected as problems; the
 * first one's code decides the status. */
#ifndef WHARF_RESOURCE_REQUEST_H
#define WHARF_RESOURCE_REQUEST_H

#include "identity/auth.h"
#include "db/conn.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/waker.h"

struct engine;
struct resource;
struct plugin;
struct route;
struct activity;
struct fetch_box;
struct blob_put;
struct served;
struct lua_generation;

/* A request keeps this many problems; what comes after is only counted
 * (req_problems.more). */
enum { PROBLEMS_MAX = 100 }; /* problems that one answer tells */

struct problem {
    const char *code;
    wharf_str path;
    uint64_t hash; /* of code and path: a path is named once per code */
    const char *rule; /* for problem details; NULL: other */
    wharf_str text;
    /* in a program: {file, line, message, snippet}, for problem details; or NULL */
    const struct wharf_json *place;
};

enum datetime_format { DATETIME_ISO, DATETIME_EPOCH, DATETIME_EPOCH_MILLIS };

enum { DOING_MAX = 12 };

struct thread_ctx { /* of a worker thread */
    struct db_conn *db; /* of job workers one of the next two (job/job.h, job_in_background) */
    struct db_conn *usual, *background;
    struct activity *activity;
    void **plugin_states; /* by plugin index: what thread_start() returned */
    unsigned index;
    /* what the activity tells, the outermost first: code of plugins calls the kernel, which calls
     * that of others */
    struct doing {
        const char *plugin, *what;
        int64_t since_us;
        struct board_plugin *counted; /* or NULL */
    } doing[DOING_MAX];
    unsigned depth;
    int64_t counted_us; /* until then the time of what it does is counted */
    int64_t pages; /* that it had touched first when the outermost of it began */
};

struct file_wish { /* headers about parts and versions of files, as sent; p NULL: absent */
    wharf_str range, if_range, if_none_match;
};

struct header_line {
    wharf_str name, value;
};

struct req_job { /* of a job's run (job/runner.h) */
    const char *plugin, *doing; /* for the activity: "webhooks", "job deliver" */
    int64_t since_us; /* monotonic */
    bool joined; /* all that the handler does is one transaction, which the runner ends */
    /* before each outermost commit of the handler's own; may fail it */
    wharf_status (*guard)(struct wharf_req *req);
    uint32_t (*progress)(struct wharf_req *req, uint32_t done, uint32_t total); /* non-zero: stop */
    bool (*stop)(const struct wharf_req *req); /* cancelled, drained, or no longer ours */
    /* what a handler that fails wants to wait for its next try; negative: what the job's policy
     * says */
    int64_t again_us;
    /* of act_for(): memory of its own, since it outlives any scope of the arena */
    struct principal acting;
    char acting_organization[48], acting_live[48];
    bool resident; /* runs all the time (job/resident.c) */
    struct waker *waker; /* of a resident: what job_wait() sleeps on; else NULL */
    /* its statement beside it, or NULL (job/side_statement.h) */
    struct side_statement *side_statement;
};

struct event_note { /* an event that the open transaction has written */
    struct event_note *next; /* an older one */
    struct event_note *beside; /* an older one in the same bucket */
    const char *type;
    wharf_str organization, resource_id, id, created_at, previous;
    unsigned depth; /* of the savepoint that it belongs to */
};

struct committed_fn {
    void (*fn)(struct wharf_req *req, void *arg);
    void *arg;
    unsigned depth; /* of the savepoint that it belongs to */
};

struct req_head { /* what was asked, as received */
    const char *method;
    wharf_str path; /* without the query */
    wharf_str raw_query;
    const struct query_pair *pairs;
    size_t n_pairs;
    /* of routes with a raw body, and of those that operators' hooks see */
    struct header_line *lines;
    size_t n_lines;
    wharf_str remote_addr; /* set with them; or empty */
    wharf_str client_request_id, traceparent, last_event_id;
    wharf_str if_match, idempotency_key; /* of a write, or empty */
    struct file_wish wish;
    bool strict; /* Prefer: handling=strict */
    bool respond_async; /* Prefer: respond-async */
    bool problem_details; /* Accept ranks application/problem+json first */
    wharf_str other_type; /* of the route's, which Accept ranks before JSON; or empty */
    enum datetime_format datetime_format;
};

struct req_access { /* who asks, and for what rights */
    uint64_t areas; /* a bit for each whose scope was asked for */
    struct principal *who; /* NULL on public routes */
    /* of routes with an optional key: whose key was sent, counted; or NULL */
    struct principal *offered;
    const char *offer_refused; /* of these routes: why there is none ("api_key.missing") */
    bool offer_missed; /* the handler wanted it */
    /* whom a job acts for (services/batch/host_batch.c), counted; or NULL */
    struct principal *acting;
};

struct req_problems { /* what is wrong with it */
    struct problem *list;
    size_t n, cap;
    size_t more; /* that were told after PROBLEMS_MAX were kept */
    wharf_str path_base; /* put before the paths of body problems: "layouts.2." */
};

struct req_reply { /* the answer */
    int status; /* 0: not answered yet */
    wharf_str message;
    const char *success_code;
    bool page; /* raw: HTML for people */
    bool foreign; /* it is somebody's who is not to be trusted */
    const char *raw_type; /* media type: `out` is the whole body, no envelope */
    struct buf out; /* the JSON of "data" */
    struct jw w;
    uint64_t data_open; /* respond() was called: data is being written */
    wharf_str pagination; /* JSON, or empty */
    wharf_str location_header, preference_applied;
    struct header_line *added; /* by hooks and handlers; their texts end with a zero */
    size_t n_added;
    wharf_str *remarks; /* `errors` of an answer that is a success */
    size_t n_remarks;
    int retry_after; /* seconds, 0: none */
    struct served *served; /* it is a file */
    struct blob_put *put; /* the file that the body was */
    wharf_str entity; /* ETag of what was stored, with quotes */
    int64_t version; /* of the row that is answered; 0: not one row */
    bool matched; /* If-Match was compared with the row that a plugin route names */
    bool replayed; /* it is one given before */
    wharf_str replay; /* its body, byte for byte; or empty: `out` has the row anew */
    const struct resource *answered; /* the row that `out` shows, if it is one */
    wharf_str answered_id;
    const char *one_time[4]; /* fields that are shown this once */
};

struct req_transaction { /* the open transaction, and what waits for its end */
    struct arena *memory; /* what it remembers, whatever scopes end; or NULL */
    /* levels of it that are somebody else's: a request inside of another one's */
    unsigned floor;
    unsigned depth, res_depth;
    /* something beside the rows of its writes is in it: a write that changed nothing commits */
    bool keeps;
    bool plugin_role; /* it runs as wharf_plugin at the moment */
    bool implied; /* nobody began it: plugin SQL of a read did, and it is given up at the end */
    /* of a write whose before hooks judge meanwhile (speculation.h) */
    enum { SPECULATION_NONE, SPECULATION_OPEN, SPECULATION_WRONG } speculation;
    struct event_note *emitted; /* in it (resource/history.c), the newest first */
    struct event_note **emitted_of; /* EVENT_BUCKETS of them by row, or NULL */
    bool met_unique; /* a row of a set met a unique rule: others may, too */
    /* it told so of rights or hooks: what it reads of them is its own until its commit */
    bool access_changed;
    /* after the outermost commit all processes are told: enum notifier_news of db/notifier.h */
    unsigned news;
    struct committed_fn *committed; /* run after the outermost commit */
    size_t n_committed, cap_committed;
    struct ending *endings; /* what is done when it is over (req_at_end), or NULL */
};

struct wharf_req {
    struct arena *arena;
    const struct engine *engine;
    struct thread_ctx *thread; /* NULL on the event loop */
    struct req_slot *slots; /* of plugins, by kind (host/host.c) */

    struct req_head head;
    struct req_access access;
    struct req_problems problems;
    struct req_reply reply;
    struct req_transaction tx;

    const struct route *route;
    wharf_str params[4]; /* in the order of route->param_names */
    wharf_str body_text;
    const struct wharf_json *body; /* never NULL once parsed: {} when empty */
    char request_id[28];
    /* the handler wants to run again when something comes (http/stream.h); or NULL */
    struct parked *parked;
    int64_t parked_until_us; /* monotonic, of the first time; 0: never parked */
    struct stream *stream; /* the live stream that was opened, not answered yet (http/stream.h) */

    wharf_str batch_id; /* of the batch that this belongs to, or empty */
    int depth; /* of the workflow run that this belongs to */
    bool disable_webhooks; /* of everything that this changes */
    bool quiet_people; /* the same: the people of the rows are not told */
    struct { /* what the batch_item hook that runs says of its item (services/batch/host_batch.c) */
        wharf_str id;
        const char *operation; /* NULL: nothing */
    } item;
    struct write_set *set; /* the set of rows whose rules run (resource/set.h), or NULL */
    const struct write *quiet; /* the write whose row's events are not for webhooks, or NULL */

    int64_t start_us; /* monotonic */
    int64_t deadline_us; /* monotonic */
    int64_t now_us; /* kernel clock, one reading */

    const struct plugin *plugin; /* whose code is running, NULL: kernel */
    /* the operator's hooks that it runs under (services/lua/operator/operator.h), or NULL: not
     * asked for yet */
    struct lua_generation *hooks;
    struct req_job *job; /* NULL: this is no job */
    struct fetch_box *fetches; /* outgoing requests that this one started, or NULL */
};

/* Adds a problem and returns its kind (negative wharf_status). code: one of the platform's or of
 * a loaded plugin's. After PROBLEMS_MAX a problem is only counted. */
wharf_status req_fail(struct wharf_req *req, const char *code, const char *path, const char *fmt,
    ...) WHARF_PRINTF(4, 5);
wharf_status req_problem(
    struct wharf_req *req, const char *code, wharf_str path, const char *rule, wharf_str text);
/* Returns the kind of the problem that was told first; WHARF_UNAVAILABLE when none was told and
 * what was asked for just did not work. */
wharf_status req_failed(const struct wharf_req *req);
void req_clear_problems(struct req_problems *problems);
/* Fails with request.too_large and returns false when the request's memory is over its budget.
 * What runs as a job is not judged. */
bool req_memory_ok(struct wharf_req *req);

/* Memory of the request that is free again at the end, unless problems, what waits for the
 * commit, or something of the answer came to be meanwhile: they outlive the scope, and so does
 * everything else then. */
enum { REQ_KEPT = 13 };
struct req_scope {
    struct arena_mark mark;
    const void *kept[REQ_KEPT]; /* what the request keeps for its answer and its log lines */
    struct problem *problems;
    size_t n_problems, cap_problems, n_committed;
};
struct req_scope req_scope_begin(const struct wharf_req *req);
void req_scope_end(struct wharf_req *req, const struct req_scope *s);
/* The transaction failed only because another one was first: whoever began it may try again,
 * RACE_TRIES times in all (docs/spec/01-platform.md section 3.1 'conflict'). */
enum { RACE_TRIES = 4 }; /* of a request that lost a race */
bool req_lost_a_race(const struct req_problems *problems);
/* Adds a problem for a database failure (docs/spec/01-platform.md section 3.1): overloaded,
 * conflict, internal (logged). */
wharf_status req_database_problem(struct wharf_req *req, const struct db_error *e);
/* Opens "data": what is written to reply->w until the answer is its content. */
void req_respond(struct req_reply *reply, int status, wharf_str message);
bool req_param(const struct wharf_req *req, const char *name, wharf_str *ret);

/* Returns the HTTP status of a code; 500 for an unknown one. */
int code_status(const struct engine *e, const char *code);
wharf_status status_kind(int http_status);

/* Returns the memory of the open transaction: freed when it is over, not when a scope of the
 * request ends. */
struct arena *req_tx_memory(struct req_transaction *tx);
/* The bucket of events of a row, in req_transaction.emitted_of. */
enum { EVENT_BUCKETS = 1024 };
size_t event_bucket(wharf_str resource_id);

/* ---- transactions of worker threads ---- */
/* Begins a transaction; a nested one is a savepoint. It goes to the database with the first
 * statement inside, which tells when the database is away; always returns WHARF_OK. */
wharf_status req_begin(struct wharf_req *req);
wharf_status req_commit(struct wharf_req *req);
/* Tells other processes (enum notifier_news of db/notifier.h): after the outermost commit, at
 * once without a transaction. */
void req_tell(struct wharf_req *req, unsigned news);
/* Makes sure that the transaction is open in a job whose work is one transaction. Does nothing
 * else. */
void req_join(struct wharf_req *req);
void req_rollback(struct wharf_req *req);
/* Bounds the time of the statements that follow, all of them together; the rule is
 * wharf_db_api's. */
int64_t req_limit(struct wharf_req *req, int64_t ms);
void req_limit_end(struct wharf_req *req, int64_t before);
/* Gives up a transaction that nobody began: what is written next needs one that is committed. */
void req_leave_implied(struct wharf_req *req);
/* Runs fn once the outermost transaction was committed; never when it is rolled back. */
void req_after_commit(
    struct req_transaction *tx, void (*fn)(struct wharf_req *req, void *arg), void *arg);
/* Runs fn, of the plugin that runs now, in a transaction of its own once the open one is over,
 * however it ended. arg is a copy of text (a const char *). Its problems are told to nobody. */
void req_at_end(struct wharf_req *req, wharf_handler *fn, wharf_str text);
/* Forgets what was to be done so. */
void req_forget_endings(struct req_transaction *tx);
/* Runs a statement. Returns NULL after a problem was added. The result is cleared with the
 * arena. */
PGresult *req_query(
    struct wharf_req *req, const char *sql, const struct sql_arg *args, size_t n_args);
PGresult *req_query_sql(struct wharf_req *req, struct sql *s);
/* Runs the same, but what failed is left to the caller: returns NULL and *ret_error, and adds no
 * problem. */
PGresult *req_try(struct wharf_req *req, const char *sql, const struct sql_arg *args, size_t n_args,
    struct db_error *ret_error);
PGresult *req_try_sql(struct wharf_req *req, struct sql *s, struct db_error *ret_error);
/* Sends a statement with the next one or with the commit, which fails when it fails (db_ahead),
 * inside a transaction. Outside of one: runs it at once; returns false after a problem was
 * added. */
bool req_ahead(struct wharf_req *req, const char *sql, const struct sql_arg *args, size_t n_args);
/* Runs COPY ... FROM STDIN with the rows (db/copy.h). Returns false after a problem was added. */
bool req_copy(struct wharf_req *req, const char *sql, struct buf *rows);
/* Runs the same, but what failed is left to the caller: returns false and *ret_error. */
bool req_try_copy(
    struct wharf_req *req, const char *sql, struct buf *rows, struct db_error *ret_error);
/* Prepares plugin SQL: a transaction, the role and the organization (docs/decisions 11). Engine
 * statements undo it by themselves. */
void req_plugin_role(struct wharf_req *req);
extern const char plugin_role_sql[]; /* that, as a statement: the organization, and the live one */
/* Notes that the principal was changed: plugin SQL that comes next asks for its organization
 * anew. */
void req_leave_organization(struct wharf_req *req);
/* Calls db_start and db_finish (db/conn.h) for the request. */
bool req_start_sql(struct wharf_req *req, struct sql *s);
PGresult *req_finish_sql(struct wharf_req *req, struct db_error *ret_error);

#endif
