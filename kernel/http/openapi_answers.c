/* openapi_answers.c - bodies, answers, error codes and examples of operations
 * (docs/spec/01-platform.md sections 1, 2.3, 3 and 17). */
#include "http/openapi_inside.h"

#include <stdlib.h>

#include "plugin/manifest.h"
#include "util/str.h"

/* ---- which codes ---- */

static bool serves(const struct plugin *p, const struct manifest_service *asked, size_t n)
{
    for (size_t i = 0; i < n * p->manifest->n_provides; i++) {
        if (!strcmp(asked[i % n].name, p->manifest->provides[i / n].name))
            return true;
    }
    return false;
}

/* Tells whether code of p runs in the route: p's own route, a write of a resource that it has
 * rules on, or a service that one of these asks. */
static bool takes_part(const struct route *r, const struct plugin *p)
{
    const struct resource *res = r->resource;
    size_t n = res ? res->n_hooks : 0;

    if (r->kind == ROUTE_LIST || r->kind == ROUTE_RETRIEVE) /* these run no code of modules */
        return false;
    for (size_t i = 0; i <= n; i++) {
        const struct plugin *one = i < n ? res->hooks[i].plugin : r->plugin;

        if (one && one->manifest &&
            (!strcmp(one->name, p->name) ||
                serves(p, one->manifest->needs, one->manifest->n_needs) ||
                serves(p, one->manifest->wants, one->manifest->n_wants)))
            return true;
    }
    return false;
}

static bool code_runs(const struct openapi *o, const struct route *r, const struct error_code *c)
{
    for (size_t k = 0; c->plugin && k < o->e->n_plugins; k++) {
        if (!strcmp(o->e->plugins[k].name, c->plugin))
            return takes_part(r, &o->e->plugins[k]);
    }
    return false;
}

static bool brings_body(const struct route *r)
{
    return r->kind == ROUTE_CREATE || r->kind == ROUTE_UPDATE || json_get(r->definition, "body") ||
           json_get(r->definition, "request_type");
}

static bool ours(const struct route *r)
{
    return r->kind != ROUTE_KERNEL && !r->any_answer;
}

/* Tells whether the operation writes. */
static bool writes(const struct route *r)
{
    bool reads = r->kind == ROUTE_PLUGIN && r->declared->flags & WHARF_R_READONLY;

    return strcmp(r->method, "GET") != 0 && ours(r) && !r->public_route && !reads;
}

bool openapi_takes_idempotency_key(const struct route *r)
{
    return writes(r) && !(r->kind == ROUTE_PLUGIN && r->declared->flags & WHARF_R_NO_TX);
}

/* Tells whether rows of the resource are at a location, or below a row that may be at one. */
static bool has_place(const struct resource *res)
{
    const struct definition_place *p = &res->def->place;

    return p->location || p->is_location || p->parent;
}

/* Tells whether fields of the resource name rows of a resource that has a place: a write that
 * names one at a location of others is refused. */
static bool names_places(const struct resource *res)
{
    for (size_t i = 0; res->refs && i < res->def->n_fields; i++) {
        if (res->refs[i] && has_place(res->refs[i]))
            return true;
    }
    return false;
}

/* Tells whether the location access of rows counts in the route: of its own ones, of those in its
 * path or in its body, or as its document says. */
static bool touches_place(const struct route *r)
{
    wharf_str policy = json_text_or(r->definition, "location", "none");
    bool in_path = false;

    for (size_t i = 0; i < r->n_params && i < 4; i++)
        in_path = in_path || (r->guards[i] && has_place(r->guards[i]));
    return in_path || r->below || (r->resource && has_place(r->resource)) ||
           (r->resource && brings_body(r) && names_places(r->resource)) ||
           (r->kind == ROUTE_PLUGIN && !str_eqz(policy, "none"));
}

/* Tells whether the route of a plugin answers pages of a list (wharf_req's page()). */
static bool has_pages(const struct route *r)
{
    const struct wharf_json *query = json_get(r->definition, "query");

    return json_get(query, "page") && json_get(query, "limit");
}

