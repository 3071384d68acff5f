/* draw_code.c - values of barcodes: check digits are added or judged
 * (docs/spec/05-documents-and-templates.md section 9.6). */
#include "unit.h"

#include <string.h>

#include "draw_code.h"

static void test_check_digits(void **state)
{
    static const struct {
        const char *kind, *value, *made; /* NULL: refused */
    } rows[] = {{"ean13", "400638133393", "400638133393"},
        {"ean13", "4006381333931", "400638133393"}, {"ean13", "4006381333932", NULL},
        {"ean13", "40063813339", NULL}, {"ean13", "40063813339x", NULL},
        {"ean13", "4006381333931+12", "400638133393+12"}, {"ean13", "4006381333931+123", NULL},
        {"ean8", "9638507", "9638507"}, {"ean8", "96385074", "9638507"}, {"ean8", "96385075", NULL},
        {"upca", "03600029145", "03600029145"}, {"upca", "036000291452", "03600029145"},
        {"upca", "036000291453", NULL}, {"upce", "01234565", "0123456"},
        {"upce", "123456", "0123456"}, {"upce", "01234566", NULL}, {"upce", "2123456", NULL},
        {"upce", "04252614", "0425261"}, {"itf14", "1540014128876", "1540014128876"},
        {"itf14", "15400141288763", "1540014128876"}, {"itf14", "15400141288764", NULL},
        {"sscc18", "10614141192837465", "10614141192837465"},
        {"sscc18", "106141411928374657", "10614141192837465"},
        {"sscc18", "106141411928374658", NULL}, {"isbn", "978-3-16-148410-0", "9783161484100"},
        {"code128", "a b", "a b"}, {"code128", "", NULL}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct code_kind *kind = code_find(str_z(rows[i].kind));
        const char *wrong = NULL, *made;

        assert_non_null(kind);
        made = code_value(*state, kind, str_z(rows[i].value), &wrong);
        if (!made != !rows[i].made || (made && strcmp(made, rows[i].made) != 0))
            fail_msg("%s %s: %s (%s)", rows[i].kind, rows[i].value, made ? made : "refused",
                wrong ? wrong : "");
        if (!made)
            assert_non_null(wrong);
    }
    assert_null(code_find(str_z("qrcode")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_check_digits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
