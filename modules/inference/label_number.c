/* label_number.c - the tracking number and its provider (docs/spec/06-inference.md section 8.2):
 * barcodes and printed numbers through detection, scored; the best that is sure enough wins. See
 * label_inside.h; leaves to label_runs.c which printed signs may be a number. */
#include "label_inside.h"
#include "label_numbers.h"

enum {
    SCORE_BARCODE = 1000,
    SCORE_CAPTION = 950,
    SCORE_TEXT = 850,
    SCORE_BARCODE_PATTERN = 700,
    SCORE_TEXT_PATTERN = 450,
    SCORE_AGREES = 30,
    SCORE_MASTER = 200,
    SCORE_NAME_ALONE = 700, /* a provider whose name is printed, and no number */
    LONG_NUMBER = 18, /* digits that no other number has by chance */
    MIDDLE_NUMBER = 15,
    LONG_PATTERN = 12, /* signs, letters among them */
    OWN_LETTERS = 3, /* that a number begins with */
    OWN_PATTERN = 15, /* signs of a number that begins so */
    NEAR_LEAST = 5, /* letters of a name that may have one wrong */
    NEAR_MOST = 16
};

/* ---- names of carriers ---- */

/* Tells whether two words differ by at most one letter. */
static bool label_nearly(wharf_str a, const char *b)
{
    size_t m = strlen(b), i = 0, k = 0;
    unsigned edits = 0;

    if (a.n > m + 1 || m > a.n + 1)
        return false;
    while (i < a.n && k < m) {
        if (a.p[i] == b[k]) {
            i++;
            k++;
            continue;
        }
        if (++edits > 1)
            return false;
        i += a.n >= m;
        k += m >= a.n;
    }
    return edits + (a.n - i) + (m - k) <= 1;
}

/* Finds the carrier that a word is nearly the name of. */
static const struct label_word *label_near_carrier(wharf_str key)
{
    struct label_token word = {.key = key};
    uint32_t n;

    /* "PARCEL" is a word, and no "eparcel" */
    if (key.n < NEAR_LEAST || key.n > NEAR_MOST || label_digits(key) ||
        label_phrase(&word, 1, 0, ~UINT64_C(0), &n))
        return NULL;
    for (const struct label_word *w = label_near_names; w->key; w++) {
        if (label_nearly(key, w->key))
            return w;
    }
    return NULL;
}

/* Finds the carrier whose name OCR read as two words: "PostN L". */
static const struct label_word *label_split_carrier(
    const struct label_piece *p, uint32_t i, uint32_t *ret_n)
{
    char room[NEAR_MOST + 1];
    struct label_token word = {.key = {room, 0}};
    const struct label_word *w;
    uint32_t n;

    if (i + 1 >= p->n_tokens || p->tokens[i].mark ||
        p->tokens[i].key.n + p->tokens[i + 1].key.n > NEAR_MOST)
        return NULL;
    for (uint32_t k = i; k < i + 2; k++) {
        memcpy(room + word.key.n, p->tokens[k].key.p, p->tokens[k].key.n);
        word.key.n += p->tokens[k].key.n;
    }
    w = word.key.n < NEAR_LEAST ? NULL : label_phrase(&word, 1, 0, LABEL_BIT(LABEL_CARRIER), &n);
    *ret_n = w ? 2 : *ret_n;
    return w && w->needs == LABEL_ANYWHERE ? w : NULL;
}

static const struct label_word *label_carrier_at(
    const struct label_piece *p, uint32_t i, uint32_t *ret_n)
{
    const struct label_word *w = label_phrase(
        p->tokens, p->n_tokens, i, LABEL_BIT(LABEL_CARRIER), ret_n);
    char first = p->text.p[p->tokens[i].from];

    *ret_n = w ? *ret_n : 1;
    /* "amazon" is a carrier's name alone on its line; elsewhere it may be who sends */
    if (w && w->needs == LABEL_MARKED && *ret_n < p->n_tokens)
        return NULL;
    if (!w)
        w = label_split_carrier(p, i, ret_n);
    if (!w)
        w = label_near_carrier(p->tokens[i].key);
    /* "ups" in small letters is a word of other languages */
    return w && first >= 'a' && first <= 'z' && p->tokens[i].key.n < 4 ? NULL : w;
}

static bool label_is_printed(const struct label_hunt *h, wharf_str provider)
{
    for (size_t i = 0; i < h->n_printed; i++) {
        if (is(provider, h->printed_names[i]))
            return true;
    }
    return false;
}

