/* filter_metadata.c - metadata filters in their three forms (01 section 11.1 `meta`). */
#include "query/filter.h"
#include "util/str.h"

/* Takes "equals:", "lt:" or "gt:" off. */
static void metadata_op(wharf_str *value, struct condition *c)
{
    static const struct {
        const char *word;
        enum condition_kind kind;
    } words[] = {{"equals:", COND_META}, {"lt:", COND_META_LESS}, {"gt:", COND_META_MORE}};

    c->kind = COND_META;
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i].word);

        if (str_starts(*value, words[i].word)) {
            c->kind = words[i].kind;
            *value = (wharf_str){value->p + n, value->n - n};
            return;
        }
    }
}

const char *filter_metadata(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    wharf_str key = p->inner, value = p->value, *kept = ARENA_NEW(a, wharf_str);

    if (p->form == KEY_PLAIN) {
        const char *colon = memchr(value.p, ':', value.n);

        if (!colon)
            return "must be key:value";
        key = (wharf_str){value.p, (size_t)(colon - value.p)};
        value = (wharf_str){colon + 1, value.n - key.n - 1};
    }
    if (p->form == KEY_BROKEN)
        return "has a bracket that is not closed";
    if (key.n == 0)
        return "must name a key";
    metadata_op(&value, c);
    *kept = value;
    c->key = key;
    c->values = kept;
    c->n_values = 1;
    return NULL;
}
