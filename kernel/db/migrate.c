/* migrate.c - runs migration files that were not run yet (docs/reference/plugin-abi.md section 9).
 *
 * Leaves to others: which files there are (registry), their headers and statements
 * (migrate_file.c). */
#include "db/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "db/migrate_file.h"
#include "db/migrate_walls.h"
#include "db/restore.h"
#include "db/transaction.h"
#include "kernel_queries.gen.h"
#include "util/digest.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf_version.h"
#include <sodium.h>

enum {
    HASH_HEX = 64,
    TRIES = 3, /* of a migration that waits for a lock */
    LOCK_POLL_MS = 200,
    RETRY_MS = 1000 /* between these tries */
};

static const char asked[] = "the database was asked about its migrations";
static const char lock_sql[] = "SELECT pg_try_advisory_lock(hashtextextended('wharf.migrate', 0))";
static const char unlock_sql[] = "SELECT pg_advisory_unlock(hashtextextended('wharf.migrate', 0))";
static const char bootstrap_sql[] = QUERY_MIGRATION_TABLES;
static const char exists_sql[] = "SELECT to_regclass('wharf.repeatable') IS NOT NULL";
static const char applied_sql[] = QUERY_MIGRATIONS_APPLIED;
static const char record_sql[] =
    "INSERT INTO wharf.migration (plugin, number, name, sha256, server, seconds)"
    " VALUES ($1, $2, $3, $4, $5, $6)";
static const char record_repeatable_sql[] =
    "INSERT INTO wharf.repeatable (plugin, name, sha256, server, seconds) VALUES ($1, $2, $3, $4, "
    "$5)"
    " ON CONFLICT (plugin, name) DO UPDATE SET sha256 = excluded.sha256, server = excluded.server,"
    " seconds = excluded.seconds, applied_at = now()";
/* Functions of one file may call functions of a later one. */
static const char unchecked_sql[] = "SET LOCAL check_function_bodies = off";
static const char in_transaction_sql[] =
    "SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = 0;"
    " SET LOCAL idle_in_transaction_session_timeout = 0";
static const char session_sql[] = "SET lock_timeout = '5s'; SET statement_timeout = 0";
static const char path_sql[] =
    "SELECT set_config('search_path', quote_ident($1) || ', public', $2)";
/* One partition at a time, as a server at work does (sql/ensure_partitions.sql); those of tomorrow,
 * too, since a run may last over midnight. */
static const char partition_sql[] =
    "SELECT coalesce(nullif(wharf.ensure_partitions(wharf.now(), 1), 0), "
    "wharf.ensure_partitions(wharf.now() + interval '1 day', 1)) > 0";
static const char prepare_sql[] = "SELECT wharf.prepare_plugin($1)";
static const char grant_sql[] = "SELECT wharf.grant_plugin($1)";

/* One run over the list. */
struct run {
    PGconn *conn;
    struct arena *a;
    struct buf *out;
    wharf_str *error;
    PGresult *applied; /* or NULL: nothing yet */
    enum migrate_mode mode;
    bool contract;
    bool partitions; /* are there */
    unsigned done;
};

static void migrate_pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* Keeps the server's message, as the administrator reads it; the rest of the sentence tells what
 * to do. */
static bool fail_db(struct run *r, const char *doing, const PGresult *res)
{
    const char *text = res ? PQresultErrorMessage(res) : PQerrorMessage(r->conn);
    size_t n = strlen(text);

    while (n && text[n - 1] == '\n')
        n--;
    *r->error = arena_printf(r->a, "%s: %.*s", doing, (int)n, text);
    return false;
}

