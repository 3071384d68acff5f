/* bom_levels.c - bills of materials over all levels; see bom_levels.h. Leaves the arithmetic of one
 * level to bom_need.c, answers to bom_shown.c and bom_reads.c. */
#include "bom_levels.h"

#include <stdlib.h>

#include "items.gen.h"
#include "wharf/errors.h"

/* ---- reading ---- */

static exact levels_exact(const wharf_rows *rows, size_t row, size_t column, unsigned scale)
{
    wharf_str s = row_text(rows, row, column);
    exact v = 0;

    exact_read(s.p, s.n, scale, &v);
    return v;
}

static int node_by_item(const void *a, const void *b)
{
    wharf_str x = ((const struct bom_node *)a)->item, y = ((const struct bom_node *)b)->item;
    int order = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);

    return order ? order : (x.n > y.n) - (x.n < y.n);
}

static struct bom_node *node_of(const struct bom_tree *tree, wharf_str item)
{
    const struct bom_node key = {.item = item};

    return tree->n ? bsearch(&key, tree->nodes, tree->n, sizeof(key), node_by_item) : NULL;
}

static void read_node(const wharf_rows *rows, size_t row, struct bom_node *ret)
{
    wharf_val value;

    *ret = (struct bom_node){.item = row_text(rows, row, 0),
        .is_asset = row_bool(rows, row, 1),
        .counted = row_bool(rows, row, 2),
        .archived = row_bool(rows, row, 3),
        .name = row_text(rows, row, 4),
        .sku = row_text(rows, row, 5),
        .base_uom = row_text(rows, row, 6),
        .bom = row_text(rows, row, 7),
        .output_qty = (int64_t)levels_exact(rows, row, 8, QUANTITY_SCALE),
        .min_build_qty = (int64_t)levels_exact(rows, row, 9, QUANTITY_SCALE),
        .valued = W->db->value(rows, row, 10, WHARF_V_INT, &value),
        .value = row_int(rows, row, 10),
        .currency = row_text(rows, row, 11),
        .version = row_int(rows, row, 12),
        .components = row_text(rows, row, 13)};
    ret->step = ret->bom.n ? bom_first_step(ret->counted) : 0;
}

