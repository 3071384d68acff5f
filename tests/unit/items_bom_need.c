/* items_bom_need.c - modules/items/bom_need.h: the worked examples of spec 09 section 2, and random
 * builds against schoolbook arithmetic and against trying one quantity after the other. */
#include "unit.h"

#include "items_book.h"

#include "bom_need.h"

enum { CASES = UNIT_CASES(30000) };
#define FACTOR_ONE ((exact)10000000000)

static struct bom_use use_of(double quantity, exact factor, double output, bool asset)
{
    return bom_use_of(
        (int64_t)(quantity * 10000 + 0.5), factor, (int64_t)(output * 10000 + 0.5), asset);
}

static int64_t need_of(struct bom_use use, double build)
{
    int64_t need = -1;

    assert_int_equal(bom_need(&use, (int64_t)(build * 10000 + 0.5), &need), BOM_NEED_OK);
    return need;
}

static void worked_examples(void **state)
{
    struct bom_use sheet = use_of(1, FACTOR_ONE, 8, true);
    int64_t need;

    /* 0.3333 kg, build 3: 0.9999 kg */
    assert_int_equal(need_of(use_of(0.3333, FACTOR_ONE, 1, false), 3), 9999);
    /* 1 oz of an item kept in g, build 10: 283.4952 g */
    assert_int_equal(need_of(use_of(1, 283495231250, 1, false), 10), 2834952);
    /* 1 sheet for 8, build 4: half a sheet, which is none of an asset item */
    assert_int_equal(need_of(use_of(1, FACTOR_ONE, 8, false), 4), 5000);
    assert_int_equal(bom_need(&sheet, 4 * QUANTITY_ONE, &need), BOM_NEED_FRACTION);
    assert_int_equal(bom_step(bom_first_step(true), &sheet), 8 * QUANTITY_ONE);
    assert_int_equal(bom_step(bom_first_step(false), &sheet), 8 * QUANTITY_ONE);
    assert_int_equal(bom_most(&sheet, 8 * QUANTITY_ONE, 3 * QUANTITY_ONE), 24 * QUANTITY_ONE);
}

static void ends(void **state)
{
    struct bom_use least = bom_use_of(1, 1, QUANTITY_MAX, false);
    struct bom_use most = bom_use_of(QUANTITY_MAX, FACTOR_MAX - 1, 1, false);
    struct bom_use odd = bom_use_of(1, FACTOR_ONE, 999999999999989, true);
    struct bom_use half = use_of(0.5, FACTOR_ONE, 1, false);
    struct bom_use two[] = {
        use_of(1, FACTOR_ONE, 999983, true), use_of(1, FACTOR_ONE, 999979, true)};
    int64_t need = -1;

    assert_int_equal(need_of(least, 0), 0);
    assert_int_equal(need_of(least, 0.0001), 1); /* what is built takes something */
    assert_int_equal(bom_most(&least, 1, 0), 0);
    assert_int_equal(bom_most(&least, 1, 1), QUANTITY_MAX);
    assert_int_equal(bom_need(&most, 1, &need), BOM_NEED_LARGE);
    assert_int_equal(bom_need(&most, QUANTITY_MAX, &need), BOM_NEED_LARGE);
    assert_int_equal(bom_most(&most, 1, QUANTITY_MAX), 0);
    assert_int_equal(bom_step(1, &odd), 0); /* no quantity has a whole need */
    assert_int_equal(bom_step(0, &odd), 0);
    /* each of two has a step, both together have none */
    assert_int_equal(bom_step(QUANTITY_ONE, &two[0]), 999983 * QUANTITY_ONE);
    assert_int_equal(bom_step(bom_step(QUANTITY_ONE, &two[0]), &two[1]), 0);
    assert_int_equal(bom_most(&half, 0, QUANTITY_MAX), 0);
    /* half away from zero: 0.0001 takes 0.00005, which is 0.0001; 0.0003 takes 0.0002 */
    assert_int_equal(need_of(half, 0.0001), 1);
    assert_int_equal(need_of(half, 0.0003), 2);
    assert_int_equal(bom_most(&half, 1, 1), 2);
    assert_int_equal(bom_most(&half, 1, 2), 4);
    /* more is there than a level can hold: no overflow */
    assert_int_equal(bom_most(&half, 1, INT64_MAX), QUANTITY_MAX);
}

/* Returns the product of the three and 2. */
static struct book twice(exact a, exact b, exact c)
{
    struct book x = book_of(a), y = book_of(2 * b), product = book_times(&x, &y), z = book_of(c);

    return book_times(&product, &z);
}

