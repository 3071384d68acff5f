/* lists.c - a definition's list: limits, order, search columns and named filters
 * (docs/reference/definitions.md 'list'). */
#include "schema/compile.h"
#include "util/str.h"

struct filters {
    struct filter *items;
    size_t n;
};

const struct field *find_field(struct compile *c, const struct place *at, const char *name)
{
    const struct field *f = fields_find(c->d->fields, c->d->n_fields, name);

    if (!f && *name)
        opt_problem(c, at, "there is no property \"%s\"", name);
    return f;
}

const struct field *opt_field(
    struct compile *c, const struct wharf_json *object, const struct place *at, const char *key)
{
    const char *name = opt_text(c, object, at, key, NULL);
    struct place inner = place_key(at, str_z(key));

    return name ? find_field(c, &inner, name) : NULL;
}

/* ---- order ---- */

static void lists_read_order(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const words[] = {"desc", "asc", NULL};
    struct definition *d = c->d;
    const char *name = opt_text(c, x, at, "order_by", "created_at");
    const struct field **sorts = ARENA_ARRAY(c->arena, const struct field *, d->n_fields + 1),
                       *order;
    bool listed = false, fixed = opt_bool(c, x, at, "fixed", false);

    order = fields_find(d->fields, d->n_fields, name);
    if (!order && system_column(name) >= 0)
        order = system_field(c, (enum system_column)system_column(name));
    if (!order || order->kind != FIELD_COLUMN || order->store > STORE_TIME)
        opt_member_problem(c, at, "order_by", "this names a column of single values");
    for (size_t i = 0; i < d->n_fields && !fixed; i++) {
        if (!d->fields[i].sort && &d->fields[i] != order)
            continue;
        listed = listed || &d->fields[i] == order;
        sorts[d->list.n_sorts++] = &d->fields[i];
    }
    if (!listed && !fixed)
        sorts[d->list.n_sorts++] = order;
    d->list.sorts = sorts;
    d->list.order = order;
    d->list.descending = opt_word(c, x, at, "direction", words, 0) == 0;
}

/* ---- search ---- */

/* Finds the field of "name" or "children.name". */
static const struct field *search_field(struct compile *c, const char *name, const struct place *at)
{
    const char *dot = strchr(name, '.');
    const struct field *f, *child;

    if (!dot)
        return find_field(c, at, name);
    child = find_field(c, at, arena_dup(c->arena, name, (size_t)(dot - name)).p);
    if (!child)
        return NULL;
    f = child->children ? fields_find(child->children->fields, child->children->n_fields, dot + 1)
                        : NULL;
    if (!f)
        opt_problem(c, at, "there is no field \"%s\" in child rows", name);
    return f;
}

/* Reads "name", "sender.name", or "metadata=metadata_text": the second column under the first
 * name. */
static void read_reported(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    struct place t_at = place_key(at, WHARF_S("search_reported"));
    size_t n;
    const char *const *texts = opt_texts(c, x, at, "search_reported", &n);
    struct hit_place *list = ARENA_ARRAY(c->arena, struct hit_place, n + 1);

    for (size_t i = 0; i < n; i++) {
        size_t is = strcspn(texts[i], "=");
        const char *path = texts[i][is] ? texts[i] + is + 1 : texts[i], *dot = strchr(path, '.');
        const struct field *f = find_field(
            c, &t_at, dot ? arena_dup(c->arena, path, (size_t)(dot - path)).p : path);

        if (!f)
            continue;
        if (f->store != (dot ? STORE_JSON : STORE_TEXT))
            opt_problem(c, &t_at, "\"%s\" is neither text nor a member of an object", path);
        list[c->d->list.n_reported++] = (struct hit_place){
            arena_dup(c->arena, texts[i], is).p, f, dot ? dot + 1 : NULL};
    }
    c->d->list.reported = list;
}

