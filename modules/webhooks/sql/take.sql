-- Puts heads of one lane that are due into flight and returns them; the row of an attempt is
-- written when it is over. ids: for attempts, from the one behind `used` on. Plans are made while
-- tables are empty and live long, so nothing is left to them here: rows are found by their whole
-- key (LIMIT 1 takes away every other way), and what was locked is written by its place (ctid). An
-- attempt that runs stands in its queue, whose row is written before the request is sent.
CREATE OR REPLACE FUNCTION webhooks.take(its_server text, r webhooks.runtime, its_lane text,
    most integer, ids text[], used integer, at timestamptz)
RETURNS webhooks.queue[] LANGUAGE plpgsql AS $$
DECLARE
    got webhooks.queue[];
BEGIN
    IF most <= 0 THEN
        RETURN '{}';
    END IF;
    WITH due AS MATERIALIZED (
        SELECT o.ctid AS place, o.next_attempt_at, o.head_sequence FROM webhooks.queue o
        WHERE o.webhook_id || ' ' || o.lane = r.webhook_id || ' ' || its_lane AND NOT o.in_flight
            AND o.next_attempt_at <= at
        ORDER BY o.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED
    ), numbered AS MATERIALIZED (
        SELECT due.place,
            used + (row_number() OVER (ORDER BY due.next_attempt_at, due.head_sequence))::integer
            AS n FROM due
    ), taken AS (
        UPDATE webhooks.queue q
            SET in_flight = true, attempts = q.attempts + 1, attempt_id = ids[o.n], started_at = at,
            server = its_server,
            lease_until = (extract(epoch FROM at) * 1000000)::bigint + 60000000
        FROM numbered o WHERE q.ctid = o.place
        RETURNING q AS q
    )
    SELECT array_agg(t.q) INTO got FROM taken t;
    RETURN COALESCE(got, '{}');
END
$$;
