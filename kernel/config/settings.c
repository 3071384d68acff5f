/* settings.c - the table of settings: key, type, place, default, range, meaning; and the storing
 * of values.
 *
 * A new setting is one member of struct config and one row here; the file, the environment,
 * --set and the documentation follow. Leaves to others: where values come from (config.c,
 * lua_file.c). */
#include "config/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lauxlib.h>

#include "util/str.h"

#define AT(member) offsetof(struct config, member)
#define TEXT(key, member, fallback, doc)                                                           \
    {                                                                                              \
        (key), SET_TEXT, AT(member), (fallback), 0, 0, NULL, (doc), NULL, false                    \
    }
#define SECRET(key, member, doc)                                                                   \
    {                                                                                              \
        (key), SET_TEXT, AT(member), "", 0, 0, NULL, (doc), NULL, true                             \
    }
#define INT(key, member, fallback, min, max, doc)                                                  \
    {                                                                                              \
        (key), SET_INT, AT(member), (fallback), (min), (max), NULL, (doc), NULL                    \
    }
#define BOOL(key, member, fallback, doc)                                                           \
    {                                                                                              \
        (key), SET_BOOL, AT(member), (fallback), 0, 0, NULL, (doc), NULL, false                    \
    }
#define LIST(key, member, fallback, doc)                                                           \
    {                                                                                              \
        (key), SET_LIST, AT(member), (fallback), 0, 0, NULL, (doc), NULL, false                    \
    }
#define CHOICE(key, member, fallback, choices, doc)                                                \
    {                                                                                              \
        (key), SET_CHOICE, AT(member), (fallback), 0, 0, (choices), (doc), NULL                    \
    }

enum { HOUR_MS = 3600000, MAX_RATE = 1000000 };

