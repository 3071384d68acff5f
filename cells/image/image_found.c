/* image_found.c - what was found in a picture, within its bounds, and sent as an answer. See
 * image.h and image_wire.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "image.h"

static double image_found_within(double v, double most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

struct image_box found_box(
    const struct shot *s, double scale, double x, double y, double w, double h)
{
    double width = s->found.head.width, height = s->found.head.height;
    double left = image_found_within(floor(x / scale), width),
           top = image_found_within(floor(y / scale), height);

    return (struct image_box){(uint32_t)left, (uint32_t)top,
        (uint32_t)(image_found_within(ceil((x + w) / scale), width) - left),
        (uint32_t)(image_found_within(ceil((y + h) / scale), height) - top)};
}

/* Tells whether two boxes lie over each other, or nearly. */
static bool overlap(const struct image_box *a, const struct image_box *b)
{
    return a->x <= b->x + b->w + 8 && b->x <= a->x + a->w + 8 && a->y <= b->y + b->h + 8 &&
           b->y <= a->y + a->h + 8;
}

void found_code(struct shot *s, const char *value, size_t n, struct image_code code)
{
    struct found *f = &s->found;

    for (uint32_t i = 0; i < f->head.n_codes; i++) {
        struct image_code *known = &f->codes[i];

        if (known->symbology == code.symbology && known->value.n == n &&
            !memcmp(f->text + known->value.at, value, n) && overlap(&known->box, &code.box)) {
            if (code.quality > known->quality)
                known->quality = code.quality;
            return;
        }
    }
    if (!n || n > sizeof(f->text) - f->head.n_text || f->head.n_codes == IMAGE_ROOM_CODES)
        return;
    code.value = (struct image_text){f->head.n_text, (uint32_t)n};
    memcpy(f->text + f->head.n_text, value, n);
    f->head.n_text += (uint32_t)n;
    f->codes[f->head.n_codes++] = code;
}

static char *image_found_put(char *at, const void *p, size_t n)
{
    memcpy(at, p, n);
    return at + n;
}

void found_send(const struct found *f)
{
    const struct image_answer *h = &f->head;
    size_t codes = h->n_codes * sizeof(*f->codes), words = h->n_words * sizeof(*f->words),
           lines = h->n_lines * sizeof(*f->lines), rules = h->n_rules * sizeof(*f->rules),
           steps = h->n_steps * sizeof(*f->steps),
           n = sizeof(*h) + codes + words + lines + rules + steps + h->n_text;
    char *answer = cell_alloc(n), *at = image_found_put(answer, h, sizeof(*h));

    at = image_found_put(at, f->codes, codes);
    at = image_found_put(at, f->words, words);
    at = image_found_put(at, f->lines, lines);
    at = image_found_put(at, f->rules, rules);
    at = image_found_put(at, f->steps, steps);
    image_found_put(at, f->text, h->n_text);
    cell_result(answer, n);
    free(answer);
}
