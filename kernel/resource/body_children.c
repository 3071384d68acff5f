/* body_children.c - arrays of child rows, and the merging of what is stored with what was sent. See body.h. */
#include "resource/body_value.h"

#include "util/id.h"
#include "util/str.h"

static bool uuid_shape(wharf_str s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? s.p[i] != '-' : !strchr("0123456789abcdef", s.p[i]))
            return false;
    }
    return true;
}

static void item_id(struct checker *c, const struct child_set *set, const struct wharf_json *item, wharf_str path,
    struct child_item *ret)
{
    const struct wharf_json *id = json_get(item, "id");
    wharf_str at = body_path(c->arena, path, str_z("id"));

    ret->id = str_z("");
    if (!id || id->type == JSON_NULL || (id->type == JSON_STRING && !id->text.n))
        return;
    if (id->type == JSON_STRING && (set->uuid ? uuid_shape(id->text) : id_shape(id->text, set->id_prefix)))
        ret->id = id->text;
    else
        body_tell(c, at, "format", "this is not an id of such a row; leave it out to add one");
}

static void check_unique(struct checker *c, const struct field *f, const struct value *list)
{
    const struct field *unique = f->children->unique;

    for (size_t i = 0; unique && i < list->n_items; i++) {
        const struct value *v = &list->items[i].values[unique->index];

        for (size_t k = 0; k < i && v->present && !v->null; k++) {
            const struct value *o = &list->items[k].values[unique->index];

            if (o->present && !o->null && str_eq(o->text, v->text)) {
                body_tell(c, arena_printf(c->arena, "%s.%zu.%s", f->name, i, unique->name), "unique",
                    "%s is used twice", unique->name);
                break;
            }
        }
    }
    for (size_t i = 0; i < list->n_items; i++) {
        for (size_t k = 0; k < i && list->items[i].id.n; k++) {
            if (str_eq(list->items[k].id, list->items[i].id)) {
                body_tell(c, arena_printf(c->arena, "%s.%zu.id", f->name, i), "unique", "id is used twice");
                break;
            }
        }
    }
}

static bool count_ok(struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path)
{
    int64_t min = json_int_or(f->json, "minItems", 0), max = json_int_or(f->json, "maxItems", 10000);

    if (v->type != JSON_ARRAY)
        body_tell(c, path, "type", "%s must be an array", f->name);
    else if (v->count < (uint64_t)min)
        body_tell(c, path, "min", "%s must have at least %lld", f->name, (long long)min);
    else if (v->count > (uint64_t)max)
        body_tell(c, path, "max", "%s must have at most %lld", f->name, (long long)max);
    else
        return true;
    return false;
}

/* Items of an update are checked as new ones: one that finds its row changes only what it carries, but the check can not know yet. */
void body_children(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    const struct child_set *set = f->children;
    struct checker inner = *c;
    size_t i = 0;

    if (!count_ok(c, f, v, path))
        return;
    ret->present = true;
    ret->json = v;
    ret->items = ARENA_ARRAY(c->arena, struct child_item, v->count);
    inner.parent = NULL;
    for (const struct wharf_json *e = v->child; e; e = e->next, i++) {
        struct child_item *item = &ret->items[i];
        wharf_str at = body_path(c->arena, path, arena_printf(c->arena, "%zu", i));

        item->position = i;
        item->id = str_z("");
        item->values = ARENA_ARRAY(c->arena, struct value, set->n_fields);
        if (e->type != JSON_OBJECT) {
            body_tell(&inner, at, "type", "must be an object");
            continue;
        }
        item_id(&inner, set, e, at, item);
        /* A row that is named by its id keeps what is not sent; a new one needs everything. */
        inner.op = item->id.n ? OP_UPDATE : OP_CREATE;
        body_fields(&inner, set->fields, set->n_fields, e, at, item->values);
        body_unknown(&inner, set->fields, set->n_fields, e, at);
    }
    ret->n_items = v->count;
    c->problems = inner.problems;
    check_unique(c, f, ret);
}

/* ---- merging ---- */

static bool removes(const struct field *f, const struct wharf_json *m)
{
    return m->type == JSON_NULL || (f->store == STORE_METADATA && m->type == JSON_STRING && !m->text.n);
}

static void append(struct wharf_json ***last, struct arena *a, const struct wharf_json *m, uint32_t *count)
{
    **last = ARENA_NEW(a, struct wharf_json);
    ***last = *m;
    (**last)->next = NULL;
    *last = &(**last)->next;
    (*count)++;
}

static const struct wharf_json *merge(
    struct arena *a, const struct field *f, const struct wharf_json *old, const struct wharf_json *patch)
{
    struct wharf_json *out = ARENA_NEW(a, struct wharf_json), **last = &out->child;

    *out = (struct wharf_json){.type = JSON_OBJECT, .key = patch->key};
    for (const struct wharf_json *m = json_is(old, JSON_OBJECT) ? old->child : NULL; m; m = m->next) {
        const struct wharf_json *n = json_get_n(patch, m->key);

        if (!n)
            append(&last, a, m, &out->count);
        else if (!removes(f, n))
            append(&last, a, n->type == JSON_OBJECT && m->type == JSON_OBJECT ? merge(a, f, m, n) : n, &out->count);
    }
    for (const struct wharf_json *n = patch->child; n; n = n->next) {
        if (!json_get_n(old, n->key) && !removes(f, n))
            append(&last, a, n, &out->count);
    }
    return out;
}

bool value_merge(struct arena *a, const struct field *f, wharf_str stored, const struct value *patch, wharf_str path,
    struct value *ret, schema_problem_fn *fn, void *arg)
{
    static const struct wharf_json nothing = {.type = JSON_OBJECT};
    struct json_error e;
    const struct wharf_json *old = stored.p && stored.n ? json_parse(a, stored, &e) : &nothing;
    const struct wharf_json *now = merge(a, f, old ? old : &nothing, patch->json);

    if (f->store == STORE_METADATA && now->count > 25) {
        fn(arg, path, "max", WHARF_S("metadata has at most 25 keys"));
        return false;
    }
    *ret = (struct value){.present = true, .json = now, .text = body_compact(a, now)};
    return true;
}

static bool in_list(const struct wharf_json *list, wharf_str id)
{
    for (const struct wharf_json *e = json_is(list, JSON_ARRAY) ? list->child : NULL; e; e = e->next) {
        if (str_eq(e->text, id))
            return true;
    }
    return false;
}

wharf_str value_apply_set(struct arena *a, wharf_str stored, const struct value *input)
{
    const struct wharf_json *add = json_get(input->json, "add"), *remove = json_get(input->json, "remove");
    const struct wharf_json *set = json_get(input->json, "set"), *old;
    struct json_error e;
    struct buf b;
    struct jw w;
    wharf_str s;

    if (set)
        return body_compact(a, set);
    old = stored.p && stored.n ? json_parse(a, stored, &e) : NULL;
    buf_init(&b, 16 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '[');
    for (const struct wharf_json *m = json_is(old, JSON_ARRAY) ? old->child : NULL; m; m = m->next) {
        if (!in_list(remove, m->text))
            jw_str(&w, NULL, m->text);
    }
    for (const struct wharf_json *m = add ? add->child : NULL; m; m = m->next) {
        if (!in_list(old, m->text))
            jw_str(&w, NULL, m->text);
    }
    jw_close(&w, ']');
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}
