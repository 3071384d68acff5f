/* say.c - the words of problems: what must be, and where. See check.h. */
#include "schema/check.h"
#include "util/str.h"

enum { LIST_MAX = 200 }; /* bytes of members named in a message */

/* Tells whether a sentence is wanted; a problem that needs none is counted here. */
static bool wants_words(struct check *c, const char *rule)
{
    if (!c->fn)
        return false;
    if (*c->reported < SCHEMA_DESCRIBED)
        return true;
    if (!c->left || *c->left > 0)
        c->fn(c->arg, (wharf_str){NULL, 0}, rule, (wharf_str){NULL, 0});
    return false;
}

static bool say_tell(struct check *c, wharf_str path, const char *rule, struct buf *text)
{
    wharf_str s = buf_str(text);

    ++*c->reported;
    if (!c->left || *c->left > 0) /* what was not looked at is no problem */
        c->fn(c->arg, path, rule, arena_dup(c->arena, s.p, s.n));
    buf_done(text);
    return false;
}

/* Fills the format with the place for its first %s and limit for its second. No user text is ever
 * a format. */
static void say_fill(struct buf *out, const char *format, wharf_str path, wharf_str limit)
{
    wharf_str values[2] = {path.n ? path : WHARF_S("the value"), limit};
    size_t n = 0;

    for (; *format; format++) {
        if (format[0] == '%' && format[1] == 's' && n < 2) {
            buf_adds(out, values[n++]);
            format++;
        } else {
            buf_addc(out, *format);
        }
    }
}

bool say_limit(
    struct check *c, const struct place *at, const char *rule, const char *format, wharf_str limit)
{
    struct buf text;
    wharf_str path;

    if (!wants_words(c, rule))
        return false;
    path = place_path(c->arena, c->base, at);
    buf_init(&text, SIZE_MAX / 2);
    say_fill(&text, format, path, limit);
    return say_tell(c, path, rule, &text);
}

bool say(struct check *c, const struct place *at, const char *rule, const char *format)
{
    return say_limit(c, at, rule, format, WHARF_S(""));
}

bool say_count(struct check *c, const struct place *at, const char *rule, const char *which,
    int64_t n, const char *what)
{
    wharf_str limit;

    if (!wants_words(c, rule))
        return false;
    limit = arena_printf(c->arena, "%s %lld %s%s", which, (long long)n, what, n == 1 ? "" : "s");
    return say_limit(c, at, rule, "%s must have %s", limit);
}

static wharf_str say_words_of(struct arena *a, uint32_t types)
{
    static const struct {
        uint32_t bit;
        const char *words;
    } names[] = {{1u << JSON_STRING, "a string"}, {1u << JSON_NUMBER, "a number"},
        {TYPE_INTEGER, "a whole number"}, {1u << JSON_BOOL, "true or false"},
        {1u << JSON_ARRAY, "an array"}, {1u << JSON_OBJECT, "an object"},
        {1u << JSON_NULL, "null"}};
    const char *found[7];
    size_t n = 0;
    struct buf text;
    wharf_str s;

    if (types & 1u << JSON_NUMBER)
        types &= ~(uint32_t)TYPE_INTEGER;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (types & names[i].bit)
            found[n++] = names[i].words;
    buf_init(&text, 1000);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_addz(&text, i + 1 == n ? " or " : ", ");
        buf_addz(&text, found[i]);
    }
    s = buf_str(&text);
    s = arena_dup(a, s.p, s.n);
    buf_done(&text);
    return s;
}

bool say_type(struct check *c, const struct place *at, const struct schema *s)
{
    if (!wants_words(c, "type"))
        return false;
    return say_limit(c, at, "type", "%s must be %s", say_words_of(c->arena, s->types));
}

/* Writes a value as a person reads it: strings without quotes. */
static void add_plain(struct buf *out, const struct wharf_json *v)
{
    struct jw w;

    if (v->type == JSON_STRING && v->text.n) {
        buf_adds(out, v->text);
    } else {
        jw_init(&w, out);
        jw_value(&w, NULL, v);
    }
}

bool say_members(struct check *c, const struct place *at, const struct wharf_json *members)
{
    struct buf text;
    size_t left = members->count;
    wharf_str path;

    if (!wants_words(c, "enum"))
        return false;
    path = place_path(c->arena, c->base, at);
    buf_init(&text, SIZE_MAX / 2);
    say_fill(&text, members->count == 1 ? "%s must be " : "%s must be one of: ", path, WHARF_S(""));
    for (const struct wharf_json *m = members->child; m; m = m->next, left--) {
        if (text.n > LIST_MAX + path.n) {
            buf_addf(&text, " and %zu more", left);
            break;
        }
        if (m != members->child)
            BUF_LIT(&text, ", ");
        add_plain(&text, m);
    }
    return say_tell(c, path, "enum", &text);
}

bool say_constant(struct check *c, const struct place *at, const struct wharf_json *constant)
{
    struct buf text;
    wharf_str path;

    if (!wants_words(c, "enum"))
        return false;
    path = place_path(c->arena, c->base, at);
    buf_init(&text, SIZE_MAX / 2);
    say_fill(&text, "%s must be ", path, WHARF_S(""));
    add_plain(&text, constant);
    return say_tell(c, path, "enum", &text);
}

bool say_repeats(struct check *c, const struct place *at, const struct place *first)
{
    if (!wants_words(c, "unique"))
        return false;
    return say_limit(c, at, "unique", "%s is the same as %s; send each only once",
        place_path(c->arena, c->base, first));
}

bool say_kinds(struct check *c, const struct place *at, const struct schema_list *forms)
{
    uint32_t types = 0;

    if (!wants_words(c, "format"))
        return false;
    for (size_t i = 0; i < forms->n; i++) {
        if (forms->items[i]->types == TYPE_ANY || forms->items[i]->height > 1)
            return say(c, at, "format", "%s has none of the forms it may have");
        types |= forms->items[i]->types;
    }
    return say_limit(
        c, at, "type", "%s must be %s of the right form", say_words_of(c->arena, types));
}
