/* job_policy.c - policies of jobs: what is accepted, what is refused and with which words; waits
 * between tries; names. */
#include "worker/kernel_part.h"
#include "unit.h"

#include "job/job.h"
#include "host/declare.h"

struct reported {
    struct buf text;
};

static void note(void *arg, wharf_str message)
{
    struct reported *t = arg;

    buf_adds(&t->text, message);
    buf_addc(&t->text, '\n');
}

static bool read_policy(struct arena *a, const char *text, struct job_policy *p, struct reported *t)
{
    buf_init(&t->text, 1 << 16);
    return job_policy_read(a, "mail", str_z(text), p, note, t);
}

static void defaults(void **state)
{
    struct job_policy p, q;
    struct reported t;

    assert_true(read_policy(*state, "", &p, &t));
    assert_true(read_policy(*state, "{}", &q, &t));
    assert_memory_equal(&p, &q, sizeof(p));
    assert_int_equal(p.retries, 8);
    assert_int_equal(p.first_us, 5000000);
    assert_int_equal(p.max_us, 3600000000);
    assert_true(p.jitter && !p.own_transactions && !p.each_organization && !p.background);
    assert_int_equal(p.timeout_us, 300000000);
    assert_int_equal(p.every_us, 0);
    assert_int_equal(p.at_minute, -1);
    assert_int_equal(p.crashes, 2);
    assert_int_equal(p.keep_s, 0);
    assert_int_equal(p.keep_parked_s, 90 * 86400);
}

static void every_member(void **state)
{
    struct job_policy p;
    struct reported t;

    assert_true(read_policy(*state,
        "{\"retries\": 0, \"backoff\": {\"first\": \"500ms\", \"factor\": 1.5, \"max\": \"2m\", "
        "\"jitter\": false}, \"timeout\": \"6h\", \"at\": \"23:59\", \"for\": \"organizations\", "
        "\"lane\": \"web.hooks_1\", \"concurrency\": 2, \"crashes\": 9, \"priority\": -100, "
        "\"keep\": \"7d\", \"keep_parked\": \"1h\", \"transaction\": \"own\", \"background\": "
        "true}",
        &p, &t));
    assert_int_equal(p.retries, 0);
    assert_int_equal(p.first_us, 500000);
    assert_int_equal(p.max_us, 120000000);
    assert_true(p.factor > 1.49 && p.factor < 1.51 && !p.jitter);
    assert_int_equal(p.timeout_us, 6 * 3600000000LL);
    assert_int_equal(p.at_minute, 23 * 60 + 59);
    assert_true(p.each_organization && p.own_transactions && p.background);
    assert_string_equal(p.lane, "web.hooks_1");
    assert_int_equal(p.concurrency, 2);
    assert_int_equal(p.priority, -100);
    assert_int_equal(p.crashes, 9);
    assert_int_equal(p.keep_s, 7 * 86400);
    assert_int_equal(p.keep_parked_s, 3600);
    assert_true(read_policy(*state, "{\"every\": \"90s\"}", &p, &t));
    assert_int_equal(p.every_us, 90000000);
}

