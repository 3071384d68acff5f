-- Outgoing requests that are still to be made wait for it, and no others do.
-- rows: integrations.outgoing
-- A request that waits for nothing is never made: POST /v1/outgoing-integrations/:id/retry.
SELECT o.organization_id, o.id, 'is pending, and does not wait to be made'
FROM integrations.outgoing o
WHERE o.status = 'pending'
    AND o.deleted_at IS NULL
    AND NOT EXISTS (
        SELECT FROM integrations.waiting w
        WHERE w.organization_id = o.organization_id AND w.id = o.id
    )
UNION ALL
SELECT w.organization_id, w.id, 'waits to be made, and is over or not there'
FROM integrations.waiting w
WHERE NOT EXISTS (
        SELECT FROM integrations.outgoing o
        WHERE o.organization_id = w.organization_id
            AND o.created_at = w.created_at
            AND o.id = w.id
            AND o.status = 'pending'
    )
