/* body_array.c - arrays of texts, and {add, remove, set} inputs. See body.h. */
#include <stdlib.h>

#include "resource/body_value.h"
#include "util/str.h"

/* A list in a body has at most this many elements, also where its schema names no number. */
enum { ELEMENTS_MAX = 10000 }; /* values of an array */

/* An element by its text, for finding equal ones in n log n. */
struct entry {
    wharf_str text;
    size_t index;
};

struct entries {
    struct entry *items;
    size_t n;
};

static int by_text(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int order = memcmp(a->text.p, b->text.p, a->text.n < b->text.n ? a->text.n : b->text.n);

    if (!order)
        order = (a->text.n > b->text.n) - (a->text.n < b->text.n);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_text_only(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    return str_eq(a->text, b->text) ? 0 : by_text(x, y);
}

static struct entries sorted(struct arena *a, const struct wharf_json *list)
{
    struct entries e = {0};

    if (!json_is(list, JSON_ARRAY))
        return e;
    e.items = ARENA_ARRAY(a, struct entry, list->count + 1);
    for (const struct wharf_json *i = list->child; i; i = i->next, e.n++)
        e.items[e.n] = (struct entry){i->text, e.n};
    qsort(e.items, e.n, sizeof(*e.items), by_text);
    return e;
}

/* Returns the first equal element, or NULL. */
static const struct entry *body_array_find(const struct entries *e, wharf_str text)
{
    struct entry key = {text, 0};

    return e->n ? bsearch(&key, e->items, e->n, sizeof(*e->items), by_text_only) : NULL;
}

/* Tells whether all elements differ. at_list: what is repeated is told at the list's path, not at
 * its own. */
static bool all_unique(
    struct checker *c, const struct wharf_json *list, wharf_str path, bool at_list)
{
    struct entries e = sorted(c->arena, list);
    /* by index: the first equal one */
    size_t *first = ARENA_ARRAY(c->arena, size_t, e.n + 1), before = c->problems;

    for (size_t i = 0, run = 0; i < e.n; i++) {
        if (!str_eq(e.items[i].text, e.items[run].text))
            run = i;
        first[e.items[i].index] = e.items[run].index;
    }
    for (size_t i = 0; i < e.n && !(at_list && c->problems > before); i++)
        if (first[i] != i && body_describes(c, "unique")) {
            wharf_str at = body_path_index(c->arena, path, i);

            body_tell(c, at_list ? path : at, "unique",
                "%s is the same as %s.%zu; send each only once", at.p, path.p, first[i]);
        }
    return c->problems == before;
}

/* Checks that every element is a clean text of at least one character. Trims and folds as the
 * field says. Returns the list to go on with. */
static const struct wharf_json *clean_list(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path)
{
    struct wharf_json *copy = ARENA_NEW(c->arena, struct wharf_json), **tail = &copy->child;
    size_t before = c->problems, index = 0;

    *copy = *v;
    copy->child = NULL;
    for (const struct wharf_json *i = v->child; i; i = i->next, index++) {
        struct wharf_json *e = ARENA_NEW(c->arena, struct wharf_json);
        wharf_str at;

        *e = *i;
        e->next = NULL;
        *tail = e;
        tail = &e->next;
        if (f->trim && i->type == JSON_STRING)
            e->text = arena_dup_str(c->arena, utf8_trim(i->text));
        if (f->fold && i->type == JSON_STRING)
            e->text = utf8_lower(c->arena, e->text);
        at = body_path_index(c->arena, path, index);
        if (i->type != JSON_STRING)
            body_tell(c, at, "type", "%s must be a string", at.p);
        else if (!e->text.n)
            body_tell(c, at, "min_length", "%s must not be empty", at.p);
        else
            body_clean_text(c, e->text, i->has_nul, at);
    }
    return c->problems == before ? copy : NULL;
}

enum list_kind { LIST_WHOLE, LIST_SET, LIST_PART };

/* Judges the length before any element is looked at. */
static bool list_length_ok(
    struct checker *c, const struct schema *s, const struct wharf_json *v, wharf_str path)
{
    int64_t most = schema_max_items(s);

    if (most > ELEMENTS_MAX)
        most = ELEMENTS_MAX;
    if (v->count <= most)
        return true;
    body_tell(c, path, "max", "%s must have at most %lld item%s", path.p, (long long)most,
        most == 1 ? "" : "s");
    return false;
}

/* Checks one list for itself: the complete array, so that its schema counts; the same as {"set":
 * …}; or what is put in or taken out. */
static const struct wharf_json *checked_list(struct checker *c, const struct field *f,
    const struct wharf_json *v, wharf_str path, enum list_kind kind)
{
    const struct wharf_json *list;

    if (v->type != JSON_ARRAY) {
        body_tell(c, path, "type", "%s must be an array of strings", path.p);
        return NULL;
    }
    if (!list_length_ok(c, kind == LIST_PART ? NULL : f->schema, v, path))
        return NULL;
    list = clean_list(c, f, v, path);
    if (!list || !all_unique(c, list, path, kind == LIST_SET))
        return NULL;
    return body_by_schema(c, kind == LIST_PART ? f->element : f->schema, list, path, 0) ? list
                                                                                        : NULL;
}

static struct wharf_json *body_array_member(
    struct arena *a, const char *key, const struct wharf_json *v)
{
    struct wharf_json *m = ARENA_NEW(a, struct wharf_json);

    *m = *v;
    m->key = str_z(key);
    m->next = NULL;
    return m;
}

/* Sets {"set": list} for what replaces the stored array; on create the array itself. */
static void body_array_replace(
    struct checker *c, const struct field *f, const struct wharf_json *list, struct value *ret)
{
    struct wharf_json *set;

    ret->json = list;
    ret->text = body_compact(c->arena, list);
    if (!f->set_input || c->op & OP_CREATE)
        return;
    set = ARENA_NEW(c->arena, struct wharf_json);
    *set = (struct wharf_json){
        .type = JSON_OBJECT, .count = 1, .child = body_array_member(c->arena, "set", list)};
    ret->json = set;
    ret->set_input = true;
}

static void not_in_both(struct checker *c, const struct wharf_json *add,
    const struct wharf_json *remove, wharf_str path)
{
    struct entries removed = sorted(c->arena, remove);
    size_t index = 0;

    for (const struct wharf_json *e = add->child; e; e = e->next, index++) {
        const struct entry *same = body_array_find(&removed, e->text);
        wharf_str at = body_path_index(c->arena, body_path(c->arena, path, WHARF_S("add")), index);

        if (same)
            body_tell(
                c, at, "unique", "%s is also in %s.remove; send it in one of them", at.p, path.p);
    }
}

static void body_array_change(struct checker *c, const struct field *f,
    const struct wharf_json *add, const struct wharf_json *remove, wharf_str path,
    struct value *ret)
{
    struct wharf_json *input = ARENA_NEW(c->arena, struct wharf_json), **tail;

    *input = (struct wharf_json){.type = JSON_OBJECT};
    tail = &input->child;
    if (add) {
        *tail = body_array_member(c->arena, "add", add);
        tail = &(*tail)->next;
        input->count++;
    }
    if (remove) {
        *tail = body_array_member(c->arena, "remove", remove);
        input->count++;
    }
    ret->json = input;
    ret->set_input = true;
    if (c->op & OP_CREATE) { /* nothing is stored: what is added is the array */
        struct json_error error;

        ret->text = value_apply_set(c->arena, WHARF_S("[]"), ret);
        ret->json = json_parse(c->arena, ret->text, &error);
        ret->set_input = false;
        body_by_schema(c, f->schema, ret->json, path, 0);
    }
}

static void set_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    static const char *const verbs[] = {"add", "remove", "set"};
    const struct wharf_json *lists[3] = {NULL, NULL, NULL};
    size_t before = c->problems, sent = 0;

    for (size_t i = 0; i < 3; i++) {
        const struct wharf_json *list = json_get(v, verbs[i]);

        if (!list)
            continue;
        sent++;
        lists[i] = checked_list(
            c, f, list, body_path(c->arena, path, str_z(verbs[i])), i == 2 ? LIST_SET : LIST_PART);
    }
    for (const struct wharf_json *m = v->child; m && c->flags & BODY_STRICT; m = m->next) {
        wharf_str at;

        if (str_eqz(m->key, "add") || str_eqz(m->key, "remove") || str_eqz(m->key, "set") ||
            !body_describes(c, "unknown"))
            continue;
        at = body_path(c->arena, path, m->key);
        body_tell(c, at, "unknown", "%s is none of add, remove, set", at.p);
    }
    if (!sent)
        body_tell(c, path, "required", "%s needs add, remove or set", path.p);
    else if (json_get(v, "set") && sent > 1)
        body_tell(c, path, "format", "%s takes set alone, or add and remove", path.p);
    else if (lists[0] && lists[1])
        not_in_both(c, lists[0], lists[1], path);
    if (c->problems > before)
        return;
    if (lists[2])
        body_array_replace(c, f, lists[2], ret);
    else
        body_array_change(c, f, lists[0], lists[1], path, ret);
}

