/* bom_reads.c - answers what is asked of one bill of materials beside the bill itself: its
 * versions, its explosion, also as an export, its cost (docs/spec/09-items-and-assembly.md section
 * 10). Leaves the tree to bom_levels.c. */
#include "bom_reads.h"

#include <stdlib.h>

#include "bom_levels.h"
#include "items.gen.h"
#include "wharf/errors.h"

enum {
    VERSIONS_SHOWN = 25, /* versions of a page */
    VERSIONS_MOST = 1000 /* versions of a page at most */
};

/* Reads the bill that the path names; 404 when there is none, or it is of another item. */
static wharf_status bom_of_path(wharf_req *req, struct bom_made *ret)
{
    wharf_str item = WHARF_S(""), bom = WHARF_S("");
    wharf_status s;

    W->req->param(req, "item", &item);
    W->req->param(req, "bom", &bom);
    s = bom_read(req, bom, 0, ret);
    return s == WHARF_OK && !same(ret->item_id, item) ? W->err->fail(req, ERR_NOT_FOUND, NULL, NULL)
                                                      : s;
}

/* ---- versions ---- */

static void bom_reads_put_version(
    wharf_out *out, const wharf_rows *rows, size_t i, const struct bom_made *version)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("bom_version")));
    W->json->put(out, "version", val_int(row_int(rows, i, 0)));
    bom_put_parts(out, "components", version);
    W->json->put(out, "output_qty", val_decimal(version->output_qty, QUANTITY_SCALE));
    W->json->put(out, "change_note", val_text_or_null(row_text(rows, i, 2)));
    W->json->put(out, "created_at", val_text(row_text(rows, i, 3)));
    W->json->put(out, "created_by", val_text_or_null(row_text(rows, i, 4)));
    W->json->put(out, "build_count", val_int(row_int(rows, i, 5)));
    W->json->close(out);
}

static wharf_status put_versions(
    wharf_req *req, wharf_str bom, const wharf_rows *rows, size_t n, wharf_out *out)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    int64_t *numbers = W->mem->alloc(req, (n + 1) * sizeof(*numbers));
    struct bom_made *versions;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        ids[i] = bom;
        numbers[i] = row_int(rows, i, 0);
    }
    s = bom_read_many(req, ids, numbers, n, &versions);
    W->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        bom_reads_put_version(out, rows, i, &versions[i]);
    W->json->close(out);
    return s;
}

wharf_status bom_versions_get(wharf_req *req, void *arg)
{
    static const char sql[] = QUERY_BOM_HISTORY;
    int64_t page, limit;
    struct bom_made m;
    const wharf_rows *rows;
    size_t n;
    wharf_status s = W->req->page(req, VERSIONS_SHOWN, VERSIONS_MOST, &page, &limit);

    if (s == WHARF_OK)
        s = bom_of_path(req, &m);
    if (s == WHARF_OK)
        s = W->db->query(req, sql,
            (const wharf_val[]){val_text(m.id), val_text(W->req->organization(req)),
                val_int(limit + 1), val_int((page - 1) * limit)},
            4, &rows);
    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows);
    s = put_versions(req, m.id, rows, (int64_t)n > limit ? (size_t)limit : n,
        W->req->respond(req, 200, "Versions retrieved"));
    W->req->paged(req, page, limit, (int64_t)n > limit);
    return s;
}

/* ---- explosion ---- */

/* A read of the tree: what it asks for, and what is needed. */
struct bom_explosion {
    struct bom_made made;
    struct bom_tree tree;
    wharf_str location; /* empty: stock is not shown */
    int64_t quantity, max_level; /* max_level 0: all */
    int64_t *need; /* of each node */
    int64_t *level; /* 0: not reached within max_level */
};

/* Reads how deep an explosion goes: 400 param.invalid at path. */
static wharf_status judge_max_level(wharf_req *req, wharf_str text, const char *path, int64_t *ret)
{
    char *end = NULL;

    *ret = text.n ? strtol(text.p, &end, 10) : 0;
    return !text.n || *end || *ret < 1
               ? W->err->fail(req, ERR_PARAM_INVALID, path, "max_level must be a number from 1 on")
               : WHARF_OK;
}

static wharf_status take_max_level(wharf_req *req, int64_t *ret)
{
    wharf_str text;

    *ret = 0;
    return W->req->param(req, "max_level", &text) ? judge_max_level(req, text, "max_level", ret)
                                                  : WHARF_OK;
}

static wharf_status bom_reads_too_much(wharf_req *req)
{
    return W->err->fail(req, ERR_PARAM_INVALID, "quantity",
        "More than 99999999999.9999 of an item would be needed; ask for a smaller quantity");
}

