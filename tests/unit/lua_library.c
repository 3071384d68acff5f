/* lua_library.c - what authors get: the standard library of docs/spec/08-workflows-and-lua.md
 * section 5. */
#include "lua_box.h"

#include <time.h>

static void test_json(void **state)
{
    struct box *b = *state;

    box_is(b,
        "return "
        "wharf.json.decode('{\"a\":[],\"b\":{},\"c\":null,\"d\":[1,2.5,-0.0,9223372036854775807,"
        "1e3]}').d",
        "[1,2.5,-0.0,9223372036854775807,1000]");
    box_is(b,
        "return wharf.json.encode({b = {}, a = wharf.json.array({}), c = wharf.null}, {sort_keys = "
        "true})",
        "\"{\\\"a\\\":[],\\\"b\\\":{},\\\"c\\\":null}\"");
    box_is(b, "return wharf.json.encode({a = {1, {x = 'y'}}}, {pretty = true})",
        "\"{\\n  \\\"a\\\": [\\n    1,\\n    {\\n      \\\"x\\\": \\\"y\\\"\\n    }\\n  ]\\n}\"");
    box_is(b, "return wharf.json.decode('{\"e\":[]}')", "{\"e\":[]}");
    box_true(b, "math.type(wharf.json.decode('9007199254740993')) == 'integer' and "
                "wharf.json.decode('9007199254740993') == 9007199254740993");
    box_true(b, "wharf.json.decode('0.1') == 0.1 and wharf.json.encode(0.1) == '0.1' and "
                "wharf.json.encode(1/3) == '0.3333333333333333'");
    box_true(b, "wharf.json.is_array({1, 2}) and not wharf.json.is_array({}) and not "
                "wharf.json.is_array({1, a = 2}) and "
                "wharf.json.is_array(wharf.json.decode('[]'))");
    box_is(b, "return wharf.json.decode('\"\\\\ud83d\\\\ude00\\\\u00e9\\\\n\"')",
        "\"\xF0\x9F\x98\x80\xC3\xA9\\n\"");
    box_ends(
        b, "wharf.json.encode({[1] = 1, [3] = 3})", SANDBOX_RAISED, "keys are strings, or 1, 2, 3");
    box_ends(b, "local t = {} t.t = t wharf.json.encode(t)", SANDBOX_RAISED, "in a circle");
    box_ends(b, "wharf.json.encode(0/0)", SANDBOX_RAISED, "NaN");
    box_ends(b, "wharf.json.encode({print})", SANDBOX_RAISED, "a function can't be written");
    box_ends(b, "wharf.json.encode('\\xff')", SANDBOX_RAISED, "not UTF-8");
}

static void test_json_refuses(void **state)
{
    struct box *b = *state;
    static const char *const bad[] = {"", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{'a':1}", "01",
        "1.", "-", "nul", "\"a", "\"\\x\"", "\"\\ud800\"", "[1] 2", "{\"a\":1,\"a\":2}", "1e999",
        "\"\x01\"", "+1", "NaN"};
    char body[400];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(body, sizeof(body),
            "local v, e = wharf.json.decode([==[%s]==]) return {v == nil, e.code, e.offset >= 0}",
            bad[i]);
        box_is(b, body, "[true,\"json.syntax\",true]");
    }
    box_is(b, "local v, e = wharf.json.decode(('['):rep(70)) return e.message",
        "\"nested deeper than 64 levels at byte 64\"");
    box_true(b, "wharf.json.decode('\"\\xff\"') == nil");
}

static void test_time(void **state)
{
    struct box *b = *state;

    box_true(b, "wharf.time.now() == 1735689600.123 and wharf.time.now_ms() == 1735689600123 and "
                "os.time() == 1735689600");
    box_is(b, "return wharf.time.iso()", "\"2025-01-01T00:00:00.123Z\"");
    box_is(b, "return wharf.time.iso(wharf.time.parse('2024-03-31T01:30:00.500+02:00'))",
        "\"2024-03-30T23:30:00.500Z\"");
    box_is(b, "local t, e = wharf.time.parse('yesterday') return {t == nil, e.code}",
        "[true,\"time.syntax\"]");
    box_is(b, "return wharf.time.format(0, '%Y-%m-%d %H:%M:%S %z %Z %A %j %V %L %%')",
        "\"1970-01-01 00:00:00 +0000 UTC Thursday 001 01 000 %\"");
    box_is(b,
        "return wharf.time.format(wharf.time.parse('2024-07-01T12:00:00Z'), '%H:%M %Z %z', "
        "'Europe/Berlin')",
        "\"14:00 CEST +0200\"");
    box_is(b,
        "return wharf.time.format(wharf.time.parse('2060-07-01T12:00:00Z'), '%H:%M %Z', "
        "'America/New_York')",
        "\"08:00 EDT\"");
    box_is(b,
        "return wharf.time.format(wharf.time.parse('2061-01-01T12:00:00Z'), '%H:%M %Z', "
        "'America/New_York')",
        "\"07:00 EST\"");
}

