/* openapi_schema.c - see openapi_schema.h. */
#include "resource/openapi_schema.h"

#include "util/str.h"

wharf_str schema_name(struct arena *a, const struct definition *d)
{
    char *out = arena_alloc(a, strlen(d->name) + 1);
    size_t n = 0;
    bool up = true;

    for (const char *p = d->name; *p; p++) {
        if (*p == '_') {
            up = true;
            continue;
        }
        out[n++] = up && *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
        up = false;
    }
    return (wharf_str){out, n};
}

static const struct {
    const char *name, *help;
} filter_types[] = {
    [FILTER_NONE] = {"", ""},
    [FILTER_DATE] = {"date", "Date and time; operators eq !eq gt gte lt lte bwe bwi in, as "
                             "name[op]=value or name=op:value"},
    [FILTER_NUMBER] = {"number", "Number; operators eq !eq gt gte lt lte bwe bwi in"},
    [FILTER_ENUM] = {"enum", "One or more of the values, by comma; operators eq !eq in !in"},
    [FILTER_ID] = {"id", "One or more ids, by comma; operators eq !eq in !in"},
    [FILTER_TEXT] = {"text", "The whole text, in any case; operators eq !eq in !in in brackets"},
    [FILTER_BOOL] = {"bool", "true or false"},
    [FILTER_MANY_BOOL] = {"many-bool", "true or false, some: or none: before it"},
    [FILTER_ARRAY] = {"array", "Items by comma; AND: OR: !AND: !OR: before them, ! before an item"},
    [FILTER_METADATA] = {"metadata",
        "metadata=key:value, metadata.key=value; equals: lt: gt: before the value"},
    [FILTER_NAMES] = {"names",
        "Names by comma; ! before one leaves it out, shipment.* takes all that begin so"},
    [FILTER_TREE] = {"tree", "One or more ids, or paths of names from the root (/Aisle 1/Shelf A), "
                             "by comma: rows there or below"},
    [FILTER_FLAGS] = {"flags", "One or more of the names, by comma"},
};

const char *filter_type_name(enum filter_type t)
{
    return filter_types[t].name;
}

const char *filter_help(enum filter_type t)
{
    return filter_types[t].help;
}

void schema_filters(struct jw *w, const struct definition_list *list)
{
    jw_open(w, "x-filters", '[');
    for (size_t i = 0; i < list->n_filters; i++) {
        const struct filter *f = &list->filters[i];

        jw_open(w, NULL, '{');
        jw_z(w, "name", f->name);
        jw_z(w, "type", filter_type_name(f->type));
        if (f->type == FILTER_ARRAY) /* some readers take every object with a type for a schema */
            jw_raw(w, "items", WHARF_S("{\"type\":\"string\"}"));
        jw_bool(w, "nullable", f->nullable);
        if (f->ids && f->field->ref)
            jw_z(w, "ref", f->field->ref);
        if (f->lenient)
            jw_bool(w, "lenient", true);
        if (f->n_members) {
            jw_open(w, "members", '[');
            for (size_t k = 0; k < f->n_members; k++)
                jw_z(w, NULL, f->members[k]);
            jw_close(w, ']');
        }
        jw_close(w, '}');
    }
    jw_close(w, ']');
}

/* Marks a field that is going away (http/deprecation.h). */
static void mark_deprecated(struct jw *w, const struct wharf_json *property)
{
    if (json_get(json_get(property, "x-wharf"), "deprecated") && !json_get(property, "deprecated"))
        jw_bool(w, "deprecated", true);
}

void schema_copy(struct jw *w, const char *key, const struct wharf_json *v)
{
    if (v->type == JSON_OBJECT) {
        jw_open(w, key, '{');
        mark_deprecated(w, v);
        for (const struct wharf_json *m = v->child; m; m = m->next) {
            if (strcmp(m->key.p, "x-wharf") != 0)
                schema_copy(w, m->key.p, m);
        }
        jw_close(w, '}');
    } else if (v->type == JSON_ARRAY) {
        jw_open(w, key, '[');
        for (const struct wharf_json *e = v->child; e; e = e->next)
            schema_copy(w, NULL, e);
        jw_close(w, ']');
    } else {
        jw_value(w, key, v);
    }
}

