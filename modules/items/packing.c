/* packing.c - the base unit and the transactional units of an item
 * (docs/spec/09-items-and-assembly.md sections 4 to 6). Units are members of the item's row, and
 * are never taken away: history knows them by their ids. */
#include "items.h"

#include "items.gen.h"
#include "wharf/errors.h"

enum {
    PACKINGS_MAX = 100, /* transactional units of an item, inactive ones too */
    SENT_MAX = 20 /* transactional units of one request */
};

struct packing { /* one transactional unit */
    wharf_str id, name, uom;
    const wharf_json *barcode;
    bool active;
    bool given; /* factor is what was sent, or what is stored for the same unit */
    exact factor;
    bool was_active; /* as it is stored, with this factor; */
    exact was_factor; /* 0: it is new */
    wharf_str path; /* "transactional_units.0."; empty: only stored */
};

struct packings {
    wharf_req *req;
    struct packing list[PACKINGS_MAX];
    size_t n;
    struct unit base;
    bool asset;
};

static wharf_status packing_told(const struct packings *p, const struct packing *k,
    const char *code, const char *member, const char *message)
{
    const char *path = k->path.n ? W->mem->format(p->req, "%s%s", k->path.p, member).p
                                 : "transactional_units";

    return message ? W->err->add(p->req, code, path, "%s %s", path, message)
                   : W->err->add(p->req, code, path, NULL);
}

/* ---- the list ---- */

static void read_factor(struct packings *p, struct packing *k, const wharf_json *v)
{
    wharf_str text = json_is_null(v) ? WHARF_S("") : number_text(p->req, v);
    exact factor;

    if (!text.n)
        return;
    if (exact_read(text.p, text.n, FACTOR_SCALE, &factor) != EXACT_OK || factor <= 0 ||
        factor >= FACTOR_MAX) {
        packing_told(p, k, ERR_VALIDATION_FAILED, "conversion_factor",
            "must be above 0 and below 10000000000, with at most 10 digits behind the point");
        return;
    }
    k->factor = factor;
    k->given = true;
}

static void read_stored(struct packings *p, const wharf_json *list)
{
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e && p->n < PACKINGS_MAX;
         e = W->json->next(e)) {
        struct packing *k = &p->list[p->n++];

        *k = (struct packing){.id = json_text(e, "id"),
            .name = json_text(e, "name"),
            .uom = json_text(e, "uom"),
            .barcode = W->json->get(e, "barcode"),
            .active = json_truth(W->json->get(e, "active"))};
        read_factor(p, k, W->json->get(e, "conversion_factor"));
        k->was_active = k->active;
        k->was_factor = k->factor;
    }
}

/* Finds the stored unit that an element means: by its id, then by its name. */
static struct packing *packing_meant(struct packings *p, size_t stored, const wharf_json *e)
{
    wharf_str id = json_text(e, "id"), name = json_text(e, "name");

    for (size_t i = 0; i < stored; i++) {
        if (id.n ? same(p->list[i].id, id) : same(p->list[i].name, name))
            return &p->list[i];
    }
    return NULL;
}

static wharf_status packing_take_one(
    struct packings *p, size_t stored, const wharf_json *e, size_t i)
{
    wharf_str path = W->mem->format(p->req, "transactional_units.%zu.", i);
    struct packing *k = packing_meant(p, stored, e);
    bool fresh = !k;

    if (!k && json_text(e, "id").n)
        return W->err->add(
            p->req, ERR_ITEM_UNIT_NOT_FOUND, W->mem->format(p->req, "%sid", path.p).p, NULL);
    if (!k && p->n == PACKINGS_MAX)
        return W->err->add(p->req, ERR_VALIDATION_FAILED, "transactional_units",
            "An item has at most %d transactional units, inactive ones included", PACKINGS_MAX);
    if (fresh) {
        k = &p->list[p->n++];
        *k = (struct packing){.id = W->req->new_id(p->req, "itu")};
    } else if (k->path.n) {
        return W->err->add(p->req, ERR_VALIDATION_FAILED,
            W->mem->format(p->req, "%sname", path.p).p, "The unit stands in the list twice");
    }
    k->path = path;
    if (!same(k->uom, json_text(e, "uom")))
        k->given = false;
    k->name = json_text(e, "name");
    k->uom = json_text(e, "uom");
    k->active = json_is_null(W->json->get(e, "active")) || json_truth(W->json->get(e, "active"));
    if (fresh || W->json->get(e, "barcode"))
        k->barcode = W->json->get(e, "barcode");
    read_factor(p, k, W->json->get(e, "conversion_factor"));
    return WHARF_OK;
}

