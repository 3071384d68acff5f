/* wharf/plugin.h - the Wharf plugin ABI, major 1.
 *
 * The one header a plugin needs. A plugin exports one symbol and imports none from the server:
 * everything else goes through the tables below. Rules for changing this file:
 * docs/reference/plugin-abi.md, section 4. Thread tags used below:
 *   [declare]  inside declare(), one thread, no I/O     [worker]  inside a handler, hook, job or
 *              start()
 *   [any]      any thread of this process               A function without a tag is [worker].
 * Return parameters are named ret_*; they are written on WHARF_OK only. Pointers may not be NULL
 * unless marked "or NULL". */
#ifndef WHARF_PLUGIN_H
#define WHARF_PLUGIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHARF_ABI_MAJOR 1
#define WHARF_ABI_MINOR 0
#define WHARF_EXPORT __attribute__((visibility("default")))
#define WHARF_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* ---- values ---- */

/* First member of every table and every descriptor. size is what the writer's compiler saw. */
typedef struct wharf_head {
    uint32_t size;
    uint16_t major, minor;
} wharf_head;
#define WHARF_HEAD(type) { sizeof(type), WHARF_ABI_MAJOR, WHARF_ABI_MINOR }
/* Does this table, maybe from an older server, have that member? Ask before using anything newer
 * than your "needs". */
#define WHARF_HAS(type, t, m) ((t)->head.size >= offsetof(type, m) + sizeof((t)->m) && (t)->m)

/* UTF-8, length known, and always NUL-terminated at p[n]; never contains a NUL before that. p is
 * never NULL. */
typedef struct wharf_str { const char *p; size_t n; } wharf_str;
#define WHARF_S(lit) ((wharf_str){ "" lit, sizeof(lit) - 1 })

/* 0 or one of the negative kinds; the HTTP status follows from the error code */
typedef int32_t wharf_status;
enum wharf_status_kind {
    WHARF_OK = 0,
    WHARF_INVALID = -1,        /* 400 the caller's data */
    WHARF_DENIED = -2,         /* 403 scope or location */
    WHARF_NOT_FOUND = -3,      /* 404 */
    WHARF_CONFLICT = -4,       /* 409 state, uniqueness, version */
    WHARF_LIMIT = -5,          /* 413, 429 a size, rate or quota */
    WHARF_UPSTREAM = -6,       /* 408, 502 a remote peer */
    WHARF_UNAVAILABLE = -7,    /* 503 try again: draining, quarantined, database away */
    WHARF_INTERNAL = -8        /* 500 ours: logged with a reference, text never shown */
};

/* Opaque. Created and freed by the server only; plugins never know their size. */
typedef struct wharf_host wharf_host;      /* declared below */
typedef struct wharf_plugin wharf_plugin;  /* this plugin, in this process */
typedef struct wharf_decl wharf_decl; /* the registration being built, valid inside declare() */
typedef struct wharf_req wharf_req; /* one HTTP request, batch item, job run or event delivery */
typedef struct wharf_rec wharf_rec;        /* one row of a declared resource */
typedef struct wharf_json wharf_json;      /* a parsed JSON value, read-only */
typedef struct wharf_out wharf_out;        /* a JSON writer into the response */
typedef struct wharf_rows wharf_rows;      /* a query result */
typedef struct wharf_where wharf_where;    /* a predicate being narrowed */
typedef struct wharf_hits wharf_hits;      /* what a search found */
typedef struct wharf_scope wharf_scope;    /* a memory scope inside a request */
typedef struct wharf_verify wharf_verify;  /* one run of a check */

typedef uint16_t wharf_field; /* index of a field; constants come from the generated <resource>.h */

/* A bound value. Text is not copied: it must live until the call returns. */
typedef struct wharf_val {
    uint32_t type;                         /* WHARF_V_* */
    uint32_t scale;                        /* decimals only */
    union { int64_t i; double d; wharf_str s; const wharf_json *j; } u;
} wharf_val;
enum wharf_val_type {
    WHARF_V_NULL = 1,
    WHARF_V_BOOL,
    WHARF_V_INT,
    WHARF_V_DEC,
    WHARF_V_DOUBLE,
    WHARF_V_TEXT,
    WHARF_V_TIME_US,
    WHARF_V_JSON
};

/* ---- services of the server: always present, same major as this header ---- */

