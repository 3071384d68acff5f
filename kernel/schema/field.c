/* field.c - compiles the properties of a definition into fields (docs/reference/definitions.md 'A
 * property').
 *
 * Leaves to others: rows of child tables (field_children.c), columns (columns.c), the list's
 * parameters (lists.c). */
#include "schema/compile.h"
#include "util/str.h"

enum {
    PRECISION_MAX = 38, /* digits of a decimal field */
    PRECISION = 15,
    SCALE = 4
};

static const char *const NAME_SHAPE = "^[a-z_][a-z0-9_]{0,62}$";
static const char *const NAME_WORDS = "a name of lower-case letters, digits and _";
static const char *const X_KEYS[] = {"store", "column", "write", "expression", "read", "null",
    "empty", "hooks", "trim", "fold", "secret", "fresh", "writers", "ids_of", "merge", "set", "ref",
    "show", "filter", "sort", "in", "log", "embed", "children", "since", "deprecated",
    "contributed", "null_unasked", "shown_by", "describe", "shape", NULL};

struct property { /* one property while it is compiled */
    const struct wharf_json *json, *x;
    struct place at, x_at; /* of the property, of its x-wharf */
    const char *type; /* besides null; "" when there is none or several */
    bool child;
};

const struct field *fields_find(const struct field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(fields[i].name, name))
            return &fields[i];
    return NULL;
}

/* ---- plain schemas ---- */

static void field_plain(struct compile *c, const struct wharf_json *schema, const struct place *at);

static void plain_members(
    struct compile *c, const struct wharf_json *schemas, const struct place *at)
{
    for (const struct wharf_json *m = json_is(schemas, JSON_OBJECT) ? schemas->child : NULL; m;
         m = m->next) {
        struct place inner = place_key(at, m->key);

        field_plain(c, m, &inner);
    }
}

/* Checks that a definition has no combinations and no $ref: each place has one kind of value, from
 * which the rest is derived. */
static void field_plain(struct compile *c, const struct wharf_json *schema, const struct place *at)
{
    static const char *const not_here[] = {
        "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "$ref", "$defs"};
    static const char *const one[] = {"items", "additionalProperties", "propertyNames"};

    if (!json_is(schema, JSON_OBJECT))
        return;
    for (size_t i = 0; i < sizeof(not_here) / sizeof(*not_here); i++)
        if (json_get(schema, not_here[i]))
            opt_member_problem(c, at, not_here[i],
                "definitions are plain; combinations and $ref are for the bodies of routes");
    for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++) {
        struct place inner = place_key(at, str_z(one[i]));

        field_plain(c, json_get(schema, one[i]), &inner);
    }
    plain_members(
        c, json_get(schema, "properties"), &(struct place){.up = at, .key = WHARF_S("properties")});
    plain_members(c, json_get(schema, "patternProperties"),
        &(struct place){.up = at, .key = WHARF_S("patternProperties")});
}

struct nested { /* problems of a schema inside a definition */
    struct compile *c;
    const struct place *at;
};

static void tell_nested(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct nested *n = arg;

    n->c->failed = true;
    n->c->fn(n->c->arg,
        arena_printf(n->c->arena, "%s%s", place_pointer(n->c->arena, n->at).p, path.p), rule,
        message);
}

/* Returns the array schema with nothing but its items, or without them. */
static const struct wharf_json *field_part_of(
    struct compile *c, const struct wharf_json *json, bool items)
{
    struct wharf_json *copy = ARENA_NEW(c->arena, struct wharf_json), **tail = &copy->child;

    *copy = *json;
    copy->child = NULL;
    for (const struct wharf_json *m = json->child; m; m = m->next) {
        if (str_eqz(m->key, "items") != items)
            continue;
        *tail = ARENA_NEW(c->arena, struct wharf_json);
        **tail = *m;
        (*tail)->next = NULL;
        tail = &(*tail)->next;
    }
    return copy;
}

/* Reads the schema. The rows of children are checked one by one: their schema is left out of the
 * array's. */
