/* host_image.c - the service wharf.image (plugin-api/wharf/service/image.h): the server's side of
 * an `image` cell (docs/spec/06-inference.md section 7.1).
 *
 * A process that read for an organization reads for that one alone: loading the model of letters
 * takes longer than most labels. Where a process ends in a step that can be left out, the picture
 * is read once more without it. Nothing that the cell sends is believed: image_read.c. */
#include "image/host_image.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cell/shared.h"
#include "config/config.h"
#include "host/host.h"
#include "image/image_read.h"
#include "image/image_wire.h"
#include "util/str.h"
#include "util/time.h"
#include "util/turns.h"
#include "wharf/errors.h"

enum {
    SECOND = 1000000,
    DEADLINE_US = 12 * SECOND, /* a picture may take */
    WAIT_US = 10 * SECOND, /* for a free process */
    TRIES = 2, /* processes that may die over a picture */
    CALLS = 50 /* pictures of one organization that a process reads */
};

const struct cell_kind host_image_kind = {.name = "image",
    .min = 1,
    .max = 4,
    .calls = 1,
    .owned_calls = CALLS,
    .memory_mib = 1024,
    .growth_mib = 400,
    /* no call may be the one that ends it: it would be read again without a step */
    .cpu_s = CALLS * DEADLINE_US / SECOND,
    .idle_s = 60,
    .frame_max = IMAGE_ANSWER_MAX,
    .log_fd = -1,
    .nice = STEP_BACK_NICE};
static struct cell_shared cells = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the processes; NULL when their program is missing. */
static struct cell_pool *host_image_pool(wharf_req *req)
{
    return cell_shared_pool(&cells, &host_image_kind, req->engine->config->cell_dir);
}

struct image_work {
    struct cell_pool *pool;
    struct image_call call;
    int fd;
    int64_t due_us;
    struct cell_run *run;
    uint32_t last_step; /* that the cell began; IMAGE_STEPS: none */
    wharf_image_read *read;
    uint32_t verdict;
    wharf_str reason;
};

static wharf_status host_image_judge(struct image_work *w, uint32_t verdict, wharf_str reason)
{
    w->verdict = verdict;
    w->reason = reason;
    return WHARF_OK;
}

static wharf_status died(struct image_work *w)
{
    return host_image_judge(
        w, WHARF_IMAGE_DIED, WHARF_S("it could not be read: its reader was ended"));
}

/* Takes what the cell says of a file that it can't read. */
static wharf_status take_failure(wharf_req *req, struct image_work *w, const char *said)
{
    static const struct {
        const char *word;
        uint32_t verdict;
    } known[] = {{"kind: ", WHARF_IMAGE_NO_IMAGE}, {"size: ", WHARF_IMAGE_SIZE},
        {"damaged: ", WHARF_IMAGE_DAMAGED}, {"language: ", WHARF_IMAGE_LANGUAGE}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = strlen(known[i].word);

        if (!strncmp(said, known[i].word, n) && said[n] && utf8_valid(said, strlen(said)))
            return host_image_judge(w, known[i].verdict, arena_dupz(req->arena, said + n));
    }
    return died(w);
}

/* Tells whether a run that ended badly is worth another one: without the step that it ended in, or
 * the same again when no step had begun. */
static bool may_go_again(const struct image_work *w, enum cell_status status)
{
    return (status == CELL_CRASHED || status == CELL_MEMORY) && w->last_step != IMAGE_OPEN;
}

static wharf_status host_image_take_end(
    wharf_req *req, struct image_work *w, wharf_str said, bool *ret_again)
{
    const struct cell_result *end = cell_run_result(w->run);

    switch (end->status) {
    case CELL_OK:
        if (image_read_answer(req->arena, said, w->read)) {
            /* nobody knows what the step would have found that the first process ended in */
            if (w->call.skip && !w->read->n_codes && !w->read->n_words)
                return died(w);
            return host_image_judge(w, WHARF_IMAGE_GOOD, WHARF_S(""));
        }
        cell_run_spoil(w->run);
        return died(w);
    case CELL_FAILED:
        return take_failure(req, w, end->reason);
    case CELL_UNAVAILABLE:
        req->reply.retry_after = 2;
        return req_fail(req, ERR_OVERLOADED, NULL, NULL);
    case CELL_DEADLINE:
        return host_image_judge(w, WHARF_IMAGE_TIMEOUT, WHARF_S("it takes too much time"));
    case CELL_CRASHED:
    case CELL_MEMORY:
    case CELL_PROTOCOL:
    case CELL_CANCELED:
        break;
    }
    *ret_again = may_go_again(w, end->status);
    if (end->status == CELL_MEMORY)
        return host_image_judge(w, WHARF_IMAGE_DIED, WHARF_S("it takes too much memory"));
    return died(w);
}

