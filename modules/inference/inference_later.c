/* inference_later.c - readings of batches: accepted with the item, read by a job
 * (docs/spec/06-inference.md section 6 'Batches', docs/spec/10-batches.md section 12.7). The row is
 * `processing` until then. Nothing is fetched and read inside a transaction: the job has one that
 * brings what it needs, and one that writes what came of it.
 *
 * images_kept of such a row: its file, or the URL that it is fetched from, and the barcode values
 * that were sent for it. */
#include <stdlib.h>
#include <string.h>

#include "inference.h"

#include "inference.gen.h"

/* DEATHS: of the process that reads, then it is left; PATIENCE: failed runs, when the server has no
 * time for it; FETCHES: tries to fetch from a host that has troubles. */
enum { DEATHS = 2, PATIENCE = 20, FETCHES = 3 };

/* ---- accepting ---- */

struct later_sent { /* between the hooks of a create */
    struct reading reading;
    const wharf_json *image, *image_url, *barcode_values, *options;
};

static struct later_sent *later_of(const wharf_rec *rec)
{
    static const char kind[] = "inference.later";

    return W->res->scratch(rec, kind, sizeof(struct later_sent));
}

void later_note(const wharf_rec *rec)
{
    struct later_sent *sent = later_of(rec);

    sent->image = W->res->member(rec, "image");
    sent->image_url = W->res->member(rec, "image_url");
    sent->barcode_values = W->res->member(rec, "barcode_values");
    sent->options = W->res->member(rec, "options");
}

/* Makes the body of what was sent of images. */
static wharf_status later_body(
    wharf_req *req, const struct later_sent *sent, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "image", val_json(sent->image));
    W->json->put(out, "image_url", val_json(sent->image_url));
    W->json->put(out, "barcode_values", val_json(sent->barcode_values));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Judges the images that were sent themselves; what is to be fetched is judged by the job. */
static wharf_status later_try(wharf_req *req, struct reading *r)
{
    const struct picture *first = &r->pictures[0];
    wharf_status s = WHARF_OK;
    size_t failed = 0;

    for (size_t i = 0; i < r->n && s == WHARF_OK; i++) {
        struct picture *p = &r->pictures[i];

        if (p->is_url)
            continue;
        s = images_decode(req, p);
        if (p->bytes)
            inference_blob->abort(req, p->bytes);
        p->bytes = NULL;
        failed += p->error != NULL;
    }
    return s == WHARF_OK && failed == r->n ? images_fail(req, first) : s;
}

static void later_set(wharf_req *req, const struct reading *r, wharf_rec *rec)
{
    static const wharf_field lists[] = {SHIPPING_LABEL_INFERENCE_ERRORS,
        SHIPPING_LABEL_INFERENCE_BARCODES, SHIPPING_LABEL_INFERENCE_REFERENCES,
        SHIPPING_LABEL_INFERENCE_TAGS};
    const wharf_json *none;

    if (W->json->parse(req, WHARF_S("[]"), &none) != WHARF_OK)
        return;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        W->res->set(rec, lists[i], val_json(none));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_STATUS, val_text(WHARF_S("processing")));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_RAW_TEXT, val_text(WHARF_S("")));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_WISHES, val_json(r->settled));
    W->res->set(rec, SHIPPING_LABEL_INFERENCE_TRACKER_TYPE,
        r->wishes.tracker ? val_text(r->wishes.tracker_type) : val_null());
}

wharf_status later_accept(wharf_req *req, wharf_rec *rec)
{
    struct later_sent *sent = later_of(rec);
    struct reading *r = &sent->reading;
    const wharf_json *body;
    wharf_status s = later_body(req, sent, &body);

    if (s == WHARF_OK)
        s = images_collect(req, body, IMAGES_MAX, r->pictures, &r->n);
    if (s == WHARF_OK)
        s = wishes_settle(
            req, sent->options, field_text(rec, SHIPPING_LABEL_INFERENCE_LOCATION_ID), &r->settled);
    if (s != WHARF_OK)
        return s;
    wishes_read(r->settled, &r->wishes);
    s = create_take_given(req, body, r);
    if (s == WHARF_OK)
        s = later_try(req, r);
    if (s == WHARF_OK)
        later_set(req, r, rec);
    return s;
}

/* ---- keeping what was accepted ---- */

