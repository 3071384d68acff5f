/* inference_read.c - pictures of a request read by wharf.image and label.h, and one of them
 * selected (docs/spec/06-inference.md section 4). Leaves to others: what a label says (label.h). */
#include <string.h>
#include <time.h>

#include "inference.h"

#include "inference.gen.h"

enum { LEFT_MS = 3000 }; /* of a request, kept for what follows the reading */

/* ---- whose number is it ---- */

struct numbers {
    wharf_req *req;
    const wharf_carriers_table *table;
};

static void *reading_alloc(void *ctx, size_t bytes)
{
    return W->mem->alloc(((struct numbers *)ctx)->req, bytes);
}

/* Lists the providers of the candidates, each once. */
static void reading_others(wharf_req *req, const wharf_json *candidates, struct label_number *ret)
{
    wharf_str *ids = W->mem->alloc(req, (W->json->count(candidates) + 1) * sizeof(*ids));

    for (const wharf_json *c = W->json->at(candidates, 0); c; c = W->json->next(c)) {
        wharf_str id = json_text(W->json->get(c, "provider"), "id");
        size_t i = 0;

        while (i < ret->n_others && !same(ids[i], id))
            i++;
        if (i == ret->n_others && id.n)
            ids[ret->n_others++] = id;
    }
    ret->others = ids;
}

static bool reading_detect(void *ctx, wharf_str number, struct label_number *ret)
{
    const struct numbers *n = ctx;
    wharf_detection d = {.head = WHARF_HEAD(wharf_detection)};
    const wharf_json *best;

    *ret = (struct label_number){.service = WHARF_S("")};
    if (inference_carriers->detect_in(n->req, n->table, number, &d) != WHARF_OK)
        return false;
    best = W->json->at(d.candidates, 0);
    if (!best)
        return false;
    ret->normalized = json_text(best, "tracking_number");
    ret->provider_id = d.provider_id;
    ret->checked = is(json_text(best, "checksum"), "valid");
    ret->ambiguous = d.ambiguous;
    ret->service = json_text(W->json->get(best, "service"), "code");
    reading_others(n->req, d.candidates, ret);
    return true;
}

void reading_env(
    wharf_req *req, const wharf_carriers_table *table, wharf_str country, struct label_env *ret)
{
    struct numbers *numbers = W->mem->alloc(req, sizeof(*numbers));

    *numbers = (struct numbers){.req = req, .table = table};
    *ret = (struct label_env){.ctx = numbers,
        .alloc = reading_alloc,
        .detect = reading_detect,
        .country = country.p,
        .today = W->req->now_us(req) / (86400 * INT64_C(1000000))};
}

/* ---- one picture ---- */

static void reading_verdict(struct picture *p, uint32_t verdict, wharf_str reason)
{
    static const char *const errors[] = {NULL, ERR_INFERENCE_IMAGE_INVALID,
        ERR_INFERENCE_IMAGE_INVALID, ERR_INFERENCE_IMAGE_INVALID, "extraction_timeout",
        "extraction_failed"};

    p->error = verdict < sizeof(errors) / sizeof(errors[0]) ? errors[verdict] : "extraction_failed";
    p->reason = reason;
}

/* Returns the clock of deadlines. */
static int64_t reading_clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

wharf_status reading_ask(wharf_req *req, struct picture *p, const wharf_image_wish *wish)
{
    wharf_image_read *read = W->mem->alloc(req, sizeof(*read));
    uint32_t verdict = WHARF_IMAGE_GOOD;
    wharf_str reason = WHARF_S("");
    wharf_status s;

    *read = (wharf_image_read){.head = WHARF_HEAD(wharf_image_read)};
    s = inference_image->read(req, p->fd, wish, read, &verdict, &reason);
    if (s != WHARF_OK)
        return s;
    if (verdict == WHARF_IMAGE_LANGUAGE)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "options.extraction.languages",
            "One of these languages is not installed here; leave it out");
    if (verdict != WHARF_IMAGE_GOOD) {
        reading_verdict(p, verdict, reason);
        *read = (wharf_image_read){.head = WHARF_HEAD(wharf_image_read)};
        /* what a scanner read is there all the same; of no picture at all nothing is */
        if (!p->given.n || picture_is_none(p))
            return WHARF_OK;
    }
    p->read = read;
    return WHARF_OK;
}

wharf_status picture_read(
    wharf_req *req, struct picture *p, uint32_t wants, wharf_str languages, size_t left)
{
    int64_t ms = (W->req->deadline_us(req) - reading_clock_us()) / 1000 - LEFT_MS;
    wharf_image_wish wish = {
        .head = WHARF_HEAD(wharf_image_wish), .wants = wants, .languages = languages};

    ms /= (int64_t)left;
    wish.budget_ms = ms < 1 ? 1 : ms < WHARF_IMAGE_BUDGET_MS ? (uint32_t)ms : WHARF_IMAGE_BUDGET_MS;
    return reading_ask(req, p, &wish);
}

