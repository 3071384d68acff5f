/* schema.c - compiles JSON Schema texts, see schema.h. Leaves to others: applying them (check.c).
 *
 * One table names every keyword and what reads it. Each place of the document becomes one struct
 * schema, however often it is referred to, so circles of $ref are pointers; a circle that never
 * steps into the value is refused. */
#include <stdlib.h>

#include "schema/node.h"
#include "util/str.h"

/* Levels while compiling; schemas that apply inside each other to one value. Both bound the
 * stack. */
enum { DIGITS_OF_MULTIPLE = 18, LEVELS_MAX = 128, TOO_HIGH = 40 };

struct known { /* a compiled place */
    const struct wharf_json *json;
    struct schema *schema;
};

struct compiler {
    struct arena *arena;
    const struct wharf_json *root;
    schema_problem_fn *fn;
    void *arg;
    struct known *known; /* open addressing by address; size is a power of two */
    size_t n_known, size;
    unsigned levels;
    bool failed;
};

typedef void keyword_fn(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at);

static const struct schema *schema_compile_at(
    struct compiler *c, const struct wharf_json *json, const struct place *at);

static void schema_say_problem(struct compiler *c, const struct place *at, const char *text)
{
    c->failed = true;
    c->fn(c->arg, place_pointer(c->arena, at), "format", str_z(text));
}

/* ---- places that were compiled ---- */

static struct known *schema_slot_of(struct known *table, size_t size, const struct wharf_json *json)
{
    size_t i = ((uintptr_t)json / sizeof(*json) * 0x9E3779B97F4A7C15u >> 20) & (size - 1);

    while (table[i].json && table[i].json != json)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static struct schema *known_add(struct compiler *c, const struct wharf_json *json)
{
    struct schema *s = ARENA_NEW(c->arena, struct schema);

    if (c->n_known * 2 >= c->size) {
        size_t size = c->size ? c->size * 2 : 64;
        struct known *table = ARENA_ARRAY(c->arena, struct known, size);

        for (size_t i = 0; i < c->size; i++)
            if (c->known[i].json)
                *schema_slot_of(table, size, c->known[i].json) = c->known[i];
        c->known = table;
        c->size = size;
    }
    *schema_slot_of(c->known, c->size, json) = (struct known){json, s};
    c->n_known++;
    s->max_length = s->max_items = s->max_properties = INT64_MAX;
    return s;
}

/* ---- values of keywords ---- */

static void key_type(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } names[] = {{"null", 1u << JSON_NULL}, {"boolean", 1u << JSON_BOOL},
        {"number", 1u << JSON_NUMBER}, {"string", 1u << JSON_STRING}, {"array", 1u << JSON_ARRAY},
        {"object", 1u << JSON_OBJECT}, {"integer", TYPE_INTEGER}};
    const struct wharf_json *one = json_is(v, JSON_ARRAY) ? v->child : v;

    if (!one)
        schema_say_problem(c, at, "type needs at least one name");
    for (; one; one = v == one ? NULL : one->next) {
        uint32_t bit = 0;

        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            if (json_is(one, JSON_STRING) && str_eqz(one->text, names[i].name))
                bit = names[i].bit;
        if (!bit)
            schema_say_problem(c, at,
                "type is one of null, boolean, number, integer, string, array, object, or an array "
                "of them");
        else if (s->types & bit)
            schema_say_problem(c, at, "type names the same type twice");
        s->types |= bit;
    }
}

static void key_enum(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    if (!json_is(v, JSON_ARRAY) || !v->child)
        schema_say_problem(c, at, "enum is an array of at least one value");
    else
        s->members = v;
}

static void key_const(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->constant = v;
}

static wharf_str schema_number(
    struct compiler *c, const struct wharf_json *v, const struct place *at)
{
    if (json_is(v, JSON_NUMBER))
        return v->text;
    schema_say_problem(c, at, "the value of this keyword is a number");
    return (wharf_str){"0", 1};
}

static void key_minimum(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->minimum = schema_number(c, v, at);
}
static void key_maximum(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->maximum = schema_number(c, v, at);
}
static void key_above(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->above = schema_number(c, v, at);
}
static void key_below(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->below = schema_number(c, v, at);
}
static void key_multiple(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    wharf_str text = schema_number(c, v, at);
    size_t digits = json_number_digits(text);

    if (*text.p == '-' || digits == 0 || digits > DIGITS_OF_MULTIPLE)
        schema_say_problem(c, at, "multipleOf is a number above 0 of at most 18 digits");
    else
        s->multiple_of = text;
}

static int64_t schema_count(struct compiler *c, const struct wharf_json *v, const struct place *at)
{
    int64_t n = 0;

    if (!json_int(v, &n) || n < 0)
        schema_say_problem(c, at, "the value of this keyword is a whole number of 0 or more");
    return n;
}

