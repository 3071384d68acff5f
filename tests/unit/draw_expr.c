/* draw_expr.c - expressions, filters and texts with variables, as tables
 * (docs/spec/05-documents-and-templates.md section 9.4). */
#include "unit.h"

#include <string.h>

#include "draw_expr.h"
#include "util/zone.h"

static const char data_text[] =
    "{\"a\":1,\"b\":2.50,\"name\":\"Ann\",\"empty\":\"\",\"no\":null,\"yes\":true,\"list\":[3,1,2],"
    "\"lines\":[{\"sku\":\"B\",\"qty\":2,\"ok\":true},{\"sku\":\"A\",\"qty\":10.5,\"ok\":false},"
    "{\"sku\":\"C\",\"qty\":0.1,\"ok\":true}],\"to\":{\"city\":\"K\\u00f6ln\",\"zip-code\":"
    "\"50667\"},"
    "\"word\":\"number\",\"digits\":\"12\",\"none\":[],\"when\":\"2026-03-29T00:30:15Z\",\"day\":"
    "\"2026-02-03\",\"money\":1234567.895,\"minus\":-0.004,\"w\":{\"value\":2,\"unit\":\"lb\"},"
    "\"html\":\"<a&b>\"}";

static unsigned zones_read;

static size_t one_zone(const char *name, char *bytes)
{
    zones_read++;
    return strcmp(name, "Europe/Berlin") == 0 ? zone_read(name, bytes, ZONE_BYTES_MAX) : 0;
}

static struct draw_eval eval_of(struct arena *a, struct draw_vars *vars)
{
    static struct draw_zones zones;

    zones = (struct draw_zones){.read = one_zone};
    *vars = (struct draw_vars){.value = unit_json(a, data_text)};
    return (struct draw_eval){.arena = a, .vars = vars, .page = 2, .pages = 5, .zones = &zones};
}

struct row {
    const char *said, *made; /* as JSON; NULL: it is wrong */
};

static void each(void **state, const struct row *rows, size_t n, bool text)
{
    for (size_t i = 0; i < n; i++) {
        struct draw_vars vars;
        struct draw_eval e = eval_of(*state, &vars);
        const struct wharf_json *v = text ? expr_text(&e, str_z(rows[i].said))
                                          : expr_value(&e, str_z(rows[i].said));
        const char *made = v ? jw_text(*state, v).p : NULL;

        if (!v != !rows[i].made || (v && strcmp(made, rows[i].made) != 0))
            fail_msg("%s: %s instead of %s %s", rows[i].said, made ? made : "wrong",
                rows[i].made ? rows[i].made : "wrong", e.wrong);
        if (!v && !e.wrong[0])
            fail_msg("%s: no reason", rows[i].said);
    }
}

