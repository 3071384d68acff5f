/* label_fields.c - weight, dimensions, package, references and dates of a label
 * (docs/spec/06-inference.md section 8.5): behind their captions, to the next one. See
 * label_inside.h. */
#include "label_inside.h"

enum {
    FIELD_SURE = 950,
    FIELD_ALONE = 850, /* without a caption */
    FIELD_DATE_SPAN = 400, /* days */
    FIELD_VALUE_MAX = 191,
    PACKAGES_MAX = 999, /* the largest m of "n of m" */
    SHARES_MAX = 99, /* packages of "1/3" alone */
    LONE_DATE = 12 /* bytes */
};

struct label_filling {
    const struct label_page *page;
    struct label *ret;
    struct label_reference *references;
    wharf_image_box box;
    const struct label_piece *piece;
};

static void label_put_text(const struct label_filling *f, struct label_fact *to, wharf_str value,
    wharf_str raw, uint32_t sure)
{
    uint32_t confidence = f->piece->confidence * sure / 1000;
    struct label_fact fact = {.confidence = 0};

    label_set(&fact, label_utf8(f->page->env, value), confidence ? confidence : 1, LABEL_TEXT);
    fact.box = f->box;
    fact.raw = label_utf8(f->page->env, raw);
    label_offer(to, &fact);
}

/* ---- references ---- */

static const struct label_kind_name {
    uint32_t kind;
    const char *type;
    size_t at; /* offset in struct label */
} label_kind_names[] = {
    {LABEL_PURCHASE_ORDER, "purchase_order", offsetof(struct label, purchase_order)},
    {LABEL_ORDER_NUMBER, "order_number", offsetof(struct label, order_number)},
    {LABEL_INVOICE_NUMBER, "invoice_number", offsetof(struct label, invoice_number)},
    {LABEL_RMA_NUMBER, "rma_number", offsetof(struct label, rma_number)},
    {LABEL_REFERENCE_NUMBER, "reference_number", offsetof(struct label, reference_number)},
    {LABEL_ACCOUNT_ID, "account_id", offsetof(struct label, account_id)}};

static struct label_fact *label_reference_of(struct label *l, const char *type)
{
    for (size_t i = 0; i < sizeof(label_kind_names) / sizeof(label_kind_names[0]); i++) {
        if (!strcmp(label_kind_names[i].type, type))
            return (struct label_fact *)((char *)l + label_kind_names[i].at);
    }
    return NULL;
}

static void label_add_reference(struct label_filling *f, const char *type, wharf_str value)
{
    struct label *l = f->ret;

    for (size_t i = 0; i < l->n_references; i++) {
        if (!strcmp(f->references[i].type, type) && same(f->references[i].value, value))
            return;
    }
    if (l->n_references < LABEL_REFERENCES_MAX)
        f->references[l->n_references++] = (struct label_reference){type, value};
}

/* Tells whether a value may be a reference: where no mark stands behind the caption it has a
 * digit. */
static bool label_is_reference(wharf_str value, bool mark)
{
    return value.n && value.n <= FIELD_VALUE_MAX &&
           label_digits(value) + label_letters(value) > 0 && value.n > 1 &&
           (mark || label_digits(value) > 1);
}

static void label_take_reference(
    struct label_filling *f, const struct label_caption *c, wharf_str value)
{
    for (size_t i = 0; i < sizeof(label_kind_names) / sizeof(label_kind_names[0]); i++) {
        const struct label_kind_name *k = &label_kind_names[i];
        struct label_fact *fact = (struct label_fact *)((char *)f->ret + k->at);
        wharf_str text = label_utf8(f->page->env, value);

        if (k->kind != c->kind || !label_is_reference(text, c->mark))
            continue;
        label_add_reference(f, k->type, text);
        if (!fact->confidence) /* the first that is found */
            label_put_text(f, fact, text, value, FIELD_SURE);
    }
}

/* ---- package ---- */

static bool label_count_read(const struct label_token *t, uint32_t *ret)
{
    *ret = 0;
    if (!label_all_digits(t->key) || t->key.n > 3)
        return false;
    for (size_t i = 0; i < t->key.n; i++)
        *ret = *ret * 10 + (uint32_t)(t->key.p[i] - '0');
    return *ret > 0;
}