static void key_min_length(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->min_length = schema_count(c, v, at);
}
static void key_max_length(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->max_length = schema_count(c, v, at);
}
static void key_min_items(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->min_items = schema_count(c, v, at);
}
static void key_max_items(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->max_items = schema_count(c, v, at);
}
static void key_min_properties(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->min_properties = schema_count(c, v, at);
}
static void key_max_properties(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->max_properties = schema_count(c, v, at);
}

static void key_unique_items(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    if (!json_is(v, JSON_BOOL))
        schema_say_problem(c, at, "uniqueItems is true or false");
    s->unique_items = v->truth;
}

static const struct pattern *schema_pattern_of(
    struct compiler *c, wharf_str source, const struct place *at)
{
    const char *error;
    const struct pattern *p = pattern_compile(c->arena, source, &error);

    if (!p)
        schema_say_problem(c, at, error);
    return p;
}

static void key_pattern(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    if (!json_is(v, JSON_STRING)) {
        schema_say_problem(c, at, "pattern is a string");
        return;
    }
    s->pattern_text = v->text;
    s->pattern = schema_pattern_of(c, v->text, at);
}

static void key_format(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->format = json_is(v, JSON_STRING) ? format_find(v->text) : NULL;
    if (!s->format)
        schema_say_problem(c, at,
            "format is one of date, date-time, duration, email, hostname, ipv4, ipv6, "
            "json-pointer, time, uri, uri-reference, uuid");
}

/* ---- schemas inside of schemas ---- */

static struct schema_list schema_list_of(
    struct compiler *c, const struct wharf_json *v, const struct place *at)
{
    struct schema_list list = {0};
    const struct schema **items;

    if (!json_is(v, JSON_ARRAY) || !v->child) {
        schema_say_problem(c, at, "the value of this keyword is an array of at least one schema");
        return list;
    }
    items = ARENA_ARRAY(c->arena, const struct schema *, v->count);
    for (const struct wharf_json *i = v->child; i; i = i->next) {
        struct place inner = place_index(at, list.n);

        items[list.n++] = schema_compile_at(c, i, &inner);
    }
    list.items = items;
    return list;
}

static void key_all_of(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->all_of = schema_list_of(c, v, at);
}
static void key_any_of(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->any_of = schema_list_of(c, v, at);
}
static void key_one_of(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->one_of = schema_list_of(c, v, at);
}
static void key_prefix(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->prefix = schema_list_of(c, v, at);
}
static void key_items(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->items = schema_compile_at(c, v, at);
}
static void key_not(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->not_schema = schema_compile_at(c, v, at);
}
static void key_if(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->if_schema = schema_compile_at(c, v, at);
}
static void key_then(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->then_schema = schema_compile_at(c, v, at);
}
static void key_else(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->else_schema = schema_compile_at(c, v, at);
}
static void key_additional(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->additional = schema_compile_at(c, v, at);
}
static void key_names(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    s->names = schema_compile_at(c, v, at);
}

static bool schema_is_object(struct compiler *c, const struct wharf_json *v, const struct place *at)
{
    if (json_is(v, JSON_OBJECT))
        return true;
    schema_say_problem(c, at, "the value of this keyword is an object");
    return false;
}

static void key_defs(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    if (!schema_is_object(c, v, at))
        return;
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        struct place inner = place_key(at, m->key);

        schema_compile_at(c, m, &inner);
    }
}

static void key_matching(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    struct schema_matching *list;

    if (!schema_is_object(c, v, at))
        return;
    list = ARENA_ARRAY(c->arena, struct schema_matching, v->count);
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        struct place inner = place_key(at, m->key);

        list[s->n_matching].pattern = schema_pattern_of(c, m->key, &inner);
        list[s->n_matching++].schema = schema_compile_at(c, m, &inner);
    }
    s->matching = list;
}

/* Finds or adds a property. properties, required and dependentRequired are one list, so that
 * problems come in the order of the fields. */
static struct schema_property *property_add(struct schema *s, wharf_str key)
{
    struct schema_property *list = (struct schema_property *)s->properties;

    for (size_t i = 0; i < s->n_properties; i++)
        if (str_eq(list[i].key, key))
            return &list[i];
    list[s->n_properties] = (struct schema_property){.key = key};
    return &list[s->n_properties++];
}

static void read_properties(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *up)
{
    struct place at = place_key(up, WHARF_S("properties"));

    if (!v || !schema_is_object(c, v, &at))
        return;
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        struct place inner = place_key(&at, m->key);
        struct schema_property *p = property_add(s, m->key);

        p->schema = schema_compile_at(c, m, &inner);
    }
}

