/* engine.h - what a worker process knows after start: plugins, resources, routes, error codes.
 * Built once, then read-only.
 *
 * Leaves to others: loading plugins (host/registry.c fills this), HTTP, running requests
 * (request.h). */
#ifndef WHARF_RESOURCE_ENGINE_H
#define WHARF_RESOURCE_ENGINE_H

#include <stdatomic.h>

#include "resource/request.h"
#include "schema/definition.h"

struct net_client;
struct blob_store;
struct operator_lua;
struct write_observer;
struct request_observer;
struct upload_handler;
struct event;

struct plugin {
    const struct manifest *manifest;
    const char *name;
    unsigned index;
    const wharf_plugin_desc *desc;
    struct wharf_plugin *handle; /* what its functions get as `self` */
};

struct wharf_plugin { /* handle: `self` of a plugin's functions */
    struct engine *engine;
    struct plugin *plugin;
    struct arena *memory;
};

struct hook_entry {
    const struct plugin *plugin;
    const wharf_hooks *hooks;
    int32_t order;
};

struct resource {
    const struct definition *def;
    /* The names inside of what rules judge by themselves (schema_judged_inside). Set when the
     * document is built; NULL: of nothing. */
    const struct names *sent_names;
    const struct plugin *plugin;
    const struct hook_entry *hooks; /* owner first, others by (order, plugin name) */
    size_t n_hooks;
    const struct resource **refs; /* by field index: the resource a ref points to, or NULL */
    int area; /* number of the scope's area */
    /* A row is read as def->columns, then one JSON text per children or embed field: */
    /* the first n_selected come from the select list, computed ones follow */
    size_t n_cells, n_selected;
    const char *title_lower; /* "dock door" */
    int16_t *cell_of; /* by field index: position in a row, or -1 */
    int16_t *shown_of; /* of arrays that show rows: position of the shown objects, or -1 */
    /* select lists; the shorter one has NULL for what lists do not show */
    const char *columns_list, *columns_full;
    /* as columns_full, for rows that are read to be shown: with what SQL computes of them */
    const char *columns_shown;
    bool shows_by_caller; /* columns_list or columns_shown ask about the caller (query_shown) */
    /* but for the cells behind def->columns they show one row alone, which its place in the
     * table tells from others */
    bool self_contained;
    /* what is shown of a row hangs neither on who asks nor on other rows of its table, and no
     * children are written behind it: the statement that writes it tells columns_shown */
    bool told_by_write;
    bool has_children; /* rows of tables of their own are written with it */
    /* $1 organization, $2 id; of partitioned tables $3 the moment that the id carries */
    const char *retrieve_sql;
    bool names_rows; /* texts with "ids_of": ids of rows that who reads may not see */
    bool has_secrets; /* columns that are sealed */
    /* what reads need a worker thread for (run.c): always; for search=; where a view shows it */
    bool reads_by_rules; /* rows of a parent, or narrowed by a restrict_rows hook */
    bool search_rule;
    uint32_t computed_in; /* IN_*: views that show fields of the owner's compute hook unasked */
    bool plain_create; /* no rule, no children: creates run on the event loop */
    const char *create_sql; /* with plain_create: row, log line and event in one statement */
    const char *create_many_sql; /* the same for several requests (db/lane.h, many_sql) */
};

enum route_kind {
    ROUTE_LIST,
    ROUTE_CREATE,
    ROUTE_RETRIEVE,
    ROUTE_UPDATE,
    ROUTE_DELETE,
    ROUTE_PLUGIN,
    ROUTE_KERNEL
};

struct route {
    enum route_kind kind;
    const char *method; /* "GET", "POST", "DELETE", "PUT", "PATCH" */
    /* "/v1/locations/:location/layouts"; "*path" at the end: all that is left */
    const char *pattern;
    const char *param_names[4];
    size_t n_params;
    int area; /* -1: public or any key */
    enum scope_level level;
    bool public_route; /* no key needed */
    /* public; a key that is sent is read, and the handler says whether it counts
     * (wharf/service/http.h) */
    bool optional_key;
    /* the handler answers whatever it likes: no Accept, no Idempotency-Key, no entity tags of
     * ours */
    bool any_answer;
    bool tenant_code; /* code of an organization runs in it (http/tenant_threads.c) */
    bool array_body; /* top level may be an array */
    bool large_body; /* 64 MiB */
    int64_t max_body; /* bytes; 0: http.body_limit */
    /* the live stream (http/stream.h): kind of token that opens it; NULL: another route */
    const char *stream_tokens;
    bool event_stream; /* answers with Server-Sent Events */
    bool below; /* lists the rows that name a row of another resource (place.below) */
    bool all_parents; /* lists the rows of all parents (place.all_path) */
    bool silent; /* not in the access log */
    bool page; /* for people; the description of the API leaves it out */
    bool unstable; /* every answer says SVC-Unstable: true */
    bool shows_request; /* its handler is shown headers and the client's address */
    int64_t per_minute; /* requests of one organization; 0: no limit of its own */
    int64_t per_second, burst; /* requests of one key; 0: no limit of its own */
    const struct resource *resource;
    /* ROUTE_PLUGIN, by parameter: whose row's id it is (resource/guard.h); NULL: nobody's */
    const struct resource *guards[4];
    const struct plugin *plugin; /* NULL: kernel */
    const struct absent *absent; /* of a module that is left out (resource/absent.h): 503 */
    const struct deprecation *deprecated, *deprecated_fields; /* http/deprecation.h; NULL: none */
    const wharf_route *declared; /* ROUTE_PLUGIN */
    const struct wharf_json *definition; /* ROUTE_PLUGIN: its parsed definition, or NULL */
    const struct schema *body_schema;
    /* where the handler judges parts of the body: the names that it knows, for strict mode */
    const struct names *body_names;
    void (*run)(struct wharf_req *req); /* ROUTE_KERNEL: on the event loop */
    struct board_route *metrics;
};

