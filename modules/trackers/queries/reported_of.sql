-- Lists the rows that are told of with a tracker: its legs that the caller may see, itself and
-- those merged into it. $1 tracker, $2 organization, $3 does the caller reach all locations, $4
-- those that it reaches, $5 does it see any leg.
SELECT s.id
FROM shipments.shipment s
WHERE s.organization_id = $2::text
    AND s.tracker_id = $1::text
    AND s.deleted_at IS NULL
    AND $5::boolean
    AND (
        $3::boolean
        OR s.location_id IS NULL
        OR s.location_id IN (SELECT jsonb_array_elements_text($4::jsonb))
    )
UNION ALL
SELECT m
FROM trackers.tracker t, jsonb_array_elements_text(t.merged_ids || to_jsonb(t.id)) m
WHERE t.organization_id = $2::text AND t.id = $1::text
