/* cron.h - schedules of five fields, and when they are due in a time zone
 * (docs/spec/08-workflows-and-lua.md section 3). Pure, no allocation.
 *
 * Fields: minute, hour, day of month, month, day of week; each `*`, or a list of numbers and
 * ranges, with steps behind `*` and ranges (0-30/10); months and days have names of three
 * letters in any case, Sunday is 0 or 7. Or @hourly, @daily, @weekly, @monthly, @yearly. Days:
 * when both fields say something else than `*`, also with a step, one of them must match; else
 * both.
 *
 * A local time that a clock change skips is due at the first minute after it, once for all that
 * are skipped; one that comes twice, at the first. */
#ifndef WHARF_UTIL_CRON_H
#define WHARF_UTIL_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

struct cron {
    uint64_t minutes; /* bit n: n is among them */
    uint32_t hours, days, months, weekdays;
    bool any_day, any_weekday; /* the field begins with a star */
};

/* Parses a schedule. Returns false when it is wrong; *ret_problem tells why, a sentence without a
 * point at its end. Schedules that are never due are refused too. */
bool cron_parse(wharf_str text, struct cron *ret_cron, const char **ret_problem);
/* Returns NULL when there is such a schedule, and such a zone ("" and "UTC" too); else why not, a
 * sentence without a point at its end. It is not pure: it reads the zone's file. */
const char *cron_problem(wharf_str text, wharf_str zone);
/* Returns the first moment after `after` at which it is due, in seconds since 1970. zone: bytes of
 * a zone's file (util/zone.h); none: UTC. */
int64_t cron_next(const struct cron *c, const void *zone, size_t n, int64_t after);
/* Returns the last moment up to `at` at which it was due; INT64_MIN when it was not in the 40
 * years before. */
int64_t cron_last(const struct cron *c, const void *zone, size_t n, int64_t at);

#endif
