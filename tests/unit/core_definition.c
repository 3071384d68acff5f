/* core_definition.c - definition.h: what is derived from a definition, and each thing it
 * refuses. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/definition.h"

static void tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct buf *text = arg;

    buf_addf(text, "%s|%s\n", path.p, message.p);
}

static const struct definition *compiled(struct arena *a, wharf_str text)
{
    const struct definition *d;
    struct buf reported;

    buf_init(&reported, 1 << 20);
    d = definition_compile(a, "stations", text, tell, &reported);
    if (!d)
        fail_msg("%s", reported.p);
    buf_done(&reported);
    return d;
}

static const struct field *field(const struct definition *d, const char *name)
{
    const struct field *f = definition_field(d, name);

    if (!f)
        fail_msg("no field %s", name);
    return f;
}

static void resource(void **state)
{
    const struct definition *d = compiled(
        *state, unit_file(*state, "tests/unit/fixtures/station.json"));

    assert_string_equal(d->name, "print_station");
    assert_string_equal(d->title, "Print station");
    assert_string_equal(d->title_plural, "print stations");
    assert_string_equal(d->collection, "/v1/cloud-printing/stations");
    assert_string_equal(d->ids.param, "station_id");
    assert_string_equal(d->ids.prefix, "prnt_stn");
    assert_string_equal(d->storage.table, "\"stations\".\"print_station\"");
    assert_string_equal(d->storage.table_name, "stations.print_station");
    assert_string_equal(d->scope, "print_stations");
    assert_int_equal(d->ops, OP_CREATE | OP_UPDATE | OP_DELETE | OP_LIST | OP_RETRIEVE);
    assert_true(d->storage.soft_delete && d->events.log);
    assert_null(d->place.parent);
    assert_null(d->ids.pattern);
    assert_ptr_equal(d->place.location, field(d, "location_id"));
    assert_ptr_equal(d->audience.all, field(d, "allow_all_users"));
    assert_ptr_equal(d->audience.users, field(d, "allowed_users"));
    assert_ptr_equal(d->audience.device, field(d, "device_id"));
    assert_int_equal(d->creates.view, IN_LIST);
    assert_string_equal(d->events.created, "print_station.created");
    assert_string_equal(d->events.deleted, "print_station.deleted");
    assert_int_equal(d->storage.n_uniques, 1);
    assert_string_equal(d->storage.uniques[0].index, "print_station_name");
    assert_string_equal(d->storage.uniques[0].code, "station.exists");
    assert_ptr_equal(d->storage.uniques[0].report[0], field(d, "name"));
}

static void columns(void **state)
{
    static const char *const names[] = {"id", "created_at", "updated_at", "created_by",
        "updated_by", "version", "deleted_at", "name", "location_id", "device_token", "status",
        "allow_all_users", "allowed_users", "configuration", "device_id", "weight_limit", "slots",
        "code", "notes", "nickname", "installed_at", "tags", "metadata"};
    const struct definition *d = compiled(
        *state, unit_file(*state, "tests/unit/fixtures/station.json"));

    assert_int_equal(d->storage.n_columns, sizeof(names) / sizeof(*names));
    for (size_t i = 0; i < d->storage.n_columns; i++) {
        assert_string_equal(d->storage.columns[i].field && i >= COL_SYSTEM_COUNT
                                ? d->storage.columns[i].field->column_name
                                : d->storage.columns[i].name,
            names[i]);
        if (d->storage.columns[i].field)
            assert_int_equal(d->storage.columns[i].field->select, i);
    }
    assert_ptr_equal(d->storage.columns[COL_ID].field, field(d, "id"));
    assert_null(d->storage.columns[COL_CREATED_BY].field);
    assert_int_equal(d->storage.columns[COL_VERSION].store, STORE_INT);
    assert_int_equal(field(d, "printers")->select, -1);
    for (size_t i = 0; i < d->n_fields; i++)
        assert_int_equal(d->fields[i].index, i);
}

/* One line per field: what was derived. */
static void describe(struct buf *out, const struct field *f)
{
    static const char *const stores[] = {
        "none", "text", "int", "dec", "bool", "time", "json", "array", "metadata"};
    static const char *const kinds[] = {"column", "computed", "embed", "children"};
    static const char *const blanks[] = {"clear", "ignore", "reject", "keep"};
    const struct {
        bool on;
        const char *name;
    } flags[] = {{f->required, "required"}, {f->nullable, "nullable"}, {f->trim, "trim"},
        {f->fold, "fold"}, {f->secret, "secret"}, {f->merge, "merge"}, {f->set_input, "set"},
        {f->sort, "sort"}, {f->search, "search"}, {!f->log, "unlogged"},
        {f->default_value != NULL, "default"}};

    buf_addf(out, "%s: %s %s write %u in %u filter %d null %s empty %s", f->name, kinds[f->kind],
        stores[f->store], f->write, f->in, (int)f->filter, blanks[f->on_null], blanks[f->on_empty]);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (flags[i].on)
            buf_addf(out, " %s", flags[i].name);
}