static void type_or_null(struct jw *w, const char *key, const char *type, const char *also)
{
    jw_open(w, key, '{');
    jw_open(w, "type", '[');
    jw_z(w, NULL, type);
    if (also)
        jw_z(w, NULL, also);
    jw_z(w, NULL, "null");
    jw_close(w, ']');
    jw_close(w, '}');
}

/* Writes a member that is null where nothing is set: its schema, with null among its types and
 * values. */
static void member_or_null(struct jw *w, const struct wharf_json *p)
{
    jw_open(w, p->key.p, '{');
    for (const struct wharf_json *m = p->child; m; m = m->next) {
        bool type = str_eqz(m->key, "type") && m->type == JSON_STRING;

        if (type || str_eqz(m->key, "enum")) {
            jw_open(w, m->key.p, '[');
            for (const struct wharf_json *e = type ? m : m->child; e; e = type ? NULL : e->next)
                jw_value(w, NULL, e);
            if (type)
                jw_z(w, NULL, "null");
            else
                jw_null(w, NULL);
            jw_close(w, ']');
        } else if (strcmp(m->key.p, "x-wharf") != 0) {
            schema_copy(w, m->key.p, m);
        }
    }
    jw_close(w, '}');
}

/* Writes what nested objects hold after being written out complete: every member, null where
 * nothing is set. */
static void nested_as_read(struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *properties = json_get(schema, "properties");
    const struct wharf_json *more = json_get(schema, "additionalProperties");

    jw_open(w, key, '{');
    jw_open(w, "type", '[');
    jw_z(w, NULL, "object");
    jw_z(w, NULL, "null");
    jw_close(w, ']');
    jw_open(w, "properties", '{');
    for (const struct wharf_json *p = properties->child; p; p = p->next) {
        wharf_str type = json_text_or(p, "type", "");

        if (json_get(p, "properties"))
            nested_as_read(w, p->key.p, p);
        else if (type.n && !json_get(p, "default"))
            member_or_null(w, p);
        else
            schema_copy(w, p->key.p, p);
    }
    jw_close(w, '}');
    if (!more || (more->type == JSON_BOOL && !more->truth))
        jw_bool(w, "additionalProperties", false);
    jw_open(w, "required", '[');
    for (const struct wharf_json *p = properties->child; p; p = p->next)
        jw_str(w, NULL, p->key);
    jw_close(w, ']');
    jw_close(w, '}');
}

static void field_as_read(struct jw *w, const struct field *f);

