/* image_clean.c - a picture made ready for reading letters: even light, no long rules, no barcodes,
 * straight lines, letters that are large enough. See image.h. Also the figures that a classifier
 * asks for. */
#include <math.h>

#include "image.h"

enum {
    RULE_MIN = 100,
    RULE_THICK = 14,
    LETTER_MIN = 6,
    LETTER_MAX = 120,
    LETTERS_LOW = 22 /* pixels: lower letters are enlarged */
};
enum { PATTERN_MIN = 90, PATTERN_DOTS = 40 };
enum {
    LARGE = 4500000,
    SMALL_SIDE = 800,
    BRIGHT = 240 /* grey from which on paper counts as white */
};
enum { EVEN_BLACK = 30, EVEN_WHITE = 180, THICK = 21, SKEW_MOST = 14 /* degrees */ };

double shot_share(PIX *grey, int from, int below)
{
    NUMA *histogram = pixGetGrayHistogram(grey, 4);
    double all = 0, between = 0;

    for (int i = 0; histogram && i < 256; i++) {
        float n = 0;

        numaGetFValue(histogram, i, &n);
        all += n;
        between += i >= from && i < below ? n : 0;
    }
    numaDestroy(&histogram);
    return all > 0 ? between / all : 0;
}

/* Tells whether the light is uneven: little of the picture is really white. */
static bool is_photo(PIX *grey)
{
    return shot_share(grey, BRIGHT, 256) < 0.5;
}

/* Returns a picture whose paper is white everywhere, as what is painted over: Tesseract would take
 * grey paper beside white areas for ink. NULL: it can't be made. */
static PIX *even_light(PIX *grey)
{
    PIX *even = pixBackgroundNormSimple(grey, NULL, NULL); /* paper is 200 then */

    if (even)
        pixGammaTRC(even, even, 1.0F, EVEN_BLACK, EVEN_WHITE);
    return even;
}

PIX *shot_dark(PIX *grey)
{
    PIX *dark = NULL;

    pixOtsuAdaptiveThreshold(grey, pixGetWidth(grey), pixGetHeight(grey), 0, 0, 0.1F, NULL, &dark);
    return dark;
}

void shot_paint(PIX *grey, PIX *dark, int x, int y, int w, int h)
{
    BOX *box = boxCreateValid(x < 0 ? 0 : x, y < 0 ? 0 : y, x < 0 ? w + x : w, y < 0 ? h + y : h);

    if (!box)
        return;
    pixSetInRectArbitrary(grey, box, 255);
    if (dark)
        pixClearInRect(dark, box);
    boxDestroy(&box);
}

/* Paints codes over. The last bars of a linear code are outside of what was scanned. */
static void paint_codes(struct shot *s, PIX *grey, PIX *dark)
{
    for (uint32_t i = 0; i < s->found.head.n_codes; i++) {
        const struct image_code *c = &s->found.codes[i];
        bool across = c->orientation % 180 < 45 || c->orientation % 180 > 135,
             linear = c->symbology < IMAGE_QR;
        int x = (int)(c->box.x * s->scale), y = (int)(c->box.y * s->scale),
            w = (int)(c->box.w * s->scale), h = (int)(c->box.h * s->scale),
            by_x = 3 + (linear && across ? w / 40 : 0), by_y = 3 + (linear && !across ? h / 40 : 0);

        shot_paint(grey, dark, x - by_x, y - by_y, w + 2 * by_x, h + 2 * by_y);
    }
}

/* Tells whether a part is a dense square of many dots: a code that could not be read, whose dots
 * would be taken for letters. */
static bool is_pattern(PIX *dark, BOX *b)
{
    PIX *part;
    l_int32 dots = 0;
    float ink = 0;

    if (b->w < PATTERN_MIN || b->h < PATTERN_MIN || b->w > 1.6 * b->h || b->h > 1.6 * b->w)
        return false;
    part = pixClipRectangle(dark, b, NULL);
    if (part) {
        pixForegroundFraction(part, &ink);
        pixCountConnComp(part, 8, &dots);
    }
    pixDestroy(&part);
    return ink > 0.3F && dots >= PATTERN_DOTS;
}

