/* image_aside.c - captions that stand beside a party, on lines of their own: "SHIP" over "TO:", in
 * small letters to the left of a block of larger ones. Tesseract takes lines whose heights overlap
 * for one line, and reads neither. See image.h. Leaves to others: reading them (image_words.c). */
#include <stdlib.h>

#include "image.h"

enum { ASIDE_RUNS_MAX = 800, ASIDE_LOW = 8, ASIDE_HIGH = 120, ASIDE_LETTERS = 8 };

struct run { /* letters that stand close to each other: a line, or a part of one */
    int x, y, w, h;
};

static int by_height(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool is_letter_high(const struct shot *s, int h)
{
    return h >= ASIDE_LOW * s->zoom && h <= ASIDE_HIGH * s->zoom;
}

/* Returns the median height of the parts that have the size of letters. 0: there are none. */
static int letter_height(const struct shot *s, PIX *dark)
{
    BOXA *parts = pixConnCompBB(dark, 8);
    int n = 0, count = parts ? boxaGetCount(parts) : 0,
        *heights = calloc((size_t)count + 1, sizeof(int)), w, h, median;

    for (int i = 0; heights && i < count; i++) {
        boxaGetBoxGeometry(parts, i, NULL, NULL, &w, &h);
        if (is_letter_high(s, h) && w <= 2 * h && w * 6 >= h)
            heights[n++] = h;
    }
    if (n)
        qsort(heights, (size_t)n, sizeof(heights[0]), by_height);
    median = n ? heights[n / 2] : 0;
    free(heights);
    boxaDestroy(&parts);
    return median;
}

/* Finds the runs of a picture: gaps up to half as wide again as a letter is high are closed. */
static int find_runs(const struct shot *s, PIX *dark, struct run runs[ASIDE_RUNS_MAX])
{
    int height = letter_height(s, dark), n = 0;
    PIX *closed = height ? pixCloseSafeBrick(NULL, dark, height * 3 / 2, 1) : NULL;
    BOXA *boxes = closed ? pixConnCompBB(closed, 8) : NULL;

    for (int i = 0; boxes && i < boxaGetCount(boxes) && n < ASIDE_RUNS_MAX; i++) {
        struct run r;

        boxaGetBoxGeometry(boxes, i, &r.x, &r.y, &r.w, &r.h);
        if (is_letter_high(s, r.h) && r.w >= r.h)
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

    if (a->w > ASIDE_LETTERS * a->h)
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
    PIX *dark = NULL;
    int n = 0, hidden = 0;

    pixOtsuAdaptiveThreshold(page, pixGetWidth(page), pixGetHeight(page), 0, 0, 0.1F, NULL, &dark);
    if (dark)
        n = find_runs(s, dark, runs);
    for (int i = 0; i < n; i++) {
        BOX *box = is_aside(&runs[i], runs, n)
                       ? boxCreate(runs[i].x - 2, runs[i].y - 2, runs[i].w + 4, runs[i].h + 4)
                       : NULL;

        if (box)
            hidden += !pixSetInRectArbitrary(page, box, 255);
        boxDestroy(&box);
    }
    pixDestroy(&dark);
    return hidden;
}
