/* from_json.c - filters of a JSON body as the pairs that a query string would have (01 section
 * 11.3 'JSON bodies').
 *
 * Elements of arrays are the items of the grammar, except that a comma in them is data. Metadata
 * given as an object is compared for equality, whatever its values look like. */
#include "query/filter.h"
#include "util/json.h"
#include "util/str.h"

enum {
    NUMBER_DIGITS = 40,
    VALUE_MAX = 1 << 20 /* bytes of a filter */
};

struct pairs {
    struct arena *a;
    struct query_pair *list;
    size_t n;
};

static void from_json_add(struct pairs *out, wharf_str key, struct buf *value, bool good)
{
    struct query_pair *p = &out->list[out->n++];

    p->key = key;
    p->broken = !good || value->failed;
    p->value = arena_dup_str(out->a, buf_str(value));
    buf_clear(value);
}

/* Writes the text of a scalar; arrays and objects have none. */
static bool from_json_scalar(const struct wharf_json *v, struct buf *out)
{
    switch ((enum json_type)v->type) {
    case JSON_STRING:
        buf_adds(out, v->text);
        return !v->has_nul;
    case JSON_NUMBER:
        return json_number_canonical(v->text, NUMBER_DIGITS, out);
    case JSON_BOOL:
        buf_addz(out, v->truth ? "true" : "false");
        return true;
    case JSON_NULL:
        buf_addz(out, "null");
        return true;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return false;
}

/* Writes elements with commas between. Only lists with escapes can hold a comma in an element. */
static bool elements(const struct wharf_json *array, bool escapes, struct buf *out)
{
    struct buf one;
    bool good = array->count > 0;

    buf_init(&one, VALUE_MAX);
    for (const struct wharf_json *v = array->child; v; v = v->next) {
        if (v != array->child)
            buf_addc(out, ',');
        good = from_json_scalar(v, &one) && good;
        for (size_t i = 0; i < one.n; i++) {
            if (one.p[i] == ',') {
                good = good && escapes;
                buf_addc(out, '\\');
            }
            buf_addc(out, one.p[i]);
            if (one.p[i] == '\\' && escapes && i + 1 < one.n)
                buf_addc(out, one.p[++i]);
        }
        buf_clear(&one);
    }
    buf_done(&one);
    return good;
}

static bool from_json_value_text(
    const struct filter *f, const struct wharf_json *v, struct buf *out)
{
    bool escapes = f && (f->type == FILTER_ARRAY || f->type == FILTER_TEXT);

    return json_is(v, JSON_ARRAY) ? elements(v, escapes, out) : from_json_scalar(v, out);
}

/* Adds the pairs of {"gte": ..., "lt": ...}, or the keys of metadata. */
static void add_object(
    struct pairs *out, const struct filter *f, const struct wharf_json *object, struct buf *value)
{
    bool metadata = f && f->type == FILTER_METADATA;

    if (object->count == 0)
        from_json_add(out, object->key, value, false);
    for (const struct wharf_json *v = object->child; v; v = v->next) {
        wharf_str key = arena_printf(out->a, "%s[%s]", object->key.p, v->key.p);
        bool good = !v->key_nul && v->key.n;

        if (metadata)
            buf_addz(value, "equals:");
        good = (metadata ? !json_is(v, JSON_NULL) && from_json_scalar(v, value)
                         : from_json_value_text(f, v, value)) &&
               good;
        from_json_add(out, key, value, good);
    }
}

void query_from_json(struct arena *a, const struct definition *d, const struct wharf_json *object,
    const struct query_pair **ret_pairs, size_t *ret_count)
{
    struct pairs out = {.a = a};
    struct buf value;
    size_t most = 1;

    for (const struct wharf_json *v = object->child; v; v = v->next)
        most += json_is(v, JSON_OBJECT) && v->count ? v->count : 1;
    out.list = ARENA_ARRAY(a, struct query_pair, most);
    buf_init(&value, VALUE_MAX);
    for (const struct wharf_json *v = object->child; v; v = v->next) {
        const struct filter *f = definition_filter(&d->list, query_base(v->key));
        bool plain = query_base(v->key).n == v->key.n;
        bool list = f && plain && json_is(v, JSON_ARRAY) &&
                    (f->type == FILTER_TEXT || f->type == FILTER_DATE || f->type == FILTER_NUMBER);

        if (json_is(v, JSON_OBJECT) && plain)
            add_object(&out, f, v, &value);
        else {
            bool good = from_json_value_text(f, v, &value) && !v->key_nul;

            from_json_add(&out, list ? arena_printf(a, "%s[in]", v->key.p) : v->key, &value, good);
        }
    }
    buf_done(&value);
    *ret_pairs = out.list;
    *ret_count = out.n;
}
