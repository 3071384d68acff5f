-- Shows the newest tracking updates of some shipments together, oldest first, as one JSON array. $1
-- ids of the shipments, $2 how many, $3 organization.
SELECT coalesce(jsonb_agg(x.line ORDER BY x.occurred_at, x.position), '[]')
FROM (
    SELECT :tracking_update_line AS line, u.occurred_at, u.position
    FROM shipments.tracking_update u
    WHERE u.organization_id = $3::text
        AND u.shipment_id IN (SELECT jsonb_array_elements_text($1::jsonb))
    ORDER BY u.occurred_at DESC, u.position DESC
    LIMIT $2::bigint
) x
