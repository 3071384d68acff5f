/* host_verify.c - see host_verify.h. */
#include "host/host_verify.h"

#include <stdlib.h>
#include <string.h>

#include "db/transaction.h"
#include "host/host.h"
#include "util/str.h"

enum { FETCH_ROWS = 500, ARGS_MAX = 32, COLUMNS_MAX = 64, DEPTH_MAX = 8, NAME_SIZE = 32 };

/* The whole is wanted, not its first rows; one processor is enough; row security would hide rows,
 * so that a user whom it concerns gets an error instead; pg_advisory: retention does not drop
 * partitions meanwhile (db/sql/drop_expired_partitions.sql). */
static const char settings[] =
    "SET LOCAL search_path=public; SET LOCAL TimeZone='UTC'; SET LOCAL DateStyle='ISO'; "
    "SET LOCAL jit=off; SET LOCAL row_security=off; SET LOCAL cursor_tuple_fraction=1; "
    "SET LOCAL max_parallel_workers_per_gather=0; SET LOCAL statement_timeout=0; "
    "SET LOCAL idle_in_transaction_session_timeout=0; SET LOCAL lock_timeout='5s'; "
    "SELECT pg_advisory_xact_lock_shared(hashtextextended('wharf.verify', 0))";

static wharf_status v_fail(wharf_verify *v, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!v->error.n)
        v->error = arena_vprintf(v->arena, fmt, ap);
    va_end(ap);
    return WHARF_UNAVAILABLE;
}

static void v_looked(wharf_verify *v, uint64_t n)
{
    v->looked += n;
}

static void v_fault(wharf_verify *v, wharf_str organization_id, wharf_str id, const char *fmt, ...)
{
    struct verify_fault *f;
    va_list ap;

    if (v->shown.n < v->show) {
        va_start(ap, fmt);
        f = vector_add(v->arena, &v->shown);
        *f = (struct verify_fault){arena_dup_str(v->arena, organization_id),
            arena_dup_str(v->arena, id), arena_vprintf(v->arena, fmt, ap)};
        va_end(ap);
    }
    v->faults++;
}

/* Tells why the database refused, and clears the result. */
static wharf_status host_verify_refused(struct wharf_verify *v, PGresult *r)
{
    const char *said = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *todo = "look at the log of the database, then try again";

    if (!said)
        said = PQerrorMessage(v->conn);
    if (state && !strcmp(state, "55P03"))
        todo = "a migration holds the table; try again when it is over";
    else if (state && (!strcmp(state, "42P01") || !strcmp(state, "42703")))
        todo = "run `wharf migrate`";
    else if (state && !strcmp(state, "42501"))
        todo = "connect as the database user of the server, who owns its tables";
    v_fail(v, "the database says: %.*s; %s", (int)strcspn(said, "\n"), said, todo);
    PQclear(r);
    return WHARF_UNAVAILABLE;
}

static bool host_verify_begin(struct wharf_verify *v)
{
    PGresult *r = tx_begin_snapshot(v->conn, settings);

    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        return host_verify_refused(v, r) == WHARF_OK;
    PQclear(r);
    return true;
}

bool verify_anew(struct wharf_verify *v)
{
    tx_rollback(v->conn);
    return host_verify_begin(v);
}

void verify_let_go(struct wharf_verify *v)
{
    tx_rollback(v->conn);
}

/* Hands the rows of a result over; the values stand in r. */
static wharf_status host_verify_hand_over(struct wharf_verify *v, const PGresult *r,
    wharf_status (*row)(wharf_verify *, const wharf_val *, size_t, void *), void *arg)
{
    wharf_val values[COLUMNS_MAX];
    int n = PQnfields(r) < COLUMNS_MAX ? PQnfields(r) : COLUMNS_MAX;
    wharf_status s = WHARF_OK;

    for (int i = 0; i < PQntuples(r) && s == WHARF_OK; i++) {
        for (int k = 0; k < n; k++) {
            values[k] = (wharf_val){.type = PQgetisnull(r, i, k) ? WHARF_V_NULL : WHARF_V_TEXT,
                .u.s = {PQgetvalue(r, i, k), (size_t)PQgetlength(r, i, k)}};
        }
        s = row(v, values, (size_t)n, arg);
    }
    return s;
}

