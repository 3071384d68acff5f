-- wharf: order=last
-- Shows deliveries as a resource, with the columns that every resource has, and the state as it
-- is now. The view runs with the rights of who asks.
CREATE OR REPLACE VIEW webhooks.delivery_entry WITH (security_invoker = true) AS
SELECT d.organization_id, d.id, d.created_at, d.created_at AS updated_at, NULL::text AS created_by,
    NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, d.webhook_id,
    d.event_id || '' AS event_id, d.event_type AS type,
    CASE WHEN d.lane = 'manual' THEN 'direct' ELSE d.lane END AS lane, d.resource_type,
        d.resource_id, d.sequence, d.trigger,
    webhooks.state_of(d) AS status, d.reason, d.attempts::bigint AS attempts,
        d.retries::bigint AS retries, d.next_attempt_at,
    d.superseded::bigint AS superseded, d.superseded_by, d.finished_at,
    COALESCE((SELECT jsonb_build_object('id', q.attempt_id, 'attempt', q.attempts, 'status',
        'in_progress', 'response_status', NULL, 'error', NULL,
            'started_at', to_char(q.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'duration_ms', NULL)
        FROM webhooks.queue q
            WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id
            AND q.lane = d.lane
            AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight
            AND q.head_id = d.id),
    (SELECT jsonb_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status,
        'response_status', a.response_status, 'error', a.error_code,
            'started_at', to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'duration_ms', a.duration_ms)
        FROM webhooks.attempt a
            WHERE a.organization_id = d.organization_id AND a.event_id = d.event_id
            AND a.delivery_id = d.id
        ORDER BY a.attempt DESC LIMIT 1)) AS last_attempt
FROM webhooks.delivery d WHERE d.expires_at > wharf.now();
