/* fuzz_jsonrows.c - JSON files: every row that comes out is an object that the strict reader
 * takes. */
#include <stdint.h>
#include <stdlib.h>

#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.format = IMPORT_JSON};
    struct import_row row;
    struct arena *a = arena_new(0);
    struct import *in = import_open(-1, (const char *)data, size, &options);
    enum import_event event;
    struct json_error e;
    uint64_t last = 0;

    while ((event = import_next(in, &row)) == IMPORT_ROW) {
        if (!json_is(json_parse(a, import_json(in, &row), &e), JSON_OBJECT) || row.row < last ||
            row.row == 0)
            abort();
        last = row.row;
        arena_reset(a);
    }
    if (event == IMPORT_FAILED && (!import_problem(in) || !import_problem(in)->message[0]))
        abort();
    import_close(in);
    arena_free(a);
    return 0;
}
