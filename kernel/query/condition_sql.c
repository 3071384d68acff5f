/* condition_sql.c - a parsed filter as an SQL term. Column names come from the definition,
 * everything else is bound. */
#include "query/filter.h"
#include "util/json.h"
#include "util/str.h"

enum { JSON_NUMBER_MAX = 1000 };

/* Binds {"key":value} or {"key":"value"} as a jsonb parameter. */
static void bind_object(struct sql *s, wharf_str key, wharf_str value, bool quoted)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_addc(&text, '{');
    json_quote(&text, key);
    buf_addc(&text, ':');
    if (quoted)
        json_quote(&text, value);
    else
        buf_adds(&text, value);
    buf_addc(&text, '}');
    s->failed |= text.failed;
    sql_bind(s, buf_str(&text));
    sql_add(s, "::jsonb");
    buf_done(&text);
}

/* Binds ["value"] as a jsonb parameter. */
static void bind_element(struct sql *s, wharf_str value)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_addc(&text, '[');
    json_quote(&text, value);
    buf_addc(&text, ']');
    s->failed |= text.failed;
    sql_bind(s, buf_str(&text));
    sql_add(s, "::jsonb");
    buf_done(&text);
}

static bool whole_numbers(const struct condition *c)
{
    for (size_t i = 0; i < c->n_values; i++) {
        if (c->values[i].n > 18 || memchr(c->values[i].p, '.', c->values[i].n))
            return false;
    }
    return true;
}

static const char *value_type(const struct condition *c)
{
    if (c->filter->type == FILTER_DATE)
        return "timestamptz";
    if (c->filter->type != FILTER_NUMBER)
        return "text";
    return c->filter->field->store == STORE_INT && whole_numbers(c) ? "bigint" : "numeric";
}

/* Returns the collation to compare in. Equal texts are the same bytes in every collation. What can
 * be sorted by has its index in that of sorting already (list_sql.c), and needs no second one to
 * be found by. */
static const char *collation(const struct condition *c)
{
    const struct field *f = c->filter->field;

    return f->sort && !f->sort_members && !c->filter->child ? " COLLATE \"C\"" : "";
}

static bool names_family(const struct condition *c)
{
    for (size_t i = 0; c->filter->family && i < c->n_values; i++) {
        if (str_ends(c->values[i], "/*"))
            return true;
    }
    return false;
}

/* Writes "equal to one of the values, or beginning as one that ends with slash and star". */
static void emit_families(struct sql *s, const char *column, const struct condition *c)
{
    sql_add(s, "(");
    for (size_t i = 0; i < c->n_values; i++) {
        wharf_str v = c->values[i];
        bool family = str_ends(v, "/*");

        sql_addf(s, family ? "%sstarts_with(lower(%s), lower(" : "%slower(%s) = lower(",
            i ? " OR " : "", column);
        sql_bind(s, family ? (wharf_str){v.p, v.n - 1} : v);
        sql_add(s, family ? "))" : ")");
    }
    sql_add(s, ")");
}

static void emit_members(struct sql *s, const char *column, const struct condition *c)
{
    if (names_family(c)) {
        emit_families(s, column, c);
        return;
    }
    if (c->filter->type == FILTER_TEXT) {
        sql_addf(s, "lower(%s)%s = ", column, collation(c));
        if (c->n_values == 1) {
            sql_add(s, "lower(");
            sql_bind(s, c->values[0]);
            sql_add(s, ")");
        } else {
            sql_add(s, "ANY (ARRAY(SELECT lower(u) FROM unnest(");
            sql_bind_array(s, c->values, c->n_values);
            sql_add(s, "::text[]) u))");
        }
        return;
    }
    sql_addf(s, "%s = ", column);
    if (c->n_values == 1)
        sql_bind(s, c->values[0]);
    else {
        sql_add(s, "ANY (");
        sql_bind_array(s, c->values, c->n_values);
    }
    sql_addf(s, "::%s%s", value_type(c), c->n_values == 1 ? "" : "[])");
}

/* Writes "column = ANY (...)" of those of the ids whose rows are seen. They are looked up once,
 * before any row of the list. */
