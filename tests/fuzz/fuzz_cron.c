/* fuzz_cron.c - schedules: parsing never crashes; what is due next is what a walk over all
 * minutes finds. The first byte chooses zone and moment. */
#include <stdio.h>
#include <stdlib.h>

#include "util/cron.h"
#include "util/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static char zone[ZONE_BYTES_MAX];

/* Is this the first moment at which the clock shows a minute that matches? Clocks that skip are
 * left to the unit test. */
static bool due(const struct cron *c, size_t n, int64_t s)
{
    struct zone_offset o = {0};
    struct civil d;
    int64_t first = s;
    bool skipped = false, day, weekday;

    must(!n || zone_at(zone, n, s, &o), "a zone is one");
    d = civil_of(s + o.east);
    must(!n || zone_moment(zone, n, s + o.east, &first, &skipped), "a zone is one");
    day = c->days >> d.day & 1;
    weekday = c->weekdays >> d.weekday & 1;
    return first == s && c->minutes >> d.minute & 1 && c->hours >> d.hour & 1 &&
           c->months >> d.month & 1 &&
           (c->any_day || c->any_weekday ? day && weekday : day || weekday);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        NULL, "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"};
    /* the days before clocks change there, and others */
    static const int64_t moments[] = {
        1774648800, 1792879200, 1772928000, 1793491200, 1790985600, 1767225600};
    const char *problem = NULL, *name;
    struct cron c;
    char *text;
    size_t n;
    int64_t after, next;

    if (!size)
        return 0;
    name = names[data[0] & 3];
    after = moments[(data[0] >> 2) % 6];
    text = malloc(size);
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    n = name ? zone_read(name, zone, sizeof(zone)) : 0;
    if (!cron_parse((wharf_str){text, size - 1}, &c, &problem)) {
        must(problem && *problem, "a refusal has a reason");
        free(text);
        return 0;
    }
    next = cron_next(&c, n ? zone : NULL, n, after);
    must(next > after && next != INT64_MAX && next % 60 == 0, "it is due one day, at a minute");
    must(cron_last(&c, n ? zone : NULL, n, next) == next, "then it was due then");
    for (int64_t s = after + 60; s < next && s < after + 2 * 86400; s += 60)
        must(!due(&c, n, s), "nothing is left out");
    free(text);
    return 0;
}
