/* field_children.c - the rows owned by a row, and defaults of fields
 * (docs/reference/definitions.md). */
#include "schema/compile.h"
#include "util/str.h"

static const char *const NAME_SHAPE = "^[a-z_][a-z0-9_]{0,62}$";
static const char *const NAME_WORDS = "a name of lower-case letters, digits and _";

static void read_match(
    struct compile *c, struct child_set *set, const struct wharf_json *x, const struct place *at)
{
    size_t n;
    const char *const *names = opt_texts(c, x, at, "match", &n);
    const char *unique = opt_text(c, x, at, "unique", NULL);

    for (size_t i = 0; i < n && i < 4; i++) {
        set->match[i] = fields_find(set->fields, set->n_fields, names[i]);
        set->n_match = i + 1;
        if (!set->match[i] || set->match[i]->store != STORE_TEXT) {
            opt_member_problem(
                c, at, "match", "there is no text field \"%s\" in the items", names[i]);
            set->n_match = i;
            break;
        }
    }
    if (n == 0 || n > 4)
        opt_member_problem(c, at, "match",
            "this names one to four fields by which sent items find their rows, id first");
    set->unique = unique ? fields_find(set->fields, set->n_fields, unique) : NULL;
    if (unique && (!set->unique || set->unique->store != STORE_TEXT))
        opt_member_problem(c, at, "unique", "there is no text field \"%s\" in the items", unique);
}

static void field_children_check_items(
    struct compile *c, const struct wharf_json *items, const struct place *at)
{
    static const char *const keys[] = {
        "type", "title", "description", "required", "properties", "$comment", "examples", NULL};

    if (!items)
        opt_problem(c, at, "this is needed");
    else if (opt_object(c, items, at, keys) && !str_eqz(json_text_or(items, "type", ""), "object"))
        opt_member_problem(c, at, "type", "child rows are objects");
}

void field_children(
    struct compile *c, struct field *f, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {
        "table", "parent_column", "id", "match", "unique", "soft_delete", NULL};
    struct place at = place_key(up, WHARF_S("children")),
                 items_at = place_key(up->up, WHARF_S("items"));
    struct child_set *set = ARENA_NEW(c->arena, struct child_set);
    const struct wharf_json *items = json_get(f->json, "items");
    struct field_list list;
    const char *id;

    f->children = set;
    set->id_prefix = "";
    if (!x)
        opt_problem(c, &at, "this is needed");
    field_children_check_items(c, items, &items_at);
    list = fields_compile(c, items, &items_at, true);
    set->fields = list.items;
    set->n_fields = list.n;
    if (list.n > OBJECT_FIELDS_MAX)
        opt_problem(
            c, &items_at, "rows of a child table have at most %d fields", OBJECT_FIELDS_MAX);
    if (!opt_object(c, x, &at, keys))
        return;
    set->table_name = opt_need(c, x, &at, "table");
    opt_shape(c, &at, "table", set->table_name, "^[a-z_][a-z0-9_]{0,62}\\.[a-z_][a-z0-9_]{0,62}$",
        "a table with its schema, like stations.printer");
    set->table = opt_quoted(c, set->table_name);
    set->parent_column_name = opt_need(c, x, &at, "parent_column");
    opt_shape(c, &at, "parent_column", set->parent_column_name, NAME_SHAPE, NAME_WORDS);
    set->parent_column = opt_quoted(c, set->parent_column_name);
    id = opt_need(c, x, &at, "id");
    opt_shape(c, &at, "id", id, "^[a-z][a-z0-9_]{0,23}$", "uuid or a prefix of ids");
    set->uuid = !strcmp(id, "uuid");
    if (!set->uuid)
        set->id_prefix = id;
    set->soft_delete = opt_bool(c, x, &at, "soft_delete", true);
    if (!fields_find(set->fields, set->n_fields, "id"))
        opt_member_problem(c, &items_at, "properties",
            "the id of child rows must be a property, so that it can be sent back");
    read_match(c, set, x, &at);
}

static void default_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    wharf_str *first = arg;

    if (!first->n)
        *first = message;
}

void field_default(struct compile *c, const struct field *f, const struct place *at)
{
    const struct wharf_json *v = f->default_value;
    wharf_str first = {"", 0};
    struct buf text;

    if (!v || !f->schema)
        return;
    if (!schema_validate(f->schema, v, str_z(f->name), 0, c->arena, default_problem, &first))
        opt_member_problem(c, at, "default", "the field would not take this: %s", first.p);
    if (v->type == JSON_NULL && !f->nullable)
        opt_member_problem(c, at, "default", "null needs a type that includes \"null\"");
    if (f->store == STORE_DEC && v->type == JSON_NUMBER) {
        buf_init(&text, 1000);
        if (json_number_canonical(v->text, f->precision, &text) && text.p) {
            const char *dot = strchr(text.p, '.');

            if (dot && strlen(dot + 1) > f->scale)
                opt_member_problem(
                    c, at, "default", "this has more than %u places after the point", f->scale);
        } else {
            opt_member_problem(c, at, "default", "this has more than %u digits", f->precision);
        }
        buf_done(&text);
    }
}
