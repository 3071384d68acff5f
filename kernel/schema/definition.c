/* definition.c - compiles a resource's definition (docs/reference/definitions.md 'The resource').
 * See definition.h.
 *
 * Leaves to others: the properties (field.c, field_children.c), columns (columns.c), the list
 * (lists.c). */
#include "schema/definition.h"

#include <stdlib.h>

#include "config/shipped.h"
#include "schema/compile.h"
#include "util/id.h"
#include "util/str.h"

static const char *const NAME_SHAPE = "^[a-z_][a-z0-9_]{0,62}$";
static const char *const NAME_WORDS = "a name of lower-case letters, digits and _";
static const char *const AREA_SHAPE = "^[a-z][a-z0-9_]{1,31}$";
static const char *const CODE_SHAPE = "^[a-z0-9_]+([.:][a-z0-9_]+)*$";

/* ---- where it lives: path, table, ids ---- */

/* Checks "/v1/locations/:location/layouts": words and parameters. Every parameter must be the
 * parent's, ":location"; NULL: there is none. */
static void check_path(
    struct compile *c, const char *path, const char *param, const struct place *at)
{
    static const char *const shape = "^/v[01](/[a-z][a-z0-9-]*|/:[a-z][a-z0-9_]*)+$";
    const char *colon = strchr(path, ':');

    opt_shape(c, at, "collection", path, shape,
        "a path like /v1/dock-doors or /v1/locations/:location/layouts");
    for (; colon; colon = strchr(colon + 1, ':')) {
        size_t n = strcspn(colon, "/");

        if (!param || strlen(param) != n || memcmp(param, colon, n) != 0)
            opt_member_problem(
                c, at, "collection", "%.*s is not the parameter of a parent", (int)n, colon);
    }
}

static void definition_read_parent(
    struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const keys[] = {"field", "param", "all", NULL};
    const struct wharf_json *parent = json_get(x, "parent");
    struct place p_at = place_key(at, WHARF_S("parent"));
    struct definition *d = c->d;
    struct field *f;
    const char *param;

    if (!opt_object(c, parent, &p_at, keys))
        return;
    opt_need(c, parent, &p_at, "field");
    f = (struct field *)opt_field(c, parent, &p_at, "field");
    param = opt_need(c, parent, &p_at, "param");
    opt_shape(c, &p_at, "param", param, "^:?[a-z][a-z0-9_]*$", "the name of a path parameter");
    d->place.parent_param = *param == ':' ? param : arena_printf(c->arena, ":%s", param).p;
    d->place.parent = f;
    if (f && (!f->ref || f->store != STORE_TEXT))
        opt_member_problem(c, &p_at, "field", "the parent's field needs ref");
    /* Filled from the path: a body can't say another. */
    if (f && !json_get(json_get(f->json, "x-wharf"), "write"))
        f->write = 0;
    if (f && f->required)
        opt_member_problem(
            c, &p_at, "field", "the parent's field comes from the path, it can't be required");
    d->place.all_path = opt_text(c, parent, &p_at, "all", NULL);
    if (d->place.all_path)
        check_path(c, d->place.all_path, NULL, &p_at);
}

/* Checks that a list of the rows of all parents leaves out those of parents that one may not
 * see: in a parent's own list the parent is looked at, here nobody does. */
static void definition_check_all(struct compile *c, const struct place *up)
{
    const struct definition *d = c->d;
    struct place at = place_key(up, WHARF_S("parent"));

    if (d->place.all_path && (d->audience.through != d->place.parent || !d->audience.whole))
        opt_member_problem(c, &at, "all",
            "this needs \"audience\": {\"through\": the parent's field, \"of\": the parent, "
            "\"locations\": true}");
}

static void definition_read_ids(
    struct compile *c, const struct wharf_json *x, const struct place *at)
{
    struct definition *d = c->d;
    const char *pattern = opt_text(c, x, at, "id_pattern", NULL), *error;

