/* db_conn.c - statements that wait for the next one (db/ahead.h), against a real PostgreSQL:
 * what they make of a transaction, and who is told of their errors. */
#include <stdlib.h>
#include <unistd.h>

#include "db/cluster.h"
#include "db/conn.h"
#include "db/copy.h"
#include "ends_at_commit.h"
#include "unit.h"
#include "util/time.h"

static struct cluster *cluster;
static struct arena *lasting;
static char folder[] = "/tmp/wharf-conn-XXXXXX";

#define INSERT "INSERT INTO conn_test (name) VALUES ($1)"
static const struct sql_arg one = {"one", 3}, two = {"two", 3}, three = {"three", 5};

static struct db_conn *open_one(bool prepared)
{
    return db_open(cluster_conninfo(cluster), prepared, 15000);
}

/* Returns what another connection sees: the names there are; empties the table again. */
static const char *stored(struct arena *a)
{
    struct db_conn *c = open_one(false);
    struct db_error e;
    PGresult *r = db_run(
        c, "SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM conn_test", NULL, 0, &e);
    const char *names = r ? arena_dup_str(a, str_z(PQgetvalue(r, 0, 0))).p : "?";

    PQclear(r);
    assert_int_equal(db_do(c, "TRUNCATE conn_test", &e), DB_OK);
    db_close(c);
    return names;
}

static bool insert(struct db_conn *c, const struct sql_arg *name, struct db_error *e)
{
    PGresult *r = db_run(c, INSERT, name, 1, e);

    PQclear(r);
    return r;
}

static void end_session(struct db_conn *c)
{
    struct db_error e;

    assert_int_equal(
        db_do(c, "DO $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END $$", &e),
        DB_LOST);
}

/* Ends it while nobody asks it anything. */
static void end_idle(struct db_conn *c)
{
    struct db_conn *other = open_one(false);
    struct db_error e;
    PGresult *r = db_run(c, "SELECT pg_backend_pid()::text", NULL, 0, &e);
    struct sql_arg pid;

    assert_non_null(r);
    pid = (struct sql_arg){PQgetvalue(r, 0, 0), strlen(PQgetvalue(r, 0, 0))};
    PQclear(db_run(other, "SELECT pg_terminate_backend($1::integer)", &pid, 1, &e));
    for (int i = 0; i < 500; i++) {
        PGresult *gone = db_run(
            other, "SELECT FROM pg_stat_activity WHERE pid = $1::integer", &pid, 1, &e);
        bool over = PQntuples(gone) == 0;

        PQclear(gone);
        if (over)
            break;
        usleep(10000);
    }
    PQclear(r);
    db_close(other);
}

static void goes_with_the_next(void **state)
{
    for (int prepared = 0; prepared < 2; prepared++) {
        struct db_conn *c = open_one(prepared);
        struct db_error e;

        for (int i = 0; i < 2; i++) { /* the second time all of it is prepared */
            db_begin(c);
            assert_true(db_in_transaction(c));
            db_ahead(c, INSERT, &one, 1);
            assert_true(insert(c, &two, &e));
            db_ahead(c, INSERT, &three, 1);
            assert_int_equal(db_commit(c, &e), DB_OK);
            assert_false(db_in_transaction(c));
            assert_string_equal(stored(*state), "one three two");

            db_begin(c);
            assert_true(insert(c, &two, &e));
            db_ahead(c, INSERT, &three, 1);
            db_ahead(c, INSERT, &two, 1); /* twice: what is undone is not even tried */
            assert_int_equal(db_rollback(c, &e), DB_OK);
            assert_string_equal(stored(*state), "");
        }
        db_close(c);
    }
}

static void mode_is(struct db_conn *c, const char *wanted, bool one_plan)
{
    static const struct sql_arg x = {"x", 1};
    struct db_error e;
    PGresult *r = (one_plan ? db_run_one_plan : db_run)(
        c, "SELECT current_setting('plan_cache_mode') || $1::text", &x, 1, &e);

    assert_non_null(r);
    assert_int_equal(e.status, DB_OK);
    assert_string_equal(PQgetvalue(r, 0, 0), wanted);
    PQclear(r);
}

/* Each of them from the beginning, prepared already, when its session was ended, and when that
 * does not know it any more. */
