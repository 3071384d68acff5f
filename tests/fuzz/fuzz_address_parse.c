/* fuzz_address_parse.c - addresses as people write them (modules/locations/address_parse.h). The
 * first two bytes are the organization's country. Each part lies in the text or in the room, and
 * no character of a text that was not understood is lost. */
#include <stdlib.h>
#include <string.h>

#include "address_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool within(wharf_str part, const char *p, size_t n)
{
    return !part.n || (part.p >= p && part.p + part.n <= p + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char room[ADDRESS_ROOM];
    wharf_str country = {(const char *)data, 2}, text = {(const char *)data + 2, size - 2};
    struct address a;

    if (size < 2)
        return 0;
    address_read(text, country, room, &a);
    if (a.country_code.n != 2 || !within(a.city, room, sizeof(room)) ||
        !within(a.state, room, sizeof(room)) || !within(a.postal_code, room, sizeof(room)) ||
        !within(a.line2, room, sizeof(room)) ||
        !(within(a.line1, room, sizeof(room)) || within(a.line1, text.p, text.n)))
        abort();
    if (!a.city.n && !a.state.n && !a.postal_code.n && a.country_code.p == country.p &&
        !within(a.line1, text.p, text.n))
        abort();
    return 0;
}
