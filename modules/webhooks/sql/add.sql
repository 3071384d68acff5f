-- Adds deliveries and their queues. given: [{i: id, t: created_at, e: event, et: its created_at,
-- w: webhook, y: type, l: lane, rt, r: resource, s: sequence, g: trigger, n: run, x: expires_at,
-- su: supersedes, p: parts that it sees}]. Returns how many were new.
CREATE OR REPLACE FUNCTION webhooks.add(org text, given json) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    added bigint;
BEGIN
    WITH x AS (
        SELECT * FROM json_to_recordset(given)
            AS x(i text, t timestamptz, e text, et timestamptz, w text, y text, l text, rt text,
            r text,
            s bigint, g text, n text, x timestamptz, p text)
    ), new AS (
        INSERT INTO webhooks.delivery (organization_id, id, created_at, queued_at, event_id,
            event_at, webhook_id, event_type, lane, resource_type,
            resource_id, sequence, trigger, run_id, expires_at, parts_seen)
        SELECT org, x.i, x.t, at, x.e, x.et, x.w, x.y, x.l, x.rt, x.r, x.s, x.g, x.n, x.x, x.p
        FROM x
        ON CONFLICT DO NOTHING
        RETURNING id, created_at, event_id, run_id, webhook_id, lane, resource_type, resource_id,
            sequence
    ), heads AS (
        SELECT DISTINCT ON (webhook_id, lane, resource_type, resource_id) * FROM new
        ORDER BY webhook_id, lane, resource_type, resource_id, sequence, created_at
    ), queued AS (
        INSERT INTO webhooks.queue AS q (organization_id, webhook_id, lane, resource_type,
            resource_id, head_id, head_at, head_event,
            head_run, head_sequence, next_attempt_at)
        SELECT org, h.webhook_id, h.lane, h.resource_type, h.resource_id, h.id, h.created_at,
            h.event_id, h.run_id, h.sequence, at FROM heads h
        ORDER BY h.webhook_id, h.lane, h.resource_type, h.resource_id
        ON CONFLICT (organization_id, webhook_id, lane, resource_type, resource_id) DO UPDATE
            SET touched = q.touched + 1,
            head_id = CASE
                WHEN NOT q.in_flight
                AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_id
                ELSE q.head_id END,
            head_at = CASE
                WHEN NOT q.in_flight
                AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_at
                ELSE q.head_at END,
            head_event = CASE
                WHEN NOT q.in_flight
                AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_event
                ELSE q.head_event END,
            head_run = CASE
                WHEN NOT q.in_flight
                AND EXCLUDED.head_sequence < q.head_sequence THEN EXCLUDED.head_run
                ELSE q.head_run END,
            attempts = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN 0
                ELSE q.attempts END,
            retries = CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN 0
                ELSE q.retries END,
            next_attempt_at =
            CASE WHEN NOT q.in_flight AND EXCLUDED.head_sequence < q.head_sequence THEN at
                ELSE q.next_attempt_at END,
            head_sequence =
            CASE WHEN q.in_flight THEN q.head_sequence
                ELSE LEAST(q.head_sequence, EXCLUDED.head_sequence) END
    ), poked AS (
        INSERT INTO webhooks.poke (organization_id, webhook_id) SELECT DISTINCT org, h.webhook_id
            FROM heads h
    )
    SELECT count(*) INTO added FROM new;
    IF EXISTS (SELECT FROM json_to_recordset(given) AS x(su boolean) WHERE x.su) THEN
        PERFORM webhooks.supersede(org, given);
    END IF;
    RETURN added;
END
$$;
