-- Each webhook counts as many requests in flight as its queues have.
-- rows: webhooks.runtime
-- A webhook that counts too many sends less than it may. Set in_flight of webhooks.runtime to what
-- its queues have.
SELECT r.organization_id, r.webhook_id,
    'counts ' || r.in_flight || ' requests in flight, and its queues have ' || coalesce(q.n, 0)
FROM webhooks.runtime r
LEFT JOIN (
    SELECT organization_id, webhook_id, count(*) AS n
    FROM webhooks.queue
    WHERE in_flight
    GROUP BY organization_id, webhook_id
) q ON q.organization_id = r.organization_id AND q.webhook_id = r.webhook_id
WHERE r.in_flight <> coalesce(q.n, 0)