/* Reads "1/3" in one token. */
static bool label_share_read(const struct label_token *t, uint32_t ret[2])
{
    size_t k = 0;

    ret[0] = ret[1] = 0;
    for (size_t i = 0; i < t->key.n; i++) {
        char c = t->key.p[i];

        if (c == '/' && i && !k)
            k = 1;
        else if (c >= '0' && c <= '9' && ret[k] <= PACKAGES_MAX)
            ret[k] = ret[k] * 10 + (uint32_t)(c - '0');
        else
            return false;
    }
    return k == 1;
}

/* Reads "1 OF 3" in signs that OCR ran together: "10F 3", "1OOF3". Returns false unless there is
 * one way that has at most as many as there are. */
static bool label_joined_of(wharf_str s, uint32_t ret[2])
{
    uint32_t found = 0;

    for (size_t n = 1; n <= 2 && n < s.n; n++) {
        size_t i = n;
        wharf_str total;
        uint32_t a = 0, b = 0;

        while (i < s.n && i < n + 2 && (s.p[i] == 'o' || s.p[i] == '0'))
            i++;
        if (i == n || i + 1 >= s.n || s.p[i] != 'f')
            continue;
        total = (wharf_str){s.p + i + 1, s.n - i - 1};
        if (!label_all_digits((wharf_str){s.p, n}) || !label_all_digits(total) || total.n > 2)
            continue;
        for (size_t k = 0; k < n; k++)
            a = a * 10 + (uint32_t)(s.p[k] - '0');
        for (size_t k = 0; k < total.n; k++)
            b = b * 10 + (uint32_t)(total.p[k] - '0');
        if (!a || a > b)
            continue;
        found++;
        ret[0] = a;
        ret[1] = b;
    }
    return found == 1;
}

/* Reads the same of a token and, where that ends with "OF", the next one. Returns how many tokens
 * it is; 0: none. */
static uint32_t label_joined_tokens(
    const struct label_piece *p, uint32_t i, uint32_t to, uint32_t ret[2])
{
    char room[8];
    wharf_str a = p->tokens[i].key, b = i + 1 < to ? p->tokens[i + 1].key : (wharf_str){"", 0};

    if (!p->tokens[i].digit || a.n > 5)
        return 0;
    if (label_joined_of(a, ret))
        return 1;
    if (b.n > 2 || a.p[a.n - 1] != 'f')
        return 0;
    memcpy(room, a.p, a.n);
    memcpy(room + a.n, b.p, b.n);
    return label_joined_of((wharf_str){room, a.n + b.n}, ret) ? 2 : 0;
}

static void label_take_package(
    struct label_filling *f, const struct label_piece *p, uint32_t from, uint32_t to, bool caption)
{
    struct label_package *g = &f->ret->package;

    for (uint32_t i = from; i < to && !g->fact.confidence; i++) {
        uint32_t at[2], n = 1, length = 0;
        const struct label_word *of = NULL;

        if (caption && label_share_read(&p->tokens[i], at)) {
            n = 1;
        } else if ((n = label_joined_tokens(p, i, to, at)) == 0) {
            if (i + 2 >= to || !label_count_read(&p->tokens[i], &at[0]) ||
                !label_count_read(&p->tokens[i + 2], &at[1]))
                continue;
            of = label_phrase(p->tokens, i + 2, i + 1, LABEL_BIT(LABEL_OF), &length);
            if (!of || (strcmp(of->key, "of") != 0 && !caption))
                continue;
            n = 3;
        }
        if (!at[0] || at[1] < at[0] || at[1] > PACKAGES_MAX)
            continue;
        f->piece = p;
        f->box = label_box_of(f->page, p, i, i + n);
        label_put_text(f, &g->fact, label_text_of(p, i, i + n), label_text_of(p, i, i + n),
            caption ? FIELD_SURE : FIELD_ALONE);
        g->number = at[0];
        g->total = at[1];
    }
}

/* ---- weight, dimensions, dates ---- */

static void label_take_weight(struct label_filling *f, wharf_str text, bool alone)
{
    struct label_measure *m = &f->ret->weight;
    int64_t value;
    const char *unit;
    size_t n = label_weight_read(f->page->env, text, &value, &unit);

    if (!n || m->fact.confidence)
        return;
    text.n = n < text.n ? n : text.n;
    label_put_text(
        f, &m->fact, label_trim(text), label_trim(text), alone ? FIELD_ALONE : FIELD_SURE);
    m->value = value;
    m->unit = unit;
}

