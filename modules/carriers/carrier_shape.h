/* carrier_shape.h - POSIX extended regular expressions over short texts of ASCII, compiled once
 * and matched in linear time.
 *
 * For the shapes of tracking numbers (spec 03 section 9.3), which come from data files and from
 * settings of organizations. Taken: characters, [sets] with ranges, ( ), |, * + ? {n} {n,} {n,m}. A
 * pattern always means the whole text. Leaves check digits to carrier_checks.c. */
#ifndef SHAPE_H
#define SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PATTERN_POSITIONS = 256, /* places of a pattern */
    PATTERN_TEXT = 200,
    PATTERN_SUBJECT = 64,
    PATTERN_SYMBOLS = 128
};

struct positions { /* a set of places in the pattern, one per character that it can take */
    uint64_t w[PATTERN_POSITIONS / 64];
};

struct shape {
    struct positions *takes; /* PATTERN_SYMBOLS: the places that take a character */
    struct positions *follow; /* by place: where it can go on */
    struct positions first, last;
    uint32_t n; /* places */
    uint32_t least, most; /* length of what matches */
    bool nothing; /* takes the empty text */
};

/* Allocates zeroed memory that lives as long as the shape; never returns NULL. */
typedef void *shape_alloc(void *arg, size_t bytes);

/* Compiles a pattern: n bytes of text, at most PATTERN_TEXT. Returns false when it is wrong;
 * *ret_why says what, in words for who wrote the pattern. */
bool shape_compile(const char *text, size_t n, shape_alloc *alloc, void *arg, struct shape *ret,
    const char **ret_why);
bool shape_match(const struct shape *shape, const char *subject, size_t n);

#endif
