/* items_exact.c - modules/items/exact.h: decimals as text, and products, quotients and roundings
 * against schoolbook arithmetic on digits, which shares nothing with it. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "items_book.h"

enum { CASES = UNIT_CASES(200000) };

/* ---- tests ---- */

static void products(void **state)
{
    const struct book most = book_of(QUANTITY_MAX);
    size_t large = 0, small = 0;

    for (size_t i = 0; i < CASES; i++) {
        int64_t q = (int64_t)number(15), got = -1;
        exact factor = (exact)number(10) * 10000000000 + number(10);
        struct book x = book_of(q), y = book_of(factor), product, rounded;
        bool negative = next() % 2, ok;

        if (!factor)
            continue;
        product = book_times(&x, &y);
        rounded = book_round(&product, FACTOR_SCALE);
        if (book_zero(&rounded) && q) {
            rounded.d[0] = 1;
            small++;
        }
        ok = quantity_times(negative ? -q : q, factor, &got);
        assert_int_equal(ok, book_order(&rounded, &most) <= 0);
        large += !ok;
        if (ok) {
            struct book b = book_of(negative ? -got : got);

            assert_int_equal(book_order(&b, &rounded), 0);
        }
        ok = true;
        for (size_t k = 0; k < QUANTITY_SCALE + FACTOR_SCALE; k++)
            ok = ok && !product.d[k];
        assert_int_equal(product_is_whole(q, factor), ok);
    }
    assert_true(large > CASES / 2000 && small > CASES / 2000); /* both ends were met */
}

static void quotients(void **state)
{
    for (size_t i = 0; i < CASES; i++) {
        exact size = (exact)number(9) * 100000000000000 + number(14);
        exact base = (exact)number(9) * 100000000000000 + number(14), got;
        struct book x, y, twice, low, high;

        if (!size || !base || !factor_of_units(size, base, &got))
            continue;
        /* 2 size 10^10 lies in [ (2 got - 1) base, (2 got + 1) base ) */
        x = book_of(size);
        y = book_of((exact)2 * 10000000000);
        twice = book_times(&x, &y);
        x = book_of(base);
        y = book_of(2 * got - 1);
        low = book_times(&x, &y);
        y = book_of(2 * got + 1);
        high = book_times(&x, &y);
        assert_true(book_order(&low, &twice) <= 0 && book_order(&twice, &high) < 0);
    }
}

static void worked_examples(void **state)
{
    exact oz, g, factor;
    int64_t q;

    /* 1 oz with base g, build 10: 283.4952 g (spec 09 section 2) */
    assert_int_equal(exact_read("0.028349523125", 14, UNIT_SCALE, &oz), EXACT_OK);
    assert_int_equal(exact_read("0.001", 5, UNIT_SCALE, &g), EXACT_OK);
    assert_true(factor_of_units(oz, g, &factor));
    assert_true(factor == (exact)283495231250);
    assert_true(quantity_times(10 * QUANTITY_ONE, factor, &q));
    assert_int_equal(q, 2834952);
    /* what is not zero does not become zero */
    assert_true(quantity_times(1, 1, &q));
    assert_int_equal(q, 1);
    assert_true(quantity_times(-1, 1, &q));
    assert_int_equal(q, -1);
    assert_true(quantity_times(0, 1, &q));
    assert_int_equal(q, 0);
    /* half away from zero */
    assert_true(quantity_times(1, 15000000000, &q));
    assert_int_equal(q, 2);
    assert_true(quantity_times(-1, 15000000000, &q));
    assert_int_equal(q, -2);
}

static void texts(void **state)
{
    static const struct {
        const char *text;
        enum exact_problem problem;
        int64_t quantity;
    } rows[] = {{"0", EXACT_OK, 0}, {"-0.0", EXACT_OK, 0}, {"12.3456", EXACT_OK, 123456},
        {"12.34560", EXACT_OK, 123456}, {"12.34567", EXACT_DIGITS, 0}, {"1e3", EXACT_OK, 10000000},
        {"1E-4", EXACT_OK, 1}, {"1e-5", EXACT_DIGITS, 0}, {"0.0001", EXACT_OK, 1},
        {"-2.5", EXACT_OK, -25000}, {"0.30000000000000004", EXACT_OK, 3000},
        {"2.9999999999999996", EXACT_OK, 30000}, {"99999999999.9999", EXACT_OK, QUANTITY_MAX},
        {"100000000000", EXACT_LARGE, 0}, {"-99999999999.9999", EXACT_OK, -QUANTITY_MAX},
        {"1e400", EXACT_LARGE, 0}, {"1e-400", EXACT_DIGITS, 0}, {"0e9999999999", EXACT_OK, 0},
        {"", EXACT_NO_NUMBER, 0}, {"-", EXACT_NO_NUMBER, 0}, {".", EXACT_NO_NUMBER, 0},
        {"1.", EXACT_NO_NUMBER, 0}, {"1e", EXACT_NO_NUMBER, 0}, {"1.2.3", EXACT_NO_NUMBER, 0},
        {"0x10", EXACT_NO_NUMBER, 0}, {" 1", EXACT_NO_NUMBER, 0}, {"1 ", EXACT_NO_NUMBER, 0},
        {"NaN", EXACT_NO_NUMBER, 0}, {"Infinity", EXACT_NO_NUMBER, 0},
        {"0000000000000000000000000000000000000000000000000000000001.50", EXACT_OK, 15000},
        {"99999999999999999999999999999999999999999999999999999999999", EXACT_LARGE, 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t got = 0;

        assert_int_equal(quantity_read(rows[i].text, strlen(rows[i].text), &got), rows[i].problem);
        if (rows[i].problem == EXACT_OK)
            assert_int_equal(got, rows[i].quantity);
    }
}

/* Reads what was written, which looks as spec 09 section 2 says. */
static void round_trips(void **state)
{
    char out[EXACT_TEXT];

    for (size_t i = 0; i < CASES; i++) {
        unsigned scale = (unsigned)(next() % (UNIT_SCALE + 1));
        exact v = (exact)number(12) * 1000000000000 + number(12), back;
        size_t n;

        v = next() % 2 ? -v : v;
        n = exact_write(v, scale, out);
        assert_int_equal(n, strlen(out));
        assert_int_equal(exact_read(out, n, scale, &back), EXACT_OK);
        assert_true(back == v);
        assert_null(strpbrk(out, "eE+"));
        assert_false(strchr(out, '.') && (out[n - 1] == '0' || out[n - 1] == '.'));
    }
    exact_write(1, 4, out);
    assert_string_equal(out, "0.0001");
    exact_write(-25000, 4, out);
    assert_string_equal(out, "-2.5");
    exact_write(100000, 4, out);
    assert_string_equal(out, "10");
    exact_write(0, 4, out);
    assert_string_equal(out, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(quotients),
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(texts),
        cmocka_unit_test(round_trips),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
