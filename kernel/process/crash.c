/* crash.c - see crash.h. Everything reached from the handler is async-signal-safe: own
 * formatting, plain system calls.
 *
 * Stack memory is read with process_vm_readv, which fails on a bad address where a plain load
 * would fault again. */
#include "process/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    PLUGINS = 64,
    FRAMES = 64,
    SCAN_WORDS = 1024,
    SCAN_KEPT = 24,
    STACK_BYTES = 64 * 1024,
    MAPS_BYTES = 256 * 1024,
    OUT_BYTES = 32 * 1024
};

struct crash_plugin {
    char name[BOARD_TEXT];
    char file[256];
};

/* The process's own: filled before threads start, read by the handler only. */
static struct {
    char dir[256];
    pid_t pid; /* of this process; a child of it has nothing to report */
    struct crash_plugin plugins[PLUGINS];
    size_t n_plugins;
    char maps[MAPS_BYTES]; /* text of /proc/self/maps, read when it happens */
    char out[OUT_BYTES];
    size_t n;
    _Atomic pid_t writer; /* the thread that writes the report, 0 before */
    _Atomic bool written;
} state;

static __thread struct activity *my_activity;

/* ---- text without stdio ---- */

static void crash_put(const char *text)
{
    while (*text && state.n < OUT_BYTES)
        state.out[state.n++] = *text++;
}

static void crash_put_number(uint64_t value, unsigned base)
{
    char digits[24];
    size_t at = sizeof(digits);

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value && at);
    for (; at < sizeof(digits) && state.n < OUT_BYTES; at++)
        state.out[state.n++] = digits[at];
}

static void put_hex(uint64_t value)
{
    crash_put("0x");
    crash_put_number(value, 16);
}

static void crash_put_line(const char *key, const char *value)
{
    crash_put(key);
    crash_put(value[0] ? value : "-");
    crash_put("\n");
}

/* ---- which file an address is in ---- */

struct mapping {
    uint64_t from, to, offset;
    bool code;
    const char *path; /* ends at a newline */
    size_t path_n;
};

static const char *crash_read_hex(const char *p, uint64_t *ret)
{
    *ret = 0;
    for (;; p++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                                  : 16;

        if (digit > 15)
            return p;
        *ret = *ret * 16 + digit;
    }
}

