/* probe.c - the cell that misbehaves on purpose: memory, time, descriptors, the socket. calls.c
 * has the system calls.
 *
 * A call's payload is "NAME" or "NAME ARGUMENT". "list" answers the names of the system calls,
 * one per line. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct probe {
    const char *name;
    void (*run)(const struct cell_task *task, const char *arg);
};

static long parent; /* getppid() is not allowed any more when a probe runs */

void probe_tell(const char *what, long value)
{
    char line[200];
    int n = value == -1
                ? snprintf(line, sizeof(line), "refused: %s: %s", what, strerrorname_np(errno))
                : snprintf(line, sizeof(line), "allowed: %s gave %ld", what, value);

    cell_result(line, (size_t)n);
}

static void probe_raw(const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t sent = write(0, at, n);

        if (sent < 0)
            _exit(1);
        at += sent;
        n -= (size_t)sent;
    }
}

static void probe_head(uint32_t size, uint16_t type, uint32_t id)
{
    struct frame_head h = {.size = size, .type = type, .id = id};

    probe_raw(&h, sizeof(h));
}

/* ---- what a good cell does ---- */

static void echo(const struct cell_task *task, const char *arg)
{
    cell_result(arg, strlen(arg));
}

static char ahead_text[100]; /* said ahead of the next call */

static void probe_ahead(const char *p, size_t n)
{
    snprintf(ahead_text, sizeof(ahead_text), "%.*s", (int)n, p);
}

static void probe_reported(const struct cell_task *task, const char *arg)
{
    cell_result(ahead_text, strlen(ahead_text));
    ahead_text[0] = 0;
}

static void probe_fail(const struct cell_task *task, const char *arg)
{
    cell_failed(arg);
}

static void no_answer(const struct cell_task *task, const char *arg)
{
}

static void probe_ask(const struct cell_task *task, const char *arg)
{
    char line[4096];
    const char *answer;
    size_t n;
    bool done = cell_ask(arg, strlen(arg), &answer, &n);
    int k = snprintf(line, sizeof(line), "%s %.*s", done ? "done" : "refused", (int)n, answer);

    cell_result(line, (size_t)k);
}

/* Sends ARGUMENT blocks of 64 KiB. */
static void blocks(const struct cell_task *task, const char *arg)
{
    static char block[64 << 10];

    for (long i = strtol(arg, NULL, 10); i > 0; i--) {
        memset(block, (int)('a' + i % 26), sizeof(block));
        cell_data(block, sizeof(block));
    }
    cell_result("", 0);
}

static void read_fd(const struct cell_task *task, const char *arg)
{
    char text[100];
    ssize_t n = task->n_fds ? pread(task->fds[task->n_fds - 1], text, sizeof(text), 0) : -1;

    cell_result(text, n > 0 ? (size_t)n : 0);
}

/* ---- memory ---- */

static void malloc_bomb(const struct cell_task *task, const char *arg)
{
    for (;;)
        memset(cell_alloc(1 << 20), 1, 1 << 20);
}

static void mmap_bomb(const struct cell_task *task, const char *arg)
{
    for (size_t n = 0;; n++)
        if (mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
            MAP_FAILED) {
            cell_result("refused: mmap", 13);
            return;
        }
}

/* Holds ARGUMENT MiB for a moment. */
static void hold(const struct cell_task *task, const char *arg)
{
    size_t n = (size_t)strtoul(arg, NULL, 10) << 20;
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        cell_out_of_memory();
    memset(p, 1, n);
    munmap(p, n);
    cell_result("held", 4);
}

static void one_gib(const struct cell_task *task, const char *arg)
{
    volatile char *p = cell_alloc((size_t)1 << 30);

    p[0] = 1;
    probe_tell("one_gib", p[0]);
}

static unsigned deeper(volatile char *above, unsigned depth)
{
    volatile char frame[1024] = {0};

    frame[depth % sizeof(frame)] = above[0];
    return depth == UINT32_MAX ? 0 : deeper(frame, depth + 1) + (unsigned)frame[0];
}

static void stack_bomb(const struct cell_task *task, const char *arg)
{
    char first = 1;

    probe_tell("stack", (long)deeper(&first, 1));
}

static void null_pointer(const struct cell_task *task, const char *arg)
{
    /* of an empty argument: 0, which nobody but us can know */
    *(volatile int *)(uintptr_t)strtoul(arg, NULL, 16) = 1;
}

/* ---- time ---- */

static void cpu_loop(const struct cell_task *task, const char *arg)
{
    for (volatile unsigned i = 0;; i++)
        continue;
}

/* Computes for ARGUMENT milliseconds of the processor. */
static void burn(const struct cell_task *task, const char *arg)
{
    int64_t left_us = strtol(arg, NULL, 10) * 1000;
    struct timespec begun, now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((int64_t)(now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000 <
           left_us);
    cell_result("burnt", 5);
}

static void system_loop(const struct cell_task *task, const char *arg)
{
    char byte;

    for (;;)
        if (getrandom(&byte, 1, 0) < 0)
            return;
}

static void silence(const struct cell_task *task, const char *arg)
{
    char byte;

    while (read(0, &byte, 1) == 1)
        continue;
}

/* ---- descriptors ---- */

static void write_fd(const struct cell_task *task, const char *arg)
{
    probe_tell("write", write(task->fds[0], "x", 1));
}

static void map_fd(const struct cell_task *task, const char *arg)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, task->fds[0], 0);

    probe_tell("map", p == MAP_FAILED ? -1 : 0);
}