static void test_expressions(void **state)
{
    static const struct row rows[] = {{"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"7 % 4", "3"},
        {"0.1 + 0.2", "0.3"}, {"1.1 * 1.1", "1.21"}, {"1 / 0", "null"}, {"5 % 0", "null"},
        {"-a + 3", "2"}, {"a - 1", "0"}, {"b", "2.50"}, {"\"x\" ~ 1 ~ yes", "\"x1true\""},
        {"'it\\'s'", "\"it's\""}, {"name == 'Ann'", "true"}, {"a == 1.0", "true"},
        {"digits == 12", "true"}, {"digits < 100", "true"}, {"'b' > 'a'", "true"},
        {"a != 1", "false"}, {"a <= 1 && b >= 2.5", "true"}, {"no || name", "\"Ann\""},
        {"empty || none || 7", "7"}, {"yes && name", "\"Ann\""}, {"!empty", "true"},
        {"!yes", "false"}, {"2 in list", "true"}, {"'x' in list", "false"},
        {"name contains 'nn'", "true"}, {"'city' in to", "true"}, {"list[0]", "3"},
        {"lines[1].sku", "\"A\""}, {"lines.1.sku", "\"A\""}, {"to['zip-code']", "\"50667\""},
        {"to.city", "\"K\xc3\xb6ln\""}, {"nothing", "null"}, {"nothing.at.all", "null"},
        {"list[9]", "null"}, {"name + 1", "null"}, {"page", "2"}, {"pages - page", "3"},
        {"{{ a }}", "1"}, {"1000000 * 1000000", "1000000000000"}, {"0.00001", "0.00001"},
        {"true && !false", "true"}, {"null == no", "true"}, {"index", "null"}, {"", NULL},
        {"1 +", NULL}, {"(1", NULL}, {"'open", NULL}, {"1 2", NULL}, {"a ? b", NULL},
        {"1.2.3", NULL}, {"1.", NULL}, {"to[", NULL}, {"to[x]", NULL}, {"&& a", NULL},
        {"a | nothing", NULL}, {"a || | upper", NULL}, {"{{ a", NULL}};

    each(state, rows, sizeof(rows) / sizeof(rows[0]), false);
}

static void test_texts(void **state)
{
    static const struct row rows[] = {{"{{a}}", "1"}, {"{{ list }}", "[3,1,2]"},
        {"{{name}}!", "\"Ann!\""}, {"{{a}}{{b}}", "\"12.50\""}, {"\\{{a}}", "\"{{a}}\""},
        {"x \\{{ {{a}}", "\"x {{ 1\""}, {"a\\b", "\"a\\\\b\""}, {"{ {a} }", "\"{ {a} }\""},
        {"{{no}}", "null"}, {"[{{no}}]", "\"[]\""}, {"[{{nothing}}]", "\"[]\""},
        {"{{ '}}' }}", "\"}}\""}, {"{{ to }}", "{\"city\":\"K\xc3\xb6ln\",\"zip-code\":\"50667\"}"},
        {"{{list}} {{yes}}", "\"[3,1,2] true\""}, {"{{a", NULL}, {"x {{ }}", NULL},
        {"{{ a }} {{ b | }}", NULL}};

    each(state, rows, sizeof(rows) / sizeof(rows[0]), true);
}

static void test_filters(void **state)
{
    static const struct row rows[] = {{"name | upper", "\"ANN\""},
        {"to.city | upper | lower", "\"k\xc3\xb6ln\""},
        {"'john o-neil' | title", "\"John O-Neil\""}, {"' a ' | trim", "\"a\""},
        {"'abcdef' | truncate:4", "\"abc\xe2\x80\xa6\""}, {"'abc' | truncate:3", "\"abc\""},
        {"nothing | default:x y", "\"x y\""}, {"empty | default:'-'", "\"-\""},
        {"a | default:9", "1"}, {"nothing | default:(a + 1)", "2"},
        {"'a-b-c' | replace:-,+", "\"a+b+c\""}, {"'a,b' | replace:',',''", "\"ab\""},
        {"7 | pad:3", "\"007\""}, {"'x' | pad:3,.", "\"..x\""}, {"list | join", "\"3, 1, 2\""},
        {"list | join:'-'", "\"3-1-2\""}, {"lines | join:'+',qty", "\"2+10.5+0.1\""},
        {"list | first", "3"}, {"list | last", "2"}, {"none | first", "null"},
        {"lines | count", "3"}, {"name | count", "3"}, {"lines | sum:qty", "12.6"},
        {"list | sum", "6"}, {"list | sort | join:''", "\"123\""},
        {"lines | sort:sku | first", "{\"sku\":\"A\",\"qty\":10.5,\"ok\":false}"},
        {"lines | where:ok,true | count", "2"}, {"lines | where:sku,C | sum:qty", "0.1"},
        {"money | number:2", "\"1,234,567.90\""}, {"money | number", "\"1,234,568\""},
        {"minus | number:2", "\"0.00\""}, {"-12.5 | number", "\"-13\""},
        {"999.995 | number:2", "\"1,000.00\""}, {"name | number:2", "null"},
        {"money | currency:USD", "\"$1,234,567.90\""},
        {"-3 | currency:EUR", "\"-\xe2\x82\xac"
                              "3.00\""},
        {"3 | currency:CHF", "\"CHF 3.00\""},
        {"1500 | currency:JPY", "\"\xc2\xa5"
                                "1,500\""},
        {"2.345 | round:2", "2.35"}, {"2.5 | round", "3"}, {"1e3", NULL},
        {"when | date", "\"2026-03-29\""},
        {"when | date:DD.MM.YYYY HH:mm:ss", "\"29.03.2026 00:30:15\""},
        {"when | date:'MMMM D, YYYY h:mm a'", "\"March 29, 2026 12:30 am\""},
        {"when | date:HH:mm Z,Europe/Berlin", "\"01:30 +01:00\""},
        {"'2026-03-29T01:30:00Z' | date:HH:mm Z,Europe/Berlin", "\"03:30 +02:00\""},
        {"day | date:'ddd D MMM [of] YY'", "\"Tue 3 Feb of 26\""}, {"0 | date", "\"1970-01-01\""},
        {"name | date", "null"}, {"'2026-13-01' | date", "null"}, {"'2026-01--1' | date", "null"},
        {"'2026-02-30' | date", "null"}, {"'2028-02-29' | date", "\"2028-02-29\""},
        {"when | date:HH,Nowhere/Else", NULL}, {"w | weight:kg", "\"0.907 kg\""},
        {"3 | weight:lb", "\"3 lb\""}, {"10 | length:in", "\"10 in\""}, {"3 | weight:stones", NULL},
        {"list | json", "\"[3,1,2]\""}, {"html | escape", "\"&lt;a&amp;b&gt;\""},
        {"'950110153000' | mod10", "\"9501101530003\""}, {"'x1' | mod10", NULL},
        {"'A' | mod103", "34"}, {"a | truncate", NULL}, {"a | upper:1", NULL}, {"a | pad:-1", NULL},
        {"a | pad:99999999", NULL}};

    each(state, rows, sizeof(rows) / sizeof(rows[0]), false);
}

/* A zone is read once, however many dates are written in it, and the next one takes its room. */
static void test_zones_are_kept(void **state)
{
    static const char *const said[] = {"when | date:HH,Europe/Berlin", "when | date:HH,No/Where",
        "when | date:HH,Europe/Berlin", "when | date:HH,UTC"};
    static const unsigned reads[] = {1, 2, 3, 3};
    struct draw_vars vars;
    struct draw_eval e = eval_of(*state, &vars);

    zones_read = 0;
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        for (int k = 0; k < 5000; k++)
            assert_int_equal(expr_value(&e, str_z(said[i])) == NULL, i == 1);
        assert_int_equal(zones_read, reads[i]);
    }
}

