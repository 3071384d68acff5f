/* policy.c - a job's policy: JSON text to numbers, checked to the last member. See job.h. */
#include "job/job.h"

#include "util/str.h"

enum { NAME_BYTES = 64 };
#define SECOND_US 1000000LL
#define DAY_US    (86400 * SECOND_US)

struct reading {
    struct arena *a;
    const char *job;
    struct job_policy *p;
    job_problem_fn *fn;
    void *arg;
    bool good;
};

static void policy_reported(struct reading *r, const char *fmt, ...) WHARF_PRINTF(2, 3);
static void policy_reported(struct reading *r, const char *fmt, ...)
{
    wharf_str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vprintf(r->a, fmt, ap);
    va_end(ap);
    r->fn(r->arg, arena_printf(r->a, "job %s: %s", r->job, text.p));
    r->good = false;
}

/* Reads "90s" as microseconds. Returns -1 when it is no duration. */
static int64_t duration(wharf_str s)
{
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = {{"ms", 1000}, {"s", SECOND_US}, {"m", 60 * SECOND_US}, {"h", 3600 * SECOND_US},
        {"d", DAY_US}};
    int64_t n = 0;
    size_t i = 0;

    for (; i < s.n && i < 9 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        n = n * 10 + (s.p[i] - '0');
    if (!i)
        return -1;
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        if (str_eqz((wharf_str){s.p + i, s.n - i}, units[u].unit))
            return n * units[u].us;
    }
    return -1;
}

static int64_t read_duration(
    struct reading *r, const char *member, const struct wharf_json *v, int64_t min_us)
{
    int64_t us = json_is(v, JSON_STRING) ? duration(v->text) : -1;

    if (us >= min_us && us <= 3660 * DAY_US)
        return us;
    policy_reported(r,
        "\"%s\" needs a duration such as \"500ms\", \"30s\", \"5m\", \"1h\" or \"7d\", of at least "
        "%lld ms",
        member, (long long)(min_us / 1000));
    return min_us;
}

static int policy_read_int(
    struct reading *r, const char *member, const struct wharf_json *v, int min, int max)
{
    int64_t i;

    if (json_int(v, &i) && i >= min && i <= max)
        return (int)i;
    policy_reported(r, "\"%s\" needs a whole number from %d to %d", member, min, max);
    return min;
}

static bool read_bool(struct reading *r, const char *member, const struct wharf_json *v)
{
    if (!json_is(v, JSON_BOOL))
        policy_reported(r, "\"%s\" needs true or false", member);
    return json_is(v, JSON_BOOL) && v->truth;
}

/* Reads one of two words. Returns true for the second word. */
static bool policy_read_word(struct reading *r, const char *member, const struct wharf_json *v,
    const char *no, const char *yes)
{
    bool second = json_is(v, JSON_STRING) && str_eqz(v->text, yes);

    if (!second && !(json_is(v, JSON_STRING) && str_eqz(v->text, no)))
        policy_reported(r, "\"%s\" needs \"%s\" or \"%s\"", member, no, yes);
    return second;
}

/* Reads a time of day such as "03:00" as minutes. */
static int read_minute(struct reading *r, const struct wharf_json *v)
{
    const char *p = json_is(v, JSON_STRING) && v->text.n == 5 ? v->text.p : "x";
    int hour, minute;

    for (size_t i = 0; *p != 'x' && i < 5; i++) {
        if (i == 2 ? p[i] != ':' : p[i] < '0' || p[i] > '9')
            p = "x";
    }
    if (*p != 'x') {
        hour = (p[0] - '0') * 10 + p[1] - '0';
        minute = (p[3] - '0') * 10 + p[4] - '0';
        if (hour < 24 && minute < 60)
            return hour * 60 + minute;
    }
    policy_reported(r, "\"at\" needs a time of day in UTC such as \"03:00\"");
    return 0;
}

static const char *read_lane(struct reading *r, const struct wharf_json *v)
{
    bool good = json_is(v, JSON_STRING) && v->text.n && v->text.n < NAME_BYTES;

    for (size_t i = 0; good && i < v->text.n; i++)
        good = strchr("abcdefghijklmnopqrstuvwxyz0123456789_.", v->text.p[i]) != NULL;
    if (good)
        return arena_dup_str(r->a, v->text).p;
    policy_reported(r, "\"lane\" needs a name of a-z, 0-9, _ and '.', of at most %d characters",
        NAME_BYTES - 1);
    return NULL;
}

static void read_backoff(struct reading *r, const struct wharf_json *object)
{
    if (!json_is(object, JSON_OBJECT)) {
        policy_reported(r, "\"backoff\" needs an object of first, factor, max, jitter");
        return;
    }
    for (const struct wharf_json *m = object->child; m; m = m->next) {
        if (str_eqz(m->key, "first"))
            r->p->first_us = read_duration(r, "backoff.first", m, 0);
        else if (str_eqz(m->key, "max"))
            r->p->max_us = read_duration(r, "backoff.max", m, 0);
        else if (str_eqz(m->key, "jitter"))
            r->p->jitter = read_bool(r, "backoff.jitter", m);
        else if (!str_eqz(m->key, "factor"))
            policy_reported(
                r, "\"backoff.%s\" is not known; there are first, factor, max, jitter", m->key.p);
        else if (json_is(m, JSON_NUMBER) && json_double(m) >= 1 && json_double(m) <= 100)
            r->p->factor = json_double(m);
        else
            policy_reported(r, "\"backoff.factor\" needs a number from 1 to 100");
    }
    if (r->p->max_us < r->p->first_us)
        policy_reported(r, "\"backoff.max\" is shorter than \"backoff.first\"");
}

