/* bom_shown.c - shows bills of materials: components of a version, and what can be built at a
 * location (docs/spec/09-items-and-assembly.md sections 10 and 10.3). Leaves the arithmetic to
 * bom_need.c, reading to bom_read.c, parts of parts to bom_levels.c. */
#include <stdlib.h>

#include "bom_levels.h"
#include "bom_read.h"
#include "bom_rules.h"
#include "items.gen.h"
#include "wharf/errors.h"

/* The parameters of a request, and the rows that were last shown to it. */
struct bom_asked {
    bool reads, writes;
    wharf_str location; /* empty: nothing is asked of stock */
    int64_t quantity; /* 0: not sent */
    const wharf_rec *const *recs; /* of these the following is */
    size_t n;
    struct bom_made *boms;
    struct bom_stock stock;
};
static const char asked_kind;

static struct bom_asked *bom_asked_of(wharf_req *req)
{
    return W->mem->slot(req, &asked_kind, sizeof(struct bom_asked));
}

void bom_shown_plain(wharf_req *req)
{
    bom_asked_of(req)->writes = true;
}

/* ---- parameters ---- */

static wharf_status take_version(wharf_req *req, wharf_where *where)
{
    wharf_str text, one;
    char *end;
    long long n;

    if (!W->req->param(req, "version", &text))
        return WHARF_OK;
    if (!W->req->param(req, "bom", &one))
        return W->err->fail(req, ERR_PARAM_INVALID, "version",
            "version is asked of one bill of materials; a list shows the newest versions");
    n = strtoll(text.p, &end, 10);
    if (!text.n || *end || text.n > 9 || text.p[0] < '0' || text.p[0] > '9' || n < 1)
        return W->err->fail(
            req, ERR_PARAM_INVALID, "version", "version must be a number from 1 on");
    W->res->narrow(where, BOM_VERSION, "gte", val_int(n));
    return WHARF_OK;
}

wharf_status bom_judge_location(wharf_req *req, wharf_str location, const char *path)
{
    uint32_t flags;
    wharf_status s = W->req->need_location(req, location);

    if (s == WHARF_OK)
        s = items_places->flags(req, location, &flags);
    return s == WHARF_OK && !(flags & WHARF_LOCATION_KNOWN)
               ? W->err->fail(req, ERR_PARAM_INVALID, path, "There is no such location")
               : s;
}

wharf_status bom_take_location(wharf_req *req, wharf_str *ret)
{
    *ret = WHARF_S("");
    return W->req->param(req, "location_id", ret) ? bom_judge_location(req, *ret, "location_id")
                                                  : WHARF_OK;
}

wharf_status bom_judge_quantity(
    wharf_req *req, wharf_str text, const char *path, int64_t *ret_quantity)
{
    return quantity_read(text.p, text.n, ret_quantity) != EXACT_OK || *ret_quantity <= 0
               ? W->err->fail(req, ERR_PARAM_INVALID, path,
                     "quantity must be a number above 0 with at most 4 digits behind the point")
               : WHARF_OK;
}

wharf_status bom_take_quantity(wharf_req *req, int64_t absent, int64_t *ret)
{
    wharf_str text;

    *ret = absent;
    return W->req->param(req, "quantity", &text) ? bom_judge_quantity(req, text, "quantity", ret)
                                                 : WHARF_OK;
}

wharf_status bom_rows(wharf_req *req, wharf_where *where)
{
    struct bom_asked *a = bom_asked_of(req);
    wharf_status s = bom_take_location(req, &a->location);

    a->reads = true;
    if (s == WHARF_OK)
        s = bom_take_quantity(req, 0, &a->quantity);
    return s == WHARF_OK ? take_version(req, where) : s;
}

/* ---- stock ---- */

static int bom_shown_by_id(const void *a, const void *b)
{
    return strcmp(
        ((const struct bom_stock_item *)a)->id.p, ((const struct bom_stock_item *)b)->id.p);
}

