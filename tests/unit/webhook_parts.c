/* webhook_parts.c - the pure parts of the module webhooks: what answers say, retry schedules,
 * filters; and signatures (spec 07 sections 5 to 7). */
#include "webhook_match.h"
#include "host/host.h"
#include "reply.h"
#include "webhook_schedule.h"
#include "secret/signature.h"
#include "unit.h"

#define NOW 1700000000000000LL /* 2023-11-14T22:13:20Z */

static int64_t pause_of(const char *head)
{
    int64_t ms = -1;

    return reply_pause(str_z(head), NOW, &ms) ? ms : -1;
}

static void test_pauses(void **state)
{
    static const struct {
        const char *head;
        int64_t ms; /* -1: not usable */
    } cases[] = {
        {"HTTP/1.1 429 Too Many\r\nRetry-After: 120\r\n\r\n", 120000},
        {"retry-after: 1.5", 1500},
        {"Retry-After: 1.2341", 1235}, /* rounded up to milliseconds */
        {"Retry-After: 1.2340", 1234},
        {"Retry-After: 0", 1000},
        {"Retry-After:   7  \r\n", 7000},
        {"Retry-After: 999999999", 86400000},
        {"Retry-After: Tue, 14 Nov 2023 22:14:20 GMT", 60000},
        {"Retry-After: Tuesday, 14-Nov-23 22:14:20 GMT", 60000},
        {"Retry-After: Tue Nov 14 22:14:20 2023", 60000},
        {"Retry-After: Wed Nov  1 22:14:20 2023", 1000}, /* over: usable, the shortest */
        {"Retry-After: 2023-11-14T22:14:20Z", -1}, /* no ISO here */
        {"Retry-After: -5", -1},
        {"Retry-After:", -1},
        {"Retry-After: soon", -1},
        {"Retry-After: 5.", -1},
        {"Retry-After: .5", -1},
        {"Retry-After: 5 seconds", -1},
        {"Retry-After: Tue, 32 Nov 2023 22:14:20 GMT", -1},
        {"Retry-After: Tue, 14 Nov 2023 22:14:20 CET", -1},
        {"RateLimit-Reset: 30", 30000},
        {"RateLimit-Reset: 999999999", 86400000}, /* below 10^9: seconds from now */
        {"RateLimit-Reset: 1700000060", 60000}, /* from 10^9: Unix seconds */
        {"X-RateLimit-Reset: 1700000060000", 60000}, /* from 10^12: Unix milliseconds */
        {"X-RateLimit-Reset: 2023-11-14T22:14:20Z", 60000},
        {"X-RateLimit-Reset: 2023-11-15T00:14:20.250+02:00", 60250},
        {"X-RateLimit-Reset: Tue, 14 Nov 2023 22:14:20 GMT", 60000},
        {"X-RateLimit-Reset: 1600000000", 1000},
        {"RateLimit-Reset-After: 2.5", 2500},
        {"X-RateLimit-Reset-After: 3", 3000},
        {"X-RateLimit-Reset-After: 2023-11-14T22:14:20Z", -1},
        {"Content-Length: 5", -1},
        /* the first usable in the order of the names, whatever the order of the lines */
        {"X-RateLimit-Reset-After: 9\nRateLimit-Reset: 8\nRetry-After: 7", 7000},
        {"Retry-After: never\nRateLimit-Reset: 8\nX-RateLimit-Reset: 9", 8000},
        /* of several lines of one name the longest that is usable */
        {"Retry-After: 5\nRetry-After: 50\nRetry-After: -1", 50000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (pause_of(cases[i].head) != cases[i].ms)
            fail_msg("%s: %lld", cases[i].head, (long long)pause_of(cases[i].head));
    }
}

static void test_later_and_directives(void **state)
{
    int64_t ms;
    bool abort, disable;

    (void)state;
    assert_true(reply_later(str_z("Retry-After: 7200"), NOW, &ms) && ms == 3600000);
    assert_true(reply_later(str_z("Retry-After: 0"), NOW, &ms) && ms == 0);
    assert_false(reply_later(str_z("RateLimit-Reset: 5"), NOW, &ms));
    reply_directives(str_z("Webhook-Delivery: Abort-Message\r\n"), &abort, &disable);
    assert_true(abort && !disable);
    reply_directives(str_z("webhook-delivery: disable"), &abort, &disable);
    assert_true(!abort && disable);
    reply_directives(
        str_z("webhook-delivery: disabled\nx-webhook-delivery: disable"), &abort, &disable);
    assert_true(!abort && !disable);
}

static void test_dates(void **state)
{
    int64_t us;

    (void)state;
    assert_true(reply_date(str_z("Sunday, 06-Nov-94 08:49:37 GMT"), NOW, false, &us) &&
                us == 784111777000000);
    assert_true(reply_date(str_z("Sunday, 06-Nov-73 08:49:37 GMT"), NOW, false, &us) &&
                us == 3277183777000000); /* 2073: 50 years ahead */
    /* 1974 */
    assert_true(reply_date(str_z("Sunday, 06-Nov-74 08:49:37 GMT"), NOW, false, &us) &&
                us == 152959777000000);
    assert_true(
        reply_date(str_z("2024-02-29T00:00:00Z"), NOW, true, &us) && us == 1709164800000000);
    assert_false(reply_date(str_z("2024-13-01T00:00:00Z"), NOW, true, &us));
    assert_false(reply_date(str_z("2024-02-29 00:00:00Z"), NOW, true, &us));
    assert_false(reply_date(str_z(""), NOW, true, &us));
}

static void test_schedules(void **state)
{
    static const struct {
        const char *mode;
        int64_t waits[8];
        size_t n;
    } modes[] = {{"balanced", {15, 60, 180, 480}, 4}, {"fast", {2, 5, 15, 30}, 4},
        {"slow", {60, 300, 1800, 7200, 21600, 43200}, 6}, {"other", {15, 60, 180, 480}, 4}};
    int64_t low, mid, high;

    (void)state;
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        for (uint32_t i = 0; i < modes[m].n; i++) {
            assert_true(schedule_wait(str_z(modes[m].mode), i, 0, &low) &&
                        schedule_wait(str_z(modes[m].mode), i, 0.5, &mid) &&
                        schedule_wait(str_z(modes[m].mode), i, 0.999999, &high));
            assert_int_equal(mid, modes[m].waits[i] * 1000);
            assert_int_equal(low, modes[m].waits[i] * 900);
            assert_true(high > modes[m].waits[i] * 1099 && high <= modes[m].waits[i] * 1100);
        }
        assert_false(schedule_wait(str_z(modes[m].mode), (uint32_t)modes[m].n, 0.5, &mid));
    }
}