static void one_plan_is_of_one_statement(void **state)
{
    struct db_conn *c = open_one(true), *plain = open_one(false);
    struct db_error e;

    for (int i = 0; i < 4; i++) {
        mode_is(c, "force_generic_planx", true);
        mode_is(c, "autox", false);
        db_begin(c);
        mode_is(c, "autox", true);
        assert_int_equal(db_commit(c, &e), DB_OK);
        if (i == 1)
            end_idle(c);
        if (i == 2)
            assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    }
    PQclear(db_run_one_plan(c, "SELECT 1 / $1::integer", &(struct sql_arg){"0", 1}, 1, &e));
    assert_int_equal(e.status, DB_FAILED);
    mode_is(c, "autox", false);
    mode_is(plain, "autox", true); /* it keeps no plan */
    db_close(c);
    db_close(plain);
}

/* Neither needs a connection. */
static void what_is_empty_is_not_sent(void **state)
{
    struct db_conn *c = db_open("host=/nowhere", true, 15000);
    struct db_error e;

    db_begin(c);
    assert_int_equal(db_commit(c, &e), DB_OK);
    assert_false(db_in_transaction(c));
    db_begin(c);
    db_ahead(c, INSERT, &one, 1);
    assert_int_equal(db_rollback(c, &e), DB_OK);
    assert_false(db_in_transaction(c));
    db_begin(c);
    db_savepoint(c, 1);
    assert_int_equal(db_release(c, 1, &e), DB_OK);
    assert_int_equal(db_commit(c, &e), DB_OK);

    db_begin(c);
    db_savepoint(c, 1);
    db_ahead(c, INSERT, &one, 1);
    db_savepoint(c, 2);
    db_ahead(c, INSERT, &two, 1);
    assert_int_equal(db_rollback_to(c, 1, &e), DB_OK);
    assert_int_equal(db_commit(c, &e), DB_OK);

    db_begin(c);
    db_ahead(c, INSERT, &one, 1); /* this one wants to be there */
    assert_int_equal(db_commit(c, &e), DB_LOST);
    assert_false(db_in_transaction(c));
    db_close(c);
}

static void who_comes_next_is_told(void **state)
{
    struct db_conn *c = open_one(true);
    struct sql s = {0};
    struct db_error e;
    struct buf rows;

    assert_true(insert(c, &one, &e));
    for (int how = 0; how < 4; how++) {
        db_begin(c);
        db_ahead(c, INSERT, &one, 1);
        if (how == 0) {
            assert_false(insert(c, &two, &e));
        } else if (how == 1) {
            buf_init(&rows, 100);
            buf_addz(&rows, "two\n");
            assert_false(db_copy(c, "COPY conn_test FROM STDIN", buf_str(&rows), &e));
            buf_done(&rows);
        } else if (how == 2) {
            assert_int_equal(
                db_do(c, "SET LOCAL lock_timeout = 1; SET LOCAL lock_timeout = 2", &e), DB_UNIQUE);
        } else {
            sql_init(&s, *state);
            sql_add(&s, "INSERT INTO conn_test VALUES ('two')");
            assert_true(db_start(c, &s));
            assert_null(db_finish(c, &e));
        }
        assert_int_equal(e.status, DB_UNIQUE);
        assert_false(insert(c, &two, &e)); /* nothing of this transaction goes on */
        assert_string_equal(e.sqlstate, "25P02");
        assert_int_equal(db_commit(c, &e), DB_FAILED);
        assert_false(db_in_transaction(c));
    }
    db_begin(c);
    assert_true(insert(c, &two, &e));
    db_ahead(c, INSERT, &one, 1);
    /* so is who commits, and the session is out of the transaction */
    assert_int_equal(db_commit(c, &e), DB_UNIQUE);
    assert_true(insert(c, &three, &e));
    assert_string_equal(stored(*state), "one three");
    db_close(c);
}

static void savepoints(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;

    db_begin(c);
    db_savepoint(c, 1);
    db_ahead(c, INSERT, &one, 1);
    assert_int_equal(db_release(c, 1, &e), DB_OK);
    db_savepoint(c, 1);
    assert_true(insert(c, &two, &e));
    db_ahead(c, INSERT, &one, 1);
    /* a failure among what waits goes with the savepoint */
    assert_int_equal(db_rollback_to(c, 1, &e), DB_OK);
    db_savepoint(c, 1);
    db_ahead(c, INSERT, &two, 1);
    assert_int_equal(db_rollback_to(c, 1, &e), DB_OK);
    db_savepoint(c, 1);
    assert_int_equal(db_release(c, 1, &e), DB_OK);
    assert_true(insert(c, &three, &e));
    assert_int_equal(db_commit(c, &e), DB_OK);
    assert_string_equal(stored(*state), "one three");
    db_close(c);
}