wharf_status bom_stock_read(
    wharf_req *req, const wharf_str *items, size_t n, wharf_str location, struct bom_stock *ret)
{
    static const char sql[] = "SELECT * FROM items.bom_stock($2::text, $1::text[], $3::text,"
                              " $4::timestamptz)";
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_array(req, items, n), val_text(W->req->organization(req)),
            val_text(location), val_time(W->req->now_us(req))},
        4, &rows);

    if (s != WHARF_OK)
        return s;
    ret->n = W->db->count(rows);
    ret->items = W->mem->alloc(req, (ret->n + 1) * sizeof(*ret->items));
    for (size_t i = 0; i < ret->n; i++) {
        wharf_str total = row_text(rows, i, 1);
        exact v = 0;

        exact_read(total.p, total.n, QUANTITY_SCALE, &v);
        ret->items[i] = (struct bom_stock_item){.id = row_text(rows, i, 0),
            .available = v > QUANTITY_MAX ? QUANTITY_MAX : (int64_t)v,
            .layouts = row_json(rows, i, 2)};
    }
    qsort(ret->items, ret->n, sizeof(*ret->items), bom_shown_by_id);
    return WHARF_OK;
}

const struct bom_stock_item *bom_stock_of(const struct bom_stock *stock, wharf_str item)
{
    static const struct bom_stock_item none = {.id = {"", 0}};
    const struct bom_stock_item key = {.id = item}, *found = NULL;

    if (stock->n)
        found = bsearch(&key, stock->items, stock->n, sizeof(key), bom_shown_by_id);
    return found ? found : &none;
}

/* ---- what is read of the rows ---- */

static wharf_status read_stock(wharf_req *req, struct bom_asked *a)
{
    size_t n = 0;
    wharf_str *items;

    for (size_t i = 0; i < a->n; i++)
        n += a->boms[i].n + 1;
    items = W->mem->alloc(req, (n + 1) * sizeof(*items));
    n = 0;
    for (size_t i = 0; i < a->n; i++) {
        items[n++] = a->boms[i].item_id;
        for (size_t k = 0; k < a->boms[i].n; k++)
            items[n++] = a->boms[i].parts[k].item_id;
    }
    return bom_stock_read(req, items, n, a->location, &a->stock);
}

/* Reads versions of these rows and the stock that is asked for, once for all fields. */
static wharf_status read_shown(
    wharf_req *req, const wharf_rec *const *recs, size_t n, struct bom_asked *a)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    int64_t *versions = W->mem->alloc(req, (n + 1) * sizeof(*versions));
    wharf_status s;

    if (!a->reads || a->writes)
        a->location = WHARF_S("");
    for (size_t i = 0; i < n; i++) {
        ids[i] = W->res->id(recs[i]);
        versions[i] = field_int(recs[i], BOM_VERSION);
    }
    a->recs = recs;
    a->n = n;
    s = bom_read_many(req, ids, versions, n, &a->boms);
    return s == WHARF_OK && a->location.n ? read_stock(req, a) : s;
}

/* ---- components ---- */

static int64_t part_most(const struct bom_asked *a, const struct bom_made *m, size_t k)
{
    const struct bom_part *p = &m->parts[k];

    return p->archived ? 0
                       : bom_most(&p->use, m->step, bom_stock_of(&a->stock, p->item_id)->available);
}

int64_t bom_most_of(const struct bom_made *m, const struct bom_stock *stock)
{
    const struct bom_asked a = {.stock = *stock};
    int64_t most = QUANTITY_MAX;

    for (size_t k = 0; k < m->n; k++) {
        int64_t one = part_most(&a, m, k);

        most = one < most ? one : most;
    }
    return most;
}

/* Reckons a need as it is shown: one of an asset item need not be whole. */
static int64_t shown_need(const struct bom_part *p, int64_t build)
{
    struct bom_use use = p->use;
    int64_t need = QUANTITY_MAX;

    use.whole = false;
    bom_need(&use, build, &need);
    return need;
}

