/* core_time.c - time.h: the date values of docs/spec/01-platform.md section 11.2, form by form;
 * the clock. */
#include "unit.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "util/time.h"

static void good(const char *text, const char *iso)
{
    char out[ISO_MS_LEN + 1];
    int64_t us = 0;

    if (!time_parse(str_z(text), false, &us))
        fail_msg("refused: %s", text);
    time_format_iso(us, out);
    assert_string_equal(out, iso);
}

static void bad(const char *text)
{
    int64_t us = 42;

    if (time_parse(str_z(text), false, &us))
        fail_msg("accepted: %s", text);
    assert_int_equal(us, 42);
}

static void epochs(void **state)
{
    good("0", "1970-01-01T00:00:00.000Z");
    good("1", "1970-01-01T00:00:01.000Z");
    good("1704164645", "2024-01-02T03:04:05.000Z");
    good("99999999999", "5138-11-16T09:46:39.000Z");
    good("100000000000", "1973-03-03T09:46:40.000Z");
    good("1704164645678", "2024-01-02T03:04:05.678Z");
    good("99999999999999", "5138-11-16T09:46:39.999Z");
    bad("");
    bad("00");
    bad("01704164645");
    bad("-1");
    bad("+1");
    bad("1.0");
    bad("1e9");
    bad("100000000000000");
    bad("1704164645 ");
    bad("\xD9\xA1");
    bad("now");
}

static void iso(void **state)
{
    good("2024-01-02T03:04:05Z", "2024-01-02T03:04:05.000Z");
    good("2024-01-02t03:04:05.678z", "2024-01-02T03:04:05.678Z");
    good("2024-01-02T03:04:05+02:30", "2024-01-02T00:34:05.000Z");
    good("2024-01-02T03:04:05.999-23:59", "2024-01-03T03:03:05.999Z");
    good("2024-01-02T03:04:05-00:00", "2024-01-02T03:04:05.000Z");
    good("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z");
    good("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z");
    good("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z");
    good("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z");
    good("1969-12-31T23:59:59.001Z", "1969-12-31T23:59:59.001Z");
    good("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z");
    good("2016-12-31T18:59:60.500-05:00", "2017-01-01T00:00:00.500Z");
    good("2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00.000Z");
}

static void not_iso(void **state)
{
    static const char *const cases[] = {"2024-01-02", "2024-01-02T03:04:05", "2024-01-02T03:04Z",
        "2024-01-02T03:04:05+0200", "2024-01-02T03:04:05+02", "2024-01-02T24:00:00Z",
        "2024-01-02T03:60:05Z", "2024-01-02T03:04:61Z", "2024-01-02T03:04:05+24:00",
        "2024-01-02T03:04:05+02:60", "2024-01-02T03:04:05.6Z", "2024-01-02T03:04:05.67Z",
        "2024-01-02T03:04:05.6789Z", "2024-01-02T03:04:05.Z", "2024-01-02T03:04:05,678Z",
        "2024-01-02 03:04:05Z", "2024-W01-2T03:04:05Z", "2024-002T03:04:05Z", "20240102T030405Z",
        "2024-13-02T03:04:05Z", "2024-00-02T03:04:05Z", "2024-01-00T03:04:05Z",
        "2024-01-32T03:04:05Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2024-04-31T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z", "2016-12-31T23:58:60Z",
        "2016-12-31T23:59:60+01:00", "2024-01-02T03:04:05Zx", "2024-01-02T03:04:05 02:00",
        " 2024-01-02T03:04:05Z", "2024-01-02T03:04:05.678", "12024-01-02T03:04:05Z",
        "2024-1-2T03:04:05Z", "-2024-01-02T03:04:05Z", "2024-01-02T0\xD9\xA1:04:05Z"};
    int64_t us;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        bad(cases[i]);
    assert_true(time_parse(WHARF_S("2024-01-02T03:04:05 02:00"), true, &us));
    assert_int_equal(us, 1704157445000000);
    assert_false(time_parse_iso(WHARF_S("1704164645"), false, &us));
}

