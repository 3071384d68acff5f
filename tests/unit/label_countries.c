/* label_countries.c - addresses of labels of every country that schemas/address-forms.json has
 * (docs/spec/06-inference.md section 8.4): a made one of each form of its postal codes, the names
 * of countries in eight languages (tests/data/addresses/country-names.json), states by their
 * names, and military addresses. The file is walked, so that a country which is added is tried. */
#include "label_cases.h"

enum { LANGUAGES = 8, COUNTRIES_LEAST = 60, FORM_TEXT = 24 };

static const struct wharf_json *label_file(struct arena *a, const char *path)
{
    return unit_json(a, unit_file(a, path).p);
}

static const struct wharf_json *forms_of(struct arena *a)
{
    return json_get(label_file(a, "schemas/address-forms.json"), "forms");
}

/* Returns the form whose patterns a country has. */
static const struct wharf_json *base_of(
    const struct wharf_json *forms, const struct wharf_json *form)
{
    wharf_str like = json_text_or(form, "like", "");
    const struct wharf_json *f;

    for (size_t i = 0; like.n && (f = json_at(forms, i)); i++)
        if (str_eq(json_text_or(f, "code", ""), like))
            return f;
    return form;
}

/* Makes a postal code of a pattern (modules/locations/address_tables.h). */
static const char *code_of(wharf_str pattern, char to[FORM_TEXT])
{
    static const char digits[] = "4127683915", letters[] = "BHKMTRLP";
    size_t digit = 0, letter = 0;

    assert_true(pattern.n < FORM_TEXT);
    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.p[i];

        to[i] = c == '9'               ? digits[digit++ % 10]
                : c == 'a'             ? letters[letter++ % 8]
                : c == 'x'             ? (i % 2 ? 'X' : '7')
                : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A')
                                       : c;
    }
    to[pattern.n] = 0;
    return to;
}

static const char *name_of(const struct wharf_json *names, const char *language, wharf_str code)
{
    const struct wharf_json *v = json_get_n(json_get(names, language), code);

    return v ? v->text.p : NULL;
}

/* Tries a label whose last lines are these. Returns how many fields are wrong. */
static size_t tried(struct arena *a, struct label_world *world, const char *line,
    const char *country, const char *fields)
{
    struct label_case c = {.what = line, .country = "", .fields = fields};

    c.drawn = arena_printf(a,
        "20 20 20|TO: JANE DOE\n20 46 20|12 HARBOR STREET\n20 72 20|%s\n%s%s\n", line,
        country ? "20 98 20|" : "", country ? country : "")
                  .p;
    if (country)
        c.what = arena_printf(a, "%s, %s", line, country).p;
    return check(a, world, &c);
}

/* One address of each pattern, with the code on each side of the city on which it may stand. */
static size_t tried_form(struct arena *a, struct label_world *world, const struct wharf_json *form,
    const struct wharf_json *base, const char *country)
{
    wharf_str code = json_text_or(form, "code", ""), stands = json_text_or(base, "stands", "");
    const struct wharf_json *patterns = json_get(base, "postal"), *pattern;
    bool before = !str_eqz(stands, "after"), after = !str_eqz(stands, "before");
    size_t wrong = 0;
    char postal[FORM_TEXT];

    assert_true(patterns && (str_eqz(stands, "either") || before != after));
    for (size_t i = 0; (pattern = json_at(patterns, i)); i++) {
        const char *fields = arena_printf(a,
            "recipient.postal_code=%s\nrecipient.country_code=%.*s\nrecipient.city=TESTHAM\n"
            "recipient.line1=12 HARBOR STREET",
            code_of(pattern->text, postal), STR_ARG(code))
                                 .p;

        if (before)
            wrong += tried(a, world, arena_printf(a, "%s TESTHAM", postal).p, country, fields);
        if (after)
            wrong += tried(a, world, arena_printf(a, "TESTHAM %s", postal).p, country, fields);
    }
    if (!json_at(patterns, 0))
        wrong += tried(a, world, "TESTHAM", country,
            arena_printf(a, "recipient.postal_code=-\nrecipient.country_code=%.*s", STR_ARG(code))
                .p);
    return wrong;
}

static void each_country(void **state)
{
    struct arena *a = *state;
    const struct wharf_json *forms = forms_of(a), *form,
                            *names = label_file(a, "tests/data/addresses/country-names.json");
    struct label_world *world = label_world_new();
    size_t countries = 0, wrong = 0;

    for (size_t i = 0; (form = json_at(forms, i)); i++) {
        wharf_str code = json_text_or(form, "code", "");
        const char *name = name_of(names, "en", code);

        if (!code.n) /* of all the others */
            continue;
        if (!name)
            fail_msg("%.*s is no country", STR_ARG(code));
        countries++;
        wrong += tried_form(a, world, form, base_of(forms, form), name);
    }
    label_world_free(world);
    assert_true(countries >= COUNTRIES_LEAST);
    assert_int_equal(wrong, 0);
}

