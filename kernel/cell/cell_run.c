/* cell_run.c - one call of a cell, from the parent's side: sent, heard, ended. Never blocks past
 * its limits and believes nothing that the cell says. See cell.h. */
#include "cell/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/id.h"
#include "util/time.h"

/* For a process that closed its socket to be gone, and for one that was killed then. */
enum {
    LEAVE_MS = 50, /* a process has to end by itself */
    KILLED_MS = 1000 /* a killed process has to be gone */
};
/* Processes that a call is given to, when each ends before it read the call. */
enum { TAKES_MAX = 8 };

struct cell_run {
    struct cell_pool *pool;
    struct cell_call call; /* borrowed; its payload and fds are read until the first frame came */
    struct cell *cell; /* NULL: it never had one, or gave it back */
    int64_t deadline_us, quiet_us;
    int64_t heard_us; /* since when the next frame is waited for */
    bool over, asked, waiting, spoilt;
    bool unread; /* its process ended before it read the call */
    unsigned takes; /* processes that it was given to */
    struct cell_result result;
};

static void cell_run_finish(struct cell_run *r, enum cell_status status, const char *reason)
{
    if (r->over)
        return;
    if (status != CELL_OK && status != CELL_FAILED && r->cell)
        cell_kill(r->cell);
    r->over = true;
    r->result.status = status;
    if (reason != r->result.reason)
        snprintf(r->result.reason, sizeof(r->result.reason), "%s", reason);
    cell_pool_count(r->pool, status);
}

int64_t cell_run_due_us(const struct cell_run *r)
{
    int64_t quiet = r->quiet_us ? r->heard_us + r->quiet_us : INT64_MAX;

    return r->deadline_us && r->deadline_us < quiet ? r->deadline_us : quiet;
}

/* Finds out how it came that the other end is closed. unread: with a call in its socket that
 * nobody took out. What ends a process while it is idle, or just before it hears of the call, says
 * nothing of the call: cell_run_take gives it to another one. */
static void cell_run_closed(struct cell_run *r, bool unread)
{
    int code = 0, status = 0;
    bool gone;

    if (unread && r->takes < TAKES_MAX) {
        r->unread = true;
        return;
    }
    gone = cell_wait_end(r->cell, LEAVE_MS, &code, &status);
    if (!gone) {
        /* On a busy machine a process that was ended may take longer to be gone: then that was
         * its end, and not our signal. */
        cell_kill(r->cell);
        gone = cell_wait_end(r->cell, KILLED_MS, &code, &status) &&
               (code != CLD_KILLED || status != SIGKILL);
    }
    if (!gone) {
        cell_run_finish(r, CELL_PROTOCOL, "the cell closed its socket and went on");
    } else if (code == CLD_EXITED && status == CELL_EXIT_MEMORY) {
        cell_run_finish(r, CELL_MEMORY, "the cell ran out of memory");
    } else if (code == CLD_EXITED) {
        snprintf(r->result.reason, sizeof(r->result.reason), "the cell ended with code %d", status);
        cell_run_finish(r, CELL_CRASHED, r->result.reason);
    } else {
        r->result.signal = status;
        snprintf(r->result.reason, sizeof(r->result.reason), "the cell was ended by signal %d (%s)",
            status, sigdescr_np(status) ? sigdescr_np(status) : "unknown");
        cell_run_finish(r, CELL_CRASHED, r->result.reason);
    }
}

/* Waits for the socket until the run is due. False: the run is over. */
static bool cell_run_wait_for(struct cell_run *r, short events)
{
    for (;;) {
        struct pollfd p = {.fd = r->cell->sock, .events = events};
        int64_t left = cell_run_due_us(r) - clock_monotonic_us();
        struct timespec limit = {left / 1000000, left % 1000000 * 1000};
        int n;

        if (left <= 0) {
            cell_run_finish(r, CELL_DEADLINE,
                r->deadline_us && r->deadline_us <= clock_monotonic_us()
                    ? "the cell did not end in time"
                    : "the cell was silent for too long");
            return false;
        }
        n = ppoll(&p, 1, &limit, NULL);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR) {
            cell_run_finish(r, CELL_PROTOCOL, strerror(errno));
            return false;
        }
    }
}

/* ---- sending ---- */