static void fields(void **state)
{
    static const char *const want[] = {
        "id: column text write 0 in 3 filter 4 null reject empty reject trim",
        "name: column text write 3 in 3 filter 5 null reject empty reject required trim sort "
        "search",
        "location_id: column text write 3 in 3 filter 4 null reject empty reject required trim",
        "location: embed none write 0 in 2 filter 0 null clear empty clear nullable",
        "device_token: column text write 3 in 2 filter 0 null reject empty reject required secret",
        "status: column text write 3 in 3 filter 3 null reject empty reject trim default",
        "allow_all_users: column bool write 3 in 3 filter 0 null reject empty reject default",
        "allowed_users: column array write 3 in 2 filter 0 null reject empty reject set",
        "configuration: column json write 3 in 3 filter 0 null reject empty reject merge",
        "printers: children none write 3 in 3 filter 0 null reject empty reject required",
        "print_jobs_count: computed none write 0 in 3 filter 0 null reject empty reject",
        "device_id: column text write 3 in 3 filter 0 null clear empty clear nullable trim",
        "weight_limit: column dec write 3 in 3 filter 2 null clear empty clear nullable",
        "slots: column int write 3 in 3 filter 2 null clear empty clear nullable sort",
        "code: column text write 1 in 3 filter 0 null clear empty clear nullable trim fold",
        "notes: column text write 3 in 3 filter 0 null clear empty ignore nullable trim",
        "nickname: column text write 3 in 3 filter 0 null ignore empty keep trim default",
        "installed_at: column time write 3 in 3 filter 1 null clear empty clear nullable sort",
        "tags: column array write 3 in 3 filter 8 null reject empty reject",
        "metadata: column metadata write 3 in 3 filter 9 null clear empty clear",
        "created_at: column time write 0 in 3 filter 1 null reject empty reject",
        "updated_at: column time write 0 in 3 filter 1 null reject empty reject sort",
    };
    const struct definition *d = compiled(
        *state, unit_file(*state, "tests/unit/fixtures/station.json"));
    struct buf line;

    assert_int_equal(d->n_fields, sizeof(want) / sizeof(*want));
    buf_init(&line, 1000);
    for (size_t i = 0; i < d->n_fields; i++) {
        buf_clear(&line);
        describe(&line, &d->fields[i]);
        assert_string_equal(line.p, want[i]);
    }
    buf_done(&line);
    assert_ptr_equal(field(d, "location")->embed_from, field(d, "location_id"));
    assert_int_equal(field(d, "location")->n_embed_fields, 3);
    assert_string_equal(field(d, "location")->embed_fields[2], "code");
    assert_string_equal(field(d, "allowed_users")->ref, "user");
    assert_string_equal(field(d, "print_jobs_count")->include_flag, "include_print_jobs_count");
    assert_int_equal(field(d, "status")->n_members, 2);
    assert_int_equal(field(d, "weight_limit")->precision, 15);
    assert_int_equal(field(d, "weight_limit")->scale, 4);
    assert_int_equal(field(d, "slots")->precision, 0);
}

static void children(void **state)
{
    const struct definition *d = compiled(
        *state, unit_file(*state, "tests/unit/fixtures/station.json"));
    const struct field *f = field(d, "printers");
    const struct child_set *set = f->children;

    assert_true(f->kind == FIELD_CHILDREN && f->required && f->write == (OP_CREATE | OP_UPDATE));
    assert_string_equal(set->table, "\"stations\".\"printer\"");
    assert_string_equal(set->parent_column, "\"station_id\"");
    assert_true(set->uuid && set->soft_delete && set->n_fields == 10 && set->n_match == 2);
    assert_string_equal(set->match[0]->name, "id");
    assert_ptr_equal(set->unique, &set->fields[1]);
    assert_int_equal(set->fields[0].write, 0);
    assert_int_equal(set->fields[9].write, 0);
    assert_true(set->fields[1].required && !set->fields[3].required && set->fields[1].search);
    assert_true(set->fields[7].store == STORE_DEC && set->fields[7].precision == 10 &&
                set->fields[7].scale == 3);
    for (size_t i = 0; i < set->n_fields; i++)
        assert_int_equal(set->fields[i].select, i);
    /* The array's own schema; the rows are checked field by field. */
    assert_false(
        schema_validate(f->schema, unit_json(*state, "[]"), WHARF_S(""), 0, *state, NULL, NULL));
    assert_true(
        schema_validate(f->schema, unit_json(*state, "[1]"), WHARF_S(""), 0, *state, NULL, NULL));
}

