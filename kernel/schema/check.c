/* check.c - applies compiled schemas to values, see schema.h. Leaves to others: compiling
 * (schema.c), the words (say.c).
 *
 * Every problem is found and told. Alternatives (anyOf, oneOf) are first tried in silence; when
 * none fits, the problems of the one that came nearest are told, because "matches none of 3
 * schemas" helps nobody. */
#include "schema/check.h"

#include <stdlib.h>

#include "util/id.h"
#include "util/str.h"

enum { FEW_ITEMS = 16, MANY_MEMBERS = 64 };

static bool check_check(struct check *c, const struct schema *s, const struct wharf_json *v,
    const struct place *at, bool whole);

/* ---- work ---- */

/* Spends steps of the work that is allowed. Returns false when there is no more; the value counts
 * as refused, and nothing is told. */
static bool spend(const struct check *c, uint64_t steps)
{
    if (!c->left)
        return true;
    *c->left = steps < (uint64_t)*c->left ? *c->left - (int64_t)steps : 0;
    return *c->left > 0;
}

static bool spend_match(const struct check *c, const struct pattern *p, wharf_str text)
{
    return !c->left || spend(c, 1 + text.n / 2 + pattern_size(p) * (text.n + 1) / 4);
}

/* Returns what looking at the value itself takes, without its parts. */
static uint64_t check_work_of(const struct schema *s, const struct wharf_json *v)
{
    uint64_t steps = 1 + (s->members ? s->members->count : 0);

    if (v->type == JSON_STRING || v->type == JSON_NUMBER)
        steps += v->text.n / 8;
    if (v->type == JSON_OBJECT) /* members are looked for one after the other */
        steps += s->n_properties * (1 + v->count / 4);
    if (v->type == JSON_ARRAY && s->unique_items)
        steps += v->count * 8;
    return steps;
}

/* ---- single values ---- */

static bool has_type(const struct schema *s, const struct wharf_json *v)
{
    if (s->types == TYPE_ANY || s->types & 1u << v->type)
        return true;
    return s->types & TYPE_INTEGER && json_whole(v);
}

static bool check_is_member(const struct wharf_json *members, const struct wharf_json *v)
{
    for (const struct wharf_json *m = members->child; m; m = m->next)
        if (json_equal(m, v))
            return true;
    return false;
}

static bool check_value(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    if (s->never)
        return say(c, at, "unknown", "%s is not allowed here");
    if (!has_type(s, v))
        return say_type(c, at, s);
    if (s->members && !check_is_member(s->members, v))
        return say_members(c, at, s->members);
    if (s->constant && !json_equal(s->constant, v))
        return say_constant(c, at, s->constant);
    return true;
}

static bool check_check_number(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    bool ok = true;

    if (s->minimum.p && json_number_compare(v->text, s->minimum) < 0)
        ok = say_limit(c, at, "min", "%s must be %s or more", s->minimum);
    if (s->above.p && json_number_compare(v->text, s->above) <= 0)
        ok = say_limit(c, at, "min", "%s must be more than %s", s->above);
    if (s->maximum.p && json_number_compare(v->text, s->maximum) > 0)
        ok = say_limit(c, at, "max", "%s must be %s or less", s->maximum);
    if (s->below.p && json_number_compare(v->text, s->below) >= 0)
        ok = say_limit(c, at, "max", "%s must be less than %s", s->below);
    if (s->multiple_of.p && !json_number_multiple(v->text, s->multiple_of))
        ok = say_limit(c, at, "format", "%s must be a multiple of %s", s->multiple_of);
    return ok;
}

static bool check_string(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    bool ok = true;

    if (s->min_length > 0 || s->max_length < INT64_MAX) {
        int64_t n = (int64_t)utf8_length(v->text.p, v->text.n);

        if (n < s->min_length && s->min_length == 1)
            ok = say(c, at, "min_length", "%s must not be empty");
        else if (n < s->min_length)
            ok = say_count(c, at, "min_length", "at least", s->min_length, "character");
        if (n > s->max_length)
            ok = say_count(c, at, "max_length", "at most", s->max_length, "character");
    }
    if (s->pattern && !spend_match(c, s->pattern, v->text))
        return false;
    if (s->pattern && !pattern_match(s->pattern, v->text))
        ok = say_limit(c, at, "format", "%s must match the pattern %s", s->pattern_text);
    if (s->format && !format_match(s->format, v->text))
        ok = say_limit(c, at, "format", "%s must be %s", str_z(format_article(s->format)));
    return ok;
}