static void children_as_read(struct jw *w, const struct field *f)
{
    const struct child_set *set = f->children;

    jw_open(w, f->name, '{');
    jw_z(w, "type", "array");
    jw_open(w, "items", '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < set->n_fields; i++)
        field_as_read(w, &set->fields[i]);
    jw_close(w, '}');
    jw_bool(w, "additionalProperties", false);
    jw_open(w, "required", '[');
    for (size_t i = 0; i < set->n_fields; i++) {
        if (set->fields[i].in)
            jw_z(w, NULL, set->fields[i].name);
    }
    jw_close(w, ']');
    jw_close(w, '}');
    jw_close(w, '}');
}

static void rows_as_read(struct jw *w, const struct field *f)
{
    jw_open(w, f->name, '{');
    jw_z(w, "type", "array");
    jw_open(w, "items", '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < f->n_show; i++)
        jw_raw(w, f->show[i], WHARF_S("{}"));
    jw_close(w, '}');
    jw_open(w, "required", '[');
    for (size_t i = 0; i < f->n_show; i++)
        jw_z(w, NULL, f->show[i]);
    jw_close(w, ']');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
    jw_close(w, '}');
}

static void field_as_read(struct jw *w, const struct field *f)
{
    if (f->kind == FIELD_CHILDREN)
        children_as_read(w, f);
    else if (f->n_show)
        rows_as_read(w, f);
    else if (f->store == STORE_TIME && f->nullable)
        type_or_null(w, f->name, "string", "integer");
    else if (f->store == STORE_TIME)
        jw_raw(w, f->name, WHARF_S("{\"type\":[\"string\",\"integer\"],\"format\":\"date-time\"}"));
    else if (f->kind == FIELD_EMBED)
        jw_raw(w, f->name, WHARF_S("{\"type\":[\"object\",\"null\"]}"));
    else if (f->store == STORE_JSON && json_get(f->json, "properties"))
        nested_as_read(w, f->name, f->json);
    else
        schema_copy(w, f->name, f->json);
}

static bool ever_shown(const struct field *f)
{
    return f->in || f->include_flag;
}

static void resource_as_read(struct jw *w, struct arena *a, const struct resource *res)
{
    const struct definition *d = res->def;

    jw_open(w, schema_name(a, d).p, '{');
    jw_z(w, "type", "object");
    jw_z(w, "title", d->title);
    jw_open(w, "properties", '{');
    jw_open(w, "object", '{');
    jw_z(w, "const", d->name);
    jw_close(w, '}');
    for (size_t i = 0; i < d->n_fields; i++) {
        if (ever_shown(&d->fields[i]))
            field_as_read(w, &d->fields[i]);
    }
    jw_open(w, "_search", '{');
    jw_z(w, "type", "object");
    jw_close(w, '}');
    jw_close(w, '}');
    jw_open(w, "required", '[');
    jw_z(w, NULL, "object");
    jw_z(w, NULL, "id");
    jw_close(w, ']');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
}

static bool in_events(const struct definition_events *events, const struct field *f)
{
    for (size_t i = 0; i < events->n_without; i++) {
        if (events->without[i] == f)
            return false;
    }
    return f->in & IN_RETRIEVE;
}

void schema_event_properties(struct jw *w, const struct resource *res)
{
    const struct definition *d = res->def;

    jw_open(w, "object", '{');
    jw_z(w, "const", d->name);
    jw_close(w, '}');
    for (size_t i = 0; i < d->n_fields; i++) {
        if (in_events(&d->events, &d->fields[i]))
            field_as_read(w, &d->fields[i]);
    }
    if (!definition_field(d, "location_id")) /* of data that was too large */
        jw_raw(w, "location_id", WHARF_S("{\"type\":[\"string\",\"null\"]}"));
    if (!definition_field(d, "deleted_at"))
        jw_raw(w, "deleted_at", WHARF_S("{\"type\":[\"string\",\"null\"]}"));
}

/* Writes an example of an object, complete: what is not set is the default, or null. */
static void example_object(struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *properties = json_get(schema, "properties");

    jw_open(w, key, '{');
    for (const struct wharf_json *p = properties->child; p; p = p->next) {
        if (json_get(p, "properties"))
            example_object(w, p->key.p, p);
        else if (json_get(p, "default"))
            jw_value(w, p->key.p, json_get(p, "default"));
        else
            jw_null(w, p->key.p);
    }
    jw_close(w, '}');
}

/* Writes an example of an array with as few items as the schema takes. */
static void example_array(struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *items = json_get(schema, "items"), *values = json_get(items, "enum"),
                            *one = values ? values->child : NULL;

    jw_open(w, key, '[');
    for (int64_t i = 0; i < json_int_or(schema, "minItems", 0); i++) {
        if (one)
            jw_value(w, NULL, one);
        else
            jw_z(w, NULL, "example");
        one = one ? one->next : NULL;
    }
    jw_close(w, ']');
}

/* Returns what the schema itself says: an example, the first member of an enumeration, the
 * default. */
static const struct wharf_json *example_reported(const struct wharf_json *schema)
{
    const struct wharf_json *examples = json_get(schema, "examples"),
                            *values = json_get(schema, "enum");

    if (examples && examples->child)
        return examples->child;
    return values && values->child          ? values->child
           : json_get(schema, "properties") ? NULL
                                            : json_get(schema, "default");
}

/* Writes a text that the schema's simple rules accept; words where they ask for a form are the
 * definition's own examples. */
static void example_value(struct jw *w, struct arena *a, const struct field *f)
{
    const struct wharf_json *reported = example_reported(f->json);
    const struct wharf_json *types = json_get(f->json, "type");
    wharf_str type = json_is(types, JSON_ARRAY) && types->child ? types->child->text
                     : types                                    ? types->text
                                                                : str_z("");

    if (reported)
        jw_value(w, f->name, reported);
    else if (f->store == STORE_JSON && json_get(f->json, "properties"))
        example_object(w, f->name, f->json);
    else if (f->store == STORE_TIME && !f->nullable)
        jw_z(w, f->name, "2025-03-01T09:15:02.114Z");
    else if (f->nullable || f->kind == FIELD_EMBED)
        jw_null(w, f->name);
    else if (str_eqz(type, "array") && f->kind == FIELD_COLUMN && !f->n_show)
        example_array(w, f->name, f->json);
    else if (str_eqz(type, "array"))
        jw_raw(w, f->name, WHARF_S("[]"));
    else if (str_eqz(type, "object"))
        jw_raw(w, f->name, WHARF_S("{}"));
    else if (str_eqz(type, "boolean"))
        jw_bool(w, f->name, false);
    else if (str_eqz(type, "integer") || str_eqz(type, "number"))
        jw_int(w, f->name, json_int_or(f->json, "minimum", 1));
    else
        jw_str(w, f->name, arena_printf(a, "example %s", f->name));
}

void schema_event_example(struct jw *w, struct arena *a, const struct resource *res)
{
    const struct definition *d = res->def;

    jw_z(w, "object", d->name);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (!in_events(&d->events, &d->fields[i]))
            continue;
        if (!strcmp(d->fields[i].name, "id"))
            jw_str(w, "id", arena_printf(a, "%s_0000000000000000000000", d->ids.prefix));
        else
            example_value(w, a, &d->fields[i]);
    }
}

static void set_input(struct jw *w, const struct field *f)
{
    static const char *const verbs[] = {"add", "remove", "set"};

    jw_open(w, f->name, '{');
    jw_open(w, "anyOf", '[');
    schema_copy(w, NULL, f->json);
    jw_open(w, NULL, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < 3; i++)
        jw_raw(w, verbs[i],
            WHARF_S("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}"));
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, ']');
    jw_close(w, '}');
}

