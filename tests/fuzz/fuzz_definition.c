/* fuzz_definition.c - definitions: compiling never crashes, and what compiled hangs together. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/definition.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    must(message.n > 0 && *rule && utf8_valid(path.p, path.n) && utf8_valid(message.p, message.n),
        "problems are sentences");
    ++*(size_t *)arg;
}

static void check_field(const struct definition *d, const struct field *f)
{
    must(definition_field(d, f->name) == f, "fields are found by name");
    must((f->kind == FIELD_COLUMN) == (f->column != NULL), "columns have a name");
    must(f->kind != FIELD_COLUMN || (f->select >= 0 && (size_t)f->select < d->storage.n_columns &&
                                        d->storage.columns[f->select].field == f),
        "columns are read");
    must(f->schema != NULL && f->json != NULL, "fields have a schema");
    must(
        f->kind != FIELD_CHILDREN || (f->children && f->children->n_fields && f->children->n_match),
        "child rows have fields");
    must(f->kind != FIELD_EMBED || (f->embed_from && f->n_embed_fields),
        "embedded rows have a reference");
    must(!f->required || f->write & OP_CREATE, "what is required can be sent");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new(0);
    wharf_str text = arena_dup(a, (const char *)data, size);
    size_t reported = 0;
    const struct definition *d = definition_compile(a, "docks", text, tell, &reported);

    must((d == NULL) == (reported > 0), "refused definitions have problems, others none");
    if (d) {
        must(d->hash == definition_hash(text), "the hash is that of the text");
        must(d->storage.n_columns >= COL_SYSTEM_COUNT && d->list.order && d->list.n_sorts > 0,
            "lists have an order");
        must(d->list.limit >= 1 && d->list.limit <= d->list.max, "pages have a size");
        for (size_t i = 0; i < d->n_fields; i++)
            check_field(d, &d->fields[i]);
        for (size_t i = 0; i < d->list.n_filters; i++) {
            const struct filter *f = &d->list.filters[i];

            must(f->type != FILTER_NONE && f->field && f->field->column, "filters have a column");
            must(definition_filter(&d->list, str_z(f->name)) == f, "filters are found by name");
        }
    }
    arena_free(a);
    return 0;
}