/* Memory of the request: bump allocation, freed as a whole when req ends; release functions run
 * last-in first-out. Never NULL. Past the request's budget the request is poisoned: alloc goes on
 * working, the commit is refused with WHARF_LIMIT (413 request.too_large), so the code unwinds by
 * its own error paths. A process that has no memory at all ends. */
typedef struct wharf_mem_api {
    wharf_head head;
    void *(*alloc)(wharf_req *req, size_t bytes); /* zeroed, 16-byte aligned */
    wharf_str (*dup)(wharf_req *req, const char *p, size_t n);
    /* not "printf": that is a macro for some compilers */
    wharf_str (*format)(wharf_req *req, const char *fmt, ...) WHARF_PRINTF(2, 3);
    /* for fds, foreign objects */
    void (*on_release)(wharf_req *req, void (*fn)(void *arg), void *arg);
    wharf_scope *(*scope_begin)(wharf_req *req); /* for loops: frees what came after */
    void (*scope_end)(wharf_req *req, wharf_scope *scope);
    /* [declare], start() or thread_start(): for ever */
    void *(*plugin_alloc)(wharf_plugin *self, size_t bytes);
    /* Memory of this kind (an address of the plugin, as in wharf_write) for the whole request,
     * whatever scope it is asked for in; zeroed when it is asked for first. For what writes
     * inside of each other have to know; what one write is to know is its context. */
    void *(*slot)(wharf_req *req, const void *kind, size_t bytes);
} wharf_mem_api;

/* Errors are collected on the request; the return value is the kind, so "return err->fail(...)"
 * is the whole idiom. code must be declared in the plugin's errors.json: that file gives status,
 * default text, docs and OpenAPI. */
typedef struct wharf_err_api {
    wharf_head head;
    wharf_status (*fail)(wharf_req *req, const char *code, const char *path /* or NULL */,
        const char *fmt /* or NULL */, ...) WHARF_PRINTF(4, 5);
    wharf_status (*add)(wharf_req *req, const char *code, const char *path, const char *fmt, ...)
        WHARF_PRINTF(4, 5);
    wharf_status (*current)(const wharf_req *req); /* WHARF_OK when none collected */
    void (*clear)(wharf_req *req); /* after handling one on purpose */
    /* Sets the text that stands before the paths of body problems told from now on
     * ("layouts.2."), for routes that write many rows; "" ends it. */
    void (*base)(wharf_req *req, const char *prefix);
} wharf_err_api;

enum wharf_log_level { WHARF_LOG_ERROR = 1, WHARF_LOG_WARN, WHARF_LOG_INFO, WHARF_LOG_DEBUG };
typedef struct wharf_log_api {
    wharf_head head;
    uint32_t (*level)(const wharf_plugin *self); /* [any] cheap: ask before formatting */
    void (*write)(wharf_plugin *self, wharf_req *req /* or NULL */, uint32_t level,
        const char *event, const char *fmt, ...)
        WHARF_PRINTF(5, 6); /* [any] one line, key=value pairs */
} wharf_log_api;

typedef struct wharf_req_api {
    wharf_head head;
    wharf_str (*organization)(const wharf_req *req);
    wharf_str (*actor)(const wharf_req *req); /* user_, dev_ or sys id */
    /* path parameter, then query */
    bool (*param)(const wharf_req *req, const char *name, wharf_str *ret_value);
    /* parsed once, schema-checked by route */
    wharf_status (*body)(wharf_req *req, const wharf_json **ret_body);
    wharf_status (*need_scope)(wharf_req *req, const char *scope);
    wharf_status (*need_location)(wharf_req *req, wharf_str location_id); /* 403 location_access */
    int64_t (*now_us)(const wharf_req *req); /* one clock reading per request */
    int64_t (*deadline_us)(const wharf_req *req);
    bool (*cancelled)(const wharf_req *req); /* client gone, deadline or draining */
    wharf_str (*new_id)(wharf_req *req, const char *prefix);
    /* opens "data" of the envelope */
    wharf_out *(*respond)(wharf_req *req, uint32_t http_status, const char *message);
    void *(*thread_local_state)(wharf_req *req); /* what thread_start() returned */
    void (*created)(wharf_req *req, wharf_str path); /* the Location header of a 201 */
    /* Scopes or locations of principals were changed: after the commit keys are read again, in
     * every process. */
    void (*access_changed)(wharf_req *req);
    /* A member of the answer's data is a secret shown this once: an answer that is given again
     * for an Idempotency-Key has it null. At most four per request; field is static text. */
    void (*one_time)(wharf_req *req, const char *field);
    /* A list that a route answers by itself: its parameters page (from 1) and limit (a number up
     * to most, or all), with the problems of every list; then what the answer's pagination says.
     * Read one row more than the page holds to know whether there are more. */
    wharf_status (*page)(
        wharf_req *req, int64_t limit, int64_t most, int64_t *ret_page, int64_t *ret_limit);
    void (*paged)(wharf_req *req, int64_t page, int64_t limit, bool has_more);
} wharf_req_api;