static bool cell_run_send_all(
    struct cell_run *r, struct frame_head head, wharf_str payload, const int *fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
    } control = {0};
    size_t sent = 0, whole = sizeof(head) + payload.n;

    while (sent < whole) {
        struct iovec iov[2] = {
            {(char *)&head + sent, sizeof(head) - sent}, {(char *)payload.p, payload.n}};
        struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
        ssize_t n;

        if (sent >= sizeof(head)) {
            iov[0] = (struct iovec){(char *)payload.p + sent - sizeof(head), whole - sent};
            m.msg_iovlen = 1;
        }
        if (sent == 0 && fds && head.fds) {
            m.msg_control = control.bytes;
            m.msg_controllen = CMSG_SPACE(head.fds * sizeof(int));
            control.align = (struct cmsghdr){
                CMSG_LEN(head.fds * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(&control.align), fds, head.fds * sizeof(int));
        }
        n = sendmsg(r->cell->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += (size_t)n;
        } else if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            cell_run_closed(r, head.type == FRAME_CALL);
            return false;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            cell_run_finish(r, CELL_PROTOCOL, strerror(errno));
            return false;
        } else if (!cell_run_wait_for(r, POLLOUT)) {
            return false;
        }
    }
    return true;
}

/* Opens a read-only descriptor of the same file. */
static int reopen(int fd, char *reason, size_t size)
{
    char path[40];
    struct stat st;
    int copy;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        snprintf(reason, size,
            "descriptor %d is no regular file; only files may be given to a cell", fd);
        return -1;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    copy = open(path, O_RDONLY | O_CLOEXEC);
    if (copy < 0)
        snprintf(
            reason, size, "descriptor %d can't be opened for reading: %s", fd, strerror(errno));
    return copy;
}

/* Sends the first frame, with its descriptors. */
static void cell_run_send_call(struct cell_run *r, const struct cell_call *call)
{
    int64_t left = r->deadline_us ? (r->deadline_us - clock_monotonic_us()) / 1000 : 0;
    struct frame_head head = {.size = (uint32_t)call->payload.n,
        .type = FRAME_CALL,
        .fds = (uint16_t)call->n_fds,
        .extra = left > 0 ? (uint32_t)left : 0};
    int fds[FRAME_FDS_MAX];
    size_t n = 0;

    /* not to be guessed: what a cell sends before its next call is never taken for an answer to
     * it */
    random_bytes(&head.id, sizeof(head.id));
    r->cell->call_id = head.id;
    for (; n < call->n_fds; n++) {
        fds[n] = reopen(call->fds[n], r->result.reason, sizeof(r->result.reason));
        if (fds[n] < 0)
            break;
    }
    if (n == call->n_fds)
        cell_run_send_all(r, head, call->payload, fds);
    else
        cell_run_finish(r, CELL_UNAVAILABLE, r->result.reason);
    while (n > 0)
        close(fds[--n]);
}

/* Takes a process and sends it the call; then another one, while they end without reading it. */
static void cell_run_take(struct cell_run *r)
{
    do {
        int64_t now = clock_monotonic_us();

        if (r->cell)
            cell_pool_give(r->pool, r->cell, false);
        r->unread = false;
        r->takes++;
        r->cell = cell_pool_take(
            r->pool, &r->call, now + r->call.wait_us, r->result.reason, sizeof(r->result.reason));
        if (!r->cell) {
            cell_run_finish(r, CELL_UNAVAILABLE, r->result.reason);
            return;
        }
        r->heard_us = clock_monotonic_us();
        if (r->call.waits_apart && r->deadline_us)
            r->deadline_us += r->heard_us - now;
        cell_run_send_call(r, &r->call);
    } while (r->unread);
}

struct cell_run *cell_run_start(struct cell_pool *p, const struct cell_call *call)
{
    struct cell_run *r = calloc(1, sizeof(*r));

    if (!r)
        abort();
    r->pool = p;
    r->call = *call;
    r->deadline_us = call->deadline_us;
    r->quiet_us = call->quiet_us;
    if (call->n_fds > FRAME_FDS_MAX || call->payload.n > FRAME_MAX ||
        (!call->deadline_us && !call->quiet_us))
        cell_run_finish(r, CELL_UNAVAILABLE,
            "a call has at most 4 descriptors and 64 MiB, and a deadline or a longest silence");
    else
        cell_run_take(r);
    return r;
}

/* ---- hearing ---- */

