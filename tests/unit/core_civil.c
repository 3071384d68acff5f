/* core_civil.c - wharf/civil.h: all days of the years 1 to 9999, one after the other, counted
 * without its arithmetic. */
#include "unit.h"

#include "util/zone.h"
#include "wharf/civil.h"

enum { FIRST = -719162 /* 0001-01-01 */, LAST = 2932896 /* 9999-12-31 */ };

/* Tells by the rule itself how long a month is. */
static int length_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (month != 2)
        return days[month - 1];
    if (year % 400 == 0)
        return 29;
    if (year % 100 == 0)
        return 28;
    return year % 4 == 0 ? 29 : 28;
}

static void is_day(int64_t n, int year, int month, int day)
{
    int64_t y;
    int m, d;

    wharf_date_of(n, &y, &m, &d);
    if (wharf_days_of(year, month, day) != n || y != year || m != month || d != day)
        fail_msg("%d-%02d-%02d: %lld", year, month, day, (long long)n);
}

static void every_day(void **state)
{
    int64_t n = FIRST;

    (void)state;
    for (int year = 1; year <= 9999; year++) {
        for (int month = 1; month <= 12; month++) {
            int length = length_of(year, month);

            for (int day = 1; day <= length; day++)
                is_day(n++, year, month, day);
            assert_int_equal(wharf_days_in_month(year, month), length);
            assert_int_equal(wharf_days_of(year, month, length + 1), n);
            assert_true(wharf_date_good(year, month, length));
            assert_false(wharf_date_good(year, month, length + 1));
            assert_false(wharf_date_good(year, month, 0));
        }
        assert_false(wharf_date_good(year, 0, 1));
        assert_false(wharf_date_good(year, 13, 1));
    }
    assert_int_equal(n - 1, LAST);
}

/* Before the year 1, where divisions of negative numbers would be cut to the wrong side. */
static void every_day_before(void **state)
{
    int64_t y, n = FIRST;
    int m, d;

    (void)state;
    for (int year = 0; year >= -800; year--) {
        for (int month = 12; month >= 1; month--) {
            int length = length_of(year, month);

            assert_int_equal(wharf_days_in_month(year, month), length);
            for (int day = length; day >= 1; day--)
                is_day(--n, year, month, day);
        }
    }
    wharf_date_of(-1, &y, &m, &d);
    assert_int_equal(y * 10000 + m * 100 + d, 19691231);
}

/* A clock's date is the same, with the day of the week and of the year. Texts of moments:
 * core_time.c. */
static void every_day_of_a_clock(void **state)
{
    int weekday = 1, of_year = 0; /* 0001-01-01 is a Monday */
    int y = 1, m = 1, d = 1;

    (void)state;
    for (int64_t n = FIRST; n <= LAST; n++) {
        int64_t s = n * 86400 + 86399;
        struct civil c = civil_of(s);

        if (c.year != y || c.month != m || c.day != d || c.hour != 23 || c.weekday != weekday ||
            c.yearday != of_year || civil_seconds(&c) != s)
            fail_msg("%04d-%02d-%02d: %d, %d", y, m, d, c.weekday, c.yearday);
        weekday = (weekday + 1) % 7;
        of_year++;
        if (++d <= length_of(y, m))
            continue;
        d = 1;
        if (++m <= 12)
            continue;
        m = 1;
        y++;
        of_year = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(every_day), UNIT(every_day_before), UNIT(every_day_of_a_clock)};

    return cmocka_run_group_tests_name("core_civil", tests, NULL, NULL);
}