enum wharf_json_type {
    WHARF_J_NULL = 1, WHARF_J_BOOL, WHARF_J_NUMBER, WHARF_J_STRING, WHARF_J_ARRAY, WHARF_J_OBJECT
};
/* Reading takes NULL, a member that is absent, and says of it what it says of null. */
typedef struct wharf_json_api {
    wharf_head head;
    uint32_t (*type)(const wharf_json *v);                                          /* WHARF_J_* */
    const wharf_json *(*get)(const wharf_json *object, const char *key);            /* or NULL */
    /* or NULL; objects too: their i-th member */
    const wharf_json *(*at)(const wharf_json *array, size_t i);
    size_t (*count)(const wharf_json *v);
    bool (*text)(const wharf_json *v, wharf_str *ret_s);
    bool (*integer)(const wharf_json *v, int64_t *ret_i);
    /* exact, else false */
    bool (*decimal)(const wharf_json *v, uint32_t scale, int64_t *ret_scaled);
    wharf_status (*parse)(wharf_req *req, wharf_str text, const wharf_json **ret_v);
    void (*put)(wharf_out *out, const char *key /* or NULL in arrays */, wharf_val value);
    void (*open)(wharf_out *out, const char *key /* or NULL */, char bracket /* '{' or '[' */);
    void (*close)(wharf_out *out);
    bool (*truth)(const wharf_json *v, bool *ret_truth); /* false: not a boolean */
    wharf_str (*key)(const wharf_json *member); /* name of an object's member, met by at() */
    /* after at(v, 0): the following one, or NULL */
    const wharf_json *(*next)(const wharf_json *element);
    /* A text that a rule makes: put or open one value with key NULL. result_text is what was
     * written so far, compact; good until more is written. */
    wharf_out *(*writer)(wharf_req *req);
    wharf_str (*result_text)(const wharf_out *out);
    /* A value that a rule makes, without a text in between: put or open one value with key NULL,
     * close it, then take it with result. Within one scope. JSON that is put is shared. */
    wharf_out *(*builder)(wharf_req *req);
    wharf_status (*result)(wharf_req *req, wharf_out *builder, const wharf_json **ret_v);
} wharf_json_api;

/* SQL on the request's connection and transaction. $1.. only; the linter refuses a formatted
 * statement text. */
typedef struct wharf_db_api {
    wharf_head head;
    wharf_status (*query)(wharf_req *req, const char *sql, const wharf_val *args, size_t n_args,
        const wharf_rows **ret_rows);
    wharf_status (*exec)(wharf_req *req, const char *sql, const wharf_val *args, size_t n_args,
        uint64_t *ret_n /* or NULL */);
    size_t (*count)(const wharf_rows *rows);
    /* false: NULL */
    bool (*value)(
        const wharf_rows *rows, size_t row, size_t column, uint32_t want_type, wharf_val *ret_v);
    wharf_status (*begin)(wharf_req *req); /* nested: a savepoint */
    wharf_status (*commit)(wharf_req *req);
    void (*rollback)(wharf_req *req);
    /* Advisory, until commit. It travels with the next statement, which waits for it, and fails
     * when it can't be had. */
    wharf_status (*lock)(wharf_req *req, const char *space, wharf_str key);
    /* A statement of which nothing is asked but that it is done: it travels with the next one,
     * or with the commit, and what it fails with they fail with. Its arguments are copied. As
     * cheap as many of them are, one after the other. */
    void (*later)(wharf_req *req, const char *sql, const wharf_val *args, size_t n_args);
    /* lock() of many keys of one space, with one statement that travels as lock() does, in one
     * order whatever theirs is: two that lock some of the same keys don't wait for each other in a
     * circle. */
    wharf_status (*lock_many)(
        wharf_req *req, const char *space, const wharf_str *keys, size_t n);
    /* From here on statements end within so many milliseconds, all of them together, or sooner
     * where less is left already: what takes longer fails with WHARF_UNAVAILABLE. What ends a
     * transaction or a savepoint is not bound. Returns what was left before, for limit_end(). */
    int64_t (*limit)(wharf_req *req, int64_t ms);
    void (*limit_end)(wharf_req *req, int64_t before);
} wharf_db_api;

