-- Lists for each tracker the legs that the caller may see, itself and the trackers
-- merged into it, as a JSON array of arrays of ids. $1 ids of the trackers, $2 to $5 as
-- leg_seen.sql says.
SELECT coalesce(jsonb_agg(r.ids ORDER BY i.place), '[]')::text
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS i(id, place)
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_agg(x.id), '[]') AS ids
    FROM (
        SELECT s.id
        FROM shipments.shipment s
        WHERE s.tracker_id = i.id AND :leg_seen
        UNION ALL
        SELECT jsonb_array_elements_text(t.merged_ids || to_jsonb(t.id))
        FROM trackers.tracker t
        WHERE t.organization_id = $2::text AND t.id = i.id
    ) x
) r
