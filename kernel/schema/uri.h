/* uri.h - is a text a URI of RFC 3986? Syntax only; what may be reached is another question
 * (net/). */
#ifndef WHARF_SCHEMA_URI_H
#define WHARF_SCHEMA_URI_H

#include "util/str.h"

bool uri_absolute(wharf_str s); /* with a scheme */
bool uri_reference(wharf_str s); /* or relative */

#endif