static const struct setting table[] = {
    TEXT(
        "listen", listen, "127.0.0.1:8080", "address and port of the API; port 0 takes a free one"),
    TEXT("admin.listen", admin_listen, "127.0.0.1:9090",
        "address of /metrics and the probes; empty for none"),
    TEXT("tls.certificate", tls_certificate, "",
        "PEM file of the API's certificate and its issuers; empty: plain HTTP"),
    TEXT("tls.key", tls_key, "",
        "PEM file of the certificate's key; both are read at start and at each reload"),
    TEXT("user", user, WHARF_DEFAULT_USER,
        "user that workers and cells run as when the server is started as root; empty: root"),
    TEXT("data", data, "/var/lib/wharf", "folder of everything kept outside the database"),
    {"database.url", SET_TEXT, AT(database), "embedded", 0, 0, NULL,
        "\"embedded\" or a PostgreSQL connection string", "database", false},
    TEXT("database.direct", database_direct, "",
        "past a pooler in front of database.url: where notices are listened for and migrations "
        "run; empty: database.url"),
    BOOL("database.prepared", database_prepared, "true",
        "false for poolers that do not know prepared statements"),
    BOOL("rules.verify", rules_verify, "false",
        "for tests of plugins: reads each written row again, and fails a write when a rule said "
        "wrongly that it left the row as it was"),
    INT("database.lanes", database_lanes, "4", 1, 64,
        "connections of the event loop, per web worker"),
    INT("database.pool", database_pool, "4", 1, 64,
        "blocking connections (worker threads), per web worker"),
    INT("database.statement_timeout", statement_timeout_ms, "15000", 100, HOUR_MS,
        "milliseconds one statement may take"),
    CHOICE("migrate", migrate, "auto", "auto manual",
        "auto: migrations run at start; manual: only by wharf migrate"),
    INT("workers", workers, "0", 0, 64, "web workers; 0 is one per core"),
    INT("jobs.workers", jobs_workers, "1", 1, 8, "job worker processes; a change needs a restart"),
    INT("jobs.threads", jobs_threads, "4", 1, 24, "jobs at a time, per job worker"),
    INT("jobs.long_threads", jobs_long_threads, "0", 0, 16,
        "runs of workflows at a time, per job worker; 0: two per core, from 4 to 16"),
    INT("jobs.plugin_share", jobs_plugin_share, "50", 1, 100,
        "percent of these threads that jobs of one plugin which is not shipped may hold; 100: any "
        "number"),
    INT("memory.limit", memory_limit, "2147483648", 0, 1099511627776,
        "bytes of memory that one worker may have; at three quarters of it a new one takes over; "
        "0: any number"),
    INT("drain_timeout", drain_timeout_ms, "30000", 0, HOUR_MS,
        "milliseconds a stopping worker may finish requests"),
    INT("drain_accept", drain_accept_ms, "5000", 0, HOUR_MS,
        "milliseconds a stopping server takes new connections while readyz is 503"),
    INT("http.header_timeout", header_timeout_ms, "10000", 100, HOUR_MS,
        "milliseconds for a request's headers"),
    INT("http.body_timeout", body_timeout_ms, "30000", 100, HOUR_MS,
        "milliseconds a body may pause"),
    INT("http.handler_timeout", handler_timeout_ms, "30000", 100, HOUR_MS,
        "milliseconds one request may take"),
    INT("http.long_timeout", long_timeout_ms, "300000", 100, HOUR_MS,
        "milliseconds for routes that work on whole files and the like"),
    INT("http.body_limit", body_limit, "2097152", 1024, 1073741824, "bytes of a JSON body"),
    INT("http.connection_limit", connection_limit, "10000", 16, 1000000,
        "open connections, per web worker"),
    LIST("http.trusted_proxies", trusted_proxies, "",
        "addresses or networks whose X-Forwarded-For is believed"),
    LIST(
        "net.allow", net_allow, "", "otherwise refused addresses that outgoing requests may reach"),
    BOOL("net.allow_http", net_allow_http, "false",
        "webhooks and integrations may send to http:// too"),
    LIST("net.resolve", net_resolve, "",
        "host=address[:port] asked instead of name servers; not in production"),
    TEXT("net.ca_file", net_ca_file, "",
        "certificates believed instead of the system's; not in production"),
    TEXT("net.dns", net_dns, "",
        "name servers, address or address:port, by comma; empty: those of the system"),
    INT("net.per_host", net_per_host, "8", 1, 10000,
        "outgoing transfers at once to one host, per process"),
    INT("net.transfers", net_transfers, "512", 1, 100000,
        "outgoing transfers at once, per process"),
    TEXT("mail.url", mail_url, "",
        "mail server: smtp://host:587 or smtps://host:465; empty for none"),
    TEXT("mail.user", mail_user, "", "login at the mail server; empty for none"),
    SECRET("mail.password", mail_password, "password of mail.user"),
    TEXT("mail.from", mail_from, "", "address that mails come from"),
    TEXT("mail.from_name", mail_from_name, "Wharf", "name beside that address"),
    INT("mail.max_per_minute", mail_per_minute, "60", 0, MAX_RATE,
        "mails that a machine sends per minute; 0: no limit"),
    CHOICE("mail.tls", mail_tls, "required", "required none",
        "required: smtp:// goes on only after STARTTLS"),
    CHOICE("blob.driver", blob_driver, "dir", "dir s3",
        "where files are kept: a folder, or an S3-compatible server"),
    TEXT("blob.dir", blob_dir, "",
        "folder of files (with s3: of temporary ones); empty: blobs in the data folder"),
    TEXT("blob.s3.endpoint", blob_s3_endpoint, "", "https://host of the S3-compatible server"),
    TEXT("blob.s3.bucket", blob_s3_bucket, "", "bucket, which must exist"),
    TEXT("blob.s3.region", blob_s3_region, "us-east-1", "region that requests are signed for"),
    TEXT("blob.s3.key", blob_s3_key, "", "access key"),
    SECRET("blob.s3.secret", blob_s3_secret, "secret of blob.s3.key"),
    BOOL("blob.s3.direct", blob_s3_direct, "false",
        "links of documents lead to the S3-compatible server, past this one"),
    TEXT("blob.s3.client_endpoint", blob_s3_client_endpoint, "",
        "https://host of it as clients reach it; empty: blob.s3.endpoint"),
    INT("blob.upload_limit", blob_upload_limit, "1073741824", 1024, 1099511627776,
        "bytes of one uploaded file"),
    INT("blob.grace", blob_grace_s, "86400", 0, 31536000,
        "seconds before bytes that no file refers to are erased"),
    INT("blob.scrub_days", blob_scrub_days, "30", 0, 3650,
        "days after which stored bytes are read again to see that they are whole; 0: never"),
    INT("blob.scrub_rate", blob_scrub_rate, "20000000", 1000, 100000000000,
        "bytes per second that are read for it"),
    TEXT("base_url", base_url, "",
        "https://host that clients reach this server at: what links begin with"),
    CHOICE("environment", environment, "production", "production staging development test",
        "what this installation is for; production ignores the settings made for tests"),
    LIST("cors.origins", cors_origins, "", "origins that browsers may call from; \"*\" for all"),
    BOOL("request_log.reads", request_log_reads, "false",
        "true: the request log has successful reads too, not only writes and errors"),
    TEXT("log.access", access_log, "-",
        "access log: - for standard error, a path, or empty for none"),
    TEXT("log.file", log_file, "-", "log: - for standard error, or a path"),
    {"log.level", SET_LEVEL, AT(log_level), "info", 0, 0, "error warn info debug",
        "lowest level that is logged", NULL, false},
    {"master_key", SET_LIST, AT(master_key), "", 0, 0, NULL,
        "keys that seal secrets at rest, base64, the current one first", NULL, true},
    TEXT("master_key_file", master_key_file, "",
        "file of them, one a line; empty: master.key in the data folder"),
    SECRET("auth.pepper", auth_pepper,
        "secret mixed into stored key hashes; changing it ends all keys"),
    INT("rate_limit.key", rate_key.rate, "100", 0, MAX_RATE,
        "requests per second of a live key; 0 is off"),
    INT("rate_limit.key_burst", rate_key.burst, "200", 1, MAX_RATE,
        "requests that it may send at once"),
    INT("rate_limit.write", rate_write.rate, "50", 0, MAX_RATE,
        "writes per second of a live key; 0 is off"),
    INT("rate_limit.write_burst", rate_write.burst, "100", 1, MAX_RATE,
        "writes that it may send at once"),
    INT("rate_limit.test", rate_test.rate, "25", 0, MAX_RATE,
        "requests per second of a test key; 0 is off"),
    INT("rate_limit.test_burst", rate_test.burst, "50", 1, MAX_RATE,
        "requests that it may send at once"),
    INT("rate_limit.organization", rate_organization.rate, "500", 0, MAX_RATE,
        "requests per second of one organization"),
    INT("rate_limit.organization_burst", rate_organization.burst, "1000", 1, MAX_RATE,
        "requests that it may send at once"),
    INT("rate_limit.ip", rate_ip.rate, "20", 0, MAX_RATE,
        "failed authentications per minute and address; 0 is off"),
    INT("rate_limit.ip_burst", rate_ip.burst, "20", 1, MAX_RATE,
        "failed authentications that it may have at once"),
    INT("rate_limit.concurrency", rate_concurrency, "64", 0, MAX_RATE,
        "requests in flight per key; 0 is off"),
    BOOL("rate_limit.endpoint", rate_endpoint, "true",
        "limits that routes set themselves; false is off"),
    LIST("rate_limit.ip_exempt", rate_ip_exempt, "127.0.0.0/8,::1",
        "addresses or networks without rate_limit.ip"),
    BOOL("tenants.enabled", tenants_enabled, "false",
        "POST /v1/organizations may make organizations"),
    BOOL("openapi.require_key", openapi_require_key, "false",
        "GET /v1/openapi.json needs an API key; /docs asks for it"),
    BOOL("docs.enabled", docs_enabled, "true",
        "GET /docs: the reference, error codes and guides for people who write clients"),
    LIST("modules", modules,
        "org,locations,contacts,reasons,carriers,shipments,trackers,containers,items,assets,"
        "parcels,manifests,fulfillments,documents,templates,stations,"
        "support,logs,events,"
        "webhooks,integrations,notifications,batches,exports,workflows,inference",
        "modules to load: names, or paths of .so files"),
    TEXT("module_path", module_path, "",
        "folders searched for NAME.so, separated by ':'; empty: next to the program"),
    TEXT("crash.dir", crash_dir, "", "folder of crash reports; empty: crash in the data folder"),
    INT("crash.limit", crash_limit, "3", 1, 1000,
        "crashes within crash.window that quarantine a plugin"),
    INT("crash.window", crash_window_s, "60", 1, 86400,
        "seconds in which crashes of a plugin are counted together"),
    CHOICE("crash.quarantine", quarantine, "third_party", "third_party all off",
        "which plugins may be quarantined"),
    TEXT("cell.dir", cell_dir, "",
        "folder of the wharf-cell-* programs; empty: next to the program"),
    TEXT("lua_hooks.dir", lua_hooks_dir, "",
        "folder of the operator's hooks; empty: /etc/wharf/lua-hooks"),
    BOOL("lua_hooks.strict", lua_hooks_strict, "true",
        "false: the server starts without hooks when they can't be loaded"),
    BOOL("lua_hooks.allow_write", lua_hooks_allow_write, "false",
        "hooks may write rows past all rules: wharf.db.exec"),
    INT("lua_hooks.instructions", lua_hooks_instructions, "200000000", 0, 1000000000000,
        "Lua instructions that one call of a hook may take; 0: any number, within its time"),
    INT("lua_hooks.query_ms", lua_hooks_query_ms, "2000", 10, 60000,
        "milliseconds that one statement of wharf.db may take, within the time of its hook and "
        "database.statement_timeout"),
    BOOL("lua_hooks.unsafe", lua_hooks_unsafe, "false",
        "hooks have io, debug and all of os: files and programs"),
    BOOL("test_clock", test_clock, "false", "POST /v1/system/clock exists; for tests only"),
    BOOL("safe_mode", safe_mode, "false",
        "load the modules shipped with the server only, and no Lua"),
};