enum wharf_op { WHARF_CREATE = 1, WHARF_UPDATE = 2, WHARF_DELETE = 4 };

/* A write, and what the hooks of the plugin that makes it are to know beside the body. */
typedef struct wharf_write {
    wharf_head head;
    const char *resource;
    uint32_t op;                           /* enum wharf_op */
    uint32_t reserved;
    /* update, delete; create: of the new row, as req->new_id() made it for the resource's prefix,
     * or empty */
    wharf_str id;
    const wharf_json *body;                /* create, update */
    /* an address that stands for the type of the context, as of a static of the plugin; NULL: no
     * context */
    const void *kind;
    /* res->context(rec, kind) gives it to the hooks; lives as long as the transaction */
    void *context;
    const wharf_rec **ret_rec; /* or NULL; the row as it is written, or, deleted, as it was */
} wharf_write;

/* Declared resources, by name, through the same validation, hooks, audit and events as HTTP,
 * batches and Lua. */
typedef struct wharf_res_api {
    wharf_head head;
    wharf_status (*fetch)(wharf_req *req, const char *resource, wharf_str id, uint32_t flags,
        const wharf_rec **ret_rec);
    /* flags: of enum wharf_fetch_flag */
    wharf_status (*list)(wharf_req *req, const char *resource, const wharf_json *query,
        const wharf_rec *const **ret_recs, size_t *ret_n);
    /* Short forms of write(), without a context. */
    wharf_status (*create)(
        wharf_req *req, const char *resource, const wharf_json *body, const wharf_rec **ret_rec);
    wharf_status (*update)(wharf_req *req, const char *resource, wharf_str id,
        const wharf_json *body, const wharf_rec **ret_rec);
    wharf_status (*remove)(wharf_req *req, const char *resource, wharf_str id);
    /* The value a row has, or will have when the request sends it. False: null or absent. In
     * normalize hooks: the JSON as sent. */
    bool (*get)(const wharf_rec *rec, wharf_field f, wharf_val *ret_v);
    void (*set)(wharf_rec *rec, wharf_field f, wharf_val v);
    bool (*changed)(const wharf_rec *old_rec, const wharf_rec *new_rec, wharf_field f);
    /* eq !eq gt gte lt lte; in with a JSON array of texts */
    void (*narrow)(wharf_where *where, wharf_field f, const char *op, wharf_val v);
    void (*encode)(wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec);
    bool (*sent)(const wharf_rec *rec, wharf_field f); /* did the request body carry it? */
    wharf_str (*id)(const wharf_rec *rec);
    /* The JSON that the request sent for the field, {add, remove, set} inputs as such; or NULL. */
    const wharf_json *(*input)(const wharf_rec *rec, wharf_field f);
    /* Normalize hooks only, for input aliases: a member of the body by its name, whether a field
     * or not; taking it out. */
    const wharf_json *(*member)(const wharf_rec *rec, const char *name);            /* or NULL */
    void (*drop)(wharf_rec *rec, const char *name);
    /* Search hooks: a row, once, and how well it matches (0 to 1, the order of relevance).
     * members (an object, or NULL) is shown with it. */
    void (*hit)(wharf_hits *hits, wharf_str id, double score, const wharf_json *members);
    wharf_status (*write)(wharf_req *req, const wharf_write *w);
    /* Hooks only: the context of rec's write when it is of this kind. NULL: the write has none,
     * or another plugin's, or a request made it. */
    void *(*context)(const wharf_rec *rec, const void *kind);
    /* Hooks only: memory of this kind for rec's write, the same for all hooks of that write,
     * with either record; zeroed when it is asked for first. From normalize on; it ends with the
     * request. NULL: rec belongs to no write. */
    void *(*scratch)(const wharf_rec *rec, const void *kind, size_t size);
    /* Hooks only: the same for all rows that are written as one set with rec, whose hooks so
     * share what is looked up once; of a row that is written alone it is memory of its own. */
    void *(*shared)(const wharf_rec *rec, const void *kind, size_t size);
    /* changed() for rules about rows of another plugin, in check and written hooks of updates:
     * whether one of these fields is changed. One that the resource does not have counts as
     * changed. */
    bool (*changed_any)(const wharf_rec *old_rec, const wharf_rec *new_rec,
        const char *const *names, size_t n);
    /* Written hooks only: says that what this rule asked the database left the row of this write,
     * and all that is shown of it, as they were. Without this the row is read again behind a rule
     * that asked anything. With the setting rules.verify a rule that is wrong fails the write,
     * but not for fields that SQL computes: others may change their rows meanwhile. */
    void (*row_kept)(const wharf_rec *new_rec);
    /* Search hooks: says that more rows match than are told by hit(): those whose search columns
     * contain one of these words (with all_words all of them), as the columns keep them. They
     * come behind the hits, each shown with members (an object, or NULL). */
    void (*hits_more)(wharf_hits *hits, const wharf_str *words, size_t n,
        const wharf_json *members);
    /* Tells whether the definition of this resource names the link ("links": ["documents"]); false
     * when no loaded module has the resource. */
    bool (*links)(wharf_req *req, wharf_str resource, const char *link);
    /* Writes n rows of one resource, as lists show them, into the array that is open. Asks the
     * database once for the computed fields of all n, where n calls of encode() ask n times. */
    void (*encode_many)(
        wharf_req *req, wharf_out *out, const wharf_rec *const *recs, size_t n);
} wharf_res_api;