/* Tells whether the operation is of a kind: a word of errors.json that begins with @. */
static bool is_of_kind(const struct route *r, wharf_str kind)
{
    if (str_eqz(kind, "@call"))
        return ours(r);
    if (str_eqz(kind, "@key"))
        return !r->public_route || r->optional_key;
    if (str_eqz(kind, "@scope"))
        return r->area >= 0;
    if (str_eqz(kind, "@location"))
        return touches_place(r);
    if (str_eqz(kind, "@row"))
        return r->n_params > 0;
    if (str_eqz(kind, "@body"))
        return brings_body(r);
    if (str_eqz(kind, "@list"))
        return r->kind == ROUTE_LIST;
    if (str_eqz(kind, "@pages"))
        return r->kind == ROUTE_LIST || has_pages(r);
    if (str_eqz(kind, "@write"))
        return writes(r);
    if (str_eqz(kind, "@idempotency"))
        return openapi_takes_idempotency_key(r);
    if (str_eqz(kind, "@limited"))
        return r->per_minute || r->per_second;
    if (str_eqz(kind, "@change"))
        return r->kind == ROUTE_UPDATE || r->kind == ROUTE_DELETE;
    return false;
}

static bool openapi_answers_is_named(wharf_str pattern, wharf_str name)
{
    if (pattern.n && pattern.p[pattern.n - 1] == '*')
        return name.n >= pattern.n - 1 && !memcmp(name.p, pattern.p, pattern.n - 1);
    return str_eq(pattern, name);
}

bool openapi_of_kind(const struct error_code *c)
{
    const struct wharf_json *first = c->operations ? c->operations->child : NULL;

    return first && first->text.p[0] == '@';
}

bool openapi_any_answers(const struct error_code *c)
{
    if (!c->operations && !c->plugin)
        return true;
    for (const struct wharf_json *n = c->operations ? c->operations->child : NULL; n; n = n->next)
        if (str_eqz(n->text, "@any"))
            return true;
    return false;
}

/* Tells whether the route is of a plugin that is not ours: nobody told which codes its handler
 * gives, of the platform or of the modules that it asks. */
static bool is_strangers(const struct route *r)
{
    return r->kind == ROUTE_PLUGIN && r->plugin && r->plugin->manifest &&
           r->plugin->manifest->third_party;
}

/* Tells whether the operation of this name may answer with the code: errors.json says of which
 * operations it is; where a plugin's says nothing, of all in which its code runs. */
static bool operation_answers(
    const struct openapi *o, const struct route *r, wharf_str name, const struct error_code *c)
{
    if (!c->operations || (c->plugin && is_strangers(r)))
        return code_runs(o, r, c);
    if (is_strangers(r) && !openapi_any_answers(c))
        return true;
    for (const struct wharf_json *n = c->operations->child; n; n = n->next)
        if (n->text.p[0] == '@' ? is_of_kind(r, n->text) : openapi_answers_is_named(n->text, name))
            return true;
    return false;
}

/* ---- examples ---- */

/* Returns the example of the operation that its module brings, or the server itself; or NULL. */
static const struct wharf_json *openapi_answers_example_of(
    const struct openapi *o, const struct route *r)
{
    bool own = !r->plugin || !strcmp(r->plugin->name, "wharf");
    size_t i = own ? o->e->n_plugins : r->plugin->index;
    const struct wharf_json *all = o->examples && i <= o->e->n_plugins ? o->examples[i] : NULL;

    return all ? json_get_n(all, openapi_name(o, r)) : NULL;
}

/* Returns the answer with that status that the operation's example shows, the first one or one of
 * its member "more"; or NULL. */
static const struct wharf_json *openapi_answers_shown(
    const struct openapi *o, const struct route *r, int64_t status)
{
    const struct wharf_json *example = openapi_answers_example_of(o, r),
                            *more = json_get(example, "more");

    if (json_int_or(example, "status", 0) == status)
        return json_get(example, "answer");
    for (const struct wharf_json *m = more ? more->child : NULL; m; m = m->next)
        if (json_int_or(m, "status", 0) == status)
            return json_get(m, "answer");
    return NULL;
}

