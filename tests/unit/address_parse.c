/* address_parse.c - one string taken apart as an address (modules/locations/address_parse.h): the
 * kinds and the public addresses of tests/data/addresses. */
#include <string.h>

#include "unit.h"
#include "address_cases.h"

/* An address of each kind, and its parts. */
static void kinds(void **state)
{
    const struct wharf_json *all = unit_json(
        *state, unit_file(*state, "tests/data/addresses/kinds.json").p);
    size_t n = 0, wrong = 0;

    for (const struct wharf_json *c; (c = json_at(all, n)); n++) {
        wharf_str text = json_text_or(c, "text", "");
        char room[ADDRESS_ROOM];
        struct address a;
        const wharf_str *got[] = {
            &a.line1, &a.line2, &a.city, &a.state, &a.postal_code, &a.country_code};

        address_read(text, json_text_or(c, "organization", ""), room, &a);
        for (size_t k = 0; k < 6; k++) {
            wharf_str want = json_at(json_get(c, "parts"), k)->text;

            if (str_eq(*got[k], want))
                continue;
            print_error("%.*s: part %zu is \"%.*s\", not \"%.*s\"\n", (int)text.n, text.p, k,
                (int)got[k]->n, got[k]->p, (int)want.n, want.p);
            wrong++;
        }
    }
    assert_true(n > 100);
    assert_int_equal(wrong, 0);
}

/* At least 95 of 100 are right in each of the eleven countries. */
static void public_addresses(void **state)
{
    static const char countries_of_data[][3] = {
        "us", "ca", "gb", "de", "fr", "it", "es", "nl", "au", "jp", "br"};

    for (size_t i = 0; i < sizeof(countries_of_data) / sizeof(countries_of_data[0]); i++) {
        wharf_str path = arena_printf(*state, "tests/data/addresses/%s.json", countries_of_data[i]);
        const struct wharf_json *all = unit_json(*state, unit_file(*state, path.p).p);
        size_t n = 0, right = 0;

        for (const struct wharf_json *c; (c = json_at(all, n)); n++) {
            char room[ADDRESS_ROOM];
            struct address a;
            const char *wrong = case_wrong(c, room, &a);

            right += !wrong;
        }
        print_message("%s: %zu of %zu\n", countries_of_data[i], right, n);
        assert_true(n >= 100);
        assert_true(right * 100 >= n * 95);
    }
}

static void put(struct buf *out, wharf_str part, const char *before)
{
    if (!part.n)
        return;
    if (out->n)
        buf_addz(out, before);
    buf_adds(out, part);
}

/* The text that addresses are shown as, in an export too, reads the same again, whatever the
 * country of the organization. */
static void shown_and_read_again(void **state)
{
    static const char files[][3] = {
        "us", "ca", "gb", "de", "fr", "it", "es", "nl", "au", "jp", "br"};
    size_t n = 0, same = 0;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        wharf_str path = arena_printf(*state, "tests/data/addresses/%s.json", files[i]);
        const struct wharf_json *all = unit_json(*state, unit_file(*state, path.p).p), *c;

        for (size_t at = 0; (c = json_at(all, at)); at++) {
            char room[ADDRESS_ROOM], second[ADDRESS_ROOM];
            struct address a, b;
            struct buf text;

            if (case_wrong(c, room, &a) || !a.postal_code.n || !a.city.n)
                continue;
            buf_init(&text, 4096);
            put(&text, a.line1, ", ");
            put(&text, a.line2, ", ");
            put(&text, a.city, ", ");
            put(&text, a.state, ", ");
            put(&text, a.postal_code, a.state.n ? " " : ", ");
            put(&text, a.country_code, ", ");
            address_read(buf_str(&text), WHARF_S("US"), second, &b);
            n++;
            if (str_eq(a.city, b.city) && str_eq(a.state, b.state) &&
                str_eq(a.postal_code, b.postal_code) && str_eq(a.country_code, b.country_code))
                same++;
            else
                print_message("%.*s\n", (int)text.n, buf_str(&text).p);
            buf_done(&text);
        }
    }
    assert_true(n > 1000);
    assert_true(same * 100 >= n * 99);
}

/* Each part lies in the text or in the room, however the text looks. */
static void whatever_comes(void **state)
{
    static const char *const texts[] = {"", " ", ",", "\n", ",,,", "1", "-", "/", "#", "(", "US",
        "D-", "-1", "\xe3\x80\x92", "〒1", "\xff\xfe", "\xc2", "\xe3\x80", "CEDEX"};
    char room[ADDRESS_ROOM], longest[3 * ADDRESS_BYTES];
    struct address a;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        address_read(str_z(texts[i]), WHARF_S("US"), room, &a);
    memset(longest, 'a', sizeof(longest));
    address_read((wharf_str){longest, sizeof(longest)}, WHARF_S("US"), room, &a);
    assert_int_equal(a.line1.n, sizeof(longest));
    for (size_t i = 0; i < sizeof(longest); i += 2)
        longest[i] = ',';
    address_read((wharf_str){longest, ADDRESS_BYTES}, WHARF_S("US"), room, &a);
    assert_int_equal(a.line1.n, ADDRESS_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(kinds),
        UNIT(public_addresses),
        UNIT(shown_and_read_again),
        UNIT(whatever_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
