-- Attempts whose server ended, or ends now (its_server: its own), are over; their deliveries are
-- sent again, and no retry is used up.
CREATE OR REPLACE FUNCTION webhooks.interrupt(its_server text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    n integer;
BEGIN
    WITH late AS MATERIALIZED (
        SELECT q.* FROM webhooks.queue q
            WHERE q.in_flight
            AND (q.lease_until + 0 < (extract(epoch FROM at) * 1000000)::bigint
            OR q.server = its_server)
        ORDER BY q.lease_until + 0 LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), deliveries AS (
        UPDATE webhooks.delivery d SET attempts = late.attempts FROM late
        WHERE d.organization_id = late.organization_id AND d.created_at = late.head_at
            AND d.event_id = late.head_event
            AND d.webhook_id = late.webhook_id AND d.run_id = late.head_run
        RETURNING d.trigger, d.expires_at, late.organization_id AS o, late.attempt_id AS i,
            late.started_at, late.head_event, late.webhook_id AS w,
            late.head_id, late.head_at, late.head_run, late.attempts AS n
    ), attempts AS (
        INSERT INTO webhooks.attempt AS a (organization_id, id, created_at, event_id, webhook_id,
            delivery_id, delivery_at, run_id, attempt, trigger,
            status, error_code, error_message, retry_after_ms, next_attempt_at, finished_at,
            expires_at)
        SELECT v.o, v.i, v.started_at, v.head_event, v.w, v.head_id, v.head_at, v.head_run, v.n,
            v.trigger, 'failure', 'interrupted',
            'The server ended while the request was running; it is sent again', 0, at, at,
            v.expires_at
        FROM deliveries v
        ON CONFLICT (organization_id, event_id, created_at, id) DO UPDATE
            SET status = EXCLUDED.status, error_code = EXCLUDED.error_code,
            error_message = EXCLUDED.error_message, retry_after_ms = 0, next_attempt_at = at,
            finished_at = at
    ), queues AS (
        UPDATE webhooks.queue q SET in_flight = false, attempt_id = NULL, next_attempt_at = at
            FROM late
        WHERE q.organization_id = late.organization_id AND q.webhook_id = late.webhook_id
            AND q.lane = late.lane
            AND q.resource_type = late.resource_type AND q.resource_id = late.resource_id
    ), sums AS MATERIALIZED (
        SELECT late.organization_id, late.webhook_id, count(*)::integer AS n,
            (count(*) FILTER (WHERE late.lane = 'batch'))::integer AS batch
        FROM late GROUP BY 1, 2
    ), locked AS MATERIALIZED (
        SELECT k.organization_id, k.webhook_id FROM sums s
            JOIN webhooks.runtime k ON k.organization_id = s.organization_id
            AND k.webhook_id = s.webhook_id ORDER BY 1, 2 FOR UPDATE OF k
    ), runtimes AS (
        UPDATE webhooks.runtime k
            SET in_flight = GREATEST(0, k.in_flight - s.n),
            batch_in_flight = GREATEST(0, k.batch_in_flight - s.batch),
            next_due_at = LEAST(k.next_due_at, at)
        FROM sums s JOIN locked l ON l.organization_id = s.organization_id
            AND l.webhook_id = s.webhook_id
        WHERE k.organization_id = s.organization_id AND k.webhook_id = s.webhook_id
    )
    SELECT count(*) INTO n FROM late;
    RETURN n;
END
$$;
