-- Reads the recipients of the trackers of shipments. $1 organization, $2 shipments.
SELECT s.id, t.recipient_contact_id
FROM shipments.shipment s
JOIN trackers.tracker t
    ON t.organization_id = s.organization_id AND t.id = s.tracker_id AND t.deleted_at IS NULL
WHERE s.organization_id = $1::text AND s.id = ANY ((SELECT $2::text[])::text[])
    AND t.recipient_contact_id IS NOT NULL
