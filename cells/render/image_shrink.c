/* image_shrink.c - decoded images with fewer dots: each is the middle of a square of them. See
 * render.h. Only for pictures (render_call.page); the rest of the way down is left to who draws
 * it. */
#include <math.h>
#include <stdlib.h>

#include "child.h"
#include "render.h"

/* Returns the side of the squares that become one dot each; 1: as it is. */
static uint32_t square_of(const struct render_call *call, const struct image *im)
{
    bool lies = im->turn % 180 != 0;
    uint32_t width = lies ? im->height : im->width, height = lies ? im->width : im->height;
    double times = fmax((double)width / call->width, (double)height / call->height);

    return times >= 2 && times < IMAGE_SIDE_MAX ? (uint32_t)times : 1;
}

static unsigned char middle(
    const unsigned char *p, size_t step, size_t line, uint32_t across, uint32_t down)
{
    uint64_t sum = 0, n = 0;

    for (uint32_t y = 0; y < down; y++) {
        for (uint32_t x = 0; x < across; x++, n++)
            sum += p[y * line + x * step];
    }
    return (unsigned char)(n ? (sum + n / 2) / n : 0);
}

void image_shrink(const struct render_call *call, struct image *im, struct bytes *data)
{
    uint32_t k = call->page && call->width && call->height ? square_of(call, im) : 1,
             width = (im->width + k - 1) / k, height = (im->height + k - 1) / k;
    size_t step = im->components, line = im->width * step, n = 0;
    unsigned char *p;

    if (k == 1)
        return;
    p = cell_alloc((size_t)width * height * step);
    for (uint32_t y = 0; y < height; y++) {
        uint32_t down = im->height - y * k < k ? im->height - y * k : k;

        for (uint32_t x = 0; x < width; x++) {
            uint32_t across = im->width - x * k < k ? im->width - x * k : k;

            for (size_t c = 0; c < step; c++)
                p[n++] = middle(
                    data->p + y * k * line + x * k * step + c, step, line, across, down);
        }
    }
    im->width = width;
    im->height = height;
    *data = (struct bytes){p, n};
}
