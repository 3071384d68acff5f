/* image_crops.c - codes of two dimensions, first on the whole page, then on the parts of it that
 * look like one. See image.h. libzxing misses a Data Matrix in a page and finds it alone. A
 * MaxiCode it reads only where nothing else is in the picture: its rings tell where it is. */
#include <math.h>
#include <stdlib.h>

#include "child.h"
#include "image.h"
#include "image_matrix.h"

enum {
    PARTS_MAX = 12, /* parts of a picture that are looked at for codes */
    SIDE_MIN = 40, /* pixels of a side of such a part */
    CLOSE = 9,
    MARGIN = 10,
    CODES_MAX = 16
};
enum { RINGS_MAX = 2000, RING_MIN = 12, RING_MAX = 400 };

/* A MaxiCode is so many times as wide as its outer ring. */
static const double wide = 3.29;

static struct matrix_code read[CODES_MAX];

/* Reads a picture, whose top left corner is at x, y of one that is the shot's by `scale`, and which
 * is larger than that by `zoom`. Returns how many codes were found. */
static size_t image_crops_read_at(
    struct shot *s, PIX *grey, double scale, double zoom, int x, int y, bool pure)
{
    l_uint8 *bytes = NULL;
    size_t size, n = 0;
    int width = pixGetWidth(grey), height = pixGetHeight(grey);

    if (pixGetRasterData(grey, &bytes, &size) == 0)
        n = matrix_read(bytes, width, height, pure, read, CODES_MAX);
    lept_free(bytes);
    for (size_t i = 0; i < n; i++) {
        struct matrix_code *m = &read[i];
        struct image_code code = {
            .symbology = m->symbology, .orientation = m->orientation, .checked = 1};

        if (pure) /* it does not say where */
            code.box = found_box(s, scale, x, y, width / zoom, height / zoom);
        else
            code.box = found_box(s, scale, x + m->left / zoom, y + m->top / zoom,
                (m->right - m->left) / zoom, (m->bottom - m->top) / zoom);
        found_code(s, m->value, m->n, code);
    }
    return n;
}

void matrix_of_page(struct shot *s, PIX *grey, double scale)
{
    image_crops_read_at(s, grey, scale, 1, 0, 0, false);
}

/* Tells whether most of a part lies in a code that is known. */
static bool image_crops_is_known(const struct shot *s, double scale, const BOX *part)
{
    struct image_box b = found_box(s, scale, part->x, part->y, part->w, part->h);

    for (uint32_t i = 0; i < s->found.head.n_codes; i++) {
        const struct image_box *c = &s->found.codes[i].box;
        double left = fmax(b.x, c->x), right = fmin(b.x + b.w, c->x + c->w), top = fmax(b.y, c->y),
               bottom = fmin(b.y + b.h, c->y + c->h);

        if (right > left && bottom > top &&
            (right - left) * (bottom - top) > 0.4 * (double)b.w * b.h)
            return true;
    }
    return false;
}

static bool looks_like_code(const BOX *b)
{
    double aspect = (double)b->w / b->h;

    if (b->w < SIDE_MIN || b->h < SIDE_MIN)
        return false;
    return (aspect >= 0.8 && aspect <= 1.25) || (aspect >= 1.5 && aspect <= 6) ||
           (aspect <= 0.67 && aspect >= 0.16);
}

/* Returns the dark parts of a picture, whose gaps are closed. NULL: it could not be done. */
static BOXA *parts_of(PIX *grey)
{
    PIX *dark = shot_dark(grey),
        *closed = dark ? pixCloseSafeBrick(NULL, dark, CLOSE, CLOSE) : NULL;
    BOXA *parts = closed ? pixConnCompBB(closed, 8) : NULL;

    pixDestroy(&closed);
    pixDestroy(&dark);
    return parts;
}

static void image_crops_read_part(struct shot *s, PIX *grey, double scale, const BOX *b)
{
    BOX *around = boxCreate(b->x - MARGIN, b->y - MARGIN, b->w + 2 * MARGIN, b->h + 2 * MARGIN),
        *cut = NULL;
    PIX *part = around ? pixClipRectangle(grey, around, &cut) : NULL,
        *framed = part ? pixAddBorderGeneral(part, MARGIN, MARGIN, MARGIN, MARGIN, 255) : NULL;
    size_t n = 0;

    for (int zoom = 1; zoom <= 2 && framed && cut && !n && shot_left_ms(s) > 0; zoom++) {
        PIX *larger = zoom == 1 ? pixClone(framed) : pixScaleGray2xLI(framed);

        if (larger)
            n = image_crops_read_at(
                s, larger, scale, zoom, cut->x - MARGIN, cut->y - MARGIN, false);
        pixDestroy(&larger);
    }
    pixDestroy(&framed);
    pixDestroy(&part);
    boxDestroy(&cut);
    boxDestroy(&around);
}

