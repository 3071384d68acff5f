/* address_tables.h - countries, their states and the forms of their addresses (spec 02 section 1),
 * as address_tables.py makes them of schemas/countries.json, address-forms.json and
 * address-cities.json. */
#ifndef ADDRESS_TABLES_H
#define ADDRESS_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct country {
    char code[3], code3[4];
    const char *name;
};
struct state {
    char country[3], code[4];
    const char *name;
    uint16_t postal[2][2]; /* the first three digits of its postal codes: from, to; 0: none */
};
extern const struct country countries[];
extern const size_t countries_count;
extern const struct state address_states[];

/* The order is that of KINDS in address_tables.py. */
enum address_kind {
    ADDRESS_COUNTRY,
    ADDRESS_COUNTRY_CODE,
    ADDRESS_STATE, /* written with a code */
    ADDRESS_REGION, /* kept as written */
    ADDRESS_NATION, /* says no more than the country */
    ADDRESS_CITY,
    ADDRESS_CITY_END,
    ADDRESS_WARDS_OF, /* a city that has the name of its region, with wards */
    ADDRESS_PREFIX, /* D-10115 */
    ADDRESS_AFTER_CITY,
    ADDRESS_UNIT, /* with a number */
    ADDRESS_ALONE, /* a unit without a number */
    ADDRESS_NUMBER,
    ADDRESS_BOX,
    ADDRESS_CARE,
    ADDRESS_LABEL,
    ADDRESS_STREET, /* ends the name of a street */
    ADDRESS_STREET_FIRST,
    ADDRESS_DIRECTION,
    ADDRESS_JOINT /* within a name: de, upon */
};
#define ADDRESS_KIND(kind) (1u << (kind))

/* Where the postal code stands to the city. */
enum address_stands { ADDRESS_AFTER, ADDRESS_BEFORE, ADDRESS_EITHER };
enum { ADDRESS_PATTERNS = 8, ADDRESS_ANY = 0xffff };

struct address_form {
    char country[3]; /* "": every country without a form of its own */
    uint16_t base; /* whose words it has */
    uint8_t stands;
    bool sure_with_state; /* a state and a postal code tell the country */
    bool number_last; /* the house number stands behind the street */
    bool has_codes; /* states are written with codes */
    bool names_are_cities; /* states have codes; a name that is also a city's is the city */
    bool city_ends_part; /* a quarter may stand before the city without a comma */
    uint8_t sure; /* bits of the patterns that tell the country */
    /* a: letter, 9: digit, x: either, ' ' and '-': may be there; else itself */
    const char *postal[ADDRESS_PATTERNS];
};
extern const struct address_form address_forms[];
extern const size_t address_forms_count;

struct address_word {
    uint32_t hash, key; /* key: in address_keys, ended by a line break */
    uint8_t n, kind;
    uint16_t form, ref; /* form: ADDRESS_ANY for all. ref: the country or the state */
};
extern const struct address_word address_words[];
extern const uint16_t address_starts[4097]; /* by the first 12 bits of the hash */
extern const char address_keys[];
extern const char address_latin[0xc0][3]; /* U+00C0 to U+017F without case and marks */
extern const char *const address_street_ends[];

#endif
