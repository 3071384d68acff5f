/* list_sql.c - the statements of a list: the page, the count, and which rows a principal sees.
 *
 * Shapes are chosen for their plans (docs/decisions 20a): equality for one location, row
 * comparison for cursors, the page's ids found first and their rows joined afterwards when rows
 * are skipped. */
#include "query/filter.h"
#include "query/list_sql.h"
#include "util/json.h"
#include "util/str.h"

wharf_str organization_of(const struct access *who, const struct definition *d)
{
    return d->storage.live ? who->live_organization : who->organization;
}

static void bind_organization(struct sql *s, const struct definition *d, const struct access *who)
{
    if (!s->organization)
        s->organization = sql_keep(s, organization_of(who, d));
}

/* Writes whether the id is in an array column, with ["id"] as jsonb. */
static void contains(struct sql *s, const struct field *f, wharf_str id)
{
    struct buf text;

    buf_init(&text, 4096);
    buf_addc(&text, '[');
    json_quote(&text, id);
    buf_addc(&text, ']');
    s->failed |= text.failed;
    sql_addf(s, "t.%s @> ", f->column);
    sql_bind(s, buf_str(&text));
    sql_add(s, "::jsonb");
    buf_done(&text);
}

static void one_of_locations(struct sql *s, const char *column, const struct access *who)
{
    if (who->n_locations == 0)
        sql_add(s, "false");
    else if (who->n_locations == 1) {
        sql_addf(s, "%s = ", column);
        sql_bind(s, who->locations[0]);
    } else {
        sql_addf(s, "%s = ANY (", column);
        sql_bind_array(s, who->locations, who->n_locations);
        sql_add(s, "::text[])");
    }
}

static void bind_reach(struct sql *s, const struct access *who)
{
    sql_bind(s, who->reach);
    sql_add(s, "::jsonb");
}

/* Writes the condition of the location. column: of the field, "t.location_id". */
static void location_visible(
    struct sql *s, const struct field *f, const char *column, const struct access *who)
{
    /* all of them must be the principal's; NULL: all that there are */
    if (f->store == STORE_JSON) {
        sql_addf(s, "%s <@ ", column);
        bind_reach(s, who);
        return;
    }
    if (f->store == STORE_ARRAY && f->expression) { /* reckoned once */
        sql_add(s, "(SELECT coalesce(wharf_l.at, '[]') = '[]'::jsonb OR wharf_l.at ?| ");
        sql_bind_array(s, who->locations, who->n_locations);
        sql_addf(s, "::text[] FROM (SELECT %s AS at OFFSET 0) wharf_l)", column);
        return;
    }
    if (f->store == STORE_ARRAY) {
        sql_addf(s, "(coalesce(%s, '[]') = '[]'::jsonb OR %s ?| ", column, column);
        sql_bind_array(s, who->locations, who->n_locations);
        sql_add(s, "::text[])");
        return;
    }
    if (f->nullable)
        sql_addf(s, "(%s IS NULL OR ", column);
    one_of_locations(s, column, who);
    sql_add(s, f->nullable ? ")" : "");
}

static void list_sql_locations(struct sql *s, const struct definition *d, const struct access *who)
{
    const struct field *device = who->device_id.n ? d->audience.device : NULL;
    wharf_str column;

    if (!d->place.location) {
        if (d->place.is_location) {
            sql_add(s, " AND ");
            one_of_locations(s, "t.id", who);
        }
        return;
    }
    sql_add(s, device ? " AND (" : " AND ");
    column = d->place.location->expression
                 ? arena_printf(s->arena, "(%s)", d->place.location->expression)
                 : arena_printf(s->arena, "t.%s", d->place.location->column);
    location_visible(s, d->place.location, column.p, who);
    if (device) {
        sql_addf(s, " OR t.%s = ", device->column);
        sql_bind(s, who->device_id);
        sql_add(s, ")");
    }
}

static void people(
    struct sql *s, const struct definition_audience *audience, const struct access *who)
{
    if (!audience->users || !who->user_id.n)
        return;
    sql_add(s, " AND (");
    if (audience->all)
        sql_addf(s, "t.%s OR ", audience->all->column);
    contains(s, audience->users, who->user_id);
    sql_add(s, ")");
}

/* Writes that the row that this one belongs to is for the principal. Inside of the list of those
 * rows t is one of them. */
static void through(
    struct sql *s, const struct definition_audience *audience, const struct access *who)
{
    const struct definition *of = audience->of;
    bool places = of && audience->whole && !who->all_locations;

