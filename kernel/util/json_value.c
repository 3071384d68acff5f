/* json_value.c - asking a parsed tree, see json.h. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/json.h"
#include "util/str.h"

enum { FEW_KEYS = 16, JSON_HASH_DIGITS = 320 };

const struct wharf_json *json_get_n(const struct wharf_json *object, wharf_str key)
{
    if (!json_is(object, JSON_OBJECT))
        return NULL;
    for (const struct wharf_json *m = object->child; m; m = m->next)
        if (str_eq(m->key, key))
            return m;
    return NULL;
}

const struct wharf_json *json_get(const struct wharf_json *object, const char *key)
{
    return json_get_n(object, str_z(key));
}

const struct wharf_json *json_at(const struct wharf_json *array, size_t i)
{
    const struct wharf_json *item;

    if ((!json_is(array, JSON_ARRAY) && !json_is(array, JSON_OBJECT)) || i >= array->count)
        return NULL;
    item = array->child;
    while (i--)
        item = item->next;
    return item;
}

wharf_str json_text_or(const struct wharf_json *object, const char *key, const char *fallback)
{
    const struct wharf_json *v = json_get(object, key);

    return json_is(v, JSON_STRING) ? v->text : str_z(fallback);
}

bool json_bool_or(const struct wharf_json *object, const char *key, bool fallback)
{
    const struct wharf_json *v = json_get(object, key);

    return json_is(v, JSON_BOOL) ? v->truth : fallback;
}

int64_t json_int_or(const struct wharf_json *object, const char *key, int64_t fallback)
{
    int64_t i;

    return json_int(json_get(object, key), &i) ? i : fallback;
}

double json_double(const struct wharf_json *v)
{
    return json_is(v, JSON_NUMBER) ? strtod(v->text.p, NULL) : 0;
}

static bool arrays_equal(const struct wharf_json *a, const struct wharf_json *b)
{
    const struct wharf_json *y = b->child;

    for (const struct wharf_json *x = a->child; x; x = x->next, y = y->next)
        if (!json_equal(x, y))
            return false;
    return true;
}

static int json_value_by_key(const void *x, const void *y)
{
    const struct wharf_json *a = *(const struct wharf_json *const *)x,
                            *b = *(const struct wharf_json *const *)y;
    int order = memcmp(a->key.p, b->key.p, a->key.n < b->key.n ? a->key.n : b->key.n);

    return order ? order : (a->key.n > b->key.n) - (a->key.n < b->key.n);
}

static void sort_members(const struct wharf_json *object, const struct wharf_json **list)
{
    size_t n = 0;

    for (const struct wharf_json *m = object->child; m; m = m->next)
        list[n++] = m;
    qsort(list, n, sizeof(*list), json_value_by_key);
}

struct json_index json_index(struct arena *a, const struct wharf_json *object)
{
    struct json_index index = {object, NULL};

    if (json_is(object, JSON_OBJECT) && object->count > FEW_KEYS) {
        index.sorted = ARENA_ARRAY(a, const struct wharf_json *, object->count);
        sort_members(object, index.sorted);
    }
    return index;
}

const struct wharf_json *json_index_get(const struct json_index *index, wharf_str key)
{
    const struct wharf_json want = {.key = key}, *wanted = &want, **found;

    if (!index->sorted)
        return json_get_n(index->object, key);
    found = bsearch(
        &wanted, index->sorted, index->object->count, sizeof(wanted), json_value_by_key);
    return found ? *found : NULL;
}

static const struct wharf_json **sorted_members(const struct wharf_json *object)
{
    const struct wharf_json **list = malloc(object->count * sizeof(const struct wharf_json *));

    if (!list) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    sort_members(object, list);
    return list;
}

static bool big_objects_equal(const struct wharf_json *a, const struct wharf_json *b)
{
    const struct wharf_json **x = sorted_members(a), **y = sorted_members(b);
    bool equal = true;

    for (size_t i = 0; i < a->count && equal; i++)
        equal = str_eq(x[i]->key, y[i]->key) && json_equal(x[i], y[i]);
    free(x);
    free(y);
    return equal;
}

/* Compares objects. The same keys in the same order, the usual case, cost one pass. */
static bool objects_equal(const struct wharf_json *a, const struct wharf_json *b)
{
    const struct wharf_json *hint = b->child;

    if (a->count > FEW_KEYS)
        return big_objects_equal(a, b);
    for (const struct wharf_json *x = a->child; x; x = x->next) {
        const struct wharf_json *y = hint && str_eq(hint->key, x->key) ? hint
                                                                       : json_get_n(b, x->key);

        if (!y || !json_equal(x, y))
            return false;
        hint = y->next;
    }
    return true;
}

bool json_equal(const struct wharf_json *a, const struct wharf_json *b)
{
    if (a->type != b->type)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->truth == b->truth;
    case JSON_NUMBER:
        return json_number_compare(a->text, b->text) == 0;
    case JSON_STRING:
        return a->has_nul == b->has_nul && str_eq(a->text, b->text);
    case JSON_ARRAY:
        return a->count == b->count && arrays_equal(a, b);
    case JSON_OBJECT:
        return a->count == b->count && objects_equal(a, b);
    }
    return false;
}

static uint64_t json_value_hash_text(wharf_str s, uint64_t salt, const unsigned char seed[16])
{
    uint64_t h;

    crypto_shorthash((unsigned char *)&h, (const unsigned char *)s.p, s.n, seed);
    return (h ^ salt) * 0x9E3779B97F4A7C15u;
}

static uint64_t hash_number(wharf_str text, const unsigned char seed[16])
{
    struct buf canonical;
    uint64_t h = JSON_NUMBER;

    buf_init(&canonical, JSON_HASH_DIGITS + 8);
    /* Numbers of more digits all hash alike; they are rare and still compared. */
    if (json_number_canonical(text, JSON_HASH_DIGITS, &canonical))
        h = json_value_hash_text(buf_str(&canonical), JSON_NUMBER, seed);
    buf_done(&canonical);
    return h;
}

uint64_t json_hash(const struct wharf_json *v, const unsigned char seed[16])
{
    uint64_t h = v->type;

    switch ((enum json_type)v->type) {
    case JSON_NULL:
        return 0x2545F4914F6CDD1Du;
    case JSON_BOOL:
        return v->truth ? 0xD6E8FEB86659FD93u : 0xCA5A826395121157u;
    case JSON_NUMBER:
        return hash_number(v->text, seed);
    case JSON_STRING:
        return json_value_hash_text(v->text, JSON_STRING + 16u * v->has_nul, seed);
    case JSON_ARRAY:
        for (const struct wharf_json *c = v->child; c; c = c->next)
            h = (h ^ json_hash(c, seed)) * 0x9E3779B97F4A7C15u + (h >> 29);
        return h;
    case JSON_OBJECT: /* a sum, because order does not count */
        for (const struct wharf_json *c = v->child; c; c = c->next)
            h += json_value_hash_text(c->key, json_hash(c, seed), seed);
        return h * 0x9E3779B97F4A7C15u;
    }
    return h;
}