static void truncate_fd(const struct cell_task *task, const char *arg)
{
    probe_tell("ftruncate", ftruncate(task->fds[0], 0));
}

static void probe_only_these(const struct cell_task *task, const char *arg)
{
    char found[200];
    size_t n = 0;

    for (int fd = 0; fd < 100 && n + 8 < sizeof(found); fd++)
        if (lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF)
            n += (size_t)snprintf(found + n, sizeof(found) - n, "%d ", fd);
    cell_result(found, n);
}

/* Sends its own descriptors to the parent, many times. */
static void give_fds(const struct cell_task *task, const char *arg)
{
    struct frame_head h = {.size = 0, .type = FRAME_DATA, .id = 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    const int mine[3] = {0, 1, 2};

    for (int i = 0; i < 100; i++) {
        struct iovec iov = {&h, sizeof(h)};
        struct msghdr m = {.msg_iov = &iov,
            .msg_iovlen = 1,
            .msg_control = control.bytes,
            .msg_controllen = sizeof(control)};

        *CMSG_FIRSTHDR(&m) = (struct cmsghdr){CMSG_LEN(sizeof(mine)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), mine, sizeof(mine));
        if (sendmsg(0, &m, 0) < 0)
            _exit(1);
    }
    cell_result("sent", 4);
}

/* ---- the socket ---- */

static void flood(const struct cell_task *task, const char *arg)
{
    static char noise[64 << 10];

    for (;;)
        probe_raw(noise, sizeof(noise));
}

static void flood_blocks(const struct cell_task *task, const char *arg)
{
    for (;;)
        cell_data("0123456789", 10);
}

static void huge_frame(const struct cell_task *task, const char *arg)
{
    probe_head(UINT32_MAX, FRAME_RESULT, 1);
    silence(task, arg);
}

static void large_frame(const struct cell_task *task, const char *arg)
{
    size_t n = 8 << 20;

    cell_result(memset(cell_alloc(n), 'x', n), n);
}

static void half_frame(const struct cell_task *task, const char *arg)
{
    probe_head(1000, FRAME_RESULT, 1);
    probe_raw("half", 4);
    silence(task, arg);
}

static void half_head(const struct cell_task *task, const char *arg)
{
    probe_raw("wharf", 5);
    silence(task, arg);
}

static void wrong_type(const struct cell_task *task, const char *arg)
{
    probe_head(0, FRAME_CALL, 1);
    silence(task, arg);
}

static void wrong_id(const struct cell_task *task, const char *arg)
{
    probe_head(0, FRAME_RESULT, 999999);
    silence(task, arg);
}

static void two_results(const struct cell_task *task, const char *arg)
{
    cell_result("first", 5);
    probe_head(6, FRAME_RESULT, 2);
    probe_raw("second", 6);
}

static void close_socket(const struct cell_task *task, const char *arg)
{
    close(0);
    cpu_loop(task, arg);
}

static void probe_leave(const struct cell_task *task, const char *arg)
{
    _exit((int)strtol(arg, NULL, 10));
}

/* Answers what was said to this process before, and remembers `arg` from now on. */
static void probe_mark(const struct cell_task *task, const char *arg)
{
    static char before[64];

    cell_result(before, strlen(before));
    snprintf(before, sizeof(before), "%s", arg);
}

static void crash(const struct cell_task *task, const char *arg)
{
    abort();
}

/* ---- */

static const struct probe probes[] = {{"echo", echo}, {"told", probe_reported},
    {"fail", probe_fail}, {"no_answer", no_answer}, {"ask", probe_ask}, {"blocks", blocks},
    {"read_fd", read_fd}, {"malloc_bomb", malloc_bomb}, {"mmap_bomb", mmap_bomb}, {"hold", hold},
    {"one_gib", one_gib}, {"stack_bomb", stack_bomb}, {"null_pointer", null_pointer},
    {"cpu_loop", cpu_loop}, {"burn", burn}, {"system_loop", system_loop}, {"silence", silence},
    {"write_fd", write_fd}, {"map_fd", map_fd}, {"truncate_fd", truncate_fd},
    {"only_these", probe_only_these}, {"give_fds", give_fds}, {"flood", flood},
    {"flood_blocks", flood_blocks}, {"huge_frame", huge_frame}, {"large_frame", large_frame},
    {"half_frame", half_frame}, {"half_head", half_head}, {"wrong_type", wrong_type},
    {"wrong_id", wrong_id}, {"two_results", two_results}, {"close_socket", close_socket},
    {"leave", probe_leave}, {"mark", probe_mark}, {"abort", crash}};

static void probe_call(const struct cell_task *task)
{
    static char names[8192];
    size_t n = strcspn(task->payload, " ");
    const char *arg = task->payload[n] ? task->payload + n + 1 : "";

    if (strcmp(task->payload, "list") == 0) {
        cell_result(names, probe_calls_list(names, sizeof(names)));
        return;
    }
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
        if (strlen(probes[i].name) == n && memcmp(probes[i].name, task->payload, n) == 0) {
            probes[i].run(task, arg);
            return;
        }
    if (!probe_calls_run(task->payload, parent))
        cell_failed("there is no such probe");
}

static bool probe_prepare(void)
{
    parent = getppid();
    return true;
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {
        .name = "probe", .prepare = probe_prepare, .call = probe_call, .ahead = probe_ahead};

    return cell_main(argc, argv, &program);
}
