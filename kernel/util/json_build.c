/* json_build.c - a JSON value built member by member, without a text in between; see json.h.
 * Leaves to others: reading text (json_read.c), writing it (json_write.c). */
#include "util/json.h"
#include "util/str.h"

void json_build_init(struct json_build *b, struct arena *a)
{
    *b = (struct json_build){.arena = a};
}

/* Notes what is wrong with the value: the first thing counts. */
static void build_wrong(struct json_build *b, const char *why)
{
    b->wrong = b->wrong ? b->wrong : why;
}

/* Copies a text. U+0000 becomes U+FFFD, as where a text is read; *ret_nul says that it did. */
static wharf_str build_text(struct json_build *b, wharf_str s, bool *ret_nul)
{
    size_t nuls = 0, n = 0;
    char *to;

    if (!utf8_valid(s.p, s.n))
        build_wrong(b, "text that is not UTF-8");
    for (size_t i = 0; i < s.n; i++)
        nuls += !s.p[i];
    *ret_nul = nuls > 0;
    if (!nuls)
        return arena_dup_str(b->arena, s);
    to = arena_alloc(b->arena, s.n + 2 * nuls + 1);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i])
            to[n++] = s.p[i];
        else
            n += utf8_put(0xFFFD, to + n);
    }
    to[n] = 0;
    return (wharf_str){to, n};
}

static bool build_repeats_key(struct json_build *b, const struct wharf_json *object)
{
    struct json_index index = json_index(b->arena, object);

    for (size_t i = 1; index.sorted && i < object->count; i++) {
        if (str_eq(index.sorted[i - 1]->key, index.sorted[i]->key))
            return true;
    }
    if (index.sorted)
        return false;
    for (const struct wharf_json *m = object->child; m; m = m->next) {
        for (const struct wharf_json *n = m->next; n; n = n->next) {
            if (str_eq(m->key, n->key))
                return true;
        }
    }
    return false;
}

/* Adds a value to the open array or object, or as the whole value. */
static struct wharf_json *build_add(struct json_build *b, const char *key, uint32_t type)
{
    struct wharf_json *v = ARENA_NEW(b->arena, struct wharf_json);
    struct json_build_level *l = b->depth ? &b->levels[b->depth - 1] : NULL;
    bool in_object = l && l->node->type == JSON_OBJECT;

    v->type = type;
    if (!l && b->root)
        build_wrong(b, "two values without an array around them");
    else if (in_object != (key != NULL))
        build_wrong(b, key ? "a name outside of an object" : "a member without a name");
    if (b->wrong)
        return v;
    if (key)
        v->key = build_text(b, str_z(key), &v->key_nul);
    if (!l)
        b->root = v;
    else if (l->node->count++)
        l->last->next = v;
    else
        l->node->child = v;
    if (l)
        l->last = v;
    return v;
}

void json_build_open(struct json_build *b, const char *key, char bracket)
{
    struct wharf_json *v = build_add(b, key, bracket == '{' ? JSON_OBJECT : JSON_ARRAY);

    if (b->depth == JSON_DEPTH_MAX)
        build_wrong(b, "nested too deeply");
    if (b->depth == b->room) {
        struct json_build_level *more = ARENA_ARRAY(
            b->arena, struct json_build_level, 2 * b->room + 4);

        for (unsigned i = 0; i < b->depth; i++)
            more[i] = b->levels[i];
        b->levels = more;
        b->room = 2 * b->room + 4;
    }
    b->levels[b->depth++] = (struct json_build_level){v, NULL};
}

void json_build_close(struct json_build *b)
{
    const struct wharf_json *v;

    if (!b->depth) {
        build_wrong(b, "an end without a beginning");
        return;
    }
    v = b->levels[--b->depth].node;
    if (v->type == JSON_OBJECT && build_repeats_key(b, v))
        build_wrong(b, "duplicate key");
}

void json_build_text(struct json_build *b, const char *key, wharf_str v)
{
    struct wharf_json *to = build_add(b, key, JSON_STRING);

    to->text = build_text(b, v, &to->has_nul);
}

void json_build_number(struct json_build *b, const char *key, wharf_str v)
{
    build_add(b, key, JSON_NUMBER)->text = arena_dup_str(b->arena, v);
}

void json_build_bool(struct json_build *b, const char *key, bool v)
{
    build_add(b, key, JSON_BOOL)->truth = v;
}

void json_build_null(struct json_build *b, const char *key)
{
    build_add(b, key, JSON_NULL);
}

/* Tells whether a value has more levels of arrays and objects than that. */
static bool build_is_deeper(const struct wharf_json *v, unsigned levels)
{
    if (v->type != JSON_ARRAY && v->type != JSON_OBJECT)
        return false;
    if (!levels)
        return true;
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        if (build_is_deeper(m, levels - 1))
            return true;
    }
    return false;
}

void json_build_value(struct json_build *b, const char *key, const struct wharf_json *v)
{
    struct wharf_json *to = build_add(b, key, v->type);

    if (b->depth > JSON_DEPTH_MAX || build_is_deeper(v, JSON_DEPTH_MAX - b->depth))
        build_wrong(b, "nested too deeply");
    to->truth = v->truth;
    to->has_nul = v->has_nul;
    to->text = v->text;
    to->count = v->count;
    to->child = v->child;
}

const struct wharf_json *json_build_result(const struct json_build *b, const char **ret_wrong)
{
    *ret_wrong = b->wrong   ? b->wrong
                 : b->depth ? "a beginning without an end"
                 : !b->root ? "no value"
                            : NULL;
    return *ret_wrong ? NULL : b->root;
}
