-- wharf: order=last
-- Shows attempts as a resource, with the columns that every resource has. The view runs with the
-- rights of who asks.
CREATE OR REPLACE VIEW webhooks.attempt_entry WITH (security_invoker = true) AS
SELECT a.organization_id, a.id, a.created_at, a.created_at AS updated_at, NULL::text AS created_by,
    NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, a.event_id, a.webhook_id,
        a.delivery_id, a.attempt::bigint AS attempt, a.trigger,
    a.status, a.counts_as_retry,
    (SELECT webhooks.state_of(d) FROM webhooks.delivery d
        WHERE d.organization_id = a.organization_id AND d.created_at = a.delivery_at
        AND d.event_id = a.event_id AND d.webhook_id = a.webhook_id AND d.run_id = a.run_id)
        AS delivery_status,
    a.request::jsonb AS request,
    CASE WHEN a.response_status IS NOT NULL
        THEN jsonb_strip_nulls(
            jsonb_build_object('status', a.response_status, 'headers', a.response_headers,
        'body', a.response_body, 'body_encoding', a.body_encoding, 'body_truncated',
        a.body_truncated)) END AS response,
    CASE WHEN a.error_code IS NOT NULL
        THEN jsonb_build_object('code', a.error_code, 'message', a.error_message) END AS error,
    a.retry_after_ms, a.next_attempt_at, a.created_at AS started_at, a.finished_at, a.duration_ms
FROM webhooks.attempt a WHERE a.expires_at > wharf.now()
UNION ALL
SELECT d.organization_id, q.attempt_id, q.started_at, q.started_at, NULL, NULL,
    NULL::timestamptz(3), 1, d.event_id || '', d.webhook_id, d.id, q.attempts::bigint,
    d.trigger, 'in_progress' COLLATE "C", false, 'in_flight', NULL, NULL, NULL, NULL,
    NULL::timestamptz(3), q.started_at, NULL::timestamptz(3), NULL
FROM webhooks.delivery d
    JOIN webhooks.queue q ON q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id
    AND q.lane = d.lane
    AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight
    AND q.head_id = d.id
WHERE d.expires_at > wharf.now();
