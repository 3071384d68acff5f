/* label_envelope.c - messages of ISO 15434 in codes with two dimensions: PDF417 of FedEx, MaxiCode
 * of UPS, Data Identifiers of ANSI MH10.8.2 (docs/spec/06-inference.md section 8.1). See
 * label_inside.h; leaves to others which of two sources is right. */
#include "label_inside.h"

enum { RECORD_SEPARATOR = 0x1e, END_OF_MESSAGE = 0x04, ENVELOPE_FIELDS = 40, ENVELOPE_SURE = 990 };

struct label_fields_of {
    wharf_str at[ENVELOPE_FIELDS];
    size_t n;
};

/* Takes what stands before the separator off the text. */
static wharf_str label_take(wharf_str *text, char separator)
{
    const char *end = text->n ? memchr(text->p, separator, text->n) : NULL;
    wharf_str part = {text->p, end ? (size_t)(end - text->p) : text->n};
    size_t skip = part.n + (end ? 1 : 0);

    *text = (wharf_str){text->p + skip, text->n - skip};
    return part;
}

static wharf_str label_printable(const struct label_env *env, wharf_str s)
{
    return label_trim(label_utf8(env, s));
}

static void label_split_fields(
    const struct label_env *env, wharf_str part, struct label_fields_of *f)
{
    f->n = 0;
    while (part.n && f->n < ENVELOPE_FIELDS)
        f->at[f->n++] = label_printable(env, label_take(&part, LABEL_GS1_SEPARATOR));
}

static wharf_str label_field(const struct label_fields_of *f, size_t i)
{
    return i < f->n ? f->at[i] : (wharf_str){"", 0};
}

static void label_put_fact(struct label_fact *f, const struct label_code *code, wharf_str value)
{
    if (!f->confidence && value.n)
        *f = label_fact_of(code, value, ENVELOPE_SURE);
}

/* ---- tracking numbers ---- */

static bool label_is_provider(const struct label_number *n, const char *provider)
{
    if (is(n->provider_id, provider))
        return true;
    for (size_t i = 0; i < n->n_others; i++) {
        if (is(n->others[i], provider))
            return true;
    }
    return false;
}

/* Tells whether the text is a number of the provider. */
static bool label_number_of(
    const struct label_env *env, wharf_str text, const char *provider, struct label_number *ret)
{
    *ret = (struct label_number){.checked = false};
    return text.n && env->detect(env->ctx, text, ret) && ret->checked &&
           label_is_provider(ret, provider);
}

/* Finds the number of FedEx in its field: the number, or the number and four digits of a form. */
static void label_fedex_number(const struct label_env *env, wharf_str field,
    const struct label_code *code, struct label_coded *c)
{
    struct label_number n;

    if (!label_all_digits(field))
        return;
    if (field.n == 16 && label_number_of(env, (wharf_str){field.p, 12}, "fedex", &n))
        label_coded_spot(c, (wharf_str){field.p, 12}, code, true);
    else if (label_number_of(env, field, "fedex", &n))
        label_coded_spot(c, field, code, true);
    else if (field.n > 16 && label_number_of(env, (wharf_str){field.p, field.n - 4}, "fedex", &n))
        label_coded_spot(c, (wharf_str){field.p, field.n - 4}, code, true);
}

/* Makes the number of UPS: its field has 1Z and the last eight digits, the shipper and the service
 * stand in fields of their own. */
static void label_ups_number(const struct label_env *env, wharf_str field, wharf_str shipper,
    wharf_str service, const struct label_code *code, struct label_coded *c)
{
    struct label_number n;
    wharf_str whole;

    if (field.n == 18 && label_number_of(env, field, "ups", &n)) {
        label_coded_spot(c, field, code, true);
        return;
    }
    if (field.n != 10 || memcmp(field.p, "1Z", 2) != 0 || shipper.n != 6 || service.n < 2)
        return;
    whole = label_format(env, "1Z%.6s%.2s%.8s", shipper.p, service.p + service.n - 2, field.p + 2);
    if (label_number_of(env, whole, "ups", &n))
        label_coded_spot(c, whole, code, true);
}

/* ---- the carriers' messages: format 01 ---- */