/* ---- arrays ---- */

/* An item by its hash; equal items have equal hashes. */
struct hashed {
    const struct wharf_json *item;
    uint64_t hash;
    size_t index;
};

static int by_hash(const void *x, const void *y)
{
    const struct hashed *a = x, *b = y;

    if (a->hash != b->hash)
        return a->hash > b->hash ? 1 : -1;
    return (a->index > b->index) - (a->index < b->index);
}

static bool say_repeat(struct check *c, const struct place *at, size_t index, size_t first)
{
    struct place item = place_index(at, index), other = place_index(at, first);

    return say_repeats(c, &item, &other);
}

static bool unique_by_hash(struct check *c, const struct wharf_json *v, const struct place *at)
{
    struct hashed *list = ARENA_ARRAY(c->arena, struct hashed, v->count);
    size_t *first = ARENA_ARRAY(c->arena, size_t, v->count); /* by index: the first equal item */
    unsigned char seed[16];
    size_t n = 0;
    bool ok = true;

    random_bytes(seed, sizeof(seed));
    for (const struct wharf_json *i = v->child; i; i = i->next, n++) {
        list[n] = (struct hashed){i, json_hash(i, seed), n};
        first[n] = n;
    }
    qsort(list, n, sizeof(*list), by_hash);
    for (size_t i = 1, run = 0; i < n; i++) {
        if (list[i].hash != list[run].hash)
            run = i;
        else if (json_equal(list[i].item, list[run].item))
            first[list[i].index] = list[run].index;
    }
    for (size_t i = 0; i < n; i++)
        if (first[i] != i)
            ok = say_repeat(c, at, i, first[i]);
    return ok;
}

static bool check_check_unique(struct check *c, const struct wharf_json *v, const struct place *at)
{
    size_t index = 1;
    bool ok = true;

    if (v->count > FEW_ITEMS)
        return unique_by_hash(c, v, at);
    for (const struct wharf_json *i = v->child ? v->child->next : NULL; i; i = i->next, index++) {
        size_t before = 0;
        const struct wharf_json *j = v->child;

        for (; j != i && !json_equal(i, j); j = j->next)
            before++;
        if (j != i)
            ok = say_repeat(c, at, index, before);
    }
    return ok;
}

static bool check_array(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    struct check inside = *c;
    size_t index = 0;
    bool ok = true;

    inside.flags &= ~(uint32_t)SCHEMA_PATCH; /* arrays are replaced, not merged */
    if (v->count < s->min_items)
        ok = say_count(c, at, "min", "at least", s->min_items, "item");
    if (v->count > s->max_items) /* what is in a list that is too long is not looked at */
        return say_count(c, at, "max", "at most", s->max_items, "item") && ok;
    if (s->unique_items && !check_check_unique(c, v, at))
        ok = false;
    if (!s->items && !s->prefix.n)
        return ok;
    for (const struct wharf_json *i = v->child; i; i = i->next, index++) {
        struct place item = place_index(at, index);
        const struct schema *of = index < s->prefix.n ? s->prefix.items[index] : s->items;

        if (of && !check_check(&inside, of, i, &item, true))
            ok = false;
    }
    return ok;
}

/* ---- objects ---- */

const struct schema *schema_property(const struct schema *s, wharf_str key)
{
    size_t low = 0, high = s->n_by_key;

    while (low < high) {
        size_t middle = (low + high) / 2;
        wharf_str k = s->by_key[middle]->key;
        int order = memcmp(key.p, k.p, key.n < k.n ? key.n : k.n);

        if (!order)
            order = (key.n > k.n) - (key.n < k.n);
        if (!order)
            return s->by_key[middle]->schema;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static bool knows(const struct schema *s, wharf_str key);

static bool list_knows(const struct schema_list *list, wharf_str key)
{
    for (size_t i = 0; i < list->n; i++)
        if (knows(list->items[i], key))
            return true;
    return false;
}

/* Tells whether the member is named anywhere in what applies to this object. For strict
 * handling. */
static bool knows(const struct schema *s, wharf_str key)
{
    const struct schema *parts[] = {s->ref, s->if_schema, s->then_schema, s->else_schema};

    if (s->additional || schema_property(s, key))
        return true;
    for (size_t i = 0; i < s->n_properties; i++)
        if (str_eq(s->properties[i].key, key))
            return true;
    for (size_t i = 0; i < s->n_matching; i++)
        if (pattern_match(s->matching[i].pattern, key))
            return true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i] && knows(parts[i], key))
            return true;
    return list_knows(&s->all_of, key) || list_knows(&s->any_of, key) ||
           list_knows(&s->one_of, key);
}

