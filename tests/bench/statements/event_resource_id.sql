-- The newest events of one record.
\set n random(1, :rows)
SELECT
    e.id, e.type, e.timestamp, d.sequence, e.organization_id, e.location_id, e.resource_type,
    e.resource_id, e.batch_id, e.actor_type, e.actor_id, e.actor_name, e.request_id, e.depth,
    e.data_truncated, e.disable_webhooks, w.initial_webhooks, w.attempted_webhooks,
    w.pending_webhooks, d.steps, d.processed_at, e.created_at, e.expires_at
FROM (
    SELECT * FROM wharf.event t
    WHERE t.organization_id = :org AND t.expires_at > now()
        AND t.resource_id = 'ctct_' || lpad(:n::text, 22, '0')
    ORDER BY t.created_at DESC, t.id DESC
    LIMIT 21
) e
LEFT JOIN wharf.event_done d ON d.organization_id = :org AND d.created_at = e.created_at
    AND d.event_id = e.id
CROSS JOIN LATERAL (
    SELECT jsonb_agg(DISTINCT x.webhook_id) FILTER (WHERE x.initial) AS initial_webhooks,
        jsonb_agg(DISTINCT x.webhook_id) FILTER (WHERE x.attempted) AS attempted_webhooks,
        jsonb_agg(DISTINCT x.webhook_id)
            FILTER (WHERE x.state IN ('pending', 'in_flight', 'retrying', 'held'))
            AS pending_webhooks
    FROM wharf.event_delivery x WHERE x.organization_id = :org AND x.event_id = e.id
) w
ORDER BY e.created_at DESC, e.id DESC;