static void read_schema(struct compile *c, struct field *f, const struct property *p)
{
    const struct wharf_json *json = f->kind == FIELD_CHILDREN ? field_part_of(c, p->json, false)
                                                              : p->json;
    struct nested n = {c, &p->at};

    field_plain(c, json, &p->at);
    f->json = p->json;
    f->schema = schema_compile_part(c->arena, c->document, json, tell_nested, &n);
    if (f->store == STORE_ARRAY && f->schema)
        f->element = schema_compile_part(
            c->arena, c->document, field_part_of(c, p->json, true), tell_nested, &n);
}

/* ---- type and store ---- */

static void read_type(struct compile *c, struct field *f, struct property *p)
{
    const struct wharf_json *type = json_get(p->json, "type"),
                            *one = json_is(type, JSON_ARRAY) ? type->child : type;
    size_t n = 0;

    p->type = "";
    for (; one; one = one == type ? NULL : one->next) {
        if (json_is(one, JSON_STRING) && str_eqz(one->text, "null")) {
            f->nullable = true;
        } else if (json_is(one, JSON_STRING)) {
            p->type = one->text.p;
            n++;
        }
    }
    if (n > 1)
        p->type = "";
    if (!type)
        opt_member_problem(c, &p->at, "type", "this is needed");
}

static bool field_is_type(const struct property *p, const char *type)
{
    return !strcmp(p->type, type);
}

static bool of_strings(const struct wharf_json *json)
{
    return str_eqz(json_text_or(json_get(json, "items"), "type", ""), "string");
}

static void store_by_type(struct compile *c, struct field *f, const struct property *p)
{
    if (field_is_type(p, "string"))
        f->store = str_eqz(json_text_or(p->json, "format", ""), "date-time") ? STORE_TIME
                                                                             : STORE_TEXT;
    else if (field_is_type(p, "integer"))
        f->store = STORE_INT;
    else if (field_is_type(p, "number"))
        f->store = STORE_DEC;
    else if (field_is_type(p, "boolean"))
        f->store = STORE_BOOL;
    else if (field_is_type(p, "array") && of_strings(p->json))
        f->store = STORE_ARRAY;
    else if (field_is_type(p, "array") || field_is_type(p, "object"))
        f->store = STORE_JSON;
    else
        opt_member_problem(c, &p->at, "type",
            "one type, with or without null, decides the column; several need \"store\": \"json\"");
}

/* Reads "dec(15,4)". */
static bool read_decimal(struct field *f, const char *text)
{
    unsigned numbers[2] = {0, 0}, n = 0;
    const char *s = text + 4;

    if (strncmp(text, "dec(", 4) != 0)
        return false;
    for (; *s && *s != ')' && n < 2; s++) {
        if (*s == ',')
            n++;
        else if (*s < '0' || *s > '9' || numbers[n] > PRECISION_MAX)
            return false;
        else
            numbers[n] = numbers[n] * 10 + (unsigned)(*s - '0');
    }
    if (n != 1 || strcmp(s, ")") != 0 || numbers[0] < 1 || numbers[0] > PRECISION_MAX ||
        numbers[1] > numbers[0])
        return false;
    f->precision = (uint16_t)numbers[0];
    f->scale = (uint16_t)numbers[1];
    return true;
}

static void store_by_word(
    struct compile *c, struct field *f, const struct property *p, const char *word)
{
    static const struct {
        const char *word, *type; /* type "": any */
        enum store store;
        enum field_kind kind;
    } stores[] = {{"text", "string", STORE_TEXT, FIELD_COLUMN},
        {"int", "integer", STORE_INT, FIELD_COLUMN}, {"bool", "boolean", STORE_BOOL, FIELD_COLUMN},
        {"time", "string", STORE_TIME, FIELD_COLUMN}, {"json", "", STORE_JSON, FIELD_COLUMN},
        {"array", "array", STORE_ARRAY, FIELD_COLUMN},
        {"metadata", "object", STORE_METADATA, FIELD_COLUMN},
        {"secret", "string", STORE_SECRET, FIELD_COLUMN},
        {"computed", "", STORE_NONE, FIELD_COMPUTED}, {"embed", "object", STORE_NONE, FIELD_EMBED},
        {"children", "array", STORE_NONE, FIELD_CHILDREN},
        {"input", "", STORE_NONE, FIELD_COMPUTED}};