    if (!of || (!places && !(of->audience.users && who->user_id.n)))
        return;
    sql_addf(s,
        " AND (t.%s IS NULL OR t.%s IN (SELECT t.id FROM %s t WHERE t.organization_id = $%zu",
        audience->through->column, audience->through->column, of->storage.table, s->organization);
    if (places)
        list_sql_locations(s, of, who);
    people(s, &of->audience, who);
    sql_add(s, "))");
}

/* Writes that a row is still kept. What is over is hidden from the moment on, whenever it will be
 * deleted. The sub-select makes one value of it, which indexes and partitions are chosen by. */
static void list_sql_kept(
    struct sql *s, const struct definition_storage *storage, const struct access *who)
{
    int days = storage->retain == RETAIN_LOGS       ? who->log_days
               : storage->retain == RETAIN_REQUESTS ? who->request_log_days
                                                    : 0;

    if (storage->retain == RETAIN_EVENTS)
        sql_add(s, " AND t.expires_at > (SELECT wharf.now())");
    if (!days)
        return;
    sql_add(s, " AND t.created_at >= (SELECT wharf.now() - make_interval(days => ");
    sql_bind_int(s, days);
    sql_add(s, "::integer))");
}

void query_recorded(struct sql *s, const struct recorded_sql *r, const struct access *who)
{
    if (!who->all_locations && r->locations) {
        sql_addf(s, " AND (%s = '[]'::jsonb OR %s ?| ", r->locations, r->locations);
        sql_bind_array(s, who->locations, who->n_locations);
        sql_add(s, "::text[])");
    } else if (!who->all_locations) {
        sql_addf(s, " AND %s <@ ", r->reach);
        bind_reach(s, who);
    }
    if (who->user_id.n) {
        sql_addf(s, " AND (%s IS NULL OR %s ? ", r->audience, r->audience);
        sql_bind(s, who->user_id);
        sql_add(s, "::text)");
    }
    if (r->resource && !who->reads_all) {
        sql_addf(s, " AND %s = ANY (", r->resource);
        sql_bind_array(s, who->reads, who->n_reads);
        sql_add(s, "::text[])");
    }
    if (r->areas && !who->reads_all) {
        sql_addf(s, " AND %s <@ ", r->areas);
        sql_bind(s, who->read_areas);
        sql_add(s, "::jsonb");
    }
}

static const char *recorded_column(struct sql *s, const struct field *f)
{
    return f ? arena_printf(s->arena, "t.%s", f->column).p : NULL;
}

static void list_sql_recorded(
    struct sql *s, const struct definition_recorded *by, const struct access *who)
{
    const struct recorded_sql r = {recorded_column(s, by->locations),
        recorded_column(s, by->audience), recorded_column(s, by->resource),
        recorded_column(s, by->areas), recorded_column(s, by->reach)};

    query_recorded(s, &r, who);
}

/* Writes " AND ...": what is seen of rows, whether deleted or not. */
static void list_sql_seen(
    struct sql *s, const struct definition *d, const struct access *who, bool locations_too)
{
    list_sql_kept(s, &d->storage, who);
    if (locations_too && d->recorded.audience)
        list_sql_recorded(s, &d->recorded, who);
    else if (locations_too && !who->all_locations)
        list_sql_locations(s, d, who);
    if (d->audience.through)
        through(s, &d->audience, who);
    people(s, &d->audience, who);
}

/* Writes which rows are seen. in_table_order: they are read in the order of the table, whatever
 * the plan is. An OR makes PostgreSQL combine its indexes as bitmaps, or read the table; one
 * index alone would give rows in its own order, and the next page may be planned in another way.
 * The second side of the OR is never true, since no organization is null. deleted_at stands
 * inside: before the OR it would let the index of live rows be read as a whole. */
static void list_visible(struct sql *s, const struct definition *d, const struct access *who,
    bool locations_too, bool in_table_order)
{
    bind_organization(s, d, who);
    sql_addf(s,
        in_table_order ? "((t.organization_id = $%zu AND t.deleted_at IS NULL)"
                         " OR t.organization_id IS NULL)"
                       : "t.organization_id = $%zu AND t.deleted_at IS NULL",
        s->organization);
    list_sql_seen(s, d, who, locations_too);
}

void query_visible(
    struct sql *s, const struct definition *d, const struct access *who, bool locations_too)
{
    list_visible(s, d, who, locations_too, false);
}

/* ---- rows that filters name ---- */

bool query_reads(const struct access *who, wharf_str resource)
{
    for (size_t i = 0; !who->reads_all && i < who->n_reads; i++) {
        if (str_eq(who->reads[i], resource))
            return true;
    }
    return who->reads_all;
}

/* Tells whether the principal reads what the ids in the field name. Those with ids_of are shown
 * to who reads their rows; those of a reference to everybody who sees the row. */