    d->ids.prefix = opt_need(c, x, at, "prefix");
    opt_shape(c, at, "prefix", d->ids.prefix, "^[a-z][a-z0-9_]{0,23}$",
        "a short name of lower-case letters, digits and _");
    d->ids.param = opt_text(c, x, at, "id_param", "id");
    opt_shape(c, at, "id_param", d->ids.param, NAME_SHAPE, NAME_WORDS);
    if (!pattern)
        return;
    d->ids.pattern = pattern_compile(c->arena, str_z(pattern), &error);
    if (!d->ids.pattern)
        opt_member_problem(c, at, "id_pattern", "%s", error);
}

bool ids_fit(const struct definition_ids *ids, wharf_str text)
{
    return id_shape(text, ids->prefix) || (ids->pattern && pattern_match(ids->pattern, text));
}

static void read_table(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const retains[] = {"all", "logs", "request_logs", "events", NULL};
    struct definition *d = c->d;
    size_t n = strlen(c->plugin);

    d->storage.table_name = opt_need(c, x, at, "table");
    opt_shape(c, at, "table", d->storage.table_name,
        "^[a-z_][a-z0-9_]{0,62}\\.[a-z_][a-z0-9_]{0,62}$",
        "a table with its schema, like stations.printer");
    /* Those of the server's tables that a module may serve are known to the database
     * (resource/table_check.c). */
    if (*d->storage.table_name && strncmp(d->storage.table_name, "wharf.", 6) != 0 &&
        (strncmp(d->storage.table_name, c->plugin, n) != 0 || d->storage.table_name[n] != '.'))
        opt_member_problem(c, at, "table",
            "a plugin keeps its tables in the schema of its name, \"%s\"", c->plugin);
    d->storage.soft_delete = opt_bool(c, x, at, "soft_delete", true);
    d->creates.per_minute = opt_int(c, x, at, "creates_per_minute", 0, 0, 1000000);
    d->creates.per_second = opt_int(c, x, at, "creates_per_second", 0, 0, 1000000);
    d->creates.burst = opt_int(
        c, x, at, "creates_burst", d->creates.per_second, d->creates.per_second, 1000000);
    if (d->creates.per_minute && d->creates.per_second)
        opt_member_problem(
            c, at, "creates_per_second", "a resource has this or creates_per_minute");
    d->creates.large_body = opt_bool(c, x, at, "large_body", false);
    d->storage.partitioned = opt_bool(c, x, at, "partitioned", false);
    d->storage.retain = (enum retain_rule)opt_word(c, x, at, "retain", retains, RETAIN_ALL);
    d->storage.table = opt_quoted(c, d->storage.table_name);
}

/* Reads `archive`: the moment that a delete sets instead of taking the row away. */
static void read_archive(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    const struct field *f = opt_field(c, x, at, "archive");

    c->d->storage.archive = f;
    if (!f)
        return;
    if (f->kind != FIELD_COLUMN || f->store != STORE_TIME || f->expression || !f->nullable ||
        f->write)
        opt_member_problem(
            c, at, "archive", "this names a date-time column that may be null and is never sent");
    if (!c->d->storage.soft_delete)
        opt_member_problem(c, at, "archive", "rows that are archived have \"soft_delete\": true");
}

uint32_t opt_ops(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } all[] = {{"create", OP_CREATE}, {"list", OP_LIST}, {"retrieve", OP_RETRIEVE},
        {"update", OP_UPDATE}, {"delete", OP_DELETE}};
    size_t n;
    const char *const *names = opt_texts(c, x, at, "ops", &n);
    uint32_t ops = names ? 0 : OP_CREATE | OP_LIST | OP_RETRIEVE | OP_UPDATE | OP_DELETE;

    for (size_t i = 0; names && i < n; i++) {
        size_t k = 0;

        while (k < sizeof(all) / sizeof(*all) && strcmp(names[i], all[k].name) != 0)
            k++;
        if (k == sizeof(all) / sizeof(*all))
            opt_member_problem(
                c, at, "ops", "\"%s\" is none of create, list, retrieve, update, delete", names[i]);
        else
            ops |= all[k].bit;
    }
    return ops;
}

