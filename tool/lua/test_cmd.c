/* test_cmd.c - `wharf lua test`: finds test files, runs each in a process of its own, tells what
 * they said (docs/spec/08-workflows-and-lua.md section 8). The engine of the tests is
 * services/lua/testing/testing.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/lua/author.h"
#include "lua/samples.h"
#include "lua/testing/testing.h"
#include "util/file.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"

enum {
    TESTS_MAX = 2000,
    JOBS_MAX = 64,
    ANSWER_MAX = 64 << 20,
    FILE_S = 60, /* the tests of one file may take */
    FILE_MOST_S = 3600 /* they may take at most */
};

struct job {
    const struct lua_folder *folder;
    const struct lua_file *file;
    pid_t pid; /* 0: not begun, or over */
    int fd;
    int64_t due_us;
    struct buf said;
    bool done, late;
};

struct session {
    struct arena *a;
    struct testing t; /* what all have in common */
    uint64_t seconds; /* that a file may take */
    const struct engine *engine;
    bool cover;
    struct job *jobs;
    size_t n;
};

/* ---- one file, in its process ---- */

static bool test_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    static char bytes[ZONE_BYTES_MAX]; /* the process has one thread */

    (void)arg;
    *ret_bytes = (wharf_str){bytes, zone_read(name, bytes, sizeof(bytes))};
    return ret_bytes->n > 0;
}

static void test_write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return;
        p += k;
        n -= (size_t)k;
    }
}

_Noreturn static void child(const struct session *s, const struct job *job, int fd)
{
    struct testing t = s->t;
    struct cover *cover = s->cover ? cover_new(s->a) : NULL;
    struct buf out;
    struct jw w;

    t.files = folder_files(s->a, job->folder);
    t.n_files = job->folder->n;
    t.hooks = job->folder->hooks;
    t.workflow = folder_told(s->a, job->folder, s->engine);
    t.test = job->file->name;
    t.zone = test_zone;
    t.line = cover ? cover_line : NULL;
    t.arg = cover;
    buf_init(&out, ANSWER_MAX);
    buf_addz(&out, "[");
    if (testing_run(&t, &out)) {
        if (cover) {
            buf_addz(&out, ",{");
            jw_init(&w, &out);
            cover_write(cover, &w);
            buf_addz(&out, "}");
        }
        buf_addz(&out, "]");
        test_write_all(fd, buf_str(&out).p, out.n);
    }
    _exit(0);
}

/* ---- all of them, some at a time ---- */

static bool test_start(const struct session *s, struct job *job)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL);
    job->pid = fork();
    if (job->pid == 0) {
        close(ends[0]);
        child(s, job, ends[1]);
    }
    close(ends[1]);
    job->fd = ends[0];
    job->due_us = clock_monotonic_us() + (int64_t)s->seconds * 1000000;
    buf_init(&job->said, ANSWER_MAX);
    return job->pid > 0;
}

static void test_finish(struct job *job)
{
    close(job->fd);
    waitpid(job->pid, NULL, 0);
    job->pid = 0;
    job->done = true;
}

/* Reads what the job says; at its end, or past its time, it is over. */
static void test_listen_to(struct job *job, bool readable)
{
    char *room;
    ssize_t n = 1;

    if (readable) {
        room = buf_room(&job->said, 65536);
        n = room ? read(job->fd, room, 65536) : 0;
        if (n > 0)
            job->said.n += (size_t)n;
    }
    job->late = clock_monotonic_us() >= job->due_us;
    if (job->late || n == 0 || (n < 0 && errno != EINTR)) {
        kill(job->pid, SIGKILL);
        test_finish(job);
    }
}

static bool test_run_all(struct session *s, size_t most)
{
    size_t next = 0, over = 0;

    while (over < s->n) {
        struct pollfd polls[JOBS_MAX];
        struct job *asked[JOBS_MAX];
        nfds_t n = 0;

        over = 0;
        for (size_t i = 0; i < next; i++) {
            over += s->jobs[i].done;
            if (!s->jobs[i].done) {
                polls[n] = (struct pollfd){.fd = s->jobs[i].fd, .events = POLLIN};
                asked[n++] = &s->jobs[i];
            }
        }
        if (n < most && next < s->n) {
            if (!test_start(s, &s->jobs[next++]))
                return false;
            continue;
        }
        if (n)
            poll(polls, n, 1000);
        for (nfds_t i = 0; i < n; i++)
            test_listen_to(asked[i], polls[i].revents != 0);
    }
    return true;
}

/* ---- what came of it ---- */

static struct lua_report report_of(struct session *s, struct job *job, struct cover *cover)
{
    struct lua_report r = {.path = job->file->path};
    struct json_error bad;
    const struct wharf_json *said = json_parse(s->a, buf_str(&job->said), &bad);
    const struct wharf_json *lines = json_get(json_at(said, 1), "lines");

    buf_done(&job->said);
    if (json_is(said, JSON_ARRAY))
        r.result = json_at(said, 0);
    else
        r.problem = job->late
                        ? arena_printf(s->a, "it did not end within %llu s (--timeout allows more)",
                              (unsigned long long)s->seconds)
                              .p
                        : "its process ended unexpectedly";
    if (cover && lines) {
        struct wharf_json *named = ARENA_NEW(s->a, struct wharf_json), **last = &named->child;

        *named = *lines;
        for (const struct wharf_json *m = lines->child; m; m = m->next) {
            struct wharf_json *copy = ARENA_NEW(s->a, struct wharf_json);

            *copy = *m;
            copy->key = str_z(folder_path(s->a, job->folder, m->key.p));
            copy->next = NULL;
            *last = copy;
            last = &copy->next;
        }
        cover_add(cover, named);
    }
    return r;
}