const struct setting *settings_all(size_t *ret_count)
{
    *ret_count = sizeof(table) / sizeof(table[0]);
    return table;
}

const struct setting *settings_find(const char *key)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].key, key) == 0 || (table[i].alias && strcmp(table[i].alias, key) == 0))
            return &table[i];
    return NULL;
}

bool settings_is_group(const char *group)
{
    size_t n = strlen(group);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strncmp(table[i].key, group, n) == 0 && table[i].key[n] == '.')
            return true;
    return false;
}

const char *settings_suggest(const char *key)
{
    struct str_near near = str_near(key);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *known = table[i].key, *leaf = strrchr(known, '.');

        /* body_limit written at the top level still means http.body_limit */
        if (leaf && strcmp(leaf + 1, key) == 0 && near.least > 1) {
            near.best = known;
            near.least = 1;
        }
        str_near_try(&near, known);
    }
    return near.best;
}

/* Sockets, the data folder, the number of workers and which database is served are what the
 * supervisor begins with; migrations run before it. */
static const char *const at_start[] = {
    "listen", "admin.listen", "user", "data", "database.url", "migrate", "workers", "jobs.workers"};

static bool settings_differs(
    const struct setting *s, const struct config *a, const struct config *b)
{
    const void *x = (const char *)a + s->offset, *y = (const char *)b + s->offset;

    if (s->type == SET_INT)
        return *(const int64_t *)x != *(const int64_t *)y;
    return strcmp(*(const char *const *)x, *(const char *const *)y) != 0;
}