static void test_time_arithmetic(void **state)
{
    struct box *b = *state;

    /* a day more is the same time of day, also when the clocks change */
    box_is(b,
        "local t = wharf.time.parse('2025-03-29T12:00:00Z') return "
        "{wharf.time.iso(wharf.time.add(t, {days = 1}, "
        "'Europe/Berlin')), wharf.time.iso(wharf.time.add(t, {hours = 24}, 'Europe/Berlin'))}",
        "[\"2025-03-30T11:00:00.000Z\",\"2025-03-30T12:00:00.000Z\"]");
    /* skipped: the moment of the change; repeated: the first */
    box_is(b,
        "return wharf.time.iso(wharf.time.add(wharf.time.parse('2025-03-29T01:30:00Z'), {days = "
        "1}, 'Europe/Berlin'))",
        "\"2025-03-30T01:00:00.000Z\"");
    box_is(b,
        "return wharf.time.iso(wharf.time.add(wharf.time.parse('2025-10-25T00:30:00Z'), {days = "
        "1}, 'Europe/Berlin'))",
        "\"2025-10-26T00:30:00.000Z\"");
    box_is(b,
        "return wharf.time.iso(wharf.time.add(wharf.time.parse('2024-01-31T08:00:00Z'), {months = "
        "1}))",
        "\"2024-02-29T08:00:00.000Z\"");
    box_is(b,
        "local p, s = wharf.time.parse('2025-08-15T22:30:10.500Z'), wharf.time.start_of local out "
        "= {} for i, u in ipairs{'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'} do "
        "out[i] = wharf.time.iso(s(p, u)) end return out",
        "[\"2025-08-15T22:30:00.000Z\",\"2025-08-15T22:00:00.000Z\",\"2025-08-15T00:00:00.000Z\","
        "\"2025-08-11T00:00:00."
        "000Z\","
        "\"2025-08-01T00:00:00.000Z\",\"2025-07-01T00:00:00.000Z\",\"2025-01-01T00:00:00.000Z\"]");
    box_is(b,
        "return wharf.time.iso(wharf.time.start_of(wharf.time.parse('2025-08-15T22:30:10Z'), "
        "'day', 'Europe/Berlin'))",
        "\"2025-08-15T22:00:00.000Z\"");
    box_true(b, "wharf.time.diff(10.5, 9.25) == 1.25 and wharf.time.diff(0.3, 0.1) == 0.2");
    box_is(b,
        "local function added(t) return wharf.time.iso(wharf.time.add(0, t)) end return {added{ms "
        "= 5}, added{seconds = 1}, added{minutes = 1}, added{hours = 1}, added{weeks = 1}, "
        "added{years = 1, months = -2}}",
        "[\"1970-01-01T00:00:00.005Z\",\"1970-01-01T00:00:01.000Z\",\"1970-01-01T00:01:00.000Z\","
        "\"1970-01-01T01:00:00."
        "000Z\",\"1970-01-08T00:00:00.000Z\",\"1970-11-01T00:00:00.000Z\"]");
    box_ends(b, "wharf.time.add(0, {days = 1.5})", SANDBOX_RAISED, "'days' is not a whole number");
    box_ends(
        b, "wharf.time.format(0, '%H', 'Mars/Base')", SANDBOX_RAISED, "no time zone 'Mars/Base'");
    box_ends(b, "wharf.time.format(0, '%H', '../../etc/passwd')", SANDBOX_RAISED, "no time zone");
    box_ends(b, "wharf.time.add(0, {fortnights = 1})", SANDBOX_RAISED, "not 'fortnights'");
    box_ends(b, "wharf.time.iso(1e300)", SANDBOX_RAISED, "years 1 to 9999");
}

static void test_os(void **state)
{
    struct box *b = *state;

    box_true(b, "os.time{year = 2000, month = 1, day = 1, hour = 0} == 946684800");
    box_true(b,
        "os.time{year = 2000, month = 14, day = -1} == os.time{year = 2001, month = 1, day = 30}");
    box_is(b, "return os.date('%c', 0)", "\"Thu Jan  1 00:00:00 1970\"");
    box_is(b,
        "local d = os.date('*t', 86399) return {d.year, d.month, d.day, d.hour, d.min, d.sec, "
        "d.wday, d.yday, d.isdst}",
        "[1970,1,1,23,59,59,5,1,false]");
    while (clock() < CLOCKS_PER_SEC / 5) { /* what others computed before is not this run's */
    }
    box_true(b, "os.clock() >= 0 and os.clock() < 0.1 and os.difftime(5, 3) == 2.0");
    box_is(b, "return {os.date('!%H', 3600), os.date('%Ey %Od', 0)}", "[\"01\",\"70 01\"]");
    box_ends(b, "os.date('%Q')", SANDBOX_RAISED, "no conversion '%Q'");
}

