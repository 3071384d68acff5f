/* openapi_words.c - headings, summaries and descriptions of operations
 * (docs/spec/01-platform.md section 17).
 *
 * Makes the sentences that no author wrote from the definition: what a list sorts and searches,
 * what a create needs. */
#include "http/openapi_inside.h"

#include <ctype.h>
#include <stdlib.h>

#include "plugin/manifest.h"
#include "util/str.h"

enum { TAG_ORDER = 500, TAGS_MAX = 256 };

static const char *verb_of(const struct route *r)
{
    switch (r->kind) {
    case ROUTE_LIST:
        return "list";
    case ROUTE_CREATE:
        return "create";
    case ROUTE_RETRIEVE:
        return "retrieve";
    case ROUTE_UPDATE:
        return "update";
    case ROUTE_DELETE:
        return "delete";
    case ROUTE_PLUGIN:
    case ROUTE_KERNEL:
        break;
    }
    return "";
}

static const char *method_word(const char *method)
{
    return !strcmp(method, "GET")     ? "get"
           : !strcmp(method, "POST")  ? "post"
           : !strcmp(method, "PUT")   ? "put"
           : !strcmp(method, "PATCH") ? "patch"
                                      : "delete";
}

/* ---- names ---- */

/* Makes a name of words: lower case, '_' for what is no letter or digit. */
static wharf_str as_name(wharf_str s)
{
    char *p = (char *)s.p;

    for (size_t i = 0; i < s.n; i++)
        p[i] = isalnum((unsigned char)p[i]) ? (char)tolower((unsigned char)p[i]) : '_';
    return s;
}

/* Returns the plural of a resource's name: "uoms", "deliveries", "batches". */
static wharf_str plural(struct arena *a, const char *name)
{
    wharf_str s = str_z(name);

    if (s.n > 1 && str_ends(s, "y") && !strchr("aeiou", s.p[s.n - 2]))
        return arena_printf(a, "%.*sies", (int)s.n - 1, name);
    return arena_printf(a, "%s%s", name, str_ends(s, "ch") || str_ends(s, "s") ? "es" : "s");
}

static wharf_str name_of_resource_route(const struct openapi *o, const struct route *r)
{
    const struct definition *d = r->resource->def;
    const char *verb = verb_of(r);
    struct arena *a = o->a;

    if (r->below)
        return as_name(
            arena_printf(a, "%s_%s_of_%s", verb, plural(a, d->name).p, r->param_names[0]));
    if (r->kind == ROUTE_LIST)
        return arena_printf(a, "%s_%s%s", verb, r->all_parents ? "all_" : "", plural(a, d->name).p);
    if (!r->n_params && r->pattern != d->collection)
        return as_name(arena_printf(a, "%s_own_%s", verb, d->name));
    return arena_printf(a, "%s_%s", verb, d->name);
}

wharf_str openapi_name(const struct openapi *o, const struct route *r)
{
    wharf_str said = json_text_or(r->definition, "operation", "");

    if (said.n && r->any_answer && strcmp(r->method, "GET") != 0)
        return arena_printf(o->a, "%.*s_by_%s", STR_ARG(said), method_word(r->method));
    if (said.n)
        return said;
    if (r->resource)
        return name_of_resource_route(o, r);
    return as_name(arena_printf(o->a, "%s%s", method_word(r->method), r->pattern));
}

/* ---- headings ---- */

static wharf_str tag_of(const struct route *r)
{
    const struct manifest *m = r->plugin ? r->plugin->manifest : NULL;
    const struct wharf_json *tags = m && m->tags ? m->tags->child : NULL;
    wharf_str said = json_text_or(r->definition, "tag", "");

    if (!said.n && r->resource)
        said = json_text_or(json_get(r->resource->def->json, "x-wharf"), "tag", "");
    if (!said.n && tags)
        said = json_text_or(tags, "name", "");
    if (!said.n)
        said = r->plugin ? str_z(r->plugin->name) : WHARF_S("System");
    return said;
}

struct tag {
    wharf_str name, text;
    int64_t order;
    size_t place; /* tags of one order stay as they were found */
};

struct tags {
    struct tag items[TAGS_MAX];
    size_t n;
};

static void add_tag(struct tags *all, wharf_str name, wharf_str text, int64_t order)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->items[i].name, name))
            return;
    if (all->n < TAGS_MAX)
        all->items[all->n] = (struct tag){name, text, order, all->n};
    all->n += all->n < TAGS_MAX;
}

static void openapi_words_add_listed(struct tags *all, const struct wharf_json *list)
{
    for (const struct wharf_json *t = list ? list->child : NULL; t; t = t->next)
        add_tag(all, json_text_or(t, "name", ""), json_text_or(t, "description", ""),
            json_int_or(t, "order", TAG_ORDER));
}

