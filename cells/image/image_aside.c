/* image_aside.c - captions that stand beside a party, on lines of their own: "SHIP" over "TO:", in
 * small letters to the left of a block of larger ones. Tesseract takes lines whose heights overlap
 * for one line, and reads neither. See image.h. Leaves to others: reading them (image_words.c). */
#include <stdlib.h>

#include "image.h"

enum { ASIDE_RUNS_MAX = 800, ASIDE_HEIGHTS = 8 /* that an aside is wide at most */ };

struct run { /* letters that stand close to each other: a line, or a part of one */
    int x, y, w, h;
};

/* Finds the runs of a picture: gaps up to half as wide again as a letter is high are closed. */
static int find_runs(const struct shot *s, PIX *dark, struct run runs[ASIDE_RUNS_MAX])
{
    int height = shot_letters_height(dark), n = 0;
    PIX *closed = height ? pixCloseSafeBrick(NULL, dark, height * 3 / 2, 1) : NULL;
    BOXA *boxes = closed ? pixConnCompBB(closed, 8) : NULL;

    for (int i = 0; boxes && i < boxaGetCount(boxes) && n < ASIDE_RUNS_MAX; i++) {
        struct run r;

        boxaGetBoxGeometry(boxes, i, &r.x, &r.y, &r.w, &r.h);
        if (shot_is_letter_high(s, r.h) && r.w >= r.h)
            runs[n++] = r;
    }
    boxaDestroy(&boxes);
    pixDestroy(&closed);
    return n;
}

/* Tells whether two runs are on one line: their feet or their middles are at one height. */
static bool is_one_line(const struct run *a, const struct run *b)
{
    int feet = abs(a->y + a->h - b->y - b->h), middles = abs(2 * a->y + a->h - 2 * b->y - b->h) / 2;

    return feet * 5 <= b->h || middles * 5 <= b->h;
}

/* Tells whether a short run has larger letters to its right that it overlaps in height, and is on
 * one line with none of them. */
static bool is_aside(const struct run *a, const struct run *runs, int n)
{
    bool beside = false;

    if (a->w > ASIDE_HEIGHTS * a->h)
        return false;
    for (int i = 0; i < n; i++) {
        const struct run *b = &runs[i];
        int gap = b->x - a->x - a->w, top = a->y > b->y ? a->y : b->y,
            foot = a->y + a->h < b->y + b->h ? a->y + a->h : b->y + b->h;

        if (gap < 0 || gap > 4 * b->h || foot - top < a->h / 8 || b->w < 2 * b->h)
            continue;
        if (is_one_line(a, b))
            return false;
        beside |= a->h * 10 <= b->h * 11 && gap >= b->h;
    }
    return beside;
}

int aside_hide(const struct shot *s, PIX *page)
{
    static struct run runs[ASIDE_RUNS_MAX];
    PIX *dark = shot_dark(page);
    int n = dark ? find_runs(s, dark, runs) : 0, hidden = 0;

    for (int i = 0; i < n; i++) {
        const struct run *r = &runs[i];

        if (!is_aside(r, runs, n))
            continue;
        shot_paint(page, NULL, r->x - IMAGE_HIDE, r->y - IMAGE_HIDE, r->w + 2 * IMAGE_HIDE,
            r->h + 2 * IMAGE_HIDE);
        hidden++;
    }
    pixDestroy(&dark);
    return hidden;
}
