-- wharf: phase=expand
-- Three index entries less for each delivery, of nine: the keys of deliveries and attempts begin so that lists of a webhook's deliveries and of an
-- event's attempts can use them. What follows is as it was, but for these columns.

ALTER TABLE webhooks.delivery DROP CONSTRAINT delivery_pkey;
ALTER TABLE webhooks.delivery ADD PRIMARY KEY (organization_id, webhook_id, created_at, event_id, run_id);
DROP INDEX webhooks.delivery_webhook;
ALTER TABLE webhooks.attempt DROP CONSTRAINT attempt_pkey;
ALTER TABLE webhooks.attempt ADD PRIMARY KEY (organization_id, event_id, created_at, id);
DROP INDEX webhooks.attempt_event;

CREATE OR REPLACE VIEW webhooks.delivery_entry WITH (security_invoker = true) AS
SELECT d.organization_id, d.id, d.created_at, d.created_at AS updated_at, NULL::text AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, d.webhook_id,
    d.event_id || '' AS event_id, d.event_type AS type,
    CASE WHEN d.lane = 'manual' THEN 'direct' ELSE d.lane END AS lane, d.resource_type, d.resource_id, d.sequence, d.trigger,
    webhooks.state_of(d) AS status, d.reason, d.attempts::bigint AS attempts, d.retries::bigint AS retries, d.next_attempt_at,
    d.superseded::bigint AS superseded, d.superseded_by, d.finished_at,
    COALESCE((SELECT jsonb_build_object('id', q.attempt_id, 'attempt', q.attempts, 'status', 'in_progress', 'response_status', NULL, 'error', NULL,
            'started_at', to_char(q.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', NULL)
        FROM webhooks.queue q WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id AND q.lane = d.lane
            AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id),
    (SELECT jsonb_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status, 'response_status', a.response_status, 'error', a.error_code,
            'started_at', to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', a.duration_ms)
        FROM webhooks.attempt a WHERE a.organization_id = d.organization_id AND a.event_id = d.event_id AND a.delivery_id = d.id
        ORDER BY a.attempt DESC LIMIT 1)) AS last_attempt
FROM webhooks.delivery d WHERE d.expires_at > wharf.now();


CREATE OR REPLACE VIEW webhooks.attempt_entry WITH (security_invoker = true) AS
SELECT a.organization_id, a.id, a.created_at, a.created_at AS updated_at, NULL::text AS created_by, NULL::text AS updated_by,
    NULL::timestamptz(3) AS deleted_at, 1::bigint AS version, a.event_id, a.webhook_id, a.delivery_id, a.attempt::bigint AS attempt, a.trigger,
    a.status, a.counts_as_retry,
    (SELECT webhooks.state_of(d) FROM webhooks.delivery d WHERE d.organization_id = a.organization_id AND d.created_at = a.delivery_at
        AND d.event_id = a.event_id AND d.webhook_id = a.webhook_id AND d.run_id = a.run_id) AS delivery_status,
    a.request::jsonb AS request,
    CASE WHEN a.response_status IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('status', a.response_status, 'headers', a.response_headers,
        'body', a.response_body, 'body_encoding', a.body_encoding, 'body_truncated', a.body_truncated)) END AS response,
    CASE WHEN a.error_code IS NOT NULL THEN jsonb_build_object('code', a.error_code, 'message', a.error_message) END AS error,
    a.retry_after_ms, a.next_attempt_at, a.created_at AS started_at, a.finished_at, a.duration_ms
FROM webhooks.attempt a WHERE a.expires_at > wharf.now()
UNION ALL
SELECT d.organization_id, q.attempt_id, q.started_at, q.started_at, NULL, NULL, NULL::timestamptz(3), 1, d.event_id || '', d.webhook_id, d.id, q.attempts::bigint,
    d.trigger, 'in_progress' COLLATE "C", false, 'in_flight', NULL, NULL, NULL, NULL, NULL::timestamptz(3), q.started_at, NULL::timestamptz(3), NULL
FROM webhooks.delivery d JOIN webhooks.queue q ON q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id AND q.lane = d.lane
    AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id
WHERE d.expires_at > wharf.now();

CREATE OR REPLACE VIEW wharf.event_delivery AS
    SELECT d.organization_id, d.event_id || '' AS event_id, d.webhook_id, webhooks.state_of(d) COLLATE "C" AS state, d.trigger = 'automatic' AS initial,
        (d.attempts > 0 OR EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = d.organization_id AND q.webhook_id = d.webhook_id
            AND q.lane = d.lane AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id)) AS attempted
    FROM webhooks.delivery d;

