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

static void keep(const struct record *r)
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

static void text_of(const struct wharf_json *o, const char *key, char *to, size_t size)
{
    wharf_str s = json_text_or(o, key, "");

    snprintf(to, size, "%.*s", STR_ARG(s));
}

static void read_line(const char *line, size_t n)
{
    struct arena *a = arena_new(0);
    struct json_error e;
    const struct wharf_json *o = json_parse(a, arena_dup(a, line, n), &e);
    struct record r = {.step = STEP_NONE};
    char step[16];

    /* a line that a crash cut off says nothing that was promised */
    if (o && o->type == JSON_OBJECT) {
        text_of(o, "id", r.id, sizeof(r.id));
        text_of(o, "printer", r.printer, sizeof(r.printer));
        text_of(o, "outcome", r.outcome, sizeof(r.outcome));
        text_of(o, "confidence", r.confidence, sizeof(r.confidence));
        text_of(o, "code", r.code, sizeof(r.code));
        text_of(o, "reason", r.reason, sizeof(r.reason));
        text_of(o, "step", step, sizeof(step));
        r.attempt = (int)json_int_or(o, "attempt", 0);
        r.device_job = (int)json_int_or(o, "device_job", 0);
        for (size_t i = 1; i < sizeof(steps) / sizeof(steps[0]); i++)
            r.step = !strcmp(step, steps[i]) ? (enum step)i : r.step;
        if (r.id[0] && r.step != STEP_NONE)
            keep(&r);
    }
    arena_free(a);
}

static void read_all(FILE *f)
{
    char line[LINE_MAX_BYTES];

    while (fgets(line, sizeof(line), f))
        read_line(line, strcspn(line, "\n"));
}

/* ---- writing ---- */

static void line_of(const struct record *r, struct buf *out)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "id", r->id);
    jw_z(&w, "printer", r->printer);
    jw_int(&w, "attempt", r->attempt);
    jw_z(&w, "step", steps[r->step]);
    jw_int(&w, "device_job", r->device_job);
    if (r->step >= STEP_FINAL) {
        jw_z(&w, "outcome", r->outcome);
        jw_z(&w, "confidence", r->confidence);
        jw_z(&w, "code", r->code);
        jw_z(&w, "reason", r->reason);
    }
    jw_close(&w, '}');
    BUF_LIT(out, "\n");
}

static bool append(int fd, const struct record *r)
{
    struct buf out;
    bool good;

    buf_init(&out, LINE_MAX_BYTES);
    line_of(r, &out);
    good = write(fd, out.p, out.n) == (ssize_t)out.n && fsync(fd) == 0;
    buf_done(&out);
    return good;
}

void journal_write(const struct record *r)
{
    bool good;

    pthread_mutex_lock(&journal_lock);
    good = append(journal_fd, r);
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
        good = append(journal_fd, &left[i]);
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
        read_all(f);
        fclose(f);
    }
    return shorten(file);
}