static void test_text(void **state)
{
    struct box *b = *state;

    box_is(b, "return wharf.text.split('a,b,,c', ',')", "[\"a\",\"b\",\"\",\"c\"]");
    box_is(b, "return wharf.text.split('a.b.c', '.', 2)", "[\"a\",\"b.c\"]");
    box_is(b, "return wharf.text.join({1, 'b', true}, '-')", "\"1-b-true\"");
    box_true(b, "wharf.text.trim(' \\t a b \\u{a0}\\n') == 'a b'");
    box_true(b, "wharf.text.starts_with('abc', 'ab') and wharf.text.ends_with('abc', 'bc') and "
                "wharf.text.contains('a.c', '.') and not wharf.text.contains('abc', '.')");
    box_true(b, "wharf.text.pad('é', 3) == 'é  ' and wharf.text.pad('7', 3, {fill = '0', side = "
                "'left'}) == '007'");
    box_is(
        b, "return wharf.text.slug('  Größe & Ärger: Nº 5 — Łódź ')", "\"grosse-arger-no-5-odz\"");
    box_true(b,
        "wharf.text.similarity('kitten', 'sitting') == 1 - 3/7 and wharf.text.similarity('', '') "
        "== 1.0 and wharf.text.similarity('', 'ab') == 0.0 and wharf.text.similarity('ab', '') == "
        "0.0");
    box_is(b,
        "return wharf.text.template('Hi {{ u.name }}, {{n}} {{gone}}!', {u = {name = '<Bo>'}, n = "
        "3}, {escape = 'html'})",
        "\"Hi &lt;Bo&gt;, 3 !\"");
    box_is(b, "return wharf.text.template('{\"a\":\"{{v}}\"}', {v = 'x\"y'}, {escape = 'json'})",
        "\"{\\\"a\\\":\\\"x\\\\\\\"y\\\"}\"");
    box_is(b,
        "return wharf.text.template('?q={{a}}&o={{o}}&n={{n}}', {a = 'x y&', o = {b = 1, a = {2}}, "
        "n = wharf.null}, {escape = 'url'})",
        "\"?q=x%20y%26&o=%7B%22a%22%3A%5B2%5D%2C%22b%22%3A1%7D&n=\"");
    box_is(b, "return wharf.text.template('{{a}}', {a = [[\"&<>']]}, {escape = 'html'})",
        "\"&quot;&amp;&lt;&gt;&#39;\"");
    box_true(
        b, "wharf.text.ends_with('abc', '') and wharf.text.similarity('äöü', 'äöé') == 1 - 1/3");
    box_ends(
        b, "wharf.text.template('', {}, {escape = 'xml'})", SANDBOX_RAISED, "html, json or url");
    box_ends(b, "wharf.text.split('a', '')", SANDBOX_RAISED, "at least one character");
    box_ends(b, "wharf.text.pad('a', 3, {fill = 'xy'})", SANDBOX_RAISED, "fill is one character");
    box_ends(b, "wharf.text.slug(('x'):rep(1001))", SANDBOX_RAISED, "1000 bytes");
}

static void test_url(void **state)
{
    struct box *b = *state;

    box_is(b,
        "local u = wharf.url.parse('https://me@API.example.com:8443/a/b?x=1&x=2&y=a+b%21#top') "
        "return {u.scheme, u.user, u.host, u.port, u.path, u.query.x[2], u.query.y, u.fragment}",
        "[\"https\",\"me\",\"api.example.com\",8443,\"/a/b\",\"2\",\"a b!\",\"top\"]");
    box_is(b,
        "return wharf.url.build({host = 'h.example', path = 'a b', query = {q = 'ä', list = {1, "
        "2}}, port = 81})",
        "\"https://h.example:81/a b?list=1&list=2&q=%C3%A4\"");
    box_is(b, "return wharf.url.decode(wharf.url.encode('a/b?c d'))", "\"a/b?c d\"");
    box_is(b, "local u, e = wharf.url.parse('no address') return {u == nil, e.code}",
        "[true,\"url.syntax\"]");
    box_is(b, "return wharf.url.parse('http://[::1]:80').host", "\"[::1]\"");
    box_is(b, "return wharf.url.parse('http://h/?a=1&b=x&a=2&a=3').query.a", "[\"1\",\"2\",\"3\"]");
    box_is(b, "local u, e = wharf.url.parse('https:///path') return {u == nil, e.message}",
        "[true,\"the address has no host\"]");
    box_is(b,
        "return {wharf.url.build{scheme = 'ftp', user = 'a b', host = 'h', fragment = 'x y'}, "
        "wharf.url.query{k = wharf.null, j = 1, a = 1, z = 1, b = 1}}",
        "[\"ftp://a%20b@h/#x%20y\",\"a=1&b=1&j=1&k=&z=1\"]");
    box_ends(b, "wharf.url.build{path = '/x'}", SANDBOX_RAISED, "an address has a host");
}

