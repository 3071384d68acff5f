-- Reads the tasks of audits as they are shown, those of each audit together, in the order of the
-- audits. $1 audits, $2 organization, $3 most tasks of each, or null, $4 by_item or by_layout:
-- those of one item or layout stand together; else ''.
SELECT a.place - 1, t.id, t.audit_id, t.item_id, i.name, i.sku, i.base_uom, t.layout_id,
    y.nested_name, v.total, t.counted, t.total_at_count, t.reason_code_id, t.lot_number,
    t.counted_by, t.counted_at, t.position
FROM unnest((SELECT $1::text[])) WITH ORDINALITY a(id, place)
CROSS JOIN LATERAL (
    SELECT k.*
    FROM items.audit_task k
    WHERE k.organization_id = $2::text AND k.audit_id = a.id
    ORDER BY k.position, k.id
    LIMIT $3::bigint
) t
CROSS JOIN LATERAL (
    SELECT CASE WHEN t.total IS NULL THEN (
        SELECT coalesce(sum(l.available + l.reserved + l.damaged), 0)
        FROM items.level l
        WHERE l.organization_id = $2::text AND l.item_id = t.item_id
            AND l.location_id = t.location_id AND l.layout_id = t.layout_id
    ) ELSE t.total END AS total
    OFFSET 0
) v
LEFT JOIN items.item i ON i.organization_id = $2::text AND i.id = t.item_id
LEFT JOIN locations.layout y ON y.organization_id = $2::text AND y.id = t.layout_id
ORDER BY a.place, min(t.position) OVER (
        PARTITION BY a.place,
            CASE $4::text WHEN 'by_item' THEN t.item_id WHEN 'by_layout' THEN t.layout_id END
    ), t.position, t.id