static int openapi_words_by_order(const void *a, const void *b)
{
    const struct tag *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void openapi_tags(struct openapi *o)
{
    const struct engine *e = o->e;
    struct tags *all = ARENA_NEW(o->a, struct tags);
    struct jw *w = &o->w;

    openapi_words_add_listed(all, json_get(o->fixed, "tags"));
    for (size_t i = 0; i < e->n_plugins; i++)
        openapi_words_add_listed(all, e->plugins[i].manifest->tags);
    for (size_t i = 0; i < e->n_routes; i++) { /* what no list names is the plugin's own */
        const struct plugin *p = e->routes[i].plugin;

        if (!e->routes[i].absent)
            add_tag(all, tag_of(&e->routes[i]),
                p && p->manifest && p->manifest->description
                    ? str_z(p->manifest->description)
                    : arena_printf(o->a, "The operations of %s.", p ? p->name : "the server"),
                TAG_ORDER);
    }
    qsort(all->items, all->n, sizeof(all->items[0]), openapi_words_by_order);
    jw_open(w, "tags", '[');
    for (size_t i = 0; i < all->n; i++) {
        jw_open(w, NULL, '{');
        jw_str(w, "name", all->items[i].name);
        if (all->items[i].text.n)
            jw_str(w, "description", all->items[i].text);
        jw_close(w, '}');
    }
    jw_close(w, ']');
}

/* ---- sentences ---- */

/* Returns what the definition says of this verb: "summary" or "description"; "" for nothing. */
static wharf_str said_of(const struct route *r, const char *key)
{
    const struct wharf_json *x = r->resource ? json_get(r->resource->def->json, "x-wharf") : NULL;
    wharf_str said = json_text_or(r->definition, key, "");

    return said.n || !x ? said
                        : json_text_or(json_get(json_get(x, "operations"), verb_of(r)), key, "");
}

/* Returns "a dock door", "an item". */
static wharf_str with_article(struct arena *a, const struct resource *res)
{
    return arena_printf(
        a, "%s %s", strchr("aeioAEIO", res->title_lower[0]) ? "an" : "a", res->title_lower);
}

static wharf_str summary_of(const struct openapi *o, const struct route *r)
{
    struct arena *a = o->a;
    wharf_str text = said_of(r, "summary");

    if (text.n)
        return text;
    if (r->kind == ROUTE_LIST)
        return arena_printf(a, "List %s", r->resource->def->title_plural);
    if (r->resource)
        return arena_printf(a, "%c%s %.*s", verb_of(r)[0] - 32, verb_of(r) + 1,
            STR_ARG(with_article(a, r->resource)));
    return arena_printf(a, "%s %s", r->method, r->pattern);
}

/* Writes names in back quotes: "`code`, `name` and `city`". */
static void openapi_words_add_names(struct buf *b, const struct field *const *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_addf(b, "%s`%s`", !i ? "" : i + 1 < n ? ", " : " and ", fields[i]->name);
}

static void describe_list(struct buf *b, const struct route *r)
{
    const struct definition *d = r->resource->def;

    buf_addf(b, "Returns a page of the %s that the key may see%s%s%s%s.", d->title_plural,
        d->list.order ? ", by `" : "", d->list.order ? d->list.order->name : "",
        d->list.order ? "`" : "", d->list.order && d->list.descending ? " from the last" : "");
    if (d->list.n_searches) {
        buf_addf(b, " `search` looks at ");
        openapi_words_add_names(b, d->list.searches, d->list.n_searches);
        buf_addf(b, ".");
    }
    if (d->storage.archive)
        buf_addf(b, " Archived ones are left out unless the filter `archived` asks for them.");
}

static void describe_create(struct buf *b, const struct route *r)
{
    const struct definition *d = r->resource->def;
    const struct field *needed[64];
    size_t n = 0;

    buf_addf(b, "Creates the %s and answers with it.", r->resource->title_lower);
    for (size_t i = 0; i < d->n_fields && n < 64; i++)
        if (schema_field_needed(d, &d->fields[i]))
            needed[n++] = &d->fields[i];
    if (n) {
        buf_addf(b, " Needed: ");
        openapi_words_add_names(b, needed, n);
        buf_addf(b, ".");
    }
}

static void describe_verb(struct buf *b, const struct route *r)
{
    const char *title = r->resource->title_lower;

    if (r->kind == ROUTE_LIST)
        describe_list(b, r);
    else if (r->kind == ROUTE_CREATE)
        describe_create(b, r);
    else if (r->kind == ROUTE_RETRIEVE)
        buf_addf(b, "Returns the %s with all its fields.", title);
    else if (r->kind == ROUTE_UPDATE)
        buf_addf(b,
            "Changes the fields that are sent; the others stay. With `If-Match` only when the %s "
            "is still the one that you read.",
            title);
    else if (r->resource->def->storage.archive)
        buf_addf(b, "Archives the %s: lists leave it out, and an update can bring it back.", title);
    else
        buf_addf(b, "Deletes the %s. Afterwards its id is answered with 404.", title);
}

/* Writes who may call the route. */
static void describe_caller(struct buf *b, const struct openapi *o, const struct route *r)
{
    if (r->optional_key)
        return;
    if (r->public_route)
        buf_addf(b, " No API key is needed.");
    else if (r->area < 0)
        buf_addf(b, " Any API key may call it.");
    else
        buf_addf(b, " Needs the scope `%s:%s`.", o->e->areas.names[r->area],
            r->level == SCOPE_READ ? "read" : "write");
}

static void openapi_words_describe(struct openapi *o, const struct route *r, wharf_str title)
{
    wharf_str text = said_of(r, "description");
    struct buf b;

    buf_init(&b, 1 << 16);
    if (text.n)
        buf_adds(&b, text);
    else if (r->resource)
        describe_verb(&b, r);
    else
        buf_addf(&b, "%.*s.", STR_ARG(title));
    describe_caller(&b, o, r);
    jw_str(&o->w, "description", buf_str(&b));
    buf_done(&b);
}

void openapi_words(struct openapi *o, const struct route *r)
{
    wharf_str title = summary_of(o, r);

    jw_open(&o->w, "tags", '[');
    jw_str(&o->w, NULL, tag_of(r));
    jw_close(&o->w, ']');
    jw_str(&o->w, "summary", title);
    openapi_words_describe(o, r, title);
}
