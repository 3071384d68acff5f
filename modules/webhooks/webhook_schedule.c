/* webhook_schedule.c - see webhook_schedule.h. */
#include "webhook_schedule.h"

#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static const int64_t balanced[] = {15 * SECOND, MINUTE, 3 * MINUTE, 8 * MINUTE};
static const int64_t fast[] = {2 * SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND};
static const int64_t slow[] = {MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR};

bool schedule_wait(wharf_str mode, uint32_t retries, double random, int64_t *ret_ms)
{
    const int64_t *waits = balanced;
    size_t n = sizeof(balanced) / sizeof(balanced[0]);

    if (mode.n == 4 && !memcmp(mode.p, "fast", 4)) {
        waits = fast;
        n = sizeof(fast) / sizeof(fast[0]);
    } else if (mode.n == 4 && !memcmp(mode.p, "slow", 4)) {
        waits = slow;
        n = sizeof(slow) / sizeof(slow[0]);
    }
    if (retries >= n)
        return false;
    *ret_ms = (int64_t)((double)waits[retries] * (0.9 + 0.2 * random));
    return true;
}
