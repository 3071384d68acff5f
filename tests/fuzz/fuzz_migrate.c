/* fuzz_migrate.c - migration files as text: the splitter ends, its statements lie inside the
 * text and in order. */
#include <stdint.h>
#include <stdlib.h>

#include "db/migrate_file.h"
#include "util/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new(0);
    wharf_str sql = arena_dup(a, (const char *)data, size), rest = sql, statement,
              error = {NULL, 0};
    const char *last = sql.p;
    struct migrate_header header;

    if (!migrate_header(sql, &header, a, &error) && !error.p)
        abort();
    while (migrate_statement(&rest, &statement)) {
        if (statement.p < last || !statement.n || statement.p + statement.n > sql.p + sql.n)
            abort();
        last = statement.p + statement.n;
    }
    arena_free(a);
    return 0;
}