static void shares(void **state)
{
    size_t large = 0, bits = 0;

    for (size_t i = 0; i < CASES; i++) {
        int64_t a = (int64_t)number(18);
        exact b = (exact)number(17) * 1000000000000000000 + number(18), rest, whole, ignored;
        exact c = (next() % 2 ? (exact)number(17) * 1000000000000000000 : 0) + number(18) + 1;
        struct book x = book_of(a), y = book_of(b), ab = book_times(&x, &y), wc;

        whole = exact_share(a, b, c, &rest);
        assert_true(exact_share(a, b, c, NULL) == whole);
        bits += __builtin_mul_overflow((exact)a, b, &ignored);
        x = book_of(whole);
        y = book_of(c);
        wc = book_times(&x, &y);
        if (whole == EXACT_SHARE_MAX) {
            assert_true(book_order(&ab, &wc) >= 0);
            large++;
            continue;
        }
        y = book_of(rest);
        wc = book_plus(&wc, &y);
        assert_true(rest >= 0 && rest < c);
        assert_int_equal(book_order(&ab, &wc), 0);
    }
    assert_true(large > CASES / 300 && bits > CASES / 30); /* all ways were gone */
}

static void random_needs(void **state)
{
    size_t problems[3] = {0};

    for (size_t i = 0; i < CASES; i++) {
        int64_t build = (int64_t)number(15), quantity = (int64_t)number(15) + 1, need;
        int64_t output = next() % 2 ? QUANTITY_ONE : (int64_t)number(12) + 1;
        exact factor = next() % 2 ? FACTOR_ONE : (exact)number(9) * FACTOR_ONE + number(10) + 1;
        bool asset = next() % 4 == 0;
        struct bom_use use = bom_use_of(quantity, factor, output, asset);
        enum bom_need_problem problem = bom_need(&use, build, &need);
        exact by = (exact)output * FACTOR_ONE;
        struct book took = twice(2 * (exact)quantity, build, factor), low, high;

        problems[problem]++;
        if (problem == BOM_NEED_LARGE)
            need = QUANTITY_MAX + 1;
        low = twice(need > 1 ? 2 * need - 1 : 0, 1, by);
        high = twice(2 * need + 1, 1, by);
        if (problem == BOM_NEED_LARGE) {
            assert_true(book_order(&low, &took) <= 0);
        } else if (problem == BOM_NEED_OK) {
            assert_true(book_order(&low, &took) <= 0 && book_order(&took, &high) < 0);
            assert_true(need > 0 || !build);
            high = twice(2 * need, 1, by);
            assert_true(!asset || (need % QUANTITY_ONE == 0 && !book_order(&took, &high)));
        } else {
            exact rest, whole = exact_share(build, quantity * factor, by, &rest);

            assert_true(asset && (rest || whole % QUANTITY_ONE));
        }
    }
    assert_true(problems[0] > CASES / 30 && problems[1] > CASES / 30 && problems[2] > CASES / 30);
}

/* The largest quantity allows itself, and one step more takes more than is there. */
static void random_most(void **state)
{
    size_t some = 0;

    for (size_t i = 0; i < CASES; i++) {
        int64_t available = (int64_t)number(15), most, need = 0;
        exact factor = next() % 2 ? FACTOR_ONE : (exact)number(6) * FACTOR_ONE + number(10) + 1;
        bool asset = next() % 4 == 0;
        struct bom_use use = bom_use_of(
            (int64_t)number(11) + 1, factor, (int64_t)number(9) + 1, asset);
        int64_t step = bom_step(bom_first_step(next() % 2), &use);

        if (asset)
            available -= available % QUANTITY_ONE;
        most = bom_most(&use, step, available);
        if (!step) {
            assert_int_equal(most, 0);
            continue;
        }
        assert_int_equal(most % step, 0);
        assert_int_equal(bom_need(&use, most, &need), BOM_NEED_OK);
        assert_true(need <= available);
        some += most > 0;
        if (most + step > QUANTITY_MAX)
            continue;
        assert_true(bom_need(&use, most + step, &need) == BOM_NEED_LARGE || need > available);
    }
    assert_true(some > CASES / 4);
}

/* Small versions: every quantity is tried. */
static void random_steps(void **state)
{
    for (size_t i = 0; i < CASES / 50; i++) {
        int64_t output = (int64_t)(next() % 12 + 1) * QUANTITY_ONE, step = QUANTITY_ONE, tried;
        struct bom_use uses[3];
        int64_t need;

        for (size_t k = 0; k < 3; k++) {
            uses[k] = bom_use_of((int64_t)(next() % 12 + 1) * QUANTITY_ONE,
                (exact)(next() % 3 + 1) * FACTOR_ONE, output, next() % 3 != 0);
            step = bom_step(step, &uses[k]);
        }
        for (tried = QUANTITY_ONE; tried < 13 * QUANTITY_ONE; tried += QUANTITY_ONE) {
            bool whole = true;

            for (size_t k = 0; k < 3; k++)
                whole = whole && bom_need(&uses[k], tried, &need) == BOM_NEED_OK;
            if (whole)
                break;
        }
        assert_int_equal(step, tried);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(ends),
        cmocka_unit_test(shares),
        cmocka_unit_test(random_needs),
        cmocka_unit_test(random_most),
        cmocka_unit_test(random_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