wharf_str config_needs_restart(
    const struct config *running, const struct config *fresh, struct arena *a)
{
    wharf_str names = {"", 0};

    for (size_t i = 0; i < sizeof(at_start) / sizeof(at_start[0]); i++)
        if (settings_differs(settings_find(at_start[i]), running, fresh))
            names = arena_printf(a, "%s%s%s", names.p, names.n ? ", " : "", at_start[i]);
    return names;
}

void problem(struct problems *p, const char *where, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (p->count++)
        buf_addc(&p->text, '\n');
    buf_addf(&p->text, "%s: %s", where, line);
}

static void *settings_place(struct config *c, const struct setting *s)
{
    return (char *)c + s->offset;
}

static void store_text(struct config *c, const struct setting *s, const char *text)
{
    *(const char **)settings_place(c, s) = arena_dupz(c->arena, text).p;
}

static void store_int(struct config *c, const struct setting *s, int64_t value, const char *where,
    struct problems *errs)
{
    if (value < s->min || value > s->max) {
        problem(errs, where, "%s must be between %lld and %lld", s->key, (long long)s->min,
            (long long)s->max);
        return;
    }
    *(int64_t *)settings_place(c, s) = value;
}

static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = choices; n && p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

static void store_choice(struct config *c, const struct setting *s, const char *text,
    const char *where, struct problems *errs)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};

    if (!is_choice(s->choices, text)) {
        problem(errs, where, "%s must be one of: %s", s->key, s->choices);
        return;
    }
    if (s->type == SET_CHOICE) {
        store_text(c, s, text);
        return;
    }
    for (uint32_t i = 0; i < 4; i++)
        if (strcmp(text, levels[i]) == 0)
            *(uint32_t *)settings_place(c, s) = WHARF_LOG_ERROR + i;
}

static void store_list(struct config *c, const struct setting *s, const char *text)
{
    size_t count = 0, room = 1;
    const char **items;

    for (const char *p = text; *p; p++)
        room += *p == ',';
    items = ARENA_ARRAY(c->arena, const char *, room);
    while (*text) {
        size_t n = strcspn(text, ","), from = strspn(text, " \t"), to = n;

        while (to > from && (text[to - 1] == ' ' || text[to - 1] == '\t'))
            to--;
        if (to > from)
            items[count++] = arena_dup(c->arena, text + from, to - from).p;
        text += n + (text[n] == ',');
    }
    *(struct config_list *)settings_place(c, s) = (struct config_list){items, count};
}