static bool host_verify_open_cursor(
    struct wharf_verify *v, const char *name, const char *sql, const wharf_val *args, size_t n_args)
{
    struct arena *a = arena_new(0);
    const struct sql_arg *bound = host_args(a, args, n_args);
    const char *values[ARGS_MAX];
    PGresult *r;
    bool good;

    for (size_t i = 0; i < n_args; i++)
        values[i] = bound[i].p;
    r = PQexecParams(v->conn, arena_printf(a, "DECLARE %s NO SCROLL CURSOR FOR %s", name, sql).p,
        (int)n_args, NULL, values, NULL, NULL, 0);
    arena_free(a);
    good = PQresultStatus(r) == PGRES_COMMAND_OK;
    if (good)
        PQclear(r);
    else
        host_verify_refused(v, r);
    return good;
}

/* Fetches until nothing is left. */
static wharf_status host_verify_fetch_all(struct wharf_verify *v, const char *name,
    wharf_status (*row)(wharf_verify *, const wharf_val *, size_t, void *), void *arg)
{
    char sql[NAME_SIZE + 32];
    wharf_status s = WHARF_OK;
    int n = FETCH_ROWS;

    snprintf(sql, sizeof(sql), "FETCH %d FROM %s", FETCH_ROWS, name);
    while (s == WHARF_OK && n == FETCH_ROWS) {
        PGresult *r = PQexec(v->conn, sql);

        if (PQresultStatus(r) != PGRES_TUPLES_OK)
            return host_verify_refused(v, r);
        n = PQntuples(r);
        s = host_verify_hand_over(v, r, row, arg);
        PQclear(r);
    }
    return s;
}

static wharf_status v_each(wharf_verify *v, const char *sql, const wharf_val *args, size_t n_args,
    wharf_status (*row)(wharf_verify *v, const wharf_val *values, size_t n, void *arg), void *arg)
{
    char name[NAME_SIZE], close[NAME_SIZE + 8];
    wharf_status s;

    if (v->error.n)
        return WHARF_UNAVAILABLE;
    if (n_args > ARGS_MAX || v->depth >= DEPTH_MAX)
        return v_fail(v,
            "it asks with more than %d arguments, or in more than %d loops inside of "
            "each other; the plugin needs to be corrected",
            ARGS_MAX, DEPTH_MAX);
    snprintf(name, sizeof(name), "verify_%u", v->depth);
    if (!host_verify_open_cursor(v, name, sql, args, n_args))
        return WHARF_UNAVAILABLE;
    v->depth++;
    s = host_verify_fetch_all(v, name, row, arg);
    v->depth--;
    snprintf(close, sizeof(close), "CLOSE %s", name);
    PQclear(PQexec(v->conn, close)); /* in a transaction that failed there is none any more */
    return s;
}

const wharf_verify_api verify_api = {
    WHARF_HEAD(wharf_verify_api), v_each, v_looked, v_fault, v_fail};

/* ---- checks that are a query ---- */

static wharf_status take_count(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    (void)arg;
    v->looked = n ? strtoull(values[0].u.s.p, NULL, 10) : 0;
    return WHARF_OK;
}

static wharf_status take_fault(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    const char *name = arg;

    if (n != 3 || values[1].type == WHARF_V_NULL || values[2].type == WHARF_V_NULL)
        return v_fail(v,
            "the query of %s does not answer organization_id, id and what is wrong; the plugin "
            "needs to be corrected",
            name);
    v_fault(v, values[0].u.s, values[1].u.s, "%s", values[2].u.s.p);
    return WHARF_OK;
}

static void run_query(struct wharf_verify *v, const wharf_check *check)
{
    wharf_str count = arena_printf(v->arena, "SELECT count(*) FROM %s", check->rows);

    if (v_each(v, count.p, NULL, 0, take_count, NULL) == WHARF_OK)
        v_each(v, check->sql, NULL, 0, take_fault, (void *)check->name);
}

void verify_run(struct wharf_verify *v, const wharf_check *check)
{
    wharf_status s = WHARF_OK;

    v->shown = (struct vector){.size = sizeof(struct verify_fault)};
    v->looked = v->faults = 0;
    v->error = (wharf_str){"", 0};
    v->depth = 0;
    if (!host_verify_begin(v))
        return;
    if (check->sql)
        run_query(v, check);
    else
        s = check->run(v, &verify_api, check->arg);
    if (s != WHARF_OK)
        v_fail(v, "it ended with status %d and without a reason; the plugin needs to be corrected",
            (int)s);
    tx_rollback(v->conn);
}