/* Reads "content=content_words": columns of folded words, and the names that their hits have. */
static void lists_read_words(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    struct place w_at = place_key(at, WHARF_S("search_words"));
    size_t n;
    const char *const *texts = opt_texts(c, x, at, "search_words", &n);
    struct hit_place *list = ARENA_ARRAY(c->arena, struct hit_place, n + 1);

    for (size_t i = 0; i < n; i++) {
        size_t is = strcspn(texts[i], "=");
        const struct field *f = texts[i][is] ? find_field(c, &w_at, texts[i] + is + 1) : NULL;

        if (f && f->store == STORE_TEXT)
            list[c->d->list.n_words++] = (struct hit_place){
                arena_dup(c->arena, texts[i], is).p, f, NULL};
        else if (f || !texts[i][is])
            opt_problem(c, &w_at, "\"%s\" is not a name, \"=\" and a text field", texts[i]);
    }
    c->d->list.words = list;
}

static void lists_read_search(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    struct place s_at = place_key(at, WHARF_S("search"));
    size_t n;
    const char *const *names = opt_texts(c, x, at, "search", &n);
    const struct field **list = ARENA_ARRAY(c->arena, const struct field *, n + 1);

    for (size_t i = 0; i < n; i++) {
        struct field *f = (struct field *)search_field(c, names[i], &s_at);

        if (!f)
            continue;
        if (f->store != STORE_TEXT)
            opt_problem(c, &s_at, "\"%s\" is no text", names[i]);
        f->search = true;
        list[c->d->list.n_searches++] = f;
    }
    c->d->list.searches = list;
    read_reported(c, x, at);
    lists_read_words(c, x, at);
    c->d->list.similar = opt_bool(c, x, at, "search_similar", false);
    c->d->list.by_relevance = c->d->list.n_searches && opt_bool(c, x, at, "search_order", true);
}

/* ---- filters ---- */

static struct filter *filter_add(
    struct compile *c, struct filters *all, const char *name, const struct place *at)
{
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->items[i].name, name))
            opt_problem(c, at, "there is a filter of this name already");
    all->items[all->n].name = name;
    return &all->items[all->n++];
}

static void fill_filter(struct compile *c, struct filter *f, const struct field *field,
    const struct field *child, enum filter_type type)
{
    f->type = type;
    f->field = field;
    f->child = child;
    f->nullable = field->nullable;
    f->members = field->members;
    f->n_members = field->n_members;
    if (type == FILTER_ID && !child && field->select == COL_ID)
        f->ids = &c->d->ids;
}

static void system_filters(struct compile *c, struct filters *all)
{
    for (int i = COL_ID; i <= COL_UPDATED_BY; i++) {
        const struct field *f = system_field(c, (enum system_column)i);

        if (f->index == UINT16_MAX) {
            all->items[all->n].name = f->name;
            fill_filter(c, &all->items[all->n++], f, NULL, f->filter);
        }
    }
}

/* Reads the names of an object of booleans, for flags. */
static void read_flags(struct compile *c, struct filter *f, const struct place *at)
{
    const struct wharf_json *properties = json_get(f->field->json, "properties");
    const char **names;

    f->members = NULL;
    f->n_members = 0;
    if (f->field->store != STORE_JSON || !json_is(properties, JSON_OBJECT)) {
        opt_problem(c, at, "flags are for an object whose properties are written out");
        return;
    }
    names = ARENA_ARRAY(c->arena, const char *, properties->count + 1);
    for (const struct wharf_json *m = properties->child; m; m = m->next)
        names[f->n_members++] = m->key.p;
    f->members = names;
}

static enum filter_type named_type(const struct field *f, bool child)
{
    enum filter_type type = field_filter_type(f);

    return child && type == FILTER_BOOL ? FILTER_MANY_BOOL : type;
}

/* Reads the columns after the first that an id filter looks at. */
static void read_others(
    struct compile *c, struct filter *f, const struct wharf_json *v, const struct place *at)
{
    struct place o_at = place_key(at, WHARF_S("or"));
    size_t n;
    const char *const *names = opt_texts(c, v, at, "or", &n);

