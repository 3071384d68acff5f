/* filter_text.c - text, boolean, array and tree filters (01 section 11.1 `text`, `bool`,
 * `many-bool`, `array`; 02 section 0 `layout_path`). */
#include <strings.h>

#include "query/filter.h"
#include "util/str.h"

const char *filter_text(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    wharf_str *kept;

    c->kind = COND_IN;
    if (p->form == KEY_PLAIN && filter_nullness(p->value, &c->negated)) {
        c->kind = COND_NULL;
        return p->filter->nullable ? NULL : "is never null";
    }
    if (p->form == KEY_BRACKET && !filter_op(OPS_TEXT, p->inner, &c->kind, &c->negated))
        return "must have one of the operators eq, !eq, in, !in";
    if (p->form == KEY_LIST)
        return "must name an operator in its brackets";
    if ((p->form == KEY_BRACKET && str_ends(p->inner, "in")) ||
        (p->form == KEY_PLAIN && p->filter->commas)) {
        c->values = filter_items(a, p->value, true, NULL, &c->n_values);
        return c->values ? NULL : "must have 1 to 500 values, none of them empty";
    }
    kept = ARENA_NEW(a, wharf_str);
    *kept = p->value;
    c->values = kept;
    c->n_values = 1;
    return NULL;
}

bool query_truth(wharf_str value, bool *ret_truth)
{
    static const char *const words[] = {"false", "0", "no", "true", "1", "yes"};

    for (size_t i = 0; i < 6; i++) {
        if (strlen(words[i]) == value.n && strncasecmp(words[i], value.p, value.n) == 0) {
            *ret_truth = i >= 3;
            return true;
        }
    }
    return false;
}

const char *filter_bool(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    bool many = p->filter->type == FILTER_MANY_BOOL;
    wharf_str value = p->value;

    c->kind = COND_TRUTH;
    if (p->form != KEY_PLAIN)
        return "takes no operator";
    if (many && (str_starts(value, "some:") || str_starts(value, "none:"))) {
        c->negated = str_starts(value, "none:");
        value = (wharf_str){value.p + 5, value.n - 5};
    }
    if (query_truth(value, &c->truth))
        return NULL;
    return many ? "must be true or false, with some: or none: before it at will"
                : "must be true or false";
}

/* Takes a prefix off. False: something that looks like one, but is none. */
static bool array_prefix(wharf_str *value, struct condition *c)
{
    static const struct {
        const char *word;
        bool any, negated;
    } words[] = {
        {"AND:", false, false}, {"OR:", true, false}, {"!AND:", false, true}, {"!OR:", true, true}};

    for (size_t i = 0; i < 4; i++) {
        size_t n = strlen(words[i].word);

        if (value->n < n || strncasecmp(value->p, words[i].word, n) != 0)
            continue;
        c->any = words[i].any;
        c->negated = words[i].negated;
        if (memcmp(value->p, words[i].word, n) != 0)
            return false;
        *value = (wharf_str){value->p + n, value->n - n};
        return true;
    }
    return true;
}

static bool filter_text_is_member(const struct filter *f, wharf_str value)
{
    for (size_t i = 0; i < f->n_members; i++) {
        if (str_eqz(value, f->members[i]))
            return true;
    }
    return f->n_members == 0;
}

static const char *strict_array(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    wharf_str list = p->value;
    const wharf_str *values;
    const bool *bang;
    struct item *items;

    if (p->form == KEY_BRACKET)
        return "has no operators in brackets: AND:, OR:, !AND: or !OR: stands before the values, "
               "as "
               "in OR:a,b";
    if (filter_nullness(p->value, &c->negated)) {
        c->kind = COND_NULL;
        return NULL;
    }
    c->kind = COND_ITEMS;
    c->any = p->filter->or_none || p->filter->any;
    if (!array_prefix(&list, c))
        return "must have its prefix in capitals: AND: OR: !AND: !OR:";
    values = filter_items(a, list, true, &bang, &c->n_items);
    if (!values)
        return "must have 1 to 500 values, none of them empty";
    c->items = items = ARENA_ARRAY(a, struct item, c->n_items);
    for (size_t i = 0; i < c->n_items; i++) {
        items[i] = (struct item){.value = values[i], .absent = bang[i]};
        if (bang[i])
            items[i].value = (wharf_str){values[i].p + 1, values[i].n - 1};
        if (items[i].value.n == 0)
            return "must have a value after !";
        if (c->filter->field && c->filter->field->fold)
            items[i].value = utf8_lower(a, items[i].value);
        if (!filter_text_is_member(c->filter, items[i].value))
            return "has a value that is not one of its members";
        if (c->filter->ids && !ids_fit(c->filter->ids, items[i].value))
            return "has a value that is no id of its kind";
    }
    return NULL;
}

const char *filter_array(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    const char *problem = strict_array(a, p, c);

    if (!problem || !p->filter->lenient)
        return problem;
    *c = (struct condition){.filter = p->filter, .kind = COND_ANYTHING};
    return NULL;
}

const char *filter_tree(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    const struct definition *tree = p->filter->tree;
    const char *prefix = tree ? arena_printf(a, "%s_", tree->ids.prefix).p : "";

    c->kind = COND_BELOW;
    if (p->form != KEY_PLAIN)
        return "takes no operator";
    c->values = filter_items(a, p->value, true, NULL, &c->n_values);
    for (size_t i = 0; c->values && i < c->n_values; i++) {
        if (c->values[i].p[0] != '/' && !str_starts(c->values[i], prefix))
            return "must be an id, or a path of names that begins with /";
    }
    return c->values ? NULL : "must have 1 to 500 values, none of them empty";
}