CREATE OR REPLACE FUNCTION webhooks.recover_count(org text, webhook text, states text[], types json, since timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT count(*) FROM (SELECT DISTINCT d.event_id FROM webhooks.delivery d WHERE d.organization_id = org AND d.webhook_id = webhook
        AND d.event_at >= since AND d.event_at < until AND d.status = ANY (states) AND d.expires_at > wharf.now()
        AND (types IS NULL OR d.event_type IN (SELECT json_array_elements_text(types))) LIMIT 1000001) x
$$;
CREATE OR REPLACE FUNCTION webhooks.recover_next(org text, webhook text, states text[], types json, since timestamptz, until timestamptz, after bigint,
    most integer) RETURNS TABLE (event_id text, sequence bigint) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT DISTINCT d.event_id, d.sequence FROM webhooks.delivery d WHERE d.organization_id = org AND d.webhook_id = webhook
        AND d.event_at >= since AND d.event_at < until AND d.status = ANY (states) AND d.expires_at > wharf.now() AND d.sequence > after
        AND (types IS NULL OR d.event_type IN (SELECT json_array_elements_text(types)))
    ORDER BY d.sequence LIMIT most
$$;

CREATE OR REPLACE FUNCTION webhooks.drop_waiting(org text, webhook text, why text, queued_before timestamptz) RETURNS bigint LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n bigint;
BEGIN
    PERFORM FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = webhook
        ORDER BY q.lane, q.resource_type, q.resource_id FOR UPDATE;
    UPDATE webhooks.delivery d SET status = 'dropped', reason = why, finished_at = at, next_attempt_at = NULL
        WHERE d.organization_id = org AND d.webhook_id = webhook AND d.status IN ('pending', 'retrying')
            AND (queued_before IS NULL OR d.queued_at < queued_before)
            AND NOT EXISTS (SELECT FROM webhooks.queue q WHERE q.organization_id = org AND q.webhook_id = webhook AND q.lane = d.lane
                AND q.resource_type = d.resource_type AND q.resource_id = d.resource_id AND q.in_flight AND q.head_id = d.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n > 0 THEN
        PERFORM webhooks.mend_queues(org, webhook);
    END IF;
    RETURN n;
END
$$;

CREATE OR REPLACE FUNCTION webhooks.interrupt(its_server text) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n integer;
BEGIN
    WITH late AS MATERIALIZED (
        SELECT q.* FROM webhooks.queue q WHERE q.in_flight AND (q.lease_until + 0 < (extract(epoch FROM at) * 1000000)::bigint OR q.server = its_server)
        ORDER BY q.lease_until + 0 LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), deliveries AS (
        UPDATE webhooks.delivery d SET attempts = late.attempts FROM late
        WHERE d.organization_id = late.organization_id AND d.created_at = late.head_at AND d.event_id = late.head_event
            AND d.webhook_id = late.webhook_id AND d.run_id = late.head_run
        RETURNING d.trigger, d.expires_at, late.organization_id AS o, late.attempt_id AS i, late.started_at, late.head_event, late.webhook_id AS w,
            late.head_id, late.head_at, late.head_run, late.attempts AS n
    ), attempts AS (
        INSERT INTO webhooks.attempt AS a (organization_id, id, created_at, event_id, webhook_id, delivery_id, delivery_at, run_id, attempt, trigger,
            status, error_code, error_message, retry_after_ms, next_attempt_at, finished_at, expires_at)
        SELECT v.o, v.i, v.started_at, v.head_event, v.w, v.head_id, v.head_at, v.head_run, v.n, v.trigger, 'failure', 'interrupted',
            'The server ended while the request was running; it is sent again', 0, at, at, v.expires_at
        FROM deliveries v
        ON CONFLICT (organization_id, event_id, created_at, id) DO UPDATE SET status = EXCLUDED.status, error_code = EXCLUDED.error_code,
            error_message = EXCLUDED.error_message, retry_after_ms = 0, next_attempt_at = at, finished_at = at
    ), queues AS (
        UPDATE webhooks.queue q SET in_flight = false, attempt_id = NULL, next_attempt_at = at FROM late
        WHERE q.organization_id = late.organization_id AND q.webhook_id = late.webhook_id AND q.lane = late.lane
            AND q.resource_type = late.resource_type AND q.resource_id = late.resource_id
    ), sums AS MATERIALIZED (
        SELECT late.organization_id, late.webhook_id, count(*)::integer AS n, (count(*) FILTER (WHERE late.lane = 'batch'))::integer AS batch
        FROM late GROUP BY 1, 2
    ), locked AS MATERIALIZED (
        SELECT k.organization_id, k.webhook_id FROM sums s JOIN webhooks.runtime k ON k.organization_id = s.organization_id
            AND k.webhook_id = s.webhook_id ORDER BY 1, 2 FOR UPDATE OF k
    ), runtimes AS (
        UPDATE webhooks.runtime k SET in_flight = GREATEST(0, k.in_flight - s.n), batch_in_flight = GREATEST(0, k.batch_in_flight - s.batch),
            next_due_at = LEAST(k.next_due_at, at)
        FROM sums s JOIN locked l ON l.organization_id = s.organization_id AND l.webhook_id = s.webhook_id
        WHERE k.organization_id = s.organization_id AND k.webhook_id = s.webhook_id
    )
    SELECT count(*) INTO n FROM late;
    RETURN n;
END
$$;