void body_array(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    const struct wharf_json *list;

    ret->sent = v;
    if (f->set_input && v->type == JSON_OBJECT) {
        set_value(c, f, v, path, ret);
        return;
    }
    list = checked_list(c, f, v, path, LIST_WHOLE);
    if (list)
        body_array_replace(c, f, list, ret);
}

wharf_str value_apply_set(struct arena *a, wharf_str stored, const struct value *input)
{
    const struct wharf_json *add = json_get(input->json, "add"),
                            *set = json_get(input->json, "set"), *old;
    struct entries removed = sorted(a, json_get(input->json, "remove")), known;
    struct json_error e;
    struct buf out;
    struct jw w;
    wharf_str s;

    if (set)
        return body_compact(a, set);
    old = stored.p && stored.n ? json_parse(a, stored, &e) : NULL;
    known = sorted(a, old);
    buf_init(&out, SIZE_MAX / 2);
    jw_init(&w, &out);
    jw_open(&w, NULL, '[');
    for (const struct wharf_json *m = json_is(old, JSON_ARRAY) ? old->child : NULL; m; m = m->next)
        if (!body_array_find(&removed, m->text))
            jw_str(&w, NULL, m->text);
    for (const struct wharf_json *m = add ? add->child : NULL; m; m = m->next)
        if (!body_array_find(&known, m->text))
            jw_str(&w, NULL, m->text);
    jw_close(&w, ']');
    s = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return s;
}

bool value_settle_set(struct arena *a, const struct field *f, wharf_str stored, wharf_str path,
    struct value *v, schema_problem_fn *fn, void *arg)
{
    struct checker c = {.arena = a, .op = OP_UPDATE, .fn = fn, .arg = arg};
    struct json_error error;

    v->text = value_apply_set(a, stored, v);
    v->null = false;
    if (json_get(v->json, "set")) /* a whole array: checked as such when it was read */
        return true;
    return body_by_schema(&c, f->schema, json_parse(a, v->text, &error), path, 0);
}
