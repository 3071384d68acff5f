-- wharf: phase=expand
-- Deliveries and attempts as resources: with the columns that every resource has, and the state as it is now. The views run with the rights
-- of who asks.

CREATE VIEW webhooks.delivery_entry WITH (security_invoker = true) AS
SELECT d.organization_id, d.id, d.created_at, d.created_at AS updated_at, NULL::text AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, d.webhook_id || '' AS webhook_id,
    d.event_id || '' AS event_id, d.event_type AS type,
    CASE WHEN d.lane = 'manual' THEN 'direct' ELSE d.lane END AS lane, d.resource_type, d.resource_id, d.sequence, d.trigger,
    webhooks.state_of(d) AS status, d.reason, d.attempts::bigint AS attempts, d.retries::bigint AS retries, d.next_attempt_at,
    d.superseded::bigint AS superseded, d.superseded_by, d.finished_at,
    (SELECT jsonb_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status, 'response_status', a.response_status, 'error', a.error_code,
            'started_at', to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', a.duration_ms)
        FROM webhooks.attempt a WHERE a.organization_id = d.organization_id AND a.event_id || '' = d.event_id AND a.delivery_id = d.id
        ORDER BY a.attempt DESC LIMIT 1) AS last_attempt
FROM webhooks.delivery d WHERE d.expires_at > wharf.now();

CREATE VIEW webhooks.attempt_entry WITH (security_invoker = true) AS
SELECT a.organization_id, a.id, a.created_at, a.created_at AS updated_at, NULL::text AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, a.event_id || '' AS event_id, a.webhook_id, a.delivery_id, a.attempt::bigint AS attempt, a.trigger,
    a.status, a.counts_as_retry,
    (SELECT webhooks.state_of(d) FROM webhooks.delivery d WHERE d.organization_id = a.organization_id AND d.created_at = a.delivery_at
        AND d.event_id = a.event_id AND d.webhook_id = a.webhook_id AND d.run_id = a.run_id) AS delivery_status,
    a.request::jsonb AS request,
    CASE WHEN a.response_status IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('status', a.response_status, 'headers', a.response_headers,
        'body', a.response_body, 'body_encoding', a.body_encoding, 'body_truncated', a.body_truncated)) END AS response,
    CASE WHEN a.error_code IS NOT NULL THEN jsonb_build_object('code', a.error_code, 'message', a.error_message) END AS error,
    a.retry_after_ms, a.next_attempt_at, a.created_at AS started_at, a.finished_at, a.duration_ms
FROM webhooks.attempt a WHERE a.expires_at > wharf.now();

-- Runs of recovery: what is brought again of one webhook, by the states its deliveries ended in. Returns how many there are, or adds those
-- behind a sequence (at most `most`) and returns the last sequence; 0: that was all.
CREATE FUNCTION webhooks.recover_count(org text, webhook text, states text[], types json, since timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT count(*) FROM (SELECT DISTINCT d.event_id FROM webhooks.delivery d WHERE d.organization_id = org AND d.webhook_id || '' = webhook
        AND d.event_at >= since AND d.event_at < until AND d.status = ANY (states) AND d.expires_at > wharf.now()
        AND (types IS NULL OR d.event_type IN (SELECT json_array_elements_text(types))) LIMIT 1000001) x
$$;
CREATE FUNCTION webhooks.recover_next(org text, webhook text, states text[], types json, since timestamptz, until timestamptz, after bigint,
    most integer) RETURNS TABLE (event_id text, sequence bigint) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT DISTINCT d.event_id, d.sequence FROM webhooks.delivery d WHERE d.organization_id = org AND d.webhook_id || '' = webhook
        AND d.event_at >= since AND d.event_at < until AND d.status = ANY (states) AND d.expires_at > wharf.now() AND d.sequence > after
        AND (types IS NULL OR d.event_type IN (SELECT json_array_elements_text(types)))
    ORDER BY d.sequence LIMIT most
$$;
