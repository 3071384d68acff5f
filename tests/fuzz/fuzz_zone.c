/* fuzz_zone.c - files of time zones: whatever they hold, offsets and moments are told or
 * refused, and a moment that is told shows the time that was asked for. */
#include <stdio.h>
#include <stdlib.h>

#include "util/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t when[] = {
        -5000000000, -1, 0, 1743296400, 1761440400, 2500000000, 4000000000, 253402300799};

    for (size_t i = 0; i < sizeof(when) / sizeof(when[0]); i++) {
        struct zone_offset o;
        int64_t s;
        bool skipped;

        if (!zone_at(data, size, when[i], &o))
            continue;
        if (zone_moment(data, size, when[i], &s, &skipped) && !skipped &&
            zone_at(data, size, s, &o) && s + o.east != when[i]) {
            fprintf(stderr, "not kept: the moment shows the local time\n");
            abort();
        }
    }
    return 0;
}
