/* host_preview.c - the service wharf.preview (plugin-api/wharf/service/preview.h): the server's
 * side of a `preview` cell.
 *
 * The cell draws PDF and nothing else. Images and texts become one first, by a `render` cell: so
 * their readers are in one program, and poppler is in another. Nothing that the cells send is
 * believed: sizes are checked here, and that a picture is a PNG. */
#include "render/host_preview.h"

#include <string.h>
#include <unistd.h>

#include "blob/host_blob.h"
#include "cell/shared.h"
#include "config/config.h"
#include "host/host.h"
#include "render/host_render.h"
#include "render/preview_wire.h"
#include "render/render_wire.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    SECOND = 1000000,
    DEADLINE_US = 20 * SECOND, /* a preview may take */
    WAIT_US = 10 * SECOND /* for a free process */
};

static const struct cell_kind preview_kind = {.name = "preview",
    .min = 1,
    .max = 4,
    .calls = 1, /* a document of one tenant never meets a process that saw another's */
    .memory_mib = 768,
    .cpu_s = 10,
    .idle_s = 30,
    .frame_max = PREVIEW_BLOCK,
    .log_fd = -1};
static struct cell_shared cells = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One call of a cell that sends blocks for a file, then so many bytes as its result. */
struct work {
    struct cell_pool *pool;
    wharf_str payload;
    int fd; /* the document */
    wharf_blob_writer *to;
    size_t most, made_size;
    void *made; /* the result is copied there */
    const char *begins; /* what the bytes begin with */
    uint32_t verdict;
    wharf_str reason;
};

/* Says why a run that is over did not go well. */
static wharf_status judge_end(wharf_req *req, struct work *w, const struct cell_result *result)
{
    uint32_t verdict = render_verdict(req, result, &w->reason);

    if (verdict == WHARF_RENDER_GOOD)
        return WHARF_UNAVAILABLE;
    w->verdict = verdict == WHARF_RENDER_NO_PAGES ? WHARF_PREVIEW_NO_PAGE : WHARF_PREVIEW_DOCUMENT;
    if (!w->reason.n)
        w->reason = WHARF_S("it is damaged, or takes too much memory or time");
    return WHARF_OK;
}

/* Takes the blocks of a run into the file. ret_good: it ended well, and made is set. */
static wharf_status take_blocks(
    wharf_req *req, struct work *w, struct cell_run *run, bool *ret_good)
{
    size_t total = 0, begins = strlen(w->begins);
    enum cell_event e;
    wharf_str said;

    *ret_good = false;
    while ((e = cell_run_next(run, true, &said)) == CELL_EVENT_DATA) {
        wharf_status s;

        if (said.n > w->most - total ||
            (total == 0 && (said.n < begins || memcmp(said.p, w->begins, begins) != 0)))
            return WHARF_OK;
        total += said.n;
        s = host_blob.write(req, w->to, said.p, said.n);
        if (s != WHARF_OK)
            return s;
    }
    *ret_good = e == CELL_EVENT_END && cell_run_result(run)->status == CELL_OK && total > 0 &&
                said.n == w->made_size;
    if (*ret_good)
        memcpy(w->made, said.p, said.n);
    return WHARF_OK;
}

static void host_preview_end_run(void *arg)
{
    struct cell_run **run = arg;

    cell_run_end(*run);
    *run = NULL;
}

static wharf_status host_preview_do_work(wharf_req *req, struct work *w)
{
    struct cell_call call = {.payload = w->payload,
        .fds = &w->fd,
        .n_fds = 1,
        .deadline_us = clock_monotonic_us() + DEADLINE_US,
        .wait_us = WAIT_US};
    struct cell_run **run = ARENA_NEW(req->arena, struct cell_run *);
    wharf_status s;
    bool good;

    if (!w->pool)
        return req_fail(req, ERR_OVERLOADED, NULL,
            "previews can't be made here: the program wharf-cell-preview or wharf-cell-render is "
            "missing");
    *run = cell_run_start(w->pool, &call);
    arena_on_release(req->arena, host_preview_end_run, run);
    s = take_blocks(req, w, *run, &good);
    if (s == WHARF_OK && !good)
        s = judge_end(req, w, cell_run_result(*run));
    host_preview_end_run(run);
    return s;
}

