/* host_batch.c - the service wharf.batch: items of batches as writes of declared resources
 * (plugin-api/wharf/service/batch.h). */
#include <stdio.h>
#include <stdlib.h>

#include "host/host.h"
#include "resource/access.h"
#include "resource/write.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/batch.h"

static const struct resource *host_batch_find(wharf_req *req, const char *name)
{
    const struct resource *res = engine_resource(req->engine, name);

    if (!res)
        req_fail(req, ERR_MODULE_UNAVAILABLE, NULL, "the module of %s is not enabled", name);
    return res;
}

static const wharf_json *b_definition(wharf_req *req, const char *resource)
{
    const struct resource *res = engine_resource(req->engine, resource);

    return res ? res->def->json : NULL;
}

/* ---- whose hand it is ---- */

static void host_batch_unref(void *req)
{
    principal_unref(((struct wharf_req *)req)->access.acting);
}

static wharf_status b_act_as(wharf_req *req, wharf_str key_id, wharf_str *ret_refused)
{
    const struct access *who = &req->access.who->access;
    struct sql_arg args[2] = {
        {who->live_organization.p, who->live_organization.n}, {key_id.p, key_id.n}};
    PGresult *r = req_query(req, auth_lookup_id_sql, args, 2);
    struct principal *p;

    if (!r)
        return req_failed(req);
    p = auth_principal(&req->engine->areas, r, req->now_us);
    *ret_refused = str_z(p->refusal ? p->refusal : "");
    if (!p->refusal && !str_eq(p->organization, req->access.who->organization))
        *ret_refused = str_z(ERR_API_KEY_INVALID);
    if (ret_refused->n) {
        *ret_refused = arena_dup_str(req->arena, *ret_refused);
        principal_unref(p);
        return WHARF_OK;
    }
    if (!req->access.acting)
        arena_on_end(req->arena, host_batch_unref, req);
    principal_unref(req->access.acting);
    req->access.who = req->access.acting = p;
    req_leave_organization(req);
    return WHARF_OK;
}

/* ---- items ---- */

static struct wharf_many *new_items(wharf_req *req, const struct resource *res, const char *action,
    const wharf_str *ids, const wharf_json *const *bodies, size_t n)
{
    struct wharf_many *m = ARENA_NEW(req->arena, struct wharf_many);
    bool remove = !strcmp(action, "delete"), replace = !strcmp(action, "overwrite"),
         part = !strcmp(action, "part");

    m->set = (struct write_set){
        .res = res, .rows = ARENA_ARRAY(req->arena, struct set_row, n + 1), .n = n};
    for (size_t i = 0; i < n; i++) {
        struct write *w = &m->set.rows[i].w;

        *w = (struct write){.res = res, .id = ids[i], .parent_id = str_z("")};
        w->op = remove ? OP_DELETE : ids[i].n || part ? OP_UPDATE : OP_CREATE;
        w->replace = replace && w->op == OP_UPDATE;
        w->body = bodies[i]; /* of a delete only hooks see it */
        if (res->def->place.parent && w->op == OP_CREATE)
            w->parent_id = json_text_or(bodies[i], res->def->place.parent->name, "");
    }
    return m;
}

/* ---- hooks that write items by themselves ---- */

static bool has_hook(const struct resource *res)
{
    for (size_t i = 0; i < res->n_hooks; i++) {
        if (WHARF_HAS(wharf_hooks, res->hooks[i].hooks, batch_item))
            return true;
    }
    return false;
}

static void b_done(wharf_req *req, wharf_str id, const char *operation)
{
    req->item.id = arena_dup_str(req->arena, id);
    req->item.operation = operation;
}

static wharf_status run_item_hook(
    wharf_req *req, const struct hook_entry *h, const char *action, const wharf_json *body)
{
    const struct plugin *before;
    wharf_status s;

    if (!WHARF_HAS(wharf_hooks, h->hooks, batch_item) || req->item.operation || req->problems.n)
        return WHARF_OK;
    before = plugin_enter(req, h->plugin, "batch_item");
    s = h->hooks->batch_item(req, action, body);
    plugin_leave(req, before);
    return s != WHARF_OK && !req->problems.n ? plugin_unexplained(req, h->plugin, "batch_item", s)
                                             : s;
}

