/* wharf/civil.h - dates of the Gregorian calendar and days since 1970-01-01. For modules, for the
 * server and for its cells; header only, [any], nothing of it is ABI.
 *
 * The calendar goes on before it was introduced (proleptic), and years may be 0 or less. */
#ifndef WHARF_CIVIL_H
#define WHARF_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

/* Tells whether the year has a 29 February. */
static inline bool wharf_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Returns the days of a month, 1-12. */
static inline int wharf_days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && wharf_leap_year(year));
}

/* Tells whether there is such a day. */
static inline bool wharf_date_good(int64_t year, int64_t month, int64_t day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= wharf_days_in_month(year, (int)month);
}

/* Computes the days since 1970-01-01. month 1-12; day may be any number: 0 is the last day of the
 * month before.
 *
 * A year begins with March here, so that the leap day is its last one; eras of 400 years have the
 * same number of days each (Howard Hinnant, days_from_civil). */
static inline int64_t wharf_days_of(int64_t year, int month, int64_t day)
{
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Computes the date of so many days since 1970-01-01. */
static inline void wharf_date_of(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    *ret_day = (int)(of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
    *ret_year = year + era * 400 + (*ret_month <= 2);
}

#endif
