/* node.h - a compiled schema from inside; for the files of this folder only. Leaves to others:
 * everything public (schema.h). */
#ifndef WHARF_SCHEMA_NODE_H
#define WHARF_SCHEMA_NODE_H

#include "schema/schema.h"

/* Bits of schema.types: 1 << JSON_*, and one more for whole numbers. */
enum { TYPE_INTEGER = 1u << 16, TYPE_ANY = 0 };

struct schema_list {
    const struct schema *const *items;
    size_t n;
};

struct schema_property {
    wharf_str key;
    const struct schema *schema; /* NULL: only required or dependentRequired name it */
    bool required;
    /* dependentRequired: keys (schema NULL) needed when this one is there */
    const struct schema_property *needs;
    size_t n_needs;
};

struct schema_matching { /* patternProperties */
    const struct pattern *pattern;
    const struct schema *schema;
};

struct format; /* format.c */

struct schema {
    bool never; /* the schema `false` */
    bool open; /* no properties are named here or in what applies in place: strict does not count */
    uint32_t types; /* TYPE_ANY: all */
    const struct wharf_json *members; /* enum: the array */
    const struct wharf_json *constant;
    /* Limits: wharf_str of a number, p NULL when absent; lengths are INT64_MAX or 0 when absent. */
    wharf_str minimum, maximum, above, below, multiple_of;
    int64_t min_length, max_length, min_items, max_items, min_properties, max_properties;
    const struct pattern *pattern;
    wharf_str pattern_text;
    const struct format *format;
    /* in the order written, then those that only required or dependentRequired name */
    const struct schema_property *properties;
    size_t n_properties;
    const struct schema_property **by_key; /* sorted; those with a schema */
    size_t n_by_key;
    const struct schema_matching *matching;
    size_t n_matching;
    const struct schema *additional, *names;
    const struct schema *items;
    struct schema_list prefix, all_of, any_of, one_of;
    const struct schema *not_schema, *if_schema, *then_schema, *else_schema, *ref;
    bool unique_items;
    unsigned height; /* 1 and more: schemas that apply to the same value, one inside the other */
};

/* A place in a value or in a schema, as a chain on the stack. */
struct place {
    const struct place *up; /* NULL: the root */
    wharf_str key;
    size_t index; /* when is_index */
    bool is_index;
};

static inline struct place place_key(const struct place *up, wharf_str key)
{
    return (struct place){.up = up, .key = key};
}
static inline struct place place_index(const struct place *up, size_t index)
{
    return (struct place){.up = up, .index = index, .is_index = true};
}
/* Returns a place as "base.printers.0.a\.b" (docs/spec/01-platform.md section 1 'Field path
 * grammar'). */
wharf_str place_path(struct arena *a, wharf_str base, const struct place *at);
/* Returns a place as "/properties/a~1b" (RFC 6901). */
wharf_str place_pointer(struct arena *a, const struct place *at);

const struct format *format_find(wharf_str name); /* or NULL */
bool format_match(const struct format *f, wharf_str text);
/* Returns the end of the sentence "x must be ...", as "an e-mail address". */
const char *format_article(const struct format *f);

/* Finds the place of the document that "#" or "#/$defs/name" names. Returns NULL when there is
 * none. */
const struct wharf_json *schema_resolve(const struct wharf_json *root, wharf_str ref);

/* Finds the property's rule among those with a schema. Returns NULL when there is none. */
const struct schema *schema_property(const struct schema *s, wharf_str key);

#endif
