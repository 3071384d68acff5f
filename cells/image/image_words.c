/* image_words.c - letters, by Tesseract. See image.h. The model is loaded before the walls, and
 * nothing of it may start threads: the walls allow none. */
#include <ctype.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tesseract/capi.h>

#include "image.h"

enum {
    DPI = 300, /* dots per inch that Tesseract is told */
    SENSE_LEAST = 50,
    LINE_LEAST = 55,
    HEIGHTS_MAX = 400
};

static TessBaseAPI *engine; /* made before the walls */

bool words_prepare(void)
{
    /* regions that would be done by several threads are done by this one */
    omp_set_max_active_levels(0);
    engine = TessBaseAPICreate();
    if (!engine || TessBaseAPIInit2(engine, NULL, "eng", OEM_LSTM_ONLY) != 0)
        return false;
    TessBaseAPISetVariable(engine, "debug_file", "/dev/null");
    return true;
}

bool words_speak(const char *languages)
{
    return !strcmp(languages, "eng");
}

const char *words_version(void)
{
    return TessVersion();
}

/* Starts reading; false: it did not end in time, or failed. */
static bool recognize(struct shot *s, PIX *picture, int psm)
{
    ETEXT_DESC *monitor = TessMonitorCreate();
    int64_t left = shot_left_ms(s);
    bool good;

    TessMonitorSetDeadlineMSecs(monitor, left > 100 ? (int)left : 100);
    TessBaseAPISetPageSegMode(engine, (TessPageSegMode)psm);
    TessBaseAPISetImage2(engine, picture);
    TessBaseAPISetSourceResolution(engine, DPI);
    good = TessBaseAPIRecognize(engine, monitor) == 0;
    TessMonitorDelete(monitor);
    if (!good)
        TessBaseAPIClear(engine);
    return good;
}

/* Returns a box of the cleaned picture as one of the shot. */
static struct image_box box_back(const struct shot *s, int left, int top, int right, int bottom)
{
    double zoom = s->zoom, middle_x = pixGetWidth(s->work) / 2.0,
           middle_y = pixGetHeight(s->work) / 2.0, w = (right - left) / zoom,
           h = (bottom - top) / zoom, x = left / zoom + w / 2 - middle_x,
           y = top / zoom + h / 2 - middle_y, c = cos(s->skew), sn = sin(s->skew);

    return found_box(
        s, s->scale, x * c + y * sn + middle_x - w / 2, y * c - x * sn + middle_y - h / 2, w, h);
}

static void image_words_grow(struct image_box *a, const struct image_box *b)
{
    uint32_t right = a->x + a->w > b->x + b->w ? a->x + a->w : b->x + b->w,
             bottom = a->y + a->h > b->y + b->h ? a->y + a->h : b->y + b->h;

    a->x = a->x < b->x ? a->x : b->x;
    a->y = a->y < b->y ? a->y : b->y;
    a->w = right - a->x;
    a->h = bottom - a->y;
}

struct place { /* where the next word stands */
    uint32_t block;
    bool new_line, new_block;
};

static void image_words_add_word(
    struct shot *s, const char *text, struct image_word word, struct place *place)
{
    struct found *f = &s->found;
    struct image_answer *h = &f->head;
    size_t n = strlen(text);
    struct image_line *line;

    if (!n || n > sizeof(f->text) - h->n_text || h->n_words == IMAGE_ROOM_WORDS)
        return;
    if (place->new_block && h->n_lines)
        place->block++;
    if (place->new_line || place->new_block || !h->n_lines)
        f->lines[h->n_lines++] = (struct image_line){
            .box = word.box, .first_word = h->n_words, .block = place->block};
    place->new_line = place->new_block = false;
    line = &f->lines[h->n_lines - 1];
    line->n_words++;
    image_words_grow(&line->box, &word.box);
    word.text = (struct image_text){h->n_text, (uint32_t)n};
    word.line = h->n_lines - 1;
    word.block = line->block;
    f->words[h->n_words++] = word;
    memcpy(f->text + h->n_text, text, n);
    h->n_text += (uint32_t)n;
}