static void test_crypto(void **state)
{
    struct box *b = *state;

    box_is(b, "return wharf.hex.encode(wharf.crypto.sha256('abc'))",
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"");
    box_is(b,
        "return wharf.hex.encode(wharf.crypto.hmac_sha256('key', 'The quick brown fox jumps over "
        "the lazy dog'))",
        "\"f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8\"");
    box_true(b, "wharf.crypto.equal('a', 'a') and not wharf.crypto.equal('a', 'b') and not "
                "wharf.crypto.equal('a', 'ab')");
    box_true(b, "#wharf.crypto.random_bytes(1024) == 1024");
    box_ends(b, "wharf.crypto.random_bytes(1025)", SANDBOX_RAISED, "0 to 1024");
    box_is(b, "return wharf.crypto.uuid()", "\"5a5a5a5a-5a5a-4a5a-9a5a-5a5a5a5a5a5a\"");
    box_true(b, "wharf.crypto.id('box'):match('^box_01JGFJJZ[0-9A-Z]+$') ~= nil and "
                "#wharf.crypto.id('box') == 30");
    box_ends(b, "wharf.crypto.id('Box')", SANDBOX_RAISED, "a prefix is a word");
}

static void test_crypto_webhooks(void **state)
{
    struct box *b = *state;

    /* the example of the Standard Webhooks specification */
    box_is(b,
        "return wharf.crypto.sign_webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', "
        "'msg_p5jXN8AQM9LWM0D4loKWxJek', "
        "1614265330, '{\"test\": 2432232314}')",
        "\"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"");
    box_is(b,
        "local s = wharf.crypto.sign_webhook('k', 'm1', 1735689500, 'body') local function try(h, "
        "o) return (wharf.crypto.verify_webhook('k', h, 'body', o)) end return "
        "{try({['Webhook-Id'] = 'm1', "
        "['webhook-timestamp'] = "
        "'1735689500', "
        "['webhook-signature'] = 'v1,AAAA ' .. s}), try({['webhook-id'] = 'm2', "
        "['webhook-timestamp'] = '1735689500', "
        "['webhook-signature'] = s}), try({['webhook-id'] = 'm1', ['webhook-timestamp'] = "
        "'1735689500', ['webhook-signature'] = s}, {tolerance_s = 50})}",
        "[true,false,false]");
    box_is(b,
        "local function at(t, o) local h = {['webhook-id'] = 'm', ['webhook-timestamp'] = "
        "tostring(t), ['webhook-signature'] = wharf.crypto.sign_webhook('k', 'm', t, 'b')} local "
        "good, e = wharf.crypto.verify_webhook('k', h, 'b', o) return good or e.code "
        "end return {at(1735689600 - 299), at(1735689600 - 301), at(1735689600 + 299), "
        "at(1735689600 + 302), at(1735689600 - 900, {tolerance_s = 1000})}",
        "[true,\"webhook.too_old\",true,\"webhook.too_old\",true]");
    box_is(b,
        "local out = {} for i, h in ipairs{{['webhook-id'] = 'm'}, {['webhook-id'] = 'm', "
        "['webhook-timestamp'] = 'x', ['webhook-signature'] = 's'}} do local _, e = "
        "wharf.crypto.verify_webhook('k', h, '') "
        "out[i] = e.code end "
        "return out",
        "[\"webhook.headers\",\"webhook.headers\"]");
    box_ends(b, "wharf.crypto.sign_webhook('whsec_!', 'm', 1, '')", SANDBOX_RAISED,
        "goes on with base64");
    box_is(b,
        "return {wharf.base64.encode('a?>'), wharf.base64.encode('a?>\\xff', {url = true}), "
        "wharf.base64.decode('YT8+'), wharf.base64.decode('YQ'), wharf.base64.decode('YT8-', {url "
        "= true})}",
        "[\"YT8+\",\"YT8-_w\",\"a?>\",\"a\",\"a?>\"]");
    box_true(b, "wharf.base64.decode('YQ==YQ==') == nil and wharf.base64.decode('a') == nil and "
                "wharf.base64.decode('Y Q=') == nil and wharf.hex.decode('0g') == nil and "
                "wharf.hex.decode('abc') == nil and wharf.hex.decode('FFfe') == '\\xff\\xfe'");
}

static void test_tables(void **state)
{
    struct box *b = *state;

    box_is(b,
        "local t = {a = {b = {{c = 5}}}} return {wharf.table.get(t, 'a.b.1.c'), wharf.table.get(t, "
        "'a.x.y', 'none')}",
        "[5,\"none\"]");
    box_is(b,
        "local a = {x = {1}, e = wharf.json.array()} local c = wharf.table.copy(a) c.x[1] = 2 "
        "return {a.x[1], c.e, c.x}",
        "[1,[],[2]]");
    box_is(b,
        "return wharf.json.encode(wharf.table.merge({a = {x = 1, y = 2}, l = {1, 2}}, {a = {y = "
        "3}, l = {9}}), {sort_keys = true})",
        "\"{\\\"a\\\":{\\\"x\\\":1,\\\"y\\\":3},\\\"l\\\":[9]}\"");
    box_is(b,
        "local d = wharf.table.diff({a = 1, b = {c = 2}}, {a = 1, b = {c = 3}, e = 4}) "
        "return {#d, d[1].path, d[1].old, d[1].new, d[2].path, d[2].new}",
        "[2,\"b.c\",2,3,\"e\",4]");
    box_is(b,
        "local d = wharf.table.diff({l = {1, 2}, z = 1, [10] = 1, [2] = 1}, {l = {1, 3}}) local "
        "out = {} for i, one in ipairs(d) do out[i] = one.path end return {out, d[3].old, "
        "d[3].new}",
        "[[\"10\",\"2\",\"l\",\"z\"],[1,2],[1,3]]");
    box_is(b,
        "local a, b = {x = {1}}, {y = {2}} local m = wharf.table.merge(a, b) m.x[1] = 9 m.y[1] = 9 "
        "return {a.x[1], b.y[1], a.y == nil, wharf.table.get({}, 'a', 7)}",
        "[1,2,true,7]");
    box_is(b, "return wharf.table.keys({b = 1, a = 2, [10] = 1, [3] = 1, [1] = 1})",
        "[1,3,10,\"a\",\"b\"]");
    box_is(b,
        "local t = {1, 2, 3, 4} local f = function(v) return v % 2 == 0 end return "
        "{wharf.table.map(t, function(v) "
        "return "
        "v * v end), wharf.table.filter(t, f), wharf.table.find(t, f)}",
        "[[1,4,9,16],[2,4],2,2]");
    box_is(b, "return wharf.table.group_by({{s = 'a'}, {s = 'b'}, {s = 'a'}, {}}, 's').a",
        "[{\"s\":\"a\"},{\"s\":\"a\"}]");
    box_is(b,
        "return wharf.table.group_by({1, 2, 3}, function(v, i) return v > 1 and 'more' or nil end)",
        "{\"more\":[2,3]}");
    box_true(b, "wharf.table.equal({a = {1, 2}}, {a = {1, 2}}) and not wharf.table.equal({a = 1}, "
                "{a = 1, b = 2})");
    box_ends(b, "local t = {} t.t = t wharf.table.copy(t)", SANDBOX_RAISED, "in a circle");
}

static void test_csv(void **state)
{
    struct box *b = *state;

    box_is(b, "return wharf.csv.decode('a,b\\r\\n1,\"x \"\"y\"\"\\nz\"\\n,')",
        "[[\"a\",\"b\"],[\"1\",\"x \\\"y\\\"\\nz\"],[\"\",\"\"]]");
    box_is(b,
        "local r = wharf.csv.decode('id;n\\n7;x\\n8', {header = true, delimiter = ';'}) return "
        "{r[1].id, r[1].n, r[2].n}",
        "[\"7\",\"x\",\"\"]");
    box_is(b, "return wharf.csv.encode({{id = 1, n = 'a,b'}, {id = 2}}, {header = {'id', 'n'}})",
        "\"id,n\\r\\n1,\\\"a,b\\\"\\r\\n2,\\r\\n\"");
    box_is(b,
        "return {wharf.csv.decode('\\xEF\\xBB\\xBFa%1\\r\\n\\r\\n\\n2%3', {delimiter = '%'}), "
        "(select(3, wharf.csv.decode('a,b', {header = true})))}",
        "[[[\"a\",\"1\"],[\"2\",\"3\"]],[\"a\",\"b\"]]");
    box_is(b,
        "return wharf.csv.encode({{' a', 'b ', 'c\"d', 'e\\nf', ';'}, {1, true}}, {delimiter = "
        "';'})",
        "\"\\\" a\\\";\\\"b \\\";\\\"c\\\"\\\"d\\\";\\\"e\\nf\\\";\\\";\\\"\\r\\n1;true\\r\\n\"");
    box_is(b,
        "local r, e = wharf.csv.decode('a\\r\\n\"b\\nc\"\\nx\"y') return {r == nil, e.line, "
        "e.message}",
        "[true,4,\"line 4: a quote stands in a field that does not begin with one\"]");
    box_ends(b, "wharf.csv.decode('', {delimiter = ', '})", SANDBOX_RAISED,
        "a delimiter is one character");
    box_is(b, "local r, e = wharf.csv.decode('a,\"b') return {r == nil, e.code}",
        "[true,\"csv.syntax\"]");
    box_is(b, "local r, e = wharf.csv.decode('a\\n\"b\"c') return {r == nil, e.line}", "[true,2]");
}

static void test_filter(void **state)
{
    struct box *b = *state;
    static const char *const holds[] = {"{path = 'data.status', op = 'eq', value = 'sent'}",
        "{path = 'data.n', op = 'gt', value = 1}", "{path = 'data.n', op = '!eq', value = '2'}",
        "{path = 'data.list.1', op = 'eq', value = 'b'}", "{path = 'data.none', op = '!exists'}",
        "{path = 'data.empty', op = 'exists'}",
        "{path = 'data.empty', op = 'eq', value = wharf.null}",
        "{path = 'data.status', op = 'in', value = {'x', 'sent'}}",
        "{path = 'data.status', op = '!in', value = {'x'}}",
        "{path = 'data.status', op = 'changed'}", "{path = 'status', op = 'changed'}",
        "{path = 'data.status', op = 'lte', value = 'sent'}",
        "{path = 'data.none', op = '!eq', value = 1}", "{path = 'data.n', op = 'gte', value = 2}",
        "{path = 'data.yes', op = 'eq', value = true}",
        "{path = 'data.yes', op = '!eq', value = false}"};
    static const char *const fails[] = {"{path = 'data.status', op = 'eq', value = wharf.null}",
        "{path = 'data.n', op = 'eq', value = '2'}", "{path = 'data.status', op = 'gt', value = 1}",
        "{path = 'data.list.0b', op = 'exists'}", "{path = 'data.n', op = 'changed'}",
        "{path = 'data.none', op = 'eq', value = 1}", "{path = 'data.n', op = 'lt', value = 2}",
        "{path = 'data.n', op = 'gt', value = 2}", "{path = 'data.yes', op = 'gte', value = true}"};
    char expression[1024];

    for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]) + sizeof(fails) / sizeof(fails[0]);
         i++) {
        bool good = i < sizeof(holds) / sizeof(holds[0]);

        snprintf(expression, sizeof(expression),
            "%s wharf.filter.match({%s}, {data = {status = 'sent', n = 2, list = {'a', 'b'}, empty "
            "= wharf.null, yes = true}, previous_attributes = {status = 'draft'}})",
            good ? "" : "not", good ? holds[i] : fails[i - sizeof(holds) / sizeof(holds[0])]);
        box_true(b, expression);
    }
    box_true(b, "wharf.filter.match(nil, {}) and wharf.filter.match({}, {}) and "
                "wharf.filter.match(wharf.null, {})");
    box_ends(b, "wharf.filter.match({{path = 'a', op = 'like', value = 1}}, {})", SANDBOX_RAISED,
        "op is one of");
}

