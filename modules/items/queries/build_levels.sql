-- Locks the levels of items at a location in the order of their keys, and reads them in the order
-- in which builds take them. $1 items, $2 organization, $3 location, $4 now.
SELECT v.item_id, v.layout_id, v.lot_id, v.lot_number, v.available,
    coalesce(t.expires_at <= $4::timestamptz, false),
    v.available <> 0 OR v.reserved <> 0 OR v.damaged <> 0 OR v.manifested <> 0
FROM (
    SELECT k.*
    FROM items.level k
    WHERE k.organization_id = $2::text AND k.item_id = ANY ((SELECT $1::text[])::text[])
        AND k.location_id = $3::text
    ORDER BY k.item_id, k.location_id, k.layout_id, k.lot_id
    FOR UPDATE
) v
LEFT JOIN items.lot t ON t.organization_id = v.organization_id AND t.id = v.lot_id
ORDER BY v.item_id, t.expires_at NULLS LAST, t.created_at NULLS LAST, v.lot_id, v.layout_id