static void emit_seen(
    struct sql *s, const char *column, const struct condition *c, const struct access *who)
{
    sql_addf(s, "%s = ANY (ARRAY(", column);
    query_named(s, c->filter, who);
    sql_add(s, " AND t.id = ANY (");
    sql_bind_array(s, c->values, c->n_values);
    sql_add(s, "::text[])))");
}

/* Returns the column as it is shown: an id whose row is hidden is null. o carries it past the
 * rows that it is looked for in, which are t too. */
static const char *shown_column(
    struct sql *s, const char *column, const struct condition *c, const struct access *who)
{
    struct buf *outer = s->text, inner;
    const char *ret;

    buf_init(&inner, 1 << 20);
    s->text = &inner;
    sql_addf(s, "(SELECT o.named FROM (SELECT %s AS named) o WHERE o.named IN (", column);
    query_named(s, c->filter, who);
    sql_add(s, " AND t.id = o.named))");
    s->text = outer;
    ret = arena_dup_str(s->arena, buf_str(&inner)).p;
    buf_done(&inner);
    return ret;
}

static void emit_flags(struct sql *s, const char *column, const struct condition *c)
{
    for (size_t i = 0; i < c->n_values; i++) {
        sql_addf(s, "%s%s @> ", i ? " OR " : "", column);
        bind_object(s, c->values[i], WHARF_S("true"), false);
    }
}

/* Writes the condition. who: NULL when no row that the filter names is hidden, as in the
 * functions below. */
static void emit_in(
    struct sql *s, const char *column, const struct condition *c, const struct access *who)
{
    if (c->n_values && c->filter->type == FILTER_FLAGS)
        emit_flags(s, column, c);
    else if (c->n_values && who)
        emit_seen(s, column, c, who);
    else if (c->n_values)
        emit_members(s, column, c);
    if (c->with_null)
        sql_addf(s, "%s%s IS NULL", c->n_values ? " OR " : "",
            who && c->filter->field->ids_of ? shown_column(s, column, c, who) : column);
}

static void emit_range(struct sql *s, const char *column, const struct condition *c)
{
    static const char *const signs[][2] = {
        [COND_LESS] = {"<"},
        [COND_AT_MOST] = {"<="},
        [COND_MORE] = {">"},
        [COND_AT_LEAST] = {">="},
        [COND_BETWEEN] = {">", "<"},
        [COND_WITHIN] = {">=", "<="},
    };

    for (size_t i = 0; i < 2 && i < c->n_values; i++) {
        sql_addf(s, "%s%s %s ", i ? " AND " : "", column, signs[c->kind][i]);
        sql_bind(s, c->values[i]);
        sql_addf(s, "::%s", value_type(c));
    }
}

static void emit_items(
    struct sql *s, const char *column, const struct condition *c, const struct access *who)
{
    for (size_t i = 0; i < c->n_items; i++) {
        if (i)
            sql_add(s, c->any ? " OR " : " AND ");
        sql_add(s, c->items[i].absent || c->filter->or_none ? "(" : "");
        if (c->filter->or_none)
            sql_addf(s, "coalesce(%s, '[]') = '[]'::jsonb OR ", column);
        sql_addf(s, "%s @> ", column);
        bind_element(s, c->items[i].value);
        if (who) {
            sql_add(s, " AND EXISTS (");
            query_named(s, c->filter, who);
            sql_add(s, " AND t.id = ");
            sql_bind(s, c->items[i].value);
            sql_add(s, ")");
        }
        if (c->items[i].absent)
            sql_add(s, ") IS NOT TRUE");
        else if (c->filter->or_none)
            sql_add(s, ")");
    }
}

static void emit_name(struct sql *s, const char *column, wharf_str name)
{
    if (str_ends(name, ".*")) {
        sql_addf(s, "starts_with(%s, ", column);
        sql_bind(s, (wharf_str){name.p, name.n - 1});
        sql_add(s, ")");
    } else {
        sql_addf(s, "%s = ", column);
        sql_bind(s, name);
    }
}

static void emit_names(struct sql *s, const char *column, const struct condition *c)
{
    for (int absent = 0; absent < 2; absent++) {
        size_t n = 0;

        for (size_t i = 0; i < c->n_items; i++) {
            if (c->items[i].absent != (bool)absent)
                continue;
            sql_add(s, n++ ? " OR " : absent ? " AND NOT (" : "(");
            emit_name(s, column, c->items[i].value);
        }
        sql_add(s, n ? ")" : absent ? "" : "true");
    }
}

