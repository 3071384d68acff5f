/* batch_names.c - what stands in cells of a file for other records: an id, or a name, a code or
 * an e-mail address that only one has (spec 10 section 9.1).
 *
 * Which fields name records is said by their "ref", and by "names" of the definition where that
 * is not all there is to say: names of groups are those of one kind, and whose the children of a
 * group are is said by another field of the same row. */
#include "batches.h"
#include "batches.gen.h"

enum { LOOKS_MAX = 3, WHERE_MAX = 4, TARGETS_MAX = 4, LINKS_MAX = 32, KEPT_MAX = 256 };

struct target { /* a resource whose records may be meant */
    wharf_str resource, prefix;
    const char *looks[LOOKS_MAX]; /* filters by which they are found, in this order */
    size_t n_looks;
    const char *where[WHERE_MAX]; /* filters that hold in any case, and their values */
    wharf_str where_values[WHERE_MAX];
    size_t n_where;
};

/* A field that names records; "group_contacts.children": a member of one. */
struct link {
    wharf_str name, member, inner; /* inner: "" when it is the whole field */
    wharf_str by; /* the field that says which of the targets; "": there is one */
    struct target of[TARGETS_MAX];
    size_t n_of;
};

/* Answers of look-ups for these rows, so that a name that stands in each row is asked once. */
struct known {
    const struct target *of;
    wharf_str value, id;
    const char *code; /* NULL: found */
};

struct naming {
    struct batch *b;
    struct link links[LINKS_MAX];
    size_t n_links;
    struct known kept[KEPT_MAX];
    size_t n_kept;
    /* of the row and the field that is looked at */
    const struct link *link;
    const struct target *of;
    size_t n_of;
    wharf_str *code, *path, *message;
};

/* ---- which fields ---- */

static bool has_filter(const wharf_json *definition, const char *name)
{
    const wharf_json *list = W->json->get(definition_x(definition), "list");
    const wharf_json *named = list ? W->json->get(list, "filters") : NULL;
    const wharf_json *p = definition_property(definition, z(name)),
                     *x = p ? W->json->get(p, "x-wharf") : NULL;

    return (named && W->json->get(named, name)) || (x && W->json->get(x, "filter"));
}

static void add_target(struct batch *b, struct link *l, wharf_str resource, const wharf_json *where)
{
    static const char *const looks[LOOKS_MAX] = {"name", "code", "email"};
    const wharf_json *other = batches_kernel->definition(b->req, resource.p);
    struct target t = {.resource = resource};

    if (!other || l->n_of == TARGETS_MAX)
        return;
    t.prefix = json_text(definition_x(other), "prefix");
    for (size_t i = 0; i < LOOKS_MAX; i++) {
        if (has_filter(other, looks[i]))
            t.looks[t.n_looks++] = looks[i];
    }
    for (const wharf_json *m = where ? W->json->at(where, 0) : NULL; m && t.n_where < WHERE_MAX;
         m = W->json->next(m)) {
        t.where[t.n_where] = W->json->key(m).p;
        if (W->json->text(m, &t.where_values[t.n_where]))
            t.n_where++;
    }
    if (t.n_looks)
        l->of[l->n_of++] = t;
}

static void batch_names_add_link(
    struct naming *n, wharf_str path, const wharf_json *says, wharf_str of)
{
    struct link l = {.name = path, .by = says ? json_text(says, "by") : WHARF_S("")};
    const char *dot = memchr(path.p, '.', path.n);
    const wharf_json *choices = l.by.n ? W->json->get(
                                             definition_property(n->b->definition, l.by), "enum")
                                       : NULL;
    wharf_str choice;

    l.member = W->mem->dup(n->b->req, path.p, dot ? (size_t)(dot - path.p) : path.n);
    l.inner = dot ? z(dot + 1) : WHARF_S("");
    if (of.n)
        add_target(n->b, &l, of, says ? W->json->get(says, "where") : NULL);
    for (const wharf_json *e = choices ? W->json->at(choices, 0) : NULL; e; e = W->json->next(e)) {
        if (W->json->text(e, &choice))
            add_target(n->b, &l, choice, NULL);
    }
    if (l.n_of && n->n_links < LINKS_MAX)
        n->links[n->n_links++] = l;
}

