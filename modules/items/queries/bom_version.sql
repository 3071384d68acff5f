-- Reads versions of bills of materials, one row for each component, in the order of the bills. $1
-- bills, $2 organization, $3 their versions ('': the newest).
SELECT w.place, b.item_id, v.bom_version, b.bom_version, v.output_qty, b.min_build_qty,
    b.status = 'active', a.status = 'archived' OR a.deleted_at IS NOT NULL, a.is_asset,
    a.is_asset OR a.uom_category = 'count', a.lot_tracking,
    c.id, c.item_id, c.item_transactional_unit_id, c.quantity, c.factor, i.is_asset,
    i.status = 'archived' OR i.deleted_at IS NOT NULL, i.lot_tracking, c.position, c.reference,
    c.notes, json_build_object('id', i.id, 'name', i.name, 'sku', i.sku, 'status', i.status,
        'item_type', i.item_type, 'base_uom', i.base_uom, 'uom_category', i.uom_category,
        'is_asset', i.is_asset)
FROM unnest((SELECT $1::text[]), (SELECT $3::text[])) WITH ORDINALITY w(bom_id, version, place)
JOIN items.bom b ON b.organization_id = $2::text AND b.id = w.bom_id AND b.deleted_at IS NULL
JOIN items.item a ON a.organization_id = b.organization_id AND a.id = b.item_id
JOIN items.bom_version v ON v.organization_id = b.organization_id AND v.bom_id = b.id
    AND v.bom_version = coalesce(nullif(w.version, '')::integer, b.bom_version)
JOIN items.bom_component c ON c.organization_id = b.organization_id AND c.bom_id = b.id
    AND c.bom_version = v.bom_version
JOIN items.item i ON i.organization_id = b.organization_id AND i.id = c.item_id
ORDER BY w.place, c.position, c.id