/* Reads who is used; the version's own components are among them. */
static wharf_status read_nodes(wharf_req *req, struct bom_tree *tree)
{
    static const char sql[] = "SELECT * FROM items.bom_reach($2::text, $1::text[], $3::bigint)";
    const struct bom_made *m = tree->made;
    wharf_str *ids = W->mem->alloc(req, (m->n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    wharf_status s;

    for (size_t k = 0; k < m->n; k++)
        ids[k] = m->parts[k].item_id;
    s = W->db->query(req, sql,
        (const wharf_val[]){val_array(req, ids, m->n), val_text(W->req->organization(req)),
            val_int(BOM_ITEMS_MAX + 1)},
        3, &rows);
    if (s != WHARF_OK)
        return s;
    if (W->db->count(rows) > BOM_ITEMS_MAX)
        return W->err->fail(req, ERR_BOM_TOO_LARGE, NULL, NULL);
    tree->n = W->db->count(rows);
    tree->nodes = W->mem->alloc(req, (tree->n + 1) * sizeof(*tree->nodes));
    for (size_t i = 0; i < tree->n; i++)
        read_node(rows, i, &tree->nodes[i]);
    return WHARF_OK;
}

/* Puts a component below what is built of it; from NULL: below the version itself. */
static bool bom_levels_add_link(struct bom_tree *tree, struct bom_node *from, struct bom_link *link,
    wharf_str item, int64_t quantity, exact factor)
{
    struct bom_node *to = node_of(tree, item);

    if (!to)
        return false;
    link->to = (size_t)(to - tree->nodes);
    link->use = bom_use_of(
        quantity, factor, from ? from->output_qty : tree->made->output_qty, to->is_asset);
    to->n_parents++;
    if (from)
        from->step = bom_step(from->step, &link->use);
    return true;
}

/* Takes the next word of a text, up to a space. */
static wharf_str bom_levels_take_word(wharf_str *text)
{
    const char *end = memchr(text->p, ' ', text->n);
    wharf_str word = {text->p, end ? (size_t)(end - text->p) : text->n};
    size_t used = word.n + (end != NULL);

    *text = (wharf_str){text->p + used, text->n - used};
    return word;
}

/* Reads the components of a node's bill: "item quantity factor item ..." of items.bom_reach. */
static wharf_status bom_levels_read_links(
    wharf_req *req, struct bom_tree *tree, struct bom_node *from)
{
    wharf_str text = from->components;
    size_t words = 1;

    for (size_t i = 0; i < text.n; i++)
        words += text.p[i] == ' ';
    from->links = W->mem->alloc(req, (words / 3 + 1) * sizeof(*from->links));
    while (text.n) {
        wharf_str item = bom_levels_take_word(&text), quantity = bom_levels_take_word(&text),
                  factor = bom_levels_take_word(&text);
        exact of_unit = 0, in_base = 0;

        exact_read(quantity.p, quantity.n, QUANTITY_SCALE, &of_unit);
        exact_read(factor.p, factor.n, FACTOR_SCALE, &in_base);
        if (!bom_levels_add_link(
                tree, from, &from->links[from->n_links++], item, (int64_t)of_unit, in_base))
            return W->err->fail(req, ERR_INTERNAL, NULL, NULL);
    }
    return WHARF_OK;
}

/* ---- order ---- */

/* Orders the nodes so that each stands behind all that use it. */
static wharf_status order_nodes(wharf_req *req, struct bom_tree *tree)
{
    size_t *waits = W->mem->alloc(req, (tree->n + 1) * sizeof(*waits)), done = 0;

    tree->order = W->mem->alloc(req, (tree->n + 1) * sizeof(*tree->order));
    for (size_t i = 0; i < tree->n; i++)
        waits[i] = tree->nodes[i].n_parents;
    tree->n_ordered = 0;
    for (size_t k = 0; k < tree->n_links; k++) {
        struct bom_node *to = &tree->nodes[tree->links[k].to];

        to->level = to->level ? to->level : 1;
        if (!--waits[tree->links[k].to])
            tree->order[tree->n_ordered++] = tree->links[k].to;
    }
    while (done < tree->n_ordered) {
        const struct bom_node *from = &tree->nodes[tree->order[done++]];

        for (size_t k = 0; k < from->n_links; k++) {
            struct bom_node *to = &tree->nodes[from->links[k].to];

            to->level = to->level > from->level ? to->level : from->level + 1;
            if (!--waits[from->links[k].to])
                tree->order[tree->n_ordered++] = from->links[k].to;
        }
    }
    return tree->n_ordered == tree->n
               ? WHARF_OK
               : W->err->fail(req, ERR_CONFLICT, NULL,
                     "The bills of materials were changed while they were read; ask again");
}

wharf_status bom_tree_read(wharf_req *req, const struct bom_made *m, struct bom_tree *ret)
{
    wharf_status s;

    *ret = (struct bom_tree){.made = m};
    s = read_nodes(req, ret);
    if (s != WHARF_OK)
        return s;
    ret->links = W->mem->alloc(req, (m->n + 1) * sizeof(*ret->links));
    for (size_t k = 0; k < m->n && s == WHARF_OK; k++) {
        if (!bom_levels_add_link(ret, NULL, &ret->links[ret->n_links++], m->parts[k].item_id,
                m->parts[k].quantity, m->parts[k].factor))
            s = W->err->fail(req, ERR_INTERNAL, NULL, NULL);
    }
    for (size_t i = 0; i < ret->n && s == WHARF_OK; i++)
        s = bom_levels_read_links(req, ret, &ret->nodes[i]);
    return s == WHARF_OK ? order_nodes(req, ret) : s;
}

wharf_status bom_tree_stock(wharf_req *req, struct bom_tree *tree, wharf_str location)
{
    wharf_str *ids = W->mem->alloc(req, (tree->n + 1) * sizeof(*ids));
    struct bom_stock stock;
    wharf_status s;

    for (size_t i = 0; i < tree->n; i++)
        ids[i] = tree->nodes[i].item;
    s = bom_stock_read(req, ids, tree->n, location, &stock);
    for (size_t i = 0; s == WHARF_OK && i < tree->n; i++)
        tree->nodes[i].available = bom_stock_of(&stock, ids[i])->available;
    return s;
}

/* ---- planning ---- */

/* Adds what building of one thing takes of its components. Returns false when that is not possible:
 * a component is archived, has to be whole, or too much of it is needed. */
static bool add_needs(const struct bom_tree *tree, const struct bom_link *links, size_t n,
    int64_t build, int64_t *need)
{
    bool possible = true;

    for (size_t k = 0; k < n; k++) {
        int64_t one = 0;

        if (bom_need(&links[k].use, build, &one) != BOM_NEED_OK ||
            one > QUANTITY_MAX - need[links[k].to] || tree->nodes[links[k].to].archived)
            possible = false;
        else
            need[links[k].to] += one;
    }
    return possible;
}

/* Returns how much of a node is built when net of it is missing: at least what its bill wants, in
 * whole steps. 0: it can't be. */
static int64_t build_of(const struct bom_node *node, int64_t net)
{
    int64_t build = net > node->min_build_qty ? net : node->min_build_qty;

    if (!node->bom.n || node->archived || !node->step)
        return 0;
    build += build % node->step ? node->step - build % node->step : 0;
    return build > QUANTITY_MAX ? 0 : build;
}

bool bom_tree_plan(
    const struct bom_tree *tree, int64_t quantity, int64_t *need, int64_t *build, int64_t *missing)
{
    bool possible = true;

    memset(need, 0, tree->n * sizeof(*need));
    memset(build, 0, tree->n * sizeof(*build));
    if (missing)
        memset(missing, 0, tree->n * sizeof(*missing));
    possible = add_needs(tree, tree->links, tree->n_links, quantity, need);
    for (size_t k = 0; k < tree->n && (possible || missing); k++) {
        size_t i = tree->order[k];
        const struct bom_node *node = &tree->nodes[i];
        int64_t net = need[i] - node->available;

        if (net <= 0)
            continue;
        build[i] = build_of(node, net);
        if (!build[i]) {
            possible = false;
            if (missing)
                missing[i] = net;
        } else if (!add_needs(tree, node->links, node->n_links, build[i], need)) {
            possible = false;
        }
    }
    return possible;
}

/* Finds the largest multiple of the step that can be built; what can be built of more can be built
 * of less. */
static int64_t most_of_tree(wharf_req *req, const struct bom_tree *tree)
{
    int64_t step = tree->made->step, low = 0, high = 1, room = step ? QUANTITY_MAX / step : 0;
    int64_t *need = W->mem->alloc(req, (tree->n + 1) * sizeof(*need));
    int64_t *build = W->mem->alloc(req, (tree->n + 1) * sizeof(*build));

    while (high <= room && bom_tree_plan(tree, high * step, need, build, NULL)) {
        low = high;
        high = high * 2;
    }
    high = high > room ? room + 1 : high;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (bom_tree_plan(tree, middle * step, need, build, NULL))
            low = middle;
        else
            high = middle;
    }
    return low * step;
}

wharf_status bom_levels_most(
    wharf_req *req, const struct bom_made *m, wharf_str location, int64_t *ret)
{
    struct bom_tree tree;
    wharf_status s = bom_tree_read(req, m, &tree);

    if (s == WHARF_OK)
        s = bom_tree_stock(req, &tree, location);
    if (s == WHARF_OK)
        *ret = most_of_tree(req, &tree);
    return s;
}
