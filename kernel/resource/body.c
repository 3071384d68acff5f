/* body.c - a request body against a definition, field by field. body_value.c knows the stores. See body.h. */
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

void body_tell(struct checker *c, wharf_str path, const char *rule, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    c->fn(c->arg, path, rule, arena_vprintf(c->arena, fmt, ap));
    va_end(ap);
    c->problems++;
}

/* "" and null mean the same things everywhere (01 section 4.2): clear, be ignored, or be refused. True: the value is settled. */
static bool settle_blank(
    struct checker *c, const struct field *f, enum blank_rule rule, bool empty, wharf_str path, struct value *ret)
{
    switch (rule) {
    case BLANK_CLEAR:
        *ret = (struct value){.present = true, .null = true};
        return true;
    case BLANK_IGNORE:
        *ret = (struct value){.present = false};
        return true;
    case BLANK_KEEP:
        if (empty)
            return false;
        *ret = (struct value){.present = true, .null = true};
        return true;
    case BLANK_REJECT:
        break;
    }
    if (f->required)
        body_tell(c, path, "required", "%s must not be empty", f->name);
    else
        body_tell(c, path, "type", "%s can not be %s; leave it out to keep what is stored", f->name,
            empty ? "empty" : "null");
    return true;
}

static bool is_blank_text(const struct field *f, const struct wharf_json *v)
{
    wharf_str s = v->text;

    if (v->type != JSON_STRING || f->kind != FIELD_COLUMN)
        return false;
    if (f->store == STORE_TEXT && f->trim)
        s = utf8_trim(s);
    return s.n == 0;
}

static void check_one(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret)
{
    if (v->type == JSON_NULL) {
        if (f->store == STORE_METADATA)
            *ret = (struct value){.present = true, .text = str_z("{}")};
        else
            settle_blank(c, f, f->on_null, false, path, ret);
        return;
    }
    if (is_blank_text(f, v)) {
        if (f->store == STORE_METADATA) {
            *ret = (struct value){.present = true, .text = str_z("{}")};
            return;
        }
        if (f->store != STORE_JSON && settle_blank(c, f, f->on_empty, true, path, ret))
            return;
    }
    if (f->kind == FIELD_CHILDREN)
        body_children(c, f, v, path, ret);
    else
        body_value(c, f, v, path, ret);
}

bool body_check_field(struct arena *a, const struct field *f, uint32_t op, const struct wharf_json *v, wharf_str path,
    uint32_t flags, struct value *ret, schema_problem_fn *fn, void *arg)
{
    struct checker c = {.arena = a, .op = op, .flags = flags, .fn = fn, .arg = arg};

    *ret = (struct value){0};
    check_one(&c, f, v, path, ret);
    return c.problems == 0;
}

static void check_absent(struct checker *c, const struct field *f, wharf_str path, struct value *ret)
{
    if (c->op != OP_CREATE)
        return;
    if (f->required)
        body_tell(c, path, "required", "%s is required", f->name);
    else if (f->default_value && f->default_value->type != JSON_NULL)
        check_one(c, f, f->default_value, path, ret);
    ret->defaulted = ret->present;
}

void body_fields(struct checker *c, const struct field *fields, size_t n, const struct wharf_json *body, wharf_str base,
    struct value *values)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        const struct wharf_json *v = json_get(body, f->name);
        wharf_str path = body_path(c->arena, base, str_z(f->name));
        bool writable = c->op == OP_CREATE ? f->write & OP_CREATE : f->write & (OP_CREATE | OP_UPDATE);

        if (!writable || f == c->parent) {
            if (v && (c->flags & BODY_STRICT) && strcmp(f->name, "id") != 0)
                body_tell(c, path, "unknown", "%s can not be written; leave it out", f->name);
            continue;
        }
        if (v)
            check_one(c, f, v, path, &values[i]);
        else
            check_absent(c, f, path, &values[i]);
    }
}

static bool named(const struct field *fields, size_t n, wharf_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eqz(name, fields[i].name))
            return true;
    }
    return str_eqz(name, "object");
}

void body_unknown(
    struct checker *c, const struct field *fields, size_t n, const struct wharf_json *body, wharf_str base)
{
    if (!(c->flags & BODY_STRICT))
        return;
    for (const struct wharf_json *m = body->child; m; m = m->next) {
        if (!named(fields, n, m->key))
            body_tell(c, body_path(c->arena, base, m->key), "unknown", "%.*s is not a field of this resource",
                STR_ARG(m->key));
    }
}

static void check_given_id(struct checker *c, const struct definition *d, const struct wharf_json *body)
{
    const struct wharf_json *id = json_get(body, "id");

    if (!id || !d->id_pattern || c->op != OP_CREATE)
        return;
    if (id->type != JSON_STRING || !pattern_match(d->id_pattern, id->text))
        body_tell(c, str_z("id"), "format", "id has not the form that ids of a %s have", d->title);
}

bool body_check(struct arena *a, const struct definition *d, uint32_t op, const struct wharf_json *body, uint32_t flags,
    struct value *values, schema_problem_fn *fn, void *arg)
{
    struct checker c = {.arena = a, .op = op, .flags = flags, .fn = fn, .arg = arg, .parent = d->parent};

    if (!json_is(body, JSON_OBJECT)) {
        body_tell(&c, str_z(""), "type", "the body must be an object");
        return false;
    }
    check_given_id(&c, d, body);
    body_fields(&c, d->fields, d->n_fields, body, str_z(""), values);
    body_unknown(&c, d->fields, d->n_fields, body, str_z(""));
    return c.problems == 0;
}
