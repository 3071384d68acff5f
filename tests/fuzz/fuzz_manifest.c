/* fuzz_manifest.c - a plugin file from outside: finding the note and reading the manifest never
 * leaves the bytes given. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new(0);
    /* its own allocation, so that the address sanitizer sees the end */
    unsigned char *image = malloc(size + !size);
    wharf_str text = {"", 0}, error = {NULL, 0};
    const char *why = NULL;

    memcpy(image, data, size);
    if (manifest_note(image, size, &text, &why)) {
        if ((const unsigned char *)text.p < image ||
            (const unsigned char *)text.p + text.n > image + size)
            abort();
        text = arena_dup_str(a, text);
    } else {
        if (!why)
            abort();
        /* the parser gets its share also when there is no ELF file around */
        text = arena_dup(a, (const char *)data, size);
    }
    if (!manifest_parse(a, "/x/dock_doors.so", text, &error) &&
        (!error.p || !strstr(error.p, "dock_doors.so")))
        abort();
    free(image);
    arena_free(a);
    return 0;
}
