-- Shows the newest tracking updates of shipments, oldest first, as a JSON array for each. $1 ids of
-- the shipments, $2 updates for each, $3 organization.
SELECT i.id,
    coalesce(
        (
            SELECT jsonb_agg(x.line ORDER BY x.occurred_at, x.position)
            FROM (
                SELECT :tracking_update_line AS line, u.occurred_at, u.position
                FROM shipments.tracking_update u
                WHERE u.organization_id = $3::text AND u.shipment_id = i.id
                ORDER BY u.occurred_at DESC, u.position DESC
                LIMIT $2::bigint
            ) x
        ),
        '[]'
    )
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS i(id, place)
ORDER BY i.place
