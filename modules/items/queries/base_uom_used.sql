-- Tells whether quantities stand on the base unit of an item. $1 item, $2 organization.
SELECT 1
FROM items.stock_movement
WHERE organization_id = $2::text AND item_id = $1::text
UNION ALL
SELECT 1
FROM items.bom
WHERE organization_id = $2::text AND item_id = $1::text
UNION ALL
SELECT 1
FROM items.bom_component
WHERE organization_id = $2::text AND item_id = $1::text
LIMIT 1
