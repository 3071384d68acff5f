/* log.c - see log.h. Leaves to others: where the descriptor points, and the access log. */
#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/disk.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

enum { MESSAGE_MAX = 16 * 1024, LINE_MAX_BYTES = 8 * MESSAGE_MAX };

/* The process has one log. Set before threads start (the supervisor, which has none, opens it
 * anew); only the level changes later. */
static struct {
    int fd;
    bool owned; /* opened by log_open */
    _Atomic uint32_t level;
    char program[32];
    _Atomic uint64_t lost; /* lines since the last one that was written */
    _Atomic bool telling;
} sink = {.fd = STDERR_FILENO, .level = WHARF_LOG_INFO, .program = "wharf"};

static const char *level_name(uint32_t level)
{
    switch ((enum wharf_log_level)level) {
    case WHARF_LOG_ERROR:
        return "error";
    case WHARF_LOG_WARN:
        return "warn";
    case WHARF_LOG_INFO:
        return "info";
    case WHARF_LOG_DEBUG:
        return "debug";
    }
    return "debug";
}

void log_init(int fd, uint32_t level, const char *program)
{
    sink.fd = fd;
    sink.owned = false;
    atomic_store(&sink.level, level);
    snprintf(sink.program, sizeof(sink.program), "%s", program);
}

bool log_open(const char *file, uint32_t level, const char *program)
{
    int old = sink.owned ? sink.fd : -1, fd = STDERR_FILENO;
    bool owned = strcmp(file, "-") != 0;

    if (owned)
        fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        return false;
    log_init(fd, level, program);
    sink.owned = owned;
    if (old >= 0)
        close(old);
    return true;
}

bool log_file_renew(const char *file, int fd)
{
    int fresh = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    bool good = fresh >= 0 && dup3(fresh, fd, O_CLOEXEC) >= 0;

    if (fresh >= 0)
        close(fresh);
    return good;
}

bool log_reopen(const char *file)
{
    return !sink.owned || log_file_renew(file, sink.fd);
}

bool log_is_file(void)
{
    return sink.owned;
}

void log_set_level(uint32_t level)
{
    atomic_store(&sink.level, level);
}

uint32_t log_level(void)
{
    return atomic_load_explicit(&sink.level, memory_order_relaxed);
}

void log_write(uint32_t level, const char *plugin, const char *request_id, const char *event,
    const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_vwrite(level, plugin, request_id, event, fmt, ap);
    va_end(ap);
}

/* Writes the time of the wall clock, not of the kernel clock: a log line tells when it was
 * written, also under a shifted test clock. */
static void wall_time(char out[ISO_MS_LEN + 1])
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    time_format_iso((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, out);
}

/* Writes one line by one write(2): lines of several processes on one pipe or file stay whole.
 * Returns false when some of it is not there (errno). */
static bool log_put_bytes(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t w = write(fd, p, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            errno = w < 0 ? errno : ENOSPC;
            return false;
        }
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* Writes a line. A full disk loses lines, not requests. They are counted; standard error is told
 * now and then, and the log when it takes lines again. */
static void log_put_line(const struct buf *line)
{
    char text[200];
    int n, error;

    if (!line->n)
        return;
    if (!log_put_bytes(sink.fd, line->p, line->n)) {
        error = errno;
        atomic_fetch_add(&sink.lost, 1);
        if (disk_lost(DISK_LOG, 1, error) && sink.fd != STDERR_FILENO) {
            n = snprintf(text, sizeof(text), "wharf: %s: lines of the log are lost: %s\n",
                sink.program, strerror(error));
            log_put_bytes(STDERR_FILENO, text, (size_t)n);
        }
        return;
    }
    if (atomic_load(&sink.lost) && !sink.telling) {
        sink.telling = true;
        log_warn("log.lost", "%llu lines before this one are lost",
            (unsigned long long)atomic_exchange(&sink.lost, 0));
        sink.telling = false;
    }
}

/* Makes the line UTF-8 again: vsnprintf may have cut inside a character, and paths may hold any
 * bytes. */
static wharf_str as_utf8(char *text, size_t n)
{
    size_t cut = n > 3 ? n - 3 : 0;

    for (size_t end = n; end > cut; end--)
        if (utf8_valid(text, end))
            return (wharf_str){text, end};
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= 0x80)
            text[i] = '?';
    return (wharf_str){text, n};
}

void log_vwrite(uint32_t level, const char *plugin, const char *request_id, const char *event,
    const char *fmt, va_list ap)
{
    char time[ISO_MS_LEN + 1], message[MESSAGE_MAX];
    struct buf line;
    struct jw w;
    int n;

    if (level > log_level())
        return;
    n = vsnprintf(message, sizeof(message), fmt, ap);
    if (n < 0)
        n = 0;
    if ((size_t)n >= sizeof(message))
        n = sizeof(message) - 1;
    wall_time(time);
    buf_init(&line, LINE_MAX_BYTES);
    jw_init(&w, &line);
    jw_open(&w, NULL, '{');
    jw_z(&w, "time", time);
    jw_z(&w, "level", level_name(level));
    jw_z(&w, "program", sink.program);
    if (plugin)
        jw_z(&w, "plugin", plugin);
    if (request_id)
        jw_z(&w, "request_id", request_id);
    jw_z(&w, "event", event);
    jw_str(&w, "message", as_utf8(message, (size_t)n));
    jw_close(&w, '}');
    buf_addc(&line, '\n');
    log_put_line(&line);
    buf_done(&line);
}
