/* names.c - see names.h */
#include "schema/names.h"

#include <stdlib.h>

#include "schema/check.h"
#include "util/str.h"
#include "util/vector.h"

struct named {
    wharf_str key;
    const struct names *inside;
};

struct names {
    bool open; /* takes members of any name */
    struct named *members; /* sorted by key */
    size_t n;
    const struct names *items; /* of an array's elements; NULL: anything */
};

/* A schema of the document and its names: schemas may hold themselves. */
struct component {
    wharf_str name;
    const struct names *names;
};

struct collector {
    struct arena *a;
    const struct wharf_json *schemas;
    struct vector found; /* struct component */
};

static const struct names anything = {.open = true};
static const char components[] = "#/components/schemas/";

static const struct names *names_names_of(struct collector *c, const struct wharf_json *schema);

/* Returns the name of the component that the schema stands for, empty when it stands for none. */
static wharf_str component_of(const struct wharf_json *schema)
{
    wharf_str ref = json_text_or(schema, "$ref", "");
    size_t n = sizeof(components) - 1;

    return str_starts(ref, components) ? (wharf_str){ref.p + n, ref.n - n} : str_z("");
}

/* Adds a member; one that two alternatives name may hold anything. */
static void names_add_member(
    struct collector *c, struct vector *members, const struct wharf_json *property)
{
    struct named *list = members->items;

    for (size_t i = 0; i < members->n; i++) {
        if (str_eq(list[i].key, property->key)) {
            list[i].inside = &anything;
            return;
        }
    }
    list = vector_add(c->a, members);
    list->key = arena_dup_str(c->a, property->key);
    list->inside = names_names_of(c, property);
}

/* Tells whether the schema takes members that it does not name. */
static bool takes_any_member(const struct wharf_json *schema)
{
    const struct wharf_json *more = json_get(schema, "additionalProperties");

    if (more)
        return more->type != JSON_BOOL || more->truth;
    return json_get(schema, "patternProperties") || !schema->count ||
           (str_eqz(json_text_or(schema, "type", ""), "object") &&
               !json_get(schema, "properties") && !json_get(schema, "allOf") &&
               !json_get(schema, "anyOf") && !json_get(schema, "oneOf"));
}

/* Adds what a schema names, and what its alternatives do. */
static void names_add(
    struct collector *c, struct names *n, struct vector *members, const struct wharf_json *schema)
{
    static const char *const alternatives[] = {"allOf", "anyOf", "oneOf"};
    const struct wharf_json *properties, *items;

    while (schema && component_of(schema).n)
        schema = json_get_n(c->schemas, component_of(schema));
    if (!schema) { /* of a module that is not loaded */
        n->open = true;
        return;
    }
    properties = json_get(schema, "properties");
    items = json_get(schema, "items");
    if (takes_any_member(schema))
        n->open = true;
    for (const struct wharf_json *p = properties ? properties->child : NULL; p; p = p->next)
        names_add_member(c, members, p);
    if (items)
        n->items = n->items ? &anything : names_names_of(c, items);
    for (size_t i = 0; i < sizeof(alternatives) / sizeof(*alternatives); i++) {
        const struct wharf_json *list = json_get(schema, alternatives[i]);

        for (const struct wharf_json *s = list ? list->child : NULL; s; s = s->next)
            names_add(c, n, members, s);
    }
}

/* Returns the names of a schema; those of a component are collected once. */
static const struct names *names_names_of(struct collector *c, const struct wharf_json *schema)
{
    wharf_str name = component_of(schema);
    struct vector members = {.size = sizeof(struct named)};
    struct component *known = c->found.items;
    struct names *n;

    for (size_t i = 0; name.n && i < c->found.n; i++) {
        if (str_eq(known[i].name, name))
            return known[i].names;
    }
    n = ARENA_NEW(c->a, struct names);
    if (name.n) {
        known = vector_add(c->a, &c->found);
        *known = (struct component){arena_dup_str(c->a, name), n};
    }
    names_add(c, n, &members, schema);
    n->members = members.items;
    n->n = members.n;
    if (n->n)
        qsort(n->members, n->n, sizeof(*n->members), str_order_entries);
    return n;
}

const struct names *names_collect(
    struct arena *a, const struct wharf_json *schemas, const struct wharf_json *schema)
{
    struct collector c = {.a = a, .schemas = schemas, .found = {.size = sizeof(struct component)}};

    return names_names_of(&c, schema);
}

const struct names *names_collect_inside(
    struct arena *a, const struct wharf_json *schemas, const struct names_member *members, size_t n)
{
    struct collector c = {.a = a, .schemas = schemas, .found = {.size = sizeof(struct component)}};
    struct names *names = ARENA_NEW(a, struct names);

    names->open = true;
    names->members = ARENA_ARRAY(a, struct named, n + 1);
    for (size_t i = 0; i < n; i++)
        names->members[i] = (struct named){
            arena_dup_str(a, members[i].key), names_names_of(&c, members[i].schema)};
    names->n = n;
    if (n)
        qsort(names->members, n, sizeof(*names->members), str_order_entries);
    return names;
}

static bool names_all_known(
    struct check *c, const struct names *n, const struct wharf_json *v, const struct place *at);

static bool member_known(
    struct check *c, const struct names *n, const struct wharf_json *m, const struct place *at)
{
    struct place inner = place_key(at, m->key);
    const struct named *found = bsearch(
        &m->key, n->members, n->n, sizeof(*n->members), str_order_entries);

    if (found)
        return names_all_known(c, found->inside, m, &inner);
    return n->open || say(c, &inner, "unknown", "%s is not a known field");
}

/* Looks at a value and at all in it. Where no object belongs, the handler says so. */
static bool names_all_known(
    struct check *c, const struct names *n, const struct wharf_json *v, const struct place *at)
{
    size_t i = 0;
    bool ok = true;

    if (v->type == JSON_OBJECT && n->n) {
        for (const struct wharf_json *m = v->child; m; m = m->next)
            ok = member_known(c, n, m, at) && ok;
    } else if (v->type == JSON_ARRAY && n->items) {
        for (const struct wharf_json *e = v->child; e; e = e->next) {
            struct place inner = place_index(at, i++);

            ok = names_all_known(c, n->items, e, &inner) && ok;
        }
    }
    return ok;
}

bool names_known(const struct names *n, const struct wharf_json *v, struct arena *a,
    schema_problem_fn *fn, void *arg)
{
    size_t reported = 0;
    struct check c = {.arena = a, .fn = fn, .arg = arg, .reported = &reported};
    struct place root = {0};

    return names_all_known(&c, n, v, &root);
}
