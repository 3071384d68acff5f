/* migrate_walls.c - a plugin's migration touches its own schema only. See migrate_walls.h.
 * docs/reference/plugin-abi.md section 9. */
#include "db/migrate_walls.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_queries.gen.h"
#include "util/str.h"

static const char outside_sql[] = QUERY_OUTSIDE_SCHEMA;

/* The counts are those of the session since it last reported them, so only their change tells. */
static const char rows_sql[] = "SELECT relid::regclass::text, n_tup_ins + n_tup_upd + n_tup_del "
                               "FROM pg_stat_xact_all_tables WHERE n_tup_ins + "
                               "n_tup_upd "
                               "+ n_tup_del > 0 AND schemaname NOT IN ($1::text, 'pg_catalog', "
                               "'pg_toast', 'information_schema') ORDER BY 1";

PGresult *migrate_rows(PGconn *conn, const char *plugin)
{
    return PQexecParams(conn, rows_sql, 1, NULL, &plugin, NULL, NULL, 0);
}

static bool same_count(const PGresult *before, const PGresult *after, int row)
{
    for (int i = 0; i < PQntuples(before); i++)
        if (!strcmp(PQgetvalue(before, i, 0), PQgetvalue(after, row, 0)))
            return !strcmp(PQgetvalue(before, i, 1), PQgetvalue(after, row, 1));
    return false;
}

static bool wrote_nothing(
    PGconn *conn, const char *plugin, const PGresult *before, struct arena *a, wharf_str *ret_what)
{
    PGresult *after = migrate_rows(conn, plugin);
    bool good = PQresultStatus(after) == PGRES_TUPLES_OK;

    if (!good)
        *ret_what = arena_printf(a, "could not be judged: %s", PQresultErrorMessage(after));
    for (int i = 0; good && i < PQntuples(after); i++) {
        good = same_count(before, after, i);
        if (!good)
            *ret_what = arena_printf(a, "writes rows of %s", PQgetvalue(after, i, 0));
    }
    PQclear(after);
    return good;
}

bool migrate_stayed_home(PGconn *conn, const char *plugin, const PGresult *rows_before,
    struct arena *a, wharf_str *ret_what)
{
    PGresult *r = PQexecParams(conn, outside_sql, 1, NULL, &plugin, NULL, NULL, 0);
    bool home = PQresultStatus(r) == PGRES_TUPLES_OK && !PQntuples(r);

    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        *ret_what = arena_printf(a, "could not be judged: %s", PQresultErrorMessage(r));
    else if (!home)
        *ret_what = arena_dupz(a, PQgetvalue(r, 0, 0));
    PQclear(r);
    return home && wrote_nothing(conn, plugin, rows_before, a, ret_what);
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
