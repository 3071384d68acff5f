/* image_main.c - the `image` cell: a picture of a label in; barcodes, words and figures out. See
 * image.h. Which step comes when, and what is left out where the time is short or a process died
 * in it before. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "child.h"
#include "image.h"
#include "wharf/service/image.h"

enum {
    FILE_MAX = WHARF_IMAGE_BYTES_MAX,
    SENSE_SIDE = 1300, /* pixels at which the direction of words is tried */
    LEAST = 20,
    LEAST_REST = 60
};
enum { BLACK = 40, WHITE = 235 };
enum { REST_LETTERS = 3, SIDEWAYS_LETTERS = 24, SIDEWAYS_SENSE = 20 };
enum { SENSE_ENOUGH = 15, PSM_PAGE = 3, PSM_SPARSE = 11 };

static struct shot shot; /* the one that is read */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t shot_left_ms(const struct shot *s)
{
    return s->begun_ms + s->call.budget_ms - now_ms();
}

/* Tells the server that a step begins. Returns false when it is to be left out, which is noted. The
 * first is none of those: a budget of nothing gives an answer as well. */
static bool step_begin(struct shot *s, enum image_step step)
{
    unsigned char name = (unsigned char)step;

    if (step != IMAGE_OPEN && (s->call.skip & 1U << step || shot_left_ms(s) <= 0)) {
        if (!s->found.head.stopped)
            s->found.head.stopped = 1 + (uint32_t)step;
        return false;
    }
    s->step = (uint32_t)step;
    s->step_ms = now_ms();
    cell_data(&name, 1);
    return true;
}

static void step_end(struct shot *s)
{
    struct image_answer *h = &s->found.head;

    if (h->n_steps < IMAGE_ROOM_STEPS)
        s->found.steps[h->n_steps++] = (struct image_time){
            s->step, (uint32_t)(now_ms() - s->step_ms)};
}

/* ---- barcodes ---- */

/* Tells whether nearly all of a picture is black or white. */
static bool is_crisp(PIX *grey)
{
    return shot_share(grey, BLACK, WHITE) <= 0.04;
}

/* Returns the picture in black and white, as grey. NULL: it could not be made. */
static PIX *black_and_white(PIX *grey)
{
    PIX *dark = shot_dark(grey), *made = dark ? pixConvertTo8(dark, 0) : NULL;

    pixDestroy(&dark);
    return made;
}

static void linear_in(struct shot *s, PIX *pix, double by)
{
    if (pix)
        codes_read(s, pix, by);
    pixDestroy(&pix);
}

/* Looks for linear codes in a size. The noise of scanners and cameras makes edges where there are
 * no bars: it is taken away in two ways, by making all black or white, which thin bars survive,
 * and by a mean of nine dots, which uneven light does not harm. What is black and white already
 * is looked at once. */
static void linear_at(struct shot *s, double by)
{
    PIX *pix = by < 1   ? pixScaleSmooth(s->grey, (float)by, (float)by)
               : by > 1 ? pixScaleGray2xLI(s->grey)
                        : pixClone(s->grey);

    if (!pix)
        return;
    if (is_crisp(pix)) {
        linear_in(s, pixClone(pix), by);
    } else {
        linear_in(s, black_and_white(pix), by);
        linear_in(s, pixBlockconvGray(pix, NULL, 1, 1), by);
    }
    pixDestroy(&pix);
}

/* Reads linear codes: the size that is likely first, others where it shows none and half of the
 * time is left. Bars of a label are as wide in a picture of 3,600 pixels as they need to be. */
static void find_linear(struct shot *s)
{
    static const double sides[] = {1800, 3600, 1200}, small[] = {1, 2, 0.5};
    int width = pixGetWidth(s->grey), height = pixGetHeight(s->grey),
        side = width > height ? width : height;
    bool is_large = width > 1700 && height > 1700;

    for (int i = 0; i < 3 && !s->found.head.n_codes; i++) {
        double by = is_large ? sides[i] / side : small[i];

        if (i > 0 && shot_left_ms(s) * 2 < s->call.budget_ms)
            return;
        linear_at(s, by < 1 || !is_large ? by : 1);
    }
}

