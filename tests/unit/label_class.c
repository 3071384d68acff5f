/* label_class.c - which document a picture shows, and which of several is the label
 * (modules/inference/label.h, docs/spec/06-inference.md sections 4.2 and 4.3). */
#include "label_cases.h"

/* ---- 4.2 class and score ---- */

static const struct label_case classes_cases[] = {
    {"all of it", "US",
        SENDER_BLOCK "40 270 20|SHIP TO:\n" RECIPIENT_BLOCK
                     "!code128 1Z999AA10123456784\n!code128 42098028\n",
        "classification=shipping_label\nscore=9950"},
    {"a pattern, no barcode of the postal code", "US",
        "40 270 20|SHIP TO:\n" RECIPIENT_BLOCK "10 600 20|DHL\n10 640 20|Sendungsnummer "
        "JJD000390007882823218\n",
        "classification=shipping_label\nscore=7450"},
    {"nothing", "US", "", "classification=unreadable\nscore=0"},
    {"nothing that can be read", "US", "%30\n10 10 20|abc def\n", "classification=unreadable"},
    {"a barcode can be read", "US", "!code128 ABC\n", "classification=other"},
    {"bill of lading", "US", "10 10 20|STRAIGHT BILL OF LADING\n", "classification=bill_of_lading"},
    {"packing slip", "US", "10 10 20|PACKING SLIP\n", "classification=packing_slip"},
    {"Lieferschein", "DE", "10 10 20|Lieferschein\n", "classification=packing_slip"},
    {"invoice", "US", "10 10 20|INVOICE\n10 40 20|Total due 31.00\n", "classification=invoice"},
    {"item", "US", "10 10 20|LOT: 55\n10 40 20|QTY: 10\n", "classification=item_label"},
    {"one word of items is none", "US", "10 10 20|QTY: 10\n", "classification=other"},
};

static void classes(void **state)
{
    CHECK(classes_cases);
}

static void classifier(void **state)
{
    wharf_image_read r = {.width = 812, .height = 1218};

    (void)state;
    assert_int_equal(label_classify(&r, false), 0);
    r.figures = (wharf_image_figures){.text_lines = 14, .ink = 90, .line_height = 20};
    assert_int_equal(label_classify(&r, false), 998); /* 1 / (1 + e^2.2) */
    r.figures.long_linear = 1;
    assert_int_equal(label_classify(&r, false), 4502); /* + 2.0 */
    assert_int_equal(label_classify(&r, true), 9089); /* + 2.5 */
    r.figures.wide_rules = 3;
    assert_int_equal(label_classify(&r, true), 9569); /* + 0.8 */
    r.figures.line_height_spread = 10;
    assert_int_equal(label_classify(&r, true), 9734); /* + 0.5 */
    r.figures.text_lines = 70;
    assert_int_equal(label_classify(&r, true), 6457); /* - 1.5 - 1.5 */
}

/* ---- 4.3 selection ---- */

#define NUMBER_A                                                                                   \
    {                                                                                              \
        "A", 1                                                                                     \
    }
#define NUMBER_B                                                                                   \
    {                                                                                              \
        "B", 1                                                                                     \
    }

static const struct {
    struct label_picture pictures[3];
    size_t n;
    int use_best, strict; /* the one that is selected; -1: missing, -2: ambiguous */
} selection_cases[] = {
    {{{.shipping_label = true, .selection = 7000}, {.shipping_label = true, .selection = 8000}}, 2,
        1, 1},
    {{{.shipping_label = true, .selection = 8000}, {.shipping_label = true, .selection = 8000}}, 2,
        0, 0},
    {{{.selection = 9000}, {.shipping_label = true, .selection = 5000}}, 2, 1, 1},
    {{{.selection = 9000}, {.selection = 5000}}, 2, -1, -1},
    {{{.selection = 100}}, 1, 0, 0},
    {{{.failed = true, .shipping_label = true, .selection = 9000},
         {.shipping_label = true, .selection = 5000}},
        2, 1, 1},
    {{{.failed = true}, {.selection = 5000}}, 2, -1, -1},
    /* two labels, both sure */
    {{{.shipping_label = true, .selection = 9000, .extraction = 9000, .tracking_number = NUMBER_A},
         {.shipping_label = true,
             .selection = 6000,
             .extraction = 6000,
             .tracking_number = NUMBER_B}},
        2, 0, -2},
    /* one of them is not */
    {{{.shipping_label = true, .selection = 9000, .extraction = 9000, .tracking_number = NUMBER_A},
         {.shipping_label = true,
             .selection = 5999,
             .extraction = 5999,
             .tracking_number = NUMBER_B}},
        2, 0, 0},
    /* near each other, 0.0499; and 0.05 */
    {{{.shipping_label = true, .selection = 5000, .extraction = 5000, .tracking_number = NUMBER_A},
         {.shipping_label = true,
             .selection = 5499,
             .extraction = 5499,
             .tracking_number = NUMBER_B}},
        2, 1, -2},
    {{{.shipping_label = true, .selection = 5000, .extraction = 5000, .tracking_number = NUMBER_A},
         {.shipping_label = true,
             .selection = 5500,
             .extraction = 5500,
             .tracking_number = NUMBER_B}},
        2, 1, 1},
    /* the same label twice */
    {{{.shipping_label = true, .selection = 9000, .extraction = 9000, .tracking_number = NUMBER_A},
         {.shipping_label = true,
             .selection = 9100,
             .extraction = 9100,
             .tracking_number = NUMBER_A}},
        2, 1, 1},
    /* a number that is not known */
    {{{.shipping_label = true, .selection = 9000, .extraction = 9000, .tracking_number = NUMBER_A},
         {.shipping_label = true, .selection = 9000, .extraction = 9000}},
        2, 0, 0},
    /* the third is a rival of the second */
    {{{.selection = 9000},
         {.shipping_label = true,
             .selection = 7000,
             .extraction = 7000,
             .tracking_number = NUMBER_A},
         {.shipping_label = true,
             .selection = 7000,
             .extraction = 7000,
             .tracking_number = NUMBER_B}},
        3, 1, -2},
};

static void selection(void **state)
{

    (void)state;
    for (size_t i = 0; i < sizeof(selection_cases) / sizeof(selection_cases[0]); i++) {
        for (int strict = 0; strict < 2; strict++) {
            int want = strict ? selection_cases[i].strict : selection_cases[i].use_best;
            struct label_choice got;

            label_select(selection_cases[i].pictures, selection_cases[i].n, strict, &got);
            assert_int_equal(got.selected, want < 0 ? LABEL_NONE : want);
            if (want >= 0)
                assert_null(got.error);
            else
                assert_string_equal(got.error, want == -1 ? "missing_label" : "ambiguous_label");
        }
    }
    assert_int_equal(label_selection(LABEL_FROM_EXTRACTION_ONLY, 9000, 5000, true), 5000);
    assert_int_equal(label_selection(LABEL_CLASSIFIER_FEEDS_EXTRACTION, 9000, 5000, true), 5000);
    assert_int_equal(label_selection(LABEL_CLASSIFIER_FEEDS_EXTRACTION, 9000, 0, false), 9000);
    assert_int_equal(label_selection(LABEL_CLASSIFIER_INFORMS_SELECTION, 9000, 5000, true), 6600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(classes), UNIT(classifier), UNIT(selection)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
