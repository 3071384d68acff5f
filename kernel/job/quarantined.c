/* quarantined.c - see quarantined.h. The supervisor, which has no database, leaves its list in
 * the data folder (process/quarantine.h); here it becomes events. */
#include "job/quarantined.h"

#include <libpq-fe.h>
#include <unistd.h>

#include "config/config.h"
#include "resource/history.h"
#include "job/job.h"
#include "kernel_queries.gen.h"
#include "process/quarantine.h"
#include "util/json.h"
#include "util/log.h"
#include "util/str.h"

const char quarantined_job_policy[] = "{\"retries\": 20, \"backoff\": {\"first\": \"5s\"}}";

static const char announce_sql[] = QUERY_ANNOUNCE_QUARANTINE;

wharf_status quarantined_job(struct wharf_req *req, void *arg)
{
    struct change c = {.resource = "plugin",
        .resource_id = json_text_or(req->body, "name", ""),
        .seen = {.locations = {"[]", 2}},
        .action = "quarantined",
        .event = "plugin.quarantined"};
    wharf_status s;
    struct buf data;
    struct jw w;

    (void)arg;
    buf_init(&data, JOB_ARGS_MAX);
    jw_init(&w, &data);
    jw_value(&w, NULL, req->body);
    c.data = buf_str(&data);
    s = history_write(req, &c);
    buf_done(&data);
    return s;
}

static wharf_str quarantined_event_data(
    struct arena *a, const struct quarantined *q, const char *host)
{
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, JOB_ARGS_MAX);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_z(&w, "object", "plugin");
    jw_z(&w, "name", q->name);
    jw_z(&w, "status", "quarantined");
    jw_z(&w, "host", host);
    jw_z(&w, "quarantined_at", q->since);
    jw_int(&w, "crashes", q->crashes);
    jw_int(&w, "window_seconds", q->window_s);
    jw_close(&w, '}');
    text = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

void quarantined_announce(const struct engine *e, const char *database)
{
    struct quarantined list[QUARANTINE_MAX];
    size_t n = quarantine_read(e->config->data, list);
    char host[128] = "";
    PGconn *pg;

    if (!n)
        return;
    gethostname(host, sizeof(host) - 1);
    pg = PQconnectdb(database);
    for (size_t i = 0; i < n; i++) {
        const char *args[3] = {
            arena_printf(e->arena, "quarantine.%s.%s%s", list[i].name, host, e->config->data).p,
            list[i].since, quarantined_event_data(e->arena, &list[i], host).p};
        PGresult *r = PQexecParams(pg, announce_sql, 3, NULL, args, NULL, NULL, 0);

        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            log_warn("quarantine.not_announced", "%s: %s", list[i].name, PQresultErrorMessage(r));
        else
            job_wake(e);
        PQclear(r);
    }
    PQfinish(pg);
}