/* Tells whether v is an array of different strings. */
static bool is_names(struct compiler *c, const struct wharf_json *v, const struct place *at)
{
    bool ok = json_is(v, JSON_ARRAY);

    for (const struct wharf_json *i = ok ? v->child : NULL; i && ok; i = i->next) {
        ok = json_is(i, JSON_STRING);
        for (const struct wharf_json *j = v->child; j != i && ok; j = j->next)
            ok = !str_eq(i->text, j->text);
    }
    if (!ok)
        schema_say_problem(c, at, "this is an array of different names");
    return ok;
}

static void schema_read_required(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *up)
{
    struct place at = place_key(up, WHARF_S("required"));

    if (!v || !is_names(c, v, &at))
        return;
    for (const struct wharf_json *i = v->child; i; i = i->next)
        property_add(s, i->text)->required = true;
}

static void read_needs(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *up)
{
    struct place at = place_key(up, WHARF_S("dependentRequired"));

    if (!v || !schema_is_object(c, v, &at))
        return;
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        struct place inner = place_key(&at, m->key);
        struct schema_property *p, *needs;

        if (!is_names(c, m, &inner))
            continue;
        p = property_add(s, m->key);
        needs = ARENA_ARRAY(c->arena, struct schema_property, m->count);
        for (const struct wharf_json *i = m->child; i; i = i->next)
            needs[p->n_needs++].key = i->text;
        p->needs = needs;
    }
}