static wharf_status reading_read_all(
    wharf_req *req, struct reading *r, uint32_t wants, bool only_labels)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < r->n && s == WHARF_OK; i++) {
        struct picture *p = &r->pictures[i];

        if (!p->error && (!only_labels || p->classification))
            s = picture_read(req, p, wants, r->wishes.languages, r->n - i);
    }
    return s;
}

/* ---- several ---- */

/* Marks what is read in full after the classifier: what looks like a shipping label, or the one
 * that does most. */
static void reading_mark_labels(struct reading *r)
{
    struct picture *best = NULL;
    bool any = false;

    for (size_t i = 0; i < r->n; i++) {
        struct picture *p = &r->pictures[i];

        if (p->error)
            continue;
        p->classification = p->classifier >= 5000 ? "shipping_label" : NULL;
        any = any || p->classification;
        if (!best || p->classifier > best->classifier)
            best = p;
    }
    if (!any && best)
        best->classification = "other";
}

static void reading_extract(
    const struct label_env *env, struct reading *r, struct picture *p, bool full)
{
    bool figures = r->wishes.mode != LABEL_FROM_EXTRACTION_ONLY;

    if (!p->read)
        return;
    if (figures) {
        p->classified = true;
        if (!full || r->wishes.mode == LABEL_CLASSIFIER_INFORMS_SELECTION)
            p->classifier = label_classify(p->read, label_has_valid_code(env, p->read));
    }
    if (!full)
        return;
    p->label = env->alloc(env->ctx, sizeof(*p->label));
    label_read(env, p->read, &p->given, p->label);
    p->classification = p->label->classification;
}

static void reading_choose(struct reading *r)
{
    struct label_picture all[IMAGES_MAX] = {0};

    for (size_t i = 0; i < r->n; i++) {
        struct picture *p = &r->pictures[i];

        p->selection = label_selection((enum label_mode)r->wishes.mode, p->classifier,
            p->label ? p->label->extraction_score : 0, p->label != NULL);
        all[i] = (struct label_picture){.failed = p->error != NULL,
            .shipping_label = p->classification && is(z(p->classification), "shipping_label"),
            .extracted = p->label != NULL,
            .tracking_number = p->label ? p->label->tracking_number.value : WHARF_S(""),
            .selection = p->selection,
            .extraction = p->label ? p->label->extraction_score : 0};
    }
    label_select(all, r->n, r->wishes.strict, &r->choice);
}

/* Adds the barcodes of the other pictures to what the client read of the selected one. */
static void reading_join(const struct label_env *env, struct reading *r, struct picture *selected)
{
    struct label_given joined = {NULL, selected->given.n};
    wharf_str *values;

    for (size_t i = 0; i < r->n; i++)
        joined.n += r->pictures[i].given.n +
                    (r->pictures[i].read ? r->pictures[i].read->n_codes : 0);
    joined.values = values = env->alloc(env->ctx, (joined.n + 1) * sizeof(*values));
    joined.n = 0;
    for (size_t i = 0; i < selected->given.n; i++)
        values[joined.n++] = selected->given.values[i];
    for (size_t i = 0; i < r->n; i++) {
        const struct picture *p = &r->pictures[i];

        if (p == selected)
            continue;
        for (uint32_t k = 0; p->read && k < p->read->n_codes; k++)
            if (p->read->codes[k].is_text)
                values[joined.n++] = p->read->codes[k].value;
        for (size_t k = 0; k < p->given.n; k++)
            values[joined.n++] = p->given.values[k];
    }
    label_read(env, selected->read, &joined, selected->label);
}

/* Looks for the captions of the request in the picture; NULL: there is none. */
static wharf_status reading_captions(
    wharf_req *req, const struct label_env *env, struct reading *r, const wharf_image_read *image)
{
    wharf_out *out = W->json->builder(req);
    wharf_str caption;

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(r->wishes.captions, 0); m; m = W->json->next(m)) {
        struct label_fact fact = {.confidence = 0};

        if (!W->json->text(m, &caption))
            continue;
        if (image)
            label_custom(env, image, caption, &fact);
        W->json->put(out, caption.p, fact.confidence ? val_text(fact.value) : val_null());
    }
    W->json->close(out);
    return W->json->result(req, out, &r->custom);
}

