/* admin.c - see admin.h. */
#include "tool/admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/transaction.h"
#include "identity/keytext.h"
#include "identity/roles.h"
#include "tool/tool_queries.gen.h"
#include "util/str.h"
#include "util/time.h"
#include <sodium.h>

enum { SCOPES_TEXT = 16 * 1024 };

/* The command line is the actor of all of these. */
static const char org_sql[] = QUERY_ORGANIZATION_ADD;
static const char user_sql[] = QUERY_OWNER_ADD;
/* Makes it when there is none. */
static const char twin_sql[] = "SELECT wharf.test_twin($1, $2)";
static const char find_org_sql[] =
    "SELECT mode FROM wharf.organization"
    " WHERE organization_id = $1 AND id = $1 AND active AND deleted_at IS NULL";
static const char find_user_sql[] =
    "SELECT 1 FROM wharf.user WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL";
static const char key_sql[] = QUERY_KEY_ADD;
static const char works_sql[] =
    "SELECT k.organization_id FROM wharf.token t JOIN wharf.api_key k ON k.organization_id = "
    "t.organization_id AND k.id = t.id"
    " WHERE t.hash = $1::bytea AND k.revoked_at IS NULL AND k.deleted_at IS NULL"
    " AND (k.expires_at IS NULL OR k.expires_at > wharf.now())";

/* Judges a result. Returns it, or NULL and a message when the database refuses. */
static PGresult *admin_judged(PGresult *r, struct arena *a, wharf_str *ret_error)
{
    ExecStatusType status = PQresultStatus(r);

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return r;
    *ret_error = arena_printf(a, "the database refused: %s", PQresultErrorMessage(r));
    if (strcmp(
            PQresultErrorField(r, PG_DIAG_SQLSTATE) ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : "",
            "42P01") == 0)
        *ret_error = arena_printf(
            a, "the tables of module org are not there; enable the module and run `wharf migrate`");
    PQclear(r);
    return NULL;
}

/* Runs one statement. Returns its result, or NULL and a message. */
static PGresult *admin_ask(PGconn *conn, const char *sql, const char *const *args, int n,
    struct arena *a, wharf_str *ret_error)
{
    return admin_judged(PQexecParams(conn, sql, n, NULL, args, NULL, NULL, 0), a, ret_error);
}

static bool admin_begin(PGconn *conn, struct arena *a, wharf_str *ret_error)
{
    PGresult *r = admin_judged(tx_begin(conn, NULL), a, ret_error);

    PQclear(r);
    return r != NULL;
}

static bool admin_run(PGconn *conn, const char *sql, const char *const *args, int n,
    struct arena *a, wharf_str *ret_error)
{
    PGresult *r = admin_ask(conn, sql, args, n, a, ret_error);

    PQclear(r);
    return r != NULL;
}

static bool admin_finish(PGconn *conn, bool good)
{
    PGresult *r = NULL;

    if (good)
        r = tx_commit(conn);
    else
        tx_rollback(conn);
    good = r && tx_committed(r);
    PQclear(r);
    return good;
}

/* Makes a new id; times in ids need not be the kernel clock's here. */
static const char *admin_new_id(struct arena *a, const char *prefix)
{
    char *id = arena_alloc(a, ID_MAX);

    id_new(prefix, clock_now_us(), id);
    return id;
}

bool admin_org_create(PGconn *conn, const struct admin_org *org, char ret_id[ID_MAX],
    struct arena *a, wharf_str *ret_error)
{
    const char *id = admin_new_id(a, "org");
    const char *org_args[] = {id, admin_new_id(a, "log"), org->name};
    const char *user_args[] = {
        id, admin_new_id(a, "log"), admin_new_id(a, "user"), org->owner_name, org->owner_email};
    bool good;

    if (!admin_begin(conn, a, ret_error))
        return false;
    good = admin_run(conn, org_sql, org_args, 3, a, ret_error);
    if (good && org->owner_email)
        good = admin_run(conn, user_sql, user_args, 5, a, ret_error);
    if (good && !admin_finish(conn, true)) {
        *ret_error = arena_printf(a, "the database did not commit");
        return false;
    }
    if (!good) {
        admin_finish(conn, false);
        return false;
    }
    snprintf(ret_id, ID_MAX, "%s", id);
    return true;
}

/* ---- scopes ---- */

struct scopes {
    struct buf *out;
    bool comma;
};

static void add_scope(struct scopes *s, const char *area, int level)
{
    buf_addf(s->out, "%s\"%s\":%d", s->comma ? "," : "{", area, level);
    s->comma = true;
}

/* Makes {"a":1,"b":2} of "a:read,b:write". Returns false at a part that is no scope. */
static bool admin_add_listed(
    struct scopes *s, const char *text, struct arena *a, wharf_str *ret_error)
{
    while (*text) {
        size_t n = strcspn(text, ","), area = strcspn(text, ":,");
        wharf_str verb = arena_dup(a, text + area, n - area);
        int level = str_eqz(verb, ":write") ? 2 : str_eqz(verb, ":read") ? 1 : 0;

        if (!level || area < 2 || area > 32 ||
            strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != area) {
            *ret_error = arena_printf(
                a, "\"%.*s\" is no scope; write area:read or area:write, or all", (int)n, text);
            return false;
        }
        if (strncmp(text, "system", area) == 0 && area == 6) {
            *ret_error = arena_printf(a, "the scope system is given by --system only");
            return false;
        }
        add_scope(s, arena_dup(a, text, area).p, level);
        text += n + (text[n] == ',');
    }
    return true;
}