static bool parse_bool(const char *text, bool *ret_value)
{
    *ret_value = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *ret_value || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

/* Keeps where the value was written. */
static void came_from(struct config *c, const struct setting *s, const char *where)
{
    c->from[s - table] = arena_dupz(c->arena, where).p;
}

void setting_from_text(struct config *c, const struct setting *s, const char *text,
    const char *where, struct problems *errs)
{
    char *end = NULL;
    long long number;

    came_from(c, s, where);
    switch (s->type) {
    case SET_TEXT:
        store_text(c, s, text);
        return;
    case SET_INT:
        errno = 0;
        number = strtoll(text, &end, 10);
        if (errno || end == text || *end)
            problem(errs, where, "%s must be a whole number, not \"%s\"", s->key, text);
        else
            store_int(c, s, number, where, errs);
        return;
    case SET_BOOL:
        if (!parse_bool(text, settings_place(c, s)))
            problem(errs, where, "%s must be true or false, not \"%s\"", s->key, text);
        return;
    case SET_LIST:
        store_list(c, s, text);
        return;
    case SET_CHOICE:
    case SET_LEVEL:
        store_choice(c, s, text, where, errs);
        return;
    }
}

static void list_from_lua(struct config *c, const struct setting *s, lua_State *lua,
    const char *where, struct problems *errs)
{
    size_t n = lua_istable(lua, -1) ? (size_t)lua_rawlen(lua, -1) : 0, keys = 0;
    const char **items = ARENA_ARRAY(c->arena, const char *, n + 1);
    bool good = lua_istable(lua, -1);

    for (size_t i = 0; good && i < n; i++) {
        good = lua_rawgeti(lua, -1, (lua_Integer)i + 1) == LUA_TSTRING;
        if (good)
            items[i] = arena_dupz(c->arena, lua_tostring(lua, -1)).p;
        lua_pop(lua, 1);
    }
    lua_pushnil(lua);
    while (good && lua_next(lua, -2)) {
        lua_pop(lua, 1);
        keys++;
    }
    if (!good)
        lua_pop(lua, 1);
    if (!good || keys != n)
        problem(errs, where, "%s must be a list of texts, like {\"a\", \"b\"}", s->key);
    else
        *(struct config_list *)settings_place(c, s) = (struct config_list){items, n};
}

void setting_from_lua(struct config *c, const struct setting *s, lua_State *lua, const char *where,
    struct problems *errs)
{
    int whole = 0, type = lua_type(lua, -1);
    lua_Integer number;

    came_from(c, s, where);
    switch (s->type) {
    case SET_LIST:
        list_from_lua(c, s, lua, where, errs);
        return;
    case SET_INT:
        number = lua_tointegerx(lua, -1, &whole);
        if (type != LUA_TNUMBER || !whole)
            problem(
                errs, where, "%s must be a whole number, not a %s", s->key, luaL_typename(lua, -1));
        else
            store_int(c, s, number, where, errs);
        return;
    case SET_BOOL:
        if (type != LUA_TBOOLEAN)
            problem(
                errs, where, "%s must be true or false, not a %s", s->key, luaL_typename(lua, -1));
        else
            *(bool *)settings_place(c, s) = lua_toboolean(lua, -1);
        return;
    case SET_TEXT:
    case SET_CHOICE:
    case SET_LEVEL:
        if (type != LUA_TSTRING)
            problem(errs, where, "%s must be a text in quotes, not a %s", s->key,
                luaL_typename(lua, -1));
        else
            setting_from_text(c, s, lua_tostring(lua, -1), where, errs);
        return;
    }
}

void setting_text(const struct config *c, const struct setting *s, struct buf *out)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    const void *at = (const char *)c + s->offset;
    const struct config_list *list;

    switch (s->type) {
    case SET_TEXT:
    case SET_CHOICE:
        buf_addz(out, *(const char *const *)at);
        return;
    case SET_INT:
        buf_addf(out, "%lld", (long long)*(const int64_t *)at);
        return;
    case SET_BOOL:
        buf_addz(out, *(const bool *)at ? "true" : "false");
        return;
    case SET_LEVEL:
        buf_addz(out, levels[*(const uint32_t *)at - WHARF_LOG_ERROR]);
        return;
    case SET_LIST:
        list = at;
        for (size_t i = 0; i < list->count; i++)
            buf_addf(out, "%s%s", i ? "," : "", list->items[i]);
        return;
    }
}

const char *setting_from(const struct config *c, const struct setting *s)
{
    return c->from[s - table];
}