static int schema_by_key(const void *x, const void *y)
{
    wharf_str a = (*(const struct schema_property *const *)x)->key,
              b = (*(const struct schema_property *const *)y)->key;
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static void read_object_keywords(
    struct compiler *c, struct schema *s, const struct wharf_json *json, const struct place *at)
{
    const struct wharf_json *properties = json_get(json, "properties"),
                            *required = json_get(json, "required"),
                            *needs = json_get(json, "dependentRequired");
    size_t room = (properties ? properties->count : 0) + (required ? required->count : 0) +
                  (needs ? needs->count : 0);

    if (!properties && !required && !needs)
        return;
    s->properties = ARENA_ARRAY(c->arena, struct schema_property, room + 1);
    read_properties(c, s, properties, at);
    schema_read_required(c, s, required, at);
    read_needs(c, s, needs, at);
    s->by_key = ARENA_ARRAY(c->arena, const struct schema_property *, s->n_properties + 1);
    for (size_t i = 0; i < s->n_properties; i++)
        if (s->properties[i].schema)
            s->by_key[s->n_by_key++] = &s->properties[i];
    qsort(s->by_key, s->n_by_key, sizeof(*s->by_key), schema_by_key);
}

/* ---- $ref ---- */

static void key_ref(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    const struct wharf_json *target = json_is(v, JSON_STRING) ? schema_resolve(c->root, v->text)
                                                              : NULL;

    if (target)
        s->ref = schema_compile_at(c, target, at);
    else
        schema_say_problem(c, at, "$ref points to a place of this document, like #/$defs/name");
}

static void key_id(
    struct compiler *c, struct schema *s, const struct wharf_json *v, const struct place *at)
{
    if (!json_is(v, JSON_STRING) || (at->up && at->up->up))
        schema_say_problem(c, at, "only the document itself may have an $id, a string");
}

/* ---- all keywords ---- */

static const struct {
    const char *name;
    keyword_fn *read; /* NULL: an annotation, or read together with others */
} KEYWORDS[] = {
    {"$comment", NULL},
    {"$defs", key_defs},
    {"$id", key_id},
    {"$ref", key_ref},
    {"$schema", NULL},
    {"additionalProperties", key_additional},
    {"allOf", key_all_of},
    {"anyOf", key_any_of},
    {"const", key_const},
    {"default", NULL},
    {"dependentRequired", NULL},
    {"deprecated", NULL},
    {"description", NULL},
    {"else", key_else},
    {"enum", key_enum},
    {"examples", NULL},
    {"exclusiveMaximum", key_below},
    {"exclusiveMinimum", key_above},
    {"format", key_format},
    {"if", key_if},
    {"items", key_items},
    {"maxItems", key_max_items},
    {"maxLength", key_max_length},
    {"maxProperties", key_max_properties},
    {"maximum", key_maximum},
    {"minItems", key_min_items},
    {"minLength", key_min_length},
    {"minProperties", key_min_properties},
    {"minimum", key_minimum},
    {"multipleOf", key_multiple},
    {"not", key_not},
    {"oneOf", key_one_of},
    {"pattern", key_pattern},
    {"patternProperties", key_matching},
    {"prefixItems", key_prefix},
    {"properties", NULL},
    {"propertyNames", key_names},
    {"readOnly", NULL},
    {"required", NULL},
    {"then", key_then},
    {"title", NULL},
    {"type", key_type},
    {"uniqueItems", key_unique_items},
    {"writeOnly", NULL},
    {"x-wharf", NULL},
};

static void unknown_keyword(struct compiler *c, wharf_str key, const struct place *at)
{
    const char *near = NULL;
    unsigned best = 3;

    for (size_t i = 0; i < sizeof(KEYWORDS) / sizeof(*KEYWORDS); i++) {
        unsigned distance = str_distance(key.p, KEYWORDS[i].name);

        if (distance < best) {
            best = distance;
            near = KEYWORDS[i].name;
        }
    }
    schema_say_problem(c, at,
        near ? arena_printf(c->arena, "unknown keyword; did you mean \"%s\"?", near).p
             : "unknown keyword; docs/reference/plugin-abi.md section 6 lists them");
}

static void schema_read_keyword(
    struct compiler *c, struct schema *s, const struct wharf_json *m, const struct place *up)
{
    struct place at = place_key(up, m->key);

    for (size_t i = 0; i < sizeof(KEYWORDS) / sizeof(*KEYWORDS); i++) {
        if (str_eqz(m->key, KEYWORDS[i].name)) {
            if (KEYWORDS[i].read)
                KEYWORDS[i].read(c, s, m, &at);
            return;
        }
    }
    unknown_keyword(c, m->key, &at);
}

static bool names_members(const struct schema *s)
{
    bool named = s->n_properties || s->n_matching || s->additional || s->ref || s->if_schema;

    return named || s->all_of.n || s->any_of.n || s->one_of.n;
}

static const struct schema *schema_compile_at(
    struct compiler *c, const struct wharf_json *json, const struct place *at)
{
    struct schema *s = c->size ? schema_slot_of(c->known, c->size, json)->schema : NULL;

    if (s)
        return s;
    s = known_add(c, json);
    if (++c->levels > LEVELS_MAX) {
        schema_say_problem(c, at, "schemas are nested too deep here");
    } else if (json_is(json, JSON_BOOL)) {
        s->never = !json->truth;
    } else if (json_is(json, JSON_OBJECT)) {
        for (const struct wharf_json *m = json->child; m; m = m->next)
            schema_read_keyword(c, s, m, at);
        read_object_keywords(c, s, json, at);
    } else {
        schema_say_problem(c, at, "a schema is an object, true or false");
    }
    c->levels--;
    s->open = !names_members(s);
    return s;
}

/* ---- circles ---- */

static unsigned schema_height_of(struct schema *s, unsigned depth);

static unsigned height_of_list(const struct schema_list *list, unsigned depth)
{
    unsigned height = 0;

    for (size_t i = 0; i < list->n; i++) {
        unsigned h = schema_height_of((struct schema *)list->items[i], depth);

        height = h > height ? h : height;
    }
    return height;
}

/* Counts how many schemas apply one inside the other to the same value; TOO_HIGH also when they
 * lead back to themselves. */
static unsigned schema_height_of(struct schema *s, unsigned depth)
{
    const struct schema *one[] = {s ? s->ref : NULL, s ? s->not_schema : NULL,
        s ? s->if_schema : NULL, s ? s->then_schema : NULL, s ? s->else_schema : NULL};
    const struct schema_list list = {one, sizeof(one) / sizeof(*one)};
    unsigned parts[4], height = 0;

    if (!s)
        return 0;
    if (s->height)
        return s->height;
    if (depth == TOO_HIGH) /* then the first of this chain is too high already */
        return TOO_HIGH;
    s->height = TOO_HIGH; /* stands while its parts are measured, so a circle finds it */
    parts[0] = height_of_list(&list, depth + 1);
    parts[1] = height_of_list(&s->all_of, depth + 1);
    parts[2] = height_of_list(&s->any_of, depth + 1);
    parts[3] = height_of_list(&s->one_of, depth + 1);
    for (size_t i = 0; i < 4; i++)
        height = parts[i] > height ? parts[i] : height;
    s->height = height < TOO_HIGH ? height + 1 : TOO_HIGH;
    return s->height;
}

const struct schema *schema_compile(
    struct arena *a, const struct wharf_json *json, schema_problem_fn *fn, void *arg)
{
    return schema_compile_part(a, json, json, fn, arg);
}

const struct schema *schema_compile_part(struct arena *a, const struct wharf_json *document,
    const struct wharf_json *json, schema_problem_fn *fn, void *arg)
{
    struct compiler c = {.arena = a, .root = document, .fn = fn, .arg = arg};
    struct place root = {0};
    const struct schema *s = schema_compile_at(&c, json, &root);

    for (size_t i = 0; i < c.size && !c.failed; i++)
        if (c.known[i].json && schema_height_of(c.known[i].schema, 0) >= TOO_HIGH)
            schema_say_problem(&c, &root,
                "a $ref leads back to itself without a step into the value, or through too many "
                "others");
    return c.failed ? NULL : s;
}
