/* body.c - a request body against a definition, field by field. See body.h.
 *
 * Leaves to others: the stores (body_value.c, body_array.c, body_metadata.c), child rows
 * (body_children.c). */
#include "resource/body_value.h"
#include "util/str.h"

wharf_str body_path(struct arena *a, wharf_str base, wharf_str key)
{
    char *p = arena_alloc(a, base.n + 2 * key.n + 2);
    size_t n = base.n;

    if (n) {
        memcpy(p, base.p, n);
        p[n++] = '.';
    }
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '.')
            p[n++] = '\\';
        p[n++] = key.p[i];
    }
    return (wharf_str){p, n};
}

wharf_str body_path_index(struct arena *a, wharf_str base, size_t index)
{
    return arena_printf(a, "%s%s%zu", base.p, base.n ? "." : "", index);
}

bool body_describes(struct checker *c, const char *rule)
{
    if (c->problems < SCHEMA_DESCRIBED)
        return true;
    c->fn(c->arg, (wharf_str){NULL, 0}, rule, (wharf_str){NULL, 0});
    c->problems++;
    return false;
}

void body_tell(struct checker *c, wharf_str path, const char *rule, const char *fmt, ...)
{
    va_list ap;

    if (!body_describes(c, rule))
        return;
    va_start(ap, fmt);
    c->fn(c->arg, path, rule, arena_vprintf(c->arena, fmt, ap));
    va_end(ap);
    c->problems++;
}

/* ---- null and "" (docs/spec/01-platform.md section 4.2) ---- */

enum settled { SETTLED, AS_ABSENT, AS_VALUE };

/* Sets the column's empty value: null, or for columns that can't be null the empty array or
 * object. */
static void body_clear(struct checker *c, const struct field *f, struct value *ret)
{
    static const struct wharf_json nothing[] = {{.type = JSON_ARRAY}, {.type = JSON_OBJECT}};
    struct wharf_json *set;

    ret->present = true;
    if (f->store == STORE_METADATA || (f->store == STORE_ARRAY && !f->nullable)) {
        ret->json = &nothing[f->store == STORE_METADATA];
        ret->text = f->store == STORE_METADATA ? WHARF_S("{}") : WHARF_S("[]");
    } else {
        ret->null = true;
    }
    if (f->set_input && !ret->null && c->op == OP_UPDATE) {
        set = ARENA_ARRAY(c->arena, struct wharf_json, 2);
        set[0] = (struct wharf_json){.type = JSON_OBJECT, .count = 1, .child = &set[1]};
        set[1] = (struct wharf_json){.type = JSON_ARRAY, .key = WHARF_S("set")};
        ret->json = set;
        ret->set_input = true;
    }
}

static enum settled body_settle(struct checker *c, const struct field *f, enum blank_rule rule,
    bool empty, wharf_str path, struct value *ret)
{
    /* Fields that must be there can't be taken away, whatever their column could hold. */
    if (f->required && rule == BLANK_CLEAR)
        rule = BLANK_REJECT;
    switch (rule) {
    case BLANK_CLEAR:
        body_clear(c, f, ret);
        return SETTLED;
    case BLANK_IGNORE:
        return AS_ABSENT;
    case BLANK_KEEP:
        if (empty)
            return AS_VALUE;
        body_clear(c, f, ret);
        return SETTLED;
    case BLANK_REJECT:
        break;
    }
    if (f->required)
        body_tell(c, path, "required", "%s is required, it can't be %s", path.p,
            empty ? "empty" : "null");
    else if (empty)
        body_tell(c, path, "min_length", "%s must not be empty", path.p);
    else
        body_tell(
            c, path, "type", "%s must not be null; leave it out to keep what is stored", path.p);
    return SETTLED;
}

/* Tells whether v is an empty text: only what is sent as a text can be one. */
static bool body_is_empty(const struct field *f, const struct wharf_json *v)
{
    wharf_str s = v->text;

    if (v->type != JSON_STRING || (f->store != STORE_TEXT && f->store != STORE_SECRET &&
                                      f->store != STORE_TIME && f->store != STORE_METADATA))
        return false;
    return s.n == 0 || (f->trim && utf8_trim(s).n == 0);
}

/* ---- fields ---- */

