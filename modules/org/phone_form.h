/* phone_form.h - what is kept of a phone number as people write it.
 *
 * Pure: asks neither a database nor a request. docs/spec/02-places-and-people.md section 4. */
#ifndef WHARF_ORG_PHONE_FORM_H
#define WHARF_ORG_PHONE_FORM_H

#include <stdbool.h>

#include "wharf/plugin.h"

enum { PHONE_ROOM = 33 }; /* what a column of phones takes, and a NUL */

/* Writes the form of text: "+4930901820", or digits when nobody can say which country they are of;
 * an extension stands behind them as ";ext=12". country: of the organization, two letters. Returns
 * false for what is no phone, and for a number of a country that gives no such numbers. [any] */
bool phone_kept(wharf_str country, wharf_str text, char out[PHONE_ROOM]);

#endif
