/* kernel_part.c - the kernel as a part of the server (resource/part.h): the tables it offers to
 * plugins, its jobs and routes. */
#include "worker/kernel_part.h"

#include "event/channel.h"
#include "event/processor.h"
#include "event/retention.h"
#include "event/seal_check.h"
#include "host/host.h"
#include "host/secret_check.h"
#include "http/http_routes.h"
#include "job/quarantined.h"
#include "util/str.h"
#include "worker/kernel_checks.gen.h"
#include "wharf/service/channel.h"
#include "wharf/service/config.h"
#include "wharf/service/cron.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/http.h"
#include "wharf/service/keys.h"
#include "wharf/service/logs.h"
#include "wharf/service/metrics.h"
#include "wharf/service/many.h"
#include "wharf/service/schema.h"
#include "wharf/service/text.h"
#include "wharf/service/token.h"
#include "wharf/service/walk.h"

/* Forgets jobs that were kept long enough. */
static wharf_status tidy(struct wharf_req *req, void *arg)
{
    PGresult *r;

    (void)arg;
    do {
        r = req_query(req, "SELECT wharf.job_tidy()", NULL, 0);
    } while (r && PQgetvalue(r, 0, 0)[0] != '0' && !req->job->stop(req));
    return r ? WHARF_OK : WHARF_UNAVAILABLE;
}

/* Purges keys that ended 30 days ago, test mails as old, and organizations that were deleted then,
 * with all their rows (docs/spec/01-platform.md sections 5 and 12). */
static wharf_status purge(struct wharf_req *req, void *arg)
{
    PGresult *r;

    (void)arg;
    do {
        r = req_query(req, "SELECT wharf.purge_keys(1000)", NULL, 0);
    } while (r && PQgetvalue(r, 0, 0)[0] != '0' && !req->job->stop(req));
    do {
        r = r ? req_query(req, "SELECT wharf.purge_mail_outbox(1000)", NULL, 0) : NULL;
    } while (r && PQgetvalue(r, 0, 0)[0] != '0' && !req->job->stop(req));
    do {
        r = r ? req_query(req, "SELECT wharf.purge_organization()", NULL, 0) : NULL;
    } while (r && PQgetvalue(r, 0, 0)[0] == 't' && !req->job->stop(req));
    return r ? WHARF_OK : WHARF_UNAVAILABLE;
}

static const struct offered_service services[] = {
    {{"wharf.mem", 1, 0}, &host_mem},
    {{"wharf.err", 1, 0}, &host_err},
    {{"wharf.log", 1, 0}, &host_log},
    {{"wharf.req", 1, 0}, &host_req},
    {{"wharf.json", 1, 0}, &host_json},
    {{"wharf.db", 1, 0}, &host_db},
    {{"wharf.res", 1, 0}, &host_res},
    {{"wharf.event", 1, 0}, &host_event},
    {{"wharf.keys", 1, 0}, &host_keys},
    {{"wharf.logs", 1, 3}, &host_logs},
    {{"wharf.config", 1, 2}, &host_config},
    {{"wharf.text", 1, 2}, &host_text},
    {{"wharf.token", 1, 3}, &host_token},
    {{"wharf.crypto", 1, 3}, &host_crypto},
    {{"wharf.http", 1, 4}, &host_http},
    {{"wharf.events", 1, 7}, &host_events},
    {{"wharf.many", 1, 3}, &host_many},
    {{"wharf.walk", 1, 0}, &host_walk},
    {{"wharf.channel", 1, 0}, &host_channel},
    {{"wharf.cron", 1, 0}, &host_cron},
    {{"wharf.metrics", 1, 1}, &host_metrics},
    {{"wharf.schema", 1, 1}, &host_schema},
};

static const struct part_job jobs[] = {
    {"events", processor_job, processor_policy},
    {"retention", retention_job,
        "{\"every\": \"15m\", \"retries\": 0, \"transaction\": \"own\", \"background\": true}"},
    {"forget_messages", channel_forget_job,
        "{\"every\": \"15m\", \"retries\": 0, \"transaction\": \"own\", \"background\": true}"},
    {"announce_quarantine", quarantined_job, quarantined_job_policy},
    {"tidy_jobs", tidy,
        "{\"every\": \"1h\", \"retries\": 0, \"transaction\": \"own\", \"background\": true}"},
    {"purge_organizations", purge,
        "{\"every\": \"1h\", \"retries\": 5, \"backoff\": {\"first\": \"1s\"}, \"timeout\": "
        "\"1h\", \"transaction\": \"own\", \"background\": true}"},
};

static const wharf_check processed = {CHECK_PROCESSED}, outbox = {CHECK_OUTBOX},
                         numbers = {CHECK_NUMBERS}, lines = {CHECK_LINES},
                         workers = {CHECK_WORKERS}, key_tokens = {CHECK_KEY_TOKENS},
                         reach = {CHECK_REACH}, twins = {CHECK_TWINS};
static const struct part_check checks[] = {{"logs", &seal_check}, {"events", &processed},
    {"events", &outbox}, {"events", &numbers}, {"jobs", &lines}, {"jobs", &workers},
    {"identity", &key_tokens}, {"identity", &reach}, {"identity", &twins},
    {"secrets", &secret_check}};

const struct part kernel_part = {.name = "kernel",
    .services = services,
    .n_services = sizeof(services) / sizeof(*services),
    .jobs = jobs,
    .n_jobs = sizeof(jobs) / sizeof(*jobs),
    .checks = checks,
    .n_checks = sizeof(checks) / sizeof(*checks),
    .routes = kernel_routes_add};
