/* image_answer.c - the answer of an `image` cell (services/image/image_read.c), limit by limit of
 * docs/spec/06-inference.md section 7.1: what is within is taken, one more is not. Answers of any
 * bytes: tests/fuzz/fuzz_image_answer.c. */
#include "unit.h"

#include <string.h>

#include "image/image_read.h"
#include "image/image_wire.h"
#include "util/str.h"

/* An answer while it is made: each word is one sign of the text, all words are in one line. */
struct made {
    struct image_answer head;
    struct image_code code; /* each code */
    struct image_word word; /* each word */
    struct image_line line;
    struct image_box rule;
    char text[8]; /* the begin; blanks follow */
};

static struct made whole(void)
{
    return (struct made){.head = {.magic = IMAGE_MAGIC,
                             .width = 300,
                             .height = 200,
                             .n_codes = 1,
                             .n_words = 2,
                             .n_lines = 1,
                             .n_rules = 1,
                             .n_text = 8,
                             .version = "5.3.0"},
        .code = {.value = {0, 3}, .box = {0, 0, 300, 200}, .orientation = 359},
        .word = {.text = {0, 8}, .box = {299, 199, 1, 1}, .confidence = 100, .orientation = 359},
        .line = {.box = {0, 0, 300, 200}, .n_words = 2},
        .rule = {0, 50, 300, 2},
        .text = "abcd\303\244gh"};
}

static void add_each(struct buf *to, const void *one, size_t size, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_add(to, one, size);
}

static bool taken(const struct made *m)
{
    struct arena *arena = arena_new(0);
    wharf_image_read read = {.head = WHARF_HEAD(wharf_image_read)};
    struct image_time step = {IMAGE_LINEAR, 7};
    struct buf answer;
    bool good;

    buf_init(&answer, 1 << 22);
    buf_add(&answer, &m->head, sizeof(m->head));
    add_each(&answer, &m->code, sizeof(m->code), m->head.n_codes);
    add_each(&answer, &m->word, sizeof(m->word), m->head.n_words);
    add_each(&answer, &m->line, sizeof(m->line), m->head.n_lines);
    add_each(&answer, &m->rule, sizeof(m->rule), m->head.n_rules);
    add_each(&answer, &step, sizeof(step), m->head.n_steps);
    buf_add(&answer, m->text, sizeof(m->text));
    add_each(&answer, " ", 1, m->head.n_text - (uint32_t)sizeof(m->text));
    good = image_read_answer(arena, buf_str(&answer), &read);
    if (good) {
        assert_int_equal(read.n_words, m->head.n_words);
        assert_int_equal(read.n_codes, m->head.n_codes);
        assert_true(read.whole);
    }
    buf_done(&answer);
    arena_free(arena);
    return good;
}

/* Shows that an answer with one too many of anything is refused. */
static void counts(void **state)
{
    struct made m = whole();

    (void)state;
    assert_int_equal(WHARF_IMAGE_WORDS_MAX, 4000);
    assert_int_equal(WHARF_IMAGE_CODES_MAX, 200);
    assert_int_equal(WHARF_IMAGE_TEXT_MAX, 64 << 10);
    for (uint32_t more = 0; more < 2; more++) {
        m = whole();
        m.head.n_words = m.line.n_words = WHARF_IMAGE_WORDS_MAX + more;
        assert_int_equal(taken(&m), !more);
        m = whole();
        m.head.n_codes = WHARF_IMAGE_CODES_MAX + more;
        assert_int_equal(taken(&m), !more);
        m = whole();
        m.head.n_text = WHARF_IMAGE_TEXT_MAX + more;
        assert_int_equal(taken(&m), !more);
        m = whole();
        m.head.n_rules = WHARF_IMAGE_RULES_MAX + more;
        assert_int_equal(taken(&m), !more);
        m = whole();
        m.head.n_steps = WHARF_IMAGE_STEPS_MAX + more;
        assert_int_equal(taken(&m), !more);
    }
}