/* Adds what a quantity takes of its components. An asset item is not held to whole numbers: what
 * is asked is what is needed, and not a build. Returns false above QUANTITY_MAX. */
static bool add_exploded(const struct bom_link *links, size_t n, int64_t quantity, int64_t *need,
    int64_t *level, int64_t at)
{
    for (size_t k = 0; k < n; k++) {
        struct bom_use use = links[k].use;
        int64_t one;

        use.whole = false;
        if (bom_need(&use, quantity, &one) != BOM_NEED_OK || one > QUANTITY_MAX - need[links[k].to])
            return false;
        need[links[k].to] += one;
        level[links[k].to] = at > level[links[k].to] ? at : level[links[k].to];
    }
    return true;
}

/* Sums what is needed over all levels: of a part of several assemblies first all of it. */
static wharf_status explode_all(wharf_req *req, struct bom_explosion *x)
{
    const struct bom_tree *t = &x->tree;

    if (!add_exploded(t->links, t->n_links, x->quantity, x->need, x->level, 1))
        return bom_reads_too_much(req);
    for (size_t k = 0; k < t->n; k++) {
        const struct bom_node *node = &t->nodes[t->order[k]];

        if (!add_exploded(node->links, node->n_links, x->need[t->order[k]], x->need, x->level,
                x->level[t->order[k]] + 1))
            return bom_reads_too_much(req);
    }
    return WHARF_OK;
}

/* Sums what is needed on the ways of at most max_level: level by level, since a part may be used
 * above and below the last one. */
static wharf_status explode_some(wharf_req *req, struct bom_explosion *x)
{
    const struct bom_tree *t = &x->tree;
    int64_t *above = W->mem->alloc(req, (t->n + 1) * sizeof(*above));
    int64_t *here = W->mem->alloc(req, (t->n + 1) * sizeof(*here));
    bool fits = add_exploded(t->links, t->n_links, x->quantity, here, x->level, 1);

    for (int64_t at = 2; fits; at++) {
        int64_t *reached = here;

        for (size_t i = 0; i < t->n && fits; i++) {
            fits = reached[i] <= QUANTITY_MAX - x->need[i];
            x->need[i] += fits ? reached[i] : 0;
        }
        if (at > x->max_level)
            break;
        memset(above, 0, t->n * sizeof(*above));
        for (size_t i = 0; i < t->n && fits; i++) {
            if (reached[i])
                fits = add_exploded(
                    t->nodes[i].links, t->nodes[i].n_links, reached[i], above, x->level, at);
        }
        here = above;
        above = reached;
    }
    return fits ? WHARF_OK : bom_reads_too_much(req);
}

/* Reads the tree of a bill that was read, with stock where a location is named, and sums. */
static wharf_status explode_made(wharf_req *req, struct bom_explosion *x)
{
    wharf_status s = bom_tree_read(req, &x->made, &x->tree);

    if (s == WHARF_OK && x->location.n)
        s = bom_tree_stock(req, &x->tree, x->location);
    if (s != WHARF_OK)
        return s;
    x->need = W->mem->alloc(req, (x->tree.n + 1) * sizeof(*x->need));
    x->level = W->mem->alloc(req, (x->tree.n + 1) * sizeof(*x->level));
    return x->max_level ? explode_some(req, x) : explode_all(req, x);
}

static wharf_status bom_explode(wharf_req *req, struct bom_explosion *x)
{
    wharf_status s = bom_take_location(req, &x->location);

    if (s == WHARF_OK)
        s = bom_take_quantity(req, QUANTITY_ONE, &x->quantity);
    if (s == WHARF_OK)
        s = bom_of_path(req, &x->made);
    return s == WHARF_OK ? explode_made(req, x) : s;
}

static void put_exploded(wharf_out *out, const struct bom_explosion *x, size_t i)
{
    const struct bom_node *node = &x->tree.nodes[i];
    int64_t need = x->need[i];

    W->json->open(out, NULL, '{');
    W->json->put(out, "item_id", val_text(node->item));
    W->json->put(out, "name", val_text(node->name));
    W->json->put(out, "sku", val_text_or_null(node->sku));
    W->json->put(out, "base_uom", val_text(node->base_uom));
    W->json->put(out, "level", val_int(x->level[i]));
    W->json->put(out, "required_qty", val_decimal(need, QUANTITY_SCALE));
    if (x->location.n) {
        W->json->put(out, "available_qty", val_decimal(node->available, QUANTITY_SCALE));
        W->json->put(out, "shortage_qty",
            val_decimal(need > node->available ? need - node->available : 0, QUANTITY_SCALE));
    }
    W->json->put(out, "is_leaf", val_bool(!node->bom.n));
    W->json->put(out, "via_bom_id", val_text_or_null(node->bom));
    W->json->close(out);
}

