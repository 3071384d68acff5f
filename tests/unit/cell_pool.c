/* cell_pool.c - a pool of probes: questions, blocks, descriptors, replacing, and
 * what is told when nothing can be had. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/cell.h"
#include "util/time.h"

enum { SECOND = 1000000, LONG_US = 20 * SECOND };

static struct cell_kind kind = {.name = "probe",
    .min = 1,
    .max = 2,
    .calls = 1000,
    .memory_mib = 64,
    .cpu_s = 60,
    .frame_max = 1 << 20,
    .log_fd = -1};

static const char *folder(void)
{
    return getenv("WHARF_CELLS");
}

static struct cell_call call_of(const char *payload)
{
    return (struct cell_call){.payload = str_z(payload),
        .deadline_us = clock_monotonic_us() + LONG_US,
        .wait_us = LONG_US};
}

static void expect(struct cell_pool *p, const char *payload, const char *result)
{
    struct cell_call call = call_of(payload);
    struct cell_result got;
    struct buf text;

    buf_init(&text, 1 << 20);
    got = cell_call(p, &call, &text);
    assert_string_equal(got.reason, "");
    assert_int_equal(got.status, CELL_OK);
    assert_string_equal(text.p ? text.p : "", result);
    buf_done(&text);
}

static void questions(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    struct cell_call call = call_of("ask what time");
    wharf_str payload;

    for (int refused = 0; refused < 2; refused++) {
        struct cell_run *r = cell_run_start(p, &call);

        assert_int_equal(cell_run_next(r, true, &payload), CELL_EVENT_ASK);
        assert_true(str_eqz(payload, "what time"));
        cell_run_answer(r, refused, WHARF_S("noon"));
        assert_int_equal(cell_run_next(r, true, &payload), CELL_EVENT_END);
        assert_true(str_eqz(payload, refused ? "refused noon" : "done noon"));
        assert_int_equal(cell_run_result(r)->status, CELL_OK);
        cell_run_end(r);
    }
    cell_pool_free(p);
}

static void blocks(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    struct cell_call call = call_of("blocks 40");
    struct cell_run *r;
    wharf_str payload;
    struct cell_counts counts;

    call.deadline_us = 0;
    call.quiet_us = LONG_US;
    r = cell_run_start(p, &call);
    for (int i = 40; i > 0; i--) {
        assert_int_equal(cell_run_next(r, true, &payload), CELL_EVENT_DATA);
        assert_int_equal(payload.n, 64 << 10);
        assert_int_equal(payload.p[payload.n - 1], 'a' + i % 26);
    }
    assert_int_equal(cell_run_next(r, true, &payload), CELL_EVENT_END);
    assert_int_equal(cell_run_next(r, true, &payload), CELL_EVENT_END);
    cell_run_end(r);
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.started, 1);
    /* one that is given up in the middle is replaced */
    r = cell_run_start(p, &call);
    assert_int_equal(cell_run_next(r, true, &payload), CELL_EVENT_DATA);
    cell_run_end(r);
    expect(p, "echo again", "again");
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.started, 2);
    assert_int_equal(counts.by_status[CELL_CANCELED], 1);
    cell_pool_free(p);
}

/* A reader that takes long over a block is not the cell's fault: only the wait for the next
 * block is limited. */
static void slow_reader(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    struct cell_call call = call_of("blocks 20");
    struct cell_run *r;
    wharf_str payload;

    call.deadline_us = 0;
    call.quiet_us = 2 * SECOND;
    r = cell_run_start(p, &call);
    for (int i = 0; i < 20; i++) {
        assert_true(cell_run_next(r, i % 2 == 0, &payload) != CELL_EVENT_END);
        if (i == 10)
            usleep(2500000);
    }
    while (cell_run_next(r, true, &payload) == CELL_EVENT_DATA)
        continue;
    assert_int_equal(cell_run_result(r)->status, CELL_OK);
    cell_run_end(r);
    cell_pool_free(p);
}

