-- Reads which lots of an item have stock that the caller sees, or have none. $1 item, $2
-- organization, $3 have, $4 the caller reaches all locations, $5 those that it reaches.
SELECT coalesce(jsonb_agg(l.id), '[]')
FROM items.lot l
WHERE l.organization_id = $2::text AND l.item_id = $1::text AND $3::boolean = EXISTS (
        SELECT 1
        FROM items.level v
        WHERE v.organization_id = $2::text AND v.lot_id = l.id
            AND ($4::boolean OR v.location_id = ANY ((SELECT $5::text[])::text[]))
            AND (v.available <> 0 OR v.reserved <> 0 OR v.damaged <> 0 OR v.manifested <> 0)
    )
