/* schema.h - JSON Schema 2020-12, the subset of docs/reference/plugin-abi.md section 6, compiled
 * once and applied many times.
 *
 * Supported: type enum const properties required additionalProperties items prefixItems minItems
 * maxItems uniqueItems minLength maxLength pattern minimum maximum exclusiveMinimum
 * exclusiveMaximum multipleOf format oneOf anyOf allOf not if/then/else $ref (within the
 * document) $defs default dependentRequired minProperties maxProperties propertyNames
 * patternProperties, plus annotations title description examples deprecated readOnly writeOnly
 * $id $schema $comment and x-wharf. Any other keyword is a compile error. `pattern` is limited
 * to a linear-time subset checked at compile. Judged by the public JSON-Schema-Test-Suite
 * restricted to these keywords. A compiled schema is read-only and [any]. */
#ifndef WHARF_SCHEMA_SCHEMA_H
#define WHARF_SCHEMA_SCHEMA_H

#include "util/arena.h"
#include "util/json.h"

struct schema;

/* Problems are collected: called once per problem. path is a field path
 * ("printers.0.page_size.a4"; "" for the root). */
/* Gets each problem: its path, its rule and a sentence, which live in the arena. After
 * SCHEMA_DESCRIBED problems of one value path.p and message.p are NULL: the problem is only to
 * be counted. Problems of a schema itself are always described. */
enum { SCHEMA_DESCRIBED = 100 };
typedef void schema_problem_fn(void *arg, wharf_str path, const char *rule, wharf_str message);
/* rule is one of required, type, enum, max_length, min_length, min, max, format, unique,
 * unknown, immutable, reference (docs/spec/01-platform.md section 1 'Problem details'). */

/* Compiles a schema. Returns NULL when the schema is not of the subset; each reason is told
 * through fn with the JSON pointer of the place. */
const struct schema *schema_compile(
    struct arena *a, const struct wharf_json *json, schema_problem_fn *fn, void *arg);

/* Compiles one place of a document: $ref is looked up in document, paths of problems begin at
 * json. */
const struct schema *schema_compile_part(struct arena *a, const struct wharf_json *document,
    const struct wharf_json *json, schema_problem_fn *fn, void *arg);

/* Returns the schema's maxItems, INT64_MAX when it names none. s may be NULL. */
int64_t schema_max_items(const struct schema *s);

enum schema_flag {
    /* unknown members of objects without additionalProperties are problems ("unknown") */
    SCHEMA_STRICT = 1,
    /* The value is to be merged into a stored one (RFC 7396): in it and in the objects inside
     * it, not in arrays, a member may be null, which removes it, and nothing is required. */
    SCHEMA_PATCH = 2,
};
/* Tells whether v is valid; every problem is told. base is put before the paths. a serves for path
 * texts. */
bool schema_validate(const struct schema *s, const struct wharf_json *v, wharf_str base,
    uint32_t flags, struct arena *a, schema_problem_fn *fn, void *arg);
/* Judges the same for schemas that nobody vouches for. *left is the work that it may be, in steps
 * of some ten nanoseconds, and what is left of it: 0 when it was too much; the value counts as
 * refused then. fn may set it to 0 when it has heard enough. */
bool schema_validate_within(const struct schema *s, const struct wharf_json *v, wharf_str base,
    int64_t *left, struct arena *a, schema_problem_fn *fn, void *arg);

/* A regular expression of the linear-time subset (ECMAScript's u syntax without backreferences,
 * look-around and \p; counts may multiply to 4000 steps), matched by an automaton over code
 * points; like JSON Schema, not anchored. */
struct pattern;
const struct pattern *pattern_compile(struct arena *a, wharf_str source, const char **ret_error);
bool pattern_match(const struct pattern *p, wharf_str text);
/* Returns the most steps that a match takes for each character. */
size_t pattern_size(const struct pattern *p);

#endif
