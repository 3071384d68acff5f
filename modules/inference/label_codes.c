/* label_codes.c - everything that the barcodes of a label say, those of the picture before those
 * of the request (docs/spec/06-inference.md section 8.1). See label_inside.h; leaves tracking
 * numbers to label_number.c, messages to label_envelope.c and label_gs1.c. */
#include "label_inside.h"

enum { CODE_SURE = 970, REQUEST_LESS = 20, VALUE_MAX = 191 };

const char *label_country_of(uint32_t numeric)
{
    for (const struct label_numeric *n = label_numerics; n->number; n++) {
        if (n->number == numeric)
            return n->code;
    }
    return NULL;
}

struct label_fact label_fact_of(const struct label_code *code, wharf_str value, uint32_t confidence)
{
    return (struct label_fact){.value = value,
        .confidence = value.n ? confidence - (code->source == LABEL_REQUEST ? REQUEST_LESS : 0) : 0,
        .source = code->source,
        .box = code->box,
        .raw = value};
}

void label_coded_reference(
    struct label_coded *c, const char *type, wharf_str value, const struct label_code *code)
{
    if (!value.n || value.n > VALUE_MAX || c->n_references == LABEL_REFERENCES_MAX)
        return;
    for (size_t i = 0; i < c->n_references; i++) {
        if (!strcmp(c->references[i].type, type) && same(c->references[i].value, value))
            return;
    }
    c->reference_codes[c->n_references] = code;
    c->references[c->n_references++] = (struct label_reference){type, value};
}

void label_coded_postal(const struct label_env *env, struct label_coded *c, wharf_str postal,
    wharf_str country, const struct label_code *code)
{
    struct label_fact f = label_fact_of(code, label_trim(label_utf8(env, postal)), CODE_SURE);

    if (country.n && !c->country.confidence)
        c->country = label_fact_of(code, country, CODE_SURE);
    if (!f.confidence)
        return;
    for (size_t i = 0; i < c->n_postals; i++) {
        if (same(c->postals[i].value, f.value)) {
            label_offer(&c->postals[i], &f);
            return;
        }
    }
    if (c->n_postals < LABEL_POSTALS_MAX)
        c->postals[c->n_postals++] = f;
}

void label_coded_spot(
    struct label_coded *c, wharf_str text, const struct label_code *code, bool sure)
{
    if (text.n && c->n_spots < LABEL_SPOTS_MAX)
        c->spots[c->n_spots++] = (struct label_spot){text, code, sure, false};
}

void label_coded_unit(struct label_coded *c, wharf_str text, const struct label_code *code)
{
    if (c->n_spots < LABEL_SPOTS_MAX)
        c->spots[c->n_spots++] = (struct label_spot){text, code, false, true};
}

/* ---- postal codes: 420, 421 ---- */

/* Writes "980283912" as "98028-3912". */
static wharf_str label_zip_text(const struct label_env *env, wharf_str digits)
{
    return digits.n == 9 && label_all_digits(digits)
               ? label_format(env, "%.5s-%.4s", digits.p, digits.p + 5)
               : digits;
}

/* Reads the value of the AI 421: a country's number and a postal code. */
static bool label_postal_of_country(const struct label_env *env, wharf_str value,
    const struct label_code *code, struct label_coded *c)
{
    const char *country;
    wharf_str postal;

    if (value.n < 4 || label_digits((wharf_str){value.p, 3}) != 3)
        return false;
    country = label_country_of(
        (uint32_t)((value.p[0] - '0') * 100 + (value.p[1] - '0') * 10 + (value.p[2] - '0')));
    if (!country)
        return false;
    postal = (wharf_str){value.p + 3, value.n - 3};
    if (!strcmp(country, "US"))
        postal = label_zip_text(env, postal);
    label_coded_postal(env, c, postal, wharf_z(country), code);
    return true;
}

/* Reads a code that is nothing but a postal code: "42098028", "420980283912", "421124K1A0B1",
 * "420K1A0B1". */
