/* fuzz_csv.c - CSV text of any encoding. Invariant: each cell lies in memory of its own, ends
 * with NUL and has none before; the JSON of a row can be read; a problem has a code and a
 * message. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(struct import *in, const struct import_row *row, struct arena *a)
{
    struct json_error e;
    wharf_str json = import_json(in, row);

    for (size_t i = 0; i < row->n_cells; i++)
        if (strlen(row->cells[i].p) != row->cells[i].n ||
            !utf8_valid(row->cells[i].p, row->cells[i].n))
            abort();
    /* the same key may not come twice, depths are those of the header */
    if (!json_parse(a, json, &e))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct import_field fields[] = {{"a", IMPORT_T_TEXT, 0}, {"b", IMPORT_T_NUMBER, 0},
        {"c", IMPORT_T_BOOL, 0}, {"d", IMPORT_T_LIST, IMPORT_T_NUMBER}, {"e", IMPORT_T_JSON, 0},
        {"f.g", IMPORT_T_TEXT, 0}, {"p.#.x", IMPORT_T_NUMBER, 0}, {"m.*", IMPORT_T_TEXT, 0}};
    struct import_options options = {.format = IMPORT_CSV, .fields = fields, .n_fields = 8};
    struct import_row row;
    struct arena *a = arena_new(0);
    struct import *in = import_open(-1, (const char *)data, size, &options);
    enum import_event event;

    while ((event = import_next(in, &row)) == IMPORT_ROW) {
        check_row(in, &row, a);
        arena_reset(a);
    }
    if (event == IMPORT_FAILED &&
        (!import_problem(in) || !import_problem(in)->code || !import_problem(in)->message[0]))
        abort();
    import_close(in);
    arena_free(a);
    return 0;
}