/* Statements that wait behind a savepoint are undone with it, whether it was sent or waits too. */
static void savepoints_inside_each_other(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;

    db_begin(c);
    db_ahead(c, INSERT, &one, 1);
    db_savepoint(c, 1);
    assert_true(insert(c, &two, &e));
    db_savepoint(c, 2);
    db_ahead(c, INSERT, &two, 1);
    assert_int_equal(db_rollback_to(c, 2, &e), DB_OK);
    db_savepoint(c, 2);
    assert_true(insert(c, &three, &e));
    db_ahead(c, INSERT, &three, 1);
    assert_int_equal(db_rollback_to(c, 1, &e), DB_OK);
    assert_int_equal(db_rollback_to(c, 1, &e), DB_FAILED); /* it is over */
    assert_int_equal(db_rollback(c, &e), DB_OK);
    assert_string_equal(stored(*state), "");

    db_begin(c);
    db_savepoint(c, 1);
    db_ahead(c, INSERT, &one, 1);
    db_savepoint(c, 2);
    db_ahead(c, INSERT, &two, 1);
    assert_int_equal(db_release(c, 2, &e), DB_OK);
    db_savepoint(c, 2);
    assert_int_equal(db_rollback_to(c, 2, &e), DB_OK);
    assert_int_equal(db_release(c, 1, &e), DB_OK);
    assert_int_equal(db_commit(c, &e), DB_OK);
    assert_string_equal(stored(*state), "one two");
    db_close(c);
}

static void snapshots_stay_and_write_nothing(void **state)
{
    struct db_conn *c = open_one(false), *other = open_one(false);
    struct db_error e;

    db_begin_snapshot(c);
    for (int i = 0; i < 2; i++) {
        PGresult *r = db_run(c, "SELECT name FROM conn_test", NULL, 0, &e);

        assert_int_equal(PQntuples(r), 0);
        PQclear(r);
        assert_true(insert(other, i ? &two : &one, &e));
    }
    assert_false(insert(c, &three, &e));
    assert_string_equal(e.sqlstate, "25006");
    assert_int_equal(db_rollback(c, &e), DB_OK);
    assert_string_equal(stored(*state), "one two");
    db_close(c);
    db_close(other);
}

/* By the word of the server, however it is written, and whether it goes at once or waits. */
static void ended_by_hand(void **state)
{
    static const char *const ends[] = {
        "COMMIT", " commit", "END", "/* so */ ROLLBACK", "ABORT", "COMMIT TRANSACTION"};

    for (size_t i = 0; i < 2 * sizeof(ends) / sizeof(ends[0]); i++) {
        struct db_conn *c = open_one(true);
        struct db_error e;

        db_begin(c);
        assert_true(insert(c, &one, &e));
        if (i % 2) {
            db_ahead(c, ends[i / 2], NULL, 0);
            PQclear(db_run(c, "SELECT 1", NULL, 0, &e));
        } else {
            PQclear(db_run(c, ends[i / 2], NULL, 0, &e));
        }
        assert_int_equal(e.status, DB_OK);
        assert_false(insert(c, &two, &e));
        assert_int_equal(e.status, DB_LOST);
        assert_int_equal(db_commit(c, &e), DB_LOST);
        assert_true(insert(c, &three, &e)); /* the connection goes on */
        assert_non_null(strstr(stored(*state), "three"));
        db_close(c);
    }
}

static void begins_on_another_connection(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;

    assert_true(insert(c, &one, &e));
    end_idle(c);
    db_begin(c);
    assert_true(insert(c, &two, &e)); /* nothing was begun */
    assert_int_equal(e.status, DB_OK);
    assert_int_equal(db_epoch(c), 2);
    end_session(c);
    db_ahead(c, INSERT, &three, 1);
    assert_false(insert(c, &three, &e)); /* but now it was */
    assert_int_equal(e.status, DB_LOST);
    assert_false(insert(c, &three, &e));
    assert_int_equal(db_commit(c, &e), DB_LOST);
    assert_string_equal(stored(*state), "one");

    assert_true(insert(c, &one, &e));
    end_idle(c);
    db_begin(c);
    db_ahead(c, INSERT, &two, 1);
    /* nobody knows what becomes of a commit that is not answered */
    assert_int_equal(db_commit(c, &e), DB_LOST);
    assert_false(db_in_transaction(c));
    assert_string_equal(stored(*state), "one");
    db_close(c);
}

/* ---- deadlines ---- */