static enum cell_event cell_run_take_frame(
    struct cell_run *r, const struct frame *f, wharf_str *ret_payload)
{
    r->waiting = false;
    r->takes = TAKES_MAX;
    *ret_payload = (wharf_str){f->payload, f->head.size};
    if (f->head.id != r->cell->call_id) {
        cell_run_finish(r, CELL_PROTOCOL, "the cell spoke of a call that is not running");
        return CELL_EVENT_END;
    }
    switch ((enum frame_type)f->head.type) {
    case FRAME_DATA:
        return CELL_EVENT_DATA;
    case FRAME_ASK:
        r->asked = true;
        return CELL_EVENT_ASK;
    case FRAME_RESULT:
        cell_run_finish(r, CELL_OK, "");
        return CELL_EVENT_END;
    case FRAME_FAILED:
        snprintf(r->result.reason, sizeof(r->result.reason), "%.*s",
            (int)(f->head.size < 255 ? f->head.size : 255), f->payload);
        cell_run_finish(r, CELL_FAILED, r->result.reason);
        return CELL_EVENT_END;
    case FRAME_HELLO:
    case FRAME_CALL:
    case FRAME_ANSWER:
    case FRAME_AHEAD:
        break;
    }
    cell_run_finish(r, CELL_PROTOCOL, "the cell sent a frame that only its parent sends");
    return CELL_EVENT_END;
}

/* Reads what is there. False: the run is over. */
static bool cell_run_receive(struct cell_run *r)
{
    size_t room;
    char *to = frame_reader_room(&r->cell->reader, &room);
    ssize_t n;

    if (!to) {
        cell_run_finish(r, CELL_PROTOCOL, "no memory for what the cell sends");
        return false;
    }
    /* without room for control data the kernel drops descriptors that the cell may send */
    n = recv(r->cell->sock, to, room, MSG_DONTWAIT);
    if (n > 0) {
        frame_reader_got(&r->cell->reader, (size_t)n);
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    /* the kernel resets a socket whose other end was closed with something in it */
    cell_run_closed(r, n < 0 && errno == ECONNRESET);
    if (r->unread)
        cell_run_take(r);
    return false;
}

enum cell_event cell_run_next(struct cell_run *r, bool wait, wharf_str *ret_payload)
{
    *ret_payload = (wharf_str){"", 0};
    if (!r->over && r->asked)
        cell_run_finish(r, CELL_PROTOCOL, "a question of the cell was not answered");
    /* the time that our side took since the last frame is not the cell's; pieces of a frame do
     * not count as signs of life */
    if (!r->waiting)
        r->heard_us = clock_monotonic_us();
    r->waiting = true;
    while (!r->over) {
        struct frame f;
        int got = frame_reader_next(&r->cell->reader, &f);
        struct pollfd p = {.fd = r->cell->sock, .events = POLLIN};

        if (got > 0)
            return cell_run_take_frame(r, &f, ret_payload);
        if (got < 0)
            cell_run_finish(
                r, CELL_PROTOCOL, "the cell sent a frame that is too large or of no known type");
        else if (!wait && poll(&p, 1, 0) == 0 && clock_monotonic_us() < cell_run_due_us(r))
            return CELL_EVENT_NONE;
        else if (cell_run_wait_for(r, POLLIN))
            cell_run_receive(r);
    }
    return CELL_EVENT_END;
}

void cell_run_answer(struct cell_run *r, bool refused, wharf_str text)
{
    struct frame_head head = {.size = (uint32_t)text.n, .type = FRAME_ANSWER, .extra = refused};

    if (r->over || !r->asked)
        return;
    r->asked = false;
    r->heard_us = clock_monotonic_us();
    head.id = r->cell->call_id;
    if (text.n > FRAME_MAX)
        cell_run_finish(r, CELL_PROTOCOL, "the answer is larger than 64 MiB");
    else
        cell_run_send_all(r, head, text, NULL);
}

const struct cell_result *cell_run_result(const struct cell_run *r)
{
    return &r->result;
}

int cell_run_fd(const struct cell_run *r)
{
    return r->over ? -1 : r->cell->sock;
}

void cell_run_spoil(struct cell_run *r)
{
    r->spoilt = true;
}

void cell_run_end(struct cell_run *r)
{
    if (!r)
        return;
    cell_run_finish(r, CELL_CANCELED, "the run was given up");
    if (r->cell) {
        const struct frame_reader *in = &r->cell->reader;
        bool healthy = r->result.status <= CELL_FAILED && !r->spoilt;

        /* what it sent after its result belongs to nobody */
        cell_pool_give(r->pool, r->cell, healthy && in->at == in->n);
    }
    free(r);
}

struct cell_result cell_call(struct cell_pool *p, const struct cell_call *call, struct buf *result)
{
    struct cell_run *r = cell_run_start(p, call);
    struct cell_result outcome;
    wharf_str payload;
    enum cell_event event = cell_run_next(r, true, &payload);

    if (event != CELL_EVENT_END)
        cell_run_finish(
            r, CELL_PROTOCOL, "the cell sent a block or a question in a call that takes none");
    else if (r->result.status == CELL_OK && result)
        buf_adds(result, payload);
    outcome = r->result;
    cell_run_end(r);
    return outcome;
}
