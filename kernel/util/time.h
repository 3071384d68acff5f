/* time.h - instants as int64 microseconds since 1970 UTC, their texts, and the kernel clock.
 *
 * Texts follow docs/spec/01-platform.md sections 4.1 and 11.2. The kernel clock is the
 * database's clock sampled on start and each minute, moved by the monotonic clock, plus the test
 * offset (docs/decisions 9). */
#ifndef WHARF_UTIL_TIME_H
#define WHARF_UTIL_TIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/arena.h"
#include "wharf/plugin.h"

enum {
    ISO_MS_LEN = 24 /* "2024-01-02T03:04:05.678Z" */,
    HTTP_DATE_LEN = 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */
};

/* Reads the date value grammar of 01 section 11.2, complete: epoch seconds (1-11 digits),
 * milliseconds (12-14 digits), RFC 3339 with seconds, none or three fraction digits and an offset
 * ("-00:00" = UTC; ' ' instead of '+' when space_is_plus, for query strings; 23:59:60 UTC is the
 * next second). Returns false for anything else, e.g. a date only. */
bool time_parse(wharf_str s, bool space_is_plus, int64_t *ret_us);
/* Reads only the RFC 3339 part of the grammar. */
bool time_parse_iso(wharf_str s, bool space_is_plus, int64_t *ret_us);
/* Writes ISO_MS_LEN bytes and a NUL; milliseconds are cut, not rounded. Years 0001-9999. */
void time_format_iso(int64_t us, char out[ISO_MS_LEN + 1]);
/* Returns the same text, which lives in the arena. */
wharf_str time_iso(struct arena *a, int64_t us);
/* Writes the form of RFC 9110 section 5.6.7 (fixed length, GMT): HTTP_DATE_LEN bytes and a NUL. */
void time_format_http(int64_t us, char out[HTTP_DATE_LEN + 1]);
/* Reads PostgreSQL's text of timestamptz with DateStyle ISO and TimeZone UTC ("2024-01-02
 * 03:04:05.6+00"). */
bool time_parse_pg(wharf_str s, int64_t *ret_us);

int64_t clock_monotonic_us(void); /* [any] */
int64_t clock_now_us(void); /* [any] kernel clock */
/* Sets the kernel clock to the database's, unless it agrees already. database_us: what the
 * database's clock showed at some time between asked_us, of clock_monotonic_us(), and now; the
 * others as of clock_set_offset. Returns by how many microseconds the kernel clock was moved; 0 the
 * first time, when it was the machine's own. [any] */
int64_t clock_sync(int64_t database_us, int64_t asked_us, int64_t offset_s, int64_t change);
/* Returns by how much the machine's own clock is ahead of the database's, without the test
 * offset. [any] */
int64_t clock_ahead_us(void);
/* Returns the test offset in seconds; the processes of a machine share it once they share its
 * place (before threads start). [any] */
int64_t clock_offset_s(void);
/* Sets the test offset in seconds, within 100 years. change is its number in the database, from 1:
 * an offset with no higher number than the last is not taken. [any] */
void clock_set_offset(int64_t offset_s, int64_t change);
void clock_share_offset(_Atomic int64_t *place);

#endif
