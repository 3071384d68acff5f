/* config.h - the operator's settings, evaluated once per process.
 *
 * One Lua file of plain assignments, evaluated without libraries; every scalar can be overridden by environment
 * (WHARF_NET_ALLOW for net.allow, lists by comma) and by --set net.allow=...; unknown keys stop the start with a suggestion
 * (docs/architecture.md 'The commands', docs/decisions.md 18). Leaves to others: what the settings mean.
 */
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
    const char *data; /* data = "/var/lib/wharf" */
    const char *database; /* database.url = "embedded" or a libpq connection string */
    bool database_prepared; /* database.prepared = true */
    int64_t database_lanes; /* database.lanes = 4: connections of the event loop, per web worker */
    int64_t database_pool; /* database.pool = 4: blocking connections (= worker threads) per web worker */
    int64_t statement_timeout_ms; /* database.statement_timeout = 15000 */
    const char *migrate; /* migrate = "auto" | "manual" */
    int64_t workers; /* workers = number of web workers; 0 = cores */
    int64_t drain_accept_ms; /* drain_accept = 5000 */
    int64_t header_timeout_ms, body_timeout_ms; /* http.header_timeout = 10000, http.body_timeout = 30000 */
    int64_t drain_timeout_ms; /* drain_timeout = 30000 */
    int64_t handler_timeout_ms; /* http.handler_timeout = 30000 */
    int64_t body_limit; /* http.body_limit = 2097152 */
    int64_t connection_limit; /* http.connection_limit = 10000, per web worker */
    struct config_list net_allow; /* net.allow = {}: otherwise refused addresses that outgoing requests may reach */
    struct config_list cors_origins; /* cors.origins = {} */
    struct config_list trusted_proxies; /* http.trusted_proxies = {} */
    const char *access_log; /* log.access = "-" (standard error), a path, or "" for none */
    const char *log_file; /* log.file = "-" */
    uint32_t log_level; /* log.level = "info" */
    const char *auth_pepper; /* auth.pepper = "" */
    struct config_rate rate_key; /* rate_limit.key = 100, rate_limit.key_burst = 200; the others alike (01 section 9) */
    struct config_rate rate_write, rate_test, rate_organization, rate_ip;
    int64_t rate_concurrency; /* rate_limit.concurrency = 64: requests in flight per key; 0 = no limit */
    struct config_list rate_ip_exempt; /* rate_limit.ip_exempt = {"127.0.0.0/8", "::1"} */
    bool tenants_enabled; /* tenants.enabled = false: POST /v1/organizations */
    bool openapi_require_key; /* openapi.require_key = false */
    struct config_list modules; /* modules = {"org", "locations", "stations"}: names or paths of .so files */
    const char *module_path; /* module_path: folders searched for NAME.so, separated by ':' */
    const char *crash_dir; /* crash_dir: default DATA/crash */
    int64_t crash_limit, crash_window_s; /* crash.limit = 3, crash.window = 60 */
    const char *quarantine; /* crash.quarantine = "third_party" | "all" | "off" */
    bool test_clock; /* --test-clock */
    bool safe_mode; /* --safe-mode: in-tree plugins only, no Lua */
    const struct wharf_json *module_settings; /* object: module name -> its table, as JSON; checked against manifests */
};

struct config_override {
    const char *key, *value; /* from --set key=value */
};

/* Reads the file (NULL: defaults only), the environment and the overrides. NULL and a text of one or more lines, naming
 * file and line where it can, in *ret_error (allocated in err). */
struct config *config_load(
    const char *file, const struct config_override *sets, size_t n_sets, struct arena *err, wharf_str *ret_error);
void config_free(struct config *c);
/* One line per setting: key, type, default, meaning. For `wharf help settings`. */
void config_describe(struct buf *out);

#endif