    if (read_decimal(f, word)) {
        f->store = STORE_DEC;
        if (!field_is_type(p, "number") && !field_is_type(p, "integer"))
            opt_member_problem(c, &p->x_at, "store", "a decimal needs \"type\": \"number\"");
        return;
    }
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        if (strcmp(word, stores[i].word) != 0)
            continue;
        f->store = stores[i].store;
        f->kind = stores[i].kind;
        if (*stores[i].type && !field_is_type(p, stores[i].type))
            opt_member_problem(
                c, &p->x_at, "store", "%s needs \"type\": \"%s\"", word, stores[i].type);
        if (f->store == STORE_ARRAY && !of_strings(p->json))
            opt_member_problem(
                c, &p->x_at, "store", "array is for items of \"type\": \"string\"; take json");
        return;
    }
    opt_member_problem(c, &p->x_at, "store",
        "this is one of: text, int, dec(precision,scale), bool, time, json, array, metadata, "
        "secret, computed, embed, children, input");
}

/* Checks the name of a column: PostgreSQL has columns of its own in every table, and the engine
 * names some while it reads. */
static void check_column_name(struct compile *c, const struct field *f, const struct property *p)
{
    static const char *const taken[] = {"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"};

    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
        if (!strcmp(f->column_name, taken[i]))
            opt_member_problem(c, &p->x_at, "column",
                "every table of PostgreSQL has a column %s of its own", taken[i]);
    if (!strncmp(f->column_name, "wharf_", 6))
        opt_member_problem(c, &p->x_at, "column", "names that begin with wharf_ are the server's");
}

/* Tells whether it is a system column. The engine knows these columns by their names; none of them
 * is a word that SQL reserves. */
static bool is_system_column(const char *name)
{
    return system_column(name) >= 0 || !strcmp(name, "organization_id");
}

static enum may_ask may_ask(const struct field *f, const struct property *p)
{
    const struct wharf_json *in = json_get(p->x, "in");

    if (f->kind != FIELD_COLUMN)
        return ASKS_CALLER;
    return json_is(in, JSON_ARRAY) && !in->child ? ASKS_PARAMETERS : ASKS_NOTHING;
}

/* Reads the SQL that is read instead of a column, or that computes a field. */
static void field_read_expression(struct compile *c, struct field *f, const struct property *p)
{
    const char *sql = opt_text(c, p->x, &p->x_at, "expression", NULL);

    if (opt_text(c, p->x, &p->x_at, "shown_by", NULL) && (sql || f->kind != FIELD_COMPUTED))
        opt_member_problem(c, &p->x_at, "shown_by",
            "only computed fields and input have this, and no expression of their own");
    if (!sql)
        return;
    check_asks(c, may_ask(f, p), &p->x_at, "expression", sql);
    sql = arena_printf(c->arena, "(%s)", sql).p;
    if (f->kind == FIELD_COLUMN)
        f->expression = sql;
    else if (f->kind == FIELD_COMPUTED && (!f->input || json_get(p->x, "in")))
        f->computed = sql;
    else
        opt_member_problem(c, &p->x_at, "expression", "only columns and computed fields have this");
}

static void read_store(struct compile *c, struct field *f, const struct property *p)
{
    const char *word = opt_text(c, p->x, &p->x_at, "store", NULL);

    f->precision = PRECISION;
    f->scale = SCALE;
    f->input = word && !strcmp(word, "input");
    if (word)
        store_by_word(c, f, p, word);
    else
        store_by_type(c, f, p);
    if (f->input && *p->type)
        store_by_type(c, f, p);
    else if (f->input)
        f->store = STORE_JSON;
    if (f->store != STORE_DEC)
        f->precision = f->scale = 0;
    if (p->child && (f->kind != FIELD_COLUMN || f->store == STORE_SECRET ||
                        json_get(p->x, "expression") || json_get(p->x, "read")))
        opt_member_problem(c, &p->x_at, "store",
            "the fields of child rows are columns that are neither secrets nor expressions");
    if (f->kind == FIELD_COLUMN) {
        f->column_name = opt_text(c, p->x, &p->x_at, "column", f->name);
        f->read = opt_text(c, p->x, &p->x_at, "read", NULL);
        check_asks(c, ASKS_CALLER, &p->x_at, "read", f->read ? f->read : "");
        opt_shape(c, &p->x_at, "column", f->column_name, NAME_SHAPE, NAME_WORDS);
        check_column_name(c, f, p);
        f->column = is_system_column(f->column_name) ? f->column_name
                                                     : opt_quoted(c, f->column_name);
    } else if (json_get(p->x, "column")) {
        opt_member_problem(c, &p->x_at, "column", "only columns have this");
    }
    field_read_expression(c, f, p);
}

