-- Reads what is available of an item at a location, the first to expire first. $1 item,
-- $2 organization, $3 location, $4 layout or null, $5 lot number or null, $6 now. Quantities are
-- whole ten-thousandths.
SELECT k.layout_id, y.nested_name, y.code, k.lot_id, k.lot_number, l.expires_at,
    coalesce(l.expires_at <= $6::timestamptz, false), (k.available * 10000)::bigint
FROM items.level k
LEFT JOIN items.lot l ON l.organization_id = $2::text AND l.id = k.lot_id
LEFT JOIN locations.layout y ON y.organization_id = $2::text AND y.id = k.layout_id
WHERE k.organization_id = $2::text AND k.item_id = $1::text AND k.location_id = $3::text
    AND k.available > 0 AND ($4::text IS NULL OR k.layout_id = $4::text)
    AND ($5::text IS NULL OR k.lot_number = $5::text)
ORDER BY l.expires_at NULLS LAST, l.created_at NULLS LAST, k.lot_id,
    fulfillments.way($2::text, k.layout_id), k.id
