/* config.h - the operator's settings, evaluated once per process.
 *
 * One Lua file of plain assignments, evaluated without libraries; every scalar can be overridden
 * by environment (WHARF_NET_ALLOW for net.allow, lists by comma) and by --set net.allow=...;
 * unknown keys stop the start with a suggestion (docs/architecture.md 'The commands',
 * docs/decisions 18). Leaves to others: what the settings mean. */
#ifndef WHARF_CONFIG_CONFIG_H
#define WHARF_CONFIG_CONFIG_H

#include "util/arena.h"
#include "util/json.h"

struct config_list {
    const char *const *items;
    size_t count;
};

struct config_rate {
    int64_t rate, burst; /* tokens per second (per minute for ip) and bucket size; rate 0 = off */
};

struct config {
    struct arena *arena; /* owns everything below */
    const char *file; /* as given, or NULL */

    const char *listen; /* listen = "127.0.0.1:8080" ("[::1]:8080", "*:8080") */
    const char *admin_listen; /* admin.listen = "127.0.0.1:9090"; "" = none */
    /* tls.certificate, tls.key = "": PEM files; both or none (http/tls.h) */
    const char *tls_certificate, *tls_key;
    /* user = "": what workers and cells run as when the server is started as root */
    const char *user;
    const char *data; /* data = "/var/lib/wharf" */
    const char *database; /* database.url = "embedded" or a libpq connection string */
    const char *database_direct; /* database.direct = "": as database */
    bool database_prepared; /* database.prepared = true */
    bool rules_verify; /* rules.verify = false */
    int64_t database_lanes; /* database.lanes = 4: connections of the event loop, per web worker */
    /* database.pool = 4: blocking connections (= worker threads) per web worker */
    int64_t database_pool;
    int64_t statement_timeout_ms; /* database.statement_timeout = 15000 */
    const char *migrate; /* migrate = "auto" | "manual" */
    int64_t workers; /* workers = number of web workers; 0 = cores */
    int64_t jobs_workers; /* jobs.workers = 1: job worker processes */
    int64_t jobs_threads; /* jobs.threads = 4: jobs at a time, per job worker */
    /* jobs.long_threads = 0: jobs that wait most of the time; 0: two per core, 4 to 16 */
    int64_t jobs_long_threads;
    /* jobs.plugin_share = 50: percent of the threads that jobs of one plugin which is not
     * shipped may hold */
    int64_t jobs_plugin_share;
    int64_t drain_accept_ms; /* drain_accept = 5000 */
    /* http.header_timeout = 10000, http.body_timeout = 30000 */
    int64_t header_timeout_ms, body_timeout_ms;
    int64_t memory_limit; /* memory.limit = 2 GiB: bytes that one worker may have; 0: any number */
    int64_t drain_timeout_ms; /* drain_timeout = 30000 */
    int64_t handler_timeout_ms; /* http.handler_timeout = 30000 */
    int64_t long_timeout_ms; /* http.long_timeout = 300000: of routes with WHARF_R_LONG */
    int64_t body_limit; /* http.body_limit = 2097152 */
    int64_t connection_limit; /* http.connection_limit = 10000, per web worker */
    /* net.allow = {}: otherwise refused addresses that outgoing requests may reach */
    struct config_list net_allow;
    /* net.resolve = {}: host=address[:port]; not with environment = "production" */
    struct config_list net_resolve;
    /* net.ca_file: certificates believed instead of the system's; not in production */
    const char *net_ca_file;
    const char *net_dns; /* net.dns: name servers, "" for those of the system */
    bool net_allow_http;
    int64_t net_per_host, net_transfers; /* net.per_host = 8, net.transfers = 512 */
    /* mail.url = "": smtp://host:587 or smtps://host; "" = no mail */
    const char *mail_url, *mail_user, *mail_password;
    int64_t mail_per_minute; /* 0: no limit */
    /* mail.from, mail.from_name, mail.tls = "required" | "none" */
    const char *mail_from, *mail_from_name, *mail_tls;
    const char *blob_driver, *blob_dir; /* blob.driver = "dir" | "s3"; blob.dir = "": DATA/blobs */
    /* blob.s3.* */
    const char *blob_s3_endpoint, *blob_s3_bucket, *blob_s3_region, *blob_s3_key, *blob_s3_secret;
    const char *blob_s3_client_endpoint; /* blob.s3.client_endpoint = "": blob.s3.endpoint */
    bool blob_s3_direct; /* blob.s3.direct = false: links lead to this server */
    int64_t blob_upload_limit, blob_grace_s; /* blob.upload_limit = 1 GiB, blob.grace = 86400 */
    int64_t blob_scrub_days, blob_scrub_rate; /* blob.scrub_days = 30, blob.scrub_rate = 20 MB/s */
    const char *base_url; /* base_url: what links begin with; "": links are paths */
    const char *environment; /* environment = "production" | "staging" | "development" | "test" */
    struct config_list cors_origins; /* cors.origins = {} */
    struct config_list trusted_proxies; /* http.trusted_proxies = {} */
    bool request_log_reads; /* request_log.reads: also successful reads are in the request log */
    const char *access_log; /* log.access = "-" (standard error), a path, or "" for none */
    const char *log_file; /* log.file = "-" */
    uint32_t log_level; /* log.level = "info" */
    const char *auth_pepper; /* auth.pepper = "" */
    /* master_key = {}: keys that seal secrets, the current one first; see secret/secret.h */
    struct config_list master_key;
    /* master_key_file = "": the same, one a line; empty: DATA/master.key */
    const char *master_key_file;
    /* rate_limit.key = 100, rate_limit.key_burst = 200; the others alike (01 section 9) */
    struct config_rate rate_key;
    struct config_rate rate_write, rate_test, rate_organization, rate_ip;
    /* rate_limit.concurrency = 64: requests in flight per key; 0 = no limit */
    int64_t rate_concurrency;
    bool rate_endpoint; /* rate_limit.endpoint = true: limits that routes set themselves */
    struct config_list rate_ip_exempt; /* rate_limit.ip_exempt = {"127.0.0.0/8", "::1"} */
    bool tenants_enabled; /* tenants.enabled = false: POST /v1/organizations */
    bool openapi_require_key; /* openapi.require_key = false */
    bool docs_enabled; /* docs.enabled = true */
    /* modules = {"org", "locations", "stations"}: names or paths of .so files */
    struct config_list modules;
    const char *module_path; /* module_path: folders searched for NAME.so, separated by ':' */
    const char *crash_dir; /* crash_dir: default DATA/crash */
    int64_t crash_limit, crash_window_s; /* crash.limit = 3, crash.window = 60 */
    const char *quarantine; /* crash.quarantine = "third_party" | "all" | "off" */
    const char *cell_dir; /* cell.dir = "": where cell_find_dir (cell/cell.h) finds them */
    const char *lua_hooks_dir; /* lua_hooks.dir = "": /etc/wharf/lua-hooks */
    /* lua_hooks.strict = true: a server with a broken folder does not start */
    bool lua_hooks_strict;
    bool lua_hooks_allow_write; /* lua_hooks.allow_write = false: wharf.db.exec is refused */
    /* lua_hooks.instructions = 200000000: of one call of a hook; 0: any number */
    int64_t lua_hooks_instructions;
    int64_t lua_hooks_query_ms; /* lua_hooks.query_ms = 2000: of one statement of wharf.db */
    bool lua_hooks_unsafe; /* lua_hooks.unsafe = false: hooks have no io, debug, os.execute … */
    bool test_clock; /* --test-clock */
    bool safe_mode; /* --safe-mode: in-tree plugins only, no Lua */
    /* object: module name -> its table, as JSON (plugin/module_settings.c checks) */
    const struct wharf_json *module_settings;
    wharf_str file_text; /* of the file; empty without one */
    int kept_fd; /* what the file held, instead of the file itself; -1: none (config_load_kept) */
    /* where each setting of the server was written, in the order of their table */
    const char **from;
    /* settings of modules that did not come from the file, the last one first */
    const struct config_origin *origins;
};