wharf_status bom_explosion_get(wharf_req *req, void *arg)
{
    struct bom_explosion *x = W->mem->alloc(req, sizeof(*x));
    wharf_status s = take_max_level(req, &x->max_level);
    int64_t deepest = 0;
    wharf_out *out;

    if (s == WHARF_OK)
        s = bom_explode(req, x);

    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Bill of materials exploded");
    for (size_t i = 0; i < x->tree.n; i++)
        deepest = x->level[i] > deepest ? x->level[i] : deepest;
    W->json->open(out, NULL, '[');
    for (int64_t level = 1; level <= deepest; level++) {
        for (size_t i = 0; i < x->tree.n; i++) {
            if (x->level[i] == level)
                put_exploded(out, x, i);
        }
    }
    W->json->close(out);
    return WHARF_OK;
}

/* ---- the explosion as an export (docs/spec/01-platform.md section 15) ---- */

struct bom_export {
    struct bom_explosion x;
    wharf_str bom;
    bool shortages; /* only what a build of all levels lacks */
};

static const char *option_path(wharf_req *req, const char *base, wharf_str name)
{
    return W->mem->format(req, "%s%.*s", base, (int)name.n, name.p).p;
}

static wharf_status option_bad(
    wharf_req *req, const char *base, const char *name, const char *message)
{
    return W->err->fail(
        req, ERR_PARAM_INVALID, option_path(req, base, wharf_z(name)), "%s", message);
}

static wharf_status option_take(
    wharf_req *req, const wharf_json *v, const char *base, struct bom_export *ret)
{
    wharf_str name = W->json->key(v);
    const char *path = option_path(req, base, name);

    if (is(name, "quantity"))
        return bom_judge_quantity(req, number_text(req, v), path, &ret->x.quantity);
    if (is(name, "max_level"))
        return judge_max_level(req, number_text(req, v), path, &ret->x.max_level);
    if (is(name, "bom_id") || is(name, "location_id"))
        return W->json->text(v, is(name, "bom_id") ? &ret->bom : &ret->x.location)
                   ? WHARF_OK
                   : W->err->fail(req, ERR_PARAM_INVALID, path, "%s must be a text", path);
    if (is(name, "shortages"))
        return W->json->truth(v, &ret->shortages)
                   ? WHARF_OK
                   : W->err->fail(req, ERR_PARAM_INVALID, path, "%s must be true or false", path);
    return W->err->fail(req, ERR_PARAM_INVALID, path,
        "Exports of a bill take bom_id, quantity, location_id, max_level and shortages");
}

/* Takes the options, all of them, and reads the bill. */
static wharf_status options_take(
    wharf_req *req, const wharf_json *options, const char *base, struct bom_export *ret)
{
    wharf_status s = WHARF_OK;

    *ret = (struct bom_export){.x = {.quantity = QUANTITY_ONE}};
    for (const wharf_json *v = W->json->at(options, 0); v && s == WHARF_OK; v = W->json->next(v))
        s = option_take(req, v, base, ret);
    if (s != WHARF_OK)
        return s;
    if (!ret->bom.n)
        return option_bad(req, base, "bom_id", "bom_id names the bill of materials");
    if (ret->shortages && !ret->x.location.n)
        return option_bad(req, base, "location_id", "shortages are those of a location; name it");
    if (ret->shortages && ret->x.max_level)
        return option_bad(req, base, "max_level", "shortages are those of all levels");
    if (ret->x.location.n)
        s = bom_judge_location(
            req, ret->x.location, option_path(req, base, WHARF_S("location_id")));
    if (s == WHARF_OK)
        s = bom_read(req, ret->bom, 0, &ret->x.made);
    if (s != WHARF_NOT_FOUND)
        return s;
    W->err->clear(req);
    return option_bad(req, base, "bom_id", "There is no such bill of materials");
}

static wharf_status bom_export_check(wharf_req *req, const wharf_json *options, const char *base)
{
    struct bom_export *e = W->mem->alloc(req, sizeof(*e));

    return options_take(req, options, base, e);
}

/* Keeps in need what a build lacks when stock is used first and the parts that have a bill are
 * built: of what can't be built how much is needed, and missing, how much of it is not there. */
