/* body_value.c - one JSON value into the canonical text of its store. See body.h. */
#include "resource/body_value.h"

#include "util/str.h"
#include "util/time.h"

enum { METADATA_KEYS = 25, METADATA_KEY = 100, METADATA_VALUE = 500 };
#define SAFE_INTEGER 9007199254740991LL

static void schema_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct checker *c = arg;

    c->fn(c->arg, path, rule, message);
    c->problems++;
}

static bool by_schema(struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path)
{
    return !f->schema ||
           schema_validate(f->schema, v, path, c->flags & BODY_STRICT ? SCHEMA_STRICT : 0, c->arena, schema_problem, c);
}

wharf_str body_compact(struct arena *a, const struct wharf_json *v)
{
    struct buf b;
    struct jw w;
    wharf_str s;

    buf_init(&b, 64 << 20);
    jw_init(&w, &b);
    jw_value(&w, NULL, v);
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

/* No U+0000, no control characters but TAB, LF and CR. */
static bool clean_text(struct checker *c, const struct wharf_json *v, wharf_str text, wharf_str path)
{
    if (v->has_nul) {
        body_tell(c, path, "format", "%.*s contains U+0000, which can not be stored", STR_ARG(path));
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char u = (unsigned char)text.p[i];

        if ((u < 0x20 && u != '\t' && u != '\n' && u != '\r') || u == 0x7F) {
            body_tell(c, path, "format", "%.*s contains a control character", STR_ARG(path));
            return false;
        }
    }
    return true;
}

static void clean_tree(struct checker *c, const struct wharf_json *v, wharf_str path)
{
    size_t i = 0;

    if (v->type == JSON_STRING) {
        clean_text(c, v, v->text, path);
        return;
    }
    for (const struct wharf_json *m = v->child; m; m = m->next, i++) {
        wharf_str key = v->type == JSON_ARRAY ? arena_printf(c->arena, "%zu", i) : m->key;

        clean_tree(c, m, body_path(c->arena, path, key));
    }
}

static void fold_ascii(wharf_str s)
{
    char *p = (char *)s.p;

    for (size_t i = 0; i < s.n; i++) {
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + 32);
    }
}

static void text_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    struct wharf_json trimmed = *v;

    if (v->type == JSON_STRING) {
        wharf_str s = f->trim ? utf8_trim(v->text) : v->text;

        trimmed.text = arena_dup_str(c->arena, s);
        if (!clean_text(c, v, trimmed.text, path))
            return;
    }
    if (!by_schema(c, f, &trimmed, path))
        return;
    if (v->type != JSON_STRING) {
        body_tell(c, path, "type", "%s must be a string", f->name);
        return;
    }
    if (f->fold)
        fold_ascii(trimmed.text);
    ret->text = trimmed.text;
}

static void int_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    int64_t i;

    if (!by_schema(c, f, v, path))
        return;
    if (!json_int(v, &i) || i > SAFE_INTEGER || i < -SAFE_INTEGER) {
        body_tell(c, path, "type", "%s must be a whole number between -(2^53-1) and 2^53-1", f->name);
        return;
    }
    ret->text = arena_printf(c->arena, "%lld", (long long)i);
}

static void decimal_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    struct buf b;
    const char *point;
    size_t whole, fraction;
    wharf_str text;

    if (!by_schema(c, f, v, path))
        return;
    buf_init(&b, 4096);
    if (v->type != JSON_NUMBER || !json_number_canonical(v->text, 64, &b)) {
        body_tell(c, path, "type", "%s must be a number", f->name);
        buf_done(&b);
        return;
    }
    text = arena_dup_str(c->arena, buf_str(&b));
    buf_done(&b);
    point = memchr(text.p, '.', text.n);
    fraction = point ? (size_t)(text.p + text.n - point - 1) : 0;
    whole = text.n - (point ? fraction + 1 : 0) - (text.p[0] == '-');
    if (fraction > f->scale)
        body_tell(c, path, "format", "%s has at most %u decimals", f->name, f->scale);
    else if (whole > (size_t)(f->precision - f->scale))
        body_tell(c, path, "max", "%s has at most %u digits before the point", f->name, f->precision - f->scale);
    else
        ret->text = text;
}

static void time_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    char iso[ISO_MS_LEN + 1];
    int64_t us, whole;
    bool ok = false;

    if (v->type == JSON_STRING)
        ok = time_parse(v->text, false, &us);
    else if (v->type == JSON_NUMBER && json_int(v, &whole))
        ok = time_parse(arena_printf(c->arena, "%lld", (long long)whole), false, &us);
    if (!ok) {
        body_tell(c, path, "format",
            "%s must be a date and time with Z or a UTC offset, or epoch seconds or milliseconds", f->name);
        return;
    }
    time_format_iso(us, iso);
    ret->text = arena_dup(c->arena, iso, ISO_MS_LEN);
}

static void json_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    size_t before = c->problems;

    clean_tree(c, v, path);
    if (c->problems > before || !by_schema(c, f, v, path))
        return;
    ret->json = v;
    ret->text = body_compact(c->arena, v);
    ret->patch = f->merge && c->op == OP_UPDATE;
}

/* ---- metadata ---- */

static void metadata_member(struct checker *c, const struct wharf_json *m, wharf_str path)
{
    if (!m->key.n || utf8_length(m->key.p, m->key.n) > METADATA_KEY)
        body_tell(c, path, "max_length", "metadata keys have 1 to %d characters", METADATA_KEY);
    if (m->type == JSON_ARRAY || m->type == JSON_OBJECT)
        body_tell(c, path, "type", "metadata values are strings, numbers or booleans");
    else if (m->type == JSON_STRING && utf8_length(m->text.p, m->text.n) > METADATA_VALUE)
        body_tell(c, path, "max_length", "metadata values have at most %d characters", METADATA_VALUE);
}