/* Tells whether a JSON number or boolean could have this text. PostgreSQL writes numbers without
 * exponent. */
static bool reads_as_scalar(wharf_str v)
{
    size_t i = v.n && v.p[0] == '-', start = i;

    if (str_eqz(v, "true") || str_eqz(v, "false"))
        return true;
    if (v.n > JSON_NUMBER_MAX)
        return false;
    while (i < v.n && v.p[i] >= '0' && v.p[i] <= '9')
        i++;
    if (i == start || (v.p[start] == '0' && i > start + 1))
        return false;
    if (i == v.n)
        return true;
    start = i + 1;
    if (v.p[i++] != '.')
        return false;
    while (i < v.n && v.p[i] >= '0' && v.p[i] <= '9')
        i++;
    return i == v.n && i > start;
}

/* Writes equality of a metadata value. Containment serves the index. Equal numbers may be written
 * differently ("1.0"), so their text is compared as well. */
static void emit_metadata_equal(struct sql *s, const char *column, const struct condition *c)
{
    wharf_str value = c->values[0];

    sql_addf(s, "%s @> ", column);
    bind_object(s, c->key, value, true);
    if (!reads_as_scalar(value))
        return;
    sql_addf(s, " OR (%s @> ", column);
    bind_object(s, c->key, value, false);
    sql_addf(s, " AND %s ->> ", column);
    sql_bind(s, c->key);
    sql_add(s, " = ");
    sql_bind(s, value);
    sql_add(s, ")");
}

static void emit_metadata_order(struct sql *s, const char *column, const struct condition *c)
{
    sql_addf(s, "(%s ->> ", column);
    sql_bind(s, c->key);
    sql_add(s, c->kind == COND_META_LESS ? ") COLLATE \"C\" < " : ") COLLATE \"C\" > ");
    sql_bind(s, c->values[0]);
}

/* Returns "/Aisle 1/Shelf A" as names are kept: "Aisle 1 / Shelf A". */
static wharf_str joined_names(struct arena *a, wharf_str path)
{
    char *out = arena_alloc(a, 3 * path.n + 1);
    size_t k = 0;

    for (size_t i = 1; i < path.n; i++) {
        bool step = path.p[i] == '/';

        if (step)
            out[k++] = ' ';
        out[k++] = path.p[i];
        if (step)
            out[k++] = ' ';
    }
    return (wharf_str){out, k};
}

/* Writes the condition on trees. Their ids are gathered once, before any row is looked at. */
static void emit_below(
    struct sql *s, const char *column, const struct condition *c, const struct access *who)
{
    const struct definition *d = c->filter->tree;
    wharf_str *names = ARENA_ARRAY(s->arena, wharf_str, c->n_values + 1);
    size_t n = 0;

    for (size_t i = 0; i < c->n_values; i++) {
        if (c->values[i].p[0] == '/')
            names[n++] = joined_names(s->arena, c->values[i]);
    }
    if (!d) {
        sql_add(s, "false");
        return;
    }
    sql_addf(s,
        "%s = ANY (ARRAY(WITH RECURSIVE down AS (SELECT r.id FROM %s r WHERE r.organization_id = "
        "$%zu"
        " AND r.deleted_at IS NULL AND (r.id = ANY (",
        column, d->storage.table, s->organization);
    sql_bind_array(s, c->values, c->n_values);
    sql_addf(s, "::text[]) OR r.%s = ANY (", d->place.tree_names->column);
    sql_bind_array(s, names, n);
    sql_add(s, "::text[]))");
    if (who) {
        sql_add(s, " AND r.id IN (");
        query_named(s, c->filter, who);
        sql_add(s, ")");
    }
    sql_addf(s,
        " UNION SELECT b.id FROM down JOIN %s b ON b.organization_id = $%zu AND b.%s = down.id"
        " AND b.deleted_at IS NULL) SELECT id FROM down))",
        d->storage.table, s->organization, d->place.tree_parent->column);
}