static bool reads_named(const struct filter *f, const struct access *who)
{
    return !f->field->ids_of || query_reads(who, str_z(f->names->name));
}

bool query_hides(const struct filter *f, const struct access *who)
{
    const struct definition *d = f->names, *of = d ? d->audience.of : NULL;

    if (!d)
        return false;
    if (!reads_named(f, who))
        return true;
    if (!who->all_locations &&
        (d->place.location || d->recorded.audience || (of && d->audience.whole)))
        return true;
    return who->user_id.n &&
           (d->audience.users || d->recorded.audience || (of && of->audience.users));
}

void query_named(struct sql *s, const struct filter *f, const struct access *who)
{
    const struct definition *d = f->names;
    size_t organization = s->organization;

    s->organization = 0; /* of a test key, that of the rows may be another */
    bind_organization(s, d, who);
    sql_addf(s, "SELECT t.id FROM %s t WHERE t.organization_id = $%zu", d->storage.table,
        s->organization);
    list_sql_seen(s, d, who, true);
    if (!reads_named(f, who))
        sql_add(s, " AND false");
    s->organization = organization;
}

const char *list_order_expression(struct sql *s, const struct field *f)
{
    if (f->sort_members)
        return arena_printf(s->arena, "array_position(%s, t.%s)", f->sort_members, f->column).p;
    if (f->store == STORE_TEXT && !f->ref && f->filter != FILTER_ID)
        return arena_printf(s->arena, "lower(t.%s) COLLATE \"C\"", f->column).p;
    return arena_printf(s->arena, "t.%s", f->column).p;
}

void list_cursor_value(struct sql *s, const struct field *f, wharf_str value)
{
    static const char *const casts[] = {[STORE_INT] = "::bigint",
        [STORE_DEC] = "::numeric",
        [STORE_BOOL] = "::boolean",
        [STORE_TIME] = "::timestamptz"};
    size_t n = sql_keep(s, value);

    if (f->sort_members)
        sql_addf(s, "array_position(%s, $%zu::text)", f->sort_members, n);
    else if (f->store == STORE_TEXT && !f->ref && f->filter != FILTER_ID)
        sql_addf(s, "lower($%zu::text) COLLATE \"C\"", n);
    else
        sql_addf(s, "$%zu%s", n, f->store <= STORE_TIME && casts[f->store] ? casts[f->store] : "");
}

static void after_cursor(struct sql *s, const struct list_query *q)
{
    const char *order = list_order_expression(s, q->order), *sign = q->descending ? "<" : ">";

    if (q->cursor_null) {
        sql_addf(s, " AND %s IS NULL AND t.id %s ", order, sign);
        sql_bind(s, q->cursor_id);
        return;
    }
    sql_addf(s, q->order->nullable ? " AND ((%s, t.id) %s (" : " AND (%s, t.id) %s (", order, sign);
    list_cursor_value(s, q->order, q->cursor_value);
    sql_add(s, ", ");
    sql_bind(s, q->cursor_id);
    sql_add(s, ")");
    if (q->order->nullable)
        sql_addf(s, " OR %s IS NULL)", order);
}

/* Tells whether two filters are about the same rows of another resource. */
static bool same_rows(const struct filter *a, const struct filter *b)
{
    return a->of == b->of && a->by == b->by;
}

/* Tells whether the condition is written with one before it. */
static bool is_joined(const struct list_query *q, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (q->conditions[i].filter->of &&
            same_rows(q->conditions[i].filter, q->conditions[at].filter))
            return true;
    }
    return false;
}

/* Writes the conditions on rows of another resource, of which one has to fulfil them all. They are
 * t inside; PostgreSQL may begin with them or with the rows of the list. */
static void rows_naming(
    struct sql *s, const struct list_query *q, size_t first, const struct access *who)
{
    const struct filter *f = q->conditions[first].filter;
    size_t organization = s->organization;
    wharf_str value;
    bool lifted = false;

    if (f->unless && query_asked(q->asked, q->n_asked, str_z(f->unless), &value))
        query_truth(value, &lifted);
    s->organization = 0; /* of a test key, that of the rows may be another */
    sql_addf(s, "t.id IN (SELECT t.%s FROM %s t WHERE ", f->by, f->of->storage.table);
    query_visible(s, f->of, who, true);
    if (f->where && !lifted)
        sql_addf(s, " AND %s", f->where);
    for (size_t i = first; i < q->n_conditions; i++) {
        if (!same_rows(q->conditions[i].filter, f))
            continue;
        sql_add(s, " AND ");
        condition_sql(s, q, &q->conditions[i], who);
    }
    sql_add(s, ")");
    s->organization = organization;
}

