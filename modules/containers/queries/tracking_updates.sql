-- Shows the newest tracking updates of containers, oldest first, as a JSON array for each. $1 ids
-- of the containers, $2 updates for each, $3 organization.
SELECT coalesce(
    (
        SELECT jsonb_agg(x.line ORDER BY x.occurred_at, x.position)
        FROM (
            SELECT jsonb_build_object(
                    'object', 'tracking_update', 'id', u.id, 'status', u.status,
                    'comment', u.comment,
                    'occurred_at',
                    to_char(u.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                    'location_id', u.location_id, 'layout_id', u.layout_id, 'user_id', u.user_id,
                    'vehicle_id', u.vehicle_id, 'address', u.address, 'coordinates', u.coordinates,
                    'images', u.images, 'source', u.source,
                    'created_at',
                    to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                    'created_by', u.created_by
                ) AS line,
                u.occurred_at, u.position
            FROM containers.tracking_update u
            WHERE u.organization_id = $3::text AND u.owner_id = i.id
            ORDER BY u.occurred_at DESC, u.position DESC
            LIMIT $2::bigint
        ) x
    ),
    '[]'
)
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS i(id, place)
ORDER BY i.place
