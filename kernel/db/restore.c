/* restore.c - see restore.h. */
#include "db/restore.h"

#include <stdio.h>
#include <string.h>

#include "kernel_queries.gen.h"
#include "util/str.h"

static const char mark_sql[] = "CREATE SCHEMA wharf_restore",
                  marked_sql[] = "SELECT 1 WHERE to_regnamespace('wharf_restore') IS NOT NULL",
                  unmark_sql[] = "DROP SCHEMA wharf_restore",
                  extension_sql[] = "CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public; "
                                    "CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public";
static const char role_sql[] = QUERY_PLUGIN_ROLE, rights_sql[] = QUERY_PLUGIN_RIGHTS;

/* Runs a statement. remedy: what an administrator does when this user may not. */
static bool restore_run_statement(
    PGconn *conn, const char *sql, const char *remedy, struct arena *a, wharf_str *ret_error)
{
    PGresult *r = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(r);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!good) {
        const char *text = PQresultErrorMessage(r);

        *ret_error = arena_printf(
            a, "%.*s%s%s", (int)strcspn(text, "\n"), text, *remedy ? "; " : "", remedy);
    }
    PQclear(r);
    return good;
}

bool restore_begin(PGconn *conn, struct arena *a, wharf_str *ret_error)
{
    /* the mark comes last: when something is missing, the database is as it was */
    return restore_run_statement(conn, extension_sql,
               "as an administrator run in this database: CREATE EXTENSION pg_trgm; CREATE "
               "EXTENSION unaccent;",
               a, ret_error) &&
           restore_run_statement(conn, role_sql,
               arena_printf(a,
                   "as an administrator run: CREATE ROLE wharf_plugin NOLOGIN; GRANT wharf_plugin "
                   "TO \"%s\";",
                   PQuser(conn))
                   .p,
               a, ret_error) &&
           restore_run_statement(
               conn, mark_sql, "the database must belong to this user", a, ret_error);
}

bool restore_end(PGconn *conn, struct arena *a, wharf_str *ret_error)
{
    return restore_run_statement(conn, rights_sql, "", a, ret_error) &&
           restore_run_statement(conn, "ANALYZE", "", a, ret_error) &&
           restore_run_statement(conn, unmark_sql, "", a, ret_error);
}

bool restore_has_mark(PGconn *conn)
{
    PGresult *r = PQexec(conn, marked_sql);
    bool marked = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;

    PQclear(r);
    return marked;
}

/* ---- rights ---- */

/* A restore brings tables back, and not the roles of the cluster; without owners and privileges
 * not the grants either. */
static const char missing_role_sql[] = QUERY_MISSING_ROLE,
                  missing_grant_sql[] = QUERY_MISSING_GRANT;

/* Reads the first value that a statement answers, or nothing. Returns false when it failed. */
static bool ask_text(PGconn *conn, const char *sql, const char *arg, char ret[static RIGHTS_TEXT])
{
    PGresult *r = PQexecParams(conn, sql, arg ? 1 : 0, NULL, &arg, NULL, NULL, 0);
    bool good = PQresultStatus(r) == PGRES_TUPLES_OK;

    ret[0] = 0;
    if (good && PQntuples(r) > 0 && !PQgetisnull(r, 0, 0))
        snprintf(ret, RIGHTS_TEXT, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    return good;
}

bool rights_missing(PGconn *conn, const char *schemas, char ret[static RIGHTS_TEXT])
{
    return ask_text(conn, missing_role_sql, NULL, ret) &&
           (ret[0] || ask_text(conn, missing_grant_sql, schemas, ret));
}