static void test_asking(void **state)
{
    struct box *b = *state;

    b->answer = SANDBOX_GIVEN;
    b->text = "{\"status\":200,\"headers\":{\"content-type\":\"application/"
              "json\"},\"body\":\"eyJhIjoxfQ==\"}";
    box_is(b,
        "local r = wharf.http.post('https://x.example/a?b=1', {json = {k = 1}, query = {q = 'z'}}) "
        "return {r.status, r.json().a, r.body, r.headers['content-type']}",
        "[200,1,\"{\\\"a\\\":1}\",\"application/json\"]");
    assert_non_null(strstr(b->log.p, "\"url\":\"https://x.example/a?b=1&q=z\""));
    assert_non_null(strstr(b->log.p, "\"body\":\"eyJrIjoxfQ==\""));
    box_ends(b, "wharf.http.get()", SANDBOX_RAISED, "a table with a url");
    b->text = "[{\"response\":{\"status\":204,\"headers\":{}}},{\"error\":{\"code\":\"http.dns\","
              "\"message\":\"m\"}}]";
    box_is(b,
        "local r = wharf.http.all({{url = 'http://a'}, {url = 'http://b'}}) return "
        "{r[1][1].status, r[2][1] == nil, "
        "r[2][2].code}",
        "[204,true,\"http.dns\"]");
    b->text = "{\"value\":{\"n\":null}}";
    box_true(b, "wharf.kv.get('k').n == wharf.null");
    b->text = "{\"done\":true}";
    box_true(b, "wharf.kv.set('k', false, {ttl = 5})");
    box_ends(b, "wharf.kv.set('', 1)", SANDBOX_RAISED, "1 to 200 bytes");
    b->text = "{\"token\":\"t\"}";
    box_is(b, "return {wharf.lock('l', {wait_ms = 5}, function() return 1, 2 end)}", "[1,2]");
    box_ends(b, "wharf.lock('l', function() error('inside') end)", SANDBOX_RAISED, "inside");
    assert_non_null(strstr(b->log.p, "lock.give {\"token\":\"t\"}"));
    box_ends(b, "wharf.emit('shipment.created', {})", SANDBOX_RAISED, "custom.<name>");
    box_ends(b, "wharf.mail.send{to = 'a@example.com', text = 't'}", SANDBOX_RAISED,
        "to, subject, text");
    b->text = "{\"status\":200,\"message\":\"\",\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}],"
              "\"pagination\":{\"has_more\":true}}";
    box_is(b,
        "local n = 0 for item in wharf.api.list('/v1/items', {limit = 2}, {max = 5}) do n = n + 1 "
        "end return n",
        "5");
}

