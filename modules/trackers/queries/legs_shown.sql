-- Shows the legs of trackers that the caller may see, as a JSON array for each. $1 ids, $2 does the
-- caller reach all locations, $3 those that it reaches, $4 organization, $5 does it see any leg.
SELECT coalesce(
    (
        SELECT jsonb_agg(trackers.leg(s) ORDER BY s.leg, s.created_at, s.id)
        FROM shipments.shipment s
        WHERE s.organization_id = $4::text
            AND s.tracker_id = i.id
            AND s.deleted_at IS NULL
            AND $5::boolean
            AND (
                $2::boolean
                OR s.location_id IS NULL
                OR s.location_id IN (SELECT jsonb_array_elements_text($3::jsonb))
            )
    ),
    '[]'
)
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS i(id, place)
ORDER BY i.place
