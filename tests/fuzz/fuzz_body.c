/* fuzz_body.c - request bodies against the station of tests/unit/fixtures: checking never
 * crashes, and what was accepted is what its column takes. */
#include "../unit/unit.h"

#include "resource/body.h"
#include "util/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    must(message.n > path.n && *rule && utf8_valid(message.p, message.n) &&
             utf8_valid(path.p, path.n),
        "problems are sentences");
    ++*(size_t *)arg;
}

/* Texts in normal form stay as they are when they are sent again. */
static void sent_again(struct arena *a, const struct field *f, wharf_str text)
{
    struct wharf_json v = {.type = JSON_STRING, .text = text};
    struct value again;
    size_t reported = 0;

    if (text.n == 0)
        return;
    must(body_check_field(a, f, OP_UPDATE, &v, WHARF_S("x"), 0, &again, tell, &reported),
        "accepted texts are accepted again");
    must(str_eq(again.text, text), "accepted texts do not change");
}

static void check_value(struct arena *a, const struct field *f, const struct value *v);

static void check_items(struct arena *a, const struct field *f, const struct value *v)
{
    for (size_t i = 0; i < v->n_items; i++)
        for (size_t k = 0; k < f->children->n_fields; k++)
            check_value(a, &f->children->fields[k], &v->items[i].values[k]);
}

static void check_value(struct arena *a, const struct field *f, const struct value *v)
{
    struct json_error error;
    struct value merged;
    int64_t us;
    size_t reported = 0;

    if (!v->present || v->null)
        return;
    if (f->kind == FIELD_CHILDREN) {
        check_items(a, f, v);
        return;
    }
    switch (f->store) {
    case STORE_TEXT:
    case STORE_SECRET:
        must(utf8_valid(v->text.p, v->text.n) && !memchr(v->text.p, 0, v->text.n),
            "texts can be stored");
        sent_again(a, f, v->text);
        break;
    case STORE_INT:
    case STORE_DEC:
        must(v->text.n > 0 && strspn(v->text.p, "0123456789.-") == v->text.n, "numbers are digits");
        break;
    case STORE_BOOL:
        must(str_eqz(v->text, "true") || str_eqz(v->text, "false"), "booleans are true or false");
        break;
    case STORE_TIME:
        must(v->text.n == ISO_MS_LEN && time_parse_iso(v->text, false, &us),
            "dates are in ISO form");
        break;
    case STORE_JSON:
    case STORE_METADATA:
        must(json_parse(a, v->text, &error) != NULL, "values are JSON");
        if (v->patch &&
            value_merge(a, f, WHARF_S("{\"a\": 1}"), v, WHARF_S("x"), &merged, tell, &reported))
            must(json_parse(a, merged.text, &error) != NULL, "merged values are JSON");
        break;
    case STORE_ARRAY:
        if (v->set_input)
            must(json_parse(a, value_apply_set(a, WHARF_S("[\"a\", \"b\"]"), v), &error) != NULL,
                "changed arrays are JSON");
        else
            must(json_is(json_parse(a, v->text, &error), JSON_ARRAY), "arrays are JSON");
        break;
    case STORE_NONE:
        break;
    }
}

static const struct definition *station(void)
{
    static const struct definition *d; /* once per process: the target runs millions of times */
    size_t reported = 0;

    if (!d) {
        struct arena *a = arena_new(0);

        d = definition_compile(
            a, "stations", unit_file(a, "tests/unit/fixtures/station.json"), tell, &reported);
        must(d != NULL, "the station compiles");
    }
    return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t ops[] = {OP_CREATE, OP_UPDATE};
    const struct definition *d = station();
    struct arena *a = arena_new(0);
    struct json_error error;
    const struct wharf_json *body = json_parse(a, arena_dup(a, (const char *)data, size), &error);

    for (size_t i = 0; body && i < 4; i++) {
        struct value *values = ARENA_ARRAY(a, struct value, d->n_fields);
        size_t reported = 0;
        bool ok = body_check(
            a, d, ops[i % 2], body, i / 2 ? BODY_STRICT : 0, values, tell, &reported);

        must(ok == (reported == 0), "refused bodies have problems, others none");
        for (size_t k = 0; ok && k < d->n_fields; k++)
            check_value(a, &d->fields[k], &values[k]);
    }
    arena_free(a);
    return 0;
}
