-- Lists for each tracker the legs that the caller may see, as a JSON array of arrays of ids. $1 ids
-- of the trackers, $2 organization, $3 does the caller reach all locations, $4 those that it
-- reaches, $5 does it see any leg.
SELECT coalesce(jsonb_agg(coalesce(l.ids, '[]') ORDER BY i.place), '[]')::text
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS i(id, place)
LEFT JOIN LATERAL (
    SELECT jsonb_agg(s.id) AS ids
    FROM shipments.shipment s
    WHERE s.organization_id = $2::text
        AND s.tracker_id = i.id
        AND s.deleted_at IS NULL
        AND $5::boolean
        AND (
            $3::boolean
            OR s.location_id IS NULL
            OR s.location_id IN (SELECT jsonb_array_elements_text($4::jsonb))
        )
) l ON true
