/* fuzz_image_answer.c - the answer of an `image` cell (services/image/image_read.c): of any bytes,
 * and of an answer whose counts are in order while the rest is of the input. What is taken keeps
 * every rule of plugin-api/wharf/service/image.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/image_read.h"
#include "image/image_wire.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        abort();
}

static void check_box(const wharf_image_read *r, const wharf_image_box *b)
{
    must(b->x <= r->width && b->w <= r->width - b->x);
    must(b->y <= r->height && b->h <= r->height - b->y);
}

static void check_words(const wharf_image_read *r)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < r->n_words; i++) {
        const wharf_image_word *w = &r->words[i];

        must(w->text.n && utf8_valid(w->text.p, w->text.n) && w->confidence <= 100);
        must(w->line < r->n_lines && w->orientation < 360);
        check_box(r, &w->box);
    }
    for (uint32_t i = 0; i < r->n_lines; i++) {
        const wharf_image_line *l = &r->lines[i];

        must(l->first_word == next && l->n_words && utf8_valid(l->text.p, l->text.n));

        next += l->n_words;
        check_box(r, &l->box);
    }
    must(next == r->n_words);
}

static void check(const wharf_image_read *r)
{
    must(r->width >= WHARF_IMAGE_SIDE_MIN && r->height >= WHARF_IMAGE_SIDE_MIN);
    must((uint64_t)r->width * r->height <= WHARF_IMAGE_PIXELS_MAX && r->format && r->engine);
    must(r->n_codes <= WHARF_IMAGE_CODES_MAX && r->n_words <= WHARF_IMAGE_WORDS_MAX);
    must(r->n_rules <= WHARF_IMAGE_RULES_MAX && r->n_steps <= WHARF_IMAGE_STEPS_MAX);
    must(r->turn % 90 == 0 && r->turn < 360 &&
         utf8_valid(r->engine_version, strlen(r->engine_version)));
    for (uint32_t i = 0; i < r->n_codes; i++) {
        must(r->codes[i].symbology && r->codes[i].value.n && r->codes[i].orientation < 360);
        must(!r->codes[i].is_text || utf8_valid(r->codes[i].value.p, r->codes[i].value.n));
        check_box(r, &r->codes[i].box);
    }
    for (uint32_t i = 0; i < r->n_rules; i++)
        check_box(r, &r->rules[i]);
    for (uint32_t i = 0; i < r->n_steps; i++)
        must(r->steps[i].name != NULL);
    check_words(r);
}

static void read_one(const void *p, size_t n)
{
    struct arena *arena = arena_new(0);
    wharf_image_read read = {.head = WHARF_HEAD(wharf_image_read)};

    if (image_read_answer(arena, (wharf_str){p, n}, &read))
        check(&read);
    arena_free(arena);
}

/* Makes an answer of which the counts fit, with two words in a line. The input says the rest. */
static size_t write_answer(const uint8_t *data, size_t size, unsigned char *to)
{
    struct image_answer h = {.magic = IMAGE_MAGIC,
        .width = 300,
        .height = 200,
        .n_words = 2,
        .n_lines = 1,
        .n_codes = 1,
        .n_rules = 1,
        .n_steps = 1,
        .n_text = 8,
        .version = "5.3.0"};
    struct {
        struct image_code code;
        struct image_word words[2];
        struct image_line line;
        struct image_box rule;
        struct image_time step;
        char text[8];
    } rest = {.code = {.value = {0, 3}, .box = {1, 2, 3, 4}},
        .words = {{.text = {3, 2}, .box = {1, 1, 9, 9}}, {.text = {5, 3}, .box = {20, 1, 9, 9}}},
        .line = {.box = {1, 1, 28, 9}, .n_words = 2},
        .rule = {0, 50, 300, 2},
        .text = "abcdefgh"};
    size_t n = sizeof(h) + sizeof(rest);

    memcpy(to, &h, sizeof(h));
    memcpy(to + sizeof(h), &rest, sizeof(rest));
    for (size_t i = 0; i + 2 < size; i += 3) /* a place, and what to write there */
        to[((size_t)data[i] << 8 | data[i + 1]) % n] = data[i + 2];
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char answer[2000];

    read_one(data, size);
    read_one(answer, write_answer(data, size, answer));
    return 0;
}
