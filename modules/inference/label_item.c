/* label_item.c - labels of items (docs/spec/06-inference.md section 11): elements of GS1, Data
 * Identifiers, then captions; what a barcode says beats what is printed. See label.h and
 * label_inside.h. */
#include "label_inside.h"

enum {
    ITEM_SURE = 970,
    ITEM_TEXT = 950,
    ITEM_DATE_SPAN = 40 * 366, /* days */
    ITEM_VALUE_MAX = 191,
    GTIN = 14
};

struct label_items {
    const struct label_env *env;
    struct label_page page;
    struct item_label *ret;
};

static void item_put(struct label_fact *f, const struct label_fact *fact)
{
    if (!f->confidence && fact->value.n <= ITEM_VALUE_MAX)
        *f = *fact;
}

static void item_list(struct label_fact *list, size_t *n, const struct label_fact *fact)
{
    for (size_t i = 0; i < *n; i++) {
        if (same(list[i].value, fact->value))
            return;
    }
    if (fact->confidence && fact->value.n <= ITEM_VALUE_MAX && *n < ITEM_LABEL_LIST_MAX)
        list[(*n)++] = *fact;
}

static void item_number(struct label_items *it, const struct label_fact *fact)
{
    item_list(it->ret->item_numbers, &it->ret->n_item_numbers, fact);
}

static void item_order(struct label_items *it, const struct label_fact *fact)
{
    item_list(it->ret->purchase_orders, &it->ret->n_purchase_orders, fact);
}

/* Puts a GTIN of 8, 12, 13 or 14 digits whose check digit agrees, with noughts in front. */
static bool item_gtin(struct label_items *it, struct label_fact fact)
{
    wharf_str v = fact.value;
    char *p;

    if (!label_all_digits(v) || (v.n != 8 && v.n != 12 && v.n != 13 && v.n != GTIN) ||
        label_gs1_check(v.p, v.n - 1) != v.p[v.n - 1] || !label_digits(v))
        return false;
    p = label_new(it->env, char, GTIN + 1);
    memset(p, '0', GTIN);
    memcpy(p + GTIN - v.n, v.p, v.n);
    fact.value = (wharf_str){p, GTIN};
    item_put(&it->ret->gtin, &fact);
    return true;
}

/* ---- elements ---- */

/* Reads YYMMDD; a day of 00 is the last one of the month. */
static bool item_gs1_date(const struct label_env *env, wharf_str v, int64_t *ret_days)
{
    int64_t n[3], year;
    int month, day;

    for (size_t i = 0; i < 3; i++)
        n[i] = (v.p[2 * i] - '0') * 10 + (v.p[2 * i + 1] - '0');
    wharf_date_of(env->today, &year, &month, &day);
    n[0] += year / 100 * 100;
    n[0] += n[0] - year > 50 ? -100 : n[0] - year < -49 ? 100 : 0; /* GS1 section 7.12 */
    if (n[1] >= 1 && n[1] <= 12 && !n[2])
        n[2] = wharf_days_in_month(n[0], (int)n[1]);
    if (!wharf_date_good(n[0], n[1], n[2]))
        return false;
    *ret_days = wharf_days_of(n[0], (int)n[1], n[2]);
    return true;
}

static void item_date(struct label_items *it, struct label_fact *to, struct label_fact fact)
{
    int64_t days;

    if (!item_gs1_date(it->env, fact.value, &days))
        return;
    fact.value = label_date_text(it->env, days);
    item_put(to, &fact);
}

static void item_weight(struct label_items *it, wharf_str ai, const struct label_fact *fact)
{
    int64_t value = 0;

    if (it->ret->weight.fact.confidence || ai.p[3] > '5')
        return;
    for (size_t i = 0; i < fact->value.n; i++)
        value = value * 10 + (fact->value.p[i] - '0');
    value *= 1000;
    for (char i = '0'; i < ai.p[3]; i++)
        value /= 10;
    if (value > 0)
        it->ret->weight = (struct label_measure){*fact, value, "kg"};
}

