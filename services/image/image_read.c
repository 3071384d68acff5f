/* image_read.c - see image_read.h. */
#include "image/image_read.h"

#include <string.h>

#include "image/image_wire.h"
#include "util/str.h"

/* Counts and lists are taken from the front; what is left at the end must be nothing. */
struct reading {
    struct arena *arena;
    struct image_answer head;
    wharf_str rest; /* not yet taken */
    wharf_str text;
    bool bad;
};

static const char *const format_names[IMAGE_FORMATS] = {
    "jpeg", "png", "webp", "gif", "tiff", "bmp", "pnm", "jp2"};
static const char *const symbology_names[IMAGE_SYMBOLOGIES] = {"code128", "gs1_128", "code39",
    "code93", "itf", "codabar", "ean13", "ean8", "upca", "upce", "databar", "databar_expanded",
    "qr", "pdf417", "datamatrix", "aztec", "maxicode"};
static const char *const step_names[IMAGE_STEPS] = {
    "open", "linear", "matrix", "crops", "clean", "turn", "words", "rest", "figures"};

const char *image_step_name(uint32_t step)
{
    return step < IMAGE_STEPS ? step_names[step] : NULL;
}

/* Takes a list off the front, into memory that is aligned for it. */
static void *image_read_take(struct reading *r, size_t count, size_t size)
{
    void *list;

    if (r->bad || r->rest.n / size < count) {
        r->bad = true;
        return NULL;
    }
    list = arena_alloc_array(r->arena, count + 1, size);
    if (count)
        memcpy(list, r->rest.p, count * size);
    r->rest.p += count * size;
    r->rest.n -= count * size;
    return list;
}

static wharf_image_box image_read_box_of(struct reading *r, const struct image_box *b)
{
    r->bad = r->bad || b->x > r->head.width || b->w > r->head.width - b->x ||
             b->y > r->head.height || b->h > r->head.height - b->y;
    return (wharf_image_box){b->x, b->y, b->w, b->h};
}

static wharf_str image_read_text_of(struct reading *r, const struct image_text *t)
{
    if (t->at > r->text.n || t->n > r->text.n - t->at) {
        r->bad = true;
        return WHARF_S("");
    }
    return (wharf_str){r->text.p + t->at, t->n};
}

static void read_codes(struct reading *r, const struct image_code *from, wharf_image_read *ret)
{
    wharf_image_code *codes = ARENA_ARRAY(r->arena, wharf_image_code, r->head.n_codes + 1);

    for (uint32_t i = 0; i < r->head.n_codes && !r->bad; i++) {
        const struct image_code *c = &from[i];

        r->bad = c->symbology >= IMAGE_SYMBOLOGIES || c->orientation > 359 || !c->value.n;
        if (r->bad)
            return;
        codes[i] = (wharf_image_code){.value = image_read_text_of(r, &c->value),
            .symbology = symbology_names[c->symbology],
            .box = image_read_box_of(r, &c->box),
            .orientation = c->orientation,
            .quality = c->quality,
            .checked = c->checked != 0,
            .matrix = c->symbology >= IMAGE_QR};
        codes[i].is_text = utf8_valid(codes[i].value.p, codes[i].value.n) &&
                           !memchr(codes[i].value.p, 0, codes[i].value.n);
    }
    ret->codes = codes;
}

static void image_read_words(
    struct reading *r, const struct image_word *from, wharf_image_read *ret)
{
    wharf_image_word *words = ARENA_ARRAY(r->arena, wharf_image_word, r->head.n_words + 1);

    for (uint32_t i = 0; i < r->head.n_words && !r->bad; i++) {
        const struct image_word *w = &from[i];
        wharf_str text = image_read_text_of(r, &w->text);

        r->bad = r->bad || !text.n || !utf8_valid(text.p, text.n) || memchr(text.p, 0, text.n) ||
                 w->confidence > 100 || w->orientation > 359 || w->line >= r->head.n_lines;
        words[i] = (wharf_image_word){
            text, image_read_box_of(r, &w->box), w->confidence, w->line, w->block, w->orientation};
    }
    ret->words = words;
}

/* Returns the words of a line with spaces between them. */
static wharf_str image_read_join(struct reading *r, const wharf_image_word *words, uint32_t n)
{
    size_t size = 0;
    char *text, *at;

    for (uint32_t i = 0; i < n; i++)
        size += words[i].text.n + 1;
    text = at = arena_alloc(r->arena, size + 1);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(at, words[i].text.p, words[i].text.n);
        at += words[i].text.n;
        *at++ = ' ';
    }
    return (wharf_str){text, n ? size - 1 : 0};
}

/* Reads the lines, which divide the words: each word is in one line, and they follow. */
static void image_read_lines(
    struct reading *r, const struct image_line *from, wharf_image_read *ret)
{
    wharf_image_line *lines = ARENA_ARRAY(r->arena, wharf_image_line, r->head.n_lines + 1);
    uint32_t next = 0;