static void write_example(struct openapi *o, const struct wharf_json *value)
{
    if (value)
        jw_value(&o->w, "example", value);
}

/* ---- what is sent ---- */

/* Tells whether a body has to be sent: one member at least is needed. */
static bool body_needed(const struct openapi *o, const struct route *r)
{
    const struct wharf_json *body = schema_meant(o->e, json_get(r->definition, "body")),
                            *of = json_get(body, "required");

    if (body && (of || json_get(body, "oneOf") || json_get(body, "anyOf")))
        return of ? of->count > 0 : true;
    if (str_eqz(json_text_or(body, "type", ""), "array") || json_int_or(body, "minProperties", 0))
        return true;
    if (!body && r->kind != ROUTE_CREATE)
        return json_get(r->definition, "request_type") != NULL;
    for (size_t i = 0; i < o->e->n_resources; i++) {
        const struct definition *d = o->e->resources[i].def;
        bool this_one = body ? schema_names_create(body, d) : d == r->resource->def;

        for (size_t k = 0; this_one && k < d->n_fields; k++)
            if (schema_field_needed(d, &d->fields[k]))
                return true;
    }
    return false;
}

static void body_schema(struct openapi *o, const struct route *r)
{
    const struct wharf_json *body = json_get(r->definition, "body");

    if (body)
        schema_copy(&o->s, "schema", body);
    else if (json_get(r->definition, "request_type"))
        jw_raw(&o->w, "schema", WHARF_S("{\"type\":\"string\",\"format\":\"binary\"}"));
    else
        schema_reference(&o->s, "schema", schema_name(o->a, r->resource->def),
            r->kind == ROUTE_CREATE ? "Create" : "Update");
}

void openapi_request(struct openapi *o, const struct route *r)
{
    struct jw *w = &o->w;

    if (!brings_body(r))
        return;
    jw_open(w, "requestBody", '{');
    jw_bool(w, "required", body_needed(o, r));
    jw_open(w, "content", '{');
    jw_open(w, json_text_or(r->definition, "request_type", "application/json").p, '{');
    body_schema(o, r);
    write_example(o, json_get(openapi_answers_example_of(o, r), "body"));
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, '}');
}

/* ---- what comes back ---- */

/* Writes the schema of a row of the short list. */
static void short_row(struct openapi *o, const struct resource *res)
{
    const struct definition_list *list = &res->def->list;
    struct jw *w = &o->w;

    jw_open(w, NULL, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < list->n_cache; i++)
        schema_field_as_read(&o->s, list->cache[i]->name, res, list->cache[i]);
    jw_close(w, '}');
    jw_open(w, "required", '[');
    for (size_t i = 0; i < list->n_cache; i++)
        jw_z(w, NULL, list->cache[i]->name);
    jw_close(w, ']');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
}

static void list_schema(struct openapi *o, const struct resource *res)
{
    wharf_str name = schema_name(o->a, res->def);
    struct jw *w = &o->w;

    jw_open(w, "data", '{');
    jw_z(w, "type", "array");
    if (res->def->list.n_cache) {
        jw_open(w, "items", '{');
        jw_open(w, "anyOf", '[');
        schema_reference(&o->s, NULL, name, "");
        short_row(o, res);
        jw_close(w, ']');
        jw_close(w, '}');
    } else {
        schema_reference(&o->s, "items", name, "");
    }
    jw_close(w, '}');
}

