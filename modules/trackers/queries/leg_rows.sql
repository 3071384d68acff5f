-- Reads what is asked of shipments that were written, in the order of their ids. $1 shipments, $2
-- organization.
SELECT s.tracker_id, s.tracking_number, s.status, s.deleted_at IS NOT NULL, s.leg
FROM unnest((SELECT $1::text[])) WITH ORDINALITY AS i(id, place)
LEFT JOIN shipments.shipment s ON s.organization_id = $2::text AND s.id = i.id
ORDER BY i.place