/* More than min go when nothing is to be done; one that grew goes after its call. */
static void shrunk(void **state)
{
    struct cell_kind wide = kind;
    struct cell_call slow = call_of("silence");
    struct cell_pool *p;
    struct cell_run *a, *b;
    struct cell_counts counts;

    wide.idle_s = 1;
    wide.growth_mib = 5;
    wide.frame_max = 16 << 20;
    p = cell_pool_new(&wide, folder());
    a = cell_run_start(p, &slow);
    b = cell_run_start(p, &slow);
    cell_run_end(a);
    cell_run_end(b);
    a = cell_run_start(p,
        &(struct cell_call){.payload = WHARF_S("echo x"), .quiet_us = LONG_US, .wait_us = LONG_US});
    b = cell_run_start(p,
        &(struct cell_call){.payload = WHARF_S("echo x"), .quiet_us = LONG_US, .wait_us = LONG_US});
    cell_run_next(a, true, &slow.payload);
    cell_run_next(b, true, &slow.payload);
    cell_run_end(a);
    cell_run_end(b);
    for (int i = 0; i < 2000; i++) {
        cell_pool_counts(p, &counts);
        if (counts.live == 1)
            break;
        usleep(10000);
    }
    assert_int_equal(counts.live, 1);
    slow = call_of("large_frame");
    assert_int_equal(cell_call(p, &slow, NULL).status, CELL_OK);
    expect(p, "echo x", "x");
    cell_pool_counts(p, &counts);
    assert_true(counts.started >= 5);
    cell_pool_free(p);
}

static void without_waiting(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    struct cell_call call = call_of("silence");
    struct cell_run *r;
    wharf_str payload;
    enum cell_event event;

    call.deadline_us = clock_monotonic_us() + LONG_US;
    call.quiet_us = 30000;
    r = cell_run_start(p, &call);
    assert_true(cell_run_fd(r) >= 0);
    assert_true(cell_run_due_us(r) <= clock_monotonic_us() + call.quiet_us);
    do
        event = cell_run_next(r, false, &payload);
    while (event == CELL_EVENT_NONE);
    assert_int_equal(event, CELL_EVENT_END);
    assert_int_equal(cell_run_result(r)->status, CELL_DEADLINE);
    assert_int_equal(cell_run_fd(r), -1);
    cell_run_end(r);
    cell_pool_free(p);
}

/* A process that steps back on a busy machine starts late: it is waited for, and serves. Were it
 * ended, each of its successors would be as late. */
static void late(void **state)
{
    char place[] = "/tmp/wharf-late-XXXXXX", path[128];
    struct cell_kind one = kind;
    struct cell_counts counts;
    struct cell_pool *p;
    FILE *script;

    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof(path), "%s/wharf-cell-probe", place);
    script = fopen(path, "w");
    assert_non_null(script);
    fprintf(script, "#!/bin/sh\n/bin/sleep 7\nexec '%s/wharf-cell-probe' \"$@\"\n", folder());
    assert_int_equal(fclose(script), 0);
    assert_int_equal(chmod(path, 0755), 0);
    one.max = 1;
    p = cell_pool_new(&one, place);
    expect(p, "echo at last", "at last");
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.started, 1);
    cell_pool_free(p);
    unlink(path);
    rmdir(place);
}

static void descriptors(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    struct cell_call call = call_of("read_fd");
    int fds[5], pipes[2];
    struct buf text;

    for (int i = 0; i < 5; i++) {
        char content[2] = {(char)('0' + i)};

        fds[i] = memfd_create("x", MFD_CLOEXEC);
        assert_int_equal(write(fds[i], content, 1), 1);
    }
    buf_init(&text, 100);
    call.fds = fds;
    for (call.n_fds = 1; call.n_fds <= 4; call.n_fds++)
        assert_int_equal(cell_call(p, &call, &text).status, CELL_OK);
    assert_string_equal(text.p, "0123");
    assert_int_equal(cell_call(p, &call, &text).status, CELL_UNAVAILABLE);
    /* what is no file is not given away */
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    call.fds = pipes;
    call.n_fds = 1;
    assert_int_equal(cell_call(p, &call, &text).status, CELL_UNAVAILABLE);
    expect(p, "only_these", "0 1 2 ");
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    close(pipes[0]);
    close(pipes[1]);
    buf_done(&text);
    cell_pool_free(p);
}