static void data_schema(struct openapi *o, const struct route *r, int64_t status)
{
    const struct wharf_json *response = json_get(r->definition, "response"),
                            *by_status = json_get(json_get(r->definition, "answers"),
                                arena_printf(o->a, "%d", (int)status).p);

    if (by_status)
        schema_copy(&o->s, "data", by_status);
    else if (r->resource && r->kind == ROUTE_LIST)
        list_schema(o, r->resource);
    else if (r->kind == ROUTE_DELETE)
        schema_reference(&o->s, "data", WHARF_S("Deleted"), "");
    else if (r->resource)
        schema_reference(&o->s, "data", schema_name(o->a, r->resource->def), "");
    else if (response)
        schema_copy(&o->s, "data", response);
    else
        jw_raw(&o->w, "data", WHARF_S("{}")); /* its author does not say */
}

/* Writes the schema of pagination: a page's, or null. */
static void pagination_schema(struct openapi *o, const struct route *r)
{
    const struct wharf_json *response = json_get(r->definition, "response");

    if (r->kind == ROUTE_LIST && !r->resource->def->list.n_cache)
        schema_reference(&o->s, "pagination", WHARF_S("Pagination"), "");
    else if (r->kind == ROUTE_LIST || str_eqz(json_text_or(response, "type", ""), "array"))
        jw_raw(&o->w, "pagination",
            WHARF_S("{\"anyOf\":[{\"$ref\":\"#/components/schemas/Pagination\"},"
                    "{\"type\":\"null\"}]}"));
    else
        jw_raw(&o->w, "pagination", WHARF_S("{\"type\":\"null\"}"));
}

/* Writes the envelope with the data of this operation. Members are written out and not taken from
 * a shared schema: generators of clients make better types of one object. */
static void envelope(struct openapi *o, const struct route *r, int64_t status)
{
    struct jw *w = &o->w;

    jw_open(w, "schema", '{');
    jw_z(w, "type", "object");
    jw_raw(w, "required",
        WHARF_S(
            "[\"data\",\"message\",\"status\",\"code\",\"errors\",\"pagination\",\"endpoint\"]"));
    jw_open(w, "properties", '{');
    data_schema(o, r, status);
    jw_raw(w, "message", WHARF_S("{\"type\":\"string\",\"minLength\":1}"));
    jw_raw(w, "status", arena_printf(o->a, "{\"type\":\"integer\",\"const\":%d}", (int)status));
    jw_raw(w, "code", WHARF_S("{\"type\":[\"string\",\"null\"]}"));
    jw_raw(w, "errors", WHARF_S("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"));
    pagination_schema(o, r);
    jw_raw(w, "endpoint", WHARF_S("{\"type\":\"string\"}"));
    jw_close(w, '}');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
}

static void openapi_answers_header(struct jw *w, const char *name, const char *component)
{
    char text[96];

    snprintf(text, sizeof(text), "{\"$ref\":\"#/components/headers/%s\"}", component);
    jw_raw(w, name, str_z(text));
}

static void success_headers(struct openapi *o, const struct route *r, int64_t status)
{
    struct jw *w = &o->w;

    jw_open(w, "headers", '{');
    openapi_answers_header(w, "Request-Id", "RequestId");
    if (!r->public_route) {
        openapi_answers_header(w, "SVC-Mode", "Mode");
        openapi_answers_header(w, "RateLimit", "RateLimit");
        openapi_answers_header(w, "RateLimit-Policy", "RateLimitPolicy");
    }
    if ((!strcmp(r->method, "GET") && ours(r)) || r->kind == ROUTE_CREATE ||
        r->kind == ROUTE_UPDATE)
        openapi_answers_header(w, "ETag", "ETag");
    if (openapi_takes_idempotency_key(r))
        openapi_answers_header(w, "Idempotent-Replayed", "IdempotentReplayed");
    if (status == 201)
        openapi_answers_header(w, "Location", "Location");
    if (r->unstable)
        openapi_answers_header(w, "SVC-Unstable", "Unstable");
    jw_close(w, '}');
}

static const char *status_words(int64_t status)
{
    return status == 201   ? "Created"
           : status == 202 ? "Accepted; it is done in the background"
                           : "Done";
}

static const char *status_key(struct arena *a, int64_t status)
{
    return arena_printf(a, "%d", (int)status).p;
}

