/* core_schema.c - schema.h: paths, rules and sentences of problems, strict handling, what the
 * compiler refuses. Verdicts are judged by tests/conformance/json_schema. */
#include "unit.h"

#include <time.h>

#include "schema/schema.h"

struct reported {
    struct buf text; /* "path rule message" per line */
    size_t count;
};

static void tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct reported *t = arg;

    buf_addf(&t->text, "%s%s|%s|%s", t->count++ ? "\n" : "", path.p, rule, message.p);
}

/* The problems of value under schema must be exactly want ("" for none). */
static void problems_with(
    struct arena *a, uint32_t flags, const char *schema, const char *value, const char *want)
{
    struct reported t = {0};
    const struct schema *s;
    bool ok;

    buf_init(&t.text, 1 << 20);
    s = schema_compile(a, unit_json(a, schema), tell, &t);
    if (!s)
        fail_msg("%s: %s", schema, t.text.p);
    ok = schema_validate(s, unit_json(a, value), WHARF_S(""), flags, a, tell, &t);
    assert_string_equal(buf_str(&t.text).p, want);
    assert_int_equal(ok, *want == 0);
    buf_done(&t.text);
}

static void problems(struct arena *a, const char *schema, const char *value, const char *want)
{
    problems_with(a, 0, schema, value, want);
}

static void refused(struct arena *a, const char *schema, const char *want)
{
    struct reported t = {0};

    buf_init(&t.text, 1 << 20);
    if (schema_compile(a, unit_json(a, schema), tell, &t))
        fail_msg("compiled: %s", schema);
    if (!strstr(buf_str(&t.text).p, want))
        fail_msg("%s is not about %s", t.text.p, want);
    buf_done(&t.text);
}

static void sentences(void **state)
{
    struct arena *a = *state;

    problems(a, "{\"type\":\"string\"}", "1", "|type|the value must be a string");
    problems(a, "{\"type\":[\"integer\",\"null\",\"boolean\"]}", "\"\"",
        "|type|the value must be a whole number, true or false or null");
    problems(a, "{\"properties\":{\"name\":{\"maxLength\":3}}}",
        "{\"name\":\"\xC3\xA9\xC3\xA9\xC3\xA9\"}", "");
    problems(a, "{\"properties\":{\"name\":{\"maxLength\":3}}}", "{\"name\":\"abcd\"}",
        "name|max_length|name must have at most 3 characters");
    problems(a, "{\"properties\":{\"name\":{\"minLength\":1}}}", "{\"name\":\"\"}",
        "name|min_length|name must not be empty");
    problems(
        a, "{\"minLength\":2}", "\"a\"", "|min_length|the value must have at least 2 characters");
    problems(a, "{\"maxItems\":1}", "[1,2]", "|max|the value must have at most 1 item");
    problems(a, "{\"minItems\":2}", "[1]", "|min|the value must have at least 2 items");
    problems(a, "{\"maxProperties\":1,\"minProperties\":1}", "{}",
        "|min|the value must have at least 1 member");
    problems(a, "{\"minimum\":0.25,\"maximum\":3.0}", "0.2", "|min|the value must be 0.25 or more");
    problems(a, "{\"minimum\":0.25,\"maximum\":3.0}", "3.01", "|max|the value must be 3.0 or less");
    problems(a, "{\"exclusiveMinimum\":0}", "0", "|min|the value must be more than 0");
    problems(a, "{\"exclusiveMaximum\":1}", "1", "|max|the value must be less than 1");
    problems(a, "{\"multipleOf\":0.01}", "1.001", "|format|the value must be a multiple of 0.01");
    problems(a, "{\"enum\":[\"online\",\"offline\",1,null,\"\"]}", "\"x\"",
        "|enum|the value must be one of: online, offline, 1, null, \"\"");
    problems(a, "{\"enum\":[\"on\"]}", "\"x\"", "|enum|the value must be on");
    problems(a, "{\"const\":{\"a\":1}}", "2", "|enum|the value must be {\"a\":1}");
    problems(a, "{\"pattern\":\"^[a-z]+$\"}", "\"A\"",
        "|format|the value must match the pattern ^[a-z]+$");
    problems(a, "{\"format\":\"uuid\"}", "\"A\"", "|format|the value must be a UUID");
    problems(
        a, "{\"not\":{\"const\":1}}", "1", "|format|the value has a value that is not allowed");
    problems(a, "false", "1", "|unknown|the value is not allowed here");
}

