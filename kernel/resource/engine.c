/* engine.c - the link step: every resource's SQL, the sorted error codes; looking up. See
 * engine.h. */
#include "resource/engine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "resource/access.h"
#include "resource/codes.h"
#include "resource/history.h"
#include "resource/hooks.h"
#include "resource/place_sql.h"
#include "util/str.h"
#include "util/vector.h"

const struct resource *engine_resource(const struct engine *e, const char *name)
{
    for (size_t i = 0; i < e->n_resources; i++) {
        if (!strcmp(e->resources[i].def->name, name))
            return &e->resources[i];
    }
    return NULL;
}

const struct resource *engine_locations(const struct engine *e)
{
    for (size_t i = 0; i < e->n_resources; i++) {
        if (e->resources[i].def->place.is_location)
            return &e->resources[i];
    }
    return NULL;
}

/* ---- select lists ---- */

static void child_value(struct buf *b, const struct field *f)
{
    if (f->store == STORE_TIME)
        buf_addf(b, "to_char(c.%s, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')", f->column);
    else
        buf_addf(b, "c.%s", f->column);
}

static void children_expression(struct buf *b, const struct child_set *set)
{
    buf_addz(b, "(SELECT json_agg(json_build_object(");
    for (size_t i = 0; i < set->n_fields; i++) {
        buf_addf(b, "%s'%s', ", i ? ", " : "", set->fields[i].name);
        child_value(b, &set->fields[i]);
    }
    buf_addf(b,
        ") ORDER BY c.position, c.id) FROM %s c WHERE c.organization_id = t.organization_id AND "
        "c.%s = t.id%s)",
        set->table, set->parent_column, set->soft_delete ? " AND c.deleted_at IS NULL" : "");
}

static void embed_expression(struct buf *b, const struct field *f, const struct resource *to)
{
    buf_addz(b, "(SELECT json_build_object(");
    for (size_t i = 0; i < f->n_embed_fields; i++) {
        const struct field *g = definition_field(to->def, f->embed_fields[i]);

        buf_addf(b, "%s'%s', ", i ? ", " : "", f->embed_fields[i]);
        buf_addf(b, g && g->column ? "e.%s" : "NULL", g ? g->column : "");
    }
    if (to->def->place.location && to->def->place.location->column)
        buf_addf(b, ", '_location', e.%s", to->def->place.location->column);
    else if (to->def->place.is_location)
        buf_addz(b, ", '_location', e.id");
    buf_addf(b, ") FROM %s e WHERE e.organization_id = t.organization_id AND e.id = t.%s%s)",
        to->def->storage.table, f->embed_from->column,
        to->def->storage.soft_delete ? " AND e.deleted_at IS NULL" : "");
}

/* Writes the expression that shows the rows that an array of ids names, in its order. */
static void show_expression(struct buf *b, const struct field *f, const struct resource *to)
{
    const char *location = to->def->place.location && to->def->place.location->column
                               ? to->def->place.location->column
                           : to->def->place.is_location ? "id"
                                                        : NULL;

    /* Most rows name nobody: they cost no look. */
    buf_addf(
        b, "CASE WHEN t.%s <> '[]'::jsonb THEN (SELECT json_agg(json_build_object(", f->column);
    for (size_t i = 0; i < f->n_show; i++) {
        const struct field *g = definition_field(to->def, f->show[i]);

        buf_addf(b, "%s'%s', ", i ? ", " : "", f->show[i]);
        buf_addf(b, g && g->column ? "e.%s" : "NULL", g ? g->column : "");
    }
    if (location)
        buf_addf(b, ", '_location', e.%s", location);
    /* Each is looked up by itself: a join would take all rows of the organization for a hundred
     * ids, which it guesses an array to hold. */
    buf_addf(b,
        ") ORDER BY a.n) FROM jsonb_array_elements_text(t.%s) WITH ORDINALITY a(id, n) CROSS JOIN "
        "LATERAL (SELECT * FROM %s x"
        " WHERE x.organization_id = t.organization_id AND x.id = a.id%s LIMIT 1) e) END",
        f->column, to->def->storage.table,
        to->def->storage.soft_delete ? " AND x.deleted_at IS NULL" : "");
}

/* Tells whether lists show the column only when they are asked to: it may be large. */
static bool only_on_demand(const struct definition *d, int column)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (f->kind != FIELD_COLUMN || f->select != column)
            continue;
        if (f == d->recorded.parts)
            return only_on_demand(d, d->recorded.data->select);
        return f->include_flag && !(f->always & IN_LIST) && f != d->place.location;
    }
    return false;
}

/* Adds the computed fields that SQL makes; shown: in these views. */
static void select_computed(struct buf *b, const struct definition *d, uint32_t shown)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (f->computed && field_selected(f, shown))
            buf_addf(b, ", %s", f->computed);
        else if (f->computed)
            buf_addz(b, ", NULL::jsonb");
    }
}

