/* event_catalogue.c - types of events: what manifests may declare, what patterns take, what a
 * schema says. */
#include "unit.h"

#include "event/event_catalogue.h"
#include "plugin/manifest.h"

struct fixture {
    struct engine engine;
    struct manifest manifest;
    struct plugin plugin;
    struct buf problems;
};

/* Links a plugin of this name with these "events". */
static struct fixture *link_events(
    struct arena *a, const char *plugin, bool third_party, const char *events)
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
        {"{\"door.opened\": {\"description\": \"x\"}}",
            "must begin with the plugin's name: \"doors.door.opened\""},
        {"{\"doorsopened\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors.\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors..opened\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors.Opened\": {\"description\": \"x\"}}", "not words"},
        {"{\"doors.opened\": {}}", "needs a \"description\""},
        {"{\"doors.opened\": {\"description\": \"x\", \"loud\": true}}",
            "events.doors.opened.loud is not known"},
        {"{\"doors.opened\": {\"description\": \"x\", \"members\": []}}",
            "members must be an object"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fixture *f = link_events(*state, "doors", true, bad[i].events);

        assert_non_null(f->problems.p);
        assert_non_null(strstr(f->problems.p, bad[i].says));
        buf_done(&f->problems);
    }
}

static const char good[] =
    "{\"doors.opened\": {\"description\": \"A door was opened\", \"members\": {\"by\": "
    "{\"type\": \"string\", \"x-wharf\": {}}}}, \"doors.updated\": {\"description\": \"x\"}, "
    "\"doors.alarm\": {\"description\": \"x\", \"system\": true, \"deprecated\": true},"
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

static bool takes(const struct event_type *t, const char *pattern)
{
    return event_matches(t, str_z(t->type), str_z(pattern));
}

static void patterns(void **state)
{
    struct fixture *f = link_events(*state, "doors", true, good);
    const struct event_type *opened = event_type_find(&f->engine, WHARF_S("doors.opened"));
    const struct event_type *alarm = event_type_find(&f->engine, WHARF_S("doors.alarm"));
    const struct event_type *deep = event_type_find(&f->engine, WHARF_S("doors.a.status_changed"));

    assert_true(takes(opened, "*") && takes(opened, "doors.*"));
    assert_true(takes(opened, "doors.opened") && !takes(opened, "doors.open"));
    assert_true(!takes(opened, "door.*") && !takes(opened, "doors.opened.*"));
    assert_true(takes(deep, "doors.*") && takes(deep, "doors.a.*"));
    /* a system type must be named */
    assert_true(!takes(alarm, "*") && !takes(alarm, "doors.*"));
    assert_true(takes(alarm, "doors.alarm"));
    assert_true(event_pattern_known(&f->engine, WHARF_S("*")) &&
                event_pattern_known(&f->engine, WHARF_S("doors.*")));
    assert_true(event_pattern_known(&f->engine, WHARF_S("doors.alarm")));
    assert_true(!event_pattern_known(&f->engine, WHARF_S("")) &&
                !event_pattern_known(&f->engine, WHARF_S("door.*")));
    assert_true(!event_pattern_known(&f->engine, WHARF_S("doors")) &&
                !event_pattern_known(&f->engine, WHARF_S("doors.unheard")));
    buf_done(&f->problems);
}

/* Types of workflows are declared by nobody. */
static void custom(void **state)
{
    static const char *const none[] = {"custom", "custom.", "custom..a", "custom.A", "custom.a.",
        "customs.a", "custom.a b", "custom.a*"};
    struct fixture *f = link_events(*state, "doors", true, good);
    const struct event_type *t = event_type_find(&f->engine, WHARF_S("custom.order.packed"));
    const struct wharf_json *s;
    struct json_error e;
    char longest[EVENT_CUSTOM_MAX + 2] = "custom.";

    assert_true(t && !t->system && !t->supersedable);
    assert_true(event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("*")));
    assert_true(event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("custom.*")));
    assert_true(event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("custom.order.*")));
    assert_true(event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("custom.order.packed")));
    assert_false(event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("custom.order")));
    assert_false(event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("custom.orders.*")));
    assert_false(
        event_matches(t, WHARF_S("custom.order.packed"), WHARF_S("custom.order.packed.*")));
    assert_true(event_pattern_known(&f->engine, WHARF_S("custom.*")) &&
                event_pattern_known(&f->engine, WHARF_S("custom.a.*")));
    assert_true(event_pattern_known(&f->engine, WHARF_S("custom.a")));
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_null(event_type_find(&f->engine, str_z(none[i])));
        assert_false(event_pattern_known(&f->engine, str_z(none[i])));
    }
    memset(longest + 7, 'a', EVENT_CUSTOM_MAX - 7);
    assert_true(event_type_custom(str_z(longest)));
    longest[EVENT_CUSTOM_MAX] = 'a';
    assert_false(event_type_custom(str_z(longest)));
    s = json_parse(*state, event_schema(&f->engine, *state, t), &e);
    assert_true(json_bool_or(s, "additionalProperties", false));
    assert_int_equal(json_get(s, "required")->count, 0);
    buf_done(&f->problems);
    f = link_events(*state, "custom", true, "{\"custom.a\": {\"description\": \"x\"}}");
    assert_non_null(strstr(f->problems.p, "is for workflows"));
    buf_done(&f->problems);
}

static void schema(void **state)
{
    struct fixture *f = link_events(*state, "doors", true, good);
    wharf_str text = event_schema(
        &f->engine, *state, event_type_find(&f->engine, WHARF_S("doors.opened")));
    struct json_error e;
    const struct wharf_json *s = json_parse(*state, text, &e);

    assert_non_null(s);
    assert_true(
        str_eqz(json_text_or(json_get(json_get(s, "properties"), "by"), "type", ""), "string"));
    assert_null(strstr(text.p, "x-wharf"));
    assert_false(json_bool_or(s, "additionalProperties", true));
    /* what is too large has three members only */
    assert_int_equal(json_get(s, "required")->count, 1);
    buf_done(&f->problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(refused),
        UNIT(found),
        UNIT(patterns),
        UNIT(custom),
        UNIT(schema),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
