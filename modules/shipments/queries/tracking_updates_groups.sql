-- Shows the newest tracking updates of groups of shipments, a group's together, oldest first, as a
-- JSON array for each group. $1 the groups, each an array of ids, $2 how many, $3 organization.
SELECT coalesce(
    (
        SELECT jsonb_agg(x.line ORDER BY x.occurred_at, x.position)
        FROM (
            SELECT shipments.tracking_update_line(u) AS line, u.occurred_at, u.position
            FROM shipments.tracking_update u
            WHERE u.organization_id = $3::text
                AND u.shipment_id IN (SELECT jsonb_array_elements_text(i.ids))
            ORDER BY u.occurred_at DESC, u.position DESC
            LIMIT $2::bigint
        ) x
    ),
    '[]'
)
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS i(ids, place)
ORDER BY i.place