/* The host was asked with each of these parts (up to a NULL); then the log is empty again. */
static void asked(struct box *b, const char *body, const char *const *parts)
{
    if (!box_try(b, body))
        fail_msg("%s\n%s", body, b->error.message);
    for (; *parts; parts++) {
        if (!strstr(buf_str(&b->log).p, *parts))
            fail_msg("%s\nasked %s", body, buf_str(&b->log).p);
    }
    buf_clear(&b->log);
}
#define ASKED(b, body, ...) asked(b, body, (const char *const[]){__VA_ARGS__, NULL})

static void test_what_the_host_is_asked(void **state)
{
    struct box *b = *state;

    b->answer = SANDBOX_GIVEN;
    b->text = "{\"status\":200,\"message\":\"Fine\",\"data\":{},\"headers\":{},\"value\":5,"
              "\"done\":true,\"items\":[],"
              "\"id\":\"x\",\"token\":\"t\"}";
    box_is(b, "local _, _, meta = wharf.api.get('/v1/x') return meta.message", "\"Fine\"");
    ASKED(b, "wharf.api.post('/v1/x', {a = 1}, {idempotency_key = 'k1'})", "api.post {",
        "\"path\":\"/v1/x\"", "\"body\":{\"a\":1}", "\"idempotency_key\":\"k1\"");
    ASKED(b, "wharf.api.delete('/v1/x', {idempotency_key = 'k2'})", "\"idempotency_key\":\"k2\"");
    ASKED(b, "wharf.api.post('/v1/x', {}, {idempotency_key = ('~ '):rep(127) .. 'k'})",
        "\"idempotency_key\":\"~ ~ ");
    box_ends(b, "wharf.api.post('/v1/x', {}, {idempotency_key = ''})", SANDBOX_RAISED,
        "1 to 255 printable ASCII");
    box_ends(b, "wharf.api.post('/v1/x', {}, {idempotency_key = ('k'):rep(256)})", SANDBOX_RAISED,
        "or leave it out");
    box_ends(
        b, "wharf.api.post('/v1/x', {}, {idempotency_key = 5})", SANDBOX_RAISED, "param.invalid");
    box_ends(
        b, "wharf.api.delete('/v1/x', {idempotency_key = 'ä'})", SANDBOX_RAISED, "printable ASCII");
    box_ends(b, "wharf.api.delete('/v1/x', {idempotency_key = 'a\\nb'})", SANDBOX_RAISED,
        "printable ASCII");
    box_ends(b, "wharf.api.delete('/v1/x', {idempotency_key = wharf.null})", SANDBOX_RAISED,
        "printable ASCII");
    ASKED(b, "wharf.api.get('/v1/x', {limit = 2})", "\"query\":{\"limit\":2}");
    ASKED(b, "wharf.http.post('http://a', {json = {}})", "\"content-type\":\"application/json\"");
    ASKED(b, "wharf.http.post('http://a', {form = {a = 1}})",
        "\"content-type\":\"application/x-www-form-urlencoded\"");
    ASKED(b, "wharf.http.put('http://a', {timeout_ms = 7, max_bytes = 9})", "\"timeout_ms\":7",
        "\"max_bytes\":9");
    ASKED(
        b, "wharf.kv.set('k', 1, {ttl = 5, if_absent = true})", "\"ttl\":5", "\"if_absent\":true");
    ASKED(b, "wharf.kv.incr('k', 3, {ttl = 6})", "kv.incr {", "\"key\":\"k\"", "\"by\":3",
        "\"ttl\":6");
    ASKED(b, "wharf.kv.list()", "kv.list {", "\"prefix\":\"\"", "\"limit\":100");
    ASKED(b, "wharf.lock('l', {ttl_ms = 8, wait_ms = 9}, function() end)", "lock.take {",
        "\"name\":\"l\"", "\"ttl_ms\":8", "\"wait_ms\":9");
    ASKED(b, "pcall(wharf.lock, 'l', function() error('x') end)", "lock.give {\"token\":\"t\"}");
}

