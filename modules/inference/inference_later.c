/* inference_later.c - readings that a job makes, of requests that answer at once ("Prefer:
 * respond-async") and of items of batches (inference_batch.c): the images are stored as they came,
 * or are still to be fetched, and the job has the rights of the key that sent them
 * (docs/spec/06-inference.md sections 2, 5 and 6). A reading whose worker dies twice is given up,
 * and its row says so. Files are stored for the time of it where they are not to be kept. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inference.h"

#include "inference.gen.h"

enum { TRIES_MAX = 2, LOOK_MS = 1, FETCHES = 3 }; /* FETCHES: of a host that has troubles */

/* ---- the request ---- */

/* Finds out whether the picture is one at all: of such a short time only its opening is left. */
static wharf_status later_look(wharf_req *req, const struct reading *r, struct picture *p)
{
    const wharf_image_wish wish = {.head = WHARF_HEAD(wharf_image_wish),
        .wants = WHARF_IMAGE_CODES,
        .budget_ms = LOOK_MS,
        .languages = r->wishes.languages};
    wharf_status s = p->error ? WHARF_OK : reading_ask(req, p, &wish);

    if (!picture_is_none(p)) /* the job may have more luck */
        p->error = NULL;
    return s;
}

void later_put(wharf_out *out, const struct reading *r, const struct picture *p)
{
    static const char *const scores[] = {"classifier", "extraction", "selection"};

    W->json->open(out, NULL, '{');
    W->json->put(out, "file", val_text_or_null(r->wishes.store_images ? p->file : WHARF_S("")));
    W->json->put(out, "held", val_text_or_null(p->file));
    W->json->put(out, "url", p->is_url && !p->file.n ? val_text(p->value) : val_null());
    W->json->put(out, "document_classification", val_null());
    W->json->open(out, "scores", '{');
    for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++)
        W->json->put(out, scores[i], val_null());
    W->json->close(out);
    W->json->put(out, "selected", val_bool(false));
    W->json->put(out, "error", p->error ? val_text(z(p->error)) : val_null());
    W->json->open(out, "given", '[');
    for (size_t i = 0; i < p->given.n; i++)
        W->json->put(out, NULL, val_text(p->given.values[i]));
    W->json->close(out);
    W->json->close(out);
}

/* Stores what was brought. */
static wharf_status later_hold(wharf_req *req, struct reading *r)
{
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < r->n && s == WHARF_OK; i++) {
        struct picture *p = &r->pictures[i];

        if (!p->error)
            s = inference_blob->finish(req, p->bytes, W->mem->format(req, "label-%zu", i),
                WHARF_S("application/octet-stream"), 0, &p->file);
        later_put(out, r, p);
    }
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, &r->images) : s;
}

wharf_status later_enqueue(wharf_req *req, wharf_str id, wharf_str key, bool lost)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "inference", val_text(id));
    W->json->put(out, "key", val_text_or_null(key));
    W->json->put(out, "lost", val_bool(lost));
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK ? W->event->enqueue(req, "read", id, args, 0) : s;
}

wharf_status later_create(wharf_req *req, const wharf_json *body, struct reading *r)
{
    const wharf_rec *rec = NULL;
    size_t failed = 0;
    wharf_status s = WHARF_OK;

    r->later = true;
    for (size_t i = 0; i < r->n && s == WHARF_OK; i++) {
        s = later_look(req, r, &r->pictures[i]);
        failed += r->pictures[i].error != NULL;
    }
    if (s == WHARF_OK && failed == r->n)
        return images_fail(req, &r->pictures[0]);
    if (s == WHARF_OK)
        s = later_hold(req, r);
    if (s == WHARF_OK)
        s = create_row(req, body, r, &rec);
    if (s == WHARF_OK)
        s = later_enqueue(req, W->res->id(rec), inference_keys->caller(req)->key_id, false);
    if (s == WHARF_OK)
        s = W->res->fetch(req, RESOURCE, W->res->id(rec), WHARF_SHOWN, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 202, "The label is being read"), NULL, rec);
    return s;
}

/* ---- the job ---- */

