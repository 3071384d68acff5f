/* zebra.c - how a printer of ZPL is: `~HS`, host status, before and after a document (spec 04
 * section 10.3). Printers that do not answer it are printed to as others are.
 *
 * The answer is three lines between STX and ETX, of numbers with commas between them:
 *   settings, paper out, pause, label length, formats waiting, buffer full, ...
 *   settings, -, head up, ribbon out, thermal transfer, mode, width mode, label waiting, labels
 *   remaining, ...
 *   password, static memory */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "station.h"

enum {
    ANSWER_MS = 2000, /* a printer may take to answer ~HS */
    LOOK_MS = 1000,
    ANSWER_MAX = 512,
    LINES = 3,
    NUMBERS = 12,
    GONE_LOOKS = 30
};

struct zebra {
    const char *troubles[4];
    size_t n;
    long waiting; /* formats in its memory and labels that remain */
};

/* Reads all of an answer, which ends with the third ETX. Returns false when it does not come. */
static bool zebra_read_answer(int fd, char text[ANSWER_MAX])
{
    int64_t until = now_us() + ANSWER_MS * 1000LL;
    size_t n = 0;
    int lines = 0;

    while (lines < LINES && n < ANSWER_MAX - 1) {
        int left = (int)((until - now_us()) / 1000);
        struct pollfd p = {fd, POLLIN, 0};
        ssize_t got;

        if (left <= 0 || poll(&p, 1, left) <= 0)
            return false;
        got = recv(fd, text + n, ANSWER_MAX - 1 - n, 0);
        if (got <= 0)
            return false;
        for (ssize_t i = 0; i < got; i++)
            lines += text[n + (size_t)i] == 3;
        n += (size_t)got;
    }
    text[n] = 0;
    return lines == LINES;
}

/* Reads the numbers of the next line. Returns false when there are too few. */
static bool zebra_read_line(char **at, long numbers[NUMBERS], int least)
{
    char *p = strchr(*at, 2), *end;
    int n = 0;

    while (p && n < NUMBERS) {
        numbers[n] = strtol(p + 1, &end, 10);
        if (end == p + 1)
            return false;
        n++;
        p = *end == ',' ? end : NULL;
        *at = end;
    }
    return n >= least;
}

static bool zebra_ask(int fd, struct zebra *ret)
{
    char text[ANSWER_MAX], *at = text;
    long one[NUMBERS], two[NUMBERS];

    *ret = (struct zebra){.n = 0};
    if (send(fd, "~HS\r\n", 5, MSG_NOSIGNAL) != 5 || !zebra_read_answer(fd, text))
        return false;
    if (!zebra_read_line(&at, one, 5) || !zebra_read_line(&at, two, 9))
        return false;
    if (one[1])
        ret->troubles[ret->n++] = "media-empty";
    if (two[3])
        ret->troubles[ret->n++] = "marker-supply-empty";
    if (two[2])
        ret->troubles[ret->n++] = "cover-open";
    if (one[2])
        ret->troubles[ret->n++] = "paused";
    ret->waiting = one[4] + two[8];
    return true;
}

/* Tells what is not as it was before. */
static void zebra_tell(const struct job *j, const struct zebra *z, struct zebra *before)
{
    bool same = z->n == before->n;

    for (size_t i = 0; same && i < z->n; i++)
        same = z->troubles[i] == before->troubles[i];
    if (!same)
        printer_trouble(j->printer, z->troubles, z->n);
    *before = *z;
}

bool zebra_ready(struct job *j, int fd, bool *ret_answers)
{
    struct zebra z, before = {.n = 0};

    while ((*ret_answers = zebra_ask(fd, &z)) && z.n) {
        if (!before.n)
            say(j->printer->name, "%s waits: the printer says %s", j->record.id, z.troubles[0]);
        zebra_tell(j, &z, &before);
        for (int i = 0; i < LOOK_MS / 100; i++) {
            if (atomic_load(&j->cancel) || session_ending())
                return false;
            nap_ms(100);
        }
    }
    if (!*ret_answers)
        return before.n == 0; /* one that went silent is asked again with the next try */
    zebra_tell(j, &z, &before);
    return true;
}

enum zebra_end zebra_watch(struct job *j, int fd)
{
    struct zebra z, before = {.n = 0};
    int silent = 0;

    for (;;) {
        const char *stage;

        if (!zebra_ask(fd, &z)) {
            if (++silent == GONE_LOOKS)
                return ZEBRA_GONE;
            nap_ms(LOOK_MS);
            continue;
        }
        silent = 0;
        zebra_tell(j, &z, &before);
        if (!z.n && z.waiting <= 0)
            return ZEBRA_IDLE;
        stage = z.n ? "blocked" : "printing";
        if (strcmp(j->stage, stage) != 0)
            job_tell_stage(j, stage);
        if (session_ending())
            return ZEBRA_LEFT;
        nap_ms(LOOK_MS);
    }
}