static void busy(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    struct cell_call slow = call_of("silence"), call = call_of("echo x");
    struct cell_run *a = cell_run_start(p, &slow), *b = cell_run_start(p, &slow);
    struct cell_result got;
    struct cell_counts counts;

    call.wait_us = 20000;
    got = cell_call(p, &call, NULL);
    assert_int_equal(got.status, CELL_UNAVAILABLE);
    assert_string_equal(got.reason, "all 2 cells of kind probe are busy; try again later");
    cell_run_end(a);
    expect(p, "echo free", "free");
    cell_run_end(b);
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.by_status[CELL_UNAVAILABLE], 1);
    cell_pool_free(p);
}

static void replaced(void **state)
{
    struct cell_kind once = kind;
    struct cell_pool *p;
    struct cell_counts counts;

    once.calls = 1;
    p = cell_pool_new(&once, folder());
    for (int i = 0; i < 20; i++)
        expect(p, "echo x", "x");
    cell_pool_counts(p, &counts);
    assert_true(counts.started >= 20);
    cell_pool_free(p);
}

/* ---- owners ---- */

/* A process that remembers tells what it remembers: nothing, or what the same owner said.
 * Answers whether it was kept. */
static bool marked(struct cell_pool *p, const char *owner, bool spoil)
{
    char text[64];
    struct cell_call call;
    struct cell_run *r;
    wharf_str said;
    bool kept;

    snprintf(text, sizeof(text), "mark of %s", owner);
    call = call_of(text);
    call.owner = str_z(owner);
    r = cell_run_start(p, &call);
    assert_int_equal(cell_run_next(r, true, &said), CELL_EVENT_END);
    assert_int_equal(cell_run_result(r)->status, CELL_OK);
    kept = said.n > 0;
    if (kept)
        assert_true(str_eqz(said, text + 5));
    if (spoil)
        cell_run_spoil(r);
    cell_run_end(r);
    return kept;
}

static const struct cell_kind *owned(unsigned max)
{
    static struct cell_kind k;

    k = kind;
    k.calls = 1;
    k.owned_calls = 5;
    k.max = max;
    return &k;
}

static void owners_never_meet(void **state)
{
    struct cell_pool *p = cell_pool_new(owned(3), folder());
    unsigned kept = 0;
    uint32_t dice = 1;

    for (int i = 0; i < 300; i++) {
        const char *const names[] = {"", "a", "ab", "b", "org_1 wkf_1 1", "org_1 wkf_1 2"};

        dice = dice * 1664525 + 1013904223;
        kept += marked(p, names[(dice >> 16) % 6], false);
    }
    assert_true(kept > 20);
    for (int i = 0; i < 20; i++)
        assert_false(marked(p, "", false));
    cell_pool_free(p);
}

static struct cell_run *reported(struct cell_pool *p, uint64_t mark)
{
    struct cell_call call = call_of("told");

    call.owner = str_z("a");
    call.mark = mark;
    return cell_run_start(p, &call);
}

static void expect_reported(struct cell_run *r, const char *text)
{
    wharf_str said;

    assert_int_equal(cell_run_next(r, true, &said), CELL_EVENT_END);
    assert_int_equal(cell_run_result(r)->status, CELL_OK);
    if (!str_eqz(said, text))
        fail_msg("told '%.*s', not '%s'", STR_ARG(said), text);
    cell_run_end(r);
}

/* Only an idle process of the owner's is told, once; its call finds it, and others leave it
 * alone while there is another. */