    if (n && (f->type != FILTER_ID || f->child || n > sizeof(f->others) / sizeof(*f->others))) {
        opt_problem(c, &o_at, "an id filter takes one to three more columns");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        f->others[i] = find_field(c, &o_at, names[i]);
        if (f->others[i] &&
            (f->others[i]->kind != FIELD_COLUMN || f->others[i]->store != STORE_TEXT))
            opt_problem(c, &o_at, "\"%s\" is no text column", names[i]);
    }
}

/* Reads what only filters of arrays have. */
static void read_array_extras(
    struct compile *c, struct filter *f, const struct wharf_json *v, const struct place *at)
{
    f->lenient = opt_bool(c, v, at, "lenient", false);
    f->or_none = opt_bool(c, v, at, "or_none", false);
    f->any = opt_bool(c, v, at, "any", false);
    if ((f->lenient || f->or_none || f->any) && f->type != FILTER_ARRAY)
        opt_member_problem(c, at,
            f->lenient   ? "lenient"
            : f->or_none ? "or_none"
                         : "any",
            "only filters of arrays have this");
}

/* Reads what only some types have: trees, lenient arrays, booleans of a row with two columns. */
static void read_extras(
    struct compile *c, struct filter *f, const struct wharf_json *v, const struct place *at)
{
    if (f->type == FILTER_TREE && (f->child || !f->field->ref || f->field->store != STORE_TEXT))
        opt_member_problem(c, at, "type", "a tree filter is for a field with ref");
    read_array_extras(c, f, v, at);
    f->plus = opt_bool(c, v, at, "plus", false);
    if (f->plus && f->type != FILTER_ARRAY && f->type != FILTER_TEXT)
        opt_member_problem(c, at, "plus", "only filters of texts and arrays have this");
    f->commas = opt_bool(c, v, at, "commas", false);
    if (f->commas && f->type != FILTER_TEXT)
        opt_member_problem(c, at, "commas", "only filters of texts have this");
    f->family = opt_bool(c, v, at, "family", false);
    if (f->family && f->type != FILTER_TEXT)
        opt_member_problem(c, at, "family", "only filters of texts have this");
    f->otherwise = opt_field(c, v, at, "otherwise");
    if (f->otherwise && f->type == FILTER_BOOL && f->otherwise->kind == FIELD_COLUMN &&
        f->otherwise->store == STORE_BOOL)
        f->type = FILTER_MANY_BOOL;
    else if (f->otherwise)
        opt_member_problem(c, at, "otherwise", "both fields are boolean columns of the row");
}

static void field_filter(
    struct compile *c, struct filter *f, const struct wharf_json *v, const struct place *at)
{
    static const char *const types[] = {"flags", "id", "tree", "names", NULL};
    const struct field *child = opt_field(c, v, at, "child"), *field;
    const char *name = opt_need(c, v, at, "field");
    size_t type = opt_word(c, v, at, "type", types, 4);
    struct place f_at = place_key(at, WHARF_S("field"));

    if (child && !child->children) {
        opt_member_problem(c, at, "child", "\"%s\" has no child rows", child->name);
        return;
    }
    if (json_get(v, "child") && !child)
        return;
    field = child ? fields_find(child->children->fields, child->children->n_fields, name)
                  : fields_find(c->d->fields, c->d->n_fields, name);
    if (!field || field->kind != FIELD_COLUMN) {
        opt_problem(c, &f_at, "there is no column \"%s\"", name);
        return;
    }
    fill_filter(c, f, field, child,
        type == 0   ? FILTER_FLAGS
        : type == 1 ? FILTER_ID
        : type == 2 ? FILTER_TREE
        : type == 3 ? FILTER_NAMES
                    : named_type(field, child != NULL));
    if (f->type == FILTER_FLAGS)
        read_flags(c, f, at);
    read_extras(c, f, v, at);
    if (f->type == FILTER_NONE)
        opt_problem(c, at,
            "there is no filter for \"%s\"; objects of booleans have \"type\": \"flags\"", name);
    f->strip = opt_text(c, v, at, "strip", NULL);
    read_others(c, f, v, at);
}

