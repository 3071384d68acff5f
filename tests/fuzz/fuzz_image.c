/* fuzz_image.c - sizes of images: no crash, no endless walk, and what is found is a size that
 * the bytes can have. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_size.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *data;
    size_t size;
    unsigned reads;
};

static size_t read_bytes(void *arg, uint64_t at, unsigned char *out, size_t n)
{
    struct bytes *b = arg;

    b->reads++;
    if (at >= b->size)
        return 0;
    n = n < b->size - at ? n : (size_t)(b->size - at);
    memcpy(out, b->data + at, n);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = {data, size, 0};
    uint32_t width = 0, height = 0;
    bool found = image_size(read_bytes, &b, &width, &height);

    if (b.reads > 1001 || (found && (!width || !height))) {
        fprintf(stderr, "not kept: %u reads, %u x %u\n", b.reads, width, height);
        abort();
    }
    return 0;
}