static void packing_take_sent(struct packings *p, const wharf_json *sent)
{
    size_t stored = p->n, i = 0;

    if (W->json->count(sent) > SENT_MAX) {
        W->err->add(p->req, ERR_VALIDATION_FAILED, "transactional_units",
            "transactional_units must have at most %d items", SENT_MAX);
        return;
    }
    for (const wharf_json *e = W->json->at(sent, 0); e; e = W->json->next(e))
        packing_take_one(p, stored, e, i++);
    for (i = 0; i < stored; i++)
        p->list[i].active = p->list[i].active && p->list[i].path.n;
    for (i = 0; i < p->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (same(p->list[i].name, p->list[k].name))
                packing_told(p, p->list[i].path.n ? &p->list[i] : &p->list[k],
                    ERR_VALIDATION_FAILED, "name", "is the name of another unit of the item");
        }
    }
}

/* ---- units and factors ---- */

static wharf_status settle_factor(
    const struct packings *p, struct packing *k, const struct unit *unit)
{
    exact derived = 0;

    if (!unit->code.n)
        return packing_told(p, k, ERR_VALIDATION_FAILED, "uom", "names no unit of measure");
    if (p->asset && !is(unit->category, "count"))
        return packing_told(p, k, ERR_ITEM_ASSET_UOM, "uom", NULL);
    if (unit->size && p->base.size && same(unit->category, p->base.category)) {
        if (!factor_of_units(unit->size, p->base.size, &derived) ||
            (k->given && k->factor != derived))
            return packing_told(
                p, k, ERR_ITEM_CONVERSION_FACTOR_MISMATCH, "conversion_factor", NULL);
        k->factor = derived;
    } else if (!k->given) {
        return packing_told(p, k, ERR_ITEM_CONVERSION_FACTOR_REQUIRED, "conversion_factor", NULL);
    }
    if (p->asset && !product_is_whole(QUANTITY_ONE, k->factor))
        return packing_told(p, k, ERR_ITEM_ASSET_CONVERSION_FACTOR, "conversion_factor", NULL);
    return WHARF_OK;
}

static wharf_status settle_units(struct packings *p, wharf_rec *rec)
{
    wharf_str codes[PACKINGS_MAX + 1];
    struct unit units[PACKINGS_MAX + 1];
    wharf_status s;

    codes[0] = field_text(rec, ITEM_BASE_UOM);
    for (size_t i = 0; i < p->n; i++)
        codes[i + 1] = p->list[i].uom;
    s = unit_find(p->req, rec, codes, p->n + 1, units);
    if (s != WHARF_OK)
        return s;
    p->base = units[0];
    if (!p->base.code.n)
        return W->err->add(
            p->req, ERR_VALIDATION_FAILED, "base_uom", "base_uom names no unit of measure");
    if (p->asset && !is(p->base.category, "count"))
        W->err->add(p->req, ERR_ITEM_ASSET_UOM, "base_uom", NULL);
    W->res->set(rec, ITEM_UOM_CATEGORY, val_text(p->base.category));
    for (size_t i = 0; i < p->n; i++)
        settle_factor(p, &p->list[i], &units[i + 1]);
    return W->err->current(p->req);
}

/* ---- the item's own unit, and its base unit ---- */

static wharf_status settle_default(const struct packings *p, const wharf_rec *rec)
{
    wharf_str id = field_text(rec, ITEM_ITEM_TRANSACTIONAL_UNIT_ID);

    for (size_t i = 0; id.n && i < p->n; i++) {
        if (same(p->list[i].id, id))
            return p->list[i].active ? WHARF_OK
                                     : W->err->fail(p->req, ERR_ITEM_UNIT_INACTIVE,
                                           "item_transactional_unit_id", NULL);
    }
    return id.n ? W->err->fail(p->req, ERR_ITEM_UNIT_NOT_FOUND, "item_transactional_unit_id", NULL)
                : WHARF_OK;
}