/* Reads a filter of rows of another resource that name this one; the field is looked up when all
 * definitions are there (filter_link). */
static void naming_filter(
    struct compile *c, struct filter *f, const struct wharf_json *v, const struct place *at)
{
    static const char *const types[] = {"tree", NULL};
    const char *by = opt_need(c, v, at, "by"), *where = opt_text(c, v, at, "where", NULL);

    f->of_name = opt_need(c, v, at, "of");
    f->of_field = opt_need(c, v, at, "field");
    f->of_tree = opt_word(c, v, at, "type", types, 1) == 0;
    f->unless = opt_text(c, v, at, "unless", NULL);
    f->by = by ? opt_quoted(c, by) : NULL;
    f->where = where ? arena_printf(c->arena, "(%s)", where).p : NULL;
    if (f->unless && !where)
        opt_member_problem(c, at, "unless", "there is no \"where\" that it could lift");
}

const char *filter_link(struct filter *f, const struct definition *of, const struct filter *all)
{
    const struct field *field = of ? definition_field(of, f->of_field) : NULL;

    if (!of)
        return "names a resource that is not there";
    if (!field || field->kind != FIELD_COLUMN)
        return "names no column of that resource";
    f->of = of;
    f->field = field;
    f->type = f->of_tree ? FILTER_TREE : field_filter_type(field);
    f->nullable = field->nullable;
    f->members = field->members;
    f->n_members = field->n_members;
    for (; all < f; all++) { /* filters with one text of "by" are about the same row */
        if (all->of == of && !strcmp(all->by, f->by))
            f->by = all->by;
    }
    return f->type == FILTER_NONE ? "names a column that can't be filtered by" : NULL;
}

static void named_filter(
    struct compile *c, struct filters *all, const struct wharf_json *v, const struct place *at)
{
    static const char *const keys[] = {"alias", "any", "by", "child", "commas", "family", "field",
        "lenient", "of", "or", "or_none", "otherwise", "plus", "strip", "type", "unless", "where",
        NULL};
    struct filter *f = filter_add(c, all, v->key.p, at);
    const char *alias = opt_text(c, v, at, "alias", NULL), *name = f->name;

    opt_shape(c, at->up, name, name, "^[a-z_][a-z0-9_]{0,62}$",
        "a name of lower-case letters, digits and _");
    if (!opt_object(c, v, at, keys))
        return;
    if (json_get(v, "of")) {
        naming_filter(c, f, v, at);
        return;
    }
    if (!alias) {
        field_filter(c, f, v, at);
        return;
    }
    for (size_t i = 0; i + 1 < all->n; i++)
        if (!strcmp(all->items[i].name, alias)) {
            *f = all->items[i];
            f->name = name;
            return;
        }
    opt_member_problem(c, at, "alias", "there is no filter \"%s\" before this one", alias);
}

static void lists_read_filters(
    struct compile *c, const struct wharf_json *x, const struct place *up)
{
    struct place at = place_key(up, WHARF_S("filters")), root = {0};
    const struct wharf_json *named = json_get(x, "filters");
    struct definition *d = c->d;
    struct filters all = {0};

    if (named && named->type != JSON_OBJECT) {
        opt_problem(c, &at, "this is an object of filters");
        named = NULL;
    }
    all.items = ARENA_ARRAY(
        c->arena, struct filter, d->n_fields + COL_SYSTEM_COUNT + (named ? named->count : 0));
    system_filters(c, &all);
    for (size_t i = 0; i < d->n_fields; i++)
        if (d->fields[i].filter != FILTER_NONE)
            fill_filter(c, filter_add(c, &all, d->fields[i].name, &root), &d->fields[i], NULL,
                d->fields[i].filter);
    for (const struct wharf_json *m = named ? named->child : NULL; m; m = m->next) {
        struct place inner = place_key(&at, m->key);

        named_filter(c, &all, m, &inner);
    }
    d->list.filters = all.items;
    d->list.n_filters = all.n;
}

/* Reads `assume`, or `assume_always`, whose filters are taken with search too, behind what the
 * list has already. */
