/* journal.c - what a crash must not lose: for each job how far it was, one line of JSON each, on
 * disk before the next step is taken (spec 04 section 10.4).
 *
 * claimed -> submitting -> submitted (the device's number) -> final (what the server is to be
 * told) -> reported. The file is shortened at each start. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "station.h"

enum { LEFT_MAX = 256, LINE_MAX_BYTES = 2048 };

static int journal_fd = -1;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct record left[LEFT_MAX];
static size_t n_left;

static const char *const steps[] = {
    "none", "claimed", "submitting", "submitted", "final", "reported"};

static bool stopped_once;

void fault_point(const char *name)
{
    const char *die = getenv("WHARF_STATION_DIE"), *stop = getenv("WHARF_STATION_STOP");

    if (die && !strcmp(die, name))
        kill(getpid(), SIGKILL);
    if (stop && !strcmp(stop, name) && !stopped_once) {
        stopped_once = true;
        /* Until somebody has killed the server or the printer. Not kill(): there other threads
         * may stop first, and this one goes on a little. */
        raise(SIGSTOP);
    }
}

/* ---- reading ---- */

static void journal_keep(const struct record *r)
{
    size_t i = 0;

    while (i < n_left && (strcmp(left[i].id, r->id) != 0 || left[i].attempt != r->attempt))
        i++;
    if (i == LEFT_MAX)
        return;
    left[i] = *r;
    n_left += i == n_left;
    if (r->step == STEP_REPORTED)
        left[i] = left[--n_left];
}

static void journal_text_of(const cJSON *o, const char *key, char *to, size_t size)
{
    snprintf(to, size, "%s", member_text(o, key, ""));
}

static void journal_read_line(const char *line)
{
    cJSON *o = cJSON_ParseWithOpts(line, NULL, true);
    struct record r = {.step = STEP_NONE};
    char step[16];

    /* a line that a crash cut off says nothing that was promised */
    if (cJSON_IsObject(o)) {
        journal_text_of(o, "id", r.id, sizeof(r.id));
        journal_text_of(o, "printer", r.printer, sizeof(r.printer));
        journal_text_of(o, "outcome", r.outcome, sizeof(r.outcome));
        journal_text_of(o, "confidence", r.confidence, sizeof(r.confidence));
        journal_text_of(o, "code", r.code, sizeof(r.code));
        journal_text_of(o, "reason", r.reason, sizeof(r.reason));
        journal_text_of(o, "step", step, sizeof(step));
        r.attempt = member_int(o, "attempt", 0);
        r.device_job = member_int(o, "device_job", 0);
        for (size_t i = 1; i < sizeof(steps) / sizeof(steps[0]); i++)
            r.step = !strcmp(step, steps[i]) ? (enum step)i : r.step;
        if (r.id[0] && r.step != STEP_NONE)
            journal_keep(&r);
    }
    cJSON_Delete(o);
}

static void journal_read_all(FILE *f)
{
    char line[LINE_MAX_BYTES];

    while (fgets(line, sizeof(line), f))
        journal_read_line(line);
}

/* ---- writing ---- */

/* Makes the line of a record, without its end. Returns false when there is no memory or no room. */
static bool journal_line_of(const struct record *r, char *to, int size)
{
    cJSON *o = cJSON_CreateObject();
    bool good = cJSON_AddStringToObject(o, "id", r->id) &&
                cJSON_AddStringToObject(o, "printer", r->printer) &&
                cJSON_AddNumberToObject(o, "attempt", r->attempt) &&
                cJSON_AddStringToObject(o, "step", steps[r->step]) &&
                cJSON_AddNumberToObject(o, "device_job", r->device_job);

    if (r->step >= STEP_FINAL)
        good = good && cJSON_AddStringToObject(o, "outcome", r->outcome) &&
               cJSON_AddStringToObject(o, "confidence", r->confidence) &&
               cJSON_AddStringToObject(o, "code", r->code) &&
               cJSON_AddStringToObject(o, "reason", r->reason);
    good = good && cJSON_PrintPreallocated(o, to, size, false);
    cJSON_Delete(o);
    return good;
}

static bool journal_append(int fd, const struct record *r)
{
    char line[LINE_MAX_BYTES];
    size_t n;

    if (!journal_line_of(r, line, (int)sizeof(line) - 1))
        return false;
    n = strlen(line);
    line[n++] = '\n';
    return write(fd, line, n) == (ssize_t)n && fsync(fd) == 0;
}

void journal_write(const struct record *r)
{
    bool good;

    pthread_mutex_lock(&journal_lock);
    good = journal_append(journal_fd, r);
    pthread_mutex_unlock(&journal_lock);
    if (good)
        return;
    /* going on could print twice after the next start */
    fprintf(stderr, "wharf-station: the journal in %s can't be written: %s\n", settings.spool,
        strerror(errno));
    _exit(74);
}

size_t journal_left(struct record **ret_list)
{
    *ret_list = left;
    return n_left;
}

/* ---- opening ---- */

static bool lock_folder(void)
{
    char file[PATH_TEXT + 16];
    static int fd; /* held as long as the process */

    snprintf(file, sizeof(file), "%s/lock", settings.spool);
    fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    fprintf(stderr, "wharf-station: %s\n",
        fd < 0 ? "the spool folder can't be written" : "another agent uses this spool folder");
    return false;
}

static bool shorten(const char *file)
{
    char fresh[PATH_TEXT + 32];
    bool good;
    int dir;

    snprintf(fresh, sizeof(fresh), "%s.new", file);
    journal_fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    good = journal_fd >= 0;
    for (size_t i = 0; good && i < n_left; i++)
        good = journal_append(journal_fd, &left[i]);
    good = good && fsync(journal_fd) == 0 && rename(fresh, file) == 0;
    dir = open(settings.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = good && dir >= 0 && fsync(dir) == 0;
    if (dir >= 0)
        close(dir);
    if (!good)
        fprintf(stderr, "wharf-station: the journal in %s can't be written\n", settings.spool);
    return good;
}

bool journal_open(void)
{
    char file[PATH_TEXT + 16];
    FILE *f;

    mkdir(settings.spool, 0700);
    if (!lock_folder())
        return false;
    snprintf(file, sizeof(file), "%s/journal", settings.spool);
    f = fopen(file, "re");
    if (f) {
        journal_read_all(f);
        fclose(f);
    }
    return shorten(file);
}
