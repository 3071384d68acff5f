/* label_class.c - which document a picture shows (docs/spec/06-inference.md section 4.2): the
 * extraction's score, the class by words, and a logistic classifier that needs no words. Its
 * weights are data (schemas/labels.json). See label_inside.h. */
#include <math.h>

#include "label_inside.h"

enum { /* per 10,000 */
    SCORE_WHOLE = 10000,
    SCORE_NUMBER = 3500,
    SCORE_NUMBER_PATTERN = 2100,
    SCORE_PROVIDER = 1500,
    SCORE_NAME = 1500,
    SCORE_POSTAL = 2000,
    SCORE_POSTAL_ALONE = 1400,
    SCORE_SENDER = 500,
    SCORE_WORDS = 1000,
    SCORE_IS_LABEL = 4500, /* of 10,000, from which on a picture is a label */
    READABLE = 60, /* confidence of a word, of 100 */
    FULL_PAGE_LINES = 35,
    FULL_PAGE_HEIGHT = 22, /* per 1,000 of the picture: letters of a page are lower */
    MANY_LINES = 60, /* lines of a page that is no label */
    SPREAD = 35, /* per 100 of the height of lines */
    ITEM_WORDS = 2
};

/* ---- the classifier ---- */

static bool label_has_carrier_symbol(const wharf_image_read *image)
{
    for (uint32_t i = 0; i < image->n_codes; i++) {
        const wharf_image_code *c = &image->codes[i];

        if (c->matrix && (!strcmp(c->symbology, "maxicode") ||
                             (c->value.n > 3 && !memcmp(c->value.p, "[)>", 3))))
            return true;
    }
    return false;
}

/* Tells whether the sides are those of a label, 4 by 6 for example, upright or lying. */
static bool label_has_shape(const wharf_image_read *image)
{
    uint64_t a = image->width, b = image->height, small = a < b ? a : b, large = a < b ? b : a;

    return small * 10 >= large * 5 && small * 10 <= large * 9;
}

uint32_t label_classify(const wharf_image_read *image, bool provider_valid_code)
{
    const wharf_image_figures *f = &image->figures;
    const struct label_weights *w = &label_weights;
    int sum = w->bias;

    if (!f->ink && !f->text_lines && !f->long_linear && !f->matrix)
        return 0;
    sum += f->long_linear ? w->long_linear : 0;
    sum += provider_valid_code ? w->provider_code : 0;
    sum += label_has_carrier_symbol(image) ? w->matrix : 0;
    sum += label_has_shape(image) && f->wide_rules ? w->ruled : 0;
    sum += f->line_height &&
                   (uint64_t)f->line_height_spread * 100 >= (uint64_t)f->line_height * SPREAD
               ? w->height_variance
               : 0;
    sum += f->text_lines >= FULL_PAGE_LINES && f->line_height <= FULL_PAGE_HEIGHT ? w->dense : 0;
    sum += f->text_lines > MANY_LINES ? w->many_lines : 0;
    return (uint32_t)lround(SCORE_WHOLE / (1 + exp(-sum / 10.0)));
}

bool label_has_valid_code(const struct label_env *env, const wharf_image_read *image)
{
    struct label_coded *coded = label_new(env, struct label_coded, 1);

    label_coded_read(env, image, NULL, coded);
    if (coded->carrier.confidence)
        return true;
    for (size_t i = 0; i < coded->n_spots; i++) {
        struct label_number n = {.checked = false};

        if (env->detect(env->ctx, coded->spots[i].text, &n) && n.checked)
            return true;
    }
    return false;
}

/* ---- score and class of what was read ---- */

static uint32_t label_mean_confidence(const wharf_image_read *image, bool *ret_readable)
{
    uint64_t sum = 0;

    *ret_readable = image->n_codes > 0;
    for (uint32_t i = 0; i < image->n_words; i++) {
        uint32_t c = image->words[i].confidence < 100 ? image->words[i].confidence : 100;

        sum += c;
        *ret_readable = *ret_readable || c >= READABLE;
    }
    return image->n_words ? (uint32_t)(sum * (SCORE_WORDS / 100) / image->n_words) : 0;
}

static bool label_party_known(const struct label_party *p)
{
    return p->name.confidence || p->business.confidence;
}

static uint32_t label_score_of(const struct label *l, uint32_t words)
{
    uint32_t score = words;

    if (l->tracking_number.confidence)
        score += l->checked_number ? SCORE_NUMBER : SCORE_NUMBER_PATTERN;
    score += l->provider_id.confidence ? SCORE_PROVIDER : 0;
    score += label_party_known(&l->recipient) ? SCORE_NAME : 0;
    if (l->recipient.postal_code.confidence)
        score += l->postal_agrees ? SCORE_POSTAL : SCORE_POSTAL_ALONE;
    score += label_party_known(&l->sender) ? SCORE_SENDER : 0;
    return score < SCORE_WHOLE ? score : SCORE_WHOLE;
}

/* Counts how many different phrases of a class are printed. */
static size_t label_class_words(const struct label_page *page, const char *name)
{
    const struct label_word *seen[LABEL_TAGS_MAX];
    size_t n = 0;

    for (size_t k = 0; k < page->n_pieces; k++) {
        const struct label_piece *p = &page->pieces[k];

        for (uint32_t i = 0, length; i < p->n_tokens && n < LABEL_TAGS_MAX; i++) {
            const struct label_word *w = label_phrase(
                p->tokens, p->n_tokens, i, LABEL_BIT(LABEL_CLASS), &length);
            size_t at = 0;

            while (w && strcmp(label_names[w->ref], name) != 0)
                w = label_next_phrase(w, LABEL_BIT(LABEL_CLASS));
            while (w && at < n && seen[at] != w)
                at++;
            if (w && at == n)
                seen[n++] = w;
        }
    }
    return n;
}

static const char *label_class_by_words(const struct label_page *page)
{
    static const char *const names[] = {"bill_of_lading", "packing_slip", "invoice", "item_label"};
    const char *best = "other";
    size_t most = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = label_class_words(page, names[i]);
        size_t least = strcmp(names[i], "item_label") == 0 ? ITEM_WORDS : 1;

        if (n >= least && n > most) {
            most = n;
            best = names[i];
        }
    }
    return best;
}

void label_class_read(const struct label_page *page, struct label *ret)
{
    bool readable;
    uint32_t words = label_mean_confidence(page->image, &readable);

    ret->extraction_score = label_score_of(ret, words);
    ret->classifier_score = label_classify(
        page->image, ret->tracking_number.source == LABEL_BARCODE && ret->checked_number &&
                         ret->tracking_number.confidence);
    ret->classification = !readable                                 ? "unreadable"
                          : ret->extraction_score >= SCORE_IS_LABEL ? "shipping_label"
                                                                    : label_class_by_words(page);
}
