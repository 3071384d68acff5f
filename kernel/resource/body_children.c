/* body_children.c - arrays of child rows. See body.h. Leaves to others: finding the rows they
 * belong to (children.c). */
#include "resource/body_value.h"

#include "util/id.h"
#include "util/str.h"

static bool uuid_shape(wharf_str s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? s.p[i] != '-' : !s.p[i] || !strchr("0123456789abcdef", s.p[i]))
            return false;
    }
    return true;
}

static void item_id(struct checker *c, const struct child_set *set, const struct wharf_json *item,
    wharf_str path, struct child_item *ret)
{
    const struct wharf_json *id = json_get(item, "id");
    wharf_str at = body_path(c->arena, path, str_z("id"));

    ret->id = str_z("");
    if (!id || id->type == JSON_NULL || (id->type == JSON_STRING && !id->text.n))
        return;
    if (id->type == JSON_STRING &&
        (set->uuid ? uuid_shape(id->text) : id_shape(id->text, set->id_prefix)))
        ret->id = id->text;
    else
        body_tell(c, at, "format", "%s is not an id of such a row; leave it out to add one", at.p);
}

static bool same_name(const struct value *a, const struct value *b)
{
    return a->present && b->present && !a->null && !b->null && a->text.p && b->text.p &&
           str_eq(a->text, b->text);
}

/* Checks that names and ids stand once each. Arrays of child rows are short: count_ok bounded
 * them. */
static void body_children_check_unique(
    struct checker *c, const struct field *f, const struct value *list, wharf_str path)
{
    const struct field *unique = f->children->unique;

    for (size_t i = 0; i < list->n_items; i++) {
        const struct child_item *item = &list->items[i];
        wharf_str base = body_path_index(c->arena, path, i);

        for (size_t k = 0; k < i; k++) {
            const struct child_item *other = &list->items[k];
            const char *twice = NULL;

            if (unique && same_name(&item->values[unique->index], &other->values[unique->index]))
                twice = unique->name;
            else if (item->id.n && str_eq(item->id, other->id))
                twice = "id";
            if (twice) {
                wharf_str at = body_path(c->arena, base, str_z(twice));

                body_tell(c, at, "unique", "%s is the same as %s.%zu.%s; send each only once", at.p,
                    path.p, k, twice);
                break;
            }
        }
    }
}

/* Without a maximum of its own an array may have this many rows. */
enum { ROWS_MAX = 1000 }; /* child rows of a row */

static bool count_ok(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path)
{
    if (!body_by_schema(c, f->schema, v, path, 0))
        return false;
    if (v->type != JSON_ARRAY)
        body_tell(c, path, "type", "%s must be an array", path.p);
    else if (v->count > ROWS_MAX)
        body_tell(c, path, "max", "%s must have at most %d items", path.p, ROWS_MAX);
    else
        return true;
    return false;
}

void body_children(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    const struct child_set *set = f->children;
    struct checker inner = *c;
    size_t i = 0;

    if (!count_ok(c, f, v, path))
        return;
    ret->present = true;
    ret->json = v;
    ret->items = ARENA_ARRAY(c->arena, struct child_item, v->count);
    ret->n_items = v->count;
    inner.parent = NULL;
    for (const struct wharf_json *e = v->child; e; e = e->next, i++) {
        struct child_item *item = &ret->items[i];
        wharf_str at = body_path_index(c->arena, path, i);

        item->position = i;
        item->id = str_z("");
        item->values = ARENA_ARRAY(c->arena, struct value, set->n_fields);
        if (e->type != JSON_OBJECT) {
            body_tell(&inner, at, "type", "%s must be an object", at.p);
            continue;
        }
        item_id(&inner, set, e, at, item);
        /* A row that is named by its id keeps what is not sent; a new one needs everything. One
         * that is found by its name later is checked as a new one; what it did not send is
         * marked `defaulted`. */
        inner.op = item->id.n && c->op == OP_UPDATE ? OP_UPDATE : OP_CREATE;
        body_fields(&inner, set->fields, set->n_fields, e, at, item->values);
        body_unknown(&inner, set->fields, set->n_fields, e, at);
    }
    c->problems = inner.problems;
    body_children_check_unique(c, f, ret, path);
}
