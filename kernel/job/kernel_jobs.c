/* kernel_jobs.c - the kernel's own jobs, one line each in the table. Leaves to others: what they do. */
#include "blob/file.h"
#include "event/channel.h"
#include "event/processor.h"
#include "event/retention.h"
#include "job/job.h"
#include "job/quarantined.h"
#include "lua/operator/operator.h"
#include "net/mail_job.h"
#include "plugin/declare.h"
#include "util/str.h"

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

/* Keys that ended 30 days ago, test mails as old, and organizations that were deleted then, with all their rows (docs/spec/01-platform.md sections 5 and 12). */
static wharf_status purge(struct wharf_req *req, void *arg)
{
    PGresult *r;

    (void)arg;
    do {
        r = req_query(req, "SELECT org.purge_keys(1000)", NULL, 0);
    } while (r && PQgetvalue(r, 0, 0)[0] != '0' && !req->job->stop(req));
    do {
        r = r ? req_query(req, "SELECT org.purge_outbox(1000)", NULL, 0) : NULL;
    } while (r && PQgetvalue(r, 0, 0)[0] != '0' && !req->job->stop(req));
    do {
        r = r ? req_query(req, "SELECT org.purge_organization()", NULL, 0) : NULL;
    } while (r && PQgetvalue(r, 0, 0)[0] == 't' && !req->job->stop(req));
    return r ? WHARF_OK : WHARF_UNAVAILABLE;
}

static const struct {
    const char *name;
    wharf_handler *fn;
    const char *policy;
} jobs[] = {
    {"events", processor_job, processor_policy},
    {"mail", mail_job, mail_job_policy},
    {"lua_hook", operator_job, operator_job_policy},
    {"lua_schedules", operator_plan, operator_plan_policy},
    {"collect_files", file_collect_job, file_collect_policy},
    {"retention", retention_job,
        "{\"every\": \"15m\", \"retries\": 0, \"transaction\": \"own\", \"background\": true}"},
    {"forget_messages", channel_forget_job,
        "{\"every\": \"15m\", \"retries\": 0, \"transaction\": \"own\", \"background\": true}"},
    {"announce_quarantine", quarantined_job, quarantined_job_policy},
    {"tidy_jobs", tidy, "{\"every\": \"1h\", \"retries\": 0, \"transaction\": \"own\", \"background\": true}"},
    {"purge_organizations", purge,
        "{\"every\": \"1h\", \"retries\": 5, \"backoff\": {\"first\": \"1s\"}, \"timeout\": \"1h\", \"transaction\": "
        "\"own\", \"background\": true}"},
};

void kernel_jobs_add(struct wharf_decl *d)
{
    d->plugin = NULL;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
        job_declare(d, jobs[i].name, jobs[i].fn, NULL, str_z(jobs[i].policy));
}
