-- Lists the shipments inside of containers, as a JSON array of ids for each. $1 ids of the
-- containers, $2 how many of each, $3 organization.
SELECT coalesce(
    (
        SELECT jsonb_agg(x.id ORDER BY x.tracker_id, x.id)
        FROM (
            SELECT s.id, s.tracker_id
            FROM shipments.shipment s
            WHERE s.organization_id = $3::text AND s.container_id = i.id AND s.deleted_at IS NULL
            ORDER BY s.tracker_id, s.id
            LIMIT $2::bigint
        ) x
    ),
    '[]'
)
FROM unnest((SELECT $1::text[])) WITH ORDINALITY AS i(id, place)
ORDER BY i.place