/* ---- who sees it ---- */

static void read_location(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const rules[] = {"any", "every", NULL};
    const char *name = opt_need(c, x, at, "location");
    struct place l_at = place_key(at, WHARF_S("location"));

    if (!*name || !strcmp(name, "none"))
        return;
    c->d->place.is_location = !strcmp(name, "self");
    if (c->d->place.is_location)
        return;
    c->d->place.location = find_field(c, &l_at, name);
    if (c->d->place.location && c->d->place.location->expression &&
        strstr(c->d->place.location->expression, CALLER_OPENS))
        opt_problem(c, &l_at, "who sees a row hangs on no parameter: it may ask for none");
    if (opt_word(c, x, at, "location_rule", rules, 0)) {
        if (c->d->place.location && c->d->place.location->store != STORE_JSON)
            opt_problem(c, &l_at,
                "with \"location_rule\": \"every\" this names a column of \"store\": \"json\"");
        return;
    }
    if (c->d->place.location &&
        (!c->d->place.location->ref || (c->d->place.location->store != STORE_TEXT &&
                                           c->d->place.location->store != STORE_ARRAY)))
        opt_problem(c, &l_at,
            "the field that carries the location, or the set of them, needs \"ref\": the resource "
            "whose rows are locations");
}

static void read_audience(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const keys[] = {
        "all", "users", "device", "through", "of", "locations", NULL};
    const struct wharf_json *audience = json_get(x, "audience");
    struct place a_at = place_key(at, WHARF_S("audience"));
    struct definition *d = c->d;

    if (!opt_object(c, audience, &a_at, keys))
        return;
    d->audience.through = opt_field(c, audience, &a_at, "through");
    if (d->audience.through) {
        d->audience.of_name = opt_need(c, audience, &a_at, "of");
        d->audience.whole = opt_bool(c, audience, &a_at, "locations", false);
        if (d->audience.through->store != STORE_TEXT)
            opt_member_problem(
                c, &a_at, "through", "this names a text column with the id of a row of \"of\"");
        return;
    }
    d->audience.all = opt_field(c, audience, &a_at, "all");
    d->audience.users = opt_field(c, audience, &a_at, "users");
    d->audience.device = opt_field(c, audience, &a_at, "device");
    if (d->audience.all && d->audience.all->store != STORE_BOOL)
        opt_member_problem(c, &a_at, "all", "this names a boolean column");
    if (d->audience.users && d->audience.users->store != STORE_ARRAY)
        opt_member_problem(c, &a_at, "users", "this names an array of user ids");
    if (d->audience.device && d->audience.device->store != STORE_TEXT)
        opt_member_problem(c, &a_at, "device", "this names a text column with a device id");
    if (!d->audience.users)
        opt_member_problem(c, &a_at, "users", "this is needed");
}

static const struct field *recorded_field(struct compile *c, const struct wharf_json *v,
    const struct place *at, const char *key, bool need)
{
    const struct field *f = opt_field(c, v, at, key);

    if (need && !f)
        opt_member_problem(c, at, key, "this is needed");
    return f;
}