static bool sleeps(struct db_conn *c, const char *seconds, struct db_error *e)
{
    struct sql_arg arg = {seconds, strlen(seconds)};
    PGresult *r = db_run(c, "SELECT pg_sleep($1::double precision)", &arg, 1, e);

    PQclear(r);
    return r;
}

static void assert_timeout_is(struct db_conn *c, const char *expected)
{
    struct db_error e;
    PGresult *r = db_run(c, "SELECT current_setting('statement_timeout')", NULL, 0, &e);

    assert_non_null(r);
    assert_string_equal(PQgetvalue(r, 0, 0), expected);
    PQclear(r);
}

static int64_t in_ms(int64_t ms)
{
    return clock_monotonic_us() + ms * 1000;
}

static void ends_in_time(void **state)
{
    for (int prepared = 0; prepared < 2; prepared++) {
        struct db_conn *c = open_one(prepared);
        struct db_error e;

        (void)state;
        for (int i = 0; i < 2; i++) { /* the second time all of it is prepared */
            assert_int_equal(db_deadline(c, in_ms(100)), 0);
            assert_false(sleeps(c, "60", &e));
            assert_int_equal(e.status, DB_TIMEOUT);
            db_deadline_end(c, 0);
            assert_timeout_is(c, "15s");

            db_begin(c);
            db_deadline(c, in_ms(100));
            assert_false(sleeps(c, "60", &e));
            assert_int_equal(e.status, DB_TIMEOUT);
            db_deadline_end(c, 0);
            assert_int_equal(db_rollback(c, &e), DB_OK);
            assert_timeout_is(c, "15s");
        }
        assert_int_equal(db_epoch(c), 1);
        db_close(c);
    }
}

/* However many statements share the time. */
static void ends_in_time_together(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;
    int n = 0;

    (void)state;
    db_begin(c);
    db_deadline(c, in_ms(300));
    assert_true(sleeps(c, "0", &e));
    while (sleeps(c, "0.2", &e))
        n++;
    assert_true(n <= 1); /* the last was not given the whole time anew */
    assert_int_equal(e.status, DB_TIMEOUT);
    db_deadline_end(c, 0);
    assert_int_equal(db_rollback(c, &e), DB_OK);
    db_close(c);
}

static void nothing_begins_late(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;
    int64_t before;

    db_begin(c);
    assert_true(insert(c, &one, &e));
    before = db_deadline(c, in_ms(-1));
    assert_false(insert(c, &two, &e));
    assert_int_equal(e.status, DB_TIMEOUT);
    /* the earlier one stays */
    assert_int_equal(db_deadline(c, in_ms(10000)), db_deadline(c, in_ms(20000)));
    assert_false(insert(c, &two, &e));
    assert_int_equal(db_commit(c, &e), DB_OK); /* what was done stays */
    db_deadline_end(c, before);
    assert_true(insert(c, &three, &e));
    assert_string_equal(stored(*state), "one three");
    db_close(c);
}

static void what_follows_has_its_time(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;

    (void)state;
    db_begin(c);
    db_savepoint(c, 1);
    db_deadline(c, in_ms(100));
    assert_false(sleeps(c, "60", &e));
    assert_int_equal(db_rollback_to(c, 1, &e), DB_OK);
    db_deadline_end(c, 0);
    assert_timeout_is(c, "15s");

    db_savepoint(c, 1);
    db_deadline(c, in_ms(5000));
    assert_true(sleeps(c, "0", &e));
    assert_int_equal(db_release(c, 1, &e), DB_OK);
    db_deadline_end(c, 0);
    db_savepoint(c, 1); /* the limit is from before it, and taken away inside */
    assert_timeout_is(c, "15s");
    assert_int_equal(db_rollback_to(c, 1, &e), DB_OK); /* and is there again */
    assert_timeout_is(c, "15s");

    db_deadline(c, in_ms(100)); /* what is waited for by the way as well */
    db_ahead(c, "SELECT pg_sleep(60)", NULL, 0);
    assert_false(sleeps(c, "0", &e));
    assert_int_equal(e.status, DB_TIMEOUT);
    assert_int_equal(db_rollback(c, &e), DB_OK);
    db_deadline_end(c, 0);
    db_close(c);
}