/* ---- writing ---- */

static bool field_is_system(const struct field *f, bool child)
{
    static const char *const child_names[] = {"id", "created_at", "updated_at"};

    if (!f->column)
        return false;
    if (!child)
        return is_system_column(f->column);
    for (size_t i = 0; i < sizeof(child_names) / sizeof(*child_names); i++)
        if (!strcmp(f->column, child_names[i]))
            return true;
    return false;
}

static void read_write(struct compile *c, struct field *f, const struct property *p)
{
    static const char *const words[] = {"both", "create", "update", "never", NULL};
    static const uint32_t bits[] = {OP_CREATE | OP_UPDATE, OP_CREATE, OP_UPDATE, 0};
    bool fixed = field_is_system(f, p->child) || (f->kind == FIELD_COMPUTED && !f->input) ||
                 f->kind == FIELD_EMBED || f->expression;
    size_t word = opt_word(c, p->x, &p->x_at, "write", words, fixed ? 3 : 0);

    f->write = bits[word];
    if (fixed && f->write)
        opt_member_problem(c, &p->x_at, "write",
            "system, computed and embedded fields and expressions are never written by requests");
}

static enum blank_rule read_blank(
    struct compile *c, const struct field *f, const struct property *p, const char *key)
{
    static const char *const words[] = {"clear", "ignore", "reject", "keep", NULL};
    bool clears = f->nullable || f->store == STORE_METADATA;
    size_t word = opt_word(c, p->x, &p->x_at, key, words, clears ? BLANK_CLEAR : BLANK_REJECT);

    if (word == BLANK_CLEAR && !clears && f->store != STORE_ARRAY)
        opt_member_problem(c, &p->x_at, key, "clear needs a type that includes \"null\"");
    if (word == BLANK_KEEP && !strcmp(key, "null") && !f->nullable)
        opt_member_problem(c, &p->x_at, key, "null can be kept when the type includes it");
    return (enum blank_rule)word;
}

/* Reads a switch that only some stores have. */
static bool read_switch(
    struct compile *c, const struct property *p, const char *key, bool allowed, const char *who)
{
    bool on = opt_bool(c, p->x, &p->x_at, key, false);

    if (on && !allowed)
        opt_member_problem(c, &p->x_at, key, "only %s have this", who);
    return on && allowed;
}

static void field_read_input(struct compile *c, struct field *f, const struct property *p)
{
    bool text = f->store == STORE_TEXT;

    read_write(c, f, p);
    f->on_null = read_blank(c, f, p, "null");
    f->on_empty = read_blank(c, f, p, "empty");
    f->trim = opt_bool(c, p->x, &p->x_at, "trim", text);
    f->fold = read_switch(c, p, "fold", text || f->store == STORE_ARRAY, "texts");
    f->secret = opt_bool(c, p->x, &p->x_at, "secret", false) || f->store == STORE_SECRET;
    f->fresh = opt_bool(c, p->x, &p->x_at, "fresh", false);
    f->writers = opt_bool(c, p->x, &p->x_at, "writers", false);
    f->unhooked = !opt_bool(c, p->x, &p->x_at, "hooks", true);
    f->ids_of = opt_text(c, p->x, &p->x_at, "ids_of", NULL);
    c->d->events.has_fresh |= f->fresh || (f->secret && f->store != STORE_SECRET);
    f->merge = read_switch(
        c, p, "merge", f->store == STORE_JSON && field_is_type(p, "object"), "objects");
    f->set_input = read_switch(c, p, "set", f->store == STORE_ARRAY, "arrays of texts");
    f->ref = opt_text(c, p->x, &p->x_at, "ref", NULL);
    if (f->ref && !text && f->store != STORE_ARRAY)
        opt_member_problem(c, &p->x_at, "ref", "only texts and arrays of texts refer to rows");
    f->show = opt_texts(c, p->x, &p->x_at, "show", &f->n_show);
    if (f->n_show > OBJECT_FIELDS_MAX)
        opt_member_problem(
            c, &p->x_at, "show", "at most %d fields are shown of other rows", OBJECT_FIELDS_MAX);
    if (f->show && (f->store != STORE_ARRAY || !f->ref))
        opt_member_problem(
            c, &p->x_at, "show", "only arrays with \"ref\" show fields of the rows they name");
    f->default_value = json_get(p->json, "default");
    if (f->default_value && !(f->write & OP_CREATE) && f->kind != FIELD_COLUMN)
        opt_member_problem(c, &p->at, "default", "only columns have this");
}