/* Runs the hooks of an item, those of other plugins first: what they refuse or take is not the
 * owner's any more. */
static void run_item_hooks(
    wharf_req *req, const struct resource *res, const char *action, const wharf_json *body)
{
    req->item.operation = NULL;
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < res->n_hooks; i++) {
            if ((res->hooks[i].plugin == res->plugin) == own)
                run_item_hook(req, &res->hooks[i], action, body);
        }
    }
}

/* Returns a body that a hook sees; of a delete its id. */
static const wharf_json *hook_body(wharf_req *req, const struct write *w)
{
    struct wharf_json *object, *id;

    if (w->body)
        return w->body;
    object = ARENA_NEW(req->arena, struct wharf_json);
    id = ARENA_NEW(req->arena, struct wharf_json);
    *id = (struct wharf_json){.type = JSON_STRING, .key = WHARF_S("id"), .text = w->id};
    *object = (struct wharf_json){.type = JSON_OBJECT, .count = 1, .child = id};
    return object;
}

/* Writes one item by hooks; *ret_left: none of them wrote it. In a savepoint, so that a refused
 * one leaves nothing. */
static wharf_status item_by_hooks(
    wharf_req *req, struct write_set *one, const char *action, bool *ret_left)
{
    struct set_row *row = one->rows;
    const char *operation;

    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    one->live = &row;
    one->n_live = 1;
    one->outer = req->set;
    req->set = one;
    set_at(req, row);
    run_item_hooks(req, one->res, action, hook_body(req, &row->w));
    operation = req->item.operation;
    req->item.operation = NULL;
    set_at(req, NULL);
    req->set = one->outer;
    *ret_left = !operation && !row->failed && !one->broken;
    if (one->broken || row->failed) {
        req_rollback(req);
        return one->broken ? req_failed(req) : WHARF_OK;
    }
    if (operation) {
        row->w.id = req->item.id;
        row->operation = operation;
        row->stored = true;
    }
    return req_commit(req);
}

/* ---- hooks that write sets of items ---- */

static void b_done_at(wharf_req *req, size_t row, wharf_str id, const char *operation)
{
    struct set_row *r = req->set && row < req->set->n ? &req->set->rows[row] : NULL;

    if (!r)
        return;
    r->w.id = arena_dup_str(req->arena, id);
    r->operation = operation;
    r->stored = true;
}

static void b_leave(wharf_req *req, size_t row)
{
    if (req->set && row < req->set->n)
        req->set->rows[row].left = true;
}

static bool is_open(const struct set_row *row)
{
    return !row->stored && !row->failed && !row->left;
}

static bool b_is_open(wharf_req *req, size_t row)
{
    return req->set && row < req->set->n && is_open(&req->set->rows[row]);
}

/* Tells whether every plugin that writes items of the resource writes sets of them, too. */
static bool has_set_hooks(const struct resource *res)
{
    for (size_t i = 0; i < res->n_hooks; i++) {
        const wharf_hooks *h = res->hooks[i].hooks;

        if (WHARF_HAS(wharf_hooks, h, batch_item) && !WHARF_HAS(wharf_hooks, h, batch_items))
            return false;
    }
    return true;
}

static wharf_status run_set_hook(wharf_req *req, const struct hook_entry *h, struct write_set *set,
    const char *action, const wharf_json *const *items)
{
    size_t failed = set->n_failed;
    const struct plugin *before;
    wharf_status s;

    if (!WHARF_HAS(wharf_hooks, h->hooks, batch_items))
        return WHARF_OK;
    before = plugin_enter(req, h->plugin, "batch_items");
    s = h->hooks->batch_items(req, action, items, set->n);
    plugin_leave(req, before);
    set_at(req, NULL);
    if (set->broken)
        return req_failed(req);
    if (s == WHARF_OK || set->row_by_row || set->n_failed != failed)
        return WHARF_OK;
    return plugin_unexplained(req, h->plugin, "batch_items", s);
}