static wharf_status later_keep_one(wharf_req *req, struct picture *p, size_t i, wharf_out *out)
{
    wharf_str file = WHARF_S("");
    wharf_status s = WHARF_OK;

    if (!p->is_url && !p->error)
        s = images_decode(req, p);
    if (s == WHARF_OK)
        s = picture_keep(req, p, true, W->mem->format(req, "label-%zu", i), &file);
    W->json->open(out, NULL, '{');
    W->json->put(out, "file", val_text_or_null(file));
    W->json->put(out, "url", p->is_url ? val_text(p->value) : val_null());
    W->json->open(out, "given", '[');
    for (size_t k = 0; k < p->given.n; k++)
        W->json->put(out, NULL, val_text(p->given.values[k]));
    W->json->close(out);
    W->json->open(out, "scores", '{');
    W->json->put(out, "classifier", val_null());
    W->json->put(out, "extraction", val_null());
    W->json->put(out, "selection", val_null());
    W->json->close(out);
    W->json->put(out, "selected", val_bool(false));
    W->json->put(out, "error", p->error ? val_text(z(p->error)) : val_null());
    W->json->close(out);
    return s;
}

wharf_status later_keep(wharf_req *req, const wharf_rec *rec)
{
    static const char sql[] = QUERY_KEEP_IMAGES;
    struct reading *r = &later_of(rec)->reading;
    wharf_out *out = W->json->builder(req);
    const wharf_json *images, *args;
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < r->n && s == WHARF_OK; i++)
        s = later_keep_one(req, &r->pictures[i], i, out);
    W->json->close(out);
    if (s == WHARF_OK)
        s = W->json->result(req, out, &images);
    if (s == WHARF_OK) {
        const wharf_val values[3] = {
            val_text(W->res->id(rec)), val_text(W->req->organization(req)), val_json(images)};

        s = W->db->exec(req, sql, values, 3, NULL);
    }
    if (s == WHARF_OK)
        s = W->json->parse(req,
            W->mem->format(req, "{\"inference\": \"%s\", \"key\": \"%s\"}", W->res->id(rec).p,
                inference_keys->caller(req)->key_id.p),
            &args);
    return s == WHARF_OK ? W->event->enqueue(req, "read", W->res->id(rec), args, 0) : s;
}

/* ---- the job: what it needs ---- */

struct later {
    wharf_str id, key;
    struct reading *r;
    struct label_env env;
    int64_t tries, failed; /* runs that began; those that ended with a failure */
    bool open; /* the row is there, and is to be read */
};

static int64_t later_failed(wharf_req *req)
{
    wharf_str s = WHARF_S("");

    return W->req->param(req, "attempts", &s) ? strtoll(s.p, NULL, 10) : 0;
}

/* Acts as who sent it. Who may nothing any more gets no tracker: whoever updates the reading
 * makes it. Who can't reach the row any more is not waited for. */
static wharf_status later_act(wharf_req *req, struct later *l)
{
    wharf_str refused = WHARF_S("");
    wharf_status s = WHARF_OK;

    if (l->key.n && l->failed < PATIENCE)
        s = inference_batch->act_as(req, l->key, &refused);
    if (refused.n)
        l->r->wishes.tracker = false;
    return s;
}

/* Counts the run, in the row: a process that dies counts none. */
static wharf_status later_count(wharf_req *req, struct later *l)
{
    static const char sql[] = QUERY_COUNT_READING;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, l->id, &rows);

    l->tries = s == WHARF_OK && W->db->count(rows) ? row_int(rows, 0, 0) : 0;
    l->failed = later_failed(req);
    return s;
}

static wharf_status later_take_picture(
    wharf_req *req, const wharf_json *kept, struct picture *p, size_t i)
{
    wharf_str error = json_text(kept, "error");
    wharf_status s;

    *p = (struct picture){.path = W->mem->format(req, "image.%zu", i).p,
        .value = json_text(kept, "url"),
        .file = json_text(kept, "file"),
        .reason = WHARF_S(""),
        .error = error.n ? error.p : NULL};
    p->is_url = p->value.n > 0;
    s = images_take_values(req, W->json->get(kept, "given"), "barcode_values", &p->given);
    return s == WHARF_OK && p->file.n ? images_open(req, p) : s;
}