/* ---- showing, filtering ---- */

/* Reads what a field with a flag is where nobody asks for it. */
static void read_flag(struct compile *c, struct field *f, const struct property *p)
{
    f->null_unasked = opt_bool(c, p->x, &p->x_at, "null_unasked", false);
    if (f->null_unasked && (!f->include_flag || !f->nullable))
        opt_member_problem(c, &p->x_at, "null_unasked",
            "only a field that may be null and that a flag asks for has this");
    if (f->include_flag && f->index >= 64)
        opt_member_problem(c, &p->x_at, "in", "only the first 64 properties may have a flag");
}

static void read_in(struct compile *c, struct field *f, const struct property *p)
{
    size_t n;
    const char *const *words = opt_texts(c, p->x, &p->x_at, "in", &n);

    f->in = words || f->input || f->store == STORE_SECRET ? 0 : IN_LIST | IN_RETRIEVE;
    if (words && n && f->store == STORE_SECRET)
        opt_member_problem(c, &p->x_at, "in", "secrets are never shown");
    for (size_t i = 0; words && i < n; i++) {
        if (!strcmp(words[i], "list"))
            f->in |= IN_LIST;
        else if (!strcmp(words[i], "retrieve"))
            f->in |= IN_RETRIEVE;
        else if (!strcmp(words[i], "created"))
            f->in |= IN_CREATED;
        else if (!strcmp(words[i], "written"))
            f->in |= IN_WRITTEN;
        else if (!strcmp(words[i], "search"))
            f->in |= IN_SEARCH;
        else if (!strncmp(words[i], "flag:include_", 13) && words[i][13] && !f->include_flag)
            f->include_flag = words[i] + 5;
        else
            opt_member_problem(c, &p->x_at, "in",
                "this names list, retrieve, created, written, search and at most one "
                "flag:include_<name>");
    }
    f->always = f->in;
    if (f->include_flag && !f->in)
        f->in = IN_LIST | IN_RETRIEVE;
    read_flag(c, f, p);
}

/* Reads the texts of the enum, without null. There are none when a member is no text. */
static void field_read_members(struct compile *c, struct field *f, const struct wharf_json *json)
{
    const struct wharf_json *list = json_get(
        f->store == STORE_ARRAY ? json_get(json, "items") : json, "enum");
    const char **members;

    if (!json_is(list, JSON_ARRAY))
        return;
    members = ARENA_ARRAY(c->arena, const char *, list->count + 1);
    for (const struct wharf_json *m = list->child; m; m = m->next) {
        if (m->type == JSON_STRING) {
            members[f->n_members++] = m->text.p;
        } else if (m->type != JSON_NULL) {
            f->n_members = 0;
            return;
        }
    }
    f->members = members;
}

