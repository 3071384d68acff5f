-- Each level is of an item that is there, and its lot is one of this item.
-- rows: items.level
-- An item with stock can't be deleted, and its lots stay: rows were removed past the server.
-- Restore them from a backup.
SELECT v.organization_id, v.id, CASE
        WHEN i.id IS NULL THEN 'is of the item ' || v.item_id || ', which is not there'
        ELSE 'is of the lot ' || v.lot_id || ', which is none of its item'
    END
FROM items.level v
LEFT JOIN items.item i ON i.organization_id = v.organization_id AND i.id = v.item_id
    AND (i.deleted_at IS NULL OR v.available + v.reserved + v.damaged + v.manifested = 0)
LEFT JOIN items.lot l ON l.organization_id = v.organization_id AND l.id = v.lot_id
    AND l.item_id = v.item_id
WHERE i.id IS NULL OR (v.lot_id IS NOT NULL AND l.id IS NULL)