/* Returns how a column is selected; shown: where the row is shown, 0 for rows that are written. */
static const char *column_sql(const struct column *column, uint32_t shown)
{
    return shown && column->asks ? column->asks : column->sql;
}

/* Writes a select list of a row. view: IN_LIST or IN_RETRIEVE; shown: where it is shown, 0 for
 * rows that are read to be written. */
static const char *select_list(
    const struct engine *e, const struct resource *res, uint32_t view, uint32_t shown)
{
    const struct definition *d = res->def;
    struct buf b;
    wharf_str s;

    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < d->storage.n_columns; i++) {
        if (view == IN_LIST && d->storage.columns[i].store == STORE_SECRET)
            buf_addz(&b, ", NULL::text");
        else if (view == IN_LIST && only_on_demand(d, (int)i))
            buf_addf(&b, "%sNULL::text", i ? ", " : "");
        else
            buf_addf(&b, "%s%s", i ? ", " : "", column_sql(&d->storage.columns[i], shown));
    }
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        const struct resource *to = f->kind == FIELD_EMBED ? res->refs[f->embed_from->index]
                                                           : res->refs[i];

        if (f->kind != FIELD_CHILDREN && f->kind != FIELD_EMBED && !f->n_show)
            continue;
        buf_addz(&b, ", ");
        if (!(f->in & view) && !(view == IN_RETRIEVE && f->kind == FIELD_CHILDREN))
            buf_addz(&b, "NULL::json");
        else if (f->n_show && to)
            show_expression(&b, f, to);
        else if (f->kind == FIELD_CHILDREN)
            children_expression(&b, f->children);
        else if (to)
            embed_expression(&b, f, to);
        else
            buf_addz(&b, "NULL::json");
    }
    select_computed(&b, d, shown);
    s = arena_dup_str(e->arena, buf_str(&b));
    buf_done(&b);
    return s.p;
}

/* ---- one resource ---- */

static void lay_out_cells(const struct engine *e, struct resource *res)
{
    const struct definition *d = res->def;
    size_t next = d->storage.n_columns;

    res->cell_of = ARENA_ARRAY(e->arena, int16_t, d->n_fields);
    res->shown_of = ARENA_ARRAY(e->arena, int16_t, d->n_fields);
    for (size_t i = 0; i < d->n_fields; i++)
        res->has_secrets |= d->fields[i].store == STORE_SECRET;
    for (size_t i = 0; i < d->n_fields; i++)
        res->has_children |= d->fields[i].kind == FIELD_CHILDREN;
    for (size_t i = 0; i < d->n_fields; i++)
        res->cell_of[i] = d->fields[i].kind == FIELD_COLUMN ? d->fields[i].select : -1;
    for (size_t i = 0; i < d->n_fields; i++) {
        res->shown_of[i] = -1;
        if (d->fields[i].kind == FIELD_CHILDREN || d->fields[i].kind == FIELD_EMBED)
            res->cell_of[i] = (int16_t)next++;
        else if (d->fields[i].n_show)
            res->shown_of[i] = (int16_t)next++;
    }
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].computed)
            res->cell_of[i] = (int16_t)next++;
    }
    res->n_selected = next;
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].kind == FIELD_COMPUTED && !d->fields[i].computed)
            res->cell_of[i] = (int16_t)next++;
    }
    res->n_cells = next;
}

const char *store_type(const struct field *f)
{
    switch (f->store) {
    case STORE_INT:
        return "bigint";
    case STORE_DEC:
        return "numeric";
    case STORE_BOOL:
        return "boolean";
    case STORE_TIME:
        return "timestamptz";
    case STORE_JSON:
    case STORE_ARRAY:
    case STORE_METADATA:
        return "jsonb";
    case STORE_NONE:
    case STORE_SECRET:
    case STORE_TEXT:
        break;
    }
    return "text";
}

bool field_written(const struct field *f)
{
    return f->kind == FIELD_COLUMN && !f->expression &&
           (f->select < 0 || f->select >= COL_SYSTEM_COUNT) && f->column &&
           strcmp(f->column, "organization_id") != 0;
}

/* Returns whose rows a filter names by their ids, NULL when nobody is refused any. Locations
 * that are asked for are told (403). */
static const struct definition *engine_named_by(const struct engine *e, const struct filter *f)
{
    const char *name = f->field->ref ? f->field->ref : f->field->ids_of;
    const struct resource *to = name ? engine_resource(e, name) : NULL;

    return to && !to->def->place.is_location && has_walls(to) ? to->def : NULL;
}