/* Runs the hooks of a set, those of other plugins first. */
static wharf_status run_set_hooks(wharf_req *req, struct write_set *set, const char *action)
{
    const wharf_json **items = ARENA_ARRAY(req->arena, const wharf_json *, set->n + 1);
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < set->n; i++)
        items[i] = hook_body(req, &set->rows[i].w);
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; s == WHARF_OK && !set->row_by_row && i < set->res->n_hooks; i++) {
            if ((set->res->hooks[i].plugin == set->res->plugin) == own)
                s = run_set_hook(req, &set->res->hooks[i], set, action, items);
        }
    }
    return s;
}

/* Writes those of the set that hooks write together; the others stay as they are. */
static wharf_status items_as_set(wharf_req *req, struct write_set *set, const char *action)
{
    struct write *start = ARENA_ARRAY(req->arena, struct write, set->n + 1);
    wharf_status s;

    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    set->live = ARENA_ARRAY(req->arena, struct set_row *, set->n + 1);
    for (size_t i = 0; i < set->n; i++) {
        start[i] = set->rows[i].w;
        set->live[set->n_live++] = &set->rows[i];
    }
    set->outer = req->set;
    req->set = set;
    s = run_set_hooks(req, set, action);
    req->set = set->outer;
    if (s == WHARF_OK && !set->row_by_row)
        return req_commit(req);
    req_rollback(req);
    if (s != WHARF_OK)
        return s;
    req_clear_problems(&req->problems);
    set->n_failed = 0;
    for (size_t i = 0; i < set->n; i++)
        set->rows[i] = (struct set_row){.w = start[i]};
    return WHARF_OK;
}

static wharf_status write_alone(wharf_req *req, struct write_set *one, const char *action)
{
    bool left = false;
    wharf_status s = item_by_hooks(req, one, action, &left);

    return s == WHARF_OK && left ? write_set(req, one) : s;
}

/* Writes items of which hooks have a say: as a set what can be, the others one by one. */
static wharf_status write_by_hooks(wharf_req *req, struct write_set *set, const char *action)
{
    wharf_status s = set->n > 1 ? items_as_set(req, set, action) : WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < set->n; i++) {
        struct set_row *row = &set->rows[i];
        struct write_set one = {.res = set->res, .op = set->op, .rows = row, .n = 1};

        row->left = false;
        if (!is_open(row))
            continue;
        s = write_alone(req, &one, action);
        set->n_failed += one.n_failed;
    }
    return s;
}

/* Writes the items. Neighbours that are written the same way go together; several updates one
 * after the other are written so anyway. */
static wharf_status write_items(wharf_req *req, struct wharf_many *m, const char *action)
{
    bool hooks = has_hook(m->set.res), sets = hooks && has_set_hooks(m->set.res);
    size_t next;

    for (size_t i = 0; i < m->set.n; i = next) {
        struct write_set part = {
            .res = m->set.res, .op = m->set.rows[i].w.op, .rows = m->set.rows + i};
        bool together = !hooks || (sets && part.op == OP_CREATE);
        wharf_status s;

        for (next = i + 1; together && next < m->set.n && m->set.rows[next].w.op == part.op; next++)
            continue;
        part.n = next - i;
        s = hooks ? write_by_hooks(req, &part, action) : write_set(req, &part);
        if (s != WHARF_OK)
            return s;
        m->set.n_failed += part.n_failed;
    }
    return WHARF_OK;
}

/* Tries the items. What hooks refuse is known when they have run: they run, and nothing of it
 * stays. */
static wharf_status try_items(wharf_req *req, struct wharf_many *m, const char *action)
{
    wharf_status s;

    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    s = write_items(req, m, action);
    req_rollback(req);
    return s;
}

