/* filter_set.c - enum, id and flag filters: sets of members (01 section 11.1 `set`). */
#include "query/filter.h"
#include "util/id.h"
#include "util/str.h"

static bool filter_set_known_member(const struct filter *f, wharf_str *member)
{
    size_t strip = f->strip && str_starts(*member, f->strip) ? strlen(f->strip) : 0;
    wharf_str bare = {member->p + strip, member->n - strip};

    for (size_t i = 0; i < f->n_members; i++) {
        if (str_eqz(bare, f->members[i])) {
            *member = bare;
            return true;
        }
    }
    return false;
}

/* Tells whether the value begins with an operator of another type. Text ids have no shape of their
 * own, so that one could pass for an id. */
static bool foreign_operator(wharf_str value)
{
    const char *colon = memchr(value.p, ':', value.n);
    enum condition_kind kind;
    bool negated;

    return colon &&
           filter_op(OPS_COMPARE, (wharf_str){value.p, (size_t)(colon - value.p)}, &kind, &negated);
}

static const char *filter_set_check_member(const struct filter *f, wharf_str *member)
{
    if (f->type != FILTER_ID)
        return filter_set_known_member(f, member) ? NULL
                                                  : "has a value that is not one of its members";
    if (f->ids && !ids_fit(f->ids, *member))
        return "has a value that is no id of its kind";
    if (!f->ids &&
        (utf8_length(member->p, member->n) > FILTER_ID_LENGTH || foreign_operator(*member)))
        return "has a value that is no id";
    return NULL;
}

static const char *filter_set_read_members(struct arena *a, wharf_str list, struct condition *c)
{
    size_t n, k = 0;
    const wharf_str *items = filter_items(a, list, false, NULL, &n);
    wharf_str *values;

    if (!items)
        return "must have 1 to 500 values, none of them empty";
    values = ARENA_ARRAY(a, wharf_str, n);
    for (size_t i = 0; i < n; i++) {
        const char *problem;

        if (str_eqz(items[i], "null") && c->filter->nullable) {
            c->with_null = true;
            continue;
        }
        if (str_eqz(items[i], "null") || str_eqz(items[i], "!null"))
            return c->filter->nullable ? "takes !null only alone and without operator"
                                       : "is never null";
        values[k] = items[i];
        problem = filter_set_check_member(c->filter, &values[k++]);
        if (problem)
            return problem;
    }
    c->values = values;
    c->n_values = k;
    return NULL;
}

const char *filter_set(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    wharf_str list = p->value;
    const char *colon;

    c->kind = COND_IN;
    if (p->form == KEY_BRACKET) {
        if (!filter_op(OPS_SET, p->inner, &c->kind, &c->negated))
            return "must have one of the operators eq, !eq, in, !in";
        return filter_set_read_members(a, list, c);
    }
    if (p->form == KEY_PLAIN && str_eqz(list, "!null") && p->filter->nullable) {
        c->kind = COND_NULL;
        c->negated = c->open = true;
        return NULL;
    }
    colon = p->form == KEY_PLAIN ? memchr(list.p, ':', list.n) : NULL;
    if (colon &&
        filter_op(OPS_SET, (wharf_str){list.p, (size_t)(colon - list.p)}, &c->kind, &c->negated))
        return filter_set_read_members(
            a, (wharf_str){colon + 1, list.n - (size_t)(colon + 1 - list.p)}, c);
    c->open = true;
    return filter_set_read_members(a, list, c);
}

/* Parses dotted names: "shipment.created,parcel.*" or "!shipment.updated". */
const char *filter_names(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    const wharf_str *values;
    struct item *items;

    if (p->form != KEY_PLAIN)
        return "takes no operator; ! before a name leaves it out";
    values = filter_items(a, p->value, false, NULL, &c->n_items);
    if (!values)
        return "must have 1 to 500 values, none of them empty";
    c->kind = COND_NAMES;
    c->items = items = ARENA_ARRAY(a, struct item, c->n_items);
    for (size_t i = 0; i < c->n_items; i++) {
        bool bang = values[i].p[0] == '!';
        wharf_str name = {values[i].p + bang, values[i].n - bang};
        size_t n = strspn(name.p, "abcdefghijklmnopqrstuvwxyz0123456789_.");

        if (!n || name.p[0] == '.' ||
            (n < name.n && !(n + 1 == name.n && name.p[n] == '*' && name.p[n - 1] == '.')))
            return "must hold names like shipment.created, or shipment.* for all of one object";
        items[i] = (struct item){.value = name, .absent = bang};
    }
    return NULL;
}