static void put_part_stock(
    wharf_out *out, const struct bom_asked *a, const struct bom_made *m, size_t k, int64_t most)
{
    const struct bom_part *p = &m->parts[k];
    const struct bom_stock_item *stock = bom_stock_of(&a->stock, p->item_id);
    int64_t need = shown_need(p, a->quantity ? a->quantity : QUANTITY_ONE);
    int64_t short_of = need > stock->available ? need - stock->available : 0;
    int64_t one = part_most(a, m, k);

    W->json->put(out, "available_qty", val_decimal(stock->available, QUANTITY_SCALE));
    W->json->put(out, "required_qty", val_decimal(need, QUANTITY_SCALE));
    if (a->quantity)
        W->json->put(out, "shortage_qty", val_decimal(short_of, QUANTITY_SCALE));
    W->json->put(out, "buildable_qty", val_decimal(one, QUANTITY_SCALE));
    W->json->put(out, "limiting", val_bool(one == most));
    W->json->put(out, "layouts", val_json(stock->layouts));
}

static void bom_shown_put_part(
    wharf_out *out, const struct bom_asked *a, const struct bom_made *m, size_t k, int64_t most)
{
    const struct bom_part *p = &m->parts[k];

    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("bom_component")));
    W->json->put(out, "id", val_text(p->id));
    W->json->put(out, "item_id", val_text(p->item_id));
    W->json->put(out, "quantity", val_decimal(p->quantity, QUANTITY_SCALE));
    W->json->put(out, "item_transactional_unit_id", val_text_or_null(p->unit_id));
    W->json->put(out, "base_quantity", val_decimal(p->base_quantity, QUANTITY_SCALE));
    W->json->put(out, "position", val_int(p->position));
    W->json->put(out, "reference", val_text_or_null(p->reference));
    W->json->put(out, "notes", val_text_or_null(p->notes));
    W->json->put(out, "item", val_json(p->item));
    if (a->location.n)
        put_part_stock(out, a, m, k, most);
    W->json->close(out);
}

void bom_put_parts(wharf_out *out, const char *key, const struct bom_made *m)
{
    const struct bom_asked nothing = {.location = WHARF_S("")};

    W->json->open(out, key, '[');
    for (size_t k = 0; k < m->n; k++)
        bom_shown_put_part(out, &nothing, m, k, 0);
    W->json->close(out);
}

/* ---- compute ---- */

static void put_figure(
    wharf_out *out, const struct bom_asked *a, const struct bom_made *m, wharf_field f)
{
    int64_t most = bom_most_of(m, &a->stock), least = m->min_build_qty;
    bool whole = m->active && !m->archived;

    for (size_t k = 0; k < m->n; k++)
        whole = whole && !m->parts[k].archived;
    least = least > m->step ? least : m->step;
    if (f == BOM_ASSEMBLY_STOCK)
        W->json->put(
            out, NULL, val_decimal(bom_stock_of(&a->stock, m->item_id)->available, QUANTITY_SCALE));
    else if (f == BOM_MAX_BUILDABLE_QTY)
        W->json->put(out, NULL, val_decimal(most, QUANTITY_SCALE));
    else
        W->json->put(out, NULL, val_bool(whole && most && most >= least));
}

static wharf_status put_multi_level(
    wharf_req *req, const struct bom_asked *a, const struct bom_made *m, wharf_out *out)
{
    int64_t most;
    wharf_status s;

    if (!param_truth(req, "include_subassemblies")) {
        W->json->put(out, NULL, val_null());
        return WHARF_OK;
    }
    s = bom_levels_most(req, m, a->location, &most);
    if (s == WHARF_OK)
        W->json->put(out, NULL, val_decimal(most, QUANTITY_SCALE));
    return s;
}

wharf_status bom_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    struct bom_asked *a = bom_asked_of(req);
    wharf_status s = a->recs == recs && a->n == n && f != BOM_COMPONENTS
                         ? WHARF_OK
                         : read_shown(req, recs, n, a);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        const struct bom_made *m = &a->boms[i];

        if (f == BOM_COMPONENTS) {
            int64_t most = a->location.n ? bom_most_of(m, &a->stock) : 0;

            W->json->open(outs[i], NULL, '[');
            for (size_t k = 0; k < m->n; k++)
                bom_shown_put_part(outs[i], a, m, k, most);
            W->json->close(outs[i]);
        } else if (!a->location.n) {
            W->json->put(outs[i], NULL, val_null());
        } else if (f == BOM_MAX_BUILDABLE_QTY_MULTI_LEVEL) {
            s = put_multi_level(req, a, m, outs[i]);
        } else {
            put_figure(outs[i], a, m, f);
        }
    }
    return s;
}
