/* label_numbers.h - candidates for the tracking number while they are looked for
 * (docs/spec/06-inference.md section 8.2): label_number.c scores them, label_runs.c finds those
 * that are printed. */
#ifndef LABEL_NUMBERS_H
#define LABEL_NUMBERS_H

#include "label_inside.h"

enum { LABEL_CANDIDATES_MAX = 64, LABEL_ASKS_MAX = 4000, LABEL_NAMES_MAX = 16 };

enum label_region { /* where a printed number stands */
    LABEL_REGION_TEXT,
    LABEL_REGION_TRACKING, /* behind a caption of tracking numbers */
    LABEL_REGION_MASTER,
    LABEL_REGION_OTHER /* behind another caption: it is none */
};

struct label_candidate {
    struct label_number number;
    uint32_t code_score, text_score; /* 0: not seen there */
    const struct label_code *code;
    wharf_str code_raw, text_raw;
    wharf_image_box text_box;
    bool captioned, master;
    bool sure; /* a carrier's own symbol says so */
    bool unit; /* as in struct label_spot */
};

struct label_hunt {
    const struct label_page *page;
    struct label_coded *coded;
    struct label_candidate candidates[LABEL_CANDIDATES_MAX];
    size_t n;
    uint32_t asks; /* how often detection may still be asked */
    const char *printed_names[LABEL_NAMES_MAX]; /* ids of providers */
    size_t n_printed;
    wharf_str printed; /* the only carrier whose name is printed, or empty */
    struct label_fact printed_fact;
};

/* Returns the candidate of the number, a new one if need be; NULL: there are too many. */
struct label_candidate *label_hunt_add(struct label_hunt *h, const struct label_number *n);
bool label_hunt_detect(struct label_hunt *h, wharf_str text, struct label_number *ret);
/* Adds a number that is printed. */
void label_hunt_text(struct label_hunt *h, const struct label_number *n, enum label_region region,
    wharf_str raw, wharf_image_box box);
/* Finds the numbers that are printed. */
void label_hunt_runs(struct label_hunt *h);

#endif
