/* need.c - see need.h. */
#include "tool/need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/exchange.h"
#include "job/job.h"
#include "lua/lua_share.h"
#include "supervisor/listen.h"
#include "tool/cli/cli.h"
#include "util/cores.h"
#include "util/str.h"

/* beside lanes and threads: notices, streams, the request log, the look at readiness */
enum { WEB_BESIDE = 4, JOB_BESIDE = 3 };

static bool need_has_module(const struct engine *e, const char *name)
{
    for (size_t i = 0; i < e->n_plugins; i++)
        if (strcmp(e->plugins[i].name, name) == 0)
            return true;
    return false;
}

static size_t need_of_web(const struct config *c, const struct engine *e)
{
    unsigned least = 0, most = 0;

    if (need_has_module(e, "workflows"))
        share_cells(c, &least, &most);
    return lanes_wanted(c) + (size_t)c->database_pool + most + WEB_BESIDE;
}

static size_t need_of_job(const struct config *c, const struct engine *e)
{
    /* with the embedded database a thread has another one, for work that steps back */
    size_t each = strcmp(c->database, "embedded") == 0 ? 2 : 1,
           threads = (size_t)c->jobs_threads + job_long_threads(c) + JOB_RESIDENTS_MAX;

    /* a walk over many rows has one of its own, so has what a resident writes beside */
    return lanes_wanted(c) + 1 + threads * each + (size_t)c->jobs_threads + JOB_RESIDENTS_MAX +
           JOB_BESIDE;
}

static size_t need_allowed(PGconn *conn)
{
    PGresult *r = PQexec(conn,
        "SELECT least(current_setting('max_connections')::int - "
        "current_setting('superuser_reserved_connections')::int, (SELECT NULLIF(rolconnlimit, -1) "
        "FROM pg_roles WHERE rolname = current_user), (SELECT NULLIF(datconnlimit, -1) FROM "
        "pg_database WHERE datname = current_database()))");
    size_t n = PQntuples(r) == 1 ? (size_t)strtoull(PQgetvalue(r, 0, 0), NULL, 10) : 0;

    PQclear(r);
    return n;
}

void need_connections(PGconn *conn, const struct config *config, const struct engine *e)
{
    size_t n_web = config->workers ? (size_t)config->workers : cores_allowed(),
           web = need_of_web(config, e), job = need_of_job(config, e),
           all = n_web * web + (size_t)config->jobs_workers * job, most = need_allowed(conn);

    printf("connections to the database: at most %zu (%zu web workers with %zu each, %lld job "
           "workers with %zu each); ",
        all, n_web, web, (long long)config->jobs_workers, job);
    if (config->database_direct[0])
        printf("the pooler must give as many, and the database %zu past it\n",
            n_web + (size_t)config->jobs_workers);
    else
        printf("the database gives %zu\n", most);
    if (!config->database_direct[0] && most && most < all)
        cli_fail("the database gives fewer connections than this server may want: it serves with "
                 "fewer lanes and threads then; raise max_connections of PostgreSQL, or lower "
                 "workers, database.lanes, database.pool, workflows.cells_max or jobs.threads");
}

/* ---- ports ---- */

static bool port_is_free(const char *key, const char *address, struct arena *a)
{
    struct listen_address at;
    wharf_str error = {"", 0};
    int fd;

    if (!address[0])
        return true;
    if (!listen_open(address, 1, &fd, &at, a, &error)) {
        cli_fail("%s: %s", key, error.p);
        return false;
    }
    close(fd);
    return true;
}

bool need_ports(const struct config *config, struct arena *a)
{
    bool good, admin;

    if (access(arena_printf(a, "%s/control.sock", config->data).p, F_OK) == 0)
        return true; /* a server runs, and has them */
    good = port_is_free("listen", config->listen, a);
    admin = port_is_free("admin.listen", config->admin_listen, a);
    return good && admin;
}

bool need_base_url(const struct config *config)
{
    wharf_str url = str_z(config->base_url);
    bool https = str_starts(url, "https://"), known = https || str_starts(url, "http://");
    size_t head = https ? 8 : 7;

    if (!url.n)
        return true;
    if (!known || !strcspn(url.p + head, "/") || strcspn(url.p, "?# ") != url.n) {
        cli_fail(
            "base_url: \"%s\" must begin with https:// or http:// and a host", config->base_url);
        return false;
    }
    if (!https && strcmp(config->environment, "production") == 0)
        cli_fail("base_url begins with http://: links of this installation can be read on their "
                 "way");
    return true;
}