/* Returns the line of a city in a country, or of one that has the form of those without their
 * own. */
static const char *city_of(struct arena *a, const struct wharf_json *forms, wharf_str code)
{
    const struct wharf_json *form = NULL, *pattern, *f;
    char postal[FORM_TEXT];

    for (size_t i = 0; (f = json_at(forms, i)); i++) {
        wharf_str of = json_text_or(f, "code", "");

        if (str_eq(of, code) || (!of.n && !form))
            form = f;
    }
    form = base_of(forms, form);
    pattern = json_at(json_get(form, "postal"), 0);
    if (!pattern)
        return "TESTHAM";
    code_of(pattern->text, postal);
    return str_eqz(json_text_or(form, "stands", ""), "before")
               ? arena_printf(a, "%s TESTHAM", postal).p
               : arena_printf(a, "TESTHAM %s", postal).p;
}

/* The country of an address is known by its name in each of the languages. */
static void each_language(void **state)
{
    static const char *const languages[LANGUAGES] = {
        "en", "de", "fr", "es", "it", "nl", "pt", "pl"};
    struct arena *a = *state;
    const struct wharf_json *names = label_file(a, "tests/data/addresses/country-names.json"),
                            *all = label_file(a, "schemas/countries.json"), *forms = forms_of(a),
                            *c;
    struct label_world *world = label_world_new();
    size_t wrong = 0, known[LANGUAGES] = {0};

    for (size_t i = 0; (c = json_at(all, i)); i++) {
        wharf_str code = json_text_or(c, "code", "");
        const char *city = city_of(a, forms, code),
                   *fields = arena_printf(a, "recipient.country_code=%.*s", STR_ARG(code)).p;

        for (size_t k = 0; k < LANGUAGES; k++) {
            const char *name = name_of(names, languages[k], code);

            known[k] += name != NULL;
            wrong += name ? tried(a, world, city, name, fields) : 0;
        }
    }
    label_world_free(world);
    for (size_t k = 0; k < LANGUAGES; k++)
        assert_true(known[k] >= 240);
    assert_int_equal(wrong, 0);
}

/* Returns the form of the US. */
static const struct wharf_json *form_of_us(struct arena *a)
{
    const struct wharf_json *us = json_at(forms_of(a), 0);

    assert_true(str_eqz(json_text_or(us, "code", ""), "US"));
    return us;
}

/* A state is known by its code and by each of its names, with a ZIP code of its own. */
static void each_state(void **state)
{
    struct arena *a = *state;
    const struct wharf_json *us = form_of_us(a), *states = json_get(us, "states"), *s, *name;
    struct label_world *world = label_world_new();
    size_t n = 0, wrong = 0;

    for (; (s = json_at(states, n)); n++) {
        wharf_str code = json_at(s, 0)->text;
        const struct wharf_json *ranges = json_get_n(json_get(us, "postal_of_states"), code);
        int first = (int)strtol(json_at(ranges, 0)->text.p, NULL, 10);

        for (size_t k = 0; (name = json_at(s, k)); k++)
            wrong += tried(a, world,
                arena_printf(a, "TESTHAM %.*s %03d12", STR_ARG(name->text), first).p, NULL,
                arena_printf(a,
                    "recipient.state_code=%.*s\nrecipient.postal_code=%03d12\n"
                    "recipient.country_code=US\nrecipient.city=TESTHAM",
                    STR_ARG(code), first)
                    .p);
    }
    label_world_free(world);
    assert_true(n >= 50 + 1 + 5 + 3); /* with the capital, five territories and the forces */
    assert_int_equal(wrong, 0);
}

/* Mail of the forces has a post office for its city, and one of three states. */
static void each_post_of_the_forces(void **state)
{
    static const char *const posts[] = {"APO", "FPO", "DPO"}, *const states[][2] = {{"AA", "34012"},
                                                                  {"AE", "09012"}, {"AP", "96212"}};
    struct arena *a = *state;
    struct label_world *world = label_world_new();
    size_t wrong = 0;

    for (size_t i = 0; i < 9; i++) {
        const char *const *at = states[i % 3];

        wrong += tried(a, world, arena_printf(a, "%s, %s %s", posts[i / 3], at[0], at[1]).p, NULL,
            arena_printf(a,
                "recipient.city=%s\nrecipient.state_code=%s\nrecipient.postal_code=%s\n"
                "recipient.country_code=US",
                posts[i / 3], at[0], at[1])
                .p);
    }
    label_world_free(world);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_country), UNIT(each_language), UNIT(each_state), UNIT(each_post_of_the_forces)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