    for (uint32_t i = 0; i < r->head.n_lines && !r->bad; i++) {
        const struct image_line *l = &from[i];

        r->bad = l->first_word != next || !l->n_words || l->n_words > r->head.n_words - next;
        for (uint32_t k = next; !r->bad && k < next + l->n_words; k++)
            r->bad = ret->words[k].line != i || ret->words[k].block != l->block;
        if (r->bad)
            return;
        next += l->n_words;
        lines[i] = (wharf_image_line){
            .text = image_read_join(r, ret->words + l->first_word, l->n_words),
            .box = image_read_box_of(r, &l->box),
            .first_word = l->first_word,
            .n_words = l->n_words,
            .block = l->block};
    }
    r->bad = r->bad || next != r->head.n_words;
    ret->lines = lines;
}

static void read_steps(struct reading *r, const struct image_time *from, wharf_image_read *ret)
{
    wharf_image_step *steps = ARENA_ARRAY(r->arena, wharf_image_step, r->head.n_steps + 1);

    for (uint32_t i = 0; i < r->head.n_steps && !r->bad; i++) {
        r->bad = from[i].step >= IMAGE_STEPS;
        if (!r->bad)
            steps[i] = (wharf_image_step){step_names[from[i].step], from[i].ms};
    }
    ret->steps = steps;
}

static bool head_is_good(const struct image_answer *h)
{
    return h->magic == IMAGE_MAGIC && h->format < IMAGE_FORMATS &&
           h->width >= WHARF_IMAGE_SIDE_MIN && h->height >= WHARF_IMAGE_SIDE_MIN &&
           (uint64_t)h->width * h->height <= WHARF_IMAGE_PIXELS_MAX && h->turn < 360 &&
           h->turn % 90 == 0 && h->turned_by <= WHARF_IMAGE_TURNED_WORDS &&
           h->stopped <= IMAGE_STEPS && h->n_codes <= WHARF_IMAGE_CODES_MAX &&
           h->n_words <= WHARF_IMAGE_WORDS_MAX && h->n_lines <= h->n_words &&
           h->n_rules <= WHARF_IMAGE_RULES_MAX && h->n_steps <= WHARF_IMAGE_STEPS_MAX &&
           h->n_text <= WHARF_IMAGE_TEXT_MAX && memchr(h->version, 0, sizeof(h->version)) &&
           utf8_valid(h->version, strlen(h->version));
}

static void fill_head(struct reading *r, wharf_image_read *ret)
{
    const struct image_answer *h = &r->head;
    const struct image_figures *f = &h->figures;

    ret->format = format_names[h->format];
    ret->width = h->width;
    ret->height = h->height;
    ret->turn = h->turn;
    ret->turned_by = h->turned_by;
    ret->photo = h->photo != 0;
    ret->whole = h->stopped == 0;
    ret->stopped = h->stopped ? step_names[h->stopped - 1] : NULL;
    ret->x_height = h->x_height;
    ret->n_codes = h->n_codes;
    ret->n_words = h->n_words;
    ret->n_lines = h->n_lines;
    ret->n_rules = h->n_rules;
    ret->n_steps = h->n_steps;
    ret->figures = (wharf_image_figures){f->text_lines, f->line_height, f->line_height_spread,
        f->ink, f->wide_rules, f->long_linear, f->matrix};
    ret->engine = "tesseract, zbar, zxing";
    ret->engine_version = arena_dupz(r->arena, h->version).p;
}

bool image_read_answer(struct arena *arena, wharf_str answer, wharf_image_read *ret)
{
    struct reading r = {.arena = arena, .rest = answer};
    const struct image_code *codes;
    const struct image_word *words;
    const struct image_line *lines;
    const struct image_box *rules;
    const struct image_time *steps;
    wharf_image_box *boxes;

    if (answer.n < sizeof(r.head))
        return false;
    memcpy(&r.head, answer.p, sizeof(r.head));
    r.rest = (wharf_str){answer.p + sizeof(r.head), answer.n - sizeof(r.head)};
    if (!head_is_good(&r.head))
        return false;
    codes = image_read_take(&r, r.head.n_codes, sizeof(*codes));
    words = image_read_take(&r, r.head.n_words, sizeof(*words));
    lines = image_read_take(&r, r.head.n_lines, sizeof(*lines));
    rules = image_read_take(&r, r.head.n_rules, sizeof(*rules));
    steps = image_read_take(&r, r.head.n_steps, sizeof(*steps));
    if (r.bad || r.rest.n != r.head.n_text)
        return false;
    r.text = arena_dup(arena, r.rest.p, r.rest.n);
    fill_head(&r, ret);
    read_codes(&r, codes, ret);
    image_read_words(&r, words, ret);
    if (!r.bad)
        image_read_lines(&r, lines, ret);
    boxes = ARENA_ARRAY(arena, wharf_image_box, r.head.n_rules + 1);
    for (uint32_t i = 0; i < r.head.n_rules; i++)
        boxes[i] = image_read_box_of(&r, &rules[i]);
    ret->rules = boxes;
    read_steps(&r, steps, ret);
    return !r.bad;
}