/* As with a pooler that gives another session. */
static void begins_again_when_statements_are_unknown(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;
    char forget[11 + 18];

    for (int i = 0; i < 2; i++) {
        db_begin(c);
        db_ahead(c, INSERT, i ? &three : &one, 1);
        assert_true(insert(c, i ? &one : &two, &e) || i);
        assert_int_equal(i ? db_rollback(c, &e) : db_commit(c, &e), DB_OK);
        assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    }
    db_begin(c);
    assert_true(insert(c, &three, &e));
    assert_int_equal(db_rollback(c, &e), DB_OK);
    memcpy(forget, "DEALLOCATE ", 11);
    /* BEGIN it knows, and then it is in a transaction */
    db_statement_name(statement_hash(INSERT), forget + 11);
    assert_int_equal(db_do(c, forget, &e), DB_OK);
    db_begin(c);
    assert_true(insert(c, &three, &e));
    assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    db_savepoint(c, 1);
    /* in the middle only the transaction as a whole can be tried again */
    assert_false(insert(c, &three, &e));
    assert_int_equal(e.status, DB_CONFLICT);
    assert_int_equal(db_rollback(c, &e), DB_OK);
    assert_string_equal(stored(*state), "one two");
    db_close(c);
}

/* PostgreSQL looks names up with the rights of the moment when a statement is prepared. */
static void prepared_by_who_asks(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;

    assert_int_equal(
        db_do(c, "CREATE ROLE conn_guest; CREATE SCHEMA closed CREATE TABLE kept (n integer)", &e),
        DB_OK);
    db_begin(c);
    db_ahead(c, "SELECT set_config('role', 'conn_guest', true)", NULL, 0);
    assert_null(db_run(c, "SELECT * FROM closed.kept", NULL, 0, &e));
    assert_string_equal(e.sqlstate, "42501");
    assert_int_equal(db_rollback(c, &e), DB_OK);
    db_begin(c);
    db_ahead(c, "SELECT set_config('role', 'conn_guest', true)", NULL, 0);
    PQclear(db_run(c, "SELECT 1", NULL, 0, &e));
    db_ahead(c, "RESET ROLE", NULL, 0);
    PQclear(db_run(c, "INSERT INTO closed.kept VALUES (1)", NULL, 0, &e));
    assert_int_equal(e.status, DB_OK);
    assert_int_equal(db_commit(c, &e), DB_OK);
    db_close(c);
}

static int start(void **state)
{
    wharf_str note, error;
    struct db_error e;
    struct db_conn *c;
    int ok;

    lasting = arena_new(0);
    if (!mkdtemp(folder))
        return -1;
    cluster = cluster_start(folder, NULL, lasting, &note, &error);
    if (!cluster) {
        fprintf(stderr, "%s\n", error.p);
        return -1;
    }
    c = open_one(false);
    ok = db_do(c, "CREATE TABLE conn_test (name text PRIMARY KEY)", &e) == DB_OK;
    db_close(c);
    return ok ? 0 : -1;
}

/* ---- COPY ---- */

/* In the open transaction; false: PostgreSQL refused the rows. */
static bool copy_in(struct db_conn *c, const char *sql, struct buf *rows)
{
    struct db_error e;
    bool good = !rows->failed && db_copy(c, sql, buf_str(rows), &e);

    buf_done(rows);
    return good;
}

/* Every type, at its ends, with what the text form (db_lane.c) escapes; and nulls. */
static void copies_in_binary(void **state)
{
    static const struct {
        enum binary_type type;
        const char *cell;
    } row[] = {{BINARY_TEXT, "a\tb\\c\nd\x7F \xC3\xA9"}, {BINARY_TEXT, "{\"a\": \"\\n\"}"},
        {BINARY_JSONB, "{\"b\":1, \"a\":[]}"}, {BINARY_MOMENT, "1999-12-31T23:59:59.999Z"},
        {BINARY_INT4, "-2147483648"}, {BINARY_BOOL, "true"}, {BINARY_BOOL, "false"}};
    enum { CELLS = sizeof(row) / sizeof(row[0]) };
    struct db_conn *c = open_one(false);
    struct db_error e;
    struct buf b;
    PGresult *r;

    db_begin(c);
    assert_int_equal(db_do(c,
                         "CREATE TEMP TABLE t (t text, j json, b jsonb, m timestamptz(3), i "
                         "integer, y boolean, n boolean, l bigint, h bytea) ON COMMIT DROP",
                         &e),
        DB_OK);
    buf_init(&b, 1 << 20);
    binary_begin(&b);
    binary_row(&b, CELLS + 2);
    for (size_t i = 0; i < CELLS; i++)
        binary_value(&b, row[i].type, str_z(row[i].cell));
    binary_int8(&b, INT64_MAX);
    binary_hex(&b, WHARF_S("00ffAb"));
    binary_row(&b, CELLS + 2);
    for (size_t i = 0; i < CELLS; i++)
        binary_value(&b, row[i].type, (wharf_str){NULL, 0});
    binary_int8(&b, INT64_MIN);
    binary_hex(&b, WHARF_S(""));
    binary_end(&b);
    assert_true(copy_in(c, "COPY t FROM STDIN (FORMAT binary)", &b));
    r = db_run(c,
        "SELECT t.t = E'a\\tb\\\\c\\nd\\x7f \xC3\xA9' AND j::text = E'{\"a\": \"\\\\n\"}' AND "
        "b::text = '{\"a\": [], \"b\": 1}' AND m = '1999-12-31 23:59:59.999+00' AND i = "
        "-2147483648 AND l = 9223372036854775807 AND y AND NOT n AND h = '\\x00ffab',"
        " num_nulls(t.t, j, b, m, i, y, n), length(h), l FROM t ORDER BY 2",
        NULL, 0, &e);
    assert_non_null(r);
    assert_int_equal(PQntuples(r), 2);
    assert_string_equal(PQgetvalue(r, 0, 0), "t");
    assert_string_equal(PQgetvalue(r, 1, 1), "7");
    assert_string_equal(PQgetvalue(r, 1, 3), "-9223372036854775808");
    assert_string_equal(PQgetvalue(r, 1, 2), "0");
    PQclear(r);
    db_close(c);
}