static void paint_patterns(PIX *grey, PIX *dark)
{
    PIX *closed = pixCloseSafeBrick(NULL, dark, 9, 9);
    BOXA *parts = closed ? pixConnCompBB(closed, 8) : NULL;

    for (int i = 0; parts && i < boxaGetCount(parts); i++) {
        BOX *b = boxaGetBox(parts, i, L_CLONE);

        if (is_pattern(dark, b))
            shot_paint(grey, dark, b->x - 1, b->y - 1, b->w + 2, b->h + 2);
        boxDestroy(&b);
    }
    boxaDestroy(&parts);
    pixDestroy(&closed);
}

/* Paints over what is dark around the label: on a black page nothing would be found. Rules that
 * reach it are thin, and stay. */
static void paint_surroundings(PIX *grey, PIX *dark)
{
    PIX *thick = pixOpenBrick(NULL, dark, THICK, THICK),
        *around = thick ? pixExtractBorderConnComps(thick, 8) : NULL,
        *grown = around ? pixDilateBrick(NULL, around, THICK / 2, THICK / 2) : NULL;

    if (grown) {
        pixSetMasked(grey, grown, 255);
        pixSubtract(dark, dark, grown);
    }
    pixDestroy(&grown);
    pixDestroy(&around);
    pixDestroy(&thick);
}

/* Finds the rules of one direction, notes and paints them. */
static void take_rules(struct shot *s, PIX *grey, PIX *dark, bool across)
{
    PIX *lines = across ? pixOpenBrick(NULL, dark, RULE_MIN, 1)
                        : pixOpenBrick(NULL, dark, 1, RULE_MIN);
    BOXA *all = lines ? pixConnCompBB(lines, 8) : NULL;

    for (int i = 0; all && i < boxaGetCount(all); i++) {
        BOX *b = boxaGetBox(all, i, L_CLONE);

        if ((across ? b->h : b->w) <= RULE_THICK) {
            if (s->found.head.n_rules < IMAGE_ROOM_RULES)
                s->found.rules[s->found.head.n_rules++] = found_box(
                    s, s->scale, b->x, b->y, b->w, b->h);
            shot_paint(grey, dark, b->x - 1, b->y - 1, b->w + 2, b->h + 2);
        }
        boxDestroy(&b);
    }
    boxaDestroy(&all);
    pixDestroy(&lines);
}

int shot_letters_height(PIX *dark)
{
    BOXA *all = pixConnCompBB(dark, 8);
    int counts[LETTER_MAX + 1] = {0}, n = 0, seen = 0, height = 0;

    for (int i = 0; all && i < boxaGetCount(all); i++) {
        int w, h;

        boxaGetBoxGeometry(all, i, NULL, NULL, &w, &h);
        if (h >= LETTER_MIN && h <= LETTER_MAX && w <= 3 * h && w >= 2) {
            counts[h]++;
            n++;
        }
    }
    boxaDestroy(&all);
    while (n >= 10 && seen * 2 < n)
        seen += counts[++height];
    return height;
}

/* Turns the lines straight, where they are not and that is sure. */
static void straighten(struct shot *s, PIX **grey, PIX **dark)
{
    float angle = 0, sure = 0;
    double radians;
    PIX *straight, *straight_dark;

    s->skew = 0;
    if (pixFindSkewSweepAndSearch(*dark, &angle, &sure, 4, 2, SKEW_MOST, 1.0F, 0.01F) || sure < 3 ||
        fabsf(angle) < 0.3F)
        return;
    radians = angle * 3.14159265358979 / 180;
    straight = pixRotate(*grey, (float)radians, L_ROTATE_AREA_MAP, L_BRING_IN_WHITE, 0, 0);
    straight_dark = pixRotate(*dark, (float)radians, L_ROTATE_SAMPLING, L_BRING_IN_WHITE, 0, 0);
    if (straight && straight_dark) {
        pixDestroy(grey);
        pixDestroy(dark);
        *grey = straight;
        *dark = straight_dark;
        s->skew = radians;
    } else {
        pixDestroy(&straight);
        pixDestroy(&straight_dark);
    }
}