static void find_codes(struct shot *s)
{
    if (step_begin(s, IMAGE_LINEAR)) {
        find_linear(s);
        step_end(s);
    }
    if (step_begin(s, IMAGE_MATRIX)) {
        matrix_of_page(s, s->work, s->scale);
        step_end(s);
    }
    if (step_begin(s, IMAGE_CROPS)) {
        maxicodes_of_page(s, s->work, s->scale);
        matrix_of_parts(s, s->work, s->scale);
        step_end(s);
    }
}

/* ---- words ---- */

/* Tells whether most of what was read looks like words, and how their lines stand. */
static bool reads_well(const struct found *f, uint32_t *ret_turned)
{
    uint32_t all = 0, good[4] = {0}, best = 0;

    for (uint32_t i = 0; i < f->head.n_words; i++) {
        const struct image_word *w = &f->words[i];

        all += w->text.n;
        good[w->orientation / 90] += w->text.n >= 3 && w->confidence >= 60 ? w->text.n : 0;
    }
    for (uint32_t i = 1; i < 4; i++)
        best = good[i] > good[best] ? i : best;
    *ret_turned = best * 90;
    return good[best] >= SENSE_ENOUGH && good[best] * 2 > all;
}

/* Returns the turn in which the words of the cleaned picture can be read best. */
static uint32_t best_turn(struct shot *s)
{
    int width = pixGetWidth(s->clean), height = pixGetHeight(s->clean),
        side = width > height ? width : height;
    float by = side > SENSE_SIDE ? (float)SENSE_SIDE / (float)side : 1;
    PIX *small = by < 1 ? pixScaleSmooth(s->clean, by, by) : pixClone(s->clean);
    double sense[4] = {0};
    uint32_t best = 0;

    for (int i = 0; i < 4 && small && shot_left_ms(s) > 0; i++) {
        PIX *turned = pixRotateOrth(small, i);

        sense[i] = turned ? words_sense(s, turned) : 0;
        best = sense[i] > sense[best] ? (uint32_t)i : best;
        pixDestroy(&turned);
    }
    pixDestroy(&small);
    return sense[best] > 1.5 * sense[0] ? best * 90 : 0;
}

/* Reads the lines of the page, without captions beside them: these are read with the rest. */
static void read_page(struct shot *s)
{
    PIX *page;

    if (!s->clean || !step_begin(s, IMAGE_WORDS))
        return;
    page = pixCopy(NULL, s->clean);
    s->asides = page ? aside_hide(s, page) : 0;
    words_read(s, page ? page : s->clean, PSM_PAGE, LEAST);
    pixDestroy(&page);
    step_end(s);
}

static void image_main_clean(struct shot *s)
{
    if (!step_begin(s, IMAGE_CLEAN))
        return;
    if (!shot_clean(s) && !s->found.head.stopped)
        s->found.head.stopped = 1 + IMAGE_CLEAN;
    step_end(s);
}

/* Paints over the words that were read. Returns how many letters may be left. */
static int hide_words(struct shot *s, PIX *page)
{
    PIX *dark;
    int n = 0;
    BOXA *left;

    for (uint32_t i = 0; i < s->found.head.n_words; i++) {
        const struct image_box *at = &s->seen[i];

        shot_paint(page, NULL, (int)at->x - IMAGE_HIDE, (int)at->y - IMAGE_HIDE,
            (int)at->w + 2 * IMAGE_HIDE, (int)at->h + 2 * IMAGE_HIDE);
    }
    dark = shot_dark(page);
    left = dark ? pixConnCompBB(dark, 8) : NULL;
    for (int i = 0; left && i < boxaGetCount(left); i++) {
        int w, h;

        boxaGetBoxGeometry(left, i, NULL, NULL, &w, &h);
        n += shot_is_letter_high(s, h) && w <= 2 * h && w * 6 >= h;
    }
    boxaDestroy(&left);
    pixDestroy(&dark);
    return n;
}

/* Reads lines that stand sideways where others stand upright: several carriers print the sender
 * so. */
static void read_sideways(struct shot *s, PIX *page)
{
    PIX *turned[] = {pixRotateOrth(page, 1), pixRotateOrth(page, 3)};
    double sense[2] = {0, 0};
    int best;

    for (int i = 0; i < 2; i++)
        sense[i] = turned[i] && shot_left_ms(s) > 0 ? words_sense(s, turned[i]) : 0;
    best = sense[1] > sense[0];
    if (sense[best] >= SIDEWAYS_SENSE && shot_left_ms(s) > 0) {
        s->quarters = best ? 3 : 1;
        words_read(s, turned[best], PSM_PAGE, LEAST_REST);
        s->quarters = 0;
    }
    for (int i = 0; i < 2; i++)
        pixDestroy(&turned[i]);
}

