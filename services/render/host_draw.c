/* host_draw.c - the service wharf.draw (plugin-api/wharf/service/draw.h): the server's side of a
 * `draw` cell.
 *
 * A process that drew for an organization draws for that one alone: loading the fonts takes longer
 * than a label. Nothing that the cell sends is believed: sizes are checked here, what the bytes
 * begin with, and that the report is JSON. */
#include "render/host_draw.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cell/shared.h"
#include "config/config.h"
#include "host/host.h"
#include "render/draw_wire.h"
#include "util/str.h"
#include "util/time.h"
#include "util/turns.h"
#include "util/zone.h"
#include "wharf/errors.h"

enum { WAIT_US = 10000000 }; /* for a free process */

const struct cell_kind host_draw_kind = {.name = "draw",
    .min = 1,
    .max = 8,
    .calls = 1,
    .owned_calls = 200,
    .memory_mib = 512,
    .growth_mib = 160,
    .cpu_s = 120,
    .idle_s = 60,
    .frame_max = 4 * DRAW_REPORT_MAX,
    .log_fd = -1,
    .nice = STEP_BACK_NICE};
/* Texts alone: its program has no fonts, and is there at once. */
static const struct cell_kind words_kind = {.name = "words",
    .min = 1,
    .max = 4,
    .calls = 1,
    .owned_calls = 1000,
    .memory_mib = 512,
    .growth_mib = 80,
    .cpu_s = 120,
    .idle_s = 60,
    .frame_max = DRAW_REPORT_MAX,
    .log_fd = -1,
    .nice = STEP_BACK_NICE};
static struct cell_shared cells = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct cell_shared words_cells = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One drawing. */
struct draw_work {
    struct cell_run *run;
    struct buf bytes;
    int fd; /* what is sent */
    const wharf_draw_wish *wish;
    wharf_draw_made *made;
};