static const struct filter *filter(const struct definition_list *list, const char *name)
{
    const struct filter *f = definition_filter(list, str_z(name));

    if (!f)
        fail_msg("no filter %s", name);
    return f;
}

static void lists(void **state)
{
    static const char *const sorts[] = {
        "name", "slots", "installed_at", "created_at", "updated_at"};
    const struct definition *d = compiled(
        *state, unit_file(*state, "tests/unit/fixtures/station.json"));
    const struct filter *f;

    assert_true(
        d->list.limit == 20 && d->list.max == 100 && d->list.descending && !d->list.similar);
    assert_ptr_equal(d->list.order, field(d, "created_at"));
    assert_int_equal(d->list.n_sorts, sizeof(sorts) / sizeof(*sorts));
    for (size_t i = 0; i < d->list.n_sorts; i++)
        assert_string_equal(d->list.sorts[i]->name, sorts[i]);
    assert_int_equal(d->list.n_searches, 3);
    assert_ptr_equal(d->list.searches[2], &field(d, "printers")->children->fields[2]);
    f = filter(&d->list, "id");
    assert_true(f->type == FILTER_ID && f->field == field(d, "id"));
    assert_string_equal(f->ids->prefix, "prnt_stn");
    f = filter(&d->list, "created_by"); /* not shown, still a filter */
    assert_true(f->type == FILTER_ID && f->nullable && f->field->select == COL_CREATED_BY);
    assert_string_equal(f->field->column, "created_by");
    f = filter(&d->list, "state");
    assert_true(
        f->type == FILTER_ENUM && f->n_members == 2 && f->field == field(d, "status") && !f->child);
    f = filter(&d->list, "printer_status");
    assert_true(f->type == FILTER_ENUM && f->n_members == 4 && f->child == field(d, "printers"));
    f = filter(&d->list, "page_size");
    assert_true(f->type == FILTER_FLAGS && f->n_members == 3);
    assert_string_equal(f->members[2], "label_4x6");
    assert_string_equal(f->strip, "page_size_");
    assert_true(
        filter(&d->list, "slots")->type == FILTER_NUMBER && filter(&d->list, "slots")->nullable);
    assert_true(filter(&d->list, "tags")->type == FILTER_ARRAY);
    assert_null(definition_filter(&d->list, WHARF_S("nickname")));
}

static void hash(void **state)
{
    wharf_str text = unit_file(*state, "tests/unit/fixtures/station.json");
    const struct definition *d = compiled(*state, text);

    assert_true(d->hash != 0 && d->hash == definition_hash(text));
    assert_true(
        definition_hash(WHARF_S(" { \"a\" : [ 1 ] } ")) == definition_hash(WHARF_S("{\"a\":[1]}")));
    assert_true(definition_hash(WHARF_S("{\"a\":[1]}")) != definition_hash(WHARF_S("{\"a\":[2]}")));
    assert_true(definition_hash(WHARF_S("{")) == 0);
}

/* A small definition that compiles; tests change one piece of it. */
static const char BASE[] = "{\"$id\":\"door\",\"title\":\"Dock "
                           "door\",\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
                           "\"id\":{\"type\":\"string\"},\"name\":{\"type\":\"string\",\"x-wharf\":"
                           "{}},\"loc\":{\"type\":\"string\",\"x-"
                           "wharf\":{\"ref\":\"location\"}},"
                           "\"n\":{\"type\":\"integer\"}},"
                           "\"x-wharf\":{\"dialect\":1,\"collection\":\"/v1/"
                           "doors\",\"prefix\":\"door\",\"table\":\"docks.door\",\"scope\":"
                           "\"docks\",\"location\":\"none\"}}";

static wharf_str changed(struct arena *a, const char *from, const char *to)
{
    const char *at = strstr(BASE, from);

    if (!at)
        fail_msg("%s is not in the base", from);
    return arena_printf(a, "%.*s%s%s", (int)(at - BASE), BASE, to, at + strlen(from));
}

static void refused(struct arena *a, const char *from, const char *to, const char *want)
{
    wharf_str text = changed(a, from, to);
    struct buf reported;

    buf_init(&reported, 1 << 20);
    if (definition_compile(a, "docks", text, tell, &reported))
        fail_msg("compiled: %s", text.p);
    if (!strstr(buf_str(&reported).p, want))
        fail_msg("%s: told\n%swanted %s", to, reported.p, want);
    buf_done(&reported);
}

