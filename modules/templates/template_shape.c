/* template_shape.c - judges bodies by the shapes of plugin.json, which are what the
 * description of the API says as well (spec 05 section 9.3). All problems are told, each with
 * its path.
 *
 * The shapes are compiled once, when the module starts. What JSON Schema says in keywords that are
 * not read here ends the start, so that no rule is only on paper. */
#include "templates.h"
#include "templates.gen.h"

enum { DEPTH_MAX = 56, SHAPES_MAX = 64 };

/* Forms of texts. Each stands for a pattern of plugin.json. */
enum form { FORM_ANY, FORM_VARIABLE, FORM_COLOR, FORM_WIDTH, FORM_LINK };

struct member {
    const char *name;
    bool required;
    const struct shape *shape;
};

struct shape {
    const char *ref; /* not NULL: the shape of that name is meant */
    uint32_t types; /* a bit for each of enum wharf_json_type; 0: any */
    enum form form;
    bool holder; /* a text with a variable will do as well */
    bool whole, closed, has_range;
    double least, most; /* of a number */
    int64_t least_n, most_n; /* characters, elements; -1: any */
    const wharf_str *words; /* a text is one of them */
    const double *numbers; /* a number is one of them */
    size_t n_words, n_numbers;
    wharf_str constant; /* or empty */
    const struct shape *items;
    const struct member *members;
    size_t n_members;
    const struct shape *const *kinds; /* one of them, by the member `type` */
    size_t n_kinds;
};

/* Set by shapes_start(), before anything of this module runs. */
static struct {
    const char *name;
    struct shape *shape;
} shapes[SHAPES_MAX];
static size_t n_shapes;

const struct shape *shape_named(const char *name)
{
    for (size_t i = 0; i < n_shapes; i++) {
        if (!strcmp(shapes[i].name, name))
            return shapes[i].shape;
    }
    return NULL;
}

/* ---- compiling ---- */

struct compiling {
    wharf_req *req;
    const char *unknown; /* what is not understood, or NULL */
};

static void *template_shape_keep(size_t bytes)
{
    return W->mem->plugin_alloc(templates_self, bytes ? bytes : 1);
}

static uint32_t type_bit(struct compiling *c, wharf_str name)
{
    static const char *const names[] = {
        "", "null", "boolean", "number", "string", "array", "object", "integer"};
    size_t i = word_place(name, names, 8);

    if (i == 8)
        c->unknown = name.p;
    return i == 7 ? 1u << WHARF_J_NUMBER : 1u << i;
}

static void template_shape_read_types(struct compiling *c, const wharf_json *v, struct shape *s)
{
    wharf_str one;

    if (W->json->text(v, &one)) {
        s->types |= type_bit(c, one);
        s->whole |= is(one, "integer");
    }
    for (const wharf_json *e = W->json->type(v) == WHARF_J_ARRAY ? W->json->at(v, 0) : NULL; e;
         e = W->json->next(e))
        template_shape_read_types(c, e, s);
}

static enum form read_pattern(struct compiling *c, const wharf_json *v)
{
    static const char *const known[] = {"", "\\{\\{",
        "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$|\\{\\{",
        "^auto$|^[0-9]+(\\.[0-9]+)?fr$|\\{\\{", "^https://|\\{\\{"};
    wharf_str text = WHARF_S("");
    size_t i;

    W->json->text(v, &text);
    i = word_place(text, known, 5);
    if (i == 5)
        c->unknown = text.p;
    return (enum form)(i % 5);
}

static void template_shape_read_words(struct compiling *c, const wharf_json *list, struct shape *s)
{
    size_t n = W->json->count(list);
    wharf_str *words = template_shape_keep(n * sizeof(*words)), one;
    double *numbers = template_shape_keep(n * sizeof(*numbers));

    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        if (W->json->text(e, &one))
            words[s->n_words++] = keep_text(one);
        else if (W->json->type(e) == WHARF_J_NUMBER)
            numbers[s->n_numbers++] = json_number(c->req, e, 0);
    }
    s->words = words;
    s->numbers = numbers;
}

static struct shape *template_shape_compile(struct compiling *c, const wharf_json *v);

static void template_shape_read_members(
    struct compiling *c, const wharf_json *list, struct shape *s)
{
    struct member *members = template_shape_keep(W->json->count(list) * sizeof(*members));

