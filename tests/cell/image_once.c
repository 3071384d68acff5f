/* image_once.c - see image_once.h. */
#include "image_once.h"

#include <stdio.h>

#include "util/time.h"

enum { SECOND = 1000000, LIMIT_S = 100, TRIES = 50 };

/* Runs a call to its end. Returns the last step that was begun. */
static unsigned image_once_listen_to(struct cell_run *run, wharf_str *ret_said)
{
    unsigned last = IMAGE_STEPS;

    while (cell_run_next(run, true, ret_said) == CELL_EVENT_DATA)
        last = ret_said->n == 1 ? (unsigned char)ret_said->p[0] : IMAGE_STEPS;
    return last;
}

struct cell_run *image_once_run(struct cell_pool *pool, const struct image_call *wish, int fd,
    wharf_str *ret_said, unsigned *ret_last)
{
    for (int tries = 1;; tries++) {
        struct cell_call call = {.payload = {(const char *)wish, sizeof(*wish)},
            .owner = WHARF_S("test"),
            .fds = &fd,
            .n_fds = 1,
            .deadline_us = clock_monotonic_us() + LIMIT_S * (int64_t)SECOND,
            .wait_us = LIMIT_S * (int64_t)SECOND,
            .waits_apart = true};
        struct cell_run *run = cell_run_start(pool, &call);

        *ret_last = image_once_listen_to(run, ret_said);
        if (cell_run_result(run)->status != CELL_UNAVAILABLE || tries == TRIES)
            return run;
        cell_run_end(run);
    }
}

void image_once_print_text(wharf_str s)
{
    putchar('"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c < 0x20 || c == '"' || c == '\\')
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}