/* Tells whether there is a letter or digit in it, or a sign that captions end with and that is
 * sure. */
static bool image_words_says_something(const char *text, int sure)
{
    if (sure >= 70 && text[0] && strchr("#&+%/", text[0]) && !text[1])
        return true;
    /* 0xc2 and 0xe2 begin dashes, dots and other signs */
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (isalnum(c) || (c >= 0xc3 && c != 0xe2))
            return true;
    }
    return false;
}

/* Returns how far the line of a word is turned clockwise. Lines that go down are told as those of
 * a script that is written down, which none of the models here is. */
static uint32_t turn_of_line(TessPageIterator *page)
{
    TessOrientation orientation;
    TessWritingDirection direction;
    TessTextlineOrder order;
    float deskew;

    TessPageIteratorOrientation(page, &orientation, &direction, &order, &deskew);
    if (direction == WRITING_DIRECTION_TOP_TO_BOTTOM)
        return ((uint32_t)orientation + 1) % 4 * 90;
    return (uint32_t)orientation % 4 * 90;
}

/* Turns a box of the picture that was read into one of clean. NULL: there is no memory. */
static BOX *image_words_unturned(const struct shot *s, int left, int top, int right, int bottom)
{
    int w = right - left, h = bottom - top;

    if (s->quarters == 1)
        return boxCreate(top, pixGetHeight(s->clean) - right, h, w);
    if (s->quarters == 3)
        return boxCreate(pixGetWidth(s->clean) - bottom, left, h, w);
    return boxCreate(left, top, w, h);
}

static void image_words_note(
    struct shot *s, const char *text, struct image_word word, BOX *at, struct place *place)
{
    int x, y, w, h;

    if (!at || boxGetGeometry(at, &x, &y, &w, &h) || s->found.head.n_words == IMAGE_ROOM_WORDS)
        return;
    s->seen[s->found.head.n_words] = (struct image_box){
        (uint32_t)x, (uint32_t)y, (uint32_t)w, (uint32_t)h};
    word.box = box_back(s, x, y, x + w, y + h);
    image_words_add_word(s, text, word, place);
}

static void image_words_take_word(
    struct shot *s, TessResultIterator *at, int least, struct place *place)
{
    TessPageIterator *page = TessResultIteratorGetPageIterator(at);
    int left, top, right, bottom, sure = (int)TessResultIteratorConfidence(at, RIL_WORD);
    char *text = TessResultIteratorGetUTF8Text(at, RIL_WORD);
    uint32_t turned = 360 - 90 * (uint32_t)s->quarters;
    BOX *box = NULL;

    place->new_block |= TessPageIteratorIsAtBeginningOf(page, RIL_BLOCK) != 0;
    place->new_line |= TessPageIteratorIsAtBeginningOf(page, RIL_TEXTLINE) != 0;
    sure = sure < 0 ? 0 : sure > 100 ? 100 : sure;
    if (text && sure >= least && image_words_says_something(text, sure) &&
        TessPageIteratorBoundingBox(page, RIL_WORD, &left, &top, &right, &bottom)) {
        box = image_words_unturned(s, left, top, right, bottom);
        image_words_note(s, text,
            (struct image_word){
                .confidence = (uint32_t)sure, .orientation = (turn_of_line(page) + turned) % 360},
            box, place);
    }
    boxDestroy(&box);
    if (text)
        TessDeleteText(text);
}

void words_read(struct shot *s, PIX *picture, int psm, int least)
{
    struct place place = {.new_line = true, .new_block = true};
    TessResultIterator *at;

    if (s->found.head.n_lines)
        place.block = s->found.lines[s->found.head.n_lines - 1].block;
    if (!recognize(s, picture, psm)) {
        s->found.head.stopped = s->found.head.stopped ? s->found.head.stopped : 1 + s->step;
        return;
    }
    at = TessBaseAPIGetIterator(engine);
    if (at) {
        do
            image_words_take_word(s, at, least, &place);
        while (TessResultIteratorNext(at, RIL_WORD));
        TessResultIteratorDelete(at);
    }
    TessBaseAPIClear(engine);
}