static void find_links(struct naming *n)
{
    const wharf_json *properties = W->json->get(n->b->definition, "properties"),
                     *names = block_member(n->b->block, "names");

    for (const wharf_json *m = names ? W->json->at(names, 0) : NULL; m; m = W->json->next(m))
        batch_names_add_link(n, W->json->key(m), m, json_text(m, "of"));
    for (const wharf_json *p = W->json->at(properties, 0); p; p = W->json->next(p)) {
        const wharf_json *x = W->json->get(p, "x-wharf");
        wharf_str ref = x ? json_text(x, "ref") : WHARF_S("");

        if (ref.n && !(names && W->json->get(names, W->json->key(p).p)))
            batch_names_add_link(n, W->json->key(p), NULL, ref);
    }
}

static bool is_id(const struct link *l, wharf_str s)
{
    for (size_t i = 0; i < l->n_of; i++) {
        wharf_str prefix = l->of[i].prefix;

        if (s.n > prefix.n + 1 && !memcmp(s.p, prefix.p, prefix.n) && s.p[prefix.n] == '_')
            return true;
    }
    return false;
}

/* ---- one name ---- */

/* Asks for records of a target by one filter, or by two: each has what the field says of all. */
static wharf_status batch_names_ask(struct naming *n, const struct target *t,
    const char *const *looks, const wharf_str *values, size_t n_looks, struct known *ret)
{
    const char *filters[2 + WHERE_MAX];
    wharf_str all[2 + WHERE_MAX], id;
    size_t k = 0;
    bool several;
    wharf_status s;

    for (size_t i = 0; i < n_looks; i++, k++) {
        filters[k] = looks[i];
        all[k] = values[i];
    }
    for (size_t i = 0; i < t->n_where; i++, k++) {
        filters[k] = t->where[i];
        all[k] = t->where_values[i];
    }
    s = batches_kernel->find(n->b->req, t->resource.p, filters, all, k, &id, &several);
    if (s != WHARF_OK || !id.n)
        return s;
    ret->code = several || ret->id.n ? ERR_REFERENCE_AMBIGUOUS : NULL;
    ret->id = W->mem->dup(n->b->req, id.p, id.n);
    return s;
}

/* Asks for a record by a value; of "name:::email" the record has both. */
static wharf_status ask_target(
    struct naming *n, const struct target *t, wharf_str value, struct known *ret)
{
    static const char *const both[2] = {"name", "email"};
    const char *colons = strstr(value.p, ":::");
    size_t before = ret->id.n;
    wharf_status s = WHARF_OK;

    if (colons) {
        wharf_str parts[2] = {
            W->mem->dup(n->b->req, value.p, (size_t)(colons - value.p)), z(colons + 3)};
        bool has_email = false;

        for (size_t i = 0; i < t->n_looks; i++)
            has_email |= !strcmp(t->looks[i], "email");
        return has_email ? batch_names_ask(n, t, both, parts, 2, ret) : WHARF_OK;
    }
    for (size_t i = 0; i < t->n_looks && s == WHARF_OK && ret->id.n == before; i++)
        s = batch_names_ask(n, t, &t->looks[i], &value, 1, ret);
    return s;
}

static wharf_status batch_names_look(struct naming *n, wharf_str value, struct known *ret)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n->n_kept; i++) {
        *ret = n->kept[i];
        if (ret->of == n->of && same(ret->value, value))
            return WHARF_OK;
    }
    *ret = (struct known){
        .of = n->of, .value = value, .id = WHARF_S(""), .code = ERR_REFERENCE_NOT_FOUND};
    for (size_t i = 0; i < n->n_of && s == WHARF_OK; i++)
        s = ask_target(n, &n->of[i], value, ret);
    if (s == WHARF_OK && n->n_kept < KEPT_MAX)
        n->kept[n->n_kept++] = *ret;
    return s;
}

/* ---- a value ---- */

static wharf_status batch_names_put_one(
    struct naming *n, wharf_out *out, const char *key, wharf_str value)
{
    struct known k = {.id = value};
    wharf_status s = is_id(n->link, value) ? WHARF_OK : batch_names_look(n, value, &k);

    if (s == WHARF_OK && k.code && !n->code->n) {
        *n->code = z(k.code);
        *n->path = n->link->name;
        *n->message = W->mem->format(n->b->req, "%s: %s is %s", n->link->name.p, value.p,
            is(z(k.code), ERR_REFERENCE_AMBIGUOUS) ? "the name of several records; use the id"
                                                   : "neither an id nor a name there is");
    }
    W->json->put(out, key, val_text(k.code ? value : k.id));
    return s;
}

/* Returns the id of a record as answers and exports show it, an object with id and name; "" when
 * the value is something else. */