    for (const wharf_json *m = W->json->at(list, 0); m; m = W->json->next(m))
        members[s->n_members++] = (struct member){
            .name = keep_text(W->json->key(m)).p, .shape = template_shape_compile(c, m)};
    s->members = members;
}

static void template_shape_read_required(const wharf_json *list, struct shape *s)
{
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        wharf_str name;

        for (size_t i = 0; W->json->text(e, &name) && i < s->n_members; i++)
            ((struct member *)s->members)[i].required |= is(name, s->members[i].name);
    }
}

/* Reads alternatives: null beside something, a text with a variable beside something, or elements
 * that are told apart by their type. */
static void read_kinds(struct compiling *c, const wharf_json *list, struct shape *s)
{
    const struct shape **kinds = template_shape_keep(W->json->count(list) * sizeof(*kinds));

    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        const struct shape *one = template_shape_compile(c, e);

        if (!one->ref && one->types == 1u << WHARF_J_NULL)
            s->types |= one->types;
        else if (!one->ref && one->form == FORM_VARIABLE && one->types == 1u << WHARF_J_STRING)
            s->holder = true;
        else
            kinds[s->n_kinds++] = one;
    }
    s->kinds = kinds;
}

static void template_shape_read_limit(
    struct compiling *c, wharf_str key, const wharf_json *v, struct shape *s)
{
    double n = json_number(c->req, v, 0);

    if (is(key, "minimum")) {
        s->least = n;
        s->has_range = true;
    } else if (is(key, "maximum")) {
        s->most = n;
        s->has_range = true;
    } else if (is(key, "minLength") || is(key, "minItems")) {
        s->least_n = (int64_t)n;
    } else {
        s->most_n = (int64_t)n;
    }
}

static void template_shape_read_keyword(
    struct compiling *c, wharf_str key, const wharf_json *v, struct shape *s)
{
    static const char *const limits[] = {
        "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"};
    static const char *const words[] = {"description", "format", "required"};
    wharf_str text = WHARF_S("");
    bool truth = true;

    if (is(key, "type"))
        template_shape_read_types(c, v, s);
    else if (is(key, "pattern"))
        s->form = read_pattern(c, v);
    else if (is(key, "enum"))
        template_shape_read_words(c, v, s);
    else if (is(key, "const") && W->json->text(v, &text))
        s->constant = keep_text(text);
    else if (is(key, "items"))
        s->items = template_shape_compile(c, v);
    else if (is(key, "properties"))
        template_shape_read_members(c, v, s);
    else if (is(key, "anyOf"))
        read_kinds(c, v, s);
    else if (is(key, "additionalProperties"))
        s->closed = W->json->truth(v, &truth) && !truth;
    else if (word_place(key, limits, 6) < 6)
        template_shape_read_limit(c, key, v, s);
    else if (word_place(key, words, 3) == 3)
        c->unknown = keep_text(key).p;
}

static struct shape *template_shape_compile(struct compiling *c, const wharf_json *v)
{
    static const char components[] = "#/components/schemas/";
    struct shape *s = template_shape_keep(sizeof(*s));
    wharf_str ref = json_text(v, "$ref");

    *s = (struct shape){.least_n = -1, .most_n = -1};
    if (ref.n > sizeof(components) - 1)
        s->ref = keep_text(
            (wharf_str){ref.p + sizeof(components) - 1, ref.n - (sizeof(components) - 1)})
                     .p;
    for (const wharf_json *m = s->ref ? NULL : W->json->at(v, 0); m; m = W->json->next(m))
        template_shape_read_keyword(c, W->json->key(m), m, s);
    if (W->json->get(v, "required"))
        template_shape_read_required(W->json->get(v, "required"), s);
    return s;
}

/* Tells whether a shape is of what is sent. */
static bool template_shape_is_sent(wharf_str name)
{
    return (name.n > 5 && !memcmp(name.p + name.n - 5, "Input", 5)) || is(name, "TemplateResource");
}

wharf_status shapes_start(wharf_req *req)
{
    struct compiling c = {.req = req};
    const wharf_json *manifest, *all;
    wharf_status s = W->json->parse(req, templates_manifest_text, &manifest);

    if (s != WHARF_OK)
        return s;
    all = W->json->get(manifest, "shapes");
    for (const wharf_json *m = W->json->at(all, 0); m && n_shapes < SHAPES_MAX;
         m = W->json->next(m)) {
        if (!template_shape_is_sent(W->json->key(m)))
            continue;
        shapes[n_shapes].name = keep_text(W->json->key(m)).p;
        shapes[n_shapes++].shape = template_shape_compile(&c, m);
    }
    return c.unknown ? W->err->fail(req, ERR_INTERNAL, NULL,
                           "plugin.json of templates says \"%s\" in a shape, which nothing reads",
                           c.unknown)
                     : WHARF_OK;
}

