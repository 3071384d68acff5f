-- Each asset shows the name and the sku of its item.
-- rows: assets.asset
-- Write the name of the item again (POST /v1/items/:item with another name, then with this one).
SELECT a.organization_id, a.id, 'is called ' || a.name || ', its item ' || i.name
FROM assets.asset a
JOIN items.item i ON i.organization_id = a.organization_id AND i.id = a.item_id
    AND i.deleted_at IS NULL
WHERE a.deleted_at IS NULL AND (a.name, a.sku) IS DISTINCT FROM (i.name, i.sku)