/* Finds what filters of rows of other resources are about. */
static void link_filters(const struct engine *e, const struct definition *d, struct buf *problems)
{
    struct filter *filters = (struct filter *)d->list.filters;

    for (size_t i = 0; i < d->list.n_filters; i++) {
        const struct resource *of = filters[i].of_name ? engine_resource(e, filters[i].of_name)
                                                       : NULL;
        const char *bad = filters[i].of_name
                              ? filter_link(&filters[i], of ? of->def : NULL, filters)
                              : NULL;

        if (bad)
            buf_addf(problems, "%s: its filter %s %s\n", d->name, filters[i].name, bad);
    }
}

/* Filters on references and parameters of rules know the form of the ids they take, once all
 * definitions are there. */
static void shape_of_references(const struct engine *e, const struct definition *d)
{
    const struct definition_list *list = &d->list;
    /* compiled a moment ago, not shared yet */
    struct filter *filters = (struct filter *)list->filters;
    struct query_param *params = (struct query_param *)d->params;

    for (size_t i = 0; i < d->n_params; i++) {
        for (size_t k = 0; k < params[i].n_refs; k++) {
            const struct resource *to = engine_resource(e, params[i].refs[k]);

            params[i].ids[k] = to ? &to->def->ids : NULL;
        }
    }

    for (size_t i = 0; i < list->n_filters; i++) {
        const char *ref = filters[i].type == FILTER_ID || filters[i].type == FILTER_TREE ||
                                  filters[i].type == FILTER_ARRAY
                              ? filters[i].field->ref
                              : NULL;
        const struct resource *to = ref ? engine_resource(e, ref) : NULL;

        filters[i].names = engine_named_by(e, &filters[i]);
        if (to && filters[i].type == FILTER_TREE && to->def->place.tree_parent)
            filters[i].tree = to->def;
        else if (to)
            filters[i].ids = &to->def->ids;
    }
}

/* Notes which reads run rules: a request that runs none stays on the event loop. */
static void note_read_rules(struct resource *res)
{
    const struct definition *d = res->def;

    res->reads_by_rules = d->place.parent != NULL;
    for (size_t i = 0; i < res->n_hooks; i++) {
        const wharf_hooks *h = res->hooks[i].hooks;

        res->reads_by_rules |= h->restrict_rows != NULL;
        res->search_rule |= WHARF_HAS(wharf_hooks, h, search);
    }
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (f->kind == FIELD_COMPUTED && !f->computed && res->n_hooks &&
            res->hooks[0].hooks->compute)
            res->computed_in |= f->include_flag ? f->always : f->in;
        res->names_rows |= f->ids_of && f->store == STORE_TEXT;
    }
}

static bool any_create_hook(const struct resource *res)
{
    for (size_t i = 0; i < res->n_hooks; i++) {
        const wharf_hooks *h = res->hooks[i].hooks;

        if (h->normalize || h->committed || (hooks_about(h, OP_CREATE) && (h->check || h->written)))
            return true;
    }
    return false;
}

static bool computes(const struct resource *res)
{
    for (size_t i = 0; i < res->n_hooks; i++) {
        if (res->hooks[i].hooks->compute)
            return true;
    }
    return false;
}

static bool only_columns(const struct definition *d)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].kind != FIELD_COLUMN || d->fields[i].expression ||
            (d->fields[i].ref && d->fields[i].store == STORE_ARRAY))
            return false;
    }
    return true;
}

