/* job_cmd.c - `wharf job`: what the operator sees of jobs, and the two things he can do to one
 * (docs/internals/jobs.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cli/cli.h"
#include "tool/tool_queries.gen.h"
#include "util/str.h"

static const char usage[] = "wharf job list [--queue NAME] [--org ID] [--state STATE] [--past], "
                            "wharf job show ID, wharf job cancel ID, or "
                            "wharf job retry ID";

static const char list_sql[] = QUERY_JOBS_LIST;
static const char past_sql[] = QUERY_JOBS_PAST;
static const char show_sql[] =
    "SELECT m.key, m.value FROM (SELECT to_jsonb(j) AS j FROM wharf.job j WHERE id = $1::bigint"
    " UNION ALL SELECT to_jsonb(p) FROM wharf.job_past p WHERE id = $1::bigint) x CROSS JOIN "
    "LATERAL jsonb_each_text(x.j) m"
    " WHERE m.value IS NOT NULL";

static PGresult *job_ask(PGconn *conn, const char *sql, const char *const *values, int n)
{
    PGresult *r = PQexecParams(conn, sql, n, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(r) == PGRES_TUPLES_OK)
        return r;
    cli_fail("the database says: %s", PQresultErrorMessage(r));
    PQclear(r);
    return NULL;
}

static int job_cmd_list(PGconn *conn, const char *const filters[3], bool past)
{
    PGresult *r = job_ask(conn, past ? past_sql : list_sql, filters, 3);

    if (!r)
        return EXIT_FAILED;
    printf("%-12s %-24s %-28s %-27s %-20s %8s %-20s %-12s %s\n", "job", "state", "queue",
        "organization", "key", "attempts", past ? "ended" : "due", "progress", "error");
    for (int i = 0; i < PQntuples(r); i++)
        printf("%-12s %-24s %-28s %-27s %-20s %8s %-20s %-12s %s\n", PQgetvalue(r, i, 0),
            PQgetvalue(r, i, 1), PQgetvalue(r, i, 2), PQgetvalue(r, i, 3), PQgetvalue(r, i, 4),
            PQgetvalue(r, i, 5), PQgetvalue(r, i, 6), PQgetvalue(r, i, 7), PQgetvalue(r, i, 8));
    PQclear(r);
    return EXIT_FINE;
}

static int job_show(PGconn *conn, const char *id)
{
    PGresult *r = job_ask(conn, show_sql, &id, 1);
    int n = r ? PQntuples(r) : 0;

    for (int i = 0; i < n; i++)
        printf("%-16s %s\n", PQgetvalue(r, i, 0), PQgetvalue(r, i, 1));
    PQclear(r);
    return n   ? EXIT_FINE
           : r ? cli_fail("there is no job_%s; it is over and was not kept", id)
               : EXIT_FAILED;
}

static int job_cmd_cancel(PGconn *conn, const char *id)
{
    PGresult *r = job_ask(conn, "SELECT wharf.job_cancel($1::bigint, 7776000)", &id, 1);
    bool reported;

    if (!r)
        return EXIT_FAILED;
    if (PQgetisnull(r, 0, 0)) {
        PQclear(r);
        return cli_fail("job_%s neither waits nor runs", id);
    }
    reported = strcmp(PQgetvalue(r, 0, 0), "told") == 0;
    puts(reported ? "it runs, and is told to stop" : "canceled");
    PQclear(r);
    PQclear(PQexec(conn, "NOTIFY wharf_job"));
    return EXIT_FINE;
}

static int job_cmd_retry(PGconn *conn, const char *id)
{
    PGresult *r = job_ask(conn, "SELECT wharf.job_retry($1::bigint)", &id, 1);
    bool good = r && PQgetvalue(r, 0, 0)[0] == 't';

    if (r && !good)
        cli_fail("job_%s is not among those that were parked or canceled", id);
    PQclear(r);
    if (!good)
        return EXIT_FAILED;
    puts("it waits to run again");
    PQclear(PQexec(conn, "NOTIFY wharf_job"));
    return EXIT_FINE;
}

/* Returns the digits of "job_12" or "12"; NULL: neither. */
static const char *job_cmd_number(const char *word)
{
    const char *digits = strncmp(word, "job_", 4) == 0 ? word + 4 : word;
    size_t n = strspn(digits, "0123456789");

    return n && n < 19 && !digits[n] ? digits : NULL;
}

static bool job_known(const char *verb)
{
    return strcmp(verb, "show") == 0 || strcmp(verb, "cancel") == 0 || strcmp(verb, "retry") == 0;
}

int command_job(int argc, char **argv)
{
    const char *queue = NULL, *org = NULL, *state = NULL, *verb, *id;
    bool past = false, listing;
    const struct cli_option opts[] = {{"--queue", &queue, NULL}, {"--org", &org, NULL},
        {"--state", &state, NULL}, {"--past", NULL, &past}};
    struct config *config;
    struct cli_db db;
    struct cli c;
    int code;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    verb = c.n_words ? c.words[0] : "";
    id = c.n_words == 2 ? job_cmd_number(c.words[1]) : NULL;
    listing = strcmp(verb, "list") == 0;
    if (listing ? c.n_words != 1 : !id || !job_known(verb)) {
        cli_fail("%s", usage);
        return EXIT_USAGE;
    }
    config = cli_config(&c);
    if (!config || !cli_db_open(&db, config, c.a))
        return EXIT_FAILED;
    if (listing)
        code = job_cmd_list(db.conn, (const char *const[]){queue, org, state}, past);
    else
        code = *verb == 's'   ? job_show(db.conn, id)
               : *verb == 'c' ? job_cmd_cancel(db.conn, id)
                              : job_cmd_retry(db.conn, id);
    cli_db_close(&db);
    return code;
}