double words_sense(struct shot *s, PIX *picture)
{
    double sense = 0;
    TessResultIterator *at;

    if (!recognize(s, picture, PSM_SPARSE_TEXT))
        return 0;
    for (at = TessBaseAPIGetIterator(engine); at;) {
        float sure = TessResultIteratorConfidence(at, RIL_WORD);
        char *text = TessResultIteratorGetUTF8Text(at, RIL_WORD);

        if (text && strlen(text) >= 3 && sure >= SENSE_LEAST)
            sense += sure * (double)strlen(text) / 100;
        if (text)
            TessDeleteText(text);
        if (!TessResultIteratorNext(at, RIL_WORD))
            break;
    }
    if (at)
        TessResultIteratorDelete(at);
    TessBaseAPIClear(engine);
    return sense;
}

void words_drop(struct shot *s)
{
    /* the text of codes is before that of words, and there are no codes after words */
    if (s->found.head.n_words)
        s->found.head.n_text = s->found.words[0].text.at;
    s->found.head.n_words = s->found.head.n_lines = 0;
}

/* Returns the mean confidence of the words of a line. */
static uint32_t sure_of(const struct found *f, const struct image_line *line)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < line->n_words; i++)
        sum += f->words[line->first_word + i].confidence;
    return line->n_words ? sum / line->n_words : 0;
}

/* Keeps the lines that are good: their text stays where it is. */
static void image_words_keep(
    struct shot *s, bool (*good)(const struct found *f, const struct image_line *line))
{
    struct found *f = &s->found;
    uint32_t n_lines = 0, n_words = 0;

    for (uint32_t i = 0; i < f->head.n_lines; i++) {
        struct image_line line = f->lines[i];
        uint32_t first = line.first_word;

        if (!good(f, &line))
            continue;
        line.first_word = n_words;
        for (uint32_t k = 0; k < line.n_words; k++) {
            s->seen[n_words] = s->seen[first + k];
            f->words[n_words] = f->words[first + k];
            f->words[n_words++].line = n_lines;
        }
        f->lines[n_lines++] = line;
    }
    f->head.n_lines = n_lines;
    f->head.n_words = n_words;
}

static bool image_words_is_read(const struct found *f, const struct image_line *line)
{
    return sure_of(f, line) >= LINE_LEAST;
}

static bool image_words_is_upright(const struct found *f, const struct image_line *line)
{
    return !f->words[line->first_word].orientation;
}

/* Takes out the lines that are rather guessed than read: of pictograms, of folds, of dirt. */
void words_sift(struct shot *s)
{
    image_words_keep(s, image_words_is_read);
}

void words_drop_turned(struct shot *s)
{
    image_words_keep(s, image_words_is_upright);
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Notes the median height of small letters: a word of capitals and digits is higher. */
void words_measure(struct shot *s)
{
    static int heights[HEIGHTS_MAX];
    struct found *f = &s->found;
    int n = 0;

    for (uint32_t i = 0; i < f->head.n_words && n < HEIGHTS_MAX; i++) {
        const struct image_word *w = &f->words[i];
        char text[40];

        if (w->confidence < 60 || w->orientation || w->text.n < 2 || w->text.n >= sizeof(text))
            continue;
        memcpy(text, f->text + w->text.at, w->text.n);
        text[w->text.n] = 0;
        if (!text[strspn(text, "acemnorsuvwxz")])
            heights[n++] = (int)w->box.h * 10;
        else if (!text[strcspn(text, "gjpqy,;()/|")])
            heights[n++] = (int)w->box.h * 7;
    }
    qsort(heights, (size_t)n, sizeof(heights[0]), by_size);
    f->head.x_height = n ? (uint32_t)heights[n / 2] : 0;
}