typedef struct wharf_event_api {
    wharf_head head;
    /* An event in the request's transaction. data: the row as retrieved by default, then the
     * members of the object extra (or NULL). */
    wharf_status (*emit)(wharf_req *req, const char *type, const char *resource, wharf_str id,
        const wharf_json *extra);
    wharf_status (*enqueue)(
        wharf_req *req, const char *job, wharf_str key, const wharf_json *args, int64_t run_at_us);
    /* jobs: heartbeat; non-zero = stop */
    uint32_t (*progress)(wharf_req *req, uint32_t done, uint32_t total);
    /* emit() of n events of one resource, with one statement that reads all rows and one for
     * those of the first type. What SQL computes of the rows is shown; what a compute hook does is
     * null. extras: NULL, or n objects that may be NULL. */
    wharf_status (*emit_many)(wharf_req *req, const char *resource, const char *const *types,
        const wharf_str *ids, const wharf_json *const *extras, size_t n);
} wharf_event_api;

struct wharf_host {
    wharf_head head;
    const char *server_version;
    /* A service by name. Server tables, other plugins' tables: one way. NULL when absent or too
     * old; what the manifest "needs" is checked before the plugin runs, so NULL is possible for
     * "wants" only. [declare] or start() */
    const void *(*service)(
        const wharf_plugin *self, const char *name, uint16_t major, uint16_t min_minor);
    const wharf_mem_api *mem;
    const wharf_err_api *err;
    const wharf_log_api *log;
    const wharf_req_api *req;
    const wharf_json_api *json;
    const wharf_db_api *db;
    const wharf_res_api *res;
    const wharf_event_api *event;
};
/* Optional server services, each with its own header in wharf/service/ and its own number:
 * wharf.fetch (HTTP client with address guard), wharf.import (rows of CSV, XLSX, JSON), wharf.blob,
 * wharf.config, wharf.metrics, wharf.render (PDF), wharf.lua and others. */

/* ---- what a plugin declares ---- */

enum wharf_fetch_flag {
    WHARF_FOR_UPDATE = 1,
    WHARF_WITH_DELETED = 2,
    WHARF_SHOWN = 4                        /* for encode(): what SQL computes comes with the row */
};
enum wharf_route_flag {
    WHARF_R_READONLY = 1,
    WHARF_R_LONG = 2,
    WHARF_R_NO_TX = 4,
    WHARF_R_RAW_BODY = 8,
    WHARF_R_PUBLIC = 16
};

/* Business rules of a resource; every member may be NULL. old_rec is NULL on create, new_rec on
 * delete. */