static void test_what_the_host_is_told(void **state)
{
    struct box *b = *state;

    b->answer = SANDBOX_GIVEN;
    b->text = "{\"status\":200,\"message\":\"Fine\",\"data\":{},\"headers\":{}}";
    ASKED(b, "wharf.log.info('m', 5)", "\"fields\":{\"value\":5}");
    ASKED(b, "wharf.log.info('m', {t = ('ä'):rep(3000)})",
        "\"fields\":{\"truncated\":\"{\\\"t\\\":\\\"ää", "ä …\"}");
    ASKED(b, "wharf.log.info(('m'):rep(5000), {t = 1})", "\"fields\":{\"truncated\":\" …\"}");
    ASKED(b, "wharf.log.info(('m'):rep(4089), {t = 1})", "\"fields\":{\"t\":1}");
    ASKED(b, "wharf.log.info(('m'):rep(4090), {t = 1})", "\"fields\":{\"truncated\":\" …\"}");
    box_ends(b, "wharf.log.info('m', {print})", SANDBOX_RAISED, "can't be written as JSON");
    ASKED(b, "wharf.log.info('\\xff\\xe4a')", "\"message\":\"??a\"");
    ASKED(b, "wharf.log.info('a' .. ('ä'):rep(2100))", "ä …\"");
    box_ends(b, "wharf.kv.set('k', nil)", SANDBOX_RAISED, "anything but nil");
    box_ends(b, "wharf.kv.set('k', {a = {'a\\0b'}})", SANDBOX_RAISED,
        "a text with U+0000 can't be stored");
    box_ends(b, "wharf.emit('custom.e', {['\\0'] = 1})", SANDBOX_RAISED, "U+0000");
    ASKED(b, "wharf.kv.set('k', '\\\\u0000')", "\"value\":\"\\\\u0000\"");
    ASKED(b, "wharf.log.info('a\\0b')", "a\\u0000b");
    ASKED(b, "wharf.http.post('http://a', {body = 'a\\0b'})", "\"body\":\"YQBi\"");
    box_ends(b, "wharf.kv.cas('k', 1)", SANDBOX_RAISED, "anything but nil");
    box_ends(b, "wharf.kv.incr('k', 0.5)", SANDBOX_RAISED, "adds integers");
    box_ends(b, "wharf.secret(5)", SANDBOX_RAISED, "the key of a secret");
    box_ends(b, "wharf.sleep('1')", SANDBOX_RAISED, "takes milliseconds");
    box_ends(b, "wharf.sleep(-1)", SANDBOX_RAISED, "takes milliseconds");
    box_ends(b, "wharf.reject('No code', 'x')", SANDBOX_RAISED, "the code of wharf.reject");
    box_ends(b, "wharf.reject(('c'):rep(61), 'x')", SANDBOX_RAISED, "the code of wharf.reject");
    box_ends(b, "wharf.reject('only_code')", SANDBOX_REJECTED, "only_code");
    assert_string_equal(b->error.message, "only_code");
}

