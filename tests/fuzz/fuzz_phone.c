/* fuzz_phone.c - phone numbers as people write them (modules/org/phone_form.h). The first two
 * bytes are the country. */
#include <stdlib.h>
#include <string.h>

#include "phone_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char out[PHONE_ROOM], again[PHONE_ROOM];
    wharf_str country = {(const char *)data, 2}, text = {(const char *)data + 2, size - 2};

    if (size < 2 || !phone_kept(country, text, out))
        return 0;
    if (!phone_kept(country, (wharf_str){out, strlen(out)}, again) || strcmp(out, again) != 0)
        abort();
    return 0;
}