static void host_image_end_run(void *arg)
{
    struct image_work *w = arg;

    cell_run_end(w->run);
    w->run = NULL;
}

static wharf_status host_image_run_once(wharf_req *req, struct image_work *w, bool *ret_again)
{
    struct cell_call call = {.payload = {(const char *)&w->call, sizeof(w->call)},
        .owner = req->access.who ? req->access.who->organization : str_z(""),
        .fds = &w->fd,
        .n_fds = 1,
        .deadline_us = w->due_us,
        .wait_us = WAIT_US,
        .waits_apart = true};
    enum cell_event e;
    wharf_status s;
    wharf_str said;

    *ret_again = false;
    w->last_step = IMAGE_STEPS;
    w->run = cell_run_start(w->pool, &call);
    while ((e = cell_run_next(w->run, true, &said)) != CELL_EVENT_END) {
        if (e != CELL_EVENT_DATA || said.n != 1 || (unsigned char)said.p[0] >= IMAGE_STEPS) {
            host_image_end_run(w);
            return died(w);
        }
        w->last_step = (unsigned char)said.p[0];
    }
    s = host_image_take_end(req, w, said, ret_again);
    host_image_end_run(w);
    return s;
}

/* Writes the call. Returns false when the languages can't be any. */
static bool host_image_write_call(const wharf_image_wish *wish, struct image_call *call)
{
    wharf_str languages = wish->languages.n ? wish->languages : WHARF_S("eng");

    *call = (struct image_call){.wants = wish->wants, .budget_ms = wish->budget_ms};
    if (!call->budget_ms || call->budget_ms > WHARF_IMAGE_BUDGET_MS)
        call->budget_ms = WHARF_IMAGE_BUDGET_MS;
    if (languages.n >= sizeof(call->languages) || memchr(languages.p, 0, languages.n))
        return false;
    memcpy(call->languages, languages.p, languages.n);
    return true;
}

static wharf_status read_picture(wharf_req *req, const wharf_image_wish *wish, struct image_work *w)
{
    wharf_status s = WHARF_OK;
    struct stat st;
    bool again = true;

    if (!w->pool)
        return req_fail(req, ERR_MODULE_UNAVAILABLE, NULL,
            "pictures can't be read here: the program wharf-cell-image is missing");
    if (!host_image_write_call(wish, &w->call))
        return host_image_judge(
            w, WHARF_IMAGE_LANGUAGE, WHARF_S("it asks for languages that are unknown"));
    if (fstat(w->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return req_fail(req, ERR_INTERNAL, NULL, "the picture is no file");
    if (st.st_size > WHARF_IMAGE_BYTES_MAX)
        return host_image_judge(w, WHARF_IMAGE_SIZE, WHARF_S("it has more than 64 MiB"));
    for (unsigned i = 0; i < TRIES && again && s == WHARF_OK; i++) {
        s = host_image_run_once(req, w, &again);
        if (again && w->last_step < IMAGE_STEPS)
            w->call.skip |= 1U << w->last_step;
    }
    return s;
}

static wharf_status i_read(wharf_req *req, int fd, const wharf_image_wish *wish,
    wharf_image_read *ret_read, uint32_t *ret_verdict, wharf_str *ret_reason)
{
    wharf_image_read read = {.head = ret_read->head};
    struct image_work *w = ARENA_NEW(req->arena, struct image_work);
    wharf_status s;

    *w = (struct image_work){.pool = host_image_pool(req),
        .fd = fd,
        .due_us = clock_monotonic_us() + DEADLINE_US,
        .read = &read,
        .reason = WHARF_S("")};
    arena_on_release(req->arena, host_image_end_run, w);
    s = read_picture(req, wish, w);
    *ret_verdict = w->verdict;
    *ret_reason = w->reason;
    w->read = NULL;
    memcpy(ret_read, &read, read.head.size < sizeof(read) ? read.head.size : sizeof(read));
    return s;
}

static bool i_present(wharf_req *req)
{
    return host_image_pool(req) != NULL;
}

const wharf_image_api host_image = {WHARF_HEAD(wharf_image_api), i_read, i_present};