/* Tells whether the expression calls a function of a schema, which may look at any table. */
static bool calls_ours(const char *sql)
{
    for (const char *at = strchr(sql, '('); at; at = strchr(at + 1, '(')) {
        const char *p = at;

        while (p > sql && (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
            p--;
        if (p > sql && p < at && p[-1] == '.')
            return true;
    }
    return false;
}

/* Tells whether a row is self-contained. Places in a table name no row where it has partitions. */
static bool self_contained(const struct definition_storage *storage)
{
    for (size_t i = 0; i < storage->n_columns; i++) {
        if (strcasestr(storage->columns[i].sql, "SELECT") || calls_ours(storage->columns[i].sql))
            return false;
    }
    return !storage->partitioned;
}

static const char *engine_lower_first(struct arena *a, const char *title)
{
    char *p = (char *)arena_dupz(a, title).p;

    if (p[0] >= 'A' && p[0] <= 'Z' && !(p[1] >= 'A' && p[1] <= 'Z'))
        p[0] = (char)(p[0] + 32);
    return p;
}

static const struct definition *audience_of(
    const struct engine *e, const struct definition *d, struct buf *problems)
{
    const struct resource *of = engine_resource(e, d->audience.of_name);

    if (of && !d->audience.whole && !of->def->audience.users)
        buf_addf(
            problems, "%s: its audience is that of %s, which has none\n", d->name, of->def->name);
    return of ? of->def : NULL;
}

/* Tells whether one statement made at the start creates a row: no rule, hook or other table has a
 * say in what is written or shown. */
static bool creates_plainly(const struct resource *res, const struct definition *d)
{
    return !any_create_hook(res) && !computes(res) && !res->reads_by_rules && !res->search_rule &&
           !d->audience.through && only_columns(d) && !d->ids.pattern &&
           !d->events.disable_webhooks && !d->events.n_parts;
}

static bool link_resource(struct engine *e, struct resource *res, struct buf *problems)
{
    const struct definition *d = res->def;
    size_t before = problems->n;

    if (d->audience.through) /* compiled a moment ago, not shared yet */
        ((struct definition *)d)->audience.of = audience_of(e, d, problems);
    link_filters(e, d, problems);
    if (problems->n > before)
        return false;
    shape_of_references(e, d);
    res->refs = ARENA_ARRAY(e->arena, const struct resource *, d->n_fields);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].ref)
            res->refs[i] = engine_resource(e, d->fields[i].ref);
    }
    res->area = area_number(&e->areas, d->scope);
    if (res->area < 0) {
        buf_addf(problems, "%s: more than %d scope areas are loaded\n", d->name, AREAS_MAX);
        return false;
    }
    lay_out_cells(e, res);
    res->title_lower = engine_lower_first(e->arena, d->title);
    res->columns_list = select_list(e, res, IN_LIST, IN_LIST);
    res->columns_full = select_list(e, res, IN_RETRIEVE, 0);
    res->columns_shown = select_list(e, res, IN_RETRIEVE, IN_LIST | IN_RETRIEVE);
    res->shows_by_caller = query_asks_caller(res->columns_list) ||
                           query_asks_caller(res->columns_shown);
    res->self_contained = self_contained(&d->storage);
    res->told_by_write = !res->has_children && !res->shows_by_caller &&
                         !strstr(res->columns_shown, d->storage.table);
    res->retrieve_sql = arena_printf(e->arena,
        "SELECT %s FROM %s t WHERE t.organization_id = $1 AND t.id = $2%s%s%s", res->columns_shown,
        d->storage.table, d->storage.soft_delete ? " AND t.deleted_at IS NULL" : "",
        d->storage.partitioned ? " AND t.created_at = $3::timestamptz" : "",
        d->storage.retain == RETAIN_EVENTS ? " AND t.expires_at > (SELECT wharf.now())" : "")
                            .p;
    note_read_rules(res);
    res->plain_create = creates_plainly(res, d);
    if (res->plain_create) {
        res->create_sql = create_statement(e, res);
        res->create_many_sql = create_many_statement(e, res);
    }
    return true;
}

/* ---- error codes ---- */

static int order_codes(const void *a, const void *b)
{
    return strcmp(((const struct error_code *)a)->code, ((const struct error_code *)b)->code);
}

static bool link_codes(struct engine *e, struct buf *problems)
{
    struct vector codes = {.size = sizeof(struct error_code)};
    bool ok = codes_read_own(e->arena, &codes);
    struct error_code *all;
    size_t n;

    for (size_t i = 0; i < e->n_codes; i++)
        *(struct error_code *)vector_add(e->arena, &codes) = e->codes[i];
    all = codes.items;
    n = codes.n;
    qsort(all, n, sizeof(*all), order_codes);
    for (size_t i = 1; i < n; i++) {
        if (!strcmp(all[i].code, all[i - 1].code)) {
            buf_addf(problems,
                "error code %s is declared twice (%s and %s); codes begin with the module's own "
                "area\n",
                all[i].code, all[i - 1].plugin ? all[i - 1].plugin : "platform",
                all[i].plugin ? all[i].plugin : "platform");
            ok = false;
        }
    }
    e->codes = all;
    e->n_codes = n;
    return ok;
}

/* Notes which scope reads rows of which resource: principals that are made from here on know it. */
static void link_areas(struct engine *e)
{
    struct area_resource *list = ARENA_ARRAY(e->arena, struct area_resource, e->n_resources + 1);

    for (size_t i = 0; i < e->n_resources; i++)
        list[i] = (struct area_resource){e->resources[i].def->name, e->resources[i].area};
    /* plugin.quarantined: of the installation */
    list[e->n_resources] = (struct area_resource){"plugin", -1};
    e->areas.resources = list;
    e->areas.n_resources = e->n_resources + 1;
}

bool engine_link(struct engine *e, struct buf *problems)
{
    bool ok = link_codes(e, problems);
    size_t before = problems->n;

    place_sql_expand(e, problems);
    ok = ok && problems->n == before;
    for (size_t i = 0; i < e->n_resources; i++)
        ok = link_resource(e, &e->resources[i], problems) && ok;
    link_areas(e);
    return route_tree_build(e, problems) && ok;
}
