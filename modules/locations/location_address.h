/* location_address.h - the address value object (spec 02 section 1). */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "address_parse.h"
#include "locations.h"

enum { ADDRESS_TEXT = 512 };

/* Makes the value object as JSON text. */
wharf_status address_json(wharf_req *req, const struct address *a, wharf_str *ret_json);
/* Reads the parts of a value object as it was stored or sent. */
void address_parts(const wharf_json *object, struct address *ret);

/* Implements address, address_in and remember of plugin-api/wharf/ext/locations.h. */
wharf_status address_take(wharf_req *req, const wharf_json *input, wharf_str line2,
    const char *path, wharf_str *ret_json);
wharf_status address_in(wharf_req *req, const wharf_json *input, wharf_str line2, wharf_str country,
    const char *path, wharf_str *ret_json);
wharf_status address_remember(wharf_req *req, const wharf_str *addresses, size_t n);

#endif
