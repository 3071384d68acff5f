/* item_boms.c - what bills of materials ask of the items that they are about
 * (docs/spec/09-items-and-assembly.md sections 4, 5, 6 and 11). Leaves the bills to bom_rules.c. */
#include "bom_rules.h"
#include "items.gen.h"
#include "wharf/errors.h"

/* Refuses with code when sql finds bills of the item $1 in the organization $2. */
static wharf_status refuse_boms(wharf_req *req, wharf_str item, const char *code, const char *sql)
{
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, item, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        W->err->add(req, code, row_text(rows, i, 0).p, NULL);
    return s == WHARF_OK ? W->err->current(req) : s;
}

wharf_status item_boms_check(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    static const char built[] =
        "SELECT id FROM items.bom WHERE organization_id = $2::text AND item_id = $1::text"
        " AND status = 'active' AND deleted_at IS NULL ORDER BY id";
    static const char fractional[] = QUERY_BOMS_FRACTIONAL;
    wharf_str item = W->res->id(old_rec);
    wharf_status s = WHARF_OK;

    if (W->res->changed(old_rec, rec, ITEM_ITEM_TYPE) &&
        !is(field_text(rec, ITEM_ITEM_TYPE), "assembly"))
        s = refuse_boms(req, item, ERR_ITEM_HAS_ACTIVE_BOMS, built);
    if (s == WHARF_OK && W->res->changed(old_rec, rec, ITEM_IS_ASSET) &&
        field_int(rec, ITEM_IS_ASSET))
        s = refuse_boms(req, item, ERR_ITEM_FRACTIONAL_BOM, fractional);
    return s;
}

const char *item_boms_using(void)
{
    return "SELECT DISTINCT x.i, e.bom_id FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i)"
           " JOIN items.bom_edge e ON e.organization_id = $2::text AND e.component_id = x.id"
           " ORDER BY x.i, e.bom_id";
}

wharf_status item_boms_written(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    return W->res->changed(old_rec, rec, ITEM_STATUS) &&
                   is(field_text(rec, ITEM_STATUS), "archived")
               ? boms_deactivate(req, &rec, 1, "item_archived", false)
               : WHARF_OK;
}

wharf_status item_unit_unused(wharf_req *req, wharf_str item, wharf_str unit, const char *path)
{
    static const char sql[] =
        "SELECT 1 FROM items.bom_component c JOIN items.bom b ON b.organization_id ="
        " c.organization_id AND b.id = c.bom_id AND b.bom_version = c.bom_version AND b.deleted_at"
        " IS NULL WHERE c.organization_id = $2::text AND c.item_id = $1::text"
        " AND c.item_transactional_unit_id = $3::text LIMIT 1";
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_text(item), val_text(W->req->organization(req)), val_text(unit)}, 3,
        &rows);

    return s == WHARF_OK && W->db->count(rows) ? W->err->add(req, ERR_ITEM_UNIT_IN_USE, path, NULL)
                                               : s;
}
