/* ops_config.c - settings: file, environment, --set, and what is refused with which words. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/settings.h"

static char path[] = "/tmp/wharf-config-XXXXXX";

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* Loads the text; when it is refused, the message must contain `refusal`. */
static struct config *load(struct arena *a, const char *text, const struct config_override *sets,
    size_t n, const char *refusal)
{
    wharf_str error = {"", 0};
    struct config *c;

    write_file(text);
    c = config_load(path, sets, n, a, &error);
    if (!refusal) {
        if (!c)
            fail_msg("%s", error.p);
        return c;
    }
    if (c || !strstr(error.p, refusal))
        fail_msg("expected \"%s\", got \"%s\"", refusal, error.p);
    return NULL;
}

static void refused(struct arena *a, const char *text, const char *refusal)
{
    load(a, text, NULL, 0, refusal);
}

static void defaults(void **state)
{
    wharf_str error;
    struct config *c = config_load(NULL, NULL, 0, *state, &error);

    assert_non_null(c);
    assert_string_equal(c->listen, "127.0.0.1:8080");
    assert_string_equal(c->database, "embedded");
    assert_int_equal(c->statement_timeout_ms, 15000);
    assert_int_equal(c->body_limit, 2 * 1024 * 1024);
    assert_int_equal(c->log_level, WHARF_LOG_INFO);
    assert_int_equal(c->modules.count, 26);
    assert_int_equal(c->rate_ip_exempt.count, 2);
    assert_string_equal(c->crash_dir, "/var/lib/wharf/crash");
    assert_int_equal(c->module_settings->count, 0);
    config_free(c);
}

static void file_values(void **state)
{
    struct config *c = load(*state,
        "listen = '127.0.0.1:' .. 8000 + 81\n"
        "database = { url = 'host=db', prepared = false, lanes = 2 }\n"
        "http = { body_limit = 5 * 1024 * 1024 }\n"
        "cors = { origins = { 'https://a', 'https://b' } }\n"
        "log = { level = 'debug' }\nmodules = {}\n",
        NULL, 0, NULL);

    assert_string_equal(c->listen, "127.0.0.1:8081");
    assert_string_equal(c->database, "host=db");
    assert_false(c->database_prepared);
    assert_int_equal(c->database_lanes, 2);
    assert_int_equal(c->body_limit, 5 * 1024 * 1024);
    assert_int_equal(c->cors_origins.count, 2);
    assert_string_equal(c->cors_origins.items[1], "https://b");
    assert_int_equal(c->log_level, WHARF_LOG_DEBUG);
    assert_int_equal(c->modules.count, 0);
    config_free(c);
    c = load(*state, "database = 'host=short'", NULL, 0, NULL);
    assert_string_equal(c->database, "host=short");
    config_free(c);
}

static void precedence(void **state)
{
    const struct config_override sets[] = {
        {"listen", "set:1"}, {"net.allow", "10.0.0.1, 10.0.0.2,"}};
    struct config *c;

    setenv("WHARF_LISTEN", "env:1", 1);
    setenv("WHARF_DATABASE_LANES", "7", 1);
    setenv("WHARF_CORS_ORIGINS", "x,y", 1);
    c = load(*state, "listen = 'file:1'\ndatabase = { lanes = 3 }", sets, 2, NULL);
    assert_string_equal(c->listen, "set:1");
    assert_int_equal(c->database_lanes, 7);
    assert_int_equal(c->cors_origins.count, 2);
    assert_int_equal(c->net_allow.count, 2);
    assert_string_equal(c->net_allow.items[1], "10.0.0.2");
    config_free(c);
    unsetenv("WHARF_LISTEN");
    unsetenv("WHARF_DATABASE_LANES");
    unsetenv("WHARF_CORS_ORIGINS");
}

static void unknown_keys(void **state)
{
    char where[128];

    snprintf(where, sizeof(where),
        "%s:3: there is no setting \"http.body_limt\"; did you mean http.body_limit?", path);
    refused(*state, "\nhttp = {\n  body_limt = 1,\n}\n", where);
    refused(*state, "lisen = 'x'", "did you mean listen?");
    refused(*state, "body_limit = 1", "did you mean http.body_limit?");
    refused(*state, "something_else = 1", "`wharf help settings`");
    refused(*state, "http = 5", "http must be a table");
    refused(*state, "stations = 5", "stations must be a table");
    load(*state, "", (struct config_override[]){{"lisen", "x"}}, 1,
        "--set lisen: there is no setting");
    setenv("WHARF_DATABASE_LANE", "1", 1);
    refused(*state, "", "WHARF_DATABASE_LANE: is no setting; did you mean WHARF_DATABASE_LANES?");
    unsetenv("WHARF_DATABASE_LANE");
}