static wharf_status b_check(wharf_req *req, const char *resource, const char *action,
    const wharf_str *ids, const wharf_json *const *bodies, size_t n, const wharf_many **ret_many)
{
    static const uint32_t ops[] = {OP_CREATE, OP_UPDATE, OP_DELETE};
    const struct resource *res = host_batch_find(req, resource);
    struct wharf_many *m;

    if (!res)
        return WHARF_UNAVAILABLE;
    m = new_items(req, res, action, ids, bodies, n);
    *ret_many = m;
    if (has_hook(res) && strcmp(action, "part") != 0)
        return try_items(req, m, action);
    for (size_t k = 0; k < sizeof(ops) / sizeof(*ops); k++) {
        struct write_set one = {.res = res, .op = ops[k], .part = !strcmp(action, "part")};
        wharf_status s;

        one.live = ARENA_ARRAY(req->arena, struct set_row *, n + 1);
        for (size_t i = 0; i < n; i++) {
            if (m->set.rows[i].w.op == ops[k])
                one.live[one.n_live++] = &m->set.rows[i];
        }
        s = check_set(req, &one);
        if (s != WHARF_OK)
            return s;
        m->set.n_failed += one.n_failed;
    }
    return WHARF_OK;
}

static wharf_status b_apply(wharf_req *req, const char *resource, const char *action,
    const wharf_str *ids, const wharf_json *const *bodies, size_t n, const wharf_many **ret_many)
{
    const struct resource *res = host_batch_find(req, resource);
    struct wharf_many *m;
    wharf_status s;

    if (!res || req->problems.n)
        return req_failed(req);
    m = new_items(req, res, action, ids, bodies, n);
    if (req_begin(req) != WHARF_OK)
        return req_failed(req);
    s = write_items(req, m, action);
    if (s != WHARF_OK) {
        req_rollback(req);
        return s;
    }
    *ret_many = m;
    return req_commit(req);
}

static wharf_str b_operation(const wharf_many *m, size_t row)
{
    const struct set_row *r = row < m->set.n ? &m->set.rows[row] : NULL;

    if (!r || r->failed)
        return str_z("");
    if (r->operation)
        return str_z(r->operation);
    if (r->w.unchanged)
        return str_z("unchanged");
    if (r->w.replace)
        return str_z("overwritten");
    return str_z(r->w.op == OP_CREATE ? "created" : r->w.op == OP_UPDATE ? "updated" : "deleted");
}

static wharf_str b_rule(const wharf_many *m, size_t row, size_t i)
{
    const char *rule = row < m->set.n && i < m->set.rows[row].n_problems
                           ? m->set.rows[row].problems[i].rule
                           : NULL;

    return str_z(rule ? rule : "");
}

/* ---- rows that are meant by what they are ---- */

static void filter_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    struct wharf_req *req = arg;

    req_problem(req, code, arena_printf(req->arena, "filters.%.*s", STR_ARG(param)), NULL, message);
}

/* Tells whether a parameter of a list says nothing about which rows. */
static bool says_how(const struct definition_list *list, wharf_str key)
{
    static const char *const words[] = {
        "page", "limit", "cursor", "order_by", "direction", "fields", "cache"};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eqz(key, words[i]))
            return !definition_filter(list, key);
    }
    return str_starts(key, "include_") && !definition_filter(list, key);
}

static const struct list_query *host_batch_read_filters(
    wharf_req *req, const struct resource *res, const wharf_json *filters, size_t most)
{
    struct query_options o = {
        .strict = true, .organization = organization_of(&req->access.who->access, res->def)};
    const struct query_pair *pairs;
    struct list_query *q;
    size_t n;

    o.cursor_key = req->engine->cursor_key;
    query_from_json(req->arena, res->def, filters, &pairs, &n);
    for (size_t i = 0; i < n; i++) {
        const struct query_param *param = definition_param(res->def, query_base(pairs[i].key));

        if (says_how(&res->def->list, query_base(pairs[i].key)) ||
            (param && !param->restricts &&
                !definition_filter(&res->def->list, query_base(pairs[i].key))))
            filter_problem(req, ERR_PARAM_INVALID, query_base(pairs[i].key),
                arena_printf(req->arena, "%.*s does not say which rows; leave it out",
                    STR_ARG(pairs[i].key)));
    }
    q = (struct list_query *)query_parse(req->arena, res->def, pairs, n, &o, filter_problem, req);
    if (!q || req->problems.n)
        return NULL;
    for (size_t i = 0; i < q->n_locations_asked; i++) {
        if (!principal_may_see(req->access.who, q->locations_asked[i]))
            req_problem(req, ERR_LOCATION_ACCESS, q->locations_asked[i], NULL, str_z(""));
    }
    q->columns = "t.id";
    q->order = definition_field(res->def, "id");
    q->descending = q->relevance = q->hits = q->cursor = false;
    q->page = 1;
    q->limit = (int64_t)most;
    req->head.pairs = pairs; /* rules read their parameters there, and the word of a search */
    req->head.n_pairs = n;
    return req->problems.n ? NULL : q;
}