static bool check_properties(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    struct json_index members = {v, NULL};
    bool patch = c->flags & SCHEMA_PATCH, ok = true;

    if (v->count > MANY_MEMBERS && s->n_properties)
        members = json_index(c->arena, v);
    for (size_t i = 0; i < s->n_properties; i++) {
        const struct schema_property *p = &s->properties[i];
        const struct wharf_json *member = json_index_get(&members, p->key);
        struct place inner = place_key(at, p->key);

        if (patch && json_is(member, JSON_NULL))
            continue;
        if (member && p->schema && !check_check(c, p->schema, member, &inner, true))
            ok = false;
        if (!member && p->required && !patch)
            ok = say(c, &inner, "required", "%s is required");
        for (size_t k = 0; member && !patch && k < p->n_needs; k++) {
            struct place needed = place_key(at, p->needs[k].key);

            if (!json_index_get(&members, p->needs[k].key))
                ok = say_limit(c, &needed, "required", "%s is required together with %s", p->key);
        }
    }
    return ok;
}

/* Checks patternProperties, additionalProperties, propertyNames and unknown members. */
static bool check_check_member(struct check *c, const struct schema *s, const struct wharf_json *m,
    const struct place *at, bool strict)
{
    struct place inner = place_key(at, m->key);
    bool found = schema_property(s, m->key) != NULL, ok = true;

    if (c->flags & SCHEMA_PATCH && m->type == JSON_NULL)
        return true;
    for (size_t i = 0; i < s->n_matching; i++) {
        if (!spend_match(c, s->matching[i].pattern, m->key))
            return false;
        if (pattern_match(s->matching[i].pattern, m->key)) {
            found = true;
            if (!check_check(c, s->matching[i].schema, m, &inner, true))
                ok = false;
        }
    }
    if (!found && s->additional) {
        if (s->additional->never)
            ok = say(c, &inner, "unknown", "%s is not a known field");
        else if (!check_check(c, s->additional, m, &inner, true))
            ok = false;
    } else if (!found && strict && !knows(s, m->key)) {
        ok = say(c, &inner, "unknown", "%s is not a known field");
    }
    if (s->names) {
        struct wharf_json name = {.type = JSON_STRING, .text = m->key, .has_nul = m->key_nul};
        struct check quiet = *c;

        quiet.fn = NULL;
        if (!check_check(&quiet, s->names, &name, &inner, false))
            ok = say(c, &inner, "unknown", "%s is not an allowed name");
    }
    return ok;
}

static bool check_object(struct check *c, const struct schema *s, const struct wharf_json *v,
    const struct place *at, bool whole)
{
    bool strict = whole && (c->flags & SCHEMA_STRICT) && !s->open;
    bool ok = true;

    if (v->count < s->min_properties && !(c->flags & SCHEMA_PATCH))
        ok = say_count(c, at, "min", "at least", s->min_properties, "member");
    if (v->count > s->max_properties)
        return say_count(c, at, "max", "at most", s->max_properties, "member") && ok;
    if (!check_properties(c, s, v, at))
        ok = false;
    if (!s->n_matching && !s->additional && !s->names && !strict)
        return ok;
    for (const struct wharf_json *m = v->child; m; m = m->next)
        if (!check_check_member(c, s, m, at, strict))
            ok = false;
    return ok;
}

/* ---- combinations ---- */

struct tally {
    size_t problems;
    bool at_place; /* one of them is about the value itself, not about a part of it */
    size_t base;
};

static void count_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct tally *t = arg;

    t->problems++;
    if (path.p && path.n == t->base)
        t->at_place = true;
}

/* Measures how far v is from s: 0 fits; otherwise larger is farther. */
static size_t check_distance(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    struct arena_mark mark = arena_mark(c->arena);
    struct tally t = {.base = place_path(c->arena, c->base, at).n};
    struct check quiet = *c;
    size_t reported = 0;
    bool ok;

    quiet.reported = &reported;
    quiet.fn = count_problem;
    quiet.arg = &t;
    quiet.measuring = true;
    ok = check_check(&quiet, s, v, at, false);
    arena_rewind(c->arena, mark);
    return ok ? 0 : t.problems + (t.at_place ? 100000 : 0);
}