static void ahead_of_a_call(void **state)
{
    struct cell_pool *p = cell_pool_new(owned(2), folder());
    struct cell_run *one, *two;

    cell_pool_ahead(p, str_z("a"), 1, str_z("too early"));
    one = reported(p, 1);
    two = reported(p, 1);
    cell_pool_ahead(p, str_z("a"), 1, str_z("too late"));
    expect_reported(one, "");
    expect_reported(two, "");
    cell_pool_ahead(p, str_z("b"), 7, str_z("not theirs"));
    cell_pool_ahead(p, str_z(""), 7, str_z("nobody's"));
    cell_pool_ahead(p, str_z("a"), 7, str_z("seven"));
    cell_pool_ahead(p, str_z("a"), 8, str_z("eight"));
    expect_reported(reported(p, 7), "seven");
    expect_reported(reported(p, 0), "");
    expect_reported(reported(p, 8), "eight");
    cell_pool_ahead(p, str_z("a"), 9, str_z("nine"));
    expect_reported(reported(p, 10), "");
    expect_reported(reported(p, 9), "nine");
    cell_pool_free(p);
}

static void owned_ends_in_time(void **state)
{
    struct cell_pool *p = cell_pool_new(owned(2), folder());
    struct cell_counts counts;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++)
            assert_int_equal(marked(p, "a", false), i > 0);
    }
    assert_false(marked(p, "a", false));
    assert_true(marked(p, "a", true));
    assert_false(marked(p, "a", false)); /* the last one was spoilt */
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.calls, 18);
    assert_true(counts.started < 12);
    cell_pool_free(p);
}

static void owned_is_killed_with_its_call(void **state)
{
    struct cell_pool *p = cell_pool_new(owned(2), folder());
    struct cell_call call = call_of("silence");

    assert_false(marked(p, "a", false));
    call.owner = str_z("a");
    call.deadline_us = clock_monotonic_us() + 50000;
    assert_int_equal(cell_call(p, &call, NULL).status, CELL_DEADLINE);
    assert_false(marked(p, "a", false));
    cell_pool_free(p);
}

static atomic_bool enough;

static void *hammer(void *pool)
{
    while (!atomic_load(&enough))
        marked(pool, "a", false);
    return NULL;
}

/* An owner that gives back and takes again does not keep others out. */
static void owners_take_turns(void **state)
{
    struct cell_pool *p = cell_pool_new(owned(2), folder());
    pthread_t threads[6];

    atomic_store(&enough, false);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, p), 0);
    for (int i = 0; i < 10; i++) {
        char other[16];

        snprintf(other, sizeof(other), "b%d", i);
        assert_false(marked(p, other, false));
    }
    atomic_store(&enough, true);
    for (size_t i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    cell_pool_free(p);
}

static void not_there(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, "/nonexistent");
    struct cell_call call = call_of("echo x");
    struct cell_result got;

    call.wait_us = 300000;
    got = cell_call(p, &call, NULL);
    assert_int_equal(got.status, CELL_UNAVAILABLE);
    assert_non_null(strstr(got.reason, "/nonexistent/wharf-cell-probe can't be started: "));
    cell_pool_free(p);
}

static pid_t child_of(pid_t parent)
{
    DIR *dir = opendir("/proc");
    pid_t found = 0;

    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[300], line[512];
        int pid = 0, above = 0;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%.20s/stat", e->d_name);
        f = fopen(path, "r");
        if (f && fgets(line, sizeof(line), f) && sscanf(line, "%d %*s %*c %d", &pid, &above) == 2 &&
            above == parent)
            found = pid;
        if (f)
            fclose(f);
    }
    closedir(dir);
    return found;
}

/* An idle process that somebody kills is replaced, unseen by callers. */
static void killed_from_outside(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    pid_t cell;

    for (int i = 0; i < 10; i++) {
        expect(p, "echo x", "x");
        cell = child_of(getpid());
        assert_true(cell > 0);
        kill(cell, SIGKILL);
        for (int k = 0; k < 1000 && child_of(getpid()) == cell; k++)
            usleep(1000);
    }
    expect(p, "echo x", "x");
    cell_pool_free(p);
}

/* A process that ends before it read its call: another one gets it, blocking or not, with its
 * descriptors. One that read the call is not forgiven. */