/* Checks a sent value. Returns AS_ABSENT when it is to be treated as if it had not been sent. */
static enum settled check_sent(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    enum settled how = AS_VALUE;

    if (v->type == JSON_NULL)
        how = body_settle(c, f, f->on_null, false, path, ret);
    else if (body_is_empty(f, v))
        how = body_settle(c, f, f->on_empty, true, path, ret);
    if (how != AS_VALUE)
        return how;
    if (f->kind == FIELD_CHILDREN)
        body_children(c, f, v, path, ret);
    else
        body_value(c, f, v, path, ret);
    return SETTLED;
}

static void check_absent(
    struct checker *c, const struct field *f, wharf_str path, struct value *ret)
{
    if (!(c->op & OP_CREATE))
        return;
    if (f->required) {
        body_tell(c, path, "required", "%s is required", path.p);
    } else if (f->default_value && f->default_value->type != JSON_NULL) {
        /* The definition's own: "" is a value here. */
        if (f->kind == FIELD_CHILDREN)
            body_children(c, f, f->default_value, path, ret);
        else
            body_value(c, f, f->default_value, path, ret);
        ret->defaulted = ret->present;
    }
}

bool body_check_field(struct arena *a, const struct field *f, uint32_t op,
    const struct wharf_json *v, wharf_str path, uint32_t flags, struct value *ret,
    schema_problem_fn *fn, void *arg)
{
    struct checker c = {.arena = a, .op = op, .flags = flags, .fn = fn, .arg = arg};

    *ret = (struct value){0};
    check_sent(&c, f, v, path, ret);
    return c.problems == 0;
}

void body_fields(struct checker *c, const struct field *fields, size_t n,
    const struct wharf_json *body, wharf_str base, struct value *values)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        const struct wharf_json *v = json_get(body, f->name);
        /* On update also what may be written on create only: the caller compares, an equal value
         * is no change. Of a row that is replaced, what either may write. */
        bool writable = c->op == OP_CREATE ? f->write & OP_CREATE : f->write;
        bool is_id = !strcmp(f->name, "id");
        wharf_str path = body_path(c->arena, base, str_z(f->name));

        if (!writable || f == c->parent) {
            if (v && !is_id)
                body_clean(c, v, path);
            if (v && !is_id && f != c->parent && c->flags & BODY_STRICT)
                body_tell(c, path, "unknown", "%s can't be written; leave it out", path.p);
            continue;
        }
        if (!v || check_sent(c, f, v, path, &values[i]) == AS_ABSENT)
            check_absent(c, f, path, &values[i]);
    }
}

static bool body_named(const struct field *fields, size_t n, wharf_str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(name, fields[i].name))
            return true;
    return str_eqz(name, "object");
}

void body_unknown(struct checker *c, const struct field *fields, size_t n,
    const struct wharf_json *body, wharf_str base)
{
    for (const struct wharf_json *m = body->child; m; m = m->next) {
        wharf_str path;

        if (body_named(fields, n, m->key))
            continue;
        /* U+0000 is refused wherever it stands (section 2.3). */
        if (!body_clean_member(c, m, base) || !(c->flags & BODY_STRICT) ||
            !body_describes(c, "unknown"))
            continue;
        path = body_path(c->arena, base, m->key);
        body_tell(c, path, "unknown", "%s is not a field of this resource", path.p);
    }
}

static void check_given_id(
    struct checker *c, const struct definition *d, const struct wharf_json *body)
{
    const struct wharf_json *id = json_get(body, "id");

    if (!id || !d->ids.pattern || !(c->op & OP_CREATE))
        return;
    if (id->type != JSON_STRING)
        body_tell(c, str_z("id"), "type", "id must be a string");
    else if (id->has_nul || !pattern_match(d->ids.pattern, id->text))
        body_tell(c, str_z("id"), "format", "id has not the form that ids of a %s have", d->title);
}

bool body_check(struct arena *a, const struct definition *d, uint32_t op,
    const struct wharf_json *body, uint32_t flags, struct value *values, schema_problem_fn *fn,
    void *arg)
{
    struct checker c = {
        .arena = a, .op = op, .flags = flags, .fn = fn, .arg = arg, .parent = d->place.parent};

    if (!json_is(body, JSON_OBJECT)) {
        body_tell(&c, str_z(""), "type", "the body must be an object");
        return false;
    }
    check_given_id(&c, d, body);
    body_fields(&c, d->fields, d->n_fields, body, str_z(""), values);
    body_unknown(&c, d->fields, d->n_fields, body, str_z(""));
    return c.problems == 0;
}
