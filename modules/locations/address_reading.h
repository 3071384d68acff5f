/* address_reading.h - an address as one country would read it (spec 02 section 1). */
#ifndef ADDRESS_READING_H
#define ADDRESS_READING_H

#include "address_parse.h"

/* Tells who says that the address is of the country of the form. */
enum address_told { TOLD_BY_FORM, TOLD_BY_DEFAULT, TOLD_BY_TEXT };

struct reading {
    const struct words *t;
    const struct address_form *f;
    enum address_told told;
    size_t lo; /* words before it are taken */
    size_t hi; /* the words of the address end there: behind is the country */
    size_t end; /* where what stands before the postal code ends */
    int score; /* higher: more is understood. 0: nothing */
    bool sure; /* the form of the postal code is of this country alone */
    uint8_t state_kind; /* enum address_kind */
    struct span city, state, postal;
    uint8_t marks[ADDRESS_WORDS];
};

/* Reads words 0 to hi after the form r->f; of r only t, f, told, hi, marks and, when the country
 * stands before it, postal are set. */
void reading_make(struct reading *r);

#endif