/* The C library is the judge for every day of the calendar. */
static void every_day(void **state)
{
    for (int64_t day = -719162; day <= 2932896; day += 1) {
        int64_t seconds = day * 86400 + (day & 0xFFFF), us;
        char text[ISO_MS_LEN + 1], want[48];
        time_t t = (time_t)seconds;
        struct tm tm;

        time_format_iso(seconds * 1000000 + 999, text);
        gmtime_r(&t, &tm);
        snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02d.000Z", tm.tm_year + 1900,
            tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        if (strcmp(text, want) != 0)
            fail_msg("%s is not %s", text, want);
        if (!time_parse_iso(str_z(text), false, &us) || us != seconds * 1000000)
            fail_msg("%s is not read back", text);
    }
}

static void postgres(void **state)
{
    int64_t us;

    assert_true(time_parse_pg(WHARF_S("2024-01-02 03:04:05+00"), &us));
    assert_int_equal(us, 1704164645000000);
    assert_true(time_parse_pg(WHARF_S("2024-01-02 03:04:05.6+00"), &us));
    assert_int_equal(us, 1704164645600000);
    assert_true(time_parse_pg(WHARF_S("2024-01-02 03:04:05.678901+00"), &us));
    assert_int_equal(us, 1704164645678901);
    assert_false(time_parse_pg(WHARF_S("2024-01-02 03:04:05+02"), &us));
    assert_false(time_parse_pg(WHARF_S("2024-01-02 03:04:05"), &us));
    assert_false(time_parse_pg(WHARF_S("2024-01-02 03:04:05.+00"), &us));
    assert_false(time_parse_pg(WHARF_S("2024-01-02 03:04:05.1234567+00"), &us));
    assert_false(time_parse_pg(WHARF_S("0044-03-15 12:00:00+00 BC"), &us));
    assert_false(time_parse_pg(WHARF_S("infinity"), &us));
}

static void http_dates(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {{INT64_C(784111777000000), "Sun, 06 Nov 1994 08:49:37 GMT"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"}, {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
        {-86400000000, "Wed, 31 Dec 1969 00:00:00 GMT"},
        {INT64_C(1709251199999999), "Thu, 29 Feb 2024 23:59:59 GMT"}};
    char text[HTTP_DATE_LEN + 1];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        time_format_http(rows[i].us, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void kernel_clock(void **state)
{
    int64_t real = (int64_t)time(NULL) * 1000000, now = clock_now_us(),
            before = clock_monotonic_us();

    assert_true(now - real > -2000000 && now - real < 2000000);
    assert_int_equal(clock_sync(1704164645000000, before, 3600, 1), 0); /* the first time */
    now = clock_now_us();
    assert_true(now >= 1704164645000000 + 3600000000 && now < 1704164645000000 + 3601000000);
    assert_int_equal(clock_offset_s(), 3600);
    /* the database may have read its clock when it was asked: the clock is not moved */
    before = clock_monotonic_us();
    usleep(30000);
    now = clock_now_us();
    assert_int_equal(clock_sync(now - 3600000000 - 25000, before, 3600, 1), 0);
    assert_true(clock_now_us() >= now);
    /* it may not have: the middle of what it may have meant */
    before = clock_monotonic_us();
    usleep(30000);
    now = clock_now_us();
    assert_true(clock_sync(now - 3600000000 - 5000000, before, 3600, 1) < -1000000);
    assert_true(clock_now_us() >= now - 5000000 + 15000);
    assert_true(clock_now_us() < now);
    clock_set_offset(-7, 2);
    assert_true(clock_now_us() < now - 3600000000);
    assert_int_equal(clock_offset_s(), -7);
    clock_set_offset(3600, 1); /* read before the change, set after it: not taken */
    assert_int_equal(clock_offset_s(), -7);
    clock_set_offset(-3162240000, 9);
    assert_int_equal(clock_offset_s(), -3162240000);
    clock_set_offset(3162240000, 10);
    assert_int_equal(clock_offset_s(), 3162240000);
    clock_set_offset(0, 11);
    assert_true(clock_monotonic_us() >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(epochs), UNIT(iso), UNIT(not_iso), UNIT(every_day),
        UNIT(postgres), UNIT(http_dates), UNIT(kernel_clock)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