struct later {
    wharf_req *req;
    wharf_str id;
    struct reading *r;
    bool over; /* nothing is left to do */
    bool lost; /* two workers died with it */
};

static wharf_status later_count(struct later *l, int by)
{
    static const char sql[] = "UPDATE inference.shipping_label SET tries = greatest(tries + "
                              "$3::integer, 0) WHERE organization_id = $2::text AND id = $1::text";
    const wharf_val args[3] = {
        val_text(l->id), val_text(W->req->organization(l->req)), val_int(by)};

    return W->db->exec(l->req, sql, args, 3, NULL);
}

static void later_close(void *arg)
{
    close(*(int *)arg);
}

static wharf_status later_open(wharf_req *req, struct picture *p)
{
    int *fd = W->mem->alloc(req, sizeof(*fd));
    int64_t at, length;
    wharf_status s = inference_blob->open(req, p->file, 0, -1, fd, &at, &length);

    if (s != WHARF_OK)
        return s;
    W->mem->on_release(req, later_close, fd);
    p->fd = *fd;
    return WHARF_OK;
}

/* Takes the pictures as later_put() told of them. */
static wharf_status later_take(wharf_req *req, const wharf_json *images, struct reading *r)
{
    wharf_status s = WHARF_OK;

    for (const wharf_json *m = W->json->at(images, 0); m && r->n < IMAGES_MAX && s == WHARF_OK;
         m = W->json->next(m)) {
        struct picture *p = &r->pictures[r->n++];
        const wharf_json *given = W->json->get(m, "given");
        wharf_str *values = W->mem->alloc(req, (W->json->count(given) + 1) * sizeof(*values));
        wharf_str error = json_text(m, "error");

        *p = (struct picture){.path = "image",
            .value = json_text(m, "url"),
            .file = json_text(m, "held"),
            .fd = -1,
            .reason = WHARF_S(""),
            .error = error.n ? W->mem->dup(req, error.p, error.n).p : NULL};
        p->given.values = values;
        for (const wharf_json *v = W->json->at(given, 0); v; v = W->json->next(v))
            p->given.n += W->json->text(v, &values[p->given.n]);
        p->is_url = p->value.n > 0;
        if (!p->error && p->file.n)
            s = later_open(req, p);
    }
    return s;
}

/* Takes the row up: who reads it, what is to be read, and that somebody began. */
static wharf_status later_take_up(struct later *l, const wharf_json *args)
{
    wharf_str key = json_text(args, "key"), refused = WHARF_S("");
    const wharf_rec *rec;
    wharf_status s = key.n ? inference_acting->act_as(l->req, key, &refused) : WHARF_OK;

    if (s == WHARF_OK)
        s = W->res->fetch(l->req, RESOURCE, l->id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_NOT_FOUND ||
        (s == WHARF_OK && !is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "processing"))) {
        W->err->clear(l->req); /* it was deleted meanwhile, or read */
        l->over = true;
        return WHARF_OK;
    }
    if (s != WHARF_OK)
        return s;
    l->r->settled = field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES);
    wishes_read(l->r->settled, &l->r->wishes);
    s = later_take(l->req, field_json(rec, SHIPPING_LABEL_INFERENCE_IMAGES_KEPT), l->r);
    l->lost = l->lost || refused.n || field_int(rec, SHIPPING_LABEL_INFERENCE_TRIES) >= TRIES_MAX;
    if (s == WHARF_OK)
        s = inference_carriers->open(l->req, &l->r->table);
    return s == WHARF_OK ? later_count(l, 1) : s;
}

/* Leaves a row that its key does not reach any more to a job without it, which gives it up. */
static wharf_status later_refuse(struct later *l)
{
    wharf_status s;

    W->err->clear(l->req);
    l->over = true;
    s = W->db->begin(l->req);
    return s == WHARF_OK ? end_with(l->req, later_enqueue(l->req, l->id, WHARF_S(""), true)) : s;
}

