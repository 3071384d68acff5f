/* zone.h - civil time and the rules of time zones, read straight from the bytes of a TZif file
 * (RFC 8536). Pure, no allocation.
 *
 * Times are seconds since 1970 UTC; years are those of the proleptic Gregorian calendar, 1 to
 * 9999 in texts. */
#ifndef WHARF_UTIL_ZONE_H
#define WHARF_UTIL_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct civil {
    int64_t year;
    int month, day, hour, minute, second; /* 1-12, 1-31 */
    int weekday, yearday; /* 0 Sunday; 0 = 1 January; told by civil_of, not read by civil_seconds */
};

struct civil civil_of(int64_t s);
/* Computes the seconds of a civil time. Members may be out of range: month 14 is February of the
 * next year. */
int64_t civil_seconds(const struct civil *c);

struct zone_offset {
    int32_t east; /* seconds to add to UTC */
    char name[8]; /* "CEST" */
};

/* Tells whether the name can be one of the system's database: letters, digits, + - _ and / in the
 * middle, no dots. "UTC" too. */
bool zone_name_good(const char *name);
/* Reads the file of a zone of the system's database: its bytes, 0 when there is none or it is
 * larger than size. Not pure. */
size_t zone_read(const char *name, char *bytes, size_t size);
enum { ZONE_BYTES_MAX = 64 << 10 };
/* Finds the offset that holds at s. Returns false when the bytes are no TZif file. */
bool zone_at(const void *bytes, size_t n, int64_t s, struct zone_offset *ret_offset);
/* Finds the moment at which a clock there shows local (civil_seconds of what it shows). Shown
 * twice: the first. Never shown (skipped): the moment of the change, and *ret_skipped. */
bool zone_moment(const void *bytes, size_t n, int64_t local, int64_t *ret_s, bool *ret_skipped);

#endif