/* Tells a default in words: generators of clients take the keyword for "always there", in what is
 * sent as well. */
static void default_in_words(
    struct jw *w, struct arena *a, const struct wharf_json *schema, const struct wharf_json *value)
{
    wharf_str text = json_text_or(schema, "description", "");
    struct buf b;
    struct jw words;

    buf_init(&b, 65536);
    jw_init(&words, &b);
    jw_value(&words, NULL, value);
    jw_str(w, "description",
        arena_printf(a, "%.*s%sDefault: %.*s.", STR_ARG(text), text.n ? " " : "", (int)b.n, b.p));
    buf_done(&b);
}

static void sent_copy(struct jw *w, struct arena *a, const char *key, const struct wharf_json *v)
{
    const struct wharf_json *value = json_get(v, "default");

    if (v->type != JSON_OBJECT) {
        schema_copy(w, key, v);
        return;
    }
    jw_open(w, key, '{');
    mark_deprecated(w, v);
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        if (m == value) {
            default_in_words(w, a, v, value);
        } else if (str_eqz(m->key, "properties")) {
            jw_open(w, "properties", '{');
            for (const struct wharf_json *p = m->child; p; p = p->next)
                sent_copy(w, a, p->key.p, p);
            jw_close(w, '}');
        } else if (str_eqz(m->key, "items")) {
            sent_copy(w, a, "items", m);
        } else if (strcmp(m->key.p, "x-wharf") != 0 && !(value && str_eqz(m->key, "description"))) {
            schema_copy(w, m->key.p, m);
        }
    }
    jw_close(w, '}');
}

static void resource_as_sent(struct jw *w, struct arena *a, const struct resource *res, uint32_t op)
{
    const struct definition *d = res->def;
    wharf_str name = schema_name(a, d);

    jw_open(
        w, arena_printf(a, "%.*s%s", STR_ARG(name), op == OP_CREATE ? "Create" : "Update").p, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (!(f->write & op) || (f->kind == FIELD_COMPUTED && !f->input) || f->kind == FIELD_EMBED)
            continue;
        if (f->set_input)
            set_input(w, f);
        else
            sent_copy(w, a, f->name, f->json);
    }
    jw_close(w, '}');
    if (op == OP_CREATE) {
        jw_open(w, "required", '[');
        for (size_t i = 0; i < d->n_fields; i++) {
            if (d->fields[i].required && d->fields[i].write & op &&
                &d->fields[i] != d->place.parent)
                jw_z(w, NULL, d->fields[i].name);
        }
        jw_close(w, ']');
    }
    jw_close(w, '}');
}

static const char common_schemas[] =
    "{\"type\":\"object\",\"required\":[\"data\",\"message\",\"status\",\"code\",\"errors\","
    "\"pagination\","
    "\"endpoint\"],\"properties\":{"
    "\"data\":{},\"message\":{\"type\":\"string\",\"minLength\":1},\"status\":{\"type\":"
    "\"integer\",\"minimum\":200,"
    "\"maximum\":299},"
    "\"code\":{\"type\":[\"string\",\"null\"]},\"errors\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"string\"}},"
    "\"pagination\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/"
    "Pagination\"},{\"type\":\"null\"}]},\"endpoint\":{\"type\":\"string\"}},"
    "\"additionalProperties\":false}";