static void long_enum(void **state)
{
    struct buf schema, want;

    buf_init(&schema, 1 << 16);
    buf_init(&want, 1 << 16);
    BUF_LIT(&schema, "{\"enum\":[");
    BUF_LIT(&want, "|enum|the value must be one of: ");
    for (int i = 0; i < 100; i++)
        buf_addf(&schema, "%s\"member_%02d\"", i ? "," : "", i);
    BUF_LIT(&schema, "]}");
    for (int i = 0; i < 17; i++)
        buf_addf(&want, "%smember_%02d", i ? ", " : "", i);
    BUF_LIT(&want, " and 83 more");
    problems(*state, schema.p, "1", want.p);
    buf_done(&schema);
    buf_done(&want);
}

static void all_at_once_in_order(void **state)
{
    problems(*state,
        "{\"required\":[\"z\",\"name\"],\"properties\":{\"name\":{\"type\":\"string\"},\"size\":{"
        "\"minimum\":1},"
        "\"printers\":{\"items\":{\"required\":[\"id\"],\"properties\":{\"page_size\":{"
        "\"additionalProperties\":{"
        "\"type\":\"boolean\"}}}}}},"
        "\"additionalProperties\":false}",
        "{\"extra.one\":1,\"printers\":[{\"id\":1},{\"page_size\":{\"a4\":1,\"a.5\":2}}],\"size\":"
        "0}",
        "name|required|name is required\n"
        "size|min|size must be 1 or more\n"
        "printers.1.page_size.a4|type|printers.1.page_size.a4 must be true or false\n"
        "printers.1.page_size.a\\.5|type|printers.1.page_size.a\\.5 must be true or false\n"
        "printers.1.id|required|printers.1.id is required\n"
        "z|required|z is required\n"
        "extra\\.one|unknown|extra\\.one is not a known field");
}

static void base_path(void **state)
{
    struct reported t = {0};
    const struct schema *s;

    buf_init(&t.text, 1000);
    s = schema_compile(*state, unit_json(*state, "{\"items\":{\"type\":\"string\"}}"), tell, &t);
    assert_false(
        schema_validate(s, unit_json(*state, "[1]"), WHARF_S("data.3"), 0, *state, tell, &t));
    assert_string_equal(t.text.p, "data.3.0|type|data.3.0 must be a string");
    buf_done(&t.text);
}

static void unique(void **state)
{
    struct buf many;

    problems(*state, "{\"uniqueItems\":true}", "[1,\"a\",1.0,\"b\",\"a\"]",
        "2|unique|2 is the same as 0; send each only once\n4|unique|4 is the same as 1; send each "
        "only once");
    problems(*state, "{\"uniqueItems\":true}",
        "[1,true,\"1\",[1],{\"a\":1},{\"a\":true},0,false,null,[]]", "");
    buf_init(&many, 1 << 24);
    buf_addc(&many, '[');
    for (int i = 0; i < 50000; i++)
        buf_addf(&many, "{\"a\":%d},", i);
    BUF_LIT(&many, "7,{\"a\":4.0e2},{\"a\":7}]");
    problems(*state, "{\"uniqueItems\":true}", many.p,
        "50001|unique|50001 is the same as 400; send each only once\n50002|unique|50002 is the "
        "same as 7; send each only once");
    buf_done(&many);
}

