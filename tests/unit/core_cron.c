/* core_cron.c - cron.h: what may stand in a schedule, and when it is due, also where clocks
 * change. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "util/cron.h"
#include "util/time.h"
#include "util/zone.h"

static char zone[ZONE_BYTES_MAX];
static size_t zone_n;

static void in(const char *name)
{
    zone_n = name ? zone_read(name, zone, sizeof(zone)) : 0;
    assert_true(!name || zone_n > 0);
}

static struct cron parsed(const char *text)
{
    const char *problem = "";
    struct cron c;

    if (!cron_parse(str_z(text), &c, &problem))
        fail_msg("%s: %s", text, problem);
    return c;
}

static int64_t seconds(const char *iso)
{
    int64_t us;

    assert_true(time_parse(str_z(iso), false, &us));
    return us / 1000000;
}

/* The moments after `after`, one after the other; and the last one up to each is itself. */
static void due(const char *text, const char *after, const char *const *moments)
{
    struct cron c = parsed(text);
    int64_t t = seconds(after);

    for (; *moments; moments++) {
        char out[ISO_MS_LEN + 1];

        t = cron_next(&c, zone_n ? zone : NULL, zone_n, t);
        time_format_iso(t * 1000000, out);
        assert_int_equal(strlen(out), 24);
        out[19] = 0;
        assert_string_equal(out, *moments);
        assert_int_equal(cron_last(&c, zone_n ? zone : NULL, zone_n, t), t);
        assert_int_equal(cron_last(&c, zone_n ? zone : NULL, zone_n, t + 59), t);
    }
}
#define DUE(text, after, ...) due(text, after, (const char *const[]){__VA_ARGS__, NULL})

static void forms(void **state)
{
    in(NULL);
    DUE("* * * * *", "2026-11-22T11:59:00Z", "2026-11-22T12:00:00", "2026-11-22T12:01:00");
    DUE("*/20 * * * *", "2026-11-22T11:59:59Z", "2026-11-22T12:00:00", "2026-11-22T12:20:00",
        "2026-11-22T12:40:00", "2026-11-22T13:00:00");
    DUE("5,1-3,10-20/5 0 * * *", "2026-11-22T00:00:00Z", "2026-11-22T00:01:00",
        "2026-11-22T00:02:00", "2026-11-22T00:03:00", "2026-11-22T00:05:00", "2026-11-22T00:10:00",
        "2026-11-22T00:15:00", "2026-11-22T00:20:00", "2026-11-23T00:01:00");
    DUE(" 0  6  * * MON-fri ", "2026-11-20T06:00:00Z", "2026-11-23T06:00:00",
        "2026-11-24T06:00:00");
    DUE("0 6 1 Jan,jul *", "2026-11-20T06:00:00Z", "2027-01-01T06:00:00", "2027-07-01T06:00:00");
    DUE("0 0 * * 7", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00", "2026-11-29T00:00:00");
    DUE("0 0 * * 5-7", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00", "2026-11-22T00:00:00",
        "2026-11-27T00:00:00");
    DUE("0 0 29 2 *", "2026-11-20T00:00:00Z", "2028-02-29T00:00:00", "2032-02-29T00:00:00");
    DUE("59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00");
    DUE("@hourly", "2026-11-20T00:00:00Z", "2026-11-20T01:00:00");
    DUE("@daily", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00");
    DUE("@weekly", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00");
    DUE("@monthly", "2026-11-20T00:00:00Z", "2026-12-01T00:00:00");
    DUE("@yearly", "2026-11-20T00:00:00Z", "2027-01-01T00:00:00", "2028-01-01T00:00:00");
}

/* Both restricted: one is enough. Else both must be. */
static void days(void **state)
{
    in(NULL);
    DUE("0 0 13 * 5", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00", "2026-11-13T00:00:00",
        "2026-11-20T00:00:00", "2026-11-27T00:00:00", "2026-12-04T00:00:00", "2026-12-11T00:00:00",
        "2026-12-13T00:00:00");
    DUE("0 0 13 * *", "2026-11-01T00:00:00Z", "2026-11-13T00:00:00", "2026-12-13T00:00:00");
    DUE("0 0 * * 5", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00", "2026-11-13T00:00:00");
    DUE("0 0 */2 * 5", "2026-11-01T00:00:00Z", "2026-11-13T00:00:00", "2026-11-27T00:00:00");
    DUE("0 0 29 2 */7", "2026-11-01T00:00:00Z", "2032-02-29T00:00:00", "2060-02-29T00:00:00");
}

static void refused(void **state)
{
    static const char *const texts[] = {"", " ", "* * * *", "* * * * * *", "60 * * * *",
        "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 8",
        "5-1 * * * *", "*/0 * * * *", "1/5 * * * *", "1- * * * *", "-1 * * * *", "1,,2 * * * *",
        ",1 * * * *", "1, * * * *", "1-2-3 * * * *", "* * * foo *", "* * * ja *", "* * * * sunday",
        "* * jan * *", "@often", "@", "@daily x", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *",
        "0x1 * * * *", "1.5 * * * *", "*5 * * * *", "** * * * *", "*\t* * * *", "0001 * * * *",
        "99999999999 * * * *", "*/ * * * *", "* * * * fri-mon"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *problem = NULL;
        struct cron c;

        if (cron_parse(str_z(texts[i]), &c, &problem))
            fail_msg("accepted: %s", texts[i]);
        assert_true(problem && strlen(problem) > 10);
    }
}

/* Berlin 2026: on 29 March 2:00 is followed by 3:00 (01:00 UTC), on 25 October 3:00 by 2:00
 * (01:00 UTC). */
static void clock_changes(void **state)
{
    in("Europe/Berlin");
    DUE("30 2 * * *", "2026-03-27T12:00:00Z", "2026-03-28T01:30:00", "2026-03-29T01:00:00",
        "2026-03-30T00:30:00");
    DUE("*/20 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00", "2026-03-30T00:00:00",
        "2026-03-30T00:20:00");
    DUE("0,30 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T00:30:00", "2026-03-29T01:00:00",
        "2026-03-29T01:30:00");
    DUE("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00", "2026-10-26T01:30:00");
    DUE("30 * * * *", "2026-10-24T23:00:00Z", "2026-10-24T23:30:00", "2026-10-25T00:30:00",
        "2026-10-25T02:30:00");
    DUE("0 3 * * *", "2026-10-24T12:00:00Z", "2026-10-25T02:00:00");
    DUE("0 9 * * 1", "2026-10-20T12:00:00Z", "2026-10-26T08:00:00");
    in("America/New_York");
    DUE("30 2 8 3 *", "2026-03-01T12:00:00Z", "2026-03-08T07:00:00", "2027-03-08T07:30:00");
    in("Pacific/Apia"); /* there was no 30 December 2011 */
    DUE("0 12 * * *", "2011-12-29T00:00:00Z", "2011-12-29T22:00:00", "2011-12-30T10:00:00",
        "2011-12-30T22:00:00");
    in("Australia/Lord_Howe"); /* half an hour */
    DUE("15 2 * * *", "2026-10-03T00:00:00Z", "2026-10-03T15:30:00", "2026-10-04T15:15:00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(forms), UNIT(days), UNIT(refused), UNIT(clock_changes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