/* Writes content of a media type. Content that is JSON and no envelope has the route's schema. */
static void content_of_type(
    struct openapi *o, const struct route *r, const char *type, const struct wharf_json *example)
{
    const struct wharf_json *response = json_get(r->definition, "response");
    bool json = str_ends(str_z(type), "json");
    struct jw *w = &o->w;

    jw_open(w, type, '{');
    if (json && response)
        schema_copy(&o->s, "schema", response);
    else if (json)
        jw_raw(w, "schema",
            WHARF_S("{\"type\":\"object\",\"additionalProperties\":true,\"description\":\"JSON "
                    "of the route's own form\"}"));
    else if (!strncmp(type, "text/", 5))
        jw_raw(w, "schema", WHARF_S("{\"type\":\"string\"}"));
    else
        jw_raw(w, "schema", WHARF_S("{\"type\":\"string\",\"format\":\"binary\"}"));
    if (json || !strncmp(type, "text/", 5))
        write_example(o, example);
    jw_close(w, '}');
}

static void json_success(struct openapi *o, const struct route *r, int64_t status)
{
    const struct wharf_json *others = json_get(r->definition, "other_types");
    struct jw *w = &o->w;

    jw_open(w, status_key(o->a, status), '{');
    jw_z(w, "description", status_words(status));
    success_headers(o, r, status);
    jw_open(w, "content", '{');
    jw_open(w, "application/json", '{');
    envelope(o, r, status);
    write_example(o, openapi_answers_shown(o, r, status));
    jw_close(w, '}');
    for (const struct wharf_json *t = status == 200 && others ? others->child : NULL; t;
         t = t->next)
        content_of_type(o, r, t->text.p, NULL);
    jw_close(w, '}');
    jw_close(w, '}');
}

/* Returns the media type of an answer that is no envelope, or NULL. */
static const char *openapi_answers_plain_type(const struct route *r)
{
    wharf_str said = json_text_or(r->definition, "content_type", "");

    if (said.n)
        return said.p;
    if (r->stream_tokens || r->event_stream)
        return "text/event-stream";
    return r->any_answer && !json_get(r->definition, "response") ? "*/*" : NULL;
}

/* Writes an answer that is no envelope. One of text that has a schema comes as JSON as well, when
 * it is asked for. */
static void plain_success(
    struct openapi *o, const struct route *r, int64_t status, const char *type)
{
    struct jw *w = &o->w;

    jw_open(w, status_key(o->a, status), '{');
    jw_z(w, "description",
        r->event_stream || r->stream_tokens ? "A stream of events, as Server-Sent Events"
                                            : "The content itself");
    success_headers(o, r, status);
    jw_open(w, "content", '{');
    content_of_type(o, r, type, openapi_answers_shown(o, r, status));
    if (r->kind == ROUTE_KERNEL && json_get(r->definition, "response") &&
        !str_ends(str_z(type), "json"))
        content_of_type(o, r, "application/json", NULL);
    jw_close(w, '}');
    jw_close(w, '}');
}

static void success_of(struct openapi *o, const struct route *r, int64_t status)
{
    const char *type = openapi_answers_plain_type(r);

    if (type)
        plain_success(o, r, status, type);
    else
        json_success(o, r, status);
}

/* Writes the answers of success. Routes of plugins name what they answer: "status", or "statuses"
 * when there is more than one. */
static void success(struct openapi *o, const struct route *r)
{
    const struct wharf_json *statuses = json_get(r->definition, "statuses");
    int64_t status;

    if (!statuses || r->kind == ROUTE_CREATE)
        success_of(o, r, r->kind == ROUTE_CREATE ? 201 : json_int_or(r->definition, "status", 200));
    for (const struct wharf_json *s = statuses ? statuses->child : NULL; s; s = s->next) {
        if (json_int(s, &status))
            success_of(o, r, status);
    }
    if (json_bool_or(r->definition, "nothing", false))
        jw_raw(&o->w, "204", WHARF_S("{\"description\":\"Done, and nothing to tell\"}"));
}

