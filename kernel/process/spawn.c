/* spawn.c - see spawn.h. Between fork and exec only async-signal-safe calls are made. */
#include "process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/turns.h"

extern char **environ;

static int become_user(const struct spawn *s)
{
    if (!s->as_user)
        return 0;
    if (setgroups(s->groups ? s->n_groups : 1, s->groups ? s->groups : &s->gid) != 0 ||
        setgid(s->gid) != 0)
        return -1;
    return setuid(s->uid);
}

static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP)
            sigaction(sig, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int place_streams(const struct spawn *s)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(s->in >= 0 ? s->in : null, STDIN_FILENO) < 0)
        return -1;
    if (s->out >= 0 && dup2(s->out, STDOUT_FILENO) < 0)
        return -1;
    if (s->err >= 0 && dup2(s->err, STDERR_FILENO) < 0)
        return -1;
    for (size_t i = 0; i < s->n_keep; i++)
        if (fcntl(s->keep[i], F_SETFD, 0) != 0)
            return -1;
    return 0;
}

static void child(const struct spawn *s, int report, pid_t parent)
{
    int error;

    reset_signals();
    if (s->own_session)
        setsid();
    turns_set(0, s->short_turns ? TURNS_SHORT_US : TURNS_USUAL);
    if (place_streams(s) != 0 || become_user(s) != 0 || (s->dir && chdir(s->dir) != 0))
        goto failed;
    /* after the change of user, which clears it */
    if (s->death_signal && prctl(PR_SET_PDEATHSIG, (unsigned long)s->death_signal, 0, 0, 0) != 0)
        goto failed;
    if (s->death_signal && getppid() != parent)
        _exit(1);
    execve(s->argv[0], (char *const *)s->argv, s->env ? (char *const *)s->env : environ);
failed:
    error = errno;
    if (write(report, &error, sizeof(error)) != (ssize_t)sizeof(error))
        _exit(126);
    _exit(127);
}

pid_t spawn(const struct spawn *s)
{
    int report[2], error = 0;
    pid_t pid, parent = getpid();
    ssize_t n;

    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    pid = fork();
    if (pid == 0)
        child(s, report[1], parent);
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        return -1;
    }
    do
        n = read(report[0], &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n == (ssize_t)sizeof(error)) {
        waitpid(pid, NULL, 0);
        errno = error;
        return -1;
    }
    return pid;
}

int spawn_wait(const struct spawn *s)
{
    pid_t pid = spawn(s), got;
    int status = -1;

    if (pid < 0)
        return -1;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == pid ? status : -1;
}