/* Reads `recorded`: the rows tell of rows of others; who may see those was recorded with them. */
static void read_recorded(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const keys[] = {
        "locations", "audience", "resource", "areas", "reach", "data", "parts", NULL};
    const struct wharf_json *v = json_get(x, "recorded");
    struct place r_at = place_key(at, WHARF_S("recorded"));
    struct definition *d = c->d;

    if (!opt_object(c, v, &r_at, keys))
        return;
    d->recorded.audience = recorded_field(c, v, &r_at, "audience", true);
    d->recorded.areas = recorded_field(c, v, &r_at, "areas", false);
    d->recorded.reach = recorded_field(c, v, &r_at, "reach", false);
    d->recorded.locations = recorded_field(c, v, &r_at, "locations", !d->recorded.reach);
    d->recorded.resource = recorded_field(c, v, &r_at, "resource", !d->recorded.areas);
    d->recorded.parts = recorded_field(c, v, &r_at, "parts", false);
    d->recorded.data = recorded_field(c, v, &r_at, "data", d->recorded.parts != NULL);
}

/* Reads "holds": the rows hold data of other rows, for who reads those, and reaches all
 * locations or brought them. */
static void read_holds(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const keys[] = {"resource", "key", "fields", NULL};
    const struct wharf_json *v = json_get(x, "holds");
    struct place h_at = place_key(at, WHARF_S("holds")), f_at = place_key(&h_at, WHARF_S("fields"));
    struct definition *d = c->d;
    const char *const *names;
    size_t n;

    if (!opt_object(c, v, &h_at, keys))
        return;
    d->holds.resource = recorded_field(c, v, &h_at, "resource", true);
    d->holds.key = recorded_field(c, v, &h_at, "key", true);
    names = opt_texts(c, v, &h_at, "fields", &n);
    for (size_t i = 0; i < n; i++) {
        /* compiled a moment ago, not shared yet */
        struct field *f = (struct field *)find_field(c, &f_at, names[i]);

        if (!f)
            continue;
        if (!f->nullable || f->store != STORE_JSON)
            opt_problem(c, &f_at, "these are columns of \"store\": \"json\" that may be null");
        f->held = true;
        f->log = false;
    }
}

/* ---- what follows from writing it ---- */

static void read_unique(
    struct compile *c, struct unique_rule *rule, const struct wharf_json *v, const struct place *at)
{
    static const char *const keys[] = {"index", "error", "report", NULL};
    struct place r_at = place_key(at, WHARF_S("report"));
    size_t n;
    const char *const *names;

    if (!opt_object(c, v, at, keys))
        return;
    rule->index = opt_need(c, v, at, "index");
    opt_shape(c, at, "index", rule->index, NAME_SHAPE, NAME_WORDS);
    rule->code = opt_need(c, v, at, "error");
    opt_shape(c, at, "error", rule->code, CODE_SHAPE, "an error code like door.exists");
    names = opt_texts(c, v, at, "report", &n);
    if (n < 1 || n > 4)
        opt_problem(c, &r_at, "this names one to four fields");
    for (size_t i = 0; i < n && i < 4; i++) {
        const struct field *f = find_field(c, &r_at, names[i]);

        if (f)
            rule->report[rule->n_report++] = f;
    }
}

static void read_uniques(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    const struct wharf_json *list = json_get(x, "unique");
    struct place u_at = place_key(at, WHARF_S("unique"));
    struct unique_rule *rules;
    size_t n = 0;

    if (!list)
        return;
    if (list->type != JSON_ARRAY) {
        opt_problem(c, &u_at, "this is an array of rules");
        return;
    }
    rules = ARENA_ARRAY(c->arena, struct unique_rule, list->count);
    for (const struct wharf_json *v = list->child; v; v = v->next, n++) {
        struct place inner = place_index(&u_at, n);

        if (v->type == JSON_OBJECT)
            read_unique(c, &rules[n], v, &inner);
        else
            opt_problem(c, &inner, "a rule is an object");
    }
    c->d->storage.uniques = rules;
    c->d->storage.n_uniques = n;
}

/* Reads the names of the one row whose id is the organization's. */
static void read_own(struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"word", "path", NULL};
    const struct wharf_json *own = json_get(x, "own");
    struct place at = place_key(up, WHARF_S("own"));

    if (!own)
        return;
    opt_object(c, own, &at, keys);
    c->d->own_word = opt_need(c, own, &at, "word");
    c->d->own_path = opt_need(c, own, &at, "path");
    check_path(c, c->d->own_path, c->d->place.parent_param, &at);
}