static const struct definition *accepted(struct arena *a, const char *from, const char *to)
{
    struct buf reported;
    const struct definition *d;

    buf_init(&reported, 1 << 20);
    d = definition_compile(a, "docks", changed(a, from, to), tell, &reported);
    if (!d)
        fail_msg("%s: %s", to, reported.p);
    buf_done(&reported);
    return d;
}

static void refuses_documents(void **state)
{
    struct arena *a = *state;
    struct buf reported;

    accepted(a, "dialect", "dialect");
    refused(a, "{\"$id\"", "{\"$id", "|not JSON at byte");
    refused(a, "\"door\",\"title\":\"Dock door\"", "\"door\"", "/title|this is needed");
    refused(a, "\"type\":\"object\"", "\"type\":\"array\"", "/type|");
    refused(a, "\"$id\":\"door\"", "\"$id\":\"Door\"", "/$id|");
    refused(a, "\"title\"", "\"oneOf\":[],\"title\"", "/oneOf|unknown keyword");
    refused(a, "\"dialect\":1,", "", "/x-wharf/dialect|");
    refused(a, "\"dialect\":1", "\"dialect\":2", "/x-wharf/dialect|");
    refused(
        a, "\"prefix\"", "\"prefxi\"", "/x-wharf/prefxi|unknown keyword; did you mean \"prefix\"?");
    refused(a, "\"prefix\"", "\"prefxi\"", "/x-wharf/prefix|this is needed");
    refused(a, "/v1/doors", "/doors", "/x-wharf/collection|");
    refused(a, "/v1/doors", "/v1/locations/:location/doors",
        "/x-wharf/collection|:location is not the parameter of a parent");
    refused(a, "docks.door", "door", "/x-wharf/table|");
    refused(a, "docks.door", "other.door", "/x-wharf/table|a plugin keeps its tables");
    refused(a, "\"docks\",\"location\":\"none\"", "\"docks\"", "/x-wharf/location|this is needed");
    refused(a, "\"location\":\"none\"", "\"location\":\"name\"", "/x-wharf/location|");
    refused(a, "\"location\":\"none\"", "\"location\":\"nam\"",
        "/x-wharf/location|there is no property");
    refused(a, "\"scope\":\"docks\"", "\"scope\":\"Docks\"", "/x-wharf/scope|");
    refused(a, "\"required\":[\"name\"]", "\"required\":[\"nme\"]",
        "/required|there is no property \"nme\"");
    refused(a, "\"required\":[\"name\"]", "\"required\":[\"id\"]",
        "/required|\"id\" can't be sent on create");
    buf_init(&reported, 1000);
    assert_null(definition_compile(a, "docks", WHARF_S("[]"), tell, &reported));
    assert_string_equal(reported.p, "|a definition is an object\n");
    buf_done(&reported);
}

