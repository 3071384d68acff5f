/* body_metadata.c - metadata, and the merging of what is stored with what was sent (RFC 7396).
 * See body.h. */
#include "resource/body_value.h"
#include "util/str.h"

enum {
    KEYS_MAX = 25, /* keys of metadata */
    SENT_MAX = 1000, /* keys of one request */
    KEY_LENGTH = 100, /* letters of a key */
    VALUE_LENGTH = 500 /* letters of a value */
};

static bool removes(const struct field *f, const struct wharf_json *m)
{
    return m->type == JSON_NULL ||
           (f->store == STORE_METADATA && m->type == JSON_STRING && !m->text.n);
}

static void body_metadata_check_member(
    struct checker *c, const struct wharf_json *m, wharf_str path)
{
    size_t n = utf8_length(m->key.p, m->key.n);

    if (!body_clean_text(c, m->key, m->key_nul, path))
        return;
    if (n == 0 || n > KEY_LENGTH)
        body_tell(c, path, n ? "max_length" : "min_length", "%s: keys must have 1 to %d characters",
            path.p, KEY_LENGTH);
    if (m->type == JSON_ARRAY || m->type == JSON_OBJECT)
        body_tell(c, path, "type", "%s must be a string, a number or true or false", path.p);
    else if (m->type == JSON_STRING && utf8_length(m->text.p, m->text.n) > VALUE_LENGTH)
        body_tell(
            c, path, "max_length", "%s must have at most %d characters", path.p, VALUE_LENGTH);
    else
        body_clean(c, m, path);
}

static void body_metadata_too_many(
    struct arena *a, wharf_str path, schema_problem_fn *fn, void *arg)
{
    fn(arg, path, "max", arena_printf(a, "%s must have at most %d keys", path.p, KEYS_MAX));
}

/* Judges the number of keys before any of them is looked at. What takes keys away may name more
 * than are kept. */
static bool metadata_length_ok(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path)
{
    size_t kept = 0;

    for (const struct wharf_json *m = v->child; m; m = m->next)
        kept += !removes(f, m);
    if (kept > KEYS_MAX)
        body_tell(c, path, "max", "%s must have at most %d keys", path.p, KEYS_MAX);
    else if (v->count > SENT_MAX)
        body_tell(c, path, "max", "%s may name at most %d keys at once", path.p, SENT_MAX);
    else
        return true;
    return false;
}

void body_metadata(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    struct value patch = {.present = true, .json = v, .patch = true};
    size_t before = c->problems;

    /* "empty": "keep" of a definition means the same here */
    if (v->type == JSON_STRING && !v->text.n) {
        *ret = (struct value){.present = true, .text = WHARF_S("{}")};
        return;
    }
    if (v->type != JSON_OBJECT) {
        body_tell(c, path, "type", "%s must be an object", path.p);
        return;
    }
    if (!metadata_length_ok(c, f, v, path))
        return;
    for (const struct wharf_json *m = v->child; m; m = m->next)
        body_metadata_check_member(c, m, body_path(c->arena, path, m->key));
    if (c->problems > before)
        return;
    if (c->op & OP_CREATE) {
        value_merge(c->arena, f, WHARF_S(""), &patch, path, ret, c->fn, c->arg);
        return;
    }
    *ret = patch;
    ret->text = body_compact(c->arena, v);
}

/* ---- merging ---- */

static void body_metadata_append(struct arena *a, struct wharf_json *object,
    struct wharf_json **last, const struct wharf_json *m)
{
    struct wharf_json *copy = ARENA_NEW(a, struct wharf_json);

    *copy = *m;
    copy->next = NULL;
    if (*last)
        (*last)->next = copy;
    else
        object->child = copy;
    *last = copy;
    object->count++;
}

/* Merges: stored members first, in their order, then new ones. Objects are merged into objects;
 * depth is that of JSON texts. */
static struct wharf_json *body_metadata_merge(struct arena *a, const struct field *f,
    const struct wharf_json *old, const struct wharf_json *patch)
{
    struct wharf_json *out = ARENA_NEW(a, struct wharf_json), *last = NULL;
    const struct wharf_json *members = old && old->type == JSON_OBJECT ? old->child : NULL;
    struct json_index stored = json_index(a, old), sent = json_index(a, patch);

    *out = (struct wharf_json){.type = JSON_OBJECT, .key = patch->key};
    for (const struct wharf_json *m = members; m; m = m->next) {
        const struct wharf_json *n = json_index_get(&sent, m->key);

        if (!n)
            body_metadata_append(a, out, &last, m);
        else if (!removes(f, n))
            body_metadata_append(
                a, out, &last, n->type == JSON_OBJECT ? body_metadata_merge(a, f, m, n) : n);
    }
    for (const struct wharf_json *n = patch->child; n; n = n->next)
        if (!json_index_get(&stored, n->key) && !removes(f, n))
            body_metadata_append(
                a, out, &last, n->type == JSON_OBJECT ? body_metadata_merge(a, f, NULL, n) : n);
    return out;
}

bool value_merge(struct arena *a, const struct field *f, wharf_str stored,
    const struct value *patch, wharf_str path, struct value *ret, schema_problem_fn *fn, void *arg)
{
    struct json_error error;
    const struct wharf_json *old = stored.p && stored.n ? json_parse(a, stored, &error) : NULL;
    const struct wharf_json *now = body_metadata_merge(a, f, old, patch->json);

    if (f->store == STORE_METADATA && now->count > KEYS_MAX) {
        body_metadata_too_many(a, path, fn, arg);
        return false;
    }
    /* The rules of the whole object can be judged only now. */
    if (f->store != STORE_METADATA && f->schema &&
        !schema_validate(f->schema, now, path, 0, a, fn, arg))
        return false;
    *ret = (struct value){.present = true, .json = now, .text = body_compact(a, now)};
    return true;
}