static void test_what_is_missing_is_told(void **state)
{
    static const struct {
        const char *text, *missing;
        bool page;
    } rows[] = {{"{{order.po}}", "order.po", false}, {"{{name}}", "", false}, {"{{no}}", "", false},
        {"{{order.po | default:x}}", "", false}, {"{{order.po || name}}", "", false},
        {"{{order.po || ''}}", "", false}, {"{{order.po || x.y}}", "x.y", false},
        {"{{order.po | upper}}", "order.po", false},
        {"{{order.po | trim | pad:0}}", "order.po", false}, {"{{empty | upper}}", "", false},
        {"{{'PO ' ~ order.po}}", "order.po", false}, {"{{'PO ' ~ (order.po || '-')}}", "", false},
        {"{{(name || x.y) ~ no}}", "", false}, {"{{'PO ' ~ no}}", "", false},
        {"{{order.po == 1}}", "", false}, {"a {{x.y}} {{z}}", "x.y", false},
        {"{{page}} / {{pages}}", "", true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct draw_vars vars;
        struct draw_eval e = eval_of(*state, &vars);

        assert_non_null(expr_text(&e, str_z(rows[i].text)));
        assert_string_equal(arena_dup_str(*state, e.missing).p, rows[i].missing);
        assert_int_equal(e.said_page, rows[i].page);
    }
}

static void test_limits(void **state)
{
    struct draw_vars vars;
    struct draw_eval e;
    struct buf text;

    buf_init(&text, 1 << 22);
    for (int i = 0; i < EXPR_DEPTH_MAX + 1; i++)
        buf_addc(&text, '(');
    e = eval_of(*state, &vars);
    assert_null(expr_value(&e, buf_str(&text)));
    assert_non_null(strstr(e.wrong, "nested"));

    buf_clear(&text);
    for (int i = 0; i < EXPR_OPERATIONS_MAX; i++)
        buf_addz(&text, "1+");
    buf_addz(&text, "1");
    e = eval_of(*state, &vars);
    assert_null(expr_value(&e, buf_str(&text)));
    assert_non_null(strstr(e.wrong, "operations"));

    buf_clear(&text);
    for (int i = 0; i < EXPR_TEXT_MAX; i++)
        buf_addz(&text, "xx");
    buf_addz(&text, "{{a}}");
    e = eval_of(*state, &vars);
    assert_null(expr_text(&e, buf_str(&text)));
    assert_non_null(strstr(e.wrong, "64 KiB"));
    buf_done(&text);
}

static void test_inner_names_come_first(void **state)
{
    struct draw_vars data = {.value = unit_json(*state, "{\"item\":1,\"a\":2}")};
    struct draw_vars inner = {&data, WHARF_S("item"), unit_json(*state, "{\"sku\":\"X\"}")};
    struct draw_eval e = {.arena = *state, .vars = &inner};

    assert_string_equal(jw_text(*state, expr_value(&e, str_z("item.sku ~ a"))).p, "\"X2\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_expressions), UNIT(test_texts), UNIT(test_filters),
        UNIT(test_zones_are_kept), UNIT(test_what_is_missing_is_told), UNIT(test_limits),
        UNIT(test_inner_names_come_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