static const char body_text[] =
    "{\"type\": \"t.updated\", \"data\": {\"name\": \"Ann\", \"n\": 5, \"price\": 2.50, "
    "\"ok\": true, \"none\": null, \"at\": \"2024-05-01T00:00:00.000Z\","
    " \"list\": [{\"id\": \"a\"}, {\"id\": \"b\"}], \"in\": {\"deep\": 1}}, "
    "\"previous_attributes\": {\"name\": \"Bob\"}}";

static void test_filters(void **state)
{
    static const struct {
        const char *condition;
        bool holds;
    } cases[] = {
        {"{\"path\": \"data.name\", \"op\": \"eq\", \"value\": \"Ann\"}", true},
        {"{\"path\": \"data.name\", \"op\": \"eq\", \"value\": \"ann\"}", false},
        {"{\"path\": \"data.name\", \"op\": \"!eq\", \"value\": \"Bob\"}", true},
        {"{\"path\": \"data.missing\", \"op\": \"eq\", \"value\": null}", false},
        {"{\"path\": \"data.missing\", \"op\": \"!eq\", \"value\": 1}", true},
        {"{\"path\": \"data.none\", \"op\": \"eq\", \"value\": null}", true},
        {"{\"path\": \"data.none\", \"op\": \"exists\"}", true},
        {"{\"path\": \"data.missing\", \"op\": \"exists\"}", false},
        {"{\"path\": \"data.missing\", \"op\": \"!exists\"}", true},
        {"{\"path\": \"data.n\", \"op\": \"eq\", \"value\": 5.0}", true},
        {"{\"path\": \"data.n\", \"op\": \"eq\", \"value\": \"5\"}", false},
        {"{\"path\": \"data.price\", \"op\": \"gt\", \"value\": 2}", true},
        {"{\"path\": \"data.price\", \"op\": \"gte\", \"value\": 2.5}", true},
        {"{\"path\": \"data.price\", \"op\": \"lt\", \"value\": 2.5}", false},
        {"{\"path\": \"data.price\", \"op\": \"lte\", \"value\": 2.5}", true},
        {"{\"path\": \"data.at\", \"op\": \"gt\", \"value\": \"2024-04-30\"}", true},
        {"{\"path\": \"data.name\", \"op\": \"gt\", \"value\": 1}", false},
        {"{\"path\": \"data.ok\", \"op\": \"gt\", \"value\": 0}", false},
        {"{\"path\": \"data.ok\", \"op\": \"eq\", \"value\": true}", true},
        {"{\"path\": \"data.name\", \"op\": \"in\", \"value\": [\"Bob\", \"Ann\"]}", true},
        {"{\"path\": \"data.name\", \"op\": \"!in\", \"value\": [\"Bob\"]}", true},
        {"{\"path\": \"data.missing\", \"op\": \"in\", \"value\": [null]}", false},
        {"{\"path\": \"data.list.1.id\", \"op\": \"eq\", \"value\": \"b\"}", true},
        {"{\"path\": \"data.list.2.id\", \"op\": \"exists\"}", false},
        {"{\"path\": \"data.list.x\", \"op\": \"exists\"}", false},
        {"{\"path\": \"data.in.deep.er\", \"op\": \"exists\"}", false},
        {"{\"path\": \"data.name\", \"op\": \"changed\"}", true},
        {"{\"path\": \"name\", \"op\": \"changed\"}", true},
        {"{\"path\": \"data.n\", \"op\": \"changed\"}", false},
        {"{\"path\": \"type\", \"op\": \"eq\", \"value\": \"t.updated\"}", true},
    };
    const struct wharf_json *body = unit_json(*state, body_text);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct wharf_json *one = unit_json(
            *state, arena_printf(*state, "[%s]", cases[i].condition).p);

        assert_null(match_condition_problem(&host_json, json_at(one, 0)));
        if (match_filter(&host_json, one, body) != cases[i].holds)
            fail_msg("%s", cases[i].condition);
    }
    assert_true(match_filter(&host_json, NULL, body));
    assert_false(match_filter(&host_json,
        unit_json(*state, "[{\"path\": \"data.ok\", \"op\": \"exists\"}, {\"path\": \"data.no\", "
                          "\"op\": \"exists\"}]"),
        body));
}