static bool is_fine(const PGresult *res)
{
    ExecStatusType status = PQresultStatus(res);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Takes a result of which only matters whether it is good. */
static bool migrate_take(struct run *r, PGresult *res, bool good, const char *doing)
{
    if (!good)
        fail_db(r, doing, res);
    PQclear(res);
    return good;
}

static bool exec(struct run *r, const char *sql, const char *doing)
{
    PGresult *res = PQexec(r->conn, sql);

    return migrate_take(r, res, is_fine(res), doing);
}

static bool migrate_begin(struct run *r)
{
    PGresult *res = tx_begin(r->conn, in_transaction_sql);

    return migrate_take(r, res, is_fine(res), "BEGIN");
}

static bool migrate_commit(struct run *r)
{
    PGresult *res = tx_commit(r->conn);

    return migrate_take(r, res, tx_committed(res), "COMMIT");
}

static bool exec_args(
    struct run *r, const char *sql, const char *const *args, int n, const char *doing)
{
    PGresult *res = PQexecParams(r->conn, sql, n, NULL, args, NULL, NULL, 0);

    return migrate_take(r, res, is_fine(res), doing);
}

/* Asks something whose answer is true or false. doing: what fails, for the message. */
static bool ask_bool(struct run *r, const char *sql, const char *doing, bool *ret_answer)
{
    PGresult *res = PQexec(r->conn, sql);
    bool good = is_fine(res) && PQntuples(res) == 1;

    if (good)
        *ret_answer = PQgetvalue(res, 0, 0)[0] == 't';
    else
        fail_db(r, doing, res);
    PQclear(res);
    return good;
}

static void migrate_hash_of(wharf_str sql, char hex[HASH_HEX + 1])
{
    unsigned char hash[DIGEST_BYTES];

    digest_sha256(&sql, 1, hash);
    sodium_bin2hex(hex, HASH_HEX + 1, hash, sizeof(hash));
}

/* Returns the row of r->applied about the file, or -1 when it has not run. */
static int recorded_row(const struct run *r, const struct plugin_migration *m)
{
    for (int i = 0; r->applied && i < PQntuples(r->applied); i++)
        if (strcmp(PQgetvalue(r->applied, i, 0), m->plugin) == 0 &&
            strtoul(PQgetvalue(r->applied, i, 1), NULL, 10) == m->number &&
            (m->number || strcmp(PQgetvalue(r->applied, i, 2), m->name) == 0))
            return i;
    return -1;
}

/* Tells whether texts of repeatable files matter: a server that only looks takes any. */
static bool changes(enum migrate_mode mode)
{
    return mode == MIGRATE_PLAN || mode == MIGRATE_APPLY;
}

/* Tells whether the file has nothing to do: it has run, and a repeatable one ran with this text
 * or by a newer server. */
static bool migration_done(const struct run *r, const struct plugin_migration *m)
{
    int row = recorded_row(r, m);
    char hex[HASH_HEX + 1];

    if (row < 0 || m->number || !changes(r->mode))
        return row >= 0;
    migrate_hash_of(m->sql, hex);
    return PQgetvalue(r->applied, row, 4)[0] == 't' ||
           strcmp(PQgetvalue(r->applied, row, 3), hex) == 0;
}

static wharf_str label(const struct run *r, const struct plugin_migration *m)
{
    if (!m->number)
        return arena_printf(r->a, "%s sql/%s.sql", m->plugin, m->name);
    return arena_printf(r->a, "%s %04u_%s", m->plugin, (unsigned)m->number, m->name);
}

static bool read_applied(struct run *r)
{
    const char *args[] = {WHARF_VERSION};
    bool exists = false;

    if (!ask_bool(r, exists_sql, asked, &exists))
        return false;
    if (!exists)
        return true;
    r->applied = PQexecParams(r->conn, applied_sql, 1, NULL, args, NULL, NULL, 0);
    return is_fine(r->applied) ||
           fail_db(r, "wharf.migration and wharf.repeatable can't be read", r->applied);
}

/* Checks all files and tells everything that stands in the way at once, before anything is
 * changed. */
static bool migrate_check_files(struct run *r, const struct plugin_migration *list, size_t count)
{
    struct buf problems;
    bool good;

    buf_init(&problems, 64 * 1024);
    for (size_t i = 0; i < count; i++) {
        int row = list[i].number ? recorded_row(r, &list[i]) : -1;
        const char *old = row < 0 ? NULL : PQgetvalue(r->applied, row, 3);
        char hex[HASH_HEX + 1];
        struct migrate_header header;
        wharf_str why;

        migrate_hash_of(list[i].sql, hex);
        if (old && strcmp(old, hex) != 0)
            buf_addf(&problems,
                "%s%s was applied with other content (sha256 %.12s, now %.12s); an applied file is "
                "never edited: restore it and write a new one",
                problems.n ? "\n" : "", label(r, &list[i]).p, old, hex);
        if (!migrate_header(list[i].sql, &header, r->a, &why))
            buf_addf(&problems, "%s%s: %s", problems.n ? "\n" : "", label(r, &list[i]).p, why.p);
        else if (list[i].number ? header.order != ORDER_USUAL
                                : !header.tx || header.phase != PHASE_EXPAND)
            buf_addf(&problems, "%s%s: %s", problems.n ? "\n" : "", label(r, &list[i]).p,
                list[i].number ? "an order is for repeatable files"
                               : "a repeatable file has no phase, and runs in a transaction");
    }
    good = problems.n == 0 && !problems.failed;
    if (!good)
        *r->error = arena_dup_str(r->a, buf_str(&problems));
    buf_done(&problems);
    return good;
}

static bool migrate_is_known(
    const struct plugin_migration *list, size_t count, const char *plugin, unsigned long number)
{
    bool whose = false;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].plugin, plugin) != 0)
            continue;
        whose = true;
        if (list[i].number == number)
            return true;
    }
    return !whose; /* tables of a module that is off are left alone */
}