/* Reads `below`: the list of the rows that name one row, at a path of that row. */
static void definition_read_below(
    struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"path", "field", "param", NULL};
    const struct wharf_json *below = json_get(x, "below");
    struct place at = place_key(up, WHARF_S("below"));
    const char *param;

    if (!below || !opt_object(c, below, &at, keys))
        return;
    c->d->place.below_path = opt_need(c, below, &at, "path");
    param = opt_need(c, below, &at, "param");
    check_path(c, c->d->place.below_path, arena_printf(c->arena, ":%s", param).p, &at);
    c->d->place.below = opt_field(c, below, &at, "field");
    if (!c->d->place.below || !c->d->place.below->ref || c->d->place.below->store != STORE_TEXT ||
        c->d->place.parent)
        opt_problem(c, &at, "field is a text column with \"ref\", of a resource without parent");
}

/* Reads `tree`: rows that lie below each other, found by the filters of type tree. */
static void read_tree(struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"parent", "names", NULL};
    const struct wharf_json *tree = json_get(x, "tree");
    struct place at = place_key(up, WHARF_S("tree"));

    if (!tree || !opt_object(c, tree, &at, keys))
        return;
    c->d->place.tree_parent = opt_field(c, tree, &at, "parent");
    c->d->place.tree_names = opt_field(c, tree, &at, "names");
    if (!c->d->place.tree_parent || c->d->place.tree_parent->store != STORE_TEXT ||
        !c->d->place.tree_names || c->d->place.tree_names->store != STORE_TEXT)
        opt_problem(c, &at, "parent and names are text columns");
}

static void definition_read_words(struct compile *c, const struct wharf_json *json,
    const struct wharf_json *x, const struct place *at)
{
    static const char *const views[] = {"retrieve", "list", NULL}, *const lives[] = {
                                                                       "no", "read", "write", NULL};
    struct place root = {0};
    struct definition *d = c->d;
    char *plural;

    d->title = opt_need(c, json, &root, "title");
    plural = (char *)arena_printf(c->arena, "%ss", d->title).p;
    if (*plural >= 'A' && *plural <= 'Z' && !(plural[1] >= 'A' && plural[1] <= 'Z'))
        *plural = (char)(*plural | 0x20);
    d->title_plural = opt_text(c, x, at, "title_plural", plural);
    d->events.log = opt_bool(c, x, at, "log", true);
    d->creates.view = opt_word(c, x, at, "created_view", views, 0) ? IN_LIST : IN_RETRIEVE;
    d->storage.live = (enum live_rule)opt_word(c, x, at, "live", lives, LIVE_NOT);
    d->links = opt_texts(c, x, at, "links", &d->n_links);
    query_params_compile(c, x, at);
    d->scope = opt_need(c, x, at, "scope");
    opt_shape(c, at, "scope", d->scope, AREA_SHAPE,
        "the name of an area: lower-case letters, digits and _");
}

/* ---- the whole ---- */

