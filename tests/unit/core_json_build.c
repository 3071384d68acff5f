/* core_json_build.c - json.h, building: a value that is built is the one that is read from the
 * same text, whatever its shape; what is no JSON is said. */
#include "unit.h"

#include <stdio.h>

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Writes one random value as text and builds the same. */
static void add_random(
    struct jw *w, struct json_build *b, const char *key, unsigned depth, uint32_t *seed)
{
    static const wharf_str texts[] = {{"", 0}, {"plain", 5}, {"a\0b", 3}, {"\xC3\xA9\"\n", 4}};
    uint32_t kind = next_random(seed) % (depth < 6 ? 6 : 4), n = next_random(seed) % 40;
    char name[12];

    switch (kind) {
    case 0:
        jw_null(w, key);
        json_build_null(b, key);
        return;
    case 1:
        jw_bool(w, key, n % 2);
        json_build_bool(b, key, n % 2);
        return;
    case 2:
        jw_raw(w, key, str_z("-12.50"));
        json_build_number(b, key, str_z("-12.50"));
        return;
    case 3:
        jw_str(w, key, texts[n % 4]);
        json_build_text(b, key, texts[n % 4]);
        return;
    default:
        jw_open(w, key, kind == 4 ? '{' : '[');
        json_build_open(b, key, kind == 4 ? '{' : '[');
        for (uint32_t i = 0; i < n; i++) {
            snprintf(name, sizeof(name), "m%u", i * 7919 % 40);
            add_random(w, b, kind == 4 ? name : NULL, depth + 4, seed);
        }
        jw_close(w, kind == 4 ? '}' : ']');
        json_build_close(b);
    }
}

static void assert_same(const struct wharf_json *a, const struct wharf_json *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->truth, b->truth);
    assert_int_equal(a->has_nul, b->has_nul);
    assert_int_equal(a->count, b->count);
    assert_true(str_eq(a->text, b->text));
    assert_true(str_eq(a->key, b->key));
    for (a = a->child, b = b->child; a && b; a = a->next, b = b->next)
        assert_same(a, b);
    assert_true(!a && !b);
}

static void the_same_as_what_is_read(void **state)
{
    uint32_t seed = 7;

    for (int i = 0; i < 2000; i++) {
        const struct wharf_json *read, *built;
        struct json_error error;
        struct json_build b;
        const char *wrong;
        struct buf out;
        struct jw w;

        buf_init(&out, 1 << 20);
        jw_init(&w, &out);
        json_build_init(&b, *state);
        add_random(&w, &b, NULL, 0, &seed);
        read = json_parse(*state, buf_str(&out), &error);
        built = json_build_result(&b, &wrong);
        assert_non_null(read);
        assert_null(wrong);
        assert_same(built, read);
        buf_done(&out);
    }
}

static void shared_values(void **state)
{
    const struct wharf_json *part = unit_json(*state, "{\"a\":[1,2],\"b\":\"x\"}");
    struct json_build b;
    const char *wrong;

    json_build_init(&b, *state);
    json_build_open(&b, NULL, '[');
    json_build_value(&b, NULL, part);
    json_build_value(&b, NULL, json_get(part, "a"));
    json_build_close(&b);
    assert_true(json_equal(
        json_build_result(&b, &wrong), unit_json(*state, "[{\"a\":[1,2],\"b\":\"x\"},[1,2]]")));
    assert_int_equal(part->count, 2);
}

/* A value of that many arrays, put into as many more, is the deepest that is read. */
static void the_depth_of_shared_values(void **state)
{
    static const unsigned halves[][2] = {{0, 64}, {1, 63}, {32, 32}, {63, 1}, {64, 0}};

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        for (unsigned more = 0; more < 2; more++) {
            char text[2 * JSON_DEPTH_MAX + 2];
            unsigned inner = halves[i][1], outer = halves[i][0] + more;
            struct json_build b;
            const char *wrong;

            memset(text, '[', inner);
            text[inner] = '1';
            memset(text + inner + 1, ']', inner);
            text[2 * inner + 1] = 0;
            json_build_init(&b, *state);
            for (unsigned k = 0; k < outer; k++)
                json_build_open(&b, NULL, '[');
            json_build_value(&b, NULL, unit_json(*state, text));
            for (unsigned k = 0; k < outer; k++)
                json_build_close(&b);
            json_build_result(&b, &wrong);
            if (more)
                assert_string_equal(wrong, "nested too deeply");
            else
                assert_null(wrong);
        }
    }
}

/* Builds by steps, a letter each, and returns what is wrong with the value, or NULL: { } [ ] open
 * and close, n adds a null with the name "n", N one with another name each time, v one without a
 * name, u a text that is not UTF-8. */
static const char *wrong_of(struct arena *a, const char *steps)
{
    struct json_build b;
    const char *wrong;
    char name[16];

    json_build_init(&b, a);
    for (int i = 0; steps[i]; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        if (steps[i] == '{' || steps[i] == '[')
            json_build_open(&b, NULL, steps[i]);
        else if (steps[i] == '}' || steps[i] == ']')
            json_build_close(&b);
        else if (steps[i] == 'u')
            json_build_text(&b, NULL, WHARF_S("\xFF"));
        else
            json_build_null(&b, steps[i] == 'n' ? "n" : steps[i] == 'N' ? name : NULL);
    }
    json_build_result(&b, &wrong);
    return wrong;
}

static void what_is_no_json(void **state)
{
    char deep[2 * JSON_DEPTH_MAX + 3] = "";

    assert_null(wrong_of(*state, "v"));
    assert_null(wrong_of(*state, "{n}"));
    assert_null(wrong_of(*state, "[v[]{N}]"));
    assert_null(wrong_of(*state, "{nNNNNNNNNNNNNNNNNNNNNNN}"));
    assert_string_equal(wrong_of(*state, ""), "no value");
    assert_string_equal(wrong_of(*state, "vv"), "two values without an array around them");
    assert_string_equal(wrong_of(*state, "{v}"), "a member without a name");
    assert_string_equal(wrong_of(*state, "[n]"), "a name outside of an object");
    assert_string_equal(wrong_of(*state, "n"), "a name outside of an object");
    assert_string_equal(wrong_of(*state, "{nn}"), "duplicate key");
    assert_string_equal(wrong_of(*state, "{nNNNNNNNNNNNNNNNNNNNNNNn}"), "duplicate key");
    assert_string_equal(wrong_of(*state, "u"), "text that is not UTF-8");
    assert_string_equal(wrong_of(*state, "[v"), "a beginning without an end");
    assert_string_equal(wrong_of(*state, "v]"), "an end without a beginning");
    memset(deep, '[', JSON_DEPTH_MAX);
    memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_null(wrong_of(*state, deep));
    memset(deep, '[', JSON_DEPTH_MAX + 1);
    assert_string_equal(wrong_of(*state, deep), "nested too deeply");
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(the_same_as_what_is_read), UNIT(shared_values),
        UNIT(the_depth_of_shared_values), UNIT(what_is_no_json)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
