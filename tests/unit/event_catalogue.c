/* event_catalogue.c - types of events: what manifests may declare, what patterns take, what a schema says. */
#include "unit.h"

#include "event/catalogue.h"
#include "plugin/manifest.h"

struct fixture {
    struct engine engine;
    struct manifest manifest;
    struct plugin plugin;
    struct buf problems;
};

/* Links a plugin of this name with these "events". */
static struct fixture *link_events(struct arena *a, const char *plugin, bool third_party, const char *events)
{
    struct fixture *f = ARENA_NEW(a, struct fixture);
    struct json_error e;

    f->manifest = (struct manifest){
        .name = plugin, .third_party = third_party, .events = json_parse(a, str_z(events), &e)};
    assert_non_null(f->manifest.events);
    f->plugin = (struct plugin){.name = plugin, .manifest = &f->manifest};
    f->engine = (struct engine){.arena = a, .plugins = &f->plugin, .n_plugins = 1};
    buf_init(&f->problems, 1 << 16);
    event_catalogue_link(&f->engine, &f->problems);
    return f;
}

static void refused(void **state)
{
    static const struct {
        const char *events, *says;
    } bad[] = {
        {"{\"door.opened\": {\"description\": \"x\"}}", "must begin with the plugin's name: \"doors.door.opened\""},
        {"{\"doorsopened\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors.\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors..opened\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors.Opened\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors.opened\": {}}", "needs a \"description\""},
        {"{\"doors.opened\": {\"description\": \"x\", \"loud\": true}}", "events.doors.opened.loud is not known"},
        {"{\"doors.opened\": {\"description\": \"x\", \"members\": []}}", "members must be an object"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fixture *f = link_events(*state, "doors", true, bad[i].events);

        assert_non_null(f->problems.p);
        assert_non_null(strstr(f->problems.p, bad[i].says));
        buf_done(&f->problems);
    }
}

static const char good[] = "{\"doors.opened\": {\"description\": \"A door was opened\", \"members\": {\"by\": "
                           "{\"type\": \"string\", \"x-wharf\": {}}}},"
                           " \"doors.updated\": {\"description\": \"x\"}, \"doors.alarm\": {\"description\": \"x\", "
                           "\"system\": true, \"deprecated\": true},"
                           " \"doors.level_updated\": {\"description\": \"x\"}, \"doors.a.status_changed\": "
                           "{\"description\": \"x\", \"resource\": \"door\"}}";

static void found(void **state)
{
    struct fixture *f = link_events(*state, "doors", true, good);
    const struct event_type *t = event_type_find(&f->engine, WHARF_S("doors.opened"));

    assert_null(f->problems.p);
    assert_int_equal(f->engine.n_event_types, 6); /* and the kernel's own */
    for (size_t i = 1; i < 6; i++)
        assert_true(strcmp(f->engine.event_types[i - 1].type, f->engine.event_types[i].type) < 0);
    assert_non_null(t);
    assert_true(!t->system && !t->supersedable && !t->deprecated);
    assert_string_equal(t->module, "doors");
    assert_string_equal(t->resource_type, "doors");
    assert_string_equal(t->schema_path, "/v1/schemas/events/doors.opened");
    t = event_type_find(&f->engine, WHARF_S("doors.alarm"));
    assert_true(t && t->system && t->deprecated && !t->supersedable);
    assert_true(event_type_find(&f->engine, WHARF_S("doors.updated"))->supersedable);
    assert_true(event_type_find(&f->engine, WHARF_S("doors.level_updated"))->supersedable);
    t = event_type_find(&f->engine, WHARF_S("doors.a.status_changed"));
    assert_true(t->supersedable);
    assert_string_equal(t->resource_type, "door");
    assert_true(event_type_find(&f->engine, WHARF_S("plugin.quarantined"))->system);
    assert_null(event_type_find(&f->engine, WHARF_S("doors.open")));
    assert_null(event_type_find(&f->engine, WHARF_S("doors.openeds")));
    assert_null(event_type_find(&f->engine, WHARF_S("")));
    buf_done(&f->problems);
}

static void patterns(void **state)
{
    struct fixture *f = link_events(*state, "doors", true, good);
    const struct event_type *opened = event_type_find(&f->engine, WHARF_S("doors.opened"));
    const struct event_type *alarm = event_type_find(&f->engine, WHARF_S("doors.alarm"));
    const struct event_type *deep = event_type_find(&f->engine, WHARF_S("doors.a.status_changed"));

    assert_true(event_matches(opened, WHARF_S("*")) && event_matches(opened, WHARF_S("doors.*")));
    assert_true(event_matches(opened, WHARF_S("doors.opened")) && !event_matches(opened, WHARF_S("doors.open")));
    assert_true(!event_matches(opened, WHARF_S("door.*")) && !event_matches(opened, WHARF_S("doors.opened.*")));
    assert_true(event_matches(deep, WHARF_S("doors.*")) && event_matches(deep, WHARF_S("doors.a.*")));
    /* a system type must be named */
    assert_true(!event_matches(alarm, WHARF_S("*")) && !event_matches(alarm, WHARF_S("doors.*")));
    assert_true(event_matches(alarm, WHARF_S("doors.alarm")));
    assert_true(event_pattern_known(&f->engine, WHARF_S("*")) && event_pattern_known(&f->engine, WHARF_S("doors.*")));
    assert_true(event_pattern_known(&f->engine, WHARF_S("doors.alarm")));
    assert_true(!event_pattern_known(&f->engine, WHARF_S("")) && !event_pattern_known(&f->engine, WHARF_S("door.*")));
    assert_true(!event_pattern_known(&f->engine, WHARF_S("doors")) &&
                !event_pattern_known(&f->engine, WHARF_S("doors.unheard")));
    buf_done(&f->problems);
}

static void schema(void **state)
{
    struct fixture *f = link_events(*state, "doors", true, good);
    wharf_str text = event_schema(*state, event_type_find(&f->engine, WHARF_S("doors.opened")));
    struct json_error e;
    const struct wharf_json *s = json_parse(*state, text, &e);

    assert_non_null(s);
    assert_true(str_eqz(json_text_or(json_get(json_get(s, "properties"), "by"), "type", ""), "string"));
    assert_null(strstr(text.p, "x-wharf"));
    assert_false(json_bool_or(s, "additionalProperties", true));
    assert_int_equal(json_get(s, "required")->count, 1); /* what is too large has three members only */
    buf_done(&f->problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(refused),
        UNIT(found),
        UNIT(patterns),
        UNIT(schema),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
