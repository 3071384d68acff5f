/* template_draw.c - has a definition drawn by the cell, and judges what came of it
 * (docs/spec/05-documents-and-templates.md sections 9.2 and 11). */
#include <time.h>

#include "templates.h"
#include "templates.gen.h"

/* ---- the cell's request ---- */

static void put_context(const struct drawing *d, wharf_out *out)
{
    W->json->open(out, "context", '{');
    W->json->put(out, "location", val_json(d->location));
    W->json->put(out, "organization", val_json(d->organization));
    W->json->put(out, "template", val_json(d->template));
    W->json->close(out);
}

/* Writes the body; with data of its own in place of what it has. */
static void template_draw_put_body(const struct drawing *d, wharf_out *out)
{
    W->json->open(out, "body", '{');
    for (const wharf_json *m = W->json->at(d->body, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (json_is_null(m) || (d->data && is(key, "data")))
            continue;
        W->json->put(out, key.p, val_json(m));
    }
    if (d->data)
        W->json->put(out, "data", val_json(d->data));
    W->json->close(out);
}

wharf_str draw_request(wharf_req *req, const struct drawing *d, const struct sources *sources)
{
    wharf_out *out = W->json->writer(req);
    const struct paper *sheet = sheet_paper(d->body);
    struct page page;

    body_page(req, d->body, &page);
    W->json->open(out, NULL, '{');
    template_draw_put_body(d, out);
    W->json->put(out, "width", val_double(page.width));
    W->json->put(out, "height", val_double(page.height));
    if (sheet) {
        W->json->put(out, "sheet_width", val_double(sheet->width));
        W->json->put(out, "sheet_height", val_double(sheet->height));
    }
    if (d->records)
        W->json->put(out, "records", val_json(d->records));
    /* Nothing else changes from one request to the next: what does not ask for the time is drawn
     * as the same bytes, and its PDF has no date of today. */
    if (strstr(W->json->result_text(out).p, "now"))
        W->json->put(out, "now", val_time(W->req->now_us(req)));
    put_context(d, out);
    W->json->put(out, "page", val_int(d->page ? d->page : 1));
    if (sources) {
        W->json->put(out, "images", val_json(sources->images));
        W->json->put(out, "image_errors", val_json(sources->image_errors));
        W->json->put(out, "fonts", val_json(sources->fonts));
    }
    W->json->close(out);
    return W->json->result_text(out);
}

/* ---- what came of it ---- */

wharf_str element_remark(wharf_req *req, const wharf_json *e)
{
    return W->mem->format(req, "%s: %s", json_text(e, "path").p, json_text(e, "message").p);
}

/* Adds a problem for each of the list that has this code; NULL: for each, as `errors` of the
 * envelope has them. */
static void refuse_each(wharf_req *req, const wharf_json *list, const char *only, const char *code)
{
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        wharf_str text = element_remark(req, e);

        if (!only || is(json_text(e, "code"), only))
            W->err->add(req, code, text.p, "%s", text.p);
    }
}

static wharf_status refuse_problems(wharf_req *req, const wharf_json *report)
{
    const wharf_json *list = W->json->get(report, "problems");

    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e))
        W->err->add(req, ERR_VALIDATION_FAILED, json_text(e, "path").p, "%s: %s",
            json_text(e, "path").p, json_text(e, "message").p);
    return W->err->current(req) == WHARF_OK
               ? W->err->fail(req, ERR_TEMPLATE_RENDER_FAILED, NULL, NULL)
               : W->err->current(req);
}

static int64_t template_draw_count_of(const wharf_json *report, const char *key)
{
    int64_t n = 0;

    W->json->integer(W->json->get(report, key), &n);
    return n;
}

wharf_status draw_complete(wharf_req *req, const struct drawn *drawn)
{
    refuse_each(
        req, W->json->get(drawn->report, "element_errors"), NULL, ERR_TEMPLATE_RENDER_FAILED);
    return W->err->current(req);
}

static wharf_status judge_made(
    wharf_req *req, const struct drawing *d, const wharf_draw_made *made, const wharf_json *report)
{
    const wharf_json *errors = W->json->get(report, "element_errors"),
                     *warnings = W->json->get(report, "warnings");

    if (made->verdict == WHARF_DRAW_REFUSED)
        return refuse_problems(req, report);
    if (d->strict) {
        refuse_each(req, errors, NULL, ERR_TEMPLATE_RENDER_FAILED);
        refuse_each(req, warnings, "variable.missing", ERR_TEMPLATE_RENDER_FAILED);
    }
    if (W->err->current(req) != WHARF_OK || template_draw_count_of(report, "elements_rendered"))
        return W->err->current(req);
    refuse_each(req, errors, NULL, ERR_TEMPLATE_NOTHING_RENDERED);
    return W->err->current(req) == WHARF_OK
               ? W->err->fail(req, ERR_TEMPLATE_NOTHING_RENDERED, NULL, NULL)
               : W->err->current(req);
}

wharf_status draw_too_complex(wharf_req *req, wharf_str reason)
{
    return W->err->fail(req, ERR_TEMPLATE_TOO_COMPLEX, NULL,
        "The definition can't be drawn: %s; make it simpler", reason.p);
}

static int64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

wharf_status draw_make(wharf_req *req, const struct drawing *d, struct drawn *ret)
{
    struct sources sources;
    wharf_draw_wish wish = {.head = WHARF_HEAD(wharf_draw_wish), .format = d->format};
    wharf_draw_made made = {.head = WHARF_HEAD(wharf_draw_made)};
    wharf_status s = sources_load(req, d, &sources);

    if (s != WHARF_OK)
        return s;
    wish.request = draw_request(req, d, &sources);
    wish.blobs = sources.blobs;
    wish.n_blobs = (uint32_t)sources.n;
    ret->ms = clock_ms();
    s = templates_draw->draw(req, &wish, &made);
    ret->ms = clock_ms() - ret->ms;
    if (s != WHARF_OK)
        return s;
    if (made.verdict == WHARF_DRAW_TOO_COMPLEX)
        return draw_too_complex(req, made.reason);
    s = W->json->parse(req, made.report, &ret->report);
    ret->bytes = made.bytes;
    return s == WHARF_OK ? judge_made(req, d, &made, ret->report) : s;
}
