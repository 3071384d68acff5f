-- The tracker that a shipment is a leg of is there.
-- rows: shipments.shipment
-- Nobody can follow the shipment. Set tracker_id of its row to null, and add it to a tracker
-- (POST /v1/trackers/:tracker with chaining).
SELECT s.organization_id, s.id, 'is a leg of ' || s.tracker_id || ', which is not there'
FROM shipments.shipment s
LEFT JOIN trackers.tracker t
    ON t.organization_id = s.organization_id AND t.id = s.tracker_id AND t.deleted_at IS NULL
WHERE s.deleted_at IS NULL AND s.tracker_id IS NOT NULL AND t.id IS NULL
