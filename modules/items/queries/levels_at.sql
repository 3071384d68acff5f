-- Reads which levels of an item had stock at a moment; with zero, which were there. $1 item, $2
-- organization, $3 moment, $4 zero.
SELECT coalesce(jsonb_agg(v.id), '[]')
FROM items.level v
WHERE v.organization_id = $2::text AND v.item_id = $1::text
    AND v.created_at <= $3::text::timestamptz
    AND ($4::boolean OR items.level_at(v.organization_id, v.id, 'available', $3::text) <> 0
        OR items.level_at(v.organization_id, v.id, 'reserved', $3::text) <> 0
        OR items.level_at(v.organization_id, v.id, 'damaged', $3::text) <> 0
        OR items.level_at(v.organization_id, v.id, 'manifested', $3::text) <> 0)
