-- Makes each of many shipments the first leg of its tracker. $1 organization, $2 shipments, $3
-- their trackers.
UPDATE shipments.shipment s
SET tracker_id = x.tracker_id, leg = 0, version = s.version + 1
FROM unnest((SELECT $2::text[]), (SELECT $3::text[])) x(id, tracker_id)
WHERE s.organization_id = $1::text AND s.id = x.id