static bool removes(const struct wharf_json *m)
{
    return m->type == JSON_NULL || (m->type == JSON_STRING && !m->text.n);
}

static void metadata_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    size_t before = c->problems, kept = 0;

    if (v->type != JSON_OBJECT) {
        body_tell(c, path, "type", "%s must be an object", f->name);
        return;
    }
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        metadata_member(c, m, body_path(c->arena, path, m->key));
        kept += !removes(m);
    }
    clean_tree(c, v, path);
    if (kept > METADATA_KEYS)
        body_tell(c, path, "max", "metadata has at most %d keys", METADATA_KEYS);
    if (c->problems > before)
        return;
    ret->json = v;
    ret->text = body_compact(c->arena, v);
    ret->patch = true;
    if (c->op == OP_CREATE) {
        struct value patch = *ret;

        value_merge(c->arena, f, WHARF_S("{}"), &patch, path, ret, schema_problem, c);
    }
}

/* ---- arrays ---- */

static bool element_ok(struct checker *c, const struct wharf_json *e, wharf_str path)
{
    if (e->type != JSON_STRING || !e->text.n || e->text.n > 1000) {
        body_tell(c, path, "type", "must be a text of 1 to 1000 characters");
        return false;
    }
    return clean_text(c, e, e->text, path);
}

/* Unique, non-empty texts. The arrays are short: they have a maximum in their schema. */
static bool ids_ok(struct checker *c, const struct wharf_json *list, wharf_str path)
{
    size_t before = c->problems, i = 0;

    if (list->type != JSON_ARRAY) {
        body_tell(c, path, "type", "%.*s must be an array", STR_ARG(path));
        return false;
    }
    for (const struct wharf_json *e = list->child; e; e = e->next, i++) {
        wharf_str at = body_path(c->arena, path, arena_printf(c->arena, "%zu", i));

        if (!element_ok(c, e, at))
            continue;
        for (const struct wharf_json *o = list->child; o != e; o = o->next) {
            if (o->type == JSON_STRING && str_eq(o->text, e->text)) {
                body_tell(c, path, "unique", "%.*s names %.*s twice", STR_ARG(path), STR_ARG(e->text));
                break;
            }
        }
    }
    return c->problems == before;
}

static bool contains(const struct wharf_json *list, wharf_str id)
{
    for (const struct wharf_json *e = list ? list->child : NULL; e; e = e->next) {
        if (str_eq(e->text, id))
            return true;
    }
    return false;
}

static void set_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    static const char *const verbs[] = {"add", "remove", "set"};
    const struct wharf_json *add = json_get(v, "add"), *remove = json_get(v, "remove");
    size_t before = c->problems;

    for (size_t i = 0; i < 3; i++) {
        const struct wharf_json *list = json_get(v, verbs[i]);

        if (list)
            ids_ok(c, list, body_path(c->arena, path, str_z(verbs[i])));
    }
    if (json_get(v, "set") && (add || remove))
        body_tell(c, path, "format", "%s takes set, or add and remove, not both", f->name);
    if (!json_get(v, "set") && !add && !remove)
        body_tell(c, path, "required", "%s takes add, remove or set", f->name);
    for (const struct wharf_json *e = json_is(add, JSON_ARRAY) && c->problems == before ? add->child : NULL; e;
         e = e->next) {
        if (json_is(remove, JSON_ARRAY) && contains(remove, e->text))
            body_tell(c, path, "unique", "%s adds and removes %.*s", f->name, STR_ARG(e->text));
    }
    if (c->problems > before)
        return;
    ret->json = v;
    ret->set_input = true;
}

static void array_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    struct wharf_json *wrap, *inner;

    if (f->set_input && v->type == JSON_OBJECT) {
        set_value(c, f, v, path, ret);
        return;
    }
    if (!by_schema(c, f, v, path) || !ids_ok(c, v, path))
        return;
    if (!f->set_input) {
        ret->json = v;
        ret->text = body_compact(c->arena, v);
        return;
    }
    wrap = ARENA_NEW(c->arena, struct wharf_json);
    inner = ARENA_NEW(c->arena, struct wharf_json);
    *inner = *v;
    inner->key = str_z("set");
    inner->next = NULL;
    *wrap = (struct wharf_json){.type = JSON_OBJECT, .count = 1, .child = inner};
    ret->json = wrap;
    ret->set_input = true;
}

void body_value(struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    ret->present = true;
    switch (f->store) {
    case STORE_TEXT:
        text_value(c, f, v, path, ret);
        break;
    case STORE_INT:
        int_value(c, f, v, path, ret);
        break;
    case STORE_DEC:
        decimal_value(c, f, v, path, ret);
        break;
    case STORE_BOOL:
        if (v->type != JSON_BOOL)
            body_tell(c, path, "type", "%s must be true or false", f->name);
        else if (by_schema(c, f, v, path))
            ret->text = str_z(v->truth ? "true" : "false");
        break;
    case STORE_TIME:
        time_value(c, f, v, path, ret);
        break;
    case STORE_JSON:
        json_value(c, f, v, path, ret);
        break;
    case STORE_ARRAY:
        array_value(c, f, v, path, ret);
        break;
    case STORE_METADATA:
        metadata_value(c, f, v, path, ret);
        break;
    case STORE_NONE:
        ret->present = false;
        break;
    }
}