/* Finds the names of carriers that are printed; printed is set where it is one alone. */
static void label_find_names(struct label_hunt *h)
{
    for (size_t k = 0; k < h->page->n_pieces; k++) {
        const struct label_piece *p = &h->page->pieces[k];

        for (uint32_t i = 0, n; i < p->n_tokens; i += n) {
            const struct label_word *w = label_carrier_at(p, i, &n);

            if (!w || h->n_printed == LABEL_NAMES_MAX ||
                label_is_printed(h, wharf_z(label_names[w->ref])))
                continue;
            h->printed_names[h->n_printed++] = label_names[w->ref];
            label_set(&h->printed_fact, wharf_z(label_names[w->ref]), SCORE_NAME_ALONE, LABEL_TEXT);
            h->printed_fact.box = label_box_of(h->page, p, i, i + n);
            h->printed_fact.raw = label_text_of(p, i, i + n);
        }
    }
    if (h->n_printed > 1)
        h->printed_fact = (struct label_fact){.confidence = 0};
    h->printed = h->printed_fact.value;
}

/* ---- candidates ---- */

struct label_candidate *label_hunt_add(struct label_hunt *h, const struct label_number *n)
{
    struct label_candidate *c;

    for (size_t i = 0; i < h->n; i++) {
        if (same(h->candidates[i].number.normalized, n->normalized))
            return &h->candidates[i];
    }
    if (h->n == LABEL_CANDIDATES_MAX)
        return NULL;
    c = &h->candidates[h->n++];
    *c = (struct label_candidate){.number = *n};
    return c;
}

bool label_hunt_detect(struct label_hunt *h, wharf_str text, struct label_number *ret)
{
    *ret = (struct label_number){.checked = false};
    if (!h->asks)
        return false;
    h->asks--;
    return h->page->env->detect(h->page->env->ctx, text, ret) && ret->normalized.n &&
           ret->provider_id.n && !is(ret->provider_id, "unknown");
}

static void label_hunt_codes(struct label_hunt *h)
{
    const struct label_coded *coded = h->coded;

    for (size_t i = 0; i < coded->n_spots; i++) {
        const struct label_spot *s = &coded->spots[i];
        struct label_number n;
        struct label_candidate *c;
        uint32_t score;

        if (!label_hunt_detect(h, s->text, &n) || !(c = label_hunt_add(h, &n)))
            continue;
        score = n.checked ? SCORE_BARCODE : SCORE_BARCODE_PATTERN;
        c->sure = c->sure || s->sure;
        c->unit = s->unit;
        if (score <= c->code_score)
            continue;
        c->code_score = score;
        c->code = s->code;
        c->code_raw = s->text;
    }
}

void label_hunt_text(struct label_hunt *h, const struct label_number *n, enum label_region region,
    wharf_str raw, wharf_image_box box)
{
    struct label_candidate *c = label_hunt_add(h, n);
    uint32_t score = !n->checked                   ? SCORE_TEXT_PATTERN
                     : region == LABEL_REGION_TEXT ? SCORE_TEXT
                                                   : SCORE_CAPTION;

    if (!c)
        return;
    if (region == LABEL_REGION_MASTER) {
        score -= SCORE_MASTER;
        c->master = true;
    }
    c->captioned = c->captioned || region == LABEL_REGION_TRACKING;
    if (score > c->text_score) {
        c->text_score = score;
        c->text_box = box;
        c->text_raw = raw;
    }
}

/* ---- which of them are believed ---- */

static bool label_is_of(const struct label_number *n, wharf_str provider)
{
    if (!provider.n)
        return false;
    for (size_t i = 0; i < n->n_others; i++) {
        if (same(n->others[i], provider))
            return true;
    }
    return same(n->provider_id, provider);
}

/* Tells whether something else on the label says that the provider's number may stand there. */
static bool label_is_witnessed(const struct label_hunt *h, const struct label_candidate *c)
{
    const struct label_number *n = &c->number;

    if (c->sure || label_is_of(n, h->coded->carrier.value) || label_is_of(n, h->printed))
        return true;
    if (label_is_printed(h, n->provider_id))
        return true;
    for (size_t i = 0; i < n->n_others; i++) {
        if (label_is_printed(h, n->others[i]))
            return true;
    }
    return false;
}

/* Ranks numbers by length, letters and check digits, the weakest first. */
enum label_looks { LABEL_LOOKS_LIKE_ANY, LABEL_LOOKS_CHECKED, LABEL_LOOKS_LONG, LABEL_LOOKS_SURE };

static enum label_looks label_looks_of(const struct label_number *n)
{
    wharf_str v = n->normalized;
    size_t letters = label_letters(v), digits = label_digits(v);

    if (!n->checked)
        return letters >= 2 && v.n >= LONG_PATTERN ? LABEL_LOOKS_LONG : LABEL_LOOKS_LIKE_ANY;
    if (digits >= LONG_NUMBER || (letters && v.n > LONG_PATTERN))
        return LABEL_LOOKS_SURE;
    return letters || digits >= MIDDLE_NUMBER ? LABEL_LOOKS_LONG : LABEL_LOOKS_CHECKED;
}

/* Tells whether the number begins with letters of its carrier, TBA123456789012 for example: three,
 * and as many signs behind as hardly an order number has. */
static bool label_has_own_letters(wharf_str v)
{
    return v.n >= OWN_PATTERN && label_letters((wharf_str){v.p, OWN_LETTERS}) == OWN_LETTERS;
}