typedef struct wharf_hooks {
    wharf_head head;
    /* before validation */
    wharf_status (*normalize)(wharf_req *req, uint32_t op, wharf_rec *new_rec);
    /* In the transaction, old row locked, before the write. The place for rules and state
     * machines. */
    wharf_status (*check)(
        wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec);
    /* In the transaction, after the write: dependent rows, extra events. */
    wharf_status (*written)(
        wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec);
    void (*committed)(
        wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec);
    wharf_status (*restrict_rows)(wharf_req *req, wharf_where *where); /* every list and lookup */
    /* A computed field, for a whole page at once so that it costs one query, not n. */
    wharf_status (*compute)(wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f,
        wharf_out *const *outs);
    /* replaces generic mapping */
    wharf_status (*batch_item)(wharf_req *req, const char *action, const wharf_json *item);
    /* A list with `search`: tells the rows that match by res->hit(), instead of the generic
     * search. text: as it was sent; all_words: rows with some of the words do not match. At most
     * 1,000 hits count, and where these are not all that match hits_more() says which are the
     * others; filters and locations hold as for any list, its count, exports and batches. */
    wharf_status (*search)(wharf_req *req, wharf_str text, bool all_words, wharf_hits *hits);
    /* check and written for a set of different rows at once, each with one statement for all
     * (wharf/service/many.h): called instead of them when every plugin with such a rule on the
     * resource has the set's form too. Same rules, same outcome. old_recs is NULL on create,
     * new_recs on delete. */
    wharf_status (*check_many)(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
        wharf_rec *const *new_recs, size_t n);
    wharf_status (*written_many)(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
        const wharf_rec *const *new_recs, size_t n);
    /* batch_item for items of a batch that stand one after the other and are all creates, before
     * they are looked at one by one (wharf/service/batch.h): it writes those that it can write as
     * a set. Called when every plugin with a batch_item on the resource has it. */
    wharf_status (*batch_items)(
        wharf_req *req, const char *action, const wharf_json *const *items, size_t n);
    /* Before normalize of the rows of a set: asks once what it would ask for each, and keeps it in
     * res->shared(). The records are as in normalize, and only read. */
    wharf_status (*look_ahead)(
        wharf_req *req, uint32_t op, const wharf_rec *const *recs, size_t n);
    /* enum wharf_op: what check and written, and their forms for sets, are about; 0: all. A rule
     * about deletes alone costs creates nothing, and needs no form for sets of them. */
    uint32_t ops;
    uint32_t reserved;
} wharf_hooks;

/* A resource is data: definition is the text of schemas/<area>/<name>.json (section 6). */
typedef struct wharf_resource {
    wharf_head head;
    const char *name;
    wharf_str definition;
    /* written by wharf-gen with the field constants; the server recomputes it */
    uint64_t definition_hash;
    const wharf_hooks *hooks;              /* or NULL */
} wharf_resource;

typedef wharf_status wharf_handler(wharf_req *req, void *arg);

typedef struct wharf_route {               /* for what is not create/list/retrieve/update/delete */
    wharf_head head;
    const char *method, *path;             /* "POST", "/v1/items/:item/boms/:bom/build" */
    const char *scope;
    wharf_str definition; /* request, parameters, responses: JSON Schema and OpenAPI parts */
    wharf_handler *handler;
    void *arg;
    uint32_t flags;                        /* WHARF_R_*; LONG: may run past the usual deadline */
    uint32_t reserved;
} wharf_route;

/* A check written in C may use this and pure code: it runs without a request, in a process that
 * never called start(). It reads rows of all organizations, in one snapshot, and can't write. */
typedef struct wharf_verify_api {
    wharf_head head;
    /* A SELECT, whose rows are handed over one by one: texts, or WHARF_V_NULL. Ends with what row
     * returns when that is not WHARF_OK. Calls may stand inside of each other. */
    wharf_status (*each)(wharf_verify *v, const char *sql, const wharf_val *args, size_t n_args,
        wharf_status (*row)(wharf_verify *v, const wharf_val *values, size_t n, void *arg),
        void *arg);
    void (*looked)(wharf_verify *v, uint64_t n); /* at so many more */
    /* Tells what is wrong with the row (or file) of that id. organization_id: "" when it is
     * nobody's. */
    void (*fault)(wharf_verify *v, wharf_str organization_id, wharf_str id, const char *fmt, ...)
        WHARF_PRINTF(4, 5);
    /* Tells why the check could not be run, and what to do. Returns WHARF_UNAVAILABLE. */
    wharf_status (*fail)(wharf_verify *v, const char *fmt, ...) WHARF_PRINTF(2, 3);
} wharf_verify_api;

