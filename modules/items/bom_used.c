/* bom_used.c - where an item is used: GET /v1/items/:item/where-used
 * (docs/spec/09-items-and-assembly.md section 4). Leaves what one bill needs to bom_need.c. */
#include <stdlib.h>

#include "bom_levels.h"
#include "bom_need.h"
#include "bom_reads.h"
#include "items.gen.h"
#include "wharf/errors.h"

enum {
    USED_SHOWN = 25, /* rows of a page */
    USED_MOST = 1000, /* rows of a page at most */
    LINK_ITEM = -1
};

struct used_link {
    int64_t to; /* the default bill of a component, or LINK_ITEM: the item that is asked about */
    struct bom_use use;
};

struct used_bom {
    wharf_str bom, item, bom_name, name, sku, base_uom;
    bool is_default;
    int64_t output_qty;
    struct used_link *links;
    size_t n_links;
    int64_t level; /* the longest way from the item, from 1; 0: not known yet */
};

struct used {
    wharf_str item; /* that is asked about */
    struct used_bom *boms;
    size_t n;
    size_t *by_item; /* default bills, sorted by what they build */
    size_t n_by_item;
    size_t *order; /* all bills, the highest level first */
};

/* ---- reading ---- */

static int64_t used_quantity(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_str s = row_text(rows, row, column);
    exact v = 0;

    exact_read(s.p, s.n, QUANTITY_SCALE, &v);
    return (int64_t)v;
}

static wharf_status read_used(wharf_req *req, struct used *u, bool direct)
{
    static const char sql[] =
        "SELECT * FROM items.bom_up($2::text, $1::text, $3::boolean, $4::bigint)";
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_text(u->item), val_text(W->req->organization(req)),
            val_bool(!direct), val_int(BOM_ITEMS_MAX + 1)},
        4, &rows);

    if (s != WHARF_OK)
        return s;
    u->n = W->db->count(rows);
    if (u->n > BOM_ITEMS_MAX)
        return W->err->fail(req, ERR_BOM_TOO_LARGE, NULL, NULL);
    u->boms = W->mem->alloc(req, (u->n + 1) * sizeof(*u->boms));
    for (size_t i = 0; i < u->n; i++)
        u->boms[i] = (struct used_bom){.bom = row_text(rows, i, 0),
            .item = row_text(rows, i, 1),
            .is_default = row_bool(rows, i, 2),
            .output_qty = used_quantity(rows, i, 3),
            .bom_name = row_text(rows, i, 4),
            .name = row_text(rows, i, 5),
            .sku = row_text(rows, i, 6),
            .base_uom = row_text(rows, i, 7)};
    return WHARF_OK;
}

/* Returns the default bill of an item among those found; LINK_ITEM for the item itself; n when it
 * is neither. */
static int64_t bill_of(const struct used *u, wharf_str item)
{
    size_t low = 0, high = u->n_by_item;

    if (same(item, u->item))
        return LINK_ITEM;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = strcmp(u->boms[u->by_item[middle]].item.p, item.p);

        if (!c)
            return (int64_t)u->by_item[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)u->n;
}

static int used_by_item(const void *a, const void *b, void *arg)
{
    const struct used_bom *boms = arg;

    return strcmp(boms[*(const size_t *)a].item.p, boms[*(const size_t *)b].item.p);
}

static wharf_status read_used_links(wharf_req *req, struct used *u)
{
    static const char sql[] = "SELECT * FROM items.bom_links($2::text, $1::text[])";
    wharf_str *ids = W->mem->alloc(req, (u->n + 1) * sizeof(*ids));
    struct used_link *links;
    const wharf_rows *rows;
    wharf_status s;
    size_t n = 0;

    u->by_item = W->mem->alloc(req, (u->n + 1) * sizeof(*u->by_item));
    for (size_t i = 0; i < u->n; i++) {
        ids[i] = u->boms[i].bom;
        if (u->boms[i].is_default)
            u->by_item[u->n_by_item++] = i;
    }
    qsort_r(u->by_item, u->n_by_item, sizeof(*u->by_item), used_by_item, u->boms);
    s = query_about(req, sql, val_array(req, ids, u->n).u.s, &rows);
    if (s != WHARF_OK)
        return s;
    links = W->mem->alloc(req, (W->db->count(rows) + 1) * sizeof(*links));
    for (size_t i = 0; i < W->db->count(rows); i++) {
        struct used_bom *b = &u->boms[row_int(rows, i, 4) - 1];
        int64_t to = bill_of(u, row_text(rows, i, 1));
        wharf_str text = row_text(rows, i, 3);
        exact factor = 0;

        if (to == (int64_t)u->n)
            continue;
        exact_read(text.p, text.n, FACTOR_SCALE, &factor);
        links[n] = (struct used_link){
            to, bom_use_of(used_quantity(rows, i, 2), factor, b->output_qty, false)};
        b->links = b->n_links ? b->links : &links[n];
        b->n_links++;
        n++;
    }
    return WHARF_OK;
}

/* ---- levels and quantities ---- */

