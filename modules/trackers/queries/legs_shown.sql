-- Shows the legs of trackers that the caller may see, as a JSON array for each. $1 ids, $2 to $5 as
-- leg_seen.sql says.
SELECT coalesce(
    (
        SELECT jsonb_agg(trackers.leg(s) ORDER BY s.leg, s.created_at, s.id)
        FROM shipments.shipment s
        WHERE s.tracker_id = i.id AND :leg_seen
    ),
    '[]'
)
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS i(id, place)
ORDER BY i.place