/* ---- MaxiCode ---- */

/* Tells whether two boxes are an outer and a middle ring around one point. */
static bool are_rings(const BOX *outer, const BOX *inner)
{
    double x = outer->x + outer->w / 2.0 - inner->x - inner->w / 2.0,
           y = outer->y + outer->h / 2.0 - inner->y - inner->h / 2.0, slack = 2 + outer->w * 0.04,
           share = (double)inner->w / outer->w;

    return share > 0.5 && share < 0.75 && fabs(x) < slack && fabs(y) < slack;
}

/* Reads a part of the picture as a MaxiCode, which may stand in four ways. */
static size_t read_four_ways(struct shot *s, PIX *part, double scale, const BOX *at)
{
    size_t n = 0;

    for (int quarter = 0; quarter < 4 && !n; quarter++) {
        PIX *turned = pixRotateOrth(part, quarter),
            *framed = turned ? pixAddBorderGeneral(turned, MARGIN, MARGIN, MARGIN, MARGIN, 255)
                             : NULL;

        if (framed)
            n = image_crops_read_at(s, framed, scale, 1, at->x - MARGIN, at->y - MARGIN, true);
        pixDestroy(&framed);
        pixDestroy(&turned);
    }
    return n;
}

/* Reads the MaxiCode around a ring. Read or not, it is painted over in the picture afterwards: its
 * dots would be taken for letters. */
static void read_maxicode(struct shot *s, PIX *grey, double scale, const BOX *ring)
{
    static const double margins[] = {1.12, 1.06}; /* what stands beside it may be near */
    size_t n = 0;

    for (int i = 0; i < 2 && !n; i++) {
        int half = (int)(ring->w * wide / 2 * margins[i]);
        BOX *around = boxCreateValid(
                ring->x + ring->w / 2 - half, ring->y + ring->h / 2 - half, 2 * half, 2 * half),
            *cut = NULL;
        PIX *part = around ? pixClipRectangle(grey, around, &cut) : NULL;

        if (part && cut)
            n = read_four_ways(s, part, scale, cut);
        if (cut && (n || i == 1))
            pixSetInRectArbitrary(grey, cut, 255);
        pixDestroy(&part);
        boxDestroy(&cut);
        boxDestroy(&around);
    }
}

/* Returns the boxes of dark parts that may be rings. */
static BOXA *rings_of(PIX *grey)
{
    PIX *dark = shot_dark(grey);
    BOXA *all = dark ? pixConnCompBB(dark, 8) : NULL, *rings = boxaCreate(16);

    for (int i = 0; all && rings && i < boxaGetCount(all) && boxaGetCount(rings) < RINGS_MAX; i++) {
        BOX *b = boxaGetBox(all, i, L_CLONE);

        if (b->w >= RING_MIN && b->w <= RING_MAX && abs(b->w - b->h) <= 1 + b->w / 12)
            boxaAddBox(rings, b, L_CLONE);
        boxDestroy(&b);
    }
    boxaDestroy(&all);
    pixDestroy(&dark);
    return rings;
}

void maxicodes_of_page(struct shot *s, PIX *grey, double scale)
{
    BOXA *rings = rings_of(grey);
    int n = rings ? boxaGetCount(rings) : 0;

    for (int i = 0; i < n && shot_left_ms(s) > 0; i++) {
        BOX *outer = boxaGetBox(rings, i, L_CLONE);

        for (int k = 0; k < n; k++) {
            BOX *inner = boxaGetBox(rings, k, L_CLONE);
            bool found = outer->w >= 2 * RING_MIN && are_rings(outer, inner);

            boxDestroy(&inner);
            if (found) {
                read_maxicode(s, grey, scale, outer);
                break;
            }
        }
        boxDestroy(&outer);
    }
    boxaDestroy(&rings);
}

void matrix_of_parts(struct shot *s, PIX *grey, double scale)
{
    BOXA *all = parts_of(grey),
         *parts = all ? boxaSort(all, L_SORT_BY_AREA, L_SORT_DECREASING, NULL) : NULL;
    int tried = 0;

    for (int i = 0; parts && i < boxaGetCount(parts) && tried < PARTS_MAX; i++) {
        BOX *b = boxaGetBox(parts, i, L_CLONE);

        if (looks_like_code(b) && !image_crops_is_known(s, scale, b) && shot_left_ms(s) > 0 &&
            b->w < pixGetWidth(grey) * 0.95) {
            image_crops_read_part(s, grey, scale, b);
            tried++;
        }
        boxDestroy(&b);
    }
    boxaDestroy(&parts);
    boxaDestroy(&all);
}
