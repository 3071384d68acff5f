-- Drops the waiting deliveries of a webhook (queued_before: only those that were queued before);
-- requests that run finish. Returns how many.
CREATE OR REPLACE FUNCTION webhooks.drop_waiting(org text, webhook text, why text,
    queued_before timestamptz) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n bigint;
BEGIN
    PERFORM FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = webhook
        ORDER BY q.lane, q.resource_type, q.resource_id FOR UPDATE;
    UPDATE webhooks.delivery d
        SET status = 'dropped', reason = why, finished_at = at, next_attempt_at = NULL
        WHERE d.organization_id = org AND d.webhook_id = webhook
            AND d.status IN ('pending', 'retrying')
            AND (queued_before IS NULL OR d.queued_at < queued_before)
            AND NOT EXISTS (SELECT FROM webhooks.queue q
                WHERE q.organization_id = org AND q.webhook_id = webhook AND q.lane = d.lane
                AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id
                AND q.in_flight AND q.head_id = d.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n > 0 THEN
        PERFORM webhooks.rebuild_queue_heads(org, webhook);
    END IF;
    RETURN n;
END
$$;
