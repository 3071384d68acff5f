/* carrier_checks.h - check digits of tracking numbers (docs/spec/03-shipments-and-trackers.md
 * section 9.2). Pure functions over ASCII. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdbool.h>
#include <stddef.h>

enum check_name {
    CHECK_NONE,
    CHECK_MOD10,
    CHECK_LUHN,
    CHECK_MOD7,
    CHECK_W11,
    CHECK_S10,
    CHECK_MOD37_36,
    CHECK_COUNT
};
enum { CHECK_PARAMS = 16, CHECK_SERIAL = 64 };

struct check {
    enum check_name name;
    int params[CHECK_PARAMS]; /* the two factors of mod10, the weights of w11 and s10 */
    size_t n_params;
};

/* Finds a check by its name ("mod10", "luhn", ...). Returns CHECK_NONE when there is none. */
enum check_name check_find(const char *name, size_t n);
/* Tells whether there are as many params as the check and a serial of this length need. */
bool check_fits(const struct check *c, size_t serial);
/* Returns the check character of a serial; 0 when it has characters or a length that the check is
 * not made for. */
char check_character(const struct check *c, const char *serial, size_t n);

#endif