/* Reads how often and how long. Returns false when it is not one of these members. */
static bool policy_read_limits(struct reading *r, const struct wharf_json *m)
{
    struct job_policy *p = r->p;

    if (str_eqz(m->key, "retries"))
        p->retries = policy_read_int(r, "retries", m, 0, 1000);
    else if (str_eqz(m->key, "backoff"))
        read_backoff(r, m);
    else if (str_eqz(m->key, "timeout"))
        p->timeout_us = read_duration(r, "timeout", m, SECOND_US);
    else if (str_eqz(m->key, "concurrency"))
        p->concurrency = policy_read_int(r, "concurrency", m, 1, 1000);
    else if (str_eqz(m->key, "crashes"))
        p->crashes = policy_read_int(r, "crashes", m, 1, 1000000);
    else if (str_eqz(m->key, "priority"))
        p->priority = policy_read_int(r, "priority", m, -100, 100);
    else if (str_eqz(m->key, "keep"))
        p->keep_s = read_duration(r, "keep", m, SECOND_US) / SECOND_US;
    else if (str_eqz(m->key, "keep_parked"))
        p->keep_parked_s = read_duration(r, "keep_parked", m, SECOND_US) / SECOND_US;
    else
        return false;
    return true;
}

static void read_member(struct reading *r, const struct wharf_json *m)
{
    struct job_policy *p = r->p;

    if (policy_read_limits(r, m))
        return;
    if (str_eqz(m->key, "every"))
        p->every_us = read_duration(r, "every", m, SECOND_US);
    else if (str_eqz(m->key, "at"))
        p->at_minute = read_minute(r, m);
    else if (str_eqz(m->key, "for"))
        p->each_organization = policy_read_word(r, "for", m, "installation", "organizations");
    else if (str_eqz(m->key, "lane"))
        p->lane = read_lane(r, m);
    else if (str_eqz(m->key, "transaction"))
        p->own_transactions = policy_read_word(r, "transaction", m, "job", "own");
    else if (str_eqz(m->key, "resident"))
        p->resident = read_bool(r, "resident", m);
    else if (str_eqz(m->key, "long"))
        p->is_long = read_bool(r, "long", m);
    else if (str_eqz(m->key, "background"))
        p->background = read_bool(r, "background", m);
    else
        policy_reported(r,
            "\"%s\" is not known; a policy has retries, backoff, timeout, every, at, for, lane, "
            "concurrency, crashes, priority, keep, keep_parked, transaction, resident, long, "
            "background",
            m->key.p);
}

bool job_policy_read(struct arena *a, const char *job, wharf_str text, struct job_policy *ret,
    job_problem_fn *fn, void *arg)
{
    struct reading r = {a, job, ret, fn, arg, true};
    const struct wharf_json *object;
    struct json_error e;

    *ret = (struct job_policy){.retries = 8,
        .first_us = 5 * SECOND_US, /* before the second try; doubled */
        .max_us = 3600 * SECOND_US, /* longest wait between tries */
        .factor = 2,
        .jitter = true,
        .timeout_us = 300 * SECOND_US, /* one run may take */
        .at_minute = -1,
        .crashes = 2,
        .keep_parked_s = 90 * 86400}; /* a job that failed for good is kept */
    if (!text.n)
        return true;
    object = json_parse(a, text, &e);
    if (!json_is(object, JSON_OBJECT)) {
        if (object)
            policy_reported(&r, "its policy is not a JSON object");
        else
            policy_reported(&r, "its policy is not JSON: %s at byte %zu", e.message, e.offset);
        return false;
    }
    for (const struct wharf_json *m = object->child; m; m = m->next)
        read_member(&r, m);
    if (ret->every_us && ret->at_minute >= 0)
        policy_reported(&r, "\"every\" and \"at\" are two ways to say when; use one");
    if (ret->resident && (ret->every_us || ret->at_minute >= 0))
        policy_reported(&r, "\"resident\" runs all the time; it has no \"every\" or \"at\"");
    if (ret->resident && ret->background)
        policy_reported(&r,
            "\"resident\" is there for whoever waits; \"background\" is for jobs that nobody "
            "waits for");
    if (ret->each_organization && !ret->every_us && ret->at_minute < 0)
        policy_reported(&r, "\"for\" says for whom a period is; it needs \"every\" or \"at\"");
    return r.good;
}

int64_t job_backoff_us(const struct job_policy *p, int attempts, double random01)
{
    double wait = (double)p->first_us;

    for (int i = 1; i < attempts && wait < (double)p->max_us; i++)
        wait *= p->factor;
    if (wait > (double)p->max_us)
        wait = (double)p->max_us;
    if (p->jitter)
        wait *= 0.5 + random01 / 2;
    return (int64_t)wait;
}