/* Makes a PDF of the one page of an image or a text. */
static wharf_status as_pdf(
    wharf_req *req, uint32_t type, const wharf_preview_wish *wish, struct work *w)
{
    struct render_call call = {
        .type = type, .page = wish->page, .width = wish->width, .height = wish->height};
    struct render_made made = {0};
    wharf_status s;

    w->pool = render_pool(req);
    w->payload = arena_dup(req->arena, (const char *)&call, sizeof(call));
    w->most = RENDER_BYTES_MAX;
    w->made = &made;
    w->made_size = sizeof(made);
    w->begins = "%PDF-";
    s = host_preview_do_work(req, w);
    w->made = NULL;
    return s;
}

static wharf_status as_png(wharf_req *req, const struct preview_call *call, struct work *w)
{
    struct preview_made made = {0};
    wharf_status s;

    w->pool = cell_shared_pool(&cells, &preview_kind, req->engine->config->cell_dir);
    w->payload = arena_dup(req->arena, (const char *)call, sizeof(*call));
    w->most = PREVIEW_BYTES_MAX;
    w->made = &made;
    w->made_size = sizeof(made);
    w->begins = "\x89PNG\r\n\x1a\n";
    s = host_preview_do_work(req, w);
    w->made = NULL;
    return s;
}

static bool p_takes(wharf_str type)
{
    return render_type_of(type) != 0;
}

static wharf_status p_make(wharf_req *req, int fd, wharf_str type, const wharf_preview_wish *wish,
    wharf_blob_writer *to, uint32_t *ret_verdict, wharf_str *ret_reason)
{
    uint32_t kind = render_type_of(type);
    struct preview_call call = {.page = wish->page,
        .width = wish->width,
        .height = wish->height,
        .dots = kind != RENDER_PDF && kind != RENDER_TEXT};
    struct work first = {.fd = fd, .reason = WHARF_S("")}, second = {.fd = fd, .to = to};
    wharf_status s = WHARF_OK;

    if (kind != RENDER_PDF) {
        s = host_blob.begin(req, RENDER_BYTES_MAX, &first.to);
        if (s == WHARF_OK)
            s = as_pdf(req, kind, wish, &first);
        second.fd = s == WHARF_OK ? host_blob.written(first.to) : -1;
        call.page = 1;
    }
    second.verdict = first.verdict;
    second.reason = first.reason;
    if (s == WHARF_OK && !first.verdict)
        s = as_png(req, &call, &second);
    if (first.to)
        host_blob.abort(req, first.to);
    *ret_verdict = second.verdict;
    *ret_reason = second.reason;
    return s;
}

/* Reads the bytes that a cell sent, as text. Returns an empty one when they are none. */
static wharf_str preview_text_of(wharf_req *req, int fd)
{
    off_t n = lseek(fd, 0, SEEK_END);
    char *text = n > 0 && n <= PREVIEW_TEXT_MAX ? arena_alloc(req->arena, (size_t)n + 1) : NULL;

    if (!text || pread(fd, text, (size_t)n, 0) != n || !utf8_valid(text, (size_t)n))
        return WHARF_S("");
    text[n] = 0;
    return (wharf_str){text, (size_t)n};
}

static wharf_status p_text(wharf_req *req, int fd, wharf_str *ret_text, uint32_t *ret_pages,
    uint32_t *ret_verdict, wharf_str *ret_reason)
{
    struct preview_call call = {.page = 1, .text = 1};
    struct preview_made made = {0};
    struct work w = {.fd = fd,
        .reason = WHARF_S(""),
        .payload = arena_dup(req->arena, (const char *)&call, sizeof(call)),
        .most = PREVIEW_TEXT_MAX,
        .made = &made,
        .made_size = sizeof(made),
        .begins = ""};
    wharf_status s = host_blob.begin(req, PREVIEW_TEXT_MAX, &w.to);

    *ret_text = WHARF_S("");
    w.pool = cell_shared_pool(&cells, &preview_kind, req->engine->config->cell_dir);
    if (s == WHARF_OK)
        s = host_preview_do_work(req, &w);
    if (s == WHARF_OK && !w.verdict)
        *ret_text = preview_text_of(req, host_blob.written(w.to));
    if (w.to)
        host_blob.abort(req, w.to);
    *ret_pages = made.pages;
    *ret_verdict = w.verdict;
    *ret_reason = w.reason;
    return s;
}

const wharf_preview_api host_preview = {WHARF_HEAD(wharf_preview_api), p_takes, p_make, p_text};
