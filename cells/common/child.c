/* child.c - see child.h. The socket is descriptor 0. */
#include "child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SOCKET = STDIN_FILENO, EXIT_PARENT_GONE = 0, EXIT_NOT_PREPARED = 70 };

static struct {
    struct frame_reader in;
    uint32_t id; /* of the running call */
    int fds[FRAME_FDS_MAX]; /* received, not yet handed on */
    size_t n_fds;
    bool answered;
} self; /* the one state of the process */

_Noreturn void cell_out_of_memory(void)
{
    _exit(CELL_EXIT_MEMORY);
}

void *cell_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        cell_out_of_memory();
    return p;
}

void *cell_realloc(void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    if (!p)
        cell_out_of_memory();
    return p;
}

void *cell_read_file(int fd, size_t most, size_t *ret_n)
{
    off_t size = lseek(fd, 0, SEEK_END); /* fstat() is a system call that cells do not have */
    size_t n = 0, wanted = size < 0 ? 0 : (size_t)size < most ? (size_t)size : most;
    char *p;

    if (size < 0)
        return NULL;
    p = cell_alloc(wanted + 1);
    while (n < wanted) {
        ssize_t got = pread(fd, p + n, wanted - n, (off_t)n);

        if (got <= 0) {
            free(p);
            return NULL;
        }
        n += (size_t)got;
    }
    p[n] = 0;
    *ret_n = n;
    return p;
}

static void send_frame(enum frame_type type, const void *p, size_t n)
{
    struct frame_head head = {.size = (uint32_t)n, .type = (uint16_t)type, .id = self.id};
    struct iovec iov[2] = {{&head, sizeof(head)}, {(void *)p, n}}, *at = iov;
    int left = n ? 2 : 1;

    while (left > 0) {
        ssize_t sent = writev(SOCKET, at, left);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            _exit(EXIT_PARENT_GONE);
        while (left > 0 && (size_t)sent >= at->iov_len) {
            sent -= (ssize_t)at->iov_len;
            at++;
            left--;
        }
        if (left > 0) {
            at->iov_base = (char *)at->iov_base + sent;
            at->iov_len -= (size_t)sent;
        }
    }
}

static void keep_fds(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n = c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

        for (size_t i = 0; i < n && self.n_fds < FRAME_FDS_MAX; i++)
            memcpy(&self.fds[self.n_fds++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    }
}

static void receive_frame(struct frame *f)
{
    for (;;) {
        char control[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
        struct iovec iov;
        struct msghdr m = {.msg_iov = &iov,
            .msg_iovlen = 1,
            .msg_control = control,
            .msg_controllen = sizeof(control)};
        int got = frame_reader_next(&self.in, f);
        ssize_t n;

        if (got > 0)
            return;
        if (got < 0)
            _exit(EXIT_PARENT_GONE);
        iov.iov_base = frame_reader_room(&self.in, &iov.iov_len);
        if (!iov.iov_base)
            cell_out_of_memory();
        n = recvmsg(SOCKET, &m, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(EXIT_PARENT_GONE);
        keep_fds(&m);
        frame_reader_got(&self.in, (size_t)n);
    }
}

void cell_data(const void *p, size_t n)
{
    send_frame(FRAME_DATA, p, n);
}

void cell_result(const void *p, size_t n)
{
    if (!self.answered)
        send_frame(FRAME_RESULT, p, n);
    self.answered = true;
}

void cell_failed(const char *text)
{
    if (!self.answered)
        send_frame(FRAME_FAILED, text, strlen(text));
    self.answered = true;
}

bool cell_ask(const void *p, size_t n, const char **ret_answer, size_t *ret_n)
{
    struct frame f;

    send_frame(FRAME_ASK, p, n);
    receive_frame(&f);
    if (f.head.type != FRAME_ANSWER || f.head.id != self.id)
        _exit(EXIT_PARENT_GONE);
    *ret_answer = f.payload;
    *ret_n = f.head.size;
    return f.head.extra == 0;
}

static void child_serve(const struct cell_program *program)
{
    struct cell_task task = {0};
    struct frame f;
    char *payload;

    for (receive_frame(&f); f.head.type == FRAME_AHEAD; receive_frame(&f)) {
        if (program->ahead)
            program->ahead(f.payload, f.head.size);
    }
    if (f.head.type != FRAME_CALL || f.head.fds != self.n_fds)
        _exit(EXIT_PARENT_GONE);
    self.id = f.head.id;
    self.answered = false;
    task.limit_ms = f.head.extra;
    task.n = f.head.size;
    /* a copy: answers to questions come into the same buffer */
    payload = cell_alloc(task.n + 1);
    memcpy(payload, f.payload, task.n);
    payload[task.n] = 0;
    task.payload = payload;
    memcpy(task.fds, self.fds, sizeof(task.fds));
    task.n_fds = self.n_fds;
    self.n_fds = 0;
    program->call(&task);
    for (size_t i = 0; i < task.n_fds; i++)
        close(task.fds[i]);
    free(payload);
    if (program->forgets)
        cell_forget();
    cell_failed("the cell gave no answer");
}

int cell_main(int argc, char **argv, const struct cell_program *program)
{
    struct cell_wall_plan walls;

    if (argc != 4) {
        fprintf(stderr, "%s is started by wharf, not by people\n", argv[0]);
        return EXIT_NOT_PREPARED;
    }
    if (program->has_threads && !cell_drop_capabilities())
        return EXIT_NOT_PREPARED;
    if (program->prepare && !program->prepare())
        return EXIT_NOT_PREPARED;
    walls = (struct cell_wall_plan){.parent = (int)strtol(argv[1], NULL, 10),
        .memory_mib = (unsigned)strtoul(argv[2], NULL, 10),
        .cpu_s = (unsigned)strtoul(argv[3], NULL, 10),
        .refuse_files = program->looks_for_files,
        .threads = program->has_threads};
    if (!cell_walls(&walls)) {
        fprintf(stderr, "%s: the sandbox can't be set up: %s\n", argv[0], strerror(errno));
        return EXIT_NOT_PREPARED;
    }
    if (program->forgets)
        cell_forget_begin();
    frame_reader_init(&self.in, FRAME_MAX);
    send_frame(FRAME_HELLO, program->name, strlen(program->name));
    for (;;)
        child_serve(program);
}