static bool label_plain_postal(
    const struct label_env *env, const struct label_code *code, struct label_coded *c)
{
    wharf_str v = code->value, rest;
    bool canadian;

    if (v.n < 8 || v.n > 15 || memcmp(v.p, "42", 2) != 0)
        return false;
    rest = (wharf_str){v.p + 3, v.n - 3};
    if (v.p[2] == '1' && (v.n == 11 || v.n == 12 || v.n == 15 || label_letters(rest)))
        return label_postal_of_country(env, rest, code, c);
    if (v.p[2] != '0')
        return false;
    canadian = rest.n == 6 && label_letters(rest) == 3 && label_digits(rest) == 3;
    if (!canadian && !(label_all_digits(rest) && (rest.n == 5 || rest.n == 9)))
        return false;
    label_coded_postal(
        env, c, label_zip_text(env, rest), canadian ? wharf_z("CA") : wharf_z(""), code);
    return true;
}

/* Reads the routing code of DHL and others: "2LDE10115+01000000". */
static bool label_routing(
    const struct label_env *env, const struct label_code *code, struct label_coded *c)
{
    wharf_str v = code->value;
    const char *end = v.n > 6 ? memchr(v.p, '+', v.n) : NULL;
    char country[3] = {0};

    if (!end || memcmp(v.p, "2L", 2) != 0 || end - v.p < 7 || end - v.p > 16)
        return false;
    memcpy(country, v.p + 2, 2);
    for (const struct label_numeric *n = label_numerics; n->number; n++) {
        if (!strcmp(n->code, country)) {
            wharf_str postal = {v.p + 4, (size_t)(end - v.p) - 4};

            if (!strcmp(country, "US"))
                postal = label_zip_text(env, postal);
            /* one that no address has is none: "2LUS328012+" */
            if (label_is_postal_form(label_key(env, postal), wharf_z(n->code)))
                label_coded_postal(env, c, postal, wharf_z(n->code), code);
            return true;
        }
    }
    return false;
}

/* ---- GS1 ---- */

static void label_gs1_weight(
    const struct label_element *e, const struct label_code *code, struct label_coded *c)
{
    bool metric = !memcmp(e->ai.p, "310", 3) || !memcmp(e->ai.p, "330", 3);
    int64_t value = 0;
    int places = e->ai.p[3] - '0';

    if ((!metric && memcmp(e->ai.p, "320", 3) != 0 && memcmp(e->ai.p, "340", 3) != 0) ||
        places > 5 || c->weight.fact.confidence)
        return;
    for (size_t i = 0; i < e->value.n; i++)
        value = value * 10 + (e->value.p[i] - '0');
    value *= 1000;
    for (int i = 0; i < places; i++)
        value /= 10;
    if (value <= 0)
        return;
    c->weight = (struct label_measure){
        label_fact_of(code, e->value, CODE_SURE), value, metric ? "kg" : "lb"};
}

/* Tells whether the identifier is that of a company of its own: 91 to 99. */
static bool label_ai_internal(wharf_str ai)
{
    return ai.n == 2 && ai.p[0] == '9' && ai.p[1] > '0';
}

/* Reads the elements. Returns its purpose. */
static const char *label_read_elements(const struct label_env *env, const struct label_code *code,
    const struct label_element *e, size_t n, struct label_coded *c)
{
    const char *purpose = "unknown";

    for (size_t i = 0; i < n; i++) {
        wharf_str ai = e[i].ai, value = e[i].value;

        if (is(ai, "00")) {
            purpose = "sscc";
            label_coded_unit(c, label_format(env, "00%.18s", value.p), code);
        } else if (is(ai, "420")) {
            label_coded_postal(env, c, label_zip_text(env, value), wharf_z(""), code);
            purpose = strcmp(purpose, "unknown") ? purpose : "postal";
        } else if (is(ai, "421")) {
            label_postal_of_country(env, value, code, c);
            purpose = strcmp(purpose, "unknown") ? purpose : "postal";
        } else if (is(ai, "400")) {
            label_coded_reference(c, "purchase_order", value, code);
        } else if (is(ai, "401") || is(ai, "402")) {
            label_coded_spot(c, value, code, false);
        } else if (is(ai, "403")) {
            purpose = "routing";
        } else if (label_ai_internal(ai)) {
            label_coded_spot(c,
                label_format(env, "%.2s%.*s", ai.p, (int)(value.n < 90 ? value.n : 90), value.p),
                code, false);
        } else if (ai.n == 4 && ai.p[0] == '3') {
            label_gs1_weight(&e[i], code, c);
        }
    }
    return purpose;
}