static wharf_status later_begin(struct later *l)
{
    const wharf_json *args;
    wharf_status s = W->req->body(l->req, &args);

    if (s != WHARF_OK)
        return s;
    l->id = json_text(args, "inference");
    l->lost = json_truth(W->json->get(args, "lost"));
    s = W->db->begin(l->req);
    if (s == WHARF_OK)
        s = end_with(l->req, later_take_up(l, args));
    return s == WHARF_DENIED ? later_refuse(l) : s;
}

/* Writes what was read, or that nothing was, and makes the tracker. */
static wharf_status later_fill(struct later *l)
{
    struct inner *in = W->mem->alloc(l->req, sizeof(*in));
    const wharf_rec *rec = NULL;
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = RESOURCE,
        .op = WHARF_UPDATE,
        .id = l->id,
        .kind = inference_inner_kind,
        .context = in,
        .ret_rec = &rec};
    wharf_status s = W->res->fetch(l->req, RESOURCE, l->id, WHARF_FOR_UPDATE, &rec);

    if (s == WHARF_NOT_FOUND) {
        W->err->clear(l->req);
        return WHARF_OK;
    }
    in->reading = l->r;
    if (s == WHARF_OK)
        s = reading_keep(l->req, l->r);
    if (s == WHARF_OK)
        s = W->json->parse(l->req, WHARF_S("{}"), &w.body);
    if (s == WHARF_OK)
        s = W->res->write(l->req, &w);
    return s == WHARF_OK ? create_tracker(l->req, l->r, rec) : s;
}

static wharf_status later_write(struct later *l)
{
    wharf_status s = W->db->begin(l->req);

    return s == WHARF_OK ? end_with(l->req, later_fill(l)) : s;
}

/* Gives the reading up: the row says that nothing came of it. */
static wharf_status later_give_up(struct later *l, const char *error)
{
    struct reading *r = l->r;

    W->err->clear(l->req);
    for (size_t i = 0; i < r->n; i++) {
        r->pictures[i].label = NULL;
        r->pictures[i].classification = NULL;
    }
    r->label = NULL;
    r->choice = (struct label_choice){LABEL_NONE, NULL};
    r->error = error;
    return later_write(l);
}

/* Returns the first picture that is none, or that can't be had. */
static const struct picture *later_wrong(const struct reading *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (picture_is_none(&r->pictures[i]))
            return &r->pictures[i];
    return NULL;
}

static bool later_is_trouble(const struct picture *p)
{
    return !strcmp(p->error, ERR_FILE_TIMEOUT_ERROR) || !strcmp(p->error, ERR_FILE_DOWNLOAD);
}

/* Puts the reading back for another try, as long as there is one. */
static wharf_status later_again(struct later *l, wharf_status why)
{
    const struct picture *wrong = later_wrong(l->r);
    wharf_str attempts = WHARF_S("");
    wharf_status s;
    long failed;

    W->req->param(l->req, "attempts", &attempts);
    failed = strtol(attempts.p, NULL, 10);
    if (wrong && !(later_is_trouble(wrong) && failed + 1 < FETCHES))
        return later_give_up(
            l, wrong->is_url && wrong->fd < 0 ? "image_unavailable" : "image_unreadable");
    if (failed >= READ_TRIES || (!wrong && why == WHARF_INVALID))
        return later_give_up(l, "extraction_failed");
    W->err->clear(l->req);
    s = W->db->begin(l->req);
    if (s == WHARF_OK)
        s = end_with(l->req, later_count(l, -1));
    if (s != WHARF_OK)
        return s;
    return W->err->fail(l->req, ERR_OVERLOADED, NULL, "the label can't be read now");
}

wharf_status later_job(wharf_req *req, void *arg)
{
    struct later l = {.req = req, .id = WHARF_S(""), .r = W->mem->alloc(req, sizeof(*l.r))};
    wharf_status s = later_begin(&l);

    (void)arg;
    if (s != WHARF_OK || l.over)
        return s;
    if (l.lost)
        return later_give_up(&l, "extraction_failed");
    s = images_bring(req, l.r->pictures, l.r->n);
    if (s == WHARF_OK)
        s = reading_run(req, l.r);
    if (s == WHARF_OK)
        s = later_write(&l);
    return s == WHARF_OK ? s : later_again(&l, s);
}