/* Brings what the reading needs of the database, and the bytes that are kept. */
static wharf_status later_load(wharf_req *req, struct later *l)
{
    const wharf_json *kept;
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, RESOURCE, l->id, WHARF_FOR_UPDATE, &rec);

    l->open = s == WHARF_OK && is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "processing");
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req); /* it was deleted meanwhile */
        return WHARF_OK;
    }
    if (!l->open)
        return s;
    l->r->settled = field_json(rec, SHIPPING_LABEL_INFERENCE_WISHES);
    kept = field_json(rec, SHIPPING_LABEL_INFERENCE_IMAGES_KEPT);
    wishes_read(l->r->settled, &l->r->wishes);
    for (const wharf_json *m = W->json->at(kept, 0); m && s == WHARF_OK && l->r->n < IMAGES_MAX;
         m = W->json->next(m), l->r->n++)
        s = later_take_picture(req, m, &l->r->pictures[l->r->n], l->r->n);
    if (s == WHARF_OK)
        s = later_count(req, l);
    if (s == WHARF_OK)
        s = later_act(req, l);
    return s == WHARF_OK ? reading_env(req, &l->env) : s;
}

/* ---- the job: reading ---- */

static void later_give_up(struct reading *r, const char *error)
{
    r->error = error;
    r->label = NULL;
    r->choice = (struct label_choice){LABEL_NONE, NULL};
}

/* Returns the first picture that is none, or that can't be had. */
static const struct picture *later_wrong(const struct reading *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->pictures[i].error && strchr(r->pictures[i].error, '.'))
            return &r->pictures[i];
    return NULL;
}

static bool later_is_trouble(const struct picture *p)
{
    return !strcmp(p->error, ERR_FILE_TIMEOUT_ERROR) || !strcmp(p->error, ERR_FILE_DOWNLOAD);
}

/* Reads. A failure that is nobody's fault is left to the next run. */
static wharf_status later_read(wharf_req *req, struct later *l)
{
    struct reading *r = l->r;
    const struct picture *wrong;
    wharf_status s;

    if (l->tries - l->failed > DEATHS || l->failed >= PATIENCE) {
        later_give_up(r, "extraction_failed");
        return WHARF_OK;
    }
    s = images_bring(req, r->pictures, r->n);
    if (s == WHARF_OK)
        s = reading_run(req, &l->env, r);
    if (s == WHARF_OK)
        return s;
    wrong = later_wrong(r);
    if (wrong ? later_is_trouble(wrong) && l->failed + 1 < FETCHES : s != WHARF_INVALID)
        return s;
    W->err->clear(req);
    later_give_up(r, !wrong                           ? "extraction_failed"
                     : wrong->is_url && !wrong->bytes ? "image_unavailable"
                                                      : "image_unreadable");
    return WHARF_OK;
}

/* ---- the job: writing ---- */

static wharf_status later_fill(wharf_req *req, struct later *l)
{
    struct inner *in = W->mem->alloc(req, sizeof(*in));
    const wharf_rec *rec = NULL;
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = RESOURCE,
        .op = WHARF_UPDATE,
        .id = l->id,
        .kind = inference_inner_kind,
        .context = in,
        .ret_rec = &rec};
    wharf_status s = reading_keep(req, l->r);

    in->reading = l->r;
    if (s == WHARF_OK)
        s = W->json->parse(req, WHARF_S("{}"), &w.body);
    if (s == WHARF_OK)
        s = W->res->write(req, &w);
    return s == WHARF_OK ? create_track(req, l->r, rec) : s;
}

/* Writes what came of it, where the row is still there. */
static wharf_status later_write(wharf_req *req, struct later *l)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, RESOURCE, l->id, WHARF_FOR_UPDATE, &rec);

    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        return WHARF_OK;
    }
    if (s != WHARF_OK || !is(field_text(rec, SHIPPING_LABEL_INFERENCE_STATUS), "processing"))
        return s;
    return later_fill(req, l);
}

/* Runs a step in a transaction. */
static wharf_status later_step(
    wharf_req *req, struct later *l, wharf_status (*step)(wharf_req *req, struct later *l))
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = step(req, l);
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

wharf_status later_job(wharf_req *req, void *arg)
{
    struct later *l = W->mem->alloc(req, sizeof(*l));
    const wharf_json *args;
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    l->r = W->mem->alloc(req, sizeof(*l->r));
    l->id = json_text(args, "inference");
    l->key = json_text(args, "key");
    s = later_step(req, l, later_load);
    if (s != WHARF_OK || !l->open)
        return s;
    s = later_read(req, l);
    return s == WHARF_OK ? later_step(req, l, later_write) : s;
}