/* Tells whether the database has no tables of a newer server, which this one would read and write
 * in its own way. */
static bool check_newer(struct run *r, const struct plugin_migration *list, size_t count)
{
    for (int i = 0; r->applied && i < PQntuples(r->applied); i++) {
        const char *plugin = PQgetvalue(r->applied, i, 0);
        unsigned long number = strtoul(PQgetvalue(r->applied, i, 1), NULL, 10);

        if (!number || migrate_is_known(list, count, plugin, number))
            continue;
        *r->error = arena_printf(r->a,
            "the database was migrated by a newer server (%s: %s %04lu_%s), whose tables this one "
            "(" WHARF_VERSION ") does not know; start that version, or restore a backup of before",
            PQgetvalue(r->applied, i, 5), plugin, number, PQgetvalue(r->applied, i, 2));
        return false;
    }
    return true;
}

static bool migrate_record(struct run *r, const struct plugin_migration *m, int64_t started_us)
{
    char number[16], seconds[32], hex[HASH_HEX + 1];
    const char *args[] = {m->plugin, number, m->name, hex, WHARF_VERSION, seconds};
    const char *repeatable_args[] = {m->plugin, m->name, hex, WHARF_VERSION, seconds};

    migrate_hash_of(m->sql, hex);
    snprintf(number, sizeof(number), "%u", (unsigned)m->number);
    snprintf(seconds, sizeof(seconds), "%.3f", (double)(clock_monotonic_us() - started_us) / 1e6);
    if (!m->number)
        return exec_args(
            r, record_repeatable_sql, repeatable_args, 5, "the migration could not be recorded");
    return exec_args(r, record_sql, args, 6, "the migration could not be recorded");
}

/* Makes the plugin's schema, and lets unqualified names mean it. local: for this transaction
 * only. */
static bool enter_schema(struct run *r, const char *plugin, bool local)
{
    const char *args[] = {plugin, local ? "true" : "false"};

    if (strcmp(plugin, "wharf") != 0 &&
        !exec_args(r, prepare_sql, args, 1, "the schema could not be made"))
        return false;
    return exec_args(r, path_sql, args, 2, "the search path could not be set");
}

static bool migrate_grant(struct run *r, const char *plugin)
{
    return strcmp(plugin, "wharf") == 0 ||
           exec_args(r, grant_sql, &plugin, 1, "the rights could not be given");
}

/* Tells whether the migration stayed in its schema. The kernel's own files are everybody's. */
static bool stayed_home(
    struct run *r, const struct plugin_migration *m, const PGresult *rows_before)
{
    wharf_str what;

    if (!strcmp(m->plugin, "wharf") ||
        migrate_stayed_home(r->conn, m->plugin, rows_before, r->a, &what))
        return true;
    *r->error = arena_printf(r->a, "%s %.*s; a migration of %s may only touch the schema %s",
        label(r, m).p, STR_ARG(what), m->plugin, m->plugin);
    return false;
}

static bool run_in_transaction(
    struct run *r, const struct plugin_migration *m, bool *ret_lock_timeout)
{
    int64_t started = clock_monotonic_us();
    PGresult *res, *rows;
    bool good;