/* A check of `wharf verify`: something that must hold of the plugin's rows. wharf-gen makes one of
 * each file of checks/, and CHECKS(api, d) declares these (docs/reference/plugin-abi.md section
 * 14). */
typedef struct wharf_check {
    wharf_head head;
    const char *name;                      /* "open_doors": dock_doors.open_doors */
    const char *summary;                   /* one sentence: what holds */
    const char *remedy;                    /* or NULL: what to do about a fault */
    const char *rows; /* what is looked at; with sql a table, whose rows are counted */
    /* one of these two: a SELECT of organization_id, id and what is wrong, of each faulty row; or
     * a function */
    const char *sql;
    wharf_status (*run)(wharf_verify *v, const wharf_verify_api *api, void *arg);
    void *arg;
} wharf_check;

/* all [declare]; problems are collected, reported together, and fail the load */
typedef struct wharf_decl_api {
    wharf_head head;
    void (*resource)(wharf_decl *d, const wharf_resource *r);
    void (*route)(wharf_decl *d, const wharf_route *r);
    /* someone else's resource; "links:documents": all whose definitions name this link */
    void (*hook)(wharf_decl *d, const char *resource, const wharf_hooks *h, int32_t order);
    void (*provide)(
        wharf_decl *d, const char *service, uint16_t major, uint16_t minor, const void *table);
    /* retries, period */
    void (*job)(wharf_decl *d, const char *name, wharf_handler *fn, void *arg, wharf_str policy);
    /* committed; at least once */
    void (*on_event)(wharf_decl *d, const char *pattern, wharf_handler *fn, void *arg);
    /* Shows more of rows whose definitions name the link of the key ("_documents": documents)
     * where the parameter (include_documents) is true and a row is shown by itself: one value for
     * each id, put or opened with key NULL. Their field of that name is "store": "computed". */
    void (*embed)(wharf_decl *d, const char *param, const char *key,
        wharf_status (*fn)(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
            wharf_out *const *outs));
    void (*errors)(wharf_decl *d, wharf_str errors_json);
    /* number > 0: tables and data, run once. 0: functions, views and triggers as they are now
     * ("repeatable"; CREATE OR REPLACE), run after the numbered ones and again whenever the text
     * has changed (docs/reference/plugin-abi.md section 9). */
    void (*migration)(wharf_decl *d, uint32_t number, const char *name, wharf_str sql);
    void (*fail)(wharf_decl *d, const char *fmt, ...) WHARF_PRINTF(2, 3);
    void (*check)(wharf_decl *d, const wharf_check *c);
} wharf_decl_api;

typedef struct wharf_plugin_desc {
    wharf_head head;
    wharf_str manifest; /* byte-equal to the ELF note */
    /* describes; no I/O, no state */
    void (*declare)(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api);
    /* or NULL; once per process, registry frozen */
    wharf_status (*start)(wharf_plugin *self, wharf_req *req);
    /* or NULL; once per worker thread */
    wharf_status (*thread_start)(wharf_plugin *self, void **ret_state);
    void (*thread_stop)(wharf_plugin *self, void *state);                   /* or NULL */
    void (*drain)(wharf_plugin *self); /* or NULL; finish soon, start nothing new */
    void (*stop)(wharf_plugin *self); /* or NULL; no request is running any more */
    /* or empty; JSON: by the name of an operation, a request and its answer, as the description of
     * the API shows them (docs/reference/plugin-abi.md section 6) */
    wharf_str examples;
} wharf_plugin_desc;

/* The one exported symbol. The ABI major is in its name. Must only return a constant; it may
 * keep host. */
#ifdef WHARF_STATIC_NAME /* static build: -DWHARF_STATIC_NAME=items, one name per plugin */
#define WHARF_CAT_(a, b) a##b
#define WHARF_CAT(a, b) WHARF_CAT_(a, b)
#define wharf_plugin_entry_v1 WHARF_CAT(WHARF_STATIC_NAME, _plugin_entry_v1)
#endif
typedef const wharf_plugin_desc *wharf_plugin_entry_fn(const wharf_host *host);
WHARF_EXPORT const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host);

#ifdef __cplusplus
}
#endif
#endif