static void definition_read_document(struct compile *c, const struct wharf_json *json)
{
    static const char *const keys[] = {"$schema", "$id", "$comment", "title", "description",
        "examples", "type", "required", "properties", "x-wharf", NULL};
    static const char *const x_keys[] = {"dialect", "collection", "id_param", "prefix",
        "id_pattern", "table", "archive", "ops", "scope", "location", "parent", "soft_delete",
        "unique", "list", "events", "log", "audience", "created_view", "location_rule", "recorded",
        "deprecated", "links", "live", "own", "params", "partitioned", "retain",
        "creates_per_minute", "creates_per_second", "creates_burst", "large_body", "title_plural",
        "batch", "below", "export", "lua", "tree", "holds", "tag", "operations", "inputs",
        "spellings", NULL};
    const struct wharf_json *x = json_get(json, "x-wharf");
    struct place root = {0}, at = place_key(&root, WHARF_S("x-wharf")),
                 l_at = place_key(&at, WHARF_S("list"));
    struct definition *d = c->d;
    struct field_list fields;

    opt_object(c, json, &root, keys);
    if (!x)
        opt_problem(c, &at, "this is needed");
    opt_object(c, x, &at, x_keys);
    if (!str_eqz(json_text_or(json, "type", ""), "object"))
        opt_member_problem(c, &root, "type", "a resource is of \"type\": \"object\"");
    if (opt_int(c, x, &at, "dialect", 0, 1, 1) != 1)
        opt_member_problem(c, &at, "dialect", "this server knows dialect 1, and it is needed");
    d->name = opt_need(c, json, &root, "$id");
    opt_shape(c, &root, "$id", d->name, NAME_SHAPE, NAME_WORDS);
    fields = fields_compile(c, json, &root, false);
    d->fields = fields.items;
    d->n_fields = fields.n;
    columns_compile(c, fields.items);
    definition_read_words(c, json, x, &at);
    definition_read_ids(c, x, &at);
    read_table(c, x, &at);
    read_archive(c, x, &at);
    c->d->ops = opt_ops(c, x, &at);
    definition_read_parent(c, x, &at);
    d->collection = opt_need(c, x, &at, "collection");
    check_path(c, d->collection, d->place.parent_param, &at);
    d->spellings = opt_shapes(c, x, &at, "spellings", "^/v[01](/[a-z][a-z0-9_-]*)+$",
        "a path like /v1/dock_doors", &d->n_spellings);
    read_own(c, x, &at);
    definition_read_below(c, x, &at);
    read_location(c, x, &at);
    read_audience(c, x, &at);
    definition_check_all(c, &at);
    read_recorded(c, x, &at);
    read_holds(c, x, &at);
    read_uniques(c, x, &at);
    events_compile(c, x, &at);
    read_tree(c, x, &at);
    list_compile(c, json_get(x, "list"), &l_at);
    batch_compile(c, x, &at);
}

static uint64_t fnv1a(wharf_str s)
{
    uint64_t h = 0xCBF29CE484222325u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return h;
}

const struct definition *definition_compile(
    struct arena *a, const char *plugin, wharf_str text, schema_problem_fn *fn, void *arg)
{
    struct definition *d = ARENA_NEW(a, struct definition);
    struct compile c = {.arena = a, .plugin = plugin, .d = d, .fn = fn, .arg = arg};
    struct place root = {0};
    struct json_error error;

    c.document = json_parse(a, text, &error);
    if (!c.document) {
        opt_problem(&c, &root, "not JSON at byte %zu: %s", error.offset, error.message);
        return NULL;
    }
    if (c.document->type != JSON_OBJECT) {
        opt_problem(&c, &root, "a definition is an object");
        return NULL;
    }
    d->plugin = plugin;
    d->json = c.document;
    d->arena = a;
    d->hash = fnv1a(jw_text(a, c.document));
    c.scratch = arena_new(0);
    definition_read_document(&c, c.document);
    arena_free(c.scratch);
    return c.failed ? NULL : d;
}

uint64_t definition_hash(wharf_str text)
{
    struct arena *a = arena_new(0);
    struct json_error error;
    const struct wharf_json *json = json_parse(a, text, &error);
    uint64_t h = json ? fnv1a(jw_text(a, json)) : 0;

    arena_free(a);
    return h;
}

const struct field *definition_field(const struct definition *d, const char *name)
{
    return fields_find(d->fields, d->n_fields, name);
}

const struct filter *definition_filter(const struct definition_list *list, wharf_str name)
{
    for (size_t i = 0; i < list->n_filters; i++)
        if (str_eqz(name, list->filters[i].name))
            return &list->filters[i];
    return NULL;
}
