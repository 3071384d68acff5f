-- Brings the head of every queue of a webhook that is not in flight to its first open delivery, and
-- takes queues away that have none.
CREATE OR REPLACE FUNCTION webhooks.rebuild_queue_heads(org text, webhook text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM webhooks.queue q
        WHERE q.organization_id = org AND q.webhook_id = webhook AND NOT q.in_flight
        AND NOT EXISTS (SELECT FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = webhook || ' ' || q.lane || ' ' || q.resource_type || ' ' || q.resource_id
            AND d.status IN ('pending', 'retrying'));
    UPDATE webhooks.queue q
        SET head_id = n.id, head_at = n.created_at, head_event = n.event_id, head_run = n.run_id,
        head_sequence = n.sequence, attempts = n.attempts, retries = n.retries,
        next_attempt_at = COALESCE(n.next_attempt_at, n.queued_at)
    FROM webhooks.queue o CROSS JOIN LATERAL (
        SELECT d.* FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = webhook || ' ' || o.lane || ' ' || o.resource_type || ' ' || o.resource_id
            AND d.status IN ('pending', 'retrying')
        ORDER BY d.sequence, d.created_at LIMIT 1) n
    WHERE o.organization_id = org AND o.webhook_id = webhook AND NOT o.in_flight
        AND n.id <> o.head_id
        AND q.organization_id = org AND q.webhook_id = webhook AND q.lane = o.lane
        AND q.resource_type = o.resource_type
        AND q.resource_id = o.resource_id;
END
$$;
