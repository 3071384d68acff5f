-- Reads what items are made of, over all levels, by their default bills. $1 items, $2 organization,
-- $3 the most items. One row for each item; the bill is null for what is not built.
WITH RECURSIVE reach(item_id) AS (
    SELECT i.id COLLATE "C" FROM unnest((SELECT $1::text[])) i(id)
    UNION
    SELECT c.item_id
    FROM reach r
    JOIN items.bom b ON b.organization_id = $2::text AND b.item_id = r.item_id
        AND b.deleted_at IS NULL AND b.status = 'active' AND b.is_default
    JOIN items.bom_component c ON c.organization_id = b.organization_id AND c.bom_id = b.id
        AND c.bom_version = b.bom_version
)
SELECT i.id, i.is_asset, i.is_asset OR i.uom_category = 'count',
    i.status = 'archived' OR i.deleted_at IS NOT NULL, i.name, i.sku, i.base_uom, b.id,
    b.output_qty, b.min_build_qty, i.value, i.currency, b.bom_version
FROM (SELECT r.item_id FROM reach r LIMIT $3::bigint) r
JOIN items.item i ON i.organization_id = $2::text AND i.id = r.item_id
LEFT JOIN items.bom b ON b.organization_id = i.organization_id AND b.item_id = i.id
    AND b.deleted_at IS NULL AND b.status = 'active' AND b.is_default
ORDER BY i.id