static void label_take_dimensions(struct label_filling *f, wharf_str text, uint32_t sure)
{
    struct label_dimensions d, *to = &f->ret->dimensions;

    if (to->fact.confidence || !label_dimensions_read(f->page->env, text, &d))
        return;
    label_put_text(f, &d.fact, text, text, sure);
    *to = d;
}

static void label_take_date(struct label_filling *f, struct label_fact *to, wharf_str text)
{
    int64_t days;

    if (!to->confidence && label_date(f->page->env, text, FIELD_DATE_SPAN, &days))
        label_put_text(f, to, label_date_text(f->page->env, days), text, FIELD_SURE);
}

static void label_take_caption(struct label_filling *f, const struct label_piece *p, uint32_t k)
{
    const struct label_caption *c = &p->captions[k];
    uint32_t from = 0;
    wharf_str value = label_value(f->page, p, k, &f->box, &f->piece, &from);

    if (!value.n)
        return;
    switch (c->kind) {
    case LABEL_WEIGHT:
        label_take_weight(f, value, false);
        break;
    case LABEL_DIMENSIONS:
        label_take_dimensions(f, value, FIELD_SURE);
        break;
    case LABEL_PACKAGE:
        label_take_package(f, f->piece, from,
            f->piece == p && k + 1 < p->n_captions ? p->captions[k + 1].from : f->piece->n_tokens,
            true);
        break;
    case LABEL_SHIP_DATE:
        label_take_date(f, &f->ret->ship_date, value);
        break;
    case LABEL_DELIVERY_DATE:
        label_take_date(f, &f->ret->delivery_date, value);
        break;
    default:
        label_take_reference(f, c, value);
    }
}

/* Tells whether a weight at the begin of a line is one of the parcel: nothing stands behind it, or
 * a caption, a service ("2 LB PRIORITY MAIL RATE"), or "1 OF 3". */
static bool label_is_lone_weight(
    const struct label_filling *f, const struct label_piece *p, size_t n)
{
    uint32_t i = 0, length;

    while (i < p->n_tokens && p->tokens[i].from < n)
        i++;
    if (i == p->n_tokens || (p->n_captions && p->captions[0].from == i) ||
        label_phrase(p->tokens, p->n_tokens, i, LABEL_BIT(LABEL_SERVICE), &length))
        return true;
    return f->ret->package.fact.confidence && p->n_tokens <= 6 && p->n_tokens >= 4 &&
           p->tokens[p->n_tokens - 1].digit;
}

/* Takes what stands there without a caption: "2 LBS", "1 OF 3", "12 X 10 X 8 IN". */
static void label_take_alone(struct label_filling *f, const struct label_piece *p)
{
    int64_t value;
    const char *unit;
    size_t n;
    uint32_t words;

    f->piece = p;
    f->box = p->box;
    label_take_package(f, p, 0, p->n_tokens, false);
    f->piece = p;
    f->box = p->box;
    if (!p->n_captions)
        label_take_dimensions(f, p->text, FIELD_ALONE);
    n = label_weight_read(f->page->env, p->text, &value, &unit);
    if (n && label_is_lone_weight(f, p, n))
        label_take_weight(f, p->text, true);
    /* "Date 31.10.2026": a caption that needs a mark, and a date behind it */
    if (!p->n_captions && p->n_tokens &&
        label_phrase(p->tokens, p->n_tokens, 0, LABEL_BIT(LABEL_SHIP_DATE), &words))
        label_take_date(f, &f->ret->ship_date, label_text_of(p, words, p->n_tokens));
}

/* ---- what stands quite alone ---- */

/* Tells whether what stands before a token is a weight: "Weight 3.1kg 1/1". */
static bool label_ends_weight(
    const struct label_filling *f, const struct label_piece *p, uint32_t token)
{
    for (uint32_t i = 0; i < token; i++) {
        wharf_str rest = {p->text.p + p->tokens[i].from, p->text.n - p->tokens[i].from};
        int64_t value;
        const char *unit;
        size_t n = label_weight_read(f->page->env, rest, &value, &unit);

        if (n && p->tokens[i].from + n <= p->tokens[token].from &&
            p->tokens[i].from + n + 1 >= p->tokens[token].from)
            return true;
    }
    return false;
}

