-- Reads items that a bill is about, and holds them as they are. $1 ids, $2 organization.
SELECT i.id, i.status = 'archived', i.is_asset, i.transactional_units,
    i.item_type = 'assembly', i.is_asset OR i.uom_category = 'count'
FROM items.item i
WHERE i.organization_id = $2::text AND i.id = ANY ((SELECT $1::text[])::text[])
    AND i.deleted_at IS NULL
ORDER BY i.id
FOR SHARE