static wharf_status plan_shortages(wharf_req *req, struct bom_export *e, int64_t **ret_missing)
{
    size_t n = e->x.tree.n + 1;
    int64_t *build = W->mem->alloc(req, n * sizeof(*build));
    int64_t *missing = W->mem->alloc(req, n * sizeof(*missing));
    bool any = false, possible;

    possible = bom_tree_plan(&e->x.tree, e->x.quantity, e->x.need, build, missing);
    for (size_t i = 0; i < e->x.tree.n; i++)
        any = any || missing[i];
    *ret_missing = missing;
    return possible || any ? WHARF_OK
                           : W->err->fail(req, ERR_PARAM_INVALID, "quantity",
                                 "A part can't be built in the quantity that is missing");
}

static wharf_status bom_export_rows(wharf_req *req, const wharf_json *options, const char *base,
    const wharf_str **ret_rows, size_t *ret_n)
{
    struct bom_export *e = W->mem->alloc(req, sizeof(*e));
    int64_t *missing = NULL;
    wharf_str *rows;
    wharf_status s = options_take(req, options, base, e);

    if (s == WHARF_OK)
        s = explode_made(req, &e->x);
    if (s == WHARF_OK && e->shortages)
        s = plan_shortages(req, e, &missing);
    if (s != WHARF_OK)
        return s;
    rows = W->mem->alloc(req, (e->x.tree.n + 1) * sizeof(*rows));
    *ret_n = 0;
    for (size_t k = 0; k < e->x.tree.n; k++) {
        size_t i = e->x.tree.order[k];
        wharf_out *out = W->json->writer(req);

        if (!e->x.level[i] || (missing && !missing[i]))
            continue;
        put_exploded(out, &e->x, i);
        rows[(*ret_n)++] = W->json->result_text(out);
    }
    *ret_rows = rows;
    return WHARF_OK;
}

const wharf_export_source bom_export_source = {.head = WHARF_HEAD(wharf_export_source),
    .resource = "bom",
    .members = (const char *const[]){"item_id", "name", "sku", "base_uom", "level", "required_qty",
        "available_qty", "shortage_qty", "is_leaf", "via_bom_id", NULL},
    .check = bom_export_check,
    .rows = bom_export_rows};

/* ---- cost ---- */

struct bom_total {
    wharf_str currency;
    exact cost; /* in 0.0001 cents */
};

static void add_cost(struct bom_total *totals, size_t *n, const struct bom_node *node, int64_t need)
{
    size_t k = 0;

    while (k < *n && !same(totals[k].currency, node->currency))
        k++;
    if (k == *n)
        totals[(*n)++] = (struct bom_total){.currency = node->currency};
    totals[k].cost += (exact)need * node->value;
}

static void put_cost(wharf_req *req, wharf_out *out, const struct bom_explosion *x,
    const struct bom_node *node, int64_t need)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "item_id", val_text(node->item));
    W->json->put(out, "required_qty", val_decimal(need, QUANTITY_SCALE));
    W->json->put(out, "value", node->valued ? val_int(node->value) : val_null());
    W->json->put(out, "currency", val_text_or_null(node->currency));
    W->json->put(out, "cost",
        node->valued ? val_json(exact_json(req, (exact)need * node->value, QUANTITY_SCALE))
                     : val_null());
    W->json->close(out);
}

wharf_status bom_cost_get(wharf_req *req, void *arg)
{
    struct bom_explosion *x = W->mem->alloc(req, sizeof(*x));
    wharf_status s = bom_explode(req, x);
    struct bom_total *totals;
    size_t n = 0;
    bool complete = true;
    wharf_out *out;

    if (s != WHARF_OK)
        return s;
    totals = W->mem->alloc(req, (x->tree.n + 1) * sizeof(*totals));
    out = W->req->respond(req, 200, "Cost of the bill of materials reckoned");
    W->json->open(out, NULL, '{');
    W->json->put(out, "bom_id", val_text(x->made.id));
    W->json->put(out, "version", val_int(x->made.version));
    W->json->put(out, "quantity", val_decimal(x->quantity, QUANTITY_SCALE));
    W->json->open(out, "components", '[');
    for (size_t i = 0; i < x->tree.n; i++) {
        const struct bom_node *node = &x->tree.nodes[i];

        if (node->bom.n)
            continue; /* its own components are counted */
        complete = complete && node->valued;
        put_cost(req, out, x, node, x->need[i]);
        if (node->valued)
            add_cost(totals, &n, node, x->need[i]);
    }
    W->json->close(out);
    W->json->open(out, "totals", '[');
    for (size_t k = 0; k < n; k++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "currency", val_text_or_null(totals[k].currency));
        W->json->put(out, "cost", val_json(exact_json(req, totals[k].cost, QUANTITY_SCALE)));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->put(out, "complete", val_bool(complete));
    W->json->close(out);
    return WHARF_OK;
}