struct error_code {
    const char *code;
    int status;
    const char *text; /* default text */
    const char *plugin; /* NULL: platform */
    /* Operations that may answer with it: names, or beginnings of names with * behind; NULL:
     * nobody told */
    const struct wharf_json *operations;
};

struct embed_entry {
    const struct plugin *plugin;
    const char *param, *key;
    wharf_status (*fn)(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
        wharf_out *const *outs);
};

struct service_entry {
    const struct plugin *plugin; /* NULL: kernel */
    const char *name;
    uint16_t major, minor;
    const void *table;
};

struct engine {
    struct arena *arena; /* what loading allocates; then of the main thread */
    struct arena *plugin_memory; /* mem.plugin_alloc, under its lock: threads ask too */
    const struct config *config;
    struct board *board;
    struct auth_cache *auth;
    struct net_client *net; /* outgoing requests of this process */
    struct blob_store *blobs; /* big bytes */
    struct file_arrival *arrivals; /* who is told of files that came (blob/arrival.h), or NULL */
    const struct upload_handler *uploads; /* takes bodies that are files (http/upload.h), or NULL */
    /* Can a file be written now? 0, or an errno; NULL: there is no store */
    int (*storage_probe)(const struct engine *e);
    /* what hooks into writes, in order (resource/observe.h) */
    const struct write_observer *const *observers;
    size_t n_observers;
    const struct request_observer *around; /* what hooks into requests, or NULL */
    bool (*on_events)(struct wharf_req *req, struct event *const *events,
        size_t n); /* is shown processed events of one organization, in their
        transaction; false: it is lost. Or NULL */
    /* who runs hooks of organizations (wharf/service/lua.h), or NULL */
    const struct wharf_lua_hooks *tenant_hooks;
    const struct plugin *tenant_plugin; /* whose these are */
    /* requests of a worker in which code of organizations runs at a time; 0: there is none */
    size_t tenant_runs;
    const char *secrets_wrong; /* why secrets are unavailable, or NULL */
    struct health *health; /* what /readyz tells (http/health.h) */
    struct operator_lua *operator_lua; /* the operator's hooks, or NULL */
    struct areas areas;
    struct buf *loading; /* problems of plugins, while they are loaded; else NULL */
    const struct plugin *plugins;
    size_t n_plugins;
    /* where is counted what they use, by their index; the last one: the server. NULL: nowhere */
    struct board_plugin **counted;
    const struct absent *absent; /* modules that are left out */
    size_t n_absent;
    struct resource *resources;
    size_t n_resources;
    struct route *routes;
    size_t n_routes;
    struct route_node *tree;
    const struct spelling *spellings; /* of paths (routes.c) */
    size_t n_spellings;
    const struct error_code *codes; /* sorted by code */
    size_t n_codes;
    const struct embed_entry *embeds;
    size_t n_embeds;
    const struct service_entry *services;
    size_t n_services;
    struct job_kind *jobs; /* sorted by name */
    size_t n_jobs;
    wharf_check *checks; /* of `wharf verify` (host/host_verify.h), by full name and sorted by it */
    size_t n_checks;
    const struct event_type *event_types; /* sorted by name (event/event_catalogue.h) */
    size_t n_event_types;
    const struct event_step *steps; /* what is done with each event (event/steps.h) */
    size_t n_steps;
    const struct event_handler *handlers; /* jobs that plugins want for events */
    size_t n_handlers;
    struct stream_hub *hub; /* of web workers, or NULL (http/stream.h) */
    struct notifier *notifier; /* this process's side thread; NULL outside a worker */
    wharf_str openapi; /* the served document */
    const _Atomic int64_t *db_ways; /* worker threads of this process that have a connection */
    const atomic_bool *ready; /* this process can serve: its database answers */
    bool admin; /* of the admin listener: /metrics too */
    unsigned char cursor_key[32];
};

/* Tells whether a route of the plugin needs a scope of this area. */
bool engine_owns_area(const struct engine *e, const struct plugin *p, int area);
const struct resource *engine_resource(const struct engine *e, const char *name); /* or NULL */
/* Returns the resource whose rows are locations; NULL when no loaded module has one. */
const struct resource *engine_locations(const struct engine *e);

/* Finds the route of a path. ret_allow: methods of the path when only the method is wrong ("GET,
 * HEAD, POST, OPTIONS"). */
enum route_result { ROUTE_FOUND, ROUTE_NONE, ROUTE_METHOD };
enum route_result engine_route(const struct engine *e, const char *method, wharf_str path,
    struct arena *a, const struct route **ret_route, wharf_str params[4], wharf_str *ret_allow);

bool route_tree_build(struct engine *e, struct buf *problems);
/* Returns the statements of plain creates (create_sql.c). */
const char *create_statement(const struct engine *e, const struct resource *res);
const char *create_many_statement(const struct engine *e, const struct resource *res);
/* Returns PostgreSQL's type of a field's column, for casts. */
const char *store_type(const struct field *f);
/* Tells whether an insert writes this field's column (not a system column, not computed). */
bool field_written(const struct field *f);

/* Builds the tree, the SQL of every resource, the sorted codes. Problems are collected in
 * problems (one per line). */
bool engine_link(struct engine *e, struct buf *problems);

#endif