/* Pages until there is no more, a thousand items where nothing else is said; what the API
 * refuses is raised. */
static void test_lists(void **state)
{
    struct box *b = *state;
    static const char count[] =
        "local n = 0 for _ in wharf.api.list('/v1/x') do n = n + 1 end return n";

    b->answer = SANDBOX_GIVEN;
    b->text = "{\"status\":200,\"data\":[1,2,3],\"pagination\":{\"has_more\":true,\"next_cursor\":"
              "\"c\"}}";
    box_is(b, count, "1000");
    buf_clear(&b->log);
    ASKED(b, "for _ in wharf.api.list('/v1/x', {a = 1}, {max = 4}) do end", "\"cursor\":\"c\"");
    b->text = "{\"status\":200,\"data\":[1],\"pagination\":{\"has_more\":true,\"page\":4}}";
    ASKED(b, "for _ in wharf.api.list('/v1/x', {search = 'y'}, {max = 2}) do end", "\"page\":5");
    b->text = "{\"status\":200,\"data\":[1,2]}";
    box_is(b, count, "2");
    b->text = "{\"code\":\"not_found\",\"message\":\"nothing\",\"status\":404}";
    b->answer = SANDBOX_REFUSED;
    box_ends(b, count, SANDBOX_RAISED, "/v1/x: nothing (not_found)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {BOX(test_json), BOX(test_json_refuses), BOX(test_time),
        BOX(test_time_arithmetic), BOX(test_os), BOX(test_text), BOX(test_url), BOX(test_crypto),
        BOX(test_crypto_webhooks), BOX(test_tables), BOX(test_csv), BOX(test_filter),
        BOX(test_asking), BOX(test_what_the_host_is_asked), BOX(test_what_the_host_is_told),
        BOX(test_lists)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
