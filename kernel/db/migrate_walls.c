/* migrate_walls.c - a plugin's migration touches its own schema only. See migrate_walls.h.
 * docs/reference/plugin-abi.md section 9. */
#include "db/migrate_walls.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_queries.gen.h"
#include "util/str.h"

static const char outside_sql[] = QUERY_OUTSIDE_SCHEMA;

/* The counts are those of the session since it last reported them, so only their change tells. The
 * catalogues are among them, and say so in the third column. */
static const char rows_sql[] =
    "SELECT c.oid::regclass::text, c.n, s.nspname = 'pg_catalog' FROM (SELECT oid, relnamespace, "
    "pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid) + "
    "pg_stat_get_xact_tuples_deleted(oid) AS n FROM pg_class WHERE relkind IN "
    "('r', 't', 'm', 'p')) c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.n > 0 "
    "AND s.nspname NOT IN ($1::text, 'pg_toast', 'information_schema') ORDER BY 1";

PGresult *migrate_rows(PGconn *conn, const char *plugin)
{
    return PQexecParams(conn, rows_sql, 1, NULL, &plugin, NULL, NULL, 0);
}

static bool same_count(const PGresult *before, const PGresult *after, int row)
{
    for (int i = 0; i < PQntuples(before); i++)
        if (!strcmp(PQgetvalue(before, i, 0), PQgetvalue(after, row, 0)) &&
            !strcmp(PQgetvalue(before, i, 2), PQgetvalue(after, row, 2)))
            return !strcmp(PQgetvalue(before, i, 1), PQgetvalue(after, row, 1));
    return false;
}

static bool is_catalogue(const PGresult *rows, int row)
{
    return PQgetvalue(rows, row, 2)[0] == 't';
}

/* Tells whether no rows of others were written. */
static bool wrote_nothing(
    const PGresult *before, const PGresult *after, struct arena *a, wharf_str *ret_what)
{
    for (int i = 0; i < PQntuples(after); i++) {
        if (is_catalogue(after, i) || same_count(before, after, i))
            continue;
        *ret_what = arena_printf(a, "writes rows of %s", PQgetvalue(after, i, 0));
        return false;
    }
    return true;
}

/* Returns the catalogues that were written, as an array of PostgreSQL: their names need no
 * quotes. */
static const char *catalogues_written(
    const PGresult *before, const PGresult *after, struct arena *a)
{
    const char *names = "";

    for (int i = 0; i < PQntuples(after); i++) {
        if (is_catalogue(after, i) && !same_count(before, after, i))
            names = arena_printf(a, "%s%s%s", names, *names ? "," : "", PQgetvalue(after, i, 0)).p;
    }
    return arena_printf(a, "{%s}", names).p;
}

static bool changed_nothing(
    PGconn *conn, const char *plugin, const char *catalogues, struct arena *a, wharf_str *ret_what)
{
    const char *args[] = {plugin, catalogues};
    PGresult *r = PQexecParams(conn, outside_sql, 2, NULL, args, NULL, NULL, 0);
    bool home = PQresultStatus(r) == PGRES_TUPLES_OK && !PQntuples(r);

    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        *ret_what = arena_printf(a, "could not be judged: %s", PQresultErrorMessage(r));
    else if (!home)
        *ret_what = arena_dupz(a, PQgetvalue(r, 0, 0));
    PQclear(r);
    return home;
}

bool migrate_stayed_home(PGconn *conn, const char *plugin, const PGresult *rows_before,
    struct arena *a, wharf_str *ret_what)
{
    PGresult *after = migrate_rows(conn, plugin);
    bool good = PQresultStatus(after) == PGRES_TUPLES_OK;

    if (!good)
        *ret_what = arena_printf(a, "could not be judged: %s", PQresultErrorMessage(after));
    else
        good = changed_nothing(
                   conn, plugin, catalogues_written(rows_before, after, a), a, ret_what) &&
               wrote_nothing(rows_before, after, a, ret_what);
    PQclear(after);
    return good;
}

/* ---- files without a transaction ---- */

static bool name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Skips a comment or a text at p; returns p itself when neither begins there. */
static const char *skip_quiet(const char *p)
{
    if (p[0] == '-' && p[1] == '-')
        return p + strcspn(p, "\n");
    if (*p != '\'')
        return p;
    p++;
    while (*p && *p != '\'')
        p++;
    return p + (*p != 0);
}

/* Calls of the server's own functions ("wharf.fold(") are how indexes are made; they change
 * nothing. */
static bool calls_server(const char *schema, size_t n, const char *dot)
{
    const char *p = dot + 1;

    while (name_byte(*p))
        p++;
    return n == 5 && !strncmp(schema, "wharf", 5) && *p == '(';
}

bool migrate_names_home(const char *statement, const char *plugin, wharf_str *ret_name)
{
    size_t own = strlen(plugin);

    for (const char *p = statement; *p;) {
        const char *from = skip_quiet(p), *end;

        if (from != p || !name_byte(*p)) {
            p = from != p ? from : p + 1;
            continue;
        }
        end = p;
        while (name_byte(*end))
            end++;
        if (*end == '.' && name_byte(end[1]) && !isdigit((unsigned char)*p) &&
            !((size_t)(end - p) == own && !strncmp(p, plugin, own)) &&
            !calls_server(p, (size_t)(end - p), end) &&
            !((size_t)(end - p) == 6 && !strncmp(p, "public", 6))) {
            *ret_name = (wharf_str){p, strcspn(p, " \t\r\n(;,")};
            return false;
        }
        while (name_byte(*end) || *end == '.')
            end++;
        p = end;
    }
    return true;
}
