/* fuzz_serve.c - Range headers, names and types of files: what is answered lies inside the file,
 * and no header has a line end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_serve.h"
#include "mail/message.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static bool printable(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] > '~')
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t sizes[] = {0, 1, 100, UINT64_C(1) << 40};
    struct arena *a = arena_new(0);
    wharf_str text = arena_dup(a, (const char *)data, size);
    uint64_t first, length;
    bool active;

    for (size_t i = 0; i < 4; i++) {
        enum range_kind kind = range_read(text.p, sizes[i], &first, &length);

        must(kind != RANGE_PART || (length > 0 && first < sizes[i] && length <= sizes[i] - first),
            "parts lie inside");
        must(kind != RANGE_ALL || (first == 0 && length == sizes[i]), "the whole is the whole");
    }
    must(printable(content_disposition(a, text, true)), "names stay in their header");
    must(printable(served_type(a, text, &active)), "types stay in their header");
    must(!mail_address_valid(text) || printable(text), "addresses stay in their header");
    arena_free(a);
    return 0;
}
