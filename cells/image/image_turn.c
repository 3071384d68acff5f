/* image_turn.c - a picture turned upright, with what was found in it. See image.h. */
#include "image.h"

/* Turns a box by a quarter clockwise, in a picture of this height before. */
static struct image_box quarter(struct image_box b, uint32_t height)
{
    return (struct image_box){height - b.y - b.h, b.x, b.h, b.w};
}

static void turn_quarter(struct found *f)
{
    uint32_t height = f->head.height;

    for (uint32_t i = 0; i < f->head.n_codes; i++) {
        f->codes[i].box = quarter(f->codes[i].box, height);
        f->codes[i].orientation = (f->codes[i].orientation + 90) % 360;
    }
    f->head.height = f->head.width;
    f->head.width = height;
    f->head.turn = (f->head.turn + 90) % 360;
}

static void turn_pix(PIX **pix, int quarters)
{
    PIX *turned = *pix ? pixRotateOrth(*pix, quarters) : NULL;

    pixDestroy(pix);
    *pix = turned;
}

void shot_turn(struct shot *s, uint32_t degrees, uint32_t by)
{
    int quarters = (int)(degrees / 90);

    s->found.head.turned_by = by;
    if (!quarters)
        return;
    turn_pix(&s->grey, quarters);
    turn_pix(&s->work, quarters);
    for (int i = 0; i < quarters; i++)
        turn_quarter(&s->found);
}

uint32_t turn_of_codes(const struct shot *s, bool *ret_known)
{
    uint32_t weights[4] = {0}, best = 0;

    for (uint32_t i = 0; i < s->found.head.n_codes; i++) {
        const struct image_code *c = &s->found.codes[i];

        if (c->symbology < IMAGE_QR && c->checked)
            weights[c->orientation / 90] += c->value.n;
    }
    for (uint32_t i = 1; i < 4; i++)
        best = weights[i] > weights[best] ? i : best;
    *ret_known = weights[best] > 0;
    return (4 - best) % 4 * 90;
}

void shot_work(struct shot *s)
{
    int width = pixGetWidth(s->grey), height = pixGetHeight(s->grey),
        side = width > height ? width : height;

    if (side <= IMAGE_WORK_SIDE) {
        s->scale = 1;
        s->work = pixClone(s->grey);
    } else {
        s->scale = (double)IMAGE_WORK_SIDE / side;
        s->work = pixScaleSmooth(s->grey, (float)s->scale, (float)s->scale);
    }
}