static void item_element(
    struct label_items *it, const struct label_code *code, const struct label_element *e)
{
    struct item_label *r = it->ret;
    struct label_fact fact = label_fact_of(code, label_utf8(it->env, e->value), ITEM_SURE);
    const struct {
        const char *ai;
        struct label_fact *to;
    } texts[] = {{"00", &r->sscc}, {"10", &r->lot_number}, {"21", &r->serial_number}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (is(e->ai, texts[i].ai))
            item_put(texts[i].to, &fact);
    }
    if (is(e->ai, "01") || is(e->ai, "02"))
        item_gtin(it, fact);
    else if (is(e->ai, "11"))
        item_date(it, &r->production_date, fact);
    else if (is(e->ai, "17") || is(e->ai, "15"))
        item_date(it, &r->expiry_date, fact);
    else if (is(e->ai, "240") || is(e->ai, "241"))
        item_number(it, &fact);
    else if (is(e->ai, "400"))
        item_order(it, &fact);
    else if (is(e->ai, "30") || is(e->ai, "37"))
        item_put(&r->quantity, &fact);
    else if (e->ai.n == 4 && !memcmp(e->ai.p, "310", 3))
        item_weight(it, e->ai, &fact);
}

/* ---- Data Identifiers ---- */

static void item_identified(
    struct label_items *it, const struct label_code *code, wharf_str id, wharf_str value)
{
    struct item_label *r = it->ret;
    struct label_fact fact = label_fact_of(code, label_trim(label_utf8(it->env, value)), ITEM_SURE);

    if (!fact.confidence)
        return;
    if (is(id, "P") || is(id, "1P"))
        item_number(it, &fact);
    else if (is(id, "K"))
        item_order(it, &fact);
    else if (is(id, "Q") && label_digits(fact.value) == fact.value.n)
        item_put(&r->quantity, &fact);
    else if (is(id, "S"))
        item_put(&r->serial_number, &fact);
    else if (is(id, "1T"))
        item_put(&r->lot_number, &fact);
    else if (is(id, "3S"))
        item_put(&r->carton_number, &fact);
}

/* Tells whether a value is printed, alone or at the end of a piece. */
static bool item_is_printed(const struct label_items *it, wharf_str value)
{
    wharf_str key = label_key(it->env, value);

    for (size_t k = 0; k < it->page.n_pieces && key.n > 1; k++) {
        const struct label_piece *p = &it->page.pieces[k];

        for (uint32_t i = 0; i < p->n_tokens; i++) {
            if (same(p->tokens[i].key, key))
                return true;
        }
    }
    return false;
}

/* Reads the fields of format 06 of ISO 15434. */
static bool item_envelope(struct label_items *it, const struct label_code *code)
{
    wharf_str text = code->value;
    size_t from = 0;

    if (text.n < 8 || memcmp(text.p, "[)>\x1e", 4) != 0)
        return false;
    for (size_t i = 4; i <= text.n; i++) {
        wharf_str id, value;

        if (i < text.n && text.p[i] != LABEL_GS1_SEPARATOR && (uint8_t)text.p[i] != 0x1e &&
            text.p[i] != 0x04)
            continue;
        if (from && label_identifier((wharf_str){text.p + from, i - from}, &id, &value))
            item_identified(it, code, id, value);
        from = i + 1;
    }
    return true;
}

static void item_code(struct label_items *it, const struct label_code *code)
{
    struct label_element e[LABEL_ELEMENTS_MAX];
    wharf_str id, value;
    size_t n = 0;
    bool gs1 = !strncmp(code->symbology, "gs1", 3) ||
               (code->value.n && (*code->value.p == '(' || *code->value.p == ']' ||
                                     memchr(code->value.p, LABEL_GS1_SEPARATOR, code->value.n)));

    if (item_envelope(it, code))
        return;
    if (gs1)
        n = label_gs1(code->value, e);
    for (size_t i = 0; i < n; i++)
        item_element(it, code, &e[i]);
    if (n)
        return;
    if (item_gtin(it, label_fact_of(code, label_utf8(it->env, code->value), ITEM_SURE)))
        return;
    /* "P4711": a part's number where 4711 is printed, else a value of any kind */
    if (label_identifier(code->value, &id, &value) && item_is_printed(it, value) &&
        !item_is_printed(it, code->value))
        item_identified(it, code, id, value);
}

/* ---- captions ---- */

static void item_printed_date(struct label_items *it, struct label_fact *to, struct label_fact fact)
{
    int64_t days;

    if (!label_date(it->env, fact.value, ITEM_DATE_SPAN, &days))
        return;
    fact.value = label_date_text(it->env, days);
    item_put(to, &fact);
}

static void item_printed_quantity(struct label_items *it, struct label_fact fact)
{
    int64_t value;
    size_t n = label_decimal(fact.value, &value);

    /* "1,000" may be a thousand or one: it stays open */
    if (!n || memchr(fact.value.p, ',', n))
        return;
    fact.value.n = n;
    item_put(&it->ret->quantity, &fact);
}