static void wrong_values(void **state)
{
    refused(*state, "database = { lanes = 'four' }",
        "database.lanes must be a whole number, not a string");
    refused(*state, "database = { lanes = 1.5 }", "database.lanes must be a whole number");
    refused(*state, "database = { lanes = 0 }", "database.lanes must be between 1 and 64");
    refused(*state, "database = { prepared = 'yes' }",
        "database.prepared must be true or false, not a string");
    refused(*state, "migrate = 'sometimes'", "migrate must be one of: auto manual");
    refused(*state, "migrate = 'man'", "migrate must be one of");
    refused(*state, "log = { level = 'loud' }", "log.level must be one of");
    refused(*state, "modules = 'org'", "modules must be a list of texts");
    refused(*state, "modules = { 'org', 5 }", "modules must be a list of texts");
    refused(*state, "modules = { 'org', more = 'x' }", "modules must be a list of texts");
    refused(*state, "listen = { 'x' }", "listen must be a text in quotes, not a table");
    load(*state, "", (struct config_override[]){{"database.lanes", "4x"}}, 1,
        "must be a whole number, not \"4x\"");
    /* all problems at once */
    refused(*state, "database = { lanes = 0 }\nmigrate = 'x'", "migrate must be one of");
    refused(*state, "database = { lanes = 0 }\nmigrate = 'x'", "database.lanes must be between");
}

static void lua_is_caged(void **state)
{
    refused(*state, "os.execute('true')", "attempt to index a nil value (global 'os')");
    refused(*state, "listen = ('x'):rep(3)", "attempt to");
    refused(*state, "while true do end", "runs too long");
    refused(*state, "local t = {} for i = 1, 1e9 do t[i] = 'xxxxxxxxxxxxxxxx' .. i end", "");
    refused(*state, "listen = ", ":1:");
    refused(*state, "\x1bLua", "attempt to load a binary chunk");
    assert_null(config_load("/nonexistent/wharf.lua", NULL, 0, *state, &(wharf_str){"", 0}));
}

static void module_tables(void **state)
{
    const struct config_override sets[] = {
        {"stations.push.driver", "stream"}, {"stations.limit", "5"}, {"dock_doors.on", "true"}};
    const struct wharf_json *stations, *doors;
    struct config *c;

    setenv("WHARF_STATIONS_MAX_JOBS", "12", 1);
    c = load(*state,
        "modules = { 'stations', '/opt/x/dock_doors.so' }\nstations = { names = { 'a', 'b' }, "
        "ratio = 0.5 }",
        sets, 3, NULL);
    stations = json_get(c->module_settings, "stations");
    doors = json_get(c->module_settings, "dock_doors");
    assert_int_equal(json_get(stations, "names")->count, 2);
    assert_true(json_double(json_get(stations, "ratio")) == 0.5);
    assert_int_equal(json_int_or(stations, "limit", 0), 5);
    assert_int_equal(json_int_or(stations, "max_jobs", 0), 12);
    assert_true(str_eqz(json_text_or(json_get(stations, "push"), "driver", ""), "stream"));
    assert_true(json_bool_or(doors, "on", false));
    config_free(c);
    unsetenv("WHARF_STATIONS_MAX_JOBS");
    refused(*state, "stations = { f = 0/0 }", "texts, numbers, true, false and tables only");
    refused(*state, "stations = { [1.5] = 1 }", "tables only");
    load(*state, "stations = { a = 1 }", (struct config_override[]){{"stations.a.b", "1"}}, 1,
        "must be a table in the file");
    refused(*state, "dock_doors = {}", "there is no setting \"dock_doors\"");
}

/* Sees what is shown of a setting: its value as --set would take it, and where it was written. */
static void shown(void **state)
{
    static const struct {
        const char *key, *value, *from;
    } rows[] = {{"listen", "*:1", "--set listen"}, {"workers", "3", NULL},
        {"log.level", "debug", NULL}, {"net.allow", "10.0.0.5,10.0.0.6", NULL},
        {"docs.enabled", "true", "default"}, {"migrate", "auto", "default"}};
    struct config *c = load(*state,
        "workers = 3\nlog = { level = 'debug' }\nnet = { allow = {'10.0.0.5', '10.0.0.6'} }",
        (struct config_override[]){{"listen", "*:1"}}, 1, NULL);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct setting *s = settings_find(rows[i].key);
        struct buf out;

        buf_init(&out, 65536);
        setting_text(c, s, &out);
        assert_string_equal(buf_str(&out).p, rows[i].value);
        if (rows[i].from)
            assert_string_equal(setting_from(c, s), rows[i].from);
        else
            assert_non_null(strstr(setting_from(c, s), ":"));
        buf_done(&out);
    }
    config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(defaults),
        UNIT(file_values),
        UNIT(precedence),
        UNIT(unknown_keys),
        UNIT(wrong_values),
        UNIT(lua_is_caged),
        UNIT(module_tables),
        UNIT(shown),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