    *ret_lock_timeout = false;
    if (!migrate_begin(r) || !enter_schema(r, m->plugin, true))
        return false;
    if (!m->number && !exec(r, unchecked_sql, "SET"))
        return false;
    rows = migrate_rows(r->conn, m->plugin);
    res = PQexec(r->conn, m->sql.p);
    good = is_fine(res);
    if (!good) {
        const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

        *ret_lock_timeout = state && strcmp(state, "55P03") == 0;
        fail_db(r, label(r, m).p, res);
    }
    PQclear(res);
    good = good && stayed_home(r, m, rows);
    PQclear(rows);
    return good && migrate_grant(r, m->plugin) && migrate_record(r, m, started) &&
           migrate_commit(r);
}

/* Runs one statement of a file that runs without a transaction. */
static bool run_statement(
    struct run *r, const struct plugin_migration *m, const char *text, bool *ret_lock_timeout)
{
    wharf_str name;
    PGresult *res;
    const char *state;
    bool good;

    if (strcmp(m->plugin, "wharf") != 0 && !migrate_names_home(text, m->plugin, &name)) {
        *r->error = arena_printf(r->a,
            "%s names %.*s; a migration of %s may only touch the schema %s", label(r, m).p,
            STR_ARG(name), m->plugin, m->plugin);
        return false;
    }
    res = PQexec(r->conn, text);
    good = is_fine(res);
    state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    *ret_lock_timeout = state && strcmp(state, "55P03") == 0;
    if (!good)
        fail_db(r,
            arena_printf(r->a,
                "%s (runs without a transaction: statements before this one stay done; write them "
                "so that they can run again)",
                label(r, m).p)
                .p,
            res);
    PQclear(res);
    return good;
}

static bool run_statements(struct run *r, const struct plugin_migration *m, bool *ret_lock_timeout)
{
    int64_t started = clock_monotonic_us();
    wharf_str rest = m->sql, statement;

    *ret_lock_timeout = false;
    if (!exec(r, session_sql, "SET") || !enter_schema(r, m->plugin, false))
        return false;
    while (migrate_statement(&rest, &statement))
        if (!run_statement(r, m, arena_dup_str(r->a, statement).p, ret_lock_timeout))
            return false;
    return migrate_grant(r, m->plugin) && migrate_record(r, m, started) &&
           exec(r, "RESET search_path; RESET lock_timeout", "RESET");
}

/* Makes the partitions that are missing, before the first file of a plugin: one that makes those
 * of its own tables would make them with it, in tables that are not its own. */
static bool migrate_make_partitions(struct run *r)
{
    bool more = true;

    for (unsigned tries = 0; more && tries < TRIES;) {
        if (ask_bool(r, partition_sql, "partitions could not be made", &more))
            continue;
        if (++tries < TRIES) /* it waits for a lock, perhaps */
            migrate_pause_ms(RETRY_MS);
    }
    r->partitions = !more;
    return !more;
}

static bool migrate_apply(struct run *r, const struct plugin_migration *m, bool tx)
{
    bool good = false, again = true;
    int64_t started = clock_monotonic_us();

    if (strcmp(m->plugin, "wharf") != 0 && !r->partitions && !migrate_make_partitions(r))
        return false;
    for (unsigned i = 0; !good && again && i < TRIES; i++) {
        if (i)
            migrate_pause_ms(RETRY_MS);
        good = tx ? run_in_transaction(r, m, &again) : run_statements(r, m, &again);
        if (!good)
            tx_rollback(r->conn);
    }
    if (!good) {
        *r->error = arena_printf(r->a,
            "%s\nthe %u migrations before it are applied; correct the cause and run it again: it "
            "goes on with this one",
            r->error->p, r->done);
        return false;
    }
    buf_addf(r->out, "applied %s (%.3f s)\n", label(r, m).p,
        (double)(clock_monotonic_us() - started) / 1e6);
    r->done++;
    return true;
}