static void item_printed_measures(struct label_items *it, uint32_t kind, struct label_fact fact)
{
    struct item_label *r = it->ret;
    struct label_dimensions d;
    int64_t value;
    const char *unit;

    if (kind == LABEL_WEIGHT && !r->weight.fact.confidence &&
        label_weight_read(it->env, fact.value, &value, &unit))
        r->weight = (struct label_measure){fact, value, unit};
    if (kind == LABEL_DIMENSIONS && !r->dimensions.fact.confidence &&
        label_dimensions_read(it->env, fact.value, &d)) {
        d.fact = fact;
        r->dimensions = d;
    }
}

/* Tells whether a printed value may be a number of an item, a lot and so on. */
static bool item_is_number(wharf_str value)
{
    return value.n && value.n <= ITEM_VALUE_MAX && label_digits(value) > 0;
}

/* Tells whether a printed value may be somebody's name: "4711" behind "VENDOR" is none. */
static bool item_is_name(wharf_str value)
{
    size_t letters = 0, digits = label_digits(value);

    for (size_t i = 0; i < value.n; i++) {
        uint8_t c = (uint8_t)value.p[i];

        letters += (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0xc0) == 0xc0;
    }
    return value.n <= ITEM_VALUE_MAX && letters > digits && letters >= 2;
}

static void item_caption(struct label_items *it, uint32_t kind, struct label_fact fact)
{
    struct item_label *r = it->ret;
    struct label_fact *const texts[] = {[LABEL_CARTON_NUMBER] = &r->carton_number,
        [LABEL_LOT_NUMBER] = &r->lot_number,
        [LABEL_SERIAL_NUMBER] = &r->serial_number,
        [LABEL_SKU] = &r->sku};

    item_printed_measures(it, kind, fact);
    switch (kind) {
    case LABEL_EXPIRY_DATE:
        item_printed_date(it, &r->expiry_date, fact);
        break;
    case LABEL_PRODUCTION_DATE:
        item_printed_date(it, &r->production_date, fact);
        break;
    case LABEL_QUANTITY:
        item_printed_quantity(it, fact);
        break;
    case LABEL_GTIN:
        item_gtin(it, fact);
        break;
    case LABEL_ITEM_NAME:
        item_put(&r->item_name, &fact);
        break;
    case LABEL_SUPPLIER:
        if (item_is_name(fact.value))
            item_put(&r->supplier, &fact);
        break;
    case LABEL_ITEM_NUMBER:
        if (item_is_number(fact.value))
            item_number(it, &fact);
        break;
    case LABEL_PURCHASE_ORDER:
        if (item_is_number(fact.value))
            item_order(it, &fact);
        break;
    default:
        if (kind < sizeof(texts) / sizeof(texts[0]) && texts[kind] && item_is_number(fact.value))
            item_put(texts[kind], &fact);
    }
}

static void item_captions(struct label_items *it)
{
    for (size_t i = 0; i < it->page.n_pieces; i++) {
        const struct label_piece *p = &it->page.pieces[i], *at;

        for (uint32_t k = 0; k < p->n_captions; k++) {
            struct label_fact fact = {.confidence = 0};
            wharf_image_box box;
            uint32_t from;
            wharf_str value = label_value(&it->page, p, k, &box, &at, &from);
            uint32_t sure;

            value = label_utf8(it->env, value);
            if (!value.n)
                continue;
            sure = at->confidence * ITEM_TEXT / 1000;
            label_set(&fact, value, sure ? sure : 1, LABEL_TEXT);
            fact.box = box;
            item_caption(it, p->captions[k].kind, fact);
        }
    }
}

void item_label_read(const struct label_env *env, const wharf_image_read *image,
    const struct label_given *given, struct item_label *ret)
{
    struct label_items it = {.env = env, .ret = ret};
    struct label_coded *coded = label_new(env, struct label_coded, 1);

    memset(ret, 0, sizeof(*ret));
    label_page_make(env, image, LABEL_ITEM_CAPTIONS, &it.page);
    label_coded_read(env, image, given, coded);
    for (size_t i = 0; i < coded->n_codes; i++)
        item_code(&it, &coded->codes[i]);
    item_captions(&it);
    ret->codes = coded->codes;
    ret->n_codes = coded->n_codes;
    ret->raw_text = label_raw_text(env, image);
    ret->any = ret->item_name.confidence || ret->carton_number.confidence ||
               ret->lot_number.confidence || ret->serial_number.confidence ||
               ret->gtin.confidence || ret->sku.confidence || ret->sscc.confidence ||
               ret->quantity.confidence || ret->n_item_numbers || ret->n_purchase_orders ||
               ret->weight.fact.confidence || ret->dimensions.fact.confidence ||
               ret->production_date.confidence || ret->expiry_date.confidence ||
               ret->supplier.confidence;
}
