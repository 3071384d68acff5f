/* openapi.c - the description as a whole, and its operations. See openapi.h.
 *
 * Leaves to others: words (openapi_words.c), parameters (openapi_params.c), bodies, answers and
 * error codes (openapi_answers.c), what operations share (openapi_components.c). */
#include "http/openapi.h"

#include "http/openapi_fixed.h" /* generated from openapi.json and examples.json */
#include "http/openapi_inside.h"
#include "schema/names.h"
#include "util/str.h"

enum { DOCUMENT_MAX = 64 << 20 }; /* bytes of the description */

/* Makes "/v1/locations/{location}/layouts" of "/v1/locations/:location/layouts"; "*path" too,
 * which the description has no word for. */
static wharf_str openapi_template_of(struct arena *a, const char *pattern)
{
    char *out = arena_alloc(a, strlen(pattern) * 2 + 1);
    size_t n = 0;

    for (const char *p = pattern; *p;) {
        if (*p != ':' && *p != '*') {
            out[n++] = *p++;
            continue;
        }
        out[n++] = '{';
        for (p++; *p && *p != '/'; p++)
            out[n++] = *p;
        out[n++] = '}';
    }
    return (wharf_str){out, n};
}

static const char *method_key(const char *method)
{
    static const char *const names[][2] = {
        {"GET", "get"}, {"POST", "post"}, {"DELETE", "delete"}, {"PUT", "put"}, {"PATCH", "patch"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(method, names[i][0]))
            return names[i][1];
    }
    return "get";
}

static void extensions(struct openapi *o, const struct route *r)
{
    struct jw *w = &o->w;
    const struct definition *d = r->resource ? r->resource->def : NULL;

    if (r->area >= 0)
        jw_str(w, "x-scope",
            arena_printf(o->a, "%s:%s", o->e->areas.names[r->area],
                r->level == SCOPE_READ ? "read" : "write"));
    jw_str(w, "x-location-policy",
        d && d->place.location ? str_z(d->place.location->store == STORE_ARRAY ? "multi" : "row")
                               : json_text_or(r->definition, "location", "none"));
    if (d)
        jw_z(w, "x-resource", d->name);
    if (d && r->kind == ROUTE_LIST)
        schema_filters(w, &d->list);
    for (const struct wharf_json *m = r->definition ? r->definition->child : NULL; m; m = m->next)
        if (str_starts(m->key, "x-"))
            jw_value(w, m->key.p, m);
}

static void operation(struct openapi *o, const struct route *r)
{
    struct jw *w = &o->w;

    jw_open(w, method_key(r->method), '{');
    if (r->deprecated)
        jw_bool(w, "deprecated", true);
    jw_str(w, "operationId", openapi_name(o, r));
    openapi_words(o, r);
    if (r->public_route) {
        jw_open(w, "security", '[');
        if (r->optional_key)
            jw_raw(w, NULL, WHARF_S("{},{\"ApiKey\":[]},{\"Bearer\":[]}"));
        jw_close(w, ']');
    }
    openapi_parameters(o, r);
    openapi_request(o, r);
    openapi_responses(o, r);
    extensions(o, r);
    jw_close(w, '}');
}

static bool first_of_pattern(const struct engine *e, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (!strcmp(e->routes[k].pattern, e->routes[i].pattern))
            return false;
    }
    return true;
}

static void paths(struct openapi *o)
{
    const struct engine *e = o->e;

    jw_open(&o->w, "paths", '{');
    for (size_t i = 0; i < e->n_routes; i++) {
        if (e->routes[i].absent || e->routes[i].page || !first_of_pattern(e, i) ||
            !strcmp(e->routes[i].pattern, "/metrics"))
            continue;
        jw_open(&o->w, openapi_template_of(o->a, e->routes[i].pattern).p, '{');
        for (size_t k = i; k < e->n_routes; k++) {
            if (!e->routes[k].absent && !strcmp(e->routes[k].pattern, e->routes[i].pattern))
                operation(o, &e->routes[k]);
        }
        jw_close(&o->w, '}');
    }
    jw_close(&o->w, '}');
}

/* Writes what is before the paths. x-errors: the codes that any operation may answer with. */
static void openapi_head(struct openapi *o)
{
    const struct engine *e = o->e;
    struct jw *w = &o->w;

    jw_z(w, "openapi", "3.1.0");
    jw_open(w, "x-errors", '[');
    for (size_t i = 0; i < e->n_codes; i++) {
        if (openapi_any_answers(&e->codes[i]))
            jw_z(w, NULL, e->codes[i].code);
    }
    jw_close(w, ']');
    jw_value(w, "info", json_get(o->fixed, "info"));
    jw_raw(w, "servers", WHARF_S("[{\"url\":\"/\"}]"));
    jw_raw(w, "security", WHARF_S("[{\"ApiKey\":[]},{\"Bearer\":[]}]"));
    openapi_tags(o);
}

