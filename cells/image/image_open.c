/* image_open.c - a picture file as grey pixels that stand as the file says. See image.h. Leaves to
 * others: what the file is (image_head.c). */
#include "image.h"
#include "wharf/service/image.h"

static PIX *image_open_decode(const unsigned char *p, const struct head *head)
{
    PIX *pix = NULL;

    /* a label has no colours; what a JPEG has of them costs as much again */
    if (head->format == IMAGE_JPEG)
        pix = pixReadMemJpeg(p, head->n, 0, 1, NULL, L_JPEG_READ_LUMINANCE);
    return pix ? pix : pixReadMem(p, head->n);
}

/* Gives the picture back as 8 bits of grey on white, and takes it. */
static PIX *as_grey(PIX *pix)
{
    PIX *grey;

    if (pix && pixGetDepth(pix) == 32 && pixGetSpp(pix) == 4) {
        PIX *flat = pixAlphaBlendUniform(pix, 0xffffff00);

        pixDestroy(&pix);
        pix = flat;
    }
    grey = pix ? pixConvertTo8(pix, 0) : NULL;
    pixDestroy(&pix);
    return grey;
}

/* Turns the picture as Exif says, and takes it. Mirrored values count as upright: telephones write
 * them although nothing is mirrored. */
static PIX *stand_up(PIX *pix, unsigned orientation)
{
    int quarters = orientation == 6 ? 1 : orientation == 3 ? 2 : orientation == 8 ? 3 : 0;
    PIX *turned = pixRotateOrth(pix, quarters);

    pixDestroy(&pix);
    return turned;
}

bool shot_open(struct shot *s, unsigned char *p, size_t n)
{
    struct head head;
    PIX *pix;

    s->error = head_read(p, n, &head);
    if (s->error)
        return false;
    pix = as_grey(image_open_decode(p, &head));
    /* of what the head said; a TIFF may have been turned */
    if (pix && (uint64_t)pixGetWidth(pix) * (uint64_t)pixGetHeight(pix) > WHARF_IMAGE_PIXELS_MAX)
        pixDestroy(&pix);
    s->grey = pix ? stand_up(pix, head.orientation) : NULL;
    if (!s->grey) {
        s->error = "damaged: it can't be decoded";
        return false;
    }
    s->found.head.format = head.format;
    s->found.head.width = (uint32_t)pixGetWidth(s->grey);
    s->found.head.height = (uint32_t)pixGetHeight(s->grey);
    return true;
}