static const char *scopes_json(
    const struct config *config, const struct admin_key *key, struct arena *a, wharf_str *ret_error)
{
    struct buf out;
    struct scopes s = {.out = &out};
    const char *json = NULL;
    bool good = true;

    buf_init(&out, SCOPES_TEXT);
    if (strcmp(key->scopes, "all") == 0)
        /* every area, those of plugins that are enabled later too; not system */
        add_scope(&s, "*", 2);
    else
        good = admin_add_listed(&s, key->scopes, a, ret_error);
    if (key->system)
        add_scope(&s, "system", 2);
    buf_addz(&out, s.comma ? "}" : "{}");
    if (good && out.failed)
        *ret_error = arena_printf(a, "too many scopes");
    else if (good)
        json = arena_dup_str(a, buf_str(&out)).p;
    buf_done(&out);
    return json;
}

/* ---- keys ---- */

static const char *admin_hash_text(const struct config *config, wharf_str text, struct arena *a)
{
    unsigned char hash[KEYTEXT_HASH];
    char *hex = arena_alloc(a, 2 * KEYTEXT_HASH + 3);

    keytext_hash(text, config->auth_pepper, hash);
    hex[0] = '\\';
    hex[1] = 'x';
    sodium_bin2hex(hex + 2, 2 * KEYTEXT_HASH + 1, hash, sizeof(hash));
    return hex;
}

/* Checks that it is a live organization. Its test twin is there after this when the key needs
 * it. */
static bool check_organization(
    PGconn *conn, const struct admin_key *key, struct arena *a, wharf_str *ret_error)
{
    const char *args[] = {key->organization_id, admin_new_id(a, "org")};
    PGresult *r = admin_ask(conn, find_org_sql, args, 1, a, ret_error);
    bool good = false;

    if (!r)
        return false;
    if (PQntuples(r) == 0)
        *ret_error = arena_printf(a, "there is no organization %s", key->organization_id);
    else if (strcmp(PQgetvalue(r, 0, 0), "live") != 0)
        *ret_error = arena_printf(
            a, "%s is a test organization; name the live one and add --test", key->organization_id);
    else
        good = !key->test || admin_run(conn, twin_sql, args, 2, a, ret_error);
    PQclear(r);
    return good;
}

static bool check_user(
    PGconn *conn, const struct admin_key *key, struct arena *a, wharf_str *ret_error)
{
    const char *args[] = {key->organization_id, key->user_id};
    PGresult *r;
    bool found;

    if (!key->user_id)
        return true;
    r = admin_ask(conn, find_user_sql, args, 2, a, ret_error);
    if (!r)
        return false;
    found = PQntuples(r) == 1;
    if (!found)
        *ret_error = arena_printf(
            a, "there is no user %s in %s", key->user_id, key->organization_id);
    PQclear(r);
    return found;
}

static bool insert_key(PGconn *conn, const struct config *config, const struct admin_key *key,
    const char *scopes, const char *text, struct arena *a, wharf_str *ret_error)
{
    const char *args[] = {key->organization_id, admin_new_id(a, "log"), admin_new_id(a, "key"),
        key->name, admin_hash_text(config, str_z(text), a), text + KEYTEXT_LEN - 4,
        key->test ? "test" : "live", scopes, key->user_id, key->locations};

    return check_organization(conn, key, a, ret_error) && check_user(conn, key, a, ret_error) &&
           admin_run(conn, key_sql, args, 10, a, ret_error);
}

bool admin_key_create(PGconn *conn, const struct config *config, const struct admin_key *key,
    wharf_str *ret_text, struct arena *a, wharf_str *ret_error)
{
    char text[KEYTEXT_LEN + 1];
    const char *scopes = scopes_json(config, key, a, ret_error);
    bool good;

    if (!scopes || !admin_begin(conn, a, ret_error))
        return false;
    keytext_new(key->test, text);
    *ret_error = (wharf_str){"the database did not commit", 27};
    good = admin_finish(conn, insert_key(conn, config, key, scopes, text, a, ret_error));
    if (good)
        *ret_text = arena_dupz(a, text);
    return good;
}

bool admin_key_works(
    PGconn *conn, const struct config *config, const char *text, char ret_organization[ID_MAX])
{
    struct arena *a = arena_new(0);
    const char *args[1];
    wharf_str error;
    PGresult *r = NULL;
    bool test, works = false;

    if (keytext_check(str_z(text), &test)) {
        args[0] = admin_hash_text(config, str_z(text), a);
        r = admin_ask(conn, works_sql, args, 1, a, &error);
    }
    if (r && PQntuples(r) == 1) {
        works = true;
        snprintf(ret_organization, ID_MAX, "%s", PQgetvalue(r, 0, 0));
    }
    PQclear(r);
    arena_free(a);
    return works;
}