static const struct wharf_json *examples_of(const struct plugin *p, struct arena *scratch)
{
    struct json_error error;

    if (!p->desc || p->desc->head.size < sizeof(*p->desc) || !p->desc->examples.n)
        return NULL;
    return json_parse(scratch, p->desc->examples, &error);
}

/* Begins a document in b. scratch: an arena for what is read meanwhile; the caller frees it. */
static void begin_document(
    struct openapi *o, const struct engine *e, struct buf *b, struct arena *scratch)
{
    struct json_error error;

    *o = (struct openapi){.e = e, .a = scratch};
    buf_init(b, DOCUMENT_MAX);
    jw_init(&o->w, b);
    o->fixed = json_parse(
        scratch, (wharf_str){openapi_fixed[0].text, openapi_fixed[0].size}, &error);
    o->s = (struct schema_writer){
        .e = e, .a = scratch, .w = &o->w, .own = json_get(o->fixed, "schemas")};
    o->examples = ARENA_ARRAY(scratch, const struct wharf_json *, e->n_plugins + 1);
    for (size_t i = 0; i < e->n_plugins; i++)
        o->examples[i] = examples_of(&e->plugins[i], scratch);
    o->examples[e->n_plugins] = json_parse(
        scratch, (wharf_str){openapi_examples[0].text, openapi_examples[0].size}, &error);
}

/* Tells whether the schema, or one in it, stands for a schema of the components. */
static bool names_component(const struct wharf_json *schema)
{
    if (json_get(schema, "$ref"))
        return true;
    for (const struct wharf_json *m = schema->child; m; m = m->next) {
        if (names_component(m))
            return true;
    }
    return false;
}

/* Gives routes whose body names schemas of components, and resources with fields whose form is
 * described apart, the names that these schemas know: their handlers and rules judge them.
 * schemas: components.schemas of the document. */
static void give_body_names(const struct openapi *o, wharf_str schemas)
{
    struct json_error error;
    const struct wharf_json *parsed = json_parse(o->a, schemas, &error);

    for (size_t i = 0; i < o->e->n_routes; i++) {
        struct route *r = &o->e->routes[i];
        const struct wharf_json *body = json_get(r->definition, "body");

        if (body && names_component(body))
            r->body_names = names_collect(o->e->arena, parsed, body);
    }
    for (size_t i = 0; i < o->e->n_resources; i++)
        o->e->resources[i].sent_names = schema_judged_inside(
            o->e->arena, o->e->resources[i].def, parsed);
}

/* Copies the text to memory of its own in the arena, which is counted apart. */
static wharf_str keep_document(struct arena *a, const struct buf *b)
{
    size_t before = arena_used(a), n;
    wharf_str s = arena_dup_str(a, buf_str(b));

    n = arena_used(a) - before; /* it is larger than what a block may have left */
    memory_add(MEMORY_DEFINITIONS, -(int64_t)n);
    memory_add(MEMORY_API_DESCRIPTION, (int64_t)n);
    return s;
}

wharf_str openapi_build(const struct engine *e)
{
    struct arena *scratch = arena_new(0);
    struct openapi o;
    struct buf b;
    wharf_str s;

    begin_document(&o, e, &b, scratch);
    jw_open(&o.w, NULL, '{');
    openapi_head(&o);
    paths(&o);
    openapi_webhooks(&o);
    openapi_components(&o);
    jw_close(&o.w, '}');
    s = keep_document(e->arena, &b);
    give_body_names(&o, (wharf_str){s.p + o.schemas_from, o.schemas_to - o.schemas_from});
    buf_done(&b);
    arena_free(scratch);
    return s;
}

wharf_str openapi_with(const struct engine *more, wharf_str document)
{
    static const char begin[] = "\"paths\":{";
    const char *at = strstr(document.p, begin);
    struct arena *scratch;
    struct openapi o;
    struct buf b;
    wharf_str s;
    size_t head;

    if (!at)
        return document;
    head = (size_t)(at - document.p) + sizeof(begin) - 1;
    scratch = arena_new(0);
    begin_document(&o, more, &b, scratch);
    buf_add(&b, document.p, head);
    b.n -= sizeof(begin) - 1; /* paths() writes it again */
    jw_open(&o.w, NULL, '{');
    b.n--;
    paths(&o);
    b.n--; /* the document's own paths go on behind a comma */
    buf_addc(&b, ',');
    buf_add(&b, document.p + head, document.n - head);
    s = keep_document(more->arena, &b);
    buf_done(&b);
    arena_free(scratch);
    return s;
}
