/* db_lane.c - lanes against a real PostgreSQL: groups that fail, and what is prepared
 * afterwards. */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "db/cluster.h"
#include "db/copy.h"
#include "db/lane.h"
#include "ends_at_commit.h"
#include "unit.h"
#include "util/time.h"

static struct cluster *cluster;
static struct arena *lasting;
static char folder[] = "/tmp/wharf-lane-XXXXXX";

struct ask {
    struct lane_job job;
    struct sql_arg arg;
    bool done;
    enum db_status status;
    char value[32];
};

static void answered(struct lane_job *job, PGresult *result, const struct db_error *error)
{
    struct ask *ask = job->arg;

    ask->done = true;
    ask->status = error ? error->status : DB_OK;
    if (result && PQntuples(result))
        snprintf(ask->value, sizeof(ask->value), "%s", PQgetvalue(result, 0, 0));
}

static void changed(void *arg, struct lane *lane)
{
    (void)arg, (void)lane;
}

static void queue(struct lane *l, struct ask *ask, const char *sql, const char *value)
{
    *ask = (struct ask){.arg = {value, value ? strlen(value) : 0}};
    ask->job = (struct lane_job){.sql = sql,
        .args = &ask->arg,
        .n_args = value ? 1 : 0,
        .done = answered,
        .arg = ask,
        .deadline_us = clock_monotonic_us() + 10000000};
    lane_queue(l, &ask->job);
}

/* Turns until all jobs were answered. */
static void run(struct lane *l)
{
    int64_t until = clock_monotonic_us() + 15000000;
    bool ready = false;

    while (lane_load(l) && clock_monotonic_us() < until) {
        struct pollfd fd = {0};

        lane_turn(l, ready, clock_monotonic_us());
        fd.fd = lane_fd(l);
        fd.events = (short)((lane_events(l) & EPOLLIN ? POLLIN : 0) |
                            (lane_events(l) & EPOLLOUT ? POLLOUT : 0));
        ready = poll(&fd, 1, 10) > 0;
    }
    assert_int_equal(lane_load(l), 0);
}

#define INSERT "INSERT INTO lane_test (name) VALUES ($1) RETURNING name"