static wharf_status host_batch_read_ids(wharf_req *req, const struct resource *res,
    const struct list_query *q, const struct narrowing *narrow, const wharf_str **ret_ids,
    size_t *ret_n)
{
    wharf_str *ids;
    struct sql s;
    PGresult *r;

    sql_init(&s, req->arena);
    query_page_sql(&s, res->def, q, &req->access.who->access, narrow_extra, (void *)narrow);
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    *ret_n = (size_t)PQntuples(r);
    *ret_ids = ids = ARENA_ARRAY(req->arena, wharf_str, *ret_n + 1);
    for (size_t i = 0; i < *ret_n; i++)
        ids[i] = (wharf_str){PQgetvalue(r, (int)i, 0), (size_t)PQgetlength(r, (int)i, 0)};
    return WHARF_OK;
}

static wharf_status filtered_ids(wharf_req *req, const struct resource *res,
    const wharf_json *filters, size_t most, const wharf_str **ret_ids, size_t *ret_n)
{
    const struct list_query *q = res ? host_batch_read_filters(req, res, filters, most) : NULL;
    struct narrowing narrow;

    *ret_n = 0;
    if (!q)
        return WHARF_INVALID;
    if (!most)
        return WHARF_OK;
    if (!narrow_rows_of(req, res, str_z(""), &narrow) ||
        (q->n_terms && !search_found(req, res, (struct list_query *)q)))
        return req_failed(req);
    return host_batch_read_ids(req, res, q, &narrow, ret_ids, ret_n);
}

static wharf_status b_resolve(wharf_req *req, const char *resource, const wharf_json *filters,
    size_t most, const wharf_str **ret_ids, size_t *ret_n)
{
    const struct query_pair *pairs = req->head.pairs;
    size_t n = req->head.n_pairs;
    wharf_status s = filtered_ids(
        req, host_batch_find(req, resource), filters, most, ret_ids, ret_n);

    req->head.pairs = pairs;
    req->head.n_pairs = n;
    return s;
}

static wharf_status b_below(wharf_req *req, const char *resource, wharf_str parent_id, size_t most,
    const wharf_str **ret_ids, size_t *ret_n)
{
    const struct resource *res = host_batch_find(req, resource);
    struct list_query q = {.columns = "t.id", .page = 1, .limit = (int64_t)most};
    struct narrowing narrow;

    *ret_n = 0;
    if (!res || !res->def->place.parent)
        return res ? req_fail(req, ERR_INTERNAL, NULL, "%s has no parent", resource)
                   : WHARF_UNAVAILABLE;
    q.order = res->def->list.order;
    if (!narrow_rows_of(req, res, parent_id, &narrow))
        return req_failed(req);
    return host_batch_read_ids(req, res, &q, &narrow, ret_ids, ret_n);
}

/* Finds the first row of a query without limits of its own; looks for one more, to know whether it
 * is the only one. */
static wharf_status find_row(wharf_req *req, const struct resource *res,
    const struct condition *conditions, size_t n, wharf_str *ret_id, bool *ret_several)
{
    struct list_query q = {.columns = "t.id",
        .conditions = conditions,
        .n_conditions = n,
        .page = 1,
        .limit = 1,
        .order = definition_field(res->def, "id")};
    struct narrowing narrow;
    struct sql s;
    PGresult *r;

    if (!narrow_rows_of(req, res, str_z(""), &narrow))
        return req_failed(req);
    sql_init(&s, req->arena);
    query_page_sql(&s, res->def, &q, &req->access.who->access, narrow_extra, &narrow);
    r = req_query_sql(req, &s);
    if (!r)
        return req_failed(req);
    *ret_id = PQntuples(r) ? str_z(PQgetvalue(r, 0, 0)) : str_z("");
    *ret_several = PQntuples(r) > 1;
    return WHARF_OK;
}