struct config_origin {
    const char *key, *where; /* "stations.offline_after", "--set stations.offline_after" */
    const struct config_origin *next;
};

struct config_override {
    const char *key, *value; /* from --set key=value */
};

/* Reads the file (NULL: defaults only), the environment and the overrides. NULL and a text of
 * one or more lines, naming file and line where it can, in *ret_error (allocated in err). */
struct config *config_load(const char *file, const struct config_override *sets, size_t n_sets,
    struct arena *err, wharf_str *ret_error);
/* Loads the settings like config_load, from the text that config_keep() kept, whatever the file
 * holds by now; `file` names it in messages. fd -1: does the same as config_load. */
struct config *config_load_kept(int fd, const char *file, const struct config_override *sets,
    size_t n_sets, struct arena *err, wharf_str *ret_error);
/* Returns a descriptor of a copy in memory of the file's text; -1 when c was read without a file,
 * or (with errno) on failure. */
int config_keep(const struct config *c);
/* Returns a descriptor of a copy in memory of the overrides, for our own child processes: their
 * arguments can be read by everybody on the machine, and the values may be secrets. Returns -1
 * with errno on failure. */
int config_keep_sets(const struct config_override *sets, size_t n);
/* Reads the overrides that config_keep_sets() kept, at most `max`, into `sets`; the texts are in
 * a. Returns false when fd holds no such text. */
bool config_kept_sets(
    int fd, struct config_override *sets, size_t max, size_t *ret_n, struct arena *a);
void config_free(struct config *c);
/* Returns the settings that are looked at when the server starts, and differ: "workers, listen",
 * in a; empty when there are none. */
wharf_str config_needs_restart(
    const struct config *running, const struct config *fresh, struct arena *a);
/* Returns a word of the file that names a secret ("password"), when everybody on this machine may
 * read the file; else NULL. */
const char *config_exposed(const struct config *c);
/* Tells where a module's setting (or a part of it) was written: "wharf.lua:12",
 * "WHARF_STATIONS_OFFLINE_AFTER", "--set ...". The text is in a. */
wharf_str config_where(const struct config *c, const char *key, struct arena *a);

#endif