static wharf_str shown_id(const wharf_json *value)
{
    return W->json->type(value) == WHARF_J_OBJECT ? json_text(value, "id") : WHARF_S("");
}

/* Writes a name, a shown record, a list of them, or {set}, {add} and {remove} of lists. key: NULL
 * in lists. */
static wharf_status batch_names_put_value(
    struct naming *n, wharf_out *out, const char *key, const wharf_json *value)
{
    uint32_t type = W->json->type(value);
    wharf_str text, id = shown_id(value);
    wharf_status s = WHARF_OK;

    if (id.n || (W->json->text(value, &text) && text.n))
        return batch_names_put_one(n, out, key, id.n ? id : text);
    if (type != WHARF_J_ARRAY && type != WHARF_J_OBJECT) {
        W->json->put(out, key, val_json(value));
        return WHARF_OK;
    }
    W->json->open(out, key, type == WHARF_J_ARRAY ? '[' : '{');
    for (const wharf_json *e = W->json->at(value, 0); e && s == WHARF_OK; e = W->json->next(e))
        s = batch_names_put_value(n, out, type == WHARF_J_OBJECT ? W->json->key(e).p : NULL, e);
    W->json->close(out);
    return s;
}

static bool needs_names(const wharf_json *value, const struct link *l)
{
    uint32_t type = value ? W->json->type(value) : WHARF_J_NULL;
    wharf_str text;

    if (value && W->json->text(value, &text))
        return text.n && !is_id(l, text);
    if (value && shown_id(value).n)
        return true;
    for (const wharf_json *e =
             type == WHARF_J_ARRAY || type == WHARF_J_OBJECT ? W->json->at(value, 0) : NULL;
         e; e = W->json->next(e)) {
        if (needs_names(e, l))
            return true;
    }
    return false;
}

/* ---- an item ---- */

/* Writes the object with one member made anew. */
static wharf_status batch_names_put_object(struct naming *n, const wharf_json *object,
    wharf_str member, wharf_str inner, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(n->b->req);
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(object, 0); m && s == WHARF_OK; m = W->json->next(m)) {
        const wharf_json *made = m;
        const char *key = W->json->key(m).p;

        if (same(W->json->key(m), member) && inner.n)
            s = batch_names_put_object(n, m, inner, WHARF_S(""), &made);
        else if (same(W->json->key(m), member))
            s = batch_names_put_value(n, out, key, m);
        if (s == WHARF_OK && (inner.n || !same(W->json->key(m), member)))
            W->json->put(out, key, val_json(made));
    }
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(n->b->req, out, ret) : s;
}

/* Chooses the target that the row names; all of them when it does not say. */
static void batch_names_choose(struct naming *n, const wharf_json *item)
{
    wharf_str by = n->link->by.n ? json_text(item, n->link->by.p) : WHARF_S("");

    n->of = n->link->of;
    n->n_of = n->link->n_of;
    for (size_t i = 0; by.n && i < n->link->n_of; i++) {
        if (!same(n->link->of[i].resource, by))
            continue;
        n->of = &n->link->of[i];
        n->n_of = 1;
    }
}

static wharf_status resolve_item(struct naming *n, const wharf_json **item)
{
    const wharf_json *value = W->json->get(*item, n->link->member.p);

    if (value && n->link->inner.n)
        value = W->json->type(value) == WHARF_J_OBJECT ? W->json->get(value, n->link->inner.p)
                                                       : NULL;
    if (!needs_names(value, n->link))
        return WHARF_OK;
    batch_names_choose(n, *item);
    return batch_names_put_object(n, *item, n->link->member, n->link->inner, item);
}

wharf_status names_resolve(struct batch *b, const wharf_json **items, size_t n, wharf_str *codes,
    wharf_str *paths, wharf_str *messages)
{
    struct naming *naming = W->mem->alloc(b->req, sizeof(*naming));
    wharf_status s = WHARF_OK;

    naming->b = b;
    find_links(naming);
    for (size_t k = 0; k < naming->n_links && s == WHARF_OK; k++) {
        naming->link = &naming->links[k];
        for (size_t i = 0; i < n && s == WHARF_OK; i++) {
            naming->code = &codes[i];
            naming->path = &paths[i];
            naming->message = &messages[i];
            if (!codes[i].n && W->json->type(items[i]) == WHARF_J_OBJECT)
                s = resolve_item(naming, &items[i]);
        }
    }
    return s;
}