static void dependent(void **state)
{
    problems(*state, "{\"dependentRequired\":{\"a\":[\"b\",\"c\"]}}", "{\"a\":1,\"c\":1}",
        "b|required|b is required together with a");
    problems(*state, "{\"dependentRequired\":{\"a\":[\"b\",\"c\"]}}", "{\"c\":1}", "");
    problems(*state, "{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}",
        "abc|unknown|abc is not an allowed name");
}

static void nearest_alternative(void **state)
{
    static const char forms[] =
        "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":[\"add\"]},"
        "{\"type\":\"object\",\"required\":[\"set\",\"x\"]}]}";

    problems(*state, forms, "\"a\"", "");
    problems(*state, forms, "1", "|type|the value must be a string or an object of the right form");
    problems(*state, forms, "{}", "add|required|add is required");
    problems(*state, forms, "{\"add\":1,\"set\":1,\"x\":1}",
        "|format|the value fits more than one of the forms it may have; send only what one of them "
        "needs");
    problems(*state, "{\"anyOf\":[{\"minimum\":5},{\"maximum\":1}]}", "3",
        "|format|the value has none of the forms it may have");
}

/* Alternatives inside alternatives must not double the work with each level. */
static void alternatives_in_depth(void **state)
{
    static const char tree[] =
        "{\"$defs\":{\"node\":{\"anyOf\":[{\"type\":\"string\"},"
        "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/node\"}}]}},\"$ref\":\"#/$defs/node\"}";
    struct buf value;
    clock_t start = clock();

    buf_init(&value, 1000);
    for (int i = 0; i < 60; i++)
        buf_addc(&value, '[');
    buf_addc(&value, '1');
    for (int i = 0; i < 60; i++)
        buf_addc(&value, ']');
    problems(*state, tree, value.p,
        "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
        "0.0.0.0.0.0.0.0.0.0."
        "0.0.0.0.0|type|"
        "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
        "0.0.0.0.0.0.0.0.0.0."
        "0.0.0.0.0"
        " must be a string or an array of the right form");
    assert_true(clock() - start < CLOCKS_PER_SEC);
    buf_done(&value);
}

static void strict(void **state)
{
    struct arena *a = *state;
    static const char nested[] =
        "{\"properties\":{\"a\":{\"properties\":{\"b\":{}}},\"free\":{\"type\":\"object\"}},"
        "\"allOf\":[{\"properties\":{\"c\":{}}}],"
        "\"required\":[\"d\"]}";
    static const char value[] =
        "{\"a\":{\"b\":1,\"x\":1},\"free\":{\"y\":1},\"c\":1,\"d\":1,\"z\":1}";

    problems_with(a, 0, nested, value, "");
    problems_with(a, SCHEMA_STRICT, nested, value,
        "a.x|unknown|a.x is not a known field\nz|unknown|z is not a known field");
    problems_with(a, SCHEMA_STRICT, "{\"properties\":{\"a\":{}},\"additionalProperties\":true}",
        "{\"b\":1}", "");
    problems_with(a, SCHEMA_STRICT, "{\"patternProperties\":{\"^x_\":{}}}", "{\"x_1\":1,\"y\":1}",
        "y|unknown|y is not a known field");
}

static void refuses(void **state)
{
    struct arena *a = *state;

    refused(
        a, "{\"maxLenght\":1}", "/maxLenght|format|unknown keyword; did you mean \"maxLength\"?");
    refused(a, "{\"properties\":{\"a/b\":{\"contains\":{}}}}",
        "/properties/a~1b/contains|format|unknown keyword");
    refused(a, "{\"type\":\"text\"}", "/type|");
    refused(a, "{\"type\":[\"string\",\"string\"]}", "twice");
    refused(a, "{\"type\":[]}", "at least one");
    refused(a, "{\"enum\":[]}", "/enum|");
    refused(a, "{\"minLength\":-1}", "/minLength|");
    refused(a, "{\"minLength\":1.5}", "/minLength|");
    refused(a, "{\"minimum\":\"1\"}", "/minimum|");
    refused(a, "{\"multipleOf\":0}", "/multipleOf|");
    refused(a, "{\"multipleOf\":-1}", "/multipleOf|");
    refused(a, "{\"multipleOf\":1234567890123456789}", "/multipleOf|");
    refused(a, "{\"uniqueItems\":1}", "/uniqueItems|");
    refused(a, "{\"pattern\":\"(\"}", "/pattern|format|a ( has no )");
    refused(a, "{\"patternProperties\":{\"[\":{}}}", "/patternProperties/[|");
    refused(a, "{\"format\":\"phone\"}", "/format|");
    refused(a, "{\"required\":[\"a\",\"a\"]}", "/required|");
    refused(a, "{\"required\":\"a\"}", "/required|");
    refused(a, "{\"dependentRequired\":{\"a\":\"b\"}}", "/dependentRequired/a|");
    refused(a, "{\"items\":[{}]}", "/items|");
    refused(a, "{\"allOf\":[]}", "/allOf|");
    refused(a, "{\"allOf\":[1]}", "/allOf/0|");
    refused(a, "{\"properties\":[]}", "/properties|");
    refused(a, "{\"$ref\":\"#/$defs/a\"}", "/$ref|");
    refused(a, "{\"$ref\":\"http://example.com/\"}", "/$ref|");
    refused(a, "{\"$ref\":\"#/a%zz\"}", "/$ref|");
    refused(a, "{\"$defs\":{\"a\":{\"$id\":\"x\"}}}", "/$defs/a/$id|");
    refused(a, "{\"$ref\":\"#\"}", "leads back to itself");
    refused(a,
        "{\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
        "leads back to itself");
    refused(a, "1", "|format|a schema is an object, true or false");
}

/* A long chain of references must not eat the stack, whichever way it runs. */
static void long_chains(void **state)
{
    struct buf schema;

    buf_init(&schema, 1 << 24);
    BUF_LIT(&schema, "{\"$defs\":{\"d0\":{}");
    for (int i = 1; i < 10000; i++)
        buf_addf(&schema, ",\"d%d\":{\"$ref\":\"#/$defs/d%d\"}", i, i - 1);
    BUF_LIT(&schema, "}}");
    refused(*state, schema.p, "too many");
    buf_clear(&schema);
    BUF_LIT(&schema, "{\"$defs\":{\"d0\":{}");
    for (int i = 1; i < 5000; i++)
        buf_addf(&schema, ",\"d%d\":{\"$ref\":\"#/$defs/d%d\"}", 5000 - i, 4999 - i);
    BUF_LIT(&schema, "}}");
    refused(*state, schema.p, "nested too deep");
    buf_done(&schema);
}

static bool matches(struct arena *a, const char *source, const char *text)
{
    const char *error = NULL;
    const struct pattern *p = pattern_compile(a, str_z(source), &error);

    if (!p)
        fail_msg("%s: %s", source, error);
    return pattern_match(p, str_z(text));
}

static void patterns_match(void **state)
{
    static const char *const cases[][2] = {{"", ""}, {"b", "abc"}, {"^abc$", "abc"},
        {"^(?:a|bc|d)+$", "abcda"}, {"^a*$", ""}, {"^a+?b??$", "aaa"}, {"^[^a-c]$", "d"},
        {"^[a\\-c]+$", "a-c"}, {"^[-a]$", "-"}, {"^[a-]$", "-"}, {"^[]$|x", "x"}, {"^[^]$", "\n"},
        {"^.$", "\xF0\x9F\x98\x80"}, {"^\\d{3}-\\d{2,4}$", "123-4567"}, {"^a{2,}$", "aaaa"},
        {"^a{0}$", ""}, {"^(a{1,2}){2}$", "aaa"}, {"\\bfoo\\b", "a foo b"}, {"\\Boo", "foo"},
        {"^\\w+\\s\\S\\W\\D$", "ab c!x"}, {"^\\u0041\\x42\\cA\\t\\0?$", "AB\x01\t"},
        {"^\\uD83D\\uDE00$", "\xF0\x9F\x98\x80"}, {"^\\u{1F600}$", "\xF0\x9F\x98\x80"},
        {"^\xC3\xA4{2}$", "\xC3\xA4\xC3\xA4"}, {"^[\xC3\xA0-\xC3\xBF]$", "\xC3\xA9"},
        {"^(?<year>\\d)$", "7"}, {"(a*)*b", "aaab"},
        {"^(a?){30}a{30}$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, {"^\\/\\.\\[\\]\\{\\}$", "/.[]{}"},
        {"a|b|c|^$", ""}, {"^[\\d\\s]+$", "1 2"}, {"^[\\D]$", "x"}, {"^\\s$", "\xE2\x80\xA8"},
        {"(^a|^b)c", "bc"}, {"^[\\b]$", "\b"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (!matches(*state, cases[i][0], cases[i][1]))
            fail_msg("%s does not match %s", cases[i][0], cases[i][1]);
}

static void patterns_differ(void **state)
{
    static const char *const cases[][2] = {{"^abc$", "xabc"}, {"^abc$", "abc\n"}, {"^.$", "\n"},
        {"^.$", "ab"}, {"[]", "a"}, {"^a{2,3}$", "a"}, {"^a{2,3}$", "aaaa"}, {"^(a|b)c$", "a"},
        {"\\bfoo\\b", "food"}, {"^\\d$", "\xD9\xA1"}, {"^\\w$", "\xC3\xA9"}, {"a^b", "ab"},
        {"a$b", "ab"}, {"^[^a-c]$", "b"}, {"^[^\\d]$", "5"}, {"^(?:ab){2}$", "ab"}, {"x", ""}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (matches(*state, cases[i][0], cases[i][1]))
            fail_msg("%s matches %s", cases[i][0], cases[i][1]);
}

static void patterns_refused(void **state)
{
    static const char *const cases[][2] = {{"(", "a ( has no )"}, {")", "a ) has no ("},
        {"[a", "a [ has no ]"}, {"*a", "nothing to repeat"}, {"a**", "nothing to repeat"},
        {"^*", "nothing to repeat"}, {"a{1", "a count is"}, {"a{,2}", "a count is"},
        {"a{2,1}", "run backwards"}, {"[b-a]", "runs backwards"}, {"[a-\\d]", "both ends"},
        {"\\1", "backreferences"}, {"(?=a)", "look-ahead"}, {"(?<!a)", "look-ahead"},
        {"\\p{L}", "Unicode properties"}, {"\\a", "needs none"}, {"\\", "ends with a backslash"},
        {"\\u12", "four hexadecimal"}, {"\\u{110000}", "number of a character"},
        {"\\xZ", "two hexadecimal"}, {"\\c1", "needs a letter"}, {"\\01", "octal"},
        {"a{2001}", "larger than 2000"}, {"(a{1000}){1000}", "too large"},
        {"((((a{50}){50}){50}){50}){50}|b", "too large"}, {"a|(b{1000}){1000}|c", "too large"},
        {"{", "backslash"}, {"]", "backslash"}, {"(?<x", "has no >"}, {"\xFF", "not UTF-8"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *error = NULL;

        if (pattern_compile(*state, str_z(cases[i][0]), &error))
            fail_msg("compiled: %s", cases[i][0]);
        if (!strstr(error, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], error);
    }
}

static void patterns_in_linear_time(void **state)
{
    struct buf text;
    clock_t start = clock();

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 200000; i++)
        buf_addc(&text, 'a');
    buf_addc(&text, 'b');
    assert_false(matches(*state, "^(a+)+$", text.p));
    assert_false(matches(*state, "(x+x+)+y", text.p));
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
    buf_done(&text);
}

static void format_cases(struct arena *a, const char *name, const char *const *texts, bool valid)
{
    for (; *texts; texts++) {
        struct reported t = {0};
        wharf_str schema = arena_printf(a, "{\"format\":\"%s\"}", name);
        const struct schema *s = schema_compile(a, unit_json(a, schema.p), tell, &t);
        struct wharf_json v = {.type = JSON_STRING, .text = str_z(*texts)};

        if (schema_validate(s, &v, WHARF_S(""), 0, a, NULL, NULL) != valid)
            fail_msg("%s: %s is %s", name, *texts, valid ? "refused" : "accepted");
    }
}
#define GOOD(name, ...) format_cases(*state, name, (const char *const[]){__VA_ARGS__, NULL}, true)
#define BAD(name, ...)  format_cases(*state, name, (const char *const[]){__VA_ARGS__, NULL}, false)

static void formats_of_time(void **state)
{
    GOOD("date-time", "1963-06-19T08:30:06.283185Z", "1990-12-31T15:59:50.123-08:00",
        "1998-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00", "1963-06-19t08:30:06z",
        "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-15:59");
    BAD("date-time", "1998-12-31T23:59:61Z", "1998-12-31T23:58:60Z", "1998-12-31T22:59:60Z",
        "1990-02-31T15:59:59.123-08:00", "1990-12-31T15:59:59-24:00", "0000-12-31T15:59:59Z",
        "1990-12-31T15:59:59-16:00", "1990-12-31T15:59:59+16:00",
        "1963-06-19T08:30:06.28123+01:00Z", "06/19/1963 08:30:06 PST", "2013-350T01:01:01",
        "1963-6-19T08:30:06Z", "1963-06-1T08:30:06Z", "1963-06-1\xE0\xA7\xAAT00:00:00Z",
        "1963-06-19T08:30:06.Z", "+11963-06-19T08:30:06.283185Z", "");
    GOOD("date", "1963-06-19", "2020-02-29");
    BAD("date", "0000-01-01", "2021-02-29", "2020-02-30", "2020-13-01", "1998-1-20", "1998-01-1",
        "19630619", "1963-06-1\xE0\xA7\xAA", "2013-W01-1", "");
    GOOD("time", "08:30:06Z", "23:59:60Z", "23:59:60+00:00", "01:29:60+01:30", "23:29:60+23:30",
        "15:59:60-08:00", "00:29:60-23:30", "23:20:50.52Z", "08:30:06-08:00", "08:30:06z");
    BAD("time", "22:59:60Z", "23:58:60Z", "23:59:60+01:00", "23:59:60-01:00", "24:00:00Z",
        "00:60:00Z", "00:00:61Z", "01:02:03+24:00", "01:02:03+00:60", "01:02:03Z+00:30",
        "08:30:06 PST", "01:01:01,1111", "12:00:00", "08:30:06.Z", "8:3:6Z");
    GOOD(
        "duration", "P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W");
    BAD("duration", "PT1D", "4DT12H30M5S", "P", "P1YT", "PT", "P2D1Y", "P1D2H", "P2S", "P1Y2W",
        "P1", "P1Y2D", "PT1H2S", "P\xE0\xA7\xA8Y", "PW");
}

static void formats_of_addresses(void **state)
{
    GOOD("email", "joe.bloggs@example.com", "te~st@example.com", "~test@example.com",
        "test~@example.com", "\"joe bloggs\"@example.com", "\"joe..bloggs\"@example.com",
        "\"joe@bloggs\"@example.com", "joe.bloggs@[127.0.0.1]", "joe.bloggs@[IPv6:::1]",
        "te.s.t@example.com");
    BAD("email", "2962", ".test@example.com", "test.@example.com", "te..st@example.com",
        "joe.bloggs@invalid=domain.com", "joe.bloggs@[127.0.0.300]", "@example.com", "a@",
        "a b@example.com", "\"a\"b\"@example.com", "a@[IPv6:1]", "a@[]");
    GOOD("hostname", "www.example.com", "xn--4gbwdl.xn--wgbh1c", "hostname", "host-name",
        "h0stn4me", "1host", "a.vg");
    BAD("hostname", "-a-host-name-that-starts-with--", "not_a_valid_host_name", "a-.b", ".example",
        "example.", "a..b", "", "host\xC3\xA4",
        "a-vvvvvvvvvvvvvvvveeeeeeeeeeeeeeeerrrrrrrrrrrrrrrryyyyyyyyyyyyyyyy-long-host-name-"
        "component",
        ".");
    GOOD("ipv4", "192.168.0.1", "0.0.0.0", "255.255.255.255");
    BAD("ipv4", "127.0.0.0.1", "256.256.256.256", "127.0", "0x7f000001", "2130706433", "087.10.0.1",
        "1\340\247\2507.0.0.1", "192.168.1.0/24", "");
    GOOD("ipv6", "::1", "::abef", "::", "::42:ff:1", "d6::", "1:d6::42", "1::d6:192.168.0.1",
        "1:2::192.168.0.1", "::ffff:192.168.0.1", "1:2:3:4:5:6:7:8");
    BAD("ipv6", "12345::", "::abcef", "1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1", "::laptop",
        ":2:3:4:5:6:7:8", "1:2:3:4:5:6:7:", ":2:3:4::8", "1::d6::42", "1::2:192.168.256.1",
        "1::2:192.168.ff.1", "::ffff:192.168.0.1.2", "1:2:3:4:5:::8", "1:2:3:4:5:6:7", "1",
        "127.0.0.1", "fe80::/64", "fe80::a%eth1", "1:1000:1000:1000:1000:1000:1000:1000:1000",
        " ::1", "");
}

static void formats_of_names(void **state)
{
    GOOD("uri", "http://foo.bar/?baz=qux#quux", "http://foo.com/blah_(wikipedia)_blah#cite-1",
        "http://foo.bar/?q=Test%20URL-encoded%20stuff", "http://xn--nw2a.xn--j6w193g/",
        "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "http://223.255.255.254",
        "ftp://ftp.is.co.za/rfc/rfc1808.txt", "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com", "tel:+1-816-555-1212",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "http://[v1.a:b]/");
    BAD("uri", "//foo.bar/?baz=qux#quux", "/abc", "\\\\WINDOWS\\fileshare", "abc",
        "http:// shouldfail.com", ":// should fail", "bar,baz:foo",
        "https://[@example.org/test.txt", "https://example.org/foobar<>.txt",
        "https://example.org/foobar{}.txt", "https://example.org/foobar^.txt",
        "https://example.org/foobar`.txt", "https://example.org/foo bar.txt",
        "https://example.org/foobar|.txt", "https://example.org/%4", "http://example.com:8a/",
        "http://a@b@c/", "http://\xC3\xA4.de/", "1http://a", "http://[::1", "http://[::1]x",
        "http://[v.a]/", "");
    GOOD("uri-reference", "http://foo.bar/?baz=qux#quux", "//foo.bar/?baz=qux#quux", "/abc", "abc",
        "#fragment", "", "?q", "a/b:c", "./a:b");
    BAD("uri-reference", "\\\\WINDOWS\\fileshare", "#frag\\ment", "1:b", ":a", "a b");
    GOOD("uuid", "2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "00000000-0000-0000-0000-000000000000");
    BAD("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-73b441d16380",
        "2eb8aa08-aa98-11ea-b4ga-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380",
        "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "");
    GOOD("json-pointer", "/foo/bar~0/baz~1/%a", "", "/", "/foo/0", "//", "/~01");
    BAD("json-pointer", "/foo/bar~", "/~2", "#", "#/a", "a", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(sentences), UNIT(long_enum), UNIT(all_at_once_in_order),
        UNIT(base_path), UNIT(unique), UNIT(dependent), UNIT(nearest_alternative),
        UNIT(alternatives_in_depth), UNIT(strict), UNIT(refuses), UNIT(long_chains),
        UNIT(patterns_match), UNIT(patterns_differ), UNIT(patterns_refused),
        UNIT(patterns_in_linear_time), UNIT(formats_of_time), UNIT(formats_of_addresses),
        UNIT(formats_of_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