static const char pagination_schema[] = "{\"type\":\"object\",\"required\":[\"page\",\"limit\","
                                        "\"has_more\"],\"properties\":{\"page\":{\"type\":["
                                        "\"integer\",\"null\"]},"
                                        "\"limit\":{\"type\":\"integer\"},\"has_more\":{\"type\":"
                                        "\"boolean\"},\"total_count\":{\"type\":\"integer\"},"
                                        "\"total_count_is_estimate\":{\"type\":\"boolean\"},\"next_"
                                        "cursor\":{\"type\":[\"string\",\"null\"]}},"
                                        "\"additionalProperties\":false}";

static const char error_schema[] =
    "{\"type\":\"object\",\"required\":[\"data\",\"message\",\"status\",\"code\","
    "\"errors\",\"pagination\",\"endpoint\"],\"properties\":{"
    "\"data\":{\"type\":\"null\"},\"message\":{\"type\":\"string\",\"minLength\":1},"
    "\"status\":{\"type\":\"integer\",\"minimum\":400,"
    "\"maximum\":599},\"code\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9_]+([.:][a-z0-"
    "9_]+)*$\"},\"errors\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"}},\"pagination\":{\"type\":\"null\"},\"endpoint\":{"
    "\"type\":\"string\",\"maxLength\":512}},"
    "\"additionalProperties\":false}";

static const char problem_schema[] = "{\"type\":\"object\",\"required\":[\"type\",\"title\","
                                     "\"status\",\"detail\",\"instance\",\"code\",\"errors\","
                                     "\"violations\"],"
                                     "\"properties\":{\"type\":{\"type\":\"string\"},\"title\":{"
                                     "\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
                                     "\"detail\":{\"type\":\"string\"},\"instance\":{\"type\":"
                                     "\"string\"},\"code\":{\"type\":\"string\"},"
                                     "\"errors\":{\"type\":\"array\",\"items\":{\"type\":"
                                     "\"string\"}},\"violations\":{\"type\":\"array\",\"items\":{"
                                     "\"type\":\"object\"}}}}";

static const char deleted_schema[] = "{\"type\":\"object\",\"required\":[\"id\",\"object\","
                                     "\"deleted\"],\"properties\":{\"id\":{\"type\":\"string\"},"
                                     "\"object\":{\"type\":\"string\"},\"deleted\":{\"const\":true}"
                                     "},\"additionalProperties\":false}";

static bool has_route(const struct engine *e, const struct resource *res, enum route_kind kind)
{
    for (size_t i = 0; i < e->n_routes; i++) {
        if (e->routes[i].resource == res && e->routes[i].kind == kind)
            return true;
    }
    return false;
}

static const char refused_response[] =
    "{\"description\":\"Refused; see "
    "code\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/"
    "Error\"}},\"application/problem+json\":{\"schema\":{\"$ref\":\"#/components/schemas/"
    "Problem\"}}}}";

void openapi_components(struct jw *w, const struct engine *e)
{
    jw_open(w, "components", '{');
    jw_open(w, "securitySchemes", '{');
    jw_raw(
        w, "ApiKey", WHARF_S("{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"SVC-API-KEY\"}"));
    jw_close(w, '}');
    jw_open(w, "responses", '{');
    jw_raw(w, "Refused", str_z(refused_response));
    jw_close(w, '}');
    jw_open(w, "schemas", '{');
    jw_raw(w, "Envelope", str_z(common_schemas));
    jw_raw(w, "Pagination", str_z(pagination_schema));
    jw_raw(w, "Error", str_z(error_schema));
    jw_raw(w, "Problem", str_z(problem_schema));
    jw_raw(w, "Deleted", str_z(deleted_schema));
    for (size_t i = 0; i < e->n_resources; i++) {
        resource_as_read(w, e->arena, &e->resources[i]);
        if (has_route(e, &e->resources[i], ROUTE_CREATE))
            resource_as_sent(w, e->arena, &e->resources[i], OP_CREATE);
        if (has_route(e, &e->resources[i], ROUTE_UPDATE))
            resource_as_sent(w, e->arena, &e->resources[i], OP_UPDATE);
    }
    jw_close(w, '}');
    jw_close(w, '}');
}
