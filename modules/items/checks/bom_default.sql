-- One of the active bills of an item is the default.
-- rows: items.bom
-- Send is_default: true for the bill that shall be used where the item is a part.
SELECT b.organization_id, b.item_id, 'has ' || count(*) || ' active bills, and '
    || count(*) FILTER (WHERE b.is_default) || ' of them are the default'
FROM items.bom b
WHERE b.status = 'active' AND b.deleted_at IS NULL
GROUP BY b.organization_id, b.item_id
HAVING count(*) FILTER (WHERE b.is_default) <> 1