/* Writes the condition itself, without negation, on one row of the table or of the child. */
static void emit_positive(
    struct sql *s, const char *column, const struct condition *c, const struct access *who)
{
    switch (c->kind) {
    case COND_NULL:
        if (who && c->filter->field->ids_of)
            column = shown_column(s, column, c, who);
        sql_addf(s,
            c->filter->type == FILTER_ARRAY ? "coalesce(%s, '[]') = '[]'::jsonb" : "%s IS NULL",
            column);
        break;
    case COND_IN:
        emit_in(s, column, c, who);
        break;
    case COND_LESS:
    case COND_AT_MOST:
    case COND_MORE:
    case COND_AT_LEAST:
    case COND_BETWEEN:
    case COND_WITHIN:
        emit_range(s, column, c);
        break;
    case COND_TRUTH:
        if (c->filter->otherwise)
            sql_addf(s, "t.%s", (c->truth ? c->filter->field : c->filter->otherwise)->column);
        else
            sql_addf(s, c->truth ? "%s" : "NOT %s", column);
        break;
    case COND_ITEMS:
        emit_items(s, column, c, who);
        break;
    case COND_NAMES:
        emit_names(s, column, c);
        break;
    case COND_META:
        emit_metadata_equal(s, column, c);
        break;
    case COND_META_LESS:
    case COND_META_MORE:
        emit_metadata_order(s, column, c);
        break;
    case COND_BELOW:
        emit_below(s, column, c, who);
        break;
    case COND_ANYTHING:
        sql_add(s, "true");
        break;
    }
}

/* Returns the expression with what it asks of the request's parameters. A condition may name it
 * several times: the values are kept, and their numbers stand in it. */
static const char *asked_expression(
    struct sql *s, const struct list_query *q, const char *expression)
{
    static const size_t opens = sizeof(CALLER_OPENS CALLER_ASKS) - 1;
    const char *at;
    wharf_str value;
    struct buf b;

    buf_init(&b, SIZE_MAX / 2);
    while ((at = strstr(expression, CALLER_OPENS))) {
        const char *name = at + opens, *end = strchr(at, '}');
        wharf_str parameter = {name, end && end > name ? (size_t)(end - name) : 0};

        buf_addf(&b, "%.*s", (int)(at - expression), expression);
        if (query_asked(q->asked, q->n_asked, parameter, &value))
            buf_addf(&b, "$%zu::text", sql_keep(s, value));
        else
            buf_addz(&b, "NULL");
        expression = end ? end + 1 : at + strlen(at);
    }
    buf_addz(&b, expression);
    expression = arena_dup_str(s->arena, buf_str(&b)).p;
    buf_done(&b);
    return expression;
}

void condition_sql(
    struct sql *s, const struct list_query *q, const struct condition *c, const struct access *who)
{
    const struct child_set *set = c->filter->child ? c->filter->child->children : NULL;
    const struct field *f = c->filter->field;
    const char *column = f->expression
                             ? asked_expression(s, q, f->expression)
                             : arena_printf(s->arena, "%s.%s", set ? "c" : "t", f->column).p;
    bool not_null = c->kind == COND_NULL && c->negated;

    if (who && !query_hides(c->filter, who))
        who = NULL;
    if (set) {
        sql_addf(s,
            "%sEXISTS (SELECT 1 FROM %s c WHERE c.organization_id = t.organization_id AND c.%s = "
            "t.id%s AND (",
            c->negated && !not_null ? "NOT " : "", set->table, set->parent_column,
            set->soft_delete ? " AND c.deleted_at IS NULL" : "");
        emit_positive(s, column, c, who);
        sql_add(s, not_null ? ") IS NOT TRUE)" : "))");
        return;
    }
    sql_add(s, "(");
    emit_positive(s, column, c, who);
    for (size_t i = 0;
         i < sizeof(c->filter->others) / sizeof(*c->filter->others) && c->filter->others[i]; i++) {
        sql_add(s, c->kind == COND_NULL ? " AND " : " OR ");
        emit_positive(s, arena_printf(s->arena, "t.%s", c->filter->others[i]->column).p, c, who);
    }
    sql_add(s, c->negated ? ") IS NOT TRUE" : ")");
}
