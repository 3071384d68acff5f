-- Reads the reservations of a fulfillment, in the order of its pick list. $1 fulfillment,
-- $2 organization, $3 now. Quantities are whole ten-thousandths.
SELECT r.article_id, r.layout_id, y.nested_name, y.code, r.lot_id, l.lot_number, l.expires_at,
    coalesce(l.expires_at <= $3::timestamptz, false), (r.quantity * 10000)::bigint,
    (r.picked * 10000)::bigint, (r.packed * 10000)::bigint, (r.shipped * 10000)::bigint
FROM fulfillments.reservation r
JOIN fulfillments.article a ON a.organization_id = $2::text AND a.id = r.article_id
LEFT JOIN locations.layout y ON y.organization_id = $2::text AND y.id = r.layout_id
LEFT JOIN items.lot l ON l.organization_id = $2::text AND l.id = r.lot_id
WHERE r.organization_id = $2::text AND r.fulfillment_id = $1::text
ORDER BY fulfillments.way($2::text, r.layout_id), r.layout_id, a.position, a.id,
    l.expires_at NULLS LAST, l.created_at NULLS LAST, r.lot_id