static wharf_status b_find(wharf_req *req, const char *resource, const char *const *filters,
    const wharf_str *values, size_t n, wharf_str *ret_id, bool *ret_several)
{
    const struct resource *res = host_batch_find(req, resource);
    const struct filter **named = ARENA_ARRAY(req->arena, const struct filter *, n + 1);
    const struct condition *all;

    if (!res)
        return WHARF_UNAVAILABLE;
    for (size_t i = 0; i < n; i++)
        named[i] = definition_filter(&res->def->list, str_z(filters[i]));
    all = query_equal(req->arena, named, values, n);
    if (!all)
        return req_fail(
            req, ERR_INTERNAL, NULL, "%s has no such filters of single values", resource);
    return find_row(req, res, all, n, ret_id, ret_several);
}

static wharf_status b_match(wharf_req *req, const char *resource, const char *filter,
    const wharf_str *values, size_t n, wharf_str *ret_ids, bool *ret_several)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && s == WHARF_OK; i++)
        s = b_find(req, resource, &filter, &values[i], 1, &ret_ids[i], &ret_several[i]);
    return s;
}

/* ---- showing ---- */

static PGresult *host_batch_read_rows(
    wharf_req *req, const struct resource *res, const wharf_str *ids, size_t n)
{
    struct sql s;

    sql_init(&s, req->arena);
    sql_addf(&s, "SELECT %s, x.i FROM unnest(", res->columns_full);
    sql_bind_set(&s, ids, n, "text");
    sql_addf(&s,
        ") WITH ORDINALITY x(id, i) CROSS JOIN LATERAL (SELECT * FROM %s y WHERE "
        "y.organization_id = ",
        res->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, res->def));
    sql_addf(&s, " AND y.id = x.id OFFSET 0) t%s",
        res->def->storage.soft_delete ? " WHERE t.deleted_at IS NULL" : "");
    return req_query_sql(req, &s);
}

static enum datetime_format host_batch_format_of(const char *word)
{
    return !strcmp(word, "epoch")          ? DATETIME_EPOCH
           : !strcmp(word, "epoch_millis") ? DATETIME_EPOCH_MILLIS
                                           : DATETIME_ISO;
}

static wharf_status b_show(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
    const char *format, wharf_out *const *outs)
{
    const struct resource *res = host_batch_find(req, resource);
    PGresult *r = res ? host_batch_read_rows(req, res, ids, n) : NULL;
    struct view view = {.in = IN_RETRIEVE,
        .datetime = host_batch_format_of(format),
        .who = &req->access.who->access,
        .writer = res && req_may_write(&req->access, res)};
    struct wharf_rec **recs;
    size_t rows;
    wharf_status s;

    if (!r)
        return req_failed(req);
    rows = (size_t)PQntuples(r);
    recs = ARENA_ARRAY(req->arena, struct wharf_rec *, rows + 1);
    for (size_t i = 0; i < rows; i++)
        recs[i] = record_from_result(req->arena, res, r, (int)i);
    s = compute_fields(req, res, recs, rows, &view);
    for (size_t i = 0; s == WHARF_OK && i < rows; i++) {
        size_t at = strtoul(PQgetvalue(r, (int)i, (int)res->n_selected), NULL, 10) - 1;

        if (check_location(req, res, recs[i]))
            out_record(outs[at], NULL, req->arena, recs[i], &view);
        else
            req_clear_problems(&req->problems); /* not the caller's to see any more */
    }
    return s;
}

static size_t b_events(wharf_req *req)
{
    size_t n = 0;

    for (const struct event_note *e = req->tx.emitted; e; e = e->next)
        n++;
    return n;
}

const wharf_batch_api host_batch = {WHARF_HEAD(wharf_batch_api), b_definition, b_act_as, b_check,
    b_apply, b_operation, b_rule, b_done, b_resolve, b_match, b_show, b_events, b_find, b_below,
    b_done_at, b_leave, b_is_open};
