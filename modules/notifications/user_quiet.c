/* user_quiet.c - quiet hours of users (spec 07 section 16.2 rule 5): by the calendar code of
 * schedules, so that what a change of clocks skips or shows twice is told once. */
#include <stdio.h>

#include "user_push.h"

/* Makes the schedule of a time of each day: "22:00" is "00 22 * * *". */
static bool schedule_of(const wharf_json *hours, const char *name, char ret[16])
{
    wharf_str time = json_text(hours, name);

    return time.n == 5 && snprintf(ret, 16, "%.2s %.2s * * *", time.p + 3, time.p) < 16;
}

int64_t quiet_end(const wharf_json *hours, int64_t now_us)
{
    wharf_str zone = json_text(hours, "time_zone");
    int64_t began, ended, end;
    char from[16], to[16];

    if (!hours || W->json->type(hours) != WHARF_J_OBJECT || !schedule_of(hours, "from", from) ||
        !schedule_of(hours, "to", to) || !push_cron->last(z(from), zone, now_us, &began) ||
        !push_cron->next(z(to), zone, now_us, &end))
        return now_us;
    if (push_cron->last(z(to), zone, now_us, &ended) && ended >= began)
        return now_us;
    return end;
}
