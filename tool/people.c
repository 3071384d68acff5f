/* people.c - see people.h. */
#include "tool/people.h"

#include <stdio.h>
#include <string.h>

#include "db/transaction.h"
#include "identity/roles.h"
#include "tool/tool_queries.gen.h"
#include "util/str.h"
#include "util/time.h"

/* The command line is the actor of all of these. */
static const char create_sql[] = QUERY_USER_ADD;
static const char role_sql[] =
    "SELECT 1 FROM wharf.role WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL";
static const char users_sql[] = "SELECT id, status, role, email, name FROM wharf.user WHERE "
                                "organization_id = $1 AND deleted_at IS NULL"
                                " ORDER BY lower(name), id";
/* Whoever removes an owner waits here for whoever does it over HTTP (modules/org/users.c takes
 * the same lock). */
static const char owners_lock_sql[] = "SELECT pg_advisory_xact_lock(hashtextextended('org.owners:' "
                                      "|| organization_id, 0)) FROM wharf.user WHERE id = $1";
static const char disable_sql[] = QUERY_USER_DISABLE;
static const char keys_sql[] = QUERY_KEYS;
static const char revoke_sql[] = QUERY_KEY_REVOKE;
static const char limit_sql[] = QUERY_LIMIT;

static const char *people_new_id(struct arena *a, const char *prefix)
{
    char *id = arena_alloc(a, ID_MAX);

    id_new(prefix, clock_now_us(), id);
    return id;
}

/* Judges a result. Returns it, or NULL and a message when the database refuses. */
static PGresult *people_judged(PGresult *r, struct arena *a, wharf_str *ret_error)
{
    const char *state;

    if (PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK)
        return r;
    state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    if (state && strcmp(state, "23505") == 0)
        *ret_error = str_z("there is already a user with this email");
    else
        *ret_error = arena_printf(a, "the database refused: %s", PQresultErrorMessage(r));
    PQclear(r);
    return NULL;
}

/* Runs a statement. Returns its result, or NULL and a message. */
static PGresult *people_ask(PGconn *conn, const char *sql, const char *const *args, int n,
    struct arena *a, wharf_str *ret_error)
{
    return people_judged(PQexecParams(conn, sql, n, NULL, args, NULL, NULL, 0), a, ret_error);
}

/* Judges a step of a transaction. */
static bool stepped(PGresult *result, struct arena *a, wharf_str *ret_error)
{
    PGresult *r = people_judged(result, a, ret_error);

    PQclear(r);
    return r != NULL;
}

/* Returns how many rows a statement changed; -1 after a failure. */
static int people_change(PGconn *conn, const char *sql, const char *const *args, int n,
    struct arena *a, wharf_str *ret_error)
{
    PGresult *r = people_ask(conn, sql, args, n, a, ret_error);
    int rows = r ? PQntuples(r) : -1;

    PQclear(r);
    return rows;
}

static bool people_list(PGconn *conn, const char *sql, const char *organization_id, struct buf *out,
    struct arena *a, wharf_str *ret_error)
{
    PGresult *r = people_ask(conn, sql, &organization_id, 1, a, ret_error);

    for (int row = 0; r && row < PQntuples(r); row++) {
        for (int c = 0; c < PQnfields(r); c++)
            buf_addf(out, "%s%s", c ? "  " : "", PQgetvalue(r, row, c));
        buf_addc(out, '\n');
    }
    PQclear(r);
    return r != NULL;
}

/* Tells running servers to read keys again. */
static bool tell_servers(PGconn *conn, struct arena *a, wharf_str *ret_error)
{
    return people_change(conn, "SELECT pg_notify('wharf_auth', '')", NULL, 0, a, ret_error) >= 0;
}

bool people_user_create(PGconn *conn, const struct people_user *user, char ret_id[ID_MAX],
    struct arena *a, wharf_str *ret_error)
{
    const char *id = people_new_id(a, "user");
    const char *args[] = {
        user->organization_id, people_new_id(a, "log"), id, user->name, user->email, user->role};
    const char *role_args[] = {user->organization_id, user->role};
    int n;

    if (!role_is_builtin(user->role) &&
        people_change(conn, role_sql, role_args, 2, a, ret_error) != 1) {
        *ret_error = arena_printf(
            a, "there is no role %s in %s", user->role, user->organization_id);
        return false;
    }
    n = people_change(conn, create_sql, args, 6, a, ret_error);
    if (n == 0)
        *ret_error = arena_printf(a, "there is no live organization %s", user->organization_id);
    if (n == 1)
        snprintf(ret_id, ID_MAX, "%s", id);
    return n == 1;
}

bool people_user_list(PGconn *conn, const char *organization_id, struct buf *out, struct arena *a,
    wharf_str *ret_error)
{
    return people_list(conn, users_sql, organization_id, out, a, ret_error);
}

bool people_user_disable(PGconn *conn, const char *user_id, struct arena *a, wharf_str *ret_error)
{
    const char *args[] = {user_id, people_new_id(a, "log")};
    int n = -1;

    if (!stepped(tx_begin(conn, NULL), a, ret_error))
        return false;
    if (people_change(conn, owners_lock_sql, args, 1, a, ret_error) >= 0)
        n = people_change(conn, disable_sql, args, 2, a, ret_error);
    if (n == 0)
        *ret_error = arena_printf(
            a, "%s is no user, is disabled already, or is the last active owner", user_id);
    if (n != 1) {
        tx_rollback(conn);
        return false;
    }
    return tell_servers(conn, a, ret_error) && stepped(tx_commit(conn), a, ret_error);
}

bool people_key_list(PGconn *conn, const char *organization_id, struct buf *out, struct arena *a,
    wharf_str *ret_error)
{
    return people_list(conn, keys_sql, organization_id, out, a, ret_error);
}

bool people_key_revoke(PGconn *conn, const char *key_id, struct arena *a, wharf_str *ret_error)
{
    const char *args[] = {key_id, people_new_id(a, "log")};
    int n = people_change(conn, revoke_sql, args, 2, a, ret_error);

    if (n == 0)
        *ret_error = arena_printf(a, "%s is no key, or was revoked already", key_id);
    return n == 1 && tell_servers(conn, a, ret_error);
}

bool people_limit(
    PGconn *conn, const struct people_limit *limit, struct arena *a, wharf_str *ret_error)
{
    const char *args[] = {limit->id, people_new_id(a, "log"), limit->limits,
        limit->anew ? "true" : "false", limit->organization ? "true" : "false"};
    int n = -1;

    if (!stepped(tx_begin(conn, NULL), a, ret_error))
        return false;
    n = people_change(conn, limit_sql, args, 5, a, ret_error);
    if (n == 0)
        *ret_error = arena_printf(a,
            limit->organization ? "there is no organization %s" : "there is no key %s in use",
            limit->id);
    if (n != 1) {
        tx_rollback(conn);
        return false;
    }
    return tell_servers(conn, a, ret_error) && stepped(tx_commit(conn), a, ret_error);
}