/* ---- judging ---- */

static void template_shape_judge(wharf_req *req, const struct shape *s, const wharf_json *v,
    const struct place *at, unsigned depth);

static const struct shape *template_shape_meant(const struct shape *s)
{
    while (s && s->ref)
        s = shape_named(s->ref);
    return s;
}

static bool has_variable(wharf_str s)
{
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.p[i] == '{' && s.p[i + 1] == '{')
            return true;
    }
    return false;
}

static bool is_color(wharf_str s)
{
    if (!s.n || s.p[0] != '#' || (s.n != 4 && s.n != 7 && s.n != 9))
        return false;
    for (size_t i = 1; i < s.n; i++) {
        if (!strchr("0123456789abcdefABCDEF", s.p[i]))
            return false;
    }
    return true;
}

static bool is_width(wharf_str s)
{
    size_t digits = strspn(s.p, "0123456789"), more = 0;

    if (is(s, "auto"))
        return true;
    if (s.p[digits] == '.') {
        more = strspn(s.p + digits + 1, "0123456789");
        if (!more)
            return false;
        more++;
    }
    return digits && s.n == digits + more + 2 && !strcmp(s.p + digits + more, "fr");
}

static size_t template_shape_characters(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* Lists words for a message. */
static wharf_str template_shape_listed(wharf_req *req, const wharf_str *words, size_t n)
{
    wharf_str all = WHARF_S("");

    for (size_t i = 0; i < n; i++)
        all = W->mem->format(req, "%s%s%s", all.p, i ? ", " : "", words[i].p);
    return all;
}

static void judge_form(
    wharf_req *req, const struct shape *s, wharf_str text, const struct place *at)
{
    if (has_variable(text))
        return;
    if (s->form == FORM_VARIABLE)
        place_wrong(req, at, "must be a %s, or a text with a variable in {{ }}",
            s->types & 1u << WHARF_J_BOOL ? "boolean" : "number");
    else if (s->form == FORM_COLOR && !is_color(text))
        place_wrong(req, at, "must be a colour: #RGB, #RRGGBB or #RRGGBBAA");
    else if (s->form == FORM_WIDTH && !is_width(text))
        place_wrong(req, at, "must be points, a share such as 2fr, or auto");
    else if (s->form == FORM_LINK && (text.n < 9 || memcmp(text.p, "https://", 8) != 0))
        place_wrong(req, at, "must be a URL that begins with https://");
}

static void judge_text(
    wharf_req *req, const struct shape *s, wharf_str text, const struct place *at)
{
    int64_t n = s->least_n >= 0 || s->most_n >= 0 ? (int64_t)template_shape_characters(text) : 0;
    bool among = !s->n_words;

    for (size_t i = 0; i < s->n_words && !among; i++)
        among = same(text, s->words[i]);
    if (s->constant.n && !same(text, s->constant))
        place_wrong(req, at, "must be %s", s->constant.p);
    else if (!among && !(s->holder && has_variable(text)))
        place_wrong(
            req, at, "must be one of %s", template_shape_listed(req, s->words, s->n_words).p);
    else if (s->least_n > 0 && n < s->least_n)
        place_wrong(req, at, "must have at least %lld character%s", (long long)s->least_n,
            s->least_n == 1 ? "" : "s");
    else if (s->most_n >= 0 && n > s->most_n)
        place_wrong(req, at, "must have at most %lld characters", (long long)s->most_n);
    else
        judge_form(req, s, text, at);
}

static void judge_number(
    wharf_req *req, const struct shape *s, const wharf_json *v, const struct place *at)
{
    double n = json_number(req, v, 0);
    bool among = !s->n_numbers;

    for (size_t i = 0; i < s->n_numbers && !among; i++)
        among = s->numbers[i] >= n && s->numbers[i] <= n;
    if (!among)
        place_wrong(req, at, "must be one of %g, %g and %g", s->numbers[0],
            s->n_numbers > 1 ? s->numbers[1] : s->numbers[0], s->numbers[s->n_numbers - 1]);
    else if (s->has_range && !(n >= s->least && n <= s->most))
        place_wrong(req, at, "must be a number from %g to %g", s->least, s->most);
    else if (s->whole && n != (double)(int64_t)n)
        place_wrong(req, at, "must be a whole number");
}

static void judge_list(wharf_req *req, const struct shape *s, const wharf_json *v,
    const struct place *at, unsigned depth)
{
    int64_t n = (int64_t)W->json->count(v);
    size_t i = 0;

    if (s->least_n >= 0 && n < s->least_n)
        place_wrong(req, at, "must have at least %lld element%s", (long long)s->least_n,
            s->least_n == 1 ? "" : "s");
    else if (s->most_n >= 0 && n > s->most_n)
        place_wrong(req, at, "must have at most %lld elements", (long long)s->most_n);
    for (const wharf_json *e = s->items ? W->json->at(v, 0) : NULL; e; e = W->json->next(e), i++) {
        const struct place here = {.up = at, .index = i};

        template_shape_judge(req, s->items, e, &here, depth + 1);
    }
}

static void judge_object(wharf_req *req, const struct shape *s, const wharf_json *v,
    const struct place *at, unsigned depth)
{
    for (size_t i = 0; i < s->n_members; i++) {
        const struct member *m = &s->members[i];
        const wharf_json *value = W->json->get(v, m->name);
        const struct place here = {.up = at, .key = m->name};

        if (!json_is_null(value))
            template_shape_judge(req, m->shape, value, &here, depth + 1);
        else if (m->required)
            place_wrong(req, &here, "is needed");
    }
}

/* Judges an element by the shape of its type. */
static void judge_element(wharf_req *req, const struct shape *s, const wharf_json *v,
    const struct place *at, unsigned depth)
{
    wharf_str type = json_text(v, "type"), known = WHARF_S("");
    const struct place here = {.up = at, .key = "type"};

    for (size_t i = 0; i < s->n_kinds; i++) {
        const struct shape *kind = template_shape_meant(s->kinds[i]);
        const struct shape *constant = kind->n_members ? kind->members[0].shape : NULL;

        if (!constant || !constant->constant.n) {
            template_shape_judge(req, kind, v, at, depth + 1);
            return;
        }
        if (same(constant->constant, type)) {
            judge_object(req, kind, v, at, depth);
            return;
        }
        known = W->mem->format(req, "%s%s%s", known.p, i ? ", " : "", constant->constant.p);
    }
    if (W->json->type(v) == WHARF_J_OBJECT)
        place_wrong(req, &here, "must be one of %s", known.p);
    else
        place_wrong(req, at, "must be an object with the member type");
}

static const char *types_text(uint32_t types)
{
    static const char *const names[] = {
        "", "null", "a boolean", "a number", "a text", "a list", "an object"};

    for (uint32_t i = WHARF_J_BOOL; i <= WHARF_J_OBJECT; i++) {
        if (types & 1u << i && !(types & 1u << WHARF_J_STRING && i != WHARF_J_STRING))
            return names[i];
    }
    return "null";
}

static void template_shape_judge(wharf_req *req, const struct shape *s, const wharf_json *v,
    const struct place *at, unsigned depth)
{
    uint32_t type = W->json->type(v);
    wharf_str text;

    s = template_shape_meant(s);
    if (!s)
        return; /* of the description alone, as AnyValue */
    if (depth > DEPTH_MAX) {
        place_wrong(req, at, "is nested too deeply");
        return;
    }
    if (s->holder && W->json->text(v, &text) && has_variable(text))
        return;
    if (s->n_kinds) {
        judge_element(req, s, v, at, depth);
        return;
    }
    if (s->types && !(s->types & 1u << type)) {
        place_wrong(req, at, "must be %s", types_text(s->types));
        return;
    }
    if (type == WHARF_J_STRING && W->json->text(v, &text))
        judge_text(req, s, text, at);
    else if (type == WHARF_J_NUMBER)
        judge_number(req, s, v, at);
    else if (type == WHARF_J_ARRAY)
        judge_list(req, s, v, at, depth);
    else if (type == WHARF_J_OBJECT)
        judge_object(req, s, v, at, depth);
}

void shape_judge(wharf_req *req, const struct shape *s, const wharf_json *v, const struct place *at)
{
    template_shape_judge(req, s, v, at, 0);
}
