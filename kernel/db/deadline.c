/* deadline.c - see deadline.h. */
#include "db/deadline.h"

#include <stdio.h>
#include <string.h>

#include "util/time.h"

static const char tell_sql[] = "SELECT set_config('statement_timeout', $1::text, true)";

bool deadline_over(const struct deadline *d)
{
    return d->until_us && clock_monotonic_us() >= d->until_us;
}

/* Returns the milliseconds that a statement may take now; 0: as many as it likes. */
static int64_t allowed_ms(const struct deadline *d)
{
    int64_t left_us, ms;

    if (!d->until_us)
        return d->usual_ms;
    left_us = d->until_us - clock_monotonic_us();
    ms = left_us > 1000 ? (left_us + 999) / 1000 : 1;
    return d->usual_ms && ms > d->usual_ms ? d->usual_ms : ms;
}

/* Tells whether the limit that was told is still right. It is a limit of each statement: one that
 * was right is too long some time later. */
static bool is_right(const struct deadline *d, int64_t ms)
{
    if (!d->reported_ms)
        return ms == d->usual_ms;
    return d->reported_ms != DEADLINE_UNKNOWN && ms && d->reported_ms >= ms &&
           d->reported_ms <= ms + DEADLINE_SLACK_MS;
}

bool deadline_tell(struct deadline *d, struct db_statement *ret)
{
    int64_t ms = allowed_ms(d);
    int n;

    if (is_right(d, ms))
        return false;
    n = snprintf(d->text, sizeof(d->text), "%lld", (long long)ms);
    d->arg = (struct sql_arg){d->text, (size_t)n};
    d->reported_ms = ms == d->usual_ms ? 0 : ms;
    d->reported = true;
    *ret = (struct db_statement){tell_sql, &d->arg, 1};
    return true;
}

void deadline_transaction(struct deadline *d)
{
    d->reported_ms = 0;
    d->reported = false;
}

void deadline_rolled_back(struct deadline *d)
{
    if (d->reported)
        d->reported_ms = DEADLINE_UNKNOWN;
}