/* Tells whether the code may be GS1: its symbology, a separator, parentheses or a name say so. */
static bool label_may_be_gs1(const struct label_code *code)
{
    wharf_str v = code->value;

    return !strncmp(code->symbology, "gs1", 3) || (v.n > 3 && *v.p == '(') ||
           (v.n && memchr(v.p, LABEL_GS1_SEPARATOR, v.n)) || (v.n > 3 && *v.p == ']');
}

/* ---- one code ---- */

/* Tells whether codes of the kind are of goods or payments, never of parcels. */
static bool label_is_retail(const char *symbology)
{
    static const char *const kinds[] = {
        "ean13", "ean8", "upca", "upce", "upc_a", "upc_e", "isbn10", "isbn13", "ean2", "ean5"};

    return word_place(wharf_z(symbology), kinds, sizeof(kinds) / sizeof(kinds[0])) <
           sizeof(kinds) / sizeof(kinds[0]);
}

/* Copies a value without separators. */
static wharf_str label_without_separators(const struct label_env *env, wharf_str v)
{
    char *p = label_new(env, char, v.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] != LABEL_GS1_SEPARATOR)
            p[n++] = v.p[i];
    }
    return (wharf_str){p, n};
}

/* Finds the ZIP code in front of a number of USPS: 420, five or nine digits, the number. */
static void label_zip_in_front(
    const struct label_env *env, const struct label_code *code, struct label_coded *c, wharf_str v)
{
    struct label_number n = {.checked = false};
    size_t digits;

    if (v.n < 20 || memcmp(v.p, "420", 3) != 0 || !label_all_digits(v) ||
        !env->detect(env->ctx, v, &n) || !n.checked || n.normalized.n >= v.n)
        return;
    digits = v.n - 3 - n.normalized.n;
    if (digits == 5 || digits == 9)
        label_coded_postal(
            env, c, label_zip_text(env, (wharf_str){v.p + 3, digits}), wharf_z("US"), code);
}

static const char *label_purpose_of(
    const struct label_env *env, const struct label_code *code, struct label_coded *c)
{
    struct label_element e[LABEL_ELEMENTS_MAX];
    wharf_str bare = label_without_separators(env, code->value);
    const char *purpose = "unknown";
    size_t n;

    if (!bare.n || label_is_retail(code->symbology))
        return purpose;
    if (label_envelope(env, code, c))
        return "carrier_2d";
    if (label_plain_postal(env, code, c))
        return "postal";
    if (label_routing(env, code, c))
        return "routing";
    if (label_may_be_gs1(code)) {
        n = label_gs1(code->value, e);
        purpose = label_read_elements(env, code, e, n, c);
        if (n == 1 && strcmp(purpose, "unknown") != 0)
            return purpose;
    }
    label_zip_in_front(env, code, c, bare);
    label_coded_spot(c, bare, code, false);
    return purpose;
}

void label_coded_read(const struct label_env *env, const wharf_image_read *image,
    const struct label_given *given, struct label_coded *ret)
{
    size_t n_given = given ? given->n : 0;

    memset(ret, 0, sizeof(*ret));
    ret->codes = label_new(env, struct label_code, image->n_codes + n_given);
    for (size_t i = 0; i < image->n_codes; i++) {
        const wharf_image_code *c = &image->codes[i];

        ret->codes[ret->n_codes++] = (struct label_code){
            c->value, c->symbology, c->box, c->orientation, "unknown", LABEL_BARCODE};
    }
    for (size_t i = 0; i < n_given; i++)
        ret->codes[ret->n_codes++] = (struct label_code){.value = given->values[i],
            .symbology = "unknown",
            .purpose = "unknown",
            .source = LABEL_REQUEST};
    /* codes of two dimensions first: they are trusted most */
    for (int matrix = 1; matrix >= 0; matrix--) {
        for (size_t i = 0; i < ret->n_codes; i++) {
            struct label_code *code = &ret->codes[i];
            bool is_matrix = code->value.n > 3 && !memcmp(code->value.p, "[)>", 3);

            if (is_matrix == (bool)matrix)
                code->purpose = label_purpose_of(env, code, ret);
        }
    }
}
