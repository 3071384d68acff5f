/* image.h - the way of a picture through the `image` cell (docs/spec/06-inference.md section 7).
 *
 * image_main.c: the call, its steps and their time. image_head.c: kind and size of a file before
 * anything is decoded. image_open.c: the file as grey pixels that stand as the file says.
 * image_codes.c: linear codes. image_matrix.cc: codes of two dimensions. image_crops.c: the same on
 * parts of the picture. image_turn.c: turning, and what lay where. image_clean.c: light, rules,
 * figures. image_aside.c: captions beside lines. image_words.c: letters. image_found.c: what is
 * found, bounded, and as an answer. */
#ifndef WHARF_CELLS_IMAGE_H
#define WHARF_CELLS_IMAGE_H

#include <leptonica/allheaders.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_wire.h"

enum { IMAGE_ROOM_CODES = 200, IMAGE_ROOM_WORDS = 4000, IMAGE_ROOM_TEXT = 64 << 10 };
enum {
    IMAGE_ROOM_RULES = 200,
    IMAGE_ROOM_STEPS = 32,
    IMAGE_HIDE = 2, /* pixels around a word that is painted over */
    IMAGE_WORK_SIDE = 2600 /* pixels of the long side that words are read at */
};

struct found {
    struct image_answer head; /* its counts are those of the lists */
    struct image_code codes[IMAGE_ROOM_CODES];
    struct image_word words[IMAGE_ROOM_WORDS];
    struct image_line lines[IMAGE_ROOM_WORDS];
    struct image_box rules[IMAGE_ROOM_RULES];
    struct image_time steps[IMAGE_ROOM_STEPS];
    char text[IMAGE_ROOM_TEXT];
};

struct shot { /* one picture */
    struct image_call call;
    int64_t begun_ms;
    PIX *grey; /* 8 bits, upright as far as it is known */
    PIX *work; /* grey with a longest side of at most IMAGE_WORK_SIDE; codes and words of it */
    double scale; /* of work */
    PIX *clean; /* work without rules and codes, its light even */
    double skew; /* radians that clean was turned by, clockwise */
    int zoom; /* of clean over work */
    struct image_box seen[IMAGE_ROOM_WORDS]; /* where each word stands in clean */
    int asides; /* captions that were left out when the page was read */
    int quarters; /* that the picture which is read is turned over clean, clockwise */
    uint32_t step; /* that runs */
    int64_t step_ms; /* when it began */
    struct found found;
    const char *error; /* a word and ": ": what is wrong with the file */
};

/* ---- image_main.c ---- */

/* Returns how much of the budget is left. */
int64_t shot_left_ms(const struct shot *s);

/* ---- image_head.c, image_open.c ---- */

struct head {
    enum image_format format;
    uint32_t width, height;
    unsigned orientation; /* as Exif counts; 1: upright */
    size_t n; /* bytes that are decoded: a GIF ends behind its first frame */
};

/* Reads what a file is. Returns NULL, or what is wrong with it. */
const char *head_read(unsigned char *p, size_t n, struct head *ret);
bool shot_open(struct shot *s, unsigned char *p, size_t n);

/* ---- barcodes ---- */

bool codes_prepare(void);
/* Reads linear codes of a grey picture, which is the shot's by so much. */
void codes_read(struct shot *s, PIX *grey, double scale);

/* Reads the whole page, then its parts. scale: as codes_read. */
void matrix_of_page(struct shot *s, PIX *grey, double scale);
void matrix_of_parts(struct shot *s, PIX *grey, double scale);
void maxicodes_of_page(struct shot *s, PIX *grey, double scale);

/* ---- pixels and letters ---- */

/* Turns the pictures and what was found by 90, 180 or 270 degrees clockwise. */
void shot_turn(struct shot *s, uint32_t degrees, uint32_t by);
/* Returns the turn that puts most of the linear codes upright. */
uint32_t turn_of_codes(const struct shot *s, bool *ret_known);
void shot_work(struct shot *s); /* makes work */
bool shot_clean(struct shot *s); /* makes clean, finds rules */
/* Returns what is dark in a grey picture, one bit a dot; the caller destroys it. NULL: there is no
 * memory. */
PIX *shot_dark(PIX *grey);
/* Paints a part of a grey picture white, and takes it out of its dark dots (NULL: there are none).
 * The part may reach beyond the picture. */
void shot_paint(PIX *grey, PIX *dark, int x, int y, int w, int h);
/* Returns the median height of what may be letters; 0: there are few. */
int shot_letters_height(PIX *dark);
/* Tells whether a part of clean, of the height h, may be a letter. */
static inline bool shot_is_letter_high(const struct shot *s, int h)
{
    return h >= 8 * s->zoom && h <= 120 * s->zoom;
}
/* Returns the share of dots, 0 to 1, that are as bright as `from` and darker than `below`. Counts
 * one of four in each direction. */
double shot_share(PIX *grey, int from, int below);
void shot_figures(struct shot *s);
bool words_prepare(void);
bool words_speak(const char *languages);
/* Paints over captions that stand beside lines of larger letters, at other heights. Returns how
 * many it found. */
int aside_hide(const struct shot *s, PIX *page);
/* Reads the words of clean or a copy of it, turned by s->quarters; psm: as Tesseract counts; from
 * so much confidence on. */
void words_read(struct shot *s, PIX *picture, int psm, int least);
/* Returns how well the letters of a picture can be read: confidence times letters. */
double words_sense(struct shot *s, PIX *picture);
void words_drop(struct shot *s);
/* Takes out the words that do not stand upright. */
void words_drop_turned(struct shot *s);
void words_sift(struct shot *s);
void words_measure(struct shot *s);
const char *words_version(void);

/* ---- image_found.c ---- */

void found_code(struct shot *s, const char *value, size_t n, struct image_code code);
/* Makes a box of one in pixels of a picture that is the shot's by so much, cut to the shot. */
struct image_box found_box(
    const struct shot *s, double scale, double x, double y, double w, double h);
/* Sends the answer. */
void found_send(const struct found *f);

#endif
