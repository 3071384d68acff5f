/* items_book.h - random numbers, and schoolbook arithmetic on digits, against which the arithmetic
 * of modules/items is tested: it shares nothing with that. */
#ifndef ITEMS_BOOK_H
#define ITEMS_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

enum { DIGITS = 80 };

static uint64_t seed = 20250301;

static inline uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A whole number of up to `most` digits; small ones are as likely as large ones. */
static inline uint64_t number(unsigned most)
{
    unsigned digits = (unsigned)(next() % most) + 1;
    uint64_t v = 0;

    for (unsigned i = 0; i < digits; i++)
        v = 10 * v + next() % 10;
    return v;
}

/* ---- schoolbook: digits, the lowest first ---- */

struct book {
    unsigned char d[DIGITS];
};

static inline struct book book_of(exact v)
{
    struct book b = {0};

    for (size_t i = 0; v; i++, v /= 10)
        b.d[i] = (unsigned char)(v % 10);
    return b;
}

static inline struct book book_times(const struct book *x, const struct book *y)
{
    struct book b = {0};

    for (size_t i = 0; i < DIGITS / 2; i++) {
        unsigned carry = 0;

        for (size_t k = 0; k + i < DIGITS; k++) {
            unsigned v = b.d[i + k] + (k < DIGITS / 2 ? x->d[i] * y->d[k] : 0) + carry;

            b.d[i + k] = (unsigned char)(v % 10);
            carry = v / 10;
        }
    }
    return b;
}

static inline struct book book_plus(const struct book *x, const struct book *y)
{
    struct book b = {0};
    unsigned carry = 0;

    for (size_t i = 0; i < DIGITS; i++) {
        unsigned v = x->d[i] + y->d[i] + carry;

        b.d[i] = (unsigned char)(v % 10);
        carry = v / 10;
    }
    return b;
}

/* Drops the lowest digits, half upwards. */
static inline struct book book_round(const struct book *x, size_t drop)
{
    struct book b = {0};
    unsigned carry = drop && x->d[drop - 1] >= 5;

    for (size_t i = 0; i + drop < DIGITS; i++) {
        unsigned v = x->d[i + drop] + carry;

        b.d[i] = (unsigned char)(v % 10);
        carry = v / 10;
    }
    return b;
}

static inline int book_order(const struct book *x, const struct book *y)
{
    for (size_t i = DIGITS; i-- > 0;) {
        if (x->d[i] != y->d[i])
            return x->d[i] < y->d[i] ? -1 : 1;
    }
    return 0;
}

static inline bool book_zero(const struct book *x)
{
    const struct book none = {0};

    return !book_order(x, &none);
}

#endif