/* The statement behind the one that failed was never parsed; the one before it is parsed still. */
static void failed_group_keeps_what_is_prepared(void **state)
{
    struct lane *l = lane_new(LANE_WRITE, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask a, b;

    queue(l, &a, INSERT, "one");
    run(l);
    assert_int_equal(a.status, DB_OK);
    queue(l, &a, INSERT, "one");
    queue(l, &b, "SELECT 'b' || $1::text", "1");
    run(l);
    assert_int_equal(a.status, DB_UNIQUE);
    assert_int_equal(b.status, DB_OK);
    assert_string_equal(b.value, "b1");
    queue(l, &a, INSERT, "two");
    queue(l, &b, "SELECT 'b' || $1::text", "2");
    run(l);
    assert_int_equal(a.status, DB_OK);
    assert_string_equal(b.value, "b2");
    lane_free(l);
}

/* A pooler may give another server connection. */
static void lost_statements_are_prepared_again(void **state)
{
    static const enum lane_kind kinds[] = {LANE_READ, LANE_WRITE, LANE_SLOW};

    for (size_t i = 0; i < 3; i++) {
        struct lane *l = lane_new(kinds[i], cluster_conninfo(cluster), true, 15000, changed, NULL);
        struct ask a, b;

        queue(l, &a, "SELECT $1::text", "x");
        run(l);
        queue(l, &b, "DEALLOCATE ALL", NULL);
        run(l);
        assert_int_equal(b.status, DB_OK);
        queue(l, &a, "SELECT $1::text", "y");
        run(l);
        assert_int_equal(a.status, DB_OK);
        assert_string_equal(a.value, "y");
        lane_free(l);
    }
}

static void too_many_parameters_fail_alone(void **state)
{
    static struct sql_arg many[PARAMS_MAX + 1];
    struct lane *l = lane_new(LANE_READ, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask a, b;

    queue(l, &a, "SELECT $1::text", "x");
    a.job.args = many;
    a.job.n_args = PARAMS_MAX + 1;
    queue(l, &b, "SELECT $1::text", "y");
    run(l);
    assert_int_equal(a.status, DB_FAILED);
    assert_string_equal(b.value, "y");
    lane_free(l);
}

/* ---- one plan for all arguments, or one for these ---- */

#define MODE     "SELECT current_setting('plan_cache_mode')"
#define MODE_TOO "SELECT current_setting('plan_cache_mode') || $1::text"

static void queue_by_value(struct lane *l, struct ask *ask, const char *sql, const char *value)
{
    queue(l, ask, sql, value);
    ask->job.by_value = true;
}

static void only_what_says_so_is_planned_for_its_values(void **state)
{
    struct lane *l = lane_new(LANE_READ, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask a, b, c, d;

    for (int i = 0; i < 2; i++) { /* prepared meanwhile, and with it */
        queue(l, &a, MODE, NULL);
        queue_by_value(l, &b, MODE_TOO, "!");
        queue_by_value(l, &c, MODE_TOO, "?");
        run(l);
        assert_string_equal(a.value, "force_generic_plan");
        assert_string_equal(b.value, "auto!");
        assert_string_equal(c.value, "auto?");
        queue(l, &d, MODE_TOO, ".");
        run(l);
        assert_string_equal(d.value, "force_generic_plan.");
    }
    lane_free(l);
}

static void a_slow_one_is_planned_for_its_values(void **state)
{
    struct lane *l = lane_new(LANE_SLOW, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask a;

    queue_by_value(l, &a, MODE, NULL);
    run(l);
    assert_string_equal(a.value, "auto");
    lane_free(l);
}

/* Statements of the group behind a failed one are asked again, one by one, and each tells again
 * how it is planned. */
static void a_failure_does_not_mix_them_up(void **state)
{
    struct lane *l = lane_new(LANE_READ, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask a, b, c, d;

    for (int i = 0; i < 2; i++) {
        queue_by_value(l, &a, MODE_TOO, "a");
        queue_by_value(l, &b, "SELECT 1 / $1::integer", "0");
        queue_by_value(l, &c, MODE_TOO, "c");
        queue(l, &d, MODE, NULL);
        run(l);
        assert_string_equal(a.value, "autoa");
        assert_int_equal(b.status, DB_FAILED);
        assert_string_equal(c.value, "autoc");
        assert_string_equal(d.value, "force_generic_plan");
    }
    queue_by_value(l, &a, "SELECT no_such_column", NULL); /* it fails while it is prepared */
    queue_by_value(l, &b, MODE_TOO, "b");
    run(l);
    assert_int_equal(a.status, DB_FAILED);
    assert_string_equal(b.value, "autob");
    queue(l, &a, "DEALLOCATE ALL", NULL);
    run(l);
    queue_by_value(l, &b, MODE_TOO, "b");
    run(l);
    assert_string_equal(b.value, "autob");
    lane_free(l);
}

/* ---- several writes in one statement ---- */

/* The single one answers with a name, the one for many with 1: so it is seen who ran. */
#define ONE "INSERT INTO lane_test (name) SELECT $1 WHERE $1 <> 'refused' RETURNING 'alone'"
#define MANY                                                                                       \
    "WITH u AS MATERIALIZED (SELECT * FROM unnest($1::text[]) WITH ORDINALITY AS u(p1, place) "    \
    "WHERE p1 <> 'refused'),"                                                                      \
    " r AS (INSERT INTO lane_test (name) SELECT p1 FROM u) SELECT place FROM u"
enum { ASKS = 6 };

static void queue_all(struct lane *l, struct ask *asks, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        queue(l, &asks[i], ONE, names[i]);
        asks[i].job.many_sql = MANY;
    }
}

static int stored(const char *name)
{
    struct db_conn *c = db_open(cluster_conninfo(cluster), false, 15000);
    struct sql_arg arg = {name, strlen(name)};
    struct db_error e;
    PGresult *r = db_run(c, "SELECT count(*) FROM lane_test WHERE name = $1", &arg, 1, &e);
    int n = r ? (int)strtol(PQgetvalue(r, 0, 0), NULL, 10) : -1;

    PQclear(r);
    db_close(c);
    return n;
}

static void writes_that_wait_together_are_one_statement(void **state)
{
    static const char *const names[ASKS] = {
        "p1", "", "refused", "{\"a\": \"b\\\\\"}", "NULL", "p6"};

    for (int prepared = 0; prepared < 2; prepared++) {
        struct lane *l = lane_new(
            LANE_WRITE, cluster_conninfo(cluster), prepared, 15000, changed, NULL);
        struct ask asks[ASKS], first, clear;

        queue_all(l, asks, names, ASKS);
        queue(l, &first, "SELECT 'other'", NULL);
        run(l);
        for (size_t i = 0; i < ASKS; i++) {
            assert_int_equal(asks[i].status, DB_OK);
            assert_string_equal(asks[i].value, i == 2 ? "" : "1");
            assert_int_equal(stored(names[i]), i != 2);
        }
        assert_string_equal(first.value, "other");
        queue(l, &clear, "DELETE FROM lane_test", NULL);
        run(l);
        queue_all(l, asks, names, 2); /* not worth it */
        run(l);
        assert_string_equal(asks[0].value, "alone");
        queue(l, &clear, "DELETE FROM lane_test", NULL);
        run(l);
        lane_free(l);
    }
}

static void one_that_fails_does_not_fail_the_others(void **state)
{
    static const char *const names[ASKS] = {"f1", "f2", "f1", "f4", "refused", "f6"};
    struct lane *l = lane_new(LANE_WRITE, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask asks[ASKS], more[3], gone;

    queue_all(l, asks, names, ASKS);
    run(l);
    for (size_t i = 0; i < ASKS; i++) {
        assert_int_equal(asks[i].status, i == 2 ? DB_UNIQUE : DB_OK);
        assert_string_equal(asks[i].value, i == 2 || i == 4 ? "" : "alone");
        assert_int_equal(stored(names[i]), i != 4);
    }
    queue(l, &gone, "DEALLOCATE ALL", NULL);
    run(l);
    queue_all(l, more, (const char *const[]){"m1", "m2", "m3"},
        3); /* the statement is gone: one by one, and then together again */
    run(l);
    assert_string_equal(more[2].value, "alone");
    queue_all(l, more, (const char *const[]){"m4", "m5", "m6"}, 3);
    run(l);
    assert_string_equal(more[2].value, "1");
    assert_int_equal(stored("m3") + stored("m6"), 2);
    lane_free(l);
}

static void all_of_a_statement_are_told_that_it_was_lost(void **state)
{
    static const char *const names[ASKS] = {"l1", "l2", "l3", "l4", "l5", "l6"};
    struct lane *l = lane_new(LANE_WRITE, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct ask asks[ASKS], last;

    queue_all(l, asks, names, ASKS);
    queue(l, &last, "SELECT pg_terminate_backend(pg_backend_pid())", NULL);
    run(l);
    for (size_t i = 0; i < ASKS; i++) {
        assert_true(asks[i].done);
        assert_int_equal(asks[i].status, DB_LOST);
        assert_int_equal(stored(names[i]), 0);
    }
    queue_all(l, asks, names, ASKS);
    run(l);
    assert_int_equal(stored("l6"), 1);
    lane_free(l);
}

static void conn_mends_its_statements(void **state)
{
    struct db_conn *c = db_open(cluster_conninfo(cluster), true, 15000);
    struct sql_arg arg = {"x", 1};
    struct db_error e;
    PGresult *r;

    PQclear(db_run(c, "SELECT $1::text", &arg, 1, &e));
    assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    r = db_run(c, "SELECT $1::text", &arg, 1, &e);
    assert_non_null(r);
    PQclear(r);
    assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    db_begin(c); /* begun anew with the statement that the server did not know */
    r = db_run(c, "SELECT $1::text", &arg, 1, &e);
    assert_non_null(r);
    PQclear(r);
    assert_int_equal(db_commit(c, &e), DB_OK);
    assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    db_begin(c);
    r = db_run(c, "SELECT 1", NULL, 0, &e);
    assert_non_null(r);
    PQclear(r);
    assert_null(db_run(c, "SELECT $1::text", &arg, 1, &e)); /* somebody was told of this one */
    assert_int_equal(e.status, DB_CONFLICT);
    assert_int_equal(db_rollback(c, &e), DB_OK);
    r = db_run(c, "SELECT $1::text", &arg, 1, &e);
    assert_non_null(r);
    PQclear(r);
    db_close(c);
}

static void statements_in_one_piece_are_one_transaction(void **state)
{
    struct db_conn *c = db_open(cluster_conninfo(cluster), true, 15000);
    struct sql_arg w1 = {"w1", 2}, w2 = {"w2", 2}, one = {"1", 1};
    const struct db_statement two[] = {{INSERT, &w1, 1}, {INSERT, &w2, 1}},
                              again[] = {{INSERT, &w2, 1}},
                              late[] = {{"INSERT INTO lane_late SELECT $1::integer", &one, 1}},
                              local[] = {{"SELECT set_config('wharf.it', 'x', true)", NULL, 0},
                                  {"SELECT current_setting('wharf.it')", NULL, 0}};
    struct db_error e;
    PGresult *r;

    r = db_run_whole(c, two, 2, &e);
    assert_non_null(r);
    assert_string_equal(PQgetvalue(r, 0, 0), "w2");
    PQclear(r);
    assert_int_equal(stored("w1") + stored("w2"), 2);

    w1.p = "w3"; /* in front of one that is refused */
    assert_null(db_run_whole(c, two, 2, &e));
    assert_int_equal(e.status, DB_UNIQUE);
    assert_int_equal(stored("w3"), 0);
    assert_null(db_run_whole(c, again, 1, &e));
    assert_int_equal(e.status, DB_UNIQUE);

    assert_int_equal(
        db_do(c, "CREATE TABLE lane_late (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED)", &e),
        DB_OK);
    PQclear(db_run_whole(c, late, 1, &e));
    assert_null(db_run_whole(c, late, 1, &e)); /* refused by the commit alone */
    assert_int_equal(e.status, DB_UNIQUE);

    /* the transaction begins with the first one, and ends with the last */
    r = db_run_whole(c, local, 2, &e);
    assert_non_null(r);
    assert_string_equal(PQgetvalue(r, 0, 0), "x");
    PQclear(r);
    assert_int_equal(db_do(c, "DEALLOCATE ALL", &e), DB_OK);
    r = db_run_whole(c, local, 2, &e);
    assert_non_null(r);
    PQclear(r);
    r = db_run(c, "SELECT current_setting('wharf.it', true)", NULL, 0, &e);
    assert_string_equal(PQgetvalue(r, 0, 0), "");
    PQclear(r);

    w1.p = "w4", w2.p = "w5";
    assert_int_equal(
        db_do(c, "DO $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END $$", &e),
        DB_LOST);
    r = db_run_whole(c, two, 2, &e); /* the connection is known to be gone: another one */
    assert_non_null(r);
    PQclear(r);
    db_close(c);
}

static void copied_cells_come_back_as_they_were(void **state)
{
    static const char *const cells[] = {"", "\\N", "a\tb\nc\r\\",
        "1234567\\89012345\t67890123456\n", "\001\x1f\x7f\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
        "{\"k\": \"\\\\u00e4\"}", "\\.", NULL};
    struct db_conn *c = db_open(cluster_conninfo(cluster), true, 15000);
    struct db_error e;
    struct buf rows;
    PGresult *r;

    buf_init(&rows, 1 << 20);
    for (int i = 0; i < (int)(sizeof(cells) / sizeof(cells[0])); i++) {
        copy_int(&rows, i);
        copy_cell(&rows, (wharf_str){cells[i], cells[i] ? strlen(cells[i]) : 0});
        copy_row_end(&rows);
    }
    /* outside a transaction */
    assert_false(db_copy(c, "COPY copied (n, t) FROM STDIN", buf_str(&rows), &e));
    db_begin(c);
    assert_int_equal(db_do(c, "CREATE TEMP TABLE copied (n bigint, t text)", &e), DB_OK);
    assert_true(db_copy(c, "COPY copied (n, t) FROM STDIN", buf_str(&rows), &e));
    r = db_run(c, "SELECT t FROM copied ORDER BY n", NULL, 0, &e);
    assert_non_null(r);
    assert_int_equal(PQntuples(r), sizeof(cells) / sizeof(cells[0]));
    for (int i = 0; i < (int)(sizeof(cells) / sizeof(cells[0])); i++) {
        assert_int_equal(PQgetisnull(r, i, 0), cells[i] == NULL);
        assert_string_equal(PQgetvalue(r, i, 0), cells[i] ? cells[i] : "");
    }
    PQclear(r);
    buf_clear(&rows);
    copy_cell(&rows, (wharf_str){"no number", 9});
    copy_row_end(&rows);
    assert_false(db_copy(c, "COPY copied (n) FROM STDIN", buf_str(&rows), &e));
    assert_string_equal(e.sqlstate, "22P02");
    assert_int_equal(db_rollback(c, &e), DB_OK); /* the connection goes on */
    db_begin(c);
    assert_false(db_copy(c, "COPY nothing FROM STDIN", buf_str(&rows), &e));
    assert_int_equal(db_rollback(c, &e), DB_OK);
    buf_done(&rows);
    db_close(c);
}

static void set_forgets_one(void **state)
{
    struct statement_set s = {0};

    for (uint64_t i = 1; i <= 900; i++) /* long runs: all of them want few slots */
        assert_true(statement_remember(&s, (i << 16) | (i % 7)));
    for (uint64_t i = 1; i <= 900; i += 2)
        statement_forget(&s, (i << 16) | (i % 7));
    for (uint64_t i = 1; i <= 900; i++)
        assert_int_equal(statement_known(&s, (i << 16) | (i % 7)), i % 2 == 0);
    assert_int_equal(s.count, 450);
    statement_forget_all(&s);
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
    c = db_open(cluster_conninfo(cluster), false, 15000);
    ok = db_do(c, "CREATE TABLE lane_test (name text PRIMARY KEY)", &e) == DB_OK;
    db_close(c);
    return ok ? 0 : -1;
}

static int stop(void **state)
{
    cluster_stop(cluster);
    arena_free(lasting);
    return 0;
}

/* Statements have their answers, and FATAL comes in place of the answer to their Sync. */
static void session_that_ends_in_place_of_a_sync(void **state)
{
    struct lane *l = lane_new(LANE_WRITE, cluster_conninfo(cluster), true, 15000, changed, NULL);
    struct db_conn *c = db_open(cluster_conninfo(cluster), false, 15000);
    struct db_error e;
    struct ask a, b;

    (void)state;
    assert_int_equal(db_do(c, ENDS_AT_COMMIT, &e), DB_OK);
    db_close(c);
    for (int i = 0; i < 3; i++) {
        queue(l, &a, "INSERT INTO ends_at_commit VALUES ($1) RETURNING name", "x");
        run(l);
        assert_int_equal(a.status, DB_LOST);
        queue(l, &b, "SELECT 'b' || $1::text", "1");
        run(l);
        assert_string_equal(b.value, "b1");
    }
    lane_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(failed_group_keeps_what_is_prepared),
        UNIT(lost_statements_are_prepared_again), UNIT(too_many_parameters_fail_alone),
        UNIT(only_what_says_so_is_planned_for_its_values),
        UNIT(a_slow_one_is_planned_for_its_values), UNIT(a_failure_does_not_mix_them_up),
        UNIT(writes_that_wait_together_are_one_statement),
        UNIT(one_that_fails_does_not_fail_the_others),
        UNIT(all_of_a_statement_are_told_that_it_was_lost), UNIT(conn_mends_its_statements),
        UNIT(statements_in_one_piece_are_one_transaction),
        UNIT(copied_cells_come_back_as_they_were), UNIT(set_forgets_one),
        UNIT(session_that_ends_in_place_of_a_sync)};

    return cmocka_run_group_tests_name("db_lane", tests, start, stop);
}