void list_from_where(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    sql_addf(s, " FROM %s t WHERE ", d->storage.table);
    list_visible(s, d, who, true, q->in_table_order);
    for (size_t i = 0; i < q->n_conditions; i++) {
        if (q->conditions[i].filter->of && is_joined(q, i))
            continue;
        sql_add(s, " AND ");
        if (q->conditions[i].filter->of)
            rows_naming(s, q, i, who);
        else
            condition_sql(s, q, &q->conditions[i], who);
    }
    if (q->n_terms)
        search_where(s, d, q);
    if (q->finds_nothing)
        sql_add(s, " AND false");
    if (extra)
        extra(s, arg);
}

static void order_by(struct sql *s, const struct list_query *q)
{
    const char *way = q->descending ? " DESC" : "";

    sql_addf(s, " ORDER BY %s%s%s, t.id%s", list_order_expression(s, q->order), way,
        q->descending && q->order->nullable ? " NULLS LAST" : "", way);
}

void query_columns(struct sql *s, const struct definition_storage *storage)
{
    sql_add(s, "SELECT ");
    for (size_t i = 0; i < storage->n_columns; i++)
        sql_addf(s, "%s%s", i ? ", " : "", storage->columns[i].sql);
}

void list_page_columns(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, const char *score)
{
    if (q->columns) {
        const struct shown_to to = {who, q->asked, q->n_asked, true};

        sql_add(s, "SELECT ");
        query_shown(s, q->columns, &to);
    } else
        query_columns(s, &d->storage);
    if (!q->hits || !q->n_terms)
        return;
    sql_add(s, ", ");
    if (score)
        sql_add(s, score);
    else
        search_score(s, d, q, false);
    sql_add(s, ", ");
    search_hits(s, d, q);
}

/* Tells whether the size is one that most pages have. Each makes a statement of its own on each
 * connection, so they are few. */
static bool usual(const struct definition_list *list, int64_t rows)
{
    static const int16_t sizes[] = {10, 20, 25, 50, 100};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (rows == sizes[i])
            return true;
    }
    return rows == list->limit || rows == list->max;
}

bool list_page_limit(
    struct sql *s, const struct definition *d, const struct list_query *q, bool one_plan)
{
    if (one_plan && q->page == 1 && usual(&d->list, q->limit)) {
        sql_addf(s, " LIMIT %d", (int)q->limit + 1);
        return true;
    }
    sql_add(s, " LIMIT ");
    sql_bind_int(s, q->limit + 1);
    if (q->page > 1) {
        sql_add(s, " OFFSET ");
        sql_bind_int(s, (q->page - 1) * q->limit);
    }
    return false;
}

bool query_page_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    bool skips = q->page > 1, one_plan;

    bind_organization(s, d, who);
    if (q->relevance) {
        ranked_page_sql(s, d, q, who, extra, arg);
        return false;
    }
    list_page_columns(s, d, q, who, NULL);
    if (skips)
        sql_add(s, " FROM (SELECT t.id");
    list_from_where(s, d, q, who, extra, arg);
    one_plan = s->n_args == 1;
    if (q->cursor && q->cursor_id.n)
        after_cursor(s, q);
    order_by(s, q);
    one_plan = list_page_limit(s, d, q, one_plan);
    if (skips) {
        sql_addf(s, ") p JOIN %s t ON t.organization_id = $%zu AND t.id = p.id", d->storage.table,
            s->organization);
        order_by(s, q);
    }
    return one_plan;
}

void query_count_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    bool capped = q->total == TOTAL_ESTIMATED;
    struct list_query all = *q;

    all.wide = q->more.n_words > 0;
    bind_organization(s, d, who);
    sql_add(s, capped ? "SELECT count(*) FROM (SELECT 1" : "SELECT count(*)");
    list_from_where(s, d, &all, who, extra, arg);
    if (capped) {
        sql_add(s, " LIMIT ");
        sql_bind_int(s, QUERY_COUNT_CAP + 1);
        sql_add(s, ") c");
    }
}

void query_estimate_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    bind_organization(s, d, who);
    sql_add(s, "EXPLAIN (FORMAT JSON) SELECT 1");
    list_from_where(s, d, q, who, extra, arg);
}

int64_t query_estimate(struct arena *a, wharf_str plan)
{
    struct json_error error;
    const struct wharf_json *json = json_parse(a, plan, &error);
    const struct wharf_json *first = json ? json_at(json, 0) : NULL;
    int64_t rows = -1;

    return first && json_int(json_get(json_get(first, "Plan"), "Plan Rows"), &rows) ? rows : -1;
}
