-- Reads a version of a bill of materials, one row for each component. $1 bill, $2 organization, $3
-- version or null (the newest).
SELECT b.item_id, v.bom_version, b.bom_version, v.output_qty, b.min_build_qty,
    b.status = 'active', a.status = 'archived', a.is_asset,
    a.is_asset OR a.uom_category = 'count', a.lot_tracking,
    c.id, c.item_id, c.item_transactional_unit_id, c.quantity, c.factor, i.is_asset,
    i.status = 'archived' OR i.deleted_at IS NOT NULL, i.lot_tracking
FROM items.bom b
JOIN items.item a ON a.organization_id = b.organization_id AND a.id = b.item_id
JOIN items.bom_version v ON v.organization_id = b.organization_id AND v.bom_id = b.id
    AND v.bom_version = coalesce($3::integer, b.bom_version)
JOIN items.bom_component c ON c.organization_id = b.organization_id AND c.bom_id = b.id
    AND c.bom_version = v.bom_version
JOIN items.item i ON i.organization_id = b.organization_id AND i.id = c.item_id
WHERE b.organization_id = $2::text AND b.id = $1::text AND b.deleted_at IS NULL
ORDER BY c.position, c.id