enum filter_type field_filter_type(const struct field *f)
{
    switch (f->store) {
    case STORE_TEXT:
        if (f->members)
            return FILTER_ENUM;
        return f->ref || !strcmp(f->name, "id") ? FILTER_ID : FILTER_TEXT;
    case STORE_INT:
    case STORE_DEC:
        return FILTER_NUMBER;
    case STORE_BOOL:
        return FILTER_BOOL;
    case STORE_TIME:
        return FILTER_DATE;
    case STORE_ARRAY:
        return FILTER_ARRAY;
    case STORE_METADATA:
        return FILTER_METADATA;
    case STORE_NONE:
    case STORE_JSON:
    case STORE_SECRET:
        break;
    }
    return FILTER_NONE;
}

/* Reads `filter`: true, false, or "id" for a text that holds an id. */
static void field_read_filter(
    struct compile *c, struct field *f, const struct property *p, int column, bool always)
{
    const struct wharf_json *v = json_get(p->x, "filter");
    bool id = json_is(v, JSON_STRING) && str_eqz(v->text, "id");

    if (id && f->store != STORE_TEXT)
        opt_member_problem(c, &p->x_at, "filter", "only a text can hold an id");
    if (!id && !opt_bool(c, p->x, &p->x_at, "filter", always))
        return;
    if (f->input)
        opt_member_problem(c, &p->x_at, "filter", "what is not kept can not be filtered by");
    f->filter = id || column == COL_CREATED_BY || column == COL_UPDATED_BY ? FILTER_ID
                                                                           : field_filter_type(f);
    if (f->filter == FILTER_NONE)
        opt_member_problem(c, &p->x_at, "filter", "there is no filter for this store");
}

/* Returns the members of an enum as an array of SQL. */
static const char *members_sql(struct compile *c, const struct field *f, const struct property *p)
{
    const char *ret = "ARRAY[";

    for (size_t i = 0; i < f->n_members; i++) {
        opt_shape(c, &p->x_at, "sort", f->members[i], "^[a-z0-9_]{1,63}$",
            "an enum of words of lower-case letters, digits and _");
        ret = arena_printf(c->arena, "%s%s'%s'", ret, i ? ", " : "", f->members[i]).p;
    }
    return arena_printf(c->arena, "%s]", ret).p;
}

/* Reads whether lists sort by the field: true, or "enum", in the order of its enum. */
static void read_sort(struct compile *c, struct field *f, const struct property *p)
{
    const struct wharf_json *v = json_get(p->x, "sort");
    bool sorts = f->kind == FIELD_COLUMN && !f->expression && f->store >= STORE_TEXT &&
                 f->store <= STORE_TIME;

    if (!json_is(v, JSON_STRING) || !str_eqz(v->text, "enum")) {
        f->sort = read_switch(c, p, "sort", sorts, "columns of single values");
        return;
    }
    f->sort = sorts && f->store == STORE_TEXT && f->n_members;
    if (f->sort)
        f->sort_members = members_sql(c, f, p);
    else
        opt_member_problem(c, &p->x_at, "sort", "only texts with an enum sort in its order");
}

static const char *const DEPRECATED_KEYS[] = {"since", "sunset", "link", NULL};

static void read_output(struct compile *c, struct field *f, const struct property *p)
{
    int column = f->column && !p->child ? system_column(f->column) : -1;
    bool always = (column >= 0 && column <= COL_UPDATED_BY) || f->store == STORE_METADATA;
    struct place deprecated_at = place_key(&p->x_at, WHARF_S("deprecated"));

    read_in(c, f, p);
    field_read_members(c, f, p->json);
    if (p->child && (json_get(p->x, "filter") || json_get(p->x, "sort")))
        opt_problem(
            c, &p->x_at, "child rows are filtered by list.filters of the resource and not sorted");
    field_read_filter(c, f, p, column, always && !p->child);
    read_sort(c, f, p);
    f->log = opt_bool(c, p->x, &p->x_at, "log", true);
    opt_text(c, p->x, &p->x_at, "since", NULL);
    if (json_get(p->x, "deprecated")) /* its dates: http/deprecation.c */
        opt_object(c, json_get(p->x, "deprecated"), &deprecated_at, DEPRECATED_KEYS);
}

/* ---- the property as a whole ---- */