static void refuses_resource_options(void **state)
{
    static const char *const cases[][2] = {
        {"\"ops\":[\"read\"]", "/x-wharf/ops|\"read\" is none of"},
        {"\"id_pattern\":\"(\"", "/x-wharf/id_pattern|a ( has no )"},
        {"\"soft_delete\":1", "/x-wharf/soft_delete|this is true or false"},
        {"\"archive\":\"x\"", "/x-wharf/archive|there is no property \"x\""},
        {"\"archive\":\"name\"", "/x-wharf/archive|this names a date-time column"},
        {"\"unique\":{}", "/x-wharf/unique|"}, {"\"unique\":[1]", "/x-wharf/unique/0|"},
        {"\"unique\":[{\"index\":\"a\"}]", "/x-wharf/unique/0/error|"},
        {"\"unique\":[{\"index\":\"a\",\"error\":\"a.b\",\"report\":[\"x\"]}]",
            "/x-wharf/unique/0/report|there is no property \"x\""},
        {"\"audience\":{\"all\":\"name\"}", "/x-wharf/audience/all|this names a boolean"},
        {"\"audience\":{\"users\":\"x\"}", "/x-wharf/audience/users|"},
        {"\"events\":{\"created\":\"x\"}", "/x-wharf/events/created|"},
        {"\"events\":{\"without\":[\"x\"]}", "/x-wharf/events/without|"},
        {"\"events\":{\"newest\":[\"x\"]}", "/x-wharf/events/newest|an object"},
        {"\"events\":{\"newest\":{\"x.list\":0}}", "/x-wharf/events/newest|"},
        {"\"events\":{\"newest\":{\"name\":0}}", "/x-wharf/events/newest/name|a number from 1"},
        {"\"links\":\"documents\"", "/x-wharf/links|"},
        {"\"below\":{\"path\":\"/v1/x/:x/docks\",\"param\":\"x\",\"field\":\"name\"}",
            "/x-wharf/below|field is a text column with \"ref\""},
        {"\"below\":{\"path\":\"/v1/x/:y/docks\",\"param\":\"x\",\"field\":\"name\"}",
            "/x-wharf/below/collection|:y is not the parameter of a parent"},
        {"\"below\":{\"path\":\"/v1/x/:x/docks\",\"param\":\"x\"}", "/x-wharf/below|field is"},
        {"\"params\":\"force\"", "/x-wharf/params|this is an array"},
        {"\"params\":[\"force\",1]", "/x-wharf/params/1|this is the name of a parameter"},
        {"\"params\":[{\"enum\":[\"a\"]}]", "/x-wharf/params/0/name|this is needed"},
        {"\"params\":[\"force\",{\"name\":\"force\"}]", "/x-wharf/params/1|force is there twice"},
        {"\"params\":[{\"name\":\"force\",\"type\":1}]", "/x-wharf/params/0/type|"},
        {"\"created_view\":\"all\"", "/x-wharf/created_view|this is one of: retrieve, list"},
        {"\"list\":{\"limit\":0}", "/x-wharf/list/limit|this is a whole number from 1 to 1000"},
        {"\"list\":{\"max\":10,\"limit\":11}", "/x-wharf/list/limit|"},
        {"\"list\":{\"order_by\":\"x\"}", "/x-wharf/list/order_by|"},
        {"\"list\":{\"assume\":{\"x\":\"1\"}}", "/x-wharf/list/assume/x|there is no filter"},
        {"\"list\":{\"assume\":{\"id\":1}}", "/x-wharf/list/assume/id|this is a text"},
        {"\"list\":{\"assume_always\":1}", "/x-wharf/list/assume_always|this is an object"},
        {"\"list\":{\"assume_always\":{\"x\":\"1\"}}",
            "/x-wharf/list/assume_always/x|there is no filter"},
        {"\"list\":{\"direction\":\"up\"}", "/x-wharf/list/direction|"},
        {"\"list\":{\"search\":[\"n\"]}", "/x-wharf/list/search|\"n\" is no text"},
        {"\"list\":{\"search\":[\"n.x\"]}",
            "/x-wharf/list/search|there is no field \"n.x\" in child rows"},
        {"\"list\":{\"search_words\":[\"w=n\"]}", "/x-wharf/list/search_words|\"w=n\" is not"},
        {"\"list\":{\"search_words\":[\"n\"]}", "/x-wharf/list/search_words|\"n\" is not"},
        {"\"list\":{\"filters\":{\"id\":{\"alias\":\"name\"}}}",
            "/x-wharf/list/filters/id|there is a filter of this name"},
        {"\"list\":{\"filters\":{\"x\":{\"alias\":\"y\"}}}",
            "/x-wharf/list/filters/x/alias|there is no filter"},
        {"\"list\":{\"filters\":{\"x\":{\"field\":\"y\"}}}",
            "/x-wharf/list/filters/x/field|there is no column"},
        {"\"list\":{\"filters\":{\"x\":{\"child\":\"n\",\"field\":\"y\"}}}",
            "/x-wharf/list/filters/x/child|"},
        {"\"list\":{\"filters\":{\"x\":{\"field\":\"n\",\"type\":\"flags\"}}}",
            "/x-wharf/list/filters/x|flags are for"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        refused(*state, "\"dialect\":1", arena_printf(*state, "\"dialect\":1,%s", cases[i][0]).p,
            cases[i][1]);
}

static void refuses_parents(void **state)
{
    static const char *const cases[][2] = {
        {"\"parent\":{\"field\":\"name\",\"param\":\"p\"}",
            "/x-wharf/parent/field|the parent's field needs ref"},
        {"\"parent\":{}", "/x-wharf/parent/field|this is needed"},
        {"\"parent\":{\"field\":\"name\",\"param\":\"p\",\"all\":\"/v1/docks\"}",
            "/x-wharf/parent/all|this needs \"audience\""},
        {"\"parent\":{\"field\":\"name\",\"param\":\"p\",\"all\":\"/v1/x/:p\"}",
            "/x-wharf/parent/collection|:p is not the parameter of a parent"},
        {"\"parent\":1", "/x-wharf/parent|this is an object"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        refused(*state, "\"dialect\":1", arena_printf(*state, "\"dialect\":1,%s", cases[i][0]).p,
            cases[i][1]);
}

static const char *const bad_properties[][2] = {
    {"{\"typ\":\"string\"}", "/properties/x/typ|unknown keyword; did you mean \"type\"?"},
    {"{\"x-wharf\":{}}", "/properties/x/type|this is needed"},
    {"{\"type\":[\"string\",\"integer\"]}", "/properties/x/type|one type"},
    {"{\"type\":\"string\",\"oneOf\":[{}]}", "/properties/x/oneOf|definitions are plain"},
    {"{\"type\":\"array\",\"items\":{\"properties\":{\"a\":{\"$ref\":\"#\"}}}}",
        "/properties/x/items/properties/a/$ref|definitions are plain"},
    {"{\"type\":\"string\",\"x-wharf\":{\"stor\":1}}",
        "/properties/x/x-wharf/stor|unknown keyword; did you mean \"store\"?"},
    {"{\"type\":\"string\",\"x-wharf\":1}", "/properties/x/x-wharf|this is an object"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"varchar\"}}",
        "/properties/x/x-wharf/store|this is one of"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"int\"}}",
        "/properties/x/x-wharf/store|int needs \"type\": \"integer\""},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"dec(5,2)\"}}",
        "/properties/x/x-wharf/store|a decimal needs"},
    {"{\"type\":\"number\",\"x-wharf\":{\"store\":\"dec(2,5)\"}}",
        "/properties/x/x-wharf/store|this is one of"},
    {"{\"type\":\"number\",\"x-wharf\":{\"store\":\"dec(99,1)\"}}",
        "/properties/x/x-wharf/store|this is one of"},
    {"{\"type\":\"array\",\"x-wharf\":{\"store\":\"array\"}}",
        "/properties/x/x-wharf/store|array is for items"},
    {"{\"type\":\"string\",\"x-wharf\":{\"column\":\"a b\"}}", "/properties/x/x-wharf/column|"},
    {"{\"type\":\"string\",\"x-wharf\":{\"column\":\"name\"}}",
        "/properties/x|the column name belongs to \"name\""},
    {"{\"type\":\"string\",\"x-wharf\":{\"column\":\"created_at\"}}",
        "/properties/x|the system column created_at holds another type"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"computed\",\"write\":\"both\"}}",
        "/properties/x/x-wharf/write|"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"input\",\"expression\":\"t.name\"}}",
        "/properties/x/x-wharf/expression|only columns and computed fields"},
    {"{\"type\":\"string\",\"x-wharf\":{\"expression\":\"{caller.locations}[1]\"}}",
        "/properties/x/x-wharf/expression|only \"read\", and a field with"},
    {"{\"type\":\"string\",\"x-wharf\":{\"expression\":\"{caller.asks:a}\"}}",
        "/properties/x/x-wharf/expression|only \"read\", and a field with"},
    {"{\"type\":\"string\",\"x-wharf\":{\"in\":[],\"expression\":\"{caller.lists}\"}}",
        "/properties/x/x-wharf/expression|only \"read\", and a field with"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"computed\",\"write\":\"never\","
     "\"expression\":\"to_json({caller.reads:item})\"}}",
        "/x-wharf/events/without|names \"x\" too"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"computed\",\"expression\":\"{caller.key}\"}}",
        "/properties/x/x-wharf/expression|a caller has all_locations"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"computed\",\"expression\":\"{caller.reads:}\"}"
     "}",
        "/properties/x/x-wharf/expression|a caller has all_locations"},
    {"{\"type\":\"string\",\"x-wharf\":{\"store\":\"computed\",\"expression\":\"{caller."
     "locations\"}}",
        "/properties/x/x-wharf/expression|a caller has all_locations"},
    {"{\"type\":\"string\",\"x-wharf\":{\"shown_by\":\"a.b\"}}",
        "/properties/x/x-wharf/shown_by|only computed fields and input"},
    {"{\"type\":\"array\",\"x-wharf\":{\"store\":\"computed\",\"shown_by\":\"a.b\",\"expression\":"
     "\"1\"}}",
        "/properties/x/x-wharf/shown_by|only computed fields and input"},
    {"{\"type\":\"string\",\"x-wharf\":{\"in\":[\"flag:include_x\"],\"null_unasked\":true}}",
        "/properties/x/x-wharf/null_unasked|only a field that may be null"},
    {"{\"type\":[\"string\",\"null\"],\"x-wharf\":{\"null_unasked\":true}}",
        "/properties/x/x-wharf/null_unasked|only a field that may be null"},
    {"{\"type\":\"string\",\"x-wharf\":{\"null\":\"clear\"}}",
        "/properties/x/x-wharf/null|clear needs"},
    {"{\"type\":\"string\",\"x-wharf\":{\"null\":\"drop\"}}",
        "/properties/x/x-wharf/null|this is one of: clear, ignore, reject, keep"},
    {"{\"type\":\"integer\",\"x-wharf\":{\"fold\":true}}", "/properties/x/x-wharf/fold|only texts"},
    {"{\"type\":\"string\",\"x-wharf\":{\"merge\":true}}",
        "/properties/x/x-wharf/merge|only objects"},
    {"{\"type\":\"string\",\"x-wharf\":{\"set\":true}}", "/properties/x/x-wharf/set|only arrays"},
    {"{\"type\":\"object\",\"x-wharf\":{\"filter\":true}}",
        "/properties/x/x-wharf/filter|there is no filter"},
    {"{\"type\":\"integer\",\"x-wharf\":{\"filter\":\"id\"}}",
        "/properties/x/x-wharf/filter|only a text can hold an id"},
    {"{\"type\":\"object\",\"x-wharf\":{\"sort\":true}}",
        "/properties/x/x-wharf/sort|only columns of single values"},
    {"{\"type\":\"string\",\"x-wharf\":{\"sort\":\"enum\"}}",
        "/properties/x/x-wharf/sort|only texts with an enum"},
    {"{\"type\":\"string\",\"enum\":[\"It's\"],\"x-wharf\":{\"sort\":\"enum\"}}",
        "/properties/x/x-wharf/sort|"},
    {"{\"type\":\"string\",\"enum\":[\"a\"],\"x-wharf\":{\"sort\":\"list\"}}",
        "/properties/x/x-wharf/sort|"},
    {"{\"type\":\"integer\",\"x-wharf\":{\"ref\":\"door\"}}",
        "/properties/x/x-wharf/ref|only texts"},
    {"{\"type\":\"string\",\"x-wharf\":{\"in\":[\"detail\"]}}", "/properties/x/x-wharf/in|"},
    {"{\"type\":\"string\",\"maxLength\":2,\"default\":\"abc\"}",
        "/properties/x/default|the field would not take this: x must have at most 2"},
    {"{\"type\":\"number\",\"default\":1.23456}",
        "/properties/x/default|this has more than 4 places"},
    {"{\"type\":\"object\",\"x-wharf\":{\"store\":\"embed\"}}",
        "/properties/x/x-wharf/embed|this is needed"},
    {"{\"type\":\"object\",\"x-wharf\":{\"store\":\"embed\",\"embed\":{\"from\":\"name\","
     "\"fields\":[\"id\"]}}}",
        "/properties/x/x-wharf/embed/from|"},
    {"{\"type\":\"string\",\"x-wharf\":{\"embed\":{}}}",
        "/properties/x/x-wharf/embed|this belongs to"},
    {"{\"type\":\"string\",\"x-wharf\":{\"children\":{}}}",
        "/properties/x/x-wharf/children|this belongs to"},
    {"{\"type\":\"string\",\"maxLength\":-1}", "/properties/x/maxLength|"},
    {"true", "/properties/x|a property is an object"}};

static void refuses_properties(void **state)
{
    for (size_t i = 0; i < sizeof(bad_properties) / sizeof(*bad_properties); i++)
        refused(*state, "\"n\":{\"type\":\"integer\"}",
            arena_printf(*state, "\"n\":{\"type\":\"integer\"},\"x\":%s", bad_properties[i][0]).p,
            bad_properties[i][1]);
    refused(*state, "\"name\":{", "\"Name\":{", "/properties/Name|");
}

static void refuses_children(void **state)
{
    static const char *const cases[][3] = {/* items' properties, children, problem */
        {"\"id\":{\"type\":\"string\"}", "", "/properties/x/x-wharf/children|this is needed"},
        {"\"id\":{\"type\":\"string\"}",
            "\"id\":\"uuid\",\"match\":[\"id\"],\"parent_column\":\"p\"",
            "/properties/x/x-wharf/children/table|this is needed"},
        {"\"id\":{\"type\":\"string\"}",
            "\"id\":\"uuid\",\"match\":[\"name\"],\"parent_column\":\"p\",\"table\":\"docks.x\"",
            "/properties/x/x-wharf/children/match|there is no text field \"name\""},
        {"\"id\":{\"type\":\"string\"}",
            "\"id\":\"uuid\",\"match\":[],\"parent_column\":\"p\",\"table\":\"docks.x\"",
            "/properties/x/x-wharf/children/match|"},
        {"\"a\":{\"type\":\"string\"}",
            "\"id\":\"uuid\",\"match\":[\"a\"],\"parent_column\":\"p\",\"table\":\"docks.x\"",
            "the id of child rows"},
        {"\"id\":{\"type\":\"string\"},\"a\":{\"type\":\"object\",\"x-wharf\":{\"store\":"
         "\"computed\"}}",
            "\"id\":\"uuid\",\"match\":[\"id\"],\"parent_column\":\"p\",\"table\":\"docks.x\"",
            "/properties/x/items/properties/a/x-wharf/store|"},
        {"\"id\":{\"type\":\"string\"},\"a\":{\"type\":\"string\",\"x-wharf\":{\"filter\":true}}",
            "\"id\":\"uuid\",\"match\":[\"id\"],\"parent_column\":\"p\",\"table\":\"docks.x\"",
            "/properties/x/items/properties/a/x-wharf|child rows are filtered"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *children = *cases[i][1]
                                   ? arena_printf(*state, ",\"children\":{%s}", cases[i][1]).p
                                   : "";

        refused(*state, "\"n\":{\"type\":\"integer\"}",
            arena_printf(*state,
                "\"n\":{\"type\":\"integer\"},\"x\":{\"type\":\"array\",\"items\":{\"type\":"
                "\"object\",\"properties\":{"
                "%s}},\"x-wharf\":{\"store\":\"children\"%s}}",
                cases[i][0], children)
                .p,
            cases[i][2]);
    }
}

static void tells_all_problems(void **state)
{
    struct buf reported;

    buf_init(&reported, 1 << 20);
    assert_null(definition_compile(*state, "docks",
        changed(*state, "\"dialect\":1,\"collection\":\"/v1/doors\"",
            "\"list\":{\"limit\":\"x\"},\"x\":1"),
        tell, &reported));
    assert_string_equal(reported.p,
        "/x-wharf/x|unknown keyword; docs/reference/definitions.md lists them\n"
        "/x-wharf/dialect|this server knows dialect 1, and it is needed\n"
        "/x-wharf/collection|this is needed\n"
        "/x-wharf/list/limit|this is a whole number from 1 to 1000\n");
    buf_done(&reported);
}

static void variants(void **state)
{
    const struct definition *d = accepted(*state, "\"collection\":\"/v1/doors\"",
        "\"collection\":\"/v1/locations/:location/"
        "doors\",\"parent\":{\"field\":\"loc\",\"param\":\"location\"},\"ops\":[\"create\","
        "\"list\"],"
        "\"events\":{\"updated\":false,\"deleted\":\"door.gone\",\"without\":[\"n\"]},\"id_"
        "pattern\":\"^d[0-9]+$\","
        "\"title_plural\":\"doors of docks\"");

    assert_ptr_equal(d->place.parent, field(d, "loc"));
    assert_string_equal(d->place.parent_param, ":location");
    assert_int_equal(d->place.parent->write, 0);
    assert_int_equal(d->ops, OP_CREATE | OP_LIST);
    assert_string_equal(d->events.created, "docks.door.created");
    assert_null(d->events.updated);
    assert_string_equal(d->events.deleted, "door.gone");
    assert_ptr_equal(d->events.without[0], field(d, "n"));
    assert_true(pattern_match(d->ids.pattern, WHARF_S("d12")));
    assert_ptr_equal(filter(&d->list, "id")->ids, &d->ids);
    assert_string_equal(d->title_plural, "doors of docks");
    /* a system column that is not shown */
    assert_string_equal(d->list.order->column, "created_at");
    assert_int_equal(d->list.n_sorts, 1);
    d = accepted(*state, "\"dialect\":1", "\"dialect\":1,\"list\":{\"assume\":{\"id\":\"null\"}}");
    assert_int_equal(d->list.n_assumed, 1);
    assert_ptr_equal(d->list.assumed[0].filter, filter(&d->list, "id"));
    assert_string_equal(d->list.assumed[0].value, "null");
    d = accepted(*state, "\"dialect\":1", "\"dialect\":1,\"list\":{\"assume\":{\"id\":null}}");
    assert_int_equal(d->list.n_assumed, 1);
    assert_null(d->list.assumed[0].value);
    d = accepted(*state, "\"dialect\":1",
        "\"dialect\":1,\"list\":{\"assume\":{\"id\":null},\"assume_always\":{\"created_by\":\"x\"}"
        "}");
    assert_int_equal(d->list.n_assumed, 2);
    assert_false(d->list.assumed[0].searched);
    assert_true(d->list.assumed[1].searched);
    assert_null(d->storage.archive);
    d = accepted(*state, "\"dialect\":1", "\"dialect\":1,\"events\":false");
    assert_null(d->events.created);
    assert_null(d->events.deleted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(resource), UNIT(columns), UNIT(fields), UNIT(children),
        UNIT(lists), UNIT(hash), UNIT(refuses_documents), UNIT(refuses_resource_options),
        UNIT(refuses_parents), UNIT(refuses_properties), UNIT(refuses_children),
        UNIT(tells_all_problems), UNIT(variants)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
