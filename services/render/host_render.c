/* host_render.c - the service wharf.render (plugin-api/wharf/service/render.h): the server's
 * side of a `render` cell. Nothing that the cell sends is believed: sizes and numbers are
 * checked here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cell/shared.h"
#include "config/config.h"
#include "host/host.h"
#include "blob/host_blob.h"
#include "render/host_render.h"
#include "render/render_wire.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/render.h"

enum {
    SECOND = 1000000,
    DEADLINE_US = 20 * SECOND, /* a document may take */
    WAIT_US = 10 * SECOND, /* for a free process */
    SNIFF = 1024
};

static const struct cell_kind render_kind = {.name = "render",
    .min = 2,
    .max = 8,
    .calls = 1, /* a document of one tenant never meets a process that saw another's */
    .memory_mib = 768,
    .cpu_s = 20,
    .idle_s = 30,
    .frame_max = RENDER_BLOCK,
    .log_fd = -1};
static struct cell_shared cells = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct wharf_render {
    struct cell_run *run; /* NULL: over */
    uint32_t verdict;
    wharf_str reason;
    struct render_reported reported;
    bool cropped;
};

/* ---- what bytes look like ---- */

static bool host_render_starts(const unsigned char *p, size_t n, const char *with, size_t m)
{
    return n >= m && memcmp(p, with, m) == 0;
}

static bool host_render_has(const unsigned char *p, size_t n, const char *what)
{
    return memmem(p, n < SNIFF ? n : SNIFF, what, strlen(what)) != NULL;
}

/* Tells whether it looks like text, which has no control characters but those of lines. A letter
 * that is cut off at the end of a part is no fault. */
static bool looks_like_text(const unsigned char *p, size_t n, bool all)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0x20 && !strchr("\t\n\r\f", p[i]))
            return false;
    }
    for (unsigned cut = 0; cut < 4 && cut < n && !all; cut++) {
        if (utf8_valid((const char *)p, n - cut))
            return true;
    }
    return n > 0 && utf8_valid((const char *)p, n);
}

static wharf_str r_sniff(const void *bytes, size_t n, bool all)
{
    const unsigned char *p = bytes;

    if (host_render_has(p, n, "%PDF-"))
        return WHARF_S("application/pdf");
    if (host_render_starts(p, n, "\x89PNG\r\n\x1a\n", 8))
        return WHARF_S("image/png");
    if (host_render_starts(p, n, "\xff\xd8\xff", 3))
        return WHARF_S("image/jpeg");
    if (host_render_starts(p, n, "GIF8", 4))
        return WHARF_S("image/gif");
    if (host_render_starts(p, n, "RIFF", 4) && n >= 12 && !memcmp(p + 8, "WEBP", 4))
        return WHARF_S("image/webp");
    if (host_render_starts(p, n, "II*\0", 4) || host_render_starts(p, n, "MM\0*", 4))
        return WHARF_S("image/tiff");
    if (host_render_has(p, n, "<svg"))
        return WHARF_S("image/svg+xml");
    return looks_like_text(p, n, all) ? WHARF_S("text/plain") : WHARF_S("");
}

uint32_t render_type_of(wharf_str type)
{
    static const struct {
        const char *name;
        uint32_t type;
    } known[] = {{"application/pdf", RENDER_PDF}, {"image/png", RENDER_PNG},
        {"image/jpeg", RENDER_JPEG}, {"text/plain", RENDER_TEXT}, {"image/webp", RENDER_WEBP},
        {"image/gif", RENDER_GIF}, {"image/tiff", RENDER_TIFF}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eqz(type, known[i].name))
            return known[i].type;
    }
    return 0;
}

/* ---- the run ---- */

static void r_close(wharf_render *r)
{
    cell_run_end(r->run);
    r->run = NULL;
}

static void host_render_release(void *arg)
{
    r_close(arg);
}

static wharf_status host_render_refuse(wharf_render *r, uint32_t verdict, wharf_str reason)
{
    r->verdict = verdict;
    r->reason = reason;
    r_close(r);
    return WHARF_OK;
}

uint32_t render_verdict(
    struct wharf_req *req, const struct cell_result *result, wharf_str *ret_reason)
{
    wharf_str said = arena_dupz(req->arena, result->reason);

    *ret_reason = str_z("");
    switch (result->status) {
    case CELL_FAILED:
        if (str_starts(said, "pages: ")) {
            *ret_reason = (wharf_str){said.p + 7, said.n - 7};
            return WHARF_RENDER_NO_PAGES;
        }
        if (str_starts(said, "invalid: ") && utf8_valid(said.p, said.n))
            *ret_reason = (wharf_str){said.p + 9, said.n - 9};
        break;
    case CELL_DEADLINE:
        *ret_reason = str_z("it takes too much time");
        break;
    case CELL_MEMORY:
        *ret_reason = str_z("it takes too much memory");
        break;
    case CELL_UNAVAILABLE:
        req_fail(req, ERR_OVERLOADED, NULL, NULL);
        return WHARF_RENDER_GOOD;
    case CELL_OK:
    case CELL_CRASHED:
    case CELL_PROTOCOL:
    case CELL_CANCELED:
        break;
    }
    return WHARF_RENDER_DOCUMENT;
}

