-- Adds deliveries, and what waits of them. Those that are there already are left alone: the step
-- may be made again. $1 organization, $2 rows: i id, w integration, e event, r resource, x when it
-- expires, $3 now.
WITH new AS (
    INSERT INTO integrations.outgoing (
        organization_id, id, created_at, updated_at, integration_id, event_id, resource_id,
        next_attempt_at, expires_at
    )
    SELECT $1::text, x.i, $3::timestamptz, $3::timestamptz, x.w, x.e, x.r, $3::timestamptz, x.x
    FROM json_to_recordset($2::json) AS x(i text, w text, e text, r text, x timestamptz)
    WHERE NOT EXISTS (
            SELECT FROM integrations.outgoing o
            WHERE o.organization_id = $1::text AND o.event_id = x.e AND o.integration_id = x.w
        )
    RETURNING id, created_at, integration_id, event_id
)
INSERT INTO integrations.waiting (
    organization_id, id, created_at, integration_id, event_id, next_attempt_at
)
SELECT $1::text, new.id, new.created_at, new.integration_id, new.event_id, new.created_at
FROM new