static void test_locations(void **state)
{
    const struct wharf_json *list = unit_json(*state, "[\"loc_a\", \"loc_b\"]");

    assert_true(match_location(&host_json, list, str_z("loc_b")));
    assert_false(match_location(&host_json, list, str_z("loc_c")));
    assert_false(match_location(&host_json, list, str_z("")));
    assert_true(match_location(&host_json, NULL, str_z("")));
}

static void test_signature(void **state)
{
    static const char secret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                      id[] = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    static const char body[] = "{\"test\": 2432232314}",
                      want[] = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    wharf_str secrets[2] = {str_z(secret), str_z(secret)};
    char out[200], fresh[SIGNATURE_SECRET_TEXT];
    size_t n = signature_make(secrets, 1, str_z(id), 1614265330, str_z(body), out, sizeof(out));

    (void)state;
    assert_int_equal(n, strlen(want));
    assert_memory_equal(out, want, n);
    n = signature_make(secrets, 2, str_z(id), 1614265330, str_z(body), out, sizeof(out));
    assert_int_equal(n, 2 * strlen(want) + 1);
    assert_int_equal(signature_make(secrets, 2, str_z(id), 1, str_z(body), out, 50), 0);
    assert_int_equal(signature_check(secrets[0], str_z(id), str_z("1614265330"), str_z(want),
                         str_z(body), 1614265330 + 300, 300),
        SIGNATURE_GOOD);
    assert_int_equal(signature_check(secrets[0], str_z(id), str_z("1614265330"), str_z(want),
                         str_z(body), 1614265330 + 301, 300),
        SIGNATURE_LATE);
    assert_int_equal(signature_check(secrets[0], str_z(id), str_z("1614265330"), str_z(want),
                         str_z(body), 1614265330 - 301, 300),
        SIGNATURE_LATE);
    assert_int_equal(signature_check(secrets[0], str_z(id), str_z("1614265331"), str_z(want),
                         str_z(body), 1614265330, 300),
        SIGNATURE_WRONG);
    assert_int_equal(
        signature_check(secrets[0], str_z(id), str_z("x"), str_z(want), str_z(body), 0, 0),
        SIGNATURE_MALFORMED);
    assert_int_equal(signature_check(secrets[0], str_z(id), str_z("1614265330"),
                         arena_printf(*state, "v1a,zzz v1,short %s", want), str_z(body), 0, 0),
        SIGNATURE_GOOD);
    signature_secret(fresh);
    assert_true(signature_secret_valid(str_z(fresh)) && strlen(fresh) == 6 + 44);
    assert_false(signature_secret_valid(str_z("whsec_")) ||
                 signature_secret_valid(str_z("whsec_AAAA")) || signature_secret_valid(str_z("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_pauses), UNIT(test_later_and_directives),
        UNIT(test_dates), UNIT(test_schedules), UNIT(test_filters), UNIT(test_locations),
        UNIT(test_signature)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