/* Shows that a picture of less than 50 by 50 or of more than 40 million pixels is refused. */
static void sizes(void **state)
{
    static const struct {
        uint32_t width, height;
        bool good;
    } cases[] = {{300, 200, true}, {49, 800, false}, {800, 49, false}, {8000, 5000, true},
        {8000, 5001, false}, {UINT32_MAX, UINT32_MAX, false}, {1u << 31, 2, false}};
    struct made m = whole();

    (void)state;
    m.head.n_codes = m.head.n_words = m.head.n_lines = m.head.n_rules = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        m.head.width = cases[i].width;
        m.head.height = cases[i].height;
        assert_int_equal(taken(&m), cases[i].good);
    }
    m.head.width = m.head.height = 50;
    assert_true(taken(&m));
}

/* Boxes are within the picture, also where a sum of two numbers would run over. */
static void boxes(void **state)
{
    static const struct image_box wrong[] = {{0, 0, 301, 1}, {0, 0, 1, 201}, {300, 0, 1, 1},
        {0, 200, 1, 1}, {301, 0, 0, 1}, {0, 201, 1, 0}, {2, 0, UINT32_MAX, 1},
        {0, 2, 1, UINT32_MAX}, {UINT32_MAX, 0, 2, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        for (int which = 0; which < 4; which++) {
            struct made m = whole();
            struct image_box *at[] = {&m.code.box, &m.word.box, &m.line.box, &m.rule};

            assert_true(taken(&m));
            *at[which] = wrong[i];
            assert_false(taken(&m));
        }
    }
}

/* Texts of words are UTF-8 without NUL, and lie in the text. Barcodes may be any bytes. */
static void texts(void **state)
{
    static const struct image_text wrong[] = {
        {0, 0}, {0, 9}, {8, 1}, {9, 0}, {1, UINT32_MAX}, {UINT32_MAX, 2}, {0, 5}, {5, 3}};
    struct made m;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        m = whole();
        m.word.text = wrong[i];
        assert_false(taken(&m));
        m = whole();
        m.code.value = wrong[i];
        assert_int_equal(taken(&m), i >= 6); /* half of a sign */
    }
    m = whole();
    m.text[2] = 0;
    assert_false(taken(&m));
    m.head.n_words = m.head.n_lines = 0;
    assert_true(taken(&m));
}

/* Everything else that a number may be. */
static void numbers(void **state)
{
    struct made m;

    (void)state;
#define REFUSED(member, value)                                                                     \
    do {                                                                                           \
        m = whole();                                                                               \
        m.member = (value);                                                                        \
        assert_false(taken(&m));                                                                   \
    } while (0)
    REFUSED(head.magic, 1);
    REFUSED(head.format, IMAGE_FORMATS);
    REFUSED(head.turn, 45);
    REFUSED(head.turn, 360);
    REFUSED(head.stopped, IMAGE_STEPS + 1);
    REFUSED(head.n_lines, 2); /* the second has no words left */
    REFUSED(code.symbology, IMAGE_SYMBOLOGIES);
    REFUSED(code.orientation, 360);
    REFUSED(word.confidence, 101);
    REFUSED(word.orientation, 360);
    REFUSED(word.line, 1);
    REFUSED(word.block, 1);
    REFUSED(line.n_words, 1);
    REFUSED(line.n_words, 3);
    REFUSED(line.n_words, 0);
    REFUSED(line.first_word, 1);
#undef REFUSED
    m = whole();
    memset(m.head.version, 'x', sizeof(m.head.version));
    assert_false(taken(&m));
    m.head.version[1] = 0;
    assert_true(taken(&m));
    m.head.version[0] = (char)0xff;
    assert_false(taken(&m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(counts), UNIT(sizes), UNIT(boxes), UNIT(texts), UNIT(numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
