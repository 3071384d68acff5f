/* ops_migrate.c - migration files as text: headers and statements. Running them needs a
 * database: tests/supervisor. */
#include "unit.h"

#include "db/migrate.h"
#include "db/migrate_file.h"

static void headers(void **state)
{
    struct migrate_header h;
    wharf_str error = {"", 0};

    assert_true(migrate_header(str_z("CREATE TABLE x ();"), &h, *state, &error));
    assert_int_equal(h.phase, PHASE_EXPAND);
    assert_true(h.tx);
    assert_true(migrate_header(
        str_z("-- wharf: phase=contract\n\n-- a word\n-- wharf: tx=no\nDROP"), &h, *state, &error));
    assert_int_equal(h.phase, PHASE_CONTRACT);
    assert_false(h.tx);
    assert_true(migrate_header(str_z("-- wharf: phase=backfill tx=no"), &h, *state, &error));
    assert_int_equal(h.phase, PHASE_BACKFILL);
    assert_false(h.tx);
    /* only at the top */
    assert_true(migrate_header(str_z("SELECT 1;\n-- wharf: tx=no\n"), &h, *state, &error));
    assert_true(h.tx);
    assert_int_equal(h.order, ORDER_USUAL);
    assert_true(migrate_header(str_z("-- wharf: order=first\nCREATE"), &h, *state, &error));
    assert_int_equal(h.order, ORDER_FIRST);
    assert_true(migrate_header(str_z("-- wharf: order=last\nCREATE"), &h, *state, &error));
    assert_int_equal(h.order, ORDER_LAST);
    assert_false(migrate_header(str_z("-- wharf: phase=expnd\n"), &h, *state, &error));
    assert_non_null(strstr(error.p, "\"phase=expnd\" is not known"));
}

static void statements(void **state)
{
    static const char sql[] = "-- first; no\n ; CREATE INDEX a ON t (x) ; /* ; /* ; */ ; */ SELECT "
                              "'a;''b', \"c;d\", E'\\';', $1;\n"
                              "DO $f$ BEGIN; $$ ; $$ END; $f$;SELECT a$b;c$d; SELECT e'x\\\\'; "
                              "SELECT type'\\'; -- end;\n SELECT 2 -- tail";
    static const char *const expected[] = {"CREATE INDEX a ON t (x)",
        "SELECT 'a;''b', \"c;d\", E'\\';', $1", "DO $f$ BEGIN; $$ ; $$ END; $f$", "SELECT a$b",
        "c$d", "SELECT e'x\\\\'", "SELECT type'\\'", "SELECT 2"};
    wharf_str rest = str_z(sql), s;

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(migrate_statement(&rest, &s));
        s = arena_dup_str(*state, s);
        assert_string_equal(s.p, expected[i]);
    }
    assert_false(migrate_statement(&rest, &s));
    assert_false(migrate_statement(&rest, &s));
    rest = str_z("SELECT 'not closed; ");
    assert_true(migrate_statement(&rest, &s));
    assert_false(migrate_statement(&rest, &s));
}

static void kernel_files(void **state)
{
    size_t n;
    const struct plugin_migration *list = migrate_kernel_files(&n);
    struct migrate_header h;
    wharf_str error;
    size_t numbered = 0;

    while (numbered < n && list[numbered].number)
        numbered++;
    assert_true(numbered >= 1 && n > numbered);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(list[i].plugin, "wharf");
        assert_true(migrate_header(list[i].sql, &h, *state, &error));
        if (i < numbered)
            assert_true(i == 0 ? list[i].number == 1 : list[i].number > list[i - 1].number);
        else
            assert_true(
                !list[i].number && (i == numbered || strcmp(list[i].name, list[i - 1].name) > 0));
    }
    assert_string_equal(list[0].name, "kernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(headers), UNIT(statements), UNIT(kernel_files)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