static void killed_before_it_reads(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    int fd = memfd_create("wharf-unread", MFD_CLOEXEC);
    struct cell_counts counts;

    assert_int_equal(write(fd, "content", 7), 7);
    for (int i = 0; i < 10; i++) {
        struct cell_call call = call_of("read_fd");
        struct cell_run *r;
        wharf_str said;
        enum cell_event e;
        pid_t cell;

        call.fds = &fd;
        call.n_fds = 1;
        expect(p, "echo x", "x");
        cell = child_of(getpid());
        kill(cell, SIGSTOP);
        r = cell_run_start(p, &call);
        kill(cell, SIGKILL);
        while ((e = cell_run_next(r, i % 2, &said)) == CELL_EVENT_NONE)
            continue;
        assert_int_equal(e, CELL_EVENT_END);
        assert_string_equal(cell_run_result(r)->reason, "");
        assert_true(str_eqz(said, "content"));
        cell_run_end(r);
    }
    close(fd);
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.by_status[CELL_OK], counts.calls);
    assert_true(counts.started >= 11);
    cell_pool_free(p);
}

/* A process that takes nothing any more is replaced, not waited for, and none gets half of what
 * was said. */
static void ahead_of_one_that_stands_still(void **state)
{
    static char much[CELL_AHEAD_MAX];
    struct cell_pool *p = cell_pool_new(owned(1), folder());
    struct cell_counts counts;

    memset(much, 'x', sizeof(much));
    expect_reported(reported(p, 0), "");
    kill(child_of(getpid()), SIGSTOP);
    for (int i = 0; i < 400; i++)
        cell_pool_ahead(p, str_z("a"), 1, (wharf_str){much, sizeof(much)});
    expect_reported(reported(p, 1), "");
    cell_pool_counts(p, &counts);
    assert_true(counts.started >= 2);
    cell_pool_free(p);
}

/* A server that is killed leaves no cell behind, not even one that hears nothing because it is
 * busy. */
static void parent_killed(void **state)
{
    int reported[2];
    pid_t parent, cell = 0;
    char path[64];

    assert_int_equal(pipe2(reported, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0) {
        struct cell_pool *p = cell_pool_new(&kind, folder());
        struct cell_call call = call_of("cpu_loop");
        struct cell_run *r = cell_run_start(p, &call);

        cell = child_of(getpid());
        if (write(reported[1], &cell, sizeof(cell)) != (ssize_t)sizeof(cell) || !r)
            _exit(1);
        pause();
    }
    close(reported[1]);
    assert_int_equal(read(reported[0], &cell, sizeof(cell)), sizeof(cell));
    close(reported[0]);
    assert_true(cell > 0);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)cell);
    for (int k = 0; k < 5000; k++) {
        char line[512] = "";
        FILE *f = fopen(path, "r");

        if (!f)
            return;
        /* a zombie whose new parent does not reap is gone too */
        if (fgets(line, sizeof(line), f) && strstr(line, ") Z ")) {
            fclose(f);
            return;
        }
        fclose(f);
        usleep(1000);
    }
    fail_msg("the cell outlived its server");
}

static void *many_calls(void *pool)
{
    for (int i = 0; i < 100; i++)
        expect(pool, i % 10 == 9 ? "echo ten" : "echo x", i % 10 == 9 ? "ten" : "x");
    return NULL;
}

static void many_threads(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, folder());
    pthread_t threads[8];
    struct cell_counts counts;

    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_calls, p), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    cell_pool_counts(p, &counts);
    assert_int_equal(counts.by_status[CELL_OK], 800);
    assert_true(counts.live <= 2);
    cell_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(questions), UNIT(blocks), UNIT(slow_reader),
        UNIT(shrunk), UNIT(without_waiting), UNIT(late), UNIT(descriptors), UNIT(busy),
        UNIT(replaced), UNIT(not_there), UNIT(owners_never_meet), UNIT(ahead_of_a_call),
        UNIT(owned_ends_in_time), UNIT(owned_is_killed_with_its_call), UNIT(owners_take_turns),
        UNIT(killed_from_outside), UNIT(killed_before_it_reads),
        UNIT(ahead_of_one_that_stands_still), UNIT(parent_killed), UNIT(many_threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
