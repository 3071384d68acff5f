/* phone_number.h - what a text says as a phone number: libphonenumber, which knows the plans of
 * all countries, behind an interface of C.
 *
 * Which texts are asked, and what is kept of them, is phone_form.c's.
 * docs/spec/02-places-and-people.md section 4 (phone). */
#ifndef WHARF_ORG_PHONE_NUMBER_H
#define WHARF_ORG_PHONE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PHONE_E164 = 20 };

struct phone_number {
    char e164[PHONE_E164]; /* "+493012345" */
    bool possible; /* it has as many digits as its country gives */
    bool valid; /* it lies in a range that its country gives out */
};

/* Reads n bytes of text. country: where a number without '+' is called from, two capital letters.
 * Returns false when it is no number of a known country. [any] */
bool phone_number_read(const char *text, size_t n, const char *country, struct phone_number *ret);

#ifdef __cplusplus
}
#endif
#endif