static bool keep_snapshots(
    struct session *s, const struct job *job, const struct wharf_json *result)
{
    wharf_str text = json_text_or(result, "snapshots", ""), error;
    const char *dir = arena_printf(s->a, "%s/__snapshots__", job->folder->dir).p;
    const char *file = arena_printf(s->a, "%s/%s_snap.lua", dir, job->file->name).p;

    if (!text.n)
        return true;
    mkdir(dir, 0777);
    text = arena_printf(s->a, "-- Written by wharf lua test --update.\nreturn {\n%s}\n", text.p);
    if (file_replace(file, text, 0644, s->a, &error))
        return true;
    cli_fail("%s", error.p); /* with an old one in its place too: nothing was compared with it */
    return false;
}

/* ---- which files ---- */

static bool test_add_job(
    struct session *s, const struct lua_folder *folder, const struct lua_file *file)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!strcmp(s->jobs[i].file->path, file->path))
            return true;
    }
    if (s->n == TESTS_MAX)
        return cli_fail("there are more than %d test files; name some of the folders", TESTS_MAX),
               false;
    s->jobs[s->n++] = (struct job){.folder = folder, .file = file};
    return true;
}

static bool find_tests(struct session *s, const char *path, struct lua_folders *all)
{
    struct lua_folders found;
    const char *only;

    if (!folders_read(s->a, path, &found, &only))
        return false;
    for (size_t i = 0; i < found.n; i++) {
        const struct lua_folder *f = &found.items[i];

        for (size_t k = 0; k < f->n; k++) {
            if (testing_is_test(f->files[k].name) && (!only || !strcmp(only, f->files[k].name)) &&
                !test_add_job(s, f, &f->files[k]))
                return false;
        }
        all->items[all->n++] = *f;
    }
    return true;
}

static int test_tell(struct session *s, const struct lua_folders *folders, lua_report_fn *format,
    const char *coverage)
{
    struct lua_report *list = ARENA_ARRAY(s->a, struct lua_report, s->n);
    struct cover *cover = coverage ? cover_new(s->a) : NULL;
    struct buf out;
    int code;

    for (size_t i = 0; i < s->n; i++) {
        list[i] = report_of(s, &s->jobs[i], cover);
        if (!keep_snapshots(s, &s->jobs[i], list[i].result))
            return LUA_BROKEN;
    }
    buf_init(&out, ANSWER_MAX);
    format(list, s->n, s->a, &out);
    fwrite(buf_str(&out).p, 1, out.n, stdout);
    buf_done(&out);
    code = report_code(list, s->n);
    return coverage && !cover_report(cover, folders, coverage, s->a) ? LUA_BROKEN : code;
}

static bool test_number(const char *text, uint64_t most, uint64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *ret <= most;
}

/* Reads the numbers of the options. Returns 0, or the exit code of a wrong call. */
static int test_read_numbers(const struct lua_test_options *o, struct session *s, uint64_t *jobs)
{
    if (o->seed && !test_number(o->seed, INT64_MAX, &s->t.seed))
        return lua_usage("--seed is a whole number");
    if (o->jobs && (!test_number(o->jobs, JOBS_MAX, jobs) || !*jobs))
        return lua_usage("--jobs is a number from 1 to 64");
    if (o->timeout && (!test_number(o->timeout, FILE_MOST_S, &s->seconds) || !s->seconds))
        return lua_usage("--timeout is a number of seconds from 1 to 3600, for each file");
    if (o->update && o->filter)
        return lua_usage("--update writes the snapshots of whole files; those of cases that "
                         "--filter leaves out would be lost");
    return 0;
}

int lua_test_command(struct cli *c, const struct lua_test_options *o)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t jobs = cores > 0 && cores < JOBS_MAX ? (uint64_t)cores : 1;
    struct session s = {.a = c->a,
        .t = {.filter = o->filter, .update = o->update, .seed = 1},
        .cover = o->coverage,
        .seconds = FILE_S};
    struct lua_folders folders = {.items = ARENA_ARRAY(c->a, struct lua_folder, 500 * WORDS_MAX)};
    lua_report_fn *format = report_format(o->format ? o->format : "tap");
    struct json_error bad;
    int code;

    if (!format)
        return lua_usage("--format is tap, junit or json");
    code = test_read_numbers(o, &s, &jobs);
    if (code)
        return code;
    s.jobs = ARENA_ARRAY(c->a, struct job, TESTS_MAX);
    for (size_t i = 1; i < c->n_words || i == 1; i++) {
        if (!find_tests(&s, i < c->n_words ? c->words[i] : ".", &folders))
            return LUA_USAGE;
    }
    if (!s.n) {
        cli_fail("there are no test files here; their names end with _test.lua");
        return LUA_BROKEN;
    }
    s.engine = lua_engine(c);
    if (!s.engine)
        return LUA_BROKEN;
    s.t.samples = json_parse(c->a, lua_samples(c->a, s.engine), &bad);
    if (!sandbox_prepare() || !test_run_all(&s, jobs)) {
        cli_fail("no process can be started: %s", strerror(errno));
        return LUA_BROKEN;
    }
    return test_tell(&s, &folders, format, o->coverage);
}
