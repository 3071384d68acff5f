/* body.h - a request body turned into checked values, after a definition.
 *
 * docs/spec/01-platform.md sections 2.3 and 4.2: required, null and "" rules, trimming, control
 * characters, U+0000, exact types, integers within +-(2^53-1), exact decimals, dates, metadata,
 * {add, remove, set} inputs, children. All problems are collected, in the
 * order of the definition's fields. Leaves to others: references, uniqueness, anything that
 * needs the database. */
#ifndef WHARF_RESOURCE_BODY_H
#define WHARF_RESOURCE_BODY_H

#include "schema/definition.h"

struct child_item { /* one element of a children array */
    struct value *values; /* by child field index */
    wharf_str id; /* sent id, or "" */
    size_t position; /* index in the array */
};

struct value {
    bool present; /* sent, or (on create) filled from the default */
    bool null; /* to be cleared */
    bool ruled; /* a check hook set it, and nobody has judged it yet */
    bool defaulted; /* not sent: the value is the definition's default */
    /* update of metadata or of a merge object: text/json hold what to merge (null removes a key) */
    bool patch;
    /* PostgreSQL's input text of the column: text trimmed and folded, digits, canonical decimal,
     * "true"/"false", ISO milliseconds, compact JSON */
    wharf_str text;
    /* json, array, metadata: the checked value; set input: the object as sent */
    const struct wharf_json *json;
    /* json is {add, remove, set} with checked, unique ids (plain arrays are turned into {set}) */
    bool set_input;
    /* STORE_ARRAY: the value as it stood in the body, for paths; or NULL */
    const struct wharf_json *sent;
    struct child_item *items; /* FIELD_CHILDREN */
    size_t n_items;
};

enum body_flag { BODY_STRICT = 1 }; /* unknown and never-writable fields are problems ("unknown") */

/* Checks a whole body. op: OP_CREATE or OP_UPDATE; both: as a create, with the fields that only
 * updates write. values: d->n_fields, zeroed. Returns true when there was no problem. Fields that
 * may be written on create only are delivered on update too: the caller compares and answers
 * "immutable". A sent "id" is delivered for definitions with id_pattern (checked by it). */
bool body_check(struct arena *a, const struct definition *d, uint32_t op,
    const struct wharf_json *body, uint32_t flags, struct value *values, schema_problem_fn *fn,
    void *arg);
/* Checks one value of one field by the same rules. For values set by rules in Lua or C. */
bool body_check_field(struct arena *a, const struct field *f, uint32_t op,
    const struct wharf_json *v, wharf_str path, uint32_t flags, struct value *ret,
    schema_problem_fn *fn, void *arg);

/* Computes the whole new text of a patched value: stored ("" or NULL p for none) with the patch
 * applied. Metadata is checked for its number of keys: a problem is told at path. */
bool value_merge(struct arena *a, const struct field *f, wharf_str stored,
    const struct value *patch, wharf_str path, struct value *ret, schema_problem_fn *fn, void *arg);
/* Returns the array that a set input makes of the stored one (compact JSON text of an array).
 * Order: stored first, then added. */
wharf_str value_apply_set(struct arena *a, wharf_str stored, const struct value *input);
/* Computes the same into v->text. The array that comes out is checked by the field's own limits
 * (maxItems): returns false and tells a problem at path when it breaks them. v->json keeps the
 * input. */
bool value_settle_set(struct arena *a, const struct field *f, wharf_str stored, wharf_str path,
    struct value *v, schema_problem_fn *fn, void *arg);

#endif