/* Reads "2/3". */
static void label_read_package(wharf_str s, const struct label_code *code, struct label_coded *c)
{
    uint32_t at[2] = {0, 0};
    size_t k = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '/' && k == 0 && i)
            k = 1;
        else if (s.p[i] >= '0' && s.p[i] <= '9' && at[k] < 1000)
            at[k] = at[k] * 10 + (uint32_t)(s.p[i] - '0');
        else
            return;
    }
    if (!at[0] || at[1] < at[0] || at[1] > 9999 || c->package.fact.confidence)
        return;
    c->package = (struct label_package){label_fact_of(code, s, ENVELOPE_SURE), at[0], at[1]};
}

static void label_read_weight(
    wharf_str s, const char *unit, const struct label_code *code, struct label_coded *c)
{
    int64_t value;
    size_t n = label_decimal(s, &value);
    wharf_str rest = {s.p + n, s.n - n};

    if (is(rest, "LB") || is(rest, "LBS"))
        unit = "lb";
    else if (is(rest, "KG") || is(rest, "KGS"))
        unit = "kg";
    else if (rest.n)
        return;
    if (n && unit && value > 0 && !c->weight.fact.confidence)
        c->weight = (struct label_measure){label_fact_of(code, s, ENVELOPE_SURE), value, unit};
}

/* Finds the date of a day of the year: the one that is nearest to today. */
static void label_read_day(
    const struct label_env *env, wharf_str s, const struct label_code *code, struct label_coded *c)
{
    int64_t year, best = 0, day = 0;
    int month, unused;

    if (s.n != 3 || !label_all_digits(s))
        return;
    for (size_t i = 0; i < 3; i++)
        day = day * 10 + (s.p[i] - '0');
    wharf_date_of(env->today, &year, &month, &unused);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t days = wharf_days_of(y, 1, day), off = days - env->today;

        if (day < 1 || day > 365 + wharf_leap_year(y))
            continue;
        if (!best ||
            (off < 0 ? -off : off) < (best < env->today ? env->today - best : best - env->today))
            best = days;
    }
    if (best)
        label_put_fact(&c->ship_date, code, label_date_text(env, best));
}

/* Writes a postal code of nine digits as its country does: MaxiCode fills shorter ones up with
 * noughts behind. */
static wharf_str label_zip_of(const struct label_env *env, wharf_str postal, const char *country)
{
    size_t n = 9;

    if (postal.n != 9 || !label_all_digits(postal) || !country)
        return postal;
    if (!strcmp(country, "US") && memcmp(postal.p + 5, "0000", 4) != 0)
        return label_format(env, "%.5s-%.4s", postal.p, postal.p + 5);
    while (n > 3 && postal.p[n - 1] == '0')
        n--;
    while (n < 9 && !label_is_postal_form((wharf_str){postal.p, n}, wharf_z(country)))
        n++;
    return (wharf_str){postal.p, n};
}

static uint32_t label_digits_value(wharf_str s)
{
    uint32_t n = 0;

    if (s.n > 4 || !label_all_digits(s))
        return 0;
    for (size_t i = 0; i < s.n; i++)
        n = n * 10 + (uint32_t)(s.p[i] - '0');
    return n;
}

/* Reads the fields that both carriers have, in the same order. */
static void label_transport(const struct label_env *env, const struct label_fields_of *f,
    const struct label_code *code, struct label_coded *c)
{
    wharf_str carrier = label_field(f, 4), postal = label_field(f, 0);
    const char *country = label_country_of(label_digits_value(label_field(f, 1)));
    bool ups = is(carrier, "UPSN"), ground = is(carrier, "FDEG"),
         american = country && !strcmp(country, "US");
    struct label_party *r = &c->recipient;

    if (!ups && (carrier.n < 3 || memcmp(carrier.p, "FDE", 3) != 0))
        return;
    label_put_fact(&c->carrier, code, wharf_z(ups ? "ups" : "fedex"));
    postal = (wharf_str){postal.p + (postal.n > 2 ? 2 : postal.n), postal.n > 2 ? postal.n - 2 : 0};
    postal = label_trim(label_zip_of(env, postal, country));
    if (postal.n)
        label_coded_postal(env, c, postal, country ? wharf_z(country) : wharf_z(""), code);
    if (ups)
        label_ups_number(env, label_field(f, 3), label_field(f, 5), label_field(f, 2), code, c);
    else
        label_fedex_number(env, label_field(f, 3), code, c);
    if (ups && label_field(f, 2).n == 3)
        label_put_fact(&c->service, code, (wharf_str){label_field(f, 2).p + 1, 2});
    else if (ground)
        label_put_fact(&c->service, code, wharf_z("FDEG"));
    if (!ups)
        label_put_fact(&c->account, code, label_field(f, 5));
    label_read_day(env, label_field(f, 6), code, c);
    label_read_package(label_field(f, 8), code, c);
    label_read_weight(label_field(f, 9), ups && american ? "lb" : NULL, code, c);
    label_put_fact(&r->line1, code, label_field(f, 11));
    label_put_fact(&r->city, code, label_field(f, 12));
    label_put_fact(&r->state_code, code, label_field(f, 13));
    if (!ups)
        label_put_fact(&r->name, code, label_field(f, 14));
    label_put_fact(&r->postal_code, code, postal);
    if (country)
        label_put_fact(&r->country_code, code, wharf_z(country));
}

