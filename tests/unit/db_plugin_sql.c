/* db_plugin_sql.c - which statements of plugins and hooks are refused, whatever they are dressed
 * as. */
#include "unit.h"

#include "db/plugin_sql.h"

static const char *const allowed[] = {
    "",
    "SELECT 1",
    "  select set_id FROM a.b",
    "-- COMMIT\nSELECT 1",
    "/* COMMIT; */ SELECT 1",
    "/* a /* b */ COMMIT */ SELECT 1",
    "WITH a AS (SELECT 1) UPDATE a.b SET c = 1",
    "UPDATE a.b SET commit = true",
    "INSERT INTO a.settings (begin) VALUES ($1)",
    "DELETE FROM a.b",
    "MERGE INTO a.b USING c ON true WHEN MATCHED THEN DO NOTHING",
    "LOCK TABLE a.b",
    "NOTIFY a",
    "ENDING",
    "SETTING",
    "SELECT current_setting('role')",
};

static const char *const transaction[] = {
    "COMMIT",
    "commit and chain",
    "COMMIT/**/AND CHAIN",
    " \t\n;COMMIT;",
    "-- all is well\n-- yes\nEND",
    "/* a /* b */ c */ ROLLBACK",
    "--\nABORT",
    "BEGIN",
    "START TRANSACTION",
    "SAVEPOINT mine",
    "RELEASE mine",
    "Rollback To mine",
    "PREPARE TRANSACTION 'x'",
};

static const char *const session[] = {
    "SET ROLE postgres",
    "SET LOCAL role = 'none'",
    "set session authorization default",
    "RESET ROLE",
    "DISCARD ALL",
    "DEALLOCATE ALL",
    "LISTEN wharf_keys",
    "UNLISTEN *",
    "LOAD 'plperl'",
    "SELECT set_config('role', 'none', true)",
    "SELECT pg_catalog.SET_CONFIG ('wharf.organization', $1, true), * FROM a.b",
    "INSERT INTO a.b SELECT \"set_config\"('role', 'none', true)",
};

static void test_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (plugin_sql_refused(allowed[i]))
            fail_msg("%s: %s", allowed[i], plugin_sql_refused(allowed[i]));
}

static void refuses(const char *const *sql, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        const char *does = plugin_sql_refused(sql[i]);

        if (!does || !strstr(does, word))
            fail_msg("%s: %s", sql[i], does ? does : "allowed");
    }
}

static void test_transaction(void **state)
{
    (void)state;
    refuses(transaction, sizeof(transaction) / sizeof(transaction[0]), "transaction");
}

static void test_session(void **state)
{
    (void)state;
    refuses(session, sizeof(session) / sizeof(session[0]), "settings");
}

static void test_comments_without_end(void **state)
{
    (void)state;
    assert_null(plugin_sql_refused("/*"));
    assert_null(plugin_sql_refused("/* /* */"));
    assert_null(plugin_sql_refused("--"));
    assert_null(plugin_sql_refused("/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_transaction), cmocka_unit_test(test_session),
        cmocka_unit_test(test_comments_without_end)};

    return cmocka_run_group_tests_name("db_plugin_sql", tests, NULL, NULL);
}