/* Handles one file that has not run yet. */
static bool pending(struct run *r, const struct plugin_migration *m, unsigned *waiting)
{
    struct migrate_header header;
    wharf_str ignored;
    bool held;

    migrate_header(m->sql, &header, r->a, &ignored); /* checked before */
    held = header.phase == PHASE_CONTRACT && !r->contract;
    if (!held)
        ++*waiting;
    if (r->mode == MIGRATE_PLAN)
        buf_addf(r->out, "-- %s %s (%s%s)\n%.*s\n",
            held ? "held back until --contract:" : "would apply", label(r, m).p,
            migrate_phase_name(header.phase), header.tx ? "" : ", without transaction",
            STR_ARG(m->sql));
    if (r->mode != MIGRATE_APPLY || held)
        return true;
    return migrate_apply(r, m, header.tx);
}

static enum migrate_order order_of(struct run *r, const struct plugin_migration *m)
{
    struct migrate_header header;
    wharf_str ignored;

    migrate_header(m->sql, &header, r->a, &ignored);
    return header.order;
}

/* Returns a copy of the list, in r->a, in which the files of each plugin stand in the order that
 * they ask for. */
static const struct plugin_migration *in_order(
    struct run *r, const struct plugin_migration *list, size_t count)
{
    struct plugin_migration *out = ARENA_ARRAY(r->a, struct plugin_migration, count);
    size_t n = 0;

    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && !strcmp(list[to].plugin, list[from].plugin); to++)
            ;
        for (unsigned order = ORDER_FIRST; order <= ORDER_LAST; order++) {
            for (size_t i = from; i < to; i++) {
                if (order_of(r, &list[i]) == order)
                    out[n++] = list[i];
            }
        }
    }
    return out;
}

static bool migrate_run_list(struct run *r, const struct plugin_migration *list, size_t count)
{
    unsigned waiting = 0;
    const char *first = NULL;

    if (!read_applied(r) || (r->mode != MIGRATE_CHECK && !check_newer(r, list, count)) ||
        !migrate_check_files(r, list, count))
        return false;
    list = in_order(r, list, count);
    for (size_t i = 0; i < count; i++) {
        unsigned before = waiting;

        if (migration_done(r, &list[i]))
            continue;
        if (!pending(r, &list[i], &waiting))
            return false;
        if (waiting > before && !first)
            first = label(r, &list[i]).p;
    }
    if (changes(r->mode) || !waiting)
        return true;
    *r->error = arena_printf(r->a,
        "%u migrations are not applied, the first is %s; run `wharf migrate`", waiting, first);
    return false;
}

/* Takes the lock. When two servers start at once, the second waits here and then finds nothing to
 * do. */
static bool take_lock(struct run *r)
{
    bool got = false;

    for (bool reported = false; ask_bool(r, lock_sql, asked, &got) && !got; reported = true) {
        if (!reported)
            buf_addz(r->out, "another process migrates this database; waiting for it\n");
        migrate_pause_ms(LOCK_POLL_MS);
    }
    return got;
}

/* A restore into another cluster brings the tables, and neither the role of plugins' SQL nor its
 * rights. */
static const char role_sql[] = QUERY_PLUGIN_ROLE;
static const char rights_sql[] = QUERY_PLUGIN_RIGHTS;

static bool restore_rights(struct run *r)
{
    return exec(r, role_sql,
               "the role wharf_plugin could not be made (as an administrator run: CREATE ROLE "
               "wharf_plugin NOLOGIN)") &&
           exec(r, rights_sql, "the rights of wharf_plugin could not be given");
}

bool migrate_run(PGconn *conn, const struct plugin_migration *list, size_t count,
    enum migrate_mode mode, bool contract, struct buf *out, struct arena *a, wharf_str *ret_error)
{
    struct run r = {
        .conn = conn, .a = a, .out = out, .error = ret_error, .mode = mode, .contract = contract};
    bool good;

    if (restore_has_mark(conn)) {
        *ret_error = arena_dupz(a,
            "a restore into this database was interrupted: it is not whole. Drop it, make it anew "
            "and run `wharf restore` again");
        return false;
    }
    if (mode != MIGRATE_APPLY) {
        good = migrate_run_list(&r, list, count);
        PQclear(r.applied);
        return good;
    }
    if (!take_lock(&r))
        return false;
    good = exec(&r, "SET client_min_messages = warning", "SET") &&
           exec(&r, bootstrap_sql, "the table wharf.migration could not be made") &&
           migrate_run_list(&r, list, count) && restore_rights(&r);
    PQclear(r.applied);
    PQclear(PQexec(conn, unlock_sql));
    return good;
}
