/* options.c - see options.h. */
#include "schema/options.h"

#include "util/str.h"

static void options_tell(struct compile *c, const struct place *at, const char *fmt, va_list ap)
{
    c->failed = true;
    c->fn(c->arg, place_pointer(c->arena, at), "format", arena_vprintf(c->arena, fmt, ap));
}

void opt_problem(struct compile *c, const struct place *at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    options_tell(c, at, fmt, ap);
    va_end(ap);
}

void opt_member_problem(
    struct compile *c, const struct place *up, const char *key, const char *fmt, ...)
{
    struct place at = place_key(up, str_z(key));
    va_list ap;

    va_start(ap, fmt);
    options_tell(c, &at, fmt, ap);
    va_end(ap);
}

static void unknown_member(
    struct compile *c, const struct place *up, wharf_str key, const char *const *names)
{
    struct place at = place_key(up, key);
    const char *near = NULL;
    unsigned best = 3;

    for (; *names; names++) {
        unsigned distance = str_distance(key.p, *names);

        if (distance < best) {
            best = distance;
            near = *names;
        }
    }
    if (near)
        opt_problem(c, &at, "unknown keyword; did you mean \"%s\"?", near);
    else
        opt_problem(c, &at, "unknown keyword; docs/reference/definitions.md lists them");
}

bool opt_object(
    struct compile *c, const struct wharf_json *v, const struct place *at, const char *const *names)
{
    if (!v)
        return false;
    if (v->type != JSON_OBJECT) {
        opt_problem(c, at, "this is an object");
        return false;
    }
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        size_t i = 0;

        while (names[i] && !str_eqz(m->key, names[i]))
            i++;
        if (!names[i])
            unknown_member(c, at, m->key, names);
    }
    return true;
}

const char *opt_text(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, const char *fallback)
{
    const struct wharf_json *v = json_get(object, key);

    if (!v)
        return fallback;
    if (v->type == JSON_STRING && v->text.n && !v->has_nul)
        return v->text.p;
    opt_member_problem(c, at, key, "this is a text");
    return fallback;
}

const char *opt_need(
    struct compile *c, const struct wharf_json *object, const struct place *at, const char *key)
{
    if (!json_get(object, key))
        opt_member_problem(c, at, key, "this is needed");
    return opt_text(c, object, at, key, "");
}

bool opt_bool(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, bool fallback)
{
    const struct wharf_json *v = json_get(object, key);

    if (!v)
        return fallback;
    if (v->type != JSON_BOOL)
        opt_member_problem(c, at, key, "this is true or false");
    return v->truth;
}

int64_t opt_int(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, int64_t fallback, int64_t min, int64_t max)
{
    const struct wharf_json *v = json_get(object, key);
    int64_t i;

    if (!v)
        return fallback;
    if (json_int(v, &i) && i >= min && i <= max)
        return i;
    opt_member_problem(
        c, at, key, "this is a whole number from %lld to %lld", (long long)min, (long long)max);
    return fallback;
}

const char *const *opt_texts(struct compile *c, const struct wharf_json *object,
    const struct place *at, const char *key, size_t *ret_n)
{
    const struct wharf_json *v = json_get(object, key);
    const char **list;
    size_t n = 0;
    bool ok;

    *ret_n = 0;
    if (!v)
        return NULL;
    list = ARENA_ARRAY(c->arena, const char *, v->count + 1);
    ok = v->type == JSON_ARRAY;
    for (const struct wharf_json *i = ok ? v->child : NULL; i && ok; i = i->next) {
        ok = i->type == JSON_STRING && i->text.n && !i->has_nul;
        for (size_t k = 0; k < n && ok; k++)
            ok = strcmp(list[k], i->text.p) != 0;
        if (ok)
            list[n++] = i->text.p;
    }
    if (!ok)
        opt_member_problem(c, at, key, "this is an array of different texts");
    *ret_n = n;
    return list;
}

size_t opt_word(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, const char *const *words, size_t fallback)
{
    const struct wharf_json *v = json_get(object, key);
    struct buf list;

    if (!v)
        return fallback;
    buf_init(&list, 1000);
    for (size_t i = 0; words[i]; i++) {
        if (json_is(v, JSON_STRING) && str_eqz(v->text, words[i])) {
            buf_done(&list);
            return i;
        }
        buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
    }
    opt_member_problem(c, at, key, "this is one of: %s", list.p);
    buf_done(&list);
    return fallback;
}

/* A pattern that is compiled. */
struct opt_program {
    const char *source; /* one of a few literals */
    const struct pattern *pattern; /* NULL: it is none */
    struct opt_program *next;
};

/* Compiles a pattern, once for a definition: hundreds of names are held to a few. */
static const struct pattern *opt_pattern(struct compile *c, const char *source)
{
    struct opt_program *p = c->programs;
    const char *error;

    while (p && strcmp(p->source, source) != 0)
        p = p->next;
    if (!p) {
        p = ARENA_NEW(c->scratch, struct opt_program);
        *p = (struct opt_program){
            source, pattern_compile(c->scratch, str_z(source), &error), c->programs};
        c->programs = p;
    }
    return p->pattern;
}

void opt_shape(struct compile *c, const struct place *at, const char *key, const char *text,
    const char *pattern, const char *what)
{
    const struct pattern *p;

    if (!*text)
        return;
    p = opt_pattern(c, pattern);
    if (!p || !pattern_match(p, str_z(text)))
        opt_member_problem(c, at, key, "this is %s", what);
}

const char *opt_quoted(struct compile *c, const char *name)
{
    size_t part = strcspn(name, ".");

    if (!name[part])
        return arena_printf(c->arena, "\"%s\"", name).p;
    return arena_printf(c->arena, "\"%.*s\".\"%s\"", (int)part, name, name + part + 1).p;
}

const char *const *opt_shapes(struct compile *c, const struct wharf_json *object,
    const struct place *at, const char *key, const char *pattern, const char *what, size_t *ret_n)
{
    const char *const *texts = opt_texts(c, object, at, key, ret_n);

    for (size_t i = 0; i < *ret_n; i++)
        opt_shape(c, at, key, texts[i], pattern, what);
    return texts;
}