/* Ends a run that is over, and not well. */
static wharf_status host_render_over(wharf_req *req, wharf_render *r)
{
    wharf_str reason;
    uint32_t verdict = render_verdict(req, cell_run_result(r->run), &reason);

    if (verdict != WHARF_RENDER_GOOD)
        return host_render_refuse(r, verdict, reason.n ? reason : WHARF_S("it is damaged"));
    r_close(r);
    return WHARF_UNAVAILABLE;
}

/* Refuses a cell that speaks out of turn. */
static wharf_status astray(wharf_render *r)
{
    return host_render_refuse(r, WHARF_RENDER_DOCUMENT, WHARF_S("it is damaged"));
}

static bool told_well(const struct render_reported *t)
{
    return t->pages <= RENDER_PAGES_MAX && isfinite(t->width) && isfinite(t->height) &&
           t->width >= 0 && t->height >= 0 && t->width < 1e6 && t->height < 1e6;
}

struct cell_pool *render_pool(wharf_req *req)
{
    return cell_shared_pool(&cells, &render_kind, req->engine->config->cell_dir);
}

static wharf_status r_open(wharf_req *req, int fd, wharf_str type, wharf_render **ret_render)
{
    wharf_render *r = ARENA_NEW(req->arena, wharf_render);
    struct render_call what = {.type = render_type_of(type)};
    struct cell_call call = {.payload = {(const char *)&what, sizeof(what)},
        .fds = &fd,
        .n_fds = 1,
        .deadline_us = clock_monotonic_us() + DEADLINE_US,
        .wait_us = WAIT_US};
    struct cell_pool *pool = render_pool(req);
    enum cell_event e;
    wharf_str said;

    *ret_render = r;
    r->reason = str_z("");
    if (!what.type)
        return host_render_refuse(r, WHARF_RENDER_DOCUMENT,
            WHARF_S("documents of this type can't be printed; send a PDF"));
    if (!pool)
        return req_fail(req, ERR_OVERLOADED, NULL,
            "documents can't be prepared here: the program wharf-cell-render is missing");
    r->run = cell_run_start(pool, &call);
    arena_on_release(req->arena, host_render_release, r);
    e = cell_run_next(r->run, true, &said);
    if (e == CELL_EVENT_END)
        return host_render_over(req, r);
    if (e != CELL_EVENT_ASK || said.n != sizeof(r->reported))
        return astray(r);
    memcpy(&r->reported, said.p, sizeof(r->reported));
    return told_well(&r->reported) ? WHARF_OK : astray(r);
}

static uint32_t r_verdict(const wharf_render *r)
{
    return r->verdict;
}

static wharf_str r_reason(const wharf_render *r)
{
    return r->reason;
}

static void r_info(const wharf_render *r, wharf_render_info *ret_info)
{
    wharf_render_info all = {.head = ret_info->head,
        .pages = r->reported.pages,
        .mixed = r->reported.mixed,
        .width = r->reported.width,
        .height = r->reported.height,
        .cropped = r->cropped};

    memcpy(ret_info, &all, ret_info->head.size < sizeof(all) ? ret_info->head.size : sizeof(all));
}

static wharf_str wish_text(struct arena *a, const wharf_render_plan *plan)
{
    uint32_t n = plan->n_ranges < RENDER_RANGES_MAX ? plan->n_ranges : RENDER_RANGES_MAX;
    size_t size = sizeof(struct render_wish) + n * sizeof(struct render_range);
    char *p = arena_alloc(a, size);
    struct render_wish wish = {.width = plan->width,
        .height = plan->height,
        .scale = plan->scale,
        .fit = plan->fit,
        .rotate = plan->rotate,
        .landscape = plan->landscape != 0,
        .n_ranges = n};

    _Static_assert(
        sizeof(wharf_render_range) == sizeof(struct render_range), "ranges travel as they are");
    memcpy(p, &wish, sizeof(wish));
    if (n)
        memcpy(p + sizeof(wish), plan->ranges, n * sizeof(struct render_range));
    return (wharf_str){p, size};
}

static wharf_status r_make(wharf_req *req, wharf_render *r, const wharf_render_plan *plan,
    wharf_blob_writer *to, uint32_t *ret_pages)
{
    struct render_made made;
    enum cell_event e;
    wharf_str said;
    size_t total = 0;

    if (!r->run)
        return r->verdict ? WHARF_OK
                          : req_fail(req, ERR_INTERNAL, NULL, "the render is over already");
    cell_run_answer(r->run, false, wish_text(req->arena, plan));
    while ((e = cell_run_next(r->run, true, &said)) == CELL_EVENT_DATA) {
        wharf_status s;

        total += said.n;
        if (total > RENDER_BYTES_MAX)
            return astray(r);
        s = host_blob.write(req, to, said.p, said.n);
        if (s != WHARF_OK)
            return s;
    }
    if (e != CELL_EVENT_END)
        return astray(r);
    if (cell_run_result(r->run)->status != CELL_OK)
        return host_render_over(req, r);
    if (said.n != sizeof(made))
        return astray(r);
    memcpy(&made, said.p, sizeof(made));
    *ret_pages = made.pages;
    r->cropped = made.cropped != 0;
    r_close(r);
    return WHARF_OK;
}

const wharf_render_api host_render = {
    WHARF_HEAD(wharf_render_api), r_sniff, r_open, r_verdict, r_reason, r_info, r_make, r_close};
