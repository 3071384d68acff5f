/* compile.h - the parts of the definition compiler; for the files of this folder only. */
#ifndef WHARF_SCHEMA_COMPILE_H
#define WHARF_SCHEMA_COMPILE_H

#include "schema/options.h"

/* PostgreSQL's json_build_object() takes 100 arguments: a name and a value per field, and a pair
 * for the engine. */
enum { OBJECT_FIELDS_MAX = 48 };

struct field_list {
    struct field *items;
    size_t n;
};

/* Compiles the properties of a resource, or of the items of a children field (child), in order.
 * The schema's `required` has the names needed on create. */
struct field_list fields_compile(
    struct compile *c, const struct wharf_json *schema, const struct place *at, bool child);
/* Reads what a children field says of its rows (field_children.c). */
void field_children(
    struct compile *c, struct field *f, const struct wharf_json *x, const struct place *at);
/* Checks that f->default_value is a value that the field takes. */
void field_default(struct compile *c, const struct field *f, const struct place *at);
/* Returns the filter that fits a field's store; FILTER_NONE when there is none. */
enum filter_type field_filter_type(const struct field *f);
/* Finds a field by its name; NULL when there is none. */
const struct field *fields_find(const struct field *fields, size_t n, const char *name);

enum may_ask { ASKS_NOTHING, ASKS_PARAMETERS, ASKS_CALLER };
/* Checks what SQL asks about the caller (columns.c). Only what is shown may: filters and sorting
 * are the same for everybody. What is only filtered may ask what else the request says, so that
 * filters look at what its rows show. */
void check_asks(
    struct compile *c, enum may_ask may, const struct place *at, const char *key, const char *sql);

/* Finds the field of the resource that the member names. Returns NULL after a problem. */
const struct field *opt_field(
    struct compile *c, const struct wharf_json *object, const struct place *at, const char *key);
const struct field *find_field(struct compile *c, const struct place *at, const char *name);

/* Reads "ops": the verbs that it lists, all when it is not there. */
uint32_t opt_ops(struct compile *c, const struct wharf_json *x, const struct place *at);

/* Reads "batch": how items of batches become rows (batch_block.c). */
void batch_compile(struct compile *c, const struct wharf_json *x, const struct place *at);

/* Reads "params" (query_params.c). */
void query_params_compile(struct compile *c, const struct wharf_json *x, const struct place *at);

/* Compiles columns, and the hidden fields of system columns that no property shows (columns.c). */
void columns_compile(struct compile *c, struct field *fields);
/* Returns the field of a system column: the property or the hidden one. */
const struct field *system_field(struct compile *c, enum system_column column);
/* Returns the index of a system column's name, or -1. */
int system_column(const char *name);

/* Reads `list`: limits, order, search, filters (lists.c). */
void list_compile(struct compile *c, const struct wharf_json *x, const struct place *at);
/* Reads `events`: their names, and what their data leave out (definition_events.c). */
void events_compile(struct compile *c, const struct wharf_json *x, const struct place *at);

#endif
