/* exact.h - exact decimals of quantities, conversion factors and sizes of units.
 *
 * docs/spec/09-items-and-assembly.md section 2. A decimal is a whole number of 10^-scale. Nothing
 * here is rounded but where it is said, and then once, half away from zero. Pure: no server, no
 * memory of its own. */
#ifndef EXACT_H
#define EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 exact;

enum {
    QUANTITY_SCALE = 4,
    FACTOR_SCALE = 10, /* of conversion factors */
    UNIT_SCALE = 14, /* of sizes of units */
    EXACT_TEXT = 48 /* bytes that any decimal's text fits into, with its NUL */
};
#define QUANTITY_ONE INT64_C(10000)
#define QUANTITY_MAX INT64_C(999999999999999) /* 99,999,999,999.9999 */
#define FACTOR_MAX   ((exact)1000000000000 * 100000000) /* numeric(20,10): below 10^10 */

enum exact_problem {
    EXACT_OK,
    EXACT_NO_NUMBER, /* not the text of a decimal number */
    EXACT_DIGITS, /* more digits behind the point than the scale */
    EXACT_LARGE /* more than the type holds, or than the limit */
};

/* Reads a decimal of n bytes, with sign and exponent or without. Zeros at the end of the fraction
 * don't count. */
enum exact_problem exact_read(const char *p, size_t n, unsigned scale, exact *ret);
/* Reads a quantity, -QUANTITY_MAX to QUANTITY_MAX. More than 15 significant digits, which a binary
 * number of a client may have behind what was meant, are rounded to 15 first. */
enum exact_problem quantity_read(const char *p, size_t n, int64_t *ret);
/* Writes a decimal without exponent and without zeros at its end. Returns its length. */
size_t exact_write(exact v, unsigned scale, char out[EXACT_TEXT]);
/* Multiplies a quantity with a factor of FACTOR_SCALE, rounded to a quantity; what is not zero
 * does not become zero. Returns false beyond QUANTITY_MAX. */
bool quantity_times(int64_t quantity, exact factor, int64_t *ret);
/* Tells whether the product is a whole number. */
bool product_is_whole(int64_t quantity, exact factor);
/* Divides two sizes of units, the second of which is above zero, to a factor. Returns false when
 * it is zero or above FACTOR_MAX. */
bool factor_of_units(exact size, exact base, exact *ret);

/* Divides a times b by c. a is 0 or more and fits 63 bits, b is 0 or more, c is above zero; b and
 * c are below 2^124. Returns the whole part, at most EXACT_SHARE_MAX, of which *ret_rest, if it
 * is not NULL, is what is left: below c. */
#define EXACT_SHARE_MAX (((exact)1) << 120)
exact exact_share(int64_t a, exact b, exact c, exact *ret_rest);
/* Returns the greatest common divisor; a and b are above zero. */
exact exact_common(exact a, exact b);

static inline bool quantity_is_whole(int64_t quantity)
{
    return quantity % QUANTITY_ONE == 0;
}

#endif
