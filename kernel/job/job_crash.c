/* job_crash.c - workers that died: their jobs are run again, and those that brought them down
 * are counted (docs/reference/plugin-abi.md section 11).
 *
 * The supervisor notes in the crash report which jobs are to blame (supervisor/blame.c); without
 * a report (kill -9) nobody is. A dead worker of this server is seen by its process number; one
 * of another machine when its lease is over. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "job/job_inside.h"
#include "process/crash.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum { KEEP_PARKED_S = 90 * 86400 }; /* jobs that crashed are kept */

static void job_crash_first_line(const char *file, char *out, size_t size)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : 0;

    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    if (fd >= 0)
        close(fd);
}

void runner_host(struct runner *r)
{
    char boot_id[48], space[48];
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

    space[n > 0 ? n : 0] = 0;
    job_crash_first_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
    snprintf(r->host, sizeof(r->host), "%s %s", boot_id, space);
}

/* Writes "job_12 job_15" as a PostgreSQL array: {12,15}. */
static void put_ids(const char *jobs, struct buf *out)
{
    bool first = true;

    buf_addc(out, '{');
    for (const char *p = jobs; (p = strstr(p, "job_")); first = false) {
        size_t n;

        p += strlen("job_");
        n = strspn(p, "0123456789");
        if (n && n < 19)
            buf_addf(out, "%s%.*s", first ? "" : ",", (int)n, p);
    }
    buf_addc(out, '}');
}

static bool bury(struct runner *r, const char *worker, const struct crash_report *report)
{
    char keep[24];
    struct sql_arg args[5] = {{worker, strlen(worker)}, {NULL, 0}, {r->queues.p, r->queues.n},
        {r->crash_limits.p, r->crash_limits.n}, {keep, 0}};
    struct db_error e;
    PGresult *result;
    struct buf ids;

    buf_init(&ids, 4096);
    put_ids(report->jobs, &ids);
    snprintf(keep, sizeof(keep), "%d", KEEP_PARKED_S);
    args[1] = (struct sql_arg){ids.p, ids.n};
    args[4].n = strlen(keep);
    result = db_run(r->db,
        "SELECT wharf.job_crashed($1, $2::bigint[], $3::text[], $4::integer[], $5::bigint)", args,
        5, &e);
    if (result && ids.n > 2)
        log_write(WHARF_LOG_ERROR, report->plugin, report->jobs, "job.crashed_worker",
            "running when a worker crashed%s",
            PQgetvalue(result, 0, 0)[0] != '0' ? "; parked" : "");
    PQclear(result);
    buf_done(&ids);
    return result != NULL;
}

/* Looks at one worker. The row has: id, pid, started_us, whether its lease was renewed within the
 * last seconds. */
static bool job_crash_look_at(struct runner *r, const PGresult *result, int row)
{
    pid_t pid = (pid_t)strtol(PQgetvalue(result, row, 1), NULL, 10);
    int64_t started = strtoll(PQgetvalue(result, row, 2), NULL, 10);
    bool fresh = PQgetvalue(result, row, 3)[0] == 't';
    struct crash_report report = {.file = ""};
    bool dead = pid == getpid() ? started != r->started_us : kill(pid, 0) != 0 && errno == ESRCH;

    if (!dead)
        return true;
    /* A supervisor that starts a worker has judged the one before; at any other time it may be
     * about to. */
    if (r->swept && fresh)
        return true;
    crash_read_report(r->config->crash_dir, pid, started, &report);
    return bury(r, PQgetvalue(result, row, 0), &report);
}

bool queue_sweep(struct runner *r)
{
    struct sql_arg args[3] = {{r->worker, strlen(r->worker)}, {r->host, strlen(r->host)},
        {r->config->crash_dir, strlen(r->config->crash_dir)}};
    struct db_error e;
    PGresult *result = db_run(r->db,
        "SELECT id, pid, started_us, lease_until > wharf.now() + interval '12 seconds' FROM "
        "wharf.job_worker"
        " WHERE id <> $1 AND host = $2 AND crash_dir = $3",
        args, 3, &e);
    bool good = result != NULL;

    for (int i = 0; good && i < PQntuples(result); i++)
        good = job_crash_look_at(r, result, i);
    PQclear(result);
    if (good) {
        result = db_run(r->db, "SELECT wharf.job_sweep()", NULL, 0, &e);
        good = result != NULL;
        if (good && PQgetvalue(result, 0, 0)[0] != '0')
            log_info("job.taken_over", "%s jobs of dead workers are run again",
                PQgetvalue(result, 0, 0));
        PQclear(result);
    }
    r->swept = r->swept || good;
    return good;
}
