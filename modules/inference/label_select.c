/* label_select.c - which of several pictures is the label (docs/spec/06-inference.md sections 4.2
 * and 4.3). See label.h; leaves the scores to label_class.c. */
#include "label_inside.h"

enum { SELECT_SURE = 6000, SELECT_NEAR = 500 /* both per 10,000 */ };

uint32_t label_selection(
    enum label_mode mode, uint32_t classifier, uint32_t extraction, bool extracted)
{
    if (mode == LABEL_CLASSIFIER_FEEDS_EXTRACTION)
        return extracted ? extraction : classifier;
    if (mode == LABEL_CLASSIFIER_INFORMS_SELECTION)
        return (4 * classifier + 6 * extraction + 5) / 10;
    return extraction;
}

static bool label_may_be_chosen(const struct label_picture *p)
{
    return !p->failed && p->shipping_label;
}

/* Tells whether two pictures are two labels, and nothing says which is meant. */
static bool label_are_rivals(const struct label_picture *a, const struct label_picture *b)
{
    uint32_t far = a->selection > b->selection ? a->selection - b->selection
                                               : b->selection - a->selection;

    if (!label_may_be_chosen(a) || !label_may_be_chosen(b) || !a->tracking_number.n ||
        !b->tracking_number.n || same(a->tracking_number, b->tracking_number))
        return false;
    return (a->extraction >= SELECT_SURE && b->extraction >= SELECT_SURE) || far < SELECT_NEAR;
}

void label_select(
    const struct label_picture *pictures, size_t n, bool strict, struct label_choice *ret)
{
    *ret = (struct label_choice){LABEL_NONE, NULL};
    if (n == 1) { /* a lone picture is the one that is meant, whatever it shows */
        ret->selected = pictures[0].failed ? LABEL_NONE : 0;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (label_may_be_chosen(&pictures[i]) &&
            (ret->selected < 0 || pictures[i].selection > pictures[ret->selected].selection))
            ret->selected = (int)i;
    }
    if (ret->selected < 0) {
        ret->error = n ? "missing_label" : NULL;
        return;
    }
    for (size_t i = 0; strict && i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            if (label_are_rivals(&pictures[i], &pictures[k]))
                *ret = (struct label_choice){LABEL_NONE, "ambiguous_label"};
        }
    }
}