static PIX *enlarge(struct shot *s, PIX *grey, PIX *dark)
{
    int height = shot_letters_height(dark);
    PIX *larger, *smooth;

    s->zoom = 1;
    if (!height || height >= LETTERS_LOW ||
        (double)pixGetWidth(grey) * pixGetHeight(grey) * 4 > LARGE)
        return grey;
    larger = pixScaleGray2xLI(grey);
    if (!larger)
        return grey;
    smooth = pixBlockconvGray(larger, NULL, 1, 1);
    if (smooth) {
        pixDestroy(&larger);
        larger = smooth;
    }
    s->zoom = 2;
    pixDestroy(&grey);
    return larger;
}

bool shot_clean(struct shot *s)
{
    PIX *grey, *dark;

    pixDestroy(&s->clean);
    s->found.head.n_rules = 0;
    s->found.head.photo = is_photo(s->work);
    grey = s->found.head.photo ? even_light(s->work) : NULL;
    if (!grey)
        grey = pixCopy(NULL, s->work);
    dark = grey ? shot_dark(grey) : NULL;
    if (dark) {
        if (s->found.head.photo)
            paint_surroundings(grey, dark);
        paint_codes(s, grey, dark);
        paint_patterns(grey, dark);
        straighten(s, &grey, &dark);
        take_rules(s, grey, dark, true);
        take_rules(s, grey, dark, false);
        grey = enlarge(s, grey, dark);
        s->clean = grey;
    } else {
        pixDestroy(&grey);
    }
    pixDestroy(&dark);
    return s->clean != NULL;
}

/* ---- figures ---- */

/* Notes the lines of letters: dark parts that are wide once the gaps between letters are closed. */
static void image_clean_note_lines(struct image_figures *f, PIX *dark, double height)
{
    PIX *closed = pixCloseSafeBrick(NULL, dark, 15, 1);
    BOXA *all = closed ? pixConnCompBB(closed, 8) : NULL;
    double n = 0, sum = 0, squares = 0;

    for (int i = 0; all && i < boxaGetCount(all); i++) {
        int w, h;

        boxaGetBoxGeometry(all, i, NULL, NULL, &w, &h);
        if (h >= 5 && h <= 80 && w >= 2 * h) {
            double share = h * 1000.0 / height;

            n++;
            sum += share;
            squares += share * share;
        }
    }
    f->text_lines = (uint32_t)n;
    if (n > 0) {
        f->line_height = (uint32_t)(sum / n);
        f->line_height_spread = (uint32_t)sqrt(fmax(0, squares / n - sum / n * (sum / n)));
    }
    boxaDestroy(&all);
    pixDestroy(&closed);
}

void shot_figures(struct shot *s)
{
    struct image_figures *f = &s->found.head.figures;
    int width = pixGetWidth(s->work), height = pixGetHeight(s->work),
        side = width > height ? width : height;
    float by = side > SMALL_SIDE ? (float)SMALL_SIDE / (float)side : 1;
    PIX *small = by < 1 ? pixScaleSmooth(s->work, by, by) : pixClone(s->work),
        *dark = small ? shot_dark(small) : NULL;
    float share = 0;

    for (uint32_t i = 0; i < s->found.head.n_codes; i++) {
        const struct image_code *c = &s->found.codes[i];

        f->matrix += c->symbology >= IMAGE_QR;
        f->long_linear += c->symbology < IMAGE_QR && c->value.n >= 10;
    }
    for (uint32_t i = 0; i < s->found.head.n_rules; i++)
        f->wide_rules += s->found.rules[i].w >= 0.6 * s->found.head.width;
    if (dark) {
        pixForegroundFraction(dark, &share);
        f->ink = (uint32_t)(share * 1000);
        image_clean_note_lines(f, dark, pixGetHeight(small));
    }
    pixDestroy(&dark);
    pixDestroy(&small);
}