/* ---- what goes wrong ---- */

enum { STATUS_FIRST = 400, STATUS_LAST = 599 };

/* Writes the answer of one status: its codes with their texts. */
static void openapi_answers_refusal(
    struct openapi *o, int status, const struct error_code *const *codes, size_t n)
{
    struct jw *w = &o->w;
    struct buf text;

    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < n; i++)
        if (codes[i]->status == status)
            buf_addf(&text, "%s- `%s`: %s.", text.n ? "\n" : "", codes[i]->code, codes[i]->text);
    jw_open(w, status_key(o->a, status), '{');
    jw_str(w, "description", buf_str(&text));
    buf_done(&text);
    jw_raw(w, "content",
        WHARF_S("{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}},"
                "\"application/problem+json\":{\"schema\":{\"$ref\":"
                "\"#/components/schemas/Problem\"}}}"));
    jw_close(w, '}');
}

/* Tells whether all codes of the status are the platform's, whose answers are shared. */
static bool platform_only(int status, const struct error_code *const *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (codes[i]->status == status && (codes[i]->plugin || !openapi_of_kind(codes[i])))
            return false;
    return true;
}

static void refusals(struct openapi *o, const struct error_code *const *codes, size_t n)
{
    bool shown[STATUS_LAST - STATUS_FIRST + 1] = {false};
    struct jw *w = &o->w;

    for (size_t i = 0; i < n; i++) {
        int status = codes[i]->status;
        const char *shared =
            json_text_or(json_get(o->fixed, "refusals"), status_key(o->a, status), "").p;

        if (shown[status - STATUS_FIRST])
            continue;
        shown[status - STATUS_FIRST] = true;
        if (*shared && platform_only(status, codes, n)) {
            jw_open(w, status_key(o->a, status), '{');
            jw_str(w, "$ref", arena_printf(o->a, "#/components/responses/%s", shared));
            jw_close(w, '}');
        } else {
            openapi_answers_refusal(o, status, codes, n);
        }
    }
    if (!n)
        jw_raw(w, "4XX", WHARF_S("{\"$ref\":\"#/components/responses/Refused\"}"));
    jw_raw(w, "default", WHARF_S("{\"$ref\":\"#/components/responses/Refused\"}"));
}

static int by_status(const void *a, const void *b)
{
    const struct error_code *x = *(const struct error_code *const *)a,
                            *y = *(const struct error_code *const *)b;

    return x->status != y->status ? x->status - y->status : strcmp(x->code, y->code);
}

/* Writes the answers of routes that let somebody else answer. */
static void whatever(struct jw *w)
{
    static const char *const statuses[] = {"2XX", "3XX", "5XX"};

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        jw_raw(w, statuses[i],
            WHARF_S("{\"description\":\"What the other side answers, of any type\",\"content\":"
                    "{\"*/*\":{\"schema\":{\"type\":\"string\",\"format\":\"binary\"}}}}"));
}

static void write_codes(struct jw *w, const struct error_code *const *codes, size_t n)
{
    jw_open(w, "x-errors", '[');
    for (size_t i = 0; i < n; i++)
        jw_z(w, NULL, codes[i]->code);
    jw_close(w, ']');
}

void openapi_responses(struct openapi *o, const struct route *r)
{
    const struct error_code **codes = ARENA_ARRAY(
        o->a, const struct error_code *, o->e->n_codes + 1);
    wharf_str name = openapi_name(o, r);
    size_t n = 0;

    for (size_t i = 0; i < o->e->n_codes; i++)
        if (operation_answers(o, r, name, &o->e->codes[i]))
            codes[n++] = &o->e->codes[i];
    if (n)
        qsort(codes, n, sizeof(codes[0]), by_status);
    jw_open(&o->w, "responses", '{');
    success(o, r);
    if (r->any_answer && json_get(r->definition, "response"))
        whatever(&o->w);
    refusals(o, codes, n);
    jw_close(&o->w, '}');
    write_codes(&o->w, codes, n);
}