/* Reads all pictures as the mode says. */
static wharf_status reading_classify_and_read(
    wharf_req *req, const struct label_env *env, struct reading *r)
{
    bool feeds = r->wishes.mode == LABEL_CLASSIFIER_FEEDS_EXTRACTION;
    uint32_t wants = WHARF_IMAGE_CODES | WHARF_IMAGE_TEXT;
    wharf_status s = WHARF_OK;

    if (feeds) {
        s = reading_read_all(req, r, WHARF_IMAGE_CODES | WHARF_IMAGE_FIGURES, false);
        for (size_t i = 0; i < r->n; i++)
            reading_extract(env, r, &r->pictures[i], false);
        reading_mark_labels(r);
    }
    if (r->wishes.mode == LABEL_CLASSIFIER_INFORMS_SELECTION)
        wants |= WHARF_IMAGE_FIGURES;
    if (s == WHARF_OK)
        s = reading_read_all(req, r, wants, feeds);
    for (size_t i = 0; i < r->n && s == WHARF_OK; i++)
        if (!feeds || r->pictures[i].classification)
            reading_extract(env, r, &r->pictures[i], true);
    return s;
}

/* Tells why nothing came of the pictures; NULL: something did. Fails where each picture is no
 * picture. */
static wharf_status reading_errors(wharf_req *req, struct reading *r)
{
    const struct picture *first = NULL;
    bool any = false, refused = true, whole = true;

    for (size_t i = 0; i < r->n; i++) {
        const struct picture *p = &r->pictures[i];

        /* what a scanner read counts where the picture itself says nothing */
        any = any ||
              (p->label && (!is(z(p->label->classification), "unreadable") || p->label->n_codes));
        refused = refused && picture_is_none(p);
        whole = whole && !(p->read && !p->read->whole);
        first = first ? first : p;
    }
    if (refused)
        return images_fail(req, first);
    if (!any)
        r->error = first->error && !picture_is_none(first) ? first->error
                   : whole                                 ? "image_unreadable"
                                                           : "extraction_timeout";
    return WHARF_OK;
}

wharf_status reading_run(wharf_req *req, struct reading *r)
{
    struct label_env env;
    struct picture *selected;
    wharf_status s;

    reading_env(req, r->table, r->wishes.country, &env);
    s = reading_classify_and_read(req, &env, r);
    if (s == WHARF_OK)
        s = reading_errors(req, r);
    if (s != WHARF_OK)
        return s;
    reading_choose(r);
    selected = NULL;
    if (r->n == 1) /* a single one is what there is */
        r->choice = (struct label_choice){r->pictures[0].label ? 0 : LABEL_NONE, NULL};
    if (!r->error && r->choice.selected != LABEL_NONE) {
        selected = &r->pictures[r->choice.selected];
        if (r->wishes.barcodes_from_all && selected->label && r->n > 1)
            reading_join(&env, r, selected);
        r->label = selected->label;
    }
    return reading_captions(req, &env, r, selected ? selected->read : NULL);
}

/* ---- keeping them ---- */

static wharf_val reading_score(bool known, uint32_t score)
{
    return known ? val_decimal(score, 4) : val_null();
}

wharf_status picture_keep(
    wharf_req *req, const struct picture *p, bool store, wharf_str name, wharf_str *ret_file)
{
    bool kept = p->fd >= 0 && store && !picture_is_none(p);
    wharf_str type = p->read && p->read->format ? W->mem->format(req, "image/%s", p->read->format)
                                                : WHARF_S("application/octet-stream");
    wharf_status s;

    *ret_file = kept ? p->file : WHARF_S("");
    if (kept)
        return p->file.n ? inference_blob->set_type(req, p->file, type)
                         : inference_blob->finish(req, p->bytes, name, type, 0, ret_file);
    s = p->file.n ? inference_blob->erase(req, p->file) : WHARF_OK;
    return s == WHARF_NOT_FOUND ? WHARF_OK : s;
}

static wharf_status reading_keep_one(
    wharf_req *req, const struct reading *r, size_t i, wharf_out *out)
{
    const struct picture *p = &r->pictures[i];
    wharf_str file;
    wharf_status s = picture_keep(
        req, p, r->wishes.store_images, W->mem->format(req, "label-%zu", i), &file);

    W->json->open(out, NULL, '{');
    W->json->put(out, "file", val_text_or_null(file));
    W->json->put(out, "document_classification",
        p->classification ? val_text(z(p->classification)) : val_null());
    W->json->open(out, "scores", '{');
    W->json->put(out, "classifier", reading_score(p->classified, p->classifier));
    W->json->put(out, "extraction",
        reading_score(p->label != NULL, p->label ? p->label->extraction_score : 0));
    W->json->put(out, "selection", reading_score(!p->error, p->selection));
    W->json->close(out);
    W->json->put(out, "selected", val_bool(r->choice.selected == (int)i));
    W->json->put(out, "error", p->error ? val_text(z(p->error)) : val_null());
    W->json->close(out);
    return s;
}

wharf_status reading_keep(wharf_req *req, struct reading *r)
{
    wharf_out *out = W->json->builder(req);
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < r->n && s == WHARF_OK; i++)
        s = reading_keep_one(req, r, i, out);
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(req, out, &r->images) : s;
}