/* Values that are none of the type are refused before they are sent; PostgreSQL refuses the
 * others. */
static void copies_no_nonsense(void **state)
{
    static const struct {
        enum binary_type type;
        const char *cell;
    } bad[] = {{BINARY_MOMENT, "yesterday"}, {BINARY_MOMENT, ""}, {BINARY_INT4, "2147483648"},
        {BINARY_INT4, "1x"}, {BINARY_INT4, ""}, {BINARY_INT4, "99999999999999999999"},
        {BINARY_BOOL, "tomato"}, {BINARY_BOOL, ""}};
    struct db_conn *c = open_one(false);
    struct db_error e;
    struct buf b;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        buf_init(&b, 1 << 20);
        binary_value(&b, bad[i].type, str_z(bad[i].cell));
        assert_true(b.failed);
        buf_done(&b);
    }
    db_begin(c);
    assert_int_equal(db_do(c, "CREATE TEMP TABLE t (t text, j json) ON COMMIT DROP", &e), DB_OK);
    buf_init(&b, 1 << 20);
    binary_begin(&b);
    binary_row(&b, 2);
    binary_text(&b, WHARF_S("x"));
    binary_text(&b, WHARF_S("{"));
    binary_end(&b);
    assert_false(copy_in(c, "COPY t FROM STDIN (FORMAT binary)", &b));
    db_close(c);
}

static int stop(void **state)
{
    cluster_stop(cluster);
    arena_free(lasting);
    return 0;
}

static void session_that_ends_in_place_of_a_sync(void **state)
{
    struct db_conn *c = open_one(true);
    struct db_error e;

    (void)state;
    assert_int_equal(db_do(c, ENDS_AT_COMMIT, &e), DB_OK);
    for (int i = 0; i < 3; i++) {
        db_deadline(c, in_ms(100000)); /* what tells of it goes in the same piece */
        assert_null(db_run(c, "INSERT INTO ends_at_commit VALUES ($1)", &one, 1, &e));
        assert_int_equal(e.status, DB_LOST);
        db_deadline_end(c, 0);
        PQclear(db_run(c, "SELECT 1", NULL, 0, &e)); /* on a new connection */
        assert_int_equal(e.status, DB_OK);
    }
    db_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(goes_with_the_next), UNIT(one_plan_is_of_one_statement),
        UNIT(what_is_empty_is_not_sent), UNIT(who_comes_next_is_told), UNIT(savepoints),
        UNIT(savepoints_inside_each_other), UNIT(snapshots_stay_and_write_nothing),
        UNIT(ended_by_hand), UNIT(begins_on_another_connection),
        UNIT(begins_again_when_statements_are_unknown), UNIT(prepared_by_who_asks),
        UNIT(ends_in_time), UNIT(ends_in_time_together), UNIT(nothing_begins_late),
        UNIT(what_follows_has_its_time), UNIT(copies_in_binary), UNIT(copies_no_nonsense),
        UNIT(session_that_ends_in_place_of_a_sync)};

    return cmocka_run_group_tests_name("db_conn", tests, start, stop);
}