/* Reckons the level of a bill; bills are nested at most 50 deep, without loops. */
static int64_t bom_used_level_of(struct used *u, size_t i)
{
    struct used_bom *b = &u->boms[i];

    if (b->level)
        return b->level;
    b->level = 1;
    for (size_t k = 0; k < b->n_links; k++) {
        int64_t below = b->links[k].to == LINK_ITEM ? 0
                                                    : bom_used_level_of(u, (size_t)b->links[k].to);

        b->level = below + 1 > b->level ? below + 1 : b->level;
    }
    return b->level;
}

static int higher_first(const void *a, const void *b, void *arg)
{
    const struct used_bom *boms = arg;
    int64_t x = boms[*(const size_t *)a].level, y = boms[*(const size_t *)b].level;

    return (x < y) - (x > y);
}

static int bom_used_lower_first(const void *a, const void *b, void *arg)
{
    int c = higher_first(b, a, arg);

    return c ? c
             : (*(const size_t *)a > *(const size_t *)b) -
                   (*(const size_t *)a < *(const size_t *)b);
}

/* Adds what a quantity of a bill's item takes; QUANTITY_MAX is the most that is told. */
static void add_used(const struct used_bom *b, int64_t quantity, int64_t *need, int64_t *ret_item)
{
    for (size_t k = 0; k < b->n_links; k++) {
        int64_t one, *sum = b->links[k].to == LINK_ITEM ? ret_item : &need[b->links[k].to];

        if (bom_need(&b->links[k].use, quantity, &one) != BOM_NEED_OK)
            one = QUANTITY_MAX;
        *sum = one > QUANTITY_MAX - *sum ? QUANTITY_MAX : *sum + one;
    }
}

/* Reckons how much of the item one of what a bill builds takes, over all levels: the same that its
 * explosion says. */
static int64_t quantity_in(const struct used *u, size_t i, int64_t *need)
{
    int64_t sum = 0;

    memset(need, 0, u->n * sizeof(*need));
    add_used(&u->boms[i], QUANTITY_ONE, need, &sum);
    for (size_t k = 0; k < u->n; k++) {
        if (need[u->order[k]])
            add_used(&u->boms[u->order[k]], need[u->order[k]], need, &sum);
    }
    return sum;
}

static void put_used(wharf_out *out, const struct used *u, size_t i, int64_t quantity)
{
    const struct used_bom *b = &u->boms[i];

    W->json->open(out, NULL, '{');
    W->json->put(out, "bom_id", val_text(b->bom));
    W->json->put(out, "bom_name", val_text(b->bom_name));
    W->json->put(out, "is_default", val_bool(b->is_default));
    W->json->put(out, "item_id", val_text(b->item));
    W->json->put(out, "name", val_text(b->name));
    W->json->put(out, "sku", val_text_or_null(b->sku));
    W->json->put(out, "base_uom", val_text(b->base_uom));
    W->json->put(out, "level", val_int(b->level));
    W->json->put(out, "quantity", val_decimal(quantity, QUANTITY_SCALE));
    W->json->close(out);
}

/* ---- the route ---- */

static wharf_status take_direct(wharf_req *req, bool *ret)
{
    wharf_str text;

    *ret = true;
    if (!W->req->param(req, "direct", &text) || is(text, "true"))
        return WHARF_OK;
    *ret = false;
    return is(text, "false")
               ? WHARF_OK
               : W->err->fail(req, ERR_PARAM_INVALID, "direct", "direct must be true or false");
}

static wharf_status used_read(wharf_req *req, struct used *u)
{
    const wharf_rec *item;
    bool direct;
    wharf_status s = take_direct(req, &direct);

    W->req->param(req, "item", &u->item);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "item", u->item, 0, &item);
    if (s == WHARF_OK)
        s = read_used(req, u, direct);
    if (s == WHARF_OK)
        s = read_used_links(req, u);
    if (s != WHARF_OK)
        return s;
    u->order = W->mem->alloc(req, (u->n + 1) * sizeof(*u->order));
    for (size_t i = 0; i < u->n; i++) {
        u->order[i] = i;
        bom_used_level_of(u, i);
    }
    qsort_r(u->order, u->n, sizeof(*u->order), higher_first, u->boms);
    return WHARF_OK;
}

wharf_status bom_where_used_get(wharf_req *req, void *arg)
{
    struct used *u = W->mem->alloc(req, sizeof(*u));
    int64_t page, limit, *need;
    size_t *shown, from;
    wharf_out *out;
    wharf_status s = W->req->page(req, USED_SHOWN, USED_MOST, &page, &limit);

    if (s == WHARF_OK)
        s = used_read(req, u);
    if (s != WHARF_OK)
        return s;
    need = W->mem->alloc(req, (u->n + 1) * sizeof(*need));
    shown = W->mem->alloc(req, (u->n + 1) * sizeof(*shown));
    for (size_t i = 0; i < u->n; i++)
        shown[i] = i;
    qsort_r(shown, u->n, sizeof(*shown), bom_used_lower_first, u->boms);
    from = (size_t)((page - 1) * limit);
    out = W->req->respond(req, 200, "Uses of the item retrieved");
    W->json->open(out, NULL, '[');
    for (size_t k = from; k < u->n && k < from + (size_t)limit; k++)
        put_used(out, u, shown[k], quantity_in(u, shown[k], need));
    W->json->close(out);
    W->req->paged(req, page, limit, u->n > from + (size_t)limit);
    return WHARF_OK;
}
