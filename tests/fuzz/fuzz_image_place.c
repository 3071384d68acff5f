/* fuzz_image_place.c - photographs of strangers (modules/inference/image_place.h): nothing outside
 * of the file is read or written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *file = malloc(size ? size : 1); /* of that size: a sanitizer sees its ends */

    if (!file)
        abort();
    memcpy(file, data, size);
    image_place_blank(file, size);
    free(file);
    return 0;
}