/* Takes "2/3", which is nothing else on a label with a tracking number: where no other one is. */
static void label_take_share(struct label_filling *f)
{
    struct label_package *g = &f->ret->package;
    const struct label_piece *only = NULL;
    uint32_t at[2] = {0, 0}, n = 0;
    wharf_str text;

    if (g->fact.confidence || !f->ret->tracking_number.confidence)
        return;
    for (size_t i = 0; i < f->page->n_pieces; i++) {
        const struct label_piece *p = &f->page->pieces[i];
        uint32_t share[2], last = p->n_tokens - 1;

        if (!p->n_tokens || !(last == 0 || label_ends_weight(f, p, last)) ||
            !label_share_read(&p->tokens[last], share) || !share[0] || share[1] < share[0] ||
            share[1] > SHARES_MAX)
            continue;
        n++;
        only = p;
        memcpy(at, share, sizeof(at));
    }
    if (n != 1)
        return;
    text = label_text_of(only, only->n_tokens - 1, only->n_tokens);
    f->piece = only;
    f->box = label_box_of(f->page, only, only->n_tokens - 1, only->n_tokens);
    label_put_text(f, &g->fact, text, text, FIELD_ALONE);
    g->number = at[0];
    g->total = at[1];
}

/* Tells whether some caption of the kind is printed. */
static bool label_has_caption(const struct label_page *page, uint32_t kind)
{
    for (size_t i = 0; i < page->n_pieces; i++) {
        for (uint32_t k = 0; k < page->pieces[i].n_captions; k++) {
            if (page->pieces[i].captions[k].kind == kind)
                return true;
        }
    }
    return false;
}

/* Takes the only date that is a line of its own as the one of shipping, unless it is yet to come or
 * may be that of delivery. */
static void label_take_lone_date(struct label_filling *f)
{
    const struct label_env *env = f->page->env;
    const struct label_piece *only = NULL;
    int64_t day = 0;

    if (f->ret->ship_date.confidence || !f->ret->tracking_number.confidence ||
        label_has_caption(f->page, LABEL_DELIVERY_DATE))
        return;
    for (size_t i = 0; i < f->page->n_pieces; i++) {
        const struct label_piece *p = &f->page->pieces[i];
        int64_t days;

        if (p->n_captions || p->text.n > LONE_DATE || p->n_tokens > 3 ||
            !label_date(env, p->text, FIELD_DATE_SPAN, &days))
            continue;
        if (days > env->today || (only && days != day))
            return;
        only = p;
        day = days;
    }
    if (!only)
        return;
    f->piece = only;
    f->box = only->box;
    label_put_text(f, &f->ret->ship_date, label_date_text(env, day), only->text, FIELD_ALONE);
}

/* ---- all of them ---- */

static void label_offer_coded(const struct label_coded *coded, struct label_filling *f)
{
    struct label *l = f->ret;

    label_offer(&l->ship_date, &coded->ship_date);
    label_offer(&l->account_id, &coded->account);
    if (coded->account.confidence)
        label_add_reference(f, "account_id", coded->account.value);
    if (coded->weight.fact.confidence)
        l->weight = coded->weight;
    if (coded->package.fact.confidence)
        l->package = coded->package;
    for (size_t i = 0; i < coded->n_references; i++) {
        const struct label_reference *r = &coded->references[i];
        struct label_fact *fact = label_reference_of(l, r->type);

        label_add_reference(f, r->type, r->value);
        if (fact && !fact->confidence)
            *fact = label_fact_of(coded->reference_codes[i], r->value, FIELD_SURE);
    }
}

void label_fields(const struct label_page *page, const struct label_coded *coded, struct label *ret)
{
    struct label_filling f = {.page = page, .ret = ret};

    f.references = label_new(page->env, struct label_reference, LABEL_REFERENCES_MAX);
    ret->references = f.references;
    label_offer_coded(coded, &f);
    for (size_t i = 0; i < page->n_pieces; i++) {
        for (uint32_t k = 0; k < page->pieces[i].n_captions; k++)
            label_take_caption(&f, &page->pieces[i], k);
    }
    for (size_t i = 0; i < page->n_pieces; i++)
        label_take_alone(&f, &page->pieces[i]);
    label_take_share(&f);
    label_take_lone_date(&f);
}