/* ---- Data Identifiers: format 06 ---- */

static const char *const label_dis[] = {"K", "1K", "9K", "P", "1P", "Q", "S", "1T", "3S", "J", "1J",
    "2J", "3J", "4J", "5J", "6J", "10Z", "11Z", "12Z", "14Z", "31Z"};

bool label_identifier(wharf_str field, wharf_str *ret_id, wharf_str *ret_value)
{
    size_t n = 0;

    while (n < field.n && n < 3 && field.p[n] >= '0' && field.p[n] <= '9')
        n++;
    if (n == field.n || field.p[n] < 'A' || field.p[n] > 'Z')
        return false;
    n++;
    *ret_id = (wharf_str){field.p, n};
    *ret_value = (wharf_str){field.p + n, field.n - n};
    return ret_value->n &&
           word_place(*ret_id, label_dis, sizeof(label_dis) / sizeof(label_dis[0])) <
               sizeof(label_dis) / sizeof(label_dis[0]);
}

static void label_read_identifiers(const struct label_env *env, const struct label_fields_of *f,
    const struct label_code *code, struct label_coded *c)
{
    bool fedex = is(c->carrier.value, "fedex");
    struct label_number number;

    for (size_t i = 0; i < f->n; i++) {
        wharf_str id, value;

        if (!label_identifier(f->at[i], &id, &value))
            continue;
        value = label_trim(value);
        if (is(id, "K"))
            label_coded_reference(c, "purchase_order", value, code);
        else if (is(id, "1K"))
            label_coded_reference(c, "order_number", value, code);
        else if (is(id, "9K"))
            label_coded_reference(c, "reference_number", value, code);
        else if (is(id, "11Z") && fedex)
            label_put_fact(&c->recipient.business, code, value);
        else if (is(id, "12Z") && fedex && label_is_phone(value))
            label_put_fact(&c->recipient.phone, code, value);
        else if (is(id, "14Z") && fedex)
            label_put_fact(&c->recipient.line2, code, value);
        else if (is(id, "31Z") && fedex && label_number_of(env, value, "fedex", &number))
            label_coded_spot(c, value, code, true);
    }
}

bool label_envelope(
    const struct label_env *env, const struct label_code *code, struct label_coded *ret)
{
    wharf_str text = code->value;
    bool any = false;

    if (text.n < 8 || memcmp(text.p, "[)>", 3) != 0 || text.p[3] != RECORD_SEPARATOR)
        return false;
    text = (wharf_str){text.p + 4, text.n - 4};
    text = label_take(&text, END_OF_MESSAGE);
    while (text.n) {
        wharf_str part = label_take(&text, RECORD_SEPARATOR);
        struct label_fields_of f;

        if (part.n < 4 || part.p[2] != LABEL_GS1_SEPARATOR)
            continue;
        label_split_fields(env, (wharf_str){part.p + 3, part.n - 3}, &f);
        if (!memcmp(part.p, "01", 2))
            label_transport(env, &f, code, ret);
        else if (!memcmp(part.p, "06", 2))
            label_read_identifiers(env, &f, code, ret);
        any = any || !memcmp(part.p, "01", 2) || !memcmp(part.p, "06", 2);
    }
    return any;
}
