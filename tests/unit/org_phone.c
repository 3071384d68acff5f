/* org_phone.c - what is kept of phone numbers (modules/org/phone_form.h), without a server. */
#include <string.h>

#include "phone_form.h"
#include "unit.h"

static const struct {
    const char *country, *text, *kept; /* NULL: it is no phone */
} cases[] = {
    {"US", "(415) 555-2671", "+14155552671"},
    {"DE", "030 901820", "+4930901820"},
    {"DE", "(0)30 901820", "+4930901820"},
    {"DE", "00 49 30 901820", "+4930901820"},
    {"US", "00 49 30 901820", "+4930901820"},
    {"US", "00 4", NULL},
    {"IT", "06 698 12345", "+390669812345"},
    {"FR", "01 23 45 67 89", "+33123456789"},
    {"JP", "03-1234-5678", "+81312345678"},
    {"AU", "(02) 5550 1234", "+61255501234"},
    {"BR", "(11) 91234-5678", "+5511912345678"},
    {"ZZ", "030 901820", "030901820"},
    {"", "4155552671", "+14155552671"},
    {"DE", "1-201-555-0123", "12015550123"},
    {"CA", "416 555 0123", "+14165550123"},
    {"US", "5551234567", "+15551234567"},
    {"US", "+4401632960001", "+4401632960001"},
    {"US", "+44 (0)1632 960001", "+441632960001"},
    {"US", "415-555-2671 ext. 12345678901", "+14155552671;ext=12345678901"},
    {"US", "415-555-2671 ext. 123456789012", NULL},
    {"US", "415-555-2671, #5", "+14155552671;ext=5"},
    {"US", "\xe2\x80", NULL}, /* no whole character */
    {"US", "\xe2\x80\x8b", NULL},
    {"US", "", NULL},
    {"US", " ", NULL},
    {"US", "++14155552671", NULL},
    {"US", "999999999999999", "999999999999999"},
    {"US", "9999999999999999", NULL},
};

static wharf_str phone_text(const char *s)
{
    return (wharf_str){s, strlen(s)};
}

static void phones_are_kept(void **state)
{
    char out[PHONE_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        wharf_str country = phone_text(cases[i].country), text = phone_text(cases[i].text);

        if (!cases[i].kept)
            assert_false(phone_kept(country, text, out));
        else if (!phone_kept(country, text, out) || strcmp(out, cases[i].kept) != 0)
            fail_msg("%s in %s is not kept as %s", text.p, country.p, cases[i].kept);
    }
}

/* Sends each form again: it stays. */
static void kept_again(void **state)
{
    char out[PHONE_ROOM], again[PHONE_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (!phone_kept(phone_text(cases[i].country), phone_text(cases[i].text), out))
            continue;
        assert_true(phone_kept(phone_text(cases[i].country), phone_text(out), again));
        assert_string_equal(again, out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(phones_are_kept), UNIT(kept_again)};

    return cmocka_run_group_tests_name("org_phone", tests, NULL, NULL);
}