static void read_assume(struct compile *c, const struct wharf_json *x, const struct place *up,
    const char *key, struct assumed *list)
{
    const struct wharf_json *assume = json_get(x, key);
    struct place at = place_key(up, str_z(key));
    bool always = !strcmp(key, "assume_always");
    struct definition *d = c->d;

    if (!assume)
        return;
    if (assume->type != JSON_OBJECT) {
        opt_problem(c, &at, "this is an object of filter values");
        return;
    }
    for (const struct wharf_json *m = assume->child; m; m = m->next) {
        const struct filter *f = definition_filter(&d->list, m->key);
        const char *value = m->type == JSON_NULL ? NULL : opt_need(c, assume, &at, m->key.p);

        if (f)
            list[d->list.n_assumed++] = (struct assumed){f, value, always};
        else
            opt_member_problem(c, &at, m->key.p, "there is no filter of this name");
    }
}

static void read_assumed(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    const struct wharf_json *some = json_get(x, "assume"), *always = json_get(x, "assume_always");
    struct assumed *list = ARENA_ARRAY(
        c->arena, struct assumed, (some ? some->count : 0) + (always ? always->count : 0) + 1);

    read_assume(c, x, at, "assume", list);
    read_assume(c, x, at, "assume_always", list);
    c->d->list.assumed = list;
}

/* Reads the columns of the short list. */
static void read_cache(struct compile *c, const struct wharf_json *x, const struct place *up)
{
    const struct wharf_json *names = json_get(x, "cache");
    struct place at = place_key(up, WHARF_S("cache"));
    const struct field **list;

    if (!names)
        return;
    if (names->type != JSON_ARRAY) {
        opt_problem(c, &at, "this is an array of field names");
        return;
    }
    c->d->list.cache = list = ARENA_ARRAY(c->arena, const struct field *, names->count + 1);
    for (const struct wharf_json *m = names->child; m; m = m->next) {
        const char *name = json_is(m, JSON_STRING) ? m->text.p : "";
        const struct field *f = fields_find(c->d->fields, c->d->n_fields, name);

        if (f && f->kind == FIELD_COLUMN)
            list[c->d->list.n_cache++] = f;
        else
            opt_problem(c, &at, "there is no column \"%s\"", name);
    }
}

/* Reads how the problems of a list's parameters are told: see docs/reference/definitions.md. */
static void read_errors(struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"named", "unnamed", NULL};
    const struct wharf_json *errors = json_get(x, "errors");
    struct place at = place_key(up, WHARF_S("errors"));
    size_t n;

    if (!errors || !opt_object(c, errors, &at, keys))
        return;
    c->d->list.errors_named = opt_texts(c, errors, &at, "named", &n);
    c->d->list.errors_unnamed = opt_texts(c, errors, &at, "unnamed", &n);
    if (!c->d->list.errors_named || !c->d->list.errors_unnamed)
        opt_problem(c, &at, "this has named and unnamed, arrays of parameters");
}

void list_compile(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    static const char *const keys[] = {"limit", "max", "order_by", "direction", "fixed", "search",
        "search_similar", "search_order", "search_reported", "search_words", "filters", "assume",
        "assume_always", "former", "cache", "errors", "search_max", NULL};
    struct definition *d = c->d;

    opt_object(c, x, at, keys);
    d->list.max = (int32_t)opt_int(c, x, at, "max", 1000, 1, 1000);
    d->list.limit = (int32_t)opt_int(
        c, x, at, "limit", d->list.max < 25 ? d->list.max : 25, 1, d->list.max);
    d->list.search_max = (int32_t)opt_int(
        c, x, at, "search_max", d->list.max < 100 ? d->list.max : 100, 1, d->list.max);
    d->list.all_word = true;
    d->list.count_exact = true;
    lists_read_order(c, x, at);
    lists_read_search(c, x, at);
    lists_read_filters(c, x, at);
    read_assumed(c, x, at);
    read_cache(c, x, at);
    read_errors(c, x, at);
    d->list.former = opt_texts(c, x, at, "former", &d->list.n_former);
}