static wharf_status base_is_free(wharf_req *req, const wharf_rec *old_rec)
{
    static const char sql[] = QUERY_BASE_UOM_USED;
    const wharf_json *units = field_json(old_rec, ITEM_TRANSACTIONAL_UNITS);
    const wharf_rows *rows;
    wharf_status s;

    if (units && W->json->count(units))
        return W->err->fail(req, ERR_ITEM_BASE_UOM_LOCKED, "base_uom", NULL);
    s = query_about(req, sql, W->res->id(old_rec), &rows);
    return s == WHARF_OK && W->db->count(rows)
               ? W->err->fail(req, ERR_ITEM_BASE_UOM_LOCKED, "base_uom", NULL)
               : s;
}

/* Checks that bills of materials use none of the units that are taken out of use or get another
 * factor. */
static wharf_status check_in_use(const struct packings *p, const wharf_rec *old_rec)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < p->n && s == WHARF_OK; i++) {
        const struct packing *k = &p->list[i];

        if (k->was_factor && (k->factor != k->was_factor || (k->was_active && !k->active)))
            s = item_unit_unused(p->req, W->res->id(old_rec), k->id,
                k->path.n ? W->mem->format(p->req, "%sconversion_factor", k->path.p).p
                          : "transactional_units");
    }
    return W->err->current(p->req);
}

static wharf_status packing_put_list(const struct packings *p, wharf_rec *rec)
{
    wharf_out *out = W->json->builder(p->req);
    const wharf_json *list;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < p->n; i++) {
        const struct packing *k = &p->list[i];

        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(k->id));
        W->json->put(out, "name", val_text(k->name));
        W->json->put(out, "uom", val_text(k->uom));
        W->json->put(
            out, "conversion_factor", val_json(exact_json(p->req, k->factor, FACTOR_SCALE)));
        W->json->put(out, "barcode", val_json(json_is_null(k->barcode) ? NULL : k->barcode));
        W->json->put(out, "active", val_bool(k->active));
        W->json->close(out);
    }
    W->json->close(out);
    s = W->json->result(p->req, out, &list);
    if (s == WHARF_OK)
        W->res->set(rec, ITEM_TRANSACTIONAL_UNITS, val_json(list));
    return s;
}

wharf_status packing_settle(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    struct packings *p = W->mem->alloc(req, sizeof(*p));
    const wharf_json *sent = W->res->sent(rec, ITEM_TRANSACTIONAL_UNITS)
                                 ? field_json(rec, ITEM_TRANSACTIONAL_UNITS)
                                 : NULL;
    bool base = old_rec && W->res->changed(old_rec, rec, ITEM_BASE_UOM);
    bool changes = !old_rec || base || sent || W->res->changed(old_rec, rec, ITEM_IS_ASSET);
    wharf_status s = base ? base_is_free(req, old_rec) : WHARF_OK;

    if (s != WHARF_OK ||
        (!changes && !W->res->changed(old_rec, rec, ITEM_ITEM_TRANSACTIONAL_UNIT_ID)))
        return s;
    p->req = req;
    p->asset = field_int(rec, ITEM_IS_ASSET);
    read_stored(p, old_rec ? field_json(old_rec, ITEM_TRANSACTIONAL_UNITS) : NULL);
    if (sent)
        packing_take_sent(p, sent);
    s = W->err->current(req);
    if (s == WHARF_OK && changes)
        s = settle_units(p, rec);
    if (s == WHARF_OK && sent && old_rec)
        s = check_in_use(p, old_rec);
    if (s == WHARF_OK)
        s = settle_default(p, rec);
    return s == WHARF_OK && sent ? packing_put_list(p, rec) : s;
}

wharf_status packing_factor(
    wharf_req *req, const wharf_json *units, wharf_str id, const char *path, exact *ret_factor)
{
    for (const wharf_json *e = units ? W->json->at(units, 0) : NULL; e; e = W->json->next(e)) {
        wharf_str factor;

        if (!same(json_text(e, "id"), id))
            continue;
        if (!json_truth(W->json->get(e, "active")))
            return W->err->add(req, ERR_ITEM_UNIT_INACTIVE, path, NULL);
        factor = number_text(req, W->json->get(e, "conversion_factor"));
        return exact_read(factor.p, factor.n, FACTOR_SCALE, ret_factor) == EXACT_OK
                   ? WHARF_OK
                   : W->err->fail(req, ERR_INTERNAL, path, NULL);
    }
    return W->err->add(req, ERR_ITEM_UNIT_NOT_FOUND, path, NULL);
}
