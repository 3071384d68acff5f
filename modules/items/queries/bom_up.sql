-- Reads the active bills that use an item; with $3 also those that use what these build, over all
-- levels, each assembly by its default bill. $1 item, $2 organization, $4 the most bills.
WITH RECURSIVE up(bom_id, item_id, is_default) AS (
    SELECT e.bom_id, e.assembly_id, b.is_default
    FROM items.bom_edge e
    JOIN items.bom b ON b.organization_id = e.organization_id AND b.id = e.bom_id
    WHERE e.organization_id = $2::text AND e.component_id = $1::text
    UNION
    SELECT e.bom_id, e.assembly_id, b.is_default
    FROM up u
    JOIN items.bom_edge e ON e.organization_id = $2::text AND e.component_id = u.item_id
    JOIN items.bom b ON b.organization_id = e.organization_id AND b.id = e.bom_id
    WHERE $3::boolean AND u.is_default
)
SELECT u.bom_id, u.item_id, u.is_default, b.output_qty, b.name, i.name, i.sku, i.base_uom
FROM (SELECT * FROM up LIMIT $4::bigint) u
JOIN items.bom b ON b.organization_id = $2::text AND b.id = u.bom_id
JOIN items.item i ON i.organization_id = $2::text AND i.id = u.item_id
ORDER BY i.name COLLATE "C", u.bom_id
