/* filter.c - what all filter types share: operator words, comma lists, nullness; and the way to
 * each type's own parser. */
#include "query/filter.h"
#include "util/str.h"

static const struct {
    const char *word;
    enum condition_kind kind;
    bool negated;
} ops[] = {
    {"eq", COND_IN, false},
    {"!eq", COND_IN, true},
    {"in", COND_IN, false},
    {"!in", COND_IN, true},
    {"equals", COND_IN, false},
    {"not_equals", COND_IN, true},
    {"not_in", COND_IN, true},
    {"gt", COND_MORE, false},
    {"gte", COND_AT_LEAST, false},
    {"lt", COND_LESS, false},
    {"lte", COND_AT_MOST, false},
    {"bwe", COND_BETWEEN, false},
    {"!bwe", COND_BETWEEN, true},
    {"bwi", COND_WITHIN, false},
    {"!bwi", COND_WITHIN, true},
};
/* How many of them each family knows, from the first on. */
static const size_t family_size[] = {
    [OPS_TEXT] = 4, [OPS_SET] = 7, [OPS_COMPARE] = sizeof(ops) / sizeof(ops[0])};

bool filter_op(
    enum op_family family, wharf_str word, enum condition_kind *ret_kind, bool *ret_negated)
{
    for (size_t i = 0; i < family_size[family]; i++) {
        if (str_eqz(word, ops[i].word)) {
            *ret_kind = ops[i].kind;
            *ret_negated = ops[i].negated;
            return true;
        }
    }
    return false;
}

bool filter_nullness(wharf_str value, bool *ret_negated)
{
    *ret_negated = str_eqz(value, "!null");
    return *ret_negated || str_eqz(value, "null");
}

/* Takes one item: decoded in place of the arena copy, without its outer unescaped spaces. */
static wharf_str take_item(struct arena *a, const char *p, size_t n, bool escapes, bool *bang)
{
    char *out;
    size_t k = 0, kept = 0;

    while (n && *p == ' ') {
        p++;
        n--;
    }
    *bang = escapes && n && *p == '!';
    out = arena_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (escapes && p[i] == '\\' && i + 1 < n && strchr(",!\\", p[i + 1])) {
            out[k++] = p[++i];
            kept = k;
            continue;
        }
        out[k++] = p[i];
        if (p[i] != ' ')
            kept = k;
    }
    out[kept] = 0;
    return (wharf_str){out, kept};
}

const wharf_str *filter_items(
    struct arena *a, wharf_str list, bool escapes, const bool **ret_bang, size_t *ret_n)
{
    size_t n = 1, at = 0, start = 0;
    wharf_str *items;
    bool *bangs;

    for (size_t i = 0; i < list.n; i++)
        n += list.p[i] == ',';
    items = ARENA_ARRAY(a, wharf_str, n);
    bangs = ARENA_ARRAY(a, bool, n);
    n = 0;
    for (;;) {
        if (escapes && at + 1 < list.n && list.p[at] == '\\') {
            at += 2;
            continue;
        }
        if (at < list.n && list.p[at] != ',') {
            at++;
            continue;
        }
        items[n] = take_item(a, list.p + start, at - start, escapes, &bangs[n]);
        if (items[n].n == 0 || ++n > FILTER_ITEMS)
            return NULL;
        if (at >= list.n)
            break;
        start = ++at;
    }
    if (ret_bang)
        *ret_bang = bangs;
    *ret_n = n;
    return items;
}

/* Returns the pair with each blank of the value as the + that it was: a+b@example.com, not
 * escaped. */
static const struct filter_pair *with_plus(struct arena *a, const struct filter_pair *p)
{
    struct filter_pair *own = ARENA_NEW(a, struct filter_pair);
    char *text = arena_alloc(a, p->value.n + 1);

    for (size_t i = 0; i < p->value.n; i++)
        text[i] = (char)(p->value.p[i] == ' ' ? '+' : p->value.p[i]);
    text[p->value.n] = 0;
    *own = *p;
    own->value = (wharf_str){text, p->value.n};
    return own;
}

const char *filter_parse(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    *c = (struct condition){.filter = p->filter};
    if (p->filter->plus && memchr(p->value.p, ' ', p->value.n))
        p = with_plus(a, p);
    if (p->filter->type == FILTER_METADATA)
        return filter_metadata(a, p, c);
    if (p->form == KEY_DOT)
        return "takes its operator in brackets, as in name[gte]=value";
    if (p->form == KEY_BROKEN)
        return "has a bracket that is not closed";
    if (p->value.n == 0)
        return "must have a value";
    switch (p->filter->type) {
    case FILTER_DATE:
    case FILTER_NUMBER:
        return filter_compare(a, p, c);
    case FILTER_ENUM:
    case FILTER_ID:
    case FILTER_FLAGS:
        return filter_set(a, p, c);
    case FILTER_TEXT:
        return filter_text(a, p, c);
    case FILTER_BOOL:
    case FILTER_MANY_BOOL:
        return filter_bool(a, p, c);
    case FILTER_NAMES:
        return filter_names(a, p, c);
    case FILTER_ARRAY:
        return filter_array(a, p, c);
    case FILTER_TREE:
        return filter_tree(a, p, c);
    case FILTER_METADATA:
    case FILTER_NONE:
        break;
    }
    return "can not be filtered by";
}

static bool filter_equal(
    struct arena *a, const struct filter *f, wharf_str value, struct condition *c)
{
    struct item *item = ARENA_NEW(a, struct item);
    wharf_str *one = ARENA_NEW(a, wharf_str);

    *one = f->field->fold ? utf8_lower(a, value) : value;
    *item = (struct item){.value = *one};
    *c = (struct condition){.filter = f, .kind = COND_IN, .values = one, .n_values = 1};
    if (f->type == FILTER_ARRAY) {
        c->kind = COND_ITEMS;
        c->any = true;
        c->items = item;
        c->n_items = 1;
    }
    return f->type == FILTER_ARRAY || f->type == FILTER_TEXT || f->type == FILTER_ID ||
           f->type == FILTER_ENUM;
}

const struct condition *query_equal(
    struct arena *a, const struct filter *const *filters, const wharf_str *values, size_t n)
{
    struct condition *all = ARENA_ARRAY(a, struct condition, n + 1);

    for (size_t i = 0; i < n; i++) {
        if (!filters[i] || !filter_equal(a, filters[i], values[i], &all[i]))
            return NULL;
    }
    return all;
}