static bool check_fits_quietly(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    struct check quiet = *c;

    quiet.fn = NULL;
    return check_check(&quiet, s, v, at, false);
}

/* Tells, when none fits, the problems of the nearest, if one is nearer than all others. */
static bool say_none(struct check *c, const struct schema_list *list, const struct wharf_json *v,
    const struct place *at)
{
    size_t best = SIZE_MAX, nearest = 0;
    bool alone = false;

    if (!c->fn)
        return false;
    for (size_t i = 0; i < list->n && !c->measuring; i++) {
        size_t d = check_distance(c, list->items[i], v, at);

        alone = d < best || (alone && d > best);
        if (d < best) {
            best = d;
            nearest = i;
        }
    }
    if (alone)
        return check_check(c, list->items[nearest], v, at, false);
    return say_kinds(c, at, list);
}

static bool check_choices(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    size_t any = 0, one = 0;
    bool ok = true;

    for (size_t i = 0; i < s->any_of.n && !any; i++)
        any += check_fits_quietly(c, s->any_of.items[i], v, at);
    if (s->any_of.n && !any)
        ok = say_none(c, &s->any_of, v, at);
    for (size_t i = 0; i < s->one_of.n && one < 2; i++)
        one += check_fits_quietly(c, s->one_of.items[i], v, at);
    if (s->one_of.n && one == 0)
        ok = say_none(c, &s->one_of, v, at) && ok;
    if (one > 1)
        ok = say(c, at, "format",
            "%s fits more than one of the forms it may have; send only what one of them needs");
    return ok;
}

static bool check_combined(
    struct check *c, const struct schema *s, const struct wharf_json *v, const struct place *at)
{
    bool ok = true;

    if (s->ref && !check_check(c, s->ref, v, at, false))
        ok = false;
    for (size_t i = 0; i < s->all_of.n; i++)
        if (!check_check(c, s->all_of.items[i], v, at, false))
            ok = false;
    if ((s->any_of.n || s->one_of.n) && !check_choices(c, s, v, at))
        ok = false;
    if (s->not_schema && check_fits_quietly(c, s->not_schema, v, at))
        ok = say(c, at, "format", "%s has a value that is not allowed");
    if (s->if_schema) {
        const struct schema *then = check_fits_quietly(c, s->if_schema, v, at) ? s->then_schema
                                                                               : s->else_schema;

        if (then && !check_check(c, then, v, at, false))
            ok = false;
    }
    return ok;
}

/* Checks v. whole: v is looked at for the first time, not again through a combination. */
static bool check_check(struct check *c, const struct schema *s, const struct wharf_json *v,
    const struct place *at, bool whole)
{
    bool ok = true;

    if (c->left && !spend(c, check_work_of(s, v)))
        return false;
    /* A value of the wrong kind would only repeat its problem in every part. */
    if (!check_value(c, s, v, at))
        return false;
    if (v->type == JSON_NUMBER)
        ok = check_check_number(c, s, v, at);
    else if (v->type == JSON_STRING)
        ok = check_string(c, s, v, at);
    else if (v->type == JSON_ARRAY)
        ok = check_array(c, s, v, at);
    else if (v->type == JSON_OBJECT)
        ok = check_object(c, s, v, at, whole);
    if (s->height > 1 && !check_combined(c, s, v, at))
        ok = false;
    return ok;
}

int64_t schema_max_items(const struct schema *s)
{
    return s ? s->max_items : INT64_MAX;
}

bool schema_validate(const struct schema *s, const struct wharf_json *v, wharf_str base,
    uint32_t flags, struct arena *a, schema_problem_fn *fn, void *arg)
{
    size_t reported = 0;
    struct check c = {
        .arena = a, .fn = fn, .arg = arg, .base = base, .flags = flags, .reported = &reported};
    struct place root = {0};

    return check_check(&c, s, v, &root, true);
}

bool schema_validate_within(const struct schema *s, const struct wharf_json *v, wharf_str base,
    int64_t *left, struct arena *a, schema_problem_fn *fn, void *arg)
{
    size_t reported = 0;
    struct check c = {
        .arena = a, .fn = fn, .arg = arg, .base = base, .left = left, .reported = &reported};
    struct place root = {0};
    bool ok = check_check(&c, s, v, &root, true);

    return ok && *left > 0;
}