static void read_property(struct compile *c, struct field *f, struct property *p)
{
    opt_object(c, p->x, &p->x_at, X_KEYS);
    read_type(c, f, p);
    read_store(c, f, p);
    read_schema(c, f, p);
    field_read_input(c, f, p);
    read_output(c, f, p);
    if (f->kind == FIELD_CHILDREN && !p->child)
        field_children(c, f, json_get(p->x, "children"), &p->x_at);
    else if (json_get(p->x, "children"))
        opt_member_problem(c, &p->x_at, "children", "this belongs to \"store\": \"children\"");
    if (f->kind != FIELD_EMBED && json_get(p->x, "embed"))
        opt_member_problem(c, &p->x_at, "embed", "this belongs to \"store\": \"embed\"");
    field_default(c, f, &p->at);
}

static void read_embed(
    struct compile *c, struct field *f, const struct field_list *list, const struct place *at)
{
    static const char *const keys[] = {"from", "fields", NULL};
    struct place x_at = place_key(at, WHARF_S("x-wharf")),
                 e_at = place_key(&x_at, WHARF_S("embed"));
    const struct wharf_json *embed = json_get(json_get(f->json, "x-wharf"), "embed");
    const char *from;

    if (!embed)
        opt_problem(c, &e_at, "this is needed");
    if (!opt_object(c, embed, &e_at, keys))
        return;
    from = opt_need(c, embed, &e_at, "from");
    f->embed_from = fields_find(list->items, list->n, from);
    f->embed_fields = opt_texts(c, embed, &e_at, "fields", &f->n_embed_fields);
    if (*from && (!f->embed_from || !f->embed_from->ref || f->embed_from->store != STORE_TEXT))
        opt_member_problem(c, &e_at, "from", "this names a field with ref");
    if (f->n_embed_fields > OBJECT_FIELDS_MAX)
        opt_member_problem(
            c, &e_at, "fields", "at most %d fields are shown of another row", OBJECT_FIELDS_MAX);
    if (!f->n_embed_fields)
        opt_member_problem(c, &e_at, "fields", "at least one field is needed");
}

static void field_read_required(struct compile *c, const struct wharf_json *schema,
    const struct field_list *list, const struct place *at)
{
    size_t n;
    const char *const *names = opt_texts(c, schema, at, "required", &n);

    for (size_t i = 0; i < n; i++) {
        struct field *f = (struct field *)fields_find(list->items, list->n, names[i]);

        if (!f)
            opt_member_problem(c, at, "required", "there is no property \"%s\"", names[i]);
        else if (!(f->write & OP_CREATE))
            opt_member_problem(c, at, "required", "\"%s\" can't be sent on create", names[i]);
        else
            f->required = true;
    }
}

struct field_list fields_compile(
    struct compile *c, const struct wharf_json *schema, const struct place *at, bool child)
{
    const struct wharf_json *properties = json_get(schema, "properties");
    struct place p_at = place_key(at, WHARF_S("properties"));
    struct field_list list = {0};

    if (!json_is(properties, JSON_OBJECT) || !properties->child) {
        opt_problem(c, &p_at, "this is an object of at least one property");
        return list;
    }
    list.items = ARENA_ARRAY(c->arena, struct field, properties->count);
    for (const struct wharf_json *m = properties->child; m; m = m->next) {
        struct property p = {
            .json = m, .x = json_get(m, "x-wharf"), .at = place_key(&p_at, m->key), .child = child};
        struct field *f = &list.items[list.n];

        p.x_at = place_key(&p.at, WHARF_S("x-wharf"));
        f->index = (uint16_t)list.n++;
        f->select = child ? (int16_t)f->index : -1;
        f->name = m->key.p;
        f->quoted = arena_printf(c->arena, "\"%s\":", f->name);
        opt_shape(c, &p_at, f->name, f->name, NAME_SHAPE, NAME_WORDS);
        if (m->type == JSON_OBJECT)
            read_property(c, f, &p);
        else
            opt_problem(c, &p.at, "a property is an object");
    }
    for (size_t i = 0; i < list.n; i++) {
        struct place f_at = place_key(&p_at, str_z(list.items[i].name));

        if (list.items[i].kind == FIELD_EMBED)
            read_embed(c, &list.items[i], &list, &f_at);
    }
    field_read_required(c, schema, &list, at);
    return list;
}
