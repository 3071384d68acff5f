-- Finds active bills for which an item has to stay divisible: it is a part of them with a fraction,
-- or what they build. $1 item, $2 organization.
SELECT b.id
FROM items.bom b
WHERE b.organization_id = $2::text AND b.item_id = $1::text AND b.status = 'active'
    AND b.deleted_at IS NULL AND (b.output_qty <> trunc(b.output_qty)
        OR b.min_build_qty <> trunc(b.min_build_qty))
UNION
SELECT c.bom_id
FROM items.bom_edge e
JOIN items.bom b ON b.organization_id = e.organization_id AND b.id = e.bom_id
JOIN items.bom_component c ON c.organization_id = b.organization_id AND c.bom_id = b.id
    AND c.bom_version = b.bom_version AND c.item_id = e.component_id
WHERE e.organization_id = $2::text AND e.component_id = $1::text
    AND c.quantity * c.factor <> trunc(c.quantity * c.factor)
ORDER BY 1