static bool find_mapping(uint64_t address, struct mapping *m)
{
    for (const char *line = state.maps; *line;) {
        const char *end = line, *p;

        while (*end && *end != '\n')
            end++;
        p = crash_read_hex(line, &m->from);
        p = crash_read_hex(*p ? p + 1 : p, &m->to);
        if (address >= m->from && address < m->to) {
            m->code = end - p > 4 && p[3] == 'x';
            for (int blanks = 0; p < end && blanks < 2; p++) /* permissions, then the offset */
                blanks += *p == ' ';
            crash_read_hex(p, &m->offset);
            while (p < end && *p != '/' && *p != '[')
                p++;
            m->path = p;
            m->path_n = (size_t)(end - p);
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

static const char *plugin_of(const struct mapping *m)
{
    for (size_t i = 0; i < state.n_plugins; i++)
        if (strlen(state.plugins[i].file) == m->path_n &&
            memcmp(state.plugins[i].file, m->path, m->path_n) == 0)
            return state.plugins[i].name;
    return NULL;
}

static void read_maps(void)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got = 1;

    while (fd >= 0 && got > 0 && n < MAPS_BYTES - 1) {
        got = read(fd, state.maps + n, MAPS_BYTES - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    state.maps[n] = 0;
    if (fd >= 0)
        close(fd);
}

/* ---- the stack ---- */

struct frames {
    uint64_t pc[FRAMES];
    size_t count;
};

static bool safe_read(uint64_t address, void *to, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)(uintptr_t)address, n};

    return address && process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static void registers_of(const ucontext_t *u, uint64_t *pc, uint64_t *fp, uint64_t *sp)
{
#if defined(__x86_64__)
    *pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    *fp = (uint64_t)u->uc_mcontext.gregs[REG_RBP];
    *sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    *pc = u->uc_mcontext.pc;
    *fp = u->uc_mcontext.regs[29];
    *sp = u->uc_mcontext.sp;
#else
#error "tell registers_of() where this machine keeps pc, fp and sp"
#endif
}

/* Walks the frame pointers: each frame begins with the caller's frame pointer and the return
 * address. A call through a bad pointer has no frame yet: then the return address is on top of the
 * stack. */
static void crash_walk(const ucontext_t *u, struct frames *f)
{
    uint64_t pc, fp, sp, frame[2];
    struct mapping m;

    registers_of(u, &pc, &fp, &sp);
    f->pc[f->count++] = pc;
    if (!find_mapping(pc, &m) && safe_read(sp, frame, sizeof(frame[0])))
        f->pc[f->count++] = frame[0];
    while (f->count < FRAMES && safe_read(fp, frame, sizeof(frame))) {
        if (!frame[1])
            break;
        f->pc[f->count++] = frame[1];
        if (frame[0] <= fp) /* stacks grow down, so callers are above */
            break;
        fp = frame[0];
    }
}

static void put_frame(const char *mark, size_t number, uint64_t pc)
{
    struct mapping m;

    crash_put(mark);
    crash_put_number(number, 10);
    crash_put(" ");
    put_hex(pc);
    if (find_mapping(pc, &m)) {
        crash_put(" ");
        for (size_t k = 0; k < m.path_n && state.n < OUT_BYTES; k++)
            state.out[state.n++] = m.path[k];
        crash_put("+");
        put_hex(pc - m.from + m.offset);
    }
    crash_put("\n");
}

/* Scans the stack for words that point into code, which are shown as possible frames; old ones may
 * be among them. The C library is built without frame pointers, so a chain that begins in abort()
 * is lost at once. */
static void scan(const ucontext_t *u, struct frames *possible)
{
    uint64_t pc, fp, sp, word;
    struct mapping m;

    registers_of(u, &pc, &fp, &sp);
    for (uint64_t i = 0; i < SCAN_WORDS && possible->count < SCAN_KEPT; i++)
        if (safe_read(sp + i * sizeof(word), &word, sizeof(word)) && find_mapping(word, &m) &&
            m.code && m.path_n)
            possible->pc[possible->count++] = word;
}

static const char *plugin_in(const struct frames *f)
{
    struct mapping m;

    for (size_t i = 0; i < f->count; i++)
        if (find_mapping(f->pc[i], &m) && plugin_of(&m))
            return plugin_of(&m);
    return NULL;
}

static const char *blamed(const struct frames *sure, const struct frames *possible)
{
    if (plugin_in(sure))
        return plugin_in(sure);
    if (my_activity && atomic_load(&my_activity->since_us))
        return my_activity->plugin;
    return plugin_in(possible) ? plugin_in(possible) : "";
}

/* ---- the report ---- */

static const char *signal_name(int sig)
{
    switch (sig) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    case SIGABRT:
        return "SIGABRT";
    default:
        return "signal";
    }
}

static void put_registers(const ucontext_t *u)
{
    uint64_t pc, fp, sp;

    registers_of(u, &pc, &fp, &sp);
    crash_put("registers: pc=");
    put_hex(pc);
    crash_put(" sp=");
    put_hex(sp);
    crash_put(" fp=");
    put_hex(fp);
#if defined(__x86_64__)
    static const char *const names[] = {" r8=", " r9=", " r10=", " r11=", " r12=", " r13=", " r14=",
        " r15=", " rdi=", " rsi=", "", " rbx=", " rdx=", " rax=", " rcx="};

    for (int i = 0; i < 15; i++) {
        if (!names[i][0])
            continue;
        crash_put(names[i]);
        put_hex((uint64_t)u->uc_mcontext.gregs[i]);
    }
#endif
    crash_put("\n");
}

/* Writes the report. how: "signal" or "exit code"; name: of the signal. */
static void crash_write_report(const char *how, int number, const char *name, uint64_t address,
    const ucontext_t *u, const struct timespec *now)
{
    struct frames frames = {.count = 0}, possible = {.count = 0};
    bool busy = my_activity && atomic_load(&my_activity->since_us);

    read_maps();
    crash_walk(u, &frames);
    if (frames.count < 4 || !plugin_in(&frames)) /* a call of the C library hides who made it */
        scan(u, &possible);
    crash_put("wharf crash report\ntime: ");
    crash_put_number((uint64_t)now->tv_sec, 10);
    crash_put("\npid: ");
    crash_put_number((uint64_t)getpid(), 10);
    crash_put("\n");
    crash_put(how);
    crash_put(": ");
    crash_put_number((uint64_t)number, 10);
    crash_put_line(" ", name);
    crash_put("address: ");
    put_hex(address);
    crash_put("\n");
    crash_put_line("plugin: ", blamed(&frames, &possible));
    crash_put_line("doing: ", busy ? my_activity->what : "");
    crash_put_line("request_id: ", busy ? my_activity->request_id : "");
    put_registers(u);
    crash_put("backtrace:\n");
    for (size_t i = 0; i < frames.count; i++)
        put_frame("#", i, frames.pc[i]);
    for (size_t i = 0; i < possible.count; i++)
        put_frame("?", i, possible.pc[i]);
}

static void crash_file_name(char out[320], const struct timespec *now)
{
    size_t start = state.n;

    crash_put(state.dir);
    crash_put("/crash-");
    crash_put_number((uint64_t)now->tv_sec * 1000 + (uint64_t)now->tv_nsec / 1000000, 10);
    crash_put("-");
    crash_put_number((uint64_t)getpid(), 10);
    crash_put(".txt");
    memcpy(out, state.out + start, state.n - start);
    out[state.n - start] = 0;
    state.n = start;
}

/* Makes the calling thread the one that writes the report; false when another was first. Then the
 * report is whole when this returns, or a second has passed: the caller ends the process. */
static bool becomes_writer(void)
{
    static const struct timespec nap = {.tv_nsec = 1000 * 1000};
    pid_t nobody = 0, me = (pid_t)syscall(SYS_gettid);

    if (atomic_compare_exchange_strong(&state.writer, &nobody, me))
        return true;
    for (int i = 0; i < 1000 && nobody != me && !atomic_load(&state.written); i++)
        nanosleep(&nap, NULL);
    return false;
}

static void write_report(
    const char *how, int number, const char *name, uint64_t address, const ucontext_t *u)
{
    struct timespec now;
    char file[320];
    int fd;

    if (!becomes_writer())
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    crash_file_name(file, &now);
    crash_write_report(how, number, name, address, u, &now);
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    for (size_t done = 0; fd >= 0 && done < state.n;) {
        ssize_t n = write(fd, state.out + done, state.n - done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    atomic_store(&state.written, true);
}

/* Handles a fatal signal: raised again with its default action, it ends the process when the
 * handler returns. SA_RESETHAND would let a second thread end it before the report is whole. */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
    write_report("signal", sig, signal_name(sig), (uint64_t)(uintptr_t)info->si_addr, context);
    signal(sig, SIG_DFL);
    raise(sig);
}

bool crash_by_exit(const char *call, int code)
{
    ucontext_t here;

    if (!my_activity || !atomic_load(&my_activity->since_us) || getpid() != state.pid ||
        getcontext(&here) != 0)
        return false;
    write_report("exit code", code, call, 0, &here);
    return true;
}

void crash_install(const char *dir)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    exit_tap_keep();
    snprintf(state.dir, sizeof(state.dir), "%s", dir);
    state.pid = getpid();
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        sigaction(fatal[i], &action, NULL);
}

void crash_add_plugin(const char *name, const char *file)
{
    struct crash_plugin *p = &state.plugins[state.n_plugins];
    char *real;

    if (state.n_plugins == PLUGINS)
        return;
    real = realpath(file, NULL); /* /proc/self/maps shows resolved paths */
    snprintf(p->name, sizeof(p->name), "%s", name);
    snprintf(p->file, sizeof(p->file), "%s", real ? real : file);
    free(real);
    state.n_plugins++;
}

void crash_thread(struct activity *c)
{
    stack_t stack = {.ss_size = STACK_BYTES};

    my_activity = c;
    atomic_store(&c->thread, gettid());
    /* kept until the process ends: a thread may crash while it ends */
    stack.ss_sp = mmap(
        NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED)
        sigaltstack(&stack, NULL);
}
