/* names.c - what stands in cells of a file for other records: an id, or a name, a code or an e-mail address that only one has (spec 10
 * section 9.1). */
#include "batches.h"

enum { LOOKS_MAX = 3 };

/* A field that names records of another resource. */
struct link {
    wharf_str name, resource, prefix;
    const char *filters[LOOKS_MAX]; /* by which they are found, in this order */
    size_t n_filters;
};

static bool has_filter(const wharf_json *definition, const char *name)
{
    const wharf_json *list = W->json->get(definition_x(definition), "list");
    const wharf_json *named = list ? W->json->get(list, "filters") : NULL;
    const wharf_json *p = definition_property(definition, z(name)), *x = p ? W->json->get(p, "x-wharf") : NULL;

    return (named && W->json->get(named, name)) || (x && W->json->get(x, "filter"));
}

static bool read_link(struct batch *b, const wharf_json *property, struct link *ret)
{
    static const char *const looks[LOOKS_MAX] = {"name", "code", "email"};
    const wharf_json *x = W->json->get(property, "x-wharf"), *other;
    wharf_str ref = x ? json_text(x, "ref") : WHARF_S("");

    if (!ref.n || !(other = batches_kernel->definition(b->req, ref.p)))
        return false;
    *ret = (struct link){
        .name = W->json->key(property), .resource = ref, .prefix = json_text(definition_x(other), "prefix")};
    for (size_t i = 0; i < LOOKS_MAX; i++) {
        if (has_filter(other, looks[i]))
            ret->filters[ret->n_filters++] = looks[i];
    }
    return ret->n_filters > 0;
}

static bool is_id(const struct link *l, wharf_str s)
{
    return s.n > l->prefix.n + 1 && !memcmp(s.p, l->prefix.p, l->prefix.n) && s.p[l->prefix.n] == '_';
}

/* ---- one value ---- */

struct found {
    wharf_str id;
    const char *code; /* NULL: found */
};

/* "name:::email": both must be the record's. */
static wharf_status look(struct batch *b, const struct link *l, wharf_str value, struct found *ret)
{
    const char *both = strstr(value.p, ":::");
    wharf_str first = both ? W->mem->dup(b->req, value.p, (size_t)(both - value.p)) : value, id = WHARF_S("");
    bool several = false;
    wharf_status s = WHARF_OK;

    if (both) {
        wharf_str mail = W->mem->dup(b->req, both + 3, value.n - first.n - 3);

        s = batches_kernel->match(b->req, l->resource.p, "email", &mail, 1, &id, &several);
    } else {
        for (size_t i = 0; i < l->n_filters && s == WHARF_OK && !id.n; i++)
            s = batches_kernel->match(b->req, l->resource.p, l->filters[i], &first, 1, &id, &several);
    }
    *ret = (struct found){id, several ? "reference.ambiguous" : id.n ? NULL : "reference.not_found"};
    return s;
}

/* ---- an item ---- */

struct naming {
    struct batch *b;
    const struct link *link;
    wharf_str *code, *path, *message;
};

static wharf_status put_one(struct naming *n, wharf_out *out, wharf_str value)
{
    struct found f = {value, NULL};
    wharf_status s = is_id(n->link, value) ? WHARF_OK : look(n->b, n->link, value, &f);

    if (s == WHARF_OK && f.code && !n->code->n) {
        *n->code = z(f.code);
        *n->path = n->link->name;
        *n->message = W->mem->format(n->b->req, "%s: %s is %s", n->link->name.p, value.p,
            is(z(f.code), "reference.ambiguous") ? "the name of several records; use the id"
                                                 : "neither an id nor a name there is");
    }
    W->json->put(out, NULL, val_text(f.id.n ? f.id : value));
    return s;
}

static wharf_status put_value(struct naming *n, wharf_out *out, const wharf_json *value)
{
    wharf_str text;
    wharf_status s = WHARF_OK;

    if (W->json->text(value, &text))
        return put_one(n, out, text);
    if (W->json->type(value) != WHARF_J_ARRAY) {
        W->json->put(out, NULL, val_json(value));
        return WHARF_OK;
    }
    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(value, 0); e && s == WHARF_OK; e = W->json->next(e)) {
        if (W->json->text(e, &text))
            s = put_one(n, out, text);
        else
            W->json->put(out, NULL, val_json(e));
    }
    W->json->close(out);
    return s;
}

static bool needs_names(const wharf_json *value, const struct link *l)
{
    wharf_str text;

    if (!value)
        return false;
    if (W->json->text(value, &text))
        return text.n && !is_id(l, text);
    for (const wharf_json *e = W->json->type(value) == WHARF_J_ARRAY ? W->json->at(value, 0) : NULL; e;
         e = W->json->next(e)) {
        if (W->json->text(e, &text) && !is_id(l, text))
            return true;
    }
    return false;
}

static wharf_status resolve_item(struct naming *n, const wharf_json **item)
{
    wharf_out *out;
    wharf_status s = WHARF_OK;

    if (!needs_names(W->json->get(*item, n->link->name.p), n->link))
        return WHARF_OK;
    out = W->json->writer(n->b->req);
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(*item, 0); m && s == WHARF_OK; m = W->json->next(m)) {
        wharf_out *value;
        const wharf_json *made;

        if (!same(W->json->key(m), n->link->name)) {
            W->json->put(out, W->json->key(m).p, val_json(m));
            continue;
        }
        value = W->json->writer(n->b->req);
        s = put_value(n, value, m);
        if (s == WHARF_OK)
            s = W->json->result(n->b->req, value, &made);
        if (s == WHARF_OK)
            W->json->put(out, n->link->name.p, val_json(made));
    }
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(n->b->req, out, item) : s;
}

wharf_status names_resolve(
    struct batch *b, const wharf_json **items, size_t n, wharf_str *codes, wharf_str *paths, wharf_str *messages)
{
    const wharf_json *properties = W->json->get(b->definition, "properties");
    wharf_status s = WHARF_OK;

    for (const wharf_json *p = W->json->at(properties, 0); p && s == WHARF_OK; p = W->json->next(p)) {
        struct link link;

        if (!read_link(b, p, &link))
            continue;
        for (size_t i = 0; i < n && s == WHARF_OK; i++) {
            struct naming naming = {b, &link, &codes[i], &paths[i], &messages[i]};

            if (!codes[i].n && W->json->type(items[i]) == WHARF_J_OBJECT)
                s = resolve_item(&naming, &items[i]);
        }
    }
    return s;
}