/* Tells whether a candidate may be reported: numbers that order numbers and phones look like need
 * another proof. */
static bool label_is_believed(const struct label_hunt *h, const struct label_candidate *c)
{
    enum label_looks looks = label_looks_of(&c->number);
    bool witnessed = label_is_witnessed(h, c), checked = c->number.checked;

    /* digits of a logistic unit fit a format of USPS, whoever made it */
    if (c->unit)
        return witnessed || c->captioned || !is(c->number.provider_id, "usps");
    if (c->sure || looks == LABEL_LOOKS_SURE)
        return true;
    if (c->code_score)
        return witnessed || c->captioned || (looks == LABEL_LOOKS_LONG && checked) ||
               (!c->number.ambiguous && label_has_own_letters(c->number.normalized));
    if (checked && witnessed)
        return true;
    return c->captioned && (witnessed || looks == LABEL_LOOKS_LONG ||
                               (checked && c->number.normalized.n >= LONG_PATTERN));
}

static uint32_t label_candidate_score(const struct label_hunt *h, const struct label_candidate *c)
{
    uint32_t score = c->code_score > c->text_score ? c->code_score : c->text_score;

    if (c->code_score && c->text_score)
        score += SCORE_AGREES;
    if (c->master && !c->captioned && c->code_score)
        score -= SCORE_MASTER;
    /* between equals: what a caption names, what the symbol of the carrier has, its name */
    return score + (c->captioned ? 3 : 0) + (c->sure ? 2 : 0) + label_is_witnessed(h, c);
}

static const struct label_candidate *label_best_of(const struct label_hunt *h)
{
    const struct label_candidate *best = NULL;
    uint32_t most = 0;

    for (size_t i = 0; i < h->n; i++) {
        uint32_t score;

        if (!label_is_believed(h, &h->candidates[i]))
            continue;
        score = label_candidate_score(h, &h->candidates[i]);
        if (score > most) {
            most = score;
            best = &h->candidates[i];
        }
    }
    return best;
}

/* ---- the answer ---- */

static void label_put_number(
    const struct label_hunt *h, const struct label_candidate *c, struct label *ret)
{
    struct label_fact *f = &ret->tracking_number;
    bool coded = c->code_score >= c->text_score;
    uint32_t confidence = c->code_score && c->text_score ? label_both(c->code_score, c->text_score)
                                                         : c->code_score + c->text_score;

    if (coded) {
        *f = label_fact_of(c->code, c->number.normalized, confidence);
        f->raw = label_utf8(h->page->env, c->code_raw);
        return;
    }
    label_set(f, c->number.normalized, confidence, LABEL_TEXT);
    f->box = c->text_box;
    f->raw = label_utf8(h->page->env, c->text_raw);
}

/* Chooses the provider: that of the number, unless formats of several fit or its pattern proves
 * nothing; then that of a symbol, then the one whose name is printed. */
static void label_put_provider(
    const struct label_hunt *h, const struct label_candidate *c, struct label *ret)
{
    const struct label_fact *others[] = {&h->coded->carrier, &h->printed_fact};
    const struct label_number *n = c ? &c->number : NULL;

    if (n && !n->ambiguous && (n->checked || !h->printed.n || same(h->printed, n->provider_id))) {
        label_set(&ret->provider_id, n->provider_id, ret->tracking_number.confidence,
            ret->tracking_number.source);
        ret->provider_id.box = ret->tracking_number.box;
        for (size_t i = 0; i < 2; i++) {
            if (same(others[i]->value, n->provider_id))
                label_offer(&ret->provider_id, others[i]);
        }
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        if (others[i]->confidence && (!n || label_is_of(n, others[i]->value) || !n->checked)) {
            ret->provider_id = *others[i];
            return;
        }
    }
    if (n && n->ambiguous && label_is_printed(h, n->provider_id))
        label_set(&ret->provider_id, n->provider_id, SCORE_NAME_ALONE, LABEL_TEXT);
}

static void label_mark_purposes(const struct label_hunt *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct label_candidate *c = &h->candidates[i];

        for (size_t k = 0; c->code && k < h->coded->n_codes; k++) {
            struct label_code *code = &h->coded->codes[k];

            if (code == c->code && label_is_believed(h, c) &&
                strcmp(code->purpose, "carrier_2d") != 0)
                code->purpose = "tracking";
        }
    }
}

void label_numbers(const struct label_page *page, struct label_coded *coded, struct label *ret)
{
    struct label_hunt *h = label_new(page->env, struct label_hunt, 1);
    const struct label_candidate *best;

    h->page = page;
    h->coded = coded;
    h->asks = LABEL_ASKS_MAX;
    label_find_names(h);
    label_hunt_codes(h);
    label_hunt_runs(h);
    best = label_best_of(h);
    if (best) {
        label_put_number(h, best, ret);
        ret->checked_number = best->number.checked;
        ret->service_code = best->number.service;
    }
    label_put_provider(h, best, ret);
    label_mark_purposes(h);
}
