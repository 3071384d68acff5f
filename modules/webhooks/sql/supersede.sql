-- Makes room for what was just added to queues of webhooks that supersede: drops older
-- deliveries of the same type that are not under way.
CREATE OR REPLACE FUNCTION webhooks.supersede(org text, given json) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz := wharf.now();
    g record;
    newest webhooks.delivery;
    n bigint;
    before bigint;
    latest timestamptz;
BEGIN
    FOR g IN
        SELECT DISTINCT x.w, x.l, x.rt, x.r, x.y
            FROM json_to_recordset(given) AS x(w text, l text, rt text, r text, y text, su boolean)
        WHERE x.su ORDER BY 1, 2, 3, 4, 5
    LOOP
        SELECT d.* INTO newest FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = g.w || ' ' || g.l || ' ' || g.rt || ' ' || g.r AND d.status IN ('pending', 'retrying')
            AND d.event_type = g.y
        ORDER BY d.sequence DESC, d.created_at DESC LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        WITH gone AS (
            UPDATE webhooks.delivery d
                SET status = 'superseded', superseded_by = newest.event_id, finished_at = at
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = g.w || ' ' || g.l || ' ' || g.rt || ' ' || g.r
                AND d.status IN ('pending', 'retrying') AND d.event_type = g.y AND d.id <> newest.id
                AND NOT EXISTS (SELECT FROM webhooks.queue q
                    WHERE q.organization_id = org AND q.webhook_id = g.w AND q.lane = g.l
                    AND q.resource_type = g.rt AND q.resource_id = g.r AND q.in_flight
                    AND q.head_id = d.id)
            RETURNING d.superseded, d.next_attempt_at)
        SELECT count(*), COALESCE(sum(gone.superseded), 0), max(gone.next_attempt_at)
            INTO n, before, latest FROM gone;
        CONTINUE WHEN n = 0;
        UPDATE webhooks.delivery d
            SET superseded = d.superseded + n + before,
            next_attempt_at = GREATEST(d.next_attempt_at, latest)
            WHERE d.organization_id = org AND d.created_at = newest.created_at
                AND d.event_id = newest.event_id AND d.webhook_id = g.w
                AND d.run_id = newest.run_id;
        UPDATE webhooks.queue q
            SET head_id = h.id, head_at = h.created_at, head_event = h.event_id,
            head_run = h.run_id,
            head_sequence = h.sequence, attempts = h.attempts, retries = h.retries,
            next_attempt_at = GREATEST(h.next_attempt_at, h.queued_at)
        FROM (SELECT d.* FROM webhooks.delivery d
            WHERE d.webhook_id || ' ' || d.lane || ' ' || d.resource_type || ' ' || d.resource_id
            = g.w || ' ' || g.l || ' ' || g.rt || ' ' || g.r AND d.status IN ('pending', 'retrying')
            ORDER BY d.sequence, d.created_at LIMIT 1) h
        WHERE q.organization_id = org AND q.webhook_id = g.w AND q.lane = g.l
            AND q.resource_type = g.rt AND q.resource_id = g.r
            AND NOT q.in_flight;
    END LOOP;
END
$$;