static void end_work(void *arg)
{
    struct draw_work *w = arg;

    cell_run_end(w->run);
    w->run = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static void free_work(void *arg)
{
    struct draw_work *w = arg;

    end_work(w);
    buf_done(&w->bytes);
}

/* ---- what is sent ---- */

static bool host_draw_write_all(int fd, const void *p, size_t n)
{
    const char *from = p;

    while (n) {
        ssize_t wrote = write(fd, from, n);

        if (wrote <= 0)
            return false;
        from += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* Returns the bytes that travel; more than the most: 0. */
static size_t host_draw_size_of(const wharf_draw_wish *wish)
{
    size_t all = wish->request.n;

    if (wish->n_blobs > WHARF_DRAW_BLOBS_MAX)
        return 0;
    for (uint32_t i = 0; i < wish->n_blobs && all <= WHARF_DRAW_BYTES_MAX; i++)
        all += wish->blobs[i].n;
    return all <= WHARF_DRAW_BYTES_MAX ? all : 0;
}

static bool write_wish(struct draw_work *w)
{
    bool good;

    w->fd = memfd_create("draw", MFD_CLOEXEC);
    good = w->fd >= 0 && host_draw_write_all(w->fd, w->wish->request.p, w->wish->request.n);
    for (uint32_t i = 0; i < w->wish->n_blobs && good; i++) {
        uint64_t n = w->wish->blobs[i].n;

        good = host_draw_write_all(w->fd, &n, sizeof(n));
    }
    for (uint32_t i = 0; i < w->wish->n_blobs && good; i++)
        good = host_draw_write_all(w->fd, w->wish->blobs[i].p, w->wish->blobs[i].n);
    return good;
}

/* ---- what comes ---- */

static wharf_status too_complex(struct draw_work *w, wharf_str reason)
{
    w->made->verdict = WHARF_DRAW_TOO_COMPLEX;
    w->made->reason = reason;
    return WHARF_OK;
}

static bool begins_well(uint32_t format, wharf_str bytes)
{
    static const char *const begins[] = {"", "%PDF-", "\x89PNG\r\n\x1a\n", "^XA", "", ""};

    return !bytes.n || (begins[format][0] && str_starts(bytes, begins[format]));
}

/* Takes the last frame of a run that ended well. */
static wharf_status take_told(wharf_req *req, struct draw_work *w, wharf_str said)
{
    struct draw_told told;
    struct json_error bad;
    wharf_str report, bytes = buf_str(&w->bytes);

    if (said.n < sizeof(told))
        return too_complex(w, WHARF_S("its drawing was ended"));
    memcpy(&told, said.p, sizeof(told));
    if (told.spoiled)
        cell_run_spoil(w->run);
    told.reason[sizeof(told.reason) - 1] = 0;
    if (told.verdict == DRAW_TOO_COMPLEX && utf8_valid(told.reason, strlen(told.reason)))
        return too_complex(w, arena_dupz(req->arena, told.reason));
    report = arena_dup(req->arena, said.p + sizeof(told), said.n - sizeof(told));
    if (told.verdict > DRAW_REFUSED || told.bytes != bytes.n || w->bytes.failed ||
        !begins_well(w->wish->format, bytes) ||
        !json_is(json_parse(req->arena, report, &bad), JSON_OBJECT))
        return too_complex(w, WHARF_S("its drawing was ended"));
    w->made->verdict = told.verdict;
    w->made->pages = told.pages;
    w->made->bytes = bytes;
    w->made->report = report;
    return WHARF_OK;
}

/* Tells how a run ended that did not end well. */
static wharf_status host_draw_take_end(wharf_req *req, struct draw_work *w)
{
    switch (cell_run_result(w->run)->status) {
    case CELL_UNAVAILABLE:
        return req_fail(req, ERR_OVERLOADED, NULL, NULL);
    case CELL_DEADLINE:
        return too_complex(w, WHARF_S("it takes too much time"));
    case CELL_MEMORY:
        return too_complex(w, WHARF_S("it takes too much memory"));
    case CELL_OK:
    case CELL_FAILED:
    case CELL_CRASHED:
    case CELL_PROTOCOL:
    case CELL_CANCELED:
        break;
    }
    return too_complex(w, WHARF_S("its drawing was ended"));
}

/* Answers with the file of a time zone. */
static void host_draw_answer_zone(struct cell_run *run, wharf_str name)
{
    static _Thread_local char bytes[ZONE_BYTES_MAX];
    char z[80];
    size_t n;

    snprintf(z, sizeof(z), "%.*s", (int)(name.n < sizeof(z) ? name.n : sizeof(z) - 1), name.p);
    n = zone_read(z, bytes, sizeof(bytes));
    cell_run_answer(run, n == 0, (wharf_str){bytes, n});
}

static wharf_status host_draw_listen_to(wharf_req *req, struct draw_work *w)
{
    enum cell_event e;
    wharf_str said;

    while ((e = cell_run_next(w->run, true, &said)) != CELL_EVENT_END) {
        if (e == CELL_EVENT_ASK)
            host_draw_answer_zone(w->run, said);
        else if (e == CELL_EVENT_DATA)
            buf_adds(&w->bytes, said);
        if (w->bytes.failed)
            return too_complex(w, WHARF_S("its file is larger than 64 MiB"));
    }
    return cell_run_result(w->run)->status == CELL_OK ? take_told(req, w, said)
                                                      : host_draw_take_end(req, w);
}

/* ---- the call ---- */

/* Returns when the drawing must be done. */
static int64_t due_us(const wharf_req *req)
{
    int64_t due = clock_monotonic_us() + DRAW_MS * INT64_C(1000);

    return req->deadline_us && req->deadline_us < due ? req->deadline_us : due;
}

static wharf_status run_work(wharf_req *req, struct draw_work *w)
{
    bool words = w->wish->format == WHARF_DRAW_WORDS;
    struct cell_pool *pool = cell_shared_pool(words ? &words_cells : &cells,
        words ? &words_kind : &host_draw_kind, req->engine->config->cell_dir);
    struct draw_call head = {
        .format = w->wish->format, .n_blobs = w->wish->n_blobs, .request = w->wish->request.n};
    struct cell_call call = {.payload = {(const char *)&head, sizeof(head)},
        .owner = req->access.who ? req->access.who->organization : str_z(""),
        .fds = &w->fd,
        .n_fds = 1,
        .deadline_us = due_us(req),
        .wait_us = WAIT_US,
        .waits_apart = true};

    if (!pool)
        return req_fail(req, ERR_OVERLOADED, NULL,
            "nothing can be drawn here: the program wharf-cell-%s is missing",
            words ? "words" : "draw");
    if (!write_wish(w))
        return req_fail(req, ERR_OVERLOADED, NULL, NULL);
    w->run = cell_run_start(pool, &call);
    return host_draw_listen_to(req, w);
}

static wharf_status d_draw(wharf_req *req, const wharf_draw_wish *wish, wharf_draw_made *ret_made)
{
    wharf_draw_made made = {
        .head = ret_made->head, .reason = WHARF_S(""), .bytes = WHARF_S(""), .report = WHARF_S("")};
    struct draw_work *w = ARENA_NEW(req->arena, struct draw_work);
    wharf_status s = WHARF_OK;

    *w = (struct draw_work){.fd = -1, .wish = wish, .made = &made};
    buf_init(&w->bytes, DRAW_BYTES_MAX);
    arena_on_release(req->arena, free_work, w);
    if (wish->format < WHARF_DRAW_PDF || wish->format > WHARF_DRAW_WORDS || !wish->request.n)
        return req_fail(req, ERR_INTERNAL, NULL, "the wish is not one of wharf.draw");
    if (host_draw_size_of(wish))
        s = run_work(req, w);
    else
        s = too_complex(w, WHARF_S("its images and fonts have more than 64 MiB together"));
    end_work(w);
    memcpy(ret_made, &made, made.head.size < sizeof(made) ? made.head.size : sizeof(made));
    return s;
}

const wharf_draw_api host_draw = {WHARF_HEAD(wharf_draw_api), d_draw};