static void refusals(void **state)
{
    static const struct {
        const char *policy, *says;
    } cases[] = {
        {"{\"retires\": 3}",
            "job mail: \"retires\" is not known; a policy has retries, backoff, timeout, every"},
        {"{\"retries\": -1}", "job mail: \"retries\" needs a whole number from 0 to 1000"},
        {"{\"retries\": \"3\"}", "\"retries\" needs a whole number"},
        {"{\"retries\": 1.5}", "\"retries\" needs a whole number"},
        {"{\"backoff\": 5}", "\"backoff\" needs an object of first, factor, max, jitter"},
        {"{\"backoff\": {\"frist\": \"5s\"}}", "\"backoff.frist\" is not known"},
        {"{\"backoff\": {\"first\": \"5 s\"}}", "\"backoff.first\" needs a duration such as"},
        {"{\"backoff\": {\"first\": 5}}", "\"backoff.first\" needs a duration such as"},
        {"{\"backoff\": {\"first\": \"2h\"}}", "\"backoff.max\" is shorter than \"backoff.first\""},
        {"{\"backoff\": {\"factor\": 0.5}}", "\"backoff.factor\" needs a number from 1 to 100"},
        {"{\"backoff\": {\"jitter\": 1}}", "\"backoff.jitter\" needs true or false"},
        {"{\"timeout\": \"10ms\"}", "\"timeout\" needs a duration such as"},
        {"{\"timeout\": \"99999d\"}", "\"timeout\" needs a duration such as"},
        {"{\"timeout\": \"s\"}", "\"timeout\" needs a duration such as"},
        {"{\"every\": \"1w\"}", "\"every\" needs a duration such as"},
        {"{\"at\": \"24:00\"}", "\"at\" needs a time of day in UTC"},
        {"{\"at\": \"3:00\"}", "\"at\" needs a time of day in UTC"},
        {"{\"at\": \"03:60\"}", "\"at\" needs a time of day in UTC"},
        {"{\"at\": \"0x:00\"}", "\"at\" needs a time of day in UTC"},
        {"{\"at\": 3}", "\"at\" needs a time of day in UTC"},
        {"{\"every\": \"1h\", \"at\": \"03:00\"}",
            "\"every\" and \"at\" are two ways to say when; use one"},
        {"{\"for\": \"everybody\", \"every\": \"1h\"}",
            "\"for\" needs \"installation\" or \"organizations\""},
        {"{\"for\": \"organizations\"}",
            "\"for\" says for whom a period is; it needs \"every\" or \"at\""},
        {"{\"lane\": \"A\"}", "\"lane\" needs a name of a-z"},
        {"{\"lane\": \"\"}", "\"lane\" needs a name of a-z"},
        {"{\"concurrency\": 0}", "\"concurrency\" needs a whole number from 1 to 1000"},
        {"{\"crashes\": 0}", "\"crashes\" needs a whole number from 1 to 1000000"},
        {"{\"priority\": 101}", "\"priority\" needs a whole number from -100 to 100"},
        {"{\"keep\": \"0s\"}", "\"keep\" needs a duration such as"},
        {"{\"transaction\": true}", "\"transaction\" needs \"job\" or \"own\""},
        {"{\"background\": 1}", "\"background\" needs true or false"},
        {"{\"background\": true, \"resident\": true}",
            "\"background\" is for jobs that nobody waits for"},
        {"[]", "job mail: its policy is not a JSON object"},
        {"{", "job mail: its policy is not JSON: "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_policy p;
        struct reported t;

        assert_false(read_policy(*state, cases[i].policy, &p, &t));
        if (!strstr(t.text.p, cases[i].says))
            fail_msg("%s: %s", cases[i].policy, t.text.p);
        buf_done(&t.text);
    }
}

static void waits(void **state)
{
    struct job_policy p;
    struct reported t;

    assert_true(read_policy(*state,
        "{\"backoff\": {\"first\": \"1s\", \"factor\": 3, \"max\": \"10s\", \"jitter\": false}}",
        &p, &t));
    assert_int_equal(job_backoff_us(&p, 1, 0.9), 1000000);
    assert_int_equal(job_backoff_us(&p, 2, 0.9), 3000000);
    assert_int_equal(job_backoff_us(&p, 3, 0.9), 9000000);
    assert_int_equal(job_backoff_us(&p, 4, 0.9), 10000000);
    assert_int_equal(job_backoff_us(&p, 1000, 0.9), 10000000);
    p.jitter = true;
    assert_int_equal(job_backoff_us(&p, 1, 0), 500000);
    assert_int_equal(job_backoff_us(&p, 1, 0.5), 750000);
}

static wharf_status nothing(wharf_req *req, void *arg)
{
    (void)req, (void)arg;
    return WHARF_OK;
}

static void declared(void **state)
{
    static const struct part *const parts[] = {&kernel_part};
    struct plugin plugin = {.name = "mailer"};
    struct engine e = {.arena = *state};
    struct wharf_decl d;
    struct buf problems;

    buf_init(&problems, 1 << 16);
    declare_init(&d, &e, &problems);
    parts_set(parts, 1);
    parts_jobs(&d);
    d.plugin = &plugin;
    job_declare(&d, "send", nothing, NULL, str_z("{\"retries\": 2}"));
    job_declare(&d, "sen", nothing, NULL, str_z(""));
    assert_int_equal(problems.n, 0);
    declare_finish(&d);
    assert_int_equal(job_kind_find(&e, str_z("mailer.send"))->policy.retries, 2);
    assert_string_equal(job_kind_find(&e, str_z("mailer.sen"))->name, "mailer.sen");
    assert_null(job_kind_find(&e, str_z("mailer.se")));
    assert_null(job_kind_find(&e, str_z("mailer.sends")));
    assert_null(job_kind_find(&e, str_z("")));
    assert_non_null(job_kind_find(&e, str_z("wharf.tidy_jobs")));
    job_declare(&d, "send", nothing, NULL, str_z(""));
    assert_string_equal(problems.p, "mailer: job send is declared twice\n");
    buf_clear(&problems);
    job_declare(&d, "Send it", nothing, NULL, str_z(""));
    assert_non_null(strstr(problems.p,
        "mailer: job Send it needs a name of 1 to 30 characters a-z, 0-9, _, and a handler"));
    buf_clear(&problems);
    job_declare(&d, "other", nothing, NULL, str_z("{\"retires\": 1}"));
    assert_non_null(strstr(problems.p, "mailer: job other: \"retires\" is not known"));
    buf_done(&problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(defaults),
        UNIT(every_member),
        UNIT(refusals),
        UNIT(waits),
        UNIT(declared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
