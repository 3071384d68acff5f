/* location_address.h - the address value object (spec 02 section 1). */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "locations.h"

struct country {
    char code[3], code3[4];
    const char *name;
};
struct state {
    char country[3], code[3];
    const char *name;
};
struct country_word {
    const char *name, *code;
};
extern const struct country countries[];
extern const size_t countries_count;
extern const struct country_word country_words[];
extern const size_t country_words_count;
extern const struct state states[];
extern const size_t states_count;

enum { ADDRESS_TEXT = 512 };

struct address { /* empty: null */
    wharf_str line1, line2, city, state, postal_code, country_code;
};

/* Finds a country by a name, ISO-2 or ISO-3 code, in any case. Returns NULL when there is none. */
const struct country *country_find(wharf_str text);
const struct state *state_find(wharf_str country_code, wharf_str text);
bool postal_fits(wharf_str country_code, wharf_str text);
/* Splits one string on commas after the rules of spec 02 section 1; never fails. country: the
 * organization's. */
void read_address(wharf_req *req, wharf_str text, wharf_str country, struct address *ret);
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