/* Looks once more where no words are, for some that stand alone, then for lines that are turned. */
static void read_rest(struct shot *s)
{
    PIX *page;

    if (!s->clean || !step_begin(s, IMAGE_REST))
        return;
    page = pixCopy(NULL, s->clean);
    if (page && (hide_words(s, page) >= REST_LETTERS || s->asides))
        words_read(s, page, PSM_SPARSE, LEAST_REST);
    if (page && hide_words(s, page) >= SIDEWAYS_LETTERS)
        read_sideways(s, page);
    pixDestroy(&page);
    step_end(s);
}

/* Turns the picture and reads it once more. */
static void read_turned(struct shot *s, uint32_t turn)
{
    words_drop(s);
    shot_turn(s, turn, WHARF_IMAGE_TURNED_WORDS);
    image_main_clean(s);
    read_page(s);
}

static void image_find_words(struct shot *s)
{
    uint32_t turned, turn = 0;

    read_page(s);
    if (!s->clean)
        return;
    if (reads_well(&s->found, &turned)) {
        s->found.head.turned_by = WHARF_IMAGE_TURNED_WORDS;
        turn = (360 - turned) % 360;
    } else if (step_begin(s, IMAGE_TURN)) {
        turn = best_turn(s);
        step_end(s);
    }
    if (turn)
        read_turned(s, turn);
    words_drop_turned(s);
    read_rest(s);
    words_sift(s);
    words_measure(s);
}

/* ---- the call ---- */

static void read_shot(struct shot *s)
{
    uint32_t turn;
    bool known;

    shot_work(s);
    if (!s->work)
        cell_out_of_memory();
    find_codes(s);
    turn = turn_of_codes(s, &known);
    if (known)
        shot_turn(s, turn, WHARF_IMAGE_TURNED_CODES);
    if (s->call.wants & (WHARF_IMAGE_TEXT | WHARF_IMAGE_FIGURES))
        image_main_clean(s);
    if (s->call.wants & WHARF_IMAGE_TEXT)
        image_find_words(s);
    if (s->call.wants & WHARF_IMAGE_FIGURES && step_begin(s, IMAGE_FIGURES)) {
        shot_figures(s);
        step_end(s);
    }
}

static void image_main_call(const struct cell_task *task)
{
    struct shot *s = &shot;
    void *file;
    size_t n;

    memset(s, 0, sizeof(*s));
    if (task->n_fds != 1 || task->n != sizeof(s->call)) {
        cell_failed("invalid: the wish is not understood");
        return;
    }
    memcpy(&s->call, task->payload, sizeof(s->call));
    s->call.languages[sizeof(s->call.languages) - 1] = 0;
    s->begun_ms = now_ms();
    s->found.head.magic = IMAGE_MAGIC;
    strncpy(s->found.head.version, words_version(), sizeof(s->found.head.version) - 1);
    file = cell_read_file(task->fds[0], FILE_MAX, &n);
    if (!file) {
        cell_failed("invalid: there is no file");
        return;
    }
    if (!words_speak(s->call.languages)) {
        cell_failed("language: it asks for a language that is not installed");
    } else if (step_begin(s, IMAGE_OPEN) && shot_open(s, file, n)) {
        step_end(s);
        read_shot(s);
        found_send(&s->found);
    } else {
        cell_failed(s->error);
    }
    pixDestroy(&s->clean);
    pixDestroy(&s->work);
    pixDestroy(&s->grey);
    free(file);
    memset(s, 0, sizeof(*s));
}

static int image_by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool image_main_prepare(void)
{
    static int numbers[2000];

    setMsgSeverity(L_SEVERITY_NONE);
    /* it asks the system once how much memory there is */
    qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), image_by_number);
    return codes_prepare() && words_prepare();
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {.name = "image",
        .prepare = image_main_prepare,
        .call = image_main_call,
        .looks_for_files = true,
        .forgets = true};

    return cell_main(argc, argv, &program);
}
